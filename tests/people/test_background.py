import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import naive_people as naive

from depthforest.base.errors import DepthForestWarning, FrameError, UsageError
from depthforest.frames.camera import Camera
from depthforest.frames.frame import Frame
from depthforest.people.background import MAYBE, NOBODY, PATIENCE, SOMEBODY, SOON, Background
from depthforest.people.grid import noise_at, noise_scale
from synth.scene.analytic import Box, Plane, cast
from synth.sensors.sensing import sense

CAMERA = Camera.preset("kinect_v1@160x120")
WALL = Plane((0, 0, 3.0), (0, 0, -1))
FLOOR = Plane((0, 1.0, 0), (0, -1, 0))
CABINET = Box((0.7, 0.5, 2.4), (0.25, 0.5, 0.25), np.eye(3))
VISITOR = Box((-0.3, 0.2, 2.2), (0.2, 0.8, 0.12), np.eye(3))


def room(*more, take=0, sensor="kinect_v1"):
    """Return a frame of a room, and where the things beyond floor, wall and cabinet are."""
    depth, solid = cast(CAMERA, [WALL, FLOOR, CABINET, *more])
    blank = np.zeros(CAMERA.shape, np.uint8)
    marks = np.where(solid > 2, 1, 0).astype(np.uint8)
    sensed = sense(depth.astype(np.float32), blank + 255, marks, CAMERA, sensor, np.random.default_rng(take))
    return Frame(sensed.depth_mm, CAMERA), sensed.people > 0


def flat(depth_mm):
    return Frame(np.full(CAMERA.shape, depth_mm, np.uint16), CAMERA)


@pytest.mark.parametrize("n_takes", [1, 6])
@pytest.mark.parametrize("sensor", ["kinect_v1", "ideal", "tof", "stereo"])
def test_who_comes_in_is_told_from_the_room(sensor, n_takes):
    background = Background.learn(room(take=10 + i, sensor=sensor)[0] for i in range(n_takes))
    frame, is_visitor = room(VISITOR, sensor=sensor)
    compared = background.compare(frame)
    assert (compared[is_visitor] == SOMEBODY).mean() > 0.97
    assert (compared[~is_visitor] == SOMEBODY).mean() < 0.02
    assert (compared[frame.depth_mm == 0] == NOBODY).all()


@pytest.mark.parametrize("n_takes", [1, 6])
def test_an_empty_room_shows_nobody(n_takes):
    background = Background.learn([room(take=10 + i)[0] for i in range(n_takes)])
    compared = background.compare(room(take=3)[0])
    assert (compared == SOMEBODY).mean() < 0.002
    assert (compared == MAYBE).mean() < 0.05


def test_one_frame_is_a_background():
    frame = room()[0]
    background = Background.learn(frame)
    np.testing.assert_array_equal(background.depth_mm, frame.depth_mm)
    assert background.n_frames == 1
    assert background.shape == CAMERA.shape
    assert ((background.noise_mm > 0) == (frame.depth_mm > 0)).all()


def test_depth_and_noise_are_those_of_the_readings():
    rng = np.random.default_rng(2)
    spread = np.where(np.arange(160) < 80, 4.0, 16.0)
    frames = [
        Frame(np.rint(2000 + spread * rng.normal(size=CAMERA.shape)).astype(np.uint16), CAMERA) for _ in range(80)
    ]
    background = Background.learn(frames)
    assert abs(background.depth_mm[:, :80].mean() - 2000) < 1
    assert np.median(background.noise_mm[:, :80]) == pytest.approx(4.0, rel=0.3)
    assert np.median(background.noise_mm[:, 80:]) == pytest.approx(16.0, rel=0.3)


def test_who_walks_away_leaves_the_wall_behind():
    background = Background.learn([room(VISITOR, take=1)[0]])
    is_visitor = room(VISITOR, take=1)[1]
    for take in range(SOON + 3):
        background.add(room(take=10 + take)[0])
    empty = room(take=5, sensor="ideal")[0].depth_mm.astype(int)
    error = np.abs(background.depth_mm.astype(int) - empty)[is_visitor & (background.depth_mm > 0)]
    assert np.median(error) < 30


def test_who_stays_does_not_become_the_wall_soon_but_a_chair_does_in_the_end():
    background = Background(flat(3000))
    for _ in range(PATIENCE - 1):
        background.add(flat(2000))
    assert (background.depth_mm == 3000).all()
    background.add(flat(2000))
    assert (background.depth_mm == 2000).all()


def test_a_flicker_changes_nothing():
    background = Background(flat(3000))
    for depth_mm in (4000, 3000, 4000, 4000, 3000, 2000, 3000):
        background.add(flat(depth_mm))
    assert (background.depth_mm == 3000).all()


def test_a_hole_of_the_background_is_far_away():
    hole = np.full(CAMERA.shape, 3000, np.uint16)
    hole[:, 60:100] = 0
    depth_mm = hole.copy()
    depth_mm[40:80, 70:90] = 2000
    compared = Background(Frame(hole, CAMERA)).compare(Frame(depth_mm, CAMERA))
    assert (compared[40:80, 70:90] == SOMEBODY).all()
    assert (compared == SOMEBODY).sum() == 40 * 20


@given(st.integers(0, 1000), st.integers(1, 4))
@settings(max_examples=20, deadline=None)
def test_frames_are_compared_as_the_twin_does(seed, n_takes):
    rng = np.random.default_rng(seed)
    shape, step = (20, 24), int(rng.integers(1, 9))
    camera = Camera(30, 30, 12, 10, 24, 20)
    pieces = rng.choice([0, 5, 600, 1500, 1540, 4000], (20, 24)).repeat(step, 0).repeat(step, 1)[:20, :24]
    takes = [pieces * (rng.random(shape) < 0.8) + rng.integers(0, 9, shape) for _ in range(n_takes)]
    room = Background.learn([Frame(take.astype(np.uint16), camera) for take in takes])
    nearer = rng.choice([0, 3, 8, 12, 40, 300], shape)
    depth_mm = np.maximum(np.roll(pieces, (1, -1), (0, 1)) + rng.integers(0, 9, shape) - nearer, 0).astype(np.uint16)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DepthForestWarning)
        comp = room.compare(Frame(depth_mm, camera))
    ref = naive.compare(depth_mm, *room._limits, room._depth, room._variance, room._reach)
    np.testing.assert_array_equal(comp, ref)


def test_another_size_is_refused_in_one_line():
    background = Background(flat(3000))
    other = Frame(np.full((240, 320), 2000, np.uint16), Camera.preset("kinect_v1@320x240"))
    expected = "the background is 160 x 120 pixels, the frame 320 x 240; learn the background from frames of the same"
    for use in (background.compare, background.add):
        with pytest.raises(FrameError, match=expected):
            use(other)
    assert background.n_frames == 1


def test_a_background_that_moved_is_said_once():
    background = Background(room(take=1)[0])
    moved = Frame(np.roll(room(take=2)[0].depth_mm, 12, axis=1), CAMERA)
    farther = Frame(np.minimum(moved.depth_mm * np.float32(1.15), 9000).astype(np.uint16), CAMERA)
    with pytest.warns(DepthForestWarning, match=r"the background seems to have moved: \d+% of the readings are behind"):
        background.compare(farther)
    background.compare(farther)


def test_people_are_no_sign_that_the_background_moved():
    background = Background(room(take=1)[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        background.compare(room(VISITOR, take=2)[0])
        background.compare(flat(600))
        background.compare(flat(0))


def test_learning_needs_frames():
    with pytest.raises(UsageError, match="at least one frame, got none"):
        Background.learn([])
    with pytest.raises(UsageError, match="learned from Frames, got ndarray"):
        Background.learn([np.zeros((4, 4), np.uint16)])


def test_noise_is_measured_beside_what_is_expected():
    assert noise_scale(room()[0].depth_mm) == pytest.approx(1.0, abs=0.45)
    assert noise_scale(room(sensor="ideal")[0].depth_mm) < 0.3
    assert noise_scale(flat(0).depth_mm) == 1.0
    assert noise_scale(np.ones((2, 2), np.uint16)) == 1.0


def test_the_expected_noise_is_that_of_a_kinect():
    assert noise_at(np.float32(0.3)) == pytest.approx(0.0012)
    assert noise_at(np.float32(2.4)) == pytest.approx(0.0012 + 0.0019 * 4, rel=1e-5)
