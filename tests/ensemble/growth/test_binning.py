import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from support import naive_columns as naive

from depthforest.base.errors import UsageError
from depthforest.ensemble import DecisionTreeClassifier
from depthforest.ensemble.growth.binning import MAX_BINS, bin_columns, check_max_bins
from depthforest.ensemble.growth.columns import HIGH, IS_CATEGORICAL, LOW, N_CODES, START


def codes_of(binned):
    return binned.codes if binned.codes.size else binned.wide


def assert_same(binned, columns):
    for f, column in enumerate(columns):
        start, n_codes, is_categorical = binned.columns[f]
        assert n_codes == len(column.low)
        assert bool(is_categorical) == column.is_categorical
        assert [None if c == n_codes else c for c in codes_of(binned)[f].tolist()] == column.codes
        assert binned.ranges[LOW, start : start + n_codes].tolist() == column.low
        assert binned.ranges[HIGH, start : start + n_codes].tolist() == column.high
    if binned.codes.size:
        assert_array_equal(binned.by_row, binned.codes.T)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 2**31 - 1),
    st.integers(1, 60),
    st.sampled_from([None, 2, 3, 7, 255]),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.sampled_from([0, 1, 3]),
)
def test_codes_are_their_twin(seed, n, max_bins, missing, decimals):
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=(n, 3)) * 3, decimals).astype(np.float32)
    x[:, 2] = rng.integers(0, 9, n)
    x[rng.random(x.shape) < missing] = np.nan
    binned = bin_columns(x, max_bins=max_bins, categorical=np.array([False, False, True]))
    columns = naive.columns_of(x, max_bins=max_bins, categorical=(2,))
    for f in np.flatnonzero(np.isnan(x).all(axis=0)):  # nothing is known: one code that no row has
        assert binned.columns[f, N_CODES] == 1
        assert set(codes_of(binned)[f]) == {1}
        x[:, f], columns[f].low, columns[f].high = 0, [], []
    known = [f for f in range(3) if columns[f].low]
    narrowed = binned._replace(
        columns=binned.columns[known], codes=binned.codes[known], by_row=np.ascontiguousarray(binned.codes[known].T)
    )
    assert_same(narrowed, [columns[f] for f in known])


@pytest.mark.parametrize("max_bins", [None, 255])
def test_many_values(max_bins):
    """600 rows of 40 columns: blocks of rows and of columns end short; exact codes need more than a byte."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(600, 18)).astype(np.float32)
    x[rng.random(x.shape) < 0.02] = np.nan
    binned = bin_columns(x, max_bins=max_bins)
    assert (binned.codes.size == 0) == (max_bins is None)
    assert (binned.n_rows, binned.n_codes) == (600, binned.columns[:, N_CODES].max())
    assert_same(binned, naive.columns_of(x, max_bins=max_bins))
    for other in (2, 3):
        for ref, comp in zip(binned, bin_columns(x, max_bins=max_bins, threads=other), strict=True):
            assert_array_equal(ref, comp)


def test_bins_of_a_sample_hold_like_many_rows():
    """Above 20,000 rows quantiles are of a sample; every row still lies in the range of its code."""
    rng = np.random.default_rng(2)
    x = np.stack((rng.normal(size=30_000), np.rint(rng.normal(size=30_000) * 20)), axis=1).astype(np.float32)
    binned = bin_columns(x, max_bins=100)
    counts = np.bincount(binned.codes[0])
    assert len(counts) == 100
    assert counts.max() < 1.5 * 300
    for f in range(2):
        place = binned.columns[f, START] + binned.codes[f]
        assert (binned.ranges[LOW][place] <= x[:, f]).all()
        assert (x[:, f] <= binned.ranges[HIGH][place]).all()
        own = slice(binned.columns[f, START], binned.columns[f, START] + binned.columns[f, N_CODES])
        assert (binned.ranges[HIGH, own][:-1] < binned.ranges[LOW, own][1:]).all()


def test_values_that_a_sample_misses_have_codes():
    """250 common values, and ten that one row each has: all are told apart, or the last bins take them."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 240, 40_000).astype(np.float32)[:, None]
    x[:10, 0] = 1000 + np.arange(10)
    binned = bin_columns(x, max_bins=255)
    assert binned.columns[0, N_CODES] == 250
    assert len(np.unique(binned.codes[0, :10])) == 10
    few = bin_columns(x, max_bins=249)
    assert few.columns[0, N_CODES] == 249
    assert few.codes[0, :10].tolist() == [240, 241, 242, 243, 244, 245, 246, 247, 248, 248]


def test_a_value_that_most_rows_have_leaves_room_for_the_others():
    """A sensor that is saturated in most rows: the largest value fills nearly all bins, those below keep one."""
    x = np.concatenate((np.arange(20), np.full(80, 99))).astype(np.float32)[:, None]
    for column in (x, -x):
        binned = bin_columns(column, max_bins=4)
        assert binned.columns[0, N_CODES] == 2
        model = DecisionTreeClassifier(max_bins=4).fit(column, x[:, 0] == 99)
        assert model.score(column, x[:, 0] == 99) == 1


def test_categories_keep_their_numbers():
    x = np.array([[3], [np.nan], [0], [254]], dtype=np.float32)
    binned = bin_columns(x, max_bins=2, categorical=np.array([True]))
    assert binned.codes.tolist() == [[3, 255, 0, 254]]
    assert binned.columns.tolist() == [[0, 255, 1]]
    assert binned.columns[0, IS_CATEGORICAL] == 1
    assert_array_equal(binned.ranges[LOW], np.arange(255))


@pytest.mark.parametrize("bad", [-1, 255, 0.5])
def test_what_is_no_category(bad):
    with pytest.raises(UsageError, match=r"whole numbers from 0 to 254; categorical column 1 has .*encode it"):
        bin_columns(np.array([[0, bad]], dtype=np.float32), max_bins=255, categorical=np.array([False, True]))


@pytest.mark.parametrize("bad", [0, 1, 256, 2.0, True, "255", math.nan])
def test_what_is_no_number_of_bins(bad):
    with pytest.raises(
        UsageError, match="max_bins must be a whole number from 2 to 255, or None for exact splits; got"
    ):
        check_max_bins(bad)


def test_numbers_of_bins():
    assert check_max_bins(None) is None
    assert check_max_bins(np.int64(2)) == 2
    assert check_max_bins(MAX_BINS) == 255


@pytest.mark.parametrize(("n", "max_bins"), [(1, 255), (40, 255), (255, 255), (256, 255), (1000, 255), (300, 7)])
def test_sorted_columns_have_the_codes_that_searched_ones_have(n, max_bins):
    # a column of categories beside them makes all columns be searched
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, 50)).astype(np.float32)
    x[:, :20] = np.round(x[:, :20], 1)
    x[:, :10] *= rng.choice([-1.0, 1.0], (n, 10)).astype(np.float32)  # zeros of both signs
    x[rng.random(x.shape) < 0.1] = np.nan
    x[:, 20] = np.nan
    x[0, 21:30] = 3e38
    sorted_ = bin_columns(x, max_bins=max_bins)
    beside = np.zeros((n, 1), dtype=np.float32)
    searched = bin_columns(np.hstack((x, beside)), max_bins=max_bins, categorical=np.arange(51) == 50)
    assert sorted_.codes.tobytes() == searched.codes[:50].tobytes()
    assert sorted_.by_row.tobytes() == np.ascontiguousarray(searched.by_row[:, :50]).tobytes()
    assert_array_equal(sorted_.columns, searched.columns[:50])
    end = sorted_.ranges.shape[1]
    assert sorted_.ranges.tobytes() == np.ascontiguousarray(searched.ranges[:, :end]).tobytes()
