"""Histograms: sums of gradients and hessians by code over a node's rows, and the best cuts that they show.

A histogram alternates gradient and hessian, for every code of every column that a tree may use, and for missing
values; `offsets` (n_chosen + 1,) has the start of each column. The histogram of a node is the sum of its children's, so
only the smaller child's rows are counted; the other's is the difference. Kernels check nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from depthforest.base import Floats, Ints, Longs, add_pair, bare
from depthforest.ensemble.boosting.gains import (
    GRADIENT,
    HESSIAN,
    NodeSums,
    Penalties,
    bar_over,
    best_score,
    bounded_split,
)
from depthforest.ensemble.boosting.memory import SearchMemory, TreeSample
from depthforest.ensemble.growth import (
    ABSENT,
    DIGIT,
    IS_CATEGORICAL,
    LEFT,
    N_CODES,
    NEGLIGIBLE,
    ORDER,
    RIGHT,
    Codes,
    Columns,
    Sides,
    order_categories,
)

_BLOCK = 32_768
"""Numbers of histograms that are counted together: they fit half of a 512 KiB second-level cache."""

_G, _H, _TWO = np.uint64(GRADIENT), np.uint64(HESSIAN), np.uint64(2)
"""Unsigned, because an index that may be negative costs a comparison."""

CODE, NEXT_CODE, MISSING = 0, 1, 2
"""Entries of `found`: the last code that goes left, the first that goes right, the side of missing values."""

UNSURE = 3
"""Side of missing values whose hessians are at most rounding errors: only the rows tell whether there are any."""


@bare
def _missing_side(side: int, has_missing: bool, missing_hessian: float) -> Any:
    if has_missing:
        return side
    return ABSENT if missing_hessian == 0.0 else UNSURE


def offsets_of(columns: Columns, chosen: Ints) -> Longs:
    """Return the starts of the histograms of chosen columns, (n_chosen + 1,)."""
    return np.concatenate(([0], np.cumsum(2 * (columns[chosen, N_CODES] + 1)))).astype(np.int64)


@bare
def count_rows(
    by_row: Codes,
    rows: Ints,
    amounts: Floats,
    begin: int,
    end: int,
    chosen: Ints,
    offsets: Longs,
    first: int,
    last: int,
    sums: Floats,
) -> None:
    """Fill in the histograms of the chosen columns `first` to `last`, over the rows from `begin` to `end`.

    `amounts` (n_table_rows, 2) holds gradients and hessians by row of the table.
    """
    for at in range(offsets[first], offsets[last]):
        sums[at] = 0.0
    low = first
    while low < last:
        high = low + 1
        while high < last and offsets[high + 1] - offsets[low] <= _BLOCK:
            high += 1
        # four rows at a time, because they share lookups of a column, and memory latencies overlap
        n_fours = (end - begin) // 4
        for i in range(begin, begin + 4 * n_fours, 4):
            row_a, row_b = np.uint64(rows[i]), np.uint64(rows[i + 1])
            row_c, row_d = np.uint64(rows[i + 2]), np.uint64(rows[i + 3])
            gradient_a, hessian_a = amounts[row_a, _G], amounts[row_a, _H]
            gradient_b, hessian_b = amounts[row_b, _G], amounts[row_b, _H]
            gradient_c, hessian_c = amounts[row_c, _G], amounts[row_c, _H]
            gradient_d, hessian_d = amounts[row_d, _G], amounts[row_d, _H]
            for k in range(np.uint64(low), np.uint64(high)):
                column, place = np.uint64(chosen[k]), np.uint64(offsets[k])
                a = place + _TWO * np.uint64(by_row[row_a, column])
                b = place + _TWO * np.uint64(by_row[row_b, column])
                c = place + _TWO * np.uint64(by_row[row_c, column])
                d = place + _TWO * np.uint64(by_row[row_d, column])
                add_pair(sums, a, gradient_a, hessian_a)
                add_pair(sums, b, gradient_b, hessian_b)
                add_pair(sums, c, gradient_c, hessian_c)
                add_pair(sums, d, gradient_d, hessian_d)
        for i in range(begin + 4 * n_fours, end):
            row = np.uint64(rows[i])
            for k in range(np.uint64(low), np.uint64(high)):
                a = np.uint64(offsets[k]) + _TWO * np.uint64(by_row[row, np.uint64(chosen[k])])
                add_pair(sums, a, amounts[row, _G], amounts[row, _H])
        low = high


@bare
def take_away(part: Floats, n: int, sums: Floats) -> None:
    """Subtract a child's histogram of n numbers from its parent's, which leaves the other child's."""
    for at in range(n):
        sums[at] -= part[at]


@bare
def best_cut(
    penalties: Penalties,
    sums: Floats,
    start: int,
    n_codes: int,
    direction: int,
    node: NodeSums,
    best: float,
    found: Ints,
    left: Floats,
    cuts: Floats,
) -> Any:
    """Return the score of the best cut of a numeric column, with its code and the side of missing values in `found`.

    `left` gets the sums of its left side. Both are unchanged, and `best` is returned, if no cut beats it. Missing
    values, if any, go right, and then left. `cuts` (3, 256) is memory for the left sums of each cut, so that the scores
    are computed in a loop without branches.
    """
    gradient, hessian = node.gradient, node.hessian
    missing_gradient, missing_hessian = sums[start + 2 * n_codes], sums[start + 2 * n_codes + 1]
    bar = bar_over(best)
    has_missing = missing_hessian > NEGLIGIBLE * hessian
    for missing in range(2 if has_missing else 1):
        left_gradient, left_hessian = 0.0, 0.0
        if missing == LEFT:
            left_gradient, left_hessian = missing_gradient, missing_hessian
        for code in range(n_codes):
            left_gradient += sums[start + 2 * code]
            left_hessian += sums[start + 2 * code + 1]
            cuts[0, code], cuts[1, code] = left_gradient, left_hessian
        # after the last code, only missing values can go right
        n_cuts = n_codes if has_missing and missing == RIGHT else n_codes - 1
        if penalties.has_bounds:
            for code in range(n_cuts):
                cuts[2, code] = bounded_split(
                    penalties, cuts[0, code], cuts[1, code], gradient - cuts[0, code], hessian - cuts[1, code],
                    direction, node.lower, node.upper,
                )  # fmt: skip
        elif penalties.l1 == 0.0:
            for code in range(n_cuts):
                left_weight = cuts[1, code] + penalties.l2
                right_gradient, right_weight = gradient - cuts[0, code], hessian - cuts[1, code] + penalties.l2
                square = cuts[0, code] * cuts[0, code] * right_weight + right_gradient * right_gradient * left_weight
                cuts[2, code] = square / (left_weight * right_weight)
        else:
            for code in range(n_cuts):
                cuts[2, code] = best_score(penalties, cuts[0, code], cuts[1, code]) + best_score(
                    penalties, gradient - cuts[0, code], hessian - cuts[1, code]
                )
        for code in range(n_cuts):
            if cuts[2, code] > bar and min(cuts[1, code], hessian - cuts[1, code]) >= node.least:
                best = cuts[2, code]
                bar = bar_over(best)
                left[GRADIENT], left[HESSIAN] = cuts[0, code], cuts[1, code]
                found[CODE], found[NEXT_CODE] = code, code + 1
                found[MISSING] = _missing_side(missing, has_missing, missing_hessian)
    return best


@bare
def best_set(
    penalties: Penalties,
    sums: Floats,
    start: int,
    n_codes: int,
    node: NodeSums,
    best: float,
    found: Ints,
    left: Floats,
    order: Ints,
    bins: Floats,
    scratch: Floats,
    sides: Sides,
) -> Any:
    """Return the score of the best split of a categorical column; its sides go to `sides[1]`, as in `finding`.

    Categories are sorted by gradient / hessian; without penalties, one of the cuts is then the best of all splits.
    `bins` (256, 3), `order` (5, 256) and `scratch` (6, 1) are memory for `order_categories`.
    """
    gradient, hessian = node.gradient, node.hessian
    bar = bar_over(best)
    for code in range(n_codes):
        bins[code, 0], bins[code, 1] = sums[start + 2 * code], sums[start + 2 * code + 1]
        bins[code, 2] = 1.0 if bins[code, 1] > NEGLIGIBLE * hessian else 0.0
    n_here = order_categories(1, n_codes, order, bins, scratch)
    missing_gradient, missing_hessian = sums[start + 2 * n_codes], sums[start + 2 * n_codes + 1]
    has_missing = missing_hessian > NEGLIGIBLE * hessian
    for missing in range(2 if has_missing else 1):
        left_gradient, left_hessian = 0.0, 0.0
        if missing == LEFT:
            left_gradient, left_hessian = missing_gradient, missing_hessian
        at = -1
        for i in range(n_here):
            left_gradient += bins[order[ORDER, i], 0]
            left_hessian += bins[order[ORDER, i], 1]
            if min(left_hessian, hessian - left_hessian) < node.least:
                continue
            if penalties.has_bounds:
                score = bounded_split(
                    penalties, left_gradient, left_hessian, gradient - left_gradient, hessian - left_hessian, 0,
                    node.lower, node.upper,
                )  # fmt: skip
            else:
                score = best_score(penalties, left_gradient, left_hessian) + best_score(
                    penalties, gradient - left_gradient, hessian - left_hessian
                )
            if score > bar:
                best, at = score, i
                bar = bar_over(best)
                left[GRADIENT], left[HESSIAN] = left_gradient, left_hessian
        if at < 0:
            continue
        found[CODE], found[NEXT_CODE] = 0, 1
        found[MISSING] = _missing_side(missing, has_missing, missing_hessian)
        for code in range(DIGIT):
            sides[1, code] = ABSENT
        for i in range(n_here):
            sides[1, order[ORDER, i]] = LEFT if i <= at else RIGHT
    return best


@bare
def search_histogram(
    penalties: Penalties,
    columns: Columns,
    sample: TreeSample,
    n_drawn: int,
    node: NodeSums,
    sums: Floats,
    least_score: float,
    memory: SearchMemory,
) -> tuple[Any, Any]:
    """Return score and column of a node's best split, (least_score, -1) if none beats it.

    `memory.drawn` has the indices in `sample.chosen` of the columns to consider. `memory.found` gets the code of the
    split and the side of missing values, `memory.left` the sums of its left side. Among equal scores the first drawn
    stays.
    """
    chosen, offsets, directions, drawn = sample.chosen, sample.offsets, sample.directions, memory.drawn
    found, left, cuts = memory.found, memory.left, memory.cuts
    best, feature = least_score, np.int64(-1)
    for i in range(n_drawn):
        k = drawn[i]
        column = np.int64(chosen[k])
        n_codes, start = columns[column, N_CODES], offsets[k]
        if columns[column, IS_CATEGORICAL] == 1:
            score = best_set(
                penalties, sums, start, n_codes, node, best, found, left, memory.category_order, memory.category_bins,
                memory.category_sums, memory.sides,
            )  # fmt: skip
        else:
            score = best_cut(
                penalties, sums, start, n_codes, np.int64(directions[column]), node, best, found, left, cuts
            )  # fmt: skip
        if score > best:
            best, feature = score, column
    return best, feature
