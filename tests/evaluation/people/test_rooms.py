import json

import numpy as np
import pytest
from support.people import CAMERA, SHAPE, boxes, depth_of, write_rooms

from depthforest.base.errors import DatasetError
from depthforest.evaluation.people.matching import IGNORED
from depthforest.evaluation.people.rooms import MarkedRooms
from depthforest.frames.drawing import write_depth, write_people

PEOPLE = boxes((1, 10, 50, 10, 30), (IGNORED, 0, 20, 60, 80))


@pytest.fixture
def folder(tmp_path):
    frames = {"people/b2.png": PEOPLE, "people/b10.png": boxes(), "empty/a.png": None, "empty/c.png": None}
    return write_rooms(tmp_path / "rooms", frames)


def change(folder, **entries):
    """Change entries of the index; None removes one."""
    path = folder / "index.json"
    content = json.loads(path.read_text()) | {k.replace("__", "/") + ".png": v for k, v in entries.items()}
    path.write_text(json.dumps(content))


def test_frames_in_order_of_their_names(folder):
    rooms = MarkedRooms(folder)
    assert rooms.names == ("empty/a.png", "empty/c.png", "people/b2.png", "people/b10.png")
    assert (rooms.title, len(rooms)) == ("rooms", 4)
    frame = rooms[2]
    assert frame.camera == CAMERA
    assert (frame.people == PEOPLE).all()
    assert (frame.depth_mm == depth_of(PEOPLE, number=0)).all()
    assert not rooms[0].people.any()
    assert [f.people.any() for f in rooms[1:]] == [False, True, False]
    with pytest.raises(IndexError):
        rooms[4]


def test_a_limit_takes_some_of_each_kind(folder):
    assert MarkedRooms(folder, 1).names == ("empty/a.png", "people/b2.png")


def test_lenses_are_straightened(folder):
    change(folder, people__b2={"camera": CAMERA.to_dict() | {"distortion": [0.4, 0.1, 0.0, 0.0, 0.0]}})
    frame = MarkedRooms(folder)[2]
    assert not frame.camera.distortion
    assert set(np.unique(frame.people)) == {0, 1, IGNORED}
    assert (frame.people != PEOPLE).any()


def test_what_is_missing_is_named(folder, tmp_path):
    for path, message in (
        (tmp_path / "nowhere", "nowhere: is not a folder; marked rooms are a folder with index.json"),
        (folder / "empty", "empty: has no index.json"),
    ):
        with pytest.raises(DatasetError, match=message):
            MarkedRooms(path)
    (folder / "people_masks" / "b2.png").unlink()
    with pytest.raises(DatasetError, match=r"people_masks/b2.png: is missing; .*index.json names people/b2.png"):
        MarkedRooms(folder)
    (folder / "people" / "b2.png").unlink()
    with pytest.raises(DatasetError, match=r"people/b2.png: is missing"):
        MarkedRooms(folder)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"other__x": {"camera": CAMERA.to_dict()}}, r"other/x.png: a frame is empty/NAME.png .* or people/NAME.png"),
        ({"empty__..__x": {"camera": CAMERA.to_dict()}}, "a frame is empty/NAME.png"),
        ({"empty__a": {}}, "empty/a.png: expected an object with the camera"),
        ({"empty__a": 3}, "empty/a.png: expected an object with the camera"),
        ({"empty__a": {"camera": {"fx": 1}}}, "empty/a.png: camera: lacks fy"),
    ],
)
def test_a_wrong_index_is_refused(folder, entries, message):
    change(folder, **entries)
    with pytest.raises(DatasetError, match=message):
        MarkedRooms(folder)


@pytest.mark.parametrize("content", ["[]", "{}", "3", "{"])
def test_an_index_that_is_none_is_refused(folder, content):
    (folder / "index.json").write_text(content)
    with pytest.raises(DatasetError, match=r"index.json"):
        MarkedRooms(folder)


def test_wrong_pictures_are_refused(folder):
    write_people(folder / "empty" / "a.png", boxes())
    write_depth(folder / "empty" / "c.png", np.zeros((30, 40), np.uint16))
    write_people(folder / "people_masks" / "b2.png", boxes(shape=(30, 40)))
    write_depth(folder / "people_masks" / "b10.png", np.zeros(SHAPE, np.uint16))
    rooms = MarkedRooms(folder)
    for index, message in enumerate((
        "a.png: expected a 16-bit PNG of 80 x 60 pixels, its camera's size; got uint8",
        r"c.png: expected a 16-bit PNG of 80 x 60 pixels, its camera's size; got uint16 of shape \(30, 40\)",
        r"people_masks/b2.png: has shape \(30, 40\), but its frame \(60, 80\)",
        "people_masks/b10.png: expected an 8-bit PNG of label indices",
    )):  # fmt: skip
        with pytest.raises(DatasetError, match=message):
            rooms[index]
    (folder / "empty" / "a.png").write_bytes(b"no picture at all")
    with pytest.raises(DatasetError, match=r"a\.png"):
        rooms[0]
