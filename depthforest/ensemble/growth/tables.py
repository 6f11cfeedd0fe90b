"""Tree tables: the memory of a growing tree, one row per node.

Forests and boosting write the same tables; `trees.Tree.of` turns them into the flat columns of a finished tree.
`walking` packs finished trees in its own layout. Kernels check nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from depthforest.base import Floats, Ints, Longs, Words, bare
from depthforest.ensemble.growth.columns import ABSENT, IS_CATEGORICAL, LEFT, Columns, Sides
from depthforest.ensemble.growth.splits import Split
from depthforest.ensemble.growth.sweeps import WEIGHT, Rules

FEATURE, CHILD, MASK, N_ROWS, MISSING_LEFT, BEGIN = range(6)
"""Columns of `node_ints`. FEATURE is LEAF at leaves. CHILD is the left child; the right one follows it; at leaves it is
the row of `values`. MASK is the row of `masks` of a categorical split, else -1. BEGIN is where a node's rows begin."""

THRESHOLD, IMPURITY, NODE_WEIGHT = range(3)
"""Columns of `node_floats`."""

N_NODES, N_VALUES, N_MASKS = range(3)
"""Entries of `used`: the numbers of nodes, rows of values and rows of masks in use."""

LEAF = -1

MASK_WORDS = 8
"""Number of 32-bit words with a bit for each of 255 categories: 1 goes left."""


class TreeTables(NamedTuple):
    """Memory of a growing tree. Unwritten parts cost nothing.

    Attributes
    ----------
    node_ints : (n_nodes, 6) int32
    node_floats : (n_nodes, 3) float64
    values : (n_values, 1) float64
        Predictions of the leaves in boosting; other trees compute theirs when they are grown (`fill_values`).
    masks : (n_masks, 8) uint32
        Which categories go left; empty if no column is categorical.
    used : (3,) int64
    """

    node_ints: Ints
    node_floats: Floats
    values: Floats
    masks: Words
    used: Longs

    @classmethod
    def of(cls, n_leaves: int, n_values: int, n_shared: int, *, has_categories: bool) -> TreeTables:
        """Return memory for a tree with these numbers of leaves and values at most; `n_shared` rows count as used."""
        n_nodes = 2 * n_leaves - 1
        masks = np.empty((n_leaves if has_categories else 0, MASK_WORDS), dtype=np.uint32)
        used = np.array([1, n_shared, 0])
        return cls(np.empty((n_nodes, 6), np.int32), np.empty((n_nodes, 3)), np.empty((n_values, 1)), masks, used)


@bare
def write_node(
    node: int, begin: int, end: int, impurity: float, weight: float, node_ints: Ints, node_floats: Floats
) -> None:
    """Write the columns that any node has."""
    node_ints[node, N_ROWS] = end - begin
    node_ints[node, BEGIN] = begin
    node_floats[node, IMPURITY] = impurity
    node_floats[node, NODE_WEIGHT] = weight


@bare
def write_leaf(
    rules: Rules, is_pure: bool, channel: int, node: int, node_ints: Ints, node_floats: Floats, used: Longs
) -> None:
    """Make a node a leaf with a row of values; the pure leaves of a class, its channel, share one row."""
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
    """Fill in the predictions of leaves, `out` (n_values - n_shared, n_channels): class shares, or means of `truth`.

    `truth` (n_table_rows,) holds the original targets. Means are computed relative to one of the targets, so that
    small ones are not lost next to large ones of other leaves, nor the digits of large ones.
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
    """Make a node an inner node with two new children. Values that it has not seen will go to its larger side."""
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
