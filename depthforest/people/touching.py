"""Touching people form one body; they are separated by their heads, each over a trunk of its own."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from depthforest.base import Bytes, Longs, Singles, kernel

BIN = 0.05
"""Width in meters of a vertical strip of the body."""

MAX_STRIPS = 512
"""Strips of a body: the last one holds everything farther to the right than 25 m."""

LEAST_WIDTH, LEAST_AREA = 0.6, 0.25
"""A body with a smaller width (meters) or surface (square meters) is one person."""

APART = 0.3
"""Smallest distance in meters between the heads of two people."""

DIP = 0.12
"""Meters from the top of the lower head down to the dip between the two: at least to the chin."""

HALF_WIDTH, UPPER, LOWER = 0.16, 0.35, 0.7
"""Meters: half the width of a box, and where it begins and ends below the top of a head. A trunk fills it; a raised
hand leaves it mostly empty."""

TRUNK = 0.55
"""Smallest filled share of that box under a head."""


def part_bodies(points: Singles, area: Singles, axes: Singles, cells: Bytes) -> None:
    """Give touching people separate numbers.

    Parameters
    ----------
    points, area
        As in `DepthGrid`.
    axes : array (3, 3), float32
        As in `regions.room_axes`.
    cells : array (rows, cols), uint8
        Body of every cell, from 1; 0 = none. Changed: new bodies follow the last.
    """
    flat_cells, flat_area, flat_points = cells.reshape(-1), area.reshape(-1), points.reshape(4, -1)[:3]
    for body in range(1, int(cells.max(initial=0)) + 1):
        places = np.flatnonzero(flat_cells == body)
        square_meters = flat_area[places]
        if square_meters.sum() < LEAST_AREA:
            continue
        at = axes @ flat_points[:, places]
        heads = _find_heads(at, square_meters)
        if not heads:
            continue
        # a cell belongs to the nearest head, seen from above
        distance = np.stack([(at[0] - head[0]) ** 2 + (at[2] - head[2]) ** 2 for head in heads])
        nearest = np.argmin(distance, axis=0)
        for k in range(1, len(heads)):
            if cells.max() < 255:
                flat_cells[places[nearest == k]] = cells.max() + 1


def _find_heads(at: Singles, area: Singles) -> list[npt.NDArray[np.float64]]:
    """Return where the heads of a body are, (right, up, ahead) each; `at` is (3, n) along these axes.

    Empty for a single head, whose position is not needed.
    """
    strips, tops = np.empty(at.shape[1], dtype=np.int64), np.full(MAX_STRIPS, -np.inf, dtype=np.float32)
    places = np.empty(MAX_STRIPS, dtype=np.int64)
    n = _find_tops(at, area, strips, tops, places)
    if n < 2:
        return []
    return [_middle_of(at, strips, i, float(tops[i])) for i in places[:n].tolist()]


def _middle_of(at: Singles, strips: Longs, i: int, top: float) -> npt.NDArray[np.float64]:
    """Return the middle of the head whose top is in a strip."""
    is_head = (np.abs(strips - i) <= 2) & (at[1] > top - 0.25)
    return np.asarray(np.median(at[:, is_head], axis=1).astype(np.float64))


@kernel
def _find_tops(at: Singles, area: Singles, strips: Longs, tops: Singles, places: Longs) -> int:
    """Write the strip of every cell, the height of each strip, and which strips contain heads; return how many do.

    `tops` must be -inf. The highest strips come first; a lower one is another head if there is a dip in between.
    """
    low, high = at[0].min(), at[0].max()
    if np.float64(high) - np.float64(low) < LEAST_WIDTH:
        return 0
    for i in range(len(strips)):
        strip = min(int(np.float32(at[0, i] - low) / np.float32(BIN)), len(tops) - 1)
        strips[i] = strip
        tops[strip] = max(tops[strip], at[1, i])
    n = 0
    is_open = tops > -np.inf
    while is_open.any():
        highest = -1
        for k in range(len(tops)):
            if is_open[k] and (highest < 0 or tops[k] > tops[highest]):
                highest = k
        is_open[highest] = False
        is_head = True
        for k in places[:n]:
            lowest = tops[min(highest, k) : max(highest, k) + 1].min()
            is_apart = abs(highest - k) * BIN >= APART and np.float64(lowest) < np.float64(tops[highest]) - DIP
            is_head = bool(is_head and is_apart)
        if is_head and _has_trunk(at, area, np.float64(low) + (highest + 0.5) * BIN, np.float64(tops[highest])):
            places[n] = highest
            n += 1
    return n


@kernel
def _has_trunk(at: Singles, area: Singles, right: float, top: float) -> bool:
    """Tell whether there is a trunk below the top of a strip."""
    middle, upper, lower = np.float32(right), np.float32(top - UPPER), np.float32(top - LOWER)
    square_meters = 0.0
    for i in range(len(area)):
        if abs(at[0, i] - middle) < np.float32(HALF_WIDTH) and lower < at[1, i] <= upper:
            square_meters += area[i]
    return bool(square_meters > TRUNK * 2 * HALF_WIDTH * (LOWER - UPPER))
