"""`depthforest label` in rooms: people who are looked for, recordings, and joints."""

import csv
import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import depthforest as df
from depthforest.base.errors import DepthForestError
from depthforest.cli.commands import app
from depthforest.frames import drawing
from depthforest.frames.parts import NO_PART
from depthforest.io.formats import read_labels
from depthforest.joints.files import read_joints
from depthforest.people import load_person_model
from synth.config import Config
from synth.recording import Recording

CAMERA = "kinect_v1@160x120"
CONFIG = Config(n_bodies=2, camera=CAMERA, sensor="ideal", people_shares=(0, 1))
N = 12


def label(*args):
    """Run the command in this process; return its exit code."""
    return app(["label", *map(str, args)], standalone_mode=False, prog_name="depthforest") or 0


@pytest.fixture(scope="module")
def recording():
    return Recording(CONFIG, seed=5, n=N, fps=10)


@pytest.fixture(scope="module")
def folder(recording, tmp_path_factory):
    """Return a folder with the frames of a recording in `in/`, and the empty room."""
    path = tmp_path_factory.mktemp("recording")
    (path / "in").mkdir()
    for i in range(N):
        drawing.write_depth(path / "in" / f"f{i:02d}.png", recording[i].depth_mm)
    drawing.write_depth(path / "room.png", recording.empty_room(0).depth_mm)
    return path


def share_found(labels, frame):
    """Return the intersection over the union of labeled pixels and people."""
    is_labeled, is_person = labels != NO_PART, (frame.people > 0) & (frame.depth_mm > 0)
    return (is_labeled & is_person).sum() / (is_labeled | is_person).sum()


def test_with_an_empty_room_everyone_is_found(folder, recording, tmp_path):
    room = folder / "room.png"
    assert label(folder / "in", "-o", tmp_path / "out", "--camera", CAMERA, "--background", room) == 0
    shares = [share_found(read_labels(tmp_path / "out" / "parts" / f"f{i:02d}.png"), recording[i]) for i in range(N)]
    assert np.mean(shares) > 0.9
    # a new picture of the room asks for new labels, the old one does not
    before = (tmp_path / "out" / "parts" / "f00.png").stat().st_mtime_ns
    assert label(folder / "in", "-o", tmp_path / "out", "--camera", CAMERA, "--background", room) == 0
    assert (tmp_path / "out" / "parts" / "f00.png").stat().st_mtime_ns == before


def test_without_one_they_are_told_by_their_shape(folder, recording, tmp_path):
    assert label(folder / "in", "-o", tmp_path / "out", "--camera", CAMERA, "--write", "json,parts") == 0
    shares = [share_found(read_labels(tmp_path / "out" / "parts" / f"f{i:02d}.png"), recording[i]) for i in range(N)]
    assert np.mean(shares) > 0.6
    one = tmp_path / "one"
    assert label(folder / "in", "-o", one, "--camera", CAMERA, "--people", 1, "--write", "json") == 0
    for i in range(N):
        assert len(json.loads((one / "json" / f"f{i:02d}.json").read_text())["people"]) <= 1


def test_who_is_improbable_is_left_out(folder, tmp_path):
    """Here everybody is, because the person model asks too much."""
    model = tmp_path / "strict.safetensors"
    replace(load_person_model(), least_probability=1.0).save(model)
    words = folder / "in" / "f00.png", "--camera", CAMERA, "--person-model", model, "--write", "parts,joints,json", "-o"
    is_labeled = {}
    for i, options in enumerate(((), ("--doubtful",), ("--background-removed",))):
        out = tmp_path / f"out{i or ''}"
        assert label(*words, out, *options) == 0
        is_labeled[options] = (read_labels(out / "parts" / "f00.png") != NO_PART).any()
        assert bool(read_joints(out / "joints" / "f00.json")[0].people) == is_labeled[options]
        people = json.loads((out / "json" / "f00.json").read_text())["people"]
        assert all(0 <= person["probability"] <= 1 for person in people)
    assert list(is_labeled.values()) == [False, True, True]
    with pytest.raises(DepthForestError, match=r"was labeled with other options \(doubtful was False"):
        label(*words, tmp_path / "out", "--doubtful")
    with pytest.raises(DepthForestError, match="neither a shipped person model nor a file"):
        label(folder / "in", "--camera", CAMERA, "--person-model", "nobody", "-o", tmp_path / "other")


def test_python_and_the_command_find_the_same_people(folder, recording, tmp_path):
    assert label(folder / "in", "-o", tmp_path / "out", "--camera", CAMERA, "--write", "json,parts") == 0
    for i in range(N):
        found = df.find_people(df.Frame(recording[i].depth_mm, recording[i].camera))
        people = json.loads((tmp_path / "out" / "json" / f"f{i:02d}.json").read_text())["people"]
        assert {one["id"]: one["probability"] for one in people} == {
            person: round(p, 4) for person, p in zip(found.ids, found.probabilities, strict=True)
        }
        np.testing.assert_array_equal(
            read_labels(tmp_path / "out" / "parts" / f"f{i:02d}.png") != NO_PART, found.map > 0
        )


def test_the_table_of_joints_has_all_frames_of_the_folder(folder, tmp_path):
    common = ["-o", tmp_path / "out", "--camera", CAMERA, "--background", folder / "room.png", "--write", "joints"]
    for names in (["f02"], ["f10", "f01"], ["f02"]):
        assert label(*(folder / "in" / f"{name}.png" for name in names), *common) == 0
    with (tmp_path / "out" / "joints.csv").open() as file:  # in the order that they came
        assert list(dict.fromkeys(row["frame"] for row in csv.DictReader(file))) == ["f02", "f10", "f01"]


def test_a_frame_that_does_not_fit_the_background_is_named(folder, tmp_path, capsys):
    small = tmp_path / "small.png"
    drawing.write_depth(small, np.full((60, 80), 2000, np.uint16))
    words = [folder / "in" / "f00.png", small, "-o", tmp_path / "out", "--background", folder / "room.png"]
    for track in ([], ["--track"]):
        assert label(*words, "--camera", "285,285,40,30", *track, "--write", "parts", "--force") == 1
        assert "small.png: the background is 160 x 120 pixels, the frame 80 x 60" in capsys.readouterr().err


def test_a_recording_keeps_its_people_and_calms_their_joints(folder, recording, tmp_path):
    common = ["--camera", CAMERA, "--background", folder / "room.png", "--write", "joints,overlay"]
    assert label(folder / "in", "-o", tmp_path / "calm", *common, "--track", "--fps", 10) == 0
    assert label(folder / "in", "-o", tmp_path / "each", *common) == 0
    kinds = {"calm": [], "each": []}
    for kind, frames in kinds.items():
        for i in range(N):
            (frame,) = read_joints(tmp_path / kind / "joints" / f"f{i:02d}.json")
            assert frame.name == f"f{i:02d}"
            assert frame.camera == recording[0].camera
            frames.append(frame.people)

    def jitter(frames):
        steps = [
            np.linalg.norm(np.subtract(b[person][name].position, a[person][name].position))
            for a, b in pairwise(frames)
            for person in set(a) & set(b)
            for name in set(a[person]) & set(b[person])
        ]
        return np.median(steps)

    assert jitter(kinds["calm"]) < jitter(kinds["each"])
    # ids stay where the people are
    for before, after in pairwise(kinds["calm"]):
        for person in set(before) & set(after):
            if {"neck"} <= set(before[person]) & set(after[person]):
                gap = np.subtract(before[person]["neck"].position, after[person]["neck"].position)
                assert np.linalg.norm(gap) < 0.5
    rows = list(csv.DictReader((tmp_path / "calm" / "joints.csv").read_text().splitlines()))
    assert {row["frame"] for row in rows} == {f"f{i:02d}" for i in range(N)}
    assert len(rows) == sum(len(joints) for people in kinds["calm"] for joints in people.values())


def test_the_table_has_the_frames_that_were_done_before(folder, tmp_path):
    common = ["--camera", CAMERA, "--background", folder / "room.png", "--write", "joints"]
    assert label(folder / "in" / "f03.png", "-o", tmp_path / "out", *common) == 0
    first = (tmp_path / "out" / "joints.csv").read_text()
    assert label(folder / "in" / "f03.png", folder / "in" / "f01.png", "-o", tmp_path / "out", *common) == 0
    both = (tmp_path / "out" / "joints.csv").read_text()
    assert both.startswith(first)
    assert {line.split(",")[0] for line in both.splitlines()[1:]} == {"f03", "f01"}


@pytest.mark.filterwarnings("ignore:the camera is")
def test_a_room_of_another_size_is_one_clear_failure(folder, tmp_path):
    drawing.write_depth(tmp_path / "small.png", np.full((60, 80), 3000, np.uint16))
    with pytest.raises(DepthForestError, match=r"80 x 60"):
        label(
            folder / "in" / "f00.png", "--stdout", "--camera", CAMERA,
            "--background", tmp_path / "small.png",
        )  # fmt: skip


def test_nobody_gives_empty_answers(tmp_path):
    drawing.write_depth(tmp_path / "wall.png", np.full((120, 160), 2500, np.uint16))
    write = "parts,joints,json,overlay"
    assert label(tmp_path / "wall.png", "-o", tmp_path / "out", "--camera", CAMERA, "--write", write) == 0
    assert (read_labels(tmp_path / "out" / "parts" / "wall.png") == NO_PART).all()
    (frame,) = read_joints(tmp_path / "out" / "joints" / "wall.json")
    assert not frame.people
    assert json.loads((tmp_path / "out" / "json" / "wall.json").read_text())["people"] == []
    assert (tmp_path / "out" / "joints.csv").read_text().count("\n") == 1


def test_the_names_of_the_python_door(recording):
    frame = recording[0]
    people = df.find_people(frame, recording.empty_room(0))
    forest = df.load()
    joints = df.find_joints(frame, forest.label(frame, people[0]))
    assert len(joints["head"].position) == 3
    assert 0 <= joints["head"].confidence <= 1
