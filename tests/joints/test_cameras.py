"""Several cameras, one body: calibration and fusion on planted joints of a synthetic recording."""

import json
import math

import numpy as np
import pytest
from support.command import run_here

import synth
from depthforest.base import DepthForestError, UsageError
from depthforest.frames import JOINTS, Joint
from depthforest.joints import CameraPose, CameraRig, FrameJoints, calibrate, fuse
from depthforest.joints.cameras.rigid import degrees, fit, kabsch

FPS = 10.0


def seen_by(recording, rng, *, noise=0.03, missing=0.2, wrong=0.1, clock=0.0, swapped=False):
    """What a camera says of a recording: noise, joints that are missing or somewhere else; ids its own."""
    frames = []
    for index in range(len(recording)):
        people = {}
        for number, person in enumerate(recording.people(index), start=1):
            places = recording.view.to_camera(person.joints)
            places = places + rng.normal(0, noise, places.shape)
            places[rng.random(len(places)) < wrong] += rng.normal(0, 0.4, 3)
            its = {name: Joint(tuple(place), True, 0.8) for name, place in zip(JOINTS, places.tolist(), strict=True)}
            kept = {name: joint for name, joint in its.items() if rng.random() >= missing}
            people[3 - number if swapped else number] = kept
        frames.append(FrameJoints(f"{index:03d}", people, clock + index / recording.fps))
    return frames


@pytest.fixture(scope="module")
def recordings():
    config = synth.Config(camera="kinect_v1@160x120", sensor="ideal", people_shares=(0.0, 1.0), far_distance=(1.8, 3.8))
    first = synth.Recording(config, seed=4, n=150, fps=FPS)
    return [first, first.seen_from(100, start_s=0.43, height=1.8, tilt=10), first.seen_from(-120, start_s=1.21)]


@pytest.fixture(scope="module")
def views(recordings):
    rng = np.random.default_rng(0)
    return [
        seen_by(recording, rng, swapped=number == 1, clock=50.0 if number == 2 else 0.0)
        for number, recording in enumerate(recordings)
    ]


@pytest.fixture(scope="module")
def rig(views):
    return calibrate(views)


def test_cameras_and_clocks_are_found_though_a_tenth_of_the_joints_is_wrong(recordings, rig):
    for recording, pose, clock in zip(recordings, rig.cameras, (0.0, 0.0, 50.0), strict=True):
        rotation, translation = recording.pose
        assert np.linalg.norm(pose.translation - translation) < 0.02
        assert degrees(pose.rotation @ rotation.T) < 1.0
        assert pose.offset_s == pytest.approx(recording.start_s - clock, abs=0.02)
        assert 0.02 < pose.error_m < 0.1
        assert pose.n_joints > 1000


def test_floors_settle_tilt_and_height(recordings, views):
    floors = []
    for recording in recordings:
        up = recording.view.rotation @ (0.0, 1.0, 0.0)
        floors.append((tuple(up.tolist()), recording.view.height))
    found = calibrate(views, floors=floors)
    for recording, pose, (up, height) in zip(recordings, found.cameras, floors, strict=True):
        np.testing.assert_allclose(pose.rotation @ up, floors[0][0], atol=1e-3)
        assert np.dot(floors[0][0], pose.translation) == pytest.approx(height - floors[0][1], abs=1e-3)
        assert degrees(pose.rotation @ recording.pose[0].T) < 0.5
    with pytest.raises(UsageError, match="a floor for each of 3 cameras; got 3 and 1"):
        calibrate(views, floors=floors[:1])


def errors_of(frames, recording, *, start=0):
    """Distances of joints to the nearest person's, and the ids of each true person."""
    errors, ids = [], {}
    for index, frame in enumerate(frames[start:], start=start):
        truth = [recording.view.to_camera(person.joints) for person in recording.people(index)]
        for number, its in frame.people.items():
            columns = [JOINTS.index(name) for name in its]
            places = np.array([joint.position for joint in its.values()])
            apart = [np.linalg.norm(places - joints[columns], axis=1) for joints in truth]
            whose = int(np.argmin([np.median(distances) for distances in apart]))
            errors.append(apart[whose])
            ids.setdefault(whose, set()).add(number)
    return np.concatenate(errors), ids


def test_fused_joints_are_better_than_those_of_any_camera_and_ids_stay(recordings, views, rig):
    fused = fuse(views, rig)
    assert [frame.name for frame in fused] == [frame.name for frame in views[0]]
    assert [frame.time for frame in fused] == [frame.time for frame in views[0]]
    errors, ids = errors_of(fused, recordings[0], start=15)  # all cameras have begun
    alone = [errors_of(frames, recording)[0] for frames, recording in zip(views, recordings, strict=True)]
    n_true = [2 * len(JOINTS) * (len(frames) - start) for frames, start in ((fused, 15), *((v, 0) for v in views))]
    found = [np.count_nonzero(own < 0.1) / n for own, n in zip((errors, *alone), n_true, strict=True)]
    assert found[0] > max(found[1:]) + 0.1
    assert np.median(errors) < 0.8 * min(np.median(own) for own in alone)
    assert len(errors) > 0.95 * 2 * len(JOINTS) * (len(fused) - 15)  # hardly a joint is missing
    assert [len(numbers) for numbers in ids.values()] == [1, 1]


def test_a_camera_that_contradicts_two_counts_little():
    body = {name: (0.0, 0.1 * number, 3.0) for number, name in enumerate(JOINTS)}
    still = CameraPose("", np.eye(3), np.zeros(3))

    def view(shift):
        its = {
            name: Joint((x + (shift if name == "hand_l" else 0.0), y, z), True, 0.6) for name, (x, y, z) in body.items()
        }
        return [FrameJoints("0", {1: its}, 0.0)]

    rig = CameraRig((still, still, still))
    (frame,) = fuse([view(0.5), view(0.0), view(0.01)], rig)
    assert frame.people[1]["hand_l"].position[0] == pytest.approx(0.005, abs=0.01)
    assert frame.people[1]["head"].confidence == pytest.approx(1 - 0.4**3)
    assert 0.6 < frame.people[1]["hand_l"].confidence < 0.9


def test_kabsch_finds_a_planted_motion_and_never_a_reflection():
    rng = np.random.default_rng(1)
    turn = synth.scene.turn_about_y(0.7) @ np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]])
    points = rng.normal(size=(30, 3)) * (1, 1, 0)  # in a plane: a reflection would fit as well
    rotation, translation = kabsch(points, points @ turn.T + (1, 2, 3), np.ones(30))
    np.testing.assert_allclose(rotation, turn, atol=1e-9)
    np.testing.assert_allclose(translation, (1, 2, 3), atol=1e-9)
    points = rng.normal(size=(200, 3))
    target = points @ turn.T + (1, 2, 3)
    target[:60] += rng.normal(0, 1, (60, 3))
    rotation, _, belief = fit(points, target, np.ones(200))
    assert degrees(rotation @ turn.T) < 0.5
    assert belief[60:].min() > 0.9


def test_a_rig_comes_back_from_its_file_and_broken_files_are_told(rig, tmp_path):
    rig.save(tmp_path / "rig.json")
    again = CameraRig.load(tmp_path / "rig.json")
    for pose, read in zip(rig.cameras, again.cameras, strict=True):
        np.testing.assert_array_equal(read.rotation, pose.rotation)
        np.testing.assert_array_equal(read.translation, pose.translation)
        assert (read.name, read.offset_s, read.n_joints) == (pose.name, pose.offset_s, pose.n_joints)
    good = json.loads((tmp_path / "rig.json").read_text())
    for change, told in (
        ({"format": "x"}, "is another kind of file"),
        ({"version": 9}, "has version 9; this program reads 1"),
        ({"cameras": []}, "must be a list of at least one"),
        ({"cameras": [{**good["cameras"][0], "rotation": [[1, 2], [3]]}]}, "camera 1: rotation must be a rotation"),
        ({"cameras": [{**good["cameras"][0], "offset_s": "x"}]}, "name must be text and offset_s a number"),
        ({"cameras": [{**good["cameras"][0], "offset_s": 10**400}]}, "name must be text and offset_s a number"),
        ({"cameras": [{**good["cameras"][0], "translation": [0, 0, 10**400]}]}, "translation 3 numbers"),
    ):
        (tmp_path / "bad.json").write_text(json.dumps({**good, **change}))
        with pytest.raises(DepthForestError, match=told):
            CameraRig.load(tmp_path / "bad.json")


def test_what_cannot_be_calibrated_is_told(views):
    with pytest.raises(UsageError, match="needs at least two cameras; got 1"):
        calibrate(views[:1])
    empty = [FrameJoints("0", {}, 0.0)]
    with pytest.raises(DepthForestError, match="B: sees too little together with the other cameras"):
        calibrate([views[0], empty], names=["A", "B"])
    with pytest.raises(UsageError, match="the rig has 1 cameras, but joints of 2 are given"):
        fuse(views[:2], CameraRig((CameraPose("", np.eye(3), np.zeros(3)),)))


def test_the_commands_do_the_same(views, rig, tmp_path):
    from depthforest.joints import read_joints, write_joints

    names = [tmp_path / f"{letter}.json" for letter in "abc"]
    for path, frames in zip(names, views, strict=True):
        write_joints(path, frames)
    done = run_here("calibrate", *names, "-o", tmp_path / "rig.json")
    assert done.returncode == 0, done.stderr
    assert b"b.json: at (" in done.stdout
    found = CameraRig.load(tmp_path / "rig.json")
    np.testing.assert_array_equal(found.cameras[1].rotation, rig.cameras[1].rotation)
    done = run_here("fuse", *names, "--cameras", tmp_path / "rig.json", "-o", tmp_path / "joints.json")
    assert done.returncode == 0, done.stderr
    assert b": 150; people: 2" in done.stdout
    assert read_joints(tmp_path / "joints.json") == fuse(views, found)
    done = run_here("fuse", *names[:2], "--cameras", tmp_path / "rig.json", "-o", tmp_path / "joints.json")
    assert done.returncode == 2
    assert b"has 3 cameras; name as many views" in done.stderr


def test_angle_of_a_rotation():
    assert degrees(synth.scene.turn_about_y(math.radians(30))) == pytest.approx(30)
