"""Frames that were read wrongly are told, with the option that helps; frames that were read correctly are not."""

import json
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.command import run_here

import depthforest as df
from depthforest.base import samples_folder
from depthforest.frames import drawing
from depthforest.frames.camera import Camera
from depthforest.io import ReadOptions
from depthforest.people import People, PersonSize, measure_people
from depthforest.pipeline import plausibility
from depthforest.pipeline.plausibility import Glance, Plausibility

CAMERA = "kinect_v1@320x240"
SAMPLES = df.open_dataset(samples_folder())
NAMES = [path.stem for path in sorted((samples_folder() / "depth").glob("*.png"))]
REAL = Path(__file__).resolve().parents[2].parent / "shared" / "data"


@pytest.fixture(scope="module")
def forest():
    return df.load()


def frame_of(number, *, times=1.0, focal=1.0, turned=0):
    """Return a sample whose depths or focal length are so many times larger than they should be, or turned."""
    sample = SAMPLES[number]
    camera = replace(sample.camera, fx=focal * sample.camera.fx, fy=focal * sample.camera.fy)
    depth_mm = np.rint(sample.depth_mm * times).astype(np.uint16)
    return df.Frame(np.rot90(depth_mm, -turned // 90), camera.rotated(turned))


def found(frames, forest):
    """Return what is found, as (kind, text), and check that it is warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        findings = df.check_frames(frames, forest)
    assert [str(w.message) for w in caught] == [str(finding) for finding in findings]
    assert all(w.category is df.DepthForestWarning for w in caught)
    return [(finding.kind, str(finding)) for finding in findings]


@pytest.mark.parametrize("number", range(len(NAMES)), ids=NAMES)
def test_samples_that_are_read_rightly_are_left_in_peace(number, forest):
    assert found(frame_of(number), forest) == []


@pytest.mark.parametrize(
    ("wrong", "kind", "advice"),
    [
        ({"times": 0.1}, "scale", "scale='cm'"),
        ({"times": 0.001}, "scale", "scale='m'"),
        ({"times": 5.0}, "scale", "scale='tum'"),
        ({"focal": 2.0}, "camera", "with a focal length half as long, people of 1."),
        ({"focal": 0.5}, "camera", "with a focal length twice as long, people of 1."),
        ({"turned": 90}, "rotate", "on their side: turned by 270 degrees"),
        ({"turned": 180}, "rotate", "upside down: turned by 180 degrees"),
        ({"turned": 270}, "rotate", "pass rotate=90"),
        ({"times": 0.0}, "empty", "no frame has a reading"),
    ],
)
@pytest.mark.parametrize("number", [0, 1])
def test_what_is_wrong_is_named(wrong, kind, advice, number, forest):
    ((found_kind, text),) = found(frame_of(number, **wrong), forest)
    assert found_kind == kind
    assert advice in text


def test_a_run_of_frames_is_judged_as_one(forest):
    ((kind, _),) = found([frame_of(i, turned=180) for i in range(len(SAMPLES))], forest)
    assert kind == "rotate"
    assert found([frame_of(i) for i in range(len(SAMPLES))], forest) == []
    assert found([], forest) == []


def test_advice_adds_to_the_options_that_are_there(forest):
    for reading, wrong, advice in (
        (ReadOptions(rotate=180), {"turned": 180}, "leave out rotate"),
        (ReadOptions(rotate=90), {"turned": 180}, "pass rotate=270"),
        (ReadOptions(scale=0.0001), {"times": 0.1}, "pass scale='mm'"),
        (ReadOptions(scale="cm"), {"times": 10.0}, "pass scale='mm'"),
        (ReadOptions(scale="tum"), {"times": 0.2}, "pass scale='mm'"),
    ):
        judge = Plausibility(forest, reading)
        frame = frame_of(1, **wrong)
        nobody = People.of_map(np.zeros(frame.shape, np.uint8))
        judge.add(Glance(frame, nobody, 0.0, 2.0))
        assert advice in str(judge.findings()[0])


def standing(height_m, frame, monkeypatch):
    """Let everyone be so tall."""
    size = PersonSize(height_m, height_m / 3, 0.3, False)
    monkeypatch.setattr(plausibility, "measure_people", lambda *_: {1: size})
    people = np.zeros(frame.shape, np.uint8)
    people[50:200, 100:150] = 1
    return Glance(frame, People.of_map(people), 0.6, 2.0)


@pytest.mark.parametrize(
    ("height_m", "kind", "advice"),
    [
        (
            0.88,
            "camera",
            "people who stand are 0.88 m tall (median of 3): the focal length is probably 1.9 times too long",
        ),
        (3.2, "camera", "the focal length is probably 1.9 times too short"),
        (0.17, "scale", "scale='cm'"),
        (8.5, "scale", "scale='tum'"),
        (1.05, None, None),
        (2.1, None, None),
    ],
)
def test_heights_are_judged_where_three_stand(height_m, kind, advice, forest, monkeypatch):
    judge, glance = Plausibility(replace(forest, context=None)), standing(height_m, frame_of(0), monkeypatch)
    for _ in range(2):
        judge.add(glance)
    assert judge.findings() == ()  # too few
    judge.add(glance)
    findings = judge.findings()
    assert [finding.kind for finding in findings] == ([] if kind is None else [kind])
    assert all(advice in str(finding) for finding in findings)


def test_who_is_cut_wide_or_deep_does_not_stand():
    assert plausibility._stands(PersonSize(1.7, 0.5, 0.3, False))
    for size in (PersonSize(1.7, 0.5, 0.3, True), PersonSize(1.2, 0.9, 0.3, False), PersonSize(1.7, 0.5, 0.9, False)):
        assert not plausibility._stands(size)


def test_people_are_measured_in_meters():
    """A board of 0.5 m by 1.6 m at 2.5 m, before nothing."""
    camera = Camera.preset(CAMERA)
    depth, people = np.zeros(camera.shape, np.uint16), np.zeros(camera.shape, np.uint8)
    rows, cols = round(1.6 * camera.fy / 2.5), round(0.5 * camera.fx / 2.5)
    depth[20 : 20 + rows, 100 : 100 + cols], people[20 : 20 + rows, 100 : 100 + cols] = 2500, 4
    (size,) = measure_people(df.Frame(depth, camera), People.of_map(people)).values()
    assert size.height_m == pytest.approx(1.6, abs=0.05)
    assert size.width_m == pytest.approx(0.5, abs=0.03)
    assert size.depth_m < 0.01
    assert not size.is_cut
    people = people.copy()
    people[20:, 100 : 100 + cols] = 4
    assert measure_people(df.Frame(depth, camera), People.of_map(people))[4].is_cut
    assert measure_people(df.Frame(depth * 0, camera), People.of_map(people)) == {}


def test_a_model_that_knows_no_people_tries_nothing(forest):
    judge = Plausibility(replace(forest, person_confidence=0.0))
    frame = frame_of(1, turned=180)
    judge.add(Glance(frame, People.of_map(np.zeros(frame.shape, np.uint8)), 0.0, 2.0))
    assert [finding.kind for finding in judge.findings()] == ["nobody"]


def test_who_is_just_sure_enough_is_not_doubted(forest, monkeypatch):
    """Other readings are tried only of people whose labels are less sure than people of correctly read frames."""
    monkeypatch.setattr(Plausibility, "_best_trial", lambda _: plausibility.Finding("tried", ("tried",)))
    frame = frame_of(1)
    people = People.of_map(np.zeros(frame.shape, np.uint8) + np.uint8(1))
    kinds = []
    for share in (plausibility.SURE_TIMES * 0.5, np.nextafter(plausibility.SURE_TIMES * 0.5, 0)):
        judge = Plausibility(replace(forest, person_confidence=0.5, context=None))
        judge.add(Glance(frame, people, float(share), 2.0))
        kinds.append([finding.kind for finding in judge.findings()])
    assert "tried" not in kinds[0]
    assert kinds[1] == ["tried"]


def test_far_rooms_are_told(forest):
    frame = df.Frame(np.full((240, 320), 6500, np.uint16), Camera.preset(CAMERA))
    ((kind, text),) = found(frame, forest)
    assert kind == "far"
    assert "half of the readings are beyond 6.5 m, and people are found up to about 5 m" in text


def test_the_command_tells_and_its_exit_code_says_so(tmp_path):
    sample = samples_folder() / "depth" / f"{NAMES[4]}.png"
    drawing.write_depth(tmp_path / "cm.png", np.asarray(Image.open(sample)).astype(np.uint16) // 10)
    words = tmp_path / "cm.png", "--camera", CAMERA
    for i, (more, code, kind) in enumerate((((), 0, b"warning"), (("--people", "1"), 1, b"error"))):
        done = run_here("label", *words, "-o", tmp_path / f"out{i}", *more)
        assert done.returncode == code
        assert b"people found: 0 in 1 of 1 frame\n" in done.stdout
        assert b"depthforest: " + kind + b": nobody was found: half of the readings are within" in done.stderr
        assert b"pass --scale cm" in done.stderr
        piped = run_here("label", *words, "--stdout", *more)
        assert piped.returncode == code
        assert piped.stdout.startswith(b"\x89PNG")
        assert b"pass --scale cm" in piped.stderr
    done = run_here("label", *words, "--scale", "cm", "--people", "1", "-o", tmp_path / "right")
    assert done.returncode == 0
    assert b"people found: 1, in 1 of 1 frame\n" in done.stdout
    assert b"seem" not in done.stderr


@pytest.mark.skipif(not (REAL / "real_rooms").exists(), reason="no real frames here")
def test_real_frames_with_people_are_left_in_peace(forest):
    notes = json.loads((REAL / "real_rooms" / "index.json").read_text())
    for name in sorted(name for name in notes if name.startswith("people/"))[::4]:
        picture = np.asarray(Image.open(REAL / "real_rooms" / name)).astype(np.uint16)
        frame = df.Frame(picture, Camera(**notes[name]["camera"]))
        assert [finding for finding in found(frame, forest) if finding[0] != "nobody"] == [], name
    for path in sorted((REAL / "real_kinect_v1").glob("*.png")):
        assert found(df.read_depth(path, camera="kinect_v1"), forest) == [], path.name


def test_a_confidence_that_is_just_reached_is_enough(forest, monkeypatch):
    judge = Plausibility(forest, ReadOptions())
    monkeypatch.setattr(judge, "_best_trial", lambda: pytest.fail("nothing needs to be tried"))
    judge._n = judge._n_with_people = 1
    judge._medians, judge._confidences = [2.0], [plausibility.SURE_TIMES * forest.person_confidence]
    assert judge.findings() == ()
