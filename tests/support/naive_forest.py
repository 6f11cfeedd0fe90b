"""Slow, obvious twins of `features` and `plainwalk`, and a maker of random forests."""

from __future__ import annotations

import math

import numpy as np

from depthforest.forest.forest import Forest
from depthforest.trees.quantizing import quantize_leaves


def probe_offset(meters, focal, depth_mm):
    """Return the pixel offset: three float32 operations, then an exact rounding in Python's own numbers."""
    f32 = np.float32
    pixels = float(f32(meters) * (f32(focal) * f32(1000) / f32(int(depth_mm))))
    size = min(math.floor(abs(pixels) + 0.5), 32767)
    return -size if pixels < 0 else size


def read_probe(image, row, col, background):
    """Return what a probe reads at a pixel."""
    if 0 <= row < len(image) and 0 <= col < len(image[0]) and image[row][col] > 0:
        return int(image[row][col])
    return background


def response(image, row, col, probe, fx, fy, background):
    """Return D(p + u) - D(p + v)."""
    u_x, u_y, v_x, v_y = probe
    depth_mm = image[row][col]
    u, v = (
        read_probe(image, row + probe_offset(y, fy, depth_mm), col + probe_offset(x, fx, depth_mm), background)
        for x, y in ((u_x, u_y), (v_x, v_y))
    )
    return u - v


def responses(depth_mm, pixels, probes, camera, background):
    """Return all responses, one at a time."""
    found = [[response(depth_mm, r, c, p, camera.fx, camera.fy, background) for p in probes] for r, c in pixels]
    return np.array(found, dtype=np.int32).reshape(len(pixels), len(probes))


def masked_depth(frame, mask):
    """Return the depth on the mask, pixel by pixel."""
    return [[int(d) if m else 0 for d, m in zip(*rows, strict=True)] for rows in zip(frame.depth_mm, mask, strict=True)]


def descend(forest, tree, image, row, col, camera):
    """Return the leaf that a pixel reaches in a tree."""
    node = int(forest.roots[tree])
    while node >= 0:
        value = response(image, row, col, forest.offsets[node], camera.fx, camera.fy, forest.background_mm)
        node = int(forest.children[node][1 if value > forest.thresholds[node] else 0])
    return -node - 1


def walk(forest, frame, mask):
    """Return the mean leaf of every pixel of the mask; 0 where there is no reading."""
    image = masked_depth(frame, mask)
    rows = []
    for row, col in np.argwhere(mask):
        total = np.zeros(len(forest.part_set), dtype=np.int64)
        if image[row][col]:
            for tree in range(forest.n_trees):
                total += forest.leaves[descend(forest, tree, image, row, col, frame.camera)]
        rows.append(total.astype(np.float32) / np.float32(255 * forest.n_trees))
    return np.array(rows, dtype=np.float32).reshape(-1, len(forest.part_set))


def quantize_row(weights):
    """Return the 255ths of one distribution by largest remainders."""
    total = 0.0
    for w in weights:
        total += w
    scaled = [w / total * 255 for w in weights]
    entries = [math.floor(s) for s in scaled]
    by_remainder = sorted(range(len(weights)), key=lambda p: (entries[p] - scaled[p], p))
    for p in by_remainder[: 255 - sum(entries)]:
        entries[p] += 1
    return entries


def random_columns(rng, n_trees, depth, n_parts, split=0.8):
    """Return the columns of random trees of at most a depth; each node above it splits with a probability."""
    offsets, thresholds, children, leaves = [], [], [], []

    def grow(level):
        if level < depth and rng.random() < split:
            node = len(children)
            offsets.append(rng.uniform(-0.6, 0.6, 4) * (rng.random(4) < 0.8))
            thresholds.append(rng.choice([rng.integers(-300, 300), rng.integers(-9000, 9000), 0]))
            children.append(None)
            children[node] = (grow(level + 1), grow(level + 1))
            return node
        leaves.append(rng.random(n_parts) ** 4 + 1e-9)
        return ~(len(leaves) - 1)

    roots = [grow(0) for _ in range(n_trees)]
    return {
        "roots": np.array(roots, dtype=np.int32),
        "offsets": np.array(offsets, dtype=np.float32).reshape(-1, 4),
        "thresholds": np.array(thresholds, dtype=np.int16),
        "children": np.array(children, dtype=np.int32).reshape(-1, 2),
        "leaves": quantize_leaves(np.array(leaves)),
    }


def random_forest(rng, n_trees, depth, part_set, **options):
    """Return a random forest of at most a depth."""
    return Forest(**random_columns(rng, n_trees, depth, len(part_set)), part_set=part_set, **options)
