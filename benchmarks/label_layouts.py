"""Time ways to lay out what labeling reads: nodes, leaves and pixels; nanoseconds a pixel on one thread.

Run `python benchmarks/label_layouts.py [MODEL...]`: files of models; without any, the shipped one. One person in frames
of 640 x 480, not mirrored. Everything is compiled before it is timed; the ways take turns, and the best turn counts.
Times are the thread's own, so that other programs disturb them less.
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
from depthforest.labeling.steps import (
    LANES,
    MEAN,
    PersonArrays,
    _add,
    _advance,
    _find_both,
    _start,
    decide,
    label_pixels,
)
from depthforest.labeling.walks import PersonWalk
from depthforest.trees import LEAF_SUM, clamped_offset, probe_unit

Cut = tuple[PersonWalk, PersonArrays]
"""A walk, and its person as kernels take it."""


def without_top(packed: PackedForest) -> PackedForest:
    """Return the same rows, walked from the roots."""
    n_trees = len(packed.exits)
    roots = 2 * np.arange(n_trees, dtype=np.int32)
    return replace(packed, top=packed.top[:, :0], exits=roots[:, None].copy())


def breadth_first(packed: PackedForest) -> PackedForest:
    """Return the same rows, those of a level side by side."""
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
    """Return the same rows, pairs of which lie across the border of two cache lines."""
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
def _label_compact(crop, places, scales, n_cols, values, links, packed, weight, corner, parts, confidence):  # type: ignore[no-untyped-def]
    """Label as `label_pixels` does, from compact rows without a top."""
    leaf_links, n_trees, leaves, depth = packed
    offsets = np.empty((4, LANES), dtype=values.dtype)
    bounds, numbers = np.empty((6, LANES), dtype=np.float32), np.empty((4, LANES), dtype=np.int32)
    probes, sums = np.empty((2, LANES), dtype=np.uint32), np.empty((LANES, leaves.shape[1]), dtype=np.int32)
    own_parts, shares = np.empty(LANES, dtype=np.uint8), np.empty(LANES, dtype=np.float32)
    rows, own = numbers[2], numbers[3]
    for first in range(0, len(places), LANES):
        n = min(LANES, len(places) - first)
        sums[:n] = 0
        _start(places, scales, first, n, np.float32(1), len(crop) // n_cols, n_cols, bounds, own)
        for tree in range(n_trees):
            rows[:n] = 2 * tree
            for _ in range(depth):
                _gather_compact(values, links, rows, n, offsets, numbers)
                _find_both(offsets, bounds, own, n_cols, n, probes)
                if not _advance(crop, probes[0], probes[1], numbers[0], numbers[1], values, rows, n):
                    break
            _add(MEAN, leaves, leaves[0], leaf_links, rows, n, sums)
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
def _add_dense(leaves, links, arrived, rows, sums):  # type: ignore[no-untyped-def]
    for first in range(0, len(arrived), LANES):
        n = min(LANES, len(arrived) - first)
        sums[:] = 0
        for tree in range(arrived.shape[1]):
            rows[:n] = arrived[first : first + n, tree]
            _add(MEAN, leaves, leaves[0], links, rows, n, sums)


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


def leaf_ways(forest: df.Forest, packed: PackedForest, walks: list[Cut]) -> dict[str, Callable[[], object]]:
    """Return ways to add up the leaves that pixels have arrived at; the walk itself is left out."""
    parts = []
    for walk, (crop, n_cols, places, scales) in walks:
        arrived = np.empty((walk.n, forest.n_trees), dtype=np.int32)
        columns = (packed.values, packed.links)
        _arrive(crop, places, scales, n_cols, columns, forest.n_trees, arrived)
        parts.append(arrived)
    rows_of = np.concatenate(parts)
    leaves_of = packed.links[rows_of, LEAF]
    is_there = forest.leaves > 0
    starts = np.concatenate(([0], np.cumsum(is_there.sum(axis=1)))).astype(np.int32)
    kinds, values = np.nonzero(is_there)[1].astype(np.uint8), forest.leaves[is_there]
    rows = np.empty(LANES, dtype=np.int32)

    def dense(leaves: npt.NDArray[np.uint8]) -> Callable[[], object]:
        sums = np.empty((LANES, leaves.shape[1]), dtype=np.int32)
        return lambda: _add_dense(leaves, packed.links, rows_of, rows, sums)

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
        walk = PersonWalk.start(forest, frame, mask, False, MEAN)
        crop, n_cols, places, scales = walk.person()
        walks.append((walk, (crop, n_cols, places, scales.copy())))  # they are scratch
    n_pixels = sum(walk.n for walk, _ in walks)
    parts, shares = np.empty(frames[0].shape, np.uint8), np.empty(frames[0].shape, np.float32)
    kept, weight = packed_forest(forest), LEAF_SUM * forest.n_trees

    def run(
        packed: PackedForest, n_lanes: int = LANES, tile: tuple[int, int] | None = None, is_by_tree: bool = False
    ) -> Callable[[], object]:
        def work() -> None:
            for walk, (crop, n_cols, places, scales) in walks:
                if tile:
                    order = np.lexsort((places[:, 1], places[:, 0], places[:, 1] // tile[1], places[:, 0] // tile[0]))
                    places, scales = places[order], scales[order]
                person = crop, n_cols, places, scales
                n_trees = len(packed.exits)
                for some in [slice(i, i + 1) for i in range(n_trees)] if is_by_tree else [slice(n_trees)]:
                    nodes = replace(packed, top=packed.top[some], exits=packed.exits[some]).nodes
                    label_pixels(
                        person, nodes, walk.voting, 0, walk.n, weight, -1.0, walk.crop.corner, n_lanes, parts, shares
                    )  # fmt: skip

        return work

    rows, unit = compact(kept, forest)
    of_leaves = kept.links, forest.n_trees, kept.leaves, kept.depth

    def run_compact() -> None:
        for walk, (crop, n_cols, places, scales) in walks:
            _label_compact(
                crop, places, scales * unit, n_cols, rows, rows.view(np.int32), of_leaves, weight, walk.crop.corner,
                parts, shares,
            )  # fmt: skip

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
    parts[:] = 0
    run(kept)()
    expected = parts.copy()
    for work in (run(without_top(kept)), run(breadth_first(kept)), run_compact):
        parts[:] = 0
        work()
        assert np.mean(parts != expected) < 1e-3, (
            "a layout must give the same labels, but for offsets that were rounded"
        )
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
