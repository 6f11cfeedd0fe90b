"""Growing on a cluster: the same bytes as on one machine."""

import hashlib
import logging
import os
import shutil
import signal
import threading
import time

import numpy as np
import pytest
from support.bounded import SECONDS, local_cluster
from support.striped import striped_frames

from depthforest.base.errors import DatasetError, UsageError
from depthforest.cluster.crew import ClusterError
from depthforest.io.datasets import open_dataset, write_dataset
from depthforest.training.config import TrainConfig
from depthforest.training.distributed import growing, handing, tasks
from depthforest.training.run import train
from depthforest.training.sampling import read_pixels

distributed = pytest.importorskip("distributed", reason="needs the extra dask")

CONFIG = TrainConfig(trees=2, depth=8, candidates=24, thresholds=9, pixels_per_frame=150, frames_per_tree=0.7, seed=3)


def digest(forest, tmp_path):
    forest.save(tmp_path / "model.safetensors")
    return hashlib.sha256((tmp_path / "model.safetensors").read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("striped") / "data"
    write_dataset(path, striped_frames(12, seed=1))
    return open_dataset(path)


@pytest.fixture(scope="module")
def client():
    with local_cluster(n_workers=2) as (_, made):
        yield made


@pytest.fixture(scope="module")
def local(data, tmp_path_factory):
    return digest(train(data, CONFIG), tmp_path_factory.mktemp("local"))


@pytest.mark.parametrize("shards", [None, 1, 11])
def test_a_cluster_gives_the_same_bytes(data, client, local, shards, tmp_path):
    assert digest(train(data, CONFIG, client=client, shards=shards), tmp_path) == local


@pytest.mark.parametrize("limit", [1, 10**9])
def test_bytes_are_the_same_whether_subtrees_are_handed_over_late_or_at_once(
    data, client, local, limit, tmp_path, monkeypatch
):
    monkeypatch.setattr(handing.Pixelware, "limit", limit)
    assert digest(train(data, CONFIG, client=client), tmp_path) == local


@pytest.mark.parametrize("limit", [1, 150])
def test_bytes_are_the_same_when_nodes_are_divided_among_groups(data, client, local, limit, tmp_path, monkeypatch):
    monkeypatch.setattr(handing.Pixelware, "limit", limit)
    monkeypatch.setattr(handing, "GROUP_SHARDS", 1)
    monkeypatch.setattr(handing, "GROUP_NODES", 1)
    monkeypatch.setattr(handing, "MOST_GROUPS", 2)
    divided, real = [], growing.ClusterGrower._divided

    def noted(self, group, counts, tree):
        found = real(self, group, counts, tree)
        assert np.array_equal(np.concatenate([part.nodes for part, _ in found]), group.nodes)
        divided.append((len(group.shards), [len(part.shards) for part, _ in found]))
        return found

    monkeypatch.setattr(growing.ClusterGrower, "_divided", noted)
    assert digest(train(data, CONFIG, client=client, shards=8), tmp_path) == local
    assert any(n == 8 and len(sizes) > 1 and sum(sizes) >= 7 for n, sizes in divided), divided
    assert any(n < 8 for n, _ in divided)


def test_bytes_are_the_same_for_small_messages_and_frames_that_are_read_again(
    data, client, local, tmp_path, monkeypatch
):
    monkeypatch.setattr(handing, "TABLE_BYTES", 2000)
    monkeypatch.setattr(tasks, "BIN_BYTES", 3000)
    monkeypatch.setattr(handing, "KEEP_SHARE", 0.0)
    monkeypatch.setattr(growing, "FAN_IN", 2)
    monkeypatch.setattr(handing.Pixelware, "limit", 100)
    notes = []
    forest = train(data, CONFIG, client=client, shards=5, progress=lambda news: notes.append(str(news)))
    assert digest(forest, tmp_path) == local
    assert any("more than workers keep, so frames are read again" in note for note in notes)


class Stop(Exception):  # noqa: N818
    pass


@pytest.mark.parametrize("first_on_cluster", [True, False])
def test_a_checkpoint_goes_on_where_the_other_engine_stopped(data, client, local, first_on_cluster, tmp_path):
    def stop(news):
        if news.event == "level" and (news.tree, news.level) == (1, 3):
            raise Stop

    engines = [client, None] if first_on_cluster else [None, client]
    with pytest.raises(Stop):
        train(data, CONFIG, client=engines[0], checkpoint=tmp_path / "kept", progress=stop)
    forest = train(data, CONFIG, client=engines[1], checkpoint=tmp_path / "kept", resume=True)
    assert digest(forest, tmp_path) == local


def test_frames_that_workers_cannot_open_are_refused(client):
    with pytest.raises(UsageError, match="give a data set that workers can open by its path"):
        train(striped_frames(400), CONFIG, client=client)


def test_a_path_that_workers_do_not_see_is_told(data, client, tmp_path, monkeypatch):
    write_dataset(tmp_path / "elsewhere", striped_frames(1))
    unseen = tasks.Origin.of(open_dataset(tmp_path / "elsewhere"), CONFIG, data.part_set)
    shutil.rmtree(tmp_path / "elsewhere")
    monkeypatch.setattr(tasks.Origin, "of", lambda *_: unseen)
    with pytest.raises(DatasetError, match=r"is not a folder; .* \(on worker inproc://"):
        train(data, CONFIG, client=client)


def test_some_pixels_come_with_the_crops_that_they_need(data):
    pixels = read_pixels(data, range(4), 0, CONFIG, data.part_set)
    is_chosen = np.arange(len(pixels)) % 7 == 3
    few = pixels.some(is_chosen)
    assert few.depth.size <= pixels.depth.size
    for new, old in enumerate(np.flatnonzero(is_chosen)):
        size = int(np.prod(pixels.shapes[old]))
        mine, theirs = int(few.starts[new]), int(pixels.starts[old])
        assert np.array_equal(few.depth[mine : mine + size], pixels.depth[theirs : theirs + size])
    assert few.some(np.ones(len(few), dtype=np.bool_)).n_bytes == few.n_bytes


def test_narrow_counts_hold_what_they_must():
    for most, dtype in ((255, np.uint8), (256, np.uint16), (65_535, np.uint16), (65_536, np.int32)):
        tables = np.array([0, most], dtype=np.int32)
        assert tasks.narrow(tables).dtype == dtype
        assert np.array_equal(tasks.narrow(tables), tables)


def test_bundles_and_groups_fit_the_memory():
    def ware(memory_bytes, n_threads=100):
        return handing.Pixelware(2_000_000, 1000, 20_000.0, n_threads, memory_bytes)  # 20 MB of crops

    assert ware(None).n_bundles == ware(10**9).n_bundles == 400
    assert ware(125 * 10**6).n_bundles == 200  # two for each thread take 40 MB of its 50
    assert ware(49 * 10**6).n_bundles == ware(49 * 10**6).limit == 0  # one would take 20 of 19.6
    assert ware(50 * 10**6).limit == 2_000_000 // 100 // 2
    for memory, n in ((None, 8), (10**9, 8), (10**6, 1), (2 * 10**6, 3)):
        assert ware(memory).n_groups(100, 100, 1000) == n
    assert ware(None).n_groups(15, 100, 1000) == 1
    assert ware(None).n_groups(16, 100, 7) == 1
    assert ware(None).n_groups(16, 100, 8) == 2


def test_questions_hold_every_node_and_candidate_once_and_fit():
    totals, cells = np.array([5000, 10, 300, 70_000, 1, 1, 900]), 310
    costs = np.where(handing.is_dense(totals, cells), 4 * cells, totals)
    seen = np.zeros((len(totals), 100), dtype=np.int64)
    asked = handing.questions(totals, 100, cells, 3, 80_000)
    for some, first, last in asked:
        seen[some, first:last] += 1
        assert last - first == 1 or costs[some].sum() * (last - first) <= 80_000
    assert (seen == 1).all()
    assert len({some.start for some, _, _ in asked}) > 1


def test_bundles_hold_every_node_once_in_order():
    nodes, totals = np.arange(3, 13), np.array([5, 1, 1, 9, 30, 2, 2, 2, 2, 2])
    packed = handing.pack(nodes, totals, 10)
    assert np.array_equal(np.concatenate(packed), nodes)
    assert len(packed) > 2
    assert handing.pack(nodes[:0], totals[:0], 10) == []


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_bytes_are_the_same_after_a_kill_in_the_middle_of_a_level_and_with_a_late_joiner(
    data, local, n_workers, tmp_path
):
    """Workers are processes; one dies by SIGKILL, its nanny starts it again, and another joins later."""
    killed = []

    def disturb(news):
        if news.event != "level" or news.tree > 0:
            return
        if news.level == 1:
            pid = min(cluster_client.run(os.getpid).values())
            killed.append(pid)
            threading.Timer(0.05, os.kill, (pid, signal.SIGKILL)).start()
        if news.level == 3:
            cluster.scale(n_workers + 1)

    with local_cluster(n_workers=n_workers, processes=True) as (cluster, cluster_client):
        forest = train(data, CONFIG, client=cluster_client, progress=disturb, shards=2 * n_workers)
        assert killed[0] not in cluster_client.run(os.getpid).values()
    assert digest(forest, tmp_path) == local


def _take_memory():
    """Take memory, beside all tasks, until the nanny ends this worker."""

    def take():
        taken = []
        while True:
            taken.append(bytearray(b"x") * 2**24)
            time.sleep(0.01)

    threading.Thread(target=take, daemon=True).start()


@pytest.mark.slow
def test_bytes_are_the_same_after_a_nanny_restarts_a_worker_for_memory(data, local, tmp_path):
    said, killed = [], []

    class Ear(logging.Handler):
        def emit(self, record):
            said.append(record.getMessage())

    def disturb(news):
        if news.event == "level" and (news.tree, news.level) == (0, 1):
            address, pid = sorted(cluster_client.run(os.getpid).items())[0]
            killed.append(pid)
            cluster_client.run(_take_memory, workers=[address])

    ear, nanny = Ear(), logging.getLogger("distributed.nanny.memory")
    nanny.addHandler(ear)
    try:
        with local_cluster(n_workers=2, processes=True, memory_limit="1.5 GiB") as (_, cluster_client):
            forest = train(data, CONFIG, client=cluster_client, progress=disturb)
            # a tree this small may be grown before the worker has taken all
            ends = time.monotonic() + SECONDS
            while killed[0] in cluster_client.run(os.getpid, on_error="ignore").values():
                assert time.monotonic() < ends, "the worker still lives"
                time.sleep(0.1)
            again = train(data, CONFIG, client=cluster_client)
    finally:
        nanny.removeHandler(ear)
    assert any("memory budget" in line and "Restarting" in line for line in said), said
    assert digest(forest, tmp_path) == digest(again, tmp_path) == local


@pytest.mark.slow
def test_a_cluster_that_dies_leaves_a_checkpoint_that_goes_on_here(data, local, tmp_path):
    with local_cluster(n_workers=1, processes=True) as (cluster, doomed):

        def end(news):
            if news.event == "level" and (news.tree, news.level) == (0, 2):
                cluster.close()

        with pytest.raises(ClusterError, match="the cluster has gone"):
            train(data, CONFIG, client=doomed, progress=end, checkpoint=tmp_path / "kept")
    forest = train(data, CONFIG, checkpoint=tmp_path / "kept", resume=True)
    assert digest(forest, tmp_path) == local
