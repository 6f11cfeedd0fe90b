"""Best first: a tree with a limited number of leaves, grown by splitting the node with the largest gain."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from depthforest.base import Bytes, Counters, Counts, Floats, Ints, Longs, bare, gain_over_terms
from depthforest.ensemble.growth.binning import Binned
from depthforest.ensemble.growth.columns import DIGIT, Sides
from depthforest.ensemble.growth.finding import find_split
from depthforest.ensemble.growth.growing import Limits, child_key, divide, is_worth, may_split, weigh
from depthforest.ensemble.growth.lanes import Lanes
from depthforest.ensemble.growth.memory import SplitMemory, TreeRows
from depthforest.ensemble.growth.splits import NO_FEATURE, Split
from depthforest.ensemble.growth.sweeps import Rules
from depthforest.ensemble.growth.tables import N_NODES, TreeTables, write_leaf, write_node, write_split

FIRST, END, DEPTH = range(3)
"""Columns of `places`: a node's rows, and its depth."""

IS_SPLIT = NO_FEATURE - 1
"""Value in `wanted`, in place of the column, of a node that has been split."""


class OpenNodes(NamedTuple):
    """The nodes of a tree that grows best first, and a heap of those that may be split.

    Attributes
    ----------
    places : (n_nodes, 3) int64
    keys : (n_nodes,) uint64
        Random keys of the nodes.
    wanted : (n_nodes, 4) int64
        Column, code, side of missing values and rank of the best split.
    thresholds, gains : (n_nodes,) float64
        Of the best split.
    sides_of : (n_nodes, 256) uint8
        Sides of the categories of the best split; a single row if no column is categorical.
    heap : (n_nodes,) int64
        Nodes that may be split: the gain of the one at i is at least that of those at 2 i + 1 and 2 i + 2.
    """

    places: Longs
    keys: Counters
    wanted: Longs
    thresholds: Floats
    gains: Floats
    sides_of: Bytes
    heap: Longs

    @classmethod
    def of(cls, n_nodes: int, *, has_categories: bool) -> OpenNodes:
        """Return memory for a tree of at most `n_nodes` nodes."""
        return cls(
            places=np.empty((n_nodes, 3), dtype=np.int64),
            keys=np.empty(n_nodes, dtype=np.uint64),
            wanted=np.empty((n_nodes, 4), dtype=np.int64),
            thresholds=np.empty(n_nodes),
            gains=np.empty(n_nodes),
            sides_of=np.empty((n_nodes if has_categories else 1, DIGIT), dtype=np.uint8),
            heap=np.empty(n_nodes, dtype=np.int64),
        )


@bare
def _is_before(gains: Floats, node: int, other: int) -> bool:
    return bool(gains[node] > gains[other] or (gains[node] == gains[other] and node < other))


@bare
def push(gains: Floats, n: int, node: int, heap: Longs) -> None:
    """Put a node into a heap of n nodes."""
    at = n
    while at > 0 and _is_before(gains, node, heap[(at - 1) // 2]):
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = node


@bare
def pop(gains: Floats, n: int, heap: Longs) -> Any:
    """Take the node with the largest gain out of a heap of n nodes, the lowest one if equal."""
    best, node = heap[0], heap[n - 1]
    at, child = 0, 1
    while child < n - 1:
        if child + 1 < n - 1 and _is_before(gains, heap[child + 1], heap[child]):
            child += 1
        if _is_before(gains, node, heap[child]):
            break
        heap[at] = heap[child]
        at, child = child, 2 * child + 1
    heap[at] = node
    return best


@bare
def open_node(split: Split, gain: float, node: int, sides: Sides, n_open: int, opened: OpenNodes) -> None:
    """Store the best split of a node, and put the node into the heap of `n_open` nodes."""
    wanted = opened.wanted
    wanted[node, 0], wanted[node, 1], wanted[node, 2], wanted[node, 3] = (
        split.feature, split.code, split.missing, split.rank,
    )  # fmt: skip
    opened.thresholds[node], opened.gains[node] = split.threshold, gain
    if opened.sides_of.shape[0] > 1:
        for b in range(DIGIT):
            opened.sides_of[node, b] = sides[1, b]
    push(opened.gains, n_open, node, opened.heap)


@bare
def remembered(opened: OpenNodes, node: int, sides: Sides) -> Split:
    """Return the stored best split of a node, its categories in `sides`, and mark the node as split."""
    wanted = opened.wanted
    if opened.sides_of.shape[0] > 1:
        for b in range(DIGIT):
            sides[1, b] = opened.sides_of[node, b]
    feature = wanted[node, 0]
    wanted[node, 0] = IS_SPLIT
    return Split(feature, wanted[node, 1], opened.thresholds[node], 0.0, wanted[node, 2], wanted[node, 3])


@bare
def grow_best(
    table: Counts,
    rules: Rules,
    limits: Limits,
    max_leaves: int,
    binned: Binned,
    rows: TreeRows,
    key: np.uint64,
    memory: SplitMemory,
    digits: Ints | None,
    lanes: Lanes | None,
    opened: OpenNodes,
    tree: TreeTables,
) -> None:
    """Grow a tree of up to `max_leaves` leaves: always split the node with the largest gain, the first one if equal."""
    first_part, one_part = np.int64(0), np.int64(1)  # typed, because a literal would compile `find_split` again
    places, keys, sides, used = opened.places, opened.keys, memory.sides, tree.used
    places[0, FIRST], places[0, END], places[0, DEPTH] = 0, len(rows.ids), 0
    keys[0], used[N_NODES] = key, 1
    n_open, n_leaves, first_new = np.int64(0), 1, np.int64(0)
    while True:
        for node in range(first_new, used[N_NODES]):
            begin, end = places[node, FIRST], places[node, END]
            weight, terms, impurity, is_pure = weigh(
                table, rules, rows.channels, rows.amounts, begin, end, memory.present, memory.ends, memory.sums
            )
            write_node(node, begin, end, impurity, weight, tree.node_ints, tree.node_floats)
            opened.wanted[node, 0] = NO_FEATURE
            if may_split(rules, limits, end - begin, places[node, DEPTH], weight, is_pure):
                split = find_split(
                    table, rules, binned, rows, begin, end, weight, terms, keys[node],
                    first_part, one_part, memory, digits, lanes,
                )  # fmt: skip
                gain = gain_over_terms(table, rules.is_entropy, terms, weight, split.score)
                if split.feature != NO_FEATURE and is_worth(limits, gain):
                    open_node(split, gain, node, sides, n_open, opened)
                    n_open += 1
        if n_open == 0 or n_leaves == max_leaves:
            break
        parent = pop(opened.gains, n_open, opened.heap)
        n_open, n_leaves, first_new = n_open - 1, n_leaves + 1, used[N_NODES]
        split = remembered(opened, parent, sides)
        begin, end = places[parent, FIRST], places[parent, END]
        middle = divide(rules, binned, rows, begin, end, split, sides, memory)
        write_split(
            binned.columns, split, middle - begin > end - middle, parent, sides, tree.node_ints, tree.node_floats,
            tree.masks, used,
        )  # fmt: skip
        for side in range(2):
            child = first_new + side
            places[child, FIRST] = begin if side == 0 else middle
            places[child, END] = middle if side == 0 else end
            places[child, DEPTH] = places[parent, DEPTH] + 1
            keys[child] = child_key(keys[parent], side)
    for node in range(used[N_NODES]):
        if opened.wanted[node, 0] != IS_SPLIT:
            _, _, _, is_pure = weigh(
                table, rules, rows.channels, rows.amounts, places[node, FIRST], places[node, END], memory.present,
                memory.ends, memory.sums,
            )  # fmt: skip
            write_leaf(rules, is_pure, memory.present[1], node, tree.node_ints, tree.node_floats, used)
