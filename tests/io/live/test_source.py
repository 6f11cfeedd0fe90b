"""What every live camera has: the newest frame wins, drops are counted, a lost camera is waited for."""

import threading
from pathlib import Path

import numpy as np
import pytest

import depthforest as df
from depthforest.base import DepthForestWarning, FrameError, UsageError, patient_interrupts
from depthforest.io import CameraLostError, LiveSource, stream_name
from depthforest.io.formats import Page
from depthforest.io.recordings.packages import need

CAMERA = df.Camera(50, 50, 15.5, 11.5, 32, 24)


def picture(number):
    return Page(np.full((24, 32), 1000 + number, np.uint16))


class Scripted:
    """A camera that delivers what a script says: numbers are pictures, None is silence, an exception is raised."""

    def __init__(self, script, closed):
        self.script, self.closed = script, closed

    def read(self, timeout_s):
        what = next(self.script, EOFError())
        if isinstance(what, BaseException):
            raise what
        if callable(what):
            return what(timeout_s)
        return None if what is None else picture(what)

    def close(self):
        self.closed.append(True)


def quiet(_timeout):
    """Deliver nothing for a moment."""
    threading.Event().wait(0.02)


def source(*scripts, closed=None, **how):
    """A source whose n-th opening plays the n-th script; an exception instead of a script means that it fails."""
    left, closed = iter(scripts), [] if closed is None else closed

    def opened():
        script = next(left)
        if isinstance(script, BaseException):
            raise script
        return Scripted(iter(script), closed)

    return LiveSource("fake", opened, retry_s=0.01, **how)


def values(pages):
    return [int(page.values[0, 0]) - 1000 for page in pages]


def test_the_newest_frame_wins_and_drops_are_counted():
    is_taken, is_played = threading.Event(), threading.Event()

    def hold(_timeout):
        is_taken.wait(60)

    def last(_timeout):
        is_played.set()

    live = source([0, hold, 1, 2, 3, last, None])
    pages = live.pages()
    assert values([next(pages)]) == [0]
    is_taken.set()
    assert is_played.wait(60)  # 1, 2 and 3 came while we were busy
    assert values(pages) == [3]
    assert (live.n_frames, live.n_dropped, live.n_lost) == (2, 2, 0)


def test_a_lost_camera_is_waited_for_and_closed():
    closed = []
    live = source(
        [0, CameraLostError("unplugged")], CameraLostError("not yet"), CameraLostError("not yet"), [7], closed=closed
    )
    pages = live.pages()
    assert values([next(pages)]) == [0]
    with pytest.warns(DepthForestWarning) as told:
        assert values(pages) == [7]
    assert [str(w.message) for w in told] == [
        "fake: the camera is lost (unplugged); waiting for it", "fake: the camera is back"
    ]  # fmt: skip
    assert live.n_lost == 1
    assert len(closed) == 2


def test_a_camera_that_falls_silent_is_opened_again():
    live = source([0, *[quiet] * 50], [1], stall_s=0.1)
    pages = live.pages()
    assert values([next(pages)]) == [0]
    with pytest.warns(DepthForestWarning, match="no frame for 0.1 s|is back"):
        assert values(pages) == [1]
    assert live.n_lost == 1


def test_a_camera_that_is_not_there_is_told_at_once():
    with pytest.raises(CameraLostError, match="none is connected"):
        next(source(CameraLostError("none is connected")).pages())


def test_the_camera_is_closed_when_nobody_takes_frames():
    closed = []
    pages = source([0, *[quiet] * 1000], closed=closed).pages()
    next(pages)
    pages.close()
    assert closed == [True]


def test_ctrl_c_reaches_whoever_waits_for_a_lost_camera():
    import signal

    pages = source([0, CameraLostError("gone")], *[CameraLostError("gone")] * 1000).pages()

    def interrupted():
        with patient_interrupts():
            next(pages)
            threading.Timer(0.05, signal.raise_signal, (signal.SIGINT,)).start()
            with pytest.warns(DepthForestWarning, match="gone"):
                next(pages)

    with pytest.raises(KeyboardInterrupt):
        interrupted()


# -- functions that return arrays --------------------------------------------------------------------------------------


def slow(items):
    """Return a function that returns one item after the other, each when the one before it was taken."""
    left, is_free = iter(items), threading.Event()
    is_free.set()

    def grab():
        is_free.wait(60)
        is_free.clear()
        item = next(left)
        if isinstance(item, BaseException):
            is_free.set()
            raise item
        return item

    return grab, is_free


def test_a_function_is_a_source():
    depth = np.full((24, 32), 1500, np.uint16)
    grab, is_free = slow([depth, df.Frame(depth + 1, CAMERA, time_s=7.5), None])
    frames = df.open_source(grab, CAMERA)
    assert (frames.is_live, frames.total, frames.sources) == (True, None, ("callback:grab",))
    found = []
    for frame in frames:
        found.append((int(frame.depth_mm[0, 0]), frame.time_s, frame.name))
        is_free.set()
    assert found == [(1500, None, "callback_grab#0"), (1501, 7.5, "callback_grab#1")]
    with pytest.raises(TypeError, match="no length"):
        len(frames)
    with pytest.raises(UsageError, match="has no frames by number"):
        frames[0]


def test_what_a_function_raises_comes_out_and_os_errors_are_waited_for():
    depth = np.full((24, 32), 1500, np.uint16)
    grab, is_free = slow([depth, ZeroDivisionError("a bug")])
    pages = iter(df.open_source(grab, CAMERA))
    next(pages)
    is_free.set()
    with pytest.raises(ZeroDivisionError, match="a bug"):
        next(pages)
    with pytest.raises(UsageError, match=r"must return depth of shape \(rows, cols\), got \(3,\)"):
        list(df.open_source(lambda: np.zeros(3), CAMERA))


def test_names():
    assert stream_name("-") == "stdin"
    assert [stream_name(f"{name}:") for name in ("realsense", "orbbec", "oak", "v4l2")] == [
        "realsense", "orbbec", "oak", "v4l2"
    ]  # fmt: skip
    assert stream_name("realsense:0123") == "realsense_0123"
    assert stream_name("v4l2:/dev/video2") == "v4l2_video2"
    assert stream_name("c:/frames/a.png") is None
    with pytest.raises(UsageError, match="a live camera does not end; leave out the other inputs"):
        df.open_source(["v4l2:0", "a.png"])


@pytest.mark.parametrize(
    ("name", "module", "line"),
    [
        ("realsense:", "pyrealsense2", "pip install pyrealsense2"),
        ("orbbec:", "pyorbbecsdk", "pip install --no-deps pyorbbecsdk2"),
        ("oak:", "depthai", "pip install depthai"),
        ("v4l2:", "av", "pip install av"),
    ],
)
def test_a_missing_package_is_named_before_anything_else(monkeypatch, name, module, line):
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(UsageError, match=f"^{name} needs the package {module}: {line}$"):
        df.open_source(name)


@pytest.mark.parametrize("name", ["nonsense:", "realsens:0123", "https://example.org/a.png"])
def test_a_camera_of_no_known_kind_is_refused_at_once(name):
    known = "realsense:, orbbec:, oak:, v4l2:"
    with pytest.raises(UsageError, match=f"^{name}: is neither a file nor a live camera; live cameras are {known}$"):
        df.open_source(name)


def test_what_only_looks_like_a_camera_is_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "take:1.png").touch()
    assert df.open_source("take:1.png").sources == (Path("take:1.png"),)
    assert df.open_source("c:/frames/a.png").sources == (Path("c:/frames/a.png"),)
    with pytest.raises(UsageError, match="pass the function itself"):
        df.open_source("callback:grab")


def test_an_old_package_is_named(monkeypatch):
    pytest.importorskip("av", reason="av is not installed")
    monkeypatch.setattr("importlib.metadata.version", lambda _name: "12.3.0")
    with pytest.raises(UsageError, match=r"needs av 18 or newer, not 12.3.0: pip install -U av"):
        df.open_source("v4l2:")


def test_frames_of_another_size_end_it():
    small = df.Camera(25, 25, 7.5, 5.5, 16, 12)
    grab, is_free = slow([df.Frame(np.full(c.shape, 1500, np.uint16), c) for c in (CAMERA, small)])
    pages = iter(df.open_source(grab))
    next(pages)
    is_free.set()
    with pytest.raises(FrameError, match="one size"):
        next(pages)


def test_a_package_that_cannot_be_loaded_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "halfthere.py").write_text("raise ImportError('libusb-1.0.so.0: cannot open shared object file')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match=r"^realsense: the package halfthere is installed but cannot be loaded"):
        need("halfthere", "pip install halfthere", "realsense")
