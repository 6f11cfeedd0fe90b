"""What a row weighs: 0 is absence, k is k rows, in every estimator that takes weights and for more values than bins."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_classifier

from depthforest.ensemble import (
    AdaBoostClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from depthforest.ensemble.growth.binning import bin_columns

N = 1000
rng = np.random.default_rng(26)
X = rng.normal(size=(N, 3))
NUMBERS = X[:, 0] + rng.normal(size=N)
CLASSES = (NUMBERS > 0).astype(int)
HALF = np.arange(N) % 2
COUNTS = 1 + np.arange(N) % 3

# whole targets: their sums have no rounding, so that none decides between equal splits
ESTIMATORS = [
    DecisionTreeClassifier(max_depth=4),
    DecisionTreeClassifier(max_depth=4, criterion="entropy"),
    DecisionTreeClassifier(min_samples_leaf=0.05),
    DecisionTreeRegressor(max_depth=3),
    RandomForestClassifier(3, bootstrap=False, max_depth=4),
    RandomForestRegressor(3, bootstrap=False, max_depth=3),
    GradientBoostingClassifier(n_estimators=3),
    GradientBoostingRegressor(n_estimators=3),
    NewtonBoostingClassifier(n_estimators=3),
    NewtonBoostingRegressor(n_estimators=3),
    AdaBoostClassifier(n_estimators=3),
]
# min_samples_leaf counts rows, which a weight does not repeat
REPEATABLE = [e for e in ESTIMATORS if e.get_params().get("min_samples_leaf", 1) == 1]


def target_of(estimator):
    return CLASSES if is_classifier(estimator) else np.rint(8 * NUMBERS)


def answer_of(estimator):
    return getattr(estimator, "predict_proba", estimator.predict)(X)


@pytest.mark.parametrize("estimator", [*ESTIMATORS, ExtraTreesClassifier(3), ExtraTreesRegressor(3)], ids=str)
def test_rows_of_weight_zero_are_absent(estimator):
    estimator.set_params(random_state=0)
    y, kept = target_of(estimator), HALF > 0
    odd = X.copy()
    odd[~kept] *= 100  # what they hold must not matter
    comp = answer_of(estimator.fit(odd, y, HALF))
    ref = answer_of(estimator.fit(X[kept], y[kept]))
    assert_allclose(comp, ref, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("unit", [1, 4])
@pytest.mark.parametrize("estimator", REPEATABLE, ids=str)
def test_a_weight_is_as_many_rows(estimator, unit):
    estimator.set_params(random_state=0)
    y, times = target_of(estimator), unit * COUNTS
    comp = answer_of(estimator.fit(X, y, times))
    ref = answer_of(estimator.fit(np.repeat(X, times, axis=0), np.repeat(y, times)))
    assert_allclose(comp, ref, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", [500, 15_000, 30_000])
@pytest.mark.parametrize("max_bins", [7, 255, None])
def test_bins_are_weighted_quantiles(n, max_bins):
    """Rows of a sample too, which is taken where the weights are those of more than 20,000 rows."""
    x = np.random.default_rng(1).normal(size=(n, 2)).astype(np.float32)
    x[::7, 1] = np.nan
    times = np.arange(n) % 4
    ref = bin_columns(np.repeat(x, times, axis=0), max_bins=max_bins)
    comp = bin_columns(x, max_bins=max_bins, weights=times.astype(float))
    assert_array_equal(comp.columns, ref.columns)
    assert_array_equal(comp.ranges, ref.ranges)
    codes = comp.codes if max_bins else comp.wide
    assert_array_equal(np.repeat(codes, times, axis=1), ref.codes if max_bins else ref.wide)


def test_bins_do_not_depend_on_the_unit_of_weights():
    x = np.random.default_rng(2).normal(size=(3000, 1)).astype(np.float32)
    weights = np.random.default_rng(3).random(3000) + 0.1
    ref = bin_columns(x, max_bins=100, weights=weights)
    for unit in (1e-9, 3.7, 1e9):
        assert_array_equal(bin_columns(x, max_bins=100, weights=unit * weights).codes, ref.codes)
    shares = np.bincount(ref.codes[0], weights=weights) / weights.sum()
    assert shares.max() < 0.01 + weights.max() / weights.sum()
