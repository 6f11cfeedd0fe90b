"""Time the trainer: candidate evaluations per second by level, compared with the bare response kernel and a plain loop.

Run `python benchmarks/train_speed.py --help` for its options. One tree is grown on synthetic frames after everything is
compiled. In the same run, on one thread, these are timed:

  bare    the response kernel of `features` for all pixels and one node's candidates, image by image, results unused
  vector  the same responses as the trainer computes them, with vector instructions
  plain   the obvious trainer: node by node, candidate by candidate, pixel by pixel, then the best split

All of it is repeated in turns, and the best of each counts, because machines are noisy.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from depthforest.base import Sides, kernel, map_in_order, score_histograms
from depthforest.frames import LabeledFrame
from depthforest.training import GrowingTree, TrainConfig
from depthforest.training.candidates import Candidates, draw, root_key
from depthforest.training.growing import Grower, Level
from depthforest.training.probing import _find_probes, _subtract
from depthforest.training.sampling import Pixels, read_pixels
from depthforest.training.shards import Shard
from depthforest.trees import clamped_offset
from depthforest.trees.features import scaled_response
from synth import Config, Generator

AIM = 0.6  # of the fastest level's rate: the slowest one's, on all threads

PLAIN_NODES = 256
"""The plain loop is timed on a level with this many nodes, in the middle of a tree."""


@kernel
def _bare(depth, starts, shapes, places, scales, probes, out):  # type: ignore[no-untyped-def]
    for p in range(len(starts)):
        height, width = shapes[p]
        image = depth[starts[p] : starts[p] + height * width].reshape(height, width)
        row, col, x, y = places[p, 0], places[p, 1], scales[p, 0], scales[p, 1]
        for i in range(len(out)):
            out[i] = scaled_response(image, row, col, probes[0, i], probes[1, i], probes[2, i], probes[3, i], x, y, 0)


@kernel
def _vector(depth, starts, shapes, places, scales, probes, unit, out):  # type: ignore[no-untyped-def]
    ones, others = np.empty(len(out), np.uint32), np.empty(len(out), np.uint32)
    for p in range(len(starts)):
        x, y, row, col = scales[p, 0] * unit, scales[p, 1] * unit, places[p, 0], places[p, 1]
        _find_probes(probes[0], probes[1], x, y, row, col, shapes[p, 0], shapes[p, 1], ones)
        _find_probes(probes[2], probes[3], x, y, row, col, shapes[p, 0], shapes[p, 1], others)
        _subtract(depth, np.uint64(starts[p]), ones, others, out)


@kernel
def _offset(depth, own, n_rows, n_cols, row, col, x, y, scale_x, scale_y):  # type: ignore[no-untyped-def]
    d_row = clamped_offset(y, scale_y, np.float32(-row), np.float32(n_rows - 1 - row))
    return np.int32(
        depth[own + d_row * n_cols + clamped_offset(x, scale_x, np.float32(-col), np.float32(n_cols - 1 - col))]
    )


@kernel
def _plain(depth, starts, shapes, places, scales, labels, order, ends, probes, lows, inverses, n_bins, out):  # type: ignore[no-untyped-def]
    begin = 0
    for node in range(len(ends)):
        for c in range(probes.shape[2]):
            ux, uy, vx, vy = probes[node, 0, c], probes[node, 1, c], probes[node, 2, c], probes[node, 3, c]
            for i in range(begin, ends[node]):
                p = order[i]
                n_rows, n_cols, row, col = shapes[p, 0], shapes[p, 1], places[p, 0], places[p, 1]
                own = starts[p] + row * n_cols + col
                one = _offset(depth, own, n_rows, n_cols, row, col, ux, uy, scales[p, 0], scales[p, 1])
                other = _offset(depth, own, n_rows, n_cols, row, col, vx, vy, scales[p, 0], scales[p, 1])
                above = np.float32(one - other - lows[node, c]) + np.float32(0.5)
                b = np.uint64(min(max(above * inverses[c], np.float32(0)), np.float32(n_bins - 0.5)))
                out[node, c, labels[p], b] += 1
        begin = ends[node]


def timed(function: Callable[[], object]) -> float:
    """Return the time of a call in seconds."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def response_rates(pixels: Sequence[Pixels], config: TrainConfig) -> tuple[float, float]:
    """Return the rates of the response kernel of `features` and of the trainer's."""
    drawn = draw(root_key(0, 0), 0, config.candidates, config)
    out = np.empty(config.candidates, dtype=np.int32)
    meters = drawn.meters[0]

    def bare() -> None:
        for part in pixels:
            _bare(part.depth, part.starts, part.shapes, part.places, part.scales, meters, out)

    def vector() -> None:
        for part in pixels:
            _vector(part.depth, part.starts, part.shapes, part.places, part.scales, drawn.probes[0], drawn.unit_m, out)

    n = sum(map(len, pixels)) * config.candidates
    return n / timed(bare), n / timed(vector)


def plain_rate(pixels: Pixels, n_nodes: int, config: TrainConfig, n_parts: int) -> float:
    """Return the rate of the plain loop over nodes that hold pixels of all frames."""
    rng = np.random.default_rng(0)
    nodes = rng.integers(0, n_nodes, len(pixels))
    order = np.argsort(nodes, kind="stable")
    ends = np.cumsum(np.bincount(nodes, minlength=n_nodes))
    drawn: Candidates = draw(rng.integers(0, 2**63, n_nodes).astype(np.uint64), 0, config.candidates, config)
    meters, inverses = drawn.meters, np.float32(1) / drawn.steps.astype(np.float32)
    totals = np.zeros((n_nodes, n_parts), dtype=np.int64)
    np.add.at(totals, (nodes, pixels.labels), 1)

    def run(n: int) -> None:
        counts = np.zeros((n, config.candidates, n_parts, config.thresholds + 1), dtype=np.int32)
        _plain(
            pixels.depth, pixels.starts, pixels.shapes, pixels.places, pixels.scales, pixels.labels, order, ends[:n],
            meters, drawn.lows, inverses, config.thresholds + 1, counts,
        )  # fmt: skip
        weights = np.ones(n_parts, dtype=np.int64)
        for node in range(n):
            score_histograms(counts[node], weights, Sides.of(totals[node], weights, "entropy"), "entropy")

    n = max(1, n_nodes // 16)
    return int(ends[n - 1]) * config.candidates / timed(lambda: run(n))


def grow(source: Sequence[LabeledFrame], config: TrainConfig, threads: int) -> list[tuple[Level, float]]:
    """Grow one tree and return what each level did, and its seconds."""
    part_set = source[0].part_set
    pieces = np.array_split(np.arange(len(source)), threads)

    def make(piece: npt.NDArray[np.int64]) -> Shard:
        return Shard(source, piece, 0, config, part_set)

    shards = list(map_in_order(make, pieces, threads=threads))
    grower = Grower(shards, config, np.ones(len(part_set), dtype=np.int64), 2**30, threads)
    tree = GrowingTree.start(0, len(part_set), config)
    levels = []
    while not tree.is_done:
        start = time.perf_counter()
        level = grower.grow_level(tree)
        if level.n_nodes:
            levels.append((level, time.perf_counter() - start))
    return levels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    for name, default in (
        ("frames", 2860), ("pixels", 350), ("candidates", 256), ("depth", 20), ("threads", 2), ("repeats", 3)
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    config = TrainConfig(
        trees=1,
        depth=options.depth,
        candidates=options.candidates,
        pixels_per_frame=options.pixels,
        frames_per_tree=1.0,
        thresholds=50,
    )
    frames = list(Generator(Config(n_bodies=16), seed=1, n=options.frames).frames())
    part_set = frames[0].part_set
    blocks = [range(i, min(i + 32, len(frames))) for i in range(0, len(frames), 32)]
    pixels = [read_pixels(frames, block, 0, config, part_set) for block in blocks]
    whole = read_pixels(frames, range(min(len(frames), 700)), 0, config, part_set)
    small = TrainConfig(depth=12, candidates=70, pixels_per_frame=350)
    response_rates(pixels[:1], small)
    plain_rate(read_pixels(frames, range(8), 0, small, part_set), 16, small, len(part_set))
    n_threads = sorted({1, options.threads})
    for threads in n_threads:
        grow(frames[:40], small, threads)
    n = sum(map(len, pixels))
    print(f"{n} pixels of {len(frames)} frames, {config.candidates} candidates, {config.thresholds} thresholds, depth")
    print(f"{config.depth}; M/s = million candidate evaluations a second; the best of {options.repeats} turns")
    bare = vector = plain = 0.0
    best: dict[int, list[tuple[Level, float]]] = {}
    for _ in range(options.repeats):
        rates = response_rates(pixels[::4], config)
        bare, vector = max(bare, rates[0]), max(vector, rates[1])
        plain = max(plain, plain_rate(whole, PLAIN_NODES, config, len(part_set)))
        for threads in n_threads:
            levels = grow(frames, config, threads)
            known = best.get(threads, levels)
            best[threads] = [(level, min(a, b)) for (level, a), (_, b) in zip(levels, known, strict=True)]
    print(f"one thread: bare {bare / 1e6:.1f} M/s, vector {vector / 1e6:.1f} M/s, plain {plain / 1e6:.1f} M/s")
    totals, evenness = {}, {}
    for threads, levels in best.items():
        print(f"{threads} thread{'s' if threads > 1 else ''}:")
        for i, (level, seconds) in enumerate(levels):
            print(
                f"  level {i:2d} {level.n_nodes:7d} nodes {level.n_pixels:8d} pixels {seconds:7.2f} s "
                f"{level.n_evaluations / seconds / 1e6:7.1f} M/s"
            )
        each = [level.n_evaluations / seconds for level, seconds in levels]
        evenness[threads] = min(each) / max(each)
        rate = totals[threads] = sum(level.n_evaluations for level, _ in levels) / sum(s for _, s in levels)
        print(
            f"  all levels {rate / 1e6:.1f} M/s: {rate / bare:.2f} of bare, {rate / vector:.2f} of vector, "
            f"{rate / plain:.1f} times plain; slowest level {evenness[threads]:.2f} of the fastest"
        )
    if len(totals) > 1:
        print(f"{options.threads} threads: {totals[options.threads] / totals[1]:.2f} times 1 thread")
    print(
        f"aim: training, slowest level over the fastest, {options.threads} threads: {evenness[options.threads]:.2f}, "
        f"at least {AIM:.1f}"
    )


if __name__ == "__main__":
    main()
