"""Candidates: bodies of a grid with their columns, as the judge takes them; and who of them is a person.

The one way from a grid to candidates: `finding` asks it for frames, training for what the judge learns from.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from depthforest.base import Bytes, Floats, Singles
from depthforest.frames import Frame
from depthforest.labeling import shares_at
from depthforest.people.bodies import find_bodies, find_visitors
from depthforest.people.columns import N_LOOKS, NAMES, describe_looks, describe_shapes, part_groups
from depthforest.people.grid import DepthGrid
from depthforest.people.looks import coarse_frame, look_at_cells
from depthforest.people.regions import N_MEASURES, measure_regions
from depthforest.people.rooms import Room, survey
from depthforest.trees import DepthTrees

SMOOTH = 5
BODY_CELLS = 200
"""Cells of a candidate that the body forest looks at, at most twice as many."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """What may be people.

    Parameters
    ----------
    grid : DepthGrid
    room : Room
    cells : array (rows, cols), uint8
        Candidate of every cell, from 1 to n; 0 = none.
    scene : array (rows, cols, len(SCENE)), float32
        What the scene forest says of free cells.
    columns : array (n, len(columns.NAMES)), float64
    """

    grid: DepthGrid
    room: Room
    cells: Bytes
    scene: Singles
    columns: Floats


def find_candidates(grid: DepthGrid, scene: DepthTrees, body: DepthTrees, least_person: float) -> Candidates:
    """Return what may be people in a room without a background.

    Parameters
    ----------
    grid : DepthGrid
    scene, body : DepthTrees
        The forests.
    least_person : float
        Cells whose share of persons is less are the room's.
    """
    room = survey(grid)
    coarse = coarse_frame(grid)
    is_open = (room.taken == 0) & (coarse.depth_mm > 0)
    looks = look_at_cells(scene, coarse, is_open)
    weights = np.asarray(cv2.boxFilter(is_open.astype(np.float32), -1, (SMOOTH, SMOOTH)))
    person = cv2.boxFilter(np.where(is_open, 1 - looks[..., 0], np.float32(0)), -1, (SMOOTH, SMOOTH)) / np.maximum(weights, 1e-6)
    is_free = is_open & (person >= least_person)
    cells = find_bodies(grid, room, is_free)
    return Candidates(grid, room, cells, looks, _describe(grid, room, coarse, cells, is_open, looks, body))


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
    seen = np.where(is_open, seen, np.uint8(0))
    looks = look_at_cells(scene, coarse, is_open)
    return Candidates(grid, room, cells, looks, _describe(whole, room, coarse, seen, is_open, looks, body))


def _describe(
    grid: DepthGrid, room: Room, coarse: Frame, cells: Bytes, is_open: npt.NDArray[np.bool_], looks: Singles,
    body: DepthTrees,
) -> Floats:  # fmt: skip
    """Return the columns of candidates; numbers of `cells` go from 1 without gaps."""
    n = int(cells.max(initial=0))
    columns = np.empty((n, len(NAMES)))
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
        mask = cells == k + 1
        places = np.argwhere(mask & is_open).astype(np.int32)
        places = places[:: max(1, len(places) // BODY_CELLS)]
        rows, cols = places.T
        shares = shares_at(body, coarse, mask, places)
        at = np.ascontiguousarray((room.axes @ grid.points[:3, rows, cols]).T)
        describe_looks(at, grid.area[rows, cols], shares, groups, looks[rows, cols], columns[k, :N_LOOKS])
    return columns
