"""SurveyedRoom: the cells of a depth grid on floor, walls or flat furniture, the up direction, and the camera's height.

Planes of the room (`planes`) and the faces of furniture (`faces`) are removed before people are searched for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from depthforest.base import Bytes, Singles
from depthforest.people.faces import take_faces
from depthforest.people.grid import DepthGrid
from depthforest.people.planes import ROOM_AREA, assign_planes, find_floor, find_planes, find_up, plane_table
from depthforest.people.regions import room_axes

Owners = npt.NDArray[np.int16]

MAX_ROOM_PLANES = 8
"""Planes that are searched for floor, walls and ceiling."""


@dataclass(frozen=True, eq=False)
class SurveyedRoom:
    """The room of a grid.

    Parameters
    ----------
    planes : array (n, 5), float32
        Walls and floors of the room, and faces of furniture, as from `planes.plane_table`.
    owner : array (rows, cols), int16
        Plane of every cell, as in `planes.assign_planes`.
    taken : array (rows, cols), uint8
        `faces.ROOM`, `faces.FACE`, or 0: all others, and cells without a reading.
    axes : array (3, 3), float32
        As in `regions.room_axes`.
    ground : float
        Height of the camera above the floor in meters; NaN if no floor is visible.
    """

    planes: Singles
    owner: Owners
    taken: Bytes
    axes: Singles
    ground: float


def survey(grid: DepthGrid) -> SurveyedRoom:
    """Return the room of a grid."""
    found = [plane for plane in find_planes(grid, n=MAX_ROOM_PLANES, least_area=ROOM_AREA) if plane.is_room]
    planes = plane_table(found)
    owner = np.empty(grid.shape, dtype=np.int16)
    assign_planes(grid.points, grid.normals, planes, owner)
    axes = room_axes(find_up(found))
    taken, planes = take_faces(grid, planes, axes[1], owner)
    floor = find_floor(found)
    return SurveyedRoom(planes, owner, taken, axes, float("nan") if floor is None else floor.offset)
