"""Small tree ensembles and rankers of every kind, and functions that use a loaded one; for `fuzz_models` and tests."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from depthforest.ensemble import load
from depthforest.ensemble.adaboost import AdaBoostClassifier
from depthforest.ensemble.boosting import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
)
from depthforest.ensemble.forests import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from depthforest.ensemble.ranking import LambdaMART, LambdaRank, RankNet, group_ids
from depthforest.ensemble.ranking.layers import MAX_INPUT
from depthforest.ensemble.tree import DecisionTreeClassifier, DecisionTreeRegressor, Tree

N_ROWS = 40
N_ASKED = 9
QUERIES = group_ids([8] * 5, N_ROWS)


def valid_ensembles() -> list[Any]:
    """Return fitted trees and forests that differ in kind, classes, columns and stored data."""
    x, mixed, signal, level, weights = _rows()
    weighed = {0: 1.0, 1: 2.5, 2: 1}
    categorical: dict[str, Any] = {"categorical_features": [1, 3]}
    return [
        DecisionTreeClassifier(random_state=1, max_depth=1).fit(x, signal > 0),
        DecisionTreeClassifier(random_state=1, class_weight=weighed, min_samples_leaf=4, **categorical).fit(
            mixed, level
        ),
        DecisionTreeRegressor(random_state=1, ccp_alpha=0.01).fit(x, signal),
        RandomForestClassifier(3, random_state=1, oob_score=True, min_samples_leaf=3, **categorical).fit(
            mixed, np.array(["low", "middle", "top"])[level], weights
        ),
        RandomForestRegressor(2, random_state=1, quantiles=True, max_depth=4, **categorical).fit(
            mixed, signal, weights
        ),
        ExtraTreesClassifier(2, random_state=1, max_depth=3).fit(x, level.astype(np.float32)),
        ExtraTreesRegressor(2, random_state=1, bootstrap=True, oob_score=True, max_depth=2).fit(x, signal),
    ]


def valid_boosted() -> list[Any]:
    """Return fitted boosted ensembles that differ in kind, loss, columns, rounds and stored history."""
    x, mixed, signal, level, weights = _rows()
    few: dict[str, Any] = {"n_estimators": 3, "max_depth": 2, "random_state": 1}
    categorical: dict[str, Any] = {"categorical_features": [1, 3]}
    directions = [1, 0, 0, -1]
    return [
        GradientBoostingClassifier(**few, subsample=0.6).fit(x, np.where(signal > 0, "yes", "no")),
        GradientBoostingClassifier(**few, **categorical).fit(mixed, level, weights),
        GradientBoostingClassifier(**few, loss="hinge", monotonic_cst=directions).fit(x, signal > 0),
        GradientBoostingRegressor(**few, loss="huber", alpha=0.8, init="zero").fit(x, signal, X_val=x, y_val=signal),
        NewtonBoostingClassifier(**few, warm_start=True, n_iter_no_change=1, learning_rate=3.0, min_samples_leaf=1).fit(
            x, level.astype(np.float32)
        ),
        NewtonBoostingRegressor(**few, **categorical, colsample_bynode=0.6, min_samples_leaf=1).fit(
            mixed, signal, weights
        ),
        LambdaMART(**few, **categorical, metric="err", gain="linear", min_samples_leaf=3).fit(
            mixed, level, QUERIES, X_val=mixed, y_val=level
        ),
    ]


def valid_networks() -> list[Any]:
    """Return fitted ranking networks that differ in kind, layers and stored history."""
    x, _, _, level, _ = _rows()
    x = np.nan_to_num(x[:, :3])
    layers: Any = [3, 2]  # a list, which is loaded as a tuple
    return [
        RankNet((4,), max_iter=3, random_state=0).fit(x, level, qid=QUERIES),
        LambdaRank(
            layers, activation="relu", metric="err", k=4, early_stopping=True, validation_fraction=0.4, max_iter=4,
            random_state=1,
        ).fit(x, level, qid=QUERIES),
    ]  # fmt: skip


def valid_adaboosts() -> list[Any]:
    """Return fitted AdaBoosts of trees that differ in members, classes, columns, and whether rows are drawn."""
    x, mixed, signal, level, weights = _rows()
    few: dict[str, Any] = {"n_estimators": 3, "random_state": 1}
    tree = DecisionTreeClassifier(max_depth=2, categorical_features=[1, 3])
    weighed = clone(tree).set_params(class_weight={0: 1.0, 1: 2.5, 2: 1})
    rare = np.where(np.arange(N_ROWS) == 1, 3, level)  # a class that a draw of rows may lack
    rarer = mixed.copy()
    rarer[0, 1] = "a rare one"
    return [
        AdaBoostClassifier(**few, weight_history=True).fit(x, np.where(signal > 0, "yes", "no")),
        AdaBoostClassifier(weighed, **few, form="exponential", learning_rate=0.5).fit(mixed, level, weights),
        AdaBoostClassifier(tree, **few, resample=True).fit(rarer, rare.astype(np.float32)),
        AdaBoostClassifier(DecisionTreeClassifier(random_state=7), **few).fit(x, level),  # without error
    ]


def _rows() -> tuple[npt.NDArray[Any], ...]:
    """Return a table of numbers, one of numbers and categories, and of their rows targets, classes and weights."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N_ROWS, 4))
    x[rng.random(x.shape) < 0.1] = np.nan
    colors = np.array(["blue", "green", "red\u00fc"])[rng.integers(0, 3, N_ROWS)]
    mixed = x.astype(object)
    mixed[:, 1], mixed[:, 3] = colors, rng.integers(0, 7, N_ROWS)
    signal = np.nan_to_num(x[:, 0]) + (colors == "blue")
    level = np.digitize(signal, (-0.3, 0.6))
    return x, mixed, signal, level, rng.integers(0, 3, N_ROWS).astype(float)


def write_valid_ensembles(folder: Path) -> list[Path]:
    """Write the valid ensembles into a folder and return their paths."""
    paths = []
    every = [*valid_ensembles(), *valid_boosted(), *valid_adaboosts(), *valid_networks()]
    for number, estimator in enumerate(every):
        paths.append(folder / f"ensemble{number}.safetensors")
        estimator.save(paths[-1])
    return paths


def use_ensemble(estimator: Any) -> None:
    """Call all methods of an ensemble on a small table, and check that the results are valid."""
    if isinstance(estimator, RankNet | LambdaRank):
        _use_network(estimator)
        return
    table = table_for(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a table without names is no fault
        for tree, own in _leaves(estimator, table):
            if not tree.is_leaf[own].all() or tree.max_depth >= tree.node_count or not np.isfinite(tree.value).all():
                raise AssertionError("leaves that are none")
        if not np.isfinite(estimator.feature_importances_).all():
            raise AssertionError("importances that are no numbers")
        if getattr(estimator, "_has_base_margin", False):
            return  # a mutant that requires base margins
        answers = _answers(estimator, table)
        with tempfile.TemporaryDirectory() as folder:
            estimator.save(Path(folder) / "again")
            if not np.array_equal(_answers(load(Path(folder) / "again"), table), answers, equal_nan=True):
                raise AssertionError("another ensemble when it is saved again")
        for member in np.ravel(getattr(estimator, "estimators_", []))[:2]:
            member.predict(table)
    repr(estimator)


def _use_network(ranker: Any) -> None:
    """Compute a ranking network's scores of usual and of the largest numbers."""
    n_features = ranker.n_features_in_
    table = np.random.default_rng(0).normal(size=(N_ASKED, n_features))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a table without names is no fault
        scores = ranker.predict(table)
        if not np.isfinite(scores).all() or not np.isfinite(ranker.predict(np.full((2, n_features), MAX_INPUT))).all():
            raise AssertionError("scores that are no numbers")
        with tempfile.TemporaryDirectory() as folder:
            ranker.save(Path(folder) / "again")
            if not np.array_equal(load(Path(folder) / "again").predict(table), scores):
                raise AssertionError("another ranker when it is saved again")
    repr(ranker)


def _leaves(estimator: Any, table: npt.NDArray[Any]) -> Iterator[tuple[Tree, npt.NDArray[np.int64]]]:
    """Yield every tree, and the leaves of the rows in it."""
    if isinstance(estimator, AdaBoostClassifier):
        for member in estimator.estimators_:
            yield member.tree_, member.apply(table)
        return
    trees = estimator.trees_ if hasattr(estimator, "trees_") else [estimator.tree_]
    yield from zip(trees, estimator.apply(table).reshape(len(table), -1).T, strict=True)


def _answers(estimator: Any, table: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return an ensemble's predictions for rows, checked."""
    labels = estimator.predict(table)
    if hasattr(estimator, "staged_predict"):
        _check_stages(estimator, table, labels)
    if hasattr(estimator, "classes_") and not hasattr(estimator, "predict_proba"):
        labels = estimator.decision_function(table)
    elif hasattr(estimator, "classes_"):
        shares = np.asarray(estimator.predict_proba(table))
        if not np.isin(labels, estimator.classes_).all() or not np.allclose(shares.sum(axis=1), 1, atol=1e-5):
            raise AssertionError("classes or shares that are none")
        return shares
    if not np.isfinite(labels).all():
        raise AssertionError("predictions that are no numbers")
    if hasattr(estimator, "_targets"):
        found = estimator.predict_quantiles(table, [0.1, 0.5])
        if not np.isin(found, estimator._targets).all() or (found[:, 0] > found[:, 1]).any():
            raise AssertionError("quantiles that are no targets, or not in order")
        return np.column_stack((labels, found))
    return np.asarray(labels)


def _check_stages(estimator: Any, table: npt.NDArray[Any], labels: npt.NDArray[Any]) -> None:
    """Check that a boosted ensemble's last stage equals its prediction, and that there is one for each round."""
    stages = list(estimator.staged_predict(table))
    if len(stages) != len(estimator.estimators_) or not np.array_equal(stages[-1], labels):
        raise AssertionError("stages that do not lead to the prediction")


def table_for(estimator: Any) -> npt.NDArray[Any]:
    """Return rows that fit the columns: numbers, known and unknown categories, missing values."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(N_ASKED, estimator.n_features_in_)).astype(np.float32)
    table[rng.random(table.shape) < 0.2] = np.nan
    of_all = estimator.estimators_[0] if isinstance(estimator, AdaBoostClassifier) else estimator
    if not of_all.categories_:
        return table
    mixed = table.astype(object)
    for column, categories in of_all.categories_.items():
        known = [*categories.tolist(), "unknown", np.nan]
        mixed[:, column] = [known[i] for i in rng.integers(0, len(known), N_ASKED)]
    return mixed
