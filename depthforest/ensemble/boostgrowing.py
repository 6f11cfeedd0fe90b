"""Boosted growing: a tree from gradients and hessians, the best leaf first, or level by level.

`advance` grows until the tree is done, or until a node of many rows is to be counted: then it returns that node, so
that the caller can spread its columns over threads, and goes on when it is called again. What a node draws depends on
(seed, place) alone. Tables of nodes are those of `growing`; kernels check nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.ensemble.boostnodes import (
    COUNT,
    GAIN,
    IS_COUNTED,
    LEFT_GRADIENT,
    LEFT_HESSIAN,
    N_FREE,
    N_LEAVES,
    N_OPEN,
    NODE_BEGIN,
    NODE_DEPTH,
    NODE_END,
    NODE_SLOT,
    NOTHING,
    OTHER,
    SPARE_SLOT,
    WANTED_CODE,
    WANTED_FEATURE,
    WANTED_MISSING,
    WANTED_THRESHOLD,
    Longs,
    Plan,
    bound_children,
    draw_columns,
    give_slot,
    is_splittable,
    next_node,
    part_rows,
    queue_children,
    settle_side,
    take_slot,
)
from depthforest.ensemble.columns import (
    DIGIT,
    IS_CATEGORICAL,
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


@kernel
def _total(rows: Ints, amounts: Floats) -> tuple[Any, Any]:
    gradient, hessian = 0.0, 0.0
    for i in range(len(rows)):
        gradient += amounts[rows[i], GRADIENT]
        hessian += amounts[rows[i], HESSIAN]
    return gradient, hessian


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
    draw_columns(plan, keys[node], drawn)
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
        give_slot(node, free, spots, state)
        return
    wanted[node, WANTED_FEATURE], wanted[node, WANTED_CODE] = feature, found[CODE]
    wanted[node, WANTED_MISSING] = found[MISSING]
    gained[node, GAIN] = score - own
    gained[node, LEFT_GRADIENT], gained[node, LEFT_HESSIAN] = left[GRADIENT], left[HESSIAN]
    gained[node, WANTED_THRESHOLD] = threshold_between(
        columns, ranges, feature, np.int64(found[CODE]), np.int64(found[NEXT_CODE])
    )
    if sides_of.shape[0] > 1:
        for b in range(DIGIT):
            sides_of[node, b] = sides[1, b]
    opened[state[N_OPEN]] = node
    state[N_OPEN] += 1


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
    if is_splittable(plan, penalties, spots, totals, state, 0):
        state[COUNT] = 0
        spots[0, NODE_SLOT] = take_slot(free, state)


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
                if not is_splittable(plan, penalties, spots, totals, state, which):
                    give_slot(which, free, spots, state)
                    continue
                _search(
                    plan, penalties, wide, columns, ranges, directions, chosen, offsets, orders, amounts, which, found,
                    left, category_order, bins, scratch, cuts, sides, drawn, sums, spots, totals, bounds, keys, wanted,
                    gained, sides_of, opened, free, state,
                )  # fmt: skip
            if state[COUNT] >= 0 and not plan.is_exact:
                spots[other, NODE_SLOT] = take_slot(free, state)
        node = next_node(plan, gained, opened, state)
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
            give_slot(node, free, spots, state)
            continue
        if split.missing == UNSURE or columns[split.feature, IS_CATEGORICAL] == 1:
            side_of_missing = settle_side(codes, wide, columns, rows, middle, end, split, sides)
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
        bound_children(penalties, directions[split.feature], node, first_child, totals, bounds)
        queue_children(plan, penalties, node, first_child, totals, free, spots, state)


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
