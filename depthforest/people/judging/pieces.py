"""Pieces: surfaces that are corrected once people are known, by the scene forest's mean answer over each.

A piece is connected without a depth jump. The scene forest is often wrong about one cell, but seldom about a whole
piece: a chair that a person touches is removed, and an arm that was cut off by a jump is added.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from depthforest.base import Bytes, Singles, kernel
from depthforest.people.grid import DepthGrid
from depthforest.people.regions import Labels, label_regions

LEAST_OWN = 0.35
"""Pieces of a person that look less like a person, on average, are things."""

LEAST_LEFT = 0.5
"""Share of a person's cells. If fewer would remain, nothing is removed."""

LEAST_ADDED = 0.6
"""Other pieces that look at least this much like a person, and are close to one, are added to that person."""

MOST_ADDED = 0.5
"""Share of a person's cells: a larger piece is probably somebody else."""

GAP_M, REACH_CELLS = 0.45, 3
"""Largest gap between a person and a piece of theirs: in meters, an arm's reach, and in cells of the grid."""


def put_right(grid: DepthGrid, person: Singles, is_open: npt.NDArray[np.bool_], cells: Bytes) -> None:
    """Remove things from people, and add missing pieces of them.

    Parameters
    ----------
    grid : DepthGrid
    person : array (rows, cols), float32
        How much open cells look like a person.
    is_open : array (rows, cols), bool
        Cells with readings that belong neither to the room nor to a face.
    cells : array (rows, cols), uint8
        Person of every cell, from 1; 0 = nobody. Changed.
    """
    taken = (~is_open).view(np.uint8)
    labels, stack = np.empty(grid.shape, dtype=np.int32), np.empty(taken.size, dtype=np.int32)
    sizes = np.empty((taken.size, 2))
    n = label_regions(grid.points, grid.area, taken, np.float32(grid.spacing), cells, labels, stack, sizes)
    looks, owners = np.zeros(n), np.zeros(n, dtype=np.uint8)
    _add_looks(labels, person, cells, looks, owners)
    looks /= sizes[:n, 0]
    n_cells = sizes[:n, 0]
    is_cut = (owners > 0) & (looks < LEAST_OWN)
    all_cells, lost = (np.bincount(owners, n_cells * which, minlength=256) for which in (1, is_cut))
    is_cut &= (all_cells - lost >= LEAST_LEFT * all_cells)[owners]
    is_added = (owners == 0) & (looks >= LEAST_ADDED)
    owners[is_cut] = 0
    if is_added.any():
        _find_owners(grid.points, labels, is_added, cells, REACH_CELLS, owners)
        owners[is_added & (n_cells > MOST_ADDED * all_cells[owners])] = 0
    if is_cut.any() or is_added.any():
        _give(labels, owners, cells)


@kernel
def _add_looks(labels: Labels, person: Singles, cells: Bytes, looks: npt.NDArray[np.float64], owners: Bytes) -> None:
    """Add up how much the cells of each piece look like a person, and write the piece's person."""
    for row in range(labels.shape[0]):
        for col in range(labels.shape[1]):
            if labels[row, col] >= 0:
                looks[labels[row, col]] += person[row, col]
                owners[labels[row, col]] = cells[row, col]


@kernel
def _find_owners(
    points: Singles, labels: Labels, is_added: npt.NDArray[np.bool_], cells: Bytes, reach: int, owners: Bytes
) -> None:
    """Write the nearest person of each piece, within the allowed gap."""
    gaps = np.full(len(owners), np.float32(GAP_M))
    for row in range(labels.shape[0]):
        for col in range(labels.shape[1]):
            k = labels[row, col]
            if k < 0 or not is_added[k]:
                continue
            for r in range(max(row - reach, 0), min(row + reach + 1, labels.shape[0])):
                for c in range(max(col - reach, 0), min(col + reach + 1, labels.shape[1])):
                    if cells[r, c] == 0:
                        continue
                    dx, dy = points[0, row, col] - points[0, r, c], points[1, row, col] - points[1, r, c]
                    dz = points[2, row, col] - points[2, r, c]
                    gap = np.sqrt(dx * dx + dy * dy + dz * dz)
                    if gap < gaps[k]:
                        gaps[k], owners[k] = gap, cells[r, c]


@kernel
def _give(labels: Labels, owners: Bytes, cells: Bytes) -> None:
    """Write the owner of each piece to its cells."""
    for row in range(labels.shape[0]):
        for col in range(labels.shape[1]):
            if labels[row, col] >= 0:
                cells[row, col] = owners[labels[row, col]]
