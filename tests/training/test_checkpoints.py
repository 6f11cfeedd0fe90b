import contextlib
import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.bounded import started

from depthforest.base import files, modelfile
from depthforest.base.errors import (
    CheckpointError,
    DatasetError,
    DepthForestError,
    DepthForestWarning,
    ModelError,
    UsageError,
)
from depthforest.cli.info import describe
from depthforest.frames.frame import FrameSource
from depthforest.io.datasets import open_dataset, write_dataset
from depthforest.training import checkpoints
from depthforest.training.checkpoints import last_news, read_checkpoint
from depthforest.training.config import TrainConfig
from depthforest.training.growing import GrowingTree
from depthforest.training.run import train
from synth.config import Config
from synth.generator import Generator
from synth.production import produce

CONFIG = TrainConfig(trees=2, depth=6, candidates=20, thresholds=10, pixels_per_frame=50, seed=9)
COLUMNS = ("roots", "offsets", "thresholds", "children", "leaves")


class StoppedError(Exception):
    pass


@pytest.fixture(scope="module")
def frames():
    return list(Generator(Config(n_bodies=3, n_poses=64, camera="kinect_v1@60x45", sensor="ideal"), seed=4, n=16))


@pytest.fixture(scope="module")
def expected(frames):
    return train(frames, CONFIG)


def stopping_after(n):
    """Return a progress callback that stops the run at its n-th level or tree."""
    calls = []

    def report(news):
        calls.extend([news] if news.event not in ("note", "reading") else [])
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
    assert str(news[0]).startswith(f"going on with tree {1 + n // 7} of 2 at level ")
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
    news = []
    forest = train(frames, CONFIG, checkpoint=tmp_path / "a" / "run", resume=True, progress=news.append)
    assert str(news[0]) == f"{tmp_path / 'a' / 'run'} holds nothing to go on from: starting afresh"
    assert_same(forest, expected)
    lines = [json.loads(line) for line in (tmp_path / "a" / "run" / "log.jsonl").read_text().splitlines()]
    assert [line["event"] for line in lines].count("tree") == 2
    levels = [line for line in lines if line["event"] == "level"]
    assert levels[0]["n_pixels"] == 13 * 50
    names = {"tree", "level", "n_nodes", "n_evaluations", "seconds", "rate", "gain", "out_of_bag", "seconds_left"}
    assert names <= levels[0].keys()
    assert levels[0]["rate"] == pytest.approx(levels[0]["n_evaluations"] / levels[0]["seconds"])
    assert lines[-1]["event"] == "tree"
    assert lines[-1]["seconds_left"] == 0
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
    for source, config, message in (
        (frames, replace(CONFIG, depth=7), "was begun with config depth = 6, now it is 7"),
        (frames, replace(CONFIG, trees=3), "was begun with config trees = 2, now it is 3"),
        (frames[:15], CONFIG, "was begun with data frames = 16, now it is 15"),
        ([frames[1], *frames[1:]], CONFIG, "was begun with other data: now there are other pixels in its frames"),
    ):
        with pytest.raises(CheckpointError, match=message) as caught:
            train(source, config, checkpoint=folder, resume=True)
        assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="holds a checkpoint already; resume continues it"):
        train(frames, CONFIG, checkpoint=folder)
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before


def test_another_version_is_refused(frames, tmp_path, monkeypatch):
    with pytest.raises(StoppedError):
        train(frames, CONFIG, checkpoint=tmp_path / "run", progress=stopping_after(1))
    before = {p.name: p.read_bytes() for p in (tmp_path / "run").iterdir()}
    monkeypatch.setattr(checkpoints, "FORMAT", 99)
    with pytest.raises(CheckpointError, match="is a checkpoint of format 3, this depthforest continues with 99"):
        train(frames, CONFIG, checkpoint=tmp_path / "run", resume=True)
    assert {p.name: p.read_bytes() for p in (tmp_path / "run").iterdir()} == before


def test_errors_of_models_and_checkpoints_are_of_one_kind():
    assert CheckpointError.exit_code == ModelError.exit_code == 1
    assert issubclass(CheckpointError, ValueError)
    assert issubclass(ModelError, ValueError)


def test_a_folder_of_something_else_is_refused(frames, tmp_path):
    (tmp_path / "photo.jpg").write_bytes(b"x")
    with pytest.raises(UsageError, match=r"holds other things \(photo.jpg, ...\)"):
        train(frames, CONFIG, checkpoint=tmp_path)


def test_broken_files_are_one_clear_line(frames, tmp_path):
    folder = tmp_path / "run"
    with pytest.raises(StoppedError):
        train(frames, CONFIG, checkpoint=folder, progress=stopping_after(3))
    good = (folder / "growing.safetensors").read_bytes()
    grown = checkpoints.read_tree(folder / "growing.safetensors", 0, 31)
    assert grown is not None
    for damage in ("links", "order", "open", "cut", "probes", "parts"):
        broken = replace(grown, children=grown.children.copy(), offsets=grown.offsets.copy())
        if damage == "links":
            broken.children[0] = broken.children[0, 0]
        elif damage == "order":
            broken.root = 1
        elif damage == "open":
            broken.open_keys = grown.open_keys[:-1]
        elif damage == "probes":
            broken.offsets[0, 0] = np.inf
        elif damage == "parts":
            broken.leaf_counts = grown.leaf_counts[:, :-1]
        checkpoints.write_tree(folder / "growing.safetensors", 0, broken)
        if damage == "cut":
            (folder / "growing.safetensors").write_bytes(good[:-9])
        with pytest.raises(CheckpointError, match=r"growing.safetensors: .*; remove this file to grow") as caught:
            train(frames, CONFIG, checkpoint=folder, resume=True)
        assert "\n" not in str(caught.value)
    (folder / "growing.safetensors").write_bytes(good)
    (folder / "identity.json").write_text("[]")
    with pytest.raises(CheckpointError, match="is not the identity of a training run"):
        train(frames, CONFIG, checkpoint=folder, resume=True)
    for content, message in (({}, "configuration with trees"), ({"config": {"trees": 2}}, "data with parts")):
        (folder / "identity.json").write_text(json.dumps({"format": checkpoints.FORMAT} | content))
        with pytest.raises(CheckpointError, match=message):
            read_checkpoint(folder)


# -- what goes wrong while it runs


def failing(real, n, error):
    """Return a function that works until its n-th call."""
    calls = []

    def fail(*args, **options):
        calls.append(args)
        if len(calls) == n:
            raise error
        return real(*args, **options)

    return fail


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_the_last_good_level(frames, expected, tmp_path, monkeypatch, call):
    folder = tmp_path / "run"
    if call == "write":
        real = files.replacing

        class Full:
            def __init__(self, file):
                self.file = file

            def write(self, part):
                self.file.write(part[: len(part) // 2])
                raise FULL

        n_calls = []

        @contextlib.contextmanager
        def replacing(path, **options):
            n_calls.append(path)
            with real(path, **options) as file:
                yield file if len(n_calls) != 4 else Full(file)

        monkeypatch.setattr(modelfile, "replacing", replacing)
    elif call == "fsync":
        # two of the identity, then two of each level: file and folder
        monkeypatch.setattr(os, "fsync", failing(os.fsync, 9, FULL))
    else:
        monkeypatch.setattr(Path, "replace", failing(Path.replace, 5, FULL))
    message = r"growing.safetensors: cannot be written: no space left on device; what was grown is kept in .*run: "
    with pytest.raises(CheckpointError, match=message) as caught:
        train(frames, CONFIG, checkpoint=folder)
    monkeypatch.undo()
    assert "\n" not in str(caught.value)
    assert not list(folder.glob(".*.part"))
    state = read_checkpoint(folder)
    assert state.growing is not None
    assert state.growing.level == 3
    assert_same(train(frames, CONFIG, checkpoint=folder, resume=True), expected)


def test_a_full_disk_under_the_log(frames, expected, tmp_path, monkeypatch):
    real = Path.open
    n_opened = []

    def fill(path, mode="r", *rest, **options):
        if path.name == "log.jsonl" and "a" in mode:
            n_opened.append(path)
            if len(n_opened) == 3:
                raise FULL
        return real(path, mode, *rest, **options)

    monkeypatch.setattr(Path, "open", fill)
    with pytest.raises(CheckpointError, match=r"log.jsonl: cannot be written: no space left on device; what was grown"):
        train(frames, CONFIG, checkpoint=tmp_path / "run")
    monkeypatch.undo()
    assert_same(train(frames, CONFIG, checkpoint=tmp_path / "run", resume=True), expected)


def test_a_checkpoint_is_on_the_disk_before_it_takes_its_place(tmp_path, monkeypatch):
    """A power cut between the two must not leave an empty file under the good name."""
    done = []
    fsync, place = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda number: (done.append("sync"), fsync(number))[1])
    monkeypatch.setattr(Path, "replace", lambda one, other: (done.append("replace"), place(one, other))[1])
    checkpoints.write_tree(tmp_path / "t", 0, GrowingTree.start(0, 3, CONFIG))
    assert done == ["sync", "replace", "sync"]


def test_a_vanished_data_set_leaves_the_last_good_level(frames, expected, tmp_path):
    """Frames that don't fit the memory are read at every level; the folder goes while the third is counted."""
    write_dataset(tmp_path / "data", frames)

    def report(news):
        if news.level == 2:
            (tmp_path / "data").rename(tmp_path / "gone")

    data = open_dataset(tmp_path / "data")
    with pytest.raises(
        DatasetError, match=r"cannot be read: no such file or directory; what was grown is kept in"
    ) as e:
        train(data, CONFIG, checkpoint=tmp_path / "run", progress=report, memory_mb=0.1)
    assert "\n" not in str(e.value)
    state = read_checkpoint(tmp_path / "run")
    assert state.growing is not None
    assert state.growing.level == 3
    (tmp_path / "gone").rename(tmp_path / "data")
    assert_same(train(data, CONFIG, checkpoint=tmp_path / "run", resume=True), expected)


@pytest.mark.parametrize("folder", [None, "run"])
def test_a_source_that_fails_is_one_clear_line(frames, tmp_path, folder):
    class Failing(FrameSource):
        def __len__(self):
            return 16

        def _frame(self, number):
            if number == 9:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return frames[number]

    with pytest.raises(DatasetError, match=r"^frame 9 cannot be read: input/output error$"):
        train(Failing(), replace(CONFIG, frames_per_tree=1.0), checkpoint=folder and tmp_path / folder)


def test_too_little_memory_is_one_clear_line(frames, tmp_path, monkeypatch):
    monkeypatch.setattr("depthforest.training.run.Grower.grow_level", failing(None, 1, MemoryError()))
    with pytest.raises(DepthForestError, match=r"^this machine has too little memory; lower memory_mb$"):
        train(frames, CONFIG, checkpoint=tmp_path / "run")


def test_an_unwritable_folder_is_one_clear_line(frames, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DepthForestError, match="run: cannot be made a folder: not a directory"):
        train(frames, CONFIG, checkpoint=tmp_path / "file" / "run")


def test_the_largest_tree_of_a_checkpoint(tmp_path, monkeypatch):
    """A full tree of depth 20 with 31 parts fits; one too large is refused, and the old file stays."""
    n = 2**20
    grown = GrowingTree.start(0, 31, CONFIG)
    grown.children = np.zeros((n - 1, 2), np.int32)
    grown.offsets, grown.thresholds = np.zeros((n - 1, 4), np.float32), np.zeros(n - 1, np.int16)
    grown.leaf_counts = np.broadcast_to(np.int64(2**31), (n, 31))
    assert checkpoints._SCHEMA["leaf_counts"].dtype == "uint32"
    n_bytes = (n - 1) * 26 + n * 31 * 4 + 8
    assert n_bytes < modelfile.MAX_FILE_BYTES / 3
    # the same ratio in small, without 150 MB on the disk
    monkeypatch.setattr(modelfile, "MAX_FILE_BYTES", 2**16 + 4000)
    grown.children, grown.offsets, grown.thresholds = grown.children[:20], grown.offsets[:20], grown.thresholds[:20]
    grown.leaf_counts = grown.leaf_counts[:21]
    checkpoints.write_tree(tmp_path / "t", 0, grown)
    before = (tmp_path / "t").read_bytes()
    grown.leaf_counts = np.ones((50, 31), np.int64)
    with pytest.raises(
        CheckpointError, match=r"t: cannot hold tree 1 with 51 leaves: 6,728 bytes, at most 69,536 fit; lower"
    ):
        checkpoints.write_tree(tmp_path / "t", 0, grown)
    assert (tmp_path / "t").read_bytes() == before


def test_counts_beyond_16_bits_come_back(tmp_path):
    grown = GrowingTree.start(0, 2, CONFIG)
    grown.root, grown.level = -1, 1
    grown.leaf_counts, grown.open_keys = np.array([[2**31 - 1, 70_000]]), grown.open_keys[:0]
    checkpoints.write_tree(tmp_path / "t", 0, grown)
    again = checkpoints.read_tree(tmp_path / "t", 0, 2)
    assert again is not None
    assert again.leaf_counts.dtype == np.int64
    np.testing.assert_array_equal(again.leaf_counts, grown.leaf_counts)


def test_a_forest_beyond_a_model_file_is_said_early(frames, monkeypatch):
    size = train(frames, replace(CONFIG, trees=1)).n_leaves * (31 + 26)
    monkeypatch.setattr(modelfile, "MAX_FILE_BYTES", int(1.2 * size))
    with (
        pytest.warns(DepthForestWarning, match="2 trees like these will take .* bytes, a model file has"),
        pytest.raises(UsageError, match=r"2 trees of .* leaves and more take .* lower depth or trees"),
    ):
        train(frames, CONFIG)


# -- kill -9


SCRIPT = """
import os, sys, time
from depthforest.io.datasets import open_dataset
from depthforest.training.config import TrainConfig
from depthforest.training.run import train
folder, config, phase = sys.argv[1:]
fsync, n_synced = os.fsync, []
def slow(number):
    n_synced.append(number)
    if len(n_synced) == 3:  # not the first, so that every life gets on
        print("writing", flush=True)
        time.sleep(600)
    fsync(number)
if phase == "writing":
    os.fsync = slow
data = open_dataset(folder + "/data")
print("started", flush=True)
train(
    data, TrainConfig.from_toml(config), checkpoint=folder + "/run", resume=True,
    progress=lambda news: print(news.event, flush=True),
).save(folder + "/forest")
"""


def test_killed_at_random_moments_it_gives_the_same_bytes(tmp_path):
    """Killed while frames are read, while levels are grown, and with a checkpoint half written.

    A life is measured in levels, not seconds, so that a slow machine gets as far; what comes on top is at random.
    """
    generator = Generator(Config(n_bodies=3, n_poses=64, camera="kinect_v1@60x45", sensor="ideal"), seed=4, n=40)
    data = produce(generator, tmp_path / "data", 40)
    config = replace(CONFIG, depth=10, candidates=300, thresholds=30, pixels_per_frame=300, min_pixels=2)
    train(data, config).save(tmp_path / "expected")
    rng = np.random.default_rng(0)
    environment = dict(os.environ, PYTHONPATH=str(Path(checkpoints.__file__).parent.parent))
    lives = ["reading", "growing", "writing", "growing", "reading", "writing", "to the end"]
    left_half_written = 0
    for phase in lives:
        command = [sys.executable, "-c", SCRIPT, tmp_path, config.to_toml(), phase]
        pipe = subprocess.PIPE
        with started(command, stdout=pipe, stderr=pipe, text=True, env=environment) as process:
            heard = [process.stdout.readline().strip()]
            assert heard == ["started"]
            if phase == "to the end":
                _, errors = process.communicate(timeout=300)
                assert process.returncode == 0, errors
                break
            n_levels = int(rng.integers(1, 4))
            while (phase == "writing" and "writing" not in heard) or (
                phase == "growing" and heard.count("level") < n_levels
            ):
                heard.append(process.stdout.readline().strip())
                assert heard[-1], "it ended before it was killed"
            time.sleep(rng.uniform(0, 0.05))
        assert process.returncode == -signal.SIGKILL
        left_half_written += bool(list((tmp_path / "run").glob(".*.part")))
    assert left_half_written >= 2
    assert not list((tmp_path / "run").glob(".*.part"))
    assert (tmp_path / "forest").read_bytes() == (tmp_path / "expected").read_bytes()


# -- what info says of it


def test_info_says_how_far_a_run_is(frames, tmp_path):
    folder = tmp_path / "run"
    with pytest.raises(StoppedError):
        train(frames, CONFIG, checkpoint=folder, progress=stopping_after(3))
    lines = dict(describe(folder))
    assert lines["kind"] == "checkpoint of a training run, format version 3"
    assert lines["finished trees"] == "0 of 2"
    assert re.match(r"tree 1, 3 of 6 levels: 7 nodes, 0 leaves, 8 open$", lines["growing"])
    assert re.match(r"tree 1 of 2, level 2 of 6: 4 nodes, .* evaluations/s, gain .* left$", lines["last level"])
    assert lines["frames"] == "16"
    assert lines["parts"].startswith("31: head_upper_l, ")
    assert lines["config.seed"] == "9"
    (folder / "log.jsonl").write_text('{"event": "level", "rate": 3}\n[[[')
    assert last_news(folder) == {"event": "level", "rate": 3}
    assert "last level" not in dict(describe(folder))
    (folder / "log.jsonl").unlink()
    assert "last level" not in dict(describe(folder))
    train(frames, CONFIG, checkpoint=folder, resume=True)
    lines = dict(describe(folder))
    assert lines["growing"] == "none: the run is finished"
    assert re.match(r"\d+ nodes, \d+ leaves, 6 levels", lines["tree 2"])
