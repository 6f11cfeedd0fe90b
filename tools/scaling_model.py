"""The time of growing on 1 to 1,000 threads of a cluster: the model of docs/SCALING.md.

    python tools/scaling_model.py                     # the table of the page
    python tools/scaling_model.py --frames 80000 --pixels 165 --candidates 500 --threads 1,2,4

A level costs the longest of three: counting, messages and the scheduler's work. The numbers of groups, questions and
bundles come from `training/distributed` itself. Nodes are assumed to halve at every level.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from depthforest.cluster import FAN_IN
from depthforest.training.distributed.handing import Pixelware, questions


@dataclass(frozen=True)
class Setting:
    """A tree, a cluster, and their rates.

    Parameters
    ----------
    frames, pixels, candidates, depth : int
        Sizes of a tree; `pixels` per frame.
    threads : int
        Threads of the cluster.
    cores : int, optional
        Cores of the machines. Default: one per thread.
    memory : float
        Bytes per thread.
    rate : float
        Evaluations per second on a core.
    bandwidth : float
        Bytes per second that a thread sends.
    task_seconds : float
        Scheduler time per task.
    round_seconds : float
        Time of one question and answer between client and workers.
    frame_seconds, crop_bytes : float
        Time to read a frame; bytes of its people's crops.
    parts, bins : int
    """

    frames: int
    pixels: int
    candidates: int
    depth: int
    threads: int
    cores: int | None = None
    memory: float = 4e9
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
    """Seconds of one part of the work: counting, messages, the scheduler; and the numbers of bytes and tasks."""

    name: str
    counting: float
    messages: float
    scheduler: float
    n_bytes: float
    n_tasks: float

    @property
    def seconds(self) -> float:
        """Total time: parallel work counts once."""
        return max(self.counting, self.messages, self.scheduler)


def n_adding(n: int) -> int:
    """Return the tasks that add n results, `FAN_IN` at a time, to one."""
    count = 0
    while n > 1:
        n = -(-n // FAN_IN)
        count += n
    return count


def costs(s: Setting) -> Iterator[Cost]:
    """Yield the costs of reading and of every level, including dividing and handing over."""
    n_pixels, n_shards, cells = s.frames * s.pixels, min(s.threads, s.frames), s.parts * s.bins
    cores = s.threads if s.cores is None else min(s.cores, s.threads)
    ware = Pixelware(n_pixels, s.frames, s.crop_bytes, s.threads, int(s.memory))

    def cost(name: str, counting: float, n_bytes: float, rounds: int, n_tasks: float) -> Cost:
        """Return a cost; bytes are those of all threads, and each thread's share goes to the others."""
        sent = n_bytes * (1 - 1 / s.threads)
        messages = sent / s.threads / s.bandwidth + rounds * s.round_seconds
        return Cost(name, counting / cores, messages, n_tasks * s.task_seconds, sent, n_tasks)

    yield cost("reading", s.frames * s.frame_seconds, 0, 1, 2 * n_shards + n_adding(n_shards))
    n_groups, of_group, is_handed = 1, n_shards, False
    for level in range(s.depth):
        n_nodes, n_tasks, n_bytes = 2**level, 0.0, 0.0
        counting = n_pixels * s.candidates / s.rate
        if not is_handed:
            n_tasks += 1 + 2 * n_groups * of_group + n_groups * n_adding(of_group)
            n_bytes += n_groups * of_group * (n_nodes / n_groups) * s.parts * 8
            while (n := ware.n_groups(of_group, n_shards, n_nodes // n_groups)) > 1:
                n_tasks += n_groups * of_group * n + n_groups * n * round(of_group / n)
                n_groups, of_group = n_groups * n, round(of_group / n)
                n_bytes += n_groups * min(s.frames, n_pixels / n_groups) * s.crop_bytes
        if not is_handed and n_pixels / n_nodes > ware.limit:
            totals = np.full(n_nodes // n_groups, n_pixels // n_nodes)
            asked = questions(totals, s.candidates, cells, of_group, ware.table_bytes)
            adding = n_adding(-(-of_group // FAN_IN)) + -(-of_group // FAN_IN) if of_group > FAN_IN else 0
            n_tasks += n_groups * len(asked) * (of_group + max(1, adding))
            # for each shard and node, the smaller of a 16-bit table and the bins of its pixels
            of_node = min(2.0 * cells, n_pixels / n_nodes / of_group)
            n_bytes += n_nodes * s.candidates * of_group * of_node
            yield cost(f"level {level}", counting, n_bytes, 2, n_tasks)
            continue
        n_bundles = ware.n_bundles
        if not is_handed:
            is_handed = True
            n_tasks += n_bundles * (of_group + 1)
            n_bytes += n_bundles * min(s.frames, n_pixels / n_bundles) * s.crop_bytes
        n_bytes += min(n_nodes, n_pixels / 8) * (26 + 8 * s.parts)
        yield cost(f"level {level}", counting, n_bytes, 1, n_tasks + 2 * n_bundles)


def main() -> None:
    """Print a table for several numbers of threads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--pixels", type=int, default=2000)
    parser.add_argument("--candidates", type=int, default=2000)
    parser.add_argument("--depth", type=int, default=20)
    parser.add_argument("--trees", type=int, default=3)
    parser.add_argument("--threads", default="1,2,4,10,33,100,200,300,400,600,1000,2000")
    parser.add_argument("--memory", type=float, default=4e9, help="bytes of a thread")
    parser.add_argument("--levels", action="store_true", help="also list the levels")
    asked = parser.parse_args()
    print("threads       hours  of it counting  messages  scheduler  efficiency")
    alone = 0.0
    for n in map(int, asked.threads.split(",")):
        setting = Setting(asked.frames, asked.pixels, asked.candidates, asked.depth, n, memory=asked.memory)
        found = list(costs(setting))
        whole = asked.trees * sum(cost.seconds for cost in found) / 3600
        alone = alone or whole * n
        names = ("counting", "messages", "scheduler")
        parts = [asked.trees * sum(getattr(cost, name) for cost in found) / 3600 for name in names]
        print(f"{n:7d}  {whole:10.2f}  {parts[0]:14.2f}  {parts[1]:8.2f}  {parts[2]:9.2f}  {alone / n / whole:10.0%}")
        for cost in found if asked.levels else ():
            shown = f"{cost.name:9s} {cost.seconds:9.2f} s, of it counting {cost.counting:9.2f}"
            print(f"    {shown}, {cost.n_bytes / 1e6:12,.1f} MB, {cost.n_tasks:10,.0f} tasks")


if __name__ == "__main__":
    main()
