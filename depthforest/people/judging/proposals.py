"""Proposals: sets of grid cells that may be one person, for the judge; they may overlap.

They are the assembled bodies and their alternatives: single regions, bodies without the cells that look less like a
person than the rest (furniture that touches a person), and two bodies as one (a person behind a rail).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise

import cv2
import numpy as np
import numpy.typing as npt

from depthforest.base import Bytes, Floats, Longs, Singles, kernel
from depthforest.people.bodies import find_bodies
from depthforest.people.grid import DepthGrid
from depthforest.people.survey import SurveyedRoom

TRIM_QUANTILE, TRIM_SHARE = 0.75, 0.4
"""A body's cells are trimmed off if they look like a person less than this share of the body's given quantile."""

TRIM_MIN_SHARE, TRIM_MAX_SHARE = 0.3, 0.95
"""Shares of a body's cells. A trimmed body must keep at least the first; if it keeps more than the second, it is the
same body."""

PIECE_MIN_SHARE = 0.08
"""Share of a trimmed body's cells. Connected pieces with fewer are dropped: they are remains of things."""

UNION_MAX_OFFSET_M = 0.6
"""Largest distance in meters, seen from above, between the middles of two bodies that may be one person."""

UNION_MAX_HEIGHT_M, UNION_MAX_WIDTH_M = 2.3, 1.8
"""Meters. Two bodies that together are higher or wider are not one person."""

MAX_UNIONS = 8
"""Most pairs in a frame; those with the nearest middles are kept."""


def propose(
    grid: DepthGrid, room: SurveyedRoom, person: Singles, is_open: npt.NDArray[np.bool_], least: float
) -> list[Longs]:
    """Return possible people: the cells of each proposal, numbered row by row.

    Parameters
    ----------
    grid : DepthGrid
    room : SurveyedRoom
        Room of the grid.
    person : array (rows, cols), float32
        How much cells look like a person, averaged over their neighborhood.
    is_open : array (rows, cols), bool
        Cells with readings that belong neither to the room nor to a face.
    least : float
        Cells that look less like a person belong to the room.
    """
    pictures = find_bodies(grid, room, is_open & (person >= least))
    if not pictures:
        return []
    bodies, alone = (list(cells_by_number(cells)) for cells in pictures)
    trimmed = [kept for body in bodies if (kept := _trimmed(body, person, is_open)) is not None]
    return [*bodies, *alone, *trimmed, *_unions(grid, room.axes, bodies)]


def cells_by_number(cells: Bytes) -> Iterator[Longs]:
    """Return the cells of each number from 1, numbered row by row; numbers have no gaps."""
    ends, order = np.zeros(256, dtype=np.int64), np.empty(cells.size, dtype=np.int64)
    n = _sort_cells(cells.reshape(-1), ends, order)
    return (order[begin:end] for begin, end in pairwise(ends[:n].tolist()))


@kernel
def _sort_cells(cells: Bytes, ends: Longs, order: Longs) -> int:
    """Write the cells of each number from 1 and where those of each end, from 0 on; return how many ends there are."""
    n, counts = 0, np.zeros(256, dtype=np.int64)
    for i in range(len(cells)):
        counts[cells[i]] += 1
        n = max(n, int(cells[i]))
    for number in range(1, n + 1):
        ends[number] = ends[number - 1] + counts[number]
    counts[1:] = ends[:-1]
    for i in range(len(cells)):
        if cells[i] > 0:
            order[counts[cells[i]]] = i
            counts[cells[i]] += 1
    return n + 1


def _trimmed(body: Longs, person: Singles, is_open: npt.NDArray[np.bool_]) -> Longs | None:
    """Return a body without the cells that look less like a person than the rest; None if that changes little."""
    looks, is_known = person.reshape(-1)[body], is_open.reshape(-1)[body]
    if not is_known.any():
        return None
    level = TRIM_SHARE * _quantile(looks[is_known], TRIM_QUANTILE)
    kept = body[(looks >= level) | ~is_known]
    if len(kept) >= TRIM_MAX_SHARE * len(body):
        return None
    picture = np.zeros(person.shape, dtype=np.uint8)
    picture.reshape(-1)[kept] = 1
    _, pieces = cv2.connectedComponents(picture, connectivity=8)
    numbers = np.asarray(pieces).reshape(-1)[kept]
    kept = kept[np.bincount(numbers)[numbers] >= PIECE_MIN_SHARE * len(kept)]
    return kept if len(kept) >= TRIM_MIN_SHARE * len(body) else None


def _quantile(values: Singles, share: float) -> float:
    """Return an interpolated quantile as numpy does, without its checks, which take longer than the computation."""
    place = share * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    ordered = np.partition(values, (low, high))
    return float(ordered[low]) + (place - low) * float(ordered[high] - ordered[low])


def _unions(grid: DepthGrid, axes: Singles, bodies: list[Longs]) -> list[Longs]:
    """Return pairs of bodies that may be one person."""
    if len(bodies) < 2:
        return []
    points = grid.points.reshape(4, -1)[:3]
    boxes: list[tuple[Floats, Floats, Floats]] = []
    for body in bodies:
        at = axes @ points[:, body]
        boxes.append((at.mean(axis=1), at.min(axis=1), at.max(axis=1)))
    pairs = []
    for i, k in combinations(range(len(bodies)), 2):
        offset = boxes[i][0] - boxes[k][0]
        size = np.maximum(boxes[i][2], boxes[k][2]) - np.minimum(boxes[i][1], boxes[k][1])
        apart = float(np.hypot(offset[0], offset[2]))
        if apart < UNION_MAX_OFFSET_M and size[1] < UNION_MAX_HEIGHT_M and max(size[0], size[2]) < UNION_MAX_WIDTH_M:
            pairs.append((apart, i, k))
    return [np.union1d(bodies[i], bodies[k]) for _, i, k in sorted(pairs)[:MAX_UNIONS]]
