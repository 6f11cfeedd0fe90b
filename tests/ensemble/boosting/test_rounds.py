"""Rounds of boosting against naive twins; subsamples, weights, and what falls."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import log_loss
from support import naive_boosting as naive
from support import naive_columns

from depthforest.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
)
from depthforest.ensemble.boosting.losses.choice import loss_of


@pytest.fixture(autouse=True)
def the_first_of_equal_columns(monkeypatch):
    """Twins and repeated rows are compared with: chance must not choose."""
    monkeypatch.setattr("depthforest.ensemble.boosting.gradient._IS_SHUFFLED", False)


def make_rows(seed=0, n=60, *, missing=0.1):
    """Two columns of numbers with ties, one of categories; a signal, and weights."""
    rng = np.random.default_rng(seed)
    x = np.stack((rng.integers(0, 15, n), rng.integers(0, 8, n), rng.integers(0, 4, n)), axis=1).astype(np.float32)
    x[rng.random(x.shape) < missing] = np.nan
    signal = np.nan_to_num(x[:, 0]) / 5 + np.nan_to_num(x[:, 2]) % 2 + rng.normal(size=n)
    return x, signal, rng.integers(1, 5, n) / 2


def assert_trees(trees, roots):
    assert len(trees) == len(roots)
    for tree, root in zip(trees, roots, strict=True):
        naive.assert_same(tree, root)


XGBOOSTS = {
    "max_depth": 6, "max_leaf_nodes": None, "grow_policy": "depthwise", "min_child_weight": 1.0, "min_samples_leaf": 1,
}  # fmt: skip
"""Its defaults, which the twins know; `test_min_samples_leaf_is_its_twin` has the other."""

NEWTON = {
    "plain": {},
    "penalties": {"reg_lambda": 2.0, "reg_alpha": 0.7, "gamma": 1.5, "min_child_weight": 2.0},
    "leaves": {"max_leaf_nodes": 5, "grow_policy": "lossguide", "reg_lambda": 0.0},
    "levels": {"max_leaf_nodes": 6, "grow_policy": "depthwise", "max_depth": None},
    "monotonic": {"monotonic_cst": [1, -1, 0]},
}


def twin_settings(model):
    if hasattr(model, "reg_lambda"):
        penalties = {"l2": model.reg_lambda, "l1": model.reg_alpha, "gamma": model.gamma}
        penalties |= {"min_weight": model.min_child_weight, "is_leaf_wise": model.grow_policy == "lossguide"}
    else:
        penalties = {"min_weight": 0.0 if model.min_samples_leaf == 1 else model.min_samples_leaf}
    limits = {
        "max_depth": model.max_depth or 10**6,
        "max_leaves": model.max_leaf_nodes or 10**6,
        "directions": model.monotonic_cst,
    }
    return naive.Settings(**penalties | limits)


def fitted(kind, x, y, weights, **changes):
    base = XGBOOSTS if kind in (NewtonBoostingClassifier, NewtonBoostingRegressor) else {}
    model = kind(n_estimators=3, learning_rate=0.5, categorical_features=[2], **base | changes)
    return model.fit(x, y, weights), naive_columns.columns_of(x, max_bins=255, categorical=(2,))


@pytest.mark.parametrize("changes", NEWTON.values(), ids=NEWTON)
def test_newton_boosting_of_numbers_is_its_twin(changes):
    x, y, weights = make_rows()
    model, columns = fitted(NewtonBoostingRegressor, x, y, weights, **changes)
    assert model.start_ == pytest.approx(np.average(y, weights=weights))
    roots, raw = naive.boost(
        columns, y.tolist(), weights.tolist(), naive.squared, twin_settings(model), start=float(model.start_[0]),
        n_rounds=3, learning_rate=0.5, is_newton=True,
    )  # fmt: skip
    assert_trees(model.trees_, roots)
    assert_allclose(model.predict(x), raw, rtol=1e-9)


@pytest.mark.parametrize("changes", NEWTON.values(), ids=NEWTON)
def test_newton_boosting_of_two_classes_is_its_twin(changes):
    x, signal, weights = make_rows(1)
    y = (signal > np.median(signal)).astype(int)
    model, columns = fitted(NewtonBoostingClassifier, x, y, weights, init="zero", **changes)
    roots, raw = naive.boost(
        columns, y.tolist(), weights.tolist(), naive.logistic, twin_settings(model), start=0.0, n_rounds=3,
        learning_rate=0.5, is_newton=True,
    )  # fmt: skip
    assert_trees(model.trees_, roots)
    assert_allclose(model.decision_function(x), raw, atol=1e-9)


@pytest.mark.parametrize("kind", [NewtonBoostingClassifier, GradientBoostingClassifier])
def test_boosting_of_three_classes_is_its_twin(kind):
    x, signal, weights = make_rows(2)
    y = np.digitize(signal, np.quantile(signal, [0.3, 0.7]))
    model, columns = fitted(kind, x, y, weights, max_depth=3)
    shares = np.log(np.bincount(y, weights) / weights.sum())
    assert_allclose(model.start_, shares - shares.mean())
    roots, raw = naive.boost_classes(
        columns, y.tolist(), 3, weights.tolist(), twin_settings(model), start=model.start_.tolist(), n_rounds=3,
        learning_rate=0.5, is_newton=kind is NewtonBoostingClassifier,
    )  # fmt: skip
    assert_trees(model.trees_, roots)
    assert_allclose(model.decision_function(x), raw, atol=1e-9)


@pytest.mark.parametrize("changes", [{}, {"max_leaf_nodes": 5, "max_depth": None}, {"min_samples_leaf": 6}], ids=str)
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "logistic"])
def test_gradient_boosting_is_its_twin(loss, changes):
    """MART: trees by least squares of the gradient, leaves by a line search."""
    x, y, weights = make_rows(3)
    twin = {"squared_error": naive.squared, "absolute_error": naive.absolute, "logistic": naive.logistic}[loss]
    kind = GradientBoostingRegressor
    if loss == "logistic":
        y, kind = (y > np.median(y)).astype(int), GradientBoostingClassifier
    model, columns = fitted(kind, x, y, weights, loss=loss, **changes)
    roots, raw = naive.boost(
        columns, y.tolist(), weights.tolist(), twin, twin_settings(model), start=float(model.start_[0]), n_rounds=3,
        learning_rate=0.5, is_newton=False,
    )  # fmt: skip
    for tree, root in zip(model.trees_, roots, strict=True):
        naive.assert_same(tree, root, tolerance=1e-8)
    found = model.predict(x) if kind is GradientBoostingRegressor else model.decision_function(x)
    assert_allclose(found, raw, atol=1e-8)


def test_exact_splits_of_many_values_are_their_twins():
    rng = np.random.default_rng(4)
    x = rng.permutation(300).astype(np.float32)[:, None]
    y = np.sin(x[:, 0] / 40) + rng.normal(size=300) / 4
    model = NewtonBoostingRegressor(
        n_estimators=2, max_bins=None, init="zero", learning_rate=0.3, **XGBOOSTS | {"max_depth": 2}
    ).fit(x, y)
    roots, _ = naive.boost(
        naive_columns.columns_of(x), y.tolist(), [1.0] * 300, naive.squared,
        naive.Settings(l2=1.0, min_weight=1.0, max_depth=2, is_exact=True), start=0.0, n_rounds=2, learning_rate=0.3,
        is_newton=True,
    )  # fmt: skip
    assert_trees(model.trees_, roots)


# -- subsamples --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingRegressor(loss="huber"),
        NewtonBoostingRegressor(),
        GradientBoostingClassifier(),
        NewtonBoostingClassifier(max_bins=None),
    ],
    ids=lambda model: type(model).__name__,
)
def test_subsampled_rounds_say_what_rows_outside_gain(model):
    """The draws are known by their seeds; the losses are taken from staged predictions."""
    x, signal, weights = make_rows(5, 80)
    is_class = hasattr(model, "predict_proba")
    y = np.digitize(signal, np.quantile(signal, [0.3, 0.7])) if is_class else signal
    model.set_params(n_estimators=4, subsample=0.6, random_state=3).fit(x, y, weights)
    assert model.oob_improvement_.shape == model.train_score_.shape == (4,)
    if isinstance(model, GradientBoostingRegressor):
        return  # its loss is another one in every round
    stages = [np.tile(model.start_, (80, 1))]
    stages += [s.reshape(80, -1) for s in (model.staged_decision_function(x) if is_class else model.staged_predict(x))]
    loss = loss_of("log_loss" if is_class else "squared_error", n_classes=3 if is_class else None)
    losses = [loss.value(y.astype(np.int32) if is_class else y, np.ascontiguousarray(s.T.squeeze())) for s in stages]
    for r in range(4):
        drawn = np.random.default_rng(int(model._seeds[1 + r])).choice(80, 48, replace=False)
        outside = np.setdiff1d(np.arange(80), drawn)
        improvement = np.average((losses[r] - losses[r + 1])[outside], weights=weights[outside])
        assert model.oob_improvement_[r] == pytest.approx(improvement, rel=1e-9)
        assert model.train_score_[r] == pytest.approx(np.average(losses[r + 1][drawn], weights=weights[drawn]))


def test_without_a_subsample_nothing_is_outside():
    x, y, _ = make_rows(6)
    model = GradientBoostingRegressor(n_estimators=2).fit(x, y)
    assert model.oob_improvement_.shape == (0,)


def test_the_smallest_subsample_is_one_row():
    x, y, _ = make_rows(6)
    model = GradientBoostingRegressor(n_estimators=3, subsample=1e-9).fit(x, y)
    assert [tree.n_leaves for tree in model.trees_] == [1, 1, 1]
    assert [tree.n_node_samples[0] for tree in model.trees_] == [1, 1, 1]


# -- what falls --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "loss"),
    [
        (GradientBoostingRegressor, "squared_error"),
        (GradientBoostingRegressor, "absolute_error"),
        (GradientBoostingRegressor, "quantile"),
        (NewtonBoostingRegressor, "squared_error"),
        (GradientBoostingClassifier, "logistic"),
        (GradientBoostingClassifier, "exponential"),
        (GradientBoostingClassifier, "hinge"),
        (NewtonBoostingClassifier, "logistic"),
        (NewtonBoostingClassifier, "exponential"),
        (GradientBoostingClassifier, "multinomial"),
        (NewtonBoostingClassifier, "multinomial"),
    ],
)
def test_the_training_loss_falls_with_every_round(kind, loss):
    x, signal, weights = make_rows(7, 120)
    y = signal if "Regressor" in kind.__name__ else np.digitize(signal, np.quantile(signal, [0.5]))
    if loss == "multinomial":
        y = np.digitize(signal, np.quantile(signal, [0.3, 0.6]))
    model = kind(loss=loss, learning_rate=0.1, n_estimators=25).fit(x, y, weights)
    falls = np.diff(model.train_score_)
    if loss in ("absolute_error", "quantile", "hinge"):  # they have kinks: a leaf may be at its least already
        assert (falls <= 1e-12).all()
        assert model.train_score_[-1] < model.train_score_[0]
    else:
        assert (falls < 0).all()


def test_the_score_is_the_mean_loss():
    x, signal, weights = make_rows(8)
    y = (signal > np.median(signal)).astype(int)
    model = NewtonBoostingClassifier(n_estimators=3).fit(x, y, weights)
    wanted = [log_loss(y, p, sample_weight=weights) for p in model.staged_predict_proba(x)]
    assert_allclose(model.train_score_, wanted)


@pytest.mark.parametrize("kind", [NewtonBoostingClassifier, GradientBoostingClassifier])
@pytest.mark.parametrize("max_bins", [255, None], ids=["histogram", "exact"])
def test_rows_that_become_certain_are_sent_where_they_were_counted(kind, max_bins):
    """Hessians vanish in late rounds: of missing values, and of categories. Trees send rows as they were parted."""
    x, signal, _ = make_rows(11, 300)
    x[:, 1] = np.arange(300)  # too many values for a byte
    y = (signal > np.median(signal)).astype(int)
    y[np.isnan(x[:, 0])], y[x[:, 2] == 3] = 1, 0
    model = kind(n_estimators=60, learning_rate=1.0, categorical_features=[2], max_bins=max_bins).fit(x, y)
    assert model.train_score_[-1] < 0.05
    assert_allclose(model.train_score_[-1], log_loss(y, model.predict_proba(x)), rtol=1e-6)


# -- weights -----------------------------------------------------------------------------------------------------------


MODELS = [
    GradientBoostingRegressor(loss="squared_error"),
    GradientBoostingRegressor(loss="absolute_error"),
    GradientBoostingRegressor(loss="huber", min_samples_leaf=5),
    NewtonBoostingRegressor(),
    GradientBoostingClassifier(),
    GradientBoostingClassifier(loss="hinge"),
    NewtonBoostingClassifier(max_leaf_nodes=6, grow_policy="lossguide", gamma=0.1),
]


def targets_for(model, signal):
    return (signal > np.median(signal)).astype(int) if hasattr(model, "decision_function") else np.rint(signal * 4)


def raw_of(model, x):
    return model.decision_function(x) if hasattr(model, "decision_function") else model.predict(x)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_weight_of_two_is_two_rows(model):
    x, signal, _ = make_rows(9)
    y = targets_for(model, signal)
    times = np.random.default_rng(0).integers(1, 4, len(y))
    model.set_params(n_estimators=4)
    weighted = raw_of(model.fit(x, y, times.astype(float)), x)
    repeated = raw_of(model.fit(np.repeat(x, times, axis=0), np.repeat(y, times)), x)
    assert_allclose(weighted, repeated, atol=1e-9)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_weight_of_zero_is_no_row(model):
    x, signal, weights = make_rows(10)
    y = targets_for(model, signal)
    weights[::4] = 0
    model.set_params(n_estimators=4, subsample=0.7, random_state=0)
    with_them = raw_of(model.fit(x, y, weights), x)
    without = raw_of(model.fit(x[weights > 0], y[weights > 0], weights[weights > 0]), x)
    assert_array_equal(with_them, without)
