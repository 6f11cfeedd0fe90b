import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import naive_people as naive
from support.bounded import run_threads

from depthforest.base.errors import DepthForestWarning, FrameError, UsageError
from depthforest.frames.camera import Camera
from depthforest.frames.frame import Frame
from depthforest.io.reading import read_depth
from depthforest.people.background import Background
from depthforest.people.finding import MAX_PEOPLE, People, find_people
from depthforest.people.grid import DepthGrid, _find_middle, _gather
from depthforest.people.regions import label_regions, merge_measures, room_axes
from depthforest.pipeline import masks
from synth.config import Config
from synth.generator import Generator
from synth.poses.sampling import sample_pose
from synth.scene.analytic import Box, Plane, cast
from synth.scene.composing import Person, Scene, View
from synth.scene.rendering import render
from synth.scene.skinning import pose_body

CAMERA = Camera.preset("kinect_v1@320x240")
FLOOR = np.array([[(-9.0, 0.0, 1.0), (9.0, 0.0, 1.0), (9.0, 0.0, -12.0), (-9.0, 0.0, -12.0)]])
WALL = np.array([[(-9.0, 0.0, -4.0), (9.0, 0.0, -4.0), (9.0, 3.0, -4.0), (-9.0, 3.0, -4.0)]])


@pytest.fixture(scope="module")
def rooms():
    return Generator(Config(camera="kinect_v1@320x240", n_bodies=8, n_poses=256, people_shares=(0.5, 0.5)), seed=31)


@pytest.fixture(scope="module")
def actors():
    bodies = Generator(Config(n_bodies=2, child_share=0.0, clothed_share=0.0), seed=8)._bodies
    return [
        Person(bodies[k], pose_body(bodies[k], sample_pose(np.random.default_rng(k), "standing").pose))
        for k in range(2)
    ]


def staged(*people, camera=CAMERA, walls=(FLOOR, WALL), tilt=0.15):
    """Return an ideal frame of people at (person, x, distance), and the truth."""
    placed = tuple(person.placed(x, -distance, 0.2) for person, x, distance in people)
    scene = Scene(View(camera, height=1.3, tilt=tilt, roll=0.0), placed, walls=np.concatenate(walls))
    seen = render(camera, scene.meshes())
    return Frame(seen.depth.astype(np.float64), camera), seen.people


def iou(mask, truth):
    return (mask & truth).sum() / (mask | truth).sum()


def best_ious(frame, people, share=0.01):
    """Return the best IoU of a mask with everyone who covers a share of the picture."""
    seen = [i for i in range(1, int(frame.people.max()) + 1) if (frame.people == i).mean() >= share]
    return [max((iou(mask, frame.people == i) for mask in people), default=0.0) for i in seen]


def test_people_of_furnished_rooms_are_found_without_a_background(rooms):
    ious, n_false = [], 0
    for i in range(16):
        frame = rooms[i]
        people = find_people(frame)
        ious += best_ious(frame, people)
        n_false += sum((frame.people[mask] > 0).mean() < 0.3 for mask in people)
    assert len(ious) > 16
    assert np.mean(ious) > 0.85
    assert np.median(ious) > 0.95
    assert n_false <= 3


def test_people_are_found_better_with_a_background(rooms):
    ious = []
    for i in range(12):
        frame, background = rooms[i], rooms.empty_room(i)
        people = find_people(frame, background)
        ious += best_ious(frame, people)
        assert all((frame.people[mask] > 0).mean() > 0.3 for mask in people)
    assert np.mean(ious) > 0.93


def test_masks_hold_readings_only_and_do_not_overlap(rooms):
    for i in range(8):
        frame = rooms[i]
        for people in (find_people(frame), find_people(frame, rooms.empty_room(i))):
            assert people.map.dtype == np.uint8
            assert people.map.shape == frame.shape
            assert not people.map[frame.depth_mm == 0].any()
            assert people.ids == tuple(range(1, len(people) + 1))
            assert people.probabilities == tuple(sorted(people.probabilities, reverse=True))
            assert sum(int(mask.sum()) for mask in people) == np.count_nonzero(people.map)


def test_n_takes_the_most_probable(rooms):
    frame = next(f for f in (rooms[i] for i in range(30)) if len(find_people(f)) == 2)
    both, one = find_people(frame), find_people(frame, n=1)
    assert len(one) == 1
    np.testing.assert_array_equal(one[0], both[0])
    np.testing.assert_array_equal(find_people(frame, n=50).map, both.map)


def test_an_empty_furnished_room_shows_next_to_nobody(rooms):
    n_found = sum(len(find_people(rooms.empty_room(i))) for i in range(20))
    assert n_found <= 4


def test_someone_who_stands_in_a_room_is_drawn_to_the_pixel(actors):
    frame, truth = staged((actors[0], 0.1, 2.4))
    people = find_people(frame)
    assert len(people) == 1
    assert iou(people[0], truth == 1) > 0.97
    # and the feet
    rows = np.flatnonzero((truth == 1).any(axis=1))
    feet = (truth == 1) & (np.arange(truth.shape[0])[:, None] > rows[-1] - 0.04 * len(rows))
    assert (people[0] & feet).sum() > 0.5 * feet.sum()


def test_two_who_touch_are_two(actors):
    frame, truth = staged((actors[0], -0.26, 2.5), (actors[1], 0.26, 2.5))
    people = find_people(frame)
    assert len(people) == 2
    for i in (1, 2):
        assert max(iou(mask, truth == i) for mask in people) > 0.8


def test_one_before_another_are_two(actors):
    frame, truth = staged((actors[0], 0.0, 2.0), (actors[1], 0.35, 3.2))
    people = find_people(frame)
    assert len(people) == 2
    for i in (1, 2):
        assert max(iou(mask, truth == i) for mask in people) > 0.9


def test_a_person_cut_at_all_sides_is_one(actors):
    camera = Camera.preset("kinect_v1@320x240").cropped(60, 100, 110, 110)
    frame, truth = staged((actors[0], 0.0, 0.9), camera=camera, tilt=0.0)
    for edge in (truth[0], truth[-1], truth[:, 0], truth[:, -1]):
        assert edge.any()
    people = find_people(frame)
    assert len(people) == 1
    assert iou(people[0], truth == 1) > 0.9


def test_a_person_without_a_room_is_found(actors):
    frame, truth = staged((actors[0], 0.1, 2.4))
    alone = Frame(np.where(truth == 1, frame.depth_mm, 0).astype(np.uint16), frame.camera)
    people = find_people(alone)
    assert len(people) == 1
    assert iou(people[0], truth == 1) > 0.97


@pytest.mark.parametrize("size", ["640x480", "320x240"])
def test_nine_holes_in_ten_are_no_hindrance(actors, size):
    frame, truth = staged((actors[0], 0.1, 2.2), camera=Camera.preset(f"kinect_v1@{size}"))
    is_hole = np.random.default_rng(4).random(frame.shape) < 0.9
    holed = Frame(np.where(is_hole, 0, frame.depth_mm).astype(np.uint16), frame.camera)
    people = find_people(holed)
    assert len(people) == 1
    assert iou(people[0], (truth == 1) & (holed.depth_mm > 0)) > 0.85


def test_neither_wall_nor_furniture_is_somebody():
    box = Box((0.3, 0.9, 2.4), (0.4, 0.4, 0.3), np.eye(3))
    floor, wall = Plane((0, 1.3, 0), (0, -1, 0)), Plane((0, 0, 3.5), (0, 0, -1))
    for solids in ([wall], [floor], [floor, wall], [floor, wall, box], [Plane((0, 0, 0.7), (0.2, 0, -1))]):
        assert len(find_people(Frame(cast(CAMERA, solids)[0], CAMERA))) == 0


@pytest.mark.parametrize("shape", [(1, 1), (1, 500), (7, 3), (48, 64), (240, 320)])
def test_a_frame_with_nobody_has_nobody(shape):
    camera = Camera(300, 300, shape[1] / 2, shape[0] / 2, shape[1], shape[0])
    rng = np.random.default_rng(2)
    for depth_mm in (np.zeros(shape), np.full(shape, 2000), rng.integers(0, 60000, shape)):
        frame = Frame(depth_mm.astype(np.uint16), camera)
        people = find_people(frame)
        assert people.map.shape == shape
        if not depth_mm.any():
            assert len(people) == 0
            assert people[:] == []
        assert len(find_people(frame, frame)) == 0


def test_a_background_may_be_a_frame_several_or_a_model(rooms):
    frame, empty = rooms[0], [rooms.empty_room(0, take) for take in range(3)]
    one, model = find_people(frame, empty[0]), find_people(frame, Background(empty[0]))
    np.testing.assert_array_equal(one.map, model.map)
    several, learned = find_people(frame, empty), find_people(frame, Background.learn(empty))
    np.testing.assert_array_equal(several.map, learned.map)


def test_a_background_of_another_size_is_refused(rooms):
    empty = Frame(np.full((480, 640), 3000, np.uint16), Camera.preset("kinect_v1"))
    with pytest.raises(
        FrameError, match="the background is 640 x 480 pixels, the frame 320 x 240; learn the background"
    ):
        find_people(rooms[0], empty)


def test_a_background_that_moved_is_said(actors):
    frame, _ = staged((actors[0], 0.1, 2.4))
    nearer, _ = staged(walls=(FLOOR, WALL + (0, 0, 1.0)))
    with pytest.warns(DepthForestWarning, match="the background seems to have moved"):
        find_people(frame, nearer)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        find_people(frame, staged()[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros((4, 4), np.uint16),), "people are found in a Frame, got ndarray"),
        ((Frame(np.ones((4, 4), np.uint16), Camera(9, 9, 2, 2, 4, 4)), "empty.png"), "a background is an empty Frame"),
        ((Frame(np.ones((4, 4), np.uint16), Camera(9, 9, 2, 2, 4, 4)), []), "at least one frame, got none"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(UsageError, match=message):
        find_people(*arguments)


@pytest.mark.parametrize("n", [0, -2, 1.5, True, "3"])
def test_n_must_be_a_number_of_people(n):
    with pytest.raises(UsageError, match="n must be a whole number of people, 1 or more"):
        find_people(Frame(np.ones((4, 4), np.uint16), Camera(9, 9, 2, 2, 4, 4)), n=n)


def test_people_is_a_checked_sequence():
    picture = np.zeros((4, 6), np.uint8)
    picture[0, :2], picture[2:, 1:4] = 7, 3
    people = People(picture, (7, 3))
    assert people.ids == (3, 7)
    assert len(people) == 2
    np.testing.assert_array_equal(people[0], picture == 3)
    np.testing.assert_array_equal(people[-1], picture == 7)
    assert [mask.sum() for mask in people[:]] == [6, 2]
    assert not people.map.flags.writeable
    assert repr(people) == "People(ids=(3, 7), map of 6 x 4)"
    with pytest.raises(IndexError):
        people[2]
    with pytest.raises(FrameError, match=r"ids must be those of the map, \(3, 7\); got \(3,\)"):
        People(picture, (3,))
    with pytest.raises(FrameError, match="a map of people is a picture of uint8, got int64"):
        People(picture.astype(np.int64), (3, 7))


def test_nobody_is_said_to_be_nobody():
    with pytest.raises(IndexError, match="nobody was found in this frame"):
        find_people(Frame(np.zeros((60, 80), np.uint16), Camera.preset("kinect_v1@80x60")))[0]


def test_people_of_a_map_and_some_of_them():
    picture = np.zeros((4, 6), np.uint8)
    picture[0, :2], picture[1, :4], picture[3, 5] = 7, 3, 255
    people = People.of_map(picture.copy())
    assert people.ids == (3, 7, 255)
    some = people.only({7, 255, 9})
    assert some.ids == (7, 255)
    np.testing.assert_array_equal(some.map, np.where(picture == 3, 0, picture))
    assert people.only(people.ids) is people
    assert len(people.only(())) == len(People.of_map(np.zeros((4, 6), np.uint8))) == 0
    with pytest.raises(FrameError, match="a map of people is a picture of uint8, got int64"):
        People.of_map(picture.astype(np.int64))


def test_the_same_frame_gives_the_same_people_on_any_thread(rooms):
    frames = [rooms[i] for i in range(4)]
    expected = [find_people(frame).map for frame in frames]
    outcomes = {}

    def work(number):
        outcomes[number] = [find_people(frame).map for frame in frames]

    run_threads(*(partial(work, n) for n in range(3)))
    for maps in outcomes.values():
        for comp, ref in zip(maps, expected, strict=True):
            np.testing.assert_array_equal(comp, ref)


def test_people_of_real_frames_without_background_are_whole(shared_data):
    for path in sorted(shared_data("real_kinect_v1").glob("*.png")):
        frame = read_depth(path, camera="kinect_v1")
        people = find_people(frame)
        n_people = 2 if path.stem == "sk_82823944" else 1
        assert len(people) == n_people
        assert np.count_nonzero(people.map) > 0.97 * np.count_nonzero(frame.depth_mm)


def test_the_person_of_a_real_room_is_found(shared_data):
    frame = read_depth(shared_data("pcd/person.pcd"), camera="kinect_v1")
    people = find_people(frame)
    head = people[0][150:400, 190:330]
    assert head.mean() > 0.6
    assert not people[0][:130].any()  # the wall above
    assert not people[0][:, 400:].any()  # the cabinet beside


@given(st.integers(1, 5), st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_cells_are_gathered_as_the_twin_does(step, seed):
    rng = np.random.default_rng(seed)
    camera = Camera(60, 55, 8.3, 6.1, 17, 13)
    depth_mm = (rng.integers(500, 4000, (13, 17)) * (rng.random((13, 17)) < 0.7)).astype(np.uint16)
    depth_mm[3:9, 4:12] = 1500 + rng.integers(0, 30, (6, 8))
    shape = -(-13 // step), -(-17 // step)
    points, area = np.empty((4, *shape), np.float32), np.empty(shape, np.float32)
    lens = np.array([camera.fx, camera.fy, camera.cx, camera.cy])
    n_readings, n_cells = _gather(depth_mm, step, lens, np.float32(1), points, area)
    ref_points, ref_area = naive.gather(depth_mm, step, camera)
    np.testing.assert_allclose(points[:3], ref_points, atol=2e-3)
    np.testing.assert_allclose(area, ref_area, atol=1e-5)
    assert n_readings == np.count_nonzero(depth_mm)
    assert n_cells == np.count_nonzero(ref_area)


@given(st.lists(st.floats(0, 2.0**60, width=32), min_size=1, max_size=9), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_the_median_is_that_of_numpy(values, n_missing):
    ratios = np.array([-1.0] * n_missing + values, np.float32)
    ratios = np.random.default_rng(len(values)).permutation(ratios)
    middle = np.array(_find_middle(ratios.view(np.int32), len(values)), np.int32).view(np.float32)
    assert middle.mean() == np.median(np.array(values, np.float32))


@given(st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_regions_are_those_of_the_twin(seed):
    rng = np.random.default_rng(seed)
    points = np.zeros((4, 12, 15), np.float32)
    points[0], points[1] = np.meshgrid(np.arange(15) * 0.02, np.arange(12) * 0.02)
    points[2] = rng.choice([1.5, 1.55, 1.8, 2.4], (12, 15)) + rng.normal(0, 0.01, (12, 15))
    points[3] = 0.003
    points[2, rng.random((12, 15)) < 0.1] = 0
    taken = rng.choice(np.array([0, 0, 0, 1, 2], np.uint8), (12, 15))
    area = rng.random((12, 15)).astype(np.float32)
    comp, stack, sizes = np.empty((12, 15), np.int32), np.empty(12 * 15, np.int32), np.empty((12 * 15, 2))
    kinds = rng.choice(np.array([0, 0, 0, 5], np.uint8), (12, 15))
    n = label_regions(points, area, taken, np.float32(0.01), kinds, comp, stack, sizes)
    ref = naive.label_regions(points, taken, 0.01, kinds)
    np.testing.assert_array_equal(comp, ref)
    assert n == ref.max() + 1
    for region in range(n):
        np.testing.assert_allclose(sizes[region], ((ref == region).sum(), area[ref == region].sum(dtype=float)))


def test_normals_are_those_of_the_surface():
    for normal in ((0, 0, -1), (0.5, 0, -1), (0, -1, -0.4), (-0.3, 0.4, -1)):
        unit = np.array(normal) / np.linalg.norm(normal)
        depth = cast(CAMERA, [Plane((0, 0.3, 2.0), normal)])[0]
        grid = DepthGrid.of(Frame(np.where(depth < 20, depth, 0), CAMERA))
        is_near = (grid.points[2] > 0) & (grid.points[2] < 4) & (np.abs(grid.normals).sum(axis=0) > 0)
        assert is_near.sum() > 3000
        assert np.median(unit @ grid.normals[:, is_near]) > 0.9995


def test_the_axes_of_a_room_are_at_right_angles():
    for up in ((0, -1, 0), (0.1, -0.9, -0.42), (0, 0, -1), (0, 0, 1)):
        axes = room_axes(np.array(up) / np.linalg.norm(up))
        np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-6)
        assert np.linalg.det(axes) == pytest.approx(-1 if np.linalg.det(axes) < 0 else 1, abs=1e-5)


def test_measures_of_pieces_add_up():
    rows = np.random.default_rng(0).random((3, 24))
    merged = merge_measures(rows)
    np.testing.assert_allclose(merged, merge_measures(np.stack([merge_measures(rows[:2]), rows[2]])))
    np.testing.assert_allclose(merged[:3], rows[:, :3].sum(axis=0))


def test_as_many_people_are_found_as_masks_may_hold():
    assert MAX_PEOPLE == masks.MAX_PEOPLE == 20
