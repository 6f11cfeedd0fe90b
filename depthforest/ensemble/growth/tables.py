"""Tree tables: the memory that a growing tree is written to, one row for each node.

Forests and boosting write the same tables; `trees.Tree.of` turns them into the flat columns of a finished tree.
`walking` packs finished trees in a layout of its own. Kernels check nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from depthforest.base import Floats, Ints, Longs, Words, bare
from depthforest.ensemble.growth.columns import ABSENT, IS_CATEGORICAL, LEFT, Columns, Sides
from depthforest.ensemble.growth.splits import Split
from depthforest.ensemble.growth.sweeps import WEIGHT, Rules

FEATURE, CHILD, MASK, N_ROWS, MISSING_LEFT, BEGIN = range(6)
"""Columns of `node_ints`. FEATURE is LEAF at leaves. CHILD is the left child, the right one follows it; at leaves the
row of `values`. MASK is the row of `masks` of a categorical split, else -1. BEGIN is where a node's rows begin."""

THRESHOLD, IMPURITY, NODE_WEIGHT = range(3)
"""Columns of `node_floats`."""

N_NODES, N_VALUES, N_MASKS = range(3)
"""Entries of `used`: how much of the memory of a tree is taken."""

LEAF = -1

MASK_WORDS = 8
"""Words of 32 bits that say which of 255 categories go left."""


class TreeTables(NamedTuple):
    """Memory of a growing tree. What is not written costs nothing.

    Attributes
    ----------
    node_ints : (n_nodes, 6) int32
    node_floats : (n_nodes, 3) float64
    values : (n_values, 1) float64
        What leaves of boosting predict; those of other trees are worked out when the tree is grown (`fill_values`).
    masks : (n_masks, 8) uint32
        Which categories go left; no rows where no column is categorical.
    used : (3,) int64
    """

    node_ints: Ints
    node_floats: Floats
    values: Floats
    masks: Words
    used: Longs

    @classmethod
    def of(cls, n_leaves: int, n_values: int, n_shared: int, *, has_categories: bool) -> TreeTables:
        """Return memory for a tree of up to so many leaves and values; `n_shared` rows of values count as taken."""
        n_nodes = 2 * n_leaves - 1
        masks = np.empty((n_leaves if has_categories else 0, MASK_WORDS), dtype=np.uint32)
        used = np.array([1, n_shared, 0])
        return cls(np.empty((n_nodes, 6), np.int32), np.empty((n_nodes, 3)), np.empty((n_values, 1)), masks, used)


@bare
def write_node(
    node: int, begin: int, end: int, impurity: float, weight: float, node_ints: Ints, node_floats: Floats
) -> None:
    """Write what is known of any node."""
    node_ints[node, N_ROWS] = end - begin
    node_ints[node, BEGIN] = begin
    node_floats[node, IMPURITY] = impurity
    node_floats[node, NODE_WEIGHT] = weight


@bare
def write_leaf(
    rules: Rules, is_pure: bool, channel: int, node: int, node_ints: Ints, node_floats: Floats, used: Longs
) -> None:
    """Make a node a leaf, and give it a row of values; the pure leaves of a class, its channel, share one."""
    node_ints[node, FEATURE] = LEAF
    node_ints[node, MASK] = -1
    node_ints[node, MISSING_LEFT] = 1
    node_floats[node, THRESHOLD] = np.inf
    if is_pure and not rules.is_number:
        node_ints[node, CHILD] = channel
        return
    node_ints[node, CHILD] = used[N_VALUES]
    used[N_VALUES] += 1


@bare
def fill_values(
    rules: Rules,
    n_shared: int,
    ids: Ints,
    channels: Ints,
    amounts: Floats,
    truth: Floats,
    tree: TreeTables,
    out: Floats,
) -> None:
    """Fill in what leaves predict, `out` (n_values - n_shared, n_channels): shares of classes, or the mean of `truth`.

    `truth` (n_table_rows,) are the targets as they came. Means are taken about one of them, so that a small one is not
    lost beside large ones that are in other leaves, nor digits of large ones.
    """
    node_ints = tree.node_ints
    for node in range(tree.used[N_NODES]):
        row = node_ints[node, CHILD] - n_shared
        if node_ints[node, FEATURE] != LEAF or row < 0:
            continue
        begin = node_ints[node, BEGIN]
        weight, base = tree.node_floats[node, NODE_WEIGHT], truth[ids[begin]]
        for c in range(rules.n_channels):
            out[row, c] = 0.0
        for i in range(begin, begin + node_ints[node, N_ROWS]):
            if rules.is_number:
                out[row, 0] += amounts[i, WEIGHT] * (truth[ids[i]] - base)
            else:
                out[row, channels[i]] += amounts[i, WEIGHT]
        for c in range(rules.n_channels):
            out[row, c] /= weight
        if rules.is_number:
            out[row, 0] += base


@bare
def write_split(
    columns: Columns,
    split: Split,
    is_larger_left: bool,
    node: int,
    sides: Sides,
    node_ints: Ints,
    node_floats: Floats,
    masks: Words,
    used: Longs,
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
