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


def match_pattern(
    lit: Floats32, facing: Floats32, noise: Floats32, rule: npt.NDArray[np.float64]
) -> tuple[Floats32, npt.NDArray[np.int32]]:
    """Return what structured light finds at every pixel, 0 for a hole, and the pixel it belongs to."""
    jump, wander, _, _, least, least_spread, grazing, grazing_spread, speckle = (float(r) for r in rule)
    half_x, half_y = max(int(rule[2] + 0.5), 1), max(int(rule[3] + 0.5), 1)
    rows, cols = lit.shape
    matched, source = np.zeros((rows, cols), np.float32), np.zeros((rows, cols), np.int32)

    def at(row: int, col: int) -> tuple[int, int]:
        return min(max(row, 0), rows - 1), min(max(col, 0), cols - 1)

    def differs(place: tuple[int, int], d: float) -> bool:
        return abs(float(lit[place]) - d) > jump

    for row, col in np.ndindex(rows, cols):
        d, blob, here = float(lit[row, col]), float(noise[1, row, col]), (row, col)
        sides = ((row, col - half_x), (row, col + half_x), (row - half_y, col), (row + half_y, col))
        is_edge = any(differs(at(*side), d) for side in sides)
        if is_edge:
            other = float(noise[1, row, (col + cols - cols // 2) % cols])
            aside = at(*(p + math.floor(wander * min(max(b, -2), 2) + 0.5) for p, b in ((row, other), (col, blob))))
            if differs(aside, d):
                here = aside
        d = float(lit[here])
        if d <= 0 or blob > speckle or not facing[here] > grazing + grazing_spread * blob:
            continue
        window = [at(row + i * half_y, col + j * half_x // 2) for i in (-1, 0, 1) for j in (-2, -1, 0, 1, 2)]
        share = sum(not differs(place, d) for place in window) / len(window)
        if is_edge and share < least + least_spread * blob:
            continue
        matched[row, col], source[row, col] = d, here[0] * cols + here[1]
    return matched, source
