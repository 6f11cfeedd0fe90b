"""Diversity of poses: keeps a few that all differ, as Shotton et al. 2011 selected theirs.

The distance of two poses is their largest joint distance, d(a, b) = max over joints of |a_j - b_j|, with hips at the
same place and the same heading (`kinematics.joint_positions` of poses from `mocap` or `sampling`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import UsageError, kernel

MIN_DISTANCE = 0.05
"""Meters; Shotton et al. 2011, section 2."""

GRID_AXES, MAX_CELLS = 4, 32
"""Axes of the search grid, and largest number of cells along each: 8 MB at most."""

Indices = npt.NDArray[np.int64]


def thin_poses(
    positions: npt.NDArray[Any],
    min_distance: float = MIN_DISTANCE,
    *,
    seed: int = 0,
    max_kept: int | None = None,
) -> Indices:
    """Return the poses to keep so that no two of them are closer than a distance.

    Without `max_kept`, poses are visited in an order drawn from the seed, and each that is not close to a kept pose
    is kept: every dropped pose has a kept one closer than `min_distance`. With `max_kept`, farthest-point sampling:
    the pose farthest from all kept ones is added until there are enough, or until it is closer than `min_distance`.
    So even a small selection is spread out. Its time is proportional to `max_kept`.

    Parameters
    ----------
    positions : array (n, j, 3)
        Joints of every pose in meters, with hips at the same place and the same heading; used as float32.
    min_distance : float
        Meters.
    seed : int
        Draws the visiting order, or the first pose.
    max_kept : int, optional
        Keep at most this many.

    Returns
    -------
    array (k,), int64
        Indices of the kept poses in the order of selection; a function of the input and the seed.
    """
    positions = np.asarray(positions, dtype=np.float32)
    if positions.ndim != 3 or positions.shape[1] < 1 or positions.shape[2] != 3:
        raise UsageError(f"expected joint positions (n, j, 3), got shape {positions.shape}")
    if not np.isfinite(positions).all():
        raise UsageError("joint positions must be finite")
    if not (np.isfinite(min_distance) and min_distance > 0):
        raise UsageError(f"min_distance must be above 0 meters, got {min_distance}")
    if max_kept is not None and max_kept < 1:
        raise UsageError(f"max_kept must be 1 or more, got {max_kept}")
    if len(positions) == 0:
        return np.zeros(0, dtype=np.int64)
    rng = np.random.default_rng(seed)
    # joints that vary most first: they separate most pairs at once
    spreads = positions.var(axis=0, dtype=np.float64)
    positions = np.ascontiguousarray(positions[:, np.argsort(-spreads.sum(axis=1), kind="stable")])
    kept = np.empty(len(positions), dtype=np.int64)
    square = float(min_distance) ** 2
    if max_kept is None:
        order = rng.permutation(len(positions))
        cells, neighbors, heads = _grid(positions, float(min_distance))
        n_kept = _thin(positions, order, cells, neighbors, square, heads, np.empty_like(order), kept)
    else:
        first, most = int(rng.integers(len(positions))), min(max_kept, len(positions))
        n_kept = _spread(positions, first, square, most, np.full(len(positions), np.inf), kept)
    return kept[:n_kept].copy()


def _grid(positions: npt.NDArray[np.float32], min_distance: float) -> tuple[Indices, Indices, Indices]:
    """Sort poses into cells by a few coordinates, so that close poses are in the same or adjoining cells.

    Returns the cell (n,) of every pose, the offsets from a cell to itself and its neighbors, and for every cell the
    head of an empty list (-1), with a border of empty cells around the grid.
    """
    flat = positions.reshape(len(positions), -1).astype(np.float64)
    chosen = flat[:, _telling_columns(flat)]
    low, extent = chosen.min(axis=0), np.ptp(chosen, axis=0)
    # a little wider than needed, so that rounding cannot push close poses two cells apart
    size = np.maximum(min_distance * 1.0001, extent / (MAX_CELLS - 3) * 1.0001)
    index = np.floor((chosen - low) / size).astype(np.int64) + 1
    shape = index.max(axis=0) + 2
    strides = np.append(np.cumprod(shape[:0:-1])[::-1], 1)
    steps = np.stack(np.meshgrid(*[(-1, 0, 1)] * len(shape), indexing="ij"), axis=-1).reshape(-1, len(shape))
    return index @ strides, steps @ strides, np.full(int(np.prod(shape)), -1, dtype=np.int64)


def _telling_columns(flat: npt.NDArray[np.float64]) -> list[int]:
    """Choose the columns with the largest variance not explained by earlier columns (pivoted Cholesky)."""
    rest = np.atleast_2d(np.cov(flat, rowvar=False, bias=True))
    chosen: list[int] = []
    for _ in range(min(GRID_AXES, len(rest))):
        pivot = int(np.argmax(np.diag(rest)))
        chosen.append(pivot)
        if rest[pivot, pivot] > 0:
            rest = rest - np.outer(rest[pivot], rest[pivot]) / rest[pivot, pivot]
    return chosen


@kernel
def _are_close(positions: npt.NDArray[np.float32], a: int, b: int, square: float) -> bool:
    """Whether the largest joint distance of two poses is below a distance, given squared."""
    for joint in range(positions.shape[1]):
        x = np.float64(positions[a, joint, 0]) - np.float64(positions[b, joint, 0])
        y = np.float64(positions[a, joint, 1]) - np.float64(positions[b, joint, 1])
        z = np.float64(positions[a, joint, 2]) - np.float64(positions[b, joint, 2])
        if x * x + y * y + z * z >= square:
            return False
    return True


@kernel
def _thin(
    positions: npt.NDArray[np.float32],
    order: Indices,
    cells: Indices,
    neighbors: Indices,
    square: float,
    heads: Indices,
    nexts: Indices,
    kept: Indices,
) -> int:
    """Keep poses that are close to no kept one; each cell's kept poses are a linked list in `heads` and `nexts`."""
    n_kept = 0
    for pose in order:
        cell = cells[pose]
        is_new = True
        for step in neighbors:
            other = heads[cell + step]
            while other >= 0 and is_new:
                is_new = not _are_close(positions, pose, other, square)
                other = nexts[other]
            if not is_new:
                break
        if is_new:
            nexts[pose] = heads[cell]
            heads[cell] = pose
            kept[n_kept] = pose
            n_kept += 1
    return n_kept


@kernel
def _spread(
    positions: npt.NDArray[np.float32],
    first: int,
    square: float,
    max_kept: int,
    nearest: npt.NDArray[np.float64],
    kept: Indices,
) -> int:
    """Repeatedly keep the farthest pose; `nearest` holds every pose's squared distance to the kept ones."""
    latest = first
    for n_kept in range(max_kept):
        kept[n_kept] = latest
        farthest, largest = 0, -1.0
        for pose in range(positions.shape[0]):
            distance = 0.0
            for joint in range(positions.shape[1]):
                x = np.float64(positions[pose, joint, 0]) - np.float64(positions[latest, joint, 0])
                y = np.float64(positions[pose, joint, 1]) - np.float64(positions[latest, joint, 1])
                z = np.float64(positions[pose, joint, 2]) - np.float64(positions[latest, joint, 2])
                distance = max(distance, x * x + y * y + z * z)
                if distance >= nearest[pose]:  # cannot get closer anymore
                    break
            nearest[pose] = min(nearest[pose], distance)
            if nearest[pose] > largest:
                farthest, largest = pose, nearest[pose]
        if largest < square:
            return n_kept + 1
        latest = farthest
    return max_kept
