import numpy as np
import pytest

from depthforest.frames.camera import Camera
from synth.bodies import procedural
from synth.config import Config
from synth.poses.sampling import sample_pose
from synth.scene import furniture
from synth.scene.composing import Person, Scene, View, compose, is_sitting
from synth.scene.furniture import KINDS, SEATS, PlacedPiece, Sitter, between, box_faces, turn_about_y
from synth.scene.rendering import Mesh, MeshError
from synth.scene.skinning import pose_body

CAMERA = Camera.preset("kinect_v1@160x120")


@pytest.fixture(scope="module")
def body():
    return procedural.sample_body(np.random.default_rng(0), child_share=0.0)


def person(body, family, seed=0):
    family_pose = sample_pose(np.random.default_rng(seed), family)
    ground = "lowest" if family_pose.is_lying else "feet"
    return Person(body, pose_body(body, family_pose.pose, ground=ground))


def is_inside(points, vertices):
    """Tell which points lie in boxes (8 corners each), by the signs of their distances to the sides."""
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
        vertices, faces = piece.corners(0.3, -2.0, 0.7), box_faces(len(piece.slabs))
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


def test_sitting_is_recognized(body):
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
        for piece in scene.pieces:
            n_pieces += 1
            for placed in scene.people:
                assert is_inside(placed.vertices, piece.corners).mean() < 0.002
    assert n_pieces > 40


def test_furniture_does_not_stand_in_furniture(body):
    config = Config(furnished_share=1.0, furniture=(8, 8), seat_share=1.0)
    n_pairs = 0
    for seed in range(10):
        scene = compose(np.random.default_rng(seed), config, CAMERA, [person(body, "sitting", seed)])
        for i, piece in enumerate(scene.pieces):
            for other in scene.pieces[:i]:
                n_pairs += 1
                assert not is_inside(piece.corners, other.corners).any()
                assert not is_inside(other.corners, piece.corners).any()
    assert n_pairs > 100


def test_footprints_turn_with_their_pieces():
    piece = furniture.crate(np.random.default_rng(0))
    placed = PlacedPiece(piece, 0.5, -2.0, 0.6)
    corners = placed.footprint
    vertices = placed.corners
    for corner in corners:
        assert np.abs(vertices[:, [0, 2]] - corner).sum(axis=1).min() < 1e-9
    assert placed.overlaps(PlacedPiece(piece, 0.55, -2.0, -1.0))
    assert not placed.overlaps(PlacedPiece(piece, 3.0, -2.0, -1.0))


def test_who_sits_has_a_seat_below(body):
    config = Config(furnished_share=0.0, wall_share=0.0, seat_share=1.0)
    for seed in range(12):
        scene = compose(np.random.default_rng(seed), config, CAMERA, [person(body, "sitting", seed)])
        (seat,) = (piece.corners for piece in scene.pieces)
        placed = scene.people[0]
        lowest = placed.vertices[
            np.hypot(placed.vertices[:, 0] - placed.x, placed.vertices[:, 2] - placed.z) < 0.1, 1
        ].min()
        just_below = np.array([[placed.x, lowest - gap, placed.z] for gap in (0.03, 0.05, 0.07)])
        assert is_inside(just_below, seat).any(), "something to sit on"
        assert not is_inside(np.array([[placed.x, lowest - 0.01, placed.z]]), seat).any()
    without = Config(furnished_share=0.0, wall_share=0.0, seat_share=0.0)
    scene = compose(np.random.default_rng(0), without, CAMERA, [person(body, "sitting")])
    assert not scene.pieces
    assert scene.walls.shape == (1, 4, 3), "a floor alone"


def test_room_and_people_are_drawn_as_they_stand(body):
    config = Config(furnished_share=1.0, furniture=(4, 4), wall_share=1.0)
    scene = compose(np.random.default_rng(3), config, CAMERA, [person(body, "standing")])
    surface, room = scene.meshes()
    assert surface.person == 1
    assert surface.is_closed
    assert np.array_equal(surface.faces, body.faces)
    np.testing.assert_allclose(surface.vertices, scene.view.to_camera(scene.people[0].vertices), atol=1e-5)
    # every piece a mesh of its own, then every wall
    vertices, faces = room.vertices, room.faces
    corner = face = 0
    for piece in scene.pieces:
        n = len(piece.piece.slabs)
        np.testing.assert_allclose(vertices[corner : corner + 8 * n], scene.view.to_camera(piece.corners), atol=1e-5)
        assert np.array_equal(faces[face : face + 12 * n], box_faces(n) + corner)
        corner, face = corner + 8 * n, face + 12 * n
    for wall in scene.walls:
        np.testing.assert_allclose(vertices[corner : corner + 4], scene.view.to_camera(wall), atol=1e-5)
        assert np.array_equal(faces[face : face + 2], np.array([[0, 1, 2], [0, 2, 3]]) + corner)
        corner, face = corner + 4, face + 2
    assert (corner, face) == (len(vertices), len(faces))
    assert len(scene.pieces) > 1
    assert len(scene.walls) > 2
    assert len(Scene(scene.view, scene.people).meshes()) == 1, "nothing around"


def test_a_body_is_drawn_as_its_mesh_and_its_vertices_are_checked(body):
    vertices = body.vertices + np.float32(3)
    quick = Mesh.of_body(body, vertices, 2)
    slow = Mesh(vertices, body.faces, body.face_parts, 2, is_closed=True)
    for name in ("vertices", "faces", "parts"):
        assert np.array_equal(getattr(quick, name), getattr(slow, name))
        assert not getattr(quick, name).flags.writeable
    assert (quick.person, quick.is_closed) == (2, True)
    with pytest.raises(MeshError, match=r"expected vertices of the body's shape .* got float32"):
        Mesh.of_body(body, vertices[1:], 1)
    with pytest.raises(MeshError, match="got float64"):
        Mesh.of_body(body, vertices.astype(np.float64), 1)
    with pytest.raises(MeshError, match="person must be"):
        Mesh.of_body(body, vertices, 256)
    vertices[5, 1] = np.nan
    with pytest.raises(MeshError, match="finite"):
        Mesh.of_body(body, vertices, 1)


def test_numbers_between_are_those_of_numpy():
    ours, numpys = np.random.default_rng(5), np.random.default_rng(5)
    for low, high in ((0.0, 1.0), (-3.0, 2.5), (0.38, 0.5), (2.0, 2.0)):
        assert between(ours, low, high) == numpys.uniform(low, high)


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
