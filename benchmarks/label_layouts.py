"""Time ways to lay out what labeling reads: nodes, leaves and pixels; nanoseconds a pixel on one thread.

Run `python benchmarks/label_layouts.py [MODEL...]`: files of models; without any, the shipped one. One person in frames
of 640 x 480, not mirrored. Everything is compiled before it is timed; the ways take turns, and the best turn counts.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from label_speed import Frames, Masks, best, frames_of

import depthforest as df
from depthforest.features import clamped_offset
from depthforest.kernels import kernel
from depthforest.labeling import _Walk, packed_forest
from depthforest.labelkernels import (
    LANES,
    MEAN,
    _add,
    _advance,
    _find_probes,
    _gather,
    _start,
    decide,
    label_pixels,
)
from depthforest.models import DEFAULT_MODEL
from depthforest.packing import PackedForest, pack
from depthforest.prefetching import prefetch
from depthforest.resources import models_folder

TOP_LEVELS = 8
"""Levels of the implicit top: its rows, 4 kB a tree, stay in the first cache."""


def top_of(forest: df.Forest, packed: PackedForest) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
    """Return the top of each tree as a full heap of rows, and the packed row that each of its exits leads to.

    Below a leaf the heap goes on with rows that lead to it on both sides.
    """
    n_inner = 2**TOP_LEVELS - 1
    rows = np.zeros((forest.n_trees, 2 * n_inner + 1), dtype=np.int32)
    rows[:, 0] = packed.roots
    for i in range(n_inner):
        children = packed.links[rows[:, i], -1]
        is_leaf = packed.leaf_of[rows[:, i]] >= 0
        rows[:, 2 * i + 1], rows[:, 2 * i + 2] = children, np.where(is_leaf, children, children + 1)
    return packed.values[rows[:, :n_inner]], rows[:, n_inner:].copy()


@kernel
def _gather_top(values, rows, n, lanes, numbers):  # type: ignore[no-untyped-def]
    for i in range(np.uint64(n)):
        row = np.uint64(rows[i])
        for k in range(np.uint64(4)):
            lanes[k, i] = values[row, k]
        numbers[np.uint64(0), i] = np.int32(values[row, np.uint64(4)])


@kernel
def _advance_top(crop, ones, others, thresholds, rows, n):  # type: ignore[no-untyped-def]
    for i in range(np.uint64(n)):
        response = np.int32(crop[np.uint64(ones[i])]) - np.int32(crop[np.uint64(others[i])])
        rows[i] = np.int32(np.int32(np.int32(2) * rows[i]) + np.int32(1)) + np.int32(response > thresholds[i])


@kernel
def _label_with_top(crop, places, scales, n_cols, packed, top, exits, weight, corner, parts, confidence):  # type: ignore[no-untyped-def]
    values, links, leaf_of, leaves, unit, depth = packed
    n_columns, n_inner = leaves.shape[1], top.shape[1]
    offsets = np.empty((4, LANES), dtype=values.dtype)
    bounds, numbers = np.empty((6, LANES), dtype=np.float32), np.empty((4, LANES), dtype=np.int32)
    probes, sums = np.empty((2, LANES), dtype=np.uint32), np.empty((LANES, n_columns), dtype=np.int32)
    own_parts, shares = np.empty(LANES, dtype=np.uint8), np.empty(LANES, dtype=np.float32)
    rows, own = numbers[2], numbers[3]
    for first in range(0, len(places), LANES):
        n = min(LANES, len(places) - first)
        sums[:n] = 0
        _start(places, scales, first, n, np.float32(1), len(crop) // n_cols, n_cols, unit, bounds, own)
        for tree in range(len(top)):
            rows[:n] = 0
            for step in range(depth):
                if step < TOP_LEVELS:
                    _gather_top(top[tree], rows, n, offsets, numbers)
                else:
                    _gather(values, links, rows, n, offsets, numbers)
                for k in range(2):
                    _find_probes(
                        offsets[2 * k], offsets[2 * k + 1], bounds[0], bounds[1], bounds[2], bounds[3], bounds[4],
                        bounds[5], own, np.int32(n_cols), n, probes[k],
                    )  # fmt: skip
                if step < TOP_LEVELS:
                    _advance_top(crop, probes[0], probes[1], numbers[0], rows, n)
                    if step == TOP_LEVELS - 1:
                        for i in range(n):
                            rows[i] = exits[tree, rows[i] - n_inner]
                            prefetch(values, np.int64(rows[i]) * values.shape[1])
                elif not _advance(crop, probes[0], probes[1], numbers[0], numbers[1], values, rows, n):
                    break
            _add(MEAN, leaves, leaves[0], leaf_of, rows, n, sums)
        decide(sums, n, weight, -1.0, own_parts, shares)
        for i in range(n):
            row, col = places[first + i, 0] + corner[0], places[first + i, 1] + corner[1]
            parts[row, col] = own_parts[i]
            confidence[row, col] = shares[i]


@kernel
def _add_sparse(starts, kinds, values, arrived, sums):  # type: ignore[no-untyped-def]
    for first in range(0, len(arrived), LANES):
        n = min(LANES, len(arrived) - first)
        sums[:] = 0
        for tree in range(arrived.shape[1]):
            for i in range(n):
                prefetch(starts, np.int64(arrived[first + i, tree]))
            for i in range(n):
                prefetch(values, np.int64(starts[arrived[first + i, tree]]))
                prefetch(kinds, np.int64(starts[arrived[first + i, tree]]))
            for i in range(n):
                leaf = arrived[first + i, tree]
                for k in range(starts[leaf], starts[leaf + 1]):
                    sums[i, kinds[k]] += np.int32(values[k])


@kernel
def _add_dense(leaves, identity, arrived, rows, sums):  # type: ignore[no-untyped-def]
    for first in range(0, len(arrived), LANES):
        n = min(LANES, len(arrived) - first)
        sums[:] = 0
        for tree in range(arrived.shape[1]):
            rows[:n] = arrived[first : first + n, tree]
            _add(MEAN, leaves, leaves[0], identity, rows, n, sums)


@kernel
def _arrive(crop, places, scales, n_cols, packed, roots, out):  # type: ignore[no-untyped-def]
    values, links, leaf_of, unit = packed
    n_rows, last = len(crop) // n_cols, links.shape[1] - 1
    for i in range(len(places)):
        row, col = places[i, 0], places[i, 1]
        x, y = scales[i, 0] * unit, scales[i, 1] * unit
        left, right = np.float32(-col), np.float32(n_cols - 1 - col)
        top, bottom = np.float32(-row), np.float32(n_rows - 1 - row)
        for tree in range(len(roots)):
            at = roots[tree]
            while leaf_of[at] < 0:
                response = np.int32(0)
                for k in range(2):
                    d_row = clamped_offset(np.float32(values[at, 2 * k + 1]), y, top, bottom)
                    d_col = clamped_offset(np.float32(values[at, 2 * k]), x, left, right)
                    depth = np.int32(crop[(row + d_row) * n_cols + col + d_col])
                    response += depth if k == 0 else -depth
                at = links[at, last] + (1 if response > values[at, 4] else 0)
            out[i, tree] = leaf_of[at]


def leaf_ways(forest: df.Forest, packed: PackedForest, walks: list[_Walk]) -> dict[str, Callable[[], object]]:
    """Return ways to add up the leaves that pixels have arrived at; the walk itself is left out."""
    parts = []
    for walk in walks:
        arrived = np.empty((walk.n, forest.n_trees), dtype=np.int32)
        columns = (packed.values, packed.links, packed.leaf_of, packed.unit_m)
        _arrive(walk.crop.reshape(-1), walk.places, walk.scales, walk.crop.shape[1], columns, packed.roots, arrived)
        parts.append(arrived)
    leaves_of = np.concatenate(parts)
    is_there = forest.leaves > 0
    starts = np.concatenate(([0], np.cumsum(is_there.sum(axis=1)))).astype(np.int32)
    kinds, values = np.nonzero(is_there)[1].astype(np.uint8), forest.leaves[is_there]
    identity, rows = np.arange(forest.n_leaves, dtype=np.int32), np.empty(LANES, dtype=np.int32)

    def dense(leaves: npt.NDArray[np.uint8]) -> Callable[[], object]:
        sums = np.empty((LANES, leaves.shape[1]), dtype=np.int32)
        return lambda: _add_dense(leaves, identity, leaves_of, rows, sums)

    few = np.empty((LANES, forest.leaves.shape[1]), dtype=np.int32)
    return {
        f"leaves alone, {packed.leaves.shape[1]} columns": dense(packed.leaves),
        f"leaves alone, {forest.leaves.shape[1]} columns": dense(np.ascontiguousarray(forest.leaves)),
        f"leaves alone, sparse, {len(values) / forest.n_leaves:.1f} pairs each": lambda: _add_sparse(
            starts, kinds, values, leaves_of, few
        ),
    }


def layouts(forest: df.Forest, frames: Frames, masks: Masks) -> dict[str, float]:
    """Return nanoseconds a pixel of each way."""
    walks = []
    for frame, mask in zip(frames, masks, strict=True):
        walk = _Walk(forest, frame, mask, False, "mean")
        walk.crop, walk.places, walk.scales = walk.crop.copy(), walk.places.copy(), walk.scales.copy()  # were scratch
        walks.append(walk)
    n_pixels = sum(walk.n for walk in walks)
    parts, shares = np.empty(frames[0].shape, np.uint8), np.empty(frames[0].shape, np.float32)
    kept = packed_forest(forest)

    def run(
        packed: PackedForest, n_lanes: int = LANES, tile: tuple[int, int] | None = None, is_by_tree: bool = False
    ) -> Callable[[], object]:
        def work() -> None:
            for walk in walks:
                places, scales = walk.places, walk.scales
                if tile:
                    order = np.lexsort((places[:, 1], places[:, 0], places[:, 1] // tile[1], places[:, 0] // tile[0]))
                    places, scales = places[order], scales[order]
                forest.__dict__["_packed"] = packed
                rest = list(walk._arguments())
                roots = packed.roots
                for chosen in [roots[i : i + 1] for i in range(len(roots))] if is_by_tree else [roots]:
                    rest[3] = chosen
                    label_pixels(
                        walk.crop.reshape(-1), places, scales, 0, walk.n, *rest, walk.weight, -1.0, walk.corner,
                        n_lanes, parts, shares,
                    )  # fmt: skip

        return work

    top, exits = top_of(forest, kept)
    columns = (kept.values, kept.links, kept.leaf_of, kept.leaves, kept.unit_m, kept.depth)

    def with_top() -> None:
        for walk in walks:
            _label_with_top(
                walk.crop.reshape(-1), walk.places, walk.scales, walk.crop.shape[1], columns, top, exits, walk.weight,
                walk.corner, parts, shares,
            )  # fmt: skip

    works: dict[str, Callable[[], object]] = {f"as it is ({LANES} pixels in step)": run(kept)}
    for n in (16, 64, 128, 256, 1024):
        works[f"{n} pixels in step"] = run(kept, n)
    works["breadth first"] = run(pack(forest, is_depth_first=False))
    works["rows of 32 bytes"] = run(pack(forest, is_compact=False))
    works[f"an implicit top of {TOP_LEVELS} levels"] = with_top
    works["pixels in tiles of 8 x 16 (sorting included)"] = run(kept, tile=(8, 16))
    works["tree by tree"] = run(kept, is_by_tree=True)
    works |= leaf_ways(forest, kept, walks)
    run(kept)()
    expected = parts.copy()
    with_top()
    assert np.array_equal(parts, expected), "the implicit top must give the same labels"
    seconds = best(*works.values())
    forest.__dict__["_packed"] = kept
    return {name: 1e9 * each / n_pixels for name, each in zip(works, seconds, strict=True)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("models", nargs="*", type=Path)
    options: Any = parser.parse_args()
    frames, masks = frames_of("kinect_v1")
    for path in options.models or [models_folder() / f"{DEFAULT_MODEL}.safetensors"]:
        forest = df.load(path)
        print(f"{path.stem}: {forest}; ns a pixel, 1 thread")
        for way, nanoseconds in layouts(forest, frames, masks).items():
            print(f"  {nanoseconds:7.1f}  {way}")


if __name__ == "__main__":
    main()
