"""How far labeling is from the machine's limits: reads, cache misses and nanoseconds of each stage.

    python benchmarks/label_limits.py [MODEL]

One person at 640 x 480, one thread, sparse labeling. The machine's own figures are measured in the same run:

  chase    dependent reads of random cache lines: the cost of a read that waits for the one before
  scatter  independent reads of random cache lines: the cost of a read when many are in flight
  copy     a stream copy: bytes read and written one after the other

A stage with random reads is compared with the same number of reads at the cost of `scatter`, in an array of the same
size; a stage that reads memory in order, with its bytes at the cost of `copy`. Cache misses are counted by a model of
the first two caches (least recently used), because hardware counters are not available on most virtual machines. The
sizes are this machine's, or 48 kB and 1 MB if it does not report them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from label_speed import _chase, best, frames_of

import depthforest as df
from depthforest.base import kernel
from depthforest.labeling import walks
from depthforest.labeling.packing import CHILDREN, LEAF, packed_forest
from depthforest.labeling.steps import LANES
from depthforest.trees import clamped_offset

LINE = 64
TURNS = 9
STAGES = (
    "crop_person", "open_places", "take_open", "find_scales", "find_leaves", "add_evidence", "mix_pixels",
    "smooth_sums", "decide", "fill_cells", "spread",
)  # fmt: skip


@kernel
def _scatter(values: npt.NDArray[np.int64], places: npt.NDArray[np.int64]) -> int:
    total = 0
    for i in range(np.uint64(len(places))):
        total += values[np.uint64(places[i])]
    return total


@kernel
def _touch(line: int, tags: npt.NDArray[np.int64]) -> bool:
    """Look up a cache line in a model of a cache (sets, ways), the latest first; return whether it was missing."""
    own = tags[line % len(tags)]
    n = len(own)
    at = 0
    while at < n - 1 and own[at] != line:
        at += 1
    is_missing = bool(own[at] != line)
    while at > 0:
        own[at] = own[at - 1]
        at -= 1
    own[0] = line
    return is_missing


@kernel
def _touch_both(line: int, near: npt.NDArray[np.int64], far: npt.NDArray[np.int64], misses: Any) -> None:
    if _touch(line, near):
        misses[0] += 1
        misses[1] += _touch(line, far)


@kernel
def _trace(person, packed, n_trees, near, far, steps, misses):  # type: ignore[no-untyped-def]
    """Walk as `find_leaves` does, and count steps and misses: `steps` (2,) top and rest, `misses` (3, 2) by array.

    Lines of nodes, tops and crop are numbered consecutively.
    """
    crop, n_cols, places, scales = person
    values, links, tops, exits, _ = packed
    n_rows, n_inner = len(crop) // n_cols, tops.shape[1]
    rows, is_top = np.empty(LANES, dtype=np.int64), np.empty(LANES, dtype=np.bool_)
    top_lines = len(values) // 2
    crop_lines = top_lines + n_trees * (n_inner // 2 + 1)
    for first in range(0, len(places), LANES):
        n = min(LANES, len(places) - first)
        for side in (np.float32(1), np.float32(-1)):
            for tree in range(n_trees):
                rows[:n], is_top[:n] = 0, True
                is_moving = True
                while is_moving:
                    is_moving = False
                    for i in range(n):
                        if is_top[i] and rows[i] >= n_inner:
                            rows[i], is_top[i] = exits[tree, rows[i] - n_inner], False
                        row = rows[i]
                        if not is_top[i] and links[row, LEAF] >= 0:
                            continue
                        is_moving = True
                        node = tops[tree, row] if is_top[i] else values[row]
                        steps[0 if is_top[i] else 1] += 1
                        if is_top[i]:
                            _touch_both(top_lines + tree * (n_inner // 2 + 1) + row // 2, near, far, misses[0])
                        else:
                            _touch_both(row // 2, near, far, misses[1])
                        response = np.int32(0)
                        r, c = places[first + i, 0], places[first + i, 1]
                        for k in range(2):
                            y = clamped_offset(
                                node[2 * k + 1], scales[first + i, 1], np.float32(-r), np.float32(n_rows - 1 - r)
                            )
                            x = clamped_offset(
                                node[2 * k], scales[first + i, 0] * side, np.float32(-c), np.float32(n_cols - 1 - c)
                            )
                            at = (r + y) * n_cols + c + x
                            _touch_both(crop_lines + at // 32, near, far, misses[2])
                            response += np.int32(crop[at]) if k == 0 else -np.int32(crop[at])
                        right = 1 if response > node[4] else 0
                        rows[i] = 2 * row + 1 + right if is_top[i] else links[row, CHILDREN] + right


def reads(n_bytes: int) -> tuple[float, float]:
    """Return nanoseconds of a dependent and of an independent read of random lines in `n_bytes` bytes."""
    rng = np.random.default_rng(0)
    order = rng.permutation(max(2, n_bytes // LINE))
    links = np.zeros(LINE // 8 * len(order), dtype=np.int64)
    links[8 * order] = 8 * np.roll(order, -1)
    places = 8 * rng.integers(0, len(order), 400_000)
    chase, scatter = best(lambda: _chase(links, 400_000), lambda: _scatter(links, places), clock=time.thread_time)
    return 1e9 * chase / 400_000, 1e9 * scatter / 400_000


def copy_rate() -> float:
    """Return the nanoseconds per byte in a stream copy, counting bytes read and written."""
    source = np.ones(2**23, dtype=np.uint8)
    target = np.empty_like(source)
    (seconds,) = best(lambda: np.copyto(target, source), clock=time.thread_time)
    return 1e9 * seconds / (2 * source.nbytes)


def cache_sizes() -> list[tuple[int, int]]:
    """Return bytes and ways of the first two data caches."""
    found = []
    for index, usual in ((0, (49_152, 12)), (2, (2**20, 16))):
        folder = Path(f"/sys/devices/system/cpu/cpu0/cache/index{index}")
        try:
            size = (folder / "size").read_text().strip()
            found.append(
                (
                    int(size[:-1]) * {"K": 2**10, "M": 2**20}[size[-1]],
                    int((folder / "ways_of_associativity").read_text()),
                )
            )
        except (OSError, ValueError, KeyError):
            found.append(usual)
    return found


def stage_times(forest: df.Forest, frames: list[df.Frame], masks: list[Any]) -> dict[str, float]:
    """Return microseconds per frame of every stage of `Forest.label`, and of the whole."""
    taken: dict[str, float] = {}

    def timed(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            began = time.thread_time_ns()
            answer = real(*arguments)
            taken[name] = taken.get(name, 0) + time.thread_time_ns() - began
            return answer

        return call

    kept = {name: getattr(walks, name) for name in STAGES}
    for frame, mask in zip(frames, masks, strict=True):
        forest.label(frame, mask, threads=1)
    fewest: dict[str, float] = {}
    try:
        for name, real in kept.items():
            setattr(walks, name, timed(name, real))
        for _ in range(TURNS):
            taken.clear()
            began = time.thread_time_ns()
            for frame, mask in zip(frames, masks, strict=True):
                forest.label(frame, mask, threads=1)
            taken["whole"] = time.thread_time_ns() - began
            fewest = {name: min(value, fewest.get(name, value)) for name, value in taken.items()}
    finally:
        for name, real in kept.items():
            setattr(walks, name, real)
    return {name: value / 1e3 / len(frames) for name, value in fewest.items()}


def traced(forest: df.Forest, frame: df.Frame, mask: Any) -> tuple[Any, Any, Any, int]:
    """Return steps (2,) and misses (3, 2) of the pixels of a frame that walk, its walk, and the bytes of its crop."""
    walk = forest.label(frame, mask, threads=1)._walk
    run = walks._Levels(walk, 1)
    run.go()
    places, scales = run._places[: run.n_walked].copy(), run._scales[: run.n_walked].copy()  # they are scratch
    near, far = (np.full((size // (LINE * ways), ways), -1, dtype=np.int64) for size, ways in cache_sizes())
    steps, misses = np.zeros(2, dtype=np.int64), np.zeros((3, 2), dtype=np.int64)
    person = walk.crop.depth.reshape(-1), walk.crop.depth.shape[1], places, scales
    _trace(person, packed_forest(forest).nodes, forest.n_trees, near, far, steps, misses)
    return steps, misses, walk, walk.crop.depth.nbytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("model", nargs="?")
    forest = df.load(parser.parse_args().model)
    packed = packed_forest(forest)
    frames, masks = frames_of("kinect_v1")
    sizes = {"nodes": packed.n_bytes, "leaves": packed.leaves.nbytes, "evidence": forest.facing_evidence.nbytes}
    every = [traced(forest, frame, mask) for frame, mask in zip(frames, masks, strict=True)]
    steps, misses = (np.mean([one[k] for one in every], axis=0) for k in (0, 1))
    n_walked, n = (np.mean([f(one[2]) for one in every]) for f in (lambda w: len(w.leaves), lambda w: w.n))
    sizes["crop"] = int(np.mean([one[3] for one in every]))
    price = {name: reads(size) for name, size in sizes.items()}
    copy = copy_rate()
    print("the machine, ns a random read (dependent, independent):")
    for name, (chase, scatter) in price.items():
        print(f"  {name:9} {sizes[name] / 2**20:6.2f} MB  chase {chase:6.1f}  scatter {scatter:5.2f}")
    print(f"  stream copy {1 / copy:.1f} GB/s (read and written)")
    print(f"\na person of {n:,.0f} pixels, {n_walked:,.0f} walk")
    print(f"{steps.sum():,.0f} steps, {steps[0] / steps.sum():.0%} of them in the top")
    print("misses a step in the model of the caches (first, second):")
    for name, own, total in zip(("tops", "nodes", "crop"), misses, (steps[0], steps[1], steps.sum()), strict=True):
        print(f"  {name:6} {own[0] / total:.2f}  {own[1] / total:.2f}")
    times = stage_times(forest, frames, masks)
    n_leaves, n_columns = n_walked * forest.n_trees * (2 if forest.mirror else 1), packed.leaves.shape[1]
    n_frame, n_used = frames[0].depth_mm.size, np.mean([np.count_nonzero(one[2].weights) for one in every])
    levels = int(np.log2(every[0][2].step)) + 1
    limits = {  # nanoseconds
        "find_leaves": steps[1] * price["nodes"][1] + 2 * steps.sum() * price["crop"][1],
        "mix_pixels": n_leaves * price["leaves"][1] + n_walked * n_columns * 4 * copy,
        "smooth_sums": n_walked * n_columns * 4 * 12 * copy,
        "decide": n_walked * n_columns * 4 * copy,
        "crop_person": (3 * n_frame + 2 * sizes["crop"] + 8 * n) * copy,
        "spread": (8 + 4 + 5 + 4) * n * copy,
        "take_open": levels * 4 * sizes["crop"] / 2 * copy,
        "fill_cells": (levels - 1) * 6 * sizes["crop"] / 2 * copy,
    }
    n_coarse = np.mean([one[2].n / one[2].step ** 2 for one in every])
    limits["add_evidence"] = n_coarse * n_leaves / n_walked * price["evidence"][1]
    print(f"\n{'stage':13} {'us':>7} {'limit':>7} {'times':>6}")
    for name in STAGES:
        limit = limits.get(name, 0) / 1e3
        print(f"{name:13} {times[name]:7.0f} " + (f"{limit:7.0f} {times[name] / limit:6.1f}" if limit else ""))
    print(f"{'whole':13} {times['whole']:7.0f}")
    print(
        f"\na step takes {1e3 * times['find_leaves'] / steps.sum():.2f} ns; dependent reads alone would take "
        f"{price['nodes'][0] * steps[1] / steps.sum() + price['crop'][0]:.1f}, independent ones "
        f"{limits['find_leaves'] / steps.sum():.2f}; leaves of {n_used:.1f} facings a person are mixed"
    )


if __name__ == "__main__":
    main()
