"""Columns in order: kept by splits, and the same trees as histograms give where codes are the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from depthforest.ensemble.boosting.planting import BoostGrower, BoostGrowth
from depthforest.ensemble.boosting.sortedcolumns import part_columns, sorted_rows
from depthforest.ensemble.growth.binning import Binned, bin_columns


def test_rows_stand_in_the_order_of_their_codes():
    wide = np.array([[2, 0, 1, 0], [0, 1, 2, 3], [3, 3, 0, 0]], dtype=np.int32)
    order = sorted_rows(wide, np.array([0, 1, 3], dtype=np.int32), np.array([0, 2], dtype=np.int32))
    assert order.tolist() == [[1, 3, 0], [3, 0, 1]]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_parting_keeps_the_order_on_both_sides(seed, n):
    rng = np.random.default_rng(seed)
    order = np.stack([rng.permutation(n) for _ in range(3)]).astype(np.int32)
    before = order.copy()
    middle = int(rng.integers(0, n + 1))
    rows = rng.permutation(n).astype(np.int32)
    left = set(rows[:middle].tolist())
    part_columns(rows, 0, middle, n, np.empty(n, dtype=np.uint8), np.empty(n, dtype=np.int32), order)
    for k in range(3):
        wanted = [r for r in before[k] if r in left] + [r for r in before[k] if r not in left]
        assert order[k].tolist() == wanted


def test_other_nodes_are_left_alone():
    order = np.array([[5, 4, 3, 2, 1, 0]], dtype=np.int32)
    rows = np.array([9, 9, 2, 3, 9, 9], dtype=np.int32)
    part_columns(rows, 2, 3, 4, np.zeros(10, dtype=np.uint8), np.empty(10, dtype=np.int32), order)
    assert order.tolist() == [[5, 4, 2, 3, 1, 0]]


@pytest.mark.parametrize("changes", [{"max_depth": 4}, {"max_leaves": 9}, {"max_leaves": 9, "is_leaf_wise": False}])
def test_exact_splits_part_rows_as_histograms_of_all_values_do(changes):
    rng = np.random.default_rng(2)
    x = rng.integers(0, 50, (400, 5)).astype(np.float32)
    x[rng.random(x.shape) < 0.1] = np.nan
    binned = bin_columns(x, max_bins=None)
    empty = np.empty((0, 0), dtype=np.uint8)
    wide = Binned(empty, empty, binned.codes.astype(np.int32), binned.columns, binned.ranges)
    gradient, hessian = rng.normal(size=400) - np.nan_to_num(x[:, 1]) / 10, 0.1 + rng.random(400)
    growth = BoostGrowth(np.zeros(5, np.int32), 5, 5, l2=1.0, l1=0.5, **changes)
    one, other = (BoostGrower(b, growth).grow(gradient, hessian) for b in (binned, wide))
    assert one.n_leaves > 6
    for name in ("feature", "child", "missing_go_to_left", "rows", "begins"):
        assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_allclose(one.values, other.values, rtol=1e-9)
