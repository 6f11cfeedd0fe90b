"""How long growing takes on 1 to 1,000 threads of a cluster: the model of docs/SCALING.md.

    python tools/scaling_model.py                     # the table of the page
    python tools/scaling_model.py --frames 80000 --pixels 165 --candidates 500 --threads 1,2,4
    python tools/scaling_model.py --measure 1,2,4     # the model beside clusters on this machine: processor times

A level costs the longest of three: counting, messages and the scheduler's work. The numbers are those of
`training/distributed`: how many ranges, shards and bundles there are. Nodes are taken to halve at every level.
"""

from __future__ import annotations

import argparse
import itertools
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from depthforest.cluster import FAN_IN
from depthforest.training.distributed.growing import MAX_RANGES, TABLE_BYTES
from depthforest.training.distributed.handing import BUNDLES_PER_THREAD


@dataclass(frozen=True)
class Setting:
    """A tree, a cluster, and what they can do.

    Parameters
    ----------
    frames, pixels, candidates, depth : int
        Of a tree; pixels of each frame.
    threads : int
        Of the cluster.
    rate : float
        Evaluations a second of a thread.
    bandwidth : float
        Bytes a second that a thread sends.
    task_seconds : float
        Of the scheduler, for each task.
    round_seconds : float
        Of one question and answer between client and workers.
    frame_seconds, crop_bytes : float
        To read a frame; of its people's crops.
    parts, bins : int
    """

    frames: int
    pixels: int
    candidates: int
    depth: int
    threads: int
    rate: float = 85e6
    bandwidth: float = 1e9
    task_seconds: float = 1.8e-3
    round_seconds: float = 0.05
    frame_seconds: float = 0.004
    crop_bytes: float = 20e3
    parts: int = 31
    bins: int = 51


@dataclass(frozen=True)
class Cost:
    """Seconds of one part of the work: counting, messages, the scheduler."""

    name: str
    counting: float
    messages: float
    n_tasks: float
    scheduler: float

    @property
    def seconds(self) -> float:
        """How long it takes: what goes on side by side counts once."""
        return max(self.counting, self.messages, self.scheduler)


def costs(s: Setting) -> Iterator[Cost]:
    """Yield the costs of reading, of every level, and of handing subtrees over."""
    n_pixels = s.frames * s.pixels

    def cost(name: str, counting: float, messages: float, n_tasks: float) -> Cost:
        return Cost(name, counting, messages, n_tasks, n_tasks * s.task_seconds)

    yield cost("reading", s.frames * s.frame_seconds / s.threads, 0, 2 * s.threads)
    n_bundles = BUNDLES_PER_THREAD * s.threads
    limit = n_pixels // (2 * n_bundles)
    is_handed = False
    for level in range(s.depth):
        counting = n_pixels * s.candidates / s.rate / s.threads
        n_nodes = 2**level
        if n_pixels / n_nodes <= limit:
            if not is_handed:
                is_handed = True
                # every bundle needs the crops of nearly all frames, or as many as it has pixels
                crops = min(s.frames, n_pixels / n_bundles) * s.crop_bytes * BUNDLES_PER_THREAD
                yield cost("handing over", 0, crops / s.bandwidth, (s.threads + 1) * n_bundles)
            told = min(n_nodes, n_pixels / 8) * (26 + 8 * s.parts) / s.bandwidth
            yield cost(f"level {level}", counting, told + s.round_seconds, 2 * n_bundles)
            continue
        tables = n_nodes * s.candidates * s.parts * s.bins * 2
        bins = n_pixels / s.threads * s.candidates
        sent = 0.0 if s.threads == 1 else min(tables, bins) / s.bandwidth
        n_ranges = max(min(s.threads, MAX_RANGES), n_nodes * s.candidates * s.parts * s.bins * 4 / TABLE_BYTES)
        n_tasks = s.threads * (2 + n_ranges * (1 + 1 / FAN_IN)) + n_ranges
        yield cost(f"level {level}", counting, sent + 2 * s.round_seconds, n_tasks)


# -- beside clusters here ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """What one run took on this machine.

    Parameters
    ----------
    workers : float
        Processor seconds of all workers.
    client : float
        Processor seconds of this process: client and scheduler.
    path : float
        Processor seconds of the longest of them at every level, summed: how long it takes on machines of their own.
    n_tasks : int
    others : float
        Share of this machine's processor time that went to other programs.
    seconds : float
        By the clock.
    """

    workers: float
    client: float
    path: float
    n_tasks: int
    others: float
    seconds: float


def measured(source: Any, config: Any, n_workers: int) -> Measured:
    """Grow a tree on a cluster of this machine, and measure processor times."""
    from distributed import Client, LocalCluster

    from depthforest.training import train

    options = {"n_workers": n_workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        # kernels are loaded, and every worker has imported everything
        train(source, replace(config, depth=6, candidates=20, pixels_per_frame=50), client=client)
        n_tasks, marks = 0, []
        submit = client.submit

        def counted(*arguments: Any, **keywords: Any) -> Any:
            nonlocal n_tasks
            n_tasks += 1
            return submit(*arguments, **keywords)

        def mark(*_: Any) -> None:
            own = client.run(time.process_time)
            marks.append((time.process_time(), *own.values()))

        client.submit = counted
        total, began = _processor_seconds(), time.perf_counter()
        mark()
        train(source, config, client=client, progress=lambda news: mark() if news.event == "level" else None)
        mark()
        seconds, total = time.perf_counter() - began, _processor_seconds() - total
        steps = [[b - a for a, b in zip(*pair, strict=True)] for pair in itertools.pairwise(marks)]
        client_seconds, worker_seconds = sum(step[0] for step in steps), sum(sum(step[1:]) for step in steps)
        path = sum(max(step) for step in steps)
    others = 1 - (client_seconds + worker_seconds) / total
    return Measured(worker_seconds, client_seconds, path, n_tasks, others, seconds)


def _processor_seconds() -> float:
    """Return the processor seconds that this machine has spent on all programs (Linux)."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    busy = sum(int(fields[i]) for i in (0, 1, 2, 5, 6, 7))
    return busy / os.sysconf("SC_CLK_TCK")


def measure(counts: list[int], asked: argparse.Namespace) -> None:
    """Print what the model says beside what clusters of this machine take."""
    from depthforest.training import TrainConfig, train
    from synth import Config, Generator, produce

    config = TrainConfig(
        trees=1, depth=asked.depth, candidates=asked.candidates, pixels_per_frame=asked.pixels, frames_per_tree=1.0
    )
    n_evaluations = 0
    with tempfile.TemporaryDirectory() as folder:
        made = Generator(Config(camera="kinect_v1@320x240", n_bodies=20), 5, n=asked.frames)
        source = produce(made, Path(folder) / "frames.zarr", asked.frames, kind="zarr")
        train(source, replace(config, depth=6, candidates=20, pixels_per_frame=50), threads=1)
        began = time.process_time()
        train(source, config, threads=1)
        alone = time.process_time() - began
        found = {n: measured(source, config, n) for n in counts}
    n_evaluations = asked.frames * asked.pixels * asked.candidates * asked.depth
    print(f"one process, one thread: {alone:.1f} s of a processor, {n_evaluations / alone / 1e6:.0f} M evaluations/s")
    print("workers  tasks  model  workers s  model  client s  model  path s  model  by the clock  others")
    for n, its in found.items():
        setting = Setting(asked.frames, asked.pixels, asked.candidates, asked.depth, n)
        parts = list(costs(setting))
        tasks = sum(cost.n_tasks for cost in parts)
        counting = n * sum(cost.counting for cost in parts)
        path = sum(max(cost.counting, cost.scheduler) for cost in parts)
        print(
            f"{n:7d}  {its.n_tasks:5d}  {tasks:5.0f}  {its.workers:9.1f}  {counting:5.1f}  {its.client:8.1f}  "
            f"{tasks * setting.task_seconds:5.1f}  {its.path:6.1f}  {path:5.1f}  {its.seconds:12.1f}  {its.others:6.0%}"
        )
        print(f"         {1000 * its.client / its.n_tasks:.2f} ms of client and scheduler for a task")


def main() -> None:
    """Print a table for several numbers of threads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--pixels", type=int, default=2000)
    parser.add_argument("--candidates", type=int, default=2000)
    parser.add_argument("--depth", type=int, default=20)
    parser.add_argument("--trees", type=int, default=3)
    parser.add_argument("--threads", default="1,2,4,10,33,100,300,1000")
    parser.add_argument("--measure", metavar="WORKERS", help="Numbers of workers with commas; small data by default.")
    asked = parser.parse_args()
    if asked.measure:
        measure([int(n) for n in asked.measure.split(",")], asked)
        return
    print("threads       hours  of it counting  messages  scheduler  efficiency")
    alone = 0.0
    for n in map(int, asked.threads.split(",")):
        found = list(costs(Setting(asked.frames, asked.pixels, asked.candidates, asked.depth, n)))
        whole = asked.trees * sum(cost.seconds for cost in found) / 3600
        alone = alone or whole * n
        names = ("counting", "messages", "scheduler")
        parts = [asked.trees * sum(getattr(cost, name) for cost in found) / 3600 for name in names]
        print(f"{n:7d}  {whole:10.2f}  {parts[0]:14.2f}  {parts[1]:8.2f}  {parts[2]:9.2f}  {alone / n / whole:10.0%}")


if __name__ == "__main__":
    main()
