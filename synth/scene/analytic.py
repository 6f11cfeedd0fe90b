"""Exact depth of planes, spheres and boxes: the intersections of each pixel's ray with each solid.

For small scenes, in float64 and without noise: it makes the sample frames and is the reference for renderers.
Everything is in camera space: x right, y down, z forward, meters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats
from depthforest.frames import Camera

Vector = tuple[float, float, float] | Floats


class Solid(Protocol):
    """Anything a ray can hit."""

    def depths(self, rays: Floats) -> Floats:
        """Return z (...) of the first intersection with each ray (..., 3), whose z is 1; inf if it misses."""
        ...


@dataclass(frozen=True)
class Plane:
    """All points p with normal . (p - point) = 0, seen from either side."""

    point: Vector
    normal: Vector

    def depths(self, rays: Floats) -> Floats:
        """See `Solid.depths`."""
        normal = np.asarray(self.normal, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = (normal @ np.asarray(self.point)) / (rays @ normal)
        return np.where(np.isfinite(z) & (z > 0), z, np.inf)


@dataclass(frozen=True)
class Sphere:
    """A ball."""

    center: Vector
    radius: float

    def depths(self, rays: Floats) -> Floats:
        """See `Solid.depths`; the camera must be outside."""
        center = np.asarray(self.center, dtype=np.float64)
        # |z ray - center|^2 = radius^2, the smaller root
        a = (rays * rays).sum(axis=-1)
        b = rays @ center
        under_root = b * b - a * (center @ center - self.radius**2)
        z = (b - np.sqrt(np.maximum(under_root, 0))) / a
        return np.where((under_root > 0) & (z > 0), z, np.inf)


@dataclass(frozen=True)
class Box:
    """A box with its half extents along its own axes, the columns of `axes`."""

    center: Vector
    half_size: Vector
    axes: Floats

    def depths(self, rays: Floats) -> Floats:
        """See `Solid.depths`; the camera must be outside."""
        center = np.asarray(self.center, dtype=np.float64) @ self.axes
        half = np.asarray(self.half_size, dtype=np.float64)
        own_rays = rays @ self.axes
        # the ray is between two parallel faces from `enter` to `leave`, and inside the box where all three intervals
        # overlap
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.stack(((center - half) / own_rays, (center + half) / own_rays))
        enter, leave = np.nanmax(ends.min(axis=0), axis=-1), np.nanmin(ends.max(axis=0), axis=-1)
        return np.where((enter <= leave) & (enter > 0), enter, np.inf)


def camera_rays(camera: Camera) -> Floats:
    """Return the ray of every pixel, (rows, cols, 3), with z = 1."""
    rows, cols = np.indices(camera.shape)
    return camera.unproject(np.stack((rows, cols), axis=-1), 1.0)


def cast(camera: Camera, solids: Sequence[Solid]) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return the depth and the solid that each pixel sees.

    Returns
    -------
    depth : array (rows, cols), float64
        z in meters; inf where there is nothing.
    solid : array (rows, cols), int64
        Index of the nearest solid, the first of equally near ones; -1 where there is nothing.
    """
    rays = camera_rays(camera)
    depth = np.full(camera.shape, np.inf)
    index = np.full(camera.shape, -1, dtype=np.int64)
    for i, solid in enumerate(solids):
        z = solid.depths(rays)
        is_nearer = z < depth
        depth[is_nearer] = z[is_nearer]
        index[is_nearer] = i
    return depth, index
