"""How far and in which order boosted trees grow, and which splits are taken back."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from depthforest.ensemble.boosting.planting import BoostGrower, BoostGrowth
from depthforest.ensemble.growth.binning import bin_columns


def grown(x, gradient, hessian=None, **changes):
    x = np.asarray(x, dtype=np.float32)
    x = x[:, None] if x.ndim == 1 else x
    plain = {"directions": np.zeros(x.shape[1], np.int32), "n_columns": x.shape[1], "n_drawn": x.shape[1]}
    gradient = np.array(gradient, dtype=float)
    hessian = np.ones(len(x)) if hessian is None else np.array(hessian, dtype=float)
    return BoostGrower(bin_columns(x, max_bins=255), BoostGrowth(**plain | changes)).grow(gradient, hessian)


def test_more_leaves_gain_more():
    gradient = [-9.0, -8.5, 10, 9, 1, -1, 1, -1]
    gains = [grown(range(8), gradient, max_leaves=n).gains(1)[0] for n in (2, 3, 4, 8)]
    assert all(np.diff(gains) > 0)


def test_level_by_level_or_leaf_by_leaf():
    """A root with a weak left and a strong right side: levels come left first, leaves by what they gain."""
    x = np.arange(8)
    gradient = [-20.0, -20, -21, -21, 10, 10, 30, 30]
    by_leaf = grown(x, gradient, max_leaves=3, is_leaf_wise=True)
    by_level = grown(x, gradient, max_leaves=3, is_leaf_wise=False)
    assert sorted(by_leaf.threshold[~by_leaf.is_leaf].tolist()) == [3.5, 5.5]
    assert sorted(by_level.threshold[~by_level.is_leaf].tolist()) == [1.5, 3.5]


@pytest.mark.parametrize("is_leaf_wise", [False, True])
def test_the_order_does_not_matter_without_a_limit(is_leaf_wise):
    rng = np.random.default_rng(0)
    x, gradient = rng.integers(0, 9, (80, 3)), rng.normal(size=80)
    one = grown(x, gradient, is_leaf_wise=is_leaf_wise, max_leaves=79)
    other = grown(x, gradient)
    for name in ("feature", "threshold", "values"):
        assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_depth_is_limited(depth):
    rng = np.random.default_rng(1)
    tree = grown(rng.normal(size=(60, 2)), rng.normal(size=60), max_depth=depth)
    assert tree.max_depth == depth
    assert tree.n_leaves == 2**depth


# -- taking back -------------------------------------------------------------------------------------------------------


def exclusive_or():
    """No first cut gains much; the second ones gain nearly all."""
    x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    gradient = np.where(x[:, 0] == x[:, 1], 1.0, -1.0)
    gradient[0] = 3.0
    return x, gradient


def test_a_split_that_gains_little_stays_for_those_below():
    """XGBoost's way: trees are grown first, then pruned from below."""
    x, gradient = exclusive_or()
    full = grown(x, gradient, max_depth=2)
    first = full.gains(2)  # both columns
    assert full.n_leaves == 4
    root = grown(x, gradient, max_depth=1).gains(2).sum()
    assert root < 1.0
    kept = grown(x, gradient, max_depth=2, gamma=5.0)
    assert_array_equal(kept.feature, full.feature)
    assert_array_equal(kept.gains(2), first)
    assert grown(x, gradient, max_depth=1, gamma=5.0).n_leaves == 1
    assert grown(x, gradient, max_depth=2, gamma=50.0).n_leaves == 1


def test_a_gain_of_gamma_is_enough():
    gradient = [-1.0, -1, 1, 1]  # the split gains 4, and nothing is rounded
    assert grown(range(4), gradient, gamma=4.0, max_depth=1).n_leaves == 2
    assert grown(range(4), gradient, gamma=4.0 + 1e-9, max_depth=1).n_leaves == 1


def test_what_is_taken_back_has_the_weight_of_all_its_rows():
    tree = grown(range(6), [-3.0, -3, -3, 2, 2, 2.5], gamma=1.0, l2=1.0)
    assert tree.n_leaves == 2
    assert tree.values[:, 0] == pytest.approx([9 / 4, -6.5 / 4])
    assert_array_equal(np.sort(tree.rows), np.arange(6))


def test_many_leaves_can_be_taken_back_at_once():
    """Every node has had a value by then: as many as nodes."""
    rng = np.random.default_rng(2)
    for seed in range(20):
        tree = grown(rng.normal(size=(300, 2)), np.random.default_rng(seed).normal(size=300), gamma=1e6)
        assert tree.node_count == len(tree.values) == 1


def test_impurity_is_what_the_splits_below_gain():
    rng = np.random.default_rng(3)
    x, gradient, hessian = rng.integers(0, 9, (80, 3)), rng.normal(size=80), 0.5 + rng.random(80)
    tree = grown(x, gradient, hessian, l2=0.5, max_leaves=6)
    scores = np.array([
        gradient[rows].sum() ** 2 / (hessian[rows].sum() + 0.5)
        for rows in (tree.rows[b : b + n] for b, n in zip(tree.begins, tree.n_node_samples, strict=True))
    ])  # fmt: skip
    gain_of = {}
    for node in reversed(range(tree.node_count)):
        left = tree.child[node]
        gain_of[node] = 0.0
        if not tree.is_leaf[node]:
            own = scores[left] + scores[left + 1] - scores[node]
            gain_of[node] = own + gain_of[left] + gain_of[left + 1]
    wanted = [gain_of[k] for k in range(tree.node_count)]
    np.testing.assert_allclose(tree.impurity * tree.weighted_n_node_samples, wanted, atol=1e-9)
    assert tree.gains(3).sum() == pytest.approx(wanted[0])


# -- draws -------------------------------------------------------------------------------------------------------------


def test_nodes_draw_their_columns_by_seed_and_place():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(200, 12)).astype(np.float32)
    gradient = rng.normal(size=200)
    growth = BoostGrowth(np.zeros(12, np.int32), 12, 1, max_depth=4)
    binned = bin_columns(x, max_bins=255)
    trees = [BoostGrower(binned, growth).grow(gradient, np.ones(200), seed=seed) for seed in (0, 0, 1)]
    assert_array_equal(trees[0].feature, trees[1].feature)
    assert (trees[0].feature[:7] != trees[2].feature[:7]).any()
    assert len(np.unique(trees[0].feature[~trees[0].is_leaf])) > 4


def test_a_tree_keeps_to_its_columns():
    rng = np.random.default_rng(5)
    x, gradient = rng.normal(size=(200, 12)).astype(np.float32), rng.normal(size=200)
    growth = BoostGrowth(np.zeros(12, np.int32), 4, 4, max_depth=5)
    grower = BoostGrower(bin_columns(x, max_bins=255), growth)
    used = [np.unique(t.feature[~t.is_leaf]) for t in (grower.grow(gradient, np.ones(200), seed=s) for s in range(6))]
    assert all(len(columns) <= 4 for columns in used)
    assert len(np.unique(np.concatenate(used))) > 8
