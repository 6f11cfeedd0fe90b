import numpy as np
import pytest

from depthforest.camera import Camera
from synth import furniture, procedural
from synth.config import Config
from synth.furniture import KINDS, SEATS, Sitter, turn_about_y
from synth.poses import sample_pose
from synth.scene import Person, PlacedPiece, View, compose, is_sitting
from synth.skinning import pose_body

CAMERA = Camera.preset("kinect_v1@160x120")


@pytest.fixture(scope="module")
def body():
    return procedural.sample_body(np.random.default_rng(0), child_share=0.0)


def person(body, family, seed=0):
    family_pose = sample_pose(np.random.default_rng(seed), family)
    ground = "lowest" if family_pose.is_lying else "feet"
    return Person(body, pose_body(body, family_pose.pose, ground=ground))


def is_inside(points, mesh):
    """Tell which points lie in the boxes of a mesh (8 vertices each), by the signs of their distances to the sides."""
    vertices, _ = mesh
    inside = np.zeros(len(points), bool)
    for corner in range(0, len(vertices), 8):
        box = vertices[corner : corner + 8]
        center = box.mean(axis=0)
        axes = np.array([box[4] - box[0], box[2] - box[0], box[1] - box[0]])
        lengths = np.linalg.norm(axes, axis=1)
        local = (points - center) @ (axes / lengths[:, None]).T
        inside |= (np.abs(local) < lengths / 2 - 1e-6).all(axis=1)
    return inside


@pytest.mark.parametrize("kind", [*KINDS, furniture.stool, furniture.pedestal], ids=lambda k: k.__name__)
def test_furniture_stands_on_the_floor_and_faces_outward(kind):
    for seed in range(5):
        piece = kind(np.random.default_rng(seed))
        vertices, faces = piece.mesh(0.3, -2.0, 0.7)
        assert vertices[:, 1].min() == pytest.approx(0, abs=0.025)
        assert 0.2 < vertices[:, 1].max() < 2.2
        a, b, c = (vertices[faces[:, i]] for i in range(3))
        assert (np.einsum("ij,ij->i", np.cross(a, b), c).sum() / 6) > 0, "counter-clockwise seen from outside"
        low, high = piece.extent
        np.testing.assert_allclose(
            (vertices - (0.3, 0, -2.0)) @ turn_about_y(0.7) @ np.eye(3),
            np.clip((vertices - (0.3, 0, -2.0)) @ turn_about_y(0.7), low, high),
            atol=1e-9,
        )


def test_the_view_looks_where_it_says():
    level = View(CAMERA, height=1.2, tilt=0.0, roll=0.0)
    np.testing.assert_allclose(level.to_camera(np.array([0.5, 1.2, -2.0])), [0.5, 0.0, 2.0], atol=1e-12)
    np.testing.assert_allclose(level.to_camera(np.array([0.0, 0.2, -2.0])), [0.0, 1.0, 2.0], atol=1e-12)
    down = View(CAMERA, height=1.0, tilt=np.pi / 4, roll=0.0)
    np.testing.assert_allclose(down.to_camera(np.array([0.0, 0.0, -1.0])), [0, 0, np.sqrt(2)], atol=1e-12)
    rolled = View(CAMERA, height=1.0, tilt=0.0, roll=np.pi / 2)
    above = rolled.to_camera(np.array([0.0, 2.0, -2.0]))
    np.testing.assert_allclose(above, [-1.0, 0.0, 2.0], atol=1e-12)
    for view in (down, rolled):
        np.testing.assert_allclose(np.linalg.det(view.rotation), 1.0)


def test_sitting_is_recognised(body):
    assert all(is_sitting(person(body, "sitting", seed).posed) for seed in range(8))
    for family in ("standing", "walking", "lying", "reaching"):
        assert not any(is_sitting(person(body, family, seed).posed) for seed in range(8))


def test_nothing_stands_in_anyone(body):
    config = Config(furnished_share=1.0, furniture=(5, 5), blocked_share=0.5, people_shares=(0.0, 1.0), seat_share=1.0)
    n_pieces = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        people = [person(body, "sitting" if seed % 2 else "standing", seed), person(body, "walking", seed)]
        scene = compose(rng, config, CAMERA, people)
        for mesh in scene.things:
            if len(mesh[0]) % 8:
                continue  # a wall
            n_pieces += 1
            for placed in scene.people:
                assert is_inside(placed.vertices, mesh).mean() < 0.002
    assert n_pieces > 40


def test_furniture_does_not_stand_in_furniture(body):
    config = Config(furnished_share=1.0, furniture=(8, 8), seat_share=1.0)
    n_pairs = 0
    for seed in range(10):
        scene = compose(np.random.default_rng(seed), config, CAMERA, [person(body, "sitting", seed)])
        pieces = [mesh for mesh in scene.things if len(mesh[0]) % 8 == 0]
        for i, (vertices, _) in enumerate(pieces):
            for other in pieces[:i]:
                n_pairs += 1
                assert not is_inside(vertices, other).any()
                assert not is_inside(other[0], (vertices, None)).any()
    assert n_pairs > 100


def test_footprints_turn_with_their_pieces():
    piece = furniture.crate(np.random.default_rng(0))
    placed = PlacedPiece(piece, 0.5, -2.0, 0.6)
    corners = placed.footprint
    vertices, _ = piece.mesh(0.5, -2.0, 0.6)
    for corner in corners:
        assert np.abs(vertices[:, [0, 2]] - corner).sum(axis=1).min() < 1e-9
    assert placed.overlaps(PlacedPiece(piece, 0.55, -2.0, -1.0))
    assert not placed.overlaps(PlacedPiece(piece, 3.0, -2.0, -1.0))


def test_who_sits_has_a_seat_below(body):
    config = Config(furnished_share=0.0, wall_share=0.0, seat_share=1.0)
    for seed in range(12):
        scene = compose(np.random.default_rng(seed), config, CAMERA, [person(body, "sitting", seed)])
        (seat,) = [mesh for mesh in scene.things if len(mesh[0]) % 8 == 0]
        placed = scene.people[0]
        lowest = placed.vertices[
            np.hypot(placed.vertices[:, 0] - placed.x, placed.vertices[:, 2] - placed.z) < 0.1, 1
        ].min()
        just_below = np.array([[placed.x, lowest - gap, placed.z] for gap in (0.03, 0.05, 0.07)])
        assert is_inside(just_below, seat).any(), "something to sit on"
        assert not is_inside(np.array([[placed.x, lowest - 0.01, placed.z]]), seat).any()
    without = Config(furnished_share=0.0, wall_share=0.0, seat_share=0.0)
    assert len(compose(np.random.default_rng(0), without, CAMERA, [person(body, "sitting")]).things) == 1


def test_people_do_not_share_a_place(body):
    config = Config(people_shares=(0.0, 0.0, 1.0))
    for seed in range(10):
        people = [person(body, "standing", seed + i) for i in range(3)]
        scene = compose(np.random.default_rng(seed), config, CAMERA, people)
        spots = np.array([(p.x, p.z) for p in scene.people])
        gaps = np.linalg.norm(spots[:, None] - spots[None], axis=2) + 9 * np.eye(len(spots))
        assert gaps.min() > 0.2


@pytest.mark.parametrize("seat", [*dict.fromkeys(SEATS), furniture.pedestal], ids=lambda k: k.__name__)
def test_seats_have_the_height_asked_for(seat):
    for height in (0.3, 0.45, 0.6):
        piece = seat(np.random.default_rng(1), Sitter(height, reach=0.2, front=0.3))
        assert piece.extent[1][2] <= 0.31
        tops = [c[1] + h[1] for c, h in piece.slabs if abs(c[1] + h[1] - height) < 0.01]
        assert tops, "some surface lies at the height of the seat"


def test_the_main_person_is_in_view(body):
    config = Config(near_share=0.0, furnished_share=0.0)
    for seed in range(20):
        scene = compose(np.random.default_rng(seed), config, CAMERA, [person(body, "standing", seed)])
        pixels = CAMERA.project(scene.view.to_camera(scene.people[0].joints))
        inside = (pixels >= 0).all(axis=1) & (pixels < CAMERA.shape).all(axis=1)
        assert inside.mean() > 0.5
