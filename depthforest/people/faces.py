"""Faces: flat patches too small for walls or floors, such as sides of furniture, grown from the flattest cells.

A trunk has patches that lie on a plane, too. The difference is that normals on a face vary only by noise, while a trunk
is curved.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from depthforest.base import Bytes, Floats, Singles, kernel
from depthforest.people.grid import DepthGrid
from depthforest.people.planes import ALIKE, NOISE_TILT, TOLERANCE, fit_axis
from depthforest.people.regions import are_linked

Owners = npt.NDArray[np.int16]
Labels = npt.NDArray[np.int32]

FACE_AREA = 0.02
"""Square meters of the smallest face: the front of a drawer."""

FACE_CELLS = 16

FLAT_WEIGHTS = (9.5, 21.1, 28.9, -1.6, -5.7)
"""Weights of a sum that is above 0 for a patch of a body and below 0 for a face. Its terms: the mean squared angle
between plane and normals, relative to the largest allowed one; the mean squared distance from the plane, in tolerances;
the slant; the logarithm of the width in meters; and 1. Fitted by logistic regression to the patches of 240 synthetic
rooms, three quarters of them with noise; the last weight was then raised by 1, because a missed person is worse than a
false chair."""

MOST_SLANT = 0.1
"""Slant is clipped to this: furniture is upright or level, but backs recline."""

LEAST_BREADTH = 0.05
"""Meters added to a width, which bounds its logarithm."""

BROAD_AREA = 0.5
"""A patch of this many square meters is a face however its normals vary: a trunk shows less."""

BODY_RELIEF, BODY_AREA = 0.07, 1.0
"""Depth of a visible trunk in meters. Where a patch's tolerance is larger, every person looks flat; there, only a patch
larger than a person, in square meters, is a face."""

SEED_LEVELS = (0.06, 0.15, 0.3)
"""Largest mean squares, as for `FLAT_WEIGHTS`, of a cell and its neighbors from which a face is grown, flattest
first."""

SEED_REACH = 2
"""Distance to those neighbors in cells."""

MAX_FACES = 200

WITHIN, CHEST_AREA = 0.6, 0.25
"""A face with this share of its border on a person is part of them; and the largest such part in square meters."""

ROOM, FACE, THING = 1, 2, 3
"""Kinds of cells that belong to nobody: `take_faces` marks the first two; the third does not look like a person."""


def take_faces(grid: DepthGrid, planes: Singles, up: Singles, owner: Owners) -> tuple[Bytes, Singles]:
    """Find the cells of room and furniture.

    Parameters
    ----------
    grid : DepthGrid
    planes : array (n, 5), float32
        Walls and floors of the room, as from `planes.plane_table`.
    up : array (3,), float32
        Unit vector that points up.
    owner : array (rows, cols), int16
        As from `planes.assign_planes`; faces are added to it.

    Returns
    -------
    taken : array (rows, cols), uint8
        `ROOM`, `FACE`, or 0: all others, and cells without a reading.
    planes : array (m, 5), float32
        The walls and floors of the room, then the planes of the faces.
    """
    table = np.zeros((len(planes) + MAX_FACES, 5), dtype=np.float32)
    table[: len(planes)] = planes
    taken = np.where(owner >= 0, np.uint8(ROOM), np.uint8(0))
    flat = (array.reshape(*array.shape[:-2], -1) for array in (grid.points, grid.normals, grid.area))
    n = _grow(*flat, up, grid.shape[1], len(planes), owner.reshape(-1), taken.reshape(-1), table)
    for _ in range(2):
        _widen(grid.points, grid.normals, table, taken.copy(), owner, taken)
    return taken, table[:n]


def give_back_faces(grid: DepthGrid, planes: Singles, owner: Owners, taken: Bytes, cells: Bytes) -> None:
    """Return faces that lie within a person, such as a flat chest, to that person.

    Parameters
    ----------
    grid : DepthGrid
    planes, owner, taken
        As left by `take_faces`.
    cells : array (rows, cols), uint8
        Person of every cell, from 1; 0 = nobody. Changed.
    """
    counts = np.zeros((len(planes), 3))
    person = np.zeros(len(planes), dtype=np.uint8)
    _count_sides(grid.points, grid.area, np.float32(grid.spacing), owner, taken, cells, counts, person)
    is_his = (counts[:, 1] > WITHIN * counts[:, 0]) & (counts[:, 2] < CHEST_AREA)
    if is_his.any():
        is_given = (taken == FACE) & is_his[np.maximum(owner, 0)]
        cells[is_given] = person[owner[is_given]]


@kernel
def _count_sides(
    points: Singles, area: Singles, spacing: np.float32, owner: Owners, taken: Bytes, cells: Bytes, counts: Floats,
    person: Bytes,
) -> None:  # fmt: skip
    """Add up for each face the sides of its border cells that have a reading, those on a person, and its area."""
    n_rows, n_cols = owner.shape
    for row in range(n_rows):
        for col in range(n_cols):
            if taken[row, col] != FACE:
                continue
            k = owner[row, col]
            counts[k, 2] += area[row, col]
            for r, c in ((row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)):
                if r < 0 or c < 0 or r >= n_rows or c >= n_cols or (taken[r, c] == FACE and owner[r, c] == k):
                    continue
                if points[2, r, c] == 0:
                    continue
                counts[k, 0] += 1
                if cells[r, c] and are_linked(points, row, col, r, c, spacing):
                    counts[k, 1] += 1
                    person[k] = cells[r, c]


@kernel
def _bent(a: Singles, points: Singles, normals: Singles, i: int) -> np.float32:
    """Return the square of the angle between a plane and a cell's normal, in squares of the largest allowed there."""
    agreement = a[0] * normals[0, i] + a[1] * normals[1, i] + a[2] * normals[2, i]
    allowed = np.float32(ALIKE) + np.float32(NOISE_TILT) * points[3, i] / points[2, i]
    # 2 (1 - cos) approximates the squared angle; a cell without a normal agrees with nothing
    return np.float32(np.float32(2) * (np.float32(1) - agreement) / (allowed * allowed))


@kernel
def _find_seeds(points: Singles, normals: Singles, taken: Bytes, n_cols: int, bend: Singles, seeds: Labels) -> int:
    """Write how much the normals of the neighbors of free cells differ from theirs, as in `_bent`; inf beside a jump.

    Write in reading order the cells that faces may be grown from; return how many.
    """
    n = 0
    own = np.empty(3, dtype=np.float32)
    for row in range(SEED_REACH, len(taken) // n_cols - SEED_REACH):
        for i in range(row * n_cols + SEED_REACH, (row + 1) * n_cols - SEED_REACH):
            if taken[i] or points[2, i] == 0:
                continue
            for axis in range(3):
                own[axis] = normals[axis, i]
            if own[0] == 0 and own[1] == 0 and own[2] == 0:
                continue
            total = np.float32(0)
            for k in (i - SEED_REACH * n_cols, i + SEED_REACH * n_cols, i - SEED_REACH, i + SEED_REACH):
                if points[2, k] == 0:
                    total = np.float32(np.inf)
                else:
                    total += _bent(own, points, normals, k)
            bend[i] = total / np.float32(4)
            if bend[i] < SEED_LEVELS[-1]:
                seeds[n] = i
                n += 1
    return n


@kernel
def _grow(
    points: Singles, normals: Singles, area: Singles, up: Singles, n_cols: int, n_planes: int,
    owner: Owners, taken: Bytes, planes: Singles,
) -> int:  # fmt: skip
    """Grow faces from the flattest cells; write their planes and their cells. Return how many planes there are."""
    plane = np.empty(4, dtype=np.float32)
    bend, seeds, stack = (
        np.empty(len(taken), np.float32),
        np.empty(len(taken), np.int32),
        np.empty(len(taken), np.int32),
    )
    mark, tried = np.zeros(len(taken), dtype=np.int32), np.zeros(len(taken), dtype=np.uint8)
    n_seeds = _find_seeds(points, normals, taken, n_cols, bend, seeds)
    n_grown = 0
    for level in SEED_LEVELS:
        for k in range(n_seeds):
            seed = seeds[k]
            if taken[seed] or tried[seed] or not bend[seed] < level or n_planes == len(planes):
                continue
            n_grown += 1
            n = _grow_one(points, normals, seed, taken, n_cols, n_grown, plane, mark, stack)
            is_face = n >= FACE_CELLS and _is_flat(points, normals, area, up, stack, n, plane)
            for i in range(n):
                tried[stack[i]] = 1
                if is_face:
                    taken[stack[i]], owner[stack[i]] = FACE, n_planes
            if is_face:
                for i in range(4):
                    planes[n_planes, i] = plane[i]
                n_planes += 1
    return n_planes


@kernel
def _grow_one(
    points: Singles, normals: Singles, seed: int, taken: Bytes, n_cols: int, number: int, plane: Singles,
    mark: Labels, stack: Labels,
) -> int:  # fmt: skip
    """Grow a patch along its plane, which is refitted as it grows; return how many cells it has, now in `stack`."""
    n_rows = len(taken) // n_cols
    for axis in range(3):
        plane[axis] = normals[axis, seed]
    plane[3] = -(plane[0] * points[0, seed] + plane[1] * points[1, seed] + plane[2] * points[2, seed])
    mark[seed] = number
    stack[0] = seed
    n, done, next_fit = int(np.int64(1)), 0, 12  # int64, because numba would compile `_fit` for a literal 1, too
    while done < n:
        if n >= next_fit:
            _fit(points, stack, n, plane)
            next_fit *= 3
        row, col = stack[done] // n_cols, stack[done] % n_cols
        done += 1
        for r in range(max(row - 1, 0), min(row + 2, n_rows)):
            for i in range(r * n_cols + max(col - 1, 0), r * n_cols + min(col + 2, n_cols)):
                z = points[2, i]
                if mark[i] == number or taken[i] or z == 0:
                    continue
                height = plane[0] * points[0, i] + plane[1] * points[1, i] + plane[2] * z + plane[3]
                tolerance = np.float32(TOLERANCE) + np.float32(3) * points[3, i] / z * plane[3]
                if abs(height) < tolerance and _bent(plane, points, normals, i) < 1:
                    mark[i] = number
                    stack[n] = i
                    n += 1
    return n


@kernel
def _is_flat(
    points: Singles, normals: Singles, area: Singles, up: Singles, stack: Labels, n: int, plane: Singles
) -> bool:
    """Fit the plane of a patch, and tell whether it is large and flat enough for a face."""
    breadth = _fit(points, stack, n, plane)
    square_meters, bends, heights, tolerances = 0.0, 0.0, 0.0, 0.0
    for k in range(n):
        i = np.int64(stack[k])
        z = points[2, i]
        height = plane[0] * points[0, i] + plane[1] * points[1, i] + plane[2] * z + plane[3]
        tolerance = np.float32(TOLERANCE) + np.float32(3) * points[3, i] / z * plane[3]
        square_meters += area[i]
        bends += _bent(plane, points, normals, i)
        heights += height * height / (tolerance * tolerance)
        tolerances += tolerance
    if tolerances > BODY_RELIEF * n and square_meters < BODY_AREA:
        return False
    if square_meters < FACE_AREA or square_meters >= BROAD_AREA:
        return square_meters >= FACE_AREA
    tilt = abs(plane[0] * up[0] + plane[1] * up[1] + plane[2] * up[2])
    slant = min(1 - tilt if tilt > 0.7 else tilt, MOST_SLANT)
    score = FLAT_WEIGHTS[0] * bends / n + FLAT_WEIGHTS[1] * heights / n + FLAT_WEIGHTS[2] * slant
    return bool(score + FLAT_WEIGHTS[3] * np.log(breadth + LEAST_BREADTH) + FLAT_WEIGHTS[4] < 0)


@kernel
def _fit(points: Singles, stack: Labels, n: int, plane: Singles) -> float:
    """Fit a plane to the first cells of a stack by least squares; return their width in meters, across their length."""
    spread, axis_out = np.empty((3, 3)), np.empty(3)
    offset = fit_axis(points, stack, n, plane, spread, axis_out)
    sign = 1.0 if offset > 0 else -1.0
    for k in range(3):
        plane[k] = sign * axis_out[k]
    plane[3] = sign * offset
    # the eigenvalues: their sum, the sum of their products in pairs, and the least
    total = spread[0, 0] + spread[1, 1] + spread[2, 2]
    pairs = spread[0, 0] * spread[1, 1] - spread[0, 1] ** 2 + spread[1, 1] * spread[2, 2] - spread[1, 2] ** 2
    pairs += spread[0, 0] * spread[2, 2] - spread[0, 2] ** 2
    least = 0.0
    for a in range(3):
        for b in range(3):
            least += axis_out[a] * spread[a, b] * axis_out[b]
    rest = total - least
    middle = (rest - np.sqrt(max(rest * rest - 4 * (pairs - least * rest), 0.0))) / 2
    # as for a rectangle, whose variance is a twelfth of the squared side
    return float(np.sqrt(12 * max(middle, 0.0) / n))


@kernel
def _widen(points: Singles, normals: Singles, planes: Singles, before: Bytes, owner: Owners, taken: Bytes) -> None:
    """Add cells beside a face that lie on its plane although an edge has tilted their normals."""
    n_rows, n_cols = owner.shape
    for row in range(1, n_rows - 1):
        for col in range(1, n_cols - 1):
            z = points[2, row, col]
            if before[row, col] or z == 0:
                continue
            n_beside, plane = 0, -1
            for r in range(row - 1, row + 2):
                for c in range(col - 1, col + 2):
                    if before[r, c] == FACE:
                        n_beside += 1
                        plane = owner[r, c]
            if n_beside < 3:
                continue
            height, agreement = planes[plane, 3], np.float32(0)
            for axis in range(3):
                height += planes[plane, axis] * points[axis, row, col]
                agreement += planes[plane, axis] * normals[axis, row, col]
            tolerance = np.float32(TOLERANCE) + np.float32(3) * points[3, row, col] / z * planes[plane, 3]
            if abs(height) < tolerance and agreement > np.float32(0.5):
                taken[row, col], owner[row, col] = FACE, plane
