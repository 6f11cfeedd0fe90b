"""Data sets and models by URL: the same frames, the same checks, each object read once by a process."""

import shutil

import fsspec
import numpy as np
import pytest
from support.bounded import local_cluster
from support.command import run_here
from support.serving import object_store, served
from support.striped import striped_frames

from depthforest.base.errors import DatasetError, ModelError
from depthforest.forest.loading import load
from depthforest.io.datasets import open_dataset, write_dataset
from depthforest.io.joining import open_datasets, sensor_of
from depthforest.io.writing import open_store
from depthforest.training.config import TrainConfig
from depthforest.training.run import train

CONFIG = TrainConfig(trees=2, depth=5, candidates=10, thresholds=9, pixels_per_frame=60, frames_per_tree=1.0)
N = 20


@pytest.fixture(scope="module")
def frames():
    return striped_frames(N, seed=1)


@pytest.fixture(scope="module")
def folder(frames, tmp_path_factory):
    """Return a folder with a data set of both kinds, and a model."""
    pytest.importorskip("zarr", reason="needs the extra zarr")
    path = tmp_path_factory.mktemp("remote")
    data = write_dataset(path / "pictures", frames)
    store = open_store(path / "store.zarr", "zarr", identity='sensor = "kinect_v1"', max_people=1)
    store.prepare(N, frames[0])
    store.write(0, frames)
    store.finish(N, frames[0])
    store.unlock()
    train(data, CONFIG).save(path / "model.safetensors")
    return path


@pytest.fixture
def memory(folder):
    """Return the address of the same in memory."""
    system = fsspec.filesystem("memory")
    system.put(f"{folder}/", "/files/", recursive=True)
    yield "memory://files"
    system.rm("/files", recursive=True)


@pytest.fixture
def site(folder):
    pytest.importorskip("aiohttp", reason="needs the extra remote")
    with served(folder) as found:
        yield found


@pytest.mark.parametrize("name", ["pictures", "store.zarr"])
def test_frames_in_memory_and_of_a_web_server_are_those_of_the_disk(folder, memory, site, name):
    here = list(open_dataset(folder / name))
    for base in (memory, site[0]):
        data = open_dataset(f"{base}/{name}")
        assert list(data) == here
        assert data.names == open_dataset(folder / name).names
        assert sensor_of(data) == sensor_of(open_dataset(folder / name))
    assert len(open_datasets([f"{memory}/pictures", folder / "pictures"])) == 2 * N


def test_frames_and_models_of_an_object_store(folder, frames, monkeypatch):
    with object_store(monkeypatch) as system:
        system.mkdir("bucket")
        system.put(f"{folder / 'store.zarr'}/", "bucket/store.zarr/", recursive=True)
        system.pipe("bucket/model.safetensors", (folder / "model.safetensors").read_bytes())
        system.pipe("bucket/two/dataset.json", (folder / "pictures" / "dataset.json").read_bytes())
        for kind in ("depth", "parts", "people"):
            for name in ("000000", "000001"):
                system.put(str(folder / "pictures" / kind / f"{name}.png"), f"bucket/two/{kind}/{name}.png")
        assert list(open_dataset("s3://bucket/store.zarr")) == frames
        assert list(open_dataset("s3://bucket/two")) == frames[:2]
        assert load("s3://bucket/model.safetensors") == load(folder / "model.safetensors")
        with pytest.raises(ModelError, match=r"^s3://bucket/none: cannot be read: there is no such file$"):
            load("s3://bucket/none")
        with pytest.raises(DatasetError, match="s3://other/data: is not a folder; a data set is a folder with"):
            open_dataset("s3://other/data")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.delenv(name)
        type(system).clear_instance_cache()
        with pytest.raises(ModelError, match="cannot be read: access is refused; are credentials set"):
            load("s3://bucket/model.safetensors")
        with pytest.raises(DatasetError, match="cannot be read: access is refused; are credentials set"):
            open_dataset("s3://bucket/store.zarr")


def test_training_asks_a_server_for_every_chunk_once(folder, site):
    url, asked = site
    forest = train(open_dataset(f"{url}/store.zarr"), CONFIG)
    assert forest == load(folder / "model.safetensors")
    assert {path: n for path, n in asked.items() if n > 1} == {}
    assert asked["/store.zarr/depth/c/0/0/0"] == 1


def test_workers_of_one_process_share_what_it_read(folder, site):
    pytest.importorskip("distributed", reason="needs the extra dask")
    url, asked = site
    with local_cluster(n_workers=2) as (_, client):
        forest = train(open_dataset(f"{url}/store.zarr"), CONFIG, client=client, shards=3)
    assert forest == load(folder / "model.safetensors")
    assert {path: n for path, n in asked.items() if n > 1} == {}


@pytest.mark.slow
def test_workers_read_every_chunk_once_each(folder, site):
    pytest.importorskip("distributed", reason="needs the extra dask")
    url, asked = site
    with local_cluster(n_workers=2, processes=True) as (_, client):
        forest = train(open_dataset(f"{url}/store.zarr"), CONFIG, client=client, shards=3)
    assert forest == load(folder / "model.safetensors")
    assert 2 <= max(asked.values()) <= 3  # the client, and each of the workers


def test_commands_take_urls(memory, site, tmp_path):
    output = tmp_path / "m.safetensors"
    asked = ("train", "-o", output, "--trees", 1, "--depth", 3, "--candidates", 5, "--pixels-per-frame", 30)
    done = run_here(*asked, "--data", f"{memory}/store.zarr", "--data", f"{site[0]}/pictures")
    assert done.returncode == 0, done.stderr
    assert load(output).config["depth"] == 3
    judged = run_here(
        "evaluate", f"{memory}/model.safetensors", output, "--data", f"{memory}/pictures", "--json", tmp_path / "f.json"
    )
    assert judged.returncode == 0, judged.stderr
    told = run_here("info", f"{site[0]}/model.safetensors")
    assert told.returncode == 0
    assert b"model.safetensors" in told.stdout
    missing = run_here("train", "--data", f"{memory}/none", "-o", output)
    assert missing.returncode == 1
    *_, last = missing.stderr.decode().splitlines()  # the first says that the model would be replaced
    assert last.startswith("depthforest: error: memory://files/none: is not a folder; a data set")


def test_damage_is_told_as_that_of_local_files(memory):
    system = fsspec.filesystem("memory")
    system.pipe("/files/store.zarr/depth/c/0/0/0", b"\x28\xb5\x2f\xfd" + bytes(40))
    with pytest.raises(DatasetError, match=r"memory://files/store.zarr, frame 000003: "):
        open_dataset(f"{memory}/store.zarr")[3]
    system.pipe("/files/pictures/depth/000001.png", b"II*\0" + bytes(40))
    with pytest.raises(DatasetError, match="is not a PNG; the pictures of a data set at a URL are"):
        open_dataset(f"{memory}/pictures")[1]
    whole = system.cat_file("/files/pictures/parts/000002.png")
    system.pipe("/files/pictures/parts/000002.png", whole[:-20])
    with pytest.raises(DatasetError, match=r"parts/000002.png: is truncated; copy it again"):
        open_dataset(f"{memory}/pictures")[2]
    system.rm("/files/pictures/parts/000003.png")
    with pytest.raises(DatasetError, match=r"parts: lacks 000003.png"):
        open_dataset(f"{memory}/pictures")
    system.pipe("/files/store.zarr/depth/zarr.json", b"{")
    with pytest.raises(DatasetError, match="cannot be opened as a Zarr data set"):
        open_dataset(f"{memory}/store.zarr")


def test_a_server_that_goes_in_the_middle_is_told(folder, tmp_path):
    pytest.importorskip("aiohttp", reason="needs the extra remote")
    shutil.copytree(folder / "store.zarr", tmp_path / "store.zarr")
    with served(tmp_path) as (url, _):
        data = open_dataset(f"{url}/store.zarr")
        assert np.array_equal(data[0].depth_mm, open_dataset(folder / "store.zarr")[0].depth_mm)
    with pytest.raises(DatasetError, match=r"frame 000017: .*the server does not answer"):
        data[17]
