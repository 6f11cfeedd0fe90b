"""Finding: the best split of a node among some columns, by histogram or by sorting, whichever is faster.

`growing` passes whole columns, rows and scratch memory; kernels check nothing.
"""

from __future__ import annotations

import numpy as np

from depthforest.base import GOLDEN, Counts, Ints, inlined, merged, mix
from depthforest.ensemble.growth.binning import Binned
from depthforest.ensemble.growth.columns import (
    ABSENT,
    DIGIT,
    IS_CATEGORICAL,
    LEFT,
    N_CODES,
    RIGHT,
    count,
    gather,
    order_categories,
    sort,
    threshold_between,
)
from depthforest.ensemble.growth.lanes import Lanes
from depthforest.ensemble.growth.memory import SplitMemory, TreeRows
from depthforest.ensemble.growth.randomsplits import find_random
from depthforest.ensemble.growth.splits import Split, draw_column, no_split, perfect_score, put_back
from depthforest.ensemble.growth.sweeps import ORDER, SORTED, Rules, sweep_bins, sweep_rows

BIN_COST, CHANNEL_COST = 0.5, 0.25
"""Cost of clearing and sweeping a histogram, in rows to sort: per bin, and per bin and channel."""


@inlined
def _best_set(
    table: Counts,
    rules: Rules,
    rows: TreeRows,
    begin: int,
    n: int,
    feature: int,
    rank: int,
    n_codes: int,
    n_missing: int,
    weight: float,
    terms: float,
    best: Split,
    memory: SplitMemory,
) -> Split:
    """Return the best split of a categorical column if it beats `best`, else `best`."""
    present, ints, sums, bins, sides = memory.present, memory.ints, memory.sums, memory.bins, memory.sides
    count(rules.n_channels, rows.channels, rows.amounts, begin, n, np.int64(0), n_codes, ints, bins)
    n_here = order_categories(rules.n_channels, n_codes, ints, bins, sums)
    for missing in range(2 if n_missing > 0 else 1):
        score, at = sweep_bins(
            table, rules, n, np.int64(-1), n_here, n_codes, missing == LEFT, weight, terms, best.score, present, bins,
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
    binned: Binned,
    rows: TreeRows,
    begin: int,
    n: int,
    feature: int,
    rank: int,
    low: int,
    high: int,
    n_missing: int,
    weight: float,
    terms: float,
    best: Split,
    memory: SplitMemory,
) -> Split:
    """Return the best split of a column of numbers if it beats `best`, else `best`."""
    present, ints, sums, bins = memory.present, memory.ints, memory.sums, memory.bins
    channels, amounts = rows.channels, rows.amounts
    missing_code = binned.columns[feature, N_CODES]
    span = high - low + 1
    last = missing_code if n_missing > 0 else high
    has_bins = binned.codes.shape[0] > 0 and n > span * (BIN_COST + present[0] * CHANNEL_COST)
    if has_bins:
        count(rules.n_channels, channels, amounts, begin, n, low, last, ints, bins)
    else:
        sort(n, low, last, memory.places, ints)
    for missing in range(2 if n_missing > 0 else 1):
        if has_bins:
            score, at = sweep_bins(
                table, rules, n, low, span, missing_code, missing == LEFT, weight, terms, best.score, present, bins,
            ints, sums,
            )  # fmt: skip
        else:
            score, at = sweep_rows(
                table, rules, channels, amounts, begin, n, n_missing, missing == LEFT, weight, terms, best.score,
                present, ints, sums, memory.cuts,
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
        threshold = threshold_between(binned.columns, binned.ranges, feature, code, next_code)
        best = Split(feature, np.int64(code), threshold, score, missing if n_missing > 0 else ABSENT, rank)
    return best


@inlined
def _find_best(
    table: Counts,
    rules: Rules,
    binned: Binned,
    rows: TreeRows,
    begin: int,
    end: int,
    weight: float,
    terms: float,
    key: np.uint64,
    part: int,
    n_parts: int,
    memory: SplitMemory,
) -> Split:
    """Return the best split of the columns that a node draws."""
    columns, drawn = binned.columns, memory.drawn
    n = end - begin
    n_features = drawn.shape[1]
    best: Split = no_split()
    n_drawn, has_varying = np.int64(0), n_parts > 1  # one of several threads cannot know
    perfect = perfect_score(rules, n, weight)
    while n_drawn < n_features and (n_drawn < rules.max_features or not has_varying) and best.score < perfect:
        feature = draw_column(mix(key + GOLDEN * np.uint64(n_drawn + 1)), n_drawn, drawn)
        n_drawn += 1
        if n_drawn % n_parts != part:
            continue
        n_codes = columns[feature, N_CODES]
        low, high, n_missing = gather(
            binned.codes, binned.by_row, binned.wide, feature, n_codes, rows.ids, begin, n, memory.ints
        )
        if n_missing == n or (low == high and n_missing == 0):
            continue
        has_varying = True
        if columns[feature, IS_CATEGORICAL] == 1:
            best = _best_set(
                table, rules, rows, begin, n, feature, n_drawn, n_codes, n_missing, weight, terms, best, memory
            )
        else:
            best = _best_cut(
                table, rules, binned, rows, begin, n, feature, n_drawn, low, high, n_missing, weight, terms, best,
                memory,
            )  # fmt: skip
    put_back(n_drawn, drawn)
    return best


@merged
def find_split(
    table: Counts,
    rules: Rules,
    binned: Binned,
    rows: TreeRows,
    begin: int,
    end: int,
    weight: float,
    terms: float,
    key: np.uint64,
    part: int,
    n_parts: int,
    memory: SplitMemory,
    digits: Ints | None,
    lanes: Lanes | None,
) -> Split:
    """Return the best split of the rows from `begin` to `end`; its feature is NO_FEATURE if no split is allowed.

    `memory.sums[TOTALS]` holds the node's channels. Columns are drawn one after the other, without replacement:
    `max_features` of them, and more until one of them varies. Among equal scores the first stays. With several threads,
    each considers every n_parts-th column. `digits` and `lanes` are `memory.ways`: one of them is None, and numba does
    not compile the code for it.
    """
    if digits is not None:
        best: Split = _find_best(table, rules, binned, rows, begin, end, weight, terms, key, part, n_parts, memory)
        return best
    if lanes is not None:
        found: Split = find_random(table, rules, binned, rows, begin, end, weight, key, part, n_parts, memory)
        return found
    none: Split = no_split()
    return none
