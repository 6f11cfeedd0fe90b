"""Packing: a forest's nodes as kernels walk them fastest.

Each node is one row of 16 bytes that holds all that a step needs, so that a step waits for memory once:

    int16 x 4   u_x, u_y, v_x, v_y in units of a power of two of metres
    int16       threshold, millimetres
    int16       unused
    int32       where its children are: the left one there, the right one behind it

Siblings lie side by side, and a left child's children follow their parent's siblings (depth first): where most pixels
go, memory is read in order. A leaf is a row that leads to itself, so that pixels walk in step and nobody asks who has
arrived. Offsets that are no whole multiples of such a unit (of foreign models) make rows of 32 bytes, float32 instead
of int16. Either way the numbers are those of the forest, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.features import MAX_UNITS, probe_unit
from depthforest.forest import Forest
from depthforest.kernels import kernel

LEAF_COLUMNS = 16
"""Leaves have a multiple of so many columns, the last ones 0: vector instructions take them whole."""

_LINE = 64
"""Bytes of a cache line, in which one or two leaves lie."""


@dataclass(frozen=True)
class PackedForest:
    """Nodes in rows, and what leaves are.

    Parameters
    ----------
    values : array (n, 8), int16 or float32
        Rows as above; the threshold is in column 4.
    links : array (n, 4 or 8), int32
        The same memory; the children's place is in the last column.
    roots : array (n_trees,), int64
        Rows.
    leaf_of : array (n,), int32
        Which leaf a row is; -1 for splits.
    leaves : array (n_leaves, n_columns), uint8
        Distributions in 255ths; columns past the parts hold 0.
    unit_m : float32
        Metres; a power of two.
    depth : int
        Steps until every pixel has arrived.
    """

    values: npt.NDArray[np.int16] | npt.NDArray[np.float32]
    links: npt.NDArray[np.int32]
    roots: npt.NDArray[np.int64]
    leaf_of: npt.NDArray[np.int32]
    leaves: npt.NDArray[np.uint8]
    unit_m: np.float32
    depth: int

    @property
    def n_bytes(self) -> int:
        """Memory of the rows."""
        return self.values.nbytes


def unit_of(offsets: npt.NDArray[np.float32]) -> np.float32 | None:
    """Return a power of two (metres) of which all offsets are whole multiples that fit int16, or None.

    Where there is one, the smallest of which the longest offset takes no more than int16 holds is one too.
    """
    reach = float(np.abs(offsets).max(initial=0))
    if reach == 0:
        return np.float32(1)
    unit = probe_unit(reach)
    units = offsets / unit
    is_whole = bool((units == np.rint(units)).all()) and reach <= MAX_UNITS * float(unit)
    return unit if is_whole else None


def pack(forest: Forest, *, is_depth_first: bool = True, is_compact: bool | None = None) -> PackedForest:
    """Pack a forest's nodes.

    Parameters
    ----------
    forest : Forest
        Checked, as every Forest is: the kernels that walk what is made here check nothing.
    is_depth_first : bool
        Or breadth first; for comparison.
    is_compact : bool, optional
        Rows of 16 bytes; omitted: if the offsets allow it. False is for comparison.
    """
    unit = unit_of(forest.offsets) if is_compact is not False else None
    node_rows, leaf_rows = np.empty(forest.n_nodes, np.int32), np.empty(forest.n_leaves, np.int32)
    roots = 2 * np.arange(forest.n_trees, dtype=np.int64)
    if is_depth_first:
        stack = np.empty(forest.n_nodes + 1, dtype=np.int32)
        _number_depth_first(forest.roots, forest.children, stack, node_rows, leaf_rows)
    else:
        _number_breadth_first(forest, node_rows, leaf_rows)
    n = 2 * (forest.n_nodes + forest.n_trees)
    values: npt.NDArray[Any] = np.zeros((n, 8), dtype=np.float32 if unit is None else np.int16)
    leaf_of = np.empty(n, dtype=np.int32)
    scale = np.float32(1) if unit is None else unit
    _fill_rows(
        forest.offsets, np.float32(1 / scale), forest.thresholds, forest.children, node_rows, leaf_rows,
        values, values.view(np.int32), leaf_of,
    )  # fmt: skip
    leaves = _padded(forest.leaves)
    return PackedForest(values, values.view(np.int32), roots, leaf_of, leaves, scale, forest.depth)


def _padded(leaves: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return leaves with a multiple of `LEAF_COLUMNS` columns, the first at the start of a cache line."""
    n_leaves, n_parts = leaves.shape
    n_columns = -(-n_parts // LEAF_COLUMNS) * LEAF_COLUMNS
    memory = np.zeros(n_leaves * n_columns + _LINE, dtype=np.uint8)
    start = -memory.ctypes.data % _LINE
    padded = memory[start : start + n_leaves * n_columns].reshape(n_leaves, n_columns)
    padded[:, :n_parts] = leaves
    return padded


@kernel
def _fill_rows(offsets, inverse, thresholds, children, node_rows, leaf_rows, values, links, leaf_of):  # type: ignore[no-untyped-def]
    last = links.shape[1] - 1
    for row in range(len(links)):
        links[row, last] = row  # leaves, and the unused row beside a root, lead to themselves
        leaf_of[row] = -1
    for leaf in range(len(leaf_rows)):
        leaf_of[leaf_rows[leaf]] = leaf
    for node in range(len(node_rows)):
        row, left = node_rows[node], children[node, 0]
        for k in range(4):
            values[row, k] = offsets[node, k] * inverse  # exact: a power of two, and whole numbers for int16
        values[row, 4] = thresholds[node]
        links[row, last] = node_rows[left] if left >= 0 else leaf_rows[~left]


@kernel
def _place(link: int, row: int, node_rows: npt.NDArray[np.int32], leaf_rows: npt.NDArray[np.int32]) -> None:
    if link >= 0:
        node_rows[link] = row
    else:
        leaf_rows[~link] = row


@kernel
def _number_depth_first(
    roots: npt.NDArray[np.int32],
    children: npt.NDArray[np.int32],
    stack: npt.NDArray[np.int32],
    node_rows: npt.NDArray[np.int32],
    leaf_rows: npt.NDArray[np.int32],
) -> None:
    """Give rows their numbers: the roots first, each beside an unused row, then the children of nodes, depth first."""
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


def _number_breadth_first(forest: Forest, node_rows: npt.NDArray[np.int32], leaf_rows: npt.NDArray[np.int32]) -> None:
    for tree, root in enumerate(forest.roots):
        _place(root, 2 * tree, node_rows, leaf_rows)
    row = 2 * forest.n_trees
    for root in forest.roots:
        level = np.array([root] if root >= 0 else [], dtype=np.int32)
        while len(level):
            below = forest.children[level].ravel()
            rows = row + np.arange(len(below), dtype=np.int32)
            node_rows[below[below >= 0]] = rows[below >= 0]
            leaf_rows[~below[below < 0]] = rows[below < 0]
            row += len(below)
            level = below[below >= 0]
