import copy
import dataclasses
import pickle
import warnings

import numpy as np
import pytest

import depthforest as df
from depthforest.base.errors import CameraError, FrameError, PartSetError, UsageError
from depthforest.frames.parts import NO_PART

CAMERA = df.Camera(100.0, 100.0, 15.5, 11.5, 32, 24)
DEPTH = np.full((24, 32), 2000, dtype=np.uint16)


def labeled(**changes):
    parts = np.full((24, 32), NO_PART, np.uint8)
    parts[5:20, 10:20] = 3
    content = {"depth_mm": DEPTH, "camera": CAMERA, "parts": parts, "people": (parts == 3).astype(np.uint8)}
    return df.LabeledFrame(**(content | changes))


def test_a_frame_is_a_frozen_copy():
    depth = DEPTH.copy()
    frame = df.Frame(depth, CAMERA)
    depth[0, 0] = 1
    assert frame.depth_mm[0, 0] == 2000
    with pytest.raises(ValueError, match="read-only"):
        frame.depth_mm[0, 0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        frame.camera = CAMERA
    assert depth.flags.writeable


def test_meters_are_converted():
    assert (df.Frame(np.full((24, 32), 2.0), CAMERA).depth_mm == 2000).all()
    assert (df.Frame(np.full((24, 32), 65535, np.uint16), CAMERA).depth_mm == 0).all()


def test_frames_compare_by_content():
    assert df.Frame(DEPTH, CAMERA) == df.Frame(DEPTH, CAMERA)
    assert df.Frame(DEPTH, CAMERA) != df.Frame(DEPTH + 1, CAMERA)
    assert labeled() == labeled()
    assert labeled() != df.Frame(DEPTH, CAMERA)
    with pytest.raises(TypeError, match="unhashable"):
        hash(labeled())


def test_a_camera_of_another_size_is_scaled_aloud_or_refused():
    with pytest.warns(df.DepthForestWarning, match="the camera is 640 x 480 and is scaled to pictures of 32 x 24"):
        frame = df.Frame(DEPTH, df.Camera.preset("kinect_v1"))
    assert frame.camera == df.Camera.preset("kinect_v1@32x24")
    with pytest.raises(
        CameraError, match="the picture is 32 x 24 but the camera 512 x 424, which has a different aspect ratio"
    ):
        df.Frame(DEPTH, df.Camera.preset("kinect_v2"))


def test_the_scaling_is_said_once():
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("default")
        for _ in range(3):
            df.Frame.from_array(DEPTH, "kinect_v1")
    assert len(record) == 1


def test_an_unknown_camera_is_guessed_aloud_or_refused():
    with pytest.warns(df.DepthForestWarning, match="pictures of 640 x 480 are taken as kinect_v1: pass camera"):
        frame = df.Frame.from_array(np.full((480, 640), 1500, np.uint16))
    assert frame.camera == df.Camera.preset("kinect_v1")
    with pytest.raises(CameraError, match="x: no camera given, and 32 x 25 is the size of no preset"):
        df.Frame.from_array(np.full((25, 32), 1500, np.uint16), name="x")


def test_flip_turns_a_mirrored_stream_back():
    real = np.random.default_rng(0).integers(1000, 3000, (24, 32)).astype(np.uint16)
    off_center = dataclasses.replace(CAMERA, cx=12.0)
    frame = df.Frame.from_array(real[:, ::-1], off_center, flip=True)
    np.testing.assert_array_equal(frame.depth_mm, real)
    assert frame.camera == off_center


@pytest.mark.parametrize(("degrees", "corner"), [(90, (0, -1)), (180, (-1, -1)), (270, (-1, 0)), (0, (0, 0))])
def test_rotate_turns_clockwise(degrees, corner):
    depth = DEPTH.copy()
    depth[0, 0] = 1234
    frame = df.Frame.from_array(depth, CAMERA, rotate=degrees)
    assert frame.depth_mm[corner] == 1234
    assert frame.camera == CAMERA.rotated(degrees)
    assert frame.shape == ((32, 24) if degrees in (90, 270) else (24, 32))


def test_distortion_is_removed_once():
    ideal = dataclasses.replace(CAMERA, fx=20.0, fy=20.0)
    lens = dataclasses.replace(ideal, distortion=(-0.3, 0.1, 0.0, 0.0))
    depth = np.random.default_rng(0).integers(1000, 3000, (24, 32)).astype(np.uint16)
    frame = df.Frame.from_array(depth, lens)
    np.testing.assert_array_equal(frame.depth_mm, lens.undistort(depth))
    assert (frame.depth_mm != depth).any()
    assert frame.camera == ideal
    with pytest.raises(CameraError, match="needs an ideal lens"):
        df.Frame(depth, lens)


def test_a_mirrored_distorted_portrait_camera():
    lens = dataclasses.replace(CAMERA, fx=20.0, cx=14.0, distortion=(-0.3, 0.1, 0.01, 0.0))
    depth = np.random.default_rng(0).integers(1000, 3000, (24, 32)).astype(np.uint16)
    frame = df.Frame.from_array(depth[:, ::-1], lens, flip=True, rotate=90)
    np.testing.assert_array_equal(frame.depth_mm, np.rot90(lens.undistort(depth), -1))


def test_points():
    points = df.Frame(DEPTH, CAMERA).points()
    np.testing.assert_allclose(points[0, 0], [-0.31, -0.23, 2.0], rtol=1e-6)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"parts": np.zeros((24, 31), np.uint8)}, FrameError, r"parts have shape \(24, 31\), the depth \(24, 32\)"),
        ({"parts": np.zeros((24, 32), np.int64)}, FrameError, "parts must be uint8, got int64"),
        ({"parts": np.full((24, 32), 31, np.uint8)}, PartSetError, "768 pixels have labels outside the part set"),
        ({"people": np.zeros((24, 32), np.uint8)}, FrameError, "150 pixels have a part but belong to nobody"),
        ({"people": np.zeros((23, 32), np.uint8)}, FrameError, "people have shape"),
        ({"joints": {0: {}}}, FrameError, "whole number from 1 to 255, got 0"),
        ({"joints": {1: {"nose": df.Joint((0, 0, 1))}}}, FrameError, "no joint is called 'nose'; joints: head, neck"),
        ({"joints": {1: {"head": (0, 0, 1)}}}, FrameError, "must be a Joint, got tuple"),
        ({"joints": {1: {"head": df.Joint((0, 0, 1), confidence=0.5)}}}, FrameError, "the truth has 1"),
        ({"depth_mm": np.zeros((24, 32, 3), np.uint8)}, FrameError, "3 channels"),
        ({"part_set": "body31"}, PartSetError, "part_set must be a PartSet, got 'body31'"),
    ],
)
def test_broken_labels_are_refused(changes, error, message):
    with pytest.raises(error, match=message):
        labeled(**changes)


def test_joints_are_checked_and_frozen():
    frame = labeled(joints={1: {"head": df.Joint((0, 0.5, 2))}, 2: {}})
    assert set(frame.joints) == {1}
    assert frame.joints[1]["head"].position == (0.0, 0.5, 2.0)
    with pytest.raises(TypeError):
        frame.joints[1]["neck"] = df.Joint((0, 0, 1))
    with pytest.raises(FrameError, match="three finite numbers"):
        df.Joint((0, 0, float("nan")))
    with pytest.raises(FrameError, match="three finite numbers"):
        df.Joint((0, 0))
    with pytest.raises(FrameError, match="three finite numbers"):
        df.Joint(None)
    with pytest.raises(FrameError, match="between 0 and 1"):
        df.Joint((0, 0, 1), confidence=2)


def test_frames_travel_to_worker_processes():
    joints = {1: {"head": df.Joint((0, 0.5, 2), is_visible=False)}}
    for frame in (df.Frame(DEPTH, CAMERA), labeled(joints=joints)):
        for copied in (pickle.loads(pickle.dumps(frame)), copy.deepcopy(frame)):
            assert copied == frame
            assert not copied.depth_mm.flags.writeable
    assert repr(labeled()) == "LabeledFrame(32 x 24, 100% readings)"


def test_cameras_in_the_forms_that_drivers_give():
    matrix = [[100, 0, 15.5], [0, 100, 11.5], [0, 0, 1]]
    assert df.Camera.from_matrix(matrix, 32, 24) == CAMERA
    assert df.Frame.from_array(DEPTH, CAMERA.to_dict()).camera == CAMERA
    with pytest.raises(CameraError, match=r"a camera matrix is \[\[fx, 0, cx\]"):
        df.Camera.from_matrix(np.eye(4), 32, 24)
    with pytest.raises(CameraError, match=r"a camera matrix is 3 x 3 numbers"):
        df.Camera.from_matrix([[10**400, 0, 0], [0, 1, 0], [0, 0, 1]], 32, 24)
    with pytest.raises(CameraError, match=r"a Frame needs a Camera, got 'kinect_v1'; Frame\.from_array takes names"):
        df.Frame(DEPTH, "kinect_v1")


def test_one_pixel():
    camera = df.Camera(1, 1, 0, 0, 1, 1)
    assert df.Frame(np.array([[1500]], np.uint16), camera).points().tolist() == [[[0.0, 0.0, 1.5]]]


def test_name_and_time_go_along_and_do_not_count():
    camera = df.Camera(50, 50, 15.5, 11.5, 32, 24)
    depth = np.full((24, 32), 1500, np.uint16)
    frame = df.Frame.from_array(depth, camera, name="a.png", time_s=12.5, rotate=90)
    assert (frame.name, frame.time_s) == ("a.png", 12.5)
    for twin in (copy.deepcopy(frame), pickle.loads(pickle.dumps(frame))):
        assert (twin.name, twin.time_s) == ("a.png", 12.5)
        assert twin == frame
    assert df.Frame(depth, camera) == df.Frame(depth, camera, time_s=1.0)
    with pytest.raises(FrameError, match="finite number of seconds"):
        df.Frame(depth, camera, time_s=float("nan"))


@pytest.mark.parametrize("flip", ["no", "yes", 1, 0, None])
def test_a_flip_that_is_no_flag_is_refused(flip):
    depth = np.full((480, 640), 2000, np.uint16)
    with pytest.raises(UsageError, match="flip must be True or False, got"):
        df.Frame.from_array(depth, "kinect_v1", flip=flip)
    with pytest.raises(UsageError, match="flip must be True or False, got"):
        df.open_source("frame.png", flip=flip)
    assert df.Frame.from_array(depth, "kinect_v1", flip=np.bool_(True)).shape == (480, 640)
