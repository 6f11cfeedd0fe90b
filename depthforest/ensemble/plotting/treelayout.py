"""Positions of the boxes of a drawn tree: a tidy layout from left to right, without a drawing library.

Text is wide and flat, so the tree grows to the right: a column per depth, with the boxes of a column below each other.
A subtree is moved as close to its sibling as their outlines allow (Reingold and Tilford 1981), and a parent is placed
midway between its two children. `treedrawing` turns columns and rows into a picture.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Links = npt.NDArray[np.intp]

NO_CHILD = -1


@dataclass(frozen=True, slots=True)
class Place:
    """The position of one node that is shown.

    Attributes
    ----------
    node : int
        Index of the node in the tree.
    parent : int
        Index of its parent; -1 for the root.
    column : int
        Its depth.
    row : float
        Its vertical center, in row heights, from 0 downward; two nodes of a column are at least 1 apart.
    kind : str
        "split" (both children are shown), "leaf", or "cut" (its children are too deep to be shown).
    """

    node: int
    parent: int
    column: int
    row: float
    kind: str


def lay_out(left: Links, right: Links, max_depth: int) -> list[Place]:
    """Return the positions of all nodes down to `max_depth`, parents before children.

    Parameters
    ----------
    left, right : (n_nodes,) integer arrays
        Children of each node; -1 in both if there are none. Node 0 is the root.
    max_depth : int
        Depth of the last column shown; the root has 0.
    """
    order = _shown_nodes(left, right, max_depth)
    gaps = _child_gaps(order, left, right, max_depth)
    rows = {0: 0.0}
    for node, _, depth in order:
        if left[node] != NO_CHILD and depth < max_depth:
            rows[int(left[node])] = rows[node] - gaps[node] / 2
            rows[int(right[node])] = rows[node] + gaps[node] / 2
    top = min(rows.values())
    places = []
    for node, parent, depth in order:
        kind = "leaf" if left[node] == NO_CHILD else "split" if depth < max_depth else "cut"
        places.append(Place(node, parent, depth, rows[node] - top, kind))
    return places


def _shown_nodes(left: Links, right: Links, max_depth: int) -> list[tuple[int, int, int]]:
    """Return (node, parent, depth) level by level, each level from top to bottom."""
    order = [(0, NO_CHILD, 0)]
    for node, _, depth in order:  # grows while the loop runs
        if left[node] != NO_CHILD and depth < max_depth:
            order += [(int(left[node]), node, depth + 1), (int(right[node]), node, depth + 1)]
    return order


def _child_gaps(order: list[tuple[int, int, int]], left: Links, right: Links, max_depth: int) -> dict[int, float]:
    """Return for each shown split the distance of its children: the least that keeps their subtrees 1 apart."""
    # outline of a subtree, relative to its root: (topmost, lowest) row in its own column, the next column, ...
    outlines: dict[int, list[tuple[float, float]]] = {}
    gaps: dict[int, float] = {}
    for node, _, depth in reversed(order):
        outlines[node] = [(0.0, 0.0)]
        if left[node] == NO_CHILD or depth == max_depth:
            continue
        upper, lower = outlines.pop(int(left[node])), outlines.pop(int(right[node]))
        gap = max(1.0 + above[1] - below[0] for above, below in zip(upper, lower, strict=False))
        gaps[node] = gap
        for column in range(max(len(upper), len(lower))):
            tops, ends = [], []
            for outline, shift in ((upper, -gap / 2), (lower, gap / 2)):
                if column < len(outline):
                    tops.append(outline[column][0] + shift)
                    ends.append(outline[column][1] + shift)
            outlines[node].append((min(tops), max(ends)))
    return gaps
