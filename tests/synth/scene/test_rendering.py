from __future__ import annotations

import math
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import naive_synth as naive

from depthforest.base.errors import CameraError
from depthforest.frames.camera import Camera
from synth.scene import analytic
from synth.scene.rendering import Canvas, Mesh, MeshError, Rendered, render

SMALL = Camera(20.3, 19.7, 11.2, 8.9, 24, 18)
DYADIC = Camera(16.0, 16.0, 8.0, 6.0, 17, 13)
"""Points on a grid of eighths, at depths that are powers of two, project without rounding: many onto pixel centers."""
KINECT = Camera.preset("kinect_v1@320x240")
QUAD = np.array([[0, 1, 2], [0, 2, 3]], dtype=np.int32)


def triangle(*corners: tuple[float, float, float], part: int = 0, person: int = 1, is_closed: bool = False) -> Mesh:
    return Mesh(np.array(corners, dtype=np.float32), np.array([[0, 1, 2]]), part, person, is_closed)


def screen_triangle(camera: Camera, *pixels: tuple[float, float], z: float = 1.0, **options: int) -> Mesh:
    """Return a triangle at one depth whose corners are pixels (row, col)."""
    return triangle(*(tuple(camera.unproject(pixel, z)) for pixel in pixels), **options)


def globe(center: tuple[float, float, float], radius: float, n_around: int, n_down: int) -> tuple[np.ndarray, ...]:
    """Return vertices and faces of a sphere of quads, poles included, counter-clockwise from outside."""
    down, around = np.meshgrid(np.linspace(0, np.pi, n_down + 1), np.arange(n_around) * 2 * np.pi / n_around)
    points = np.stack((np.sin(down) * np.cos(around), np.cos(down), np.sin(down) * np.sin(around)), axis=-1)
    i, j = np.meshgrid(np.arange(n_around), np.arange(n_down), indexing="ij")
    a, b = i * (n_down + 1) + j, (i + 1) % n_around * (n_down + 1) + j
    faces = np.concatenate((np.stack((a, b, b + 1), -1).reshape(-1, 3), np.stack((a, b + 1, a + 1), -1).reshape(-1, 3)))
    return (points.reshape(-1, 3) * radius + center).astype(np.float32), faces


def box(solid: analytic.Box) -> tuple[np.ndarray, ...]:
    """Return vertices and faces of a box, counter-clockwise from outside."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    vertices = (signs * solid.half_size) @ np.asarray(solid.axes).T + solid.center
    quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    faces = [[q[0], q[i], q[i + 1]] for q in quads for i in (1, 2)]
    return vertices, np.array(faces)


def assert_same(comp: Rendered, ref: Rendered) -> None:
    np.testing.assert_array_equal(comp.parts, ref.parts)
    np.testing.assert_array_equal(comp.people, ref.people)
    np.testing.assert_allclose(comp.depth, ref.depth, rtol=0, atol=1e-5)
    np.testing.assert_allclose(comp.facing, ref.facing, rtol=0, atol=1e-4)


# -- against algebra ---------------------------------------------------------------------------------------------------


def test_floor_under_and_behind_the_camera_is_the_analytic_plane() -> None:
    corners = [(-8192, 1, -64), (8192, 1, -64), (8192, 1, 4096), (-8192, 1, 4096)]
    rendered = render(KINECT, [Mesh(np.array(corners, dtype=np.float32), QUAD)])
    ref, _ = analytic.cast(KINECT, [analytic.Plane((0, 1, 0), (0, 1, 0))])
    np.testing.assert_array_equal(rendered.depth > 0, np.isfinite(ref))
    is_floor = np.isfinite(ref)
    assert is_floor.sum() == 120 * 320
    np.testing.assert_allclose(rendered.depth[is_floor], ref[is_floor], rtol=0, atol=1e-3)
    rays = analytic.camera_rays(KINECT)
    cosine = np.abs(rays[..., 1]) / np.linalg.norm(rays, axis=-1)
    np.testing.assert_allclose(rendered.facing[is_floor], cosine[is_floor], atol=1e-6)
    assert (rendered.facing[~is_floor] == 0).all()


def test_tilted_plane_has_analytic_depth() -> None:
    normal = np.array([1.0, 2.0, -4.0])  # z = (x + 2 y) / 4 + 3
    corners = [(x, y, (x + 2 * y) / 4 + 3) for x, y in ((-16, -16), (16, -16), (16, 16), (-16, 16))]
    rendered = render(KINECT, [Mesh(np.array(corners, dtype=np.float32), QUAD)])
    ref, _ = analytic.cast(KINECT, [analytic.Plane((0, 0, 3), normal)])
    np.testing.assert_allclose(rendered.depth, ref, rtol=0, atol=1e-4)


@pytest.mark.parametrize("is_closed", [False, True])
@pytest.mark.parametrize("camera", [KINECT, Camera.preset("kinect_v1"), Camera(150.0, 170.0, 70.3, 61.1, 160, 120)])
def test_turned_boxes_have_exact_silhouettes_and_depth(camera: Camera, is_closed: bool) -> None:
    # 3-4-5 turns of sides of 5/8: the vertices are the same in float32 as in algebra
    turn = np.array([[0.8, 0, 0.6], [0, 1, 0], [-0.6, 0, 0.8]])
    roll = np.array([[0.8, -0.6, 0], [0.6, 0.8, 0], [0, 0, 1]])
    boxes = [
        analytic.Box((-0.2421875, 0.1328125, 2.515625), (0.625, 0.375, 0.3125), turn),
        analytic.Box((0.5078125, -0.2421875, 2.015625), (0.3125, 0.3125, 0.25), roll),
    ]
    meshes = [Mesh(*box(solid), 3 + i, 1 + i, is_closed) for i, solid in enumerate(boxes)]
    for solid, mesh in zip(boxes, meshes, strict=True):
        np.testing.assert_allclose(mesh.vertices, box(solid)[0], rtol=0, atol=1e-15)

    rendered = render(camera, meshes)
    depth, index = analytic.cast(camera, boxes)
    is_sure = np.ones(camera.shape, dtype=bool)
    for mesh in meshes:
        is_sure &= edge_distance(camera, mesh) > 1e-6
    assert is_sure.mean() > 0.999
    np.testing.assert_array_equal((rendered.depth > 0)[is_sure], np.isfinite(depth)[is_sure])
    np.testing.assert_array_equal(rendered.people[is_sure], index[is_sure] + 1)
    seen = np.isfinite(depth) & is_sure
    assert set(np.unique(rendered.parts[seen])) == {3, 4}
    np.testing.assert_allclose(rendered.depth[seen], depth[seen], rtol=0, atol=1e-5)


def edge_distance(camera: Camera, mesh: Mesh) -> npt.NDArray[np.float64]:
    """Return each pixel's distance from the nearest line through an edge of a mesh, in pixels."""
    pixels = np.stack(np.indices(camera.shape), axis=-1).astype(np.float64)
    nearest = np.full(camera.shape, np.inf)
    corners = camera.project(mesh.vertices)[mesh.faces]
    for a, b in ((0, 1), (1, 2), (2, 0)):
        for start, end in zip(corners[:, a], corners[:, b], strict=True):
            across = np.array([end[1] - start[1], start[0] - end[0]]) / np.linalg.norm(end - start)
            nearest = np.minimum(nearest, np.abs((pixels - start) @ across))
    return nearest


def test_fine_globe_is_the_analytic_sphere() -> None:
    solid = analytic.Sphere((0.1, -0.05, 2.0), 0.5)
    rendered = render(KINECT, [Mesh(*globe((0.1, -0.05, 2.0), 0.5, 480, 240), 0, 1, is_closed=True)])
    ref, _ = analytic.cast(KINECT, [solid])
    rays = analytic.camera_rays(KINECT)
    # the polyhedron is inside the sphere, by less than 0.05 mm: 0.02 pixels at the rim
    smaller, _ = analytic.cast(KINECT, [analytic.Sphere(solid.center, solid.radius - 5e-5)])
    assert not ((rendered.depth > 0) & ~np.isfinite(ref)).any()
    assert not ((rendered.depth == 0) & np.isfinite(smaller)).any()
    normals = (rays * np.where(np.isfinite(ref), ref, 0)[..., None] - solid.center) / solid.radius
    cosine = -(normals * rays).sum(axis=-1) / np.linalg.norm(rays, axis=-1)
    inside = np.isfinite(ref) & (cosine > 0.15)
    assert inside.sum() > 13000
    np.testing.assert_allclose(rendered.depth[inside], ref[inside], rtol=0, atol=1e-3)
    np.testing.assert_allclose(rendered.facing[inside], cosine[inside], rtol=0, atol=0.02)


# -- against the exact twin --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_closed", [False, True])
def test_coarse_globe_equals_twin(is_closed: bool) -> None:
    vertices, faces = globe((0.05, 0.02, 1.5), 0.6, 9, 6)
    mesh = Mesh(vertices, faces, (np.arange(len(faces)) % 31).astype(np.uint8), 7, is_closed)
    comp = render(SMALL, [mesh])
    assert_same(comp, naive.render(SMALL, [mesh]))
    assert (comp.people == 7).sum() > 100


def test_culling_the_backs_of_a_closed_mesh_changes_nothing() -> None:
    vertices, faces = globe((0.05, 0.02, 1.5), 0.6, 40, 23)
    parts = (np.arange(len(faces)) % 31).astype(np.uint8)
    assert_same(
        render(KINECT, [Mesh(vertices, faces, parts, 1, True)]), render(KINECT, [Mesh(vertices, faces, parts, 1)])
    )


def test_only_the_front_of_a_closed_mesh_is_drawn() -> None:
    # counter-clockwise seen by the camera: left, down, right
    corners = [(-1.0, -1.0, 2.0), (0.0, 1.0, 2.0), (1.0, -1.0, 2.0)]
    assert render(SMALL, [triangle(*corners, is_closed=True)]).depth.any()
    assert not render(SMALL, [triangle(*corners[::-1], is_closed=True)]).depth.any()
    assert render(SMALL, [triangle(*corners[::-1])]).depth.any()


@pytest.mark.parametrize("seed", range(12))
def test_random_triangles_equal_twin(seed: int) -> None:
    """Large and tiny, off the picture, behind the camera, crossing the near plane, and of no area."""
    rng = np.random.default_rng(seed)
    centers = np.stack((rng.uniform(-2, 2, 24), rng.uniform(-2, 2, 24), rng.uniform(-0.5, 4, 24)), axis=-1)
    sizes = rng.choice([0.03, 0.3, 3.0], size=24)
    corners = centers[:, None] + rng.normal(size=(24, 3, 3)) * sizes[:, None, None]
    corners[20] = corners[20, :1]
    corners[21, 2] = corners[21, 1]
    corners[22, 2] = (corners[22, 0] + corners[22, 1]) / 2
    corners[23] *= 1e5
    parts = rng.integers(0, 31, size=24).astype(np.uint8)
    meshes = []
    for person, each in enumerate(np.split(np.arange(24), 4)):
        faces = np.arange(18).reshape(6, 3)
        label = parts[each] if person else 255
        meshes.append(Mesh(corners[each].reshape(-1, 3), faces, label, person, is_closed=person == 2))
    comp, ref = render(SMALL, meshes, near=0.3, far=5.0), naive.render(SMALL, meshes, near=0.3, far=5.0)
    assert_same(comp, ref)
    assert comp.depth[comp.depth > 0].min() >= 0.3
    assert comp.depth.max() < 5.0


grid_points = st.tuples(
    st.integers(-40, 40).map(lambda n: n / 8),
    st.integers(-40, 40).map(lambda n: n / 8),
    st.sampled_from([-1.0, 0.5, 1.0, 2.0, 4.0]),
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(grid_points, min_size=3, max_size=8).flatmap(
        lambda points: st.tuples(
            st.just(points), st.lists(st.tuples(*[st.integers(0, len(points) - 1)] * 3), min_size=1, max_size=6)
        )
    )
)
def test_meshes_on_a_grid_equal_twin(mesh: tuple[list[tuple[float, float, float]], list[tuple[int, int, int]]]) -> None:
    """Edges and corners hit pixel centers all the time; here nothing rounds, so coverage must be exact."""
    points, faces = mesh
    vertices = np.array(points, dtype=np.float32)
    # a face that crosses the near plane is cut where numbers do round: those have their own tests
    whole = [f for f in faces if (vertices[list(f), 2] > 0).all() or (vertices[list(f), 2] < 0).all()]
    layers = np.stack([naive.cover(DYADIC, vertices, f, 0.05) for f in whole] or [np.full(DYADIC.shape, np.inf)])
    for f, layer in zip(whole, layers, strict=False):
        alone = render(DYADIC, [Mesh(vertices, np.array([f]))]).depth
        np.testing.assert_allclose(alone, np.where(np.isinf(layer), 0, layer), rtol=1e-6)
    comp = render(
        DYADIC, [Mesh(vertices, np.array(whole).reshape(-1, 3).astype(int), np.arange(len(whole), dtype=np.uint8), 1)]
    )
    nearest = layers.min(axis=0)
    np.testing.assert_allclose(comp.depth, np.where(np.isinf(nearest), 0, nearest), rtol=1e-6)
    # coplanar faces tie but for rounding: the label must be that of one of the nearest
    for row, col in np.argwhere(comp.parts != 255):
        assert layers[comp.parts[row, col], row, col] <= nearest[row, col] * (1 + 1e-6)
    np.testing.assert_array_equal(comp.parts != 255, np.isfinite(nearest))


# -- the fill rule -----------------------------------------------------------------------------------------------------


def test_a_center_on_an_edge_belongs_to_left_and_top_edges_only() -> None:
    """A square of 4 x 4 pixels from center to center covers its first row and column, not its last."""
    camera = Camera(8.0, 8.0, 0.0, 0.0, 8, 8)
    corners = [(2, 2), (2, 6), (6, 6), (6, 2)]
    expected = np.zeros((8, 8), dtype=int)
    expected[2:6, 2:6] = 1
    for split in ([(0, 1, 2), (0, 2, 3)], [(0, 1, 3), (1, 2, 3)], [(2, 1, 0), (0, 2, 3)]):
        counts = sum(
            (render(camera, [screen_triangle(camera, *(corners[i] for i in f))]).depth > 0).astype(int) for f in split
        )
        np.testing.assert_array_equal(counts, expected)


@pytest.mark.parametrize("seed", range(6))
def test_triangles_that_share_edges_cover_each_pixel_once(seed: int) -> None:
    """A crumpled sheet over the whole picture, its vertices partly on pixel centers: no crack, no double hit."""
    rng = np.random.default_rng(seed)
    rows, cols = np.meshgrid(np.arange(-4, 25, 4.0), np.arange(-4, 33, 4.0), indexing="ij")
    pixels = np.stack((rows, cols), axis=-1)
    moves = rng.uniform(-1.2, 1.2, size=pixels.shape)
    if seed % 2:
        moves = np.round(moves * 2) / 2
    depth = rng.choice([1.0, 2.0, 4.0], size=rows.shape) if seed < 4 else np.ones_like(rows)
    vertices = DYADIC.unproject(pixels + moves, depth).reshape(-1, 3).astype(np.float32)
    camera = Camera(DYADIC.fx, DYADIC.fy, DYADIC.cx, DYADIC.cy, 25, 17)
    index = np.arange(rows.size).reshape(rows.shape)
    a, b, c, d = (each.ravel() for each in (index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]))
    flip = rng.random(len(a)) < 0.5
    faces = np.concatenate((np.stack((a, b, np.where(flip, c, d)), -1), np.stack((c, d, np.where(flip, a, b)), -1)))
    counts = np.zeros(camera.shape, dtype=int)
    for face in faces:
        counts += render(camera, [Mesh(vertices, face[None])]).depth > 0
    np.testing.assert_array_equal(counts, 1)


def test_a_sheet_cut_by_the_near_plane_covers_each_pixel_once() -> None:
    rng = np.random.default_rng(5)
    x, z = np.meshgrid(np.arange(-12, 13, 1.5), np.arange(-1, 9, 0.8), indexing="ij")
    floor = np.stack(
        (x + rng.uniform(-0.3, 0.3, x.shape), np.full_like(x, 1.0), z + rng.uniform(-0.2, 0.2, x.shape)), -1
    )
    index = np.arange(x.size).reshape(x.shape)
    a, b, c, d = (each.ravel() for each in (index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]))
    counts = np.zeros(SMALL.shape, dtype=int)
    for face in np.concatenate((np.stack((a, b, c), -1), np.stack((a, c, d), -1))):
        counts += render(SMALL, [Mesh(floor.reshape(-1, 3), face[None])], near=2.9).depth > 0
    ref, _ = analytic.cast(SMALL, [analytic.Plane((0, 1, 0), (0, 1, 0))])
    np.testing.assert_array_equal(counts, (ref >= 2.9) & (ref < 8.0))
    assert 0 < counts.sum() < counts.size / 2


def test_a_cut_edge_through_a_pixel_center_belongs_to_one_side() -> None:
    """Where the near plane cuts an edge, numbers round: they must round alike for both triangles of the edge."""
    rng = np.random.default_rng(4)
    row, col = 5, 11
    ray = DYADIC.unproject((row, col), 1.0)
    for _ in range(300):
        front = np.array([*(rng.integers(-40, 41, size=2) / 8), rng.integers(8, 33) / 8])
        # the middle of the edge is seen at the pixel's center, and its other end lies behind the camera
        back = ray * rng.integers(8, 9 + 8 * (front[2] - 1)) / 8 - front
        across = np.cross(front, back)
        sides = [np.round(ray * 2 + sign * across / np.abs(across).max(), 3) for sign in (-2, 2)]
        faces = [np.array([front, back, sides[0]]), np.array([back, front, sides[1]])]
        hits = [render(DYADIC, [Mesh(f, QUAD[:1])], near=0.3).depth[row, col] > 0 for f in faces]
        assert sum(hits) == 1


def test_a_fan_about_a_pixel_center_covers_it_once() -> None:
    camera = Camera(8.0, 8.0, 0.0, 0.0, 9, 9)
    rim = [(4 + 3 * math.sin(a), 4 + 3 * math.cos(a)) for a in np.arange(7) * 2 * math.pi / 7]
    hits = [
        render(camera, [screen_triangle(camera, (4, 4), rim[i], rim[(i + 1) % 7])]).depth[4, 4] > 0 for i in range(7)
    ]
    assert sum(hits) == 1


# -- what wins a pixel -------------------------------------------------------------------------------------------------


def test_labels_follow_the_nearest_surface_whatever_the_order() -> None:
    far = screen_triangle(SMALL, (-50, -50), (-50, 90), (90, 0), z=3.0, part=4, person=2)
    near = screen_triangle(SMALL, (2, 2), (2, 12), (14, 2), z=1.0, part=9, person=5)
    for meshes in ([far, near], [near, far]):
        rendered = render(SMALL, meshes)
        assert set(np.unique(rendered.people)) == {2, 5}
        np.testing.assert_array_equal(rendered.people == 5, rendered.depth == 1.0)
        np.testing.assert_array_equal(rendered.people == 5, rendered.parts == 9)
        np.testing.assert_array_equal(rendered.people == 2, rendered.parts == 4)
    chair = Mesh(near.vertices, near.faces)
    rendered = render(SMALL, [far, chair])
    np.testing.assert_array_equal(rendered.parts == 255, rendered.depth == 1.0)
    np.testing.assert_array_equal(rendered.people == 0, rendered.depth == 1.0)


def test_a_mesh_without_readings_hides_what_is_behind_and_has_no_depth() -> None:
    camera = Camera.preset("kinect_v1@40x30")
    person = screen_triangle(camera, (-100, -100), (-100, 200), (200, -100), z=2.0)
    pane = screen_triangle(camera, (5, 5), (5, 20), (20, 5), z=1.0, part=255, person=0)
    shown = render(camera, [person, pane])
    lost = render(camera, [person, Mesh(pane.vertices, pane.faces, is_lost=True)])
    is_pane = shown.people == 0
    assert 0 < is_pane.sum() < is_pane.size
    assert (lost.depth[is_pane] == 0).all()
    assert (lost.facing[is_pane] == 0).all()
    for name in ("depth", "facing", "parts", "people"):
        np.testing.assert_array_equal(getattr(lost, name)[~is_pane], getattr(shown, name)[~is_pane])
    np.testing.assert_array_equal(lost.people, shown.people)
    with pytest.raises(MeshError, match=r"without readings \(is_lost\) must be of nobody, got person 1"):
        Mesh(person.vertices, person.faces, person.parts, 1, is_lost=True)


def test_the_first_of_equals_wins() -> None:
    pixels = [(1.3, 2.1), (4.2, 21.7), (16.9, 7.7)]
    first, second = (screen_triangle(SMALL, *pixels, z=1.7, part=p) for p in (3, 8))
    assert set(np.unique(render(SMALL, [first, second]).parts)) == {3, 255}
    assert set(np.unique(render(SMALL, [second, first]).parts)) == {8, 255}
    both = Mesh(first.vertices, np.array([[0, 1, 2], [0, 1, 2]]), np.array([6, 7], dtype=np.uint8), 1)
    assert set(np.unique(render(SMALL, [both]).parts)) == {6, 255}


def test_slivers_stay_within_the_depth_of_their_corners() -> None:
    """A pixel center on the left edge of triangles 1e-15 pixels wide, where rounding leaves nothing of the slope."""
    rng = np.random.default_rng(3)
    camera = Camera(8.0, 8.0, 0.0, 0.0, 2, 2)
    n_seen = 0
    for _ in range(100):
        x, y = rng.uniform(0.5, 5, size=2).astype(np.float32)
        ends, tip = rng.uniform(1, 4, size=2).astype(np.float32)
        thin = 2.0 ** -rng.integers(40, 51)
        depth = render(camera, [triangle((-x, -y, ends), (thin, 0, tip), (x, y, ends))]).depth[0, 0]
        if depth > 0:  # the edge itself may round to either side of the center
            n_seen += 1
            assert min(ends, tip) * (1 - 1e-6) <= depth <= max(ends, tip) * (1 + 1e-6)
    assert n_seen > 20


def test_far_hides_and_near_cuts() -> None:
    ramp = [(-40.0, -40.0, 1.0), (40.0, -40.0, 1.0), (40.0, 40.0, 9.0), (-40.0, 40.0, 9.0)]
    mesh = Mesh(np.array(ramp, dtype=np.float32), QUAD)
    whole, cut = render(SMALL, [mesh]), render(SMALL, [mesh], near=4.9, far=5.1)
    assert whole.depth.min() < 4.8
    assert whole.depth.max() > 5.2
    np.testing.assert_array_equal(cut.depth > 0, (whole.depth >= 4.9) & (whole.depth < 5.1))
    np.testing.assert_allclose(cut.depth[cut.depth > 0], whole.depth[cut.depth > 0], rtol=1e-6)


# -- corners of use ----------------------------------------------------------------------------------------------------


def test_one_pixel() -> None:
    camera = Camera(1.0, 1.0, 0.0, 0.0, 1, 1)
    rendered = render(camera, [triangle((-1, -1, 2), (3, -1, 2), (-1, 3, 2), part=5, person=255)])
    assert [a.item() for a in (rendered.depth, rendered.parts, rendered.people, rendered.facing)] == [2.0, 5, 255, 1.0]


@pytest.mark.parametrize(
    "meshes", [[], [Mesh(np.zeros((0, 3)), np.zeros((0, 3), int))], [Mesh(np.ones((4, 3)), QUAD[:0])]]
)
def test_nothing_to_draw(meshes: list[Mesh]) -> None:
    rendered = render(SMALL, meshes)
    for array, dtype, empty in (
        (rendered.depth, np.float32, 0),
        (rendered.parts, np.uint8, 255),
        (rendered.people, np.uint8, 0),
        (rendered.facing, np.float32, 0),
    ):
        assert array.shape == SMALL.shape
        assert array.dtype == dtype
        assert (array == empty).all()


def scenes() -> list[list[Mesh]]:
    rng = np.random.default_rng(0)
    made = []
    for n in (400, 30, 0, 900):
        vertices = rng.normal(size=(3 * n, 3)) * 0.3 + (0, 0, 1.5)
        made.append([Mesh(vertices, np.arange(3 * n).reshape(n, 3), 1, 1), Mesh(*globe((0, 0, 2), 0.7, 12, 8))])
    return made


def test_a_canvas_keeps_nothing_of_earlier_pictures() -> None:
    canvas = Canvas(SMALL.shape)
    for meshes in scenes():
        reused = render(SMALL, meshes, canvas=canvas)
        assert reused is canvas.rendered
        fresh = render(SMALL, meshes)
        for name in ("depth", "parts", "people", "facing"):
            np.testing.assert_array_equal(getattr(reused, name), getattr(fresh, name))


def test_threads_draw_the_same_pictures() -> None:
    refs = [render(SMALL, meshes) for meshes in scenes()]
    with ThreadPoolExecutor(4) as pool:
        comps = list(pool.map(lambda meshes: render(SMALL, meshes), scenes() * 5))
    for i, comp in enumerate(comps):
        np.testing.assert_array_equal(comp.depth, refs[i % 4].depth)
        np.testing.assert_array_equal(comp.parts, refs[i % 4].parts)


def test_inputs_stay_writable_and_unchanged() -> None:
    vertices, faces = globe((0, 0, 2), 0.7, 12, 8)
    faces = faces.astype(np.int32)
    before = vertices.copy(), faces.copy()
    render(SMALL, [Mesh(vertices, faces), Mesh(vertices, faces)])
    np.testing.assert_array_equal(vertices, before[0])
    np.testing.assert_array_equal(faces, before[1])
    assert vertices.flags.writeable
    assert faces.flags.writeable


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"vertices": np.zeros((3, 2))}, r"shape \(n, 3\), got \(3, 2\)"),
        ({"vertices": np.full((3, 3), np.nan)}, "finite and within 1e\\+06 m"),
        ({"vertices": np.full((3, 3), np.inf)}, "finite and within"),
        ({"vertices": np.full((3, 3), -2e6)}, "finite and within"),
        ({"faces": np.zeros((1, 4), int)}, r"integers of shape \(m, 3\), got int64 \(1, 4\)"),
        ({"faces": np.zeros((1, 3))}, "must be integers of shape .*got float64"),
        ({"faces": np.array([[0, 1, 3]])}, "vertices from 0 to 2, got 0 to 3"),
        ({"faces": np.array([[0, 1, -1]])}, "vertices from 0 to 2, got -1 to 1"),
        ({"faces": np.array([[0, 1, 2**32]])}, "vertices from 0 to 2"),
        ({"vertices": np.zeros((0, 3))}, "vertices from 0 to -1"),
        ({"parts": np.zeros(2, np.uint8)}, r"one for each of its 1 faces, .*got uint8 of shape \(2,\)"),
        ({"parts": np.zeros(1, np.int64)}, "must be uint8"),
        ({"parts": 256}, "one label from 0 to 255"),
        ({"person": 256}, "from 1 to 255, or 0 for nobody, got 256"),
        ({"person": -1}, "from 1 to 255"),
        ({"person": True}, "whole number"),
        ({"person": 1.0}, "whole number"),
        ({"person": 0}, "must have parts 255 only"),
    ],
)
def test_a_broken_mesh_is_refused(arguments: dict[str, object], message: str) -> None:
    good = {"vertices": np.ones((3, 3)), "faces": np.array([[0, 1, 2]]), "parts": 1, "person": 1}
    Mesh(**good)
    with pytest.raises(MeshError, match=message):
        Mesh(**{**good, **arguments})


def test_an_impossible_view_is_refused() -> None:
    mesh = triangle((0, 0, 1), (1, 0, 1), (0, 1, 1))
    with pytest.raises(CameraError, match="ideal lens"):
        render(Camera(500, 500, 320, 240, 640, 480, (0.1, 0, 0, 0)), [mesh])
    for near, far in ((0, 1), (-1, 1), (2, 1), (1, 1), (math.nan, 1), (0.1, math.nan), (math.inf, math.inf)):
        with pytest.raises(MeshError, match="near and far must be meters"):
            render(SMALL, [mesh], near=near, far=far)
    with pytest.raises(MeshError, match="sequence of Mesh, got tuple"):
        render(SMALL, [(mesh.vertices, mesh.faces)])
    with pytest.raises(MeshError, match=r"canvas has shape \(9, 9\), the camera \(18, 24\)"):
        render(SMALL, [mesh], canvas=Canvas((9, 9)))


# -- an outside judge --------------------------------------------------------------------------------------------------


def test_embree_sees_the_same() -> None:
    """Ray casting by Intel's library: 99.9 % of the pixels within 1 mm, and of the same face's part."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trimesh = pytest.importorskip("trimesh")
        pytest.importorskip("embreex")
        from trimesh.ray.ray_pyembree import RayMeshIntersector
    pieces = [
        globe((0, -0.6, 2.2), 0.15, 60, 30),
        globe((0, 0, 2.2), 0.4, 90, 60),
        globe((0.3, 0.1, 1.7), 0.25, 50, 40),
    ]
    pieces.append(box(analytic.Box((-0.6, 0.5, 2.4), (0.3, 0.2, 0.3), np.eye(3))))
    pieces.append(
        (
            np.array([(-9, 1, -2), (9, 1, -2), (9, 1, 6), (-9, 1, 6), (-9, -9, 6), (9, -9, 6)]),
            np.array([(0, 1, 2), (0, 2, 3), (3, 2, 5), (3, 5, 4)]),
        )
    )
    meshes = [Mesh(v, f, np.uint8(i), i + 1) for i, (v, f) in enumerate(pieces)]
    rendered = render(KINECT, meshes)

    scene = trimesh.util.concatenate([trimesh.Trimesh(v, f, process=False) for v, f in pieces])
    owner = np.repeat(np.arange(len(pieces)), [len(f) for _, f in pieces])
    rays = analytic.camera_rays(KINECT).reshape(-1, 3)
    faces, hit_rays, points = RayMeshIntersector(scene).intersects_id(
        np.zeros_like(rays), rays, multiple_hits=False, return_locations=True
    )
    depth, parts = np.zeros(len(rays)), np.full(len(rays), 255)
    depth[hit_rays], parts[hit_rays] = points[:, 2], owner[faces]
    is_alike = np.abs(rendered.depth.ravel() - depth) < 1e-3
    assert is_alike.mean() > 0.999
    assert (rendered.parts.ravel() == parts).mean() > 0.999
    assert (rendered.parts.ravel() == parts)[is_alike].mean() > 0.9999
