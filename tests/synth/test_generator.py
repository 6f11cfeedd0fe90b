import dataclasses
import json
import pickle
from functools import partial

import numpy as np
import pytest
from support.bounded import run_threads
from support.clips import bvh_clip

import synth
from depthforest.base.errors import CameraError, DepthForestError, DepthForestWarning
from depthforest.frames.camera import Camera
from depthforest.frames.frame import LabeledFrame
from depthforest.frames.parts import BODY31, JOINT_PARTS, JOINTS, NO_PART
from synth.bodies.skeleton import BONE_NAMES
from synth.config import Config, ConfigError
from synth.generator import _CARRIES, DEEPEST_JOINT, JOINT_WINDOW, Generator, _curled, _find_visible
from synth.poses.bvh import MocapError

# built-in poses are drawn in blocks of 64; with a few blocks, a frame is not most of a second of drawing them
SMALL = Config(camera="kinect_v1@160x120", n_bodies=4, n_poses=256)


@pytest.fixture(scope="module")
def frames():
    return Generator(SMALL, seed=3, n=200)


@pytest.fixture(scope="module")
def first_frames(frames):
    return frames[:12]


@pytest.mark.parametrize("config", [SMALL, dataclasses.replace(SMALL, n_poses=Config().n_poses)], ids=["small", "all"])
def test_a_frame_depends_on_config_seed_and_index_alone(config):
    frames, again = Generator(config, seed=3, n=200), Generator(config, seed=3, n=9)
    for i in (5, 0, 8, 5):  # any order
        assert again[i] == frames[i]
    assert Generator(config, seed=4)[0] != frames[0]
    assert frames[1] != frames[2]
    assert frames[-1] == frames[199]
    assert frames[3:5] == [frames[3], frames[4]]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_nothing(first_frames, threads):
    assert list(Generator(SMALL, seed=3).frames(0, 12, threads=threads)) == first_frames


def test_several_threads_may_use_one_generator():
    shared, outcomes = Generator(SMALL, seed=3), {}

    def work(number):
        outcomes[number] = [shared[i] for i in range(6)]

    run_threads(*(partial(work, n) for n in range(3)))
    assert outcomes[0] == outcomes[1] == outcomes[2]


CLUTTER = dataclasses.replace(
    SMALL, clutter_share=0.8, n_things=64, empty_share=0.3, carry_share=0.2, lean_share=0.2, desk_share=0.2,
    bed_share=0.2, touch_share=0.5, people_shares=(0.5, 0.5),
)  # fmt: skip


@pytest.mark.parametrize("threads", [1, 3])
def test_cluttered_frames_depend_on_config_seed_and_index_alone(threads):
    frames = Generator(CLUTTER, seed=3)
    backwards = [frames[i] for i in reversed(range(8))]
    assert list(Generator(CLUTTER, seed=3).frames(0, 8, threads=threads)) == backwards[::-1]
    assert Generator(CLUTTER, seed=4)[0] != frames[0]


def test_new_fields_change_nothing_while_their_shares_are_0(first_frames):
    changed = dataclasses.replace(SMALL, clutter=(1, 2), n_things=3, lost_share=1.0)
    assert Generator(changed, seed=3)[:12] == first_frames


def test_frames_without_anybody_show_rooms():
    frames = Generator(dataclasses.replace(CLUTTER, empty_share=0.5, least_visible=0.2, near_share=1.0), seed=6)
    empty = [frame for frame in (frames[i] for i in range(24)) if not frame.joints]
    assert 6 < len(empty) < 18
    for frame in empty:
        assert not frame.people.any()
        assert (frame.parts == NO_PART).all()
        assert np.count_nonzero(frame.depth_mm) > 0.1 * frame.depth_mm.size
    assert not Generator(dataclasses.replace(SMALL, empty_share=1.0), seed=1)[0].people.any(), "without clutter too"


def test_lost_surfaces_give_no_readings():
    config = dataclasses.replace(CLUTTER, clutter_share=1.0, sensor="ideal", empty_share=1.0)
    shares = []
    for lost_share in (0.0, 1.0):
        frames = Generator(dataclasses.replace(config, lost_share=lost_share), seed=6)
        shares.append(np.mean([np.mean(frames[i].depth_mm == 0) for i in range(10)]))
    assert shares[1] > shares[0] + 0.05


def test_it_travels_to_worker_processes(frames):
    copy = pickle.loads(pickle.dumps(frames))
    assert len(copy) == 200
    assert copy[7] == frames[7]


def test_frames_hold_people_parts_and_joints(frames):
    seen = np.zeros(31, dtype=int)
    for i in range(40):
        frame = frames[i]
        assert frame.shape == (120, 160)
        has_part = frame.parts != NO_PART
        assert has_part.mean() >= 0.5 * SMALL.least_visible
        assert (frame.people[has_part] > 0).all()
        assert (frame.depth_mm[has_part] > 0).all(), "a pixel without a reading has no part"
        assert set(np.unique(frame.people)) - {0} <= set(frame.joints)
        for joints in frame.joints.values():
            assert set(joints) == set(JOINTS)
        seen += np.bincount(frame.parts[has_part], minlength=31)
    assert (seen > 0).all()
    # left and right are equally common
    for part, mirrored in enumerate(BODY31.mirror):
        assert 0.3 < seen[part] / seen[mirrored] < 3.4


def test_frames_would_pass_the_checks_that_they_are_spared(frames):
    for i in range(6):
        frame = frames[i]
        checked = LabeledFrame(frame.depth_mm, frame.camera, frame.parts, frame.people, frame.joints)
        assert checked == frame
        assert vars(checked).keys() == vars(frame).keys()
        assert not any(picture.flags.writeable for picture in (frame.depth_mm, frame.parts, frame.people))
        with pytest.raises(TypeError):
            frame.joints[1]["head"] = None


@pytest.mark.parametrize("seed", range(6))
def test_visible_joints_equal_their_naive_twin(seed):
    rng = np.random.default_rng(seed)
    camera = Camera.preset("kinect_v1@40x30")
    lens = np.array([camera.fx, camera.fy, camera.cx, camera.cy])
    n, found = len(JOINTS), 0
    for _ in range(20):
        z = rng.choice([-1.0, 0.0, 1e-9, 0.05, 0.7, 1.5, 3.0], n) + rng.choice([0.0, 0.01], n)
        positions = np.stack((rng.normal(0, 0.6, n) * z, rng.normal(0, 0.5, n) * z, z), axis=1)
        depth_mm = rng.integers(0, 3500, camera.shape).astype(np.uint16)
        parts = rng.integers(0, 31, camera.shape).astype(np.uint8)
        people = rng.integers(0, 3, camera.shape).astype(np.uint8)
        is_visible = np.empty(n, dtype=bool)
        _find_visible(positions, lens, 2, depth_mm, parts, people, _CARRIES, is_visible)
        for joint, (position, name) in enumerate(zip(positions, JOINTS, strict=True)):
            is_seen = False
            if position[2] > 0:
                row, col = np.rint(camera.project(position))
                reach = max(1, round(JOINT_WINDOW * camera.fx / max(position[2], 0.1)))
                for r, c in np.ndindex(*camera.shape):
                    if max(abs(r - row), abs(c - col)) <= reach and people[r, c] == 2:
                        is_near = depth_mm[r, c] > 1000 * (position[2] - DEEPEST_JOINT)
                        is_seen |= bool(is_near) and BODY31.names[parts[r, c]] in JOINT_PARTS[name]
            assert is_visible[joint] == is_seen
            found += is_seen
    assert 20 < found < 0.9 * 20 * n


@pytest.mark.parametrize("sensor", ["ideal", "kinect_v1", "tof"])
def test_visible_joints_lie_just_behind_their_parts(sensor):
    """Beside the pixel of a visible joint the frame itself shows a part that carries it; a hidden one has none."""
    frames = Generator(Config(sensor=sensor, n_bodies=3, n_poses=128), seed=5)
    n_visible = n_hidden = 0
    for i in range(20):
        frame = frames[i]
        for person, joints in frame.joints.items():
            for name, joint in joints.items():
                row, col = np.rint(frame.camera.project(joint.position)).astype(int)
                labels = [BODY31.index(p) for p in JOINT_PARTS[name]]
                is_carrier = np.isin(frame.parts, labels) & (frame.people == person)
                rows, cols = np.nonzero(is_carrier)
                near = np.maximum(np.abs(rows - row), np.abs(cols - col)) <= 8
                if joint.is_visible:
                    n_visible += 1
                    behind = joint.position[2] - frame.depth_mm[rows[near], cols[near]] / 1000
                    assert behind.min() < 0.25
                elif joint.position[2] > 0.5:
                    n_hidden += 1
                    at_it = np.maximum(np.abs(rows - row), np.abs(cols - col)) == 0
                    behind = joint.position[2] - frame.depth_mm[rows[at_it], cols[at_it]] / 1000
                    assert (behind >= 0.25).all()
    assert n_visible > 150
    assert n_hidden > 50


def test_a_scene_that_cannot_be_seen_warns():
    config = Config(camera="kinect_v1@40x30", n_bodies=1, n_poses=64, camera_tilt=(-80.0, -80.0), near_share=0.0)
    with pytest.warns(DepthForestWarning, match="the main person never covered 0.008 of the image; adjust distance"):
        Generator(config, seed=1)[0]


def test_a_person_facing_the_camera_has_the_left_on_the_right_of_the_picture():
    config = Config(yaw_front_share=1.0, yaw_front_spread=0.0, sensor="ideal", furnished_share=0.0, near_share=0.0)
    frames = Generator(dataclasses.replace(config, n_bodies=3, n_poses=128), seed=1)
    for i in range(10):
        joints = frames[i].joints[1]
        if joints["hip_l"].position[2] > 0:
            assert joints["hip_l"].position[0] > joints["hip_r"].position[0]


def test_people_come_in_the_stated_shares():
    config = Config(
        camera="kinect_v1@80x60", n_bodies=3, n_poses=64, people_shares=(0.5, 0.5), sensor="ideal", furnished_share=0.0
    )
    n_people = [len(f.joints) for f in Generator(config, seed=0).frames(0, 80)]
    assert 0.3 < np.mean([n == 2 for n in n_people]) < 0.7


def test_near_views_are_near():
    near = Generator(
        Config(camera="kinect_v1@80x60", n_bodies=3, n_poses=64, near_share=1.0, people_shares=(1.0,)), seed=0
    )
    far = Generator(
        Config(camera="kinect_v1@80x60", n_bodies=3, n_poses=64, near_share=0.0, people_shares=(1.0,)), seed=0
    )
    near_depths = [f.joints[1]["spine"].position[2] for f in near.frames(0, 20)]
    far_depths = [f.joints[1]["spine"].position[2] for f in far.frames(0, 20)]
    assert np.median(near_depths) < 1.5
    assert np.median(far_depths) > 2.0


def test_mocap_drives_bodies(tmp_path):
    folder = bvh_clip(tmp_path / "clips")
    config = Config(camera="kinect_v1@80x60", n_bodies=2, mocap=str(folder), mocap_share=1.0, sensor="ideal")
    frame = Generator(config, seed=0)[0]
    assert frame.joints[1]
    names = {bone: bone for bone in BONE_NAMES}
    (tmp_path / "names.json").write_text(json.dumps(names))
    assert Generator(dataclasses.replace(config, mocap_names=str(tmp_path / "names.json")), seed=0)[0] == frame
    bvh_clip(tmp_path / "clips", "02_01")
    config = Config(camera="kinect_v1@80x60", n_bodies=2, mocap=str(folder), without_subjects=("01", "02"))
    with pytest.raises(ConfigError, match="without_subjects leaves no pose"):
        Generator(config)


def test_hands_of_clips_curl_if_asked_to(tmp_path):
    """Each hand by itself; nothing but fingers moves."""
    config = Config(
        camera="kinect_v1@80x60", n_bodies=2, mocap=str(bvh_clip(tmp_path / "clips")), mocap_share=1.0, mocap_curl=0.5
    )
    fingers = [i for i, name in enumerate(BONE_NAMES) if "Finger" in name or "Thumb" in name]
    left = [i for i in fingers if BONE_NAMES[i].startswith("L")]
    right = [i for i in fingers if i not in left]
    pose = Generator(config)._library[0]
    seen = set()
    for seed in range(40):
        changed = _curled(pose, np.random.default_rng(seed), 0.5).rotations != pose.rotations
        assert not np.delete(changed, fingers, axis=0).any()
        seen.add((bool(changed[left].any()), bool(changed[right].any())))
    assert seen == {(False, False), (False, True), (True, False), (True, True)}
    frames = [Generator(dataclasses.replace(config, mocap_curl=share), seed=1)[0] for share in (0.0, 1.0)]
    assert frames[0] != frames[1]


def test_only_the_subjects_asked_for_move(tmp_path):
    for subject in ("01", "02", "03"):
        bvh_clip(tmp_path, f"{subject}_01")
    (tmp_path / "04_01.bvh").write_text("broken")  # others are not even read
    config = Config(camera="kinect_v1@80x60", n_bodies=2, mocap=str(tmp_path), mocap_distance=0.0)
    library = Generator(dataclasses.replace(config, only_subjects=("01", "03")))._library
    assert {library.subject(i) for i in range(len(library))} == {"01", "03"}
    other = dataclasses.replace(config, only_subjects=("01", "03"), sensor="ideal", mocap_share=0.5)
    assert Generator(other)._library is library  # read and thinned once
    with pytest.raises(MocapError, match="holds no clips of the subjects 07, 08"):
        Generator(dataclasses.replace(config, only_subjects=("07", "08")))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"camera": "webcam"}, CameraError, "'webcam' is not a camera preset"),
        ({"camera": "500,500,320,240"}, CameraError, "has no picture size"),
        ({"sensor": "eye"}, DepthForestError, "no sensor is called 'eye'"),
        ({"mocap": "no_such_folder"}, DepthForestError, "no_such_folder"),
        ({"bodies": "makehuman", "makehuman_folder": "no_such_folder"}, DepthForestError, "no_such_folder"),
    ],
)
def test_what_cannot_work_is_refused_at_once(changes, error, message):
    with pytest.raises(error, match=message):
        Generator(Config(**changes))


def test_misuse_is_refused(frames):
    with pytest.raises(ConfigError, match="seed must be a whole number, 0 or more; got -1"):
        Generator(SMALL, seed=-1)
    with pytest.raises(ConfigError, match=r"n must be a whole number, 0 or more; got 1\.5"):
        Generator(SMALL, n=1.5)
    with pytest.raises(TypeError):
        frames[2.7]
    with pytest.raises(IndexError, match="frame 200 of 200"):
        frames[200]
    assert synth.Generator is Generator


def test_an_empty_room_is_the_room_of_the_frame_without_people():
    frames = Generator(dataclasses.replace(SMALL, sensor="ideal", people_shares=(0.0, 1.0)), seed=3)
    for i in range(4):
        frame, empty = frames[i], frames.empty_room(i)
        is_room = frame.people == 0
        np.testing.assert_array_equal(empty.depth_mm[is_room], frame.depth_mm[is_room])
        behind, before = empty.depth_mm[~is_room].astype(int), frame.depth_mm[~is_room].astype(int)
        assert ((behind >= before) | (behind == 0)).all()
        assert (behind != before).any()
        assert frames[i] == frame  # nothing of it is left on the canvas


def test_takes_of_an_empty_room_have_noise_of_their_own(frames):
    first, again, other = frames.empty_room(2), frames.empty_room(2), frames.empty_room(2, take=1)
    assert first == again
    assert first != other
    both = (first.depth_mm > 0) & (other.depth_mm > 0)
    assert np.median(np.abs(first.depth_mm[both].astype(int) - other.depth_mm[both])) < 60
    for wrong in ({"index": -1}, {"index": 0, "take": 1.5}, {"index": True}):
        with pytest.raises(ConfigError, match="must be a whole number, 0 or more"):
            frames.empty_room(**wrong)
