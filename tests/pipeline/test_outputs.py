"""What is written of a frame."""

import json
import re

import numpy as np
import pytest
from PIL import Image
from support.labelcommand import (
    DATA,
    files,
    label,
    person_only,
)

import depthforest as df
from depthforest.frames import drawing
from depthforest.frames.parts import NO_PART
from depthforest.io.formats import read_labels


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
    told = r"frames labeled into .*out: 3, [\d.]+/s\npeople found: 3, in 3 of 3 frames\n  f0: 1\n  f1: 1\n  f2: 1\n"
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
