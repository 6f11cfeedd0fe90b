"""Commands with --dask: the same files as without."""

import hashlib
import json

import pytest
from support.bounded import local_cluster
from support.command import run_here
from support.labelcommand import CAMERA, DATA, GOLDEN, MODEL, contents

from depthforest.io.datasets import open_dataset
from depthforest.io.writing import open_store
from depthforest.training.config import ContextConfig, TrainConfig
from depthforest.training.contextstage import train_context
from depthforest.training.run import train
from synth.config import Config
from synth.generator import Generator
from synth.production import produce

distributed = pytest.importorskip("distributed", reason="needs the extra dask")


ALONE = ("--background-removed",)
"""Nobody is looked for: finding people runs where labeling runs, and takes long to compile."""


@pytest.fixture(scope="module")
def address():
    """Return the address of a cluster of this process, and count what its workers did."""
    with local_cluster(n_workers=2) as (cluster, client):
        yield cluster.scheduler_address, client


def n_tasks(client):
    """Return how many tasks the workers have done."""
    return sum(client.run(lambda dask_worker: dask_worker.state.transition_counter).values())


def pair(address, *words, outputs):
    """Run a command without and with a cluster, whose workers must have had something to do."""
    where, client = address
    for output, more in zip(outputs, ((), ("--dask", where)), strict=True):
        before = n_tasks(client)
        done = run_here(*words, "-o", output, *more)
        assert done.returncode == 0, done.stderr
        assert (n_tasks(client) > before) == bool(more)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Return the golden frames as a Zarr store."""
    pytest.importorskip("zarr", reason="needs the extra zarr")
    path, frames = tmp_path_factory.mktemp("golden") / "golden.zarr", list(DATA)
    made = open_store(path, "zarr", identity="golden", max_people=2)
    made.prepare(len(frames), frames[0])
    made.write(0, frames)
    made.finish(len(frames), frames[0])
    made.unlock()
    return path


@pytest.mark.parametrize("kind", ["folder", "store"])
def test_label(address, store, kind, tmp_path):
    source = GOLDEN / "frames" / "depth" if kind == "folder" else store
    camera = ("--camera", CAMERA) if kind == "folder" else ()
    outputs = tmp_path / "here", tmp_path / "there"
    pair(address, "label", source, "--model", MODEL, *camera, "--write", "parts", *ALONE, outputs=outputs)
    here, there = map(contents, outputs)
    assert here == there
    assert len([name for name in here if name.endswith(".png")]) == len(DATA)


def test_a_store_of_frames_is_labeled_as_its_pictures(store, tmp_path):
    sources = ((GOLDEN / "frames" / "depth", ("--camera", CAMERA)), (store, ()))
    for name, (source, camera) in zip("ab", sources, strict=True):
        assert (
            run_here(
                "label", source, "--model", MODEL, *camera, "--write", "parts", *ALONE, "-o", tmp_path / name
            ).returncode
            == 0
        )
    first, second = (
        [content for file, content in sorted(contents(tmp_path / name).items()) if file.endswith(".png")]
        for name in "ab"
    )
    assert first == second
    assert len(first) == len(DATA)


def test_a_damaged_store_is_told_when_it_is_labeled(store, tmp_path):
    (tmp_path / "bad.zarr").mkdir()
    (tmp_path / "bad.zarr" / "zarr.json").write_text("{}")
    done = run_here("label", tmp_path / "bad.zarr", "--model", MODEL, "-o", tmp_path / "out")
    assert done.returncode == 1
    assert b"bad.zarr: cannot be opened as a Zarr data set" in done.stderr
    assert open_dataset(store).camera == DATA.camera


@pytest.mark.parametrize("kind", ["folder", "zarr"])
def test_synth(address, kind, tmp_path):
    if kind == "zarr":
        pytest.importorskip("zarr", reason="needs the extra zarr")
    (tmp_path / "c.toml").write_text("n_bodies = 2\nn_poses = 64\nfurnished_share = 0.0\n")
    words = ("synth", "-n", 70, "--config", tmp_path / "c.toml", "--camera", "kinect_v1@80x60", "--seed", 4)
    outputs = tmp_path / "here", tmp_path / "there"
    pair(address, *words, "--format", kind, outputs=outputs)
    assert hashes(outputs[0]) == hashes(outputs[1])


@pytest.fixture(scope="module")
def fitting(tmp_path_factory):
    """Return small models without and with context, a folder of frames with joints that is new to them, a config."""
    folder = tmp_path_factory.mktemp("fitting")
    config = Config(camera="kinect_v1@80x60", n_bodies=2, n_poses=64, furnished_share=0.0)
    seen, unseen = (produce(Generator(config, seed, n=20), folder / str(seed), 20) for seed in (1, 2))
    numbers = {"candidates": 20, "thresholds": 12, "pixels_per_frame": 60}
    model = train(seen, TrainConfig(trees=1, depth=5, **numbers))
    model.save(folder / "model.safetensors")
    numbers |= {"trees": 1, "depth": 4, "min_pixels": 10}
    train_context(model, seen, ContextConfig(**numbers)).save(folder / "with_context.safetensors")
    (folder / "context.toml").write_text("\n".join(f"{name} = {value}" for name, value in numbers.items()))
    models = folder / "model.safetensors", folder / "with_context.safetensors"
    return models, unseen.path, folder / "context.toml"


@pytest.mark.parametrize(
    "command",
    [
        "fit-leaves --facings 2 --rounds 1",
        "fit-joints",
        "fit-confidence",
        "train-context --config CONFIG",
        "fit-context --rounds 1",
    ],
)
def test_a_step_of_training_gives_the_same_bytes(address, fitting, command, tmp_path):
    models, data, config = fitting
    model = models[command.startswith("fit-context")]
    name, *options = command.replace("CONFIG", str(config)).split()
    outputs = tmp_path / "here.safetensors", tmp_path / "there.safetensors"
    pair(address, name, model, "--data", data, *options, outputs=outputs)
    here, there = (output.read_bytes() for output in outputs)
    assert here == there != model.read_bytes()


def test_evaluate_gives_the_same_figures(address, fitting, tmp_path):
    (model, _), data, _ = fitting
    where, client = address
    figures = []
    for name, more in (("here", ()), ("there", ("--dask", where))):
        before = n_tasks(client)
        done = run_here("evaluate", model, "--data", data, "--json", tmp_path / name, *more)
        assert done.returncode == 0, done.stderr
        assert (n_tasks(client) > before) == bool(more)
        figures.append(json.loads((tmp_path / name).read_text()))
    for one in figures:
        assert one["models"][0]["evaluation"].pop("speed")["frames"] > 0
    assert figures[0] == figures[1]


def test_frames_that_are_pickled_are_found_from_any_folder(tmp_path, monkeypatch):
    """Workers of a cluster run where they were started."""
    pytest.importorskip("zarr", reason="needs the extra zarr")
    cloudpickle = pytest.importorskip("cloudpickle", reason="needs the extra dask")
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    (tmp_path / "here" / "camera.json").write_text(json.dumps(DATA.camera.to_dict()))
    monkeypatch.chdir(tmp_path / "here")
    stores = [open_store(f"new.{kind}", kind, identity="none") for kind in ("folder", "zarr")]
    made = Generator(Config(camera="camera.json", n_bodies=2, n_poses=64, furnished_share=0.0), seed=1, n=2)
    frames = [made[0]]
    for store in stores:
        store.prepare(1, frames[0])
    message = cloudpickle.dumps((stores, made))
    monkeypatch.chdir(tmp_path / "there")
    stores, again = cloudpickle.loads(message)
    assert again[1] == made[1]
    for store in stores:
        store.write(0, frames)
        store.finish(1, frames[0])
        store.unlock()
        assert list(open_dataset(store.path)) == frames
        assert store.path.parent == tmp_path / "here"


def hashes(folder):
    """Return the hash of every file; a Zarr store compresses the same values to the same bytes."""
    return {name: hashlib.sha256(content).hexdigest() for name, content in contents(folder).items()}
