"""Growing on a Dask cluster of one machine against threads of one process and the model of docs/SCALING.md.

    python benchmarks/dask_speed.py    # 1M pixels x 500 candidates x 20 levels; 1, 2 and 4 workers of one thread
    python benchmarks/dask_speed.py --frames 300 --candidates 100 --depth 10 --workers 2
    python benchmarks/dask_speed.py --data frames.zarr    # make the frames once, and keep them

All grow the same tree in one run, `--repeats` times, threads and cluster in turns; the best time of each counts. There
are as many threads as workers, but no more than cores. The model uses the rate of these threads and the task time of
this cluster, so it predicts the overhead of the cluster. Processor time is that of the client, the scheduler and the
workers; divided by the wall time, it is the number of cores that they had.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from depthforest.training import Progress, TrainConfig, train
from synth import Config, Generator, produce

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from scaling_model import Setting, costs

EMPTY_TASKS = 1000


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=3000)
    parser.add_argument("--pixels", type=int, default=350, help="of each frame")
    parser.add_argument("--candidates", type=int, default=500)
    parser.add_argument("--depth", type=int, default=20)
    parser.add_argument("--workers", default="1,2,4", help="of one thread each; several clusters one after the other")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--data", type=Path, help="Zarr store to keep the frames in")
    return parser.parse_args()


@dataclass
class Grown:
    """A tree, its wall time and processor time, and the seconds, sent bytes and tasks of each of its levels."""

    digest: str
    seconds: float
    processor_seconds: float
    levels: list[tuple[Progress, int, int]]

    @property
    def level_seconds(self) -> float:
        """Without reading."""
        return sum(news.seconds for news, _, _ in self.levels)


class Counted:
    """A client of a cluster whose tasks are counted, and the bytes that its workers have sent each other."""

    def __init__(self, client: Any) -> None:
        self._client, self.n_tasks = client, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def submit(self, *arguments: Any, **options: Any) -> Any:
        """Count a task."""
        self.n_tasks += 1
        return self._client.submit(*arguments, **options)

    def n_bytes(self) -> int:
        """Return the bytes that workers have sent."""
        return sum(self._client.run(lambda dask_worker: int(dask_worker.transfer_outgoing_bytes_total)).values())

    def processor_seconds(self) -> float:
        """Return the processor time of the workers until now."""
        return float(sum(self._client.run(time.process_time).values()))


def grown(source: Any, config: TrainConfig, *, client: Counted | None = None, threads: int | None = None) -> Grown:
    levels: list[tuple[Progress, int, int]] = []
    n_bytes, n_tasks = (client.n_bytes(), client.n_tasks) if client else (0, 0)

    def note(news: Progress) -> None:
        nonlocal n_bytes, n_tasks
        if news.event not in ("level", "reading"):
            return
        now = (client.n_bytes(), client.n_tasks) if client else (0, 0)
        if news.event == "level":
            levels.append((news, now[0] - n_bytes, now[1] - n_tasks))
        n_bytes, n_tasks = now

    def processor_seconds() -> float:
        return time.process_time() + (client.processor_seconds() if client else 0)

    spent, began = processor_seconds(), time.perf_counter()
    forest = train(source, config, progress=note, client=client, threads=threads)
    seconds = time.perf_counter() - began
    spent = processor_seconds() - spent
    columns = (forest.offsets, forest.thresholds, forest.children, forest.leaves)
    return Grown(hashlib.sha256(b"".join(column.tobytes() for column in columns)).hexdigest(), seconds, spent, levels)


def task_seconds(client: Any) -> float:
    began = time.perf_counter()
    client.gather(client.map(abs, range(EMPTY_TASKS), pure=False))
    return (time.perf_counter() - began) / EMPTY_TASKS


def main() -> None:
    asked = parsed()
    from distributed import Client, LocalCluster

    config = TrainConfig(
        trees=1, depth=asked.depth, candidates=asked.candidates, pixels_per_frame=asked.pixels, frames_per_tree=1.0
    )
    small = TrainConfig(trees=1, depth=3, candidates=20, pixels_per_frame=20)
    n_cores = os.cpu_count() or 1
    by_threads: dict[int, Grown] = {}
    with tempfile.TemporaryDirectory() as folder:
        made = Generator(Config(camera="kinect_v1@320x240", n_bodies=50), 5, n=asked.frames)
        path = Path(folder) / "frames.zarr" if asked.data is None else asked.data
        source = produce(made, path, asked.frames, kind="zarr")
        n_frames = len(source)  # of a store that is there, all
        n_evaluations = n_frames * asked.pixels * asked.candidates * asked.depth
        for n in map(int, asked.workers.split(",")):
            n_threads = min(n, n_cores)
            with (
                LocalCluster(n_workers=n, threads_per_worker=1, dashboard_address=":0") as cluster,
                Client(cluster) as own,
            ):
                client = Counted(own)
                grown(source, small, threads=n_threads)
                grown(source, small, client=client)  # everything is compiled
                its_task_seconds = task_seconds(own)
                runs = []
                for _ in range(asked.repeats):
                    here = grown(source, config, threads=n_threads)
                    by_threads[n_threads] = min(by_threads.get(n_threads, here), here, key=lambda it: it.seconds)
                    runs.append(grown(source, config, client=client))
                memory = min(its["memory_limit"] for its in own.scheduler_info()["workers"].values())
            there, here = min(runs, key=lambda it: it.seconds), by_threads[n_threads]
            if {one.digest for one in runs} != {here.digest}:
                raise SystemExit("the forests differ")
            rate = n_evaluations / here.level_seconds / n_threads
            frame_seconds = (here.seconds - here.level_seconds) * n_threads / n_frames
            setting = Setting(
                n_frames, asked.pixels, asked.candidates, asked.depth, n, n_cores, memory, rate,
                task_seconds=its_task_seconds, frame_seconds=frame_seconds,
            )  # fmt: skip
            model = list(costs(setting))
            print(f"{n} workers: {_shown(there)}, {here.seconds / there.seconds:.2f} of the rate of")
            print(f"{n_threads} threads of one process: {_shown(here)}, {rate / 1e6:.0f} M evaluations/s a thread")
            print(f"the model: {sum(cost.seconds for cost in model):.1f} s; a task: {its_task_seconds * 1e3:.2f} ms")
            print(f"reading: {there.seconds - there.level_seconds:.2f} s, model {model[0].seconds:.2f}")
            print("level     nodes  seconds  threads    model   MB sent    model  tasks  model")
            for (news, n_bytes, n_tasks), (alone, _, _), cost in zip(
                there.levels, here.levels, model[1:], strict=False
            ):
                print(
                    f"{news.level:5d} {news.n_nodes:9,d} {news.seconds:8.2f} {alone.seconds:8.2f} {cost.seconds:8.2f} "
                    f"{n_bytes / 1e6:9.2f} {cost.n_bytes / 1e6:8.2f} {n_tasks:6d} {cost.n_tasks:6.0f}",
                    flush=True,
                )


def _shown(tree: Grown) -> str:
    share = tree.processor_seconds / tree.seconds
    return f"{tree.seconds:.1f} s, {tree.processor_seconds:.1f} s of processors ({share:.2f} at a time)"


if __name__ == "__main__":
    main()
