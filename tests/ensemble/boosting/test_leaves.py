"""What leaves add: to the rows of the tree, to others, and within monotonic bounds."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from depthforest.ensemble.boosting import leaves as boostleaves
from depthforest.ensemble.boosting.leaves import add_grown, add_walked, leaf_steps
from depthforest.ensemble.boosting.losses.choice import loss_of
from depthforest.ensemble.boosting.planting import BoostGrower, BoostGrowth
from depthforest.ensemble.growth.binning import bin_columns
from depthforest.ensemble.tree.walking import Walk


@pytest.fixture(scope="module")
def grown():
    """A tree of half of the rows, with missing values and a column of categories."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 12, (300, 3)).astype(np.float32)
    x[rng.random(x.shape) < 0.1] = np.nan
    binned = bin_columns(x, max_bins=255, categorical=np.array([False, False, True]))
    rows = np.sort(rng.choice(300, 150, replace=False)).astype(np.int32)
    gradient = rng.normal(size=300) - np.nan_to_num(x[:, 0]) / 4 + np.nan_to_num(x[:, 2]) % 3
    tree = BoostGrower(binned, BoostGrowth(np.zeros(3, np.int32), 3, 3, max_leaves=12)).grow(
        gradient, np.ones(300), rows=rows
    )
    assert (tree.mask >= 0).any()
    return x, rows, tree


def test_rows_of_the_tree_get_what_walking_gives(grown):
    x, rows, tree = grown
    stretches, walked = np.arange(300.0), np.arange(300.0)
    add_grown(tree, stretches)
    add_walked(Walk.of([tree]), x, rows, walked)
    assert_array_equal(stretches, walked)
    others = np.setdiff1d(np.arange(300), rows)
    assert_array_equal(stretches[others], others)
    assert (stretches[rows] != rows).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_walking_is_the_same_in_blocks(grown, monkeypatch, threads):
    x, _, tree = grown
    every = np.arange(300, dtype=np.int32)
    whole, blocks = np.zeros(300), np.zeros(300)
    add_walked(Walk.of([tree]), x, every, whole)
    monkeypatch.setattr(boostleaves, "_BLOCK", 64)
    add_walked(Walk.of([tree]), x, every, blocks, threads=threads)
    assert_array_equal(whole, blocks)
    assert_array_equal(whole, tree.values[tree.child[Walk.of([tree]).leaves(x)[:, 0]], 0])


@pytest.mark.parametrize("name", ["squared_error", "absolute_error", "quantile", "huber"])
def test_steps_make_the_loss_of_each_leaf_least(grown, name):
    _, rows, tree = grown
    rng = np.random.default_rng(1)
    y, raw, weights = rng.normal(size=300), rng.normal(size=300), 0.5 + rng.random(300)
    loss = loss_of(name, alpha=0.7)
    loss.prepare(y, raw, weights)
    steps = leaf_steps(tree, loss, y, raw, weights, 0, np.zeros(300), np.zeros(3, np.int32))
    assert steps.shape == (12,)
    for leaf in np.flatnonzero(tree.is_leaf):
        own = tree.rows[tree.begins[leaf] :][: tree.n_node_samples[leaf]]
        assert np.isin(own, rows).all()
        least = (weights * loss.value(y, raw + steps[tree.child[leaf]]))[own].sum()
        for other in np.linspace(-4, 4, 81):
            assert least <= (weights * loss.value(y, raw + other))[own].sum() + 1e-9


@pytest.mark.parametrize("direction", [-1, 1])
def test_steps_keep_to_monotonic_bounds(direction):
    """Targets that the line search would follow the wrong way are met half-way; the rest is left as it is."""
    rng = np.random.default_rng(2)
    x = rng.integers(0, 20, (200, 2)).astype(np.float32)
    directions = np.array([direction, 0], np.int32)
    gradient = -direction * x[:, 0] + rng.normal(size=200) * 8  # trees that rise as they may
    binned = bin_columns(x, max_bins=255)
    tree = BoostGrower(binned, BoostGrowth(directions, 2, 2, max_leaves=10)).grow(gradient, np.ones(200))
    y = -direction * x[:, 0] + 5 * x[:, 1] + rng.normal(size=200)  # and a target that falls
    loss = loss_of("absolute_error")
    steps = leaf_steps(tree, loss, y, np.zeros(200), np.ones(200), 0, np.zeros(200), directions)
    free = leaf_steps(tree, loss, y, np.zeros(200), np.ones(200), 0, np.zeros(200), np.zeros(2, np.int32))
    tree.values[:, 0] = steps
    grid = np.stack(np.meshgrid(np.arange(20), np.arange(20), indexing="ij"), axis=-1).reshape(-1, 2)
    found = np.zeros(400)
    walk = Walk.of([tree])
    add_walked(walk, grid.astype(np.float32), np.arange(400, dtype=np.int32), found)
    assert (direction * np.diff(found.reshape(20, 20), axis=0) >= 0).all()
    assert (steps != free).any()


def test_bounds_change_nothing_where_they_are_kept():
    x = np.arange(12, dtype=np.float32)[:, None]
    y = np.repeat([1.0, 2.0, 5.0, 6.0], 3)
    growth = BoostGrowth(np.ones(1, np.int32), 1, 1, max_leaves=4)
    tree = BoostGrower(bin_columns(x, max_bins=255), growth).grow(-y, np.ones(12))
    steps = leaf_steps(
        tree, loss_of("absolute_error"), y, np.zeros(12), np.ones(12), 0, np.zeros(12), np.ones(1, np.int32)
    )
    assert_array_equal(np.sort(steps), [1.0, 2.0, 5.0, 6.0])
