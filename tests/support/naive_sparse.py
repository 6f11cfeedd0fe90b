"""A slow, obvious twin of sparse labeling: a coarse grid first, finer where labels change."""

from __future__ import annotations

import itertools
import math

import numpy as np

from support import naive_facings

SURFACE_MM = 60


def first_step(n_pixels, n):
    """Return the widest step, a power of two, whose grid leaves at least n pixels of an area."""
    return max(s for s in (1, 2, 4, 8, 16, 32, 64) if s == 1 or n_pixels / s**2 >= n)


def grid_columns(width, step):
    """Return the columns of a grid, from the middle outward on both sides."""
    left, right = (width - 1) // 2, width // 2
    return sorted({*range(left, -1, -step), *range(right, width, step)})


def label(forest, frame, mask, is_mirrored, rule, radius_m, n_coarse):
    """Return for every pixel the sums of the pixel that stands for it, who that is, and the weights of the facings."""
    height, width = frame.shape
    leaves = naive_facings.leaves_of(forest, frame, mask, is_mirrored)
    step = first_step(len(leaves), n_coarse)
    stand_ins, sums, across, smoothed, weights = {}, {}, {}, {}, None
    while step >= 1:
        rows, cols = range(0, height, step), grid_columns(width, step)
        new = [p for p in leaves if p not in stand_ins and p[0] in rows and p[1] in cols]
        stand_ins |= {p: p for p in new}
        if weights is None and (new or step == 1):
            weights = naive_facings.facing_weights(forest, {p: leaves[p] for p in new})
        sums |= naive_facings.mixed(forest, {p: leaves[p] for p in new}, weights, rule) if new else {}
        for source, target, is_down in ((sums, across, False), (across, smoothed, True)):
            for p in new:
                near = neighbors(p, stand_ins, frame, radius_m, is_down, step)
                target[p] = [sum(each) for each in zip(*(source[stand_ins[q]] for q in near), strict=True)]
        if step > 1:
            fill(leaves, frame, stand_ins, smoothed, rows, cols)
        step //= 2
    return {p: smoothed[stand_ins[p]] for p in leaves}, stand_ins, weights


def neighbors(place, stand_ins, frame, radius_m, is_down, step):
    """Return the places on the grid whose sums are added in one direction, the pixel itself among them."""
    row, col = place
    depth = int(frame.depth_mm[place])
    reach = radius_m * float(
        np.float32(frame.camera.fy if is_down else frame.camera.fx) * np.float32(1000) / np.float32(depth)
    )
    steps = {math.floor(reach * tap / 2 / step + 0.5) for tap in (1, 2)} - {0}
    rows, cols = list(range(0, frame.shape[0], step)), grid_columns(frame.shape[1], step)
    if not is_down and step > 1 and frame.shape[1] % 2 == 0:
        cols.remove(frame.shape[1] // 2 if col < frame.shape[1] // 2 else frame.shape[1] // 2 - 1)
    line, here = (rows, row) if is_down else (cols, col)
    places = []
    for n in steps:
        for side in (-n, n):
            index = line.index(here) + side
            if 0 <= index < len(line):
                places.append((line[index], col) if is_down else (row, line[index]))
    is_near = [p for p in places if p in stand_ins and abs(int(frame.depth_mm[p]) - depth) <= naive_facings.GATE_MM]
    return [place, *is_near]


def fill(leaves, frame, stand_ins, smoothed, rows, cols):
    """Let the corners of cells that are labeled alike, and one surface, stand for the pixels of the cells."""
    filled = {}
    middle = (frame.shape[1] - 1) / 2
    for top, bottom in itertools.pairwise(rows):
        for left, right in itertools.pairwise(cols):
            corners = [(r, c) for r in (top, bottom) for c in (left, right)]
            inside = [(r, c) for r in range(top, bottom + 1) for c in range(left, right + 1) if (r, c) in leaves]
            if not all(c in stand_ins for c in corners):
                continue
            parts = {np.argmax(smoothed[stand_ins[c]]) for c in corners}
            depths = [int(frame.depth_mm[p]) for p in inside]
            if len(parts) > 1 or max(depths) - min(depths) > SURFACE_MM:
                continue
            for p in inside:
                near = min(corners, key=lambda c: (abs(c[0] - p[0]), c[0], abs(c[1] - p[1]), abs(c[1] - middle)))
                filled.setdefault(p, stand_ins[near])
    for p, stand_in in filled.items():
        stand_ins.setdefault(p, stand_in)
