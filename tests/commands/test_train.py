import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from support.command import run_here

import depthforest as df
from depthforest.base.errors import DepthForestError
from depthforest.cli.commands import app
from depthforest.training.config import TrainConfig
from synth.config import Config
from synth.generator import Generator

SYNTH = Config(camera="kinect_v1@80x60", n_bodies=2, n_poses=64, sensor="ideal")
NUMBERS = ["--trees", "2", "--depth", "5", "--candidates", "20", "--thresholds", "8", "--pixels-per-frame", "40"]


def run(*args, cwd=None):
    done = run_here(*args, cwd=cwd)
    return replace(done, stdout=done.stdout.decode(), stderr=done.stderr.decode())


def run_apart(*args):
    """Run it as people do, in a process of its own."""
    command = [sys.executable, "-m", "depthforest", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)


def test_trains_on_synthetic_frames_and_says_what_the_model_is(tmp_path):
    (tmp_path / "s.toml").write_text(SYNTH.to_toml())
    model = tmp_path / "my.safetensors"
    done = run_apart("train", "-o", model, "--frames", 12, "--seed", 4, "--synth-config", tmp_path / "s.toml", *NUMBERS)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert re.search(
        r"tree 2 of 2, level \d of 5: \d+ nodes, .* evaluations/s, gain .*, out-of-bag accuracy .*, .* left",
        done.stdout,
    )
    assert re.search(r"2 trees, \d+ nodes", done.stdout)
    config = TrainConfig(trees=2, depth=5, candidates=20, thresholds=8, pixels_per_frame=40, seed=4)
    assert df.Forest.load(model) == df.train(Generator(SYNTH, 4, n=12), config)
    shown = run_apart("info", model)
    assert shown.returncode == 0, shown.stderr
    assert re.search(r"trees +2", shown.stdout)
    assert re.search(r"config +\d+ entries; --all shows them", shown.stdout)
    assert "config.pixels_per_frame" in run("info", model, "--all").stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["my.safetensors", "s.toml"]  # no checkpoint is left


def test_trains_on_a_data_set_with_a_config_file(tmp_path):
    df.write_dataset(tmp_path / "data", Generator(SYNTH, 1, n=6)[:])
    (tmp_path / "t.toml").write_text("trees = 1\ndepth = 3\ncandidates = 10\npixels_per_frame = 30\n")
    done = run(
        "train", "-o", tmp_path / "m", "--data", tmp_path / "data", "--config", tmp_path / "t.toml", "--depth", 2
    )
    assert done.returncode == 0, done.stderr
    forest = df.Forest.load(tmp_path / "m")
    assert (forest.n_trees, forest.depth) == (1, 2)


def test_trains_on_several_data_sets_as_on_one(tmp_path, frames):
    df.write_dataset(tmp_path / "whole", frames)
    df.write_dataset(tmp_path / "one", frames[:2])
    df.write_dataset(tmp_path / "two", frames[2:])
    for model, folders in (("a", ["whole"]), ("b", ["one", "two"])):
        data = [word for folder in folders for word in ("--data", folder)]
        done = run("train", "-o", model, *data, *NUMBERS, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    begun = run("train", "-o", "b", "--data", "one", "--data", "two", "--checkpoint", "b.run", *NUMBERS, cwd=tmp_path)
    assert begun.returncode == 0, begun.stderr  # the finished run above is in nobody's way
    again = ("train", "-o", "c", "--checkpoint", "b.run", "--resume", *NUMBERS)
    assert run(*again, "--data", "one", "--data", "two", cwd=tmp_path).returncode == 0
    assert (tmp_path / "c").read_bytes() == (tmp_path / "b").read_bytes()
    refused = run(*again, "--data", "two", "--data", "one", cwd=tmp_path)
    assert refused.returncode == 1
    assert "b.run: was begun with other data" in refused.stderr


def test_every_number_is_an_option():
    shown = run("train", "--help").stdout
    for name in TrainConfig().to_dict():
        assert f"--{name.replace('_', '-')}" in shown


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["train"], 2, "Missing option '--output' / '-o'"),
        (["train", "-o", "m", "--data", "none"], 1, "none: is not a folder"),
        (["train", "-o", "m", "--data", "none", "--sensor", "tof"], 2, "--data brings its own frames"),
        (["train", "-o", "m", "--data", "none", "--frames", "9"], 2, "--data brings its own frames"),
        (["train", "-o", ".", "--frames", "3"], 2, "is a folder; name a file"),
        (["train", "-o", "no/m", "--frames", "3"], 2, "no/m: cannot be written: there is no folder"),
        (["train", "-o", "m", "--trees", "0"], 2, "trees must be from 1 to"),
        (["train", "-o", "m", "--depth", "0"], 2, "depth must be from 1 to 40, got 0"),
        (["train", "-o", "m", "--depth", "41"], 2, "depth must be from 1 to 40, got 41"),
        (["train", "-o", "m", "--min-gain", "nan"], 2, "min_gain must be a finite number, got nan"),
        (["train", "-o", "m", "--candidates", "1" + "0" * 30], 2, "candidates is a whole number of more than 64 bits"),
        (["train", "-o", "m", "--criterion", "luck"], 2, "criterion"),
        (["train", "-o", "m", "--config", "bad.toml"], 2, "bad.toml: unknown keys wood; known are trees, depth"),
        (["train", "-o", "m", "--config", "nan.toml"], 2, "nan.toml: probe_range_m must be a finite number, got nan"),
        (["train", "-o", "m", "--config", "none.toml"], 2, "none.toml: cannot be read: no such file"),
        (["info", "none"], 1, "'none': is neither a shipped model nor a file; shipped are: body31"),
        (["info", "bad.toml"], 1, "bad.toml"),
    ],
)
def test_misuse_is_one_line(tmp_path, args, code, message):
    (tmp_path / "bad.toml").write_text("wood = 3")
    (tmp_path / "nan.toml").write_text("probe_range_m = nan")
    done = run(*args, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("depthforest: error: ")
    assert message in line
    assert not (tmp_path / "m").exists()


def told(tmp_path, *args):
    """Return the exit code and the one line of a training that fails."""
    done = run("train", "-o", "m", "--threads", 1, *NUMBERS, *args, cwd=tmp_path)
    (line,) = done.stderr.splitlines()
    assert "Traceback" not in done.stdout
    assert not (tmp_path / "m").exists()
    assert not list(tmp_path.rglob("*.part"))
    return done.returncode, line.removeprefix("depthforest: error: ")


def relabeled(frame, labels, names):
    parts = np.where(frame.parts < 255, labels, 255).astype(np.uint8)
    return df.LabeledFrame(frame.depth_mm, frame.camera, parts, frame.people, {}, df.PartSet(names))


@pytest.fixture(scope="module")
def frames():
    return Generator(SYNTH, 1, n=3)[:]


def test_data_without_frames(tmp_path, frames):
    df.write_dataset(tmp_path / "data", frames)
    for kind in ("depth", "parts", "people"):
        for path in (tmp_path / "data" / kind).iterdir():
            path.unlink()
    assert told(tmp_path, "--data", "data") == (1, "data/depth: holds no .png frames")


def test_data_with_one_part(tmp_path, frames):
    df.write_dataset(tmp_path / "data", [relabeled(f, 0, ("all",)) for f in frames])
    code, line = told(tmp_path, "--data", "data")
    assert (code, line) == (1, "the part set has one part (all); there is nothing to tell apart")


def test_data_with_one_label(tmp_path, frames):
    df.write_dataset(tmp_path / "data", [relabeled(f, 1, ("x", "y")) for f in frames])
    assert told(tmp_path, "--data", "data") == (1, "all training pixels are y; there is nothing to tell apart")


def test_data_without_people(tmp_path, frames):
    nobody = [
        df.LabeledFrame(f.depth_mm, f.camera, np.full_like(f.parts, 255), np.zeros_like(f.people), {}) for f in frames
    ]
    df.write_dataset(tmp_path / "data", nobody)
    code, line = told(tmp_path, "--data", "data", "--frames-per-tree", 1)
    assert (code, line) == (1, "none of the 3 frames of tree 1 shows a labeled person; there is nothing to learn")


def test_labels_outside_the_part_set(tmp_path, frames):
    df.write_dataset(tmp_path / "data", [relabeled(f, f.parts % 3, ("x", "y", "z")) for f in frames])
    path = tmp_path / "data" / "parts" / "000001.png"
    Image.fromarray(np.where(frames[1].parts < 255, 7, 255).astype(np.uint8)).save(path)
    code, line = told(tmp_path, "--data", "data")
    assert code == 1
    assert re.match(r"data, frame 000001: .*\b7\b", line)


def test_fewer_pixels_than_a_split_needs(tmp_path, frames):
    df.write_dataset(tmp_path / "data", frames)
    code, line = told(tmp_path, "--data", "data", "--min-pixels", 5000)
    assert code == 1
    assert line.startswith("a tree has 80 training pixels, fewer than min_pixels (5000); give more frames")


def test_more_candidates_than_memory(tmp_path, frames):
    df.write_dataset(tmp_path / "data", frames)
    code, line = told(tmp_path, "--data", "data", "--memory", 0.0001)
    assert code == 2
    assert re.match(r"one candidate of a node of 80 pixels needs .* MB, .* raise --memory", line)


def test_a_checkpoint_that_does_not_fit(tmp_path, frames):
    """Left as it is, whatever does not fit; and resumed by what does."""
    df.write_dataset(tmp_path / "data", frames)
    done = run("train", "-o", "a", "--data", "data", *NUMBERS, "--checkpoint", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    before = {p.name: p.read_bytes() for p in (tmp_path / "run").iterdir()}
    again = ("--data", "data", "--checkpoint", "run")
    code, line = told(tmp_path, *again)
    assert (code, line) == (
        2,
        "run: holds the checkpoint of a run that was stopped; --resume continues it, --force starts over",
    )
    assert told(tmp_path, *again, "--resume", "--force") == (
        2,
        "--resume continues, --force starts over; leave one out",
    )
    code, line = told(tmp_path, *again, "--resume", "--seed", 3)
    assert code == 1
    assert line.startswith("run: was begun with config seed = 0, now it is 3; continue with the same options")
    df.write_dataset(tmp_path / "other", frames[::-1])
    code, line = told(tmp_path, "--data", "other", "--checkpoint", "run", "--resume")
    assert code == 1
    assert line.startswith("run: was begun with other data: now there are other")
    assert {p.name: p.read_bytes() for p in (tmp_path / "run").iterdir()} == before
    identity = json.loads(before["identity.json"])
    (tmp_path / "run" / "identity.json").write_text(json.dumps(identity | {"format": 1}))
    code, line = told(tmp_path, *again, "--resume")
    assert code == 1
    assert line.startswith("run: is a checkpoint of format 1, this depthforest continues with ")
    (tmp_path / "run" / "identity.json").write_bytes(before["identity.json"])
    done = run("train", "-o", "b", *again, *NUMBERS, "--resume", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "all 2 trees are finished already" in done.stdout
    assert (tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes()
    done = run("train", "-o", "c", *again, *NUMBERS, "--seed", 3, "--force", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "c").read_bytes() != (tmp_path / "a").read_bytes()


def test_a_model_that_is_replaced_is_told(tmp_path, frames):
    df.write_dataset(tmp_path / "data", frames)
    line = "depthforest: warning: m: is there already; the new model will replace it when it is finished\n"
    for more, told in (((), ""), (("--seed", 3), line), (("--resume",), line), (("--force",), "")):
        done = run("train", "-o", "m", "--data", "data", *NUMBERS, *more, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, told)
    (tmp_path / "a.tree").write_text("1\n0 0 0 0 0\n0\n1\n")
    for told in ("", line.replace(" m:", " pcl:")):
        done = run("import-pcl", "a.tree", "-o", "pcl", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, told)


def test_without_a_checkpoint_resume_starts_afresh_and_says_so(tmp_path, frames):
    df.write_dataset(tmp_path / "data", frames)
    done = run("train", "-o", "m", "--data", "data", *NUMBERS, "--resume", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "m.checkpoint holds nothing to go on from: starting afresh"


def test_a_model_that_cannot_be_written_is_not_lost(tmp_path, frames, monkeypatch):
    """The disk is full when all is grown: the trees are in the checkpoint, and the line says how to get them."""
    df.write_dataset(tmp_path / "data", frames)
    monkeypatch.chdir(tmp_path)
    command = ["train", "-o", "m", "--data", "data", *NUMBERS]

    def full(path, **_):
        raise DepthForestError(f"{path}: cannot be written: no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(df.Forest, "save", lambda _, path: full(path))
        with pytest.raises(DepthForestError, match="no space left on device; the same command with --resume writes it"):
            app(command, standalone_mode=False)
    assert not (tmp_path / "m").exists()
    app([*command, "--resume"], standalone_mode=False)
    assert df.Forest.load("m").n_trees == 2


def test_the_log_beside_the_checkpoint_is_json(tmp_path):
    (tmp_path / "s.toml").write_text(SYNTH.to_toml())
    kept = ("--checkpoint", tmp_path / "run")
    run("train", "-o", tmp_path / "m", "--frames", 6, "--synth-config", tmp_path / "s.toml", *NUMBERS, *kept)
    (log,) = (tmp_path / "run").glob("*.jsonl")
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    levels = [entry for entry in entries if entry["event"] == "level"]
    assert len(levels) >= 8
    for entry in levels:
        assert {"tree", "level", "n_nodes", "rate", "gain", "out_of_bag", "seconds_left"} <= set(entry)
