"""Planes of a room: floor, walls, table tops, found by RANSAC on points with normals; and the up direction.

One point with its normal is a hypothesis. The one that explains the most square meters is refitted to its points, these
are removed, and the search continues in the rest. Tolerances follow the noise of depth along the ray.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, Ints, Singles, UsageError, is_whole, kernel
from depthforest.people.grid import DepthGrid

TOLERANCE = 0.015
"""Tolerance of a plane in meters, in addition to 3 standard deviations of noise, for real floors and lenses."""

ALIKE = 0.09
"""Tolerance in radians between a plane and the normals of its cells, in addition to the effect of noise."""

NOISE_TILT = 65.0
"""Tolerance of normals in radians per meter of noise, at a depth of 1 m: 0.5 in total at 4 m."""

LEAST_AREA = 0.06
"""Square meters of the smallest plane: the seat of a chair between the legs of a sitting person."""

ROOM_AREA = 0.5
"""Smallest wall or floor of the room, in square meters."""

MOST_BEYOND = 0.02
"""Largest share of readings beyond a wall or floor of the room: a mirror, an open door, noise."""

FLOOR_COS = 0.5
"""Smallest cosine between the floor's normal and the picture's up: cameras look down by up to 60 degrees."""

WALL_COS = 0.35
"""Largest such cosine of walls."""

MAX_SAMPLES = 2400
HYPOTHESES = 64
"""Hypotheses per round: a plane that covers a twentieth of the remaining points is missed by one round in thirty."""

MAX_ROUNDS = 24
MAX_FAILURES = 2
"""The search ends after this many rounds without a plane."""

UP = (0.0, -1.0, 0.0)
"""Default up direction in camera space, if the picture does not determine it."""


@dataclass(frozen=True)
class FittedPlane:
    """A plane in camera space: the points p with normal . p + offset = 0.

    Parameters
    ----------
    normal : (x, y, z)
        Unit vector, toward the camera's side.
    offset : float
        Distance of the camera in meters, above 0.
    area : float
        Approximate visible area in square meters.
    is_room : bool
        Whether it bounds the room: it is large, and hardly anything lies beyond.
    """

    normal: tuple[float, float, float]
    offset: float
    area: float
    is_room: bool


def find_planes(
    grid: DepthGrid, *, n: int = 12, least_area: float = LEAST_AREA, seed: int = 0
) -> tuple[FittedPlane, ...]:
    """Return the planes of a grid, roughly the largest first: in the order in which they were found.

    Parameters
    ----------
    grid : DepthGrid
    n : int
        Most planes to find, 0 or more.
    least_area : float
        Smallest plane to find, in square meters.
    seed : int
        Seed of the hypotheses; the same seed gives the same planes.
    """
    for name, value in (("n", n), ("seed", seed)):
        if not is_whole(value, 0):
            raise UsageError(f"{name} must be a whole number, 0 or more; got {value!r}")
    n_cells = grid.shape[0] * grid.shape[1]
    # an odd stride, so that no column is skipped
    stride = max(1, n_cells // (2 * MAX_SAMPLES)) | 1
    samples = np.empty((9, -(-n_cells // stride)), dtype=np.float32)
    n_samples = _take_samples(grid.points, grid.normals, grid.area, stride, samples)
    found = np.empty((n, 6), dtype=np.float64)
    n_found = _search(samples, n_samples, float(least_area), np.uint64(seed), found)
    return tuple(
        FittedPlane(
            (float(a), float(b), float(c)),
            float(offset),
            float(area),
            bool(area >= ROOM_AREA and beyond <= MOST_BEYOND),
        )
        for a, b, c, offset, area, beyond in found[:n_found]
    )


def find_floor(planes: Sequence[FittedPlane]) -> FittedPlane | None:
    """Return the floor: the largest bounding plane of the room that faces up; None if there is none."""
    floors = [p for p in planes if p.is_room and -p.normal[1] >= FLOOR_COS]
    return max(floors, key=lambda p: p.area, default=None)


def find_up(planes: Sequence[FittedPlane]) -> Floats:
    """Return the unit vector (3,) that points up: the floor's normal, or the direction perpendicular to the walls'."""
    floor = find_floor(planes)
    if floor is not None:
        return np.array(floor.normal)
    up = np.array(UP)
    for wall in planes:
        normal = np.array(wall.normal)
        if wall.is_room and abs(normal[1]) <= WALL_COS:
            up -= (up @ normal) * normal
            up /= np.linalg.norm(up)
    return up


def plane_table(planes: Sequence[FittedPlane]) -> Singles:
    """Return planes for kernels: rows of normal, offset, and 1 if the plane bounds the room."""
    rows = [(*p.normal, p.offset, p.is_room) for p in planes]
    return np.array(rows, dtype=np.float32).reshape(-1, 5)


@kernel
def least_agreement(z: np.float32, noise: np.float32) -> np.float32:
    """Return the smallest cosine between a plane and the normal of a cell on it at a depth."""
    angle = min(np.float32(ALIKE) + np.float32(NOISE_TILT) * noise / z, np.float32(1))
    return np.float32(1) - np.float32(0.5) * angle * angle + angle * angle * angle * angle / np.float32(24)


@kernel
def assign_planes(points: Singles, normals: Singles, planes: Singles, owner: npt.NDArray[np.int16]) -> None:
    """Write for every cell the plane that it lies on, numbered from 0; -1 none, -2 no reading.

    Cells beyond a plane that bounds the room belong to it. On other planes normals must agree, because a person
    intersects the plane of a seat.
    """
    n_cols = owner.shape[1]
    # of a row of cells: loops over it without branches vectorize, if these are arrays of their own
    slack, least = np.empty(n_cols, dtype=np.float32), np.empty(n_cols, dtype=np.float32)
    best = np.empty(n_cols, dtype=np.float32)
    for row in range(owner.shape[0]):
        xs, ys, zs, noise, owners = points[0, row], points[1, row], points[2, row], points[3, row], owner[row]
        along_x, along_y, along_z = normals[0, row], normals[1, row], normals[2, row]
        for col in range(n_cols):
            slack[col] = np.float32(3) * noise[col] / zs[col]
            least[col] = least_agreement(zs[col], noise[col])
            best[col] = 1
            owners[col] = -1 if zs[col] > 0 else -2
        for k in range(len(planes)):
            a, b, c, offset, is_room = planes[k, 0], planes[k, 1], planes[k, 2], planes[k, 3], planes[k, 4] > 0
            for col in range(n_cols):
                height = a * xs[col] + b * ys[col] + c * zs[col] + offset
                share = (height if is_room else abs(height)) / (np.float32(TOLERANCE) + slack[col] * offset)
                agreement = a * along_x[col] + b * along_y[col] + c * along_z[col]
                # without a reading, a share is no number
                is_nearer = (share < best[col]) & (is_room | (agreement >= least[col]))
                best[col] = share if is_nearer else best[col]
                owners[col] = np.int16(k) if is_nearer else owners[col]


@kernel
def _take_samples(points: Singles, normals: Singles, area: Singles, stride: int, samples: Singles) -> int:
    """Write x, y, z, normal, slack, area and least agreement of one in `stride` cells with normals; return how many."""
    n_cols = area.shape[1]
    n = 0
    for index in range(0, area.size, stride):
        row, col = index // n_cols, index % n_cols
        x, y, z = points[0, row, col], points[1, row, col], points[2, row, col]
        a, b, c = normals[0, row, col], normals[1, row, col], normals[2, row, col]
        facing = -(a * x + b * y + c * z)
        if facing <= 0:
            continue
        samples[0, n], samples[1, n], samples[2, n] = x, y, z
        samples[3, n], samples[4, n], samples[5, n] = a, b, c
        # the offset of a plane times this is 3 standard deviations perpendicular to it
        samples[6, n] = np.float32(3) * points[3, row, col] / z
        # at a grazing angle, a cell covers more surface
        samples[7, n] = stride * area[row, col] * min(z / facing, np.float32(6))
        samples[8, n] = least_agreement(z, points[3, row, col])
        n += 1
    return n


@kernel
def _search(samples: Singles, n_samples: int, least_area: float, seed: np.uint64, found: Floats) -> int:
    """Write normal, offset, area and share beyond of planes; return how many. Reorders the samples."""
    state = seed * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x632BE59BD9B4E019)
    n_found, n_failures, n_left = 0, 0, n_samples
    plane, chosen = np.zeros(4, dtype=np.float32), np.empty(n_samples, dtype=np.int32)
    for _ in range(MAX_ROUNDS):
        if n_found == len(found) or n_failures > MAX_FAILURES or n_left < 12:
            break
        is_plane = _draw_best(samples, n_left, state, plane)
        state += np.uint64(HYPOTHESES) * np.uint64(0x9E3779B97F4A7C15)
        n_chosen = _choose(samples, n_left, plane, chosen)
        for _ in range(4):
            is_plane = is_plane and _refit(samples, chosen, n_chosen, plane)
            n_chosen = _choose(samples, n_left, plane, chosen)
        area = np.float32(0)
        for i in range(n_chosen):
            area += samples[7, chosen[i]]
        if not is_plane or area < least_area:
            n_failures += 1
            continue
        for k in range(4):
            found[n_found, k] = plane[k]
        found[n_found, 4] = area
        found[n_found, 5] = _share_beyond(samples, n_samples, plane)
        n_found += 1
        n_left = _take_away(samples, n_left, chosen, n_chosen)
    return n_found


@kernel
def _draw_best(samples: Singles, n: int, state: np.uint64, best: Singles) -> bool:
    """Write the hypothesis that explains most square meters, the first among equals; False if none explains any.

    All hypotheses are tested on a sample at once, which vectorizes. Tolerances are widened, because hypotheses are
    rough.
    """
    # normal, offset, square meters
    lanes = np.empty((5, HYPOTHESES), dtype=np.float32)
    for k in range(HYPOTHESES):
        # splitmix64
        state += np.uint64(0x9E3779B97F4A7C15)
        mixed = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        pick = np.int64((mixed ^ (mixed >> np.uint64(31))) % np.uint64(n))
        a, b, c = samples[3, pick], samples[4, pick], samples[5, pick]
        lanes[0, k], lanes[1, k], lanes[2, k] = a, b, c
        lanes[3, k] = -(a * samples[0, pick] + b * samples[1, pick] + c * samples[2, pick])
        lanes[4, k] = 0
    for i in range(n):
        x, y, z = samples[0, i], samples[1, i], samples[2, i]
        along_x, along_y, along_z = samples[3, i], samples[4, i], samples[5, i]
        slack, area, least = samples[6, i], samples[7, i], samples[8, i]
        for k in range(HYPOTHESES):
            a, b, c, offset = lanes[0, k], lanes[1, k], lanes[2, k], lanes[3, k]
            height = abs(a * x + b * y + c * z + offset)
            agreement = a * along_x + b * along_y + c * along_z
            tolerance = np.float32(1.5) * (np.float32(TOLERANCE) + slack * offset)
            lanes[4, k] += area if (height < tolerance) & (agreement > least) else np.float32(0)
    most = np.float32(0)
    for k in range(HYPOTHESES):
        if lanes[4, k] > most:
            most = lanes[4, k]
            for i in range(4):
                best[i] = lanes[i, k]
    return bool(most > 0)


@kernel
def _choose(samples: Singles, n: int, plane: Singles, chosen: Ints) -> int:
    """Write which samples are on a plane; return how many."""
    a, b, c, offset = plane[0], plane[1], plane[2], plane[3]
    is_on = np.empty(n, dtype=np.uint8)
    for i in range(n):
        height = abs(a * samples[0, i] + b * samples[1, i] + c * samples[2, i] + offset)
        agreement = a * samples[3, i] + b * samples[4, i] + c * samples[5, i]
        is_on[i] = (height < np.float32(TOLERANCE) + samples[6, i] * offset) & (agreement > samples[8, i])
    n_chosen = 0
    for i in range(n):
        chosen[n_chosen] = i
        n_chosen += is_on[i]
    return n_chosen


@kernel
def fit_axis(points: Singles, chosen: Ints, n: int, guess: Singles, spread: Floats, axis: Floats) -> float:
    """Fit a plane to chosen points (3 or more, n) by least squares; return its offset.

    Writes the scatter of the points about their middle into `spread` (3, 3), and the plane's normal into `axis` (3,).
    """
    cx, cy, cz = 0.0, 0.0, 0.0
    for k in range(n):
        i = chosen[k]
        cx += points[0, i]
        cy += points[1, i]
        cz += points[2, i]
    cx, cy, cz = cx / n, cy / n, cz / n
    for a in range(3):
        axis[a] = guess[a]
        for b in range(3):
            spread[a, b] = 0
    for k in range(n):
        i = chosen[k]
        x, y, z = points[0, i] - cx, points[1, i] - cy, points[2, i] - cz
        spread[0, 0] += x * x
        spread[0, 1] += x * y
        spread[0, 2] += x * z
        spread[1, 1] += y * y
        spread[1, 2] += y * z
        spread[2, 2] += z * z
    spread[1, 0], spread[2, 0], spread[2, 1] = spread[0, 1], spread[0, 2], spread[1, 2]
    thinnest_axis(spread, axis)
    return float(-(axis[0] * cx + axis[1] * cy + axis[2] * cz))


@kernel
def _refit(samples: Singles, chosen: Ints, n: int, plane: Singles) -> bool:
    """Fit a plane to chosen samples by least squares; False if there are too few, or it would pass the camera."""
    if n < 6:
        return False
    spread, axis = np.empty((3, 3)), np.empty(3)
    offset = fit_axis(samples, chosen, n, plane, spread, axis)
    if abs(offset) < 1e-3:
        return False
    sign = 1.0 if offset > 0 else -1.0
    plane[0], plane[1], plane[2], plane[3] = sign * axis[0], sign * axis[1], sign * axis[2], sign * offset
    return True


@kernel
def thinnest_axis(spread: Floats, axis: Floats) -> None:
    """Write the eigenvector of the least eigenvalue of a symmetric matrix (3, 3), from a guess in `axis`.

    Power iteration of the adjugate, which has the same eigenvectors in opposite order, with squaring for speed.
    """
    scale = spread[0, 0] + spread[1, 1] + spread[2, 2]
    if scale <= 0:
        return
    xx, yy, zz = spread[0, 0] / scale + 1e-12, spread[1, 1] / scale + 1e-12, spread[2, 2] / scale + 1e-12
    xy, xz, yz = spread[0, 1] / scale, spread[0, 2] / scale, spread[1, 2] / scale
    xx, xy, xz, yy, yz, zz = (
        yy * zz - yz * yz, yz * xz - xy * zz, xy * yz - yy * xz,
        zz * xx - xz * xz, xz * xy - yz * xx, xx * yy - xy * xy,
    )  # fmt: skip
    for _ in range(6):
        trace = xx + yy + zz
        xx, xy, xz, yy, yz, zz = xx / trace, xy / trace, xz / trace, yy / trace, yz / trace, zz / trace
        xx, xy, xz, yy, yz, zz = (
            xx * xx + xy * xy + xz * xz, xx * xy + xy * yy + xz * yz, xx * xz + xy * yz + xz * zz,
            xy * xy + yy * yy + yz * yz, xy * xz + yy * yz + yz * zz, xz * xz + yz * yz + zz * zz,
        )  # fmt: skip
    x, y, z = axis[0], axis[1], axis[2]
    a, b, c = xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z
    length = np.sqrt(a * a + b * b + c * c)
    if length > 1e-12:
        axis[0], axis[1], axis[2] = a / length, b / length, c / length


@kernel
def _take_away(samples: Singles, n: int, chosen: Ints, n_chosen: int) -> int:
    """Move the samples that are not chosen to the front, before the chosen ones; return how many."""
    n_kept, next_chosen = 0, 0
    for i in range(n):
        if next_chosen < n_chosen and chosen[next_chosen] == i:
            next_chosen += 1
            continue
        if next_chosen > 0:
            for k in range(9):
                samples[k, n_kept], samples[k, i] = samples[k, i], samples[k, n_kept]
        n_kept += 1
    return n_kept


@kernel
def _share_beyond(samples: Singles, n: int, plane: Singles) -> float:
    """Return the share of samples on the far side of a plane, by twice its tolerance."""
    n_beyond = 0
    for i in range(n):
        height = plane[0] * samples[0, i] + plane[1] * samples[1, i] + plane[2] * samples[2, i] + plane[3]
        n_beyond += height < np.float32(-2) * (np.float32(TOLERANCE) + samples[6, i] * plane[3]) - np.float32(0.03)
    return n_beyond / max(n, 1)
