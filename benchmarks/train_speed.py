"""Time the trainer: candidate evaluations a second, level by level, beside the bare response kernel and a plain loop.

Run `python benchmarks/train_speed.py [--frames N] [--pixels N] [--candidates N] [--depth N] [--threads N]`. One tree is
grown on synthetic frames after everything has been compiled. Beside it, in the same run and on one thread, are timed

  bare   the responses of all pixels to one node's candidates, image by image, thrown away
  plain  the obvious trainer: node by node, candidate by candidate, pixel by pixel, then the best split
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from depthforest.candidates import Candidates, draw, root_key
from depthforest.features import scaled_response
from depthforest.frames import LabeledFrame
from depthforest.growing import Grower, GrowingTree
from depthforest.kernels import kernel
from depthforest.sampling import Pixels, read_pixels
from depthforest.shards import Shard, _find_probes, _subtract
from depthforest.splitting import information_table, score_histograms
from depthforest.threads import map_in_order
from depthforest.trainconfig import TrainConfig
from synth.config import Config
from synth.generator import Generator

PLAIN_NODES = 256
"""The plain loop is timed on a level with so many nodes, in the middle of a tree."""


@kernel
def _bare(depth, starts, shapes, places, scales, probes, out):  # type: ignore[no-untyped-def]
    ones, others = np.empty(len(out), np.int32), np.empty(len(out), np.int32)
    for p in range(len(starts)):
        x, y, row, col = scales[p, 0], scales[p, 1], places[p, 0], places[p, 1]
        last_row, n_cols = np.int32(shapes[p, 0] - 1), shapes[p, 1]
        _find_probes(probes[0], probes[1], x, y, row, col, last_row, n_cols, ones)
        _find_probes(probes[2], probes[3], x, y, row, col, last_row, n_cols, others)
        _subtract(depth[starts[p] :], ones, others, out)


@kernel
def _plain(images, starts, shapes, places, scales, labels, order, ends, probes, lows, steps, n_bins, out):  # type: ignore[no-untyped-def]
    begin = 0
    for node in range(len(ends)):
        for c in range(probes.shape[2]):
            for i in range(begin, ends[node]):
                p = order[i]
                height, width = shapes[p, 0], shapes[p, 1]
                image = images[starts[p] : starts[p] + height * width].reshape(height, width)
                pair = probes[node, :, c]
                found = scaled_response(
                    image, places[p, 0], places[p, 1], pair[0], pair[1], pair[2], pair[3], scales[p, 0], scales[p, 1], 0
                )
                b = min(max((found - lows[node, c]) // steps[node, c], 0), n_bins - 1)
                out[node, c, labels[p], b] += 1
        begin = ends[node]


def timed(function: Callable[[], object], repeats: int = 1) -> float:
    """Return the shortest of some times in seconds."""
    laps = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        laps.append(time.perf_counter() - start)
    return min(laps)


def bare_rate(pixels: Sequence[Pixels], config: TrainConfig) -> float:
    probes = draw(root_key(0, 0), 0, config.candidates, config).probes[0]
    out = np.empty(config.candidates, dtype=np.int32)

    def run() -> None:
        for part in pixels:
            _bare(part.depth, part.starts, part.shapes, part.places, part.scales, probes, out)

    run()
    return sum(map(len, pixels)) * config.candidates / timed(run, 3)


def plain_rate(pixels: Pixels, n_nodes: int, config: TrainConfig, n_parts: int) -> float:
    """Return the rate of the plain loop over nodes that hold pixels of all frames."""
    rng = np.random.default_rng(0)
    nodes = rng.integers(0, n_nodes, len(pixels))
    order = np.argsort(nodes, kind="stable")
    ends = np.cumsum(np.bincount(nodes, minlength=n_nodes))
    drawn: Candidates = draw(rng.integers(0, 2**63, n_nodes).astype(np.uint64), 0, config.candidates, config)
    totals = np.zeros((n_nodes, n_parts), dtype=np.int64)
    np.add.at(totals, (nodes, pixels.labels), 1)

    def run(n: int) -> None:
        counts = np.zeros((n, config.candidates, n_parts, config.thresholds + 1), dtype=np.int32)
        _plain(
            pixels.depth, pixels.starts, pixels.shapes, pixels.places, pixels.scales, pixels.labels, order, ends[:n],
            drawn.probes, drawn.lows, drawn.steps, config.thresholds + 1, counts,
        )  # fmt: skip
        scores, splits = np.full(n, -np.inf), np.full((n, 2), -1, dtype=np.int32)
        weights = np.ones(n_parts, dtype=np.int64)
        score_histograms(information_table(), False, counts, totals[:n], weights, 0, scores, splits)

    run(1)
    n = max(1, n_nodes // 8)
    return int(ends[n - 1]) * config.candidates / timed(lambda: run(n), 2)


def grow(
    source: Sequence[LabeledFrame], config: TrainConfig, threads: int, *, is_shown: bool, bare: float = 1.0
) -> tuple[float, list[float]]:
    """Grow one tree and return its rate and those of its levels."""
    part_set = source[0].part_set
    pieces = np.array_split(np.arange(len(source)), threads)

    def make(piece: npt.NDArray[np.int64]) -> Shard:
        return Shard(source, piece, 0, config, part_set)

    shards = list(map_in_order(make, pieces, threads=threads))
    grower = Grower(shards, config, np.ones(len(part_set), dtype=np.int64), 2**30, threads)
    tree = GrowingTree.start(0, len(part_set), config)
    rates, n_all, seconds_all = [], 0, 0.0
    while not tree.is_done:
        start = time.perf_counter()
        level = grower.grow_level(tree)
        seconds = time.perf_counter() - start
        n_all += level.n_evaluations
        seconds_all += seconds
        if level.n_nodes:
            rates.append(level.n_evaluations / seconds)
            if is_shown:
                print(
                    f"  level {tree.level - 1:2d} {level.n_nodes:7d} nodes {level.n_pixels:8d} pixels {seconds:7.2f} s "
                    f"{rates[-1] / 1e6:7.1f} M/s  {rates[-1] / bare:5.2f} of bare",
                    flush=True,
                )
    return n_all / seconds_all, rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    for name, default in (("frames", 2860), ("pixels", 350), ("candidates", 256), ("depth", 20), ("threads", 2)):
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
    grow(frames[:40], TrainConfig(depth=12, candidates=70, pixels_per_frame=350), 2, is_shown=False)
    part_set = frames[0].part_set
    blocks = [range(i, min(i + 32, len(frames))) for i in range(0, len(frames), 32)]
    pixels = [read_pixels(frames, block, 0, config, part_set) for block in blocks]
    whole = read_pixels(frames, range(min(len(frames), 700)), 0, config, part_set)
    bare = bare_rate(pixels, config)
    plain = plain_rate(whole, PLAIN_NODES, config, len(part_set))
    n = sum(map(len, pixels))
    print(f"{n} pixels of {len(frames)} frames, {config.candidates} candidates, {config.thresholds} thresholds; M/s =")
    print(f"million candidate evaluations a second. One thread: bare {bare / 1e6:.1f} M/s, plain {plain / 1e6:.1f} M/s")
    del pixels, whole
    rates: dict[int, float] = {}
    for threads in sorted({1, options.threads}):
        print(f"{threads} thread{'s' if threads > 1 else ''}:")
        rates[threads], levels = grow(frames, config, threads, is_shown=True, bare=bare)
        rate = rates[threads]
        print(
            f"  all levels {rate / 1e6:.1f} M/s: {rate / bare:.2f} of bare, {rate / plain:.1f} times plain; "
            f"slowest level {min(levels) / max(levels):.2f} of the fastest"
        )
    if len(rates) > 1:
        print(f"{options.threads} threads: {rates[options.threads] / rates[1]:.2f} times 1 thread")


if __name__ == "__main__":
    main()
