"""The grids of pixels that walk: a coarse one first, finer ones where labels change.

Body parts are large, so most pixels need no walk of their own. The pixels of a coarse grid walk first. If the four
corners of a cell have the same label, and its readings are one surface, the cell is *filled*: each of its pixels takes
the answer of the nearest corner. The pixels of the other cells walk on a grid half as wide, and so on, until every
pixel has walked or has a *stand-in*, the neighbor whose answer it takes.

Grids are symmetric about the middle of the frame, so that a mirrored frame has mirrored cells: columns are counted from
the middle outward, rows from the top. A frame with an even number of columns has two in the middle, and both are on
every grid. Kernels check nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from depthforest.base import bare, kernel

SURFACE_MM = 60
"""Readings of a cell that differ by more are not one surface: an arm in front of the trunk."""

OPEN, OUTSIDE = -1, -2
"""Entries of a map of numbers: a pixel of the person that has no stand-in yet; a place off the person."""

Places = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int32]


@kernel
def open_places(places: Places, numbers: Numbers) -> None:
    """Fill the map of numbers (rows, cols) of a crop: all pixels of the person are open."""
    for row in range(numbers.shape[0]):
        for col in range(numbers.shape[1]):
            numbers[row, col] = OUTSIDE
    for i in range(len(places)):
        numbers[places[i, 0], places[i, 1]] = OPEN


@kernel
def _first_column(corner: tuple[int, int], n_cols: int, step: int) -> int:
    """Return the first column of the crop, after its border, that is on the grid with this step."""
    left, right = (n_cols - 1) // 2 - corner[1], n_cols // 2 - corner[1]
    return 1 + (left - 1 if left >= 1 else right - 1) % step


@kernel
def _seam(corner: tuple[int, int], n_cols: int) -> int:
    """Return the left one of two middle columns, which are both on all grids, in the crop; -1 if there is only one."""
    return max(n_cols // 2 - 1 - corner[1], -1) if n_cols % 2 == 0 else -1


@kernel
def take_open(corner: tuple[int, int], n_cols: int, step: int, numbers: Numbers, n: int, taken: Places) -> int:
    """Give the open pixels on the grid with a step numbers from `n` on; return how many pixels have a number then.

    Parameters
    ----------
    corner : (int, int)
        Row and column of the crop's first pixel in the frame.
    n_cols : int
        Columns of the frame.
    numbers : array (rows, cols), int32
        Map of numbers of the crop.
    taken : array (n_pixels, 2), int32
        Places of the numbered pixels.
    """
    start, seam = _first_column(corner, n_cols, step), _seam(corner, n_cols)
    for row in range(1 + (-1 - corner[0]) % step, numbers.shape[0] - 1, step):
        col = start
        while col < numbers.shape[1] - 1:
            if numbers[row, col] == OPEN:
                numbers[row, col] = n
                taken[n, 0], taken[n, 1] = row, col
                n += 1
            col += 1 if col == seam else step
    return n


@bare
def _is_one_surface(crop: npt.NDArray[np.uint16], numbers: Numbers, cell: tuple[int, int, int, int]) -> bool:
    """Return whether the readings of a cell, its borders included, lie close together."""
    nearest, farthest = np.int32(65_535), np.int32(0)
    for row in range(cell[0], cell[1] + 1):
        for col in range(cell[2], cell[3] + 1):
            if numbers[row, col] != OUTSIDE:
                nearest = min(nearest, np.int32(crop[row, col]))
                farthest = max(farthest, np.int32(crop[row, col]))
    return bool(farthest - nearest <= SURFACE_MM)


@bare
def _fill(numbers: Numbers, cell: tuple[int, int, int, int], is_left: bool) -> None:
    """Make the nearest corner the stand-in of each open pixel of a cell; among equals, the upper and the inner one."""
    top, bottom, first, last = cell
    for row in range(top, bottom + 1):
        near_row = top if 2 * row <= top + bottom else bottom
        for col in range(first, last + 1):
            if numbers[row, col] == OPEN:
                is_first = 2 * col < first + last if is_left else 2 * col <= first + last
                numbers[row, col] = numbers[near_row, first if is_first else last]


@bare
def fill_cells(
    crop: npt.NDArray[np.uint16], corner: tuple[int, int], n_cols: int, step: int, parts: npt.NDArray[np.uint8],
    numbers: Numbers,
) -> None:  # fmt: skip
    """Fill the cells of the grid with a step whose corners have the same part and whose readings are one surface.

    Parameters
    ----------
    crop : array (rows, cols), uint16
        The crop with its border.
    corner, n_cols
        As in `take_open`.
    parts : array (n,), uint8
        Parts of the numbered pixels.
    numbers : array (rows, cols), int32
        Filled: open pixels get the number of their stand-in.
    """
    start, seam, left = _first_column(corner, n_cols, step), _seam(corner, n_cols), (n_cols - 1) // 2 - corner[1]
    for top in range(1 + (-1 - corner[0]) % step, crop.shape[0] - 1 - step, step):
        bottom, middle, last = top + step, top + step // 2, start
        while True:
            first, last = last, last + (1 if last == seam else step)
            if last > crop.shape[1] - 2:
                break
            if min(numbers[middle, (first + last) // 2], numbers[middle, (first + last + 1) // 2]) >= 0:
                continue  # nothing is open: a larger cell was filled
            if min(numbers[top, first], numbers[top, last], numbers[bottom, first], numbers[bottom, last]) < 0:
                continue
            part = parts[numbers[top, first]]
            if parts[numbers[top, last]] != part or parts[numbers[bottom, first]] != part:
                continue
            cell = top, bottom, first, last
            if parts[numbers[bottom, last]] == part and _is_one_surface(crop, numbers, cell):
                _fill(numbers, cell, first < left)


@kernel
def spread(
    places: Places, numbers: Numbers, corner: tuple[int, int], own_parts: npt.NDArray[np.uint8],
    own_shares: npt.NDArray[np.float32], sure: npt.NDArray[np.float32], least: float, parts: npt.NDArray[np.uint8],
    shares: npt.NDArray[np.float32], stand_ins: npt.NDArray[np.int32],
) -> float:  # fmt: skip
    """Fill each pixel's stand-in, and its part and share in the frame; return the mean of `own_shares`.

    Shares are taken from `sure`; pixels with less than `least` are left out.
    """
    total = 0.0
    for i in range(len(places)):
        number = numbers[places[i, 0], places[i, 1]]
        stand_ins[i] = number
        total += np.float64(own_shares[number])
        share = sure[number]
        if share >= least:
            row, col = places[i, 0] + corner[0], places[i, 1] + corner[1]
            parts[row, col] = own_parts[number]
            shares[row, col] = share
    return total / max(len(places), 1)
