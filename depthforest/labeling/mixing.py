"""The compiled loops behind the walk: leaves mixed by facing, sums smoothed over neighbors, parts decided.

`steps` finds the leaves of a person's pixels; these kernels turn them into sums and labels. They check nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from depthforest.base import bare, kernel, prefetch
from depthforest.labeling.steps import Lanes

MEAN, VOTES, PURITY = 0, 1, 2
"""How trees are combined."""

TAPS = 2
"""Neighbors on each side, in each direction, whose sums smoothing adds: 25 places in all."""

GATE_MM = 60
"""Neighbors whose depth differs by more belong to another part: an arm in front of the trunk."""

AHEAD = 6
"""How many pixels ahead leaves are prefetched."""


@kernel
def add_evidence(found: npt.NDArray[np.int32], evidence: npt.NDArray[np.int8], said: npt.NDArray[np.int64]) -> None:
    """Add the evidence of the leaves (n_pixels, n_walks, n_trees) for facings; for mirrored ones in the second walk."""
    n, n_facings = len(found), evidence.shape[1]
    own = np.zeros(n_facings, dtype=np.int64)
    for walk in range(found.shape[1]):
        own[:] = 0
        for i in range(n):
            soon = min(i + AHEAD, n - 1)
            for tree in range(found.shape[2]):
                prefetch(evidence, np.int64(found[soon, walk, tree]) * n_facings)
                leaf = np.uint64(found[i, walk, tree])
                for f in range(np.uint64(n_facings)):
                    own[f] += np.int64(evidence[leaf, f])
        for f in range(n_facings):
            said[(n_facings - f) % n_facings if walk else f] += own[f]


@kernel
def mix_pixels(
    rule: int, leaves: npt.NDArray[np.uint8], mirrored: npt.NDArray[np.uint8], weights: npt.NDArray[np.int32],
    found: npt.NDArray[np.int32], begin: int, end: int, sums: npt.NDArray[np.int32],
) -> None:  # fmt: skip
    """Fill the sums (n_pixels, n_columns) of the pixels `begin` to `end` from their leaves, weighted by facing.

    Parameters
    ----------
    leaves : array (n_leaves * n_facings, n_columns), uint8
    mirrored : array (256,), uint8
        Mirror table of parts.
    weights : array (n_facings,), int32
        Weights of the person's facings.
    found : array (n_pixels, n_walks, n_trees), int32
    """
    n_facings, n_columns = len(weights), leaves.shape[1]
    n_used = 0
    used, amounts = np.empty((2, n_facings), dtype=np.int64), np.empty(n_facings, dtype=np.int32)
    for f in range(n_facings):
        if weights[f] > 0:
            used[0, n_used], used[1, n_used] = f, (n_facings - f) % n_facings
            amounts[n_used] = weights[f]
            n_used += 1
    mixed = np.empty(n_columns, dtype=np.int32)
    for i in range(begin, end):
        soon = min(i + AHEAD, end - 1)
        for p in range(n_columns):
            sums[i, p] = 0
        for walk in range(found.shape[1]):
            mixed[:] = 0
            for tree in range(found.shape[2]):
                if rule != MEAN:
                    mixed[:] = 0
                first = np.int64(found[i, walk, tree]) * n_facings
                later = np.int64(found[soon, walk, tree]) * n_facings
                for k in range(n_used):
                    prefetch(leaves, (later + used[walk, k]) * n_columns)
                    row, amount = np.uint64(first + used[walk, k]), amounts[k]
                    for p in range(np.uint64(n_columns)):
                        mixed[p] += np.int32(amount * np.int32(leaves[row, p]))
                if rule != MEAN:
                    winner = 0
                    for p in range(1, n_columns):
                        if mixed[p] > mixed[winner]:
                            winner = p
                    part = mirrored[winner] if walk else winner
                    sums[i, part] += np.int32(1) if rule == VOTES else mixed[winner]
            if rule == MEAN:
                for p in range(n_columns):
                    sums[i, mirrored[p] if walk else p] += mixed[p]


@bare
def _stand_in(
    crop: npt.NDArray[np.uint16], numbers: npt.NDArray[np.int32], place: tuple[int, int], away: tuple[int, int],
    middle: tuple[int, int], nobody: int,
) -> np.uint64:  # fmt: skip
    """Return the stand-in of a pixel's neighbor; `nobody` if there is none on the same surface."""
    row, col = place[0] + away[0], place[1] + away[1]
    if (place[1] <= middle[0]) != (col <= middle[0]):  # both middle columns are on the grid
        col += middle[1] - middle[0] if away[1] > 0 else middle[0] - middle[1]
    if row < 0 or col < 0 or row >= crop.shape[0] or col >= crop.shape[1] or (away[0] == 0 and away[1] == 0):
        return np.uint64(nobody)
    at = np.uint64(row), np.uint64(col)
    apart = np.int32(crop[at]) - np.int32(crop[np.uint64(place[0]), np.uint64(place[1])])
    return np.uint64(numbers[at] if numbers[at] >= 0 and abs(apart) <= GATE_MM else nobody)


@bare
def smooth_sums(
    crop: npt.NDArray[np.uint16], numbers: npt.NDArray[np.int32], grid: tuple[int, int, int],
    places: npt.NDArray[np.int32], scales: Lanes, radius_m: float, is_down: bool, sums: npt.NDArray[np.int32],
    begin: int, end: int, out: npt.NDArray[np.int32],
) -> None:  # fmt: skip
    """Fill the sums of the pixels `begin` to `end` plus those of their neighbors in one direction.

    A neighbor is a pixel of the person on one of `TAPS` places of the grid on each side, up to about `radius_m` away
    and at most `GATE_MM` nearer or farther. It counts with the sums of its stand-in.

    Parameters
    ----------
    crop : array (rows, cols), uint16
    numbers : array (rows, cols), int32
        Stand-in of each place, see `grid`; below 0: none.
    grid : (int, int, int)
        Step, and the crop columns in the middle of the frame. The pixels are on this grid.
    sums, out : array (n + 1, n_columns), int32
        The last row of `sums` holds 0.
    """
    step, left, right = grid
    middle, nobody = (left, right if step > 1 else left), len(sums) - 1
    unit = radius_m / (TAPS * step)
    for i in range(begin, end):
        place = places[i, 0], places[i, 1]
        reach = unit * scales[i, 1 if is_down else 0]
        near, far = int(reach + 0.5) * step, int(TAPS * reach + 0.5) * step
        if far == near:
            far = 0  # do not count it twice
        own = np.uint64(i)
        a = _stand_in(crop, numbers, place, (-near if is_down else 0, 0 if is_down else -near), middle, nobody)
        b = _stand_in(crop, numbers, place, (near if is_down else 0, 0 if is_down else near), middle, nobody)
        c = _stand_in(crop, numbers, place, (-far if is_down else 0, 0 if is_down else -far), middle, nobody)
        d = _stand_in(crop, numbers, place, (far if is_down else 0, 0 if is_down else far), middle, nobody)
        for p in range(np.uint64(sums.shape[1])):
            out[own, p] = sums[own, p] + sums[a, p] + sums[b, p] + sums[c, p] + sums[d, p]


@kernel
def decide(
    sums: npt.NDArray[np.int32], weight: int, begin: int, end: int, parts: npt.NDArray[np.uint8], shares: Lanes
) -> None:
    """Fill the part with the largest sum (the lowest among equals) and its share for the pixels `begin` to `end`.

    Parameters
    ----------
    weight : int
        Total of a pixel's sums; 0: it varies and is added up for each pixel.
    """
    n_parts = sums.shape[1]
    for i in range(begin, end):
        best, total = np.int32(0), np.int32(0)
        for p in range(n_parts):
            best = max(best, sums[i, p])
            total += sums[i, p]
        winner = 0
        while sums[i, winner] != best:
            winner += 1
        parts[i] = np.uint8(winner)
        shares[i] = np.float32(np.float32(best) / np.float32(weight if weight > 0 else total))
