"""Smooth implicit surfaces: lofts and ellipsoids, blended by smooth unions and meshed by marching cubes.

A field is the approximate signed distance of every point to a surface, negative inside. `figures` builds people from
fields; `procedural` turns the meshes into bodies. All fields are symmetric about x = 0: one half is meshed and
mirrored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, Longs

Field = Callable[[Floats], Floats]
Vector = tuple[float, float, float]

TINY = 1e-9
"""Meters: keeps divisions finite on the axis of a loft."""


def smooth_union(a: Floats, b: Floats, width: float) -> Floats:
    """Return the union of two fields, blended over `width` meters at the seam."""
    overlap = np.maximum(width - np.abs(a - b), 0.0)
    return np.asarray(np.minimum(a, b) - overlap * overlap / (4 * width))


def smooth_cut(a: Floats, b: Floats, width: float) -> Floats:
    """Return field `a` with the inside of `b` cut away; the edge is rounded over `width` meters."""
    return -smooth_union(-a, b, width)


def ellipsoid(points: Floats, center: Vector, radii: Vector) -> Floats:
    """Return the approximate signed distance of points (..., 3) to an axis-aligned ellipsoid."""
    offset = points - np.asarray(center)
    inner = np.linalg.norm(offset / np.asarray(radii), axis=-1)
    outer = np.linalg.norm(offset / np.square(radii), axis=-1)
    return np.asarray(inner * (inner - 1) / (outer + TINY))


def round_cone(points: Floats, start: Vector, end: Vector, start_radius: float, end_radius: float) -> Floats:
    """Return the approximate signed distance of points (..., 3) to a capsule whose radius changes from end to end."""
    offset, along = points - np.asarray(start), np.subtract(end, start)
    share = np.clip(offset @ along / (along @ along), 0, 1)
    distance = np.linalg.norm(offset - share[..., None] * along, axis=-1)
    return np.asarray(distance - (start_radius + share * (end_radius - start_radius)))


def smooth_curve(knots: npt.ArrayLike, values: npt.ArrayLike, at: Floats) -> Floats:
    """Return a monotone cubic interpolation of `values` at ascending `knots`; constant beyond the ends."""
    x, y = np.asarray(knots, dtype=np.float64), np.asarray(values, dtype=np.float64)
    step = np.diff(x)
    slope = np.diff(y) / step
    tangent = np.concatenate((slope[:1], np.zeros(len(x) - 2), slope[-1:]))
    # the harmonic mean of both slopes where their signs agree, zero at peaks: no overshoot
    left, right = slope[:-1], slope[1:]
    rises = left * right > 0
    tangent[1:-1][rises] = 2 * left[rises] * right[rises] / (left + right)[rises]
    at = np.clip(at, x[0], x[-1])
    i = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(x) - 2)
    u = (at - x[i]) / step[i]
    before, after = 1 - u, u
    return np.asarray(
        before * before * (1 + 2 * u) * y[i]
        + after * after * (3 - 2 * u) * y[i + 1]
        + step[i] * u * before * (before * tangent[i] - after * tangent[i + 1])
    )


@dataclass(frozen=True)
class Loft:
    """A solid with a rounded section that changes along a straight axis.

    Parameters
    ----------
    origin : (x, y, z)
        Where the axis starts, meters.
    axes : array (3, 3)
        Rows: the direction of the axis, and the two directions across it (unit vectors).
    stations : array (n, 5)
        In ascending order along the axis: position, and the radii of the section toward plus and minus of the first
        and of the second direction across, meters.
    caps : (float, float)
        Lengths at start and end over which the section closes like an ellipse, meters.
    squareness : float
        Exponent of the section: 2 is an ellipse, more is boxier.
    """

    origin: Vector
    axes: Floats
    stations: Floats
    caps: tuple[float, float]
    squareness: float = 2.0

    def __call__(self, points: Floats) -> Floats:
        """Return the approximate signed distance of points (..., 3) to the surface."""
        local = (points - np.asarray(self.origin)) @ self.axes.T
        t, p, q = local[..., 0], local[..., 1], local[..., 2]
        start, end = self.stations[0, 0], self.stations[-1, 0]
        # the profiles are read from a table: evaluating the cubic at every grid point would take seconds
        table_t = np.linspace(start, end, 257)
        close = _cap((table_t - start) / self.caps[0]) * _cap((end - table_t) / self.caps[1])
        radii = [
            np.interp(t, table_t, close * smooth_curve(self.stations[:, 0], self.stations[:, c], table_t)) + TINY
            for c in range(1, 5)
        ]
        across_p = np.abs(p) / np.where(p > 0, radii[0], radii[1])
        across_q = np.abs(q) / np.where(q > 0, radii[2], radii[3])
        n = self.squareness
        # `**` with a fractional exponent is slow, so the ellipse has its own branch
        reach = np.hypot(across_p, across_q) if n == 2 else (across_p**n + across_q**n) ** (1 / n)
        reach += TINY
        distance = np.hypot(p, q) + TINY
        outside = np.maximum(np.maximum(start - t, t - end), 0)
        radial = distance * (1 - 1 / reach)
        return np.asarray(np.where(outside > 0, np.hypot(np.maximum(radial, 0), outside), radial))


def _cap(share: Floats) -> Floats:
    """Return the relative radius of an elliptic cap: 0 at share 0, 1 from share 1 on."""
    return np.asarray(np.sqrt(1 - np.square(1 - np.clip(share, 0, 1))))


@dataclass(frozen=True)
class Lens:
    """A ball in which the grid is finer: `zoom` times at its center, unchanged beyond `radius` meters."""

    center: Vector
    radius: float
    zoom: float

    def __call__(self, points: Floats) -> Floats:
        """Return the positions in space of grid points (..., 3); the map is smooth and one to one."""
        offset = points - np.asarray(self.center)
        share = np.minimum(np.linalg.norm(offset, axis=-1, keepdims=True) / self.radius, 1.0)
        shrink = 1 / self.zoom + (1 - 1 / self.zoom) * share * share
        return np.asarray(np.asarray(self.center) + offset * shrink)


def mesh_half(
    field: Field, lower: Vector, upper: Vector, cell: float, lenses: Sequence[Lens] = ()
) -> tuple[Floats, Longs]:
    """Mesh the half x >= 0 of a field.

    Parameters
    ----------
    field : callable
        Maps points (..., 3) to signed distances.
    lower, upper : (x, y, z)
        Corners of the grid, meters; the grid must contain the whole surface, except at x = 0, where the half is open.
    cell : float
        Side of a grid cell outside all lenses, meters.
    lenses : sequence of Lens
        Regions with a finer mesh; they must not reach the surface at the plane x = 0.

    Returns
    -------
    vertices : array (n, 3), float64
        x is exactly 0 on the open border.
    faces : array (m, 3), int64
        Counterclockwise when seen from outside.
    """
    from skimage.measure import marching_cubes

    axes = [
        low + cell * np.arange(int(np.ceil((high - low) / cell)) + 1) for low, high in zip(lower, upper, strict=True)
    ]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    values = _sampled(field, _through(lenses, grid), cell)
    # no sample may be exactly 0: marching cubes would make degenerate triangles there
    values = np.where(np.abs(values) < 1e-6, 1e-6, values)
    corners, faces, _, _ = marching_cubes(values, 0.0, gradient_direction="descent")
    vertices = _through(lenses, np.asarray(lower) + cell * corners.astype(np.float64))
    vertices[corners[:, 0] == 0, 0] = 0.0
    return _relaxed(field, vertices, faces.astype(np.int64))


def _sampled(field: Field, points: Floats, cell: float, stride: int = 3) -> Floats:
    """Return the field on a grid: exact near the surface, coarse elsewhere, where only its sign matters."""
    coarse = field(points[::stride, ::stride, ::stride])
    for axis in range(3):
        coarse = np.repeat(coarse, stride, axis=axis)
    rows, cols, layers = points.shape[:3]
    values = coarse[:rows, :cols, :layers].copy()
    is_near = np.abs(values) < 2.5 * stride * cell
    values[is_near] = field(points[is_near])
    return values


def _through(lenses: Sequence[Lens], points: Floats) -> Floats:
    for lens in lenses:
        points = lens(points)
    return points


def _relaxed(field: Field, vertices: Floats, faces: Longs, rounds: int = 3) -> tuple[Floats, Longs]:
    """Even out the triangles of marching cubes: move vertices to their neighbors' mean, then back to the surface."""
    on_plane = vertices[:, 0] == 0
    edges = unique_edges(faces)
    # border vertices average over border neighbors only, so that the seam stays a smooth curve
    is_heard = ~on_plane[edges] | on_plane[edges].all(axis=1, keepdims=True)
    a, b = np.concatenate((edges, edges[:, ::-1]))[np.concatenate((is_heard[:, 0], is_heard[:, 1]))].T
    count = np.bincount(a, minlength=len(vertices))[:, None]
    for _ in range(rounds):
        mean = np.stack([np.bincount(a, vertices[b, c], minlength=len(vertices)) for c in range(3)], axis=-1) / count
        vertices = 0.4 * vertices + 0.6 * mean
        vertices = _projected(field, vertices, on_plane)
    return vertices, faces


def _projected(field: Field, points: Floats, on_plane: npt.NDArray[np.bool_]) -> Floats:
    """Take one Newton step to the surface; points on the plane x = 0 stay on it."""
    step = 1e-4
    shifts = step * np.eye(3)
    value = field(points)
    gradient = np.stack([field(points + s) - value for s in shifts], axis=-1) / step
    gradient[on_plane, 0] = 0.0
    size = np.maximum((gradient * gradient).sum(axis=-1), 0.1)
    move = np.clip(value / size, -0.01, 0.01)
    points = points - move[:, None] * gradient
    points[:, 0] = np.where(on_plane, 0.0, np.maximum(points[:, 0], 1e-4))
    return points


def unique_edges(faces: Longs) -> Longs:
    """Return every edge of a triangle mesh once, (e, 2), with the lower vertex index first."""
    pairs = np.sort(np.concatenate((faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]])), axis=1)
    return np.asarray(np.unique(pairs, axis=0))


def mirrored_half(vertices: Floats, faces: Longs) -> tuple[Floats, Longs, Longs]:
    """Close a half mesh with its mirror image.

    Returns
    -------
    vertices : array (n, 3)
        The half, then the mirror images of its vertices with x > 0.
    faces : array (m, 3)
        The half's faces, then their mirror images.
    source : array (n,)
        For each vertex, the index of the half's vertex that it equals or mirrors.
    """
    is_twin = vertices[:, 0] > 0
    twin = np.arange(len(vertices))
    twin[is_twin] = len(vertices) + np.arange(is_twin.sum())
    source = np.concatenate((np.arange(len(vertices)), np.flatnonzero(is_twin)))
    both = vertices[source].copy()
    both[len(vertices) :, 0] *= -1
    return both, np.concatenate((faces, twin[faces][:, ::-1])), source
