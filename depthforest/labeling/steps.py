"""The compiled loops of the walk: many pixels taking each step together.

A walk of one pixel waits for memory at every step. Here `LANES` pixels take each step together: first their nodes are
gathered, each number of them beside that of the next pixel's node; then the places of all probes are computed (this
vectorizes); then depths are read, children chosen, and the children's rows asked for (`prefetch`) long before they are
needed. Kernels check nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import ROW, bare, kernel, prefetch, turn_rows
from depthforest.labeling.packing import CHANNELS, CHILDREN, LEAF, Nodes
from depthforest.trees import clamped_offset

LANES = 512
"""Pixels that walk in lockstep: enough to hide memory latency, few enough for the caches. Measured."""

Lanes = npt.NDArray[np.float32]

PersonArrays = tuple[npt.NDArray[np.uint16], tuple[int, int], npt.NDArray[np.int32], Lanes]
"""The flat crop, or the channels of a thumbnail one after the other; rows and columns of a channel; the pixels' places
and scales."""

LaneScratch = tuple[Lanes, Lanes, npt.NDArray[np.int32], npt.NDArray[np.uint32]]
"""Of the lanes: `columns` (8, LANES) of their nodes, `bounds` (6, LANES), `numbers` (3, LANES), `probes` (2, LANES)."""


@bare
def _gather(
    values: Lanes, rows: npt.NDArray[np.int32], n: int, columns: Lanes, thresholds: npt.NDArray[np.int32]
) -> None:
    """Copy the rows of the lanes to `columns`, and their thresholds as whole numbers."""
    for i in range(np.uint64(0), np.uint64(n), np.uint64(ROW)):
        turn_rows(values, rows, i, columns)
    held = columns[4]
    for i in range(np.uint64(n)):
        thresholds[i] = np.int32(held[i])


@bare
def _find_probes(
    xs: Any, ys: Any, scale_x: Lanes, scale_y: Lanes, left: Lanes, right: Lanes, top: Lanes, bottom: Lanes,
    own: npt.NDArray[np.int32], n_cols: np.int32, n: int, out: npt.NDArray[np.uint32],
) -> None:  # fmt: skip
    """Find where each lane's probe lands in the crop, clamped to its border. It vectorizes."""
    for i in range(n):
        d_row = clamped_offset(np.float32(ys[i]), scale_y[i], top[i], bottom[i])
        d_col = clamped_offset(np.float32(xs[i]), scale_x[i], left[i], right[i])
        out[i] = np.uint32(np.int32(own[i] + np.int32(d_row * n_cols)) + d_col)


@bare
def _advance_top(
    crop: npt.NDArray[np.uint16], ones: Any, others: Any, thresholds: npt.NDArray[np.int32], rows: Any, n: int
) -> None:
    """Move each lane to its child in the top."""
    for i in range(np.uint64(n)):
        response = np.int32(crop[np.uint64(ones[i])]) - np.int32(crop[np.uint64(others[i])])
        rows[i] = np.int32(np.int32(np.int32(2) * rows[i]) + np.int32(1)) + np.int32(response > thresholds[i])


@bare
def _find_both(
    offsets: Lanes, bounds: Lanes, own: npt.NDArray[np.int32], n_cols: int, n: int, probes: npt.NDArray[np.uint32]
) -> None:
    """Find both probes of each lane."""
    for k in range(2):
        _find_probes(
            offsets[2 * k], offsets[2 * k + 1], bounds[0], bounds[1], bounds[2], bounds[3], bounds[4], bounds[5], own,
            np.int32(n_cols), n, probes[k],
        )  # fmt: skip


@bare
def _add_channels(channels: npt.NDArray[np.int32], n: int, size: int, walk: int, probes: Any) -> None:
    """Move both probes of each lane to the channels that they read, each of `size` places."""
    shift, ones, others = np.uint32(16 * walk), probes[0], probes[1]
    for i in range(np.uint64(n)):
        both = np.uint32(np.uint32(channels[i]) >> shift)
        ones[i] += np.uint32(np.uint32(both & np.uint32(255)) * np.uint32(size))
        others[i] += np.uint32(np.uint32((both >> np.uint32(8)) & np.uint32(255)) * np.uint32(size))


@bare
def _advance(
    crop: npt.NDArray[np.uint16], ones: Any, others: Any, thresholds: Any, children: Any, values: Any, rows: Any, n: int
) -> bool:
    """Move each lane to its child, prefetch the child's row, and return whether any lane has moved."""
    n_columns = values.shape[1]
    moved = np.int32(0)
    for i in range(np.uint64(n)):
        response = np.int32(crop[np.uint64(ones[i])]) - np.int32(crop[np.uint64(others[i])])
        child = np.int32(children[i] + np.int32(response > thresholds[i]))
        moved |= child ^ rows[i]
        rows[i] = child
        prefetch(values, np.int64(child) * n_columns)
    return bool(moved != 0)


@bare
def _start(
    places: npt.NDArray[np.int32], scales: Lanes, first: int, n: int, side: np.float32, n_rows: int, n_cols: int,
    bounds: Lanes, own: npt.NDArray[np.int32],
) -> None:  # fmt: skip
    """Fill the lanes' pixel data: `bounds` (6, LANES) has scale x and y, and the distance to each border."""
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
def new_lanes(n_lanes: int) -> LaneScratch:
    """Return scratch memory for so many pixels that walk in step."""
    return (
        np.empty((ROW, n_lanes), dtype=np.float32),
        np.empty((6, n_lanes), dtype=np.float32),
        np.zeros((3, n_lanes), dtype=np.int32),
        np.empty((2, n_lanes), dtype=np.uint32),
    )


@bare
def _walk_tree(
    crop: npt.NDArray[np.uint16], shape: tuple[int, int], nodes: Nodes, tree: int, walk: int, n: int, lanes: LaneScratch
) -> None:
    """Walk `n` lanes through one tree; `numbers[0]` of `lanes` holds the rows that they end in."""
    n_cols, size = shape[1], shape[0] * shape[1]
    has_channels = len(crop) > size
    values, _, tops, all_exits, n_steps = nodes
    top, exits = tops[tree], all_exits[tree]
    columns, bounds, numbers, probes = lanes
    rows, own, thresholds, links = numbers[0], numbers[1], numbers[2], columns.view(np.int32)
    n_inner, n_top = len(top), 0
    while 2**n_top - 1 < n_inner:
        n_top += 1
    rows[:] = 0  # rows are gathered by the `ROW`, so that some behind the last lane are, too
    for _ in range(n_top):
        _gather(top, rows, n, columns, thresholds)
        _find_both(columns, bounds, own, n_cols, n, probes)
        if has_channels:
            _add_channels(links[CHANNELS], n, size, walk, probes)
        _advance_top(crop, probes[0], probes[1], thresholds, rows, n)
    for i in range(n):
        rows[i] = exits[rows[i] - n_inner]
        prefetch(values, np.int64(rows[i]) * values.shape[1])
    for _ in range(n_steps - n_top):
        _gather(values, rows, n, columns, thresholds)
        _find_both(columns, bounds, own, n_cols, n, probes)
        if has_channels:
            _add_channels(links[CHANNELS], n, size, walk, probes)
        if not _advance(crop, probes[0], probes[1], thresholds, links[CHILDREN], values, rows, n):
            break


@bare
def walk_lanes(
    crop: npt.NDArray[np.uint16], shape: tuple[int, int], nodes: Nodes, walk: int, first: int, n: int,
    lanes: LaneScratch, found: npt.NDArray[np.int32],
) -> None:  # fmt: skip
    """Walk `n` lanes, which hold the pixels from `first` on, through all trees, and fill their leaves."""
    links, exits, rows = nodes[1], nodes[3], lanes[2][0]
    for tree in range(len(exits)):
        _walk_tree(crop, shape, nodes, tree, walk, n, lanes)
        for i in range(n):
            found[first + i, walk, tree] = links[rows[i], LEAF]


@kernel
def find_leaves(
    person: PersonArrays, nodes: Nodes, begin: int, end: int, n_lanes: int, found: npt.NDArray[np.int32]
) -> None:
    """Fill the leaves (n_pixels, n_walks, n_trees) of the pixels `begin` to `end`; the second walk is mirrored.

    `n_lanes` pixels walk in step, a multiple of `ROW`.
    """
    crop, shape, places, scales = person
    n_rows, n_cols = shape
    lanes = new_lanes(n_lanes)
    bounds, numbers = lanes[1], lanes[2]
    for first in range(begin, end, n_lanes):
        n = min(n_lanes, end - first)
        for walk in range(found.shape[1]):
            side = np.float32(-1 if walk else 1)
            _start(places, scales, first, n, side, n_rows, n_cols, bounds, numbers[1])
            walk_lanes(crop, shape, nodes, walk, first, n, lanes, found)
