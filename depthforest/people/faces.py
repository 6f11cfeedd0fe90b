"""Faces: flat patches too small for limits of the room; the sides of furniture, grown from where it is flattest.

A trunk has patches that lie on a plane, too. What tells them apart is that normals on a face vary by noise alone, while
those on a trunk bend away.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from depthforest.base import Bytes, Floats, Singles, kernel
from depthforest.people.grid import DepthGrid
from depthforest.people.planes import ALIKE, NOISE_TILT, TOLERANCE, thinnest_axis
from depthforest.people.regions import are_linked

Owners = npt.NDArray[np.int16]
Labels = npt.NDArray[np.int32]

FACE_AREA = 0.02
"""Square metres of the smallest face: the front of a drawer."""

FACE_CELLS = 16

FLAT_WEIGHTS = (9.5, 21.1, 28.9, -1.6, -5.7)
"""Weights of the sum that is above 0 for a patch of a body and below 0 for a face: of the mean square of angles between
plane and normals, in squares of the largest allowed; of the mean square of distances from the plane, in tolerances; of
slant; of the logarithm of the breadth in meters; and of 1. Fitted by logistic regression to the patches of 240
synthetic rooms, three quarters of them with noise; the last was then raised by 1, because a missing person is worse
than a chair too many."""

MOST_SLANT = 0.1
"""Furniture is upright or level, but backs recline: more slant than this counts no more."""

LEAST_BREADTH = 0.05
"""Metres that are added to a breadth, so that its logarithm stays tame."""

BROAD_AREA = 0.5
"""Square metres from which a face is one however its normals vary: a trunk shows less."""

SEED_LEVELS = (0.06, 0.15, 0.3)
"""Mean squares, as for `FLAT_WEIGHTS`, among a cell and its neighbors, from which faces are grown, flattest first."""

SEED_REACH = 2
"""Cells to those neighbours."""

MAX_FACES = 200

WITHIN, CHEST_AREA = 0.6, 0.25
"""Share of a face's border on somebody from which it is a part of them, and square metres of the largest such part."""

ROOM, FACE = 1, 2
"""What `take_faces` says of a cell."""


def take_faces(grid: DepthGrid, planes: Singles, up: Singles, owner: Owners) -> tuple[Bytes, Singles]:
    """Find the cells that have nothing to do with people.

    Parameters
    ----------
    grid : DepthGrid
    planes : array (n, 5), float32
        Limits of the room, as `planes.plane_table` gives them.
    up : array (3,), float32
        Unit vector.
    owner : array (rows, cols), int16
        As `planes.assign_planes` gives it; faces are added to it.

    Returns
    -------
    taken : array (rows, cols), uint8
        `ROOM`, `FACE`, or 0: the rest, and no reading.
    planes : array (m, 5), float32
        The limits of the room, then the planes of the faces.
    """
    table = np.zeros((len(planes) + MAX_FACES, 5), dtype=np.float32)
    table[: len(planes)] = planes
    taken = np.where(owner >= 0, np.uint8(ROOM), np.uint8(0))
    bend = np.empty(grid.shape, dtype=np.float32)
    _measure_bend(grid.points, grid.normals, bend)
    stack = np.empty(owner.size, dtype=np.int32)
    mark = np.zeros(grid.shape, dtype=np.int32)
    n = _grow(grid.points, grid.normals, grid.area, bend, up, len(planes), owner, taken, table, mark, stack)
    for _ in range(2):
        _widen(grid.points, grid.normals, table, taken.copy(), owner, taken)
    return taken, table[:n]


def give_back_faces(grid: DepthGrid, planes: Singles, owner: Owners, taken: Bytes, cells: Bytes) -> None:
    """Give faces that are within somebody, a flat chest for one, to whom they belong.

    Parameters
    ----------
    grid : DepthGrid
    planes, owner, taken
        As `take_faces` has left them.
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
    """Add up for each face the sides of cells on its border, those of them on somebody without a jump, and its area."""
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
                counts[k, 0] += 1
                if cells[r, c] and are_linked(points, row, col, r, c, spacing):
                    counts[k, 1] += 1
                    person[k] = cells[r, c]


@kernel
def _bent(a: Singles, points: Singles, normals: Singles, row: int, col: int) -> np.float32:
    """Return the square of the angle between a plane and a cell's normal, in squares of the largest allowed there."""
    agreement = a[0] * normals[0, row, col] + a[1] * normals[1, row, col] + a[2] * normals[2, row, col]
    allowed = np.float32(ALIKE) + np.float32(NOISE_TILT) * points[3, row, col] / points[2, row, col]
    # 2 (1 - cos) is the square of a small angle; a cell without a normal agrees with nothing
    return np.float32(np.float32(2) * (np.float32(1) - agreement) / (allowed * allowed))


@kernel
def _measure_bend(points: Singles, normals: Singles, bend: Singles) -> None:
    """Write how much the normals of a cell's neighbours differ from its own, as in `_bent`; inf beside a jump."""
    n_rows, n_cols = bend.shape
    own = np.empty(3, dtype=np.float32)
    for row in range(n_rows):
        for col in range(n_cols):
            bend[row, col] = np.inf
            z = points[2, row, col]
            inner = row >= SEED_REACH and col >= SEED_REACH and row < n_rows - SEED_REACH and col < n_cols - SEED_REACH
            if z == 0 or not inner:
                continue
            for axis in range(3):
                own[axis] = normals[axis, row, col]
            if own[0] == 0 and own[1] == 0 and own[2] == 0:
                continue
            total = np.float32(0)
            for r, c in (
                (row - SEED_REACH, col), (row + SEED_REACH, col), (row, col - SEED_REACH), (row, col + SEED_REACH),
            ):  # fmt: skip
                if points[2, r, c] == 0:
                    total = np.float32(np.inf)
                else:
                    total += _bent(own, points, normals, r, c)
            bend[row, col] = total / np.float32(4)


@kernel
def _grow(
    points: Singles, normals: Singles, area: Singles, bend: Singles, up: Singles, n_planes: int,
    owner: Owners, taken: Bytes, planes: Singles, mark: Labels, stack: Labels,
) -> int:  # fmt: skip
    """Grow faces from the flattest cells; write their planes, and which cells are theirs. Return how many planes."""
    n_rows, n_cols = owner.shape
    plane = np.empty(4, dtype=np.float32)
    tried = np.zeros((n_rows, n_cols), dtype=np.uint8)
    n_grown = 0
    for level in SEED_LEVELS:
        for row in range(n_rows):
            for col in range(n_cols):
                if taken[row, col] or tried[row, col] or not bend[row, col] < level or n_planes == len(planes):
                    continue
                n_grown += 1
                n = _grow_one(points, normals, row, col, taken, n_grown, plane, mark, stack)
                is_face = n >= FACE_CELLS and _is_flat(points, normals, area, up, stack, n, plane)
                for i in range(n):
                    r, c = stack[i] // n_cols, stack[i] % n_cols
                    tried[r, c] = 1
                    if is_face:
                        taken[r, c], owner[r, c] = FACE, n_planes
                if is_face:
                    planes[n_planes, :4] = plane
                    n_planes += 1
    return n_planes


@kernel
def _grow_one(
    points: Singles, normals: Singles, row: int, col: int, taken: Bytes,
    number: int, plane: Singles, mark: Labels, stack: Labels,
) -> int:  # fmt: skip
    """Grow a patch over its plane, which is fitted anew as it grows; return how many cells it has, now in `stack`."""
    n_rows, n_cols = taken.shape
    for axis in range(3):
        plane[axis] = normals[axis, row, col]
    plane[3] = -(plane[0] * points[0, row, col] + plane[1] * points[1, row, col] + plane[2] * points[2, row, col])
    mark[row, col] = number
    stack[0] = row * n_cols + col
    n, done, next_fit = int(np.int64(1)), 0, 12  # of a plain 1 numba would compile `_fit` for that number, too
    while done < n:
        if n >= next_fit:
            _fit(points, stack, n, n_cols, plane)
            next_fit *= 3
        at_row, at_col = stack[done] // n_cols, stack[done] % n_cols
        done += 1
        for r in range(max(at_row - 1, 0), min(at_row + 2, n_rows)):
            for c in range(max(at_col - 1, 0), min(at_col + 2, n_cols)):
                z = points[2, r, c]
                if mark[r, c] == number or taken[r, c] or z == 0:
                    continue
                height = plane[0] * points[0, r, c] + plane[1] * points[1, r, c] + plane[2] * z + plane[3]
                tolerance = np.float32(TOLERANCE) + np.float32(3) * points[3, r, c] / z * plane[3]
                if abs(height) < tolerance and _bent(plane, points, normals, r, c) < 1:
                    mark[r, c] = number
                    stack[n] = r * n_cols + c
                    n += 1
    return n


@kernel
def _is_flat(
    points: Singles, normals: Singles, area: Singles, up: Singles, stack: Labels, n: int, plane: Singles
) -> bool:
    """Fit the plane of a patch, and tell whether it is large and flat enough for a face."""
    breadth = _fit(points, stack, n, normals.shape[2], plane)
    square_metres, bends, heights = 0.0, 0.0, 0.0
    for i in range(n):
        row, col = stack[i] // normals.shape[2], stack[i] % normals.shape[2]
        z = points[2, row, col]
        height = plane[0] * points[0, row, col] + plane[1] * points[1, row, col] + plane[2] * z + plane[3]
        tolerance = np.float32(TOLERANCE) + np.float32(3) * points[3, row, col] / z * plane[3]
        square_metres += area[row, col]
        bends += _bent(plane, points, normals, row, col)
        heights += height * height / (tolerance * tolerance)
    if square_metres < FACE_AREA or square_metres >= BROAD_AREA:
        return square_metres >= FACE_AREA
    tilt = abs(plane[0] * up[0] + plane[1] * up[1] + plane[2] * up[2])
    slant = min(1 - tilt if tilt > 0.7 else tilt, MOST_SLANT)
    score = FLAT_WEIGHTS[0] * bends / n + FLAT_WEIGHTS[1] * heights / n + FLAT_WEIGHTS[2] * slant
    return bool(score + FLAT_WEIGHTS[3] * np.log(breadth + LEAST_BREADTH) + FLAT_WEIGHTS[4] < 0)


@kernel
def _fit(points: Singles, stack: Labels, n: int, n_cols: int, plane: Singles) -> float:
    """Fit a plane to the first cells of a stack by least squares; return their breadth in metres, across the length."""
    center = np.zeros(3)
    for i in range(n):
        for axis in range(3):
            center[axis] += points[axis, stack[i] // n_cols, stack[i] % n_cols]
    center /= n
    spread = np.zeros((3, 3))
    for i in range(n):
        row, col = stack[i] // n_cols, stack[i] % n_cols
        for a in range(3):
            for b in range(3):
                spread[a, b] += (points[a, row, col] - center[a]) * (points[b, row, col] - center[b])
    axis_out = np.array([float(plane[0]), float(plane[1]), float(plane[2])])
    thinnest_axis(spread, axis_out)
    offset = -(axis_out[0] * center[0] + axis_out[1] * center[1] + axis_out[2] * center[2])
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
    # of a rectangle, whose variance is a twelfth of the square of its side
    return float(np.sqrt(12 * max(middle, 0.0) / n))


@kernel
def _widen(points: Singles, normals: Singles, planes: Singles, before: Bytes, owner: Owners, taken: Bytes) -> None:
    """Let faces take the cells beside them that lie on their plane, though an edge has turned their normals."""
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
