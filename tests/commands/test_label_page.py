"""docs/LABELING.md: its Python and its JSON."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from support.labelcommand import DATA, label

import depthforest as df
from depthforest.frames import drawing
from depthforest.frames.parts import NO_PART


@pytest.fixture
def blocks(monkeypatch, forest):
    """Return the page's Python by heading; the shipped model is replaced by the golden one."""
    monkeypatch.setattr(df, "load", lambda: forest)
    monkeypatch.setattr("depthforest.pipeline.tracking.load", lambda _: forest)
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
    np.testing.assert_array_equal(is_labeled, names["mask"])
    is_person = large(DATA[0].people) > 0  # the last of those who are found
    assert (is_labeled & is_person).sum() > 0.8 * is_labeled.sum() > 1000
    assert names["joint"].position[2] > 0.5


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
    assert names["camera"] == camera
    found, expected = names["person"].mask, person & (DATA[0].depth_mm > 0)
    assert (found & expected).sum() > 0.8 * (found | expected).sum()
    assert names["person"].joints["head"].position[2] > 0.5
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
