"""Boosted nodes: which node of a growing tree is split next, where its rows and histogram are, what its children get.

The tables of nodes and the memory are `growing`'s; kernels check nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from depthforest.base import GOLDEN, Bytes, Counters, Floats, Ints, Longs, bare, mix, number_below
from depthforest.ensemble.boosting.gains import (
    GRADIENT,
    HESSIAN,
    LOWER,
    MASS,
    UPPER,
    Penalties,
    bar_over,
    bounded_weight,
)
from depthforest.ensemble.boosting.histograms import UNSURE
from depthforest.ensemble.boosting.memory import TreeSample
from depthforest.ensemble.growth import ABSENT, DIGIT, IS_CATEGORICAL, N_CODES, RIGHT, Codes, Columns, Sides, Split

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


class TreePlan(NamedTuple):
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
    least_split: int
    """Rows of a node that is split."""
    least_gain: float
    """Of a split that is made."""


class NodeTables(NamedTuple):
    """What is known of the nodes of a growing tree, a row for each, and which of them are open.

    Attributes
    ----------
    spots : (n_nodes, 4) int64
    totals : (n_nodes, 3) float64
        Sums of gradients, hessians and weights.
    bounds : (n_nodes, 2) float64
        Between which the weight of a node must lie.
    keys : (n_nodes,) uint64
        What a node draws its columns from.
    wanted : (n_nodes, 3) int64
    gained : (n_nodes, 4) float64
    sides_of : (n_nodes, 256) uint8
        Sides of the categories of the best split; a single row where no column is categorical.
    alive : (n_nodes, n_groups) uint8
        Groups that hold all columns on the path to a node.
    opened : (n_nodes,) int64
        Nodes that may be split.
    free : (n_slots,) int64
        Slots of histograms that no node has.
    state : (7,) int64
    """

    spots: Longs
    totals: Floats
    bounds: Floats
    keys: Counters
    wanted: Longs
    gained: Floats
    sides_of: Bytes
    alive: Bytes
    opened: Longs
    free: Longs
    state: Longs

    @classmethod
    def of(cls, n_nodes: int, n_slots: int, *, n_groups: int, has_categories: bool) -> NodeTables:
        """Return memory for a tree of up to so many nodes and histograms."""
        return cls(
            spots=np.empty((n_nodes, 4), dtype=np.int64),
            totals=np.empty((n_nodes, 3)),
            bounds=np.empty((n_nodes, 2)),
            keys=np.empty(n_nodes, dtype=np.uint64),
            wanted=np.empty((n_nodes, 3), dtype=np.int64),
            gained=np.empty((n_nodes, 4)),
            sides_of=np.empty((n_nodes if has_categories else 1, DIGIT), dtype=np.uint8),
            alive=np.empty((n_nodes, n_groups), dtype=np.uint8),
            opened=np.empty(n_nodes, dtype=np.int64),
            free=np.empty(n_slots, dtype=np.int64),
            state=np.empty(7, dtype=np.int64),
        )


@bare
def settle_side(
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


@bare
def is_splittable(plan: TreePlan, penalties: Penalties, nodes: NodeTables, node: int) -> bool:
    """Return whether a node is large and shallow enough to be split, and there may be another leaf."""
    n_rows = nodes.spots[node, NODE_END] - nodes.spots[node, NODE_BEGIN]
    return bool(
        nodes.state[N_LEAVES] < plan.max_leaves
        and nodes.spots[node, NODE_DEPTH] < plan.max_depth
        and n_rows >= plan.least_split
        and nodes.totals[node, MASS] >= 2.0 * penalties.min_rows
        and nodes.totals[node, HESSIAN] >= 2.0 * penalties.min_weight
    )


@bare
def take_slot(nodes: NodeTables) -> Any:
    """Return a place for a histogram: the spare one if no other is free."""
    free, state = nodes.free, nodes.state
    if state[N_FREE] == 0:
        return np.int64(SPARE_SLOT)
    state[N_FREE] -= 1
    return free[state[N_FREE]]


@bare
def give_slot(nodes: NodeTables, node: int) -> None:
    """Free the histogram of a node that needs it no more."""
    free, spots, state = nodes.free, nodes.spots, nodes.state
    if spots[node, NODE_SLOT] > SPARE_SLOT:
        free[state[N_FREE]] = spots[node, NODE_SLOT]
        state[N_FREE] += 1
    spots[node, NODE_SLOT] = NOTHING


@bare
def draw_columns(plan: TreePlan, sample: TreeSample, nodes: NodeTables, node: int, drawn: Ints) -> Any:
    """Put the places of the columns that a node looks at in front of those that it may use; return their number."""
    n, key, groups = len(sample.chosen), nodes.keys[node], sample.groups
    n_free = np.int64(0)
    for k in range(n):
        is_free = groups.shape[0] == 0
        for g in range(groups.shape[0]):
            if nodes.alive[node, g] and groups[g, sample.chosen[k]]:
                is_free = True
        if is_free:
            drawn[n_free] = k
            n_free += 1
    n_drawn = min(np.int64(plan.n_drawn), n_free)
    if n_drawn == n_free and not plan.is_shuffled:
        return n_drawn
    for k in range(n_drawn):
        other = k + number_below(mix(key + GOLDEN * np.uint64(k + 1)), n_free - k)
        drawn[k], drawn[other] = drawn[other], drawn[k]
    return n_drawn


@bare
def next_node(plan: TreePlan, nodes: NodeTables) -> Any:
    """Take the node that is split next off the open ones; -1 if there is none."""
    gained, opened, state = nodes.gained, nodes.opened, nodes.state
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


@bare
def bound_children(penalties: Penalties, direction: int, nodes: NodeTables, node: int, left: int) -> None:
    """Give children their bounds: where a split may only raise, all of the left stays below all of the right."""
    totals, bounds = nodes.totals, nodes.bounds
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


@bare
def queue_children(plan: TreePlan, penalties: Penalties, nodes: NodeTables, node: int, left: int) -> None:
    """Say which children are to be counted and searched, and where: the smaller is counted, the other what is left."""
    spots, state = nodes.spots, nodes.state
    n_left = spots[left, NODE_END] - spots[left, NODE_BEGIN]
    small = left if n_left <= spots[left + 1, NODE_END] - spots[left + 1, NODE_BEGIN] else left + 1
    large = left + left + 1 - small
    needs_small = is_splittable(plan, penalties, nodes, small)
    needs_large = is_splittable(plan, penalties, nodes, large)
    if not needs_large:
        if needs_small:
            spots[small, NODE_SLOT] = spots[node, NODE_SLOT]
            if spots[small, NODE_SLOT] < 0:
                spots[small, NODE_SLOT] = take_slot(nodes)
            spots[node, NODE_SLOT] = NOTHING
            state[COUNT] = small
        else:
            give_slot(nodes, node)
        return
    if spots[node, NODE_SLOT] >= 0:
        spots[large, NODE_SLOT] = spots[node, NODE_SLOT]
        spots[small, NODE_SLOT] = take_slot(nodes) if needs_small else SPARE_SLOT
        spots[node, NODE_SLOT] = NOTHING
        state[COUNT], state[OTHER] = small, large
        return
    spots[large, NODE_SLOT] = take_slot(nodes)
    state[COUNT] = large
    if needs_small:
        state[OTHER] = small
