"""The compiled loops behind the walk: leaves mixed by facing, and sums smoothed over neighbours.

`steps` finds the leaves of a person's pixels; these kernels make sums and labels of them. They check nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from depthforest.base import kernel
from depthforest.labeling.steps import LANES, MEAN, VOTES, Lanes, decide

TAPS = 2
"""Places on each side of a pixel whose sums smoothing adds, in each direction: 25 places in all."""

GATE_MM = 60
"""Neighbours that are nearer or farther by more belong to another part: an arm before the trunk."""


@kernel
def add_evidence(
    found: npt.NDArray[np.int32], begin: int, end: int, evidence: npt.NDArray[np.int8], said: npt.NDArray[np.int64]
) -> None:
    """Add what the leaves of the pixels `begin` to `end` say about facings; of the second walk, the mirrored ones."""
    n_facings = evidence.shape[1]
    for walk in range(len(found)):
        for i in range(begin, end):
            for tree in range(found.shape[2]):
                leaf = np.uint64(found[walk, i, tree])
                for f in range(n_facings):
                    said[(n_facings - f) % n_facings if walk else f] += np.int64(evidence[leaf, f])


@kernel
def mix_pixels(
    rule: int, leaves: npt.NDArray[np.uint8], mirrored: npt.NDArray[np.uint8], weights: npt.NDArray[np.int32],
    found: npt.NDArray[np.int32], begin: int, end: int, sums: npt.NDArray[np.int32],
) -> None:  # fmt: skip
    """Fill the sums (end - begin, n_columns) of the pixels `begin` to `end` from their leaves, facings weighted.

    Parameters
    ----------
    leaves : array (n_leaves * n_facings, n_columns), uint8
    mirrored : array (256,), uint8
        Of parts.
    weights : array (n_facings,), int32
        The person's.
    found : array (n_walks, n_pixels, n_trees), int32
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
        for p in range(n_columns):
            sums[i - begin, p] = 0
        for walk in range(len(found)):
            mixed[:] = 0
            for tree in range(found.shape[2]):
                if rule != MEAN:
                    mixed[:] = 0
                first = np.int64(found[walk, i, tree]) * n_facings
                for k in range(n_used):
                    row, amount = np.uint64(first + used[walk, k]), amounts[k]
                    for p in range(np.uint64(n_columns)):
                        mixed[p] += np.int32(amount * np.int32(leaves[row, p]))
                if rule != MEAN:
                    winner = 0
                    for p in range(1, n_columns):
                        if mixed[p] > mixed[winner]:
                            winner = p
                    part = mirrored[winner] if walk else winner
                    sums[i - begin, part] += np.int32(1) if rule == VOTES else mixed[winner]
            if rule == MEAN:
                for p in range(n_columns):
                    sums[i - begin, mirrored[p] if walk else p] += mixed[p]


@kernel
def label_mixed(
    places: npt.NDArray[np.int32], rule: int, leaves: npt.NDArray[np.uint8], mirrored: npt.NDArray[np.uint8],
    weights: npt.NDArray[np.int32], found: npt.NDArray[np.int32], begin: int, end: int, weight: int, least: float,
    corner: tuple[int, int], parts: npt.NDArray[np.uint8], confidence: Lanes,
) -> None:  # fmt: skip
    """Fill `parts` and `confidence` (frame) of the pixels `begin` to `end` from their leaves, as `label_pixels`."""
    sums = np.empty((LANES, leaves.shape[1]), dtype=np.int32)
    own_parts, shares = np.empty(LANES, dtype=np.uint8), np.empty(LANES, dtype=np.float32)
    for first in range(begin, end, LANES):
        n = min(LANES, end - first)
        mix_pixels(rule, leaves, mirrored, weights, found, first, first + n, sums)
        decide(sums, n, weight, least, own_parts, shares)
        for i in range(n):
            row, col = places[first + i, 0] + corner[0], places[first + i, 1] + corner[1]
            parts[row, col] = own_parts[i]
            confidence[row, col] = shares[i]


@kernel
def number_pixels(places: npt.NDArray[np.int32], numbers: npt.NDArray[np.int32]) -> None:
    """Fill the number of the pixel at each place of the crop (rows, cols), -1 where there is none."""
    numbers[:] = -1
    for i in range(len(places)):
        numbers[places[i, 0], places[i, 1]] = i


@kernel
def smooth_sums(
    crop: npt.NDArray[np.uint16], numbers: npt.NDArray[np.int32], places: npt.NDArray[np.int32], scales: Lanes,
    radius_m: float, is_down: bool, sums: npt.NDArray[np.int32], begin: int, end: int, out: npt.NDArray[np.int32],
) -> None:  # fmt: skip
    """Fill the sums of the pixels `begin` to `end` with those of their neighbours in one direction added.

    A neighbour is a pixel of the person on one of `TAPS` places up to `radius_m` to both sides, no more than `GATE_MM`
    nearer or farther. `crop` and `numbers` are (rows, cols).
    """
    n_columns = sums.shape[1]
    length = crop.shape[0] if is_down else crop.shape[1]
    for i in range(begin, end):
        row, col = places[i, 0], places[i, 1]
        depth = np.int32(crop[row, col])
        reach = radius_m * scales[i, 1 if is_down else 0]
        for p in range(np.uint64(n_columns)):
            out[np.uint64(i), p] = sums[np.uint64(i), p]
        before = np.int32(0)
        for tap in range(1, TAPS + 1):
            step = np.int32(reach * tap / TAPS + 0.5)
            if step == before:
                continue
            before = step
            for side in (-1, 1):
                r = row + side * step if is_down else row
                c = col if is_down else col + side * step
                place = r if is_down else c
                if place < 0 or place >= length:
                    continue
                other = numbers[r, c]
                if other < 0 or abs(np.int32(crop[r, c]) - depth) > GATE_MM:
                    continue
                for p in range(np.uint64(n_columns)):
                    out[np.uint64(i), p] += sums[np.uint64(other), p]


@kernel
def decide_pixels(
    places: npt.NDArray[np.int32], sums: npt.NDArray[np.int32], begin: int, end: int, weight: int, least: float,
    corner: tuple[int, int], parts: npt.NDArray[np.uint8], confidence: Lanes,
) -> None:  # fmt: skip
    """Fill `parts` and `confidence` (frame) of the pixels `begin` to `end` from their sums."""
    own_parts, shares = np.empty(end - begin, dtype=np.uint8), np.empty(end - begin, dtype=np.float32)
    decide(sums[begin:end], end - begin, weight, least, own_parts, shares)
    for i in range(end - begin):
        row, col = places[begin + i, 0] + corner[0], places[begin + i, 1] + corner[1]
        parts[row, col] = own_parts[i]
        confidence[row, col] = shares[i]
