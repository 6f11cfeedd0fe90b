"""How long growing takes on 1 to 1,000 threads of a cluster: the model of docs/SCALING.md.

    python tools/scaling_model.py                     # the table of the page
    python tools/scaling_model.py --frames 80000 --pixels 165 --candidates 500 --threads 1,2,4

A level costs the longest of three: counting, messages and the scheduler's work. The numbers are those of
`training/distributed`: how many ranges, shards and bundles there are. Nodes are taken to halve at every level.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

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


def main() -> None:
    """Print a table for several numbers of threads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--pixels", type=int, default=2000)
    parser.add_argument("--candidates", type=int, default=2000)
    parser.add_argument("--depth", type=int, default=20)
    parser.add_argument("--trees", type=int, default=3)
    parser.add_argument("--threads", default="1,2,4,10,33,100,300,1000")
    asked = parser.parse_args()
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
