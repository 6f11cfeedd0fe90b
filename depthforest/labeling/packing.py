"""Packing: a forest's nodes in the layout that walks fastest.

Each node is one row of 32 bytes with everything that a step needs, so that a step waits for memory only once:

    float32 x 4   u_x, u_y, v_x, v_y, meters
    float32       threshold, millimeters
    int32         which leaf it is, -1 for splits
    int32         in a context stage: the channels of u and v, then those of the mirrored walk, a byte each
    int32         row of its left child; the right one follows

Siblings share a cache line, and a left child's children follow the pair that it belongs to (depth first), so that
common paths are read in memory order. A leaf is a row that leads to itself, so that pixels walk in lockstep without a
check for arrival. The top of each tree is also stored as a full heap, which needs no links (the children of row i are 2
i + 1 and 2 i + 2) and stays in the cache. `benchmarks/label_layouts.py` has the layouts that were slower.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Derived, kernel
from depthforest.trees import ContextTrees, DepthTrees

N_COLUMNS = 8
LEAF, CHANNELS, CHILDREN = 5, 6, 7
"""Columns of a row with whole numbers."""

LEAF_COLUMNS = 16
"""Leaves have a multiple of this many columns, padded with 0, so that they fill vector registers."""

TOP_LEVELS = 8
"""Levels of the heap: 8 kB a tree."""

_LINE = 64
"""Bytes of a cache line, which holds one or two leaves."""


Nodes = tuple[npt.NDArray[np.float32], npt.NDArray[np.int32], npt.NDArray[np.float32], npt.NDArray[np.int32], int]
"""Values, links, top, exits, depth of a PackedForest."""


@dataclass(frozen=True)
class PackedForest:
    """Nodes in rows, and the distributions of leaves.

    Parameters
    ----------
    values : array (n, 8), float32
        Rows as above; the threshold is in column 4.
    links : array (n, 8), int32
        The same memory as whole numbers; columns `LEAF` and `CHILDREN`.
    top : array (n_trees, 2^k - 1, 8), float32
        The first k levels of each tree, copies of rows; below a leaf, rows that lead to it on both sides.
    exits : array (n_trees, 2^k), int32
        The row that each path through the top leads to.
    leaves : array (n_leaves * n_facings, n_columns), uint8
        Distributions in 255ths; columns past the parts hold 0.
    depth : int
        Steps until every pixel has reached a leaf.
    """

    values: npt.NDArray[np.float32]
    links: npt.NDArray[np.int32]
    top: npt.NDArray[np.float32]
    exits: npt.NDArray[np.int32]
    leaves: npt.NDArray[np.uint8]
    depth: int

    @property
    def nodes(self) -> Nodes:
        """Everything but the leaves, in the form that the walk's kernels take."""
        return self.values, self.links, self.top, self.exits, self.depth

    @property
    def n_bytes(self) -> int:
        """Memory of the rows."""
        return self.values.nbytes


def pack(forest: DepthTrees | ContextTrees) -> PackedForest:
    """Pack a forest. Its constructor has checked it, so the kernels that walk the packed form check nothing."""
    node_rows, leaf_rows = np.empty(forest.n_nodes, np.int32), np.empty(forest.n_leaves, np.int32)
    stack = np.empty(forest.n_nodes + 1, dtype=np.int32)
    _number(forest.roots, forest.children, stack, node_rows, leaf_rows)
    n = 2 * (forest.n_nodes + forest.n_trees)
    values = aligned((n, N_COLUMNS), np.float32)
    links = values.view(np.int32)
    offsets = forest.meters if isinstance(forest, ContextTrees) else forest.offsets
    _fill_rows(offsets, forest.thresholds, forest.children, node_rows, leaf_rows, values, links)
    if isinstance(forest, ContextTrees):
        both = np.concatenate((forest.channels, forest.mirrored_channels), axis=1)
        links[node_rows, CHANNELS] = np.ascontiguousarray(both).view("<i4")[:, 0]
    n_parts = forest.leaves.shape[1]
    leaves = aligned((len(forest.leaves), -(-n_parts // LEAF_COLUMNS) * LEAF_COLUMNS), np.uint8)
    leaves[:, :n_parts] = forest.leaves
    n_inner = 2 ** min(TOP_LEVELS, forest.depth) - 1
    top = aligned((forest.n_trees * n_inner, N_COLUMNS), np.float32).reshape(forest.n_trees, n_inner, N_COLUMNS)
    exits = np.empty((forest.n_trees, n_inner + 1), dtype=np.int32)
    _fill_top(values, links, top, exits)
    return PackedForest(values, links, top, exits, leaves, forest.depth)


@Derived
def packed_forest(forest: DepthTrees) -> PackedForest:
    """Return a forest's packed nodes; packs once."""
    return pack(forest)


@Derived
def packed_context(context: ContextTrees) -> PackedForest:
    """Return a context stage's packed nodes; packs once."""
    return pack(context)


def aligned(shape: tuple[int, int], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return zeros that begin at a cache line."""
    n_bytes = shape[0] * shape[1] * np.dtype(dtype).itemsize
    memory = np.zeros(n_bytes + _LINE, dtype=np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + n_bytes].view(dtype).reshape(shape)


@kernel
def _fill_rows(offsets, thresholds, children, node_rows, leaf_rows, values, links):  # type: ignore[no-untyped-def]
    for row in range(len(links)):
        links[row, CHILDREN] = row  # leaves, and the unused row beside a root, lead to themselves
        links[row, LEAF] = -1
    for leaf in range(len(leaf_rows)):
        links[leaf_rows[leaf], LEAF] = leaf
    for node in range(len(node_rows)):
        row, left = node_rows[node], children[node, 0]
        for k in range(4):
            values[row, k] = offsets[node, k]
        values[row, 4] = thresholds[node]
        links[row, CHILDREN] = node_rows[left] if left >= 0 else leaf_rows[~left]


@kernel
def _fill_top(values, links, top, exits):  # type: ignore[no-untyped-def]
    n_inner = top.shape[1]
    rows = np.empty(2 * n_inner + 1, dtype=np.int32)
    for tree in range(len(exits)):
        rows[0] = 2 * tree
        for i in range(n_inner):
            row = rows[i]
            top[tree, i] = values[row]
            rows[2 * i + 1] = links[row, CHILDREN]
            rows[2 * i + 2] = links[row, CHILDREN] + (1 if links[row, LEAF] < 0 else 0)
        exits[tree] = rows[n_inner:]


@kernel
def _place(link: int, row: int, node_rows: npt.NDArray[np.int32], leaf_rows: npt.NDArray[np.int32]) -> None:
    if link >= 0:
        node_rows[link] = row
    else:
        leaf_rows[~link] = row


@kernel
def _number(
    roots: npt.NDArray[np.int32],
    children: npt.NDArray[np.int32],
    stack: npt.NDArray[np.int32],
    node_rows: npt.NDArray[np.int32],
    leaf_rows: npt.NDArray[np.int32],
) -> None:
    """Assign row numbers: the roots first, each followed by an unused row, then the children of nodes, depth first."""
    for tree in range(len(roots)):
        _place(roots[tree], 2 * tree, node_rows, leaf_rows)
    row = 2 * len(roots)
    for tree in range(len(roots)):
        n = 0
        if roots[tree] >= 0:
            stack[0] = roots[tree]
            n = 1
        while n > 0:
            n -= 1
            node = stack[n]
            for side in range(2):
                _place(children[node, side], row + side, node_rows, leaf_rows)
            row += 2
            for side in (1, 0):
                if children[node, side] >= 0:
                    stack[n] = children[node, side]
                    n += 1
