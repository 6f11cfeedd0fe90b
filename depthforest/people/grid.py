"""DepthGrid: a frame on a grid of coarse cells, in meters, with normals, in which people and planes are searched for.

A cell is a block of pixels. It holds the mean of its nearest surface only, so that thin limbs are not lost and no cell
averages a person with the wall behind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from depthforest.base import Ints, Longs, Singles, kernel
from depthforest.frames import Frame

GRID_COLS = 160
"""Approximate number of cells across a picture: at 4 m, a cell of a Kinect is 3 cm, half an arm."""

LEAST_FILLED = 0.3
"""Readings are scattered if cells with any reading have a smaller share of them."""

LEAST_READINGS = 4
"""Mean number of readings per cell where readings are scattered: the cell size is doubled until it is reached."""

# Expected standard deviation of depth, in meters: that of a Kinect v1, base + gain (z - center)^2, including rounding.
# It is the noisiest of the common cameras that see a whole room.
NOISE_BASE = 0.0012
NOISE_GAIN = 0.0019
NOISE_CENTER = 0.4

STENCIL_SHARE = 6 / 640
"""Distance over which noise is measured, as a share of the longer side: wider than the blobs of structured light."""

SCALE_RANGE = (0.15, 3.0)
"""Accepted range of the noise, as multiples of the expected one."""

MEDIAN_DEVIATIONS = 1.4826
"""Standard deviation of normal noise over the median of its absolute values."""

LEAST_RATIOS = 100
"""Fewest places to measure noise at; with fewer, the expected noise is used."""

NORMAL_REACH = 3
"""Half the size of the window that a normal is fitted to, in cells: in a smaller one, noise at 4 m tilts it too
much."""

LEAST_SAMPLES = 5
"""Fewest cells for a normal."""

LANES = 256
"""Cells of a row whose normals are fitted together: most grids are narrower."""

NONE = 65535
"""Code of no reading where readings are stored minus 1: larger than any of them."""


@dataclass(frozen=True, eq=False)
class DepthGrid:
    """A frame as coarse cells.

    Parameters
    ----------
    step : int
        Side of a cell in pixels; cell (row, col) holds the pixels from (row * step, col * step).
    lens : array (4,), float64
        fx, fy, cx, cy of the frame.
    points : array (4, rows, cols), float32
        x, y, z in meters, camera space, and the expected standard deviation of z; z = 0: no reading.
    area : array (rows, cols), float32
        Square meters that the cell's readings would cover if they faced the camera.
    normals : array (3, rows, cols), float32
        Unit vectors toward the camera; (0, 0, 0) where there is none.
    noise : float
        Noise of the frame as a multiple of `noise_at`.
    """

    step: int
    lens: npt.NDArray[np.float64]
    points: Singles
    area: Singles
    normals: Singles
    noise: float

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, cols) in cells."""
        return self.points.shape[1], self.points.shape[2]

    @property
    def spacing(self) -> float:
        """Meters between neighbors at a depth of 1 m."""
        return float(self.step / min(self.lens[0], self.lens[1]))

    @classmethod
    def of(cls, frame: Frame, *, is_kept: npt.NDArray[np.bool_] | None = None, noise: float | None = None) -> DepthGrid:
        """Return the grid of a frame.

        Parameters
        ----------
        frame : Frame
        is_kept : array (rows, cols), bool, optional
            Readings to use; None: all.
        noise : float, optional
            As in the class; None measures it.
        """
        depth_mm = frame.depth_mm if is_kept is None else frame.depth_mm * is_kept
        depth_mm.setflags(write=False)  # read-only, as a frame's depth, so that kernels are compiled only once
        camera = frame.camera
        lens = np.array([camera.fx, camera.fy, camera.cx, camera.cy])
        n_rows, n_cols = frame.shape
        noise = noise_scale(frame.depth_mm) if noise is None else noise
        step = max(1, round(max(n_rows, n_cols) / GRID_COLS))
        is_dense: bool | None = None
        while True:
            shape = -(-n_rows // step), -(-n_cols // step)
            points, area = np.empty((4, *shape), dtype=np.float32), np.empty(shape, dtype=np.float32)
            n_readings, n_cells = _gather(depth_mm, step, lens, np.float32(noise), points, area)
            filled = n_readings / max(n_cells * step * step, 1)
            if is_dense is None:
                is_dense = filled >= LEAST_FILLED
            if is_dense or n_readings >= LEAST_READINGS * n_cells or min(shape) < 30:
                break
            step *= 2
        if not is_dense:
            area /= np.float32(max(filled, 1e-6))  # the surface also covers the gaps between scattered readings
        normals = np.empty((3, *shape), dtype=np.float32)
        _fit_normals(points, np.float32(step / min(camera.fx, camera.fy)), normals)
        return cls(step, lens, points, area, normals, noise)


@kernel
def noise_at(z: np.float32) -> np.float32:
    """Return the expected standard deviation of depth at a depth, in meters."""
    beyond = max(z - np.float32(NOISE_CENTER), np.float32(0))
    return np.float32(NOISE_BASE) + np.float32(NOISE_GAIN) * beyond * beyond


def noise_scale(depth_mm: npt.NDArray[np.uint16]) -> float:
    """Return the noise of a picture, as a multiple of the noise that `noise_at` expects.

    It is the median of second differences of the reciprocal depth, in which planes are straight, so edges do not
    matter.
    """
    offset = max(1, round(max(depth_mm.shape) * STENCIL_SHARE))
    if min(depth_mm.shape) <= 2 * offset:
        return 1.0
    every = max(1, offset // 2)
    shape = -(-depth_mm.shape[0] // every), -(-(depth_mm.shape[1] - 2 * offset) // every)
    ratios = np.empty(shape, dtype=np.float32)
    n = _bend(depth_mm, offset, every, ratios)
    if n < LEAST_RATIOS:
        return 1.0
    # nonnegative floats sort like their bits, and counting those is faster than numpy's partition
    lower, upper = np.array(_find_middle(ratios.view(np.int32).ravel(), n), dtype=np.int32).view(np.float32)
    scale = np.float32(MEDIAN_DEVIATIONS) * ((lower + upper) / np.float32(2))
    return float(min(max(scale, np.float32(SCALE_RANGE[0])), np.float32(SCALE_RANGE[1])))


@kernel
def _bend(depth_mm: npt.NDArray[np.uint16], offset: int, every: int, ratios: Singles) -> int:
    """Write the second differences at a subset of pixels, in expected standard deviations.

    Return how many there are; where a reading is missing, it is -1.
    """
    n, n_ratios = 0, ratios.shape[1]
    readings = np.empty((3, n_ratios), dtype=np.uint16)
    for i in range(ratios.shape[0]):
        for side in range(3):
            line = depth_mm[i * every, side * offset :]
            if every == 1:  # a separate loop that vectorizes
                for k in range(n_ratios):
                    readings[side, k] = line[k]
            else:
                for k in range(n_ratios):
                    readings[side, k] = line[k * every]
        bends = ratios[i]
        for k in range(n_ratios):
            left, middle, right = readings[0, k], readings[1, k], readings[2, k]
            # no branches, so that the loop vectorizes
            is_bend = (left > 0) & (middle > 0) & (right > 0)
            z = np.float32(middle) * np.float32(0.001)
            bend = np.float32(1000) / left + np.float32(1000) / right - np.float32(2) / z
            ratio = abs(bend) * z * z / (np.float32(2.4494898) * noise_at(z))
            bends[k] = ratio if is_bend else np.float32(-1)
            n += is_bend
    return n


@kernel
def _find_middle(bits: Ints, n: int) -> tuple[int, int]:
    """Return the two middle ones of the `n` nonnegative integers; for odd `n`, the middle one twice."""
    least, most = 0, 2**31 - 1
    rank = len(bits) - n + n // 2
    while least < most:
        middle, n_up_to = (least + most) // 2, np.int32(0)  # as wide as the bits: vector instructions take more at once
        for i in range(len(bits)):
            n_up_to = np.int32(n_up_to + np.int32(bits[i] <= np.int32(middle)))
        if n_up_to > rank:
            most = middle
        else:
            least = middle + 1
    n_below, below = 0, np.int32(0)
    for i in range(len(bits)):
        n_below += bits[i] < np.int32(least)
        below = max(below, bits[i] if bits[i] < np.int32(least) else np.int32(0))
    return int(below if n % 2 == 0 and n_below == rank else least), int(least)


@kernel
def _gather(
    depth_mm: npt.NDArray[np.uint16], step: int, lens: npt.NDArray[np.float64], noise: np.float32, points: Singles,
    area: Singles,
) -> tuple[int, int]:  # fmt: skip
    """Write the mean point of every cell's nearest surface; return how many readings and cells with any there are.

    Pixels are summed down the columns of a row of cells, then columns to cells, in loops without branches, which
    vectorize. Sums are of integers and therefore exact.
    """
    n_readings, n_cells, n_cols = 0, 0, area.shape[1]
    inv_fx, inv_fy = np.float32(1 / lens[0]), np.float32(1 / lens[1])
    cx, cy = np.float64(np.float32(lens[2])), np.float64(np.float32(lens[3]))
    nearest, limits = np.empty(n_cols * step, dtype=np.uint16), np.empty(n_cols * step, dtype=np.uint16)
    sums, cells = np.empty((3, n_cols * step), dtype=np.int32), np.empty((4, n_cols), dtype=np.int64)
    for row in range(area.shape[0]):
        top, bottom = row * step, min((row + 1) * step, depth_mm.shape[0])
        n_readings += _find_nearest(depth_mm, top, bottom, nearest)
        n_cells += _set_limits(nearest, step, noise, cells[0], limits)
        _sum_near(depth_mm, top, bottom, limits, sums)
        cells[:] = 0
        for k in range(step):
            counts, depths, downs = sums[0, k:], sums[1, k:], sums[2, k:]
            for col in range(n_cols):
                depth = np.int64(depths[col * step])
                cells[0, col] += counts[col * step]
                cells[1, col] += depth
                cells[2, col] += depth * (col * step + k)
                cells[3, col] += downs[col * step]
        for col in range(n_cols):
            n, sum_z = cells[0, col], cells[1, col]
            to_meters = np.float32(0.001) / np.float32(max(n, 1))
            z = np.float32(sum_z) * to_meters
            points[0, row, col] = (cells[2, col] - cx * sum_z) * to_meters * inv_fx
            points[1, row, col] = (cells[3, col] + (top - cy) * sum_z) * to_meters * inv_fy
            points[2, row, col] = z
            points[3, row, col] = noise * noise_at(z) if n > 0 else np.float32(0)
            area[row, col] = np.float32(n) * z * z * inv_fx * inv_fy
    return n_readings, n_cells


@kernel
def _find_nearest(depth_mm: npt.NDArray[np.uint16], top: int, bottom: int, nearest: npt.NDArray[np.uint16]) -> int:
    """Write the smallest reading of some rows in every column, minus 1, or `NONE`; return the number of readings."""
    n = 0
    nearest[:] = NONE
    for row in range(top, bottom):
        line = depth_mm[row]
        for col in range(len(line)):
            nearest[col] = min(np.int64(nearest[col]), (np.int64(line[col]) - 1) & NONE)
            n += line[col] > 0
    return n


@kernel
def _set_limits(
    nearest: npt.NDArray[np.uint16], step: int, noise: np.float32, cells: Longs,
    limits: npt.NDArray[np.uint16],
) -> int:  # fmt: skip
    """Write for every column the largest reading of its cell's nearest surface; return how many cells have readings."""
    n = 0
    cells[:] = NONE
    for k in range(step):
        columns = nearest[k:]
        for col in range(len(cells)):
            cells[col] = min(cells[col], np.int64(columns[col * step]))
    for col in range(len(cells)):
        near = np.float32(cells[col] + 1) * np.float32(0.001)
        beyond = np.int64(1000 * (np.float32(0.02) + np.float32(3) * noise * noise_at(near)))
        is_any = cells[col] < NONE
        cells[col] = min(cells[col] + 1 + beyond, NONE) if is_any else 0
        n += is_any
    for k in range(step):
        columns = limits[k:]
        for col in range(len(cells)):
            columns[col * step] = cells[col]
    return n


@kernel
def _sum_near(
    depth_mm: npt.NDArray[np.uint16], top: int, bottom: int, limits: npt.NDArray[np.uint16], sums: Ints
) -> None:
    """Write for every column the number of readings in some rows up to its limit, their sum, and that times the row."""
    counts, depths, downs = sums[0], sums[1], sums[2]
    sums[:] = 0
    for row in range(top, bottom):
        line = depth_mm[row]
        for col in range(len(line)):
            is_near = ((np.int32(line[col]) - 1) & NONE) < limits[col]
            reading = np.int32(line[col]) if is_near else np.int32(0)
            counts[col] += is_near
            depths[col] += reading
            downs[col] += reading * np.int32(row - top)


@kernel
def _fit_normals(points: Singles, spacing: np.float32, normals: Singles) -> None:
    """Write the normal of every cell, by a linear fit of the reciprocal depth, which is linear on a plane.

    The fit uses the cell and sixteen around it, at odd distances of rows and columns. A neighbor across a depth jump
    does not count. On a slope, such as the floor at a grazing angle, a neighbor is across a jump if it is off the
    slope.
    """
    n_rows, n_cols = points.shape[1], points.shape[2]
    # u, v and reciprocal depth, in a frame without readings
    width = n_cols + 2 * NORMAL_REACH
    rays = np.zeros((3, (n_rows + 2 * NORMAL_REACH) * width), dtype=np.float32)
    for row in range(n_rows):
        at = (row + NORMAL_REACH) * width + NORMAL_REACH
        for col in range(n_cols):
            z = points[2, row, col]
            if z > 0:
                q = np.float32(1) / z
                rays[0, at + col], rays[1, at + col] = points[0, row, col] * q, points[1, row, col] * q
                rays[2, at + col] = q
    normals[:] = 0
    for row in range(n_rows):
        left, right = 0, n_cols
        while left < right and points[2, row, left] == 0:
            left += 1
        while right > left and points[2, row, right - 1] == 0:
            right -= 1
        for start in range(left, right, LANES):
            _fit_lanes(points, spacing, rays, row, start, min(right - start, LANES), normals)


@kernel
def _fit_lanes(
    points: Singles, spacing: np.float32, rays: Singles, row: int, left: int, n: int, normals: Singles
) -> None:
    """Write the normals of some cells of a row, in loops without branches, which vectorize."""
    # 0 to 8: sums of 1, u, v, q, uu, uv, vv, uq, vq of neighbors; of the cell itself: u, v, q, limit, slopes
    lanes = np.empty((15, LANES), dtype=np.float32)
    width = points.shape[2] + 2 * NORMAL_REACH
    at = (row + NORMAL_REACH) * width + NORMAL_REACH + left
    us, vs, qs, before, after = rays[0, at:], rays[1, at:], rays[2, at:], rays[2, at - 1 :], rays[2, at + 1 :]
    above, below = rays[2, at - width :], rays[2, at + width :]
    depth, noise = points[2, row, left:], points[3, row, left:]
    for i in range(n):
        jump = np.float32(0.03) + np.float32(3) * noise[i] + np.float32(1.5) * spacing * depth[i]
        limit = jump * qs[i] * qs[i]
        lanes[9, i], lanes[10, i], lanes[11, i], lanes[12, i] = us[i], vs[i], qs[i], limit
        lanes[13, i] = _slope(before[i], qs[i], after[i], limit)
        lanes[14, i] = _slope(above[i], qs[i], below[i], limit)
        lanes[0, i] = 1
        for k in range(1, 9):
            lanes[k, i] = 0
    for dr in range(-NORMAL_REACH, NORMAL_REACH + 1, 2):
        first = at + dr * width - NORMAL_REACH
        us, vs, qs = rays[0, first:], rays[1, first:], rays[2, first:]
        for i in range(np.uint64(n)):
            expected = lanes[11, i] + dr * lanes[14, i]
            n_near, u, v, q = lanes[0, i], lanes[1, i], lanes[2, i], lanes[3, i]
            uu, uv, vv, uq, vq = lanes[4, i], lanes[5, i], lanes[6, i], lanes[7, i], lanes[8, i]
            for k in range(np.uint64(NORMAL_REACH + 1)):  # the compiler unrolls it: sums stay in registers
                other, dc = i + np.uint64(2) * k, np.float64(np.int64(2 * k) - NORMAL_REACH)
                is_near = (abs(qs[other] - expected - dc * lanes[13, i]) < lanes[12, i]) & (qs[other] > 0)
                du = us[other] - lanes[9, i] if is_near else np.float32(0)
                dv = vs[other] - lanes[10, i] if is_near else np.float32(0)
                dq = qs[other] - lanes[11, i] if is_near else np.float32(0)
                n_near += np.float32(1) if is_near else np.float32(0)
                u += du
                v += dv
                q += dq
                uu += du * du
                uv += du * dv
                vv += dv * dv
                uq += du * dq
                vq += dv * dq
            lanes[0, i], lanes[1, i], lanes[2, i], lanes[3, i] = n_near, u, v, q
            lanes[4, i], lanes[5, i], lanes[6, i], lanes[7, i], lanes[8, i] = uu, uv, vv, uq, vq
    for i in range(n):
        count = lanes[0, i]
        mu, mv, mq = lanes[1, i] / count, lanes[2, i] / count, lanes[3, i] / count
        uu, uv, vv = lanes[4, i] / count - mu * mu, lanes[5, i] / count - mu * mv, lanes[6, i] / count - mv * mv
        uq, vq = lanes[7, i] / count - mu * mq, lanes[8, i] / count - mv * mq
        det = uu * vv - uv * uv
        # neighbors on one line do not determine a plane
        is_plane = (count >= LEAST_SAMPLES) & (det > np.float32(0.02) * (uu + vv) * (uu + vv))
        a, b = (uq * vv - vq * uv) / det, (vq * uu - uq * uv) / det
        c = lanes[11, i] + mq - a * (lanes[9, i] + mu) - b * (lanes[10, i] + mv)
        length = np.sqrt(a * a + b * b + c * c)
        for k, part in ((0, a), (1, b), (2, c)):
            lanes[k, i] = -part / length if is_plane else np.float32(0)
    for i in range(n):
        for k in range(3):
            normals[k, row, left + i] = lanes[k, i]


@kernel
def _slope(before: np.float32, middle: np.float32, after: np.float32, limit: np.float32) -> np.float32:
    """Return the change of reciprocal depth from cell to cell, if three in a row lie on one slope; else 0."""
    is_slope = (before > 0) & (after > 0) & (abs(before + after - np.float32(2) * middle) < limit)
    return np.float32(0.5) * (after - before) if is_slope else np.float32(0)
