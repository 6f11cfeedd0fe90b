"""Slow, obvious twins of the sensor kernels."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats32 = npt.NDArray[np.float32]


def cast_shadow(disparity: Floats32, shift: float, margin: float, is_cut: bool) -> Floats32:
    """Compare every pixel with everything that its row shows to the other eye, which looks one picture to each side."""
    out = disparity.copy()
    rows, cols = disparity.shape

    def column(row: int, col: int) -> int:
        return math.floor(col - shift * disparity[row, col] + 0.5)

    for row in range(rows):
        seen: list[tuple[int, float]] = []
        for col in range(cols):
            if disparity[row, col] > 0:
                seen.append((column(row, col), disparity[row, col]))
                is_one_surface = (
                    col > 0
                    and disparity[row, col - 1] > 0
                    and abs(disparity[row, col] - disparity[row, col - 1]) <= margin
                )
                if is_one_surface:
                    between = range(column(row, col - 1) + 1, column(row, col))
                    seen += [(at, disparity[row, col]) for at in between]
        for col in range(cols):
            if disparity[row, col] > 0:
                at = column(row, col)
                is_inside = -cols <= at < 2 * cols
                is_hidden = is_inside and any(a == at and d - disparity[row, col] > margin for a, d in seen)
                if is_hidden or (is_cut and not 0 <= at < cols):
                    out[row, col] = 0
    return out


def dilate(image: Floats32, reach: int) -> Floats32:
    """Take the largest of each window."""
    rows, cols = image.shape
    out = np.empty_like(image)
    for row in range(rows):
        for col in range(cols):
            window = image[max(row - reach, 0) : row + reach + 1, max(col - reach, 0) : col + reach + 1]
            out[row, col] = window.max()
    return out
