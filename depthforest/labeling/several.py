"""Several people at once: a forest's shares at a few pixels of each. They may overlap, as candidates of detection do.

Each person is cut out and walked as in `PersonWalk`, but by one kernel for all people: if only a hundred pixels of a
person walk, calls would take longer than walks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from depthforest.base import Ints, Longs, Singles, UsageError, kernel
from depthforest.frames import Frame
from depthforest.labeling.mixing import MEAN, add_evidence, mix_pixels
from depthforest.labeling.packing import Nodes, packed_forest
from depthforest.labeling.steps import LANES, new_lanes, walk_lanes
from depthforest.trees import LEAF_SUM, DepthTrees, facings, find_scales, focal_lengths


class Several(NamedTuple):
    """The pixels of several people, one person after the other; pixels are numbered row by row.

    Parameters
    ----------
    pixels : array (n,), int64
        Pixel numbers, in rising order for each person.
    ends : array (n_people + 1,), int64
        Where each person's pixels begin, and where the last person's end.
    place_ends : array (n_people + 1,), int64
        The same for the requested places.
    """

    pixels: Longs
    ends: Longs
    place_ends: Longs


def shares_at(forest: DepthTrees, frame: Frame, places: Longs, people: Several | None = None) -> Singles:
    """Return the shares (n, n_parts) of some pixels. Only these walk, so this is cheap for a few.

    Shares are not calibrated, because models that use them were trained on uncalibrated ones. They are those of the
    first stage: a context stage needs the whole person.

    Parameters
    ----------
    forest : DepthTrees
    frame : Frame
    places : array (n,), int64
        Pixels with a reading, numbered row by row; each must belong to its person.
    people : Several, optional
        The people that the pixels belong to. Default: all readings are one person.
    """
    depth, n_places = frame.depth_mm, len(places)
    if people is None:
        pixels = np.empty(depth.size, dtype=np.int64)
        pixels = pixels[: _find_readings(depth.reshape(-1), pixels)]
        people = Several(pixels, np.array([0, len(pixels)]), np.array([0, n_places]))
    owner, n_people = np.empty(depth.size, dtype=np.int32), len(people.ends) - 1
    n_wrong = _count_wrong(depth.reshape(-1), *people, places, owner)
    if n_wrong:
        raise UsageError(f"{n_wrong} of {n_places} places are off the picture, not the person's, or have no reading")
    packed = packed_forest(forest)
    leaves = np.empty((n_places, 1, forest.n_trees), dtype=np.int32)
    said = np.zeros((n_people, forest.n_facings), dtype=np.int64)
    weights = np.ones((n_people, forest.n_facings), dtype=np.int32)
    how = focal_lengths(frame.camera), np.uint16(forest.background_mm), packed.nodes, forest.facing_evidence
    _walk_each(depth, *people, places, *how, leaves, said)
    if forest.n_facings > 1:
        n_leaves = np.diff(people.place_ends) * forest.n_trees
        for own, evidence, n in zip(weights, said, n_leaves.tolist(), strict=True):
            own[:] = facings.weigh(evidence, n)
    shares = np.empty((n_places, len(forest.part_set)), dtype=np.float32)
    _mix_each(packed.leaves, forest.part_set.mirror_table, weights, people.place_ends, leaves, shares)
    return shares


@kernel
def _find_readings(depth: Any, pixels: Longs) -> int:
    """Fill the pixels that have a reading, and return how many there are."""
    n = 0
    for i in range(len(depth)):
        pixels[n] = i
        n += depth[i] > 0
    return n


@kernel
def _count_wrong(depth: Any, pixels: Longs, ends: Longs, place_ends: Longs, places: Longs, owner: Ints) -> int:
    """Return how many places are off the picture, not their person's or without a reading; all if ends are invalid.

    `owner` is scratch memory with a number for each pixel of the picture.
    """
    owner[:] = -1
    if not (len(ends) == len(place_ends) and _are_ends(ends, len(pixels)) and _are_ends(place_ends, len(places))):
        return len(places) + 1
    n = 0
    for k in range(len(ends) - 1):
        before = -1
        for i in range(ends[k], ends[k + 1]):
            pixel = pixels[i]
            if pixel <= before or pixel >= len(owner):
                return len(places) + 1
            owner[pixel] = k
            before = pixel
        for i in range(place_ends[k], place_ends[k + 1]):
            place = places[i]
            n += place < 0 or place >= len(owner) or owner[place] != k or depth[place] == 0
    return n


@kernel
def _are_ends(ends: Longs, n: int) -> bool:
    """Tell whether ends split `n` items into consecutive runs."""
    n_back = 0
    for k in range(1, len(ends)):
        n_back += ends[k] < ends[k - 1]
    return bool(n_back == 0 and len(ends) > 0 and ends[0] == 0 and ends[-1] == n)


@kernel
def _walk_each(
    depth: npt.NDArray[np.uint16], pixels: Longs, ends: Longs, place_ends: Longs, places: Longs,
    focals: tuple[np.float32, np.float32], background: np.uint16, nodes: Nodes, evidence: npt.NDArray[np.int8],
    leaves: Ints, said: Longs,
) -> None:  # fmt: skip
    """Write the leaves (n, 1, n_trees) of places, and add up what they say of each person's facing (n_people, ...).

    All crops are in one stack, one below the other, so that the pixels of all people walk in step.
    """
    boxes, firsts = np.empty((len(ends) - 1, 4), dtype=np.int64), np.empty(len(ends) - 1, dtype=np.int64)
    shape = _find_boxes(pixels, ends, depth.shape[1], boxes, firsts), depth.shape[1] + 2
    stack = np.empty(shape, dtype=np.uint16)
    _stack_crops(depth, pixels, ends, boxes, firsts, background, stack)
    on_stack, scales = np.empty((len(places), 2), dtype=np.int32), np.empty((len(places), 2), dtype=np.float32)
    borders = np.empty((len(places), 4), dtype=np.float32)
    for k in range(len(boxes)):
        top, bottom, left, right = boxes[k]
        for i in range(place_ends[k], place_ends[k + 1]):
            row, col = places[i] // depth.shape[1], places[i] % depth.shape[1]
            on_stack[i, 0], on_stack[i, 1] = firsts[k] + row - top + 1, col - left + 1
            borders[i, 0], borders[i, 1] = left - 1 - col, right + 1 - col
            borders[i, 2], borders[i, 3] = top - 1 - row, bottom + 1 - row
    find_scales(stack, on_stack, focals, scales)
    lanes = new_lanes(LANES)
    bounds, own = lanes[1], lanes[2][1]
    for first in range(0, len(places), LANES):
        n = min(LANES, len(places) - first)
        for i in range(n):
            bounds[0, i], bounds[1, i] = scales[first + i, 0], scales[first + i, 1]
            for side in range(4):
                bounds[2 + side, i] = borders[first + i, side]
            own[i] = on_stack[first + i, 0] * shape[1] + on_stack[first + i, 1]
        walk_lanes(stack.reshape(-1), shape, nodes, 0, first, n, lanes, leaves)
    if said.shape[1] > 1:
        for k in range(len(boxes)):
            add_evidence(leaves[place_ends[k] : place_ends[k + 1]], evidence, said[k])


@kernel
def _find_boxes(pixels: Longs, ends: Longs, n_cols: int, boxes: Longs, firsts: Longs) -> int:
    """Write first and last row and column of each person, and where its crop begins; return the rows of all crops."""
    n_rows = 0
    for k in range(len(boxes)):
        left, right, top, bottom = n_cols, 0, 0, -1
        if ends[k] < ends[k + 1]:
            top, bottom = pixels[ends[k]] // n_cols, pixels[ends[k + 1] - 1] // n_cols
        row = top
        for i in range(ends[k], ends[k + 1]):
            while pixels[i] >= (row + 1) * n_cols:
                row += 1
            left, right = min(left, pixels[i] - row * n_cols), max(right, pixels[i] - row * n_cols)
        boxes[k, 0], boxes[k, 1], boxes[k, 2], boxes[k, 3] = top, bottom, left, right
        firsts[k] = n_rows
        n_rows += bottom - top + 3
    return n_rows


@kernel
def _stack_crops(
    depth: npt.NDArray[np.uint16], pixels: Longs, ends: Longs, boxes: Longs, firsts: Longs, background: np.uint16,
    stack: npt.NDArray[np.uint16],
) -> None:  # fmt: skip
    """Write the readings of each person into a crop with a border of background."""
    n_cols = depth.shape[1]
    for k in range(len(boxes)):
        top, bottom, left, right = boxes[k]
        for row in range(firsts[k], firsts[k] + bottom - top + 3):
            for col in range(right - left + 3):
                stack[row, col] = background
        row, shift = top, firsts[k] - top + 1
        for i in range(ends[k], ends[k + 1]):
            while pixels[i] >= (row + 1) * n_cols:
                row += 1
            col = pixels[i] - row * n_cols
            if depth[row, col] > 0:
                stack[row + shift, col - left + 1] = depth[row, col]


@kernel
def _mix_each(
    leaves: npt.NDArray[np.uint8], mirrored: npt.NDArray[np.uint8], weights: Ints, place_ends: Longs, found: Ints,
    shares: Singles,
) -> None:  # fmt: skip
    """Fill the shares (n, n_parts) of places from their leaves; each person has their own facing weights."""
    sums = np.empty((len(shares), leaves.shape[1]), dtype=np.int32)
    for k in range(len(weights)):
        begin, end = place_ends[k], place_ends[k + 1]
        mix_pixels(MEAN, leaves, mirrored, weights[k], found, begin, end, sums)
        whole = np.float32(LEAF_SUM * found.shape[2] * weights[k].sum())
        for i in range(begin, end):
            for part in range(shares.shape[1]):
                shares[i, part] = np.float32(sums[i, part]) / whole
