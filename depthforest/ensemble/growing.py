"""Growing: a tree from coded columns, depth first or the best node first.

A node is a stretch of the rows; a split puts those that go left in front, in the order they had. What a node draws
depends on (seed, its place in the tree) alone, so that a tree is the same in whatever order its nodes are split, and on
however many threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from depthforest.ensemble.columns import (
    ABSENT,
    IS_CATEGORICAL,
    LEFT,
    N_CODES,
    Codes,
    Columns,
    Ranges,
    Sides,
    reads_rows,
)
from depthforest.ensemble.finding import find_split
from depthforest.ensemble.lanes import Lanes
from depthforest.ensemble.splits import NO_FEATURE, Split, no_split
from depthforest.ensemble.sweeps import (
    ORDER,
    SPARE_ORDER,
    TARGET,
    TOTALS,
    WEIGHT,
    Floats,
    Ints,
    Rules,
    term,
)
from depthforest.kernels import kernel
from depthforest.mixing import GOLDEN, mix
from depthforest.splitting import Counts, gain_over_terms, impurity_of_terms

Masks = npt.NDArray[np.uint32]
Used = npt.NDArray[np.int64]

FEATURE, CHILD, MASK, N_ROWS, MISSING_LEFT, BEGIN = range(6)
"""Columns of `node_ints`. FEATURE is LEAF at leaves. CHILD is the left child, the right one follows it; at leaves the
row of `values`. MASK is the row of `masks` of a categorical split, else -1. BEGIN is where a node's rows begin."""

THRESHOLD, IMPURITY, NODE_WEIGHT = range(3)
"""Columns of `node_floats`."""

N_NODES, N_VALUES, N_MASKS = range(3)
"""Entries of `used`: how much of the memory of a tree is taken."""

LEAF = -1

_ROUNDING = 1e-15
"""A gain this far below what is asked for is rounding."""

MASK_WORDS = 8
"""Words of 32 bits that say which of 255 categories go left."""


class Limits(NamedTuple):
    """When a node stays a leaf; `min_decrease` is of impurity, times the share of `total_weight` that the node has."""

    max_depth: int
    min_samples_split: int
    min_decrease: float
    total_weight: float


@kernel
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
    for k in range(1, present[0] + 1):  # of the last node; all others are 0 already
        sums[TOTALS, present[k]] = 0.0
    n_present = 1
    for i in range(begin, end - 1):  # written over until the channel changes: no branch to mispredict
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


@kernel
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


@kernel
def may_split(rules: Rules, limits: Limits, n: int, depth: int, weight: float, is_pure: bool) -> bool:
    """Return whether a node of n rows is large, shallow and mixed enough to be split."""
    return not (
        is_pure
        or depth >= limits.max_depth
        or n < limits.min_samples_split
        or n < 2 * rules.min_rows
        or weight < 2 * rules.min_weight
    )


@kernel
def write_node(
    node: int, begin: int, end: int, impurity: float, weight: float, node_ints: Ints, node_floats: Floats
) -> None:
    """Write what is known of any node."""
    node_ints[node, N_ROWS] = end - begin
    node_ints[node, BEGIN] = begin
    node_floats[node, IMPURITY] = impurity
    node_floats[node, NODE_WEIGHT] = weight


@kernel
def write_leaf(
    rules: Rules,
    is_pure: bool,
    node: int,
    sums: Floats,
    node_ints: Ints,
    node_floats: Floats,
    values: Floats,
    used: Used,
) -> None:
    """Make a node a leaf. The pure leaves of a class share one row of values."""
    node_ints[node, FEATURE] = LEAF
    node_ints[node, MASK] = -1
    node_ints[node, MISSING_LEFT] = 1
    node_floats[node, THRESHOLD] = np.inf
    if is_pure and not rules.is_number:
        for c in range(rules.n_channels):
            if sums[TOTALS, c] > 0.0:
                node_ints[node, CHILD] = c
        return
    node_ints[node, CHILD] = used[N_VALUES]
    for c in range(rules.n_channels):
        values[used[N_VALUES], c] = sums[TOTALS, c] / node_floats[node, NODE_WEIGHT]
    used[N_VALUES] += 1


@kernel
def write_split(
    columns: Columns,
    split: Split,
    is_larger_left: bool,
    node: int,
    sides: Sides,
    node_ints: Ints,
    node_floats: Floats,
    masks: Masks,
    used: Used,
) -> None:
    """Make a node an inner one with two new children. What it has not seen will go to its larger side."""
    node_ints[node, FEATURE] = split.feature
    node_ints[node, CHILD] = used[N_NODES]
    node_ints[node, MASK] = -1
    node_ints[node, MISSING_LEFT] = split.missing == LEFT or (split.missing == ABSENT and is_larger_left)
    node_floats[node, THRESHOLD] = split.threshold
    used[N_NODES] += 2
    if columns[split.feature, IS_CATEGORICAL] == 1:
        node_ints[node, MASK] = used[N_MASKS]
        for word in range(MASK_WORDS):
            bits = np.uint32(0)
            for bit in range(32):
                side = sides[1, word * 32 + bit]
                if side == LEFT or (side == ABSENT and is_larger_left):
                    bits |= np.uint32(1 << bit)
            masks[used[N_MASKS], word] = bits
        used[N_MASKS] += 1


@kernel
def divide(
    rules: Rules,
    codes: Codes,
    by_row: Codes,
    wide: Ints,
    columns: Columns,
    ids: Ints,
    channels: Ints,
    amounts: Floats,
    begin: int,
    end: int,
    split: Split,
    sides: Sides,
    ints: Ints,
    spare: Floats,
) -> Any:
    """Put the rows that go left in front of the others, both in the order they had; return where the others begin."""
    feature, code = split.feature, split.code
    missing = columns[feature, N_CODES]
    is_categorical = columns[feature, IS_CATEGORICAL] == 1
    is_wide, is_sparse = codes.shape[0] == 0, reads_rows(codes, end - begin)
    first: Any = np.uint64(begin)
    at: Any = np.uint64(begin)
    n_right: Any = np.uint64(0)
    target_at, weight_at = np.uint64(TARGET), np.uint64(WEIGHT)
    for step in range(np.uint64(end - begin)):
        i = first + step
        row = ids[i]
        if is_sparse:
            key = np.int64(by_row[np.uint64(row), np.uint64(feature)])
        else:
            key = np.int64(wide[feature, row]) if is_wide else np.int64(codes[np.uint64(feature), np.uint64(row)])
        goes_left: Any = key <= code
        if is_categorical and key < missing:
            goes_left = sides[1, key] == LEFT
        if key == missing:
            goes_left = split.missing == LEFT
        # written to both places and counted in one: no branch to mispredict, and nothing unread is written over
        channel = channels[i]
        ids[at] = row
        channels[at] = channel
        ints[ORDER, n_right] = row
        ints[SPARE_ORDER, n_right] = channel
        if rules.is_number:  # those of classes are 1
            target = amounts[i, target_at]
            amounts[at, target_at] = target
            spare[n_right, target_at] = target
        if not rules.is_even:
            weight = amounts[i, weight_at]
            amounts[at, weight_at] = weight
            spare[n_right, weight_at] = weight
        at += np.uint64(goes_left)
        n_right += np.uint64(not goes_left)
    for step in range(n_right):
        ids[at + step] = ints[ORDER, step]
        channels[at + step] = ints[SPARE_ORDER, step]
        if rules.is_number:
            amounts[at + step, target_at] = spare[step, target_at]
        if not rules.is_even:
            amounts[at + step, weight_at] = spare[step, weight_at]
    return np.int64(at)


@kernel
def child_key(key: np.uint64, side: int) -> Any:
    """Return what a child draws from; columns of its parent count from the same key, but never so far."""
    return mix(key - GOLDEN * np.uint64(side + 1))


@kernel
def is_worth(limits: Limits, gain: float) -> bool:
    """Return whether a split gains enough."""
    # where nothing is asked for, a split that gains nothing is made too: rounding must not decide that
    return limits.min_decrease == 0.0 or gain / limits.total_weight + _ROUNDING >= limits.min_decrease


@kernel
def grow_deep(
    table: Counts,
    rules: Rules,
    limits: Limits,
    codes: Codes,
    by_row: Codes,
    wide: Ints,
    columns: Columns,
    ranges: Ranges,
    rows: Ints,
    channels: Ints,
    amounts: Floats,
    begin: int,
    end: int,
    depth: int,
    key: np.uint64,
    present: Ints,
    ends: Ints,
    ints: Ints,
    sums: Floats,
    bins: Floats,
    cuts: Floats,
    places: Ints,
    keys: Codes,
    lanes: Lanes,
    at: Floats,
    sides: Sides,
    drawn: Ints,
    spare: Floats,
    node_ints: Ints,
    node_floats: Floats,
    values: Floats,
    masks: Masks,
    used: Used,
) -> None:
    """Grow the tree of the rows from `begin` to `end`, every left child first."""
    room = 64
    stack = np.empty((room, 4), dtype=np.int64)
    own_keys = np.empty(room, dtype=np.uint64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, begin, end, depth
    own_keys[0] = key
    used[N_NODES] = 1
    n = 1
    while n:
        n -= 1
        node, first, last, at_depth, own = stack[n, 0], stack[n, 1], stack[n, 2], stack[n, 3], own_keys[n]
        weight, terms, impurity, is_pure = weigh(table, rules, channels, amounts, first, last, present, ends, sums)
        write_node(node, first, last, impurity, weight, node_ints, node_floats)
        split = no_split()
        if may_split(rules, limits, last - first, at_depth, weight, is_pure):
            split = find_split(
                table, rules, codes, by_row, wide, columns, ranges, rows, channels, amounts, first, last, weight, terms,
                own, 0, 1, present, ends, ints, sums, bins, cuts, places, keys, lanes, at, sides, drawn,
            )  # fmt: skip
            if split.feature != NO_FEATURE and not is_worth(
                limits, gain_over_terms(table, rules.is_entropy, terms, weight, split.score)
            ):
                split = no_split()
        if split.feature == NO_FEATURE:
            write_leaf(rules, is_pure, node, sums, node_ints, node_floats, values, used)
            continue
        middle = divide(
            rules, codes, by_row, wide, columns, rows, channels, amounts, first, last, split, sides, ints, spare
        )  # fmt: skip
        left = used[N_NODES]
        write_split(
            columns, split, middle - first > last - middle, node, sides, node_ints, node_floats, masks, used
        )  # fmt: skip
        if n + 2 > room:
            room *= 2
            more, more_keys = np.empty((room, 4), dtype=np.int64), np.empty(room, dtype=np.uint64)
            for i in range(n):  # a loop: assigning slices takes seconds to compile
                more_keys[i] = own_keys[i]
                for k in range(4):
                    more[i, k] = stack[i, k]
            stack, own_keys = more, more_keys
        stack[n, 0], stack[n, 1], stack[n, 2], stack[n, 3] = left + 1, middle, last, at_depth + 1
        own_keys[n] = child_key(own, 1)
        stack[n + 1, 0], stack[n + 1, 1], stack[n + 1, 2], stack[n + 1, 3] = left, first, middle, at_depth + 1
        own_keys[n + 1] = child_key(own, 0)
        n += 2
