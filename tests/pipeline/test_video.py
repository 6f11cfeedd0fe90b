"""The video of a run."""

import os
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image
from support.labelcommand import CAMERA, DATA, MODEL, files, person_only

from depthforest.base.errors import DepthForestError, DepthForestWarning
from depthforest.cli.commands import app
from depthforest.frames import drawing
from depthforest.pipeline.video import VIDEO_CODEC, VideoFile, letterboxed


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
    assert "1 frame differs in size from the first; the video shows them letterboxed" in str(caught[-1].message)
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
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(DepthForestError, match="cannot write MP4 here"), VideoFile(tmp_path / "v.mp4", 30) as video:
        video.add(np.zeros((4, 4, 3), np.uint8))
    assert not files(tmp_path)


LIMITED = """
import resource, sys
from pathlib import Path
import numpy as np
from depthforest.base import DepthForestError
from depthforest.pipeline.video import VideoFile
path = Path(sys.argv[1])
if sys.argv[2] == "opencv":
    sys.modules["av"] = None
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
rng = np.random.default_rng(0)
try:
    with VideoFile(path, 30) as video:
        for _ in range(20):
            video.add(rng.integers(0, 256, (120, 160, 3)).astype(np.uint8))
except DepthForestError as error:
    print(error)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs limits of file sizes")
@pytest.mark.parametrize("encoder", ["opencv", "av"])
def test_a_video_that_was_cut_is_told(tmp_path, encoder):
    """It took its place, and the next run called it done."""
    if not can_write_video(tmp_path):
        pytest.skip("OpenCV writes no MP4 here")
    command = [sys.executable, "-c", LIMITED, tmp_path / "video.mp4", encoder]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    told = "video.mp4: the video cannot be read back; is the disk full"
    assert told in done.stdout or (encoder == "av" and "video.mp4: cannot be written: file too large" in done.stdout)
    assert {path.name for path in tmp_path.iterdir()} <= {"probe.mp4"}


def rolling(n, rng):
    """Pictures like overlays: a shaded room with a grain that never changes, and something that moves."""
    room = np.repeat(rng.integers(60, 120, (480, 1280, 1)), 3, axis=2).astype(np.uint8)
    for i in range(n):
        picture = room.copy()
        picture[100:400, 10 * i : 10 * i + 200] = rng.integers(0, 256, 3)
        yield picture


def test_h264_is_small_and_shows_pictures_at_their_times(tmp_path):
    av = pytest.importorskip("av", reason="H.264 needs PyAV")
    times = [7.0, 7.1, 7.4, 7.45]
    with VideoFile(tmp_path / "v.mp4", 30) as video:
        for picture, time in zip(rolling(4, np.random.default_rng(0)), times, strict=True):
            video.add(picture, time)
    with av.open(str(tmp_path / "v.mp4")) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name == "h264"
        shown = [frame.time for frame in container.decode(stream)]
    np.testing.assert_allclose(shown, np.subtract(times, 7.0), atol=1e-4)
    with VideoFile(tmp_path / "long.mp4", 30) as video:
        for picture in rolling(90, np.random.default_rng(0)):
            video.add(picture)
    assert (tmp_path / "long.mp4").stat().st_size < 2_000_000


def test_without_pyav_the_video_is_mpeg_4(tmp_path, monkeypatch):
    if not can_write_video(tmp_path):
        pytest.skip("OpenCV has no MP4 encoder here")
    monkeypatch.setitem(sys.modules, "av", None)
    with VideoFile(tmp_path / "v.mp4", 30) as video:
        for picture in rolling(3, np.random.default_rng(0)):
            video.add(picture, 1.0)
    assert len(frames_of(tmp_path / "v.mp4")) == 3
