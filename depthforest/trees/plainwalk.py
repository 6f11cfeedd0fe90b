"""The plain walk, one pixel at a time: the reference for every faster walk. Kernels check nothing."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from depthforest.base import kernel
from depthforest.trees.contexttrees import read_channels
from depthforest.trees.features import pixel_scale, scaled_offset, scaled_response

Nodes = tuple[npt.NDArray[np.float32], npt.NDArray[np.int16], npt.NDArray[np.int32]]
"""Offsets, thresholds, children."""


@kernel
def descend(
    image: npt.NDArray[np.uint16],
    row: int,
    col: int,
    scales: tuple[np.float32, np.float32],
    background: int,
    root: int,
    nodes: Nodes,
) -> int:
    """Return the leaf that a pixel with a reading reaches."""
    offsets, thresholds, children = nodes
    scale_x, scale_y = scales
    node = root
    while node >= 0:
        u_x, u_y, v_x, v_y = offsets[node]
        difference = scaled_response(image, row, col, u_x, u_y, v_x, v_y, scale_x, scale_y, background)
        node = children[node, 1] if difference > thresholds[node] else children[node, 0]
    return ~node


@kernel
def find_leaves(
    image: npt.NDArray[np.uint16],
    positions: npt.NDArray[np.int64],
    focals: tuple[np.float32, np.float32],
    background: int,
    roots: npt.NDArray[np.int32],
    nodes: Nodes,
    found: npt.NDArray[np.int32],
) -> None:
    """Fill the leaf of every pixel in every tree; pixels without a reading are left as they are."""
    for i in range(len(positions)):
        row, col = positions[i]
        if image[row, col] == 0:
            continue
        scales = pixel_scale(focals[0], image[row, col]), pixel_scale(focals[1], image[row, col])
        for tree in range(len(roots)):
            found[i, tree] = descend(image, row, col, scales, background, roots[tree], nodes)


@kernel
def find_context_leaves(
    planes: npt.NDArray[np.uint16],
    places: npt.NDArray[np.int32],
    scales: npt.NDArray[np.float32],
    roots: npt.NDArray[np.int32],
    nodes: Nodes,
    channels: npt.NDArray[np.uint8],
    found: npt.NDArray[np.int32],
) -> None:
    """Fill the leaf of every pixel of a thumbnail in every tree of a context stage."""
    offsets, thresholds, children = nodes
    probe = np.empty(4, dtype=np.int32)
    for i in range(len(places)):
        for tree in range(len(roots)):
            node = roots[tree]
            while node >= 0:
                for k in range(4):
                    probe[k ^ 1] = scaled_offset(offsets[node, k], scales[i, k & 1])  # x, y to row, column
                response = read_channels(planes, places[i, 0], places[i, 1], probe, channels[node])
                node = children[node, 1] if response > thresholds[node] else children[node, 0]
            found[i, tree] = ~node


@kernel
def add_leaves(
    found: npt.NDArray[np.int32],
    weights: npt.NDArray[np.int32],
    leaves: npt.NDArray[np.uint8],
    labels: npt.NDArray[np.uint8],
    sums: npt.NDArray[np.int32],
) -> None:
    """Add the rows of every pixel's leaves to its sums, weighted by facing; entry p counts for part `labels[p]`."""
    for i in range(len(found)):
        for leaf in found[i]:
            if leaf < 0:
                continue
            for facing in range(len(weights)):
                row = leaf * len(weights) + facing
                for p in range(len(labels)):
                    sums[i, labels[p]] += weights[facing] * leaves[row, p]
