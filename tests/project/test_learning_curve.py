import importlib.util
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import depthforest as df
from depthforest.base.errors import UsageError
from synth.config import Config
from synth.generator import Generator

pytest.importorskip("matplotlib")
pytest.importorskip("zarr")

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "learning_curve.py"
SCENES = Config(camera="kinect_v1@40x30", n_bodies=2, n_poses=64, sensor="ideal")
CONFIG = df.TrainConfig(trees=2, depth=4, candidates=10, thresholds=8, pixels_per_frame=30, seed=5)


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("learning_curve", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_size_trains_on_the_first_frames_and_is_judged_on_other_ones(tool, tmp_path):
    rows = tool.curve(tmp_path / "work", [3, 6], 4, CONFIG, SCENES, plot_path=tmp_path / "plot.png")
    assert [row["frames"] for row in rows] == [3, 6]
    forest = df.train(Generator(SCENES, 5, n=3), CONFIG)
    assert df.Forest.load(tmp_path / "work" / "3.safetensors") == forest
    judging = df.open_dataset(tmp_path / "work" / "test.zarr")
    assert len(judging) == 4
    assert judging[0] != Generator(SCENES, 5)[0]
    result = df.evaluate(forest, judging)
    assert rows[0]["mean_class_accuracy"] == pytest.approx(result.mean_class_accuracy, abs=1e-5)
    assert rows[0]["pixel_accuracy"] == pytest.approx(result.pixel_accuracy, abs=1e-5)
    lines = (tmp_path / "work" / "curve.csv").read_text().splitlines()
    assert lines[0].split(",") == list(tool.COLUMNS)
    assert [float(v) for v in lines[2].split(",")] == [rows[1][name] for name in tool.COLUMNS]
    with Image.open(tmp_path / "plot.png") as picture:
        assert min(picture.size) > 200
        assert len(np.unique(np.asarray(picture.convert("RGB")).reshape(-1, 3), axis=0)) > 20


def test_an_interruption_loses_nothing(tool, tmp_path, monkeypatch, capsys):
    work = tmp_path / "work"
    tool.curve(work, [3], 2, CONFIG, SCENES)
    done = (work / "3.safetensors").stat().st_mtime_ns

    def stop(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(df, "evaluate", stop, raising=False)
        with pytest.raises(KeyboardInterrupt):
            tool.curve(work, [3, 6], 2, CONFIG, SCENES)
    assert [row["frames"] for row in json.loads((work / "curve.json").read_text())] == [3]
    capsys.readouterr()
    rows = tool.curve(work, [3, 6], 2, CONFIG, SCENES)
    said = capsys.readouterr().out
    assert "finished already" in said
    assert "3 frames:" not in said
    assert [row["frames"] for row in rows] == [3, 6]
    assert (work / "3.safetensors").stat().st_mtime_ns == done
    assert df.Forest.load(work / "6.safetensors") == df.train(Generator(SCENES, 5, n=6), CONFIG)
    with pytest.raises(UsageError, match="holds a curve of other options"):
        tool.curve(work, [3], 2, replace(CONFIG, depth=5), SCENES)


def test_left_and_right_are_merged_before_the_mean(tool):
    parts = df.PartSet(("head", "hand_l", "hand_r"))
    confusion = np.array([[6, 2, 2], [1, 4, 5], [0, 5, 5]])
    assert tool.merged_accuracy(df.Evaluation(confusion, parts, 1)) == pytest.approx((6 / 10 + 19 / 20) / 2)
    never_seen = np.array([[6, 2, 2], [0, 0, 0], [0, 0, 0]])
    assert tool.merged_accuracy(df.Evaluation(never_seen, parts, 1)) == pytest.approx(0.6)


def test_clips_are_split_by_subject(tool, tmp_path, shared_data):
    clips = shared_data("cmu_bvh")
    for clip in ("007/07_01", "007/07_02", "008/08_01", "009/09_01"):
        (tmp_path / "clips" / clip).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(clips / f"{clip}.bvh", tmp_path / "clips" / f"{clip}.bvh")
    seen, unseen = tool.split_subjects(str(tmp_path / "clips"), 0.34, seed=1)
    assert len(seen) == 2
    assert len(unseen) == 1
    assert sorted(seen + unseen) == ["07", "08", "09"]
    scenes = replace(SCENES, mocap=str(tmp_path / "clips"), mocap_distance=0.3)
    tool.curve(tmp_path / "work", [3], 2, CONFIG, scenes, test_subjects_share=0.34)
    settings = json.loads((tmp_path / "work" / "settings.json").read_text())
    kept = {name: {"07", "08", "09"} - set(settings[name]["without_subjects"]) for name in ("train", "test")}
    assert kept["train"]
    assert kept["test"]
    assert not kept["train"] & kept["test"]


def test_one_subject_cannot_be_split(tool, tmp_path, shared_data):
    shutil.copy(shared_data("cmu_bvh") / "007" / "07_01.bvh", tmp_path / "07_01.bvh")
    with pytest.raises(UsageError, match="clips of 1 subjects cannot be split"):
        tool.split_subjects(str(tmp_path), 0.2, seed=0)


def test_the_command_takes_everything_as_options(tool, tmp_path, capsys):
    numbers = (
        "--sizes 2 3 --test-frames 2 --trees 1 --depth 2 --candidates 5 --pixels-per-frame 20 --seed 1 --n-bodies 2"
    )
    where = ["--camera", "kinect_v1@40x30", "--sensor", "ideal", "--plot", str(tmp_path / "pictures" / "p.png")]
    tool.main([str(tmp_path / "work"), *numbers.split(), *where])
    assert "figures in" in capsys.readouterr().out
    assert (tmp_path / "pictures" / "p.png").is_file()
    assert df.Forest.load(tmp_path / "work" / "3.safetensors").n_trees == 1
