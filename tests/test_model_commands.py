"""The commands about models, as people type them."""

import json
from pathlib import Path

import pytest

import depthforest as df
from depthforest.cli import app
from synth.config import Config
from synth.generator import Generator

MODEL = Path(__file__).parent / "golden" / "forest.safetensors"


def command(*words):
    """Run a command in this process; return its exit code."""
    return app([str(word) for word in words], standalone_mode=False, prog_name="depthforest") or 0


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "people"
    df.write_dataset(
        path, Generator(Config(n_bodies=2, n_poses=64, camera="kinect_v1@160x120", sensor="ideal"), seed=3, n=24)
    )
    return path


def test_evaluate_prints_and_writes(data, tmp_path, capsys):
    report, figures = tmp_path / "report.html", tmp_path / "figures.json"
    assert command("evaluate", MODEL, "--data", data, "-o", report, "--json", figures, "--limit", 6) == 0
    said = capsys.readouterr().out
    assert "mean per-class accuracy, 31 parts" in said
    assert "mean average precision of joints at 10 cm" in said
    assert f"written: {report}" in said
    assert report.read_text().startswith("<!doctype html>")
    content = json.loads(figures.read_text())
    assert content["models"][0]["evaluation"]["frames"] == 6
    assert command("evaluate", MODEL, "--data", data, "--limit", 2, "--no-joints") == 0
    assert "average precision" not in capsys.readouterr().out


def test_fit_joints_writes_a_model_with_parameters(data, tmp_path, capsys):
    fitted = tmp_path / "fitted.safetensors"
    assert command("fit-joints", MODEL, "--data", data, "-o", fitted) == 0
    assert "joint parameters of 24 frames" in capsys.readouterr().out
    before, after = df.load(MODEL), df.load(fitted)
    assert before.joints is None
    assert after.joints["version"] == 1
    frame = df.open_dataset(data)[0]
    mask = frame.people == 1
    assert (after.label(frame, mask).parts == before.label(frame, mask).parts).all()
    joints = df.find_joints(frame, after.label(frame, mask))
    assert set(joints) <= set(df.parts.JOINTS)
    assert "head" in joints
