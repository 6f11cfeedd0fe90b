import inspect
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.command import run_here

import depthforest as df
from depthforest.base.errors import DepthForestError, DepthForestWarning, UsageError, text_of
from depthforest.cli import commands as cli
from depthforest.cli.commands import app
from depthforest.cli.options import as_option
from depthforest.frames import drawing
from depthforest.frames.parts import NO_PART
from depthforest.io.formats import read_labels
from depthforest.joints.files import read_joints
from depthforest.pipeline import run as labelrun
from depthforest.pipeline.masks import MAX_PEOPLE
from depthforest.pipeline.options import LabelOptions
from depthforest.pipeline.outfolder import safe_name
from depthforest.pipeline.outputs import VIDEO_CODEC, VideoFile, letterboxed
from depthforest.pipeline.peoplemaps import PeopleMaps

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
MODEL = GOLDEN / "forest.safetensors"
DATA = df.open_dataset(GOLDEN / "frames")
CAMERA = ",".join(str(v) for v in (DATA[0].camera.fx, DATA[0].camera.fy, DATA[0].camera.cx, DATA[0].camera.cy))
COMMON = ["--model", MODEL, "--camera", CAMERA]


def label(*args):
    """Run the command in this process; return its exit code."""
    return app(["label", *map(str, [*args, *COMMON])], standalone_mode=False, prog_name="depthforest") or 0


def run(*args, stdin=b"", cwd=None):
    return run_here("label", *args, stdin=stdin, cwd=cwd)


def run_apart(*args, stdin=b""):
    """Run it as people do, in a process of its own."""
    command = [sys.executable, "-m", "depthforest", "label", *map(str, args)]
    env = os.environ | {"PYTHONWARNINGS": "default"}
    return subprocess.run(command, input=stdin, capture_output=True, check=False, env=env)


def said(result):
    lines = result.stderr.decode().splitlines()
    assert all(re.match("depthforest: (error|warning): ", line) for line in lines), lines
    return lines


def files(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def contents(folder):
    return {name: (folder / name).read_bytes() for name in files(folder)}


def person_only(frame, person=1):
    return np.where(frame.people == person, frame.depth_mm, np.uint16(0))


@pytest.fixture(scope="module")
def forest():
    return df.Forest.load(MODEL)


@pytest.fixture
def frames(tmp_path):
    """Return a folder of three frames of one person, the background removed."""
    folder = tmp_path / "in"
    folder.mkdir()
    for i in range(3):
        drawing.write_depth(folder / f"f{i}.png", person_only(DATA[i]))
    return folder


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


# -- what is written ---------------------------------------------------------------------------------------------------


def test_parts_and_overlays_are_written(frames, out, forest, capsys):
    assert label(frames, "-o", out, "--background-removed") == 0
    assert files(out) == {"label.json", *(f"{kind}/f{i}.png" for kind in ("parts", "overlay") for i in range(3))}
    for i in range(3):
        frame = df.Frame(person_only(DATA[i]), DATA[i].camera)
        expected = forest.predict(frame, frame.depth_mm > 0)
        np.testing.assert_array_equal(read_labels(out / "parts" / f"f{i}.png"), expected)
        assert len(np.unique(expected)) > 8
        shaded = drawing.shade(frame)
        beside = drawing.side_by_side([shaded, drawing.overlay(frame, expected, forest.part_set)])
        np.testing.assert_array_equal(np.asarray(Image.open(out / "overlay" / f"f{i}.png")), beside)
    with Image.open(out / "parts" / "f0.png") as picture:
        assert picture.mode == "P"
        assert picture.getpalette()[: 3 * 31] == [v for color in forest.part_set.colors for v in color]
    assert re.search(r"frames labeled into .*out: 3, [\d.]+/s\n", capsys.readouterr().out)


def test_confidence_and_probabilities(frames, out, forest):
    assert label(frames / "f0.png", "-o", out, "--background-removed", "--write", "probabilities, confidence") == 0
    assert files(out) == {"label.json", "confidence/f0.png", "probabilities/f0.npz"}
    frame = df.Frame(person_only(DATA[0]), DATA[0].camera)
    is_person = frame.depth_mm > 0
    everything = forest.walk(frame, is_person)
    confidence = np.asarray(Image.open(out / "confidence" / "f0.png"))
    assert confidence.dtype == np.uint8
    np.testing.assert_array_equal(confidence[is_person], np.rint(everything.max(axis=1) * 255))
    assert not confidence[~is_person].any()
    with np.load(out / "probabilities" / "f0.npz") as stored:
        assert set(stored) == {"parts", "probabilities", "names"}
        parts, probabilities = stored["parts"], stored["probabilities"]
        assert tuple(stored["names"]) == forest.part_set.names
    assert (parts.dtype, parts.shape) == (np.uint8, (*frame.shape, 3))
    assert (probabilities.dtype, probabilities.shape) == (np.float16, (*frame.shape, 3))
    best = -np.sort(-everything, axis=1)[:, :3]
    np.testing.assert_array_equal(probabilities[is_person], best.astype(np.float16))
    np.testing.assert_array_equal(parts[is_person][:, 0], everything.argmax(axis=1))
    assert (parts[~is_person] == NO_PART).all()
    assert not probabilities[~is_person].any()


@pytest.mark.parametrize("bad", [np.full((4, 4), 1.5, np.float32), np.full((4, 4), np.nan), np.zeros(4)])
def test_confidence_is_checked(tmp_path, bad):
    with pytest.raises(UsageError, match="expected confidence from 0 to 1"):
        drawing.write_confidence(tmp_path / "a.png", bad)


def test_json_tells_of_every_person_and_part(out, forest, tmp_path):
    drawing.write_depth(tmp_path / "two.png", DATA[0].depth_mm)
    drawing.write_people(tmp_path / "mask.png", DATA[0].people)
    assert label(tmp_path / "two.png", "-o", out, "--mask", tmp_path / "mask.png", "--write", "json,parts") == 0
    told = json.loads((out / "json" / "two.json").read_text())
    assert set(told) == {"schema", "name", "source", "mirror", "rule", "reject", "smooth_m", "camera", "people"}
    assert (told["schema"], told["name"], told["source"]) == (1, "two", str(tmp_path / "two.png"))
    assert df.Camera.from_dict(told["camera"]) == DATA[0].camera
    assert [person["id"] for person in told["people"]] == [1, 2]
    parts = read_labels(out / "parts" / "two.png")
    points = DATA[0].points().astype(np.float64)
    for person in told["people"]:
        is_person = (DATA[0].people == person["id"]) & (parts != NO_PART)
        assert person["pixels"] == is_person.sum() == sum(part["pixels"] for part in person["parts"].values())
        for name, part in person["parts"].items():
            is_part = is_person & (parts == forest.part_set.names.index(name))
            assert part["pixels"] == is_part.sum()
            np.testing.assert_allclose(part["centroid_m"], points[is_part].mean(axis=0), atol=6e-5)
            confidence = forest.walk(DATA[0], DATA[0].people == person["id"]).max(axis=1)
            whose = is_part[DATA[0].people == person["id"]]
            assert part["confidence"] == pytest.approx(confidence[whose].mean(), abs=6e-5)


def test_every_person_of_a_mask_is_labeled_alone(out, forest, tmp_path):
    drawing.write_depth(tmp_path / "two.png", DATA[0].depth_mm)
    (tmp_path / "masks").mkdir()
    drawing.write_people(tmp_path / "masks" / "two.png", DATA[0].people)
    assert label(tmp_path / "two.png", "-o", out, "--mask", tmp_path / "masks") == 0
    ones, twos = (forest.predict(DATA[0], DATA[0].people == person) for person in (1, 2))
    merged = np.where(DATA[0].people == 1, ones, twos)
    np.testing.assert_array_equal(read_labels(out / "parts" / "two.png"), merged)
    # probes see the other person unless each is labeled alone
    both = forest.predict(DATA[0], DATA[0].people > 0)
    assert (both != merged).any()


def test_a_mask_without_people_labels_nothing(frames, out):
    Image.fromarray(np.zeros(DATA[0].shape, np.uint8)).save(out.with_name("mask.png"))
    write = "parts,overlay,confidence,probabilities,json"
    assert label(frames / "f0.png", "-o", out, "--mask", out.with_name("mask.png"), "--write", write) == 0
    assert (read_labels(out / "parts" / "f0.png") == NO_PART).all()
    assert json.loads((out / "json" / "f0.json").read_text())["people"] == []


@pytest.mark.parametrize("turn", [("--flip",), ("--rotate", "90"), ("--flip", "--rotate", "270")])
def test_masks_are_turned_as_the_frames(out, forest, tmp_path, turn):
    """A one-bit mask, drawn over the picture as the driver delivers it."""
    frame = DATA[0]
    rotate = int(turn[-1]) if "--rotate" in turn else 0

    def raw(picture):
        picture = np.rot90(picture, rotate // 90)
        return np.ascontiguousarray(picture[:, ::-1] if "--flip" in turn else picture)

    drawing.write_depth(tmp_path / "a.png", raw(frame.depth_mm))
    Image.fromarray(raw(frame.people == 1)).save(tmp_path / "mask.png")
    camera = frame.camera.rotated((360 - rotate) % 360)
    numbers = f"{camera.fx},{camera.fy},{camera.cx},{camera.cy}"
    words = ["label", tmp_path / "a.png", "-o", out, "--model", MODEL, "--mask", tmp_path / "mask.png", *turn]
    app([*map(str, words), "--camera", numbers], standalone_mode=False)
    np.testing.assert_array_equal(read_labels(out / "parts" / "a.png"), forest.predict(frame, frame.people == 1))


def test_options_reach_the_forest(frames, out, forest):
    frame = df.Frame(person_only(DATA[0]), DATA[0].camera)
    is_person = frame.depth_mm > 0
    assert label(frames / "f0.png", "-o", out, "--background-removed", "--mirror", "--reject", 0.5) == 0
    labels = read_labels(out / "parts" / "f0.png")
    everything = forest.walk(frame, is_person, mirror=True)
    expected = np.where(everything.max(axis=1) >= 0.5, everything.argmax(axis=1), NO_PART)
    np.testing.assert_array_equal(labels[is_person], expected)
    assert 0 < np.count_nonzero(expected == NO_PART) < len(expected)


def test_smoothing_and_facing_reach_the_outputs(frames, out, tmp_path):
    """A model says how it smooths, the option says otherwise; the JSON tells which way the person faces."""
    plain = df.Forest.load(MODEL)
    rng = np.random.default_rng(0)
    evidence = rng.integers(-9, 10, (plain.n_leaves, 4)).astype(np.int8)
    model = replace(plain, leaves=plain.leaves.repeat(4, axis=0), evidence=evidence, smooth_m=0.03)
    model.save(tmp_path / "m.safetensors")
    frame = df.Frame(person_only(DATA[0]), DATA[0].camera)
    words = ["label", str(frames / "f0.png"), "--camera", CAMERA, "--model", str(tmp_path / "m.safetensors")]
    words += ["--background-removed", "--write", "parts,json", "-o"]
    for option, smooth_m in (([], 0.03), (["--smooth", "0"], 0.0), (["--smooth", "0.1"], 0.1)):
        folder = out / str(smooth_m)
        app([*words, str(folder), *option], standalone_mode=False)
        expected = model.label(frame, smooth=smooth_m)
        np.testing.assert_array_equal(read_labels(folder / "parts" / "f0.png"), expected.parts)
        content = json.loads((folder / "json" / "f0.json").read_text())
        assert content["smooth_m"] == smooth_m
        (person,) = content["people"]
        assert person["facing_degrees"] == round(expected.facing, 1)
    assert (expected.parts != model.label(frame).parts).any()
    with pytest.raises(UsageError, match=r"smoothing must be a radius .*, got 3\.0"):
        app([*words, str(out / "x"), "--smooth", "3"], standalone_mode=False)


def can_write_video(folder):
    import cv2

    writer = cv2.VideoWriter(str(folder / "probe.mp4"), cv2.VideoWriter.fourcc(*VIDEO_CODEC), 30, (64, 64))
    is_open = writer.isOpened()
    writer.release()
    return is_open


def frames_of(video):
    import cv2

    capture = cv2.VideoCapture(str(video))
    pictures = []
    while True:
        is_read, picture = capture.read()
        if not is_read:
            return pictures
        pictures.append(cv2.cvtColor(picture, cv2.COLOR_BGR2RGB))


def test_video_shows_the_overlays_in_order(frames, out, tmp_path):
    if not can_write_video(tmp_path):
        pytest.skip("OpenCV has no MP4 encoder here")
    drawing.write_depth(frames / "f3.png", person_only(DATA[3])[:36, :48])
    with pytest.warns(DepthForestWarning) as caught:  # the camera, then the video
        code = app(
            [*map(str, ["label", frames, "-o", out, "--model", MODEL, "--write", "video,overlay"])]
            + ["--camera", f"{CAMERA},96x72", "--fps", "10"],
            standalone_mode=False,
        )
    assert not code
    assert "of another size than the first are 1 frames; the video has them scaled" in str(caught[-1].message)
    assert "video.mp4" in files(out)
    shown = frames_of(out / "video.mp4")
    assert len(shown) == 4
    for i in range(3):
        overlay = np.asarray(Image.open(out / "overlay" / f"f{i}.png")).astype(int)
        errors = [
            np.abs(overlay - np.asarray(picture)[: overlay.shape[0], : overlay.shape[1]]).mean() for picture in shown
        ]
        assert np.argmin(errors) == i
    made = (out / "video.mp4").stat().st_mtime_ns
    again = ["label", frames, "-o", out, "--model", MODEL, "--write", "video,overlay", "--camera", f"{CAMERA},96x72"]
    app([*map(str, again)], standalone_mode=False)
    assert (out / "video.mp4").stat().st_mtime_ns == made
    # one frame more: the video holds all of them
    drawing.write_depth(frames / "f4.png", person_only(DATA[4]))
    with pytest.warns(DepthForestWarning):
        app([*map(str, again)], standalone_mode=False)
    assert len(frames_of(out / "video.mp4")) == 5


def test_pictures_of_other_sizes_keep_their_shape():
    white = np.full((40, 20, 3), 255, np.uint8)
    fitted, is_scaled = letterboxed(white, (40, 40))
    assert is_scaled
    np.testing.assert_array_equal(fitted[:, 10:30], 255)
    assert not fitted[:, :10].any()
    assert not fitted[:, 30:].any()
    even, is_scaled = letterboxed(white[:39, :19], (20, 40))
    assert not is_scaled
    assert np.count_nonzero(even) == 3 * 39 * 19


def test_a_missing_codec_is_said_and_leaves_nothing(tmp_path, monkeypatch):
    import cv2

    class Closed:
        fourcc = staticmethod(cv2.VideoWriter.fourcc)

        def __init__(self, *_):
            pass

        def isOpened(self):  # noqa: N802
            return False

        def release(self):
            pass

    monkeypatch.setattr(cv2, "VideoWriter", Closed)
    with pytest.raises(DepthForestError, match="cannot write MP4 here"), VideoFile(tmp_path / "v.mp4", 30) as video:
        video.add(np.zeros((4, 4, 3), np.uint8))
    assert not files(tmp_path)


# -- names -------------------------------------------------------------------------------------------------------------


def test_equal_names_get_their_folders(frames, out, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(frames, other)
    drawing.write_depth(other / "only.png", person_only(DATA[3]))
    assert label(frames, other, "-o", out, "--write", "parts") == 0
    expected = {f"parts/{folder}/f{i}.png" for folder in ("in", "other") for i in range(3)}
    assert files(out) == {"label.json", "parts/only.png", *expected}


def test_files_that_differ_in_their_ending_keep_it(frames, out):
    for i in range(2):
        np.save(frames / f"f{i}.npy", person_only(DATA[i]))
    assert label(frames, "-o", out, "--write", "parts") == 0
    expected = {"parts/f0_npy.png", "parts/f0_png.png", "parts/f1_npy.png", "parts/f1_png.png", "parts/f2.png"}
    assert files(out) == {"label.json", *expected}
    assert label(frames, "-o", out, "--write", "parts") == 0
    assert files(out) == {"label.json", *expected}


def test_a_second_run_never_takes_an_input_for_another(frames, out, tmp_path):
    """The same file name in two folders, labeled one after the other."""
    other = tmp_path / "other"
    other.mkdir()
    drawing.write_depth(other / "f0.png", person_only(DATA[1]))
    assert label(frames / "f0.png", "-o", out, "--write", "parts") == 0
    first = (out / "parts" / "f0.png").read_bytes()
    assert label(other / "f0.png", "-o", out, "--write", "parts") == 0
    assert files(out) == {"label.json", "parts/f0.png", "parts/other/f0.png"}
    assert (out / "parts" / "f0.png").read_bytes() == first
    assert (out / "parts" / "other" / "f0.png").read_bytes() != first


def test_pages_of_a_stack_and_files_stay_apart(frames, out):
    np.save(frames / "f.npy", np.stack([person_only(DATA[i]) for i in range(2)]))
    drawing.write_depth(frames / "f_000001.png", person_only(DATA[3]))
    assert label(frames, "-o", out, "--write", "parts") == 0
    assert files(out) == {
        "label.json",
        *(f"parts/f{i}.png" for i in range(3)),
        *("parts/f_000000.png", "parts/f_000001.png", "parts/in/f_000001.png"),
    }
    assert (out / "parts" / "f_000001.png").read_bytes() == (out / "parts" / "f1.png").read_bytes()


def test_a_stack_does_not_take_the_names_of_earlier_files(frames, out):
    drawing.write_depth(frames / "f_000001.png", person_only(DATA[3]))
    assert label(frames / "f_000001.png", "-o", out, "--write", "parts") == 0
    first = contents(out / "parts")
    np.save(frames / "f.npy", np.stack([person_only(DATA[i]) for i in range(2)]))
    assert label(frames / "f.npy", "-o", out, "--write", "parts") == 0
    assert contents(out / "parts").items() >= first.items()
    assert files(out / "parts") == {"f_000001.png", "in/f_000000.png", "in/f_000001.png"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("frame 1", "frame 1"),
        ("größe", "größe"),
        ("..", "frame"),
        ("", "frame"),
        (".hidden", "hidden"),
        ("..\\..\\x", "_.._x"),
        ("a/b", "a_b"),
        ("a\nb\x00\u202e", "a_b__"),
        ("c:x*?", "c_x__"),
        ("nul.tar", "_nul.tar"),
        ("\udcff", "_"),
    ],
)
def test_names_become_safe(text, expected):
    assert safe_name(text) == expected


def test_long_names_are_cut_and_stay_apart():
    a, b = safe_name("ä" * 200 + "1"), safe_name("ä" * 200 + "2")
    assert a != b
    assert max(len(a.encode()), len(b.encode())) <= 180
    assert safe_name(a) == a


@pytest.mark.skipif(os.name != "posix", reason="such names exist on POSIX only")
def test_odd_names_stay_inside(out, tmp_path):
    odd = tmp_path / ".." / tmp_path.name / "odd"
    odd.mkdir()
    for name in ("...png", "..\\..\\up.png", "a\nb.png", "[red].png", "F.png", "f.png", "x" * 250 + ".npy"):
        if name.endswith("npy"):
            np.save(odd / name, person_only(DATA[0]))
        else:
            drawing.write_depth(odd / name, person_only(DATA[0]))
    before = files(tmp_path)
    assert label(odd, *odd.glob(".*"), "-o", out, "--write", "json,parts") == 0
    after = files(tmp_path) - before
    assert all(name.startswith("out/") for name in after)
    names = {Path(name).relative_to("out/parts").as_posix() for name in after if name.startswith("out/parts/")}
    assert len(names) == 7
    assert {"_.._up.png", "a_b.png", "[red].png", "odd/F.png"} <= names


def test_a_record_that_leads_elsewhere_is_refused(frames, out):
    assert label(frames / "f0.png", "-o", out) == 0
    record = json.loads((out / "label.json").read_text())
    (source,) = record["sources"].values()
    for name in ("../../f0", "/f0", "a//b"):
        (out / "label.json").write_text(json.dumps(record | {"sources": {name: source}}))
        with pytest.raises(DepthForestError, match="is not what label writes"):
            label(frames / "f0.png", "-o", out)
    (out / "label.json").write_text(json.dumps(record | {"schema": 2}))
    with pytest.raises(DepthForestError, match="has schema 2, this version knows 1"):
        label(frames / "f0.png", "-o", out)


# -- inputs are never overwritten --------------------------------------------------------------------------------------


def test_the_input_folder_is_no_output_folder(frames):
    before = contents(frames)
    with pytest.raises(UsageError, match="is an input"):
        label(frames, "-o", frames)
    assert contents(frames) == before


def test_outputs_inside_the_input_folder_are_not_read_again(frames):
    before = contents(frames)
    pattern = frames / "**" / "*.png"
    assert label(pattern, "-o", frames / "labels", "--write", "parts,confidence") == 0
    first = contents(frames)
    with pytest.warns(DepthForestWarning, match="6 of the inputs are outputs of label in it and are not read"):
        assert label(pattern, "-o", frames / "labels", "--write", "parts,confidence") == 0
    assert contents(frames) == first
    assert before.items() <= first.items()
    with pytest.raises(UsageError, match="all inputs are outputs of label"):
        label(frames / "labels" / "parts", "-o", frames / "labels")


def test_a_data_set_keeps_its_labels(tmp_path):
    shutil.copytree(GOLDEN / "frames", tmp_path / "data")
    before = contents(tmp_path)
    for force in ([], ["--force"]):
        with pytest.raises(UsageError, match="parts: is there already, and not from label"):
            label(tmp_path / "data" / "depth", "-o", tmp_path / "data", *force)
    assert contents(tmp_path) == before


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_a_link_does_not_lead_to_an_input(frames, out):
    out.mkdir()
    (out / "parts").symlink_to(frames)
    before = contents(frames)
    with pytest.raises(UsageError, match="not from label"):
        label(frames, "-o", out)
    assert contents(frames) == before


def test_masks_are_inputs_too(frames, out):
    assert label(frames, "-o", out) == 0
    before = contents(out)
    with pytest.raises(UsageError, match="parts: may be overwritten"):
        label(frames, "-o", out, "--mask", out / "parts", "--force")
    assert contents(out) == before


# -- a second run ------------------------------------------------------------------------------------------------------


def times(folder):
    return {name: (folder / name).stat().st_mtime_ns for name in files(folder) - {"label.json"}}


def test_a_second_run_does_what_is_missing(frames, out, capsys):
    assert label(frames, "-o", out) == 0
    first, bytes_before = times(out), contents(out)
    assert label(frames, "-o", out) == 0
    assert capsys.readouterr().out.endswith(": 0; done before: 3\n")
    assert times(out) == first
    (out / "overlay" / "f1.png").unlink()
    assert label(frames, "-o", out) == 0
    assert {name for name, when in times(out).items() if when != first.get(name)} == {"parts/f1.png", "overlay/f1.png"}
    # another output of the same frames, then one frame that changed
    assert label(frames, "-o", out, "--write", "confidence") == 0
    assert len(files(out)) == 10
    late = time.time_ns() + 10**10
    os.utime(frames / "f2.png", ns=(late, late))
    before = times(out)
    assert label(frames, "-o", out) == 0
    assert {name for name, when in times(out).items() if when != before[name]} == {"parts/f2.png", "overlay/f2.png"}
    assert bytes_before.items() <= contents(out).items()


def test_done_frames_are_not_even_decoded(frames, out, monkeypatch):
    assert label(frames, "-o", out) == 0
    monkeypatch.setattr("depthforest.io.formats._read_png", lambda _: pytest.fail("was decoded"))
    assert label(frames, "-o", out) == 0


def test_force_labels_again_the_same_bytes(frames, out):
    write = ["--write", "parts,overlay,confidence,probabilities,json"]
    assert label(frames, "-o", out, *write) == 0
    first, bytes_before = times(out), contents(out)
    assert label(frames, "-o", out, "--force", "--threads", 1, *write) == 0
    assert all(when != first[name] for name, when in times(out).items())
    assert contents(out) == bytes_before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--mirror"], "mirror was False, now True"),
        (["--reject", "0.9"], r"reject was None, now 0\.9"),
        (["--rule", "votes"], "rule was mean, now votes"),
        (["--smooth", "0.1"], r"smooth_m was 0\.0, now 0\.1"),
        (["--flip"], "flip was False, now True"),
        (["--model", "other.safetensors"], "another model"),
        (["--model", "joints.safetensors"], "another model"),
        (["--mask", "mask.png"], "mask was None, now .*mask.png"),
    ],
)
def test_other_options_never_mix(frames, out, tmp_path, monkeypatch, change, message):
    monkeypatch.chdir(tmp_path)
    leaves = df.Forest.load(MODEL).leaves[::-1]
    forest = df.Forest.load(MODEL)
    df.Forest(forest.roots, forest.offsets, forest.thresholds, forest.children, leaves, forest.part_set).save(
        "other.safetensors"
    )
    replace(forest, joints={"samples": 5}).save("joints.safetensors")
    Image.fromarray(DATA[0].people == 1).save("mask.png")
    words = ["label", str(frames), "-o", str(out), "--camera", CAMERA]
    model = [] if "--model" in change else ["--model", str(MODEL)]
    assert label(frames, "-o", out, "--write", "parts,confidence") == 0
    before = contents(out)
    with pytest.raises(
        UsageError, match=f"was labeled with other options \\({message}\\); .* is_forced=True to"
    ) as error:
        app([*words, *model, *change], standalone_mode=False)
    assert "name another folder, or --force to remove that and label again" in text_of(error.value, as_option)
    assert contents(out) == before
    # one frame again by force: nothing of the old answers stays, of no output
    words[1] = str(frames / "f0.png")
    app([*words, *model, *change, "--write", "parts", "--force"], standalone_mode=False)
    assert files(out) == {"label.json", "parts/f0.png"}


def test_what_was_there_stays_if_nothing_can_be_labeled(frames, out):
    assert label(frames, "-o", out) == 0
    before = contents(out)
    (frames / "f0.png").write_bytes(b"")
    assert label(frames / "f0.png", "-o", out, "--mirror", "--force") == 1
    assert contents(out) == before


def test_the_command_has_an_option_for_each_field_with_its_default():
    offered = inspect.signature(cli.label).parameters
    assert {f.name: f.default for f in fields(LabelOptions)} == {
        f.name: offered[f.name].default for f in fields(LabelOptions)
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rule": "best"}, "rule must be one of mean, votes, purity, got 'best'"),
        ({"reject": 1.5}, "reject must be a confidence from 0 to 1, got 1.5"),
        ({"smooth": 5.0}, "smoothing must be a radius from 0 to 0.25 metres, got 5.0"),
    ],
)
def test_options_that_cannot_work_are_refused_at_once(given, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        LabelOptions(**given)


def test_the_guessed_camera_may_be_said(frames, tmp_path):
    """The warning says: pass --camera to say so."""
    out = tmp_path / "said"
    drawing.write_depth(frames / "room.png", np.full((480, 640), 2000, np.uint16))
    common = ["label", str(frames / "room.png"), "-o", str(out), "--model", str(MODEL), "--write", "parts"]
    with pytest.warns(DepthForestWarning, match="are taken as kinect_v1"):
        app([*common, "--background-removed"], standalone_mode=False)
    first = times(out)
    app([*common, "--background-removed", "--camera", "kinect_v1"], standalone_mode=False)
    assert times(out) == first
    with pytest.raises(UsageError, match="another camera"):
        app([*common, "--background-removed", "--camera", "600,600,320,240,640x480"], standalone_mode=False)


def test_the_guessed_camera_is_another_than_that_of_a_cloud(tmp_path, forest):
    """A cloud without --camera has the one that is fitted to its points."""
    said = {}
    for name in ("a.png", "b.PCD"):
        (tmp_path / name).write_bytes(b"not read")
        for camera in (None, "kinect_v1"):
            frames = df.read_frames(tmp_path / name, camera)
            options = LabelOptions(is_background_removed=True)
            identity = labelrun.run_identity(forest, frames, options, PeopleMaps(frames, options))
            said[name, camera] = identity["camera"]
    assert said["a.png", "kinect_v1"] is None
    assert said["b.PCD", "kinect_v1"] is not None
    assert said["a.png", None] is said["b.PCD", None] is None


def test_foreign_files_survive_force(frames, out):
    assert label(frames, "-o", out) == 0
    (out / "parts" / "mine.png").write_bytes(b"mine")
    (out / "notes.txt").write_text("mine")
    assert label(frames / "f0.png", "-o", out, "--mirror", "--force", "--write", "parts") == 0
    assert files(out) == {"label.json", "parts/f0.png", "parts/mine.png", "notes.txt"}


# -- failures ----------------------------------------------------------------------------------------------------------


def test_one_bad_frame_is_named_and_the_rest_is_labeled(frames, out):
    (frames / "f1.png").write_bytes((frames / "f1.png").read_bytes()[:200])
    result = run_apart(frames, "-o", out, *COMMON)
    assert result.returncode == 1
    (line,) = said(result)
    assert "f1.png: is truncated" in line
    assert files(out / "parts") == {"f0.png", "f2.png"}
    assert "frames labeled into" in result.stdout.decode()
    drawing.write_depth(frames / "f1.png", person_only(DATA[1]))
    assert label(frames, "-o", out) == 0
    assert len(files(out / "parts")) == 3


def test_bad_masks_are_named(frames, out, tmp_path, capsys):
    masks = tmp_path / "masks"
    masks.mkdir()
    Image.fromarray(np.ones((5, 5), np.uint8)).save(masks / "f0.png")
    many = np.resize(np.arange(MAX_PEOPLE + 2, dtype=np.uint8), DATA[0].shape)
    Image.fromarray(many).save(masks / "f2.png")
    assert label(frames, "-o", out, "--mask", masks) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert "f0.png: the mask has shape (5, 5), the frame (72, 96)" in lines[0]
    assert "f1.png: there is no mask" in lines[1]
    assert f"f2.png: holds {MAX_PEOPLE + 1} different values" in lines[2]
    Image.fromarray(np.ones((72, 96), np.uint8)).save(tmp_path / "mask.jpg")
    assert label(frames / "f0.png", "-o", out, "--mask", tmp_path / "mask.jpg") == 1
    assert "mask.jpg: is a JPEG picture; a mask is an 8-bit or 1-bit PNG" in capsys.readouterr().err
    Image.fromarray(np.ones((72, 96, 3), np.uint8)).save(masks / "f0.png")
    assert label(frames / "f0.png", "-o", out, "--mask", masks) == 1
    assert "a mask is an 8-bit or 1-bit PNG with one channel" in capsys.readouterr().err


def test_masks_of_equal_names_are_in_folders(out, tmp_path, forest):
    for folder, i in (("a", 0), ("b", 1)):
        for place in (tmp_path / folder, tmp_path / "masks" / folder):
            place.mkdir(parents=True)
        drawing.write_depth(tmp_path / folder / "f.png", DATA[i].depth_mm)
        drawing.write_people(tmp_path / "masks" / folder / "f.png", DATA[i].people)
    assert label(tmp_path / "a", tmp_path / "b", "-o", out, "--mask", tmp_path / "masks") == 0
    for folder, i in (("a", 0), ("b", 1)):
        labels = read_labels(out / "parts" / folder / "f.png")
        is_first = DATA[i].people == 1
        np.testing.assert_array_equal(labels[is_first], forest.predict(DATA[i], is_first)[is_first])


def test_what_cannot_be_written_stops_the_run(frames, out, monkeypatch):
    def fail(*_, **__):
        raise DepthForestError("parts: cannot be written: no space left on device")

    monkeypatch.setattr(drawing, "write_labels", fail)
    with pytest.raises(DepthForestError, match="no space left"):
        label(frames, "-o", out)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["f0.png"], 2, "name a folder for the labels with -o"),
        (["none.png", "-o", "out"], 1, "none.png: cannot be read"),
        (["f0.png", "-o", "out", "--write", "parts,gif"], 2, "'gif' is no output; --write takes parts, overlay,"),
        (["f0.png", "-o", "out", "--write", ","], 2, "--write needs at least one of"),
        (["f0.png", "-o", "out", "--rule", "best"], 2, "rule must be one of mean, votes, purity"),
        (["f0.png", "-o", "out", "--reject", "2"], 2, "Invalid value for '--reject'"),
        (["f0.png", "-o", "out", "--threads", "0"], 2, "threads must be a whole number from 1"),
        (["f0.png", "-o", "out", "--mask", "none"], 2, "none: there is no such mask"),
        (["f0.png", "-o", "out", "--mask", ".", "--background-removed"], 2, "--mask says who the people are"),
        (["f0.png", "-o", "out", "--mask", ".", "--people", "2"], 2, "--people is for people who are looked for"),
        (["f0.png", "-o", "out", "--people", "0"], 2, "Invalid value for '--people'"),
        (["f0.png", "-o", "out", "--background", "none"], 1, "none: cannot be read"),
        (["f0.png", "-o", "out", "--stdout"], 2, "leave out -o and --write"),
        (["f0.png", "f1.png", "--stdout"], 2, "exactly one frame"),
        (["-", "-o", "out"], 2, "give its size"),
        (["f0.png", "-o", "f1.png"], 1, "f1.png: cannot be made a folder"),
    ],
)
def test_misuse_is_one_line_and_writes_nothing(frames, words, code, message):
    before = contents(frames)
    result = run(*words, *COMMON, cwd=frames)
    assert result.returncode == code
    (line,) = said(result)
    assert message in line
    assert contents(frames) == before
    assert result.stdout == b""


def test_an_unknown_model_is_one_line(frames, out):
    result = run(frames, "-o", out, "--model", "nonsense", "--camera", CAMERA)
    assert result.returncode in (1, 2)
    (line,) = said(result)
    assert "nonsense" in line
    assert not out.exists()


# -- streams -----------------------------------------------------------------------------------------------------------


def test_stdout_gets_the_png_of_one_frame(frames, out):
    result = run_apart(frames / "f0.png", "--stdout", *COMMON)
    assert result.returncode == 0, result.stderr
    assert said(result) == []
    assert label(frames / "f0.png", "-o", out) == 0
    assert result.stdout == (out / "parts" / "f0.png").read_bytes()
    (frames / "f0.png").write_bytes(b"")
    result = run(frames / "f0.png", "--stdout", *COMMON)
    assert result.returncode == 1
    assert "is empty" in said(result)[0]
    assert result.stdout == b""


def test_a_stream_is_labeled_and_never_taken_for_another(frames, out):
    stream = np.stack([person_only(DATA[i]) for i in range(3)]).astype("<u2").tobytes()
    words = ["-", "-o", out, "--size", "96x72", *COMMON, "--write", "parts"]
    result = run_apart(*words, stdin=stream)
    assert result.returncode == 0, result.stderr
    assert label(frames, "-o", out, "--size", "96x72", "--write", "parts") == 0
    assert files(out / "parts") == {*(f"f{i}.png" for i in range(3)), *(f"stdin_{i:06d}.png" for i in range(3))}
    for i in range(3):
        same = [(out / "parts" / f"{name}.png").read_bytes() for name in (f"f{i}", f"stdin_{i:06d}")]
        assert same[0] == same[1]
    again = run(*words, stdin=stream)
    assert again.returncode == 2
    assert "holds the labels of an earlier stream" in said(again)[0]
    # a shorter one: nothing of the longer is left, the files' labels stay
    assert run(*words, "--force", stdin=stream[: len(stream) // 3]).returncode == 0
    assert files(out / "parts") == {*(f"f{i}.png" for i in range(3)), "stdin_000000.png"}


@pytest.mark.skipif(os.name != "posix", reason="Windows sends Ctrl-C to a whole console")
def test_ctrl_c_leaves_whole_files_only(out):
    picture = person_only(DATA[0]).astype("<u2").tobytes()
    write = "parts,overlay,probabilities,json,video"
    words = ["-", "-o", out, "--size", "96x72", *COMMON, "--write", write, "--threads", 2]
    command = [sys.executable, "-m", "depthforest", "label", *map(str, words)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 120
        while not (out / "json" / "stdin_000002.json").exists():
            assert time.monotonic() < deadline
            assert process.poll() is None, process.stderr.read()
            process.stdin.write(picture)
            process.stdin.flush()
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        _, errors = process.communicate(picture, timeout=60)
    assert process.returncode == 130
    assert "stopped; what was labeled is in" in errors.decode()
    written = files(out)
    assert not any(".part" in name or "video" in name for name in written)
    names = {Path(name).stem for name in written if name.startswith("parts/")}
    kinds = {"parts": ".png", "overlay": ".png", "probabilities": ".npz", "json": ".json"}
    assert written == {"label.json", *(f"{kind}/{name}{end}" for kind, end in kinds.items() for name in names)}
    for name in names:
        read_labels(out / "parts" / f"{name}.png")


def test_a_stopped_run_goes_on(frames, out, monkeypatch):
    n_labeled = 0
    plain = labelrun.label_people

    def stop_after_one(*args, **kwargs):
        nonlocal n_labeled
        n_labeled += 1
        if n_labeled == 1:
            signal.raise_signal(signal.SIGINT)
        return plain(*args, **kwargs)

    monkeypatch.setattr(labelrun, "label_people", stop_after_one)
    assert label(frames, "-o", out, "--threads", 1) == 130
    assert files(out) == {"label.json", "parts/f0.png", "overlay/f0.png"}
    assert label(frames, "-o", out, "--threads", 1) == 0
    assert n_labeled == 3
    assert len(files(out)) == 7


def test_few_frames_are_in_memory_at_a_time(out, forest, tmp_path, monkeypatch):
    """Reading stays a few frames ahead of writing, however many there are."""
    np.save(tmp_path / "stack.npy", np.stack([person_only(DATA[0])] * 60))
    frames = df.read_frames(tmp_path / "stack.npy", CAMERA)
    n_read = n_done = most = 0
    make = df.Frame.from_array

    def counted(*args, **kwargs):
        nonlocal n_read, most
        n_read += 1
        most = max(most, n_read - n_done)
        return make(*args, **kwargs)

    def advance(n):
        nonlocal n_done
        n_done += n

    monkeypatch.setattr(df.Frame, "from_array", counted)
    summary = labelrun.LabelRun(forest, frames, out, outputs=("parts",), threads=2, progress=advance).run()
    assert (summary.n_labeled, n_done) == (60, 60)
    assert most <= 12  # two stages, each up to five ahead


def test_the_demo_labels_with_a_shipped_model(tmp_path, monkeypatch, capsys):
    """Until one is shipped, the golden forest stands in for it."""
    (tmp_path / "models").mkdir()
    shutil.copy(MODEL, tmp_path / "models" / "body31.safetensors")
    monkeypatch.setattr("depthforest.base.resources.models_folder", lambda: tmp_path / "models")
    monkeypatch.setattr("depthforest.forest.loading.models_folder", lambda: tmp_path / "models", raising=False)
    app(["demo", "-o", str(tmp_path / "demo")], standalone_mode=False)
    from depthforest.base.resources import samples_folder

    samples = df.open_dataset(samples_folder())
    frame = samples[samples.names.index("two_people")]
    forest = df.Forest.load(MODEL)
    expected = np.full(frame.shape, NO_PART, np.uint8)
    people = df.find_people(frame)
    assert len(people) == 2
    for is_person in people:
        expected[is_person] = forest.predict(frame, is_person)[is_person]
    np.testing.assert_array_equal(read_labels(tmp_path / "demo" / "two_people.parts.png"), expected)
    told = capsys.readouterr().out
    assert re.search(r"two_people +2 of 2 +\d+% +\d+ of \d+ +\d+", told)
    assert re.search(r"all +\d+ of 9 +\d+% +\d+ of \d+ +\d+", told)
    (frames,) = [f for f in read_joints(tmp_path / "demo" / "joints.json") if f.name == "two_people"]
    assert list(frames.people) == [1, 2]


# -- docs/LABELING.md --------------------------------------------------------------------------------------------------


@pytest.fixture
def blocks(monkeypatch, forest):
    """Return the page's Python by heading; the shipped model is replaced by the golden one."""
    monkeypatch.setattr(df, "load", lambda: forest)
    text = (Path(__file__).resolve().parents[2] / "docs" / "LABELING.md").read_text()
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def large(picture):
    """Return a picture of 96 x 72 as one of 640 x 480."""
    return picture[np.arange(480) * 72 // 480][:, np.arange(640) * 96 // 640]


def test_the_pages_python_labels_a_file(blocks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drawing.write_depth("frame.png", large(DATA[0].depth_mm))
    names = {}
    exec(blocks[0], names)
    is_labeled = names["result"].parts != NO_PART
    np.testing.assert_array_equal(is_labeled, names["people"][0])
    is_person = large(DATA[0].people) == 1
    assert (is_labeled & is_person).sum() > 0.8 * (is_labeled | is_person).sum()
    assert names["joints"]["head"].position[2] > 0.5


def test_the_pages_realsense_loop_has_the_right_units_and_intrinsics(blocks, monkeypatch, capsys):
    from types import SimpleNamespace
    from unittest.mock import MagicMock

    person = DATA[0].people == 1
    room = np.where(person, 5000, DATA[0].depth_mm)
    pictures = iter([room // 4] * 30 + [DATA[0].depth_mm // 4])

    def wait():
        picture = next(pictures, None)
        if picture is None:
            raise KeyboardInterrupt
        data = SimpleNamespace(get_data=lambda: picture.astype(np.uint16))
        return SimpleNamespace(get_depth_frame=lambda: data)

    camera = DATA[0].camera
    lens = SimpleNamespace(fx=camera.fx, fy=camera.fy, ppx=camera.cx, ppy=camera.cy, width=96, height=72)
    rs = MagicMock()
    pipeline = rs.pipeline.return_value
    pipeline.wait_for_frames = wait
    profile = pipeline.start.return_value
    profile.get_device().first_depth_sensor().get_depth_scale.return_value = 0.004
    profile.get_stream().as_video_stream_profile().get_intrinsics.return_value = lens
    monkeypatch.setitem(sys.modules, "pyrealsense2", rs)
    names = {}
    with pytest.raises(KeyboardInterrupt):
        exec(blocks[1], names)
    assert names["frame"].camera == camera
    assert np.abs(names["frame"].depth_mm.astype(int) - DATA[0].depth_mm).max() <= 4
    found, expected = names["people"][0], person & (DATA[0].depth_mm > 0)
    assert (found & expected).sum() > 0.8 * (found | expected).sum()
    assert names["joints"]["head"].position[2] > 0.5
    pipeline.stop.assert_called_once()
    assert capsys.readouterr().out.startswith("left hand of 1 at (")


def test_the_pages_loop_over_arrays(blocks):
    picture = large(DATA[0].depth_mm)
    pictures = iter([picture / np.float32(1000), picture])
    names = {"grab": lambda: next(pictures, None)}
    exec(blocks[2], names)
    assert names["picture"].shape == (480, 640, 3)


def test_the_pages_json_has_the_keys_that_are_written(frames, out):
    assert label(frames / "f0.png", "-o", out, "--write", "json") == 0
    written = json.loads((out / "json" / "f0.json").read_text())
    text = (Path(__file__).resolve().parents[2] / "docs" / "LABELING.md").read_text()
    (shown,) = map(json.loads, re.findall(r"```json\n(.*?)```", text, re.DOTALL))
    assert list(shown) == list(written)
    (person,), (real,) = shown["people"], written["people"]
    assert list(person) == list(real)
    assert {tuple(part) for part in real["parts"].values()} == {tuple(p) for p in person["parts"].values()}
    assert shown["schema"] == written["schema"]
