"""Trees of any objective: against the fast kernels, and against brute force."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification

from depthforest.base import UsageError
from depthforest.ensemble import DecisionTreeClassifier, DecisionTreeRegressor, RandomForestRegressor
from depthforest.ensemble.growth.binning import bin_columns
from depthforest.ensemble.tree.plans import Growth
from depthforest.ensemble.tree.planting import plant


def make_table(rng, n, *, missing, categories):
    x = rng.normal(size=(n, 4))
    x[:, 3] = rng.integers(0, 6 if categories else 1000, n)
    x[rng.random(x.shape) < missing] = np.nan
    return x.astype(np.float32)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
@pytest.mark.parametrize("is_random", [False, True])
@pytest.mark.parametrize(("missing", "categories"), [(0.0, False), (0.2, True)])
@pytest.mark.parametrize("settings", [{}, {"max_features": 2, "min_rows": 3}, {"max_leaves": 9, "min_weight": 2.0}])
def test_the_fast_kernels_and_those_for_any_objective_grow_the_same(
    criterion, is_random, missing, categories, settings
):
    rng = np.random.default_rng(0)
    x = make_table(rng, 150, missing=missing, categories=categories)
    mask = np.array([False, False, False, categories])
    binned = bin_columns(x, max_bins=255, categorical=mask)
    weights = rng.integers(0, 4, 150).astype(float)
    is_number = criterion == "squared_error"
    codes = np.zeros(150, np.int32) if is_number else rng.integers(0, 2, 150).astype(np.int32)
    targets = rng.integers(0, 50, 150).astype(float) if is_number else np.ones(150)
    growth = {"max_features": 4, "n_channels": 1 if is_number else 2} | settings
    used = np.unique(targets[weights > 0])
    offset = used[len(used) // 2] if is_number else 0.0  # what the other takes off too
    fast, general = (
        plant(binned, codes, targets, weights, Growth(criterion, is_random, signs=s, **growth), seed=3, offset=offset)
        for s in ((), (0, 0, 0, 0))
    )
    assert_array_equal(general.feature, fast.feature)
    assert_array_equal(general.threshold, fast.threshold)
    assert_array_equal(general.missing_go_to_left, fast.missing_go_to_left)
    assert_array_equal(general.masks, fast.masks)
    assert_allclose(general.impurity, fast.impurity, atol=1e-5)
    assert_allclose(general.value, fast.value, atol=1e-12)
    assert_array_equal(general.n_node_samples, fast.n_node_samples)


def weighted_median(y, w):
    order = np.argsort(y)
    y, up_to = y[order], np.cumsum(w[order])
    at = np.searchsorted(up_to, up_to[-1] / 2)
    return (y[at] + y[at + 1]) / 2 if up_to[at] == up_to[-1] / 2 else y[at]


def cost(criterion, y, w):
    """Return the weight times impurity of some rows, and what they predict."""
    if criterion == "absolute_error":
        value = np.array([weighted_median(column, w) for column in y.T])
        return (w[:, None] * np.abs(y - value)).sum() / y.shape[1], value
    value = np.average(y, axis=0, weights=w)
    if criterion == "poisson":
        if (value <= 0).any():
            return np.inf, value
        logs = np.log(y / value, out=np.zeros_like(y), where=y > 0)
        return (w[:, None] * (y * logs - y + value)).sum() / y.shape[1], value
    return (w[:, None] * (y - value) ** 2).sum() / y.shape[1], value


@pytest.mark.parametrize("criterion", ["absolute_error", "poisson", "squared_error"])
@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_split_is_the_best_of_all(criterion, n_targets, missing):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 30))
        x = np.round(rng.normal(size=(n, 2)), 1)
        x[rng.random(x.shape) < missing] = np.nan
        y, w = rng.integers(0, 5, (n, n_targets)).astype(float), rng.integers(1, 4, n).astype(float)
        y[0] = 1.0
        tree = DecisionTreeRegressor(criterion=criterion, max_depth=1, random_state=0).fit(
            x, y if n_targets > 1 else y[:, 0], w
        )
        x = x.astype(np.float32)
        costs = [np.inf]
        for column in x.T:
            for threshold in np.unique(column[~np.isnan(column)]):
                sides = [s for s in (column <= threshold, ~(column > threshold)) if 0 < s.sum() < n]
                costs += [cost(criterion, y[s], w[s])[0] + cost(criterion, y[~s], w[~s])[0] for s in sides]
        root, value = cost(criterion, y, w)
        grown = tree.tree_
        amount = grown.impurity * grown.weighted_n_node_samples
        assert_allclose(amount[0], root, atol=1e-9)
        assert_allclose(grown.value[0].ravel(), value, atol=1e-9)
        if grown.node_count == 3:
            assert_allclose(amount[1:].sum(), min(costs), atol=1e-9)
            leaves = tree.apply(x)
            for leaf in (1, 2):
                assert_allclose(grown.value[leaf].ravel(), cost(criterion, y[leaves == leaf], w[leaves == leaf])[1])
        else:
            assert min(costs) == np.inf or root == 0


@pytest.mark.parametrize("criterion", ["absolute_error", "poisson"])
def test_a_forest_of_any_objective_is_the_same_for_any_number_of_threads(criterion):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(300, 4)), rng.poisson(2.0, 300).astype(float)
    one, two = (RandomForestRegressor(4, criterion=criterion, n_jobs=j, random_state=0).fit(x, y) for j in (1, 2))
    assert_array_equal(one.predict(x), two.predict(x))


def test_a_target_that_is_tiny_beside_others_keeps_its_digits():
    for criterion in ("absolute_error", "poisson"):
        tree = DecisionTreeRegressor(criterion=criterion).fit([[0], [1], [2]], [1e-9, 1, 2])
        assert_allclose(tree.predict([[0]]), 1e-9)


@pytest.mark.parametrize(("y", "words"), [([1, -1, 2], "negative"), ([0, 0, 0], "not strictly positive")])
def test_poisson_takes_counts(y, words):
    with pytest.raises(UsageError, match=words):
        DecisionTreeRegressor(criterion="poisson").fit([[0], [1], [2]], y)


def test_pruning_by_absolute_error_leaves_medians():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(80, 2)), rng.exponential(size=80)
    tree = DecisionTreeRegressor(criterion="absolute_error", ccp_alpha=0.05, random_state=0).fit(x, y)
    leaves = tree.apply(x)
    assert 1 < tree.get_n_leaves() < 40
    for leaf in np.unique(leaves):
        assert_allclose(tree.tree_.value[leaf, 0, 0], np.median(y[leaves == leaf]))


def test_shares_of_constrained_trees_stay_between_0_and_1():
    x, y = make_classification(1000, 5, n_informative=5, n_redundant=0, random_state=42)
    tree = DecisionTreeClassifier(monotonic_cst=[1, -1, 0, 0, 0], random_state=42).fit(x[:900], y[:900])
    shares = tree.predict_proba(x)
    assert shares.min() >= 0
    assert shares.max() <= 1
