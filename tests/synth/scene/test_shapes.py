import numpy as np
import pytest

from depthforest.frames.camera import Camera
from synth.scene.assembling import random_shape
from synth.scene.shapes import (
    BALL,
    BOX,
    COLUMN,
    LATHE,
    SHEET,
    WIDTH,
    Shape,
    bounds,
    box,
    find_seen,
    mesh_shapes,
    rows_of,
    tube,
)
from synth.scene.stage import View

HERE = np.array([[1.0, 1.0, 1.0, 0.0, 0.0, 0.0]])
CLOSED = {
    "box": box(0.2, 1, 0, 0.2, 0.3, 0.4, yaw=0.3, pitch=0.5, top=0.6),
    "vase": Shape(LATHE, 0, 1, 0, 0.2, 0.5, 0.3, yaw=0.3, roll=1, bulge=0.4, wave=0.2, n_waves=2, arch=0.3, bend=0.1),
    "coat": Shape(LATHE, 0, 1, 0, 0.2, 0.5, 0.3, fold=0.3, n_folds=5, phase=1, top=0.3, rings=7, segments=22),
    "cushion": Shape(BALL, 0, 1, 0, 0.2, 0.5, 0.3, square=0.5, pitch=0.4),
    "tube": tube((0, 0, 0), (1, 1, 1), 0.02),
}


def meshed(*shapes, places=HERE):
    rows = rows_of(shapes)
    return mesh_shapes(rows, np.zeros(len(rows), np.int64), places, np.eye(3), np.zeros(3))


def volume(vertices, faces):
    a, b, c = (vertices[faces[:, i]].astype(float) for i in range(3))
    return np.einsum("ij,ij->i", np.cross(a, b), c).sum() / 6


@pytest.mark.parametrize("name", CLOSED)
def test_solids_are_closed_and_face_outward(name):
    vertices, faces = meshed(CLOSED[name])
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all(), "each edge has two faces"
    assert volume(vertices, faces) > 0
    assert set(faces.ravel()) == set(range(len(vertices)))


def test_sizes_are_what_they_say():
    vertices, faces = meshed(box(1, 2, 3, 0.1, 0.2, 0.3))
    np.testing.assert_allclose([vertices.min(0), vertices.max(0)], [(0.9, 1.8, 2.7), (1.1, 2.2, 3.3)], atol=1e-6)
    assert volume(vertices, faces) == pytest.approx(8 * 0.1 * 0.2 * 0.3, rel=1e-5)
    vertices, faces = meshed(Shape(BALL, 0, 0, 0, 0.5, 0.5, 0.5, rings=40.0, segments=80.0))
    assert volume(vertices, faces) == pytest.approx(4 / 3 * np.pi / 8, rel=0.02)
    vertices, _ = meshed(tube((1, 0, 0), (1, 2, 1), 0.01))
    for end in ((1, 0, 0), (1, 2, 1)):
        assert np.linalg.norm(vertices - end, axis=1).min() < 1e-5
    vertices, faces = meshed(Shape(SHEET, 0, 1, 0, 0.5, 1.0, 0.1, n_folds=3.0, rings=6.0, segments=24.0))
    assert len(vertices) == 6 * 25
    assert len(faces) == 5 * 24 * 2
    assert 0.05 < np.abs(vertices[:, 2]).max() <= 0.1 + 1e-6


@pytest.mark.parametrize("seed", range(20))
def test_bounds_hold_every_vertex(seed):
    rng = np.random.default_rng(seed)
    shapes = [*CLOSED.values(), *(random_shape(rng) for _ in range(5))]
    for shape in shapes:
        vertices, _ = meshed(shape)
        center, half = bounds(rows_of([shape]))[0]
        assert (np.abs(vertices - center) <= half + 1e-5).all()


def test_places_stretch_turn_and_move():
    shape = box(0.5, 1, 0.2, 0.1, 0.2, 0.3, yaw=0.4)
    plain, _ = meshed(shape)
    placed, faces = meshed(shape, places=np.array([[2.0, 0.5, 1.5, 3.0, -4.0, np.pi / 2]]))
    stretched = plain * (2.0, 0.5, 1.5)
    # a quarter turn leads +z to +x
    np.testing.assert_allclose(
        placed, np.stack((stretched[:, 2] + 3, stretched[:, 1], -stretched[:, 0] - 4), 1), atol=1e-5
    )
    assert volume(placed, faces) > 0


@pytest.mark.parametrize("seed", range(5))
def test_no_shape_in_view_is_left_out(seed):
    rng = np.random.default_rng(seed)
    camera = Camera.preset("kinect_v1@160x120")
    view = View(camera, 1.2, rng.normal(0, 0.3), rng.normal(0, 0.1))
    rows = rows_of([random_shape(rng) for _ in range(200)])
    rows[:, [COLUMN["x"], COLUMN["y"], COLUMN["z"]]] = rng.normal((0, 1, -2), (3, 2, 3), (200, 3))
    owners, shift = np.arange(200) % 2, view.to_camera(np.zeros(3))
    places = np.array([[1, 1.3, 0.8, 0.5, -1, 0.7], [0.7, 1, 1, 0, 0, 0]])
    is_seen = find_seen(rows, owners, places, view.rotation, shift, view.slopes)
    assert 10 < is_seen.sum() < 150
    for i in np.flatnonzero(~is_seen):
        x, y, z = mesh_shapes(rows[[i]], owners[[i]], places, view.rotation, shift)[0].T.astype(float)
        left, right, top, bottom = view.slopes
        assert not ((z > 0.05) & (x > left * z) & (x < right * z) & (y > top * z) & (y < bottom * z)).any()


def test_rows_are_the_numbers_in_order():
    shape = CLOSED["coat"]
    assert rows_of([shape, shape]).shape == (2, WIDTH)
    assert tuple(rows_of([shape])[0]) == tuple(shape)
    assert rows_of([]).shape == (0, WIDTH)
    assert {BOX, LATHE, BALL, SHEET} == {0, 1, 2, 3}
