"""Sums of boosted trees: each tree to its output, in order, for any block and any number of threads."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from depthforest.ensemble.boosting.planting import BoostGrower, BoostGrowth
from depthforest.ensemble.boosting.walking import add_trees
from depthforest.ensemble.growth.binning import bin_columns
from depthforest.ensemble.tree import walking
from depthforest.ensemble.tree.walking import Walk


@pytest.fixture(scope="module")
def planted():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 12, (300, 4)).astype(np.float32)
    x[rng.random(x.shape) < 0.1] = np.nan
    binned = bin_columns(x, max_bins=255, categorical=np.array([False, True, False, False]))
    grower = BoostGrower(binned, BoostGrowth(np.zeros(4, np.int32), 4, 4, max_leaves=9))
    trees = [grower.grow(rng.normal(size=300) - np.nan_to_num(x[:, k % 4]), np.ones(300)) for k in range(6)]
    return x, trees


def naive_sums(x, trees, n_outputs, first, last):
    """One row after another, one tree after another."""
    out = np.ones((len(x), n_outputs))
    for r, row in enumerate(x):
        for t in range(first, last):
            tree, node = trees[t], 0
            while not tree.is_leaf[node]:
                value = row[tree.feature[node]]
                if np.isnan(value):
                    is_left = bool(tree.missing_go_to_left[node])
                elif tree.mask[node] >= 0:
                    is_left = int(value) in tree.categories(node)
                else:
                    is_left = value <= tree.threshold[node]
                node = tree.child[node] + (not is_left)
            out[r, t % n_outputs] += tree.values[tree.child[node], 0]
    return out


@pytest.mark.parametrize(("n_outputs", "first", "last"), [(1, 0, 6), (1, 2, 5), (3, 0, 6), (3, 3, 6), (2, 0, 4)])
def test_every_tree_adds_to_its_output(planted, n_outputs, first, last):
    x, trees = planted
    out = np.ones((300, n_outputs))
    add_trees(Walk.of(trees), x, out, first=first, last=last)
    assert_array_equal(out, naive_sums(x, trees, n_outputs, first, last))


def test_stages_add_up(planted):
    x, trees = planted
    whole, stages = np.ones((300, 2)), np.ones((300, 2))
    walk = Walk.of(trees)
    add_trees(walk, x, whole)
    for k in range(3):
        add_trees(walk, x, stages, first=2 * k, last=2 * k + 2)
    assert_array_equal(whole, stages)


@pytest.mark.parametrize("n", [0, 1, 7, 300])
def test_blocks_and_threads_change_nothing(planted, monkeypatch, n):
    x, trees = planted
    walk = Walk.of(trees)
    whole = np.ones((n, 3))
    add_trees(walk, x[:n], whole)
    monkeypatch.setattr(walking, "_BLOCK", 64)
    monkeypatch.setattr(walking, "_BLOCK_BYTES", 1)
    for threads in (1, 2):
        out = np.ones((n, 3))
        add_trees(walk, x[:n], out, threads=threads)
        assert_array_equal(out, whole)


def test_rows_without_missing_values():
    """They are walked by a shorter loop where no column holds categories."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 3)).astype(np.float32)
    grower = BoostGrower(bin_columns(x, max_bins=255), BoostGrowth(np.zeros(3, np.int32), 3, 3, max_leaves=9))
    trees = [grower.grow(rng.normal(size=200), np.ones(200)) for _ in range(3)]
    out = np.ones((200, 1))
    add_trees(Walk.of(trees), x, out)
    assert_array_equal(out, naive_sums(x, trees, 1, 0, 3))
