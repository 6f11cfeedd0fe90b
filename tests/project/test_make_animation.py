"""The tool that makes the animation of docs, and the one that measures the filter."""

import importlib.util
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from depthforest.base.errors import DepthForestError
from synth.config import Config
from synth.recording import Recording

TOP = Path(__file__).resolve().parents[2]


def load_tool(name):
    spec = importlib.util.spec_from_file_location(name, TOP / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def tool():
    return load_tool("make_animation")


@pytest.fixture(scope="module")
def measuring():
    return load_tool("measure_tracks")


def test_an_animation_of_the_truth(tool, tmp_path, monkeypatch, capsys):
    output = tmp_path / "walk"
    options = ["--truth", "-n", "6", "--camera", "kinect_v1@160x120", "--frame", "3", "-o", str(output)]
    monkeypatch.setattr(sys, "argv", ["make_animation.py", *options])
    tool.main()
    with Image.open(output.with_suffix(".webp")) as image:
        assert image.n_frames == 3
        assert image.size == (324, 138)
    video = cv2.VideoCapture(str(output.with_suffix(".mp4")))
    n_read = 0
    while video.read()[0]:
        n_read += 1
    assert n_read == 6
    assert (tmp_path / "walk_000003.png").is_file()
    assert "6 frames" in capsys.readouterr().out


def test_an_animation_is_made_small_or_not_at_all(tool, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    frames = [rng.integers(0, 255, (60, 80, 3)).astype(np.uint8) for _ in range(4)]
    best = len(tool.webp(frames, 10, tool.QUALITIES[0]))
    monkeypatch.setattr(tool, "MAX_BYTES", best - 1)
    assert tool.write_small(tmp_path / "a.webp", frames, 10) < tool.QUALITIES[0]
    assert (tmp_path / "a.webp").stat().st_size < best
    monkeypatch.setattr(tool, "MAX_BYTES", 10)
    with pytest.raises(DepthForestError, match="bytes even at quality 15; give fewer frames"):
        tool.write_small(tmp_path / "b.webp", frames, 10)
    assert not (tmp_path / "b.webp").exists()


def test_noise_and_lag_are_measured_as_they_are(measuring):
    rng = np.random.default_rng(0)
    times = np.arange(300)[:, None, None, None] / 30
    places = 0.5 * np.sin(2 * times + rng.uniform(0, 6, (1, 2, 19, 3)))
    truth = measuring.Truth(places, np.ones((300, 2, 19), bool), 30.0)
    found, is_jump = measuring.spoil(truth, rng, noise=0.03, dropout=0.05, jumps=0.0)
    assert not is_jump.any()
    assert np.isnan(found[..., 0]).mean() == pytest.approx(0.05, abs=0.01)
    assert measuring.rms(found - places) == pytest.approx(3 * 3**0.5, rel=0.03)
    assert measuring.jitter(found, places) == pytest.approx(3 * 6**0.5, rel=0.03)
    late = 0.5 * np.sin(2 * (times - 0.1)) * np.ones_like(places)
    exact = measuring.Truth(0.5 * np.sin(2 * times) * np.ones_like(places), truth.is_visible, 30.0)
    assert measuring.lag(late, exact) == pytest.approx(100, abs=5)


def test_the_filter_helps_on_a_recording(measuring):
    config = Config(camera="kinect_v1@160x120", n_bodies=2, people_shares=(0.0, 1.0))
    truth = measuring.truth_of(Recording(config, seed=4, n=90), threads=1)
    found, is_jump = measuring.spoil(truth, np.random.default_rng(0), noise=0.03, dropout=0.05, jumps=0.02)
    outcome = measuring.run(found, 30.0, measuring.TrackSettings())
    is_calm = ~np.isnan(found[..., 0]) & ~outcome.is_bridged
    calm = np.where(is_calm[..., None], outcome.places, np.nan)
    assert measuring.rms(calm - truth.places) < 0.8 * 3 * 3**0.5
    assert measuring.jitter(calm, truth.places) < 0.5 * 3 * 6**0.5
    assert (outcome.is_bridged & is_jump).sum() > 0.9 * is_jump.sum()
    matched = measuring.run(found, 30.0, measuring.TrackSettings(), np.random.default_rng(0))
    assert [len(ids) for ids in matched.ids] == [1, 1]
    assert matched.ids[0] != matched.ids[1]
