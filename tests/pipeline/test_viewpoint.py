"""Which model fits how a camera stands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import depthforest as df
from depthforest.base import UsageError
from depthforest.forest import DEFAULT_MODEL, TOP_MODEL
from depthforest.people import looks_down
from depthforest.people.grid import DepthGrid
from depthforest.people.planes import find_floor, find_planes
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


def room_frame(tilt: float, faces: list[tuple[tuple[float, ...], float, tuple[float, ...], tuple[float, ...]]]):
    """Return a frame of faces: normal and offset as above, within a box; x right, y down, z ahead of a level camera."""
    camera = df.Camera.preset("kinect_v1@160x120")
    rows, cols = np.indices((camera.height, camera.width))
    rays = np.stack([(cols - camera.cx) / camera.fx, (rows - camera.cy) / camera.fy, np.ones(rows.shape)], axis=-1)
    cos, sin = np.cos(np.radians(tilt)), np.sin(np.radians(tilt))
    rays = rays @ np.array([[1, 0, 0], [0, cos, -sin], [0, sin, cos]])
    nearest = np.full(rows.shape, np.inf)
    for normal, offset, low, high in faces:
        slope = rays @ np.array(normal)
        z = np.where(slope < -1e-3, offset / -np.minimum(slope, -1e-3), np.inf)
        points = rays * np.where(np.isfinite(z), z, 0)[..., None]
        is_hit = np.isfinite(z) & (points >= low).all(-1) & (points <= high).all(-1)
        nearest = np.where(is_hit, np.minimum(nearest, z), nearest)
    return df.Frame(np.where(nearest < 8, nearest * 1000, 0).astype(np.uint16), camera)


def table(y: float) -> tuple[tuple[float, ...], float, tuple[float, ...], tuple[float, ...]]:
    """Return a table top so far below the camera."""
    return (0.0, -1.0, 0.0), y, (-1.0, -9.0, 1.2), (0.0, 9.0, 2.2)


def board(y: float) -> tuple[tuple[float, ...], float, tuple[float, ...], tuple[float, ...]]:
    """Return a board that leans back, its lower end so far below the camera."""
    return (0.0, -0.63, -0.7766), 0.63 * y + 2.0, (0.2, y - 1.5, 0.0), (0.9, y, 9.0)


WALL = ((0.0, 0.0, -1.0), 2.7, (-9.0, -9.0, 0.0), (0.0, 9.0, 9.0))


@pytest.mark.parametrize(
    ("tilt", "expected"), [(0.0, False), (30.0, False), (45.0, False), (55.0, True), (60.0, True), (90.0, None)]
)
def test_the_floor_tells_how_the_camera_stands(tilt, expected):
    angle = np.radians(tilt)
    frame = plane_frame((0.0, float(-np.cos(angle)), float(-np.sin(angle))), 2.5)
    assert looks_down(frame) is expected


def test_what_leans_against_the_room_is_no_floor():
    frame = room_frame(0.0, [WALL, table(0.7), board(1.0)])
    planes = find_planes(DepthGrid.of(frame), n=8)
    assert -find_floor(planes).normal[2] == pytest.approx(0.7766, abs=0.01)  # the board passes for a steep floor
    assert looks_down(frame) is False
    assert df.choose_model([frame] * 3) == DEFAULT_MODEL
    assert df.find_world(frame) is None  # by the same rule


def test_a_table_top_is_no_floor_below_people():
    room = room_frame(0.0, [WALL, table(0.7)])
    frames = []
    for frame in Generator(replace(LEVEL, far_distance=(1.6, 2.4)), seed=4, n=3):
        person = np.where(frame.people > 0, frame.depth_mm, 0)
        frames.append(df.Frame(np.where(person > 0, person, room.depth_mm), room.camera))
    assert [len(df.find_people(frame)) > 0 for frame in frames] == [True] * 3
    assert df.choose_model(frames) == DEFAULT_MODEL


def test_a_steep_floor_counts_in_a_furnished_room():
    floor = ((0.0, -1.0, 0.0), 2.5, (-9.0, -9.0, -9.0), (9.0, 9.0, 9.0))
    frame = room_frame(55.0, [floor, WALL, table(1.75), board(2.5)])
    assert looks_down(frame) is True
    assert df.choose_model(frame) == TOP_MODEL
    assert df.find_world(frame).tilt == pytest.approx(55, abs=1)


def test_frames_must_agree_on_a_steep_floor():
    steep, level = (plane_frame((0.0, float(-np.cos(a)), float(-np.sin(a))), 2.5) for a in np.radians((55.0, 10.0)))
    assert df.choose_model([steep] * 3) == TOP_MODEL
    assert df.choose_model([steep, steep, level]) == DEFAULT_MODEL


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


def test_a_camera_that_looks_down_at_a_slant_gets_the_model_for_it():
    slanted = replace(DOWN, camera_tilt=(55.0, 70.0), far_distance=(0.8, 2.0))
    frames = [df.Frame(frame.depth_mm, frame.camera) for frame in Generator(slanted, seed=5, n=3)]
    assert df.choose_model(frames) == TOP_MODEL


def test_a_level_camera_gets_the_usual_model():
    frames = Generator(LEVEL, seed=4, n=2)
    assert df.choose_model(df.Frame(frame.depth_mm, frame.camera) for frame in frames) == DEFAULT_MODEL


def test_other_things_than_frames_are_refused():
    with pytest.raises(UsageError, match="choose_model takes frames, got ndarray"):
        df.choose_model([np.zeros((4, 4), np.uint16)])
