"""Masks that were given."""

import json

import numpy as np
import pytest
from PIL import Image
from support.labelcommand import DATA, MODEL, label

from depthforest.cli.commands import app
from depthforest.frames import drawing
from depthforest.frames.parts import NO_PART
from depthforest.io.formats import read_labels


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


def test_bad_masks_are_named(frames, out, tmp_path, capsys):
    masks = tmp_path / "masks"
    masks.mkdir()
    Image.fromarray(np.ones((5, 5), np.uint8)).save(masks / "f0.png")
    many = np.resize(np.arange(22, dtype=np.uint8), DATA[0].shape)
    Image.fromarray(many).save(masks / "f2.png")
    assert label(frames, "-o", out, "--mask", masks) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert "f0.png: the mask has shape (5, 5), the frame (72, 96)" in lines[0]
    assert "f1.png: there is no mask" in lines[1]
    assert "f2.png: holds 21 different values" in lines[2]
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
