import numpy as np
from support import naive

from depthforest.frames.camera import Camera
from synth.scene.analytic import Box, Plane, Sphere, camera_rays, cast

CAMERA = Camera(30.0, 30.0, 15.5, 11.5, 32, 24)


def test_a_plane_facing_the_camera_is_everywhere_as_far():
    depth, index = cast(CAMERA, [Plane((0, 0, 2.5), (0, 0, -1))])
    np.testing.assert_allclose(depth, 2.5)
    assert (index == 0).all()


def test_a_floor_is_seen_below_the_horizon():
    depth, index = cast(CAMERA, [Plane((0, 1.0, 0), (0, 1, 0))])
    rows = np.arange(24)
    expected = np.where(rows > 11.5, 30 / np.where(rows > 11.5, rows - 11.5, 1), np.inf)
    np.testing.assert_allclose(depth, np.repeat(expected[:, None], 32, axis=1))
    assert (index[:12] == -1).all()


def test_a_sphere_equals_its_twin():
    sphere = Sphere((0.2, -0.1, 2.0), 0.5)
    depth, _ = cast(CAMERA, [sphere])
    rays = camera_rays(CAMERA)
    # one row through the middle is enough: the twin is slow
    expected = [naive.ray_sphere(ray, sphere.center, sphere.radius) for ray in rays[10]]
    np.testing.assert_allclose(depth[10], expected, atol=1e-9)
    assert np.isinf(expected).any()


def test_a_box_has_its_faces_where_they_are():
    box = Box((0, 0, 2.0), (0.3, 0.2, 0.5), np.eye(3))
    depth, _ = cast(CAMERA, [box])
    rows, cols = np.nonzero(np.isfinite(depth))
    front = (np.abs(cols - 15.5) <= 0.3 * 30 / 1.5) & (np.abs(rows - 11.5) <= 0.2 * 30 / 1.5)
    assert front.all()  # seen head on, only the front shows
    np.testing.assert_allclose(depth[rows, cols], 1.5)
    assert len(rows) == 12 * 8
    turn = np.pi / 4
    axes = np.array([[np.cos(turn), 0, np.sin(turn)], [0, 1, 0], [-np.sin(turn), 0, np.cos(turn)]])
    depth, _ = cast(CAMERA, [Box((0, 0, 2.0), (0.3, 0.2, 0.3), axes)])
    edge = 2 - 0.3 * np.sqrt(2)  # the nearest edge
    assert edge < depth.min() < edge + 0.04


def test_the_nearest_wins_and_equals_go_to_the_first():
    near, far = Plane((0, 0, 1.0), (0, 0, 1)), Plane((0, 0, 2.0), (0, 0, 1))
    depth, index = cast(CAMERA, [far, near, near])
    assert (depth == 1).all()
    assert (index == 1).all()
    depth, index = cast(CAMERA, [])
    assert np.isinf(depth).all()
    assert (index == -1).all()
