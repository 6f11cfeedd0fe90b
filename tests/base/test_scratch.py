import weakref

import numpy as np

from depthforest.base.kernels import ROW, add_pair, kernel, prefetch, turn_rows
from depthforest.base.scratch import Scratch


def test_memory_is_used_again_and_grows():
    scratch = Scratch()
    (first,) = scratch.take("a", ((3, 4), np.int32))
    assert (first.shape, first.dtype, first.flags.c_contiguous) == ((3, 4), np.int32, True)
    (again,) = scratch.take("a", ((5,), np.uint8))
    assert np.shares_memory(first, again)
    (other,) = scratch.take("b", ((5,), np.uint8))
    assert not np.shares_memory(other, again)
    (larger,) = scratch.take("a", ((100,), np.float64))
    assert larger.size == 100
    assert not np.shares_memory(larger, first)


def test_large_blocks_live_as_long_as_their_arrays():
    scratch = Scratch(max_kept=640)
    (small,) = scratch.take("a", ((640,), np.uint8))
    assert np.shares_memory(small, scratch.take("a", ((2,), np.uint8))[0])
    large, beside = scratch.take("a", ((641,), np.uint8), ((5,), np.int32))
    assert scratch._blocks == {}
    large[:], beside[:] = 7, 8
    (other,) = scratch.take("a", ((641,), np.uint8))  # what is in use is nobody else's
    other[:] = 9
    assert not np.shares_memory(other, large)
    assert (set(large.tolist()), set(beside.tolist())) == ({7}, {8})
    gone = weakref.ref(large.base)
    assert gone() is not None
    del large, beside
    assert gone() is None
    assert np.shares_memory(*scratch.take("a", ((9,), np.uint8)), *scratch.take("a", ((9,), np.uint8)))


def test_arrays_of_one_block_lie_apart():
    kinds = (((3,), np.uint8), ((0, 7), np.int16), ((2, 2), np.float64), ((1,), np.int32))
    arrays = Scratch().take("a", *kinds)
    assert [(a.shape, a.dtype) for a in arrays] == [(shape, np.dtype(dtype)) for shape, dtype in kinds]
    for i, array in enumerate(arrays):
        array[...] = i
    assert [set(a.ravel().tolist()) for a in arrays] == [{0}, set(), {2}, {3}]


@kernel
def _sum(values, ahead):
    total = 0
    for i in range(len(values)):
        prefetch(values, i + ahead)
        total += values[i]
    return total


def test_prefetching_changes_nothing():
    values = np.arange(1000)
    # far outside too: it is a hint, and never reads
    for ahead in (0, 8, 10**12):
        assert _sum(values, ahead) == values.sum()


@kernel
def _add_pairs(places, amounts, out):
    for i in range(len(places)):
        add_pair(out, np.uint64(places[i]), amounts[i, 0], amounts[i, 1])


def test_pairs_are_added_where_they_belong():
    rng = np.random.default_rng(0)
    places, amounts = rng.integers(0, 8, 500), rng.normal(size=(500, 2))  # odd places too, and pairs that overlap
    found, expected = np.arange(10.0), np.arange(10.0)
    _add_pairs(places, amounts, found[:9])
    for place, pair in zip(places, amounts, strict=True):
        expected[place : place + 2] += pair
    assert found.tolist() == expected.tolist()


@kernel
def _turn_all(values, rows, columns):
    for i in range(np.uint64(0), np.uint64(len(rows)), np.uint64(ROW)):
        turn_rows(values, rows, i, columns)


def test_rows_are_turned_into_columns():
    rng = np.random.default_rng(0)
    values, rows = rng.normal(size=(50, ROW)).astype(np.float32), rng.integers(0, 50, 3 * ROW).astype(np.int32)
    columns = np.zeros((ROW, 3 * ROW + 2), dtype=np.float32)  # wider than what is written
    _turn_all(values, rows, columns)
    assert columns[:, : 3 * ROW].tolist() == values[rows].T.tolist()
    assert not columns[:, 3 * ROW :].any()
