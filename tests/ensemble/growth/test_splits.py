"""Rows of a node, parted by a split."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from depthforest.ensemble.growth.binning import Binned, bin_columns
from depthforest.ensemble.growth.columns import ABSENT, LEFT, N_CODES, RIGHT
from depthforest.ensemble.growth.splits import Split, part_rows


def naive_is_left(code, split, missing, categories):
    if code == missing:
        return split.missing == LEFT
    return bool(categories[code] == LEFT) if categories is not None else code <= split.code


@pytest.mark.parametrize("is_wide", [False, True])
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans(), st.booleans())
def test_left_rows_come_first_and_both_sides_keep_their_order(is_wide, seed, is_categorical, has_missing, is_small):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 6, (100, 2)).astype(np.float32)
    if has_missing:
        x[rng.random(x.shape) < 0.2] = np.nan
    binned = bin_columns(x, max_bins=255, categorical=np.full(2, is_categorical))
    codes = binned.codes[1]
    if is_wide:
        empty = np.empty((0, 0), dtype=np.uint8)
        binned = Binned(empty, empty, binned.codes.astype(np.int32), binned.columns, binned.ranges)
    sides = np.full((2, 256), ABSENT, dtype=np.uint8)
    sides[1, :6] = rng.integers(0, 2, 6)
    side = int(rng.integers(0, 2)) if has_missing else ABSENT
    assert {RIGHT, LEFT} == {0, 1}
    split = Split(np.int64(1), np.int64(rng.integers(0, 5)), 0.0, 0.0, np.int64(side), np.int64(0))
    rows = rng.permutation(100).astype(np.int32)
    before = rows.copy()
    begin, end = (40, 45) if is_small else (10, 90)  # few rows are read from a copy that stands by row
    missing = binned.columns[1, N_CODES]
    categories = sides[1] if is_categorical else None
    is_left = np.array([naive_is_left(codes[row], split, missing, categories) for row in before[begin:end]])
    flags = np.full(100, 9, dtype=np.uint8)
    middle = part_rows(binned, begin, end, split, sides, rows, np.empty(100, dtype=np.int32), flags)
    part = before[begin:end]
    assert middle == begin + is_left.sum()
    assert_array_equal(rows[begin:end], np.concatenate((part[is_left], part[~is_left])))
    assert_array_equal(rows[:begin], before[:begin])
    assert_array_equal(rows[end:], before[end:])
    assert_array_equal(flags[: end - begin], is_left)
    again = before.copy()
    part_rows(binned, begin, end, split, sides, again, np.empty(100, dtype=np.int32), flags[:0])
    assert_array_equal(again, rows)
