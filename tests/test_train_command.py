import json
import re
import subprocess
import sys

import pytest

import depthforest as df
from depthforest.trainconfig import TrainConfig
from synth.config import Config
from synth.generator import Generator

SYNTH = Config(camera="kinect_v1@80x60", n_bodies=2, sensor="ideal")
NUMBERS = ["--trees", "2", "--depth", "5", "--candidates", "20", "--thresholds", "8", "--pixels-per-frame", "40"]


def run(*args, cwd=None):
    command = [sys.executable, "-m", "depthforest", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


def test_trains_on_synthetic_frames_and_says_what_the_model_is(tmp_path):
    (tmp_path / "s.toml").write_text(SYNTH.to_toml())
    model = tmp_path / "my.safetensors"
    done = run("train", "-o", model, "--frames", 12, "--seed", 4, "--synth-config", tmp_path / "s.toml", *NUMBERS)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert re.search(r"tree 2 of 2, level \d of 5: .* evaluations/s", done.stdout)
    assert re.search(r"2 trees, \d+ nodes", done.stdout)
    config = TrainConfig(trees=2, depth=5, candidates=20, thresholds=8, pixels_per_frame=40, seed=4)
    assert df.Forest.load(model) == df.train(Generator(SYNTH, 4, n=12), config)
    shown = run("info", model)
    assert shown.returncode == 0, shown.stderr
    assert re.search(r"trees +2", shown.stdout)
    assert "config.pixels_per_frame" in shown.stdout
    checkpoint = run("info", f"{model}.checkpoint")
    assert re.search(r"finished trees +2 of 2", checkpoint.stdout)
    again = run(
        "train", "-o", model, "--frames", 12, "--seed", 4, "--synth-config", tmp_path / "s.toml", *NUMBERS, "--resume"
    )
    assert again.returncode == 0
    assert "finished already" in again.stdout


def test_trains_on_a_data_set_with_a_config_file(tmp_path):
    df.write_dataset(tmp_path / "data", Generator(SYNTH, 1, n=6)[:])
    (tmp_path / "t.toml").write_text("trees = 1\ndepth = 3\ncandidates = 10\npixels_per_frame = 30\n")
    done = run(
        "train", "-o", tmp_path / "m", "--data", tmp_path / "data", "--config", tmp_path / "t.toml", "--depth", 2
    )
    assert done.returncode == 0, done.stderr
    forest = df.Forest.load(tmp_path / "m")
    assert (forest.n_trees, forest.depth) == (1, 2)


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
        (["train", "-o", ".", "--frames", "3"], 2, "is a folder; name a file for the model"),
        (["train", "-o", "m", "--trees", "0"], 2, "trees must be from 1 to"),
        (["train", "-o", "m", "--criterion", "luck"], 2, "criterion"),
        (["train", "-o", "m", "--config", "bad.toml"], 2, "unknown keys"),
        (["info", "none"], 1, "none: cannot be read: no such file or directory"),
        (["info", "bad.toml"], 1, "bad.toml"),
    ],
)
def test_misuse_is_one_line(tmp_path, args, code, message):
    (tmp_path / "bad.toml").write_text("wood = 3")
    done = run(*args, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    (line,) = done.stderr.splitlines()
    assert message in line
    assert not (tmp_path / "m").exists()


def test_the_log_beside_the_checkpoint_is_json(tmp_path):
    (tmp_path / "s.toml").write_text(SYNTH.to_toml())
    run("train", "-o", tmp_path / "m", "--frames", 6, "--synth-config", tmp_path / "s.toml", *NUMBERS)
    logs = list((tmp_path / "m.checkpoint").glob("*.jsonl"))
    assert logs
    entries = [json.loads(line) for line in logs[0].read_text().splitlines()]
    assert {"level", "tree"} <= set(entries[0])
