"""Random splits: one random threshold, or set of categories, per column.

Kernels check nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from depthforest.base import GOLDEN, Counts, Floats, Ints, bare, merged, mix, number_below
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
    Codes,
    Columns,
    Ranges,
    Sides,
    draw_categories,
    threshold_between,
)
from depthforest.ensemble.growth.lanes import (
    LANE_BEGIN,
    LANE_BOTTOM,
    LANE_CODE,
    LANE_FEATURE,
    LANE_N_MISSING,
    LANE_OWN,
    LANE_RANK,
    LANE_SPAN,
    LANE_TOP,
    Lanes,
    bound_batch,
    draw_batch,
    is_constant,
    read_batch,
)
from depthforest.ensemble.growth.memory import SplitMemory, TreeRows
from depthforest.ensemble.growth.splits import Split, no_split, perfect_score, put_back
from depthforest.ensemble.growth.sweeps import (
    KEYS,
    NEGLIGIBLE,
    SORTED,
    TARGET,
    TOTALS,
    WEIGHT,
    Rules,
    judge,
    term,
)


@bare
def _cut_batch(columns: Columns, ranges: Ranges, n_lanes: int, lanes: Lanes, at: Floats) -> None:
    """Find the code of every cut; `at` holds fractions between smallest and largest value, then the thresholds.

    It is the last code below the largest whose values are at most the threshold. The search uses sums instead of
    branches, which would be mispredicted, and advances all columns one step at a time.
    """
    widest = np.int64(1)
    for lane in range(n_lanes):  # alike for all columns, even without a cut: within the column's codes
        feature = lanes[LANE_FEATURE, lane]
        start, n_codes = columns[feature, START], columns[feature, N_CODES]
        low, high = min(lanes[LANE_BOTTOM, lane], n_codes - 1), max(lanes[LANE_TOP, lane], 0)
        bottom, top = np.float64(ranges[LOW, start + low]), np.float64(ranges[HIGH, start + high])
        at[lane] = bottom + at[lane] * (top - bottom)
        lanes[LANE_BEGIN, lane], lanes[LANE_CODE, lane], lanes[LANE_SPAN, lane] = start, low, max(high - low, 1)
        widest = max(widest, high - low)
    while widest > 1:
        for lane in range(n_lanes):
            code, half = lanes[LANE_CODE, lane], lanes[LANE_SPAN, lane] >> 1
            is_up_to = ranges[HIGH, np.uint64(lanes[LANE_BEGIN, lane] + code + half)] <= at[lane]
            lanes[LANE_CODE, lane] = code + half * np.int64(is_up_to)
            lanes[LANE_SPAN, lane] -= half
        widest -= widest >> 1


@bare
def threshold_at(columns: Columns, ranges: Ranges, feature: int, code: int, at: float) -> float:
    """Return the threshold of a random cut: a float32 between the values of a code and those of the next."""
    start = columns[feature, START]
    threshold = np.float64(np.float32(at))
    if ranges[HIGH, start + code] <= threshold < ranges[LOW, start + code + 1]:
        return threshold
    return np.float64(threshold_between(columns, ranges, feature, code, code + 1))


@bare
def _recode(
    is_wide: bool,
    is_categorical: bool,
    is_missing_left: bool,
    missing: int,
    code: int,
    n: int,
    lane: int,
    ints: Ints,
    sides: Sides,
    keys: Codes,
) -> None:
    """Set keys to 0 for rows that go left and to 1 for others."""
    for i in range(n):
        k = np.int64(ints[KEYS, i]) if is_wide else np.int64(keys[lane, i])
        goes_left: Any = k <= code
        if is_categorical and k < missing:
            goes_left = sides[0, k] == LEFT
        if k == missing:
            goes_left = is_missing_left
        keys[lane, i] = not goes_left


@merged
def _sum_terms(table: Counts, rules: Rules, memory: SplitMemory) -> tuple[float, float]:
    """Return the summed terms of the channels on both sides, from running sums over the rows of a node."""
    present, ends, ints, sums, cuts = memory.present, memory.ends, memory.ints, memory.sums, memory.cuts
    left_sum, right_sum = 0.0, 0.0
    if rules.is_even and not rules.is_entropy:  # whole numbers, which are faster to add
        left_squares, right_squares, done = np.int64(0), np.int64(0), np.int64(0)
        for k in range(1, present[0] + 1):
            up_to = np.int64(ints[SORTED, ends[k] - 1])
            on_left = up_to - done
            on_right = ends[k] - ends[k - 1] - on_left
            left_squares += on_left * on_left
            right_squares += on_right * on_right
            done = up_to
        left_sum, right_sum = np.float64(left_squares), np.float64(right_squares)
    else:
        before = 0.0
        for k in range(1, present[0] + 1):
            here = np.float64(ints[SORTED, ends[k] - 1]) if rules.is_even else cuts[0, ends[k] - 1]
            left_sum += term(table, rules.is_entropy, here - before)
            right_sum += term(table, rules.is_entropy, sums[TOTALS, present[k]] - (here - before))
            before = here
    return left_sum, right_sum


@merged
def _sum_sides(
    table: Counts,
    rules: Rules,
    amounts: Floats,
    begin: int,
    n: int,
    weight: float,
    least: float,
    lane: int,
    last: Any,
    memory: SplitMemory,
) -> tuple[float, float, float, float]:
    """Return summed terms and weight of both sides, or zeros if not allowed; keys up to `last` go left.

    Rows are sorted by channel, so a channel's sum on the left is the difference of two running sums.
    """
    ints, sums, cuts, keys = memory.ints, memory.sums, memory.cuts, memory.keys
    base = np.uint64(begin)
    n_left, left_weight, left_sum, right_sum = np.int64(0), 0.0, 0.0, 0.0
    if rules.is_number and rules.is_even:
        amount = 0.0
        for i in range(n):
            is_left = keys[lane, i] <= last
            amount += amounts[base + np.uint64(i), np.uint64(TARGET)] if is_left else 0.0
            n_left += is_left
        left_weight = np.float64(n_left)
        left_sum, right_sum = amount * amount, (sums[TOTALS, 0] - amount) * (sums[TOTALS, 0] - amount)
    elif rules.is_number:
        amount = 0.0
        for i in range(n):
            is_left = keys[lane, i] <= last
            part = amounts[base + np.uint64(i), np.uint64(WEIGHT)] if is_left else 0.0
            left_weight += part
            amount += part * amounts[base + np.uint64(i), np.uint64(TARGET)]
            n_left += is_left
        left_sum, right_sum = amount * amount, (sums[TOTALS, 0] - amount) * (sums[TOTALS, 0] - amount)
    elif rules.is_even:
        for i in range(n):
            n_left += keys[lane, i] <= last
            ints[SORTED, i] = n_left
        left_weight = np.float64(n_left)
    else:
        for i in range(n):
            is_left = keys[lane, i] <= last
            n_left += is_left
            left_weight += amounts[base + np.uint64(i), np.uint64(WEIGHT)] if is_left else 0.0
            cuts[0, i] = left_weight
    right_weight = weight - left_weight
    if min(n_left, n - n_left) < max(1, rules.min_rows) or min(left_weight, right_weight) < least:
        return 0.0, 0.0, 0.0, 0.0
    if rules.is_number:
        return left_sum, left_weight, right_sum, right_weight
    left_sum, right_sum = _sum_terms(table, rules, memory)
    return left_sum, left_weight, right_sum, right_weight


@merged
def _settle_lane(
    binned: Binned, is_wide: bool, n: int, lane: int, code: int, threshold: float, memory: SplitMemory
) -> tuple[int, float, bool]:
    """Draw where missing values and categories go and recode a lane's keys: 0 left, 1 right.

    Returns the code and threshold of its cut, and whether missing values go left.
    """
    lanes, keys, sides = memory.lanes, memory.keys, memory.sides
    feature, n_missing = lanes[LANE_FEATURE, lane], lanes[LANE_N_MISSING, lane]
    missing, own = binned.columns[feature, N_CODES], np.uint64(lanes[LANE_OWN, lane])
    is_categorical = binned.columns[feature, IS_CATEGORICAL] == 1
    is_missing_left = n_missing > 0 and number_below(mix(own + GOLDEN), 2) == LEFT
    if is_categorical:
        draw_categories(n, missing, n_missing, is_missing_left, own, lane, keys, sides)
    elif lanes[LANE_BOTTOM, lane] >= lanes[LANE_TOP, lane]:  # all known values are equal: known or missing
        code, threshold, is_missing_left = lanes[LANE_BOTTOM, lane], np.inf, False
    _recode(is_wide, is_categorical, is_missing_left, missing, code, n, lane, memory.ints, sides, keys)
    return code, threshold, is_missing_left


@merged
def find_random(
    table: Counts,
    rules: Rules,
    binned: Binned,
    rows: TreeRows,
    begin: int,
    end: int,
    weight: float,
    key: np.uint64,
    part: int,
    n_parts: int,
    memory: SplitMemory,
) -> Split:
    """Return the best random split of the columns that a node draws, with the same rules as `finding.find_split`."""
    columns, ranges = binned.columns, binned.ranges
    ints, keys, lanes, at, sides, drawn = memory.ints, memory.keys, memory.lanes, memory.at, memory.sides, memory.drawn
    n = end - begin
    n_features = drawn.shape[1]
    is_wide = binned.codes.shape[0] == 0
    best: Split = no_split()
    n_drawn, has_varying = np.int64(0), n_parts > 1  # one of several threads cannot know
    least = max(rules.min_weight, NEGLIGIBLE * weight)
    perfect = perfect_score(rules, n, weight)
    while n_drawn < n_features and (n_drawn < rules.max_features or not has_varying) and best.score < perfect:
        n_drawn, n_lanes = draw_batch(rules, is_wide, key, n, n_drawn, part, n_parts, lanes, at, drawn)
        read_batch(binned.codes, binned.by_row, binned.wide, rows.ids, begin, n, n_lanes, lanes, ints, keys)
        bound_batch(columns, is_wide, n, n_lanes, lanes, ints, keys)
        _cut_batch(columns, ranges, n_lanes, lanes, at)
        for lane in range(n_lanes):
            if is_constant(n, lane, lanes):
                continue
            has_varying = True
            if best.score >= perfect:
                break
            feature, n_missing = lanes[LANE_FEATURE, lane], lanes[LANE_N_MISSING, lane]
            is_single = lanes[LANE_BOTTOM, lane] >= lanes[LANE_TOP, lane]
            code, threshold = lanes[LANE_CODE, lane], at[lane]
            is_categorical = columns[feature, IS_CATEGORICAL] == 1
            is_missing_left, last = False, np.uint8(code)
            if is_wide or is_categorical or n_missing > 0:
                code, threshold, is_missing_left = _settle_lane(binned, is_wide, n, lane, code, threshold, memory)
                last = np.uint8(0)
            left_sum, left_weight, right_sum, right_weight = _sum_sides(
                table, rules, rows.amounts, begin, n, weight, least, lane, last, memory
            )  # fmt: skip
            if left_weight == 0.0:
                continue
            score = judge(table, rules.is_entropy, left_sum, left_weight, right_sum, right_weight)
            if score <= best.score:
                continue
            if is_categorical:
                code, threshold = np.int64(0), 0.0
                for b in range(DIGIT):
                    sides[1, b] = sides[0, b]
            elif not is_single:
                threshold = threshold_at(columns, ranges, feature, code, threshold)
            side = ABSENT if n_missing == 0 else LEFT if is_missing_left else RIGHT
            best = Split(feature, code, threshold, score, np.int64(side), lanes[LANE_RANK, lane])
    put_back(n_drawn, drawn)
    return best
