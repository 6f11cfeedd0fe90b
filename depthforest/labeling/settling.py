"""Settling: from the sums of pixels to results: parts, shares, and a sample for joints.

The last kernels of a level, after `mixing`. They check nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import kernel
from depthforest.frames import NO_PART
from depthforest.labeling.calibrating import Table, calibrate_best
from depthforest.labeling.mixing import decide, smooth_sums
from depthforest.labeling.steps import Lanes

Sums = npt.NDArray[np.int32]


@kernel
def settle(
    crop: npt.NDArray[np.uint16], numbers: npt.NDArray[np.int32], grid: tuple[int, int, int],
    places: npt.NDArray[np.int32], scales: Lanes, radius_m: float, between: Sums, smoothed: Sums, begin: int, end: int,
    weight: int, table: Table, parts: npt.NDArray[np.uint8], shares: Lanes, calibrated: Any,
) -> None:  # fmt: skip
    """Smooth the sums of the pixels `begin` to `end` along columns, and decide their parts.

    Parameters
    ----------
    crop, numbers, grid, places, scales, radius_m
        As in `mixing.smooth_sums`. With a radius of 0 nothing is smoothed, and `smoothed` holds the sums.
    between, smoothed : array (n + 1, n_columns), int32
        Sums smoothed along rows; filled with sums smoothed both ways.
    weight, parts, shares
        As in `mixing.decide`.
    table, calibrated
        As in `calibrating.calibrate_best`. With an empty table (no calibration), `calibrated` is not written.
    """
    if radius_m > 0:
        smooth_sums(crop, numbers, grid, places, scales, radius_m, True, between, begin, end, smoothed)
    decide(smoothed, weight, begin, end, parts, shares)
    if len(table) > 0:
        calibrate_best(smoothed, table, begin, end, calibrated)


@kernel
def take_sample(
    places: npt.NDArray[np.int32], corner: tuple[int, int], chosen: npt.NDArray[np.int64], sums: Sums, weight: int,
    parts: npt.NDArray[np.uint8], at: npt.NDArray[np.int32], shares: npt.NDArray[np.float32],
) -> int:  # fmt: skip
    """Fill the positions in the frame and the shares of the chosen pixels that have a label; return how many do.

    Parameters
    ----------
    places : array (n, 2), int32
        Places in the crop, whose first pixel is at `corner` of the frame.
    chosen : array (m,), int64
    sums : array (m, n_parts or more), int32
        Sums of the chosen pixels.
    weight : int
        Total of a pixel's sums; 0: it varies and is added up for each pixel.
    parts : array (rows, cols), uint8
        Parts in the frame.
    at : array (2, m), int32
    shares : array (m, n_parts), float32
    """
    n = 0
    for i in range(len(chosen)):
        row, col = places[chosen[i], 0] + corner[0], places[chosen[i], 1] + corner[1]
        if parts[row, col] == NO_PART:
            continue
        total = np.int32(0)
        for p in range(shares.shape[1]):
            total += sums[i, p]
        whole = np.float32(weight if weight > 0 else total)
        for p in range(shares.shape[1]):
            shares[n, p] = np.float32(sums[i, p]) / whole
        at[0, n], at[1, n] = row, col
        n += 1
    return n
