"""The compiled loops of labeling: many pixels walking in step, and what their leaves say.

A walk of one pixel waits for memory at every step. Here `LANES` pixels take each step together: first their nodes are
gathered, then the places of all probes are computed (this vectorises), then depths are read, children chosen, and the
children's rows asked for (`prefetch`) long before they are needed. Kernels check nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import kernel, prefetch
from depthforest.labeling.packing import CHILDREN, LEAF, Nodes
from depthforest.trees import clamped_offset

LANES = 512
"""Pixels that walk in step: enough that a row has come before its pixel's turn, few enough for the caches. Measured."""

MEAN, VOTES, PURITY = 0, 1, 2
"""How trees are combined."""

Lanes = npt.NDArray[np.float32]

PersonArrays = tuple[npt.NDArray[np.uint16], int, npt.NDArray[np.int32], Lanes]
"""The crop, flat; its number of columns; the pixels' places and scales."""

Voting = tuple[int, npt.NDArray[np.uint8], npt.NDArray[np.uint8], bool, npt.NDArray[np.uint8]]
"""The rule; the packed leaves; the winner of each; whether the mirrored walk is added; of every label the mirrored."""

LaneScratch = tuple[Lanes, Lanes, npt.NDArray[np.int32], npt.NDArray[np.uint32]]
"""Of the lanes: `offsets` (4, LANES), `bounds` (6, LANES), `numbers` (4, LANES), `probes` (2, LANES)."""


@kernel
def find_grid(places: npt.NDArray[np.int32], corner: tuple[int, int], step: int, chosen: npt.NDArray[np.int64]) -> int:
    """Fill the numbers of the pixels on every `step`-th row and column of the frame, in order; return how many."""
    middle = step // 2
    n = 0
    for i in range(len(places)):
        if (places[i, 0] + corner[0]) % step == middle and (places[i, 1] + corner[1]) % step == middle:
            chosen[n] = i
            n += 1
    return n


@kernel
def _gather(
    values: npt.NDArray[Any], links: npt.NDArray[np.int32], rows: Any, n: int, lanes: Any, numbers: Any
) -> None:
    """Copy what the rows of the lanes hold: offsets to `lanes` 0 to 3; threshold and children to `numbers` 0 and 1."""
    for i in range(np.uint64(n)):
        row = np.uint64(rows[i])
        lanes[np.uint64(0), i] = values[row, np.uint64(0)]
        lanes[np.uint64(1), i] = values[row, np.uint64(1)]
        lanes[np.uint64(2), i] = values[row, np.uint64(2)]
        lanes[np.uint64(3), i] = values[row, np.uint64(3)]
        numbers[np.uint64(0), i] = np.int32(values[row, np.uint64(4)])
        numbers[np.uint64(1), i] = links[row, np.uint64(CHILDREN)]


@kernel
def _find_probes(
    xs: Any, ys: Any, scale_x: Lanes, scale_y: Lanes, left: Lanes, right: Lanes, top: Lanes, bottom: Lanes,
    own: npt.NDArray[np.int32], n_cols: np.int32, n: int, out: npt.NDArray[np.uint32],
) -> None:  # fmt: skip
    """Find where each lane's probe lands in the crop, clamped to its border. It vectorises."""
    for i in range(n):
        d_row = clamped_offset(np.float32(ys[i]), scale_y[i], top[i], bottom[i])
        d_col = clamped_offset(np.float32(xs[i]), scale_x[i], left[i], right[i])
        out[i] = np.uint32(np.int32(own[i] + np.int32(d_row * n_cols)) + d_col)


@kernel
def _gather_top(values: Lanes, rows: Any, n: int, lanes: Any, numbers: Any) -> None:
    """Copy what the rows of a tree's top hold, as `_gather`."""
    for i in range(np.uint64(n)):
        row = np.uint64(rows[i])
        for k in range(np.uint64(4)):
            lanes[k, i] = values[row, k]
        numbers[np.uint64(0), i] = np.int32(values[row, np.uint64(4)])


@kernel
def _advance_top(
    crop: npt.NDArray[np.uint16], ones: Any, others: Any, thresholds: npt.NDArray[np.int32], rows: Any, n: int
) -> None:
    """Move each lane to its child in the top."""
    for i in range(np.uint64(n)):
        response = np.int32(crop[np.uint64(ones[i])]) - np.int32(crop[np.uint64(others[i])])
        rows[i] = np.int32(np.int32(np.int32(2) * rows[i]) + np.int32(1)) + np.int32(response > thresholds[i])


@kernel
def _find_both(
    offsets: Lanes, bounds: Lanes, own: npt.NDArray[np.int32], n_cols: int, n: int, probes: npt.NDArray[np.uint32]
) -> None:
    """Find both probes of each lane."""
    for k in range(2):
        _find_probes(
            offsets[2 * k], offsets[2 * k + 1], bounds[0], bounds[1], bounds[2], bounds[3], bounds[4], bounds[5], own,
            np.int32(n_cols), n, probes[k],
        )  # fmt: skip


@kernel
def _advance(
    crop: npt.NDArray[np.uint16], ones: Any, others: Any, thresholds: Any, children: Any, values: Any, rows: Any, n: int
) -> bool:
    """Move each lane to its child, ask for the child's row, and return whether anyone has moved."""
    n_columns = values.shape[1]
    moved = np.int32(0)
    for i in range(np.uint64(n)):
        response = np.int32(crop[np.uint64(ones[i])]) - np.int32(crop[np.uint64(others[i])])
        child = np.int32(children[i] + np.int32(response > thresholds[i]))
        moved |= child ^ rows[i]
        rows[i] = child
        prefetch(values, np.int64(child) * n_columns)
    return bool(moved != 0)


@kernel
def _start(
    places: npt.NDArray[np.int32], scales: Lanes, first: int, n: int, side: np.float32, n_rows: int, n_cols: int,
    bounds: Lanes, own: npt.NDArray[np.int32],
) -> None:  # fmt: skip
    """Fill what the lanes need of their pixels: `bounds` (6, LANES) is scale x and y, and how far each border is."""
    for i in range(n):
        row, col = places[first + i, 0], places[first + i, 1]
        bounds[0, i] = scales[first + i, 0] * side
        bounds[1, i] = scales[first + i, 1]
        bounds[2, i] = -col
        bounds[3, i] = n_cols - 1 - col
        bounds[4, i] = -row
        bounds[5, i] = n_rows - 1 - row
        own[i] = row * n_cols + col


@kernel
def _add(
    rule: int,
    leaves: npt.NDArray[np.uint8],
    winners: npt.NDArray[np.uint8],
    links: npt.NDArray[np.int32],
    rows: npt.NDArray[np.int32],
    n: int,
    sums: npt.NDArray[np.int32],
) -> None:
    """Add what the leaves of the lanes say to their `sums` (n, n_parts)."""
    n_parts = leaves.shape[1]
    for i in range(n):
        leaf = links[np.uint64(rows[i]), np.uint64(LEAF)]
        rows[i] = leaf
        if rule == MEAN:
            prefetch(leaves, np.int64(leaf) * n_parts)
            prefetch(leaves, np.int64(leaf) * n_parts + n_parts - 1)
        else:
            prefetch(winners, np.int64(leaf))
    if rule == MEAN:
        for i in range(n):
            leaf = np.uint64(rows[i])
            for p in range(np.uint64(n_parts)):
                sums[np.uint64(i), p] += np.int32(leaves[leaf, p])
    else:
        for i in range(n):
            winner = winners[rows[i]]
            sums[i, winner] += np.int32(1) if rule == VOTES else np.int32(leaves[rows[i], winner])


@kernel
def _new_lanes(n_lanes: int) -> LaneScratch:
    """Return scratch memory for so many pixels that walk in step."""
    return (
        np.empty((4, n_lanes), dtype=np.float32),
        np.empty((6, n_lanes), dtype=np.float32),
        np.empty((4, n_lanes), dtype=np.int32),
        np.empty((2, n_lanes), dtype=np.uint32),
    )


@kernel
def _walk_tree(crop: npt.NDArray[np.uint16], n_cols: int, nodes: Nodes, tree: int, n: int, lanes: LaneScratch) -> None:
    """Walk `n` lanes through one tree; `numbers[2]` of `lanes` holds the rows that they end in."""
    values, links, tops, all_exits, n_steps = nodes
    top, exits = tops[tree], all_exits[tree]
    offsets, bounds, numbers, probes = lanes
    rows, own = numbers[2], numbers[3]
    n_inner, n_top = len(top), 0
    while 2**n_top - 1 < n_inner:
        n_top += 1
    rows[:n] = 0
    for _ in range(n_top):
        _gather_top(top, rows, n, offsets, numbers)
        _find_both(offsets, bounds, own, n_cols, n, probes)
        _advance_top(crop, probes[0], probes[1], numbers[0], rows, n)
    for i in range(n):
        rows[i] = exits[rows[i] - n_inner]
        prefetch(values, np.int64(rows[i]) * values.shape[1])
    for _ in range(n_steps - n_top):
        _gather(values, links, rows, n, offsets, numbers)
        _find_both(offsets, bounds, own, n_cols, n, probes)
        if not _advance(crop, probes[0], probes[1], numbers[0], numbers[1], values, rows, n):
            break


@kernel
def walk_lanes(
    person: PersonArrays, nodes: Nodes, voting: Voting, first: int, n: int, lanes: LaneScratch,
    others: npt.NDArray[np.int32], sums: npt.NDArray[np.int32],
) -> None:  # fmt: skip
    """Walk `n` pixels from number `first` on through all trees, and fill their `sums` (LANES, n_parts).

    `others` (LANES, n_parts) is scratch, of the mirrored walk.
    """
    crop, n_cols, places, scales = person
    links, exits = nodes[1], nodes[3]
    rule, leaves, winners, is_mirrored, mirrored = voting
    bounds, numbers = lanes[1], lanes[2]
    n_rows = len(crop) // n_cols
    sums[:n] = 0
    others[:n] = 0
    for is_second in range(2 if is_mirrored else 1):
        side = np.float32(-1 if is_second else 1)
        _start(places, scales, first, n, side, n_rows, n_cols, bounds, numbers[3])
        for tree in range(len(exits)):
            _walk_tree(crop, n_cols, nodes, tree, n, lanes)
            _add(rule, leaves, winners, links, numbers[2], n, others if is_second else sums)
    if is_mirrored:
        for i in range(n):
            for p in range(sums.shape[1]):
                sums[i, mirrored[p]] += others[i, p]


@kernel
def decide(sums: npt.NDArray[np.int32], n: int, weight: int, least: float, parts: Any, shares: Lanes) -> None:
    """Fill the part with the largest sum, the lowest of equals, and its share; 255 and 0 where the share is too small.

    Parameters
    ----------
    weight : int
        What a whole sum is; 0: the sum itself, pixel by pixel.
    least : float
        Shares below it are rejected; below 0: none is.
    """
    n_parts = sums.shape[1]
    for i in range(n):
        best, total = np.int32(0), np.int32(0)
        for p in range(n_parts):
            best = max(best, sums[i, p])
            total += sums[i, p]
        winner = 0
        while sums[i, winner] != best:
            winner += 1
        share = np.float32(np.float32(best) / np.float32(weight if weight > 0 else total))
        is_kept = share >= least
        parts[i] = np.uint8(winner) if is_kept else np.uint8(255)
        shares[i] = share if is_kept else np.float32(0)


@kernel
def label_pixels(
    person: PersonArrays, nodes: Nodes, voting: Voting, begin: int, end: int, weight: int, least: float,
    corner: tuple[int, int], n_lanes: int, parts: npt.NDArray[np.uint8], confidence: Lanes,
) -> None:  # fmt: skip
    """Fill `parts` and `confidence` (frame) of the pixels `begin` to `end`, `n_lanes` of them walking in step.

    The crop's first pixel is the frame's at `corner`.
    """
    places, n_parts = person[2], voting[1].shape[1]
    lanes = _new_lanes(n_lanes)
    sums, others = np.empty((n_lanes, n_parts), dtype=np.int32), np.empty((n_lanes, n_parts), dtype=np.int32)
    own_parts, shares = np.empty(n_lanes, dtype=np.uint8), np.empty(n_lanes, dtype=np.float32)
    for first in range(begin, end, n_lanes):
        n = min(n_lanes, end - first)
        walk_lanes(person, nodes, voting, first, n, lanes, others, sums)
        decide(sums, n, weight, least, own_parts, shares)
        for i in range(n):
            row, col = places[first + i, 0] + corner[0], places[first + i, 1] + corner[1]
            parts[row, col] = own_parts[i]
            confidence[row, col] = shares[i]


@kernel
def sum_pixels(
    person: PersonArrays, nodes: Nodes, voting: Voting, begin: int, end: int, out: npt.NDArray[np.int32]
) -> None:
    """Fill the sums (n_pixels, n_parts) of the pixels `begin` to `end`."""
    lanes, others = _new_lanes(LANES), np.empty((LANES, voting[1].shape[1]), dtype=np.int32)
    for first in range(begin, end, LANES):
        n = min(LANES, end - first)
        walk_lanes(person, nodes, voting, first, n, lanes, others, out[first : first + n])


@kernel
def find_leaves(person: PersonArrays, nodes: Nodes, begin: int, end: int, found: npt.NDArray[np.int32]) -> None:
    """Fill the leaves (n_walks, n_pixels, n_trees) of the pixels `begin` to `end`; the second walk is mirrored."""
    crop, n_cols, places, scales = person
    links, exits = nodes[1], nodes[3]
    lanes = _new_lanes(LANES)
    bounds, numbers = lanes[1], lanes[2]
    n_rows = len(crop) // n_cols
    for first in range(begin, end, LANES):
        n = min(LANES, end - first)
        for walk in range(len(found)):
            side = np.float32(-1 if walk else 1)
            _start(places, scales, first, n, side, n_rows, n_cols, bounds, numbers[3])
            for tree in range(len(exits)):
                _walk_tree(crop, n_cols, nodes, tree, n, lanes)
                for i in range(n):
                    found[walk, first + i, tree] = links[numbers[2, i], LEAF]
