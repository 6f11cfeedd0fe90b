"""Looks: the forests' answers in the cells of a grid, before people are known.

The person model's scene forest says how much every cell looks like a person; it was trained on whole rooms. The body
forest labels the parts of a candidate's cells; it was trained on people who are cut out. Both read the grid as a coarse
depth picture, for any camera.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from depthforest.base import Singles
from depthforest.frames import Camera, Frame, PartSet
from depthforest.labeling import shares_at
from depthforest.people.grid import DepthGrid
from depthforest.trees import DepthTrees

SCENE = PartSet(("room", "head", "torso", "arm", "hand", "leg", "foot"))
"""Parts of the scene forest: the room with everything in it, and coarse parts of people."""


def coarse_frame(grid: DepthGrid) -> Frame:
    """Return the cells of a grid as a depth picture."""
    camera = _coarse_camera(tuple(grid.lens.tolist()), grid.step, grid.shape)
    return Frame(np.rint(grid.points[2] * np.float32(1000)).astype(np.uint16), camera)


@lru_cache(maxsize=16)
def _coarse_camera(lens: tuple[float, float, float, float], step: int, shape: tuple[int, int]) -> Camera:
    """Return the camera of a grid's cells: one for all frames of a stream."""
    fx, fy, cx, cy = lens
    middle = (step - 1) / 2
    return Camera(
        fx=fx / step,
        fy=fy / step,
        cx=(cx - middle) / step,
        cy=(cy - middle) / step,
        width=shape[1],
        height=shape[0],
    )


def look_at_cells(scene: DepthTrees, coarse: Frame, is_asked: npt.NDArray[np.bool_]) -> Singles:
    """Return the scene forest's shares (rows, cols, parts) at the requested cells; 0 elsewhere."""
    places = np.flatnonzero(is_asked)
    shares = np.zeros((*is_asked.shape, len(scene.part_set)), dtype=np.float32)
    shares.reshape(-1, len(scene.part_set))[places] = shares_at(scene, coarse, places)
    return shares
