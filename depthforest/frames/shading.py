"""Shading and painting for pictures: shaded depth, and part colors that the shading shows through.

OpenCV does everything that is not one loop over pixels. The loops are kernels, which need no temporary arrays and
release the GIL.
"""

from __future__ import annotations

import math

import cv2
import numpy as np

from depthforest.base import Bytes, Longs, kernel
from depthforest.frames.frame import Frame
from depthforest.frames.parts import NO_PART
from depthforest.frames.units import MAX_MM

LIGHT = np.array([-0.35, -0.55, -0.75], dtype=np.float32)
"""Direction to the light in camera space: above and left of the camera, behind it."""

AMBIENT = 0.25
JUMP_M_PER_M = 0.03
"""Neighboring readings that differ by more than this share of their depth lie on different surfaces."""

SMOOTHING_PX = 5
"""Side of the window that evens out sensor noise before normals are taken; edges are kept."""

TINTS = ((1.0, 0.55), (0.96, 0.62), (0.88, 0.80))
"""Share of red, green and blue in the light, (near, far): warm in front, cool behind."""

SHADOW = 0.35
"""Paint in the dark keeps this share of its color."""

_HOLE_M, _OUTSIDE_M = 100.0, 1000.0
"""Depth where there is no reading, and around the picture: far from every surface, so that the filter ignores it."""


_TINTS = np.array([(near, far - near) for near, far in TINTS], dtype=np.float32)
_LIGHT_LENGTH = np.float32(np.linalg.norm(LIGHT))
_JUMP, _AMBIENT, _DIRECT = np.float32(JUMP_M_PER_M), np.float32(AMBIENT), np.float32(1 - AMBIENT)
_SHADOW, _LIT = np.float32(SHADOW), np.float32((1 - SHADOW) / 255)
_MM, _HOLE, _NOTHING, _HALF, _ONE, _WHITE = map(np.float32, (1000, _HOLE_M, 0, 0.5, 1, 255))
_UNKNOWN = np.float32(np.nan)
"""Single precision throughout: in a kernel, a Python number would be a double."""


def shaded_depth(frame: Frame) -> Bytes:
    """Return a shaded picture of a frame; `drawing.shade` describes it."""
    picture = np.zeros((*frame.shape, 3), dtype=np.uint8)
    meters, n_upto = np.empty(frame.shape, dtype=np.float32), np.zeros(MAX_MM + 1, dtype=np.int64)
    _take_depth(frame.depth_mm, meters, n_upto)
    n = int(n_upto[-1])
    if n == 0:
        return picture
    near, far = (_quantile(n_upto, share * (n - 1)) for share in (0.02, 0.98))
    middle = np.array([_ranked(n_upto, (n - 1) // 2), _ranked(n_upto, n // 2)], dtype=np.float32) / _MM
    jump = JUMP_M_PER_M * float(middle.mean())
    smooth = np.full((frame.shape[0] + 2, frame.shape[1] + 2), _OUTSIDE_M, dtype=np.float32)
    smooth[1:-1, 1:-1] = cv2.bilateralFilter(
        meters, SMOOTHING_PX, jump, SMOOTHING_PX / 2, borderType=cv2.BORDER_REPLICATE
    )
    camera = frame.camera
    x = ((np.arange(camera.width) - camera.cx) / camera.fx).astype(np.float32)
    y = ((np.arange(camera.height) - camera.cy) / camera.fy).astype(np.float32)
    focal = np.array([camera.fx, camera.fy], dtype=np.float32)
    reach = np.array([near, max(far - near, 1.0)], dtype=np.float32)
    _shade(frame.depth_mm, smooth, x, y, focal, reach, LIGHT, _TINTS, picture)
    return picture


def painted(shaded: Bytes, parts: Bytes, colors: Bytes, opacity: float) -> Bytes:
    """Return a shaded picture (rows, cols, 3) with paint on its parts (rows, cols), in colors (256, 3)."""
    picture = np.array(shaded, order="C")
    parts = np.ascontiguousarray(parts).view()
    parts.setflags(write=False)  # read-only like a frame's parts: the kernel is compiled for one type
    _paint(parts, colors, np.float32(opacity), 1 - float(opacity), picture)
    return picture


def _ranked(n_upto: Longs, rank: int) -> int:
    """Return the reading of a rank; `n_upto` has for each depth how many readings are not beyond it."""
    return int(np.searchsorted(n_upto, rank, side="right"))


def _quantile(n_upto: Longs, rank: float) -> float:
    """Return the reading at a fractional rank, interpolated."""
    low, high = _ranked(n_upto, math.floor(rank)), _ranked(n_upto, math.ceil(rank))
    return low + (high - low) * (rank % 1)


@kernel
def _take_depth(depth_mm, meters, n_upto):  # type: ignore[no-untyped-def]
    """Fill depth in meters, and for each depth in millimeters how many readings are not beyond it."""
    for row in range(depth_mm.shape[0]):
        for col in range(depth_mm.shape[1]):
            depth = depth_mm[row, col]
            n_upto[depth] += 1
            meters[row, col] = np.float32(depth) / _MM if depth > 0 else _HOLE
    n_upto[0] = 0
    for depth in range(1, len(n_upto)):
        n_upto[depth] += n_upto[depth - 1]


@kernel
def _slope(before, here, after):  # type: ignore[no-untyped-def]
    """Return the slope of the depth from the neighbors that are on the same surface: both, or one; NaN if none is."""
    back, forth = here - before, after - here
    has_back, has_forth = abs(back) <= _JUMP * here, abs(forth) <= _JUMP * after
    total = (back if has_back else _NOTHING) + (forth if has_forth else _NOTHING)
    share = _HALF if has_back and has_forth else _ONE if has_back or has_forth else _UNKNOWN
    return total * share


@kernel
def _shade(depth_mm, smooth, x, y, focal, reach, light, tints, picture):  # type: ignore[no-untyped-def]
    """Fill a picture; `smooth` is meters with a border of one pixel, `x` and `y` are columns and rows in focal lengths.

    The normal of a surface z(row, col) seen through a pinhole is d/dcol x d/drow of ((col-cx)z/fx, (row-cy)z/fy, z).
    """
    n_rows, n_cols = depth_mm.shape
    brightness, distance = np.empty(n_cols, dtype=np.float32), np.empty(n_cols, dtype=np.float32)
    for row in range(n_rows):
        above, line, below, depths = smooth[row], smooth[row + 1], smooth[row + 2], depth_mm[row]
        for col in range(n_cols):  # without branches, for vector instructions
            z = line[col + 1]
            normal_x = _slope(line[col], z, line[col + 2]) * focal[0]
            normal_y = _slope(above[col + 1], z, below[col + 1]) * focal[1]
            normal_z = -(z + x[col] * normal_x + y[row] * normal_y)
            along = light[0] * normal_x + light[1] * normal_y + light[2] * normal_z
            length = math.sqrt(normal_x * normal_x + normal_y * normal_y + normal_z * normal_z) * _LIGHT_LENGTH
            cosine = abs(along) / length
            cosine = cosine if cosine <= _ONE else _ONE if cosine > _ONE else _HALF
            glow = _WHITE * (_AMBIENT + _DIRECT * cosine)
            brightness[col] = glow if depths[col] > 0 else _NOTHING
            share = (np.float32(depths[col]) - reach[0]) / reach[1]
            distance[col] = _NOTHING if share < _NOTHING else _ONE if share > _ONE else share
        for col in range(n_cols):
            for channel in range(3):
                tint = tints[channel, 0] + tints[channel, 1] * distance[col]
                picture[row, col, channel] = np.uint8(brightness[col] * tint)


@kernel
def _paint(parts, colors, opacity, rest, picture):  # type: ignore[no-untyped-def]
    """Paint parts, shaded by the brightness of the picture."""
    for row in range(parts.shape[0]):
        for col in range(parts.shape[1]):
            part = parts[row, col]
            if part != NO_PART:
                red, green, blue = picture[row, col]
                light = _SHADOW + _LIT * np.float32(max(red, green, blue))
                for channel in range(3):
                    paint = opacity * (np.float32(colors[part, channel]) * light)
                    picture[row, col, channel] = np.uint8(paint + rest * picture[row, col, channel])
