"""What a page may ask for, and how frames are packed for it."""

import json
import time

import numpy as np
import pytest

from depthforest.base import UsageError
from depthforest.forest import load
from depthforest.frames import NO_PART, write_depth
from depthforest.io import ReadOptions
from depthforest.view.clips import open_clip
from depthforest.view.lines import command_line, python_lines
from depthforest.view.looking import Looker
from depthforest.view.protocol import GIVEN, Reading, pack_look, parse_command


def asked(do, value=None):
    return parse_command(json.dumps({"do": do, "value": value}))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x", "is JSON"),
        ("[" * 4000, "is JSON"),
        ("[]", '"do"'),
        ('{"do": "play", "path": "/etc/passwd"}', '"do"'),
        ('{"do": "open"}', "no command is called 'open'"),
        ('{"do": "seek", "value": -1}', "from 0"),
        ('{"do": "seek", "value": 1e400}', "from 0"),
        ('{"do": "speed", "value": NaN}', "a speed"),
        (f'{{"do": "speed", "value": 1{"0" * 400}}}', "a speed"),
        ('{"do": "step", "value": true}', "frames to step"),
        ('{"do": "play", "value": 1}', "takes no value"),
        ('{"do": "read", "value": {"source": "x"}}', "reading takes"),
        ('{"do": "read", "value": {"flip": 1}}', "flip must be a bool"),
        ('{"do": "read", "value": {"rotate": 45}}', "0, 90, 180 or 270"),
        ('{"do": "read", "value": {"scale": "inch"}}', "a scale is"),
        ('{"do": "read", "value": {"people": "nobody"}}', "people must be one of"),
        ("{" + " " * 5000 + "}", "at most 4096"),
        (b"{}", "at most 4096"),
    ],
)
def test_what_no_page_of_ours_sends_is_refused(text, says):
    with pytest.raises(UsageError, match=says):
        parse_command(text)


@pytest.mark.parametrize("camera", ["/etc/passwd", "camera.json", "../camera.json", "C:\\camera.json", "file:1,2,3,4"])
def test_a_camera_of_the_page_is_never_a_file(camera):
    with pytest.raises(UsageError, match="a camera is a preset"):
        asked("read", {"camera": camera})


def test_what_a_page_may_ask_for():
    assert asked("seek", 7) == ("seek", 7)
    assert asked("compare") == ("compare", None)
    do, reading = asked("read", {"camera": "kinect_v1@320x240", "scale": "0.002", "flip": True, "rotate": 90})
    assert do == "read"
    options = reading.options(ReadOptions())
    assert (options.camera.width, options.scale, options.flip, options.rotate) == (320, "0.002", True, 90)
    given = ReadOptions("kinect_v2")
    assert Reading(camera=GIVEN).options(given).camera == given.camera


def test_a_frame_is_packed_as_the_page_unpacks_it():
    clip = open_clip((), ReadOptions())
    forest = load("body31-fast")
    look = Looker(forest, other=forest).look(clip, 5)
    packed = pack_look(look, 3, len(clip), {"playing": False})
    length = int.from_bytes(packed[:4], "little")
    header = json.loads(packed[4 : 4 + length])
    n = header["width"] * header["height"]
    assert (4 + length) % 4 == 0
    top, bottom, left, right = header["box"]
    shape = bottom - top, right - left
    m = shape[0] * shape[1]
    assert 0 < m < n
    assert len(packed) == 4 + length + 2 * n + 4 * m
    assert (header["number"], header["index"], header["total"], header["name"]) == (3, 5, 6, "two_people")
    assert [person["id"] for person in header["people"]] == look.labels.ids
    assert len(header["people"]) == 2
    depth = np.frombuffer(packed, "<u2", n, 4 + length).reshape(look.taken.frame.shape)
    np.testing.assert_array_equal(depth, look.taken.frame.depth_mm)
    answers = np.frombuffer(packed, np.uint8, 4 * m, 4 + length + 2 * n).reshape(4, *shape)
    parts = np.full(look.taken.frame.shape, NO_PART)
    parts[top:bottom, left:right] = answers[0]
    np.testing.assert_array_equal(parts, look.labels.parts)
    np.testing.assert_array_equal(answers[0], answers[2])
    sure = np.zeros(look.taken.frame.shape)
    sure[top:bottom, left:right] = answers[1]
    np.testing.assert_array_equal(sure, np.floor(look.labels.confidence * np.float32(255)))
    assert set(header["stages"]) == {"read", "people", "parts", "joints", "other model"}
    assert time.monotonic() >= look.taken.time


def test_a_frame_with_nobody_has_no_labels(tmp_path):
    write_depth(tmp_path / "wall.png", np.full((240, 320), 3000, np.uint16))
    clip = open_clip((str(tmp_path / "wall.png"),), ReadOptions("kinect_v1@320x240"))
    packed = pack_look(Looker(load("body31-fast")).look(clip, 0), 1, 1, {})
    length = int.from_bytes(packed[:4], "little")
    assert json.loads(packed[4 : 4 + length])["box"] == [0, 0, 0, 0]
    assert len(packed) == 4 + length + 2 * 320 * 240


def test_lines_name_the_options_that_are_set():
    reading = {"camera": "kinect_v1", "scale": "0.002", "flip": True, "rotate": 90, "size": ""}
    line = command_line(["a b.png"], "body31", reading, {"track": True, "background_removed": False})
    assert line == (
        "depthforest label 'a b.png' --model body31 --camera kinect_v1 --scale 0.002 --flip --rotate 90 --track "
        "--write parts,overlay,joints -o labels"
    )
    lines = python_lines(["a b.png"], "body31", reading, {"track": True})
    compile(lines, "lines", "exec")
    assert "df.open_source('a b.png', camera='kinect_v1', scale=0.002, flip=True, rotate=90)" in lines
    assert "tracker.add(frame)" in lines
