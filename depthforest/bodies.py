"""Bodies: which cells of a depth grid are people; what remains when room and furniture are taken away, judged by shape.

Floor and walls (`planes`) and the faces of furniture (`faces`) are taken away. What is left falls into regions at depth
jumps; regions that are close become one body; and a body is somebody if its size, height and shape are those of people.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from depthforest.depthgrid import DepthGrid, Floats32
from depthforest.faces import give_back_faces, take_faces
from depthforest.parting import part_bodies
from depthforest.planes import ROOM_AREA, assign_planes, find_floor, find_planes, find_up, plane_table
from depthforest.regions import (
    AREA,
    BEHIND,
    BORDER,
    CUT,
    FACED,
    FLOORED,
    HIGH,
    LOW,
    MIDDLE,
    N_CELLS,
    N_MEASURES,
    THICKNESS,
    Labels,
    label_regions,
    measure_gaps,
    measure_regions,
    merge_measures,
    room_axes,
    roundness,
)

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]
Owners = npt.NDArray[np.int16]

MAX_LIMITS = 8
"""Planes that are looked at to find floor, walls and ceiling."""

PIECE_AREA = 0.003
"""Square metres below which a region is nobody's: half a hand."""

CORE_AREA, CORE_THICKNESS, CORE_ROUNDNESS = 0.03, 0.075, 0.012
"""What a region needs to be the core of a body: square metres, metres from middle to border, `regions.roundness`."""

NEAR_SHARE, NEAR_ROUNDNESS = 0.02, 0.004
"""The same of a region that is near: a share of the picture, and roundness; what is seen of it is small and thin."""

VISITOR_SHARE = 0.008
"""Of the picture, from which what is before the background is somebody, however near."""

LEAST_AREA = 0.03
"""Square metres of the smallest body: a head at the border of the picture."""

LEAST_HEIGHT, LEAST_LENGTH, UNCUT = 0.28, 0.6, 5
"""Metres: who is less high must be longer, unless so many cells lie on the border of the picture."""

LIKENESS_WEIGHTS = (0.19, 0.98, 1.26, -19.3, 8.3, 2.5, -3.45, 4.0)
"""Of what tells people from what else is left of a room: logarithms of square metres, of the share of the picture and
of thickness; share of the border on furniture; how much of its box is filled; height of its top; share of the
border behind something; and 1. Fitted by
logistic regression to 635 bodies of 360 synthetic rooms, two thirds of them with noise; the last then raised by 0.3."""

UNKNOWN_TOP = 1.0
"""Metres above the floor that the top of a body is taken for where no floor is seen."""

GAP = 0.12
"""Metres between pieces of one body that are side by side in the picture."""

WIDE_GAP = 0.3
"""The same for pieces that cannot be somebody else: an arm, or what has no head of its own."""

ARM_AREA, LEG_AREA, HAND_AREA = 0.06, 0.12, 0.08
"""Square metres of the largest such pieces."""

HEAD = 0.3
"""Metres below the top of a body that nobody's head is who stands there."""

TALLEST = 2.1
"""Metres."""

GAP_CELLS = 3
"""Cells between pieces that are side by side."""

ARMS_REACH = 0.45
"""Metres between a body and a hand that is held out to the camera, before an arm that cannot be seen."""

CORE_FACED, PIECE_FACED = 0.25, 0.1
"""Shares of the border on furniture from which a core, and a piece, are a part of that: legs of chairs, edges."""

LOOSE_REST, LOOSE_BEHIND = 0.02, 0.15
"""Largest shares of the border of a loose piece that rest on something, and that are behind something."""

MAX_REGIONS, MAX_BODIES = 400, 200
"""The largest are looked at; there are fewer in any room."""


@dataclass(frozen=True, eq=False)
class Bodies:
    """The people of a depth grid.

    Parameters
    ----------
    cells : array (rows, cols), uint8
        Person of every cell, from 1; 0 = nobody.
    owner : array (rows, cols), int16
        Plane of every cell, as in `planes.assign_planes`.
    planes : array (n, 5), float32
        As `planes.plane_table` gives them.
    """

    cells: Bytes
    owner: Owners
    planes: Floats32


def find_bodies(grid: DepthGrid) -> Bodies:
    """Return the people of a grid of a whole room."""
    found = [plane for plane in find_planes(grid, n=MAX_LIMITS, least_area=ROOM_AREA) if plane.is_room]
    planes = plane_table(found)
    owner = np.empty(grid.shape, dtype=np.int16)
    assign_planes(grid.points, grid.normals, planes, owner)
    axes = room_axes(find_up(found))
    taken, planes = take_faces(grid, planes, axes[1], owner)
    labels, table = _regions(grid, taken, axes)
    floor = find_floor(found)
    ground = np.nan if floor is None else floor.offset
    cells = _assemble(grid, labels, table, axes, ground)
    give_back_faces(grid, planes, owner, taken, cells)
    return Bodies(cells, owner, planes)


def find_visitors(grid: DepthGrid, up: Floats) -> Bytes:
    """Return the person of every cell, from 1, of a grid that holds only what a background does not account for.

    All of it is people and what they brought: what is near somebody belongs to them.
    """
    axes = room_axes(up)
    labels, table = _regions(grid, np.zeros(grid.shape, dtype=np.uint8), axes)
    return _assemble(grid, labels, table, axes, None)


def _regions(grid: DepthGrid, taken: Bytes, axes: Floats32) -> tuple[Labels, Floats]:
    """Return the regions of the cells that are left, those that are too small aside, and their measures."""
    kinds = np.where((taken == 0) & (grid.points[2] > 0), np.int16(0), np.int16(-1))
    labels, stack = np.empty(grid.shape, dtype=np.int32), np.empty(kinds.size, dtype=np.int32)
    n = label_regions(grid.points, kinds, np.float32(grid.spacing), labels, stack)
    n_cells = np.bincount(labels.ravel() + 1, minlength=n + 1)[1:]
    area = np.bincount(labels.ravel() + 1, weights=grid.area.ravel(), minlength=n + 1)[1:]
    is_kept = (area >= PIECE_AREA) & (n_cells >= 3)
    is_kept[np.argsort(-area, kind="stable")[MAX_REGIONS:]] = False
    renumber = np.full(n + 1, -1, dtype=np.int32)
    renumber[:-1][is_kept] = np.arange(is_kept.sum())
    labels = renumber[labels]
    inside = cv2.distanceTransform(np.pad((labels >= 0).astype(np.uint8), 1), cv2.DIST_L2, 3)[1:-1, 1:-1]
    table = np.empty((int(is_kept.sum()), N_MEASURES))
    inside, spacing = np.ascontiguousarray(inside), np.float32(grid.spacing)
    measure_regions(grid.points, grid.normals, grid.area, inside, axes, labels, taken, spacing, table)
    return labels, table


def _assemble(grid: DepthGrid, labels: Labels, table: Floats, axes: Floats32, ground: float | None) -> Bytes:
    """Return the person of every cell.

    `ground` is the height of the floor below the camera, NaN if it is not seen, None where there is no furniture.
    """
    if len(table) == 0:
        return np.zeros(grid.shape, dtype=np.uint8)
    gaps = np.empty((len(table), len(table)), dtype=np.float32)
    measure_gaps(grid.points, labels, GAP_CELLS, gaps)
    is_near = table[:, N_CELLS] >= NEAR_SHARE * labels.size
    bodies = _Assembler(table, gaps)
    bodies.join_cores(is_near)
    bodies.join_pieces()
    bodies.adopt(_is_loose(table) if ground is not None else np.ones(len(table), dtype=np.bool_))
    if ground is None:
        # nobody's, but there: somebody of whom little is seen
        is_large = (table[:, AREA] >= LEAST_AREA) | (table[:, N_CELLS] >= VISITOR_SHARE * labels.size)
        for k in np.flatnonzero((bodies.body == 0) & is_large):
            bodies.found(int(k))
        is_somebody = [True] * len(bodies.merged)
    else:
        is_somebody = [_likeness(m, ground, labels.size) > 0 for m in bodies.merged]
    body = np.append(bodies.body, np.uint8(0))  # -1, no region, counts from the end
    body[~np.array([False, *is_somebody])[body]] = 0
    cells = body[labels]
    part_bodies(grid.points, grid.area, axes, cells)
    return cells


class _Assembler:
    """Regions put together to bodies.

    Parameters
    ----------
    table : array (n, N_MEASURES)
        Measures of the regions.
    gaps : array (n, n), float32
        Metres between them, as in `measure_gaps`.

    Attributes
    ----------
    body : array (n,), uint8
        Body of each region, from 1; 0 = none.
    merged : list of array (N_MEASURES,)
        Measures of each body.
    """

    def __init__(self, table: Floats, gaps: Floats32) -> None:
        self._table, self._gaps = table, gaps
        self.body = np.zeros(len(table), dtype=np.uint8)
        self.merged: list[Floats] = []

    def found(self, region: int) -> None:
        """Make a region a body of its own; beyond the numbers that there are, it is none."""
        if len(self.merged) < MAX_BODIES:
            self.merged.append(self._table[region])
            self.body[region] = len(self.merged)

    def join(self, region: int, body: int) -> None:
        """Add a region to a body."""
        self.body[region] = body
        self.merged[body - 1] = merge_measures(np.stack([self.merged[body - 1], self._table[region]]))

    def join_cores(self, is_near: npt.NDArray[np.bool_]) -> None:
        """Make bodies of cores, the largest first, where they are not a part of a larger one."""
        table, rounds = self._table, roundness(self._table)
        is_core = (table[:, AREA] >= CORE_AREA) & (table[:, THICKNESS] >= CORE_THICKNESS) & (rounds >= CORE_ROUNDNESS)
        is_core |= is_near & (rounds >= NEAR_ROUNDNESS)
        is_core &= table[:, FACED] <= CORE_FACED * table[:, BORDER]
        for k in sorted(np.flatnonzero(is_core).tolist(), key=lambda i: -table[i, AREA]):
            for number, measures in enumerate(self.merged, start=1):
                gap = float(self._gaps[k, self.body == number].min())
                if _belong_together(measures, table[k], gap):
                    self.join(k, number)
                    break
            else:
                self.found(k)

    def join_pieces(self) -> None:
        """Give pieces to the bodies that they touch, the nearest first; those of furniture to none."""
        is_free = (self.body == 0) & (self._table[:, FACED] <= PIECE_FACED * self._table[:, BORDER])
        while True:
            free, owned = np.flatnonzero(is_free), np.flatnonzero(self.body)
            if not len(free) or not len(owned):
                return
            near = self._gaps[np.ix_(free, owned)]
            i, k = np.unravel_index(int(np.argmin(near)), near.shape)
            if not near[i, k] < GAP:
                return
            self.join(int(free[i]), int(self.body[owned[k]]))
            is_free[free[i]] = False

    def adopt(self, is_loose: npt.NDArray[np.bool_]) -> None:
        """Give loose pieces to the bodies whose boxes are nearest, if they are within an arm's reach."""
        if not self.merged:
            return
        bodies = np.stack(self.merged)
        for k in np.flatnonzero((self.body == 0) & is_loose):
            over = np.maximum(bodies[:, LOW : LOW + 3] - self._table[k, HIGH : HIGH + 3], 0)
            under = np.maximum(self._table[k, LOW : LOW + 3] - bodies[:, HIGH : HIGH + 3], 0)
            gaps = np.linalg.norm(over + under, axis=1)
            nearest = int(np.argmin(gaps))
            if gaps[nearest] < ARMS_REACH:
                self.body[k] = nearest + 1


def _is_loose(table: Floats) -> npt.NDArray[np.bool_]:
    """Tell which regions rest on nothing, and nothing is before them: hands that are held out."""
    border = table[:, BORDER]
    rests = table[:, FACED] + table[:, FLOORED]
    return np.asarray(
        (rests <= LOOSE_REST * border) & (table[:, BEHIND] < LOOSE_BEHIND * border) & (table[:, AREA] < HAND_AREA)
    )


def _likeness(body: Floats, ground: float, n_cells: int) -> float:
    """Return how like a person a body is: above 0 it is one.

    Parameters
    ----------
    body : array (N_MEASURES,)
    ground : float
        Height of the floor below the camera in metres; NaN if there is none.
    n_cells : int
        Of the whole grid.
    """
    size = np.maximum(body[HIGH : HIGH + 3] - body[LOW : LOW + 3], 0.02)
    is_tiny = body[AREA] < LEAST_AREA and body[N_CELLS] < NEAR_SHARE * n_cells
    is_short = size[1] < LEAST_HEIGHT and max(size[0], size[2]) < LEAST_LENGTH
    if is_tiny or (body[CUT] < UNCUT and is_short):
        return -np.inf
    top = body[HIGH + 1] + ground
    features = (
        np.log(body[AREA]),
        np.log(body[N_CELLS] / n_cells),
        np.log(max(body[THICKNESS], 0.01)),
        min(body[FACED] / max(body[BORDER], 1), 0.3),
        min(body[AREA] / (size[0] * size[1]), 0.6),
        UNKNOWN_TOP if np.isnan(top) else min(max(top, 0.2), 1.5),
        body[BEHIND] / max(body[BORDER], 1),
        1.0,
    )
    return float(np.dot(LIKENESS_WEIGHTS, features))


def _belong_together(body: Floats, piece: Floats, gap: float) -> bool:
    """Tell whether a core is a part of a larger body: a forearm before the trunk, legs under a table."""
    if gap < GAP:
        return True
    apart = np.abs(body[MIDDLE : MIDDLE + 3] / body[AREA] - piece[MIDDLE : MIDDLE + 3] / piece[AREA])
    tops, bottoms = (body[HIGH + 1], piece[HIGH + 1]), (body[LOW + 1], piece[LOW + 1])
    is_lower = tops[0] - tops[1] > HEAD
    if gap < WIDE_GAP and max(apart[0], apart[2]) < 0.5 and piece[AREA] < (LEG_AREA if is_lower else ARM_AREA):
        return True
    # one above the other, with something before the middle
    shared = (min(tops) - max(bottoms)) / max(tops[1] - bottoms[1], 0.01)
    return bool(apart[0] < 0.3 and apart[2] < 0.4 and shared < 0.5 and max(tops) - min(bottoms) < TALLEST)
