"""Which model fits how a camera stands."""

from __future__ import annotations

import numpy as np
import pytest

import depthforest as df
from depthforest.base import UsageError
from depthforest.forest import DEFAULT_MODEL, TOP_MODEL
from depthforest.people import looks_down
from synth import Config, Generator

DOWN = Config(
    camera="kinect_v1@160x120", n_bodies=2, n_poses=8, far_distance=(0.0, 0.6), camera_height=(2.8, 3.0),
    near_share=0.0, camera_tilt=(80.0, 90.0), people_shares=(1.0,), furnished_share=0.0, wall_share=0.0,
    least_visible=0.02,
)  # fmt: skip
LEVEL = Config(camera="kinect_v1@160x120", n_bodies=2, n_poses=8, near_share=0.0, furnished_share=0.0)


def plane_frame(normal: tuple[float, float, float], offset: float) -> df.Frame:
    """Return a frame of one endless plane: points p with normal . p = -offset."""
    camera = df.Camera.preset("kinect_v1@160x120")
    rows, cols = np.indices((camera.height, camera.width))
    slope = normal[0] * (cols - camera.cx) / camera.fx + normal[1] * (rows - camera.cy) / camera.fy + normal[2]
    z = np.where(slope < -1e-3, offset / -np.minimum(slope, -1e-3), 0)
    return df.Frame(np.where(z < 8, z * 1000, 0).astype(np.uint16), camera)


@pytest.mark.parametrize(
    ("tilt", "expected"), [(0.0, False), (30.0, False), (45.0, False), (55.0, True), (60.0, True), (90.0, None)]
)
def test_the_floor_tells_how_the_camera_stands(tilt, expected):
    angle = np.radians(tilt)
    frame = plane_frame((0.0, float(-np.cos(angle)), float(-np.sin(angle))), 2.5)
    assert looks_down(frame) is expected


def test_without_a_room_the_usual_model_is_taken():
    camera = df.Camera.preset("kinect_v1@160x120")
    empty = df.Frame(np.zeros((120, 160), np.uint16), camera)
    assert looks_down(empty) is False
    assert df.choose_model(empty) == DEFAULT_MODEL


def test_a_wall_without_anybody_leaves_the_usual_model():
    assert df.choose_model([plane_frame((0.0, 0.0, -1.0), 2.5)] * 2) == DEFAULT_MODEL


def test_a_camera_above_people_gets_the_model_for_it():
    frames = [df.Frame(frame.depth_mm, frame.camera) for frame in Generator(DOWN, seed=3, n=3)]
    assert [looks_down(frame) for frame in frames] == [None] * 3
    assert df.choose_model(frames) == TOP_MODEL


def test_a_level_camera_gets_the_usual_model():
    frames = Generator(LEVEL, seed=4, n=2)
    assert df.choose_model(df.Frame(frame.depth_mm, frame.camera) for frame in frames) == DEFAULT_MODEL


def test_other_things_than_frames_are_refused():
    with pytest.raises(UsageError, match="choose_model takes frames, got ndarray"):
        df.choose_model([np.zeros((4, 4), np.uint16)])
