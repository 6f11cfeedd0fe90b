"""Growing on a Dask cluster of one machine against the threads of one process: rates, and bytes that workers send.

    python benchmarks/dask_speed.py    # 1M pixels x 500 candidates x 20 levels, 2 workers of one thread
    python benchmarks/dask_speed.py --frames 300 --candidates 100 --depth 10 --workers 4

Both grow the same tree in one run, `--repeats` times in turns; the ratio of the best times counts. The last columns are
the bytes that workers sent each other, and what docs/SCALING.md expects.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
from pathlib import Path
from typing import Any

from depthforest.training import Progress, TrainConfig, train
from synth import Config, Generator, produce


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=3000)
    parser.add_argument("--pixels", type=int, default=350, help="of each frame")
    parser.add_argument("--candidates", type=int, default=500)
    parser.add_argument("--depth", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=2)
    return parser.parse_args()


def sent_bytes(client: Any) -> int:
    return sum(client.run(lambda dask_worker: int(dask_worker.transfer_outgoing_bytes_total)).values())


def digest(forest: Any) -> str:
    return hashlib.sha256(forest.offsets.tobytes() + forest.thresholds.tobytes() + forest.leaves.tobytes()).hexdigest()


def timed(source: Any, config: TrainConfig, **options: Any) -> tuple[float, str, list[Progress]]:
    levels: list[Progress] = []
    began = time.perf_counter()
    forest = train(source, config, progress=lambda news: levels.append(news), **options)
    return time.perf_counter() - began, digest(forest), [news for news in levels if news.event == "level"]


def main() -> None:
    asked = parsed()
    from distributed import Client, LocalCluster

    config = TrainConfig(
        trees=1, depth=asked.depth, candidates=asked.candidates, pixels_per_frame=asked.pixels, frames_per_tree=1.0
    )
    options = {"n_workers": asked.workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with tempfile.TemporaryDirectory() as folder, LocalCluster(**options) as cluster, Client(cluster) as client:
        made = Generator(Config(camera="kinect_v1@320x240", n_bodies=50), 5, n=asked.frames)
        source = produce(made, Path(folder) / "frames.zarr", asked.frames, kind="zarr")
        small = TrainConfig(trees=1, depth=3, candidates=20, pixels_per_frame=20)
        timed(source, small, threads=asked.workers)
        timed(source, small, client=client)  # everything is compiled
        began = time.perf_counter()
        client.gather(client.map(abs, range(2000), pure=False))
        task_ms = (time.perf_counter() - began) / 2
        best = {"threads": 1e9, "cluster": 1e9}
        for _ in range(asked.repeats):
            seconds, here, _ = timed(source, config, threads=asked.workers)
            best["threads"] = min(best["threads"], seconds)
            before = sent_bytes(client)
            sent: list[tuple[Progress, int]] = []

            def note(news: Progress, sent: list[tuple[Progress, int]] = sent) -> None:
                if news.event == "level":
                    sent.append((news, sent_bytes(client)))

            began = time.perf_counter()
            there = digest(train(source, config, client=client, progress=note))
            best["cluster"] = min(best["cluster"], time.perf_counter() - began)
            if here != there:
                raise SystemExit("the forests differ")
        print(f"{asked.workers} threads of one process: {best['threads']:.1f} s")
        ratio = best["threads"] / best["cluster"]
        print(f"{asked.workers} workers of one thread:  {best['cluster']:.1f} s, {ratio:.2f} of the rate")
        print(f"an empty task: {task_ms:.2f} ms")
        print("level  nodes     seconds  MB sent")
        for news, total in sent:
            print(f"{news.level:5d}  {news.n_nodes:8,d}  {news.seconds:7.2f}  {(total - before) / 1e6:7.2f}")
            before = total


if __name__ == "__main__":
    main()
