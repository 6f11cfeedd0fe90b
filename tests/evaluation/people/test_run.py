import json
from dataclasses import replace

import numpy as np
import pytest
from support.madeup import one_part_forest
from support.people import boxes, labeled, write_rooms

import depthforest as df
from depthforest.base.errors import DatasetError, UsageError
from depthforest.evaluation import bench as benchsets
from depthforest.evaluation.people import run as peoplerun
from depthforest.evaluation.people.options import PeopleOptions
from depthforest.frames.drawing import write_depth
from depthforest.frames.parts import NO_PART
from depthforest.people import load_person_model
from synth.config import Config
from synth.generator import Generator

TINY = {"camera": "kinect_v1@160x120", "n_bodies": 2, "n_poses": 64, "furnished_share": 1.0}
PERSON = (1, 10, 50, 10, 30)


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Return a folder with two data sets, empty rooms of one and a model."""
    folder = tmp_path_factory.mktemp("peoplerun")
    rooms = Generator(Config(**TINY, people_shares=(1.0,)), 1, n=4)
    df.write_dataset(folder / "data", list(rooms))
    df.write_dataset(folder / "plain", [labeled(boxes(PERSON), i) for i in range(2)])
    (folder / "room").mkdir()
    for take in range(2):
        write_depth(folder / "room" / f"{take}.png", rooms.empty_room(0, take).depth_mm)
    one_part_forest("neck").save(folder / "neck.safetensors")
    return folder


@pytest.fixture
def tiny(monkeypatch):
    one = benchsets.SETS["procedural"]
    one = replace(one, name="small", n_frames=3, changes={**one.changes, **TINY}, judges=(benchsets.PEOPLE,))
    monkeypatch.setattr(benchsets, "SETS", {"small": one, "procedural": benchsets.SETS["procedural"]})


def ran(**options):
    return peoplerun.prepare_people(PeopleOptions(**options)).run()


def test_sources_and_finders_are_a_table(work, tmp_path):
    rooms = write_rooms(tmp_path / "rooms", {"empty/a.png": None, "people/b.png": boxes(PERSON)})
    paths = {"output": tmp_path / "r.html", "json_path": tmp_path / "r.json"}
    run = peoplerun.prepare_people(PeopleOptions(data=[work / "data", work / "plain"], rooms=[rooms], **paths))
    assert run.total == 8
    told = []
    result = run.run(told.append)
    assert sum(told) == 8
    assert result.written == list(paths.values())
    titles, *rows = result.lines()
    assert titles.startswith("frames of  finder       frames  people  recall")
    assert "ids kept" not in titles
    assert [row.split()[:4] for row in rows] == [
        ["data", "find_people", "4", "4"], ["plain", "find_people", "2", "2"], ["rooms", "find_people", "2", "1"],
    ]  # fmt: skip
    content = json.loads(paths["json_path"].read_text())
    assert (content["format"], content["version"]) == ("depthforest-people", 1)
    assert [s["title"] for s in content["sources"]] == ["data", "plain", "rooms"]
    (finder,) = content["sources"][0]["finders"]
    expected = df.evaluate_people(df.open_dataset(work / "data"))
    assert {k: v for k, v in finder.items() if k not in ("name", "worst")} == {
        k: v for k, v in expected.to_dict().items() if k != "worst"
    }
    assert all(w["name"] == f"{w['frame']:06d}" for w in finder["worst"])
    page = paths["output"].read_text()
    assert page.startswith("<!doctype html>")
    assert page.count("<tr>") == 4
    assert page.count("<img") + page.count("There are no errors") == 3


def test_a_single_score_is_a_line_for_each_figure(work):
    lines = ran(data=[work / "data"], limit=2).lines()
    assert lines[:4] == [
        "frames of              data",
        "finder                 find_people",
        "frames                 2",
        "people                 2",
    ]
    assert lines[4].startswith("recall                 1.000 (1.000 to 1.000)")


def test_person_models_are_compared(work):
    strict = replace(load_person_model(), least_probability=1.0)
    strict.save(work / "strict.safetensors")
    frame = df.open_dataset(work / "data")[0]
    finder = peoplerun.ModelFinder(strict)
    assert finder(frame).ids == finder.tracker().add(frame).ids == ()
    assert peoplerun.ModelFinder(load_person_model())(frame).ids == df.find_people(frame).ids
    models = ["person", work / "strict.safetensors", work / "strict.safetensors"]
    (source,) = ran(models=models, data=[work / "data"]).to_dict()["sources"]
    assert [f["name"] for f in source["finders"]] == ["person", "strict", "strict (2)"]
    assert [f["found"] for f in source["finders"]][1:] == [0, 0]


def test_a_background_is_learned_from_files(work):
    (source,) = peoplerun.prepare_people(
        PeopleOptions(data=[work / "data"], background=[work / "room"], limit=1)
    ).sources
    assert source.background.n_frames == 2
    (judged,) = ran(data=[work / "data"], background=[work / "room" / "0.png"], limit=1).sources
    assert judged.scores["find_people"].mean_iou > 0.9


def test_a_recording_says_whether_ids_stay(work):
    lines = ran(data=[work / "plain"], recording=True).lines()
    assert lines[-1].startswith("id switches")
    assert lines[-2].startswith("ids kept")


@pytest.mark.usefixtures("tiny")
def test_test_sets_bring_their_empty_rooms():
    result = ran(bench=["all"], empty_room=True)
    assert result.lines()[0] == f"bench {benchsets.BENCH_VERSION}, frames without a committed hash: small"
    (source,) = result.to_dict()["sources"]
    assert (source["title"], source["as_committed"], len(source["sha256"])) == ("bench small", False, 64)
    assert result.sources[0].scores["find_people"].mean_iou > 0.9
    assert len(peoplerun.prepare_people(PeopleOptions(bench=["procedural"], limit=2)).sources[0].data) == 2


def test_perfect_frames_have_no_picture(monkeypatch, work, tmp_path):
    monkeypatch.setattr(peoplerun, "PeopleJudge", lambda seed: perfect_judge(seed))
    ran(data=[work / "plain"], output=tmp_path / "r.html")
    assert "There are no errors" in (tmp_path / "r.html").read_text()


def perfect_judge(seed):
    from depthforest.evaluation.people.judging import PeopleJudge

    return PeopleJudge(lambda frame, _background: df.People.of_map(frame.people.copy()), seed=seed)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "there is nothing to find people in; give a data set with data, marked rooms with rooms, or test sets"),
        ({"data": ["d"], "mocap": "clips"}, "mocap names the clips for test sets of bench"),
        ({"rooms": ["r"], "background": ["b"]}, "^background is for data sets; give data"),
        ({"data": ["d"], "bench": ["rooms"], "recording": True}, "^recording is for data sets; give data"),
        ({"data": ["d"], "empty_room": True}, "^empty_room uses the generated empty rooms of bench"),
        ({"data": ["d"], "limit": 0}, "1 or more; got 0"),
    ],
)
def test_what_cannot_be_meant_is_refused(options, message):
    with pytest.raises(UsageError, match=message):
        PeopleOptions(**options)


def test_what_cannot_be_judged_is_refused(work, tmp_path):
    for options, message in (
        ({"bench": ["nothing"]}, "no test set is called 'nothing'"),
        ({"bench": ["rooms"]}, "name their folder"),
        ({"data": [work / "plain"], "background": [work / "room"]}, "the background has 160 x 120 pixels, but"),
        ({"data": [work / "plain"], "output": tmp_path / "x", "json_path": tmp_path / "x"}, "cannot be both"),
    ):
        with pytest.raises(UsageError, match=message):
            peoplerun.prepare_people(PeopleOptions(**options))
    frames = [labeled(boxes(PERSON))]
    df.write_dataset(tmp_path / "alone", frames)
    for path in (tmp_path / "alone" / "people").iterdir():
        path.unlink()
    (tmp_path / "alone" / "people").rmdir()
    with pytest.raises(UsageError, match="alone: has no people/, the ids of the true people"):
        peoplerun.prepare_people(PeopleOptions(data=[tmp_path / "alone"]))
    with pytest.raises(DatasetError, match="is not a folder"):
        peoplerun.prepare_people(PeopleOptions(data=[tmp_path / "nowhere"]))


def test_frames_of_a_zarr_store_are_judged(tmp_path):
    pytest.importorskip("zarr")
    from synth.production import produce

    data = produce(Generator(Config(**TINY), 1, n=2), tmp_path / "z", 2, kind="zarr")
    assert np.count_nonzero(data[0].parts != NO_PART)
    (source,) = ran(data=[tmp_path / "z"]).sources
    assert source.scores["find_people"].n_frames == 2
