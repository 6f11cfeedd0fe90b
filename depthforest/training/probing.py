"""Probing: the compiled loops of a shard over its pixels: the bins of candidates, and the walk down a tree.

A crop has a border of background, so that a probe clamped to it reads what `features.read_probe` would, without a
branch. Loops that vectorize are separate from those that read images. Kernels check nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from depthforest.base import kernel, prefetch
from depthforest.trees import clamped_offset

_PER_LINE = 32
"""16-bit numbers in a cache line."""

OUT = -1
"""Node of a pixel that has reached a leaf."""


@kernel
def _find_probes(
    xs: npt.NDArray[np.int16],
    ys: npt.NDArray[np.int16],
    scale_x: np.float32,
    scale_y: np.float32,
    row: np.int32,
    col: np.int32,
    n_rows: np.int32,
    n_cols: np.int32,
    out: npt.NDArray[np.uint32],
) -> None:
    """Find each probe's position in the crop, clamped to the border. It vectorizes, because it reads no image.

    Positions are unsigned, here and below, because a possibly negative index costs a comparison.
    """
    left, right = np.float32(-col), np.float32(n_cols - 1 - col)
    top, bottom = np.float32(-row), np.float32(n_rows - 1 - row)
    own = np.int32(row * n_cols + col)
    for i in range(len(xs)):
        d_row = clamped_offset(np.float32(ys[i]), scale_y, top, bottom)
        d_col = clamped_offset(np.float32(xs[i]), scale_x, left, right)
        out[i] = np.uint32(np.int32(own + np.int32(d_row * n_cols)) + d_col)


@kernel
def _add_channels(
    channels: npt.NDArray[np.uint8], size: np.uint32, ones: npt.NDArray[np.uint32], others: npt.NDArray[np.uint32]
) -> None:
    """Move probes to the channels (2, n) that they read, each of `size` places."""
    for i in range(len(ones)):
        ones[i] = np.uint32(ones[i] + np.uint32(np.uint32(channels[0, i]) * size))
        others[i] = np.uint32(others[i] + np.uint32(np.uint32(channels[1, i]) * size))


@kernel
def _subtract(
    depth: npt.NDArray[np.uint16],
    start: np.uint64,
    ones: npt.NDArray[np.uint32],
    others: npt.NDArray[np.uint32],
    out: npt.NDArray[np.int32],
) -> None:
    """Read both probes of each pair in the crop at `start`: the one place where candidates read an image."""
    for i in range(len(ones)):
        out[i] = np.int32(depth[start + np.uint64(ones[i])]) - np.int32(depth[start + np.uint64(others[i])])


@kernel
def _find_bins(
    responses: npt.NDArray[np.int32],
    lows: npt.NDArray[np.int16],
    inverses: npt.NDArray[np.float32],
    highest: np.float32,
    out: npt.NDArray[np.uint8],
) -> None:
    """Find the bin of each response: (response - low) / step, clipped to 0 ... highest.

    Adding half a millimeter keeps the quotient far enough from whole numbers that rounding does not matter.
    """
    for i in range(len(responses)):
        above = np.float32(np.int32(responses[i] - np.int32(lows[i]))) + np.float32(0.5)
        out[i] = np.uint8(np.int32(min(max(np.float32(above * inverses[i]), np.float32(0)), highest)))


@kernel
def _prefetch_candidates(probes: npt.NDArray[np.int16], lows: npt.NDArray[np.int16], node: int) -> None:
    """Prefetch a node's candidates: on deep levels, each pixel's are elsewhere in memory."""
    n = lows.shape[1]
    for i in range(0, n, _PER_LINE):
        prefetch(lows, node * n + i)
    for i in range(0, 4 * n, _PER_LINE):
        prefetch(probes, node * 4 * n + i)


@kernel
def _prefetch_crop(depth: npt.NDArray[np.uint16], start: int, n: int) -> None:
    """Prefetch a crop of n numbers in order, which is faster than waiting for scattered lines."""
    for i in range(start, start + n, _PER_LINE):
        prefetch(depth, i)


@kernel
def _next_open(slots: npt.NDArray[np.int32], p: int) -> int:
    """Return the next pixel with a node, from p on; the number of pixels if there is none."""
    while p < len(slots) and slots[p] < 0:
        p += 1
    return p


@kernel
def fill_bins(
    depth: npt.NDArray[np.uint16],
    starts: npt.NDArray[np.int64],
    shapes: npt.NDArray[np.int32],
    places: npt.NDArray[np.int32],
    scales: npt.NDArray[np.float32],
    slots: npt.NDArray[np.int32],
    ranks: npt.NDArray[np.int64],
    probes: npt.NDArray[np.int16],
    lows: npt.NDArray[np.int16],
    inverses: npt.NDArray[np.float32],
    unit: np.float32,
    channels: npt.NDArray[np.uint8],
    highest: np.float32,
    out: npt.NDArray[np.uint8],
) -> None:
    """Fill the bins of all candidates of each pixel, image by image, so that depth is read from the cache.

    With `channels`, an image is a stack of them, each of the crop's shape.
    """
    n = probes.shape[2]
    ones, others, responses = np.empty(n, np.uint32), np.empty(n, np.uint32), np.empty(n, np.int32)
    image = np.int64(-1)
    p = _next_open(slots, 0)
    while p < len(slots):
        following = _next_open(slots, p + 1)
        if following < len(slots):
            _prefetch_candidates(probes, lows, slots[following])
        n_rows, n_cols = shapes[p, 0], shapes[p, 1]
        if starts[p] != image:
            image = starts[p]
            _prefetch_crop(depth, image, n_rows * n_cols)
        # the unit is a power of two: the scale takes it exactly
        x, y, row, col = scales[p, 0] * unit, scales[p, 1] * unit, places[p, 0], places[p, 1]
        node = slots[p]
        _find_probes(probes[node, 0], probes[node, 1], x, y, row, col, n_rows, n_cols, ones)
        _find_probes(probes[node, 2], probes[node, 3], x, y, row, col, n_rows, n_cols, others)
        if len(channels) > 0:
            _add_channels(channels[node], np.uint32(n_rows * n_cols), ones, others)
        _subtract(depth, np.uint64(starts[p]), ones, others, responses)
        _find_bins(responses, lows[node], inverses, highest, out[ranks[p]])
        p = following


@kernel
def _goes_right(depth, start, shape, place, scale, pair, channels, threshold):  # type: ignore[no-untyped-def]  # inlined
    """Return whether a pixel's response to a pair of probes in meters is above a threshold."""
    size = np.int64(shape[0]) * np.int64(shape[1])
    left, right = np.float32(-place[1]), np.float32(shape[1] - 1 - place[1])
    top, bottom = np.float32(-place[0]), np.float32(shape[0] - 1 - place[0])
    own = start + place[0] * shape[1] + place[1]
    one = clamped_offset(pair[1], scale[1], top, bottom) * shape[1] + clamped_offset(pair[0], scale[0], left, right)
    other = clamped_offset(pair[3], scale[1], top, bottom) * shape[1] + clamped_offset(pair[2], scale[0], left, right)
    one_at, other_at = own + one + size * np.int64(channels[0]), own + other + size * np.int64(channels[1])
    return np.int32(depth[one_at]) - np.int32(depth[other_at]) > threshold


@kernel
def move_pixels(
    depth: npt.NDArray[np.uint16],
    starts: npt.NDArray[np.int64],
    shapes: npt.NDArray[np.int32],
    places: npt.NDArray[np.int32],
    scales: npt.NDArray[np.float32],
    probes: npt.NDArray[np.float32],
    channels: npt.NDArray[np.uint8],
    thresholds: npt.NDArray[np.int32],
    children: npt.NDArray[np.int32],
    nodes: npt.NDArray[np.int32],
) -> None:
    """Replace the open node of each pixel by its child's number: right where the response is above the threshold."""
    image = np.int64(-1)
    for p in range(len(nodes)):
        node = nodes[p]
        if node < 0:
            continue
        if children[node, 0] < 0:
            nodes[p] = OUT
            continue
        if starts[p] != image:
            image = starts[p]
            _prefetch_crop(depth, image, shapes[p, 0] * shapes[p, 1])
        is_right = _goes_right(
            depth, starts[p], shapes[p], places[p], scales[p], probes[node], channels[node], thresholds[node]
        )
        nodes[p] = children[node, 1] if is_right else children[node, 0]


@kernel
def walk_pixels(
    depth: npt.NDArray[np.uint16],
    starts: npt.NDArray[np.int64],
    shapes: npt.NDArray[np.int32],
    places: npt.NDArray[np.int32],
    scales: npt.NDArray[np.float32],
    offsets: npt.NDArray[np.float32],
    channels: npt.NDArray[np.uint8],
    thresholds: npt.NDArray[np.int32],
    children: npt.NDArray[np.int32],
    ends: npt.NDArray[np.int32],
) -> None:
    """Walk each pixel from its current node to a value below 0."""
    for p in range(len(ends)):
        node = ends[p]
        while node >= 0:
            is_right = _goes_right(
                depth, starts[p], shapes[p], places[p], scales[p], offsets[node], channels[node], thresholds[node]
            )
            node = children[node, 1] if is_right else children[node, 0]
        ends[p] = node
