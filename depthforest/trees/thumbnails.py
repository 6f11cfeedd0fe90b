"""Thumbnails: a person on a coarse grid, one small picture per channel, which the context stage reads.

The grid is the one whose pixels walk first when a person is labeled. It is symmetric about the middle of the frame, so
that a mirrored frame has the mirrored thumbnail. All sums are of whole numbers, for the same reason. The plain walk,
labeling and training share this module. Kernels check nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from depthforest.base import kernel
from depthforest.frames import Camera
from depthforest.trees import facings
from depthforest.trees.channels import (
    FIRST_GROUP,
    FIRST_POSITION,
    POSITION_MAX,
    POSITION_MIDDLE,
    REACH_ZERO,
    SHARE_UNIT,
    PartGroups,
)
from depthforest.trees.cropping import Crop, find_scales
from depthforest.trees.features import focal_lengths

COARSE_PIXELS = 1000
"""At least this many pixels of a person walk first, and at most four times as many. On a whole body they are 1 to 2 cm
apart, with any camera."""

NEAR_MM = 60
"""A pixel only uses a grid neighbor whose depth differs by at most this: not the trunk behind an arm."""

Places = npt.NDArray[np.int32]
Sums = npt.NDArray[np.int32]


def grid_step(n_pixels: int, n: int) -> int:
    """Return the step of the widest grid, a power of two, that keeps at least `n` of a person's pixels (up to 4 n)."""
    step = 1
    while n_pixels >= n * (2 * step) ** 2:
        step *= 2
    return step


@kernel
def find_grid(places: Places, corner: tuple[int, int], n_cols: int, step: int, chosen: npt.NDArray[np.int64]) -> int:
    """Fill the indices of the places on the grid with a step, in order; return how many."""
    left = (n_cols - 1) // 2
    n = 0
    for i in range(len(places)):
        across = places[i, 1] + corner[1]
        away = left - across if across <= left else across - n_cols // 2
        if ((places[i, 0] + corner[0]) | away) & (step - 1) == 0:
            chosen[n] = i
            n += 1
    return n


@dataclass(frozen=True, eq=False)
class CoarseGrid:
    """The pixels of a person that are on the coarse grid.

    Parameters
    ----------
    crop : Crop
    camera : Camera
        Camera of the frame.
    step : int
    chosen : array (n,), int64
        Indices of the grid's pixels among the crop's, in order.
    pixels : array (n, 2), int32
        Row and column of each in the crop.
    places : array (n, 2), int32
        The same in the thumbnail, which has a border as a crop has.
    shape : (int, int)
        Shape of the thumbnail, its border included.
    numbers : array (rows, cols), int32
        Number of the grid pixel at each place of the crop; -1 for places that are not on the grid.
    """

    crop: Crop
    camera: Camera
    step: int
    chosen: npt.NDArray[np.int64]
    pixels: Places
    places: Places
    shape: tuple[int, int]
    numbers: npt.NDArray[np.int32]

    @classmethod
    def of(cls, crop: Crop, camera: Camera, step: int | None = None) -> CoarseGrid:
        """Find the pixels of a person on the coarse grid. Default step: that of labeling."""
        step = grid_step(len(crop.places), COARSE_PIXELS) if step is None else step
        chosen = np.empty(len(crop.places), dtype=np.int64)
        chosen = chosen[: find_grid(crop.places, crop.corner, camera.shape[1], step, chosen)]
        pixels, places = np.empty((2, len(chosen), 2), dtype=np.int32)
        numbers = np.full(crop.depth.shape, -1, dtype=np.int32)
        n_rows, n_cols = _place(crop.places, crop.corner, camera.shape[1], step, chosen, pixels, places, numbers)
        return cls(crop, camera, step, chosen, pixels, places, (n_rows, n_cols), numbers)

    def scales(self) -> npt.NDArray[np.float32]:
        """Return thumbnail pixels per meter (n, 2) at each grid pixel, x and y."""
        scales = np.empty((len(self.chosen), 2), dtype=np.float32)
        find_scales(self.crop.depth, self.pixels, focal_lengths(self.camera), scales)
        scales /= np.float32(self.step)  # a power of two: exact
        return scales

    def nearest(self, places: Places) -> npt.NDArray[np.int32]:
        """Return for crop pixels (n, 2) the number of the nearest grid pixel on the same surface, or -1."""
        near = np.empty(len(places), dtype=np.int32)
        self.find_nearest(places, near)
        return near

    def find_nearest(self, places: Places, near: npt.NDArray[np.int32]) -> None:
        """Fill what `nearest` returns."""
        _find_nearest(self.crop.depth, self.crop.corner, self.camera.shape[1], self.step, self.numbers, places, near)

    def planes(
        self, sums: Sums, groups: PartGroups, facing_weights: npt.NDArray[np.int32], background_mm: int
    ) -> npt.NDArray[np.uint16]:
        """Return the thumbnail (n_channels, rows, cols), see `channels`.

        Parameters
        ----------
        sums : array (n, n_parts or more), int32
            The first stage's sums of each pixel on the grid.
        groups : PartGroups
        facing_weights : array (n_facings,), int32
            The person's weights, as `facings.weigh` returns them.
        background_mm : int
        """
        planes = np.zeros((groups.n_channels, *self.shape), dtype=np.uint16)
        planes[0] = background_mm
        if not len(self.chosen):
            return planes
        camera = self.camera
        optics = float(camera.fx), float(camera.fy), float(camera.cx), float(camera.cy)
        own_left = _own_left(tuple(facing_weights.tolist()))
        below = camera.shape[0] - 1 - self.crop.corner[0], float(camera.fy)
        of_part, roles = _group_table(groups), _roles(groups)
        pixels, places = self.pixels, self.places
        _draw(self.crop.depth, self.crop.corner, pixels, places, optics, sums, of_part, roles, own_left, below, planes)
        return planes


@kernel
def _place(
    places: Places, corner: tuple[int, int], n_cols: int, step: int, chosen: npt.NDArray[np.int64], pixels: Places,
    out: Places, numbers: npt.NDArray[np.int32],
) -> tuple[int, int]:  # fmt: skip
    """Fill the grid's pixels, their places in the thumbnail, and their numbers in the crop; return its shape."""
    left, right = (n_cols - 1) // 2, n_cols // 2
    top = bottom = first = last = 0
    for i in range(len(chosen)):
        row, col = places[chosen[i], 0], places[chosen[i], 1]
        pixels[i, 0], pixels[i, 1] = row, col
        numbers[row, col] = i
        across = col + corner[1]
        r = (row + corner[0]) // step
        c = -((left - across) // step) if across <= left else (across - right) // step + (right - left)
        out[i, 0], out[i, 1] = r, c
        top, bottom = (r, r) if i == 0 else (min(top, r), max(bottom, r))
        first, last = (c, c) if i == 0 else (min(first, c), max(last, c))
    for i in range(len(chosen)):
        out[i, 0] -= top - 1
        out[i, 1] -= first - 1
    return bottom - top + 3, last - first + 3


@kernel
def _find_nearest(
    depth: npt.NDArray[np.uint16], corner: tuple[int, int], n_cols: int, step: int, numbers: npt.NDArray[np.int32],
    places: Places, near: npt.NDArray[np.int32],
) -> None:  # fmt: skip
    """Fill the nearest of the four grid pixels around each pixel that is on the same surface; -1 if there is none.

    Among equals, the upper one and the one nearer to the middle wins, so that mirrored pixels have the mirrored
    neighbor.
    """
    left, right = (n_cols - 1) // 2, n_cols // 2
    for i in range(len(places)):
        row, col = places[i, 0], places[i, 1]
        across = col + corner[1]
        away, side = (left - across, -1) if across <= left else (across - right, 1)
        up, inward = (row + corner[0]) % step, away % step
        own = np.int32(depth[row, col])
        best, least = np.int32(-1), 2 * step
        for k in range(4):
            if (k >= 2 and up == 0) or (k % 2 == 1 and inward == 0):
                continue  # on a grid line, both corners are the same pixel
            d_row = -up if k < 2 else step - up
            d_away = -inward if k % 2 == 0 else step - inward
            r, c = row + d_row, col + side * d_away
            if r < 0 or c < 0 or r >= depth.shape[0] or c >= depth.shape[1] or numbers[r, c] < 0:
                continue
            distance = abs(d_row) + abs(d_away)
            if distance < least and abs(np.int32(depth[r, c]) - own) <= NEAR_MM:
                best, least = numbers[r, c], distance
        near[i] = best


@kernel
def _draw(
    depth: npt.NDArray[np.uint16], corner: tuple[int, int], pixels: Places, places: Places,
    optics: tuple[float, float, float, float], sums: Sums, of_part: npt.NDArray[np.int64], roles: npt.NDArray[np.int32],
    own_left: tuple[float, float], below: tuple[int, float], planes: npt.NDArray[np.uint16],
) -> None:  # fmt: skip
    """Fill the channels of the pixels of the grid, at least one; arguments as in `_survey` and `_fill_planes`."""
    points, shares = np.empty((3, len(pixels)), dtype=np.int64), np.empty((len(pixels), roles.shape[1]), dtype=np.int32)
    reached, centers = np.zeros((3, 4), dtype=np.int64), np.empty((3, 3), dtype=np.int64)
    _survey(depth, corner, pixels, optics, sums, of_part, roles, points, shares, reached)
    for axis in range(3):
        centers[0, axis] = _median(points[axis])
        for role in range(2):
            whole = reached[role, 3]
            centers[1 + role, axis] = _rounded(reached[role, axis], whole) if whole > 0 else centers[0, axis]
    _fill_planes(depth, pixels, places, points, shares, centers, own_left, reached[2], below, planes)


@kernel
def _survey(
    depth: npt.NDArray[np.uint16], corner: tuple[int, int], pixels: Places, optics: tuple[float, float, float, float],
    sums: Sums, of_part: npt.NDArray[np.int64], roles: npt.NDArray[np.int32], points: npt.NDArray[np.int64],
    shares: npt.NDArray[np.int32], reached: npt.NDArray[np.int64],
) -> None:  # fmt: skip
    """Find the positions and group shares of pixels, and from them the head, the trunk and the extent.

    Parameters
    ----------
    roles : array (2, n_groups), int32
        1 for groups of the head (row 0) and of the trunk (row 1), else 0.
    points : array (3, n), int64
        Filled: camera space, whole millimeters.
    shares : array (n, n_groups), int32
        Filled: the probability of each group in thousandths, rounded down.
    reached : array (3, 4), int64
        Filled: sums of the points of the head and of the trunk, weighted by the squares of their shares, and of the
        weights; then the largest and the smallest y.
    """
    fx, fy, cx, cy = optics
    n_parts, n_groups = np.uint64(len(of_part)), np.uint64(shares.shape[1])
    own = np.empty(shares.shape[1], dtype=np.int64)
    for i in range(len(pixels)):
        z = np.int64(depth[pixels[i, 0], pixels[i, 1]])
        points[0, i] = np.int64(np.rint((pixels[i, 1] + corner[1] - cx) * z / fx))
        points[1, i] = np.int64(np.rint((pixels[i, 0] + corner[0] - cy) * z / fy))
        points[2, i] = z
        reached[2, 0] = points[1, i] if i == 0 else max(reached[2, 0], points[1, i])
        reached[2, 1] = points[1, i] if i == 0 else min(reached[2, 1], points[1, i])
        total = np.int64(0)
        own[:] = 0
        for p in range(n_parts):
            own[np.uint64(of_part[p])] += sums[i, p]
            total += sums[i, p]
        # far below 2^53, so the rounded-down float quotient equals integer division, which does not vectorize
        whole = np.float64(total if total > 0 else 1)
        for g in range(n_groups):
            shares[i, g] = np.int32(np.float64(own[g]) * np.float64(SHARE_UNIT) / whole)
        for role in range(2):
            share = np.int32(0)
            for g in range(n_groups):
                share += roles[role, g] * shares[i, g]
            weight = np.int64(share) * np.int64(share)
            for axis in range(3):
                reached[role, axis] += weight * points[axis, i]
            reached[role, 3] += weight


@lru_cache(maxsize=8)
def _group_table(groups: PartGroups) -> npt.NDArray[np.int64]:
    """Return the group of each part as an array."""
    return np.array(groups.of_part, dtype=np.int64)


@lru_cache(maxsize=8)
def _roles(groups: PartGroups) -> npt.NDArray[np.int32]:
    """Return the groups of the head and of the trunk as 1, the others as 0."""
    roles = np.zeros((2, groups.n), dtype=np.int32)
    roles[0, list(groups.head)] = 1
    roles[1, list(groups.trunk)] = 1
    return roles


@kernel
def _median(values: npt.NDArray[np.int64]) -> int:
    """Return the median of one or more whole numbers; of two in the middle, their mean, rounded toward 0."""
    upper = _ranked(values, len(values) // 2)
    lower = upper if len(values) % 2 else _ranked(values, len(values) // 2 - 1)
    return int(_rounded(lower + upper, 2))


@kernel
def _ranked(values: npt.NDArray[np.int64], rank: int) -> int:
    """Return the number with a rank from 0, by bisection over values: counting vectorizes."""
    least, most = values.min(), values.max()
    while least < most:
        middle, n_up_to = (least + most) // 2, 0
        for i in range(len(values)):
            n_up_to += values[i] <= middle
        if n_up_to > rank:
            most = middle
        else:
            least = middle + 1
    return int(least)


@kernel
def _rounded(value: int, by: int) -> int:
    """Return value / by toward 0, in whole numbers."""
    return value // by if value >= 0 else -(-value // by)


@lru_cache(maxsize=1024)
def _own_left(weights: tuple[int, ...]) -> tuple[float, float]:
    """Return the direction to the person's left in the floor plane, x and z; with one facing, the camera's x axis."""
    turns = [facings.direction(facing, len(weights)) for facing in range(len(weights))]
    x, z = (math.fsum(weight * turn[axis] for weight, turn in zip(weights, turns, strict=True)) for axis in range(2))
    length = math.hypot(x, z)
    return (x / length, z / length) if length > 1e-6 else (1.0, 0.0)


@kernel
def _position(mm: float) -> np.uint16:
    """Return a position in the units of a channel."""
    held = POSITION_MIDDLE + np.int64(np.rint(mm / 2))
    return np.uint16(0 if held < 0 else POSITION_MAX if held > POSITION_MAX else held)


@kernel
def _reach(mm: float) -> np.uint16:
    """Return a nonnegative distance in the units of a channel."""
    held = REACH_ZERO + np.int64(np.rint(mm / 2))
    return np.uint16(0 if held < 0 else POSITION_MAX if held > POSITION_MAX else held)


@kernel
def _fill_planes(
    depth: npt.NDArray[np.uint16], pixels: Places, places: Places, points: npt.NDArray[np.int64],
    shares: npt.NDArray[np.int32], centers: npt.NDArray[np.int64], own_left: tuple[float, float],
    extent: npt.NDArray[np.int64], below: tuple[int, float], planes: npt.NDArray[np.uint16],
) -> None:  # fmt: skip
    """Fill the channels of each pixel of the grid, in the order of `channels.POSITIONS`.

    Parameters
    ----------
    points, shares
        As `_survey` fills them.
    centers : array (3, 3), int64
        Centers of body, head and trunk.
    own_left : (float, float)
        The person's left in the plane of the floor, x and z.
    extent : array (2 or more,), int64
        The largest and the smallest y.
    below : (int, float)
        The last row of the frame, counted in the crop, and fy.
    """
    body, head, trunk = centers[0], centers[1], centers[2]
    lx, lz = own_left
    for i in range(len(places)):
        row, col = places[i, 0], places[i, 1]
        x, y, z = points[0, i], points[1, i], points[2, i]
        planes[0, row, col] = depth[pixels[i, 0], pixels[i, 1]]
        at = FIRST_POSITION
        planes[at, row, col], planes[at + 1, row, col] = _position(x - body[0]), _position(body[0] - x)
        planes[at + 2, row, col] = _position(y - body[1])
        planes[at + 3, row, col], planes[at + 4, row, col] = _position(x - head[0]), _position(head[0] - x)
        planes[at + 5, row, col], planes[at + 6, row, col] = _position(y - head[1]), _position(z - head[2])
        dx, dz = float(x - trunk[0]), float(z - trunk[2])
        left = dx * lx + dz * lz
        planes[at + 7, row, col], planes[at + 8, row, col] = _position(left), _position(-left)
        planes[at + 9, row, col], planes[at + 10, row, col] = _position(dx * lz - dz * lx), _position(y - trunk[1])
        planes[at + 11, row, col], planes[at + 12, row, col] = _reach(extent[0] - y), _reach(y - extent[1])
        planes[at + 13, row, col] = _reach((below[0] - pixels[i, 0]) * z / below[1])
        for g in range(shares.shape[1]):
            planes[FIRST_GROUP + g, row, col] = shares[i, g]
