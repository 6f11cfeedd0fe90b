import dataclasses
import math

import numpy as np
import pytest

from synth.bodies.skeleton import BONE
from synth.poses.bvh import MocapError, read_bvh
from synth.poses.kinematics import heading, joint_positions, turns
from synth.poses.mocap import retarget, root_path
from synth.poses.motion import (
    BLEND_KEYS,
    KEYS_PER_S,
    Lane,
    Stretch,
    blended,
    clip_stretch,
    gesture_stretch,
    join,
    nearest_rotations,
    spline,
    walking_stretch,
)

# -- between keys


def test_splines_go_through_their_keys_and_straight_on():
    keys = np.random.default_rng(0).normal(size=(9, 2, 3))
    np.testing.assert_allclose(spline(keys, np.arange(9.0)), keys)
    line = np.arange(6.0)[:, None] * (1.0, -2.0)
    at = np.array([1.25, 2.5, 3.9])
    np.testing.assert_allclose(spline(line, at), at[:, None] * (1.0, -2.0))
    # no corner at a key: the same slope from both sides
    slopes = (spline(keys, np.array([4.0])) - spline(keys, np.array([4 - 1e-6]))) / 1e-6
    np.testing.assert_allclose((spline(keys, np.array([4 + 1e-6])) - keys[4]) / 1e-6, slopes, atol=1e-4)


def slerp(first, second, share):
    """Return the rotation at a share of the shortest way from one to the other, by its axis and angle."""
    between = first.T @ second
    angle = math.acos(min(max((np.trace(between) - 1) / 2, -1), 1))
    axis = np.array([between[2, 1] - between[1, 2], between[0, 2] - between[2, 0], between[1, 0] - between[0, 1]])
    return first @ turns(axis / np.linalg.norm(axis), share * angle), angle


@pytest.mark.parametrize("seed", range(5))
def test_between_two_rotations_is_the_way_of_slerp(seed):
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3)
    first = turns((0.6, 0.0, 0.8), 1.0)
    second = first @ turns(axis / np.linalg.norm(axis), rng.uniform(0.1, 1.5))
    for share in (0.2, 0.5, 0.7):
        comp = nearest_rotations((1 - share) * first + share * second)
        np.testing.assert_allclose(comp @ comp.T, np.eye(3), atol=1e-12)
        ref, angle = slerp(first, second, share)
        off = math.acos(min(1.0, (np.trace(ref.T @ comp) - 1) / 2))
        assert off < 0.04 * angle, "the same way, at about the same pace"
        np.testing.assert_allclose(comp[..., :, :], nearest_rotations(comp), atol=1e-12)
    np.testing.assert_allclose(nearest_rotations(0.5 * (first + second)), slerp(first, second, 0.5)[0], atol=1e-9)
    assert np.linalg.det(nearest_rotations(-np.eye(3))) == pytest.approx(1)


# -- stretches


def test_who_walks_leaves_the_carrying_foot_where_it_is():
    for seed in range(5):
        stretch = walking_stretch(np.random.default_rng(seed))
        ankles = joint_positions(stretch.rotations)[:, [BONE["LeftFoot"], BONE["RightFoot"]]]
        way = np.cumsum(np.concatenate((np.zeros((1, 2)), 0.86 * stretch.steps[:-1])), axis=0)
        world = ankles[..., [0, 2]] + way[:, None]
        carries = ankles[:-1, :, 1].argmin(axis=1)
        slides = np.linalg.norm(np.diff(world, axis=0), axis=-1)[np.arange(len(way) - 1), carries]
        assert slides.max() < 1e-6
        speed = 0.86 * stretch.steps[:, 1].mean() * KEYS_PER_S
        assert 0.4 < speed < 1.8, "a walk, and forwards"
        assert np.abs(heading(stretch.rotations[:, BONE["Hips"]])).max() < 1e-5


def test_gestures_stay_on_the_spot_and_move_without_jumps():
    stretch = gesture_stretch(np.random.default_rng(1))
    assert not stretch.steps.any()
    assert not stretch.turns.any()
    places = joint_positions(stretch.rotations)
    per_key = np.linalg.norm(np.diff(places, axis=0), axis=-1).max(axis=1)
    assert 0.02 < per_key.max() < 0.6
    assert (per_key < 1e-6).any(), "people rest between gestures"


def test_blending_passes_from_one_stretch_to_the_next():
    first, second = (gesture_stretch(np.random.default_rng(s)) for s in (1, 2))
    both = blended(first, second)
    assert len(both) == len(first) + len(second) - BLEND_KEYS
    np.testing.assert_array_equal(both.rotations[: len(first) - BLEND_KEYS], first.rotations[:-BLEND_KEYS])
    np.testing.assert_array_equal(both.rotations[len(first) :], second.rotations[BLEND_KEYS:])
    np.testing.assert_allclose(
        both.rotations @ np.swapaxes(both.rotations, -1, -2), np.eye(3) + 0 * both.rotations, atol=1e-5
    )
    places = joint_positions(both.rotations)
    assert np.linalg.norm(np.diff(places, axis=0), axis=-1).max() < 0.8


def test_people_are_led_through_their_lane_and_a_longer_trajectory_begins_the_same():
    lane = Lane(2.0, 2.6, 0.4)

    def trajectory(seconds):
        return join(
            lambda k: walking_stretch(np.random.default_rng([3, k])),
            np.random.default_rng(7),
            lane,
            seconds=seconds,
            leg=0.9,
            facing=0.0,
        )

    long, short = trajectory(40.0), trajectory(4.0)
    n = len(short.places)
    np.testing.assert_array_equal(short.places, long.places[:n])
    np.testing.assert_array_equal(short.rotations, long.rotations[:n])
    x, z, yaw = long.places.T
    assert (np.abs(x) <= 0.4 * -z + 1e-9).all()
    assert ((z <= -2.0) & (z >= -2.6)).all()
    assert np.ptp(x) > 1.2, "they cross the view"
    assert (np.diff(np.sign(x)) != 0).sum() >= 4, "more than once"
    assert np.abs(np.diff(yaw)).max() < 0.3
    pose, *place = long.at(1.0)
    np.testing.assert_allclose(place, long.places[10], atol=1e-9)
    np.testing.assert_allclose(pose.rotations, long.rotations[10], atol=1e-5)


def still(n, step=(0.0, 0.0), turn=0.0):
    eye = np.tile(np.eye(3, dtype=np.float32), (n, len(BONE), 1, 1))
    return Stretch(eye, np.zeros(n, np.float32), np.tile(step, (n, 1)), np.full(n, turn))


def test_who_stands_turns_to_where_they_like_to_look():
    # the actor of the stretch turns to the left by 1.5 degrees a key; steering wins
    trajectory = join(
        lambda _: still(30, turn=math.radians(1.5)),
        np.random.default_rng(0),
        Lane(2.0, 3.0, 0.4),
        seconds=10,
        leg=0.9,
        facing=-1.0,
    )
    assert np.abs(np.array(trajectory.places[:, 2]) + 1.0).max() < 0.4
    assert np.ptp(trajectory.places[:, 0]) == 0


# -- clips


@pytest.fixture
def walk(shared_data):
    return read_bvh(shared_data("cmu_bvh") / "007" / "07_01.bvh")


def test_path_and_poses_of_a_clip_fit_together(walk):
    """Put back what retargeting took out, and the carrying foot of a walk hardly slides."""
    library = retarget(walk)
    path, yaw = root_path(walk, library.frame_index)
    assert len(path) == len(yaw) == len(library)
    speed = np.linalg.norm(np.diff(path, axis=0), axis=1) / walk.frame_time
    assert 0.9 < np.median(speed) < 2.2, "leg lengths a second: a walk"
    forward = np.stack((np.sin(yaw[:-1]), np.cos(yaw[:-1])), axis=1)
    along = (np.diff(path, axis=0) * forward).sum(axis=1) / np.linalg.norm(np.diff(path, axis=0), axis=1)
    assert np.median(along) > 0.97, "people walk where they face"


def test_clips_become_stretches_of_the_same_way(walk):
    stretch = clip_stretch(walk)
    library = retarget(walk)
    assert len(stretch) == math.floor(min(8.0, (len(library) - 1) * walk.frame_time) * KEYS_PER_S)
    # keys twice as dense as the clip: every other one is a frame of it
    np.testing.assert_allclose(stretch.rotations[::2], library.rotations[: len(stretch.rotations[::2])], atol=2e-3)
    path, yaw = root_path(walk, library.frame_index)
    way = np.zeros(2)
    for key in range(20):
        at = yaw[0] + stretch.turns[:key].sum()
        left, forward = stretch.steps[key]
        way += (math.cos(at) * left + math.sin(at) * forward, -math.sin(at) * left + math.cos(at) * forward)
    np.testing.assert_allclose(way, path[10] - path[0], atol=1e-6)


def test_clips_that_do_not_suit_say_why(walk):
    with pytest.raises(MocapError, match="is shorter than 2 s"):
        clip_stretch(dataclasses.replace(walk, motion=walk.motion[:6]))
    with pytest.raises(MocapError, match="someone runs"):
        clip_stretch(dataclasses.replace(walk, frame_time=0.1, motion=np.repeat(walk.motion, 3, axis=0)[::2]))
    holes = walk.motion.copy()
    holes[5] = 0
    with pytest.raises(MocapError, match="has frames that were not recorded"):
        clip_stretch(dataclasses.replace(walk, motion=holes))
