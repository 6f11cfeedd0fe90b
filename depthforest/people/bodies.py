"""Bodies: which cells of a depth grid may be people, by shape, after room and furniture are removed.

Floor and walls (`planes`) and the faces of furniture (`faces`) are removed. The rest is split into regions at depth
jumps, and close regions become one body. A body may be a person if it has a person's size, height and shape.
"""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from depthforest.base import Bytes, Floats, Longs, Singles, kernel
from depthforest.people.faces import THING, give_back_faces
from depthforest.people.grid import DepthGrid
from depthforest.people.regions import (
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
from depthforest.people.survey import SurveyedRoom
from depthforest.people.touching import part_bodies

MAX_REGIONS, MAX_BODIES = 400, 200
"""Most regions and most bodies: only the largest regions are used, and body numbers are bytes. No room has as many."""

# -- what a region is --------------------------------------------------------------------------------------------------

PIECE_MIN_AREA_M2 = 0.003
"""Square meters. A smaller region is noise: half a hand is larger."""

PIECE_MIN_CELLS = 3
"""Cells of the grid. Fewer cells cannot be measured."""

CORE_MIN_AREA_M2 = 0.03
"""Square meters. A body is built around a core: a region at least as large as a head."""

CORE_MIN_THICKNESS_M = 0.075
"""Meters from the middle of a core to its border: heads and trunks are thicker, chair legs thinner."""

CORE_MIN_ROUNDNESS = 0.012
"""`regions.roundness` of a core: people are round, boards are flat."""

NEAR_MIN_SHARE = 0.02
"""A region with this share of the grid's cells is near the camera. Only a small part of a near body is in the
picture."""

NEAR_MIN_ROUNDNESS = 0.004
"""Smallest `regions.roundness` of a near core, whose visible part is small and looks flat."""

VISITOR_MIN_SHARE = 0.008
"""A region in front of a known background with this share of the grid's cells is a person, however near."""

CORE_MAX_FACED_SHARE, PIECE_MAX_FACED_SHARE = 0.25, 0.1
"""Shares of the border. A core or a piece with more of its border on furniture is part of it: a chair leg, an edge."""

# -- which regions are one body ----------------------------------------------------------------------------------------

GAP_REACH_CELLS = 3
"""Cells of the grid. Gaps are measured between regions that are at most this far apart in the picture."""

SAME_BODY_GAP_M = 0.12
"""Meters. Regions with a smaller gap in space are one body."""

LIMB_GAP_M = 0.3
"""Meters. The same for a region that is too small to be a separate person: an arm, or a leg."""

LIMB_MAX_OFFSET_M = 0.5
"""Meters, sideways or in depth, between the middle of a body and the middle of such a limb."""

ARM_MAX_AREA_M2, LEG_MAX_AREA_M2 = 0.06, 0.12
"""Square meters. The largest limb beside a head, and the largest below one."""

HEAD_DROP_M = 0.3
"""Meters. A region whose top is this far below the body's top cannot be a standing person's head."""

STACKED_MAX_SIDE_OFFSET_M, STACKED_MAX_DEPTH_OFFSET_M = 0.3, 0.4
"""Meters between the middles of two regions of one body, one above the other, with a table in front of the waist."""

STACKED_MAX_SHARED_HEIGHT = 0.5
"""Share of the smaller region's height. With more overlap, the two are people side by side."""

STACKED_MIN_HEIGHT_M = 0.01
"""Meters. Lower bound of the smaller region's height, because the share divides by it."""

PERSON_MAX_HEIGHT_M = 2.1
"""Meters from the lowest to the highest point of one person."""

ARM_REACH_M = 0.45
"""Meters between a body and a hand held out to the camera: the hand hides the arm."""

HAND_MAX_AREA_M2 = 0.08
"""Largest surface of such a hand in square meters."""

LOOSE_MAX_RESTING_SHARE, LOOSE_MAX_BEHIND_SHARE = 0.02, 0.15
"""Shares of the border of such a hand. A region with more of its border on room or furniture, or behind something, is
an object."""

ALONE_MAX_SHARE = 0.95
"""Share of a body's cells. A region with more of them is not also a candidate by itself."""

# -- which bodies are people -------------------------------------------------------------------------------------------

PERSON_MIN_AREA_M2 = 0.03
"""Square meters of the smallest visible person: a head at the border of the picture."""

PERSON_MIN_HEIGHT_M, PERSON_MIN_LENGTH_M = 0.28, 0.6
"""Meters. A lower body must be at least this long: a person who lies."""

CUT_MIN_CELLS = 5
"""With this many cells on the border of the picture, a body is cut by it. A cut body may be lower and shorter."""


def find_bodies(grid: DepthGrid, room: SurveyedRoom, is_free: npt.NDArray[np.bool_]) -> list[Bytes]:
    """Return possible people as pictures of the cells, numbered from 1 without gaps; 0 = none.

    In the first picture, regions are assembled into bodies. In the second, each region is by itself, except those that
    are already a body in the first: an object may stand close to a person.

    Parameters
    ----------
    grid : DepthGrid
    room : SurveyedRoom
        Room of the grid.
    is_free : array (rows, cols), bool
        Cells that may belong to a person.
    """
    taken = room.taken + np.uint8(THING) * (~is_free & (room.taken == 0)).view(np.uint8)
    labels, table = _regions(grid, taken, room.axes)
    if len(table) == 0:
        return []
    bodies = _assemble(grid, labels, table, room.axes, is_furnished=True)
    give_back_faces(grid, room.planes, room.owner, room.taken, bodies)
    alone = _regions_alone(labels, table, bodies)
    return [_numbered(cells) for cells in (bodies, alone)]


def _regions_alone(labels: Labels, table: Floats, bodies: Bytes) -> Bytes:
    """Return the cells of regions that may be a person by themselves but are part of one or more bodies."""
    n = len(table) + 1
    is_large = np.array([_is_large(row, labels.size) for row in table])
    if not is_large.any():
        return np.zeros(labels.shape, dtype=np.uint8)
    shared = np.zeros((n, 256), dtype=np.int64)
    _count_shared(labels, bodies, shared)
    sizes = shared.sum(axis=0)
    largest = shared[1:, 1:].argmax(axis=1) + 1
    # a region that is nearly all of a body is the same candidate
    is_same = shared[np.arange(1, n), largest] > ALONE_MAX_SHARE * sizes[largest]
    chosen = np.flatnonzero(is_large & ~is_same)[:MAX_BODIES]
    renumber = np.zeros(n, dtype=np.uint8)
    renumber[chosen] = np.arange(1, len(chosen) + 1)
    return _renumbered(labels, renumber)


def _renumbered(labels: Labels, numbers: Bytes) -> Bytes:
    """Return the number of each cell's region; the last number stands for no region."""
    cells = np.empty(labels.shape, dtype=np.uint8)
    _look_up(labels, numbers, cells)
    return cells


@kernel
def _look_up(labels: Labels, numbers: Bytes, cells: Bytes) -> None:
    """Write the number of each cell's region; -1, no region, gets the last number."""
    for row in range(labels.shape[0]):
        for col in range(labels.shape[1]):
            cells[row, col] = numbers[labels[row, col]]


@kernel
def _keep_regions(labels: Labels, renumber: Labels, is_region: Bytes) -> None:
    """Renumber regions; write 1 for cells that have a region, with a margin of one cell of 0."""
    is_region[:] = 0
    for row in range(labels.shape[0]):
        for col in range(labels.shape[1]):
            labels[row, col] = renumber[labels[row, col]]
            is_region[row + 1, col + 1] = labels[row, col] >= 0


@kernel
def _count_shared(labels: Labels, bodies: Bytes, shared: Longs) -> None:
    """Count the cells (n_regions + 1, 256) that each region, from 1, shares with each body."""
    for row in range(labels.shape[0]):
        for col in range(labels.shape[1]):
            shared[labels[row, col] + 1, bodies[row, col]] += 1


def _numbered(cells: Bytes) -> Bytes:
    """Renumber bodies without gaps, in place."""
    _close_gaps(cells.reshape(-1))
    return cells


@kernel
def _close_gaps(cells: Bytes) -> None:
    """Renumber cells from 1 without gaps, in the same order; 0 stays."""
    numbers = np.zeros(256, dtype=np.uint8)
    for i in range(len(cells)):
        numbers[cells[i]] = 1
    numbers[0] = 0
    for k in range(1, 256):
        numbers[k] = numbers[k - 1] + 1 if numbers[k] else numbers[k - 1]
    for i in range(len(cells)):
        cells[i] = numbers[cells[i]] if cells[i] else 0


def find_visitors(grid: DepthGrid, up: Floats) -> Bytes:
    """Return the person of every cell, from 1 without gaps, in a grid of readings that the background does not explain.

    All cells are people and things that they brought; a region near a person belongs to them.
    """
    axes = room_axes(up)
    labels, table = _regions(grid, np.zeros(grid.shape, dtype=np.uint8), axes)
    return _numbered(_assemble(grid, labels, table, axes, is_furnished=False))


def _regions(grid: DepthGrid, taken: Bytes, axes: Singles) -> tuple[Labels, Floats]:
    """Return the regions of the remaining cells, without those that are too small, and their measures."""
    labels, stack = np.empty(grid.shape, dtype=np.int32), np.empty(taken.size, dtype=np.int32)
    sizes, spacing = np.empty((taken.size, 2)), np.float32(grid.spacing)
    n = label_regions(grid.points, grid.area, taken, spacing, taken, labels, stack, sizes)
    n_cells, area = sizes[:n].T
    is_kept = (area >= PIECE_MIN_AREA_M2) & (n_cells >= PIECE_MIN_CELLS)
    if n > MAX_REGIONS:
        is_kept[np.argsort(-area, kind="stable")[MAX_REGIONS:]] = False
    n_kept = np.count_nonzero(is_kept)
    renumber = np.full(n + 1, -1, dtype=np.int32)
    renumber[:-1][is_kept] = np.arange(n_kept)
    is_region = np.empty((labels.shape[0] + 2, labels.shape[1] + 2), dtype=np.uint8)
    _keep_regions(labels, renumber, is_region)
    inside = np.asarray(cv2.distanceTransform(is_region, cv2.DIST_L2, 3))
    table = np.empty((n_kept, N_MEASURES))
    measure_regions(grid.points, grid.normals, grid.area, inside, axes, labels, taken, spacing, table)
    return labels, table


def _assemble(grid: DepthGrid, labels: Labels, table: Floats, axes: Singles, *, is_furnished: bool) -> Bytes:
    """Return the body of every cell; without furniture, every region belongs to a person."""
    if len(table) == 0:
        return np.zeros(grid.shape, dtype=np.uint8)
    gaps = np.empty((len(table), len(table)), dtype=np.float32)
    measure_gaps(grid.points, labels, GAP_REACH_CELLS, gaps)
    is_near = table[:, N_CELLS] >= NEAR_MIN_SHARE * labels.size
    bodies = _Assembler(table, gaps)
    bodies.join_cores(is_near)
    bodies.join_pieces()
    bodies.adopt(_is_loose(table) if is_furnished else np.ones(len(table), dtype=np.bool_))
    if is_furnished:
        is_somebody = [_is_large(m, labels.size) for m in bodies.merged]
    else:
        # not part of a body, but large: a person who is mostly hidden
        is_large = (table[:, AREA] >= PERSON_MIN_AREA_M2) | (table[:, N_CELLS] >= VISITOR_MIN_SHARE * labels.size)
        for k in np.flatnonzero((bodies.body == 0) & is_large):
            bodies.found(int(k))
        is_somebody = [True] * len(bodies.merged)
    body = np.append(bodies.body, np.uint8(0))  # -1, no region, counts from the end
    body[~np.array([False, *is_somebody])[body]] = 0
    cells = _renumbered(labels, body)
    part_bodies(grid.points, grid.area, axes, cells)
    return cells


class _Assembler:
    """Assembles regions into bodies.

    Parameters
    ----------
    table : array (n, N_MEASURES)
        Measures of the regions.
    gaps : array (n, n), float32
        Meters between them, as in `measure_gaps`.

    Attributes
    ----------
    body : array (n,), uint8
        Body of each region, from 1; 0 = none.
    merged : list of array (N_MEASURES,)
        Measures of each body.
    """

    def __init__(self, table: Floats, gaps: Singles) -> None:
        self._table, self._gaps = table, gaps
        self.body = np.zeros(len(table), dtype=np.uint8)
        self.merged: list[Floats] = []

    def found(self, region: int) -> None:
        """Make a region a body of its own, unless all numbers are used."""
        if len(self.merged) < MAX_BODIES:
            self.merged.append(self._table[region])
            self.body[region] = len(self.merged)

    def join(self, region: int, body: int) -> None:
        """Add a region to a body."""
        self.body[region] = body
        self.merged[body - 1] = merge_measures(np.stack([self.merged[body - 1], self._table[region]]))

    def join_cores(self, is_near: npt.NDArray[np.bool_]) -> None:
        """Make bodies of cores, the largest first, unless they are part of a larger body."""
        table, rounds = self._table, roundness(self._table)
        is_core = (
            (table[:, AREA] >= CORE_MIN_AREA_M2)
            & (table[:, THICKNESS] >= CORE_MIN_THICKNESS_M)
            & (rounds >= CORE_MIN_ROUNDNESS)
        )
        is_core |= is_near & (rounds >= NEAR_MIN_ROUNDNESS)
        is_core &= table[:, FACED] <= CORE_MAX_FACED_SHARE * table[:, BORDER]
        for k in sorted(np.flatnonzero(is_core).tolist(), key=lambda i: -table[i, AREA]):
            for number, measures in enumerate(self.merged, start=1):
                gap = float(self._gaps[k, self.body == number].min())
                if _belong_together(measures, table[k], gap):
                    self.join(k, number)
                    break
            else:
                self.found(k)

    def join_pieces(self) -> None:
        """Add pieces to the bodies that they touch, the nearest first; pieces of furniture to none."""
        is_free = (self.body == 0) & (self._table[:, FACED] <= PIECE_MAX_FACED_SHARE * self._table[:, BORDER])
        joined = np.empty(len(self.body), dtype=np.int64)
        before = self.body.copy()
        for region in joined[: _join_nearest(self._gaps, is_free, before, joined)].tolist():
            self.join(region, int(before[region]))

    def adopt(self, is_loose: npt.NDArray[np.bool_]) -> None:
        """Add loose pieces to the bodies with the nearest boxes, if they are within an arm's reach."""
        loose = np.flatnonzero((self.body == 0) & is_loose)
        if self.merged and len(loose):
            bodies, pieces = np.stack(self.merged), self._table[loose]
            over = np.maximum(bodies[:, None, LOW : LOW + 3] - pieces[:, HIGH : HIGH + 3], 0)
            under = np.maximum(pieces[:, LOW : LOW + 3] - bodies[:, None, HIGH : HIGH + 3], 0)
            gaps = np.linalg.norm(over + under, axis=2)
            nearest = np.argmin(gaps, axis=0)
            is_reached = gaps[nearest, np.arange(len(loose))] < ARM_REACH_M
            self.body[loose[is_reached]] = nearest[is_reached] + 1


@kernel
def _join_nearest(gaps: Singles, is_free: npt.NDArray[np.bool_], body: Bytes, joined: Longs) -> int:
    """Join free regions to bodies, the nearest first and the first among equals; write which, and return how many."""
    n = 0
    while True:
        nearest, piece, owner = np.float32(SAME_BODY_GAP_M), -1, -1
        for i in range(len(body)):
            if is_free[i]:
                for k in range(len(body)):
                    if body[k] > 0 and gaps[i, k] < nearest:
                        nearest, piece, owner = gaps[i, k], i, k
        if piece < 0:
            return n
        body[piece], is_free[piece] = body[owner], False
        joined[n] = piece
        n += 1


def _is_loose(table: Floats) -> npt.NDArray[np.bool_]:
    """Tell which regions rest on nothing and have nothing in front of them: hands that are held out."""
    border = table[:, BORDER]
    rests = table[:, FACED] + table[:, FLOORED]
    return np.asarray(
        (rests <= LOOSE_MAX_RESTING_SHARE * border)
        & (table[:, BEHIND] < LOOSE_MAX_BEHIND_SHARE * border)
        & (table[:, AREA] < HAND_MAX_AREA_M2)
    )


def _is_large(body: Floats, n_cells: int) -> bool:
    """Tell whether a body is large enough for a person, in a grid of `n_cells` cells."""
    size = body[HIGH : HIGH + 3] - body[LOW : LOW + 3]
    is_tiny = body[AREA] < PERSON_MIN_AREA_M2 and body[N_CELLS] < NEAR_MIN_SHARE * n_cells
    is_short = size[1] < PERSON_MIN_HEIGHT_M and max(size[0], size[2]) < PERSON_MIN_LENGTH_M
    return not (is_tiny or (body[CUT] < CUT_MIN_CELLS and is_short))


def _belong_together(body: Floats, piece: Floats, gap: float) -> bool:
    """Tell whether a core is part of a larger body: a forearm in front of the trunk, legs under a table."""
    if gap < SAME_BODY_GAP_M:
        return True
    apart = np.abs(body[MIDDLE : MIDDLE + 3] / body[AREA] - piece[MIDDLE : MIDDLE + 3] / piece[AREA])
    tops, bottoms = (body[HIGH + 1], piece[HIGH + 1]), (body[LOW + 1], piece[LOW + 1])
    is_headless = tops[0] - tops[1] > HEAD_DROP_M
    is_limb = piece[AREA] < (LEG_MAX_AREA_M2 if is_headless else ARM_MAX_AREA_M2)
    if is_limb and gap < LIMB_GAP_M and max(apart[0], apart[2]) < LIMB_MAX_OFFSET_M:
        return True
    # one above the other, with something in front of the middle
    shared_height = (min(tops) - max(bottoms)) / max(tops[1] - bottoms[1], STACKED_MIN_HEIGHT_M)
    return bool(
        apart[0] < STACKED_MAX_SIDE_OFFSET_M
        and apart[2] < STACKED_MAX_DEPTH_OFFSET_M
        and shared_height < STACKED_MAX_SHARED_HEIGHT
        and max(tops) - min(bottoms) < PERSON_MAX_HEIGHT_M
    )
