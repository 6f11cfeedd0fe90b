"""Finding: the best split of a node among some columns, by histogram or by sorting, whichever suits the node.

`growing` hands over whole columns, rows and scratch memory; kernels check nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from depthforest.ensemble.columns import (
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
    count,
    draw_categories,
    gather,
    order_categories,
    sort,
    threshold_between,
)
from depthforest.ensemble.sweeps import (
    KEYS,
    LEFT_SUMS,
    NEGLIGIBLE,
    ORDER,
    RIGHT_SUMS,
    SORTED,
    TARGET,
    TOTALS,
    WEIGHT,
    Floats,
    Ints,
    Rules,
    judge,
    sum_terms,
    sweep_bins,
    sweep_rows,
)
from depthforest.kernels import inlined, kernel
from depthforest.mixing import GOLDEN, mix, number_below, share_of
from depthforest.splitting import Counts

NO_FEATURE = -1

BIN_COST, CHANNEL_COST = 0.5, 0.25
"""A histogram is cleared and swept at the cost of sorting so many rows a bin, and so many a bin and channel."""


_HUGE = float(np.finfo(np.float64).max)
"""Below every score but that of no split, and its opposite above all."""


class Split(NamedTuple):
    """A split of a node: codes up to `code` of a column go left, values up to `threshold`.

    Of a categorical column `sides[1]` holds the side of every category. `missing` is the side of missing values, ABSENT
    where the node has none.
    """

    feature: Any
    code: Any
    threshold: float
    score: float
    missing: Any
    rank: Any
    """Which of the drawn columns it was: of equal scores the first drawn stays."""


@kernel
def no_split() -> Split:
    """Return the split of a node that has none."""
    return Split(np.int64(NO_FEATURE), np.int64(0), 0.0, -np.inf, np.int64(ABSENT), np.int64(0))


@inlined
def _best_set(
    table: Counts,
    rules: Rules,
    channels: Ints,
    amounts: Floats,
    begin: int,
    n: int,
    feature: int,
    rank: int,
    n_codes: int,
    n_missing: int,
    weight: float,
    terms: float,
    best: Split,
    present: Ints,
    ints: Ints,
    sums: Floats,
    bins: Floats,
    sides: Sides,
) -> Split:
    """Return the best split of a categorical column if it beats `best`, else `best`."""
    count(rules.n_channels, channels, amounts, begin, n, 0, n_codes, ints, bins)
    n_here = order_categories(rules.n_channels, n_codes, ints, bins, sums)
    for missing in range(2 if n_missing > 0 else 1):
        score, at = sweep_bins(
            table, rules, n, -1, n_here, n_codes, missing == LEFT, weight, terms, best.score, present, bins,
            ints, sums,
        )  # fmt: skip
        if at >= 0:
            for b in range(DIGIT):
                sides[1, b] = ABSENT
            for i in range(n_here):
                sides[1, ints[ORDER, i]] = LEFT if i <= at else RIGHT
            best = Split(feature, np.int64(0), 0.0, score, missing if n_missing > 0 else ABSENT, rank)
    return best


@inlined
def _best_cut(
    table: Counts,
    rules: Rules,
    columns: Columns,
    ranges: Ranges,
    channels: Ints,
    amounts: Floats,
    begin: int,
    n: int,
    feature: int,
    rank: int,
    low: int,
    high: int,
    n_missing: int,
    weight: float,
    terms: float,
    is_wide: bool,
    best: Split,
    present: Ints,
    ints: Ints,
    sums: Floats,
    bins: Floats,
    cuts: Floats,
    places: Ints,
) -> Split:
    """Return the best split of a column of numbers if it beats `best`, else `best`."""
    missing_code = columns[feature, N_CODES]
    span = high - low + 1
    last = missing_code if n_missing > 0 else high
    has_bins = not is_wide and n > span * (BIN_COST + present[0] * CHANNEL_COST)
    if has_bins:
        count(rules.n_channels, channels, amounts, begin, n, low, last, ints, bins)
    else:
        sort(n, low, last, places, ints)
    for missing in range(2 if n_missing > 0 else 1):
        if has_bins:
            score, at = sweep_bins(
                table, rules, n, low, span, missing_code, missing == LEFT, weight, terms, best.score, present, bins,
            ints, sums,
            )  # fmt: skip
        else:
            score, at = sweep_rows(
                table, rules, channels, amounts, begin, n, n_missing, missing == LEFT, weight, terms, best.score,
                present, ints, sums, cuts,
            )  # fmt: skip
        if at < 0:
            continue
        if has_bins:
            code, after = low + at, low + at + 1
            while after <= high and bins[after, rules.n_channels + 1] == 0.0:
                after += 1
            next_code = after if after <= high else missing_code
        else:
            code, next_code = np.int64(ints[SORTED, at]), np.int64(ints[SORTED, at + 1])
        threshold = threshold_between(columns, ranges, feature, code, next_code)
        best = Split(feature, np.int64(code), threshold, score, missing if n_missing > 0 else ABSENT, rank)
    return best


@inlined
def _draw_cut(columns: Columns, ranges: Ranges, feature: int, low: int, high: int, share: float) -> tuple[Any, Any]:
    """Return code and threshold of a cut at a share of the way from a node's smallest value to its largest."""
    start = columns[feature, START]
    bottom, top = np.float64(ranges[LOW, start + low]), np.float64(ranges[HIGH, start + high])
    at = bottom + share * (top - bottom)
    # the last code below `high` whose values are up to `at`; sums, because branches would be mispredicted
    code, span = np.int64(low), np.int64(high - low)
    while span > 1:
        half = span >> 1
        code += half * np.int64(ranges[HIGH, start + code + half] <= at)
        span -= half
    threshold = np.float64(np.float32(at))
    if not ranges[HIGH, start + code] <= threshold < ranges[LOW, start + code + 1]:
        threshold = threshold_between(columns, ranges, feature, code, code + 1)
    return code, threshold


@inlined
def _random_split(
    table: Counts,
    rules: Rules,
    columns: Columns,
    ranges: Ranges,
    channels: Ints,
    amounts: Floats,
    begin: int,
    n: int,
    feature: int,
    rank: int,
    low: int,
    high: int,
    n_missing: int,
    weight: float,
    key: np.uint64,
    best: Split,
    present: Ints,
    ints: Ints,
    sums: Floats,
    sides: Sides,
) -> Split:
    """Return a random split of a column if it beats `best`: a threshold uniform over the node's values, or any set."""
    missing_code = columns[feature, N_CODES]
    is_categorical = columns[feature, IS_CATEGORICAL] == 1
    is_missing_left = n_missing > 0 and number_below(mix(key + GOLDEN), 2) == LEFT
    code, threshold = np.int64(0), 0.0
    if is_categorical:
        draw_categories(n, missing_code, n_missing, is_missing_left, key, ints, sides)
    elif low == high:  # all that is known has one value: known or missing
        code, threshold, is_missing_left = np.int64(low), np.inf, False
    else:
        code, threshold = _draw_cut(columns, ranges, feature, low, high, share_of(mix(key - GOLDEN)))
    for k in range(1, present[0] + 1):
        sums[LEFT_SUMS, present[k]] = 0.0
    left_weight, n_left = 0.0, 0
    if is_categorical or n_missing > 0:
        for i in range(n):  # as if the column were one of numbers: left up to `code`
            k = ints[KEYS, i]
            goes_left = k <= code
            if is_categorical and k < missing_code:
                goes_left = sides[0, k] == LEFT
            if k == missing_code:
                goes_left = is_missing_left
            ints[KEYS, i] = code if goes_left else code + 1
    for i in range(n):
        is_left = ints[KEYS, i] <= code
        part = amounts[begin + i, WEIGHT] * is_left
        sums[LEFT_SUMS, channels[begin + i]] += part * amounts[begin + i, TARGET]
        left_weight += part
        n_left += is_left
    right_weight = weight - left_weight
    least = max(rules.min_weight, NEGLIGIBLE * weight)
    if min(n_left, n - n_left) < max(1, rules.min_rows) or min(left_weight, right_weight) < least:
        return best
    for i in range(1, present[0] + 1):
        c = present[i]
        sums[RIGHT_SUMS, c] = sums[TOTALS, c] - sums[LEFT_SUMS, c]
    left_sum = sum_terms(table, rules.is_entropy, present, sums, LEFT_SUMS)
    right_sum = sum_terms(table, rules.is_entropy, present, sums, RIGHT_SUMS)
    score = judge(table, rules.is_entropy, left_sum, left_weight, right_sum, right_weight)
    if score <= best.score:
        return best
    if is_categorical:
        for b in range(DIGIT):
            sides[1, b] = sides[0, b]
    missing = ABSENT
    if n_missing > 0:
        missing = LEFT if is_missing_left else RIGHT
    return Split(feature, code, threshold, score, missing, rank)


@kernel
def _perfect_score(rules: Rules, n: int, weight: float) -> float:
    """Return a score that no split can beat, so that the search may end there: of equal scores the first stays."""
    if n == 2:  # there is one way to part two rows
        return -_HUGE
    if rules.is_number:
        return np.inf
    return 0.0 if rules.is_entropy else weight


@inlined
def find_split(
    table: Counts,
    rules: Rules,
    codes: Codes,
    wide: Ints,
    columns: Columns,
    ranges: Ranges,
    ids: Ints,
    channels: Ints,
    amounts: Floats,
    begin: int,
    end: int,
    weight: float,
    terms: float,
    key: np.uint64,
    part: int,
    n_parts: int,
    present: Ints,
    ints: Ints,
    sums: Floats,
    bins: Floats,
    cuts: Floats,
    places: Ints,
    sides: Sides,
    drawn: Ints,
) -> Split:
    """Return the best split of the rows from `begin` to `end`; its feature is NO_FEATURE where no split is allowed.

    `sums[TOTALS]` holds the node's channels. Columns are drawn one after the other, without replacement; `max_features`
    of them are looked at, and more until one of them varies. Of equal scores the first stays. Of several threads, each
    looks at every n_parts-th column. `drawn` (2, n_features) holds all columns in their order, before and after, and
    what was exchanged.
    """
    n = end - begin
    n_features = drawn.shape[1]
    best: Split = no_split()
    n_drawn, has_varying = 0, False
    perfect = _perfect_score(rules, n, weight)
    while n_drawn < n_features and (n_drawn < rules.max_features or not has_varying) and best.score < perfect:
        own = mix(key + GOLDEN * np.uint64(n_drawn + 1))
        other = n_drawn + number_below(own, n_features - n_drawn)
        drawn[1, n_drawn] = other
        feature = np.int64(drawn[0, other])
        drawn[0, other] = drawn[0, n_drawn]
        drawn[0, n_drawn] = feature
        n_drawn += 1
        if n_drawn % n_parts != part:
            has_varying = True  # for all that this thread knows
            continue
        low, high, n_missing = gather(codes, wide, feature, columns[feature, N_CODES], ids, begin, n, ints)
        if n_missing == n or (low == high and n_missing == 0):
            continue
        has_varying = True
        if rules.is_random:
            best = _random_split(
                table, rules, columns, ranges, channels, amounts, begin, n, feature, n_drawn, low, high, n_missing,
                weight, own, best, present, ints, sums, sides,
            )  # fmt: skip
        elif columns[feature, IS_CATEGORICAL] == 1:
            best = _best_set(
                table, rules, channels, amounts, begin, n, feature, n_drawn, columns[feature, N_CODES], n_missing,
                weight, terms, best, present, ints, sums, bins, sides,
            )  # fmt: skip
        else:
            best = _best_cut(
                table, rules, columns, ranges, channels, amounts, begin, n, feature, n_drawn, low, high, n_missing,
                weight, terms, codes.shape[0] == 0, best, present, ints, sums, bins, cuts, places,
            )  # fmt: skip
    for i in range(n_drawn - 1, -1, -1):  # every node draws from the same order, whatever was grown before it
        other = drawn[1, i]
        feature = drawn[0, i]
        drawn[0, i] = drawn[0, other]
        drawn[0, other] = feature
    return best
