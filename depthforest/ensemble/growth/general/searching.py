"""Searching: the best split of a node for any objective.

In each column, rows are put into an order in which every cut is a split: by value, by the mean of their category, or
for a random split with the rows that go left first. Kernels check nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from depthforest.base import GOLDEN, Counts, Ints, bare, mix, number_below, share_of
from depthforest.ensemble.growth.binning import Binned
from depthforest.ensemble.growth.columns import (
    ABSENT,
    DIGIT,
    HIGH,
    IS_CATEGORICAL,
    LEFT,
    LOW,
    N_CODES,
    RIGHT,
    START,
    draw_categories,
    gather,
    order_categories,
    sort,
    threshold_between,
)
from depthforest.ensemble.growth.general.medians import (
    LEFT_LOSS,
    LEFT_VALUE,
    RIGHT_LOSS,
    RIGHT_VALUE,
    MedianMemory,
    fill_losses,
)
from depthforest.ensemble.growth.general.objective import ABSOLUTE_ERROR, Objective, add_row, is_class, terms_of
from depthforest.ensemble.growth.memory import SplitMemory
from depthforest.ensemble.growth.randomsplits import threshold_at
from depthforest.ensemble.growth.splits import Split, draw_column, no_split, put_back
from depthforest.ensemble.growth.sweeps import (
    KEYS,
    LEFT_SUMS,
    NEGLIGIBLE,
    ORDER,
    RIGHT_SUMS,
    SORTED,
    SPARE_KEYS,
    SPARE_ORDER,
    TOTALS,
    Rules,
)


@bare
def _is_ordered(sign: int, left: float, right: float, lower: float, upper: float) -> bool:
    """Return whether the sides' predictions rise or fall as required, and stay within the bounds of the node."""
    return bool((left - right) * sign <= 0.0 and lower <= min(left, right) and max(left, right) <= upper)


@bare
def _sweep(
    table: Counts,
    objective: Objective,
    rules: Rules,
    ids: Ints,
    begin: int,
    n: int,
    n_first: int,
    weight: float,
    sign: int,
    bounds: tuple[float, float],
    best: float,
    memory: SplitMemory,
    medians: MedianMemory,
) -> tuple[float, Any]:
    """Return (score, position) of the best cut after a position, (best, -1) if none beats `best`.

    There is no cut after the first `n_first` rows or fewer: these are missing rows, which go left together with others.
    """
    ints, sums = memory.ints, memory.sums
    has_medians = objective.kind == ABSOLUTE_ERROR
    channel: Any = 1 if is_class(objective) else 0
    if has_medians:
        fill_losses(objective, ids, begin, n, ints, medians)
    for c in range(sums.shape[1]):
        sums[LEFT_SUMS, c] = 0.0
    least = max(rules.min_weight, NEGLIGIBLE * weight)
    left_weight, found = 0.0, np.int64(-1)
    for i in range(n - 1):
        row = ids[begin + ints[ORDER, i]]
        left_weight += add_row(objective, row, np.int64(LEFT_SUMS), sums)
        right_weight = weight - left_weight
        is_cut = ints[SORTED, i] != ints[SORTED, i + 1] and i >= n_first
        if not is_cut or min(i + 1, n - i - 1) < rules.min_rows or min(left_weight, right_weight) < least:
            continue
        for c in range(sums.shape[1]):
            sums[RIGHT_SUMS, c] = sums[TOTALS, c] - sums[LEFT_SUMS, c]
        if has_medians:
            score = -medians.cuts[LEFT_LOSS, i] - medians.cuts[RIGHT_LOSS, i]
        else:
            score = terms_of(table, objective, np.int64(LEFT_SUMS), left_weight, sums) + terms_of(
                table, objective, np.int64(RIGHT_SUMS), right_weight, sums
            )
        if score <= best:
            continue
        if objective.signs.shape[0] > 0:
            left, right = sums[LEFT_SUMS, channel] / left_weight, sums[RIGHT_SUMS, channel] / right_weight
            if has_medians:
                left, right = medians.cuts[LEFT_VALUE, i], medians.cuts[RIGHT_VALUE, i]
            if not _is_ordered(sign, left, right, bounds[0], bounds[1]):
                continue
        best, found = score, np.int64(i)
    return best, found


@bare
def _take_missing_first(n: int, n_missing: int, ints: Ints) -> None:
    """Move the missing rows, the last of the sorted ones, to the front."""
    for i in range(n):
        ints[SPARE_KEYS, i], ints[SPARE_ORDER, i] = ints[SORTED, i], ints[ORDER, i]
    for i in range(n):
        from_ = i - n_missing if i >= n_missing else n - n_missing + i
        ints[SORTED, i], ints[ORDER, i] = ints[SPARE_KEYS, from_], ints[SPARE_ORDER, from_]


@bare
def _rank_categories(objective: Objective, ids: Ints, begin: int, n: int, n_codes: int, memory: SplitMemory) -> Any:
    """Replace the codes of categories by their positions in the cutting order, and missing ones by the next number.

    `sides[0]` keeps the positions. Returns the number of categories.
    """
    bins, ints, sums, sides = memory.bins, memory.ints, memory.sums, memory.sides
    n_channels = sums.shape[1]
    for b in range(n_codes + 1):
        for c in range(n_channels + 2):
            bins[b, c] = 0.0
    for i in range(n):
        code = np.int64(ints[KEYS, i])
        bins[code, n_channels] += add_row(objective, ids[begin + i], code, bins)
        bins[code, n_channels + 1] += 1.0
    n_here = order_categories(n_channels, n_codes, ints, bins, sums)
    for place in range(n_here):
        sides[0, ints[ORDER, place]] = place
    for i in range(n):
        code = np.int64(ints[KEYS, i])
        ints[KEYS, i] = n_here if code == n_codes else np.int64(sides[0, code])
    return n_here


@bare
def _keep_sides(n_codes: int, last: int, memory: SplitMemory) -> None:
    """Store which categories go left: those with a position of at most `last`."""
    sides = memory.sides
    for b in range(DIGIT):
        sides[1, b] = ABSENT
    for b in range(n_codes):
        if memory.bins[b, memory.sums.shape[1] + 1] > 0.0:
            sides[1, b] = LEFT if sides[0, b] <= last else RIGHT


@bare
def _best_of_column(
    table: Counts,
    objective: Objective,
    rules: Rules,
    binned: Binned,
    ids: Ints,
    begin: int,
    n: int,
    found: tuple[Any, Any, Any, Any, Any],
    weight: float,
    bounds: tuple[float, float],
    best: Split,
    memory: SplitMemory,
    medians: MedianMemory,
) -> Split:
    """Return the best split of a column if it beats `best`, else `best`; `found`: the result of `gather`, and rank."""
    feature, rank, low, high, n_missing = found
    ints = memory.ints
    missing_code = binned.columns[feature, N_CODES]
    is_categorical = binned.columns[feature, IS_CATEGORICAL] == 1
    sign: Any = objective.signs[feature] if objective.signs.shape[0] > 0 else np.int8(0)
    n_here = np.int64(0)
    if is_categorical:
        n_here = _rank_categories(objective, ids, begin, n, missing_code, memory)
        low, high = np.int64(0), n_here - 1
    last = (n_here if is_categorical else missing_code) if n_missing > 0 else high
    sort(n, low, last, memory.places, ints)
    for missing in range(2 if n_missing > 0 else 1):
        n_first: Any = np.int64(0)
        if missing == LEFT:
            _take_missing_first(n, n_missing, ints)
            n_first = n_missing
        score, at = _sweep(
            table, objective, rules, ids, begin, n, n_first, weight, sign, bounds, best.score, memory, medians
        )
        if at < 0:
            continue
        code, threshold = np.int64(0), 0.0
        if is_categorical:
            _keep_sides(missing_code, np.int64(ints[SORTED, at]), memory)
        else:
            code = np.int64(ints[SORTED, at])
            threshold = threshold_between(binned.columns, binned.ranges, feature, code, np.int64(ints[SORTED, at + 1]))
        side = np.int64(missing) if n_missing > 0 else np.int64(ABSENT)
        best = Split(np.int64(feature), code, threshold, score, side, np.int64(rank))
    return best


@bare
def _draw_cut(binned: Binned, feature: int, low: int, high: int, key: np.uint64) -> tuple[Any, float]:
    """Draw a value between smallest and largest; return the last code up to it, below the largest, and the value."""
    start, ranges = binned.columns[feature, START], binned.ranges
    bottom, top = np.float64(ranges[LOW, start + low]), np.float64(ranges[HIGH, start + high])
    at = bottom + share_of(mix(key - GOLDEN)) * (top - bottom)
    code, span = np.int64(low), max(np.int64(high - low), np.int64(1))
    while span > 1:
        half = span >> 1
        if ranges[HIGH, start + code + half] <= at:
            code += half
        span -= half
    return code, at


@bare
def _random_of_column(
    table: Counts,
    objective: Objective,
    rules: Rules,
    binned: Binned,
    ids: Ints,
    begin: int,
    n: int,
    found: tuple[Any, Any, Any, Any, Any],
    weight: float,
    bounds: tuple[float, float],
    best: Split,
    key: np.uint64,
    memory: SplitMemory,
    medians: MedianMemory,
) -> Split:
    """Return a random split of a column if it beats `best`, else `best`."""
    feature, rank, low, high, n_missing = found
    ints, sides = memory.ints, memory.sides
    missing_code = binned.columns[feature, N_CODES]
    is_categorical = binned.columns[feature, IS_CATEGORICAL] == 1
    sign: Any = objective.signs[feature] if objective.signs.shape[0] > 0 else np.int8(0)
    is_missing_left = n_missing > 0 and number_below(mix(key + GOLDEN), 2) == LEFT
    code, threshold = np.int64(0), 0.0
    if is_categorical:
        for i in range(n):
            memory.keys[0, i] = ints[KEYS, i]
        draw_categories(n, missing_code, n_missing, is_missing_left, key, np.int64(0), memory.keys, sides)
    elif low == high:  # only missing values can be separated
        code, threshold, is_missing_left = np.int64(low), np.inf, False
    else:
        code, at = _draw_cut(binned, feature, low, high, key)
        threshold = threshold_at(binned.columns, binned.ranges, feature, code, at)
    for i in range(n):
        k = np.int64(ints[KEYS, i])
        goes_left: Any = k <= code
        if is_categorical and k < missing_code:
            goes_left = sides[0, k] == LEFT
        if k == missing_code:
            goes_left = is_missing_left
        ints[KEYS, i] = np.int64(0) if goes_left else np.int64(1)
    sort(n, np.int64(0), np.int64(1), memory.places, ints)
    score, cut = _sweep(
        table, objective, rules, ids, begin, n, np.int64(0), weight, sign, bounds, best.score, memory, medians
    )
    if cut < 0:
        return best
    if is_categorical:
        for b in range(DIGIT):
            sides[1, b] = sides[0, b]
    side = np.int64(ABSENT) if n_missing == 0 else np.int64(LEFT) if is_missing_left else np.int64(RIGHT)
    return Split(np.int64(feature), code, threshold, score, side, np.int64(rank))


@bare
def search(
    table: Counts,
    objective: Objective,
    rules: Rules,
    binned: Binned,
    ids: Ints,
    begin: int,
    end: int,
    weight: float,
    bounds: tuple[float, float],
    key: np.uint64,
    memory: SplitMemory,
    medians: MedianMemory,
) -> Split:
    """Return the best split of a node among the columns that it draws; its feature is NO_FEATURE if there is none.

    `memory.sums[TOTALS]` holds the node's channels; columns are drawn as in `finding.find_split`.
    """
    drawn = memory.drawn
    n, n_features = end - begin, drawn.shape[1]
    best: Split = no_split()
    n_drawn, has_varying = np.int64(0), False
    while n_drawn < n_features and (n_drawn < rules.max_features or not has_varying):
        own = mix(key + GOLDEN * np.uint64(n_drawn + 1))
        feature = draw_column(own, n_drawn, drawn)
        n_drawn += 1
        low, high, n_missing = gather(
            binned.codes, binned.by_row, binned.wide, feature, binned.columns[feature, N_CODES], ids, begin, n,
            memory.ints,
        )  # fmt: skip
        if n_missing == n or (low == high and n_missing == 0):
            continue
        has_varying = True
        found = (feature, n_drawn, low, high, np.int64(n_missing))
        if objective.is_random:
            best = _random_of_column(
                table, objective, rules, binned, ids, begin, n, found, weight, bounds, best, own, memory, medians
            )
        else:
            best = _best_of_column(
                table, objective, rules, binned, ids, begin, n, found, weight, bounds, best, memory, medians
            )
    put_back(n_drawn, drawn)
    return best
