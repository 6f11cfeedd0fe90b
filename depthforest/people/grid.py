"""DepthGrid: a frame on a grid of coarse cells, in metres, with normals: where people and planes are looked for.

A cell is a block of pixels. It holds the mean of its nearest surface only, so that thin limbs outlast the coarseness
and nothing lies between a person and the wall behind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from depthforest.base import Singles, kernel
from depthforest.frames import Frame

GRID_COLS = 160
"""Cells across a picture, about: at 4 m a cell of a Kinect is 3 cm, the half of an arm."""

LEAST_FILLED = 0.3
"""Share of readings in cells that have any, below which they are scattered."""

LEAST_READINGS = 4
"""Readings of a cell, on average, where they are scattered: cells are made twice as long until they have them."""

# Standard deviation of depth that is reckoned with: that of a Kinect v1, base + gain (z - center)^2 metres, rounding
# included. It is the noisiest of the common cameras that see a whole room.
NOISE_BASE = 0.0012
NOISE_GAIN = 0.0019
NOISE_CENTER = 0.4

STENCIL_SHARE = 6 / 640
"""Of the longer side of a picture: where noise is measured, wider than the blobs of a structured light sensor."""

SCALE_RANGE = (0.15, 3.0)
"""Multiples of the expected noise that are believed."""

LEAST_RATIOS = 100
"""Places where noise can be measured, below which it is taken to be as expected."""

NORMAL_REACH = 3
"""Cells from the middle of the window that a normal is fitted to: in smaller ones noise at 4 m tilts it too much."""

LEAST_SAMPLES = 5
"""Cells that a normal needs."""


@dataclass(frozen=True, eq=False)
class DepthGrid:
    """A frame as coarse cells.

    Parameters
    ----------
    step : int
        Pixels along a cell; cell (row, col) holds the pixels from (row * step, col * step).
    lens : array (4,), float64
        fx, fy, cx, cy of the frame.
    points : array (4, rows, cols), float32
        x, y, z in metres, camera space, and the standard deviation of z that is reckoned with; z = 0: no reading.
    area : array (rows, cols), float32
        Square metres that the cell's readings would cover if they faced the camera.
    normals : array (3, rows, cols), float32
        Unit vectors towards the camera; (0, 0, 0) where there is none.
    noise : float
        Multiple of the noise of `noise_at` that the frame has.
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
        """Metres between neighbours at a depth of 1 m."""
        return float(self.step / min(self.lens[0], self.lens[1]))

    @classmethod
    def of(cls, frame: Frame, *, is_kept: npt.NDArray[np.bool_] | None = None, noise: float | None = None) -> DepthGrid:
        """Return the grid of a frame.

        Parameters
        ----------
        frame : Frame
        is_kept : array (rows, cols), bool, optional
            Readings that count; None: all.
        noise : float, optional
            As in the class; None measures it.
        """
        depth_mm = frame.depth_mm if is_kept is None else frame.depth_mm * is_kept
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
            area /= np.float32(max(filled, 1e-6))  # a surface is there between scattered readings, too
        normals = np.empty((3, *shape), dtype=np.float32)
        _fit_normals(points, np.float32(step / min(camera.fx, camera.fy)), normals)
        return cls(step, lens, points, area, normals, noise)


@kernel
def noise_at(z: np.float32) -> np.float32:
    """Return the standard deviation of depth that is reckoned with at a depth, in metres."""
    beyond = max(z - np.float32(NOISE_CENTER), np.float32(0))
    return np.float32(NOISE_BASE) + np.float32(NOISE_GAIN) * beyond * beyond


def noise_scale(depth_mm: npt.NDArray[np.uint16]) -> float:
    """Return how noisy a picture is, as a multiple of the noise that `noise_at` expects.

    The median of second differences of the reciprocal depth, in which planes are straight: edges do not count.
    """
    offset = max(1, round(max(depth_mm.shape) * STENCIL_SHARE))
    if min(depth_mm.shape) <= 2 * offset:
        return 1.0
    every = max(1, offset // 2)
    ratios = np.empty((-(-depth_mm.shape[0] // every)) * (-(-depth_mm.shape[1] // every)), dtype=np.float32)
    n = _bend(depth_mm, offset, every, ratios)
    if n < LEAST_RATIOS:
        return 1.0
    return float(np.clip(1.4826 * np.median(ratios[:n]), *SCALE_RANGE))


@kernel
def _bend(depth_mm: npt.NDArray[np.uint16], offset: int, every: int, ratios: Singles) -> int:
    """Write the second difference at every few pixels of every few rows, in expected standard deviations."""
    n = 0
    for row in range(0, depth_mm.shape[0], every):
        for col in range(offset, depth_mm.shape[1] - offset, every):
            left, middle, right = depth_mm[row, col - offset], depth_mm[row, col], depth_mm[row, col + offset]
            if left == 0 or middle == 0 or right == 0:
                continue
            z = np.float32(middle) * np.float32(0.001)
            bend = np.float32(1000) / left + np.float32(1000) / right - np.float32(2) / z
            ratios[n] = abs(bend) * z * z / (np.float32(2.4494898) * noise_at(z))
            n += 1
    return n


@kernel
def _gather(
    depth_mm: npt.NDArray[np.uint16], step: int, lens: npt.NDArray[np.float64], noise: np.float32, points: Singles,
    area: Singles,
) -> tuple[int, int]:  # fmt: skip
    """Write the mean point of every cell's nearest surface; return how many readings and cells with any there are."""
    n_rows, n_cols = depth_mm.shape
    n_readings, n_cells = 0, 0
    inv_fx, inv_fy = np.float32(1 / lens[0]), np.float32(1 / lens[1])
    cx, cy = np.float32(lens[2]), np.float32(lens[3])
    for row in range(area.shape[0]):
        top, bottom = row * step, min((row + 1) * step, n_rows)
        for col in range(area.shape[1]):
            left, right = col * step, min((col + 1) * step, n_cols)
            nearest, n = 65535, 0
            for r in range(top, bottom):
                for c in range(left, right):
                    reading = depth_mm[r, c]
                    if reading != 0:
                        n += 1
                        nearest = min(nearest, reading)
            if n == 0:
                points[:, row, col] = 0.0
                area[row, col] = 0.0
                continue
            n_readings += n
            n_cells += 1
            near = np.float32(nearest) * np.float32(0.001)
            limit = nearest + np.int64(1000 * (np.float32(0.02) + np.float32(3) * noise * noise_at(near)))
            n, sum_z, sum_x, sum_y = 0, 0, np.float32(0), np.float32(0)
            for r in range(top, bottom):
                for c in range(left, right):
                    reading = depth_mm[r, c]
                    if reading != 0 and reading <= limit:
                        n += 1
                        sum_z += reading
                        sum_x += np.float32(reading) * (c - cx)
                        sum_y += np.float32(reading) * (r - cy)
            to_metres = np.float32(0.001) / np.float32(n)
            z = np.float32(sum_z) * to_metres
            points[0, row, col] = sum_x * to_metres * inv_fx
            points[1, row, col] = sum_y * to_metres * inv_fy
            points[2, row, col] = z
            points[3, row, col] = noise * noise_at(z)
            area[row, col] = np.float32(n) * z * z * inv_fx * inv_fy
    return n_readings, n_cells


@kernel
def _fit_normals(points: Singles, spacing: np.float32, normals: Singles) -> None:
    """Write the normal of every cell: the reciprocal depth of a plane is linear in the picture, so that is fitted.

    It is fitted to the cell and to sixteen around it, at odd distances of rows and columns. A neighbour across a depth
    jump does not count; on a slope, such as the floor at a grazing angle, it is one if it is off the slope.
    """
    n_rows, n_cols = points.shape[1], points.shape[2]
    # u, v and reciprocal depth side by side, in a frame without readings
    width = n_cols + 2 * NORMAL_REACH
    rays = np.zeros(((n_rows + 2 * NORMAL_REACH) * width, 3), dtype=np.float32)
    for row in range(n_rows):
        for col in range(n_cols):
            z = points[2, row, col]
            if z > 0:
                q = np.float32(1) / z
                at = (row + NORMAL_REACH) * width + col + NORMAL_REACH
                rays[at, 0], rays[at, 1], rays[at, 2] = points[0, row, col] * q, points[1, row, col] * q, q
    for row in range(n_rows):
        for col in range(n_cols):
            normals[0, row, col], normals[1, row, col], normals[2, row, col] = 0.0, 0.0, 0.0
            z = points[2, row, col]
            if z == 0:
                continue
            at = (row + NORMAL_REACH) * width + col + NORMAL_REACH
            u, v, q = rays[at, 0], rays[at, 1], rays[at, 2]
            jump = np.float32(0.03) + np.float32(3) * points[3, row, col] + np.float32(1.5) * spacing * z
            limit = jump * q * q
            along = _slope(rays[at - 1, 2], q, rays[at + 1, 2], limit)
            down = _slope(rays[at - width, 2], q, rays[at + width, 2], limit)
            n, su, sv, sq = np.float32(1), np.float32(0), np.float32(0), np.float32(0)
            suu, suv, svv, suq, svq = np.float32(0), np.float32(0), np.float32(0), np.float32(0), np.float32(0)
            for dr in range(-NORMAL_REACH, NORMAL_REACH + 1, 2):
                expected = q + dr * down
                for dc in range(-NORMAL_REACH, NORMAL_REACH + 1, 2):
                    other = at + dr * width + dc
                    q_other = rays[other, 2]
                    if abs(q_other - expected - dc * along) < limit and q_other > 0:
                        du, dv, dq = rays[other, 0] - u, rays[other, 1] - v, q_other - q
                        n += np.float32(1)
                        su += du
                        sv += dv
                        sq += dq
                        suu += du * du
                        suv += du * dv
                        svv += dv * dv
                        suq += du * dq
                        svq += dv * dq
            if n < LEAST_SAMPLES:
                continue
            mu, mv, mq = su / n, sv / n, sq / n
            uu, uv, vv = suu / n - mu * mu, suv / n - mu * mv, svv / n - mv * mv
            uq, vq = suq / n - mu * mq, svq / n - mv * mq
            det = uu * vv - uv * uv
            # neighbours on one line fix no plane
            if det <= np.float32(0.02) * (uu + vv) * (uu + vv):
                continue
            a, b = (uq * vv - vq * uv) / det, (vq * uu - uq * uv) / det
            c = q + mq - a * (u + mu) - b * (v + mv)
            length = np.sqrt(a * a + b * b + c * c)
            normals[0, row, col], normals[1, row, col], normals[2, row, col] = -a / length, -b / length, -c / length


@kernel
def _slope(before: np.float32, middle: np.float32, after: np.float32, limit: np.float32) -> np.float32:
    """Return the change of reciprocal depth from cell to cell, if three in a row lie on one slope; else 0."""
    is_slope = (before > 0) & (after > 0) & (abs(before + after - np.float32(2) * middle) < limit)
    return np.float32(0.5) * (after - before) if is_slope else np.float32(0)
