"""Training data of a person model: labeled frames as scenes for the scene forest, and candidates for the judge."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from depthforest.base import Bytes, Floats, Ints
from depthforest.frames import BODY31, NO_PART, LabeledFrame
from depthforest.people.grid import DepthGrid
from depthforest.people.judging.candidates import find_candidates
from depthforest.people.judging.looks import SCENE, coarse_frame
from depthforest.people.survey import survey
from depthforest.trees import DepthTrees

_COARSE = {
    "head": "head", "neck": "head", "shoulder": "torso", "torso": "torso", "arm": "arm", "elbow": "arm",
    "wrist": "hand", "hand": "hand", "leg": "leg", "knee": "leg", "ankle": "foot", "foot": "foot",
}  # fmt: skip
"""First word of a part's name -> its coarse part."""

AROUND_CELLS = 3
"""Distance in cells that still counts as around a person."""

NO_READING = 10**6
"""Millimeters: a distance larger than that of any reading from its cell."""


def scene_table(names: tuple[str, ...] = BODY31.names) -> Bytes:
    """Return the label in `SCENE`, array (256,), of each part; people without a part count as torso."""
    table = np.full(256, SCENE.index("torso"), dtype=np.uint8)
    for label, name in enumerate(names):
        table[label] = SCENE.index(_COARSE.get(name.split("_")[0], "torso"))
    return table


def cell_pixels(grid: DepthGrid, depth_mm: npt.NDArray[np.uint16]) -> tuple[Ints, Ints]:
    """Return row and column, arrays of the grid's shape, of the pixel whose reading is nearest to its cell's."""
    step, (n_rows, n_cols) = grid.step, grid.shape
    padded = np.zeros((n_rows * step, n_cols * step), dtype=np.int32)
    padded[: depth_mm.shape[0], : depth_mm.shape[1]] = depth_mm
    blocks = padded.reshape(n_rows, step, n_cols, step).transpose(0, 2, 1, 3).reshape(n_rows, n_cols, step * step)
    apart = np.abs(blocks - np.rint(1000 * grid.points[2])[..., None].astype(np.int32))
    nearest = np.where(blocks > 0, apart, NO_READING).argmin(axis=-1).astype(np.int32)
    rows = np.arange(n_rows, dtype=np.int32)[:, None] * step + nearest // step
    cols = np.arange(n_cols, dtype=np.int32)[None, :] * step + nearest % step
    return np.minimum(rows, depth_mm.shape[0] - 1), np.minimum(cols, depth_mm.shape[1] - 1)


def scene_frame(frame: LabeledFrame) -> LabeledFrame:
    """Return the coarse picture of a whole room, with the labels that a scene forest learns.

    Cells of planes and faces have no label, because they are removed before the forest is used. Cells of people and
    around them have one, so that it learns what a foot on a floor looks like.
    """
    grid = DepthGrid.of(frame)
    coarse, room = coarse_frame(grid), survey(grid)
    at = cell_pixels(grid, frame.depth_mm)
    people = frame.people[at]
    labels = np.where(people > 0, scene_table(frame.part_set.names)[frame.parts[at]], np.uint8(SCENE.index("room")))
    has_reading = coarse.depth_mm > 0
    window = np.ones((2 * AROUND_CELLS + 1, 2 * AROUND_CELLS + 1), dtype=np.uint8)
    is_around = np.asarray(cv2.dilate((people > 0).astype(np.uint8), window)) > 0
    is_asked = has_reading & ((room.taken == 0) | is_around)
    labels = np.where(is_asked, labels, np.uint8(NO_PART))
    return LabeledFrame(coarse.depth_mm, coarse.camera, labels, has_reading.astype(np.uint8), {}, SCENE)


def candidates_of(
    frame: LabeledFrame, scene: DepthTrees, body: DepthTrees, least_person: float
) -> tuple[Floats, Floats]:
    """Return the columns of a frame's candidates, and how well each fits a person: the best IoU (n,), in cells."""
    grid = DepthGrid.of(frame)
    found = find_candidates(grid, scene, body, least_person)
    people = np.where(grid.points[2] > 0, frame.people[cell_pixels(grid, frame.depth_mm)], np.uint8(0)).reshape(-1)
    sizes = np.bincount(people, minlength=2)[1:]
    fits = np.zeros(len(found.places))
    for k, places in enumerate(found.places):
        both = np.bincount(people[places], minlength=len(sizes) + 1)[1:]
        fits[k] = (both / (sizes + len(places) - both)).max()
    return found.columns, fits
