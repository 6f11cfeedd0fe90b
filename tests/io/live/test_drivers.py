"""OAK, Orbbec and Video4Linux without hardware: as far as their own packages go without a device."""

import numpy as np
import pytest

import depthforest as df
from depthforest.base import FrameError
from depthforest.io import CameraLostError

# -- OAK: depthai runs a pipeline on the host --------------------------------------------------------------------------


def test_oak_messages_of_a_pipeline_without_a_device():
    dai = pytest.importorskip("depthai", reason="depthai is not installed")
    from depthforest.io.live.oak import OakCamera, camera_of

    class Depth(dai.node.ThreadedHostNode):
        """Sends three pictures, as StereoDepth does."""

        def __init__(self):
            super().__init__()
            self.out = self.createOutput()

        def run(self):
            for number in range(3):
                message = dai.ImgFrame()
                message.setType(dai.ImgFrame.Type.RAW16)
                message.setWidth(64).setHeight(48).setStride(128)
                message.setData(np.full((48, 64), 1500 + number, np.uint16).view(np.uint8).ravel())
                self.out.send(message)

    with dai.Pipeline(False) as pipeline:
        camera = OakCamera(pipeline, pipeline.create(Depth).out)
        pages = [page for page in (camera.read(0.3) for _ in range(3)) if page is not None]
        camera.close()
    assert pages  # the newest wins: from one to three of them
    assert pages[-1].values.shape == (48, 64)
    assert 1500 <= int(pages[-1].values[0, 0]) <= 1502
    assert pages[-1].scale == 0.001
    assert pages[-1].camera is None  # nobody calibrated it
    calibrated = dai.ImgTransformation(64, 48, [[50.0, 0, 31.5], [0, 51.0, 23.5], [0, 0, 1]])
    assert camera_of(calibrated, (48, 64)) == df.Camera(50, 51, 31.5, 23.5, 64, 48)


def test_no_oak_is_said_in_one_line():
    dai = pytest.importorskip("depthai", reason="depthai is not installed")
    if dai.Device.getAllAvailableDevices():
        pytest.skip("a camera is connected")
    with pytest.raises(CameraLostError, match=r"^oak: no such OAK camera answers: "):
        list(df.open_source("oak:"))


# -- Orbbec: its SDK has no device in software -------------------------------------------------------------------------


class OrbbecPipeline:
    """Answers as `pyorbbecsdk.Pipeline` does; the real classes are asked whether they have every method."""

    def __init__(self, ob, values, unit_mm=1.0):
        self.ob, self.values, self.unit_mm, self.is_running = ob, values, unit_mm, False

    def __getattr__(self, name):
        return lambda *_words: self.answer(name)

    def answer(self, name):
        ob, (rows, cols) = self.ob, self.values.shape
        classes = ob.Pipeline, ob.StreamProfileList, ob.VideoStreamProfile, ob.FrameSet, ob.DepthFrame
        assert any(hasattr(kind, name) for kind in classes), name
        inside = ob.OBCameraIntrinsic()
        inside.fx, inside.fy, inside.cx, inside.cy, inside.width, inside.height = 50, 51, 15.5, 11.5, cols, rows
        answers = {
            "get_intrinsic": inside, "get_distortion": ob.OBCameraDistortion(), "get_width": cols, "get_height": rows,
            "get_format": ob.OBFormat.Y16, "get_data": self.values.astype("<u2").view(np.uint8).ravel(),
            "get_depth_scale": self.unit_mm, "get_system_timestamp_us": 1_500_000,
        }  # fmt: skip
        if name in ("start", "stop"):
            self.is_running = name == "start"
        return answers.get(name, self)


def test_orbbec_frames_have_the_camera_and_the_unit_of_the_device(monkeypatch):
    ob = pytest.importorskip("pyorbbecsdk", reason="pyorbbecsdk2 is not installed")
    from depthforest.io.live.orbbec import OrbbecCamera

    class Config:
        def enable_stream(self, profile):
            assert profile is pipeline

    assert hasattr(ob.Config, "enable_stream")
    monkeypatch.setattr(ob, "Config", Config)
    pipeline = OrbbecPipeline(ob, np.full((24, 32), 3000, np.uint16), unit_mm=0.5)
    camera = OrbbecCamera(pipeline)
    page = camera.read(0.1)
    assert page.camera == df.Camera(50, 51, 15.5, 11.5, 32, 24)
    assert (page.scale, page.time_s, int(page.values[0, 0])) == (0.0005, 1.5, 3000)
    assert pipeline.is_running
    camera.close()
    assert not pipeline.is_running


def test_no_orbbec_is_said_in_one_line_and_leaves_no_log(tmp_path, monkeypatch):
    ob = pytest.importorskip("pyorbbecsdk", reason="pyorbbecsdk2 is not installed")
    monkeypatch.chdir(tmp_path)
    if len(ob.Context().query_devices()):
        pytest.skip("a camera is connected")
    with pytest.raises(CameraLostError, match=r"^orbbec: no Orbbec camera is connected$"):
        list(df.open_source("orbbec:"))


# -- Video4Linux: FFmpeg reads a made-up device ------------------------------------------------------------------------


def test_video_devices_are_read_by_ffmpeg(tmp_path):
    pytest.importorskip("av", reason="av is not installed")
    from depthforest.io.live.v4l2 import VideoCamera, open_device

    camera = VideoCamera("color=c=gray:s=32x24:r=30:d=0.1,format=gray16le", "lavfi")
    pages = [camera.read(0.1) for _ in range(3)]
    with pytest.raises(EOFError):
        camera.read(0.1)
    camera.close()
    assert pages[0].values.shape == (24, 32)
    assert pages[0].values.dtype == np.uint16
    colors = VideoCamera("color=c=gray:s=32x24:r=30:d=0.1,format=rgb24", "lavfi")
    with pytest.raises(FrameError, match="delivers rgb24; depth is 16-bit gray"):
        colors.read(0.1)
    with pytest.raises(CameraLostError, match=r"v4l2:99: there is no /dev/video99"):
        list(df.open_source("v4l2:99"))
    (tmp_path / "file").write_bytes(b"no device")
    with pytest.raises(CameraLostError, match="cannot be opened"):
        open_device(str(tmp_path / "file"), (640, 480))
