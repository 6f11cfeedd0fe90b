"""Boosted nodes: the order in which nodes are split, their rows and histograms, and the data of their children.

The tables of nodes and the memory belong to `growing`; kernels check nothing.
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
it has been counted, its sibling to be searched after it, and the number of free slots."""

NODE_BEGIN, NODE_END, NODE_DEPTH, NODE_SLOT = range(4)
"""Columns of `spots`: a node's rows, its depth, and its histogram's slot (-1: none)."""

WANTED_FEATURE, WANTED_CODE, WANTED_MISSING = range(3)
"""Columns of `wanted`: the best split of a node."""

GAIN, WANTED_THRESHOLD, LEFT_GRADIENT, LEFT_HESSIAN = range(4)
"""Columns of `gained`: the gain of that split, its threshold, and the sums of its left side."""

DEEPEST_FIRST, FIRST_FIRST, BEST_FIRST = range(3)
"""The order in which open nodes are split. The first two give the same tree if leaves are not limited."""

SPARE_SLOT = 0
"""The histogram slot that no node keeps."""

NOTHING = -1


class TreePlan(NamedTuple):
    """How far a tree is grown, and in which order."""

    order: int
    max_depth: int
    max_leaves: int
    n_drawn: int
    """Number of columns considered in a node."""
    is_shuffled: bool
    """Whether they are considered in random order, so that ties between splits are broken at random."""
    spread_rows: int
    """Nodes with at least this many rows are counted by the caller."""
    is_exact: bool
    least_split: int
    """Least rows of a node that is split."""
    least_gain: float
    """Least gain of a split."""


class NodeTables(NamedTuple):
    """The nodes of a growing tree, a row for each, and which of them are open.

    Attributes
    ----------
    spots : (n_nodes, 4) int64
    totals : (n_nodes, 3) float64
        Sums of gradients, hessians and weights.
    bounds : (n_nodes, 2) float64
        Limits of the weight of a node.
    keys : (n_nodes,) uint64
        Random keys of the nodes, for drawing columns.
    wanted : (n_nodes, 3) int64
    gained : (n_nodes, 4) float64
    sides_of : (n_nodes, 256) uint8
        Sides of the categories of the best split; a single row if no column is categorical.
    alive : (n_nodes, n_groups) uint8
        Groups that contain all columns on the path to a node.
    opened : (n_nodes,) int64
        Nodes that may be split.
    free : (n_slots,) int64
        Free slots of histograms.
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
        """Return memory for a tree with at most this many nodes and histograms."""
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
    """Return the side of missing values, and set the sides of categories without one, from the rows that went right.

    The hessians of nearly certain rows vanish next to those of others. The search does not see such rows, and they were
    sent right, so the tree must do the same.
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
    """Return whether a node is large and shallow enough to be split, and the tree may have another leaf."""
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
    """Return a slot for a histogram: the spare one if no other is free."""
    free, state = nodes.free, nodes.state
    if state[N_FREE] == 0:
        return np.int64(SPARE_SLOT)
    state[N_FREE] -= 1
    return free[state[N_FREE]]


@bare
def give_slot(nodes: NodeTables, node: int) -> None:
    """Free the histogram of a node that no longer needs it."""
    free, spots, state = nodes.free, nodes.spots, nodes.state
    if spots[node, NODE_SLOT] > SPARE_SLOT:
        free[state[N_FREE]] = spots[node, NODE_SLOT]
        state[N_FREE] += 1
    spots[node, NODE_SLOT] = NOTHING


@bare
def draw_columns(plan: TreePlan, sample: TreeSample, nodes: NodeTables, node: int, drawn: Ints) -> Any:
    """Move the indices of the columns to consider to the front of those that a node may use; return their number."""
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
    """Remove the node to be split next from the open ones; -1 if there is none."""
    gained, opened, state = nodes.gained, nodes.opened, nodes.state
    if state[N_OPEN] == state[HEAD] or state[N_LEAVES] >= plan.max_leaves:
        return np.int64(NOTHING)
    if plan.order == FIRST_FIRST:
        # the smaller sibling may have been opened first, but the order must not depend on the memory for histograms
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
    """Set the limits of children: if a prediction must rise, all of the left side stays below all of the right."""
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
    """Queue children for counting and searching, with slots: the smaller is counted, the other is the difference."""
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
