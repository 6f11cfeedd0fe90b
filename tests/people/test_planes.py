import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import naive_people as naive

from depthforest.base.errors import UsageError
from depthforest.frames.camera import Camera
from depthforest.frames.frame import Frame
from depthforest.people.faces import FACE, take_faces
from depthforest.people.grid import DepthGrid
from depthforest.people.planes import (
    UP,
    assign_planes,
    find_floor,
    find_planes,
    find_up,
    plane_table,
    thinnest_axis,
)
from synth.scene.analytic import Box, Plane, Sphere, cast
from synth.sensors.sensing import sense

CAMERA = Camera.preset("kinect_v1@320x240")


def frame_of(*solids, sensor=None, camera=CAMERA):
    depth = cast(camera, solids)[0]
    if sensor is None:
        # in millimeters, whose unit nobody doubts
        return Frame(np.where(depth < 60, np.rint(depth * 1000), 0).astype(np.uint16), camera)
    blank = np.zeros(camera.shape, np.uint8)
    sensed = sense(depth.astype(np.float32), blank + 255, blank, camera, sensor, np.random.default_rng(5))
    return Frame(sensed.depth_mm, camera)


def floor(height=1.2, tilt=20.0, roll=0.0):
    t, r = math.radians(tilt), math.radians(roll)
    normal = np.array([math.sin(r) * math.cos(t), -math.cos(r) * math.cos(t), -math.sin(t)])
    return Plane(tuple(-height * normal), tuple(normal))


def wall(distance, yaw=0.0):
    y = math.radians(yaw)
    return Plane((0, 0, distance), (math.sin(y), 0, -math.cos(y)))


def is_like(found, solid, degrees=1.0, meters=0.02):
    normal, offset = np.array(solid.normal), -np.dot(solid.normal, solid.point)
    angle = math.degrees(math.acos(min(1.0, abs(normal @ found.normal))))
    return angle < degrees and abs(found.offset - abs(offset)) < meters


@pytest.mark.parametrize(("sensor", "degrees", "meters"), [(None, 0.5, 0.005), ("kinect_v1", 2.0, 0.05)])
def test_floor_and_walls_are_found(sensor, degrees, meters):
    solids = floor(), wall(3.5, 4), Plane((-1.4, 0, 0), (1, 0, 0))
    found = find_planes(DepthGrid.of(frame_of(*solids, sensor=sensor)))
    for solid in solids:
        assert any(is_like(p, solid, degrees, meters) and p.is_room for p in found)
    assert is_like(find_floor(found), solids[0], degrees, meters)
    np.testing.assert_allclose(find_up(found), solids[0].normal, atol=math.radians(degrees))


def test_a_table_is_a_plane_but_no_limit_of_the_room():
    top = Box((0.1, 0.5, 2.0), (0.5, 0.02, 0.4), np.eye(3))
    found = find_planes(DepthGrid.of(frame_of(floor(1.3, 0.0), wall(4), top)))
    tables = [p for p in found if abs(p.normal[1]) > 0.99 and abs(p.offset - 0.48) < 0.01]
    assert len(tables) == 1
    assert not tables[0].is_room
    assert 0.3 < tables[0].area < 0.9
    assert find_floor(found).offset == pytest.approx(1.3, abs=0.01)


def test_planes_stand_out_of_clutter():
    rng = np.random.default_rng(3)
    depth = cast(CAMERA, [floor(), wall(3.5)])[0]
    blocks = rng.random((30, 40)) < 0.4
    is_clutter = np.kron(blocks, np.ones((8, 8), bool))
    depth = np.where(is_clutter, depth * np.kron(rng.uniform(0.3, 0.97, (30, 40)), np.ones((8, 8))), depth)
    found = find_planes(DepthGrid.of(Frame(depth, CAMERA)))
    assert is_like(find_floor(found), floor(), 1.0, 0.03)
    assert any(is_like(p, wall(3.5), 1.0, 0.03) for p in found)


@given(st.floats(-50, 50), st.floats(-35, 35), st.floats(0.8, 4))
@settings(max_examples=25, deadline=None)
def test_one_plane_is_found_whatever_its_attitude(yaw, pitch, distance):
    y, p = math.radians(yaw), math.radians(pitch)
    solid = Plane((0, 0, distance), (math.sin(y) * math.cos(p), math.sin(p), -math.cos(y) * math.cos(p)))
    frame = frame_of(solid, camera=Camera.preset("kinect_v1@160x120"))
    assert is_like(find_planes(DepthGrid.of(frame))[0], solid, 0.5, 0.01)


def test_a_ball_is_no_plane():
    assert find_planes(DepthGrid.of(frame_of(Sphere((0, 0, 1.2), 0.2)))) == ()


@pytest.mark.parametrize("shape", [(1, 1), (2, 7), (48, 64), (240, 320)])
def test_without_readings_there_are_no_planes(shape):
    camera = Camera(300, 300, shape[1] / 2, shape[0] / 2, shape[1], shape[0])
    found = find_planes(DepthGrid.of(Frame(np.zeros(shape, np.uint16), camera)))
    assert found == ()
    assert find_floor(found) is None
    np.testing.assert_array_equal(find_up(found), UP)


def test_walls_tell_up_where_no_floor_is_seen():
    t = math.radians(15)
    tilted = Plane((0, 0, 2.5), (0, math.sin(t), -math.cos(t)))
    np.testing.assert_allclose(
        find_up(find_planes(DepthGrid.of(frame_of(tilted)))), (0, -math.cos(t), -math.sin(t)), atol=0.01
    )


def test_the_same_seed_finds_the_same_planes():
    grid = DepthGrid.of(frame_of(floor(), wall(3.5), sensor="kinect_v1"))
    assert find_planes(grid, seed=4) == find_planes(grid, seed=4)
    assert find_planes(grid, n=1, seed=4) == find_planes(grid, seed=4)[:1]
    assert find_planes(grid, n=0) == ()


@pytest.mark.parametrize("wrong", [{"n": -1}, {"n": 2.5}, {"n": True}, {"seed": -3}, {"seed": "x"}])
def test_wrong_numbers_are_refused(wrong):
    grid = DepthGrid.of(frame_of(wall(2)))
    with pytest.raises(UsageError, match="must be a whole number, 0 or more"):
        find_planes(grid, **wrong)


def test_cells_are_assigned_as_the_twin_does():
    top = Box((0.1, 0.5, 2.0), (0.5, 0.02, 0.4), np.eye(3))
    frame = frame_of(floor(), wall(3.5), top, Sphere((-0.5, 0.2, 2.2), 0.3), sensor="kinect_v1")
    grid = DepthGrid.of(frame)
    table = plane_table(find_planes(grid))
    comp = np.empty(grid.shape, np.int16)
    assign_planes(grid.points, grid.normals, table, comp)
    ref = naive.assign_planes(grid.points, grid.normals, table)
    # float32 against float64: a few cells on the very border
    assert (comp != ref).mean() < 0.001
    assert {-2, -1} < set(np.unique(comp))


def test_what_stands_on_the_floor_stays():
    # a shoe, 7 cm high, 2.5 m away
    shoe = Box((0.0, 1.165, 2.5), (0.05, 0.035, 0.13), np.eye(3))
    frame = frame_of(floor(1.2, 0.0), shoe)
    is_shoe = cast(CAMERA, [floor(1.2, 0.0), shoe])[1] == 1
    grid = DepthGrid.of(frame)
    owner = np.empty(grid.shape, np.int16)
    assign_planes(grid.points, grid.normals, plane_table(find_planes(grid)), owner)
    kept = np.kron(owner == -1, np.ones((grid.step, grid.step), bool))
    assert (kept & is_shoe).sum() > 0.6 * is_shoe.sum()
    assert (kept & ~is_shoe).sum() < 0.5 * is_shoe.sum()


@given(st.lists(st.floats(-1, 1), min_size=9, max_size=9), st.floats(1e-3, 1e3))
@settings(max_examples=100, deadline=None)
def test_the_thinnest_axis_is_that_of_lapack(numbers, scale):
    factor = np.array(numbers).reshape(3, 3) * scale
    spread = factor @ factor.T
    values, vectors = np.linalg.eigh(spread)
    if values[1] - values[0] < 0.05 * values[2] or values[2] < 1e-9:
        return  # no axis is the thinnest
    axis = np.array([0.57, 0.58, 0.59])
    thinnest_axis(spread, axis)
    if abs(vectors[:, 0] @ (0.57, 0.58, 0.59)) > 1e-3:
        assert abs(axis @ vectors[:, 0]) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(
    ("rows", "cols", "noise_m", "is_face"),
    # 0.6 square meters and 1.9; tolerances of 3, 7 and 8 cm
    [(44, 18, 0.005, True), (44, 18, 0.018, True), (44, 18, 0.021, False), (60, 40, 0.021, True)],
)
def test_where_noise_makes_everybody_flat_no_face_is_as_small_as_a_person(rows, cols, noise_m, is_face):
    depth = np.zeros((120, 160), np.uint16)
    depth[30 : 30 + rows, 60 : 60 + cols] = 4000
    grid = DepthGrid.of(Frame(depth, Camera.preset("kinect_v1@160x120")))
    points = grid.points.copy()
    points[3] = np.where(points[2] > 0, noise_m, 0)
    owner = np.where(points[2] > 0, -1, -2).astype(np.int16)
    no_planes, up = np.empty((0, 5), np.float32), np.array(UP, np.float32)
    taken, planes = take_faces(replace(grid, points=points), no_planes, up, owner)
    assert len(planes) == is_face
    assert np.count_nonzero(taken == FACE) > 0.9 * rows * cols if is_face else not taken.any()
