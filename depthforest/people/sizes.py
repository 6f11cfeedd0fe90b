"""Sizes of people: extents in meters along the room's own directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats
from depthforest.frames import Frame
from depthforest.people.finding import People
from depthforest.people.grid import DepthGrid
from depthforest.people.planes import find_planes, find_up

MAX_PLANES = 6
"""Most planes of the room to find."""

LEAST_AREA = 0.5
"""Smallest area of each in square meters."""

EXTENT_SHARES = (0.01, 0.99)
"""Quantiles of a person's readings between which the extent is measured, so that stray readings do not count."""

CUT_PIXELS = 0.02
"""A person with this many mask pixels at the border, as a share of the picture's longer side, is cut by it."""


@dataclass(frozen=True)
class PersonSize:
    """The extents of a person in meters: up, sideways and ahead.

    Parameters
    ----------
    height_m, width_m, depth_m : float
    is_cut : bool
        Whether the border of the picture cuts the person.
    """

    height_m: float
    width_m: float
    depth_m: float
    is_cut: bool


def measure_people(frame: Frame, people: People) -> dict[int, PersonSize]:
    """Return the sizes of the people in a frame, by their ids; people without a reading are left out."""
    if not len(people):
        return {}
    up = find_up(find_planes(DepthGrid.of(frame), n=MAX_PLANES, least_area=LEAST_AREA))
    sizes = {person: _measure(frame, mask, up) for person, mask in zip(people.ids, people, strict=True)}
    return {person: size for person, size in sizes.items() if size is not None}


def _measure(frame: Frame, mask: npt.NDArray[np.bool_], up: Floats) -> PersonSize | None:
    rows, cols = np.nonzero(mask & (frame.depth_mm > 0))
    if len(rows) == 0:
        return None
    points = frame.camera.unproject(np.stack((rows, cols), axis=1), frame.depth_mm[rows, cols] / 1000)
    ahead = np.array([0.0, 0.0, 1.0]) - up[2] * up
    ahead /= max(float(np.linalg.norm(ahead)), 1e-6)
    (ux, uy, uz), (ax, ay, az) = up.tolist(), ahead.tolist()
    right = np.array([ay * uz - az * uy, az * ux - ax * uz, ax * uy - ay * ux])
    low, high = np.quantile(points @ np.stack((up, right, ahead), axis=1), EXTENT_SHARES, axis=0)
    height, width, depth = (high - low).tolist()
    border = sum(int(np.count_nonzero(mask[edge])) for edge in (0, -1))
    border += sum(int(np.count_nonzero(mask[:, edge])) for edge in (0, -1))
    return PersonSize(height, width, depth, border > CUT_PIXELS * max(frame.shape))
