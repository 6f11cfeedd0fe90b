"""Trees of exact splits against those of scikit-learn, where no two splits gain the same."""

import numpy as np
import pytest
import sklearn.tree
from numpy.testing import assert_allclose, assert_array_equal

from depthforest.ensemble import DecisionTreeClassifier, DecisionTreeRegressor

CRITERIA = ["gini", "entropy", "squared_error"]


def assert_like_scikit_learn(ours, theirs, n_features):
    a, b = ours.tree_, theirs.tree_
    assert a.node_count == b.node_count
    order, stack = np.full(b.node_count, -1), [(0, 0)]  # the same nodes under other numbers
    while stack:
        mine, other = stack.pop()
        order[mine] = other
        if a.children_left[mine] >= 0:
            stack.append((a.children_left[mine], b.children_left[other]))
            stack.append((a.children_right[mine], b.children_right[other]))
    inner = ~a.is_leaf
    assert_array_equal(a.feature[inner], b.feature[order][inner])
    assert_allclose(a.threshold[inner], b.threshold[order][inner], rtol=1e-5, atol=1e-6)
    assert_array_equal(a.missing_go_to_left[inner], b.missing_go_to_left[order][inner])
    assert_array_equal(a.n_node_samples, b.n_node_samples[order])
    weights = b.weighted_n_node_samples[order]  # ours may be in another unit
    assert_allclose(a.weighted_n_node_samples / a.weighted_n_node_samples[0], weights / weights[0])
    assert_allclose(a.impurity, b.impurity[order], atol=5e-6)
    assert_allclose(a.value[:, 0], b.value[order][:, 0], atol=1e-9)
    assert (a.max_depth, a.n_leaves) == (b.max_depth, b.n_leaves)
    assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-5)
    assert len(ours.feature_importances_) == n_features


LIMITS = [
    {"min_samples_leaf": 6},
    {"max_depth": 4, "min_samples_split": 0.1, "min_samples_leaf": 0.02},
    {"max_leaf_nodes": 9, "min_samples_leaf": 5},
    {"min_samples_leaf": 6, "min_impurity_decrease": 0.01},
    {"min_samples_leaf": 6, "ccp_alpha": 0.012},
    {"min_weight_fraction_leaf": 0.05},
]


@pytest.mark.parametrize("limits", LIMITS, ids=lambda s: "-".join(s))
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_exact_splits_are_those_of_scikit_learn(criterion, limits, missing):
    """Fractional weights, so that no two splits of classes gain the same; of 64ths, whose sums have no rounding."""
    if missing and tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9):
        pytest.skip("older scikit-learn parts rows with missing values wrongly (its issue 32178)")
    rng = np.random.default_rng(14)
    x = rng.normal(size=(250, 5)).astype(np.float32)
    signal = x[:, 0] * 2 + x[:, 1] + rng.normal(size=250)
    x[rng.random(x.shape) < missing] = np.nan
    weights = rng.integers(13, 77, 250) / 64
    if criterion == "squared_error":
        pair, y = (DecisionTreeRegressor, sklearn.tree.DecisionTreeRegressor), signal
    else:
        pair, y = (DecisionTreeClassifier, sklearn.tree.DecisionTreeClassifier), np.digitize(signal, [-1.5, 1])
    ours = pair[0](criterion=criterion, max_bins=None, random_state=0, **limits).fit(x, y, weights)
    theirs = pair[1](criterion=criterion, random_state=0, **limits).fit(x, y, weights)
    assert ours.tree_.node_count > 5
    assert_like_scikit_learn(ours, theirs, 5)
    assert_allclose(ours.predict(x), theirs.predict(x))
    assert ours.get_depth() == theirs.get_depth()
    assert ours.get_n_leaves() == theirs.get_n_leaves()


@pytest.mark.parametrize("criterion", CRITERIA)
def test_full_trees_of_one_column_are_those_of_scikit_learn(criterion):
    """With one column, equal gains are told apart by the threshold alone, in both libraries the lowest."""
    rng = np.random.default_rng(15)
    x = rng.permutation(200).astype(np.float32)[:, None]
    signal = x[:, 0] / 40 + rng.normal(size=200)
    if criterion == "squared_error":
        ours, theirs = DecisionTreeRegressor(), sklearn.tree.DecisionTreeRegressor()
    else:
        signal = np.digitize(signal, [1.5, 3])
        ours, theirs = DecisionTreeClassifier(criterion=criterion), sklearn.tree.DecisionTreeClassifier()
        theirs.set_params(criterion=criterion, random_state=0)
    assert_like_scikit_learn(ours.fit(x, signal), theirs.fit(x, signal), 1)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1, 1: 3.25, 2: 0.5}])
def test_class_weights_are_those_of_scikit_learn(class_weight):
    rng = np.random.default_rng(16)
    x = rng.normal(size=(200, 3)).astype(np.float32)
    y = np.digitize(x[:, 0] + rng.normal(size=200), [-1, 0.5])
    settings = {"class_weight": class_weight, "min_samples_leaf": 8, "max_depth": 3}
    weights = rng.integers(13, 77, 200) / 64
    ours = DecisionTreeClassifier(max_bins=None, **settings).fit(x, y, weights)
    theirs = sklearn.tree.DecisionTreeClassifier(random_state=0, **settings).fit(x, y, weights)
    assert_like_scikit_learn(ours, theirs, 3)
