import json
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from support.madeup import marks_of, one_part_forest
from support.naive_forest import random_forest

import depthforest as df
from depthforest.base.errors import DatasetError, DepthForestError, ModelError, UsageError
from depthforest.evaluation import run as evalrun
from depthforest.evaluation.options import EvaluateOptions
from depthforest.frames.drawing import write_depth
from depthforest.frames.parts import BODY31
from depthforest.io.joining import sensor_of
from synth.config import Config
from synth.generator import Generator
from synth.production import produce

CONFIG = Config(camera="kinect_v1@80x60", n_bodies=2, n_poses=64, people_shares=(1.0,))


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Return a folder with two data sets and two models, one with a card."""
    folder = tmp_path_factory.mktemp("evalrun")
    produce(Generator(CONFIG, 1, n=4), folder / "kinect", 4)
    df.write_dataset(folder / "plain", list(Generator(CONFIG, 2, n=3)))
    for seed, name in enumerate(("a", "b")):
        random_forest(np.random.default_rng(seed), 2, 4, BODY31).save(folder / f"{name}.safetensors")
    (folder / "a.md").write_text("# model a\n\nIts card.")
    return folder


def prepared(models, data=(), **options):
    return evalrun.prepare_evaluation(EvaluateOptions(models=models, data=data, **options))


def nothing(_frame, _labeling):
    """Find no joint."""
    return {}


def test_a_report_and_a_json_file_come_out(work, tmp_path):
    run = prepared(
        [work / "a.safetensors", work / "b.safetensors"],
        [work / "kinect"],
        output=tmp_path / "r.html",
        json_path=tmp_path / "r.json",
        joints=nothing,
        threads=1,
    )
    assert run.total == 4
    told = []
    result = run.run(told.append)
    assert sum(told) == run.total
    assert result.written == [tmp_path / "r.html", tmp_path / "r.json"]
    page = (tmp_path / "r.html").read_text()
    assert "Its card." in page
    assert "a and b, side by side" in page
    content = json.loads((tmp_path / "r.json").read_text())
    assert (content["format"], content["version"], content["data"]) == ("depthforest-evaluation", 1, "kinect")
    assert [m["name"] for m in content["models"]] == ["a", "b"]
    forest = df.load(work / "a.safetensors")
    expected = df.evaluate(forest, df.open_dataset(work / "kinect"), joints=False)
    assert content["models"][0]["evaluation"]["pixel_accuracy"] == round(expected.pixel_accuracy, 4)
    assert content["comparisons"][0]["model"] == "b"
    lines = "\n".join(result.lines())
    assert "mean per-class accuracy, 31 parts" in lines
    assert "frames/s" in lines
    assert any("a and b" in line or "better than" in line for line in result.verdicts())


def test_json_is_the_same_on_any_number_of_threads(work, tmp_path):
    contents = []
    for threads in (1, 2):
        path = tmp_path / f"{threads}.json"
        prepared([work / "a.safetensors"], [work / "kinect"], json_path=path, joints=False, threads=threads).run()
        content = json.loads(path.read_text())
        del content["models"][0]["evaluation"]["speed"]
        contents.append(content)
    assert contents[0] == contents[1]


def test_several_sets_are_told_apart_by_sensor(work):
    run = prepared([work / "a.safetensors"], [work / "kinect", work / "plain"], joints=False)
    (data,) = run.data
    assert len(data) == 7
    assert data.sensors == ("kinect_v1",) * 4 + ("plain",) * 3  # as noted by synth; else the folder's name
    assert data.names[3:5] == ("kinect/000003", "plain/000000")
    (model,) = run.run().models
    assert {s.label for s in model.evaluation.slices if s.axis == "sensor"} == {"kinect_v1", "plain"}
    assert prepared([work / "a.safetensors"], [work / "plain"]).data[0].sensors == ("",) * 3


def test_a_description_may_name_the_sensor(tmp_path):
    data = df.write_dataset(tmp_path / "d", list(Generator(CONFIG, 2, n=1)))
    path = tmp_path / "d" / "dataset.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"sensor": "tof"}))
    assert sensor_of(data) == "tof"


def test_zarr_stores_name_theirs(tmp_path):
    pytest.importorskip("zarr")
    data = produce(Generator(CONFIG, 1, n=2), tmp_path / "z", 2, kind="zarr")
    assert sensor_of(data) == "kinect_v1"


def test_a_limit_takes_the_first_frames_of_each_set(work):
    run = prepared([work / "a.safetensors"], [work / "kinect", work / "plain"], limit=2)
    (data,) = run.data
    assert data.names == ("kinect/000000", "kinect/000001", "plain/000000", "plain/000001")
    assert data[2] == df.open_dataset(work / "plain")[0]


def test_marks_are_scored_alone_or_beside_data(tmp_path, work):
    depth = np.zeros((60, 80), dtype=np.uint16)
    depth[10:50, 20:60] = 2000
    (tmp_path / "frames").mkdir()
    write_depth(tmp_path / "frames" / "f.png", depth)
    (tmp_path / "frames" / "f.txt").write_text("a note")
    marks = marks_of([[30, 20, "neck"], [31, 20, "torso"]], {"head": [30, 20, True]}, tmp_path)
    one_part_forest("neck").save(tmp_path / "neck.safetensors")
    camera = "100,100,39.5,29.5"
    run = prepared(
        [tmp_path / "neck.safetensors", work / "a.safetensors"],
        marks=marks,
        frames=tmp_path / "frames",
        camera=camera,
        output=tmp_path / "r.html",
        joints=nothing,
    )
    assert run.total == 2
    result = run.run()
    assert result.models[0].marks.pixel_accuracy == 0.5
    assert result.models[0].evaluation is None
    assert any("correct marked points" in line and "1 of 2" in line for line in result.lines())
    assert "neck: 1 of 2 points" in (tmp_path / "r.html").read_text()
    with_data = prepared(
        [work / "a.safetensors"], [work / "plain"], marks=marks, frames=tmp_path / "frames", camera=camera, joints=False
    )
    assert with_data.total == 4
    (model,) = with_data.run().models
    assert model.evaluation is not None
    assert model.marks is not None


def test_models_get_names_of_their_own(work, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.safetensors").write_bytes((work / "a.safetensors").read_bytes())
    files = [work / "a.safetensors", other / "a.safetensors", work / "a.safetensors", "body31"]
    run = prepared(files, [work / "plain"])
    assert [m.name for m in run.models] == ["a", "other/a", f"{work.name}/a", "body31"]
    assert run.models[0].card.startswith("# model a")
    assert run.models[3].card.startswith("# body31")


def test_the_shipped_samples_are_evaluated(tmp_path):
    from depthforest.base.resources import samples_folder

    run = prepared(["body31"], [samples_folder()], output=tmp_path / "r.html", joints=False)
    (model,) = run.run().models
    assert model.evaluation.pixel_accuracy > 0.3
    assert (tmp_path / "r.html").stat().st_size < 5_000_000


def test_what_a_killed_run_left_is_removed(tmp_path):
    old, young, others = tmp_path / ".0123456789ab.part", tmp_path / ".ba9876543210.part", tmp_path / ".mine.part"
    for path in (old, young, others):
        path.touch()
    for path in (old, others):
        os.utime(path, (0, 0))
    evalrun.check_outputs(None, None)
    assert old.exists()
    evalrun.check_outputs(None, tmp_path / "r.json")
    assert sorted(tmp_path.iterdir()) == sorted((young, others))  # another run may be writing the young one


@pytest.mark.parametrize(
    ("models", "options", "message"),
    [
        ((), {}, "name at least one model"),
        (
            ("a",),
            {"data": ()},
            "nothing to evaluate on; give a data set with data, test sets with bench, or marks with frames",
        ),
        (("a",), {"marks": "m.json"}, "give both"),
        (("a",), {"frames": "f"}, "give both"),
        (("a",), {"limit": 0}, "limit must be a whole number of frames, 1 or more; got 0"),
        (("a",), {"threads": 0}, "threads must be"),
        (("a",), {"output": "missing/r.html"}, "there is no folder"),
        (("a",), {"output": "."}, "is a folder; name a file"),
        (("a",), {"output": "r", "json_path": "r"}, "cannot be both the report and the JSON file"),
    ],
)
def test_misuse_is_refused_before_anything_is_read(work, tmp_path, monkeypatch, models, options, message):
    monkeypatch.chdir(tmp_path)
    options = {"data": [work / "plain"]} | options
    with pytest.raises(UsageError, match=message):
        prepared([work / f"{m}.safetensors" for m in models], **options)


def test_models_and_data_that_do_not_fit_are_named(work, tmp_path):
    chair = df.PartSet(("seat", "leg"))
    random_forest(np.random.default_rng(0), 1, 2, chair).save(tmp_path / "chair.safetensors")
    with pytest.raises(UsageError, match=r"chair on .*plain: the model lacks the parts head_upper_l"):
        prepared([tmp_path / "chair.safetensors"], [work / "plain"])
    with pytest.raises(ModelError, match="is neither a shipped model nor a file"):
        prepared(["nothing.safetensors"], [work / "plain"])
    with pytest.raises(DatasetError):
        prepared([work / "a.safetensors"], [tmp_path])


def test_unknown_joint_names_are_refused(work, tmp_path):
    data = df.write_dataset(tmp_path / "d", list(Generator(CONFIG, 2, n=1)))
    table = Path(data.path / "joints.csv")
    table.write_text(table.read_text().replace(",head,", ",nose,"))
    run = prepared([work / "a.safetensors"], [tmp_path / "d"], output=tmp_path / "r.html", joints=False)
    with pytest.raises(DatasetError, match=r"joints\.csv, line \d+: no joint is called 'nose'"):
        run.run()
    assert not (tmp_path / "r.html").exists()


def test_a_marked_frame_that_is_missing_is_named(work, tmp_path):
    (tmp_path / "frames").mkdir()
    marks = marks_of([[30, 20, "neck"]], None, tmp_path)
    with pytest.raises(UsageError, match="there is no frame 'f', which has marks"):
        prepared([work / "a.safetensors"], marks=marks, frames=tmp_path / "frames")
    with pytest.raises(UsageError, match="cannot be read as the folder of the marked frames"):
        prepared([work / "a.safetensors"], marks=marks, frames=tmp_path / "none")


def test_a_failure_leaves_an_older_report_as_it_was(work, tmp_path, monkeypatch):
    (tmp_path / "r.html").write_text("older")
    run = prepared([work / "a.safetensors"], [work / "plain"], output=tmp_path / "r.html", joints=False)

    def fail(*_, **__):
        raise DepthForestError("no page")

    monkeypatch.setattr("depthforest.evaluation.report.page.report_page", fail)
    with pytest.raises(DepthForestError, match="no page"):
        run.run()
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("r.html", "older")]


def test_real_marks_run(shared_data, tmp_path):
    folder = shared_data("real_kinect_v1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the camera is guessed
        run = prepared(["body31"], marks=folder / "marks.json", frames=folder, output=tmp_path / "r.html", joints=False)
        (model,) = run.run().models
    assert model.marks.n_pixels == 258
