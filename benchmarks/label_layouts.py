"""Time memory layouts of nodes, leaves and pixels for labeling: nanoseconds per pixel on one thread.

Run `python benchmarks/label_layouts.py [MODEL...]`: files of models; without any, the shipped one. One person in frames
of 640 x 480, not mirrored. Everything is compiled before it is timed; the layouts take turns, and the best turn counts.
Times are those of the thread, so that other programs disturb them less.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from label_speed import Frames, Masks, best, frames_of

import depthforest as df
from depthforest.base import kernel, models_folder, prefetch
from depthforest.forest.loading import DEFAULT_MODEL
from depthforest.labeling.packing import CHILDREN, LEAF, PackedForest, aligned, packed_forest
from depthforest.labeling.steps import LANES, PersonArrays, _advance, _find_both, _start, find_leaves
from depthforest.trees import clamped_offset, crop_person, find_scales, focal_lengths, probe_unit


def without_top(packed: PackedForest) -> PackedForest:
    """Return the same rows, walked from the roots."""
    n_trees = len(packed.exits)
    roots = 2 * np.arange(n_trees, dtype=np.int32)
    return replace(packed, top=packed.top[:, :0], exits=roots[:, None].copy())


def breadth_first(packed: PackedForest) -> PackedForest:
    """Return the same rows, level by level."""
    n_trees = len(packed.exits)
    order = [np.arange(2 * n_trees)]
    for root in 2 * np.arange(n_trees):
        level = np.array([root])
        while len(level := level[packed.links[level, LEAF] < 0]):
            lefts = packed.links[level, CHILDREN]
            level = np.stack((lefts, lefts + 1), axis=1).ravel()
            order.append(level)
    old = np.concatenate(order)
    new = np.empty(len(old), dtype=np.int32)
    new[old] = np.arange(len(old))
    values = aligned((len(old), packed.values.shape[1]), np.float32)
    values[:] = packed.values[old]
    values.view(np.int32)[:, CHILDREN] = new[packed.links[old, CHILDREN]]
    return replace(packed, values=values, links=values.view(np.int32), exits=new[packed.exits])


def unaligned(packed: PackedForest) -> PackedForest:
    """Return the same rows, with each pair across two cache lines."""
    memory = aligned((len(packed.values) + 1, packed.values.shape[1]), np.float32)
    memory[1:] = packed.values
    return replace(packed, values=memory[1:], links=memory[1:].view(np.int32))


def compact(packed: PackedForest, forest: df.Forest) -> tuple[npt.NDArray[np.int16], np.float32]:
    """Return rows of 16 bytes: offsets in a unit, threshold, an unused number, and the children as int32."""
    unit = probe_unit(float(np.abs(forest.offsets).max()))
    rows = aligned((len(packed.values), 8), np.int16)
    rows[:, :4] = np.rint(packed.values[:, :4] / unit)
    rows[:, 4] = packed.values[:, 4]
    rows.view(np.int32)[:, 3] = packed.links[:, CHILDREN]
    return rows, unit


@kernel
def _gather_compact(values, links, rows, n, lanes, numbers):  # type: ignore[no-untyped-def]
    for i in range(np.uint64(n)):
        row = np.uint64(rows[i])
        for k in range(np.uint64(4)):
            lanes[k, i] = values[row, k]
        numbers[np.uint64(0), i] = np.int32(values[row, np.uint64(4)])
        numbers[np.uint64(1), i] = links[row, np.uint64(3)]


@kernel
def _find_compact(crop, places, scales, n_cols, values, links, leaf_links, depth, found):  # type: ignore[no-untyped-def]
    """Find leaves as `find_leaves` does, from compact rows without a top."""
    offsets = np.empty((4, LANES), dtype=values.dtype)
    bounds, numbers = np.empty((6, LANES), dtype=np.float32), np.empty((4, LANES), dtype=np.int32)
    probes = np.empty((2, LANES), dtype=np.uint32)
    rows, own = numbers[2], numbers[3]
    for first in range(0, len(places), LANES):
        n = min(LANES, len(places) - first)
        _start(places, scales, first, n, np.float32(1), len(crop) // n_cols, n_cols, bounds, own)
        for tree in range(found.shape[2]):
            rows[:n] = 2 * tree
            for _ in range(depth):
                _gather_compact(values, links, rows, n, offsets, numbers)
                _find_both(offsets, bounds, own, n_cols, n, probes)
                if not _advance(crop, probes[0], probes[1], numbers[0], numbers[1], values, rows, n):
                    break
            for i in range(n):
                found[first + i, 0, tree] = leaf_links[rows[i], LEAF]


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
def _add_dense(leaves, arrived, sums):  # type: ignore[no-untyped-def]
    n_columns = leaves.shape[1]
    for first in range(0, len(arrived), LANES):
        n = min(LANES, len(arrived) - first)
        sums[:] = 0
        for tree in range(arrived.shape[1]):
            for i in range(n):
                prefetch(leaves, np.int64(arrived[first + i, tree]) * n_columns)
            for i in range(n):
                leaf = np.uint64(arrived[first + i, tree])
                for p in range(np.uint64(n_columns)):
                    sums[np.uint64(i), p] += np.int32(leaves[leaf, p])


@kernel
def _arrive(crop, places, scales, n_cols, packed, n_trees, out):  # type: ignore[no-untyped-def]
    values, links = packed
    n_rows = len(crop) // n_cols
    for i in range(len(places)):
        row, col = places[i, 0], places[i, 1]
        x, y = scales[i, 0], scales[i, 1]
        left, right = np.float32(-col), np.float32(n_cols - 1 - col)
        top, bottom = np.float32(-row), np.float32(n_rows - 1 - row)
        for tree in range(n_trees):
            at = 2 * tree
            while links[at, LEAF] < 0:
                response = np.int32(0)
                for k in range(2):
                    d_row = clamped_offset(np.float32(values[at, 2 * k + 1]), y, top, bottom)
                    d_col = clamped_offset(np.float32(values[at, 2 * k]), x, left, right)
                    depth = np.int32(crop[(row + d_row) * n_cols + col + d_col])
                    response += depth if k == 0 else -depth
                at = links[at, CHILDREN] + (1 if response > values[at, 4] else 0)
            out[i, tree] = at


def leaf_ways(forest: df.Forest, packed: PackedForest, walks: list[PersonArrays]) -> dict[str, Callable[[], object]]:
    """Return variants of adding up the leaves that pixels have reached, without the walk itself."""
    parts = []
    for crop, n_cols, places, scales in walks:
        arrived = np.empty((len(places), forest.n_trees), dtype=np.int32)
        _arrive(crop, places, scales, n_cols, (packed.values, packed.links), forest.n_trees, arrived)
        parts.append(arrived)
    leaves_of = packed.links[np.concatenate(parts), LEAF]
    is_there = forest.leaves > 0
    starts = np.concatenate(([0], np.cumsum(is_there.sum(axis=1)))).astype(np.int32)
    kinds, values = np.nonzero(is_there)[1].astype(np.uint8), forest.leaves[is_there]

    def dense(leaves: npt.NDArray[np.uint8]) -> Callable[[], object]:
        sums = np.empty((LANES, leaves.shape[1]), dtype=np.int32)
        return lambda: _add_dense(leaves, leaves_of, sums)

    few = np.empty((LANES, forest.leaves.shape[1]), dtype=np.int32)
    return {
        f"leaves alone, {packed.leaves.shape[1]} columns": dense(packed.leaves),
        f"leaves alone, {forest.leaves.shape[1]} columns": dense(np.ascontiguousarray(forest.leaves)),
        f"leaves alone, sparse, {len(values) / forest.n_leaves:.1f} pairs each": lambda: _add_sparse(
            starts, kinds, values, leaves_of, few
        ),
    }


def layouts(forest: df.Forest, frames: Frames, masks: Masks) -> dict[str, float]:
    """Return nanoseconds per pixel of each variant."""
    walks: list[PersonArrays] = []
    for frame, mask in zip(frames, masks, strict=True):
        crop = crop_person(frame, mask, forest.background_mm)
        scales = np.empty((len(crop.places), 2), dtype=np.float32)
        find_scales(crop.depth, crop.places, focal_lengths(frame.camera), scales)
        walks.append((crop.depth.reshape(-1), crop.depth.shape[1], crop.places, scales))
    n_most, n_pixels = max(len(walk[2]) for walk in walks), sum(len(walk[2]) for walk in walks)
    found = np.empty((n_most, 1, forest.n_trees), dtype=np.int32)
    kept = packed_forest(forest)

    def run(
        packed: PackedForest, n_lanes: int = LANES, tile: tuple[int, int] | None = None, is_by_tree: bool = False
    ) -> Callable[[], object]:
        def work() -> None:
            for crop, n_cols, places, scales in walks:
                if tile:
                    order = np.lexsort((places[:, 1], places[:, 0], places[:, 1] // tile[1], places[:, 0] // tile[0]))
                    places, scales = places[order], scales[order]
                n_trees = len(packed.exits)
                for some in [slice(i, i + 1) for i in range(n_trees)] if is_by_tree else [slice(n_trees)]:
                    nodes = replace(packed, top=packed.top[some], exits=packed.exits[some]).nodes
                    find_leaves((crop, n_cols, places, scales), nodes, 0, len(places), n_lanes, found)

        return work

    rows, unit = compact(kept, forest)

    def run_compact() -> None:
        for crop, n_cols, places, scales in walks:
            _find_compact(crop, places, scales * unit, n_cols, rows, rows.view(np.int32), kept.links, kept.depth, found)

    works: dict[str, Callable[[], object]] = {f"as it is ({LANES} pixels in step)": run(kept)}
    for n in (16, 64, 128, 256, 1024):
        works[f"{n} pixels in step"] = run(kept, n)
    works["breadth first"] = run(breadth_first(kept))
    works["unaligned: siblings in two cache lines"] = run(unaligned(kept))
    works["without an implicit top"] = run(without_top(kept))
    works["rows of 16 bytes, without an implicit top"] = run_compact
    works["pixels in tiles of 8 x 16 (sorting included)"] = run(kept, tile=(8, 16))
    works["tree by tree"] = run(kept, is_by_tree=True)
    works |= leaf_ways(forest, kept, walks)
    run(kept)()
    expected = found.copy()
    for work in (run(without_top(kept)), run(breadth_first(kept)), run_compact):
        found[:] = 0
        work()
        assert np.mean(found != expected) < 1e-2, "a layout must lead to the same leaves, except for rounded offsets"
    seconds = best(*works.values(), clock=time.thread_time)  # of this thread, because other programs disturb
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
