"""Candidates: bodies of a grid with their columns, as the judge takes them; and who of them is a person.

The one way from a grid to candidates: `finding` asks it for frames, training for what the judge learns from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np
import numpy.typing as npt

from depthforest.base import Bytes, Floats, Ints, Longs, Singles
from depthforest.frames import Frame
from depthforest.labeling import shares_at
from depthforest.people.bodies import find_bodies, find_visitors
from depthforest.people.columns import N_LOOKS, NAMES, describe_looks, describe_shapes, part_groups
from depthforest.people.grid import DepthGrid
from depthforest.people.looks import coarse_frame, look_at_cells
from depthforest.people.regions import N_MEASURES, measure_regions
from depthforest.people.rooms import Room, survey
from depthforest.trees import DepthTrees

SMOOTH_CELLS = 5
"""Cells along the square over which the scene forest's answers are averaged."""

BODY_CELLS = 200
"""Cells of a candidate that the body forest looks at, at most four times as many."""

MAX_OVERLAP = 0.3
"""Share of the smaller of two candidates' cells that both may have, if both are people."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """What may be people; candidates may overlap.

    Parameters
    ----------
    room : Room
    shape : (int, int)
        Rows and columns of the grid.
    places : list of array (n_cells,), int64
        Cells of every candidate, counted line by line.
    columns : array (n, len(columns.NAMES)), float64
    """

    room: Room
    shape: tuple[int, int]
    places: list[Longs]
    columns: Floats

    def choose(self, fits: Floats, is_kept: npt.NDArray[np.bool_]) -> list[int]:
        """Return the candidates that are kept and do not overlap, those that fit best first."""
        owner = np.zeros(self.shape[0] * self.shape[1], dtype=np.int64)
        chosen: list[int] = []
        for k in np.argsort(-fits, kind="stable").tolist():
            if not is_kept[k]:
                continue
            both = np.bincount(owner[self.places[k]], minlength=len(chosen) + 1)[1:]
            sizes = [min(len(self.places[k]), len(self.places[i])) for i in chosen]
            if all(both <= MAX_OVERLAP * np.array(sizes)):
                chosen.append(k)
                own = self.places[k]
                owner[own[owner[own] == 0]] = len(chosen)
        return chosen

    def cells_of(self, chosen: Sequence[int]) -> Bytes:
        """Return who every cell belongs to, from 1 in the order of `chosen`; of several the first."""
        cells = np.zeros(self.shape[0] * self.shape[1], dtype=np.uint8)
        for number in range(len(chosen), 0, -1):
            cells[self.places[chosen[number - 1]]] = number
        return cells.reshape(self.shape)


def find_candidates(grid: DepthGrid, scene: DepthTrees, body: DepthTrees, levels: Sequence[float]) -> Candidates:
    """Return what may be people in a room without a background.

    Parameters
    ----------
    grid : DepthGrid
    scene, body : DepthTrees
        The forests.
    levels : sequence of float
        Shares of persons: at each of them, cells with less are the room's, and what is left are candidates.
    """
    room = survey(grid)
    coarse = coarse_frame(grid)
    is_open = (room.taken == 0) & (coarse.depth_mm > 0)
    looks = look_at_cells(scene, coarse, is_open)
    person = _smoothed(1 - looks[..., 0], is_open)
    pictures = [cells for level in levels for cells in find_bodies(grid, room, is_open & (person >= level))]
    return _described(grid, room, coarse, pictures, is_open, looks, body)


def _smoothed(values: Singles, is_used: npt.NDArray[np.bool_]) -> Singles:
    """Return the mean of the values that are used around every cell."""
    square = (SMOOTH_CELLS, SMOOTH_CELLS)
    used = is_used.astype(np.float32)
    return np.asarray(cv2.boxFilter(values * used, -1, square) / np.maximum(cv2.boxFilter(used, -1, square), 1e-6))


def find_moved(grid: DepthGrid, whole: DepthGrid, up: Floats, scene: DepthTrees, body: DepthTrees) -> Candidates:
    """Return what may be people before a background.

    Parameters
    ----------
    grid : DepthGrid
        Of the readings that the background does not account for. The candidates' cells are its.
    whole : DepthGrid
        Of all readings of the frame.
    up : array (3,)
        Unit vector, as the background knows it.
    scene, body : DepthTrees
        The forests.
    """
    cells = find_visitors(grid, up)
    room, coarse = survey(whole), coarse_frame(whole)
    # where readings are few, their cells are longer
    rows, cols = (np.arange(n) * whole.step // grid.step for n in whole.shape)
    seen = cells[np.ix_(rows, cols)]
    is_open = (seen > 0) & (coarse.depth_mm > 0)
    looks = look_at_cells(scene, coarse, is_open)
    found = _described(whole, room, coarse, [np.where(is_open, seen, np.uint8(0))], is_open, looks, body)
    flat = cells.reshape(-1)
    return Candidates(
        room, grid.shape, [np.flatnonzero(flat == k + 1) for k in range(flat.max(initial=0))], found.columns
    )


def _described(
    grid: DepthGrid, room: Room, coarse: Frame, pictures: Sequence[Bytes], is_open: npt.NDArray[np.bool_],
    looks: Singles, body: DepthTrees,
) -> Candidates:  # fmt: skip
    """Return the candidates of pictures of cells, numbered from 1 without gaps, each once."""
    places, columns = [], [np.empty((0, len(NAMES)))]
    known: set[bytes] = set()
    for cells in pictures:
        flat = cells.reshape(-1)
        order = np.argsort(flat, kind="stable")
        ends = np.cumsum(np.bincount(flat))
        own = [order[begin:end] for begin, end in pairwise(ends.tolist())]
        keys = [cells_of.tobytes() for cells_of in own]
        is_new = [key not in known for key in keys]
        known.update(keys)
        described = _describe(grid, room, coarse, cells, is_open, looks, body, is_new)
        columns.append(described[is_new])
        places += [cells_of for cells_of, new in zip(own, is_new, strict=True) if new]
    return Candidates(room, grid.shape, places, np.concatenate(columns))


def _sampled(is_asked: npt.NDArray[np.bool_]) -> tuple[Ints, int]:
    """Return rows and columns (n, 2) of cells, on a grid where they are many, and the step of the grid."""
    places = np.argwhere(is_asked).astype(np.int32)
    step = math.isqrt(len(places) // BODY_CELLS)
    on_grid = places[((places % step) == 0).all(axis=1)] if step > 1 else places
    # a grid may pass by a thin shape
    return (on_grid, max(step, 1)) if len(on_grid) else (places, 1)


def _describe(
    grid: DepthGrid, room: Room, coarse: Frame, cells: Bytes, is_open: npt.NDArray[np.bool_], looks: Singles,
    body: DepthTrees, is_asked: Sequence[bool],
) -> Floats:  # fmt: skip
    """Return the columns of candidates, from 1 in `cells` without gaps; those of who is not asked for are not whole."""
    n = int(cells.max(initial=0))
    columns = np.zeros((n, len(NAMES)))
    if n == 0:
        return columns
    measures = np.empty((n, N_MEASURES))
    inside = np.asarray(cv2.distanceTransform(np.pad((cells > 0).view(np.uint8), 1), cv2.DIST_L2, 3))
    labels = cells.astype(np.int32) - 1
    spacing = np.float32(grid.spacing)
    measure_regions(grid.points, grid.normals, grid.area, inside, room.axes, labels, room.taken, spacing, measures)
    columns[:, N_LOOKS:] = describe_shapes(grid, cells, measures, room.ground, room.axes[1])
    groups = part_groups(body.part_set.names)
    for k in range(n):
        if not is_asked[k]:
            continue
        mask = cells == k + 1
        places, step = _sampled(mask & is_open)
        if len(places) == 0:
            continue
        rows, cols = places.T
        shares = shares_at(body, coarse, mask, places)
        at = np.ascontiguousarray((room.axes @ grid.points[:3, rows, cols]).T)
        describe_looks(places, step, at, grid.area[rows, cols], shares, groups, looks[rows, cols], columns[k, :N_LOOKS])
    return columns
