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

import numpy as np
import numpy.typing as npt

from depthforest.features import MAX_UNITS
from depthforest.forest import Forest
from depthforest.kernels import kernel

_FINEST = 40
"""Units down to 2^-40 m are tried: finer than float32 resolves at a millimetre."""

COMPACT_COLUMNS, WIDE_COLUMNS = 4, 8
"""Columns of the int32 view of a row; the last one is where the children are."""


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
    unit_m : float32
        Metres; a power of two.
    depth : int
        Steps until every pixel has arrived.
    """

    values: npt.NDArray[np.int16] | npt.NDArray[np.float32]
    links: npt.NDArray[np.int32]
    roots: npt.NDArray[np.int64]
    leaf_of: npt.NDArray[np.int32]
    unit_m: np.float32
    depth: int

    @property
    def n_bytes(self) -> int:
        """Memory of the rows."""
        return self.values.nbytes


def unit_of(offsets: npt.NDArray[np.float32]) -> float | None:
    """Return the largest power of two (metres) of which all offsets are whole multiples that fit int16, or None."""
    exact = offsets.astype(np.float64)
    for exponent in range(-4, _FINEST + 1):
        units = np.ldexp(exact, exponent)
        if np.abs(units).max(initial=0) > MAX_UNITS:
            return None
        if (units == np.rint(units)).all():
            return 2.0**-exponent
    return None


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
    values: npt.NDArray[np.int16] | npt.NDArray[np.float32]
    if unit is None:
        values = np.zeros((n, 8), dtype=np.float32)
        values[node_rows, :4] = forest.offsets
    else:
        values = np.zeros((n, 8), dtype=np.int16)
        values[node_rows, :4] = np.rint(forest.offsets.astype(np.float64) / unit)
    links = values.view(np.int32)
    links[:, -1] = np.arange(n)  # leaves, and the unused row beside a root, lead to themselves
    values[node_rows, 4] = forest.thresholds
    lefts = forest.children[:, 0]
    links[node_rows, -1] = np.where(lefts >= 0, node_rows[np.maximum(lefts, 0)], leaf_rows[np.maximum(~lefts, 0)])
    leaf_of = np.full(n, -1, dtype=np.int32)
    leaf_of[leaf_rows] = np.arange(forest.n_leaves)
    return PackedForest(values, links, roots, leaf_of, np.float32(1.0 if unit is None else unit), forest.depth)


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
