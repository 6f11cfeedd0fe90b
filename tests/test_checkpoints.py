import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from depthforest import checkpoints
from depthforest.checkpoints import CheckpointError, read_checkpoint
from depthforest.errors import DepthForestError
from depthforest.trainconfig import TrainConfig
from depthforest.training import train
from synth.config import Config
from synth.generator import Generator
from synth.production import produce

CONFIG = TrainConfig(trees=2, depth=6, candidates=20, thresholds=10, pixels_per_frame=50, seed=9)
COLUMNS = ("roots", "offsets", "thresholds", "children", "leaves")


class StoppedError(Exception):
    pass


@pytest.fixture(scope="module")
def frames():
    return list(Generator(Config(n_bodies=3, camera="kinect_v1@60x45", sensor="ideal"), seed=4, n=16))


@pytest.fixture(scope="module")
def expected(frames):
    return train(frames, CONFIG)


def stopping_after(n):
    """Return a progress callback that stops the run at its n-th call."""
    calls = []

    def report(news):
        calls.append(news)
        if len(calls) == n:
            raise StoppedError

    return report


def assert_same(forest, other):
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(forest, name), getattr(other, name))
    assert forest == other


@pytest.mark.parametrize("n", [1, 3, 6, 7, 8, 13])
def test_a_stopped_run_goes_on(frames, expected, tmp_path, n):
    with pytest.raises(StoppedError):
        train(frames, CONFIG, checkpoint=tmp_path / "run", progress=stopping_after(n))
    assert not read_checkpoint(tmp_path / "run").is_finished or n == 13
    news = []
    forest = train(frames, CONFIG, checkpoint=tmp_path / "run", resume=True, progress=news.append, threads=1, shards=3)
    assert_same(forest, expected)
    # nothing that was grown is grown again
    assert len([x for x in news if x.event == "level"]) <= 12 - n + 2


def test_it_can_be_stopped_at_every_level(frames, expected, tmp_path):
    for _ in range(30):
        try:
            forest = train(frames, CONFIG, checkpoint=tmp_path / "run", resume=True, progress=stopping_after(1))
        except StoppedError:
            continue
        break
    # the last call finds everything finished and is stopped by that news
    news = []
    forest = train(frames, CONFIG, checkpoint=tmp_path / "run", resume=True, progress=news.append)
    assert [n.event for n in news] == ["finished"]
    assert str(news[0]) == "all 2 trees are finished already"
    assert_same(forest, expected)


def test_without_a_checkpoint_it_starts_afresh_and_logs(frames, expected, tmp_path):
    forest = train(frames, CONFIG, checkpoint=tmp_path / "a" / "run", resume=True)
    assert_same(forest, expected)
    lines = [json.loads(line) for line in (tmp_path / "a" / "run" / "log.jsonl").read_text().splitlines()]
    assert [line["event"] for line in lines].count("tree") == 2
    levels = [line for line in lines if line["event"] == "level"]
    assert levels[0]["n_pixels"] == 13 * 50
    assert {"tree", "level", "n_nodes", "n_evaluations", "seconds", "gain", "out_of_bag"} <= levels[0].keys()
    state = read_checkpoint(tmp_path / "a" / "run")
    assert state.is_finished
    assert state.identity["config"]["seed"] == 9


def test_half_a_line_in_the_log_is_ended(frames, tmp_path):
    with pytest.raises(StoppedError):
        train(frames, CONFIG, checkpoint=tmp_path / "run", progress=stopping_after(2))
    with (tmp_path / "run" / "log.jsonl").open("a") as file:
        file.write('{"event": "lev')
    train(frames, CONFIG, checkpoint=tmp_path / "run", resume=True)
    lines = (tmp_path / "run" / "log.jsonl").read_text().splitlines()
    assert [n for n, line in enumerate(lines) if not line.endswith("}")] == [2]


def test_another_run_is_refused_and_left_alone(frames, tmp_path):
    folder = tmp_path / "run"
    with pytest.raises(StoppedError):
        train(frames, CONFIG, checkpoint=folder, progress=stopping_after(2))
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    assert "growing.safetensors" in before
    other = list(frames)
    other[0] = frames[1]
    for source, config, message in (
        (frames, replace(CONFIG, depth=7), "was begun with config depth = 6, now it is 7"),
        (frames, replace(CONFIG, trees=3), "was begun with config trees = 2, now it is 3"),
        (frames[:15], CONFIG, "was begun with data frames = 16, now it is 15"),
        (other, CONFIG, "was begun with data sample = "),
    ):
        with pytest.raises(CheckpointError, match=message) as caught:
            train(source, config, checkpoint=folder, resume=True)
        assert "\n" not in str(caught.value)
    with pytest.raises(CheckpointError, match="holds a checkpoint already; resume goes on with it"):
        train(frames, CONFIG, checkpoint=folder)
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before


def test_another_version_is_refused(frames, tmp_path, monkeypatch):
    with pytest.raises(StoppedError):
        train(frames, CONFIG, checkpoint=tmp_path / "run", progress=stopping_after(1))
    monkeypatch.setattr(checkpoints, "FORMAT", 2)
    with pytest.raises(CheckpointError, match="is a checkpoint of format 1, this depthforest goes on with 2"):
        train(frames, CONFIG, checkpoint=tmp_path / "run", resume=True)


def test_a_folder_of_something_else_is_refused(frames, tmp_path):
    (tmp_path / "photo.jpg").write_bytes(b"x")
    with pytest.raises(CheckpointError, match=r"holds other things \(photo.jpg, ...\)"):
        train(frames, CONFIG, checkpoint=tmp_path)


def test_broken_files_are_one_clear_line(frames, tmp_path):
    folder = tmp_path / "run"
    with pytest.raises(StoppedError):
        train(frames, CONFIG, checkpoint=folder, progress=stopping_after(3))
    good = (folder / "growing.safetensors").read_bytes()
    grown = checkpoints.read_tree(folder / "growing.safetensors", 0)
    assert grown is not None
    for damage in ("links", "order", "open", "cut", "probes"):
        broken = replace(grown, children=grown.children.copy(), offsets=grown.offsets.copy())
        if damage == "links":
            broken.children[0] = broken.children[0, 0]
        elif damage == "order":
            broken.root = 1
        elif damage == "open":
            broken.open_keys = grown.open_keys[:-1]
        elif damage == "probes":
            broken.offsets[0, 0] = np.inf
        checkpoints.write_tree(folder / "growing.safetensors", 0, broken)
        if damage == "cut":
            (folder / "growing.safetensors").write_bytes(good[:-9])
        with pytest.raises(DepthForestError) as caught:
            train(frames, CONFIG, checkpoint=folder, resume=True)
        assert "\n" not in str(caught.value)
        assert "growing.safetensors" in str(caught.value)
    (folder / "growing.safetensors").write_bytes(good)
    (folder / "identity.json").write_text("[]")
    with pytest.raises(CheckpointError, match="is not the identity of a training run"):
        train(frames, CONFIG, checkpoint=folder, resume=True)


def test_a_full_disk_leaves_the_last_good_level(frames, expected, tmp_path, monkeypatch):
    folder = tmp_path / "run"
    written = []
    real = checkpoints.modelfile.write

    def fill(path, *rest):
        written.append(path)
        if len(written) == 4:
            raise DepthForestError(f"{path}: cannot be written: no space left on device")
        real(path, *rest)

    monkeypatch.setattr(checkpoints.modelfile, "write", fill)
    with pytest.raises(DepthForestError, match="no space left"):
        train(frames, CONFIG, checkpoint=folder)
    monkeypatch.undo()
    state = read_checkpoint(folder)
    assert state.growing is not None
    assert state.growing.level == 3
    assert_same(train(frames, CONFIG, checkpoint=folder, resume=True), expected)


def test_ctrl_c_says_how_to_go_on(frames, expected, tmp_path):
    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"kept in .*run: resume goes on from there"):
        train(frames, CONFIG, checkpoint=tmp_path / "run", progress=interrupt)
    assert_same(train(frames, CONFIG, checkpoint=tmp_path / "run", resume=True), expected)


SCRIPT = """
import sys
from depthforest.datasets import open_dataset
from depthforest.trainconfig import TrainConfig
from depthforest.training import train
folder, config = sys.argv[1:]
data = open_dataset(folder + "/data")
print("started", flush=True)
train(data, TrainConfig.from_toml(config), checkpoint=folder + "/run", resume=True).save(folder + "/forest")
"""


def test_killed_at_random_moments_it_gives_the_same_bytes(tmp_path):
    generator = Generator(Config(n_bodies=3, camera="kinect_v1@60x45", sensor="ideal"), seed=4, n=40)
    data = produce(generator, tmp_path / "data", 40)
    config = replace(CONFIG, depth=12, candidates=400, thresholds=40, pixels_per_frame=400, min_pixels=2)
    train(data, config).save(tmp_path / "expected")
    rng = np.random.default_rng(0)
    environment = dict(os.environ, PYTHONPATH=str(Path(checkpoints.__file__).parent.parent))
    n_killed = 0
    for _ in range(40):
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(tmp_path), config.to_toml()],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
        )  # fmt: skip
        assert process.stdout is not None
        process.stdout.readline()
        # the first kills come early, so that there is something left to kill
        time.sleep(rng.uniform(0.05, 0.6))
        if process.poll() is None and n_killed < 6:
            process.send_signal(signal.SIGKILL)
            n_killed += 1
        _, errors = process.communicate(timeout=120)
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, errors.decode()
    assert n_killed >= 3
    assert (tmp_path / "forest").read_bytes() == (tmp_path / "expected").read_bytes()
