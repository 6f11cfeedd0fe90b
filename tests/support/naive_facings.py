"""Slow, obvious twins of facings, mixing, smoothing, leaf counting and pruning; and random forests with facings."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np

from depthforest.forest.forest import Forest
from depthforest.trees.quantizing import quantize_leaves
from support import naive_forest as naive

TAPS, GATE_MM = 2, 60
"""As docs/MODEL_FORMAT.md says."""


def random_forest(rng, n_trees, depth, part_set, n_facings, *, is_compact=True, **options):
    """Return a random forest with facings; compact ones have offsets on a grid, as trained ones do."""
    columns = naive.random_columns(rng, n_trees, depth, len(part_set))
    n_leaves = len(columns["leaves"])
    columns["leaves"] = quantize_leaves(rng.random((n_leaves * n_facings, len(part_set))) ** 4 + 1e-9)
    if is_compact:
        columns["offsets"] = (np.rint(columns["offsets"] * 2**14) / 2**14).astype(np.float32)
    if n_facings > 1:
        columns["evidence"] = rng.integers(-12, 13, (n_leaves, n_facings)).astype(np.int8)
    return Forest(**columns, part_set=part_set, **options)


def weigh(said, n_votes):
    """Return the weights of facings from sums of evidence."""
    means = [int(s) * 0.5 / max(n_votes, 1) for s in said]
    powers = [math.exp(m - max(means)) for m in means]
    weights = [math.floor(255 * p / sum(powers) + 0.5) for p in powers]
    return [w if w >= 8 or w == max(weights) else 0 for w in weights]


def leaves_of(forest, frame, mask, is_mirrored):
    """Return for every pixel with a reading a list of leaves for each walk."""
    image = naive.masked_depth(frame, mask)
    found = {}
    for row, col in np.argwhere(mask).tolist():
        if image[row][col]:
            found[row, col] = [
                [
                    naive.descend(
                        forest, tree, image, row, col, SimpleNamespace(fx=side * frame.camera.fx, fy=frame.camera.fy)
                    )
                    for tree in range(forest.n_trees)
                ]
                for side in ((1, -1) if is_mirrored else (1,))
            ]
    return found


def facing_weights(forest, found):
    """Return the weights of a person's facings from the leaves of all pixels."""
    n = forest.n_facings
    if n == 1:
        return [1]
    said, n_votes = [0] * n, 0
    for walks in found.values():
        for walk, leaves in enumerate(walks):
            for leaf in leaves:
                n_votes += 1
                for facing in range(n):
                    said[-facing % n if walk else facing] += int(forest.evidence[leaf][facing])
    return weigh(said, n_votes)


def sums(forest, frame, mask, is_mirrored, rule):
    """Return the sums of every pixel as lists by (row, col), and the weights of the facings."""
    found = leaves_of(forest, frame, mask, is_mirrored)
    weights = facing_weights(forest, found)
    return mixed(forest, found, weights, rule), weights


def mixed(forest, found, weights, rule):
    """Return the sums of pixels as lists by (row, col) from their leaves."""
    n, n_parts = forest.n_facings, len(forest.part_set)
    result = {}
    for place, walks in found.items():
        total = [0] * n_parts
        for walk, leaves in enumerate(walks):
            names = forest.part_set.mirror if walk else range(n_parts)
            for leaf in leaves:
                row = [
                    sum(weights[f] * int(forest.leaves[leaf * n + (-f % n if walk else f)][p]) for f in range(n))
                    for p in range(n_parts)
                ]
                if rule == "mean":
                    for p in range(n_parts):
                        total[names[p]] += row[p]
                else:
                    winner = row.index(max(row))
                    total[names[winner]] += 1 if rule == "votes" else row[winner]
        result[place] = total
    return result


def smoothed(pixel_sums, frame, radius_m):
    """Return sums with those of neighbors added, along rows and then along columns."""
    for is_down in (False, True):
        pixel_sums = {
            place: [
                sum(entries)
                for entries in zip(
                    *(pixel_sums[p] for p in neighbors(place, pixel_sums, frame, radius_m, is_down)), strict=True
                )
            ]
            for place in pixel_sums
        }
    return pixel_sums


def neighbors(place, pixel_sums, frame, radius_m, is_down):
    """Return the pixels whose sums are added in one direction, the pixel itself among them."""
    row, col = place
    depth = int(frame.depth_mm[row, col])
    focal = frame.camera.fy if is_down else frame.camera.fx
    reach = radius_m * float(np.float32(focal) * np.float32(1000) / np.float32(depth))
    steps = {math.floor(reach * tap / TAPS + 0.5) for tap in range(1, TAPS + 1)} - {0}
    places = [(row + side * s, col) if is_down else (row, col + side * s) for s in steps for side in (-1, 1)]
    return [place] + [p for p in places if p in pixel_sums and abs(int(frame.depth_mm[p]) - depth) <= GATE_MM]


def shares(forest, frame, mask, is_mirrored, rule, radius_m=0.0):
    """Return the shares by (row, col), float32, the sums that they are made of, and the weights of the facings."""
    found, weights = sums(forest, frame, mask, is_mirrored, rule)
    if radius_m > 0:
        found = smoothed(found, frame, radius_m)
    made = {p: np.array(s, dtype=np.float32) / np.float32(sum(s)) for p, s in found.items()}
    return made, found, weights


def count(forest, people, n_facings):
    """Return counts from (facing, frame, mask, pixels) of each person: every pixel straight and mirrored."""
    counts = np.zeros((forest.n_leaves, n_facings, len(forest.part_set)), dtype=np.int64)
    for facing, frame, mask, pixels in people:
        for place, (straight, mirrored) in leaves_of(forest, frame, mask, True).items():
            if place in pixels:
                part = int(frame.parts[place])
                for leaf in straight:
                    counts[leaf, facing, part] += 1
                for leaf in mirrored:
                    counts[leaf, -facing % n_facings, forest.part_set.mirror[part]] += 1
    return counts


def leaves_below(forest, link):
    """Return the leaves below a link, and how many levels of splits."""
    if link < 0:
        return [-link - 1], 0
    sides = [leaves_below(forest, int(child)) for child in forest.children[link]]
    return [leaf for leaves, _ in sides for leaf in leaves], 1 + max(levels for _, levels in sides)
