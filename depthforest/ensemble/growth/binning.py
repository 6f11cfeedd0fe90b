"""Binning: columns of numbers or categories coded as small whole numbers, from which all trees are grown.

A column's values are coded 0, 1, 2 ... in ascending order; a missing value gets the number of codes. A code covers the
training values from `low` to `high`. With `max_bins` the codes are quantile bins and fit a byte; a column with no more
values than that, and every column in exact mode, has a code for each value. Thresholds lie between `high` of one code
and `low` of a later one, so that trees are walked with raw values, without bins.

Quantiles are weighted: a row of weight 2 counts as two rows, and one of weight 0 as none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from depthforest.base import (
    Bools,
    Bytes,
    Counters,
    Floats,
    Ints,
    Longs,
    Singles,
    UsageError,
    Words,
    is_whole,
    kernel,
    map_in_order,
)
from depthforest.ensemble.growth.columns import HIGH, LOW, N_CODES, START
from depthforest.ensemble.growth.sparse import SparseTable

MAX_BINS = 255
"""Codes of a column that fit a byte together with the one for a missing value."""

_SAMPLE = 20_000
"""Rows that quantiles are computed from: about 80 per bin, so that the size of a bin is accurate to a tenth."""

_ROUNDING = 1e-12
"""Tolerance of summed fractions at the end of a bin, as a share."""

_BLOCK = 16
"""Columns coded together: a cache line of float32 in every row, whose edges fit the first-level cache (16 x 1 KiB)."""

_ROWS = 512
"""Rows coded together: a transposed block of columns fits the first-level cache together with its edges."""

_EDGES = 256
"""Edges per column, padded with infinity: a power of two, for a search without branches."""


_RANK_CELLS = 32_768
"""Cells sorted together when rows are few: their 8-byte keys fit a second-level cache."""

_MISSING_KEY = 2**32 - 1
"""First half of the key of a missing value, above all others."""

_SIGN_BIT, _INFINITY = 0x80000000, 0x7F800000
"""Bits of float32. In the first half of a key, that of the sign represents 0."""


class Binned(NamedTuple):
    """Coded columns, as the growing kernels read them.

    Attributes
    ----------
    codes : (n_features, n_rows) uint8
        Empty (0, 0) if a column needs more codes than a byte holds.
    by_row : (n_rows, n_features) uint8
        The same, for nodes with few rows.
    wide : (n_features, n_rows) int32
        Empty (0, 0) if bytes hold all codes.
    columns : (n_features, 3) int64
        Start of a column's codes in `ranges`, their number (the code of a missing value), and 1 for categories.
    ranges : (2, n) float32
        Smallest and largest value of a code; for a category, its number.
    """

    codes: Bytes
    by_row: Bytes
    wide: Ints
    columns: Longs
    ranges: Singles

    @property
    def n_rows(self) -> int:
        """Number of coded rows."""
        return int(max(self.codes.shape[1], self.wide.shape[1]))

    @property
    def n_codes(self) -> int:
        """Largest number of codes of any column."""
        return int(self.columns[:, N_CODES].max(initial=0))


def check_max_bins(max_bins: Any) -> int | None:
    """Return the number of bins after checking it; None for exact splits."""
    if max_bins is None:
        return None
    if not is_whole(max_bins) or not 2 <= max_bins <= MAX_BINS:
        raise UsageError(
            f"max_bins must be a whole number from 2 to {MAX_BINS}, or None for exact splits; got {max_bins!r}"
        )
    return int(max_bins)


def bin_columns(
    x: Singles | SparseTable,
    *,
    max_bins: int | None,
    categorical: Bools | None = None,
    weights: Floats | None = None,
    threads: int = 1,
) -> Binned:
    """Code the columns of a table.

    Parameters
    ----------
    x : (n_rows, n_features) float32, C-contiguous, or SparseTable
        Finite or NaN (missing). Categories are whole numbers from 0 to 254; a sparse table has none.
    max_bins : int or None
        Largest number of values per column without binning, and number of quantile bins beyond; None for a code for
        each value.
    categorical : (n_features,) bool, optional
        Columns of categories.
    weights : (n_rows,) float64, optional
        Weights of rows, 0 or more and not all 0. Rows of weight 0 have no effect; their codes are meaningless.
    threads : int
    """
    is_categorical = np.zeros(x.shape[1], dtype=bool) if categorical is None else categorical
    _check_categories(x, is_categorical)
    if weights is None or weights.all():
        return _bin(x, max_bins, is_categorical, weights, threads)
    used = np.flatnonzero(weights)
    return _among(_bin(x[used], max_bins, is_categorical, weights[used], threads), used, len(x))


def _among(binned: Binned, used: Longs, n_rows: int) -> Binned:
    """Return the codes of some rows at their places among all rows."""
    n_features = len(binned.columns)
    is_wide = len(binned.wide) > 0
    codes = np.zeros((0, 0) if is_wide else (n_features, n_rows), dtype=np.uint8)
    by_row = np.zeros(codes.shape[::-1], dtype=np.uint8)
    wide = np.zeros((n_features, n_rows) if is_wide else (0, 0), dtype=np.int32)
    if is_wide:
        wide[:, used] = binned.wide
    else:
        codes[:, used], by_row[used] = binned.codes, binned.by_row
    return binned._replace(codes=codes, by_row=by_row, wide=wide)


def _block_of(x: Singles | SparseTable, block: range) -> tuple[Singles, int]:
    """Return a dense table that contains a block of adjacent columns, and the index of the first in it."""
    return (x.columns(block), 0) if isinstance(x, SparseTable) else (x, block.start)


class _Edges(NamedTuple):
    """The largest value of every code but the last, for a block of columns.

    Attributes
    ----------
    table : (n_columns, 256) float32
        Ascending, padded with infinity.
    counts : (n_columns,) int64
        Number of edges of each column.
    long : dict
        Edges of columns that have too many for the table.
    """

    table: Singles
    counts: Longs
    long: dict[int, Singles]

    def put(self, k: int, edges: Singles) -> None:
        """Set the edges of a column."""
        self.counts[k] = len(edges)
        self.table[k] = np.inf
        if len(edges) < _EDGES:
            self.table[k, : len(edges)] = edges
        else:
            self.long[k] = edges

    def of(self, k: int) -> Singles:
        """Return the edges of a column."""
        return self.long[k] if k in self.long else self.table[k, : self.counts[k]]


def _bin(
    x: Singles | SparseTable, max_bins: int | None, is_categorical: Bools, weights: Floats | None, threads: int
) -> Binned:
    """Code the columns of a table in which all rows have weight."""
    n_rows, n_features = x.shape
    rows, own = (slice(None), None) if max_bins is None else _sampled(n_rows, weights)
    is_part = not isinstance(rows, slice)
    if max_bins is not None and own is None and not is_part and not is_categorical.any():
        return _rank(x, max_bins, threads)
    blocks = [range(first, min(first + _BLOCK, n_features)) for first in range(0, n_features, _BLOCK)]

    def find(block: range) -> _Edges:
        part, at = _block_of(x, block)
        sample = np.ascontiguousarray(part[rows, at : at + len(block)].T)
        order = None if own is None else np.argsort(sample, axis=1, kind="stable")
        sample = np.sort(sample, axis=1) if order is None else np.take_along_axis(sample, order, axis=1)
        found = _Edges(np.full((len(block), _EDGES), np.inf, dtype=np.float32), np.full(len(block), -1), {})
        if not is_part:
            _few_edges(sample, max_bins or 0, found.table, found.counts)
        for k in np.flatnonzero((found.counts < 0) | is_categorical[block.start : block.stop]).tolist():
            if is_categorical[block[k]]:
                found.put(k, _category_edges(part[:, at + k]))
            else:
                its = None if own is None or order is None else own[order[k]]
                found.put(k, _edges(part[:, at + k], sample[k], its, max_bins, is_part=is_part))
        return found

    edges = list(map_in_order(find, blocks, threads=threads))
    n_codes = np.concatenate([found.counts for found in edges]) + 1
    starts = np.concatenate([[0], np.cumsum(n_codes)])
    columns = np.stack((starts[:-1], n_codes, is_categorical.astype(np.int64)), axis=1)
    ranges = np.empty((2, starts[-1]), dtype=np.float32)
    ranges[LOW], ranges[HIGH] = np.inf, -np.inf
    is_wide = bool(n_codes.max(initial=0) > MAX_BINS)
    codes = np.empty((0, 0) if is_wide else (n_features, n_rows), dtype=np.uint8)
    by_row = np.empty(codes.shape[::-1], dtype=np.uint8)
    wide = np.empty((n_features, n_rows) if is_wide else (0, 0), dtype=np.int32)

    def code(numbered: tuple[range, _Edges]) -> None:
        block, found = numbered
        part, at = _block_of(x, block)
        if not is_wide:
            _code_columns(part, at, block.start, found.table, columns, ranges, codes, by_row)
            return
        for k, f in enumerate(block):
            values = part[:, at + k]
            wide[f] = np.where(np.isnan(values), n_codes[f], np.searchsorted(found.of(k), values))
            _find_ranges(part, at + k, int(starts[f]), int(n_codes[f]), wide[f], ranges)

    for _ in map_in_order(code, list(zip(blocks, edges, strict=True)), threads=threads):
        pass
    for f in np.flatnonzero(is_categorical):  # categories that no row has keep their number
        ranges[:, starts[f] : starts[f + 1]] = np.arange(n_codes[f])
    return Binned(codes, by_row, wide, columns, ranges)


def _rank(x: Singles | SparseTable, max_bins: int, threads: int) -> Binned:
    """Code the columns of a numeric table with equally weighted rows, few enough to be sorted.

    After sorting, the rows of a code are adjacent, so nothing is searched. A table of few rows may have very many
    columns, most of which no node considers.
    """
    n_rows, n_features = x.shape
    codes = np.empty((n_features, n_rows), dtype=np.uint8)
    by_row = np.empty(codes.shape[::-1], dtype=np.uint8)
    size = max(_BLOCK, _RANK_CELLS // n_rows // _BLOCK * _BLOCK)
    blocks = [range(first, min(first + size, n_features)) for first in range(0, n_features, size)]

    most = min(n_rows, max_bins)
    ranges = np.empty((2, n_features * most), dtype=np.float32)  # unwritten parts take no memory
    n_codes = np.empty(n_features, dtype=np.int64)

    def code(block: range) -> slice:
        part, at = _block_of(x, block)
        keys = np.empty((len(block), n_rows), dtype=np.uint64)
        _fill_keys(part, at, keys)
        keys.sort(axis=1)
        begin = block.start * most
        end = _rank_columns(
            part.view(np.uint32), at, block.start, max_bins, begin, keys, n_codes, ranges.view(np.uint32), codes, by_row
        )
        return slice(begin, end)

    written = list(map_in_order(code, blocks, threads=threads))
    if n_codes.sum() < ranges.shape[1]:
        ranges = np.concatenate([ranges[:, own] for own in written], axis=1)
    columns = np.stack((np.cumsum(n_codes) - n_codes, n_codes, np.zeros(n_features, dtype=np.int64)), axis=1)
    return Binned(codes, by_row, np.empty((0, 0), dtype=np.int32), columns, ranges)


def _sampled(n_rows: int, weights: Floats | None) -> tuple[Any, Floats | None]:
    """Return the rows that quantiles are computed from, and the weight of each (None: all equal).

    Large tables are sampled at positions along the cumulative weight, one from each of equal intervals: rows with
    whole-number weights give the same sample as rows repeated that often.
    """
    if weights is None:
        weights = np.ones(n_rows)
    total = float(weights.sum())
    are_counts = bool((weights == np.floor(weights)).all())
    if (total if are_counts else n_rows) <= _SAMPLE:
        return slice(None), None if (weights == weights[0]).all() else weights
    places = (np.arange(_SAMPLE) + np.random.default_rng(0).random(_SAMPLE)) * (total / _SAMPLE)
    return np.minimum(np.searchsorted(np.cumsum(weights), places, side="right"), n_rows - 1), None


def _edges(
    column: npt.NDArray[Any],
    sample: npt.NDArray[Any],
    own: Floats | None,
    max_bins: int | None,
    *,
    is_part: bool,
) -> Singles:
    """Return the largest value of every code but the last, ascending.

    `sample` is sorted, with NaN last; `own` are the weights of its rows, and `is_part` says that there are other rows.
    """
    sample = sample[: np.searchsorted(sample, np.nan)]
    values = _distinct(sample)
    if max_bins is not None and len(values) > max_bins:
        # the value at the end of each of max_bins equal shares; equal ones merge
        if own is None:
            ends = -(-np.arange(1, max_bins) * len(sample) // max_bins) - 1
        else:
            reached = np.cumsum(own[: len(sample)])
            ends = np.searchsorted(reached, np.arange(1, max_bins) * (reached[-1] / max_bins) * (1 - _ROUNDING))
        edges = sample[ends]
        edges[edges == values[-1]] = values[-2]  # nothing is above the largest value, which has the last bin
        return _distinct(edges)
    if max_bins is not None and is_part:
        every = np.sort(column)
        every = _distinct(every[: np.searchsorted(every, np.nan)])
        if len(every) > max_bins:  # values missing from the sample go to the last bins
            return _distinct(every[np.arange(1, max_bins) * len(every) // max_bins - 1])
        values = every
    return values[:-1]


def _distinct(ascending: npt.NDArray[Any]) -> Singles:
    is_new = np.ones(len(ascending), dtype=bool)
    is_new[1:] = ascending[1:] != ascending[:-1]
    return ascending[is_new]


def _category_edges(column: npt.NDArray[Any]) -> Singles:
    """Return edges that give category k the code k."""
    largest = np.nanmax(column) if np.isfinite(column).any() else 0
    return np.arange(int(largest), dtype=np.float32)


def _check_categories(x: Any, is_categorical: Bools) -> None:
    for f in np.flatnonzero(is_categorical):
        column = x[:, f]
        known = column[~np.isnan(column)]
        bad = known[(known < 0) | (known >= MAX_BINS) | (known != np.floor(known))]
        if len(bad):
            raise UsageError(
                f"categories must be whole numbers from 0 to {MAX_BINS - 1}; categorical column {f} has {bad[0]:g}: "
                "encode it (sklearn.preprocessing.OrdinalEncoder), merge rare categories, or treat it as numbers"
            )


@kernel
def _few_edges(sample: Singles, max_bins: int, edges: Singles, counts: Longs) -> None:
    """Fill in the edges of columns with up to `max_bins` values, and their number; leave the counts of others at -1.

    `sample` (n_columns, n) is sorted, with NaN last. This is `_edges` for wide tables, most of whose columns no node
    considers. `edges` initially hold infinity; those of columns with count -1 are meaningless.
    """
    for k in range(sample.shape[0]):
        n_values = 0
        for i in range(sample.shape[1]):
            value = sample[k, i]
            if value != value:
                break
            if n_values == 0 or value != edges[k, n_values - 1]:
                if n_values == max_bins:
                    n_values += 1
                    break
                edges[k, n_values] = value
                n_values += 1
        if n_values <= max_bins and max_bins > 0:
            counts[k] = max(n_values - 1, 0)
            edges[k, counts[k]] = np.inf  # the last code has no edge


@kernel
def _fill_keys(x: Singles, at: int, keys: Counters) -> None:
    """Fill in keys (n_columns, n_rows) that sort like the cells: equal cells by row, missing ones last.

    The first 32 bits are those of the float32, transformed so that they sort as whole numbers, the same for both zeros;
    the others are the index of the row.
    """
    n_columns, n_rows = keys.shape
    line = np.empty(n_columns, dtype=np.uint32)
    for r in range(n_rows):
        for k in range(n_columns):  # vectorized, unlike the next loop
            value = x[r, at + k] + np.float32(0.0)  # -0.0 becomes 0.0
            bits = np.float32(value).view(np.int32)
            turned = np.uint32(bits ^ ((bits >> 31) | np.int32(-0x80000000)))
            line[k] = turned if value == value else np.uint32(_MISSING_KEY)
        for k in range(n_columns):
            keys[k, r] = (np.uint64(line[k]) << np.uint64(32)) | np.uint64(r)


@kernel
def _fill_edges(keys: Counters, n: int, max_bins: int, edges: Longs) -> Any:
    """Fill in the largest value of every code but the last, and return the number of these edges.

    `keys` (n_rows,) belong to one column; n of them are known values, more than `max_bins` of them distinct. The value
    at the end of each of `max_bins` equal shares is an edge; equal ones merge. Nothing is above the largest value,
    which has the last code.
    """
    largest = np.int64(keys[n - 1] >> np.uint64(32))
    at = n - 1
    while np.int64(keys[at] >> np.uint64(32)) == largest:
        at -= 1
    before = np.int64(keys[at] >> np.uint64(32))
    n_edges = 0
    for share in range(1, max_bins):
        edge = np.int64(keys[(share * n + max_bins - 1) // max_bins - 1] >> np.uint64(32))
        if edge == largest:
            edge = before
        if n_edges == 0 or edge != edges[n_edges - 1]:
            edges[n_edges] = edge
            n_edges += 1
    return n_edges


@kernel
def _rank_columns(
    x: Words,
    at: int,
    first: int,
    max_bins: int,
    begin: Any,
    keys: Counters,
    n_codes: Longs,
    ranges: Words,
    codes: Bytes,
    by_row: Bytes,
) -> Any:
    """Code columns `first` and following, which start at `at` in x, by their sorted keys.

    `ranges` gets the smallest and largest value of each code from `begin` on, column after column; of both zeros, the
    one that comes first. Returns the end of these ranges. Like x, it holds the bits of float32.
    """
    n_columns, n_rows = keys.shape
    edges = np.empty(max_bins, dtype=np.int64)
    for k in range(n_columns):
        n_known = n_rows
        while n_known > 0 and keys[k, n_known - 1] >> np.uint64(32) == np.uint64(_MISSING_KEY):
            n_known -= 1
        n_edges, last = np.int64(-1), np.int64(-1)
        if n_known > max_bins:
            n_values = 0
            for i in range(n_known):
                value = np.int64(keys[k, i] >> np.uint64(32))
                n_values += value != last
                last = value
            if n_values > max_bins:
                n_edges = _fill_edges(keys[k], n_known, max_bins, edges)
        code, last = np.int64(-1), np.int64(-1)
        for i in range(n_known):
            value, row = np.int64(keys[k, i] >> np.uint64(32)), keys[k, i] & np.uint64(2**32 - 1)
            if value != last:
                last = value
                bits = np.uint32(value ^ (_SIGN_BIT if value >= _SIGN_BIT else _MISSING_KEY))
                if value == _SIGN_BIT:
                    bits = x[row, at + k]
                if n_edges < 0 or code < 0 or (code < n_edges and value > edges[code]):
                    code += 1
                    ranges[LOW, begin + code] = bits
                ranges[HIGH, begin + code] = bits
            codes[first + k, row] = code
        if n_known == 0:
            code = np.int64(0)
            ranges[LOW, begin], ranges[HIGH, begin] = _INFINITY, _INFINITY | _SIGN_BIT
        for i in range(n_known, n_rows):
            codes[first + k, keys[k, i] & np.uint64(2**32 - 1)] = code + 1
        n_codes[first + k] = code + 1
        begin += code + 1
    for r in range(n_rows):
        for k in range(n_columns):
            by_row[r, first + k] = codes[first + k, r]
    return begin


@kernel
def _search(edges: Singles, value: float) -> np.uint32:
    """Return how many of 256 ascending edges are below a value; uses sums, because branches would be mispredicted."""
    n = np.uint32(128) * np.uint32(edges[127] < value)
    n += np.uint32(64) * np.uint32(edges[n + np.uint32(63)] < value)
    n += np.uint32(32) * np.uint32(edges[n + np.uint32(31)] < value)
    n += np.uint32(16) * np.uint32(edges[n + np.uint32(15)] < value)
    n += np.uint32(8) * np.uint32(edges[n + np.uint32(7)] < value)
    n += np.uint32(4) * np.uint32(edges[n + np.uint32(3)] < value)
    n += np.uint32(2) * np.uint32(edges[n + np.uint32(1)] < value)
    return np.uint32(n + np.uint32(edges[n] < value))


@kernel
def _code_columns(
    x: Singles,
    at: int,
    first: int,
    table: Singles,
    columns: Longs,
    ranges: Singles,
    codes: Bytes,
    by_row: Bytes,
) -> None:
    """Code columns `first` and following, which start at `at` in x, one per row of `table`: count the edges below."""
    n_columns = table.shape[0]
    block = np.empty((n_columns, _ROWS), dtype=np.float32)
    for start in range(0, x.shape[0], _ROWS):
        n = min(_ROWS, x.shape[0] - start)
        for r in range(n):
            for k in range(n_columns):
                block[k, r] = x[start + r, at + k]
        for k in range(n_columns):
            edges, values, out = table[k], block[k], codes[first + k, start : start + n]
            for r in range(n):
                out[r] = _search(edges, values[r])
            offset = columns[first + k, START]
            for r in range(n):
                value, place = values[r], offset + out[r]
                if value != value:
                    out[r] = columns[first + k, N_CODES]
                    continue
                if value < ranges[LOW, place]:
                    ranges[LOW, place] = value
                if value > ranges[HIGH, place]:
                    ranges[HIGH, place] = value
        for r in range(n):
            for k in range(n_columns):
                by_row[start + r, first + k] = codes[first + k, start + r]


@kernel
def _find_ranges(
    x: Singles,
    column: int,
    start: int,
    n_codes: int,
    codes: Ints,
    ranges: Singles,
) -> None:
    """Find the smallest and largest value of every code of a column, whose codes start at `start` in `ranges`."""
    for r in range(x.shape[0]):
        place = start + codes[r]
        if codes[r] < n_codes:
            ranges[LOW, place] = min(ranges[LOW, place], x[r, column])
            ranges[HIGH, place] = max(ranges[HIGH, place], x[r, column])
