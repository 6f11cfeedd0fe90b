"""Find the faces of a mesh that are visible from outside: small orthographic views from many directions.

`makehuman` uses this once, to remove the inside of the mouth and the surfaces behind the eyelids.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import kernel
from synth.bodies.body import BodyError

N_DIRECTIONS = 24
PIXEL = 0.0015
"""Meters: less than the thickness of the lips."""
MAX_PIXELS = 2_000_000
"""Largest number of pixels of one view; larger meshes are drawn at a coarser resolution."""


def hidden_faces(vertices: npt.NDArray[Any], faces: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return a mask (m,) of the faces that are visible from no side and have no visible neighbor.

    Parameters
    ----------
    vertices : array (n, 3)
        Meters.
    faces : array (m, 3) of int
        Vertex indices, counterclockwise when seen from outside; back faces count as hidden.
    """
    points, corners = np.asarray(vertices, dtype=np.float64), np.asarray(faces, dtype=np.int64)
    if points.ndim != 2 or points.shape[1] != 3 or corners.ndim != 2 or corners.shape[1] != 3 or not len(corners):
        raise BodyError(f"expected vertices (n, 3) and faces (m, 3), got {points.shape} and {corners.shape}")
    if corners.min() < 0 or corners.max() >= len(points) or not np.isfinite(points).all():
        raise BodyError("faces must name vertices, and vertices must be finite")
    is_seen = np.zeros(len(corners), dtype=np.bool_)
    for x_axis, y_axis, z_axis in _views(N_DIRECTIONS):
        projected = points @ np.stack((x_axis, y_axis, z_axis), axis=1)
        low, high = projected.min(axis=0), projected.max(axis=0)
        size = high - low
        pixel = max(PIXEL, float(np.sqrt(size[0] * size[1] / MAX_PIXELS)))
        projected[:, :2] = (projected[:, :2] - low[:2]) / pixel
        shape = (int(size[1] / pixel) + 2, int(size[0] / pixel) + 2)
        nearest = np.full(shape, -1, dtype=np.int64)
        _draw(projected, corners, np.full(shape, np.inf), nearest)
        is_seen[nearest[nearest >= 0]] = True
    at_seen = np.zeros(len(points), dtype=np.bool_)
    at_seen[corners[is_seen]] = True
    return np.asarray(~at_seen[corners].any(axis=1))


def _views(n: int) -> npt.NDArray[np.float64]:
    """Return (n, 3, 3): right, down and forward axes of cameras spread evenly over a sphere."""
    heights = 1 - (2 * np.arange(n) + 1) / n
    turns = np.pi * (1 + np.sqrt(5)) * np.arange(n)
    radii = np.sqrt(1 - heights**2)
    forwards = np.stack((radii * np.cos(turns), heights, radii * np.sin(turns)), axis=1)
    right = np.cross(forwards, (0.0, 1.0, 0.0))
    right /= np.linalg.norm(right, axis=1, keepdims=True)
    return np.stack((right, np.cross(forwards, right), forwards), axis=1)


@kernel
def _draw(
    points: npt.NDArray[np.float64],
    faces: npt.NDArray[np.int64],
    depth: npt.NDArray[np.float64],
    nearest: npt.NDArray[np.int64],
) -> None:
    """Write the nearest face of every pixel, -1 if seen from behind; points are (column, row, depth) in the image."""
    for face in range(len(faces)):
        a, b, c = faces[face]
        ax, ay, bx, by, cx, cy = points[a, 0], points[a, 1], points[b, 0], points[b, 1], points[c, 0], points[c, 1]
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if area == 0:
            continue
        for row in range(int(np.ceil(min(ay, by, cy))), int(np.floor(max(ay, by, cy))) + 1):
            for col in range(int(np.ceil(min(ax, bx, cx))), int(np.floor(max(ax, bx, cx))) + 1):
                of_a = ((bx - col) * (cy - row) - (by - row) * (cx - col)) / area
                of_b = ((cx - col) * (ay - row) - (cy - row) * (ax - col)) / area
                of_c = 1 - of_a - of_b
                if of_a >= 0 and of_b >= 0 and of_c >= 0:
                    z = of_a * points[a, 2] + of_b * points[b, 2] + of_c * points[c, 2]
                    if z < depth[row, col]:
                        depth[row, col] = z
                        # with axes right, down, forward, counterclockwise corners have a negative area when seen from
                        # outside
                        nearest[row, col] = face if area < 0 else -1
