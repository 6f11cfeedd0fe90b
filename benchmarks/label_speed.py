"""Time labeling in frames per second, compared with the plain walk, scikit-learn's forest and memory latency.

Run `python benchmarks/label_speed.py [MODEL...]`: files of models, PCL's imported trees for example; without any, the
shipped one. One person, in frames of 320 x 240 and 640 x 480. Everything is compiled before it is timed; the variants
take turns, and the best turn of each counts.

  fast     Forest.label_many
  plain    the reference, one pixel at a time (Forest.predict), on the same threads
  sklearn  the responses to as many pairs of probes as the paper tries at a node, then scikit-learn's random forest of
           as many trees of the same depth on them
  chase    dependent reads in an array as large as the packed nodes: the cost of a step that waits for memory

`label_layouts.py` times other memory layouts of nodes, leaves and pixels.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import RandomForestClassifier

import depthforest as df
from depthforest.base import kernel, map_in_order, models_folder
from depthforest.forest.loading import DEFAULT_MODEL
from depthforest.frames import write_depth
from depthforest.labeling.packing import packed_forest
from depthforest.training.candidates import draw, root_key
from depthforest.trees import masked_depth, responses
from synth import Config, Generator

N_FRAMES = 12
POOL = 2000
"""Pairs of probes in scikit-learn's matrix: as many as Shotton et al. try at a node."""

SKLEARN_PIXELS = 4000
TURNS = 5


Frames = list[df.Frame]
Masks = list[npt.NDArray[np.bool_]]


@kernel
def _chase(links: npt.NDArray[np.int64], n: int) -> int:
    place = 0
    for _ in range(n):
        place = links[place]
    return place


def best(*works: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """Return the shortest time of each work, in turns."""
    for work in works:
        work()
    times = [[] for _ in works]  # type: list[list[float]]
    for _ in range(TURNS):
        for work, laps in zip(works, times, strict=True):
            start = clock()
            work()
            laps.append(clock() - start)
    return [min(laps) for laps in times]


def frames_of(camera: str) -> tuple[Frames, Masks]:
    """Return frames with one whole person each, and masks."""
    config = Config(camera=camera, n_bodies=6, people_shares=(1.0,), near_share=0.0, far_distance=(2.0, 3.0))
    frames = list(Generator(config, seed=2, n=N_FRAMES))
    return list(frames), [frame.people == 1 for frame in frames]


def sklearn_seconds(forest: df.Forest, frames: Frames, masks: Masks) -> float:
    """Return the seconds of one frame through a matrix of responses and scikit-learn."""
    probes = draw(root_key(2, 0), 0, POOL, df.TrainConfig()).meters[0].T
    rng = np.random.default_rng(0)

    def matrix(i: int, n: int | None = None) -> npt.NDArray[np.float32]:
        depth = masked_depth(frames[i], masks[i])
        pixels = np.argwhere(depth > 0)
        if n is not None:
            pixels = pixels[rng.permutation(len(pixels))[:n]]
        return responses(depth, pixels, probes, frames[i].camera).astype(np.float32)

    train = np.concatenate([matrix(i, SKLEARN_PIXELS // 4) for i in range(4)])
    judge = RandomForestClassifier(forest.n_trees, max_depth=20, max_features=40, n_jobs=1, random_state=0)
    judge.fit(train, rng.integers(0, 31, len(train)))  # random labels give full trees
    start = time.perf_counter()
    judge.predict_proba(matrix(5))
    return time.perf_counter() - start


def label_all(forest: df.Forest, frames: Frames, masks: Masks, threads: int, mirror: bool) -> None:
    for _ in forest.label_many(frames, masks, threads=threads, mirror=mirror):
        pass


def walk_all(forest: df.Forest, frames: Frames, masks: Masks, threads: int) -> None:
    pairs = zip(frames, masks, strict=True)
    for _ in map_in_order(lambda pair: forest.predict(*pair, mirror=False), pairs, threads=threads):
        pass


def report(name: str, forest: df.Forest, threads: list[int]) -> None:
    packed = packed_forest(forest)
    print(f"\n{name}: {forest}, {packed.n_bytes / 2**20:.1f} MB of nodes in rows of {packed.values.itemsize * 8} bytes")
    for camera in ("kinect_v1@320x240", "kinect_v1"):
        frames, masks = frames_of(camera)
        n_pixels = np.mean([(masked_depth(f, m) > 0).sum() for f, m in zip(frames, masks, strict=True)])
        print(f"  {frames[0].shape[1]} x {frames[0].shape[0]}, one person of {n_pixels:,.0f} pixels; frames/s:")
        for n in threads:
            seconds, mirrored, slow = best(
                partial(label_all, forest, frames, masks, n, False),
                partial(label_all, forest, frames, masks, n, True),
                partial(walk_all, forest, frames, masks, n),
            )
            rates = [len(frames) / each for each in (seconds, mirrored, slow)]
            print(
                f"    {n} thread{'s' if n > 1 else ' '}: fast {rates[0]:6.1f}, mirrored {rates[1]:6.1f}, plain "
                f"{rates[2]:6.1f}; fast is {slow / seconds:.1f} times plain"
            )
            if n == 1:
                one = seconds / len(frames)
    sklearn = sklearn_seconds(forest, frames, masks)
    print(f"    sklearn, 1 thread: {1 / sklearn:.2f} frames/s; fast is {sklearn / one:.0f} times that")
    rng = np.random.default_rng(0)
    order = rng.permutation(packed.n_bytes // 64)
    links = np.zeros(8 * len(order), dtype=np.int64)
    links[8 * order] = 8 * np.roll(order, -1)
    n_reads = 1_000_000
    (chase,) = best(lambda: _chase(links, n_reads))
    steps = n_pixels * forest.n_trees * forest.depth
    print(
        f"    chase: {1e9 * chase / n_reads:.1f} ns a read; a step of fast takes {1e9 * one / steps:.1f} ns "
        f"(at most {forest.depth} a tree)"
    )


FIRST = """
import sys, time
start = time.perf_counter()
import depthforest as df
forest = df.load(sys.argv[1])
loaded = time.perf_counter()
frame = df.read_depth(sys.argv[2], camera="kinect_v1")
forest.label(frame)
print(loaded - start, time.perf_counter() - start)
"""


def first_label(model: Path) -> None:
    """Print how long a new process takes to its first label, with kernels compiled before."""
    frames, masks = frames_of("kinect_v1")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "frame.png"
        write_depth(path, np.where(masks[0], frames[0].depth_mm, np.uint16(0)))
        laps = []
        for _ in range(4):
            command = [sys.executable, "-c", FIRST, str(model), str(path)]
            start = time.perf_counter()
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            laps.append((time.perf_counter() - start, *map(float, done.stdout.split())))
    whole, loaded, labeled = min(laps[1:])
    print(
        f"  first label in a new process: {whole:.2f} s in all; import and model {loaded:.2f} s, frame and labels "
        f"{labeled - loaded:.2f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    options: Any = parser.parse_args()
    for path in options.models or [models_folder() / f"{DEFAULT_MODEL}.safetensors"]:
        report(path.stem, df.load(path), options.threads)
        first_label(path)


if __name__ == "__main__":
    main()
