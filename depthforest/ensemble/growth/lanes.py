"""Lanes: batches of the columns that a node draws, and the codes of its rows in them.

Memory accesses are made for all columns of a batch together, so that latencies overlap. Kernels check nothing.
"""

from __future__ import annotations

import numpy as np

from depthforest.base import GOLDEN, Floats, Ints, Longs, bare, inlined, mix, share_of
from depthforest.ensemble.growth.columns import N_CODES, Codes, Columns, reads_rows
from depthforest.ensemble.growth.splits import draw_column
from depthforest.ensemble.growth.sweeps import KEYS, Rules

Lanes = Longs

LANE_FEATURE, LANE_RANK, LANE_OWN, LANE_BOTTOM, LANE_TOP, LANE_N_MISSING, LANE_BEGIN, LANE_CODE, LANE_SPAN = range(9)
"""Rows of `lanes` (9, BATCH) int64: the columns of a batch, numbers and keys of their draws, smallest and largest known
code, missing rows; for random cuts, the first index in `ranges`, and the code with the number of candidates left."""

N_LANE_ROWS = 9

BATCH = 16
"""Largest number of columns drawn together."""

_SMALL, _SMALL_BATCH = 4, 2
"""Nodes with fewer rows draw few columns at a time, because the first one often separates them perfectly."""

_ROWS = 64
"""Rows read at a time, column after column: their cache lines stay in the first-level cache."""


@bare
def draw_batch(
    rules: Rules,
    is_wide: bool,
    key: np.uint64,
    n: int,
    n_drawn: int,
    part: int,
    n_parts: int,
    lanes: Lanes,
    at: Floats,
    drawn: Ints,
) -> tuple[int, int]:
    """Draw the next columns of a node of n rows, each with a share for a random cut.

    Returns how many columns have been drawn so far, and how many of the new ones are this thread's.
    """
    batch = 1 if is_wide else _SMALL_BATCH if n < _SMALL else BATCH
    until = min(n_drawn + batch, max(rules.max_features, n_drawn + 1))
    n_lanes = 0
    while n_drawn < until:
        own = mix(key + GOLDEN * np.uint64(n_drawn + 1))
        feature = draw_column(own, n_drawn, drawn)
        n_drawn += 1
        if n_drawn % n_parts != part:
            continue
        lanes[LANE_FEATURE, n_lanes], lanes[LANE_RANK, n_lanes], lanes[LANE_OWN, n_lanes] = (
            feature,
            n_drawn,
            np.int64(own),
        )
        at[n_lanes] = share_of(mix(own - GOLDEN))
        n_lanes += 1
    return n_drawn, n_lanes


@bare
def read_batch(
    codes: Codes,
    by_row: Codes,
    wide: Ints,
    ids: Ints,
    begin: int,
    n: int,
    n_lanes: int,
    lanes: Lanes,
    ints: Ints,
    keys: Codes,
) -> None:
    """Fill in the codes of a node's rows; wide ones, of one column, go into `ints`, with their low bytes in `keys`."""
    base = np.uint64(begin)
    if reads_rows(codes, n):
        for first in range(0, n, _ROWS):
            last = min(n, first + _ROWS)
            for lane in range(n_lanes):
                column = np.uint64(lanes[LANE_FEATURE, lane])
                for i in range(first, last):
                    keys[lane, i] = by_row[np.uint64(ids[base + np.uint64(i)]), column]
    elif codes.shape[0] > 0:
        for lane in range(n_lanes):
            column = np.uint64(lanes[LANE_FEATURE, lane])
            for i in range(n):
                keys[lane, i] = codes[column, np.uint64(ids[base + np.uint64(i)])]
    else:
        for i in range(n):
            k = wide[lanes[LANE_FEATURE, 0], ids[begin + i]]
            ints[KEYS, i] = k
            keys[0, i] = np.uint8(k)


@bare
def bound_batch(columns: Columns, is_wide: bool, n: int, n_lanes: int, lanes: Lanes, ints: Ints, keys: Codes) -> None:
    """Fill in the smallest and largest known code of every column, and the number of missing rows."""
    for lane in range(n_lanes):
        missing = columns[lanes[LANE_FEATURE, lane], N_CODES]
        bottom, top, n_missing = np.int64(missing), np.int64(0), 0
        if is_wide:
            for i in range(n):
                bottom = min(bottom, np.int64(ints[KEYS, i]))
                top = max(top, np.int64(ints[KEYS, i]))
        else:
            low, high = np.uint8(255), np.uint8(0)
            for i in range(n):
                low = min(low, keys[lane, i])
                high = max(high, keys[lane, i])
            bottom, top = np.int64(low), np.int64(high)
        if top == missing:
            top = np.int64(-1)
            for i in range(n):
                k = np.int64(ints[KEYS, i]) if is_wide else np.int64(keys[lane, i])
                n_missing += k == missing
                if k != missing:
                    top = max(top, k)
        lanes[LANE_BOTTOM, lane], lanes[LANE_TOP, lane], lanes[LANE_N_MISSING, lane] = bottom, top, n_missing


@inlined
def is_constant(n: int, lane: int, lanes: Lanes) -> bool:
    """Return whether a column has at most one value in all rows of a node."""
    n_missing = lanes[LANE_N_MISSING, lane]
    return bool(n_missing == n or (lanes[LANE_BOTTOM, lane] == lanes[LANE_TOP, lane] and n_missing == 0))
