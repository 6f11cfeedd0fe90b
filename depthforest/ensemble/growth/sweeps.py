"""Sweeps: the best cut of a column whose rows or bins are in order.

Every row of a node adds weight times target to a channel. For classification the channel is the class and the target 1;
for regression there is one channel. The score of a split by gini, and by squared error, is then sum of squares /
weight, summed over both sides; for entropy it is that of `base.splitting`. The same kernels find all three.

Kernels check nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from depthforest.base import Counts, Floats, Ints, bare, entropy_score, gini_score, inlined, weighed_information

TARGET, WEIGHT = 0, 1
"""Columns of `amounts` (n, 2)."""

KEYS, SORTED, ORDER, SPARE_KEYS, SPARE_ORDER = range(5)
"""Rows of `ints` (5, n): codes of a node's rows, sorted codes, their positions in this order, and two buffers."""

TOTALS, LEFT_SUMS, RIGHT_SUMS, DIRECTION, MEANS, STEP = range(6)
"""Rows of `sums` (6, n_channels): of the node, of both sides, and three for the order of categories."""


# `present` (n_channels + 1,) int32 has the number of a node's channels, followed by the channels; `ends` (n_channels +
# 1,) int32 has 0, followed by the end of each channel's rows, because rows are sorted by channel. `terms` is
# `sum_terms` of the node


NEGLIGIBLE = 2.0**-32
"""Share of a node's weight below which a side is not evaluated, because its sums, differences of larger ones, would be
mostly rounding error. No side is that light if up to 2^31 rows have equal weights."""


class Rules(NamedTuple):
    """Which splits are allowed, and how they are evaluated.

    Attributes
    ----------
    is_entropy, is_number : bool
        Entropy of classes, or squared error of numbers; if neither, gini.
    is_even : bool
        Every row weighs 1.
    n_channels, max_features : int
    min_rows, min_weight : int, float
        Least rows and weight of each side.
    """

    is_entropy: bool
    is_number: bool
    is_even: bool
    n_channels: int
    max_features: int
    min_rows: int
    min_weight: float


@inlined
def term(table: Counts, is_entropy: bool, amount: float) -> float:
    """Return the term of a channel's amount in a score: its information, or its square."""
    return weighed_information(table, amount) if is_entropy else amount * amount


@inlined
def sum_terms(table: Counts, is_entropy: bool, present: Ints, sums: Floats, which: int) -> float:
    """Return the sum of the terms of a node's channels: their information, or their squares."""
    total = 0.0
    for k in range(1, present[0] + 1):
        total += term(table, is_entropy, sums[which, present[k]])
    return total


@inlined
def judge(table: Counts, is_entropy: bool, left_sum: float, left: float, right_sum: float, right: float) -> Any:
    """Return the score of a split from the summed terms and the weights of its sides; larger is purer."""
    if is_entropy:
        return entropy_score(left_sum, weighed_information(table, left), right_sum, weighed_information(table, right))
    return gini_score(left_sum, left, right_sum, right)


@bare
def _move(
    table: Counts, rules: Rules, c: int, amount: float, sums: Floats, left_sum: float, right_sum: float
) -> tuple[float, float]:
    """Move an amount of a channel from the right side to the left; return the summed terms of both sides."""
    left, right = sums[LEFT_SUMS, c], sums[RIGHT_SUMS, c]
    sums[LEFT_SUMS, c] = left + amount
    sums[RIGHT_SUMS, c] = right - amount
    if rules.is_entropy:
        left_sum += weighed_information(table, left + amount) - weighed_information(table, left)
        right_sum += weighed_information(table, right - amount) - weighed_information(table, right)
        return left_sum, right_sum
    if rules.is_number:  # a single channel: nothing to sum, nothing that cancels
        return (left + amount) * (left + amount), (right - amount) * (right - amount)
    return left_sum + amount * (2.0 * left + amount), right_sum + amount * (amount - 2.0 * right)


@bare
def _start(present: Ints, sums: Floats) -> None:
    """Put the whole node on the right side."""
    for k in range(1, present[0] + 1):
        c = present[k]
        sums[LEFT_SUMS, c] = 0.0
        sums[RIGHT_SUMS, c] = sums[TOTALS, c]


@bare
def sweep_rows(
    table: Counts,
    rules: Rules,
    channels: Ints,
    amounts: Floats,
    begin: int,
    n: int,
    n_missing: int,
    is_missing_left: bool,
    weight: float,
    terms: float,
    best: float,
    present: Ints,
    ints: Ints,
    sums: Floats,
    cuts: Floats,
) -> tuple[float, int]:
    """Return (score, position) of the best cut after a position of the sorted rows, (best, -1) if none beats `best`.

    Missing rows are last. They go right by themselves; with `is_missing_left` they go left first. `cuts` (3, n) holds
    the summed terms of both sides and the left weight after every row, so that a second loop without branches can
    evaluate several cuts at once.
    """
    _start(present, sums)
    left_sum, right_sum, left_weight = 0.0, terms, 0.0
    n_known = n - n_missing
    n_cuts = n_known if n_missing > 0 and not is_missing_left else n_known - 1
    for step in range(-n_missing if is_missing_left else 0, n_cuts):
        row = begin + ints[ORDER, step if step >= 0 else n + step]
        row_weight = amounts[row, WEIGHT]
        left_sum, right_sum = _move(
            table, rules, channels[row], row_weight * amounts[row, TARGET], sums, left_sum, right_sum
        )
        left_weight += row_weight
        if step >= 0:
            cuts[0, step], cuts[1, step], cuts[2, step] = left_sum, right_sum, left_weight
    if not rules.is_entropy:
        for i in range(n_cuts):
            is_cut = ints[SORTED, i] != ints[SORTED, i + 1]
            score = gini_score(cuts[0, i], cuts[2, i], cuts[1, i], weight - cuts[2, i])
            cuts[0, i] = score if is_cut else -np.inf
    least = max(rules.min_weight, NEGLIGIBLE * weight)
    n_before = n_missing if is_missing_left else 0
    found = -1
    for i in range(max(0, rules.min_rows - n_before - 1), min(n_cuts, n - n_before - rules.min_rows)):
        if rules.is_entropy:
            if ints[SORTED, i] == ints[SORTED, i + 1]:
                continue
            cuts[0, i] = judge(table, True, cuts[0, i], cuts[2, i], cuts[1, i], weight - cuts[2, i])
        if cuts[0, i] > best and min(cuts[2, i], weight - cuts[2, i]) >= least:
            best, found = cuts[0, i], i
    return best, found


@bare
def sweep_bins(
    table: Counts,
    rules: Rules,
    n: int,
    first: int,
    n_bins: int,
    missing: int,
    is_missing_left: bool,
    weight: float,
    terms: float,
    best: float,
    present: Ints,
    bins: Floats,
    ints: Ints,
    sums: Floats,
) -> tuple[float, int]:
    """Return (score, position) of the best cut after a bin, (best, -1) if none beats `best`.

    The bins are `first` and those after it, or the `n_bins` in `ints[ORDER]` if `first` is negative. `missing` is the
    bin of missing rows, which goes left first with `is_missing_left`. A bin has its channels, then weight, then rows.
    """
    _start(present, sums)
    left_sum, right_sum = 0.0, terms
    left_weight, n_left = 0.0, 0.0
    least = max(rules.min_weight, NEGLIGIBLE * weight)
    found = -1
    for step in range(-1 if is_missing_left else 0, n_bins):
        b: Any = missing
        if step >= 0:
            b = first + step if first >= 0 else np.int64(ints[ORDER, step])
        if bins[b, rules.n_channels + 1] == 0.0:
            continue
        for k in range(1, present[0] + 1):
            c = present[k]
            amount = bins[b, c]
            if amount != 0.0:
                left_sum, right_sum = _move(table, rules, c, amount, sums, left_sum, right_sum)
        left_weight += bins[b, rules.n_channels]
        n_left += bins[b, rules.n_channels + 1]
        if n_left == n:
            break
        if step < 0 or n_left < rules.min_rows or n - n_left < rules.min_rows:
            continue
        right_weight = weight - left_weight
        if left_weight < least or right_weight < least:
            continue
        score = judge(table, rules.is_entropy, left_sum, left_weight, right_sum, right_weight)
        if score > best:
            best, found = score, step
    return best, found
