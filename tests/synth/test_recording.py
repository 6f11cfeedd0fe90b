import dataclasses
import math
import pickle

import numpy as np
import pytest

from depthforest.frames.parts import BONES, JOINTS
from synth.bodies.body import Pose
from synth.config import Config, ConfigError
from synth.recording import LANE_GAP, Recording

SMALL = Config(camera="kinect_v1@160x120", n_bodies=4, people_shares=(0.0, 1.0))


@pytest.fixture(scope="module")
def recording():
    return Recording(SMALL, seed=5, n=120, fps=30)


def joints_of(recording, index):
    """Return (people, 19, 3): the joints in world space."""
    scene, _, _ = recording.scene(index)
    return np.stack([person.joints for person in scene.people])


def test_recordings_take_their_motion_from_clips(shared_data):
    config = dataclasses.replace(SMALL, mocap=str(shared_data("cmu_bvh") / "007"), mocap_share=1.0)
    frames = Recording(config, seed=2, n=60)
    assert frames[31] == Recording(config, seed=2, n=40)[31]
    moved = joints_of(frames, 30) - joints_of(frames, 0)
    assert np.linalg.norm(moved, axis=-1).max() > 0.2
    with pytest.raises(ConfigError, match=r"none suits a recording; the last: .*holds no BVH clips"):
        Recording(dataclasses.replace(config, without_subjects=("07",)), n=10)
    assert Recording(dataclasses.replace(config, only_subjects=("07",)), seed=2, n=60)[31] == frames[31]


def test_a_frame_depends_on_config_seed_fps_and_index_alone(recording):
    again = Recording(SMALL, seed=5, n=70, fps=30)
    for i in (60, 0, 69):
        assert again[i] == recording[i]
    assert Recording(SMALL, seed=6, n=1)[0] != recording[0]
    assert recording[-1] == recording[119]
    copy = pickle.loads(pickle.dumps(recording))
    assert (len(copy), copy.fps) == (120, 30.0)
    assert copy[50] == recording[50]


def test_another_rate_shows_the_same_motion(recording):
    slow = Recording(SMALL, seed=5, n=12, fps=10)
    np.testing.assert_allclose(joints_of(slow, 10), joints_of(recording, 30), atol=1e-6)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_change_nothing(recording, threads):
    made = list(recording.frames(40, 50, threads=threads))
    assert made == [recording[i] for i in range(40, 50)]


def test_people_stay_the_same_and_only_the_noise_is_new(recording):
    bones = []
    for i in (0, 37, 119):
        scene, _, _ = recording.scene(i)
        assert [p.person.body is q.body for p, q in zip(scene.people, recording._actors, strict=True)] == [True, True]
        at = joints_of(recording, i)
        pairs = np.array([(JOINTS.index(a), JOINTS.index(b)) for a, b in BONES if a[:-2] in ("elbow", "knee")])
        bones.append(np.linalg.norm(at[:, pairs[:, 0]] - at[:, pairs[:, 1]], axis=-1))
        assert set(recording[i].joints) == {1, 2}
    np.testing.assert_allclose(bones[1], bones[0], atol=1e-4)
    np.testing.assert_allclose(bones[2], bones[0], atol=1e-4)
    first, second = recording.empty_room(0), recording.empty_room(0, take=1)
    assert first != second, "the sensor's noise"
    both = (first.depth_mm > 0) & (second.depth_mm > 0)
    step = np.abs(first.depth_mm[both].astype(int) - second.depth_mm[both])
    assert np.median(step) < 40, "of one room"
    assert recording.empty_room(0, take=1) == second
    shown = recording[0]
    room = (shown.people == 0) & (shown.depth_mm > 0) & (first.depth_mm > 0)
    assert np.median(np.abs(shown.depth_mm[room].astype(int) - first.depth_mm[room])) < 40


def test_motion_is_continuous(recording):
    places = np.stack([joints_of(recording, i) for i in range(120)])
    speed = np.linalg.norm(np.diff(places, axis=0), axis=-1) * 30
    assert speed.max() < 9.0, "meters a second, of any joint"
    assert speed.max() > 0.3
    change = np.linalg.norm(np.diff(places, n=2, axis=0), axis=-1)
    assert change.max() < 0.12, "meters: no joint jumps from one frame to the next"


def test_people_keep_apart_and_in_view(recording):
    for i in range(0, 120, 10):
        scene, _, _ = recording.scene(i)
        (a, b) = scene.people
        assert abs(a.z - b.z) >= LANE_GAP - 1e-6
        for person in scene.people:
            assert 1.5 < -person.z < 4.3
        assert a.vertices[:, 1].min() > -0.05
    counts = [len(set(np.unique(recording[i].people)) - {0}) for i in range(0, 120, 10)]
    assert np.mean(counts) > 1.5


def test_people_hide_each_other_now_and_then():
    """In some recordings one person passes before the other: few pixels of someone who is in the picture."""
    least = []
    for seed in range(6):
        frames = Recording(dataclasses.replace(SMALL, sensor="ideal", furnished_share=0.0), seed=seed, n=240)
        sizes = np.array([[np.count_nonzero(frames[i].people == p) for p in (1, 2)] for i in range(0, 240, 8)])
        least.append((sizes.min(axis=0) / np.median(sizes, axis=0)).min())
    assert min(least) < 0.4
    assert max(least) > 0.4


def test_rooms_of_recordings_are_cluttered_and_stay_as_they_are():
    config = dataclasses.replace(
        SMALL, clutter_share=1.0, clutter=(12, 12), n_things=50, sensor="ideal", touch_share=1.0
    )
    frames = Recording(config, seed=5, n=60)
    rooms = [frames.scene(i)[0] for i in (0, 59)]
    assert len(rooms[0].pieces) > 3
    assert rooms[0].pieces is rooms[1].pieces
    for scene in rooms:
        for person in scene.people:
            assert not any(piece.touches(person.probes) for piece in scene.pieces)
    shown, empty = frames[0], frames.empty_room(0)
    is_room = shown.people == 0
    np.testing.assert_array_equal(empty.depth_mm[is_room], shown.depth_mm[is_room])
    assert Recording(config, seed=5, n=10)[7] == frames[7]


def test_recordings_may_show_nobody():
    frames = Recording(dataclasses.replace(SMALL, empty_share=1.0, clutter_share=1.0, n_things=50), seed=5, n=5)
    assert not frames[3].joints
    assert not frames[3].people.any()
    assert frames[3].depth_mm.any()
    assert frames.empty_room(0).depth_mm.any()


def test_bad_numbers_are_refused():
    for fps in (0, -1, math.nan, "30", True):
        with pytest.raises(ConfigError, match=r"fps must be a number from 0\.1 to 1000"):
            Recording(SMALL, n=1, fps=fps)
    with pytest.raises(ConfigError, match="seed must be a whole number"):
        Recording(SMALL, seed=-1)
    assert "recording at 30.0 frames a second" in Recording(SMALL, n=1).identity()
    assert isinstance(Recording(SMALL, n=1)._actors[0].trajectory.at(0.0)[0], Pose)


# -- sitting down and falling ------------------------------------------------------------------------------------------

HEAD, NECK, HIP = (JOINTS.index(name) for name in ("head", "neck", "hip_l"))


def heights(recording, joint, seconds, step=0.2):
    """Return how high a joint of the first person is over time, meters above the floor."""
    return np.array([joints_of(recording, round(t * recording.fps))[0, joint, 1] for t in np.arange(0, seconds, step)])


def test_who_falls_lies_on_the_floor_and_stands_up():
    alone = dataclasses.replace(SMALL, people_shares=(1.0,))
    recording = Recording(alone, seed=1, n=120, fps=10, acts=("fall",))
    head = heights(recording, HEAD, 12)
    assert head.max() > 1.2
    assert head.min() < 0.5
    down = int(np.argmax(head < 0.5))
    assert head[max(0, down - 6)] > 1.0  # 1.2 s before, at most, still up
    assert (head[down:] > 1.2).any()
    for t in (0.0, down * 0.2, 6.0):
        scene, _, _ = recording.scene(round(t * 10))
        assert scene.people[0].extent[0, 1] > -0.06  # nobody sinks into the floor


def test_who_sits_has_a_seat_that_does_not_depend_on_the_number_of_frames():
    alone = dataclasses.replace(SMALL, people_shares=(1.0,))
    recording = Recording(alone, seed=4, n=100, fps=10, acts=("sit",))
    hip = heights(recording, HIP, 8)
    assert hip[0] > 0.7
    assert 0.25 < hip.min() < 0.65
    plain = Recording(alone, seed=4, n=1, fps=10)
    scene, short = recording.scene(0)[0], Recording(alone, seed=4, n=1, fps=10, acts=("sit",))
    assert len(scene.pieces) == len(plain.scene(0)[0].pieces) + 1
    assert short[0] == recording[0]
    # the feet stay where they are while the hips go down
    places = np.stack([joints_of(recording, index)[0] for index in range(0, 40, 5)])
    feet = places[:, [JOINTS.index("ankle_l"), JOINTS.index("ankle_r")]][..., [0, 2]].mean(axis=1)
    assert np.ptp(feet, axis=0).max() < 0.15
    assert np.ptp(places[:, HIP, [0, 2]], axis=0).max() > 0.2


def test_acts_are_checked_and_part_of_what_a_recording_is():
    with pytest.raises(ConfigError, match="acts are some of walk, gesture, sit, fall; got dance"):
        Recording(SMALL, acts=("dance",))
    usual = Recording(SMALL, seed=5, n=1)
    assert "people who" not in usual.identity()
    mixed = Recording(SMALL, seed=5, n=1, acts=("walk", "sit", "fall"))
    assert "of people who walk, sit, fall\n" in mixed.identity()
    assert pickle.loads(pickle.dumps(mixed)).acts == ("walk", "sit", "fall")


def test_several_cameras_see_the_same_people_at_the_same_time():
    config = Config(camera="kinect_v1@160x120", sensor="ideal", people_shares=(1.0,), furnished_share=0.0)
    first = Recording(config, seed=2, n=30, fps=10)
    second = first.seen_from(90, start_s=0.5, height=1.5, tilt=5.0)
    assert len(second) == 25
    rotation, translation = second.pose
    frame, other = first[7], second[2]  # both at 0.7 s
    for name, joint in other.joints[1].items():
        np.testing.assert_allclose(rotation @ joint.position + translation, frame.joints[1][name].position, atol=1e-6)
    # what both cameras see of the body is one surface: from the side, it is as deep as wide
    inside = [np.median(f.points()[f.people == 1], axis=0) for f in (frame, other)]
    assert np.linalg.norm(rotation @ inside[1] + translation - inside[0]) < 0.35
    again = pickle.loads(pickle.dumps(second))
    np.testing.assert_array_equal(again[2].depth_mm, other.depth_mm)
    assert (again.identity(), len(again)) == (second.identity(), len(second)) != (first.identity(), len(first))
    with pytest.raises(ConfigError, match="distance and height must be above 0"):
        first.seen_from(90, distance=0)
