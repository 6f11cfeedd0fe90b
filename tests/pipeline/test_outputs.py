"""What is written of a frame, and the video."""

import json
import re

import numpy as np
import pytest
from PIL import Image
from support.labelcommand import (
    CAMERA,
    DATA,
    MODEL,
    files,
    label,
    person_only,
)

import depthforest as df
from depthforest.base.errors import DepthForestError, DepthForestWarning
from depthforest.cli.commands import app
from depthforest.frames import drawing
from depthforest.frames.parts import NO_PART
from depthforest.io.formats import read_labels
from depthforest.pipeline.outputs import VIDEO_CODEC, VideoFile, letterboxed


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
    told = r"frames labeled into .*out: 3, [\d.]+/s\npeople found: 3, in 3 of 3 frames\n"
    assert re.search(told, capsys.readouterr().out)


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


def test_json_tells_of_every_person_and_part(out, forest, tmp_path):
    drawing.write_depth(tmp_path / "two.png", DATA[0].depth_mm)
    drawing.write_people(tmp_path / "mask.png", DATA[0].people)
    assert label(tmp_path / "two.png", "-o", out, "--mask", tmp_path / "mask.png", "--write", "json,parts") == 0
    told = json.loads((out / "json" / "two.json").read_text())
    assert set(told) == {
        "schema",
        "name",
        "source",
        "mirror",
        "rule",
        "reject",
        "smooth_m",
        "exact",
        "camera",
        "people",
    }
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
