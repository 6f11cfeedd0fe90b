"""TUM RGB-D folders: what depth.txt says, and what it must not do."""

import cv2
import numpy as np
import pytest

import depthforest as df
from depthforest.base import FrameError

CAMERA = df.Camera(50, 50, 15.5, 11.5, 32, 24)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "depth").mkdir()
    lines = ["# depth maps", "# file: 'a.bag'", "# timestamp filename"]
    for number, seconds in enumerate(("1305031102.160407", "1305031102.194330", "1305031102.226738")):
        depth = np.full((24, 32), 5000 * (number + 1), np.uint16)
        assert cv2.imwrite(str(tmp_path / "depth" / f"{seconds}.png"), depth)
        lines.append(f"{seconds} depth/{seconds}.png")
    (tmp_path / "depth.txt").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_frames_have_the_unit_and_the_time_of_the_list(folder):
    source = df.open_source(folder, CAMERA)
    frames = list(source)
    assert len(source) == 3
    assert [int(frame.depth_mm[0, 0]) for frame in frames] == [1000, 2000, 3000]
    assert [frame.time_s for frame in frames] == [1305031102.160407, 1305031102.19433, 1305031102.226738]
    assert [frame.name for frame in frames] == [f"{folder}#{n}" for n in range(3)]
    assert source[-1] == frames[2]
    assert source[-1].time_s == frames[2].time_s
    assert df.open_source(folder, CAMERA, scale="mm")[0].depth_mm[0, 0] == 5000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("soon depth/a.png", "line 1: expected SECONDS FILE"),
        ("1.5", "line 1: expected SECONDS FILE"),
        ("nan a.png", "line 1: expected SECONDS FILE"),
        ("1.5 ../../a.png", "leads out of the folder"),
        ("1.5 /etc/hostname", "leads out of the folder"),
        ("# nothing", "names no frame"),
        ("", "is empty"),
    ],
)
def test_broken_lists_get_one_line(folder, text, said):
    (folder / "depth.txt").write_text(text)
    with pytest.raises(FrameError, match=said):
        list(df.open_source(folder, CAMERA))


def test_a_topic_is_for_recordings_that_have_several(folder):
    with pytest.raises(FrameError, match="leave out topic"):
        list(df.open_source(folder, CAMERA, topic="/depth"))


@pytest.mark.parametrize("name", ["depth/a\0.png", "[" * 3000, "a/" * 3000], ids=["null", "long", "deep"])
def test_names_that_no_file_has_are_refused(folder, name):
    """Found by tools/fuzz.py: ValueError and OSError of the system."""
    (folder / "depth.txt").write_text(f"1.5 {name}\n")
    with pytest.raises(FrameError, match=r"is not a file name|cannot be read: file name too long"):
        list(df.open_source(folder, CAMERA))
