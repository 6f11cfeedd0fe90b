"""The commands about models, as people type them."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from support.command import command, run_here

import depthforest as df
from depthforest.base.errors import DatasetError, ModelError, UsageError
from depthforest.forest import shipped_models
from synth.config import Config
from synth.generator import Generator

MODEL = Path(__file__).resolve().parents[1] / "golden" / "forest.safetensors"


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
    assert set(joints) <= set(df.frames.JOINTS)
    assert "head" in joints


def test_fit_confidence_writes_a_calibrated_model(data, tmp_path, capsys):
    fitted = tmp_path / "fitted.safetensors"
    assert command("fit-confidence", MODEL, "--data", data, "-o", fitted, "--limit", 12) == 0
    after = df.load(fitted)
    said = capsys.readouterr().out
    assert said.endswith(f"of 12 frames in {fitted}\n")
    assert f"temperature {after.calibration['temperature']:g}," in said
    frame = df.open_dataset(data)[0]
    mask = frame.people == 1
    assert (after.label(frame, mask).parts == df.load(MODEL).label(frame, mask).parts).all()


def test_fit_leaves_writes_a_model_that_other_commands_take(data, tmp_path, capsys):
    fitted = tmp_path / "fitted.safetensors"
    options = ("--facings", 4, "--smooth", 0.02, "--leaves", 300, "--depth", 9, "--mirror")
    assert command("fit-leaves", MODEL, "--data", data, "--data", data, "-o", fitted, *options) == 0
    forest = df.load(fitted)
    assert capsys.readouterr().out.endswith(
        f"{forest.n_trees} trees, {forest.n_leaves} leaves, 4 facings in {fitted}\n"
    )
    assert forest.n_leaves <= 300
    assert forest.depth <= 9
    assert (forest.n_facings, forest.smooth_m, forest.mirror) == (4, 0.02, True)
    assert command("info", fitted, "--all") == 0
    shown = capsys.readouterr().out
    assert re.search(r"facings +4\b", shown)
    assert re.search(r"smoothing +0\.02 m", shown)
    assert re.search(r"config\.fit_leaves\.frames +48\b", shown)
    assert re.search(r"config\.fit_leaves\.max_leaves +300\b", shown)
    assert command("evaluate", fitted, "--data", data, "--limit", 2, "--threads", 1) == 0
    assert "mean per-class accuracy, 31 parts" in capsys.readouterr().out
    with_joints = tmp_path / "joints.safetensors"
    assert command("fit-joints", fitted, "--data", data, "--data", data, "-o", with_joints) == 0
    assert "joint parameters of 48 frames" in capsys.readouterr().out
    assert df.load(with_joints).n_facings == 4
    for fit in ("fit-joints", "fit-leaves"):
        before = fitted.read_bytes()
        with pytest.raises(UsageError, match="is the model that is read; name another file with output, or pass force"):
            command(fit, fitted, "--data", data, "-o", fitted)
        assert fitted.read_bytes() == before
    assert command("fit-joints", fitted, "--data", data, "-o", fitted, "--force") == 0
    frame = df.open_dataset(data)[0]
    found = df.load(with_joints).label(frame, frame.people == 1)
    assert df.find_joints(frame, found)
    assert found.facing is None or 0 <= found.facing < 360


def test_train_context_writes_a_model_that_other_commands_take(data, tmp_path, capsys):
    trained = tmp_path / "context.safetensors"
    options = (
        "--trees",
        1,
        "--depth",
        4,
        "--candidates",
        20,
        "--pixels-per-frame",
        40,
        "--min-pixels",
        10,
        "--limit",
        16,
    )
    assert command("train-context", MODEL, "--data", data, "-o", trained, *options) == 0
    forest = df.load(trained)
    assert capsys.readouterr().out.endswith(f"context of 1 tree, {forest.context.n_leaves} leaves in {trained}\n")
    assert command("info", trained, "--all") == 0
    shown = capsys.readouterr().out
    assert re.search(r"context +1 tree, depth \d, \d+ leaves, 32 channels", shown)
    assert re.search(r"context\.config\.candidates +20\b", shown)
    again, run = tmp_path / "again.safetensors", tmp_path / "run"
    for resume in ((), ("--resume",)):
        assert command("train-context", MODEL, "--data", data, "-o", again, *options, "--checkpoint", run, *resume) == 0
        assert again.read_bytes() == trained.read_bytes()
    with pytest.raises(UsageError, match="holds the checkpoint of a run"):
        command("train-context", MODEL, "--data", data, "-o", again, *options, "--checkpoint", run)
    with_joints = tmp_path / "joints.safetensors"
    assert command("fit-joints", trained, "--data", data, "-o", with_joints) == 0
    assert df.load(with_joints).context == forest.context
    refitted, options = tmp_path / "refitted.safetensors", ("--data", data, "--rounds", 1, "--limit", 16)
    capsys.readouterr()
    assert command("fit-context", trained, *options, "-o", refitted) == 0
    assert capsys.readouterr().out.endswith(
        f"{forest.context.n_leaves} leaves of the context stage fitted on 16 frames in {refitted}\n"
    )
    assert df.load(refitted).context.config["fit_context"] == {"frames": 16, "rounds": 1}
    with pytest.raises(UsageError, match="is the model that is read"):
        command("fit-context", refitted, *options, "-o", refitted)
    with pytest.raises(UsageError, match="is the model that is read"):
        command("train-context", refitted, "--data", data, "-o", refitted)
    with pytest.raises(UsageError, match="has no context stage"):
        command("fit-context", MODEL, *options, "-o", again)
    assert command("fit-leaves", trained, "--data", data, "-o", again, "--facings", 1, "--rounds", 0) == 0
    assert df.load(again).context is None


def test_fit_leaves_says_what_is_wrong(data, tmp_path):
    out = tmp_path / "m.safetensors"
    for options, error, message in (
        (("--facings", 33), UsageError, "n_facings must be a whole number from 1 to 32, got 33"),
        (("--smooth", 1), UsageError, "smoothing must be a radius from 0 to 0.25 meters, got 1.0"),
        (("--leaves", 1), UsageError, "max_leaves must be a whole number from "),
        (("--depth", 65), UsageError, "max_depth must be a whole number from 1 to 64, got 65"),
    ):
        with pytest.raises(error, match=message):
            command("fit-leaves", MODEL, "--data", data, "-o", out, *options)
    # people type options
    for options, message in (
        (("--facings", 33), b"error: --facings must be a whole number from 1 to 32, got 33\n"),
        (("--leaves", 1), b"error: --leaves must be a whole number from 2 to 16777216, got 1\n"),
        (("--depth", 65), b"error: --depth must be a whole number from 1 to 64, got 65\n"),
    ):
        refused = run_here("fit-leaves", MODEL, "--data", data, "-o", out, *options)
        assert refused.returncode == 2
        assert refused.stderr.endswith(message)
    refused = run_here("fit-leaves", MODEL, "--data", data, "-o", out, "--facings", 0)
    assert refused.returncode == 2
    assert b"Invalid value for '--facings'" in refused.stderr
    frames = df.open_dataset(data)[:2]
    silent = [df.LabeledFrame(f.depth_mm, f.camera, f.parts, f.people, {}, f.part_set) for f in frames]
    df.write_dataset(tmp_path / "silent", silent)
    with pytest.raises(DatasetError, match="none of the 2 frames shows a labeled person with joints"):
        command("fit-leaves", MODEL, "--data", tmp_path / "silent", "-o", out)
    other = [
        df.LabeledFrame(f.depth_mm, f.camera, np.where(f.parts < 255, f.parts % 2, 255).astype(np.uint8), f.people, {},
                        df.PartSet(("a", "b")))
        for f in frames
    ]  # fmt: skip
    df.write_dataset(tmp_path / "other", other)
    with pytest.raises(DatasetError, match="the frames have other parts than the model"):
        command("fit-leaves", MODEL, "--data", tmp_path / "other", "-o", out)
    with pytest.raises(df.DepthForestError, match="no_such_folder"):
        command("fit-leaves", MODEL, "--data", data, "-o", tmp_path / "no_such_folder" / "m")
    assert not out.exists()


def test_info_takes_names_and_files(capsys):
    assert command("info", "body31-fast") == 0
    shown = capsys.readouterr().out
    assert re.search(r"trees +2\b", shown)
    assert len(shown.splitlines()) <= 24  # a screen
    assert "; --all shows them" in shown
    assert command("info", "body31-fast", "--all") == 0
    assert len(capsys.readouterr().out.splitlines()) > 100
    assert command("info", MODEL) == 0
    with pytest.raises(ModelError, match="'nobody': is neither a shipped model nor a file; shipped are: body31"):
        command("info", "nobody")


def test_info_without_a_model_lists_the_shipped_ones(capsys):
    assert command("info") == 0
    shown = capsys.readouterr().out
    assert [line.split()[0] for line in shown.splitlines() if line.startswith("body31")] == list(shipped_models())
    assert re.search(r"^body31 +\d+\.\d MB, ", shown, re.MULTILINE)
