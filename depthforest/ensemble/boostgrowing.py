"""Boosted growing: a tree from gradients and hessians, the best leaf first, or level by level.

`advance` grows until the tree is done, or until a node of many rows is to be counted: then it returns that node, so
that the caller can spread its columns over threads, and goes on when it is called again. What a node draws depends on
(seed, place) alone. Tables of nodes are those of `growing`; kernels check nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from depthforest.ensemble.columns import (
    ABSENT,
    DIGIT,
    IS_CATEGORICAL,
    LEFT,
    N_CODES,
    RIGHT,
    Codes,
    Columns,
    Ranges,
    Sides,
    threshold_between,
)
from depthforest.ensemble.gains import (
    GRADIENT,
    HESSIAN,
    LOWER,
    UPPER,
    Floats,
    Penalties,
    bar_over,
    bounded_weight,
    least_hessian,
    score_at,
)
from depthforest.ensemble.growing import (
    CHILD,
    FEATURE,
    IMPURITY,
    LEAF,
    MASK,
    MISSING_LEFT,
    N_NODES,
    N_VALUES,
    NODE_WEIGHT,
    THRESHOLD,
    Masks,
    Used,
    child_key,
    write_node,
    write_split,
)
from depthforest.ensemble.histograms import CODE, MISSING, NEXT_CODE, UNSURE, count_rows, search_histogram, take_away
from depthforest.ensemble.sortedcolumns import part_columns, search_sorted
from depthforest.ensemble.splits import Split
from depthforest.ensemble.sweeps import Ints
from depthforest.kernels import kernel
from depthforest.mixing import GOLDEN, mix, number_below

Longs = npt.NDArray[np.int64]

N_OPEN, HEAD, N_LEAVES, COUNT, IS_COUNTED, OTHER, N_FREE = range(7)
"""Entries of `state`: nodes in `opened`, the first of them, leaves, the node to be counted next (-1: none) and whether
it is, its sibling that is to be searched after it, and the number of free slots."""

NODE_BEGIN, NODE_END, NODE_DEPTH, NODE_SLOT = range(4)
"""Columns of `spots`: a node's rows, its depth, and its place among the histograms (-1: it has none)."""

WANTED_FEATURE, WANTED_CODE, WANTED_MISSING = range(3)
"""Columns of `wanted`: the best split of a node."""

GAIN, WANTED_THRESHOLD, LEFT_GRADIENT, LEFT_HESSIAN = range(4)
"""Columns of `gained`: what that split gains, where it cuts, and the sums of its left side."""

DEEPEST_FIRST, FIRST_FIRST, BEST_FIRST = range(3)
"""Which open node is split next. The first two give the same tree where leaves are not limited."""

SPARE_SLOT = 0
"""The histogram that no node keeps."""

NOTHING = -1


class Plan(NamedTuple):
    """How far a tree is grown, and in which order."""

    order: int
    max_depth: int
    max_leaves: int
    n_drawn: int
    """Columns looked at in a node."""
    is_shuffled: bool
    """Whether they are looked at in a random order, so that chance chooses among equal splits."""
    spread_rows: int
    """Nodes of so many rows are counted by the caller."""
    is_exact: bool


@kernel
def _total(rows: Ints, amounts: Floats) -> tuple[Any, Any]:
    gradient, hessian = 0.0, 0.0
    for i in range(len(rows)):
        gradient += amounts[rows[i], GRADIENT]
        hessian += amounts[rows[i], HESSIAN]
    return gradient, hessian


@kernel
def part_rows(
    codes: Codes,
    wide: Ints,
    columns: Columns,
    begin: int,
    end: int,
    split: Split,
    sides: Sides,
    rows: Ints,
    spare: Ints,
) -> Any:
    """Put the rows that go left in front of the others, both in the order they had; return where the others begin.

    As `growing.divide` does, which moves targets and weights too: here they are looked up by row, because only the
    smaller half of the rows is counted again.
    """
    feature, code = np.uint64(split.feature), split.code
    missing = columns[split.feature, N_CODES]
    at, n_right = np.uint64(begin), np.uint64(0)
    is_wide = codes.shape[0] == 0
    is_plain = columns[split.feature, IS_CATEGORICAL] == 0 and split.missing == ABSENT and not is_wide
    limit = np.uint8(min(code, 255))
    for i in range(np.uint64(begin), np.uint64(end)):
        row = rows[i]
        if is_plain:
            goes_left = np.uint64(codes[feature, np.uint64(row)] <= limit)
        else:
            key = np.int64(wide[feature, row]) if is_wide else np.int64(codes[feature, row])
            goes_left = np.uint64(key <= code)
            if columns[split.feature, IS_CATEGORICAL] == 1 and key < missing:
                goes_left = np.uint64(sides[1, key] == LEFT)
            if key == missing:
                goes_left = np.uint64(split.missing == LEFT)
        # written to both places and counted in one: no branch to mispredict, and nothing unread is written over
        rows[at] = row
        spare[n_right] = row
        at += goes_left
        n_right += np.uint64(1) - goes_left
    for i in range(n_right):
        rows[at + i] = spare[i]
    return np.int64(at)


@kernel
def _is_splittable(plan: Plan, penalties: Penalties, spots: Longs, totals: Floats, state: Longs, node: int) -> bool:
    return bool(
        state[N_LEAVES] < plan.max_leaves
        and spots[node, NODE_DEPTH] < plan.max_depth
        and spots[node, NODE_END] - spots[node, NODE_BEGIN] >= 2
        and spots[node, NODE_END] - spots[node, NODE_BEGIN] >= 2.0 * penalties.min_rows
        and totals[node, HESSIAN] >= 2.0 * penalties.min_weight
    )


@kernel
def _take_slot(free: Longs, state: Longs) -> Any:
    if state[N_FREE] == 0:
        return np.int64(SPARE_SLOT)
    state[N_FREE] -= 1
    return free[state[N_FREE]]


@kernel
def _give_slot(node: int, free: Longs, spots: Longs, state: Longs) -> None:
    """Free the histogram of a node that needs it no more."""
    if spots[node, NODE_SLOT] > SPARE_SLOT:
        free[state[N_FREE]] = spots[node, NODE_SLOT]
        state[N_FREE] += 1
    spots[node, NODE_SLOT] = NOTHING


@kernel
def _draw_columns(plan: Plan, key: np.uint64, drawn: Ints) -> None:
    """Put the places of the columns that a node looks at in front."""
    n = len(drawn)
    for k in range(n):
        drawn[k] = k
    if plan.n_drawn == n and not plan.is_shuffled:
        return
    for k in range(plan.n_drawn):
        other = k + number_below(mix(key + GOLDEN * np.uint64(k + 1)), n - k)
        drawn[k], drawn[other] = drawn[other], drawn[k]


@kernel
def _next_node(plan: Plan, gained: Floats, opened: Longs, state: Longs) -> Any:
    """Take the node that is split next off the open ones; -1 if there is none."""
    if state[N_OPEN] == state[HEAD] or state[N_LEAVES] >= plan.max_leaves:
        return np.int64(NOTHING)
    if plan.order == FIRST_FIRST:
        # of two siblings the smaller may have been opened first; which, must not depend on the memory for histograms
        head = state[HEAD]
        if head + 1 < state[N_OPEN] and opened[head + 1] < opened[head]:
            opened[head], opened[head + 1] = opened[head + 1], opened[head]
        state[HEAD] += 1
        return opened[head]
    at = state[N_OPEN] - 1
    if plan.order == BEST_FIRST:
        at = 0
        for i in range(1, state[N_OPEN]):
            gain, most = gained[opened[i], GAIN], gained[opened[at], GAIN]
            if gain > bar_over(most) or (bar_over(gain) >= most and opened[i] < opened[at]):
                at = i
    node = opened[at]
    state[N_OPEN] -= 1
    opened[at] = opened[state[N_OPEN]]
    return node


@kernel
def _search(
    plan: Plan,
    penalties: Penalties,
    wide: Ints,
    columns: Columns,
    ranges: Ranges,
    directions: Ints,
    chosen: Ints,
    offsets: Longs,
    orders: Ints,
    amounts: Floats,
    node: int,
    found: Ints,
    left: Floats,
    category_order: Ints,
    bins: Floats,
    scratch: Floats,
    cuts: Floats,
    sides: Sides,
    drawn: Ints,
    sums: Floats,
    spots: Longs,
    totals: Floats,
    bounds: Floats,
    keys: npt.NDArray[np.uint64],
    wanted: Longs,
    gained: Floats,
    sides_of: Sides,
    opened: Longs,
    free: Longs,
    state: Longs,
) -> None:
    """Find the best split of a node, and open the node if there is one."""
    gradient, hessian = totals[node, GRADIENT], totals[node, HESSIAN]
    lower, upper = bounds[node, LOWER], bounds[node, UPPER]
    least = least_hessian(penalties, hessian, spots[node, NODE_END] - spots[node, NODE_BEGIN])
    own = score_at(penalties, gradient, hessian, bounded_weight(penalties, gradient, hessian, lower, upper))
    _draw_columns(plan, keys[node], drawn)
    if plan.is_exact:
        score, feature = search_sorted(
            penalties, columns, directions, chosen, drawn, plan.n_drawn, orders, wide, amounts, spots[node, NODE_BEGIN],
            spots[node, NODE_END], sums[SPARE_SLOT], gradient, hessian, least, lower, upper, own, found, left,
            category_order, bins, scratch, sides,
        )  # fmt: skip
    else:
        score, feature = search_histogram(
            penalties, columns, directions, chosen, offsets, drawn, plan.n_drawn, sums[spots[node, NODE_SLOT]],
            gradient, hessian, least, lower, upper, own, found, left, category_order, bins, scratch, cuts, sides,
        )  # fmt: skip
    if spots[node, NODE_SLOT] == SPARE_SLOT:
        spots[node, NODE_SLOT] = NOTHING
    if feature < 0:
        _give_slot(node, free, spots, state)
        return
    wanted[node, WANTED_FEATURE], wanted[node, WANTED_CODE] = feature, found[CODE]
    wanted[node, WANTED_MISSING] = found[MISSING]
    gained[node, GAIN] = score - own
    gained[node, LEFT_GRADIENT], gained[node, LEFT_HESSIAN] = left[GRADIENT], left[HESSIAN]
    gained[node, WANTED_THRESHOLD] = threshold_between(columns, ranges, feature, found[CODE], found[NEXT_CODE])
    if sides_of.shape[0] > 1:
        for b in range(DIGIT):
            sides_of[node, b] = sides[1, b]
    opened[state[N_OPEN]] = node
    state[N_OPEN] += 1


@kernel
def _settle_side(
    codes: Codes, wide: Ints, columns: Columns, rows: Ints, middle: int, end: int, split: Split, sides: Sides
) -> Any:
    """Return the side of missing values, and give the categories that have none theirs, by the rows that went right.

    Rows that are nearly certain have hessians that vanish beside the others'. The search does not see them, and they
    have been sent right: the tree must do so too.
    """
    side = ABSENT if split.missing == UNSURE else split.missing
    for i in range(middle, end):
        key = np.int64(wide[split.feature, rows[i]] if codes.shape[0] == 0 else codes[split.feature, rows[i]])
        if key == columns[split.feature, N_CODES]:
            side = RIGHT
        elif columns[split.feature, IS_CATEGORICAL] == 1:
            sides[1, key] = RIGHT
    return np.int64(side)


@kernel
def _bound_children(penalties: Penalties, direction: int, node: int, left: int, totals: Floats, bounds: Floats) -> None:
    """Give children their bounds: where a split may only raise, all of the left stays below all of the right."""
    for child in range(left, left + 2):
        bounds[child, LOWER], bounds[child, UPPER] = bounds[node, LOWER], bounds[node, UPPER]
    if direction == 0:
        return
    middle = 0.0
    for child in range(left, left + 2):
        middle += 0.5 * bounded_weight(
            penalties, totals[child, GRADIENT], totals[child, HESSIAN], bounds[node, LOWER], bounds[node, UPPER]
        )
    lower_child = left if direction > 0 else left + 1
    bounds[lower_child, UPPER] = middle
    bounds[left + left + 1 - lower_child, LOWER] = middle


@kernel
def begin_tree(
    key: np.uint64,
    rows: Ints,
    amounts: Floats,
    plan: Plan,
    penalties: Penalties,
    spots: Longs,
    totals: Floats,
    bounds: Floats,
    keys: npt.NDArray[np.uint64],
    node_ints: Ints,
    node_floats: Floats,
    used: Used,
    free: Longs,
    state: Longs,
) -> None:
    """Make a tree of one node of all rows; all slots but the spare one are free."""
    n = len(rows)
    for slot in range(1, len(free)):
        free[slot - 1] = slot
    for k in range(len(state)):
        state[k] = 0
    state[N_LEAVES], state[COUNT], state[OTHER], state[N_FREE] = 1, NOTHING, NOTHING, len(free) - 1
    used[N_NODES] = 1
    spots[0, NODE_BEGIN], spots[0, NODE_END], spots[0, NODE_DEPTH], spots[0, NODE_SLOT] = 0, n, 0, NOTHING
    totals[0, GRADIENT], totals[0, HESSIAN] = _total(rows, amounts)
    bounds[0, LOWER], bounds[0, UPPER] = -np.inf, np.inf
    keys[0] = key
    node_ints[0, FEATURE] = LEAF
    write_node(0, 0, n, 0.0, totals[0, HESSIAN], node_ints, node_floats)
    if _is_splittable(plan, penalties, spots, totals, state, 0):
        state[COUNT] = 0
        spots[0, NODE_SLOT] = _take_slot(free, state)


@kernel
def _queue_children(
    plan: Plan,
    penalties: Penalties,
    node: int,
    left: int,
    totals: Floats,
    free: Longs,
    spots: Longs,
    state: Longs,
) -> None:
    """Say which children are to be counted and searched, and where: the smaller is counted, the other what is left."""
    n_left = spots[left, NODE_END] - spots[left, NODE_BEGIN]
    small = left if n_left <= spots[left + 1, NODE_END] - spots[left + 1, NODE_BEGIN] else left + 1
    large = left + left + 1 - small
    needs_small = _is_splittable(plan, penalties, spots, totals, state, small)
    needs_large = _is_splittable(plan, penalties, spots, totals, state, large)
    if not needs_large:
        if needs_small:
            spots[small, NODE_SLOT] = spots[node, NODE_SLOT]
            if spots[small, NODE_SLOT] < 0:
                spots[small, NODE_SLOT] = _take_slot(free, state)
            spots[node, NODE_SLOT] = NOTHING
            state[COUNT] = small
        else:
            _give_slot(node, free, spots, state)
        return
    if spots[node, NODE_SLOT] >= 0:
        spots[large, NODE_SLOT] = spots[node, NODE_SLOT]
        spots[small, NODE_SLOT] = _take_slot(free, state) if needs_small else SPARE_SLOT
        spots[node, NODE_SLOT] = NOTHING
        state[COUNT], state[OTHER] = small, large
        return
    spots[large, NODE_SLOT] = _take_slot(free, state)
    state[COUNT] = large
    if needs_small:
        state[OTHER] = small


@kernel
def advance(
    plan: Plan,
    penalties: Penalties,
    codes: Codes,
    by_row: Codes,
    wide: Ints,
    columns: Columns,
    ranges: Ranges,
    directions: Ints,
    chosen: Ints,
    offsets: Longs,
    rows: Ints,
    amounts: Floats,
    orders: Ints,
    is_left: npt.NDArray[np.uint8],
    found: Ints,
    left: Floats,
    category_order: Ints,
    bins: Floats,
    scratch: Floats,
    cuts: Floats,
    sides: Sides,
    drawn: Ints,
    spare: Ints,
    sums: Floats,
    spots: Longs,
    totals: Floats,
    bounds: Floats,
    keys: npt.NDArray[np.uint64],
    wanted: Longs,
    gained: Floats,
    sides_of: Sides,
    opened: Longs,
    free: Longs,
    state: Longs,
    node_ints: Ints,
    node_floats: Floats,
    masks: Masks,
    used: Used,
) -> Any:
    """Grow a tree; return the node that the caller must count before the next call, -1 when the tree is done."""
    while True:
        while state[COUNT] >= 0:
            node, other = state[COUNT], state[OTHER]
            if not plan.is_exact and not state[IS_COUNTED]:
                begin, end = spots[node, NODE_BEGIN], spots[node, NODE_END]
                if end - begin >= plan.spread_rows:
                    return node
                count_rows(
                    by_row, rows, amounts, begin, end, chosen, offsets, 0, len(chosen), sums[spots[node, NODE_SLOT]]
                )  # fmt: skip
            state[IS_COUNTED] = 0
            state[COUNT], state[OTHER] = NOTHING, NOTHING
            if other >= 0:
                if spots[other, NODE_SLOT] >= 0 and not plan.is_exact:
                    take_away(sums[spots[node, NODE_SLOT]], offsets[-1], sums[spots[other, NODE_SLOT]])
                else:
                    state[COUNT] = other
            for k in range(2):
                which = node if k == 0 else other
                # a sibling that was only counted for the difference is not searched; one still to count is not yet
                if which < 0 or which == state[COUNT]:
                    continue
                if not _is_splittable(plan, penalties, spots, totals, state, which):
                    _give_slot(which, free, spots, state)
                    continue
                _search(
                    plan, penalties, wide, columns, ranges, directions, chosen, offsets, orders, amounts, which, found,
                    left, category_order, bins, scratch, cuts, sides, drawn, sums, spots, totals, bounds, keys, wanted,
                    gained, sides_of, opened, free, state,
                )  # fmt: skip
            if state[COUNT] >= 0 and not plan.is_exact:
                spots[other, NODE_SLOT] = _take_slot(free, state)
        node = _next_node(plan, gained, opened, state)
        if node < 0:
            return np.int64(NOTHING)
        split = Split(
            wanted[node, WANTED_FEATURE], wanted[node, WANTED_CODE], gained[node, WANTED_THRESHOLD], 0.0,
            wanted[node, WANTED_MISSING], np.int64(0),
        )  # fmt: skip
        if sides_of.shape[0] > 1:
            for b in range(DIGIT):
                sides[1, b] = sides_of[node, b]
        begin, end = spots[node, NODE_BEGIN], spots[node, NODE_END]
        middle = part_rows(codes, wide, columns, begin, end, split, sides, rows, spare)
        if middle in (begin, end):  # sums were rounding: nothing was there to be parted
            _give_slot(node, free, spots, state)
            continue
        if split.missing == UNSURE or columns[split.feature, IS_CATEGORICAL] == 1:
            side_of_missing = _settle_side(codes, wide, columns, rows, middle, end, split, sides)
            split = Split(split.feature, split.code, split.threshold, 0.0, side_of_missing, np.int64(0))
        if plan.is_exact:
            part_columns(rows, begin, middle, end, is_left, orders)
        first_child = used[N_NODES]
        write_split(columns, split, middle - begin > end - middle, node, sides, node_ints, node_floats, masks, used)
        state[N_LEAVES] += 1
        for side in range(2):
            child = first_child + side
            first, last = (begin, middle) if side == 0 else (middle, end)
            spots[child, NODE_BEGIN], spots[child, NODE_END] = first, last
            spots[child, NODE_DEPTH], spots[child, NODE_SLOT] = spots[node, NODE_DEPTH] + 1, NOTHING
            totals[child, GRADIENT], totals[child, HESSIAN] = gained[node, LEFT_GRADIENT], gained[node, LEFT_HESSIAN]
            if side == 1:
                totals[child, GRADIENT] = totals[node, GRADIENT] - totals[child, GRADIENT]
                totals[child, HESSIAN] = totals[node, HESSIAN] - totals[child, HESSIAN]
            keys[child] = child_key(keys[node], side)
            node_ints[child, FEATURE] = LEAF
            write_node(child, first, last, 0.0, totals[child, HESSIAN], node_ints, node_floats)
        _bound_children(penalties, directions[split.feature], node, first_child, totals, bounds)
        _queue_children(plan, penalties, node, first_child, totals, free, spots, state)


@kernel
def finish_tree(
    penalties: Penalties,
    gamma: float,
    totals: Floats,
    bounds: Floats,
    gained: Floats,
    node_ints: Ints,
    node_floats: Floats,
    values: Floats,
    used: Used,
) -> None:
    """Take back splits that gain less than gamma, from below; then write leaves, and as impurity what lies below."""
    used[N_VALUES] = 0
    for node in range(used[N_NODES] - 1, -1, -1):
        child = node_ints[node, CHILD]
        if (
            node_ints[node, FEATURE] != LEAF
            and node_ints[child, FEATURE] == LEAF
            and node_ints[child + 1, FEATURE] == LEAF
            and gained[node, GAIN] < gamma
        ):
            node_ints[node, FEATURE] = LEAF
        if node_ints[node, FEATURE] != LEAF:
            below = gained[node, GAIN]
            for side in range(2):
                below += node_floats[child + side, IMPURITY] * node_floats[child + side, NODE_WEIGHT]
            node_floats[node, IMPURITY] = below / node_floats[node, NODE_WEIGHT]
            continue
        node_ints[node, CHILD] = used[N_VALUES]
        node_ints[node, MASK] = -1
        node_ints[node, MISSING_LEFT] = 1
        node_floats[node, THRESHOLD] = np.inf
        node_floats[node, IMPURITY] = 0.0
        values[used[N_VALUES], 0] = bounded_weight(
            penalties, totals[node, GRADIENT], totals[node, HESSIAN], bounds[node, LOWER], bounds[node, UPPER]
        )
        used[N_VALUES] += 1
