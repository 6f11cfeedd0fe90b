"""Monotonic constraints: read as they are meant, and kept by every loss."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from depthforest.base.errors import UsageError
from depthforest.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
)

MODELS = [
    GradientBoostingRegressor(loss="squared_error"),
    GradientBoostingRegressor(loss="absolute_error"),
    GradientBoostingRegressor(loss="huber"),
    GradientBoostingRegressor(loss="quantile", alpha=0.3),
    NewtonBoostingRegressor(),
    GradientBoostingClassifier(loss="logistic"),
    GradientBoostingClassifier(loss="exponential"),
    GradientBoostingClassifier(loss="hinge"),
    GradientBoostingClassifier(loss="perceptron"),
    NewtonBoostingClassifier(reg_lambda=0.0, reg_alpha=0.5),
    NewtonBoostingClassifier(loss="exponential"),
]

GRID = np.stack(np.meshgrid(*[np.append(np.arange(-0.5, 9.5), np.nan)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)


def raw_of(model, x):
    return model.decision_function(x) if hasattr(model, "decision_function") else model.predict(x)


def assert_monotonic(model, directions):
    """On a grid, with the other column missing too."""
    found = raw_of(model, GRID).reshape(11, 11)
    for axis, direction in enumerate(directions):
        steps = np.diff(found.take(range(10), axis=axis), axis=axis)
        if direction:
            assert (direction * steps >= 0).all()


@pytest.mark.parametrize("model", MODELS, ids=str)
@settings(deadline=None, max_examples=12)
@given(st.integers(0, 2**31), st.sampled_from([(1, 0), (-1, 1), (0, -1)]), st.booleans(), st.booleans())
def test_predictions_keep_their_direction(model, seed, directions, is_limited, is_exact):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 9, (50, 2)).astype(np.float32)
    x[rng.random(x.shape) < 0.15] = np.nan
    y = rng.normal(size=50) + np.nan_to_num(x[:, 0]) / 4 * rng.choice([-1, 1])
    if hasattr(model, "decision_function"):
        y = (y > np.median(y)).astype(int)
    limit = {"max_leaf_nodes": 5, "max_depth": None} if is_limited else {"max_leaf_nodes": None, "max_depth": 4}
    model.set_params(
        n_estimators=4, learning_rate=0.8, monotonic_cst=list(directions), max_bins=None if is_exact else 255, **limit
    )
    assert_monotonic(model.fit(x, y, rng.integers(1, 4, 50).astype(float)), directions)


def test_without_constraints_it_would_not_be_so():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 9, (60, 2)).astype(np.float32)
    y = rng.normal(size=60) + x[:, 0] / 4
    free = NewtonBoostingRegressor(n_estimators=4, learning_rate=0.3, min_samples_leaf=1).fit(x, y)
    with pytest.raises(AssertionError):
        assert_monotonic(free, (1, 0))
    assert_monotonic(free.set_params(monotonic_cst=[1, 0]).fit(x, y), (1, 0))
    assert free.score(x, y) > 0.1


def test_zeros_change_nothing():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    plain, zeros = (NewtonBoostingRegressor(n_estimators=3, monotonic_cst=c).fit(x, y) for c in (None, [0, 0]))
    assert_array_equal(plain.predict(x), zeros.predict(x))


def test_columns_by_name():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    x = pandas.DataFrame(rng.integers(0, 9, (60, 2)).astype(float), columns=["a", "b"])
    y = rng.normal(size=60) - x["a"] / 4
    by_name = GradientBoostingRegressor(n_estimators=3, monotonic_cst={"a": -1}).fit(x, y)
    by_place = GradientBoostingRegressor(n_estimators=3, monotonic_cst=[-1, 0]).fit(x, y)
    assert_array_equal(by_name.predict(x), by_place.predict(x))
    with pytest.raises(UsageError, match="monotonic_cst names 'c', which is not a column of X"):
        GradientBoostingRegressor(monotonic_cst={"c": 1}).fit(x, y)
    with pytest.raises(UsageError, match="X has no column names: pass a DataFrame, or a list for all columns"):
        GradientBoostingRegressor(monotonic_cst={"a": 1}).fit(x.to_numpy(), y)


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ([1], "monotonic_cst must be -1, 0 or 1 for each of 2 columns, got"),
        ([1, 2], "monotonic_cst must be -1, 0 or 1 for each of 2 columns, got"),
        ([[1, 0]], "monotonic_cst must be -1, 0 or 1 for each of 2 columns, got"),
        ("up", "monotonic_cst must be -1, 0 or 1 for each of 2 columns, got 'up'"),
    ],
    ids=str,
)
def test_constraints_that_are_refused(wanted, text):
    with pytest.raises(UsageError, match=text) as error:
        NewtonBoostingRegressor(monotonic_cst=wanted).fit([[0, 1], [2, 3]], [0, 1])
    assert "\n" not in str(error.value)


def test_more_classes_and_categories_have_no_direction():
    x, y = np.arange(12.0).reshape(6, 2) % 5, [0, 1, 2, 0, 1, 2]
    with pytest.raises(UsageError, match="monotonic_cst needs a single output: two classes or one regression target"):
        NewtonBoostingClassifier(monotonic_cst=[1, 0]).fit(x, y)
    with pytest.raises(UsageError, match="monotonic_cst cannot order the categories of column 1"):
        NewtonBoostingRegressor(monotonic_cst=[0, 1], categorical_features=[1]).fit(x, y)
