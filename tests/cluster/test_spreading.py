"""Work on a cluster: the same results in the same order, and bad days in one line each."""

import hashlib
import os
import threading
import time

import pytest
from support.bounded import local_cluster
from support.command import run_here
from support.striped import striped_frames

from depthforest.base.errors import UsageError
from depthforest.cluster import crew as crew_module
from depthforest.cluster.connecting import connect
from depthforest.cluster.crew import ClusterError, Crew
from depthforest.cluster.spreading import spread, using
from depthforest.evaluation.judging import evaluate
from depthforest.io.datasets import open_dataset, write_dataset
from depthforest.training.config import TrainConfig
from depthforest.training.run import train
from synth.config import Config
from synth.generator import Generator
from synth.production import produce

distributed = pytest.importorskip("distributed", reason="needs the extra dask")


@pytest.fixture(scope="module")
def client():
    with local_cluster(n_workers=2) as (_, made):
        yield made


def squared(number):
    return number * number


def test_results_come_in_order_on_threads_and_on_a_cluster(client):
    expected = [n * n for n in range(100)]
    assert list(spread(squared, range(100))) == expected
    with using(client):
        assert list(spread(squared, range(100))) == expected
        assert list(spread(lambda n: n * n, iter(range(5)), block=1)) == expected[:5]
        assert list(spread(squared, [])) == []


def test_an_error_of_ours_comes_back_as_it_was_with_its_worker(client):
    def refuse(number):
        raise UsageError(f"frame {number} is odd")

    with using(client), pytest.raises(UsageError, match=r"frame 3 is odd \(on worker inproc://"):
        list(spread(refuse, [3]))


def test_a_task_that_fails_three_times_is_told(client, tmp_path):
    def fail(number):
        (tmp_path / f"{number}-{os.urandom(4).hex()}").touch()
        return 1 / number

    with using(client), pytest.raises(ClusterError, match="a task failed 3 times: ZeroDivisionError: division by zero"):
        list(spread(fail, [0]))
    assert len(list(tmp_path.iterdir())) == 3


def test_too_little_memory_is_told(client):
    def fill(_number):
        raise MemoryError

    with using(client), pytest.raises(ClusterError, match=r"too little memory .* start workers with more memory"):
        list(spread(fill, [0]))


def test_a_worker_of_another_version_is_told(client, monkeypatch):
    monkeypatch.setattr(crew_module, "own_versions", lambda: {"depthforest": "9.9", "numba": "0.1"})
    there = {"depthforest": "0.0.1", "numba": "0.1"}
    monkeypatch.setattr(client, "run", lambda _function, on_error: {"tcp://there": there})  # noqa: ARG005
    with pytest.raises(ClusterError, match=r"worker tcp://there has depthforest 0.0.1 instead of 9.9; results would"):
        Crew(client).wait_for_workers()
    missing = {"tcp://gone": OSError("lost"), "tcp://bare": ModuleNotFoundError("No module named 'depthforest'")}
    monkeypatch.setattr(client, "run", lambda _function, on_error: missing)  # noqa: ARG005
    with pytest.raises(ClusterError, match=r"worker tcp://bare lacks what is needed .*: install depthforest there"):
        Crew(client).wait_for_workers()
    with pytest.raises(ClusterError, match=r"a worker has numba 0.1 instead of 7; results would differ"):
        crew_module.checked({"numba": "7"}, squared, 3)


def test_nobody_at_an_address_is_told(tmp_path):
    with (
        pytest.raises(ClusterError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9 "),
        connect("tcp://127.0.0.1:9", timeout=0.5),
    ):
        pass
    with pytest.raises(ClusterError, match="there is no such scheduler file"), connect(str(tmp_path / "none.json")):
        pass
    refused = run_here("train", "-o", tmp_path / "m.safetensors", "--dask", tmp_path / "none.json", "--frames", 2)
    assert refused.returncode == 1
    assert b"there is no such scheduler file" in refused.stderr


def test_a_cluster_without_workers_is_told():
    with local_cluster(n_workers=0) as (_, alone):
        with pytest.raises(ClusterError, match="has had no worker for 0 s; start some"):
            Crew(alone, patience=0.1).wait_for_workers()
        crew = Crew(alone, patience=0.1)
        with pytest.raises(ClusterError, match="has had no worker for 0 s"):
            crew.result(crew.submit(squared, 3))


def test_workers_that_are_paused_for_memory_are_told():
    """A worker in this process counts all of its memory: 1 MiB is full at once."""
    with local_cluster(n_workers=1, memory_limit="1 MiB") as (_, full):
        for _ in range(600):
            if any(its["status"] == "paused" for its in full.scheduler_info()["workers"].values()):
                break
            time.sleep(0.05)
        crew = Crew(full, patience=0.3)
        with pytest.raises(ClusterError, match="all workers have been paused for 0 s, because their memory is full"):
            crew.result(crew.submit(squared, 3))


def test_a_cluster_that_goes_is_told():
    with local_cluster(n_workers=1) as (cluster, doomed):
        crew = Crew(doomed, patience=1)
        future = crew.submit(time.sleep, 1)
        closing = threading.Timer(0.2, cluster.close, (60,))
        closing.start()
        with pytest.raises(ClusterError, match="the cluster has gone"):
            crew.result(future)
        closing.join(60)
        with pytest.raises(ClusterError, match="the cluster has gone"):
            crew.submit(squared, 3)


def test_something_else_than_a_client_is_refused():
    with pytest.raises(ClusterError, match=r"client must be a dask.distributed.Client, got str"):
        Crew("tcp://here")


def test_workers_write_one_store(client, tmp_path):
    pytest.importorskip("zarr", reason="needs the extra zarr")
    generator = Generator(Config(camera="kinect_v1@80x60", n_bodies=2, n_poses=64), seed=4, n=70)
    plain = produce(generator, tmp_path / "plain.zarr", 70, kind="zarr")
    with using(client):
        spread_out = produce(generator, tmp_path / "spread.zarr", 70, kind="zarr")
    digests = [hashlib.sha256(frame.depth_mm.tobytes() + frame.parts.tobytes()).digest() for frame in plain]
    assert digests == [hashlib.sha256(f.depth_mm.tobytes() + f.parts.tobytes()).digest() for f in spread_out]


def test_evaluation_on_a_cluster_gives_the_same_figures(client, tmp_path):
    write_dataset(tmp_path / "data", striped_frames(6))
    data = open_dataset(tmp_path / "data")
    forest = train(data, TrainConfig(trees=1, depth=4, candidates=10, pixels_per_frame=100, frames_per_tree=0.5))
    here = evaluate(forest, data, timed_frames=0)
    with using(client):
        there = evaluate(forest, data, timed_frames=0)
    assert here.to_dict() == there.to_dict()
