import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import naive

import depthforest as df
from depthforest.base.errors import CameraError
from depthforest.frames.camera import PRESETS, Camera, at_most_pixels, parse_size

SMALL = Camera(20.0, 22.0, 7.3, 4.8, 16, 12)
focals = st.floats(5, 2000)
centers = st.floats(-50, 2000)


def test_presets_are_the_published_intrinsics():
    assert Camera.preset("kinect_v1") == Camera(525, 525, 319.5, 239.5, 640, 480)
    assert Camera.preset("kinect_v2").width == 512
    assert Camera.preset("xtion") == Camera.preset("kinect_v1")
    assert set(PRESETS) == {"kinect_v1", "xtion", "kinect_v2", "azure_nfov", "realsense_d435"}


def test_a_scaled_preset_sees_the_same_rays():
    full, half = Camera.preset("kinect_v1"), Camera.preset("kinect_v1@320x240")
    assert half.shape == (240, 320)
    assert half.fx == 262.5
    # the corner of the picture, half a pixel outside the first center, is the same ray
    np.testing.assert_allclose(full.unproject([-0.5, -0.5], 1.0), half.unproject([-0.5, -0.5], 1.0), atol=1e-12)
    np.testing.assert_allclose(full.unproject([479.5, 639.5], 1.0), half.unproject([239.5, 319.5], 1.0), atol=1e-12)


@given(focals, focals, centers, centers, st.lists(st.tuples(*[st.floats(-5, 5)] * 3), max_size=8))
def test_projection_equals_its_twin(fx, fy, cx, cy, points):
    camera = Camera(fx, fy, cx, cy, 64, 48)
    comp = camera.project(np.array(points).reshape(-1, 3))
    np.testing.assert_allclose(comp, naive.project(camera, points), rtol=1e-9)


@given(st.floats(0, 47), st.floats(0, 63), st.floats(0.1, 10))
def test_projecting_undoes_unprojecting(row, col, z):
    camera = Camera.preset("kinect_v1").scaled(64, 48)
    point = camera.unproject([row, col], z)
    assert point[2] == z
    np.testing.assert_allclose(camera.project(point), [row, col], atol=1e-9)


def test_whole_frames_equal_their_twin():
    depth_mm = np.random.default_rng(0).integers(0, 4000, SMALL.shape).astype(np.uint16)
    depth_mm[0, 0] = depth_mm[-1, -1] = 0
    points = SMALL.unproject_frame(depth_mm)
    assert points.dtype == np.float32
    np.testing.assert_allclose(points, naive.unproject_frame(SMALL, depth_mm), rtol=2e-6)


def test_points_behind_the_camera_have_no_pixel():
    pixels = SMALL.project([[0, 0, 0], [1, 1, -2], [0, 0, np.nan], [0, 0, 1]])
    assert np.isnan(pixels[:3]).all()
    np.testing.assert_allclose(pixels[3], [SMALL.cy, SMALL.cx])


def test_cropping_and_turning_and_flipping_keep_the_rays():
    pixel = np.array([5.0, 9.0])
    ray = SMALL.unproject(pixel, 1.0)
    np.testing.assert_allclose(SMALL.cropped(2, 3, 8, 10).unproject(pixel - (2, 3), 1.0), ray)
    picture = np.zeros(SMALL.shape)
    picture[5, 9] = 1
    for degrees, turned in ((90, (-ray[1], ray[0], 1)), (180, (-ray[0], -ray[1], 1)), (270, (ray[1], -ray[0], 1))):
        row, col = np.argwhere(np.rot90(picture, -degrees // 90))[0]
        camera = SMALL.rotated(degrees)
        assert camera.shape == np.rot90(picture, -degrees // 90).shape
        np.testing.assert_allclose(camera.unproject([row, col], 1.0), turned, atol=1e-12)
    row, col = np.argwhere(picture[:, ::-1])[0]
    np.testing.assert_allclose(SMALL.flipped().unproject([row, col], 1.0), ray * (-1, 1, 1), atol=1e-12)


def test_undistorting_equals_its_twin():
    image = np.random.default_rng(1).integers(0, 60000, (48, 64)).astype(np.uint16)
    for coefficients in ((0.1, -0.05, 0.003, -0.002), (-0.2, 0.05, 0, 0, 0.01), (0.1, 0, 0, 0, 0, 0.2, 0.01, 0.001)):
        camera = Camera(50, 50, 31.2, 23.7, 64, 48, coefficients)
        comp = camera.undistort(image, fill=7)
        assert comp.dtype == np.uint16
        # the two round halves differently: allow a handful of pixels
        assert (comp != naive.undistort(camera, image, fill=7)).mean() < 0.01
        assert set(np.unique(comp)) <= {*np.unique(image), 7}, "depths must never be blended"
    assert camera.without_distortion().undistort(image) is image


def test_a_distorted_camera_must_be_undistorted_first():
    camera = Camera(50, 50, 32, 24, 64, 48, (0.1, 0, 0, 0))
    for use in (lambda: camera.project([0, 0, 1]), lambda: camera.rotated(90), camera.flipped):
        with pytest.raises(CameraError, match="without_distortion"):
            use()
    assert Camera(50, 50, 32, 24, 64, 48, (0, 0, 0, 0)).distortion == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kinect_v2", PRESETS["kinect_v2"]),
        ("kinect_v1@160x120", PRESETS["kinect_v1"].scaled(160, 120)),
        ("500,501,319,240,640x480", Camera(500, 501, 319, 240, 640, 480)),
        ("500, 501, 319, 240", Camera(500, 501, 319, 240, 320, 200)),
        (SMALL, SMALL),
    ],
)
def test_cameras_are_parsed(text, expected):
    assert Camera.parse(text, (320, 200)) == expected


def test_json_round_trip(tmp_path):
    camera = Camera(500.25, 501, 319, 240, 640, 480, (0.1, 0.2, 0.0, 0.0, 0.3))
    (tmp_path / "a.json").write_text(json.dumps(camera.to_dict()))
    (tmp_path / "b.json").write_text(json.dumps({"camera": camera.to_dict(), "parts": {}}))
    assert Camera.parse(str(tmp_path / "a.json")) == camera
    assert Camera.parse(tmp_path / "b.json") == camera
    assert "distortion" not in SMALL.to_dict()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kinect_v3", "'kinect_v3' is not a camera preset; name a preset (kinect_v1,"),
        ("kinect_v1@640", "a size is written WIDTHxHEIGHT"),
        ("kinect_v1@640x400", "the aspect differs"),
        ("1,2,3", "got 3 fields"),
        ("1,2,3,x", "camera numbers are fx,fy,cx,cy"),
        ("500,500,320,240", "append it, as in 500,500,320,240,640x480"),
        ("-500,500,320,240,640x480", "focal lengths must be above 0"),
        ("nan,500,320,240,640x480", "fx must be a finite number"),
        ("nowhere.json", "nowhere.json: cannot be read: no such file"),
        ("1,1,1,1,99999x99999", "expected 1 to 67108864 pixels"),
    ],
)
def test_broken_cameras_are_refused(text, message):
    with pytest.raises(CameraError) as error:
        Camera.parse(text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([1], "expected an object with fx, fy"),
        ({"fx": 1, "fy": 1, "cx": 1, "width": 4, "height": 3}, "lacks cy"),
        ({"fx": 1, "fy": 1, "cx": 1, "cy": 1, "width": 4, "height": 3, "k1": 0}, "has unknown k1"),
        ({"fx": "1", "fy": 1, "cx": 1, "cy": 1, "width": 4, "height": 3}, "fx must be a finite number, got '1'"),
        ({"fx": 1, "fy": 1, "cx": 1, "cy": 1, "width": 4.5, "height": 3}, "whole number of pixels"),
        ({"fx": 1, "fy": 1, "cx": 1, "cy": 1, "width": 4, "height": 0}, "4 x 0 pixels"),
        ({"fx": 1, "fy": 1, "cx": 1, "cy": 1, "width": 4, "height": 3, "distortion": [1]}, "4, 5 or 8 coefficients"),
        ({"fx": 1, "fy": 1, "cx": 1, "cy": 1, "width": 4, "height": 3, "distortion": "no"}, "list of coefficients"),
    ],
)
def test_broken_json_cameras_are_refused(content, message, tmp_path):
    path = tmp_path / "camera.json"
    path.write_text(json.dumps(content))
    with pytest.raises(CameraError) as error:
        Camera.from_json(path)
    assert message in str(error.value)
    assert "camera.json" in str(error.value)


def test_misuse_is_refused():
    with pytest.raises(CameraError, match="leaves the 16 x 12 picture"):
        SMALL.cropped(5, 5, 8, 8)
    with pytest.raises(CameraError, match="0, 90, 180 or 270"):
        SMALL.rotated(45)
    with pytest.raises(CameraError, match="last axis of length 3"):
        SMALL.project([1, 2])
    with pytest.raises(CameraError, match=r"depth of shape \(3, 3\)"):
        SMALL.unproject_frame(np.zeros((3, 3), np.uint16))
    with pytest.raises(CameraError, match="cannot undistort a 3 x 3"):
        SMALL.undistort(np.zeros((3, 3), np.uint16))
    with pytest.raises(CameraError, match="640x480"):
        parse_size("big")


def test_guesses_by_size():
    assert Camera.guess(640, 480) == ("kinect_v1", PRESETS["kinect_v1"])
    name, camera = Camera.guess(256, 212)
    assert name == "kinect_v2@256x212"
    assert camera == PRESETS["kinect_v2"].scaled(256, 212)
    assert Camera.guess(123, 45) is None


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ("1e30,1e30,320,240,640x480", "above 1e[+]06 pixels are not supported"),
        (
            "0.00365,0.00365,320,240,640x480",
            "are in pixels, at least 0.02 of the picture's shorter side; .* divide",
        ),
        ("500,9,320,240,640x480", "got fx=500, fy=9"),
        ("500,500,1e30,240,640x480", "the principal point is in pixels"),
        ("500,500,320,-2e6,640x480", "the principal point is in pixels"),
    ],
)
def test_no_lens_is_like_that(numbers, message):
    """Joints were NaN, or 2 km away."""
    with pytest.raises(CameraError, match=message):
        Camera.parse(numbers)


def test_endless_numbers_and_keys_are_refused_in_a_short_line():
    whole = {"fx": 500, "fy": 500, "cx": 320, "cy": 240, "width": 640, "height": 480}
    for content in (whole | {"fx": 10**400}, whole | {"width": 10**400}, whole | {"\x1b[31m" + "x" * 120_000: 1}):
        with pytest.raises(CameraError) as info:
            Camera.from_dict(content)
        assert len(str(info.value)) < 1100
        assert str(info.value).isprintable()


def test_a_lower_limit_of_pixels_holds_inside_its_block_alone():
    with at_most_pixels(100), pytest.raises(CameraError, match="20 x 10 pixels; expected 1 to 100 pixels"):
        parse_size("20x10")
    assert parse_size("20x10") == (20, 10)
    with at_most_pixels(2**60), pytest.raises(CameraError, match="expected 1 to 67108864"):
        parse_size("9000x9000")


def test_a_matrix_is_a_camera():
    k = np.array([[580.0, 0, 319.5], [0, 581.0, 239.5], [0, 0, 1]])
    expected = df.Camera(580, 581, 319.5, 239.5, 640, 480)
    assert df.Camera.parse(k, (640, 480)) == df.Camera.parse(k.tolist(), (640, 480)) == expected
    depth = np.full((480, 640), 2000, np.uint16)
    assert df.Frame.from_array(depth, k).camera == expected
    with pytest.raises(CameraError, match=r"has no picture size; use Camera.from_matrix\(K, width, height\)"):
        df.Camera.parse(k)
    with pytest.raises(CameraError, match=r"a camera matrix is \[\[fx, 0, cx\]"):
        df.Camera.parse(np.eye(4), (640, 480))
    with pytest.raises(CameraError, match="a camera matrix is 3 x 3 numbers"):
        df.Camera.parse([["a"]], (640, 480))
    with pytest.raises(CameraError, match="in Python also a 3 x 3 matrix K"):
        df.Camera.parse(7)


def test_a_matrix_reads_files(tmp_path):
    np.save(tmp_path / "a.npy", np.full((24, 32), 2000, np.uint16))
    k = np.array([[50.0, 0, 15.5], [0, 50.0, 11.5], [0, 0, 1]])
    assert df.read_depth(tmp_path / "a.npy", k).camera == df.Camera(50, 50, 15.5, 11.5, 32, 24)
