"""Matroska, written by PyAV: Azure Kinect's layout, and our own lossless video."""

import numpy as np
import pytest
from support.azure import AZURE, CALIBRATION, azure_file
from support.damage import check_outcomes, outcomes

import depthforest as df
from depthforest.base import CameraError, FrameError
from depthforest.io.recordings.matroska import MkvWriter, azure_camera

av = pytest.importorskip("av", reason="av is not installed")

CAMERA = df.Camera(50, 51, 15.5, 11.5, 32, 24)


def random_frames(n, start=1000.0):
    rng = np.random.default_rng(0)
    depth = rng.integers(300, 9000, (n, 24, 32)).astype(np.uint16)
    return [df.Frame(picture, CAMERA, time_s=start + number / 30) for number, picture in enumerate(depth)]


def test_lossless_video_keeps_every_bit_the_camera_and_the_time(tmp_path):
    frames = random_frames(12)
    with MkvWriter(tmp_path / "a.mkv") as writer:
        for frame in frames:
            writer.add(frame)
    source = df.open_source(tmp_path / "a.mkv")
    found = list(source)
    assert found == frames
    assert len(source) == 12
    assert np.abs(np.array([f.time_s for f in found]) - [f.time_s for f in frames]).max() < 0.001
    for number in (7, 0, 11, -3):
        assert source[number] == frames[number]
    assert [p.name for p in tmp_path.iterdir()] == ["a.mkv"]


def test_azure_kinect_is_read_with_the_calibration_of_its_mode(tmp_path):
    frame = df.open_source(azure_file(tmp_path / "a.mkv"))[1]
    assert frame.depth_mm[288, 320] == 2001
    camera = frame.camera
    found = (camera.fx, camera.fy, camera.cx, camera.cy)
    assert found == pytest.approx((503.927643, 503.978729, 332.064270, 325.880615), abs=1e-3)
    assert (df.open_source(tmp_path / "a.mkv", "azure_nfov", topic="IR", scale="mm")[0].depth_mm[:5] == 77).all()
    with pytest.raises(FrameError, match="no 16-bit track 'X'; tracks: DEPTH, IR"):
        list(df.open_source(tmp_path / "a.mkv", topic="X"))


def test_every_depth_mode_sees_the_same_ray():
    """A point on a ray falls on the same place of the sensor in all modes: wide, narrow, binned."""
    for width, height, side, left, top in (
        (640, 576, 1024, 192, 180), (320, 288, 512, 96, 90), (512, 512, 512, 0, 0), (1024, 1024, 1024, 0, 0),
    ):  # fmt: skip
        camera = azure_camera(CALIBRATION, width, height)
        col = camera.fx * 0.1 + camera.cx + 0.5 + left
        row = camera.fy * -0.2 + camera.cy + 0.5 + top
        assert (col / side, row / side) == pytest.approx((AZURE[0] + 0.1 * AZURE[2], AZURE[1] - 0.2 * AZURE[3]))
    with pytest.raises(CameraError, match="is not a depth mode"):
        azure_camera(CALIBRATION, 100, 100)


@pytest.mark.parametrize("size", [(640, 576), (320, 288), (512, 512), (1024, 1024)])
def test_files_of_every_depth_mode_are_read(tmp_path, size):
    frame = df.open_source(azure_file(tmp_path / "a.mkv", 2, size), azure_camera(CALIBRATION, *size))[1]
    assert frame.shape == size[::-1]
    assert frame.depth_mm[size[1] // 2, size[0] // 2] == 2001


def test_colors_are_no_depth_and_broken_calibrations_are_named(tmp_path):
    with av.open(str(tmp_path / "c.mkv"), "w", format="matroska") as container:
        stream = container.add_stream("ffv1", rate=30)
        stream.width, stream.height, stream.pix_fmt = 32, 24, "yuv420p"
        picture = av.VideoFrame.from_ndarray(np.zeros((24, 32, 3), np.uint8), format="rgb24")
        for packet in [*stream.encode(picture), *stream.encode()]:
            container.mux(packet)
    with pytest.raises(FrameError, match="no 16-bit gray track"):
        list(df.open_source(tmp_path / "c.mkv"))
    azure_file(tmp_path / "b.mkv", 1, attachment={"CalibrationInformation": {"Cameras": []}})
    with pytest.raises(FrameError, match=r"attachment calibration.json holds no calibration"):
        list(df.open_source(tmp_path / "b.mkv"))


def test_cut_and_damaged_files_get_one_line(tmp_path):
    path = tmp_path / "a.mkv"
    with MkvWriter(path) as writer:
        for frame in random_frames(4):
            writer.add(frame)
    check_outcomes(outcomes(path, lambda: sum(1 for _ in df.open_source(path, CAMERA))), 4)


def test_a_failed_recording_leaves_nothing(tmp_path):
    frames = random_frames(2)
    frames[1] = df.Frame(frames[0].depth_mm, df.Camera(60, 60, 15.5, 11.5, 32, 24))

    def record():
        with MkvWriter(tmp_path / "a.mkv") as writer:
            for frame in frames:
                writer.add(frame)

    with pytest.raises(FrameError, match="another camera than the first"):
        record()
    assert list(tmp_path.iterdir()) == []
