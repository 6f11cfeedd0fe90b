"""Slow, obvious twins of the context stage: the grid, the thumbnail, its walk, and how two stages are combined."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from depthforest.trees import ContextTrees, PartGroups
from support import naive_facings, naive_forest

N_POSITIONS = 14


def random_context(rng, part_set, n_trees=2, depth=5):
    """Return random trees over all channels."""
    columns = naive_forest.random_columns(rng, n_trees, depth, len(part_set))
    groups = PartGroups.of(part_set)
    n = len(columns["thresholds"])
    unit = 2.0**-14
    return ContextTrees(
        columns["roots"],
        np.rint(columns["offsets"] / unit).astype(np.int16),
        rng.integers(0, groups.n_channels, (n, 2)).astype(np.uint8),
        (columns["thresholds"] // 8).astype(np.int16),
        columns["children"],
        columns["leaves"],
        part_set,
        groups,
        unit,
    )


def coarse_place(row, col, n_cols, step):
    """Return the place of a pixel on the coarse grid; None if it is not on it."""
    left, right = (n_cols - 1) // 2, n_cols // 2
    away = left - col if col <= left else col - right
    if row % step or away % step:
        return None
    return row // step, (-(away // step) if col <= left else away // step + right - left)


def toward_zero(value):
    """Return a fraction without what is behind the point."""
    return int(value)


def half_even(value):
    """Return the nearest whole number of a float, of two the even one."""
    return round(value)


def thumbnail(sums, frame, depth, groups, weights, step):
    """Return {place: [channels]} of the coarse grid, {pixel: place}, and what probes read off the person."""
    camera = frame.camera
    places = {p: coarse_place(*p, frame.shape[1], step) for p in sums}
    places = {pixel: place for pixel, place in places.items() if place is not None}
    if not places:
        return {}, {}
    points = {}
    for row, col in places:
        z = depth[row, col]
        points[row, col] = half_even((col - camera.cx) * z / camera.fx), half_even((row - camera.cy) * z / camera.fy), z
    shares = {}
    for pixel in places:
        its = [0] * groups.n
        for part, said in enumerate(sums[pixel]):
            its[groups.of_part[part]] += said
        shares[pixel] = [said * 1000 // sum(sums[pixel]) for said in its]

    def median(axis):
        ordered = sorted(point[axis] for point in points.values())
        return toward_zero(Fraction(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2], 2))

    middle = [median(axis) for axis in range(3)]

    def center(of):
        its = {pixel: sum(shares[pixel][g] for g in of) ** 2 for pixel in places}
        whole = sum(its.values())
        if not whole:
            return middle
        return [toward_zero(Fraction(sum(its[p] * points[p][axis] for p in places), whole)) for axis in range(3)]

    head, trunk = center(groups.head), center(groups.trunk)
    n = len(weights)
    x = math.fsum(w * math.cos(2 * math.pi * min(f, n - f) / n) for f, w in enumerate(weights))
    z = math.fsum(
        (0 if 2 * f == n else 1 if 2 * f < n else -1) * w * math.sin(2 * math.pi * min(f, n - f) / n)
        for f, w in enumerate(weights)
    )
    length = math.hypot(x, z)
    left_x, left_z = (x / length, z / length) if length > 1e-6 else (1.0, 0.0)
    lowest, highest = (of(point[1] for point in points.values()) for of in (max, min))

    def held(value, zero=1000):
        return min(max(zero + half_even(value / 2), 0), 2000)

    channels = {}
    for pixel, place in places.items():
        px, py, pz = points[pixel]
        dx, dz = px - trunk[0], pz - trunk[2]
        own_left = dx * left_x + dz * left_z
        channels[place] = [
            depth[pixel],
            0,
            held(px - middle[0]),
            held(middle[0] - px),
            held(py - middle[1]),
            held(px - head[0]),
            held(head[0] - px),
            held(py - head[1]),
            held(pz - head[2]),
            held(own_left),
            held(-own_left),
            held(dx * left_z - dz * left_x),
            held(py - trunk[1]),
            held(lowest - py, 550),
            held(py - highest, 550),
            held((frame.shape[0] - 1 - pixel[0]) * pz / camera.fy, 550),
            *shares[pixel],
        ]
    return channels, places


def mirrored_channels(groups, part_set):
    """Return the channel that each one is in the mirrored picture."""
    swaps = {2: 3, 3: 2, 5: 6, 6: 5, 9: 10, 10: 9}
    table = [swaps.get(c, c) for c in range(2 + N_POSITIONS)] + [None] * groups.n
    for part, other in enumerate(part_set.mirror):
        table[2 + N_POSITIONS + groups.of_part[part]] = 2 + N_POSITIONS + groups.of_part[other]
    return table


def second_sums(context, channels, places, depth, frame, step, background, is_mirrored):
    """Return what the second stage says of each pixel of the grid."""
    rows = [place[0] for place in channels]
    cols = [place[1] for place in channels]
    box = (min(rows) - 1, max(rows) + 1, min(cols) - 1, max(cols) + 1)

    def read(channel, row, col):
        row, col = min(max(row, box[0]), box[1]), min(max(col, box[2]), box[3])
        its = channels.get((row, col))
        return (background if channel == 0 else 0) if its is None else its[channel]

    mirrored = mirrored_channels(context.groups, context.part_set)
    result = {}
    for pixel, place in places.items():
        total = [0] * len(context.part_set)
        for walk in range(2 if is_mirrored else 1):
            fx = -frame.camera.fx if walk else frame.camera.fx
            for root in context.roots:
                node = int(root)
                while node >= 0:
                    values = []
                    for k in range(2):
                        x, y = (float(o) * context.unit_m for o in context.offsets[node][2 * k : 2 * k + 2])
                        channel = int(context.channels[node][k])
                        d_col = naive_forest.probe_offset(x, np.float32(fx) / np.float32(step), depth[pixel])
                        d_row = naive_forest.probe_offset(
                            y, np.float32(frame.camera.fy) / np.float32(step), depth[pixel]
                        )
                        values.append(read(mirrored[channel] if walk else channel, place[0] + d_row, place[1] + d_col))
                    node = int(context.children[node][1 if values[0] - values[1] > context.thresholds[node] else 0])
                for part, said in enumerate(context.leaves[~node]):
                    total[context.part_set.mirror[part] if walk else part] += int(said)
        result[pixel] = total
    return result


def nearest(pixel, depth, places, n_cols, step):
    """Return the pixel of the grid that a pixel asks; None if there is none on the same surface."""
    row, col = pixel
    left, right = (n_cols - 1) // 2, n_cols // 2
    side, away = (-1, left - col) if col <= left else (1, col - right)
    corners = []
    rows, outs = ((at - at % step, at - at % step + step) if at % step else (at,) for at in (row, away))
    for r in rows:
        for out in outs:
            other = r, (left - out if side < 0 else right + out)
            if other in places and abs(depth[other] - depth[pixel]) <= 60:
                corners.append((abs(r - row) + abs(out - away), len(corners), other))
    return min(corners)[2] if corners else None


def combined(first, second):
    """Return what both stages say of a pixel; without a second, the first alone."""
    mixed = [int(said * (2.0**15 / sum(first))) + 64 for said in first]
    if second is not None:
        mixed = [m * (int(said * (2.0**15 / sum(second))) + 64) for m, said in zip(mixed, second, strict=True)]
    return [int(m * (2.0**20 / sum(mixed))) for m in mixed]


def sums(forest, frame, mask, is_mirrored, n_coarse):
    """Return the combined sums of every pixel with a reading, all of which walk."""
    first, weights = naive_facings.sums(forest, frame, mask, is_mirrored, "mean")
    depth = {pixel: int(frame.depth_mm[pixel]) for pixel in first}
    step = 1
    while len(first) >= n_coarse * (2 * step) ** 2:
        step *= 2
    context = forest.context
    what = thumbnail(first, frame, depth, context.groups, weights, step)
    second = {}
    if what[0]:
        second = second_sums(context, *what, depth, frame, step, forest.background_mm, is_mirrored)
    result = {}
    for pixel in first:
        asked = nearest(pixel, depth, what[1], frame.shape[1], step)
        result[pixel] = combined(first[pixel], second[asked] if asked else None)
    return result
