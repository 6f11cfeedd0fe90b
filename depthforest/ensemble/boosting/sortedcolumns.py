"""Sorted columns: the best cut between any two values, for boosted trees with exact splits.

The rows of every column are sorted by code. A node is the same range in all columns; a split partitions each range in
stable order, so that nothing is sorted again. Kernels check nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from depthforest.base import Bytes, Floats, Ints, bare
from depthforest.ensemble.boosting.gains import (
    GRADIENT,
    HESSIAN,
    NodeSums,
    Penalties,
    bar_over,
    best_score,
    bounded_split,
)
from depthforest.ensemble.boosting.histograms import CODE, MISSING, NEXT_CODE, best_set
from depthforest.ensemble.boosting.memory import SearchMemory, TreeSample
from depthforest.ensemble.growth import ABSENT, IS_CATEGORICAL, LEFT, N_CODES, Binned


def sorted_rows(wide: Ints, rows: Ints, chosen: Ints) -> Ints:
    """Return the rows sorted by code in each chosen column, (n_chosen, n_rows) int32."""
    return np.stack([rows[np.argsort(wide[column, rows], kind="stable")] for column in chosen])


@bare
def part_columns(rows: Ints, begin: int, middle: int, end: int, is_left: Bytes, spare: Ints, order: Ints) -> None:
    """Partition a node's range of every column into its children's; `rows` are already partitioned."""
    for i in range(begin, end):
        is_left[rows[i]] = i < middle
    for k in range(order.shape[0]):
        at, n_right = begin, 0
        for i in range(begin, end):
            row = order[k, i]
            if is_left[row]:
                order[k, at] = row
                at += 1
            else:
                spare[n_right] = row
                n_right += 1
        for i in range(n_right):
            order[k, middle + i] = spare[i]


@bare
def _best_cut(
    penalties: Penalties,
    order: Ints,
    k: int,
    wide: Ints,
    column: int,
    n_codes: int,
    amounts: Floats,
    begin: int,
    end: int,
    direction: int,
    node: NodeSums,
    best: float,
    found: Ints,
    left: Floats,
) -> Any:
    """Return the score of the best cut of a numeric column, like `histograms.best_cut`."""
    gradient, hessian = node.gradient, node.hessian
    bar = bar_over(best)
    known = end
    missing_gradient, missing_hessian = 0.0, 0.0
    while known > begin and wide[column, order[k, known - 1]] == n_codes:
        known -= 1
        missing_gradient += amounts[order[k, known], GRADIENT]
        missing_hessian += amounts[order[k, known], HESSIAN]
    for missing in range(2 if known < end else 1):
        left_gradient, left_hessian = 0.0, 0.0
        if missing == LEFT:
            left_gradient, left_hessian = missing_gradient, missing_hessian
        # after the last known row, only missing values can go right
        last = known if known < end and missing != LEFT else known - 1
        for i in range(begin, last):
            row = order[k, i]
            left_gradient += amounts[row, GRADIENT]
            left_hessian += amounts[row, HESSIAN]
            code = wide[column, row]
            following = wide[column, order[k, i + 1]]
            if code == following or min(left_hessian, hessian - left_hessian) < node.least:
                continue
            if penalties.has_bounds:
                score = bounded_split(
                    penalties, left_gradient, left_hessian, gradient - left_gradient, hessian - left_hessian,
                    direction, node.lower, node.upper,
                )  # fmt: skip
            else:
                score = best_score(penalties, left_gradient, left_hessian) + best_score(
                    penalties, gradient - left_gradient, hessian - left_hessian
                )
            if score > bar:
                best = score
                bar = bar_over(best)
                left[GRADIENT], left[HESSIAN] = left_gradient, left_hessian
                found[CODE], found[NEXT_CODE] = code, following
                found[MISSING] = missing if known < end else ABSENT
    return best


@bare
def search_sorted(
    penalties: Penalties,
    binned: Binned,
    sample: TreeSample,
    n_drawn: int,
    node: NodeSums,
    begin: int,
    end: int,
    sums: Floats,
    least_score: float,
    memory: SearchMemory,
) -> tuple[Any, Any]:
    """Return score and column of a node's best split, like `histograms.search_histogram`.

    The node is the range from `begin` to `end` of every column. `sums` is memory for the histogram of a categorical
    column.
    """
    wide, columns, orders, amounts = binned.wide, binned.columns, sample.orders, sample.amounts
    chosen, directions, drawn, found, left = sample.chosen, sample.directions, memory.drawn, memory.found, memory.left
    best, feature = least_score, np.int64(-1)
    for i in range(n_drawn):
        k = drawn[i]
        column = np.int64(chosen[k])
        n_codes = columns[column, N_CODES]
        if columns[column, IS_CATEGORICAL] == 1:
            for at in range(2 * n_codes + 2):
                sums[at] = 0.0
            for j in range(begin, end):
                row = orders[k, j]
                sums[2 * wide[column, row]] += amounts[row, GRADIENT]
                sums[2 * wide[column, row] + 1] += amounts[row, HESSIAN]
            score = best_set(
                penalties, sums, np.int64(0), n_codes, node, best, found, left, memory.category_order,
                memory.category_bins, memory.category_sums, memory.sides,
            )  # fmt: skip
        else:
            score = _best_cut(
                penalties, orders, k, wide, column, n_codes, amounts, begin, end, np.int64(directions[column]), node,
                best, found, left,
            )  # fmt: skip
        if score > best:
            best, feature = score, column
    return best, feature
