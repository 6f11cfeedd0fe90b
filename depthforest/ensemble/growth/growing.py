"""Growing: a tree from coded columns, depth first; `bestfirst` splits the best node first.

A node is a contiguous range of rows; a split moves those that go left to the front, in stable order. The random draws
of a node depend only on (seed, its place in the tree), so that the tree does not depend on the order in which nodes are
split or on the number of threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from depthforest.base import GOLDEN, Counts, Floats, Ints, bare, gain_over_terms, impurity_of_terms, mix
from depthforest.ensemble.growth.binning import Binned
from depthforest.ensemble.growth.columns import Sides
from depthforest.ensemble.growth.finding import find_split
from depthforest.ensemble.growth.lanes import Lanes
from depthforest.ensemble.growth.memory import SplitMemory, TreeRows
from depthforest.ensemble.growth.splits import NO_FEATURE, Split, no_split, part_rows
from depthforest.ensemble.growth.sweeps import ORDER, SPARE_ORDER, TARGET, TOTALS, WEIGHT, Rules, term
from depthforest.ensemble.growth.tables import N_NODES, TreeTables, write_leaf, write_node, write_split

_ROUNDING = 1e-15
"""A gain below the requested one by at most this is rounding."""


class Limits(NamedTuple):
    """When a node stays a leaf; `min_decrease` is of impurity times the node's share of `total_weight`."""

    max_depth: int
    min_samples_split: int
    min_decrease: float
    total_weight: float


@bare
def weigh(
    table: Counts,
    rules: Rules,
    channels: Ints,
    amounts: Floats,
    begin: int,
    end: int,
    present: Ints,
    ends: Ints,
    sums: Floats,
) -> tuple[float, float, float, bool]:
    """Fill in the channels of a node and their sums; return its weight, terms, impurity, and whether it is pure."""
    if rules.is_number:
        present[0], present[1], ends[1] = 1, 0, end - begin
        weighed: tuple[float, float, float, bool] = _weigh_numbers(amounts, begin, end, sums)
        return weighed
    for k in range(1, present[0] + 1):  # of the last node; all others are already 0
        sums[TOTALS, present[k]] = 0.0
    n_present = 1
    for i in range(begin, end - 1):  # overwritten until the channel changes, to avoid mispredicted branches
        present[n_present] = channels[i]
        ends[n_present] = i + 1 - begin
        n_present += channels[i] != channels[i + 1]
    present[0], present[n_present], ends[n_present] = n_present, channels[end - 1], end - begin
    weight, terms = 0.0, 0.0
    for k in range(1, n_present + 1):
        amount = 0.0
        if rules.is_even:
            amount = np.float64(ends[k] - ends[k - 1])
        else:
            for i in range(begin + ends[k - 1], begin + ends[k]):
                amount += amounts[i, WEIGHT]
        sums[TOTALS, present[k]] = amount
        weight += amount
        terms += term(table, rules.is_entropy, amount)
    if n_present == 1:
        return weight, 0.0, 0.0, True
    return weight, terms, impurity_of_terms(table, rules.is_entropy, terms, weight, weight), False


@bare
def _weigh_numbers(amounts: Floats, begin: int, end: int, sums: Floats) -> tuple[float, float, float, bool]:
    weight, total, squares = 0.0, 0.0, 0.0
    is_pure = True
    for i in range(begin, end):
        target, row_weight = amounts[i, TARGET], amounts[i, WEIGHT]
        weight += row_weight
        total += row_weight * target
        squares += row_weight * target * target
        is_pure &= target == amounts[begin, TARGET]
    sums[TOTALS, 0] = total
    if is_pure:
        return weight, 0.0, 0.0, True
    return weight, total * total, max(squares / weight - total * total / (weight * weight), 0.0), False


@bare
def may_split(rules: Rules, limits: Limits, n: int, depth: int, weight: float, is_pure: bool) -> bool:
    """Return whether a node of n rows is large, shallow and mixed enough to be split."""
    return not (
        is_pure
        or depth >= limits.max_depth
        or n < limits.min_samples_split
        or n < 2 * rules.min_rows
        or weight < 2 * rules.min_weight
    )


@bare
def divide(
    rules: Rules, binned: Binned, rows: TreeRows, begin: int, end: int, split: Split, sides: Sides, memory: SplitMemory
) -> Any:
    """Move the rows that go left to the front, with their channels and amounts; return where the others begin.

    Boosting moves only rows: it looks amounts up by row, because only the smaller half of them is counted again.
    """
    channels, amounts, ints, spare, flags = rows.channels, rows.amounts, memory.ints, memory.spare, memory.keys[0]
    middle = part_rows(binned, begin, end, split, sides, rows.ids, ints[ORDER], flags)
    first: Any = np.uint64(begin)
    at: Any = np.uint64(begin)
    n_right: Any = np.uint64(0)
    target_at, weight_at = np.uint64(TARGET), np.uint64(WEIGHT)
    for step in range(np.uint64(end - begin)):
        i = first + step
        is_left = flags[step]
        channel = channels[i]
        channels[at] = channel
        ints[SPARE_ORDER, n_right] = channel
        if rules.is_number:  # targets of classes are 1
            target = amounts[i, target_at]
            amounts[at, target_at] = target
            spare[n_right, target_at] = target
        if not rules.is_even:
            weight = amounts[i, weight_at]
            amounts[at, weight_at] = weight
            spare[n_right, weight_at] = weight
        at += np.uint64(is_left)
        n_right += np.uint64(1) - np.uint64(is_left)
    for step in range(n_right):
        channels[at + step] = ints[SPARE_ORDER, step]
        if rules.is_number:
            amounts[at + step, target_at] = spare[step, target_at]
        if not rules.is_even:
            amounts[at + step, weight_at] = spare[step, weight_at]
    return middle


@bare
def child_key(key: np.uint64, side: int) -> Any:
    """Return the random key of a child; draws of its parent's columns count up from the same key, but not that far."""
    return mix(key - GOLDEN * np.uint64(side + 1))


@bare
def is_worth(limits: Limits, gain: float) -> bool:
    """Return whether the gain of a split suffices."""
    # without a minimum, a split without gain is made, too, because rounding must not decide that
    return limits.min_decrease == 0.0 or gain / limits.total_weight + _ROUNDING >= limits.min_decrease


@bare
def grow_deep(
    table: Counts,
    rules: Rules,
    limits: Limits,
    binned: Binned,
    rows: TreeRows,
    begin: int,
    end: int,
    depth: int,
    key: np.uint64,
    memory: SplitMemory,
    digits: Ints | None,
    lanes: Lanes | None,
    tree: TreeTables,
) -> None:
    """Grow the tree of the rows from `begin` to `end`, left children first; `digits`, `lanes`: see `find_split`."""
    first_part, one_part = np.int64(0), np.int64(1)  # typed, because a literal would compile `find_split` again
    used, stack, own_keys = tree.used, memory.stack, memory.stack_keys
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, begin, end, depth
    own_keys[0] = key
    used[N_NODES] = 1
    n = 1
    while n:
        n -= 1
        node, first, last, at_depth, own = stack[n, 0], stack[n, 1], stack[n, 2], stack[n, 3], own_keys[n]
        weight, terms, impurity, is_pure = weigh(
            table, rules, rows.channels, rows.amounts, first, last, memory.present, memory.ends, memory.sums
        )
        write_node(node, first, last, impurity, weight, tree.node_ints, tree.node_floats)
        split = no_split()
        if may_split(rules, limits, last - first, at_depth, weight, is_pure):
            split = find_split(
                table, rules, binned, rows, first, last, weight, terms, own,
                first_part, one_part, memory, digits, lanes,
            )  # fmt: skip
            if split.feature != NO_FEATURE and not is_worth(
                limits, gain_over_terms(table, rules.is_entropy, terms, weight, split.score)
            ):
                split = no_split()
        if split.feature == NO_FEATURE:
            write_leaf(rules, is_pure, memory.present[1], node, tree.node_ints, tree.node_floats, used)
            continue
        middle = divide(rules, binned, rows, first, last, split, memory.sides, memory)
        left, is_larger_left = used[N_NODES], middle - first > last - middle
        write_split(
            binned.columns, split, is_larger_left, node, memory.sides, tree.node_ints, tree.node_floats, tree.masks,
            used,
        )  # fmt: skip
        stack[n, 0], stack[n, 1], stack[n, 2], stack[n, 3] = left + 1, middle, last, at_depth + 1
        own_keys[n] = child_key(own, one_part)
        stack[n + 1, 0], stack[n + 1, 1], stack[n + 1, 2], stack[n + 1, 3] = left, first, middle, at_depth + 1
        own_keys[n + 1] = child_key(own, first_part)
        n += 2
