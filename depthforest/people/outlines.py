"""Outlines: the person of every pixel, from the persons of the coarse grid's cells.

A pixel joins the surface, among those of the surrounding cells, that fits its reading best. A mask therefore ends
exactly where the person ends, and only contains pixels with readings.
"""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from depthforest.base import Bytes, Longs, Singles, kernel
from depthforest.people.grid import DepthGrid, noise_at

SURE = 0.01
"""A pixel within this many meters of its own cell's surface, plus 2 standard deviations of noise, is on it."""

REACH = 0.06
"""A pixel farther than this many meters from the best surface, plus 4 standard deviations, is on none."""


def outline_people(
    depth_mm: npt.NDArray[np.uint16],
    grid: DepthGrid,
    cells: Bytes,
    owner: npt.NDArray[np.int16] | None = None,
    planes: Singles | None = None,
    allowed: Bytes | None = None,
) -> tuple[Bytes, Longs]:
    """Return the person of every pixel, and how many pixels each person has, (256,).

    Parameters
    ----------
    depth_mm : array (rows, cols), uint16
        Readings of the frame.
    grid : DepthGrid
        Grid of the frame.
    cells : array of the grid's shape, uint8
        Person of every cell, from 1; 0 = nobody.
    owner, planes
        From `planes.assign_planes` and `planes.plane_table`, for cells that lie on a plane.
    allowed : array (rows, cols), uint8, optional
        0 where nobody can be.
    """
    if owner is None or planes is None:
        owner, planes = np.full(grid.shape, -1, dtype=np.int16), np.empty((0, 5), dtype=np.float32)
    people, n_pixels = np.zeros(depth_mm.shape, dtype=np.uint8), np.zeros(256, dtype=np.int64)
    left, top, n_cols, n_rows = cv2.boundingRect(cells)
    if n_rows == 0:
        return people, n_pixels
    # pixels of neighboring cells may belong to the person, or lie on the next cell's surface
    down, across = (max(top - 2, 0), top + n_rows + 2), (max(left - 2, 0), left + n_cols + 2)
    box = np.array([down[0], min(down[1], cells.shape[0]), across[0], min(across[1], cells.shape[1])])
    surfaces = np.empty((3, *grid.shape), dtype=np.float32)
    _fit_surfaces(grid.points, grid.normals, owner, planes, cells, box, surfaces)
    if allowed is None:
        allowed = np.ones((1, 1), dtype=np.uint8)
    _outline(
        depth_mm, grid.step, grid.lens, np.float32(grid.noise), grid.points[2], surfaces, cells, allowed, box, people,
        n_pixels,
    )  # fmt: skip
    return people, n_pixels


@kernel
def _fit_surfaces(
    points: Singles,
    normals: Singles,
    owner: npt.NDArray[np.int16],
    planes: Singles,
    cells: Bytes,
    box: Longs,
    surfaces: Singles,
) -> None:
    """Write a, b, c of the reciprocal depth a u + b v + c of each cell's surface; (u, v, 1) is the ray of a pixel.

    Those of the rows and columns in `box` are written: first row, end, first column, end.
    """
    for row in range(box[0], box[1]):
        for col in range(box[2], box[3]):
            x, y, z = points[0, row, col], points[1, row, col], points[2, row, col]
            if z == 0:
                continue
            k = owner[row, col]
            if k >= 0 and cells[row, col] == 0 and planes[k, 3] > np.float32(0.01):
                for i in range(3):
                    surfaces[i, row, col] = -planes[k, i] / planes[k, 3]
                continue
            a, b, c = normals[0, row, col], normals[1, row, col], normals[2, row, col]
            facing = -(a * x + b * y + c * z)
            # a surface that is seen edge-on or has no normal is assumed to face the camera
            if facing < np.float32(0.15) * z:
                a, b, c, facing = np.float32(0), np.float32(0), np.float32(-1), z
            surfaces[0, row, col], surfaces[1, row, col], surfaces[2, row, col] = -a / facing, -b / facing, -c / facing


@kernel
def _outline(
    depth_mm: npt.NDArray[np.uint16], step: int, lens: npt.NDArray[np.float64], scale: np.float32, depth: Singles,
    surfaces: Singles, cells: Bytes, allowed: Bytes, box: Longs, people: Bytes, n_pixels: Longs,
) -> None:  # fmt: skip
    """Write the person of every pixel, and count each person's pixels. If `allowed` is (1, 1), all are allowed."""
    is_all_allowed = allowed.size == 1
    fx, fy = np.float32(lens[0]), np.float32(lens[1])
    cx, cy = np.float32(lens[2]), np.float32(lens[3])
    us = np.empty(depth_mm.shape[1])
    for j in range(len(us)):
        us[j] = (j - cx) / fx
    for row in range(box[0], box[1]):
        for col in range(box[2], box[3]):
            n_people = 0
            for r in range(max(row - 1, 0), min(row + 2, cells.shape[0])):
                for c in range(max(col - 1, 0), min(col + 2, cells.shape[1])):
                    n_people += cells[r, c] > 0
            if n_people == 0:
                continue
            own, a, b, c = cells[row, col], surfaces[0, row, col], surfaces[1, row, col], surfaces[2, row, col]
            for i in range(row * step, min((row + 1) * step, depth_mm.shape[0])):
                v = (i - cy) / fy
                for j in range(col * step, min((col + 1) * step, depth_mm.shape[1])):
                    if depth_mm[i, j] == 0 or not (is_all_allowed or allowed[i, j]):
                        continue
                    z = np.float32(depth_mm[i, j]) * np.float32(0.001)
                    q, noise = np.float32(1) / z, scale * noise_at(z)
                    person = own
                    is_sure = abs(a * us[j] + b * v + c - q) * z * z < np.float32(SURE) + np.float32(2) * noise
                    if own == 0 or not is_sure:
                        best = np.float32(REACH) + np.float32(4) * noise
                        person = _nearest_surface(us[j], v, q, z, best, depth, surfaces, cells, row, col)
                    people[i, j] = person
                    n_pixels[person] += 1


@kernel
def _nearest_surface(
    u: float, v: float, q: np.float32, z: np.float32, best: np.float32, depth: Singles, surfaces: Singles,
    cells: Bytes, row: int, col: int,
) -> np.uint8:  # fmt: skip
    """Return the person of the surrounding cell whose surface fits a reading best; 0 if none fits."""
    person = np.uint8(0)
    for r in range(max(row - 1, 0), min(row + 2, cells.shape[0])):
        for c in range(max(col - 1, 0), min(col + 2, cells.shape[1])):
            if depth[r, c] == 0:
                continue
            error = abs(surfaces[0, r, c] * u + surfaces[1, r, c] * v + surfaces[2, r, c] - q) * z * z
            if error < best:
                best, person = error, cells[r, c]
    return person
