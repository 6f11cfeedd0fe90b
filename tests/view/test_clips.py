"""Frames of files and recordings by their number, and at which rate they play."""

import threading
import time

import numpy as np
import pytest

from depthforest.base import DepthForestError, FrameError, UsageError
from depthforest.frames import Camera, Frame
from depthforest.io import MkvWriter, ReadOptions, open_source
from depthforest.view.clips import MAX_FRAME_PIXELS, FileClip, LiveClip, open_clip

CAMERA = Camera.preset("kinect_v1@320x240")


def numbered(number):
    """A frame that tells its number."""
    return Frame(np.full(CAMERA.shape, 1000 + number, np.uint16), CAMERA)


@pytest.fixture
def recording(tmp_path):
    pytest.importorskip("av", reason="needs av, to write a recording")
    with MkvWriter(tmp_path / "walk.mkv", 12.5) as video:
        for number in range(30):
            video.add(numbered(number))
    return tmp_path / "walk.mkv"


def test_a_recording_in_any_order(recording):
    clip = open_clip((str(recording),), ReadOptions())
    assert (len(clip), clip.is_live, clip.fps) == (30, False, pytest.approx(12.5))
    for number in (0, 1, 2, 5, 20, 21, 3, 29, 0, 15, 14):
        taken = clip.take(number)
        assert (taken.frame.depth_mm == 1000 + number).all()
        assert (taken.number, taken.name) == (number, f"walk_{number:06d}")
    assert taken.camera == "from the file"
    assert taken.unit == "millimeters, assumed for whole numbers"
    with pytest.raises(FrameError, match="30 frames, no number 30"):
        clip.take(30)


def test_a_stack_and_single_files_are_one_clip(tmp_path):
    np.save(tmp_path / "a.npy", np.stack([numbered(n).depth_mm for n in range(3)]))
    np.savez(tmp_path / "b.npz", depth=np.stack([numbered(n).depth_mm for n in range(3, 12)]))
    np.save(tmp_path / "c.npy", numbered(12).depth_mm / np.float32(1000))
    clip = FileClip([tmp_path], ReadOptions(CAMERA))
    assert (len(clip), clip.fps) == (13, 30)
    for number in (0, 2, 11, 4, 5, 12, 3, 1):
        assert (clip.take(number).frame.depth_mm == 1000 + number).all()
    assert [clip.is_alone(number) for number in (2, 12)] == [False, True]
    assert clip.path(12).name == "c.npy"
    assert clip.take(12).unit == "meters, assumed for floats"
    assert FileClip([tmp_path], ReadOptions(CAMERA, scale=0.002)).take(0).unit == "0.002 m per unit"


def test_pictures_that_are_too_large_are_refused_by_their_header(tmp_path):
    side = int(MAX_FRAME_PIXELS**0.5) + 1
    np.save(tmp_path / "large.npy", np.zeros((side, side), np.uint8))
    with pytest.raises(FrameError, match=f"{side} x {side} pixels; expected 1 to {MAX_FRAME_PIXELS}"):
        FileClip([tmp_path / "large.npy"], ReadOptions()).take(0)


def test_a_single_file_that_cannot_be_read_is_told_at_once(tmp_path):
    (tmp_path / "notes.txt").write_text("no depth at all")
    with pytest.raises(FrameError, match=r"notes\.txt: is not a PNG"):
        open_clip((str(tmp_path / "notes.txt"),), ReadOptions())
    with pytest.raises(DepthForestError, match=r"nosuch\.png"):
        open_clip((str(tmp_path / "nosuch.png"),), ReadOptions())


def test_a_live_source_is_looked_at_alone():
    with pytest.raises(UsageError, match="leave out the other inputs"):
        open_clip(("-", "-"), ReadOptions("kinect_v1"))


def test_a_camera_is_live_and_its_newest_frame_is_shown():
    numbers, seen = iter(range(5)), threading.Event()

    def grab():
        number = next(numbers, None)
        if number == 4:
            seen.wait(30)
        return None if number is None else numbered(number)

    clip = LiveClip(open_source(grab, CAMERA))
    clip.listeners.add(lambda: len(clip) and seen.set())
    if len(clip):  # it came before anyone listened
        seen.set()
    assert seen.wait(30)
    end = time.monotonic() + 60
    while clip.error is None and time.monotonic() < end:
        time.sleep(0.01)
    assert clip.is_live
    assert clip.take(0).frame.depth_mm[0, 0] == 1004
    assert "ended" in str(clip.error)
