"""Histograms of gradients and hessians: counted, subtracted, searched."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from depthforest.ensemble.boosting.histograms import count_rows, offsets_of, take_away
from depthforest.ensemble.boosting.planting import BoostGrower, BoostGrowth
from depthforest.ensemble.growth.binning import bin_columns
from depthforest.ensemble.growth.columns import N_CODES


@pytest.fixture(scope="module")
def rows():
    """150 columns, some of 200 values: more than are counted together; dyadic numbers, so that sums are not rounded."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 9, (300, 150)).astype(np.float32)
    x[:, :120] = rng.integers(0, 250, (300, 120))
    x[rng.random(x.shape) < 0.1] = np.nan
    return bin_columns(x, max_bins=255), rng.integers(-16, 16, (300, 2)) / 8


def naive_sums(binned, ids, amounts, chosen):
    """Gradient and hessian of every code of every column, the missing one last."""
    sums = [np.zeros((binned.columns[column, N_CODES] + 1, 2)) for column in chosen]
    for row in ids:
        for k, column in enumerate(chosen):
            sums[k][binned.by_row[row, column]] += amounts[row]
    return np.concatenate(sums).ravel()


def counted(binned, ids, amounts, begin, end, chosen, edges=None):
    offsets = offsets_of(binned.columns, chosen)
    sums = np.full(offsets[-1], np.nan)
    edges = [0, len(chosen)] if edges is None else edges
    for first, last in itertools.pairwise(edges):
        count_rows(binned.by_row, ids, amounts, begin, end, chosen, offsets, first, last, sums)
    return sums


@pytest.mark.parametrize("chosen", [range(150), [0, 5, 149], [130]], ids=["all", "some", "one"])
def test_counts_are_sums_by_code(rows, chosen):
    binned, amounts = rows
    chosen = np.array(chosen, dtype=np.int32)
    ids = np.random.default_rng(1).permutation(300)[:95].astype(np.int32)
    assert_array_equal(counted(binned, ids, amounts, 4, 95, chosen), naive_sums(binned, ids[4:], amounts, chosen))


def test_columns_can_be_counted_in_parts(rows):
    binned, amounts = rows
    ids, chosen = np.arange(300, dtype=np.int32), np.arange(150, dtype=np.int32)
    whole = counted(binned, ids, amounts, 0, 300, chosen)
    assert_array_equal(counted(binned, ids, amounts, 0, 300, chosen, [0, 1, 30, 66, 150]), whole)


def test_a_parent_less_one_child_is_the_other(rows):
    binned, amounts = rows
    ids, chosen = np.arange(300, dtype=np.int32), np.arange(0, 150, 2, dtype=np.int32)
    parent = counted(binned, ids, amounts, 0, 300, chosen)
    take_away(counted(binned, ids, amounts, 0, 18, chosen), len(parent), parent)
    assert_array_equal(parent, counted(binned, ids, amounts, 18, 300, chosen))


def stump(x, gradient, *, categorical=False, directions=None, **changes):
    """Return the tree of the best split of some columns, all hessians 1."""
    x = np.asarray(x, dtype=np.float32)
    x = x[:, None] if x.ndim == 1 else x
    n_features = x.shape[1]
    directions = np.array(directions or [0] * n_features, dtype=np.int32)
    growth = BoostGrowth(
        **{"n_columns": n_features, "n_drawn": n_features} | changes, directions=directions, max_depth=1
    )
    binned = bin_columns(x, max_bins=255, categorical=np.full(n_features, categorical))
    return BoostGrower(binned, growth).grow(np.array(gradient, dtype=float), np.ones(len(x)))


def test_the_best_cut_is_found():
    tree = stump([1, 2, 3, 4], [-1, -1, 3, 2])
    assert tree.threshold[0] == 2.5
    assert tree.values[:, 0].tolist() == [1.0, -2.5]
    assert tree.gains(1)[0] == pytest.approx((-2.0) ** 2 / 2 + 5.0**2 / 2 - 3.0**2 / 4)


@pytest.mark.parametrize(("gradient", "is_left"), [(-1.0, True), (3.0, False)])
def test_missing_values_go_where_they_fit(gradient, is_left):
    tree = stump([1, 2, 3, 4, np.nan], [-1, -1, 3, 2, gradient])
    assert tree.threshold[0] == 2.5
    assert tree.missing_go_to_left[0] == is_left
    assert 4 in tree.rows[: tree.n_node_samples[1]] if is_left else 4 in tree.rows[tree.n_node_samples[1] :]


def test_missing_values_can_be_parted_from_all_others():
    tree = stump([1, 2, np.nan], [1, 1, -3])
    assert (tree.threshold[0], tree.missing_go_to_left[0]) == (np.inf, 0)
    assert tree.values[:, 0].tolist() == [-1.0, 3.0]


@pytest.mark.parametrize(("x", "is_larger_left"), [([1, 2, 3, 4], True), ([1, 4, 4.5, 5], False)])
def test_where_none_are_missing_the_larger_side_gets_them(x, is_larger_left):
    gradient = [1, 1, 1, -5] if is_larger_left else [-5, 1, 1, 1]
    tree = stump(x, gradient)
    assert tree.missing_go_to_left[0] == is_larger_left


def test_of_equal_columns_the_first_stays():
    x = np.array([3.0, 1.0, 2.0, 5.0])
    assert stump(np.stack((x, x), axis=1), [1, -2, 0, 3]).feature[0] == 0
    assert stump(np.stack((x * 0, x, x * 2), axis=1), [1, -2, 0, 3]).feature[0] == 1


def test_sides_keep_their_weight():
    gradient = [-9, 1, 2, 3]
    assert stump([1, 2, 3, 4], gradient).threshold[0] == 1.5
    assert stump([1, 2, 3, 4], gradient, min_weight=2.0).threshold[0] == 2.5
    assert stump([1, 2, 3, 4], gradient, min_weight=2.5).n_leaves == 1


def test_directions_forbid_cuts():
    """The gradient falls, so that weights rise: up is allowed and down is not."""
    assert stump([1, 2, 3, 4], [3, 2, -2, -3], directions=[1]).threshold[0] == 2.5
    assert stump([1, 2, 3, 4], [3, 2, -2, -3], directions=[-1]).n_leaves == 1
    assert stump([1, 2, 3, 4], [-3, -2, 2, 3], directions=[-1]).threshold[0] == 2.5


def test_categories_are_ordered_by_their_weights():
    tree = stump([0, 1, 2, 5], [3, -2, 2.5, -3], categorical=True)
    assert tree.values[:, 0].tolist() == [2.5, -2.75]
    assert tree.categories(0) == (1, 5)


def test_large_scores_do_not_hide_a_gain():
    """A split must gain more than rounding, not more than a share of what the node has already."""
    tree = stump([1, 2, 3, 4], [1000, 1000, 1000.5, 1000.5])
    assert tree.threshold[0] == 2.5
