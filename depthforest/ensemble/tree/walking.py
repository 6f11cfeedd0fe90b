"""Walking: takes rows through all trees of an ensemble, several rows at once.

A `Walk` packs trees into rows of 16 bytes: column, threshold, left child, and other data of a node. Leaves are their
own children, so that a group of rows takes the same number of steps and memory latencies overlap. Pure leaves of one
class share a row of values and add 1 to one sum instead of adding a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Bytes, Counters, Floats, Ints, Longs, Singles, Words, kernel, map_in_order
from depthforest.ensemble.growth import LEAF, SparseTable
from depthforest.ensemble.tree.trees import Tree

Table = Singles | SparseTable

WALK_FEATURE, WALK_THRESHOLD, WALK_CHILD, WALK_MORE = range(4)
"""Columns of `nodes`, packed for walking; a growing tree has others (`growth.tables`). WALK_THRESHOLD holds the bits of
a float32. WALK_MORE is 2 (mask + 1) + (missing values go left) for inner nodes; for leaves it is 2 (row of values) + 1,
where the first `n_shared` rows represent the classes."""

LANES = 16
"""Rows that walk a tree together."""

_BLOCK = 512
"""Least rows that walk all trees before the next ones: fewer are not worth a thread."""

_BLOCK_BYTES = 1_500_000
"""Values and sums of the rows of a block. With more rows per tree, more of them find its nodes in the caches, as long
as their own values stay there; measured with 10, 40 and 200 columns."""

_MAX_CATEGORY = 255


@dataclass(frozen=True, eq=False)
class Walk:
    """Trees packed for walking.

    Attributes
    ----------
    nodes : (n_nodes, 4) int32
    roots : (n_trees,) int64
    values : (n_values, n_outputs) float64
        Values of all leaves except the pure leaves of classes.
    masks : (n_masks, 8) uint32
    n_shared : int
    """

    nodes: Ints
    roots: Longs
    values: Floats
    masks: Words
    n_shared: int

    @classmethod
    def of(cls, trees: Sequence[Tree]) -> Walk:
        """Pack trees with the same number of outputs."""
        n_shared = trees[0].n_shared
        counts = np.array([tree.node_count for tree in trees])
        roots = np.concatenate(([0], np.cumsum(counts)[:-1])).astype(np.int64)
        nodes = np.empty((counts.sum(), 4), dtype=np.int32)
        n_values, n_masks = n_shared, 0
        for tree, root in zip(trees, roots.tolist(), strict=True):
            _pack(
                tree.feature, tree.threshold, tree.child, tree.mask, tree.missing_go_to_left, root, n_shared,
                n_values, n_masks, nodes,
            )  # fmt: skip
            n_values += len(tree.own_values)
            n_masks += len(tree.masks)
        values, masks = [tree.own_values for tree in trees], [tree.masks for tree in trees]
        return cls(nodes, roots, np.concatenate(values), np.concatenate(masks), n_shared)

    def mean(self, x: Table, *, threads: int = 1) -> Floats:
        """Return the mean of all trees' predictions, (n, n_outputs); a dense x is float32, C-contiguous."""
        out = self.sums(x, threads=threads)
        out /= len(self.roots)
        return out

    def sums(self, x: Table, *, threads: int = 1) -> Floats:
        """Return the sum of all trees' predictions, (n, n_outputs)."""
        out = np.zeros((len(x), self.values.shape[1]))

        def add(rows: slice) -> None:
            _add_block(x[rows], self.nodes, self.roots, self.values, self.masks, self.n_shared, out[rows])

        in_blocks(add, x, out, threads)
        return out

    def leaves(self, x: Table, *, threads: int = 1) -> Longs:
        """Return the leaf of every row in every tree, (n, n_trees), as the index of the node in its tree."""
        out = np.empty((len(x), len(self.roots)), dtype=np.int64)

        def find(rows: slice) -> None:
            _find_leaves(x[rows], self.nodes, self.roots, self.masks, out[rows])

        in_blocks(find, x, out, threads)
        return out


def in_blocks(function: Callable[[slice], None], x: Table, out: npt.NDArray[Any], threads: int) -> None:
    """Call a function for blocks of rows; their size depends on the columns of the table and of the output."""
    n = len(x)
    row_bytes = x.itemsize * x.shape[1] + out.itemsize * out.shape[1]
    size = max(LANES if isinstance(x, SparseTable) else _BLOCK, min(_BLOCK_BYTES // row_bytes, -(-n // threads)))
    blocks = [slice(first, min(first + size, n)) for first in range(0, n, size)]
    for _ in map_in_order(function, blocks, threads=max(1, min(threads, len(blocks)))):
        pass


@kernel
def _pack(
    feature: Ints,
    threshold: Singles,
    child: Ints,
    mask: Ints,
    missing_go_to_left: Bytes,
    root: int,
    n_shared: int,
    n_values: int,
    n_masks: int,
    nodes: Ints,
) -> None:
    """Write the nodes of a tree from index `root` on; rows of values and masks follow the given numbers of them."""
    thresholds = nodes.view(np.float32)
    for i in range(len(feature)):
        at = root + i
        if feature[i] == LEAF:
            row = child[i] if child[i] < n_shared else child[i] + n_values - n_shared
            thresholds[at, WALK_THRESHOLD] = np.inf
            nodes[at, WALK_FEATURE], nodes[at, WALK_CHILD], nodes[at, WALK_MORE] = 0, at, 2 * row + 1
            continue
        row = 0 if mask[i] < 0 else mask[i] + n_masks + 1
        thresholds[at, WALK_THRESHOLD] = threshold[i]
        nodes[at, WALK_FEATURE], nodes[at, WALK_CHILD] = feature[i], child[i] + root
        nodes[at, WALK_MORE] = 2 * row + missing_go_to_left[i]


@kernel
def goes_right(value, threshold, more, masks):  # type: ignore[no-untyped-def]  # inlined: returns 0 or 1
    """Return 1 if a value goes to the right child of an inner node; NaN and unknown categories are missing."""
    if more >= 2:
        if not 0.0 <= value < _MAX_CATEGORY:
            return 1 - (more & 1)
        category = np.int64(value)
        return 1 - ((masks[(more >> 1) - 1, category >> 5] >> np.uint32(category & 31)) & 1)
    if value != value:
        return 1 - (more & 1)
    return np.int64(value > threshold)


@kernel
def is_plain_table(x: Singles, masks: Words) -> bool:
    """Return whether rows can be walked by comparisons alone: no missing values and no categorical splits."""
    if masks.shape[0] > 0:
        return False
    n_missing = 0
    for r in range(x.shape[0]):
        for f in range(x.shape[1]):
            n_missing += x[r, f] != x[r, f]
    return n_missing == 0


@kernel
def walk_lanes(
    x: Singles,
    first: int,
    n: int,
    nodes: Ints,
    thresholds: Singles,
    root: int,
    masks: Words,
    is_plain: bool,
    at: Counters,
) -> None:
    """Walk n rows to their leaves, all of them one step at a time."""
    for lane in range(n):
        at[lane] = root
    changed = np.uint64(1)
    if is_plain:  # unsigned, because an index that may be negative costs a comparison
        while changed:
            changed = np.uint64(0)
            for lane in range(n):
                node = at[lane]
                value = x[np.uint64(first + lane), np.uint64(nodes[node, np.uint64(WALK_FEATURE)])]
                step = np.uint64(value > thresholds[node, np.uint64(WALK_THRESHOLD)])
                following = np.uint64(nodes[node, np.uint64(WALK_CHILD)]) + step
                at[lane] = following
                changed |= following ^ node
        return
    while changed:
        changed = np.uint64(0)
        for lane in range(n):
            node = at[lane]
            child = np.uint64(nodes[node, WALK_CHILD])
            if child == node:
                continue
            value = x[first + lane, nodes[node, WALK_FEATURE]]
            at[lane] = child + np.uint64(
                goes_right(value, thresholds[node, WALK_THRESHOLD], nodes[node, WALK_MORE], masks)
            )
            changed = np.uint64(1)


@kernel
def _add_block(
    x: Singles,
    nodes: Ints,
    roots: Longs,
    values: Floats,
    masks: Words,
    n_shared: int,
    out: Floats,
) -> None:
    """Add the predictions of all trees, in their order, to `out` (n, n_outputs)."""
    at = np.empty(LANES, dtype=np.uint64)
    thresholds = nodes.view(np.float32)
    is_plain = is_plain_table(x, masks)
    for t in range(len(roots)):
        for first in range(0, x.shape[0], LANES):
            n = min(LANES, x.shape[0] - first)
            walk_lanes(x, first, n, nodes, thresholds, roots[t], masks, is_plain, at)
            for lane in range(n):
                row = nodes[at[lane], WALK_MORE] >> 1
                if row < n_shared:
                    out[first + lane, row] += 1.0
                else:
                    for c in range(out.shape[1]):
                        out[first + lane, c] += values[row - n_shared, c]


@kernel
def _find_leaves(
    x: Singles,
    nodes: Ints,
    roots: Longs,
    masks: Words,
    out: Longs,
) -> None:
    at = np.empty(LANES, dtype=np.uint64)
    thresholds = nodes.view(np.float32)
    is_plain = is_plain_table(x, masks)
    for t in range(len(roots)):
        for first in range(0, x.shape[0], LANES):
            n = min(LANES, x.shape[0] - first)
            walk_lanes(x, first, n, nodes, thresholds, roots[t], masks, is_plain, at)
            for lane in range(n):
                out[first + lane, t] = np.int64(at[lane]) - roots[t]
