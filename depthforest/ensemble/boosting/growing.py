"""Boosted growing: a tree from gradients and hessians, best first or level by level.

`grow_tree` grows until the tree is complete, or until a node of many rows must be counted. It then returns that node,
so that the caller can spread its columns over threads, and continues in the next call. The random draws of a node
depend only on (seed, place). Arrays are bundled by role: columns (`Binned`), rows (`TreeSample`), scratch
(`SearchMemory`), open nodes (`NodeTables`) and the tree (`TreeTables`). Kernels check nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from depthforest.base import Floats, Ints, bare, inlined
from depthforest.ensemble.boosting.gains import (
    GRADIENT,
    HESSIAN,
    LOWER,
    MASS,
    UPPER,
    NodeSums,
    Penalties,
    bounded_weight,
    least_hessian,
    score_at,
)
from depthforest.ensemble.boosting.histograms import (
    CODE,
    MISSING,
    NEXT_CODE,
    UNSURE,
    count_rows,
    search_histogram,
    take_away,
)
from depthforest.ensemble.boosting.memory import SearchMemory, TreeSample
from depthforest.ensemble.boosting.nodes import (
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
    NodeTables,
    TreePlan,
    bound_children,
    draw_columns,
    give_slot,
    is_splittable,
    next_node,
    queue_children,
    settle_side,
    take_slot,
)
from depthforest.ensemble.boosting.sortedcolumns import part_columns, search_sorted
from depthforest.ensemble.growth import (
    CHILD,
    DIGIT,
    FEATURE,
    IMPURITY,
    IS_CATEGORICAL,
    LEAF,
    MASK,
    MISSING_LEFT,
    N_NODES,
    N_VALUES,
    NODE_WEIGHT,
    THRESHOLD,
    Binned,
    Split,
    TreeTables,
    child_key,
    part_rows,
    threshold_between,
    write_node,
    write_split,
)


@bare
def _total(rows: Ints, amounts: Floats) -> tuple[Any, Any]:
    gradient, hessian = 0.0, 0.0
    for i in range(len(rows)):
        gradient += amounts[rows[i], GRADIENT]
        hessian += amounts[rows[i], HESSIAN]
    return gradient, hessian


@bare
def _mass(rows: Ints, weights: Floats, begin: int, end: int) -> Any:
    """Return the weight of the rows from `begin` to `end`: their number if they have no weights."""
    mass: Any = np.float64(end - begin)
    if len(weights) > 0:
        mass = 0.0
        for i in range(begin, end):
            mass += weights[rows[i]]
    return mass


@bare
def _begin_tree(
    key: np.uint64, plan: TreePlan, penalties: Penalties, sample: TreeSample, nodes: NodeTables, tree: TreeTables
) -> None:
    """Make a tree of one node with all rows; all slots except the spare one are free."""
    spots, totals, bounds, free, state = nodes.spots, nodes.totals, nodes.bounds, nodes.free, nodes.state
    n, root = len(sample.rows), np.int64(0)  # typed, because a literal would compile kernels again
    for slot in range(1, len(free)):
        free[slot - 1] = slot
    for k in range(len(state)):
        state[k] = 0
    for k in range(len(tree.used)):
        tree.used[k] = 0
    state[N_LEAVES], state[COUNT], state[OTHER], state[N_FREE] = 1, NOTHING, NOTHING, len(free) - 1
    tree.used[N_NODES] = 1
    spots[0, NODE_BEGIN], spots[0, NODE_END], spots[0, NODE_DEPTH], spots[0, NODE_SLOT] = 0, n, 0, NOTHING
    totals[0, GRADIENT], totals[0, HESSIAN] = _total(sample.rows, sample.amounts)
    totals[0, MASS] = _mass(sample.rows, sample.weights, root, n)
    bounds[0, LOWER], bounds[0, UPPER] = -penalties.max_step, penalties.max_step
    nodes.keys[0] = key
    for g in range(sample.groups.shape[0]):
        nodes.alive[0, g] = 1
    tree.node_ints[0, FEATURE] = LEAF
    write_node(root, root, n, 0.0, totals[0, HESSIAN], tree.node_ints, tree.node_floats)
    if is_splittable(plan, penalties, nodes, root):
        state[COUNT] = 0
        spots[0, NODE_SLOT] = take_slot(nodes)


@bare
def _search(
    plan: TreePlan,
    penalties: Penalties,
    binned: Binned,
    sample: TreeSample,
    memory: SearchMemory,
    nodes: NodeTables,
    node: int,
) -> None:
    """Find the best split of a node, and open the node if there is one."""
    spots, totals, bounds, gained, state = nodes.spots, nodes.totals, nodes.bounds, nodes.gained, nodes.state
    gradient, hessian = totals[node, GRADIENT], totals[node, HESSIAN]
    begin, end = spots[node, NODE_BEGIN], spots[node, NODE_END]
    lower, upper = bounds[node, LOWER], bounds[node, UPPER]
    sums = NodeSums(gradient, hessian, least_hessian(penalties, hessian, totals[node, MASS]), lower, upper)
    own = score_at(penalties, gradient, hessian, bounded_weight(penalties, gradient, hessian, lower, upper))
    n_drawn = draw_columns(plan, sample, nodes, node, memory.drawn)
    if plan.is_exact:
        score, feature = search_sorted(
            penalties, binned, sample, n_drawn, sums, begin, end, memory.sums[SPARE_SLOT], own, memory
        )  # fmt: skip
    else:
        histogram = memory.sums[spots[node, NODE_SLOT]]
        score, feature = search_histogram(
            penalties, binned.columns, sample, n_drawn, sums, histogram, own, memory
        )  # fmt: skip
    if spots[node, NODE_SLOT] == SPARE_SLOT:
        spots[node, NODE_SLOT] = NOTHING
    if feature < 0 or score - own < plan.least_gain:
        give_slot(nodes, node)
        return
    code, next_code = np.int64(memory.found[CODE]), np.int64(memory.found[NEXT_CODE])
    nodes.wanted[node, WANTED_FEATURE], nodes.wanted[node, WANTED_CODE] = feature, code
    nodes.wanted[node, WANTED_MISSING] = memory.found[MISSING]
    gained[node, GAIN] = score - own
    gained[node, LEFT_GRADIENT], gained[node, LEFT_HESSIAN] = memory.left[GRADIENT], memory.left[HESSIAN]
    gained[node, WANTED_THRESHOLD] = threshold_between(binned.columns, binned.ranges, feature, code, next_code)
    if nodes.sides_of.shape[0] > 1:
        for b in range(DIGIT):
            nodes.sides_of[node, b] = memory.sides[1, b]
    nodes.opened[state[N_OPEN]] = node
    state[N_OPEN] += 1


@inlined
def _search_children(
    plan: TreePlan, penalties: Penalties, binned: Binned, sample: TreeSample, memory: SearchMemory, nodes: NodeTables
) -> None:
    """Search the node that was counted last, and its sibling if that has the rest of their parent's histogram."""
    spots, state, sums = nodes.spots, nodes.state, memory.sums
    node, other = state[COUNT], state[OTHER]
    state[IS_COUNTED] = 0
    state[COUNT], state[OTHER] = NOTHING, NOTHING
    if other >= 0:
        if spots[other, NODE_SLOT] >= 0 and not plan.is_exact:
            take_away(sums[spots[node, NODE_SLOT]], sample.offsets[-1], sums[spots[other, NODE_SLOT]])
        else:
            state[COUNT] = other
    for k in range(2):
        which = node if k == 0 else other
        # a sibling counted only for the difference is not searched; one not counted yet is not searched yet
        if which < 0 or which == state[COUNT]:
            continue
        if is_splittable(plan, penalties, nodes, which):
            _search(plan, penalties, binned, sample, memory, nodes, which)
        else:
            give_slot(nodes, which)
    if state[COUNT] >= 0 and not plan.is_exact:
        spots[other, NODE_SLOT] = take_slot(nodes)


@inlined
def _split_node(
    plan: TreePlan,
    penalties: Penalties,
    binned: Binned,
    sample: TreeSample,
    memory: SearchMemory,
    nodes: NodeTables,
    tree: TreeTables,
    node: int,
) -> None:
    """Make the best split of a node, and queue its children for the search."""
    spots, totals, gained, sides, rows = nodes.spots, nodes.totals, nodes.gained, memory.sides, sample.rows
    feature = nodes.wanted[node, WANTED_FEATURE]
    split = Split(
        feature, nodes.wanted[node, WANTED_CODE], gained[node, WANTED_THRESHOLD], 0.0,
        nodes.wanted[node, WANTED_MISSING], np.int64(0),
    )  # fmt: skip
    if nodes.sides_of.shape[0] > 1:
        for b in range(DIGIT):
            sides[1, b] = nodes.sides_of[node, b]
    begin, end = spots[node, NODE_BEGIN], spots[node, NODE_END]
    middle = part_rows(binned, begin, end, split, sides, rows, memory.spare, memory.is_left[:0])
    if middle in (begin, end):  # sums were rounding errors: there was nothing to separate
        give_slot(nodes, node)
        return
    if split.missing == UNSURE or binned.columns[feature, IS_CATEGORICAL] == 1:
        side_of_missing = settle_side(binned.codes, binned.wide, binned.columns, rows, middle, end, split, sides)
        split = Split(feature, split.code, split.threshold, 0.0, side_of_missing, np.int64(0))
    if plan.is_exact:
        part_columns(rows, begin, middle, end, memory.is_left, memory.spare, sample.orders)
    first_child, is_larger_left = tree.used[N_NODES], middle - begin > end - middle
    write_split(
        binned.columns, split, is_larger_left, node, sides, tree.node_ints, tree.node_floats, tree.masks, tree.used
    )  # fmt: skip
    nodes.state[N_LEAVES] += 1
    for side in range(2):
        child = first_child + side
        first, last = (begin, middle) if side == 0 else (middle, end)
        spots[child, NODE_BEGIN], spots[child, NODE_END] = first, last
        spots[child, NODE_DEPTH], spots[child, NODE_SLOT] = spots[node, NODE_DEPTH] + 1, NOTHING
        totals[child, GRADIENT], totals[child, HESSIAN] = gained[node, LEFT_GRADIENT], gained[node, LEFT_HESSIAN]
        totals[child, MASS] = _mass(rows, sample.weights, first, last)
        if side == 1:
            totals[child, GRADIENT] = totals[node, GRADIENT] - totals[child, GRADIENT]
            totals[child, HESSIAN] = totals[node, HESSIAN] - totals[child, HESSIAN]
        nodes.keys[child] = child_key(nodes.keys[node], side)
        for g in range(sample.groups.shape[0]):
            nodes.alive[child, g] = nodes.alive[node, g] & sample.groups[g, feature]
        tree.node_ints[child, FEATURE] = LEAF
        write_node(child, first, last, 0.0, totals[child, HESSIAN], tree.node_ints, tree.node_floats)
    bound_children(penalties, sample.directions[feature], nodes, node, first_child)
    queue_children(plan, penalties, nodes, node, first_child)


@bare
def _advance(
    plan: TreePlan,
    penalties: Penalties,
    binned: Binned,
    sample: TreeSample,
    memory: SearchMemory,
    nodes: NodeTables,
    tree: TreeTables,
) -> Any:
    """Grow until the tree is complete (return -1) or a node must be counted (return the node)."""
    spots, state = nodes.spots, nodes.state
    while True:
        while state[COUNT] >= 0:
            node = state[COUNT]
            if not plan.is_exact and not state[IS_COUNTED]:
                begin, end = spots[node, NODE_BEGIN], spots[node, NODE_END]
                if end - begin >= plan.spread_rows:
                    return node
                count_rows(
                    binned.by_row, sample.rows, sample.amounts, begin, end, sample.chosen, sample.offsets, 0,
                    len(sample.chosen), memory.sums[spots[node, NODE_SLOT]],
                )  # fmt: skip
            _search_children(plan, penalties, binned, sample, memory, nodes)
        node = next_node(plan, nodes)
        if node < 0:
            return np.int64(NOTHING)
        _split_node(plan, penalties, binned, sample, memory, nodes, tree, node)


@bare
def _finish_tree(penalties: Penalties, gamma: float, nodes: NodeTables, tree: TreeTables) -> None:
    """Undo splits that gain less than gamma, bottom up; then write leaves, and the gain below each node as impurity."""
    totals, bounds, gained = nodes.totals, nodes.bounds, nodes.gained
    node_ints, node_floats, values, used = tree.node_ints, tree.node_floats, tree.values, tree.used
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


@bare
def grow_tree(
    is_new: bool,
    key: np.uint64,
    gamma: float,
    plan: TreePlan,
    penalties: Penalties,
    binned: Binned,
    sample: TreeSample,
    memory: SearchMemory,
    nodes: NodeTables,
    tree: TreeTables,
) -> Any:
    """Grow a tree; return the node that the caller must count before the next call, or -1 when the tree is complete.

    `is_new` is True only in the first call. One kernel does everything, because passing so many arrays takes longer
    than growing a small tree.
    """
    if is_new:
        _begin_tree(key, plan, penalties, sample, nodes, tree)
    node = _advance(plan, penalties, binned, sample, memory, nodes, tree)
    if node < 0:
        _finish_tree(penalties, gamma, nodes, tree)
    return node
