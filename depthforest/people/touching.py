"""People who touch form one body: separate heads, each over a trunk of its own, tell them apart."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from depthforest.base import Bytes, Singles

BIN = 0.05
"""Meters of a strip of the body, from left to right."""

LEAST_WIDTH, LEAST_AREA = 0.6, 0.25
"""Meters and square meters below which a body is one person's."""

APART = 0.3
"""Meters between the heads of two people."""

DIP = 0.12
"""Meters from the lower head down to what connects the two: at least to a chin."""

HALF_WIDTH, UPPER, LOWER = 0.16, 0.35, 0.7
"""Meters: half the width of a box, and where it begins and ends below the top of a head. A trunk fills it; under a
raised hand, there is not much."""

TRUNK = 0.55
"""Share of that box that is filled under a head."""


def part_bodies(points: Singles, area: Singles, axes: Singles, cells: Bytes) -> None:
    """Give the people who touch a number each.

    Parameters
    ----------
    points, area
        Of the `DepthGrid`.
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
        if len(heads) < 2:
            continue
        # people stand on their own ground: the nearest head, seen from above
        distance = np.stack([(at[0] - head[0]) ** 2 + (at[2] - head[2]) ** 2 for head in heads])
        nearest = np.argmin(distance, axis=0)
        for k in range(1, len(heads)):
            if cells.max() < 255:
                flat_cells[places[nearest == k]] = cells.max() + 1


def _find_heads(at: Singles, area: Singles) -> list[npt.NDArray[np.float64]]:
    """Return where the heads of a body are, (right, up, ahead) each; `at` is (3, n) along these axes."""
    low, high = float(at[0].min()), float(at[0].max())
    if high - low < LEAST_WIDTH:
        return []
    strip = ((at[0] - low) / BIN).astype(np.intp)
    n = int(strip.max()) + 1
    tops = np.full(n, -np.inf, dtype=np.float32)
    np.maximum.at(tops, strip, at[1])
    top = tops.tolist()
    heads: list[npt.NDArray[np.float64]] = []
    places: list[int] = []
    # the highest strips first; a lower one is another head if a dip lies between
    for i in sorted(range(n), key=lambda k: (-top[k], k)):
        if top[i] == -math.inf:
            break
        is_apart = all(abs(i - k) * BIN >= APART and min(top[min(i, k) : max(i, k) + 1]) < top[i] - DIP for k in places)
        if is_apart and _has_trunk(at, area, low + (i + 0.5) * BIN, top[i]):
            is_head = (np.abs(strip - i) <= 2) & (at[1] > top[i] - 0.25)
            heads.append(np.median(at[:, is_head], axis=1).astype(np.float64))
            places.append(i)
    return heads


def _has_trunk(at: Singles, area: Singles, right: float, top: float) -> bool:
    """Tell whether a trunk is under the top of a strip."""
    is_under = (np.abs(at[0] - right) < HALF_WIDTH) & (at[1] <= top - UPPER) & (at[1] > top - LOWER)
    return bool(area[is_under].sum() > TRUNK * 2 * HALF_WIDTH * (LOWER - UPPER))
