"""RealSense without hardware: Intel's SDK makes a device in software, and records and plays files."""

import threading

import numpy as np
import pytest
from support.realsense import HEIGHT, WIDTH, SoftwareCamera, record

import depthforest as df
from depthforest.base import CameraError, FrameError
from depthforest.io import CameraLostError, LiveSource

rs = pytest.importorskip("pyrealsense2", reason="pyrealsense2 is not installed", exc_type=ImportError)
from depthforest.io.live.realsense import RealSenseCamera, camera_of, open_device  # noqa: E402

CAMERA = df.Camera(50, 51, 15.5, 11.25, WIDTH, HEIGHT)


def test_frames_have_the_camera_the_unit_and_the_time_of_the_device():
    software = SoftwareCamera(rs)
    camera = RealSenseCamera(software.device)
    assert camera.read(0.01) is None
    software.push(3)
    page = camera.read(5.0)
    assert page.camera == camera.camera == CAMERA
    assert page.scale == pytest.approx(0.0005)
    assert page.time_s == pytest.approx(1000.099)
    assert (page.values == 2003).all()
    software.push(4)
    software.push(5)
    threading.Event().wait(0.2)
    assert camera.read(5.0).values[0, 0] == 2005  # the newest
    camera.close()


def test_a_device_in_software_is_a_live_source():
    software = SoftwareCamera(rs)
    live = LiveSource("realsense", lambda: RealSenseCamera(software.device))
    pages = live.pages()
    found = []
    for number in range(3):
        threading.Timer(0.05, software.push, (number,)).start()
        found.append(int(next(pages).values[0, 0]))
    pages.close()
    assert found == [2000, 2001, 2002]
    assert live.n_dropped == 0


def test_modes_and_lenses(tmp_path):
    with pytest.raises(FrameError, match="has no mode of 640x480; it has 32x24"):
        RealSenseCamera(SoftwareCamera(rs).device, (640, 480))
    assert RealSenseCamera(SoftwareCamera(rs).device, (WIDTH, HEIGHT)).camera == CAMERA
    lens = rs.intrinsics()
    lens.width, lens.height, lens.fx, lens.fy, lens.ppx, lens.ppy = 640, 480, 600, 600, 320, 240
    lens.coeffs, lens.model = [0.1, 0, 0, 0, 0], rs.distortion.brown_conrady
    assert camera_of(lens).distortion[0] == pytest.approx(0.1)
    lens.model = rs.distortion.kannala_brandt4
    with pytest.raises(CameraError, match="lens model"):
        camera_of(lens)
    with pytest.raises(FrameError, match="there is no such file"):
        open_device(str(tmp_path / "no.bag"), None)


def test_no_camera_is_said_in_one_line():
    if len(rs.context().query_devices()):
        pytest.skip("a camera is connected")
    with pytest.raises(CameraLostError, match=r"^realsense: no such RealSense camera is connected$"):
        list(df.open_source("realsense:"))
    with pytest.raises(CameraLostError, match=r"^realsense:99: no such RealSense camera is connected$"):
        list(df.open_source("realsense:99"))


def test_what_the_sdk_records_is_played_and_read(tmp_path):
    """Version 2.57 and later record a ROS 2 bag (.db3), earlier ones a ROS 1 bag (.bag)."""
    path = tmp_path / "walk.db3"
    try:
        record(rs, path)
    except RuntimeError:
        path = record(rs, tmp_path / "walk.bag")
    played = list(df.open_source(f"realsense:{path}"))
    assert played
    read = list(df.open_source(path))
    assert [int(frame.depth_mm[5, 5]) for frame in read] == [1000, 1000, 1001, 1002]  # 2000 to 2003 halves of mm
    for frames in (played, read):
        assert frames[0].camera == CAMERA
    assert [frame.time_s for frame in read] == pytest.approx([1000.0, 1000.033, 1000.066, 1000.099])
    assert {int(frame.depth_mm[5, 5]) for frame in played} <= {1000, 1001, 1002}
    np.testing.assert_array_equal(read[-1].depth_mm, played[-1].depth_mm)
