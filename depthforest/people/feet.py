"""Feet: given back to people whose feet were taken away with the floor, on which they lie nearly flat.

Near the lowest cells of somebody, the scene forest is asked which cells of the floor look like feet.
"""

from __future__ import annotations

import math

import cv2
import numpy as np
import numpy.typing as npt

from depthforest.base import Bytes, Singles, kernel
from depthforest.frames import Frame
from depthforest.people.grid import DepthGrid
from depthforest.people.looks import SCENE, look_at_cells
from depthforest.people.regions import are_linked
from depthforest.people.survey import Room
from depthforest.trees import DepthTrees

ANKLE_M = 0.25
"""Meters above the floor below which somebody's cells may have a foot beside them."""

FOOT_M = 0.3
"""Meters from such a cell to the end of the foot."""

MAX_REACH_CELLS = 12
"""Cells around somebody's lowest that are looked at: at less than a meter, all of a foot is not."""

MIN_FOOT_SHARE = 0.5
"""Share of person, as the scene forest says, from which a cell of the floor is a foot's."""


def give_feet(grid: DepthGrid, room: Room, coarse: Frame, scene: DepthTrees, cells: Bytes) -> None:
    """Give people the cells of the floor that are their feet.

    Parameters
    ----------
    grid : DepthGrid
    room : Room
    coarse : Frame
        The grid as a picture.
    scene : DepthTrees
    cells : array (rows, cols), uint8
        Person of every cell, from 1; 0 = nobody. Changed.
    """
    if room.floor < 0 or not cells.any():
        return
    plane = room.planes[room.floor]
    heights = np.tensordot(plane[:3], grid.points[:3], axes=1) + plane[3]
    is_low = (cells > 0) & (heights < ANKLE_M)
    if not is_low.any():
        return
    nearest = float(grid.points[2][is_low].min())
    reach = min(math.ceil(FOOT_M / (grid.spacing * nearest)), MAX_REACH_CELLS)
    window = np.ones((2 * reach + 1, 2 * reach + 1), dtype=np.uint8)
    is_asked = np.asarray(cv2.dilate(is_low.view(np.uint8), window)) > 0
    is_asked &= (room.owner == room.floor) & (cells == 0)
    if not is_asked.any():
        return
    looks = look_at_cells(scene, coarse, is_asked)
    is_foot = is_asked & (looks[..., SCENE.index("room")] <= 1 - MIN_FOOT_SHARE)
    _grow_feet(grid.points, np.float32(grid.spacing), is_low, is_foot, cells)


@kernel
def _grow_feet(
    points: Singles, spacing: np.float32, is_low: npt.NDArray[np.bool_], is_foot: npt.NDArray[np.bool_], cells: Bytes
) -> None:
    """Let somebody's lowest cells take those of feet that are connected with them, up to `FOOT_M` away."""
    n_rows, n_cols = cells.shape
    stack, origin = np.empty(cells.size, dtype=np.int64), np.empty(cells.size, dtype=np.int64)
    n = 0
    for i in range(cells.size):
        if is_low[i // n_cols, i % n_cols]:
            stack[n], origin[i] = i, i
            n += 1
    done = 0
    while done < n:
        i = stack[done]
        done += 1
        row, col = i // n_cols, i % n_cols
        start_row, start_col = origin[i] // n_cols, origin[i] % n_cols
        for r in range(max(row - 1, 0), min(row + 2, n_rows)):
            for c in range(max(col - 1, 0), min(col + 2, n_cols)):
                if not is_foot[r, c] or cells[r, c] > 0 or not are_linked(points, row, col, r, c, spacing):
                    continue
                away = np.float32(0)
                for axis in range(3):
                    away += (points[axis, r, c] - points[axis, start_row, start_col]) ** 2
                if away < np.float32(FOOT_M * FOOT_M):
                    cells[r, c] = cells[row, col]
                    stack[n], origin[r * n_cols + c] = r * n_cols + c, origin[i]
                    n += 1
