"""Cropping: one person cut out of a frame, in a border of background, and the pixels to walk.

A crop holds one person's depth alone, everything else set to the background value, inside a border of background one
pixel wide. A probe that is clamped to the crop reads what `features.read_probe` would read, without a branch. Labeling
and training share it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import kernel
from depthforest.frames import Frame
from depthforest.trees.features import check_mask, pixel_scale


@dataclass(frozen=True, eq=False)
class Crop:
    """A person's depth, and the pixels that have a reading.

    Attributes
    ----------
    depth : array (rows, cols), uint16
        Millimeters, border included; of shape (0, 0) for a person without a pixel.
    corner : (int, int)
        Row and column in the frame of the first pixel of `depth`, which is one before the person's first.
    places : array (n, 2), int32
        Row and column of each pixel in `depth`, row by row.
    """

    depth: npt.NDArray[np.uint16]
    corner: tuple[int, int]
    places: npt.NDArray[np.int32]


def crop_person(frame: Frame, mask: npt.NDArray[np.bool_] | None, background_mm: int) -> Crop:
    """Cut a person out of a frame; without a mask, all pixels with a reading are the person's."""
    is_masked = mask is not None
    checked = np.ascontiguousarray(check_mask(mask, frame.shape)) if is_masked else np.zeros((1, 1), dtype=np.bool_)
    pixels = checked.view(np.uint8)
    box = np.empty(4, dtype=np.int64)
    n = _find_box(frame.depth_mm, pixels, is_masked, box)
    shape = (int(box[1] - box[0]) + 3, int(box[3] - box[2]) + 3) if n else (0, 0)
    crop = Crop(np.empty(shape, np.uint16), (int(box[0]) - 1, int(box[2]) - 1), np.empty((n, 2), np.int32))
    if n:
        _cut_out(frame.depth_mm, pixels, is_masked, box, background_mm, crop.depth, crop.places)
    return crop


@kernel
def _count_row(depth: Any, mask: Any, is_masked: bool) -> int:
    """Return how many readings of the person a row has. Whole numbers and no branch let the loops vectorize."""
    n = 0
    if is_masked:
        for col in range(np.uint64(len(depth))):
            n += int((depth[col] != 0) & (mask[col] != 0))
    else:
        for col in range(np.uint64(len(depth))):
            n += int(depth[col] != 0)
    return n


@kernel
def _find_box(
    depth: npt.NDArray[np.uint16], mask: npt.NDArray[np.uint8], is_masked: bool, box: npt.NDArray[np.int64]
) -> int:
    """Fill the first and last row and column with a reading of the person, and return how many such pixels there are.

    `box` is (4,): top, bottom, left, right, inclusive; meaningless if there are none.
    """
    box[0], box[1], box[2], box[3] = depth.shape[0], -1, 0, depth.shape[1] - 1
    is_used = np.zeros(depth.shape[1], dtype=np.uint8)
    n = 0
    for row in range(depth.shape[0]):
        own, its = depth[row], mask[row if is_masked else 0]
        n_own = _count_row(own, its, is_masked)
        if n_own == 0:
            continue
        n += n_own
        box[0] = min(box[0], row)
        box[1] = row
        for col in range(np.uint64(len(own))):
            is_used[col] |= np.uint8(own[col] != 0) & np.uint8(not is_masked or its[col] != 0)
    while n > 0 and is_used[box[2]] == 0:
        box[2] += 1
    while n > 0 and is_used[box[3]] == 0:
        box[3] -= 1
    return n


@kernel
def _cut_out(
    depth: npt.NDArray[np.uint16],
    mask: npt.NDArray[np.uint8],
    is_masked: bool,
    box: npt.NDArray[np.int64],
    background: int,
    crop: npt.NDArray[np.uint16],
    places: npt.NDArray[np.int32],
) -> None:
    """Fill the person's crop, with a border of background, and its pixels.

    Parameters
    ----------
    crop : array (rows + 2, cols + 2), uint16
        Covers the box and its border.
    places : array (n, 2), int32
        Row and column of each pixel in the crop, row by row.
    """
    crop[0] = background
    crop[-1] = background
    i = 0
    for row in range(box[0], box[1] + 1):
        r = row - box[0] + 1
        crop[r, 0] = background
        crop[r, -1] = background
        for col in range(box[2], box[3] + 1):
            c = col - box[2] + 1
            value = depth[row, col]
            if value == 0 or (is_masked and mask[row, col] == 0):
                crop[r, c] = background
                continue
            crop[r, c] = value
            places[i, 0] = r
            places[i, 1] = c
            i += 1


@kernel
def find_scales(
    depth: npt.NDArray[np.uint16],
    places: npt.NDArray[np.int32],
    focals: tuple[np.float32, np.float32],
    scales: npt.NDArray[np.float32],
) -> None:
    """Fill the pixels per meter (n, 2) at each place of a crop, x and y."""
    for i in range(len(places)):
        value = depth[places[i, 0], places[i, 1]]
        scales[i, 0] = pixel_scale(focals[0], value)
        scales[i, 1] = pixel_scale(focals[1], value)
