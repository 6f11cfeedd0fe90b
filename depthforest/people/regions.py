"""Regions of a depth grid: connected cells of one kind, separated at depth jumps; and their measures.

Measures are additive, so those of a person in several pieces are the sum over the pieces.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from depthforest.base import Singles, kernel, merged

Labels = npt.NDArray[np.int32]

JUMP = 0.02
"""Meters between neighbors that always connect, in addition to noise and the distance of cells."""

JUMP_SPACINGS = 2.5
"""Multiple of the distance of cells that face the camera: surfaces tilted by up to 68 degrees stay connected."""

JUMP_NOISES = 3.0


@kernel
def jump_at(z: np.float32, noise: np.float32, spacing: np.float32) -> np.float32:
    """Return the largest distance in meters that connects neighboring cells at a depth; `spacing` is that at 1 m."""
    return np.float32(JUMP) + np.float32(JUMP_SPACINGS) * spacing * z + np.float32(JUMP_NOISES) * noise


@kernel
def are_linked(points: Singles, row: int, col: int, r: int, c: int, spacing: np.float32) -> bool:
    """Tell whether there is no depth jump between two neighboring cells with readings."""
    z = min(points[2, row, col], points[2, r, c])
    dx, dy = points[0, row, col] - points[0, r, c], points[1, row, col] - points[1, r, c]
    dz = points[2, row, col] - points[2, r, c]
    jump = jump_at(z, min(points[3, row, col], points[3, r, c]), spacing)
    return bool(dx * dx + dy * dy + dz * dz < jump * jump)


@kernel
def label_regions(
    points: Singles, area: Singles, taken: npt.NDArray[np.uint8], spacing: np.float32, kinds: npt.NDArray[np.uint8],
    labels: Labels, stack: Labels, sizes: npt.NDArray[np.float64],
) -> int:  # fmt: skip
    """Write the region of each cell, from 0 in reading order, -1 for those taken or without a reading; return how many.

    Eight neighbors of the same kind connect. `stack` and `sizes` are as long as there are cells; a row of `sizes` is
    the number of cells of a region and their square meters.
    """
    n_rows, n_cols = taken.shape
    labels[:] = -1
    n = 0
    for start_row in range(n_rows):
        for start_col in range(n_cols):
            is_free = taken[start_row, start_col] == 0 and points[2, start_row, start_col] > 0
            if not is_free or labels[start_row, start_col] >= 0:
                continue
            labels[start_row, start_col] = n
            stack[0] = start_row * n_cols + start_col
            height, n_cells, square_meters = 1, 0, 0.0
            while height > 0:
                height -= 1
                row, col = stack[height] // n_cols, stack[height] % n_cols
                n_cells += 1
                square_meters += area[row, col]
                for r in range(max(row - 1, 0), min(row + 2, n_rows)):
                    for c in range(max(col - 1, 0), min(col + 2, n_cols)):
                        is_free = labels[r, c] < 0 and taken[r, c] == 0 and points[2, r, c] > 0
                        is_free = is_free and kinds[r, c] == kinds[row, col]
                        if is_free and are_linked(points, row, col, r, c, spacing):
                            labels[r, c] = n
                            stack[height] = r * n_cols + c
                            height += 1
            sizes[n, 0], sizes[n, 1] = n_cells, square_meters
            n += 1
    return n


# columns of the table of measures; lengths in meters, along the axes of the room: right, up, ahead
N_CELLS, AREA, CUT, THICKNESS = 0, 1, 2, 3
MIDDLE = 4  # 3 columns: sum of square meters times place
LOW = 7  # 3 columns: lowest place
HIGH = 10  # 3 columns: highest place
BENDS = 13  # 6 columns: sum of square meters times products of the normal: xx xy xz yy yz zz
BORDER, FACED, FLOORED = 19, 20, 21  # sides of cells on the border; of them on furniture, on the room, without a jump
BEFORE, BEHIND = 22, 23  # of them before, and behind, what is beside them
N_MEASURES = 24

N_SWEEPS = 6
"""Sweeps of Jacobi rotations over a matrix (3, 3) until convergence, which is quadratic."""


def room_axes(up: npt.NDArray[np.float64]) -> Singles:
    """Return the axes of a room in camera space: rows right, up and ahead, unit vectors."""
    ahead = np.array([0.0, 0.0, 1.0]) - up[2] * up
    if math.hypot(*ahead.tolist()) < 0.1:  # a camera that looks straight down
        ahead = np.array([0.0, -1.0, 0.0]) + up[1] * up
    ahead /= math.hypot(*ahead.tolist())
    (x, y, z), (up_x, up_y, up_z) = ahead.tolist(), up.tolist()
    right = (y * up_z - z * up_y, z * up_x - x * up_z, x * up_y - y * up_x)
    return np.array([right, up, ahead], dtype=np.float32)


@kernel
def measure_regions(
    points: Singles, normals: Singles, area: Singles, inside: Singles, axes: Singles, labels: Labels,
    taken: npt.NDArray[np.uint8], spacing: np.float32, table: npt.NDArray[np.float64],
) -> None:  # fmt: skip
    """Write the measures of each region, a row of the table.

    `inside` is the distance in cells of every cell from what is not a region; its largest is a region's thickness. It
    has a margin of one cell.
    `taken` is 1 for cells of the room, 2 for those of furniture.
    """
    n_rows, n_cols = labels.shape
    _clear(table)
    for row in range(n_rows):
        for col in range(n_cols):
            k = labels[row, col]
            if k >= 0:
                _add_cell(
                    points, normals, area, inside[row + 1, col + 1], axes, labels, taken, spacing, row, col, table
                )


@kernel
def measure_candidates(
    points: Singles, normals: Singles, area: Singles, inside: Singles, axes: Singles, cells: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64], taken: npt.NDArray[np.uint8], spacing: np.float32, table: npt.NDArray[np.float64],
) -> None:  # fmt: skip
    """Write the measures of candidates, which may overlap: each as if it were the only region.

    Parameters
    ----------
    points, normals, area, axes, taken, spacing
        As in `measure_regions`.
    inside : array (rows, cols), float32
        The same for the candidates' pictures from `stack_pictures`.
    cells, ends : arrays (n,), (n_candidates + 1,), int64
        Cells of the candidates, one after the other, numbered row by row, and where each candidate begins.
    table : array (n_candidates, N_MEASURES), float64
    """
    n_cols = area.shape[1]
    labels = np.full(area.shape, -1, dtype=np.int32)
    _clear(table)
    first = 1
    for k in range(len(table)):
        if ends[k] == ends[k + 1]:
            continue
        top = cells[ends[k]] // n_cols
        for i in range(ends[k], ends[k + 1]):
            labels[cells[i] // n_cols, cells[i] % n_cols] = k
        for i in range(ends[k], ends[k + 1]):
            row, col = cells[i] // n_cols, cells[i] % n_cols
            depth_in = inside[first + row - top, col + 1]
            _add_cell(points, normals, area, depth_in, axes, labels, taken, spacing, row, col, table)
        for i in range(ends[k], ends[k + 1]):
            labels[cells[i] // n_cols, cells[i] % n_cols] = -1
        first += cells[ends[k + 1] - 1] // n_cols - top + 3


@kernel
def stacked_rows(cells: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], n_cols: int) -> int:
    """Return how many rows `stack_pictures` needs."""
    n = 0
    for k in range(len(ends) - 1):
        if ends[k] < ends[k + 1]:
            n += cells[ends[k + 1] - 1] // n_cols - cells[ends[k]] // n_cols + 3
    return n


@kernel
def stack_pictures(
    cells: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], n_cols: int, picture: npt.NDArray[np.uint8]
) -> None:
    """Write the rows of every candidate one below the other, with a margin of one cell around each.

    `picture` is (`stacked_rows`, n_cols + 2), of 0.
    """
    first = 1
    for k in range(len(ends) - 1):
        if ends[k] == ends[k + 1]:
            continue
        top = cells[ends[k]] // n_cols
        for i in range(ends[k], ends[k + 1]):
            picture[first + cells[i] // n_cols - top, cells[i] % n_cols + 1] = 1
        first += cells[ends[k + 1] - 1] // n_cols - top + 3


@kernel
def _clear(table: npt.NDArray[np.float64]) -> None:
    table[:] = 0
    table[:, LOW : LOW + 3] = np.inf
    table[:, HIGH : HIGH + 3] = -np.inf


@merged
def _add_cell(
    points: Singles, normals: Singles, area: Singles, depth_in: np.float32, axes: Singles, labels: Labels,
    taken: npt.NDArray[np.uint8], spacing: np.float32, row: int, col: int, table: npt.NDArray[np.float64],
) -> None:  # fmt: skip
    """Add a cell to the measures of its region; it is `depth_in` cells from what is not the region."""
    n_rows, n_cols = labels.shape
    k = labels[row, col]
    x, y, z, weight = points[0, row, col], points[1, row, col], points[2, row, col], area[row, col]
    table[k, N_CELLS] += 1
    table[k, AREA] += weight
    table[k, CUT] += row == 0 or col == 0 or row == n_rows - 1 or col == n_cols - 1
    table[k, THICKNESS] = max(table[k, THICKNESS], depth_in * spacing * z)
    for axis in range(3):
        at = axes[axis, 0] * x + axes[axis, 1] * y + axes[axis, 2] * z
        table[k, MIDDLE + axis] += weight * at
        table[k, LOW + axis] = min(table[k, LOW + axis], at)
        table[k, HIGH + axis] = max(table[k, HIGH + axis], at)
    column = BENDS
    for i in range(3):
        for j in range(i, 3):
            table[k, column] += weight * normals[i, row, col] * normals[j, row, col]
            column += 1
    for r, c in ((row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)):
        if r < 0 or c < 0 or r >= n_rows or c >= n_cols or labels[r, c] == k:
            continue
        table[k, BORDER] += 1
        if points[2, r, c] == 0:
            continue
        if not are_linked(points, row, col, r, c, spacing):
            table[k, BEFORE if points[2, r, c] > z else BEHIND] += 1
        elif taken[r, c] == 2:
            table[k, FACED] += 1
        elif taken[r, c] == 1:
            table[k, FLOORED] += 1


def merge_measures(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the measures of several regions (n, N_MEASURES) as one."""
    merged = rows.sum(axis=0)
    merged[THICKNESS] = rows[:, THICKNESS].max()
    merged[LOW : LOW + 3] = rows[:, LOW : LOW + 3].min(axis=0)
    merged[HIGH : HIGH + 3] = rows[:, HIGH : HIGH + 3].max(axis=0)
    return np.asarray(merged)


def roundness(table: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return how far the normals of each region are from lying in a plane: 0 for a box's edge, 1/3 for a ball."""
    rounds = np.empty(len(table))
    _find_roundness(np.ascontiguousarray(table), rounds)
    return rounds


@kernel
def _find_roundness(table: npt.NDArray[np.float64], rounds: npt.NDArray[np.float64]) -> None:
    """Write the smallest eigenvalue of the mean products of each region's normals, by Jacobi rotations."""
    a = np.empty((3, 3))
    for k in range(len(table)):
        column = BENDS
        for i in range(3):
            for j in range(i, 3):
                a[i, j] = a[j, i] = table[k, column] / max(table[k, AREA], 1e-9)
                column += 1
        for turn in range(3 * N_SWEEPS):
            p, q = (0, 1) if turn % 3 == 0 else (0, 2) if turn % 3 == 1 else (1, 2)
            if a[p, q] == 0:
                continue
            slope = (a[q, q] - a[p, p]) / (2 * a[p, q])
            t = (1.0 if slope >= 0 else -1.0) / (abs(slope) + np.sqrt(slope * slope + 1))
            c = 1 / np.sqrt(t * t + 1)
            s, r = t * c, 3 - p - q
            a[p, p] -= t * a[p, q]
            a[q, q] += t * a[p, q]
            a[p, q] = a[q, p] = 0
            beside, across = a[r, p], a[r, q]
            a[r, p] = a[p, r] = c * beside - s * across
            a[r, q] = a[q, r] = s * beside + c * across
        rounds[k] = min(a[0, 0], a[1, 1], a[2, 2])


@kernel
def measure_gaps(points: Singles, labels: Labels, reach: int, gaps: Singles) -> None:
    """Write the smallest distance in meters between regions that are within `reach` cells; inf for others."""
    n_rows, n_cols = labels.shape
    gaps[:] = np.inf
    if len(gaps) == 1:
        return
    for row in range(n_rows):
        for col in range(n_cols):
            k = labels[row, col]
            if k < 0:
                continue
            for r in range(row, min(row + reach + 1, n_rows)):
                for c in range(col + 1 if r == row else max(col - reach, 0), min(col + reach + 1, n_cols)):
                    other = labels[r, c]
                    if other < 0 or other == k:
                        continue
                    dx, dy = points[0, row, col] - points[0, r, c], points[1, row, col] - points[1, r, c]
                    dz = points[2, row, col] - points[2, r, c]
                    gap = np.sqrt(dx * dx + dy * dy + dz * dz)
                    if gap < gaps[k, other]:
                        gaps[k, other] = gaps[other, k] = gap
