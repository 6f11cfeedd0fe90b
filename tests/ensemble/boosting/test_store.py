"""Boosted ensembles as files: what is saved loads back the same and boosts on, and what is wrong is refused."""

import copy
import json
import math
import pickle
import re
import struct
from pathlib import Path

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from support.brokenfiles import (
    TOOLS,
    at,
    changed,
    cut,
    failures_without,
    fuzz_tools,
    item,
    key,
    one_entry,
    whole_column,
)

from depthforest.base import modelfile
from depthforest.base.errors import ModelError, UsageError
from depthforest.ensemble.boosting.gradient import GradientBoostingClassifier, GradientBoostingRegressor
from depthforest.ensemble.boosting.losses.choice import CLASSIFICATION_LOSSES, REGRESSION_LOSSES
from depthforest.ensemble.boosting.losses.regression import SquaredError
from depthforest.ensemble.boosting.newton import NewtonBoostingClassifier, NewtonBoostingRegressor
from depthforest.ensemble.boosting.store import BOOST_COLUMNS, BOOSTED_CLASSES, BOOSTED_NUMBERS
from depthforest.ensemble.files import TREE_ESTIMATORS, load
from depthforest.ensemble.tree import store as treestore
from depthforest.ensemble.tree.checks import LARGEST
from depthforest.ensemble.tree.store import KIND, TREE_COLUMNS

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
NAMES = ("two_classes", "classes", "hinge", "numbers", "newton_classes", "newton_numbers", "ranks")
KNOWN = ("start_", "train_score_", "oob_improvement_", "validation_score_", "_seeds")


@pytest.fixture(scope="module")
def tools():
    return fuzz_tools()


@pytest.fixture(scope="module")
def ensembles(tools):
    return dict(zip(NAMES, tools[1].valid_boosted(), strict=True))


@pytest.fixture(scope="module")
def files(ensembles, tmp_path_factory):
    folder = tmp_path_factory.mktemp("boosted")
    for name, estimator in ensembles.items():
        estimator.save(folder / name)
    return folder


def numbers(n=60, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, n_features)).astype(np.float32)
    return x, x[:, 0] - np.abs(x[:, 1])


def again(estimator, folder):
    estimator.save(folder / "model")
    return load(folder / "model")


def bytes_of(estimator, folder):
    estimator.save(folder / "model")
    return (folder / "model").read_bytes()


def raw_of(estimator, x):
    return estimator.decision_function(x) if hasattr(estimator, "classes_") else estimator.predict(x)


# -- what is saved loads back


@pytest.mark.parametrize("name", NAMES)
def test_what_is_saved_loads_back(name, ensembles, files, tools, tmp_path):
    saved, loaded = ensembles[name], load(files / name)
    assert type(loaded) is type(saved)
    assert loaded.get_params() == saved.get_params()
    table = tools[1].table_for(saved)
    assert len(np.unique(raw_of(saved, table))) > 1
    np.testing.assert_array_equal(raw_of(loaded, table), raw_of(saved, table))
    np.testing.assert_array_equal(loaded.predict(table), saved.predict(table))
    assert loaded.predict(table).dtype == saved.predict(table).dtype
    np.testing.assert_array_equal(loaded.apply(table), saved.apply(table))
    np.testing.assert_array_equal(list(loaded.staged_predict(table)), list(saved.staged_predict(table)))
    np.testing.assert_array_equal(loaded.feature_importances_, saved.feature_importances_)
    assert hasattr(loaded, "predict_proba") == hasattr(saved, "predict_proba")
    if hasattr(saved, "predict_proba"):
        np.testing.assert_array_equal(loaded.predict_proba(table), saved.predict_proba(table))
    tools[1].use_ensemble(loaded)
    assert bytes_of(loaded, tmp_path) == (files / name).read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_everything_that_is_known_comes_back(name, ensembles, files):
    saved, loaded = ensembles[name], load(files / name)
    not_stored = {"estimators_", "evals_result_", "oob_scores_", "max_features_", "_has_base_margin"}
    assert vars(loaded).keys() == vars(saved).keys() - not_stored
    assert len(loaded) == len(saved) == 2 + (name != "newton_classes")
    assert loaded._loss.name == saved._loss.name
    assert loaded._kinds == saved._kinds
    for attribute in KNOWN:
        mine, its = getattr(loaded, attribute), getattr(saved, attribute)
        np.testing.assert_array_equal(mine, its)
        assert mine.dtype == its.dtype
        assert mine.flags.writeable
    for new, old in zip(loaded.trees_, saved.trees_, strict=True):
        assert new.n_shared == old.n_shared == 0
        for column in TREE_COLUMNS.keys() - {"ends"}:
            np.testing.assert_array_equal(getattr(new, column), getattr(old, column))
            assert getattr(new, column).dtype == getattr(old, column).dtype
            assert getattr(new, column).flags.writeable  # else kernels compile for another type


def test_the_valid_ensembles_differ_in_what_they_know(ensembles):
    """Else the tests above would compare nothing with nothing."""
    assert len(ensembles["two_classes"].oob_improvement_) == 3
    assert len(ensembles["numbers"].validation_score_) == 3
    assert len(ensembles["newton_classes"].train_score_) == 3 > len(ensembles["newton_classes"])
    assert len(ensembles["classes"].trees_) == 9
    assert any((tree.mask >= 0).any() for tree in ensembles["newton_numbers"].trees_)


@pytest.mark.parametrize("kind", [GradientBoostingClassifier, NewtonBoostingClassifier])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_loaded_ensemble_boosts_on(kind, n_classes, tmp_path):
    x, y = numbers()
    y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    options = {"random_state": 3, "subsample": 0.7, "max_depth": 2, "warm_start": True}
    kept = kind(n_estimators=2, **options).fit(x, y)
    loaded = again(kept, tmp_path)
    for estimator in (kept, loaded):
        estimator.set_params(n_estimators=5).fit(x, y)
    at_once = kind(n_estimators=5, **options).fit(x, y)
    assert bytes_of(loaded, tmp_path) == bytes_of(kept, tmp_path) == bytes_of(at_once, tmp_path)


@pytest.mark.parametrize(
    "options", [{"loss": "huber"}, {"loss": "quantile", "alpha": 0.3}, {"monotonic_cst": [1, 0, 0]}]
)
def test_a_loaded_ensemble_of_numbers_boosts_on(options, tmp_path):
    x, y = numbers()
    kept = GradientBoostingRegressor(n_estimators=2, max_depth=2, warm_start=True, **options).fit(
        x, y, X_val=x, y_val=y
    )
    loaded = again(kept, tmp_path)
    for estimator in (kept, loaded):
        estimator.set_params(n_estimators=4, random_state=1).fit(x, y, X_val=x, y_val=y)
    assert len(loaded.validation_score_) == 4
    assert bytes_of(loaded, tmp_path) == bytes_of(kept, tmp_path)


def test_a_loaded_ensemble_that_stopped_early_boosts_on(tmp_path):
    x, y = numbers()
    options = {"random_state": 0, "max_depth": 2, "warm_start": True, "n_iter_no_change": 1}
    kept = NewtonBoostingRegressor(n_estimators=5, learning_rate=2.5, **options).fit(x, y)
    assert len(kept) < len(kept.train_score_)
    loaded, n_before = again(kept, tmp_path), len(kept)
    for estimator in (kept, loaded):
        estimator.set_params(n_estimators=8, learning_rate=0.3).fit(x, y)
    assert len(loaded) > n_before
    assert bytes_of(loaded, tmp_path) == bytes_of(kept, tmp_path)


def test_a_loaded_ensemble_knows_what_its_trees_mean(files):
    x, y = numbers(40, 4)
    loaded = load(files / "two_classes").set_params(warm_start=True, n_estimators=9)
    with pytest.raises(UsageError, match="warm_start needs the same loss, columns, classes and categories"):
        loaded.fit(x, np.where(y > 0, "in", "out"))


def test_equal_ensembles_are_equal_files(tmp_path):
    x, y = numbers()
    y = np.digitize(y, (-1, 0))
    options = {"n_estimators": 3, "max_depth": 2, "random_state": 0, "subsample": 0.8}
    found = [bytes_of(GradientBoostingClassifier(**options, n_jobs=n_jobs).fit(x, y), tmp_path) for n_jobs in (None, 2)]
    assert found[0] == found[1]
    other = GradientBoostingClassifier(**{**options, "random_state": 1}).fit(x, y)
    assert bytes_of(other, tmp_path) != found[0]
    loaded = again(GradientBoostingClassifier(**options, n_jobs=2, verbose=0).fit(x, y), tmp_path)
    assert loaded.n_jobs is None
    before = loaded.predict_proba(x)
    np.testing.assert_array_equal(loaded.set_params(n_jobs=2).predict_proba(x), before)


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ([0, 1, -1], [0, 1, -1]),
        ((0, 1, -1), [0, 1, -1]),
        (np.array([0, 1, -1]), [0, 1, -1]),
        ([np.int8(0), 1.0, -1], [0, 1.0, -1]),
        ({"c": np.int64(-1), "a": 1}, {"a": 1, "c": -1}),
        ({}, {}),
        (None, None),
    ],
)
def test_directions_of_every_kind(given_, expected, tmp_path):
    pd = pytest.importorskip("pandas")
    x, y = numbers()
    table = pd.DataFrame(x, columns=list("abc"))
    saved = NewtonBoostingRegressor(n_estimators=2, max_depth=2, monotonic_cst=given_).fit(table, y)
    loaded = again(saved, tmp_path)
    assert loaded.monotonic_cst == expected
    assert type(loaded.monotonic_cst) is type(expected)
    assert loaded.feature_names_in_.tolist() == list("abc")
    np.testing.assert_array_equal(clone(loaded).fit(table, y).predict(table), saved.predict(table))


@pytest.mark.parametrize("loss", ["log_loss", "logistic", "multinomial", "exponential", "hinge", "perceptron"])
def test_every_loss_of_classes(loss, tmp_path):
    x, y = numbers()
    saved = GradientBoostingClassifier(loss=loss, n_estimators=2, max_depth=2).fit(x, y > 0)
    loaded = again(saved, tmp_path)
    assert (loaded.loss, type(loaded._loss)) == (loss, type(saved._loss))
    assert len(loaded.start_) == (2 if loss == "multinomial" else 1)
    np.testing.assert_array_equal(loaded.decision_function(x), saved.decision_function(x))
    np.testing.assert_array_equal(loaded.predict(x), saved.predict(x))


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber", "quantile"])
def test_every_loss_of_numbers(loss, tmp_path):
    x, y = numbers()
    saved = GradientBoostingRegressor(loss=loss, n_estimators=2, max_depth=2, alpha=0.7).fit(x, y)
    loaded = again(saved, tmp_path)
    assert (type(loaded._loss), loaded.alpha) == (type(saved._loss), 0.7)
    np.testing.assert_array_equal(loaded.predict(x), saved.predict(x))


def test_the_loss_is_that_of_the_trees_not_of_the_parameter(tmp_path):
    x, y = numbers()
    saved = GradientBoostingClassifier(n_estimators=2, max_depth=2).fit(x, y > 0).set_params(loss="hinge")
    loaded = again(saved, tmp_path)
    assert (loaded.loss, loaded._loss.name) == ("hinge", "logistic")
    np.testing.assert_array_equal(loaded.predict_proba(x), saved.predict_proba(x))


def test_a_round_without_rows_out_of_bag(tmp_path):
    saved = GradientBoostingRegressor(n_estimators=2, subsample=0.5).fit([[0.0], [1.0]], [1.0, 2.0], [1.0, 0.0])
    assert np.isnan(saved.oob_improvement_).all()
    assert np.isnan(again(saved, tmp_path).oob_improvement_).tolist() == [True, True]


# -- copies and members


@pytest.mark.parametrize("name", NAMES)
def test_copies_are_the_same_and_small(name, ensembles, files, tools, tmp_path):
    saved, table = ensembles[name], tools[1].table_for(ensembles[name])
    joblib.dump(saved, tmp_path / "joblib")
    loaded = load(files / name)
    for copied in (pickle.loads(pickle.dumps(saved)), copy.deepcopy(saved), joblib.load(tmp_path / "joblib"),
                   pickle.loads(pickle.dumps(loaded))):  # fmt: skip
        np.testing.assert_array_equal(raw_of(copied, table), raw_of(saved, table))
        assert bytes_of(copied, tmp_path) == (files / name).read_bytes()
    unfitted = clone(saved)
    assert not hasattr(unfitted, "trees_")
    assert unfitted.get_params() == saved.get_params()


def test_copies_do_not_grow_with_the_rows():
    sizes = []
    for n in (100, 3000):
        x, y = numbers(n)
        estimator = GradientBoostingRegressor(n_estimators=5, max_leaf_nodes=4, max_depth=None, subsample=0.9)
        estimator.fit(x, y, X_val=x, y_val=y)
        assert all(tree.node_count == 7 and len(tree.rows) == len(tree.begins) == 0 for tree in estimator.trees_)
        sizes.append(len(pickle.dumps(estimator)))
    assert abs(sizes[1] - sizes[0]) < 200


@pytest.mark.parametrize("name", ["classes", "newton_numbers"])
def test_members_are_trees_that_can_be_saved(name, ensembles, tools, tmp_path):
    saved, table = ensembles[name], tools[1].table_for(ensembles[name])
    total = np.tile(saved.start_, (len(table), 1))
    for members in saved.estimators_:
        for k, member in enumerate(members):
            loaded = again(member, tmp_path)
            np.testing.assert_array_equal(loaded.predict(table), member.predict(table))
            total[:, k] += loaded.predict(table)
    np.testing.assert_array_equal(total if len(saved.start_) > 1 else total[:, 0], raw_of(saved, table))


# -- what cannot be saved


class Doubled:
    """Twice the squared error."""

    def value(self, y, raw):
        return (y - raw) ** 2

    def gradient(self, y, raw):
        return 2 * (raw - y)


@pytest.mark.parametrize("is_hidden", [False, True])
def test_a_loss_of_ones_own_cannot_be_saved(is_hidden, tmp_path):
    x, y = numbers()
    estimator = GradientBoostingRegressor(loss=Doubled(), n_estimators=2, max_depth=2).fit(x, y)
    if is_hidden:
        estimator.set_params(loss="squared_error")
    message = "a custom loss cannot be saved, got Doubled: files hold no code; use pickle, or a built-in loss"
    with pytest.raises(UsageError, match=message):
        estimator.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_what_else_cannot_be_saved(tmp_path, monkeypatch):
    x, y = numbers()
    estimator = GradientBoostingRegressor(n_estimators=2, max_depth=2, loss="quantile").fit(x, y)
    with pytest.raises(UsageError, match=r"as monotonic_cst, got dict \{0: 1\}; set_params"):
        estimator.set_params(monotonic_cst={0: 1}).save(tmp_path / "m")
    estimator.set_params(monotonic_cst=None, alpha=7)
    with pytest.raises(UsageError, match="alpha must be a number above 0 and below 1"):
        estimator.save(tmp_path / "m")
    estimator.set_params(alpha=0.5)
    with monkeypatch.context() as patch:
        patch.setattr(treestore, "MAX_TREES", 1)
        with pytest.raises(UsageError, match="a file can hold 1 trees, got 2"):
            estimator.save(tmp_path / "m")
    estimator.train_score_[1] = np.inf
    with pytest.raises(ModelError, match="train_score must be finite"):
        estimator.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_another_kind_of_boosting_is_one_line(tmp_path, monkeypatch):
    """As a ranker: no classes, one output, a loss of its own."""

    class Pairs(SquaredError):  # noqa: N818 - a loss
        name = "pairs"

    class Ranker(GradientBoostingRegressor):
        def _loss_by(self, name):  # noqa: ARG002 - it has one
            return Pairs()

    x, y = numbers()
    ranker = Ranker(n_estimators=2, max_depth=2).fit(x, y)
    with pytest.raises(UsageError, match="can be saved, got Ranker"):
        ranker.save(tmp_path / "m")
    monkeypatch.setattr(Ranker, "_layout", BOOSTED_NUMBERS)
    monkeypatch.setitem(TREE_ESTIMATORS, "Ranker", Ranker)
    loaded = again(ranker, tmp_path)
    assert (type(loaded), loaded._loss.name) == (Ranker, "pairs")
    np.testing.assert_array_equal(loaded.predict(x), ranker.predict(x))


# -- what is refused


def leaves(columns):
    return columns["feature"] == -1


def splits(columns):
    return columns["feature"] != -1


def fewer_trees(n):
    """Take away the last trees, with their nodes, values and masks."""

    def change(_, columns):
        columns["ends"] = columns["ends"][:n]
        nodes, values, masks = columns["ends"][-1]
        for name in treestore.NODE_COLUMNS:
            columns[name] = columns[name][:nodes]
        columns["values"], columns["masks"] = columns["values"][:values], columns["masks"][:masks]

    return change


OTHER_CLASSES = {"dtype": "int64", "values": [0, 1, 2, 3]}

REFUSED = {
    "start too few": (
        "classes", whole_column("start", [1, 2]), r"start must be 3 numbers for loss 'multinomial', up to 1e\+300, or",
    ),
    "start too many": ("numbers", whole_column("start", [1, 2]), r"start must be 1 numbers for loss 'huber'"),
    "start NaN": ("numbers", item("start", 0, np.nan), r"start must be 1 numbers .* got \[nan\]"),
    "start infinite": ("classes", item("start", 1, -np.inf), "start must be 3 numbers"),
    "start huge": ("numbers", item("start", 0, 1.1e300), r"up to 1e\+300"),
    "trees of no full round": ("classes", fewer_trees(8), "loss 'multinomial' has 3 trees in each round, got 8 trees"),
    "no trees": ("numbers", cut("ends", 0), "GradientBoostingRegressor has 1 to 65536 trees, got 0"),
    "scores missing": ("numbers", cut("train_score", 2), "train_score must have a value for each of 3 rounds, got 2"),
    "score NaN": ("classes", item("train_score", 0, np.nan), "train_score must be finite, one for each of 3 rounds"),
    "score infinite": ("classes", item("train_score", 2, np.inf), "train_score must be finite"),
    "more scores than seeds": ("classes", whole_column("train_score", range(4)), "and at least 4 for rounds; got 4"),
    "improvement infinite": ("two_classes", item("oob_improvement", 0, np.inf), "oob_improvement must be finite"),
    "improvements of more rounds": ("numbers", whole_column("oob_improvement", range(4)), "one for each of 3 rounds"),
    "validation infinite": ("numbers", item("validation_score", 1, -np.inf), "validation_score must be finite"),
    "validation of more rounds": ("numbers", whole_column("validation_score", range(9)), "one for each of 3 rounds"),
    "too few seeds": ("numbers", cut("seeds", 3), "seeds must be .*, one and at least 3 for rounds; got 3"),
    "negative seed": ("numbers", item("seeds", 3, -1), "seeds must be whole numbers from 0"),
    "seeds of another type": (
        "numbers",
        lambda _, c: c.update(seeds=c["seeds"].astype(np.int64)),
        "column seeds must be int32, got int64",
    ),
    "lacks a column": ("numbers", lambda _, c: c.pop("start"), "lacks the column start"),
    "columns of a forest": ("numbers", lambda _, c: c.update(positive=np.zeros(0, np.int32)), "column 'positive'"),
    "two values a leaf": (
        "two_classes",
        lambda _, c: c.update(values=np.repeat(c["values"], 2, axis=1)),
        "values must have 1 columns, got 2",
    ),
    "value NaN": ("two_classes", item("values", (0, 0), np.nan), r"tree 0: row of values 0 must be up to 1e\+300"),
    "value huge": ("classes", item("values", (1, 0), -1e299), r"row of values 1 must be up to 1e\+300, times the"),
    "value used twice": ("hinge", at("child", leaves, 1), "row of values 0 must belong to one leaf: 0"),
    "child outside": ("newton_numbers", at("child", splits, 77), "tree 0: node 0 must have its children after it"),
    "no mask": ("newton_numbers", at("mask", lambda c: c["mask"] >= 0, -1), "must have a mask where its column is cat"),
    "weight": ("newton_classes", item("weighted_n_node_samples", 0, 1e9), "must weigh as much as its children"),
    "loss no text": ("numbers", key("fitted", "loss", None), "loss must be a string, got None"),
    "loss an object": ("numbers", key("fitted", "loss", {"value": 1}), "loss must be a string, got {"),
    "loss unknown": ("numbers", key("fitted", "loss", "os.system"), "loss must be one of 'squared_error', .*os.system"),
    "loss of classes": ("numbers", key("fitted", "loss", "hinge"), "got 'hinge', which is for classification"),
    "loss of numbers": ("classes", key("fitted", "loss", "huber"), "got 'huber', which is for regression"),
    "loss of two classes": ("classes", key("fitted", "loss", "logistic"), "separates two classes, but y has 3"),
    "loss of more outputs": ("hinge", key("fitted", "loss", "multinomial"), "start must be 2 numbers"),
    "loss by another name": (
        "two_classes",
        key("fitted", "loss", "log_loss"),
        "loss must be the one that 'log_loss' stands for, 'logistic'",
    ),
    "loss of another task": (
        "newton_numbers",
        key("fitted", "loss", "log_loss"),
        "loss must be one of 'squared_error'",
    ),
    "metric of a ranker": ("ranks", key("fitted", "loss", "auc"), "metric must be one of ranknet, ndcg, err, map; got"),
    "ranker of classes": ("ranks", key("classes", OTHER_CLASSES), "classes must be null for LambdaMART"),
    "start of a ranker": ("ranks", whole_column("start", [0, 0]), "start must be 1 numbers for loss 'err'"),
    "alpha": ("numbers", key("parameters", "alpha", 1), "alpha must be .* below 1 for loss 'huber', got 1"),
    "alpha no number": ("numbers", key("parameters", "alpha", "x"), "alpha must be a number above 0 and below 1"),
    "lacks the loss": ("numbers", key("fitted", {}), "fitted must be an object with loss; got {}"),
    "fitted no object": ("numbers", key("fitted", []), "fitted must be an object with loss"),
    "more is fitted": ("numbers", key("fitted", "n_rows", 3), "fitted must be an object with loss"),
    "directions": ("hinge", key("parameters", "monotonic_cst", [[1]]), "parameter monotonic_cst cannot be"),
    "directions by name": ("hinge", key("parameters", "monotonic_cst", {"a": []}), "parameter monotonic_cst cannot be"),
    "parameter a dict": ("hinge", key("parameters", "init", {"a": 1}), "parameter init cannot be"),
    "parameter an object": ("hinge", key("parameters", "loss", ["hinge"]), "parameter loss cannot be"),
    "another estimator": ("numbers", key("estimator", "NewtonBoostingRegressor"), "parameters must be an object with"),
    "a forest": ("numbers", key("estimator", "RandomForestRegressor"), "column"),
    "no classes": ("two_classes", key("classes", None), "classes must be an object with dtype and a list of values"),
    "one class": ("two_classes", key("classes", "values", ["a"]), "y must have at least two classes to boost, got 1"),
    "more classes": ("two_classes", key("classes", OTHER_CLASSES), "'logistic' separates two classes, but y has 4"),
    "more classes than outputs": ("classes", key("classes", OTHER_CLASSES), "start must be 4 numbers for loss 'multin"),
    "classes of numbers": ("numbers", key("classes", OTHER_CLASSES), "classes must be null for Gradient"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "change", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(name, change, message, files, tmp_path):
    path = tmp_path / "broken.safetensors"
    changed(files / name, path, change)
    with pytest.raises(ModelError, match=message) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value).splitlines()) == 1


def test_a_copy_without_a_change_loads(files, tmp_path):
    for name in NAMES:
        changed(files / name, tmp_path / name, lambda *_: None)
        assert (tmp_path / name).read_bytes() == (files / name).read_bytes()


@pytest.mark.parametrize(("n", "n_rounds"), [(3, 1), (6, 2)])
def test_fewer_full_rounds_load(n, n_rounds, ensembles, files, tools, tmp_path):
    """Rounds that early stopping takes back leave their scores and seeds behind."""
    changed(files / "classes", tmp_path / "m", fewer_trees(n))
    loaded, table = load(tmp_path / "m"), tools[1].table_for(ensembles["classes"])
    assert len(loaded) == n_rounds
    stage = list(ensembles["classes"].staged_decision_function(table))[n_rounds - 1]
    np.testing.assert_array_equal(loaded.decision_function(table), stage)


def test_sums_of_the_largest_values_stay_finite(files, tools, tmp_path):
    def change(_, columns):
        columns["start"][:] = LARGEST
        weight = columns["weighted_n_node_samples"].max()
        columns["values"][:] = LARGEST / weight

    for name in ("hinge", "numbers", "classes", "two_classes"):
        changed(files / name, tmp_path / "m", change)
        tools[1].use_ensemble(load(tmp_path / "m"))


# -- mutants


def test_the_loader_survives_a_short_run(tools, files):
    fuzzer = tools[0]
    n_cases = 120
    report = fuzzer.fuzz(n_cases, fuzzer.child_command([files / name for name in NAMES], 5, n_cases))
    assert report.failures == []
    assert sum(report.counts.values()) == n_cases
    for kind in fuzzer.MUTATIONS:
        assert report.counts[kind, fuzzer.REFUSED] > 12
    assert report.counts["arrays", fuzzer.LOADED] > 1
    assert report.counts["metadata", fuzzer.LOADED] > 1


@pytest.mark.slow
def test_the_loader_survives_a_long_run(tools, files):
    fuzzer = tools[0]
    n_cases = 4_000
    report = fuzzer.fuzz(n_cases, fuzzer.child_command([files / name for name in NAMES], 0, n_cases))
    assert report.failures == []
    assert sum(report.counts.values()) == n_cases


@pytest.mark.slow
@pytest.mark.parametrize(
    ("check", "name", "expected"),
    [
        ("depthforest.ensemble.tree.checks._check_links", "numbers", ("IndexError", "hangs", "crashes", "MemoryError")),
        ("depthforest.ensemble.tree.checks._check_leaves", "classes", ("IndexError", "crashes")),
        ("depthforest.ensemble.tree.checks._check_splits", "newton_numbers", ("IndexError", "crashes")),
        ("depthforest.ensemble.tree.checks._check_values", "hinge", ("AssertionError",)),
        (
            "depthforest.ensemble.boosting.store._check",
            "classes",
            ("IndexError", "ValueError", "AssertionError", "crashes"),
        ),
        ("depthforest.ensemble.tree.store._check_ends", "newton_classes", ("IndexError", "ValueError", "crashes")),
    ],
)
def test_a_missing_check_is_found(files, check, name, expected):
    """The fuzzer would notice if one of the loader's checks were lost."""
    failures = failures_without(check, files / name)
    assert any(what.startswith(expected) for what in failures), failures


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_a_mutant_is_refused_or_works(data, tools, files, tmp_path_factory):
    """One entry of one column is anything: what loads gives sound answers."""
    name = data.draw(st.sampled_from(NAMES))
    path = tmp_path_factory.getbasetemp() / "boosted_mutant.safetensors"
    changed(files / name, path, data.draw(one_entry(files / name)))
    try:
        loaded = load(path)
    except ModelError:
        return
    tools[1].use_ensemble(loaded)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 1000),
    n_rows=st.integers(4, 40),
    kind=st.sampled_from(
        [GradientBoostingClassifier, GradientBoostingRegressor, NewtonBoostingClassifier, NewtonBoostingRegressor]
    ),
    options=st.fixed_dictionaries(
        {"categorical_features": st.sampled_from([None, [1]]), "subsample": st.sampled_from([0.5, 1.0]),
         "max_bins": st.sampled_from([None, 8]), "max_leaf_nodes": st.sampled_from([None, 3]),
         "learning_rate": st.sampled_from([0.1, 5.0])}
    ),
)  # fmt: skip
def test_whatever_is_grown_can_be_saved(seed, n_rows, kind, options, tmp_path_factory):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 6, (n_rows, 3)).astype(np.float32)
    x[rng.random(x.shape) < 0.2] = np.nan
    y, weights = rng.integers(0, 3, n_rows), rng.random(n_rows) ** 9 * rng.integers(0, 2, n_rows)
    y[:2], weights[:2] = (0, 1), 1.0
    if kind in (NewtonBoostingClassifier, NewtonBoostingRegressor):
        options = {**options, "min_child_weight": 0.0, "reg_lambda": 0.0}
    saved = kind(n_estimators=3, random_state=seed, **options).fit(x, y, weights)
    path = tmp_path_factory.getbasetemp() / "boosted.safetensors"
    saved.save(path)
    np.testing.assert_array_equal(raw_of(load(path), x), raw_of(saved, x))


# -- the stored ensemble, and the page that describes the format


def test_the_stored_ensemble_predicts_as_it_did(tmp_path):
    expected = json.loads((GOLDEN / "boosted.json").read_text())
    boosted = load(GOLDEN / "boosted.safetensors")
    rows = np.array([[np.nan if v is None else v for v in row] for row in expected["rows"]], dtype=object)
    assert boosted.apply(rows).tolist() == expected["leaves"]
    assert boosted.decision_function(rows).tolist() == expected["raw"]
    assert boosted.predict(rows).tolist() == [boosted.classes_[np.argmax(raw)] for raw in expected["raw"]]
    assert boosted.validation_score_.tolist() == expected["validation_score"]
    assert len(boosted) < len(boosted.validation_score_)
    # of before Newton boosting had min_samples_leaf: it meant 1; saved again, the file says so
    assert boosted.get_params().get("min_samples_leaf") == 1
    again = bytes_of(boosted, tmp_path)
    assert bytes_of(load(tmp_path / "model"), tmp_path) == again


def test_a_reader_of_thirty_lines_agrees(ensembles, files, tools):
    """Written from the page alone: no depthforest in it."""
    for name in NAMES:
        raw = (files / name).read_bytes()
        begin = 8 + struct.unpack("<Q", raw[:8])[0]
        header = json.loads(raw[8:begin])
        about = json.loads(header.pop("__metadata__")["depthforest"])
        assert (about["kind"], about["format"]) == (KIND, 1)
        formats = {"F64": "d", "F32": "f", "I64": "q", "I32": "i", "U32": "I", "U8": "B"}
        flat = {
            column: struct.unpack_from(
                f"<{math.prod(h['shape'])}{formats[h['dtype']]}", raw, begin + h["data_offsets"][0]
            )
            for column, h in header.items()
        }
        codes = {c["column"]: {v: i for i, v in enumerate(c["values"])} for c in about["categories"]}
        ends = [(0, 0, 0), *(flat["ends"][i : i + 3] for i in range(0, len(flat["ends"]), 3))]
        table = tools[1].table_for(ensembles[name])
        expected = raw_of(ensembles[name], table).reshape(len(table), -1)
        for row, its in zip(table.tolist(), expected.tolist(), strict=True):
            sums = list(flat["start"])
            for t, (root, value, mask) in enumerate(ends[:-1]):
                node = root
                while flat["feature"][node] >= 0:
                    feature = flat["feature"][node]
                    number = codes[feature].get(row[feature]) if feature in codes else row[feature]
                    if number is None or number != number:  # NaN is not itself
                        is_left = flat["missing_go_to_left"][node] == 1
                    elif feature in codes:
                        at_bit = (mask + flat["mask"][node]) * 8 + number // 32
                        is_left = flat["masks"][at_bit] >> number % 32 & 1 == 1
                    else:
                        is_left = number <= flat["threshold"][node]
                    node = root + flat["child"][node] + (0 if is_left else 1)
                sums[t % len(sums)] += flat["values"][value + flat["child"][node]]
            assert sums == its


def test_the_page_says_what_a_boosted_file_holds():
    text = (TOOLS.parent / "docs" / "MODEL_FORMAT.md").read_text().partition("## Boosted ensembles")[2]
    text = text.partition("\n## ")[0]
    for name, column in BOOST_COLUMNS.items():
        assert re.search(rf"^\| `{name}` \| {modelfile.CODES[column.dtype]} \|", text, re.MULTILINE), name
    for loss in (*REGRESSION_LOSSES, *CLASSIFICATION_LOSSES):
        assert (f"`{loss}`" in text) == (loss != "log_loss"), loss
    for name, kind in TREE_ESTIMATORS.items():
        assert (f"`{name}`" in text) == (kind._layout in (BOOSTED_CLASSES, BOOSTED_NUMBERS))
