"""Columns: the codes of a node's rows in one column, sorted or counted; categories in an order for cuts.

For each column, `columns` (n_features, 3) int64 has the start of its codes in `ranges`, their number, and whether it is
categorical. Kernels check nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from depthforest.base import GOLDEN, Bytes, Floats, Ints, Longs, Singles, bare, inlined, mix, number_below
from depthforest.ensemble.growth.sweeps import (
    DIRECTION,
    KEYS,
    MEANS,
    ORDER,
    SORTED,
    SPARE_KEYS,
    SPARE_ORDER,
    STEP,
    TARGET,
    WEIGHT,
)

Codes = Bytes
Columns = Longs
Ranges = Singles
Sides = Bytes

START, N_CODES, IS_CATEGORICAL = range(3)
LOW, HIGH = 0, 1
"""Rows of `ranges` (2, n): smallest and largest value of a code."""

RIGHT, LEFT, ABSENT = 0, 1, 2
"""Side of a category or of missing values; ABSENT if the node has none of them."""

DIGIT = 256
"""Number of codes that one pass of sorting distinguishes."""

SPARSE = 16
"""Nodes with less than one in this many rows read their codes by row."""

_INSERTION = 24
"""Up to this many rows, insertion sort is fastest."""

_POWER_STEPS = 16
"""Steps of the power iteration that orders categories; only the order must converge, not the direction."""

_ATTEMPTS = 64
"""Attempts at drawing a set of categories; for two categories all fail with probability 2^-64."""


@inlined
def reads_rows(codes: Codes, n: int) -> bool:
    """Return whether a node's codes are read by row: with few rows, a cache line of a column rarely holds two."""
    return bool(n * SPARSE <= codes.shape[1])


@inlined
def gather(
    codes: Codes, by_row: Codes, wide: Ints, feature: int, missing: int, ids: Ints, begin: int, n: int, ints: Ints
) -> tuple[Any, Any, Any]:
    """Fill in the codes of a node's rows; return the smallest and largest known code, and how many rows are missing."""
    low, high, n_missing = np.int32(missing), np.int32(-1), np.int64(0)
    column = np.uint64(feature)
    if reads_rows(codes, n):
        for i in range(n):
            ints[KEYS, i] = by_row[np.uint64(ids[begin + i]), column]
    elif codes.shape[0] > 0:
        for i in range(n):
            ints[KEYS, i] = codes[column, np.uint64(ids[begin + i])]
    else:
        for i in range(n):
            ints[KEYS, i] = wide[column, np.uint64(ids[begin + i])]
    for i in range(n):
        low = min(low, ints[KEYS, i])
        high = max(high, ints[KEYS, i])
    if high == missing:
        high = np.int32(-1)
        for i in range(n):
            if ints[KEYS, i] == missing:
                n_missing += 1
            else:
                high = max(high, ints[KEYS, i])
    return np.int64(low), np.int64(high), n_missing


@bare
def sort(n: int, low: int, high: int, places: Ints, ints: Ints) -> None:
    """Fill in a node's keys in ascending order and their positions; the sort is stable."""
    if n <= _INSERTION:
        for i in range(n):
            key = ints[KEYS, i]
            j = i
            while j > 0 and ints[SORTED, j - 1] > key:
                ints[SORTED, j] = ints[SORTED, j - 1]
                ints[ORDER, j] = ints[ORDER, j - 1]
                j -= 1
            ints[SORTED, j] = key
            ints[ORDER, j] = i
        return
    source, source_order, target, target_order = KEYS, -1, SORTED, ORDER
    shift = 0
    while True:
        n_digits = min(DIGIT, ((high - low) >> shift) + 1)
        for d in range(n_digits):
            places[d] = 0
        for i in range(n):
            places[((ints[source, i] - low) >> shift) & (DIGIT - 1)] += 1
        at = np.int32(0)
        for d in range(n_digits):
            count = places[d]
            places[d] = at
            at += count
        for i in range(n):
            key = ints[source, i]
            d = ((key - low) >> shift) & (DIGIT - 1)
            ints[target, places[d]] = key
            ints[target_order, places[d]] = i if source_order < 0 else ints[source_order, i]
            places[d] += 1
        shift += 8
        if (high - low) >> shift == 0:
            break
        source, source_order, target, target_order = (
            (SORTED, ORDER, SPARE_KEYS, SPARE_ORDER) if target == SORTED else (SPARE_KEYS, SPARE_ORDER, SORTED, ORDER)
        )
    if target != SORTED:
        for i in range(n):
            ints[SORTED, i] = ints[SPARE_KEYS, i]
            ints[ORDER, i] = ints[SPARE_ORDER, i]


@bare
def count(
    n_channels: int, channels: Ints, amounts: Floats, begin: int, n: int, low: int, high: int, ints: Ints, bins: Floats
) -> None:
    """Sum channels, weights and rows of a node by key, for keys from `low` to `high`."""
    for b in range(low, high + 1):
        for c in range(n_channels + 2):
            bins[b, c] = 0.0
    for i in range(n):
        b, row = ints[KEYS, i], begin + i
        weight = amounts[row, WEIGHT]
        bins[b, channels[row]] += weight * amounts[row, TARGET]
        bins[b, n_channels] += weight
        bins[b, n_channels + 1] += 1.0


@bare
def threshold_between(columns: Columns, ranges: Ranges, feature: int, code: int, next_code: int) -> float:
    """Return the midpoint between the values of two codes, a float32; infinity if only missing values go right."""
    if next_code == columns[feature, N_CODES]:
        return np.inf
    start = columns[feature, START]
    below, above = np.float64(ranges[HIGH, start + code]), np.float64(ranges[LOW, start + next_code])
    middle = np.float64(np.float32(0.5 * below + 0.5 * above))
    return middle if below <= middle < above else below


@bare
def _along(n_channels: int, bins: Floats, b: int, sums: Floats) -> Any:
    """Return the position of a category along the direction that orders categories."""
    total = 0.0
    for c in range(n_channels):
        total += bins[b, c] * sums[DIRECTION, c]
    return total / bins[b, n_channels]


@bare
def _find_direction(n_channels: int, n: int, ints: Ints, bins: Floats, sums: Floats) -> None:
    """Find the direction in which the shares of the classes vary most from category to category."""
    weight = 0.0
    for c in range(n_channels):
        sums[MEANS, c] = 0.0
    for i in range(n):
        b = ints[ORDER, i]
        weight += bins[b, n_channels]
        for c in range(n_channels):
            sums[MEANS, c] += bins[b, c]
    for c in range(n_channels):
        sums[MEANS, c] /= weight
        # an asymmetric start, because a symmetric one might be orthogonal to the solution
        sums[DIRECTION, c] = sums[MEANS, c] * (1.0 + c)
    for _ in range(_POWER_STEPS):
        offset = 0.0
        for c in range(n_channels):
            sums[STEP, c] = 0.0
            offset += sums[MEANS, c] * sums[DIRECTION, c]
        for i in range(n):
            b = ints[ORDER, i]
            along = _along(n_channels, bins, b, sums) - offset
            for c in range(n_channels):
                sums[STEP, c] += along * (bins[b, c] - bins[b, n_channels] * sums[MEANS, c])
        size = 0.0
        for c in range(n_channels):
            size += sums[STEP, c] * sums[STEP, c]
        size = np.sqrt(size)
        if size == 0.0:
            return
        for c in range(n_channels):
            sums[DIRECTION, c] = sums[STEP, c] / size


@bare
def order_categories(n_channels: int, n_codes: int, ints: Ints, bins: Floats, sums: Floats) -> Any:
    """Order the categories of a node so that cuts are good splits; return their number.

    For regression and for two classes, sorting by the mean, or by the share of one class, makes one of the cuts the
    best of all splits (Breiman et al. 1984). For more classes the shares are projected on their first principal
    component (Coppersmith et al. 1999), which is a good heuristic.
    """
    n = np.int64(0)  # typed, because a literal would compile `_find_direction` again
    for b in range(n_codes):
        if bins[b, n_channels + 1] > 0.0:
            ints[ORDER, n] = b
            n += 1
    for c in range(n_channels):
        sums[DIRECTION, c] = 1.0 if c == n_channels - 1 else 0.0
    if n_channels > 2:
        _find_direction(n_channels, n, ints, bins, sums)
    for i in range(1, n):
        b = ints[ORDER, i]
        along = _along(n_channels, bins, b, sums)
        j = i
        while j > 0 and _along(n_channels, bins, ints[ORDER, j - 1], sums) > along:
            ints[ORDER, j] = ints[ORDER, j - 1]
            j -= 1
        ints[ORDER, j] = b
    return n


@bare
def draw_categories(
    n: int, n_codes: int, n_missing: int, is_missing_left: bool, key: np.uint64, lane: int, keys: Codes, sides: Sides
) -> None:
    """Draw the categories of a node that go left: any set that leaves neither side empty."""
    n_here = 0
    for b in range(DIGIT):
        sides[0, b] = ABSENT
    for i in range(n):
        k = keys[lane, i]
        if k < n_codes and sides[0, k] == ABSENT:
            sides[0, k] = RIGHT
            n_here += 1
    for attempt in range(_ATTEMPTS):
        n_left = 0
        own = mix(key + GOLDEN * np.uint64(attempt + 1))
        for b in range(n_codes):
            if sides[0, b] != ABSENT:
                sides[0, b] = number_below(mix(own + GOLDEN * np.uint64(b + 1)), 2)
                n_left += sides[0, b]
        # missing rows already fill one side
        if n_missing == 0 and 0 < n_left < n_here:
            return
        if n_missing > 0 and (n_left < n_here if is_missing_left else n_left > 0):
            return
