import math
from itertools import combinations

import numpy as np
import pytest

from depthforest.frames.camera import Camera
from synth.config import Config
from synth.generator import Generator
from synth.scene.rooms import NEAR_CLEARANCE, WALL_CLEARANCE, Room, Wall, draw_room
from synth.scene.stage import View

CAMERA = Camera.preset("kinect_v1@160x120")
CLUTTER = Config(
    camera="kinect_v1@160x120",
    n_bodies=3,
    n_poses=128,
    n_things=200,
    clutter_share=1.0,
    clutter=(12, 12),
    sensor="ideal",
)


@pytest.fixture(scope="module")
def scenes():
    frames = Generator(CLUTTER, seed=4)
    return [frames.scene(i)[0] for i in range(12)]


def in_boxes(points, placed):
    """Tell which points lie in the boxes around the shapes of a piece."""
    cos, sin = math.cos(placed.yaw), math.sin(placed.yaw)
    x, z = points[:, 0] - placed.x, points[:, 2] - placed.z
    own = np.stack((cos * x - sin * z, points[:, 1], sin * x + cos * z), axis=1)
    inside = np.zeros(len(points), bool)
    for center, half in placed.piece.boxes:
        inside |= (np.abs(own - center) < half).all(axis=1)
    return inside


def test_nobody_stands_in_clutter_or_walls(scenes):
    n_pieces = 0
    for scene in scenes:
        for person in scene.people:
            for piece in scene.pieces:
                n_pieces += 1
                assert in_boxes(person.vertices, piece).mean() < 0.002
    assert n_pieces > 100


def test_clutter_keeps_apart_and_off_the_camera(scenes):
    for scene in scenes:
        for a, b in combinations(scene.pieces, 2):
            assert not a.meets(b)
        eye = np.array([[0.0, scene.view.height, 0.0]])
        assert not any(in_boxes(eye, piece).any() for piece in scene.pieces)


def test_rooms_differ_in_what_is_in_them(scenes):
    names = [tuple(sorted(piece.piece.name for piece in scene.pieces)) for scene in scenes]
    assert len(set(names)) == len(names)
    assert len({name for found in names for name in found}) > 20
    shapes = [tuple(map(tuple, np.round(p.piece.extent, 6))) for scene in scenes for p in scene.pieces]
    assert len(set(shapes)) == len(shapes), "no two rooms share a shape"


@pytest.mark.parametrize("seed", range(20))
def test_walls_are_around_people_and_camera(seed):
    rng = np.random.default_rng(seed)
    inside = rng.normal((0, 1, -3), (0.4, 0.5, 0.4), (50, 3)).astype(np.float32)
    room = draw_room(rng, Config(wall_share=1.0), View(CAMERA, 1.5, 0.1, 0.0), inside)
    assert 1 <= len(room.walls) <= 3
    assert room.holds(inside)
    assert all(wall.distance >= WALL_CLEARANCE for wall in room.walls)
    assert room.ceiling > 1.9
    quads = room.quads()
    assert quads.shape == (2 + len(room.walls), 4, 3)
    for wall, quad in zip(room.walls, quads[1:-1], strict=True):
        assert wall.depth_of(quad) == pytest.approx(0, abs=1e-9)
        assert wall.depth_of(np.zeros((1, 3))) == pytest.approx(wall.distance)
    leaning = draw_room(rng, Config(), View(CAMERA, 1.5, 0.1, 0.0), inside, leaning=rng.uniform(-1.5, 1.5))
    assert min(wall.depth_of(inside) for wall in leaning.walls) < 0.1


def test_a_ray_meets_a_wall_where_it_is():
    wall = Wall(0.0, 3.0)
    assert wall.hit(0.3) == pytest.approx(3.0)
    assert Wall(math.pi / 2, 2.0).hit(0.5) == math.inf, "it goes away from the wall on the left"
    assert Wall(math.pi / 2, 2.0).hit(-0.5) == pytest.approx(4.0)
    assert not Room((wall,), 2.5).holds(np.array([[0.0, 1.0, -3.1]]))
    assert NEAR_CLEARANCE < WALL_CLEARANCE
