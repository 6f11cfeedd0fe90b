import csv
import math
import sys
import warnings

import numpy as np
import pytest

import synth
from depthforest.base import UsageError
from depthforest.frames import JOINTS, Joint
from depthforest.joints import (
    FrameJoints,
    JointTracks,
    Motion,
    write_angles,
    write_bones,
    write_bvh,
    write_c3d,
    write_gltf,
    write_rerun,
    write_wide,
)
from synth.poses import read_bvh


@pytest.fixture(scope="module")
def walk():
    """The true joints of a synthetic recording: exact bones, 20 frames."""
    config = synth.Config(camera="kinect_v1@160x120", sensor="ideal", people_shares=(1.0,))
    recording = synth.Recording(config, seed=3, n=20, fps=15)
    frames = []
    for index in range(len(recording)):
        scene, _, _ = recording.scene(index)
        joints = scene.view.to_camera(scene.people[0].joints)
        people = {1: {name: Joint(tuple(place)) for name, place in zip(JOINTS, joints, strict=True)}}
        frames.append(FrameJoints(f"{index:03d}", people, time=5 + index / 15))
    return frames


def noisy(frames, sigma, seed=0):
    rng = np.random.default_rng(seed)
    moved = []
    for frame in frames:
        its = {n: Joint(tuple(np.add(j.position, rng.normal(0, sigma, 3)))) for n, j in frame.people[1].items()}
        moved.append(FrameJoints(frame.name, {1: its}, frame.time))
    return moved


def body(**places):
    """One frame of a body that stands upright and faces the camera, arms hanging; camera space."""
    standing = {"head": (0, -0.7, 2), "neck": (0, -0.5, 2), "spine": (0, -0.2, 2)}
    for side, x in (("l", 0.2), ("r", -0.2)):
        for name, y in (("shoulder", -0.5), ("elbow", -0.2), ("wrist", 0.05), ("hand", 0.15)):
            standing[f"{name}_{side}"] = (x, y, 2)
        for name, y, z in (("hip", 0, 2), ("knee", 0.4, 2), ("ankle", 0.8, 2), ("foot", 0.85, 1.8)):
            standing[f"{name}_{side}"] = (x / 2, y, z)
    return FrameJoints("0", {1: {name: Joint(place) for name, place in (standing | places).items()}})


def by_synth(path):
    clip = read_bvh(path)
    _, positions = clip.move(range(len(clip)))
    return positions[:, [clip.joints.index(name) for name in JOINTS]] * 0.01, clip.frame_time


def by_bvhio(path, n):
    bvhio = pytest.importorskip("bvhio", reason="the outside reader of BVH is not installed")
    root = bvhio.readAsHierarchy(str(path))
    places = []
    for frame in range(n):
        root.loadPose(frame)
        known = {joint.Name: joint.PositionWorld for joint, _, _ in root.layout()}
        places.append([tuple(known[name]) for name in JOINTS])
    return np.array(places) * 0.01


def test_bvh_of_true_joints_is_within_a_centimeter_in_two_readers(walk, tmp_path):
    motion = Motion.of(walk)
    skeleton = write_bvh(tmp_path / "walk.bvh", motion)
    assert np.linalg.norm(skeleton - motion.found, axis=2).max() < 0.01
    read, frame_time = by_synth(tmp_path / "walk.bvh")
    assert frame_time == pytest.approx(1 / 15)
    np.testing.assert_allclose(read, skeleton, atol=1e-4)
    outside = by_bvhio(tmp_path / "walk.bvh", len(walk))
    assert np.linalg.norm(outside - motion.found, axis=2).max() < 0.01


def test_bvh_of_noisy_joints_holds_bones_and_stays_as_near(walk, tmp_path):
    motion = Motion.of(noisy(walk, 0.02))
    skeleton = write_bvh(tmp_path / "walk.bvh", motion)
    np.testing.assert_allclose(by_synth(tmp_path / "walk.bvh")[0], skeleton, atol=1e-4)
    forearm = np.linalg.norm(skeleton[:, JOINTS.index("wrist_l")] - skeleton[:, JOINTS.index("elbow_l")], axis=1)
    assert np.ptp(forearm) < 1e-9
    assert forearm[0] == pytest.approx(motion.bone_lengths()["elbow_l-wrist_l"].median)
    truth = Motion.of(walk).found
    error = np.linalg.norm(skeleton - truth, axis=2).mean()
    assert error < 1.1 * np.linalg.norm(motion.found - truth, axis=2).mean()


def test_gaps_are_interpolated_and_a_joint_that_is_never_there_is_named(walk, tmp_path):
    gap = FrameJoints("gap", {}, walk[5].time)
    skeleton = write_bvh(tmp_path / "a.bvh", Motion.of([*walk[:5], gap, *walk[6:]]))
    assert np.linalg.norm(skeleton[5] - Motion.of(walk).found[5], axis=1).max() < 0.05
    lame = [FrameJoints(f.name, {1: {n: j for n, j in f.people[1].items() if n != "foot_l"}}, f.time) for f in walk]
    with pytest.raises(ValueError, match=r"no frame shows both ends of the bone ankle_l-foot_l|foot_l is in no frame"):
        write_bvh(tmp_path / "b.bvh", Motion.of(lame))
    assert not (tmp_path / "b.bvh").exists()


def test_another_rate_and_a_single_frame(walk, tmp_path):
    assert len(write_bvh(tmp_path / "a.bvh", Motion.of(walk), fps=30)) == 39
    assert len(write_bvh(tmp_path / "b.bvh", Motion.of(walk[:1]))) == 1
    with pytest.raises(UsageError, match="fps must be frames a second"):
        write_bvh(tmp_path / "c.bvh", Motion.of(walk), fps=0)


@pytest.mark.parametrize(
    ("places", "angle", "degrees"),
    [
        ({}, "knee_flexion_l", 0),
        ({"wrist_l": (0.2, -0.2, 1.75)}, "elbow_flexion_l", 90),
        ({"knee_r": (-0.1, 0, 1.6)}, "hip_flexion_r", 90),
        ({"knee_r": (-0.1 - 0.4 * math.sin(0.5), 0.4 * math.cos(0.5), 2)}, "hip_abduction_r", math.degrees(0.5)),
        ({"elbow_l": (0.2, -0.5, 1.7)}, "shoulder_flexion_l", 90),
        (
            {"elbow_l": (0.2, -0.5 + 0.3 * math.cos(0.4), 2 + 0.3 * math.sin(0.4))},
            "shoulder_flexion_l",
            -math.degrees(0.4),
        ),
        ({"elbow_r": (-0.5, -0.5, 2)}, "shoulder_abduction_r", 90),
    ],
)
def test_angles_of_planted_poses(places, angle, degrees):
    angles = Motion.of([body(**places)]).angles()
    assert angles[angle][0] == pytest.approx(degrees, abs=1e-6)


def test_noise_of_a_bone_is_measured(walk):
    bones = Motion.of(walk).bone_lengths()
    assert bones["knee_l-ankle_l"].noise < 0.001
    assert bones["knee_l-ankle_l"].n == 20
    noise = [Motion.of(noisy(walk, 0.02, seed)).bone_lengths()["knee_l-ankle_l"].noise for seed in range(20)]
    assert np.mean(noise) == pytest.approx(0.02 * math.sqrt(2), rel=0.2)


def test_tables_keep_times_and_leave_unknown_cells_empty(walk, tmp_path):
    motion = Motion.of([FrameJoints("empty", {}, 4.0), *walk])
    write_angles(tmp_path / "angles.csv", motion)
    write_wide(tmp_path / "wide.csv", motion)
    write_bones(tmp_path / "bones.csv", motion)
    angles, wide, bones = (
        list(csv.DictReader((tmp_path / f"{name}.csv").read_text().splitlines()))
        for name in ("angles", "wide", "bones")
    )
    assert (angles[0]["frame"], angles[0]["time"], angles[0]["knee_flexion_l"]) == ("empty", "4.0", "")
    assert float(angles[3]["knee_flexion_l"]) == pytest.approx(motion.angles()["knee_flexion_l"][3], abs=0.01)
    assert wide[0]["head_x"] == ""
    assert float(wide[1]["head_y"]) == pytest.approx(-walk[0].people[1]["head"].position[1], abs=1e-5)
    assert bones[0]["bone"] == "hips-spine"


def test_what_is_wrong_with_frames_is_told(walk):
    with pytest.raises(ValueError, match="nobody has the id 7 in these frames; ids: 1"):
        Motion.of(walk, 7)
    with pytest.raises(ValueError, match="times must rise"):
        Motion.of(walk[::-1])
    with pytest.raises(ValueError, match="either all frames have a time or none; 20 of 21 have one"):
        Motion.of([*walk, FrameJoints("late", {})])
    with pytest.raises(UsageError, match="fps must be"):
        Motion.of(walk, fps=0)


def by_pygltflib(path):
    """Return times and joints (n, 19, 3) of a glTF file: its nodes, moved by its animation with scipy's rotations."""
    pygltflib = pytest.importorskip("pygltflib", reason="the outside reader of glTF is not installed")
    rotation = pytest.importorskip("scipy.spatial.transform").Rotation
    content = pygltflib.GLTF2().load(str(path))
    blob = content.binary_blob()

    def array(number):
        accessor = content.accessors[number]
        view = content.bufferViews[accessor.bufferView]
        width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4, "MAT4": 16}[accessor.type]
        flat = np.frombuffer(blob, "<f4", accessor.count * width, view.byteOffset)
        return flat.reshape(accessor.count, width)

    animation = content.animations[0]
    keys = {
        (channel.target.node, channel.target.path): array(animation.samplers[channel.sampler].output)
        for channel in animation.channels
    }
    times = array(animation.samplers[0].input)[:, 0]
    n = len(times)
    places, turns = {0: keys[0, "translation"].astype(float)}, {0: rotation.from_quat(keys[0, "rotation"])}
    waiting = [0]
    while waiting:
        parent = waiting.pop()
        for child in content.nodes[parent].children:
            places[child] = places[parent] + turns[parent].apply(np.tile(content.nodes[child].translation, (n, 1)))
            turns[child] = turns[parent] * rotation.from_quat(keys[child, "rotation"])
            waiting.append(child)
    numbers = {node.name: number for number, node in enumerate(content.nodes)}
    bound = np.array([np.linalg.inv(m.reshape(4, 4).T)[:3, 3] for m in array(content.skins[0].inverseBindMatrices)])
    return times, np.stack([places[numbers[name]] for name in JOINTS], axis=1), bound, content


def test_gltf_of_true_joints_is_within_a_centimeter_in_an_outside_reader(walk, tmp_path):
    uneven = [FrameJoints(f.name, f.people, f.time + 0.01 * (i % 2)) for i, f in enumerate(walk)]
    motion = Motion.of(uneven)
    skeleton = write_gltf(tmp_path / "walk.glb", motion)
    times, read, bound, content = by_pygltflib(tmp_path / "walk.glb")
    np.testing.assert_allclose(times, motion.times - motion.times[0], atol=1e-6)
    assert content.extras["start_s"] == motion.times[0]
    np.testing.assert_allclose(read, skeleton, atol=1e-5)
    assert np.linalg.norm(read - motion.found, axis=2).max() < 0.01
    # the body is bound to the T-pose: hands out to the sides, feet down
    names = [node.name for node in content.nodes]
    assert bound[names.index("hand_l")][0] > 0.5
    assert bound[names.index("ankle_r")][1] < -0.6


def test_gltf_has_a_mesh_that_an_outside_program_loads(walk, tmp_path):
    trimesh = pytest.importorskip("trimesh", reason="the outside reader of meshes is not installed")
    write_gltf(tmp_path / "walk.glb", Motion.of(walk))
    scene = trimesh.load(tmp_path / "walk.glb")
    (mesh,) = scene.geometry.values()
    assert len(mesh.faces) == 8 * 26  # 21 bones, and the tips of head, hands and feet
    assert mesh.bounds[1][0] - mesh.bounds[0][0] > 1.2  # arms stretched out


def by_c3d(path):
    c3d = pytest.importorskip("c3d", reason="the outside reader of C3D is not installed")
    with path.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no analog data
        reader = c3d.Reader(file)
        points = np.array([points for _, points, _ in reader.read_frames()])
        about = reader.get("DEPTHFOREST:START_S").string_value, reader.get("POINT:UNITS").string_value
        return reader.point_rate, [name.strip() for name in reader.point_labels], points, about


def test_c3d_has_markers_in_millimeters_and_knows_what_is_unknown(walk, tmp_path):
    pytest.importorskip("ezc3d", reason="C3D needs ezc3d")
    blind = {name: joint for name, joint in walk[3].people[1].items() if name != "hand_l"}
    motion = Motion.of([*walk[:3], FrameJoints(walk[3].name, {1: blind}, walk[3].time), *walk[4:]])
    write_c3d(tmp_path / "walk.c3d", motion)
    rate, names, points, (start, unit) = by_c3d(tmp_path / "walk.c3d")
    assert (rate, names, unit, float(start)) == (pytest.approx(15), list(JOINTS), "mm", 5.0)
    is_known = points[..., 3] >= 0
    assert np.argwhere(~is_known).tolist() == [[3, JOINTS.index("hand_l")]]
    np.testing.assert_allclose(points[is_known][:, :3] / 1000, motion.found[is_known], atol=1e-5)


def test_c3d_without_its_package_says_what_to_install(walk, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ezc3d", None)
    with pytest.raises(UsageError, match=r"walk\.c3d: C3D needs the package ezc3d: pip install ezc3d"):
        write_c3d(tmp_path / "walk.c3d", Motion.of(walk))
    assert not list(tmp_path.iterdir())


def test_rerun_has_the_joints_of_each_frame(walk, tmp_path):
    pytest.importorskip("rerun", reason="Rerun recordings need rerun-sdk")
    from rerun.chunk import RrdReader

    blind = {name: joint for name, joint in walk[3].people[1].items() if name != "hand_l"}
    motion = Motion.of([*walk[:3], FrameJoints(walk[3].name, {1: blind}, walk[3].time), *walk[4:]])
    write_rerun(tmp_path / "walk.rrd", motion)
    joints, bones = {}, {}
    for batch in (chunk.to_record_batch() for chunk in RrdReader(tmp_path / "walk.rrd").stream()):
        for key, found in (("Points3D:positions", joints), ("LineStrips3D:strips", bones)):
            if key in batch.schema.names:
                times = batch.column("time").cast("int64").to_pylist()
                found.update(zip(times, batch.column(key).to_pylist(), strict=True))
    np.testing.assert_allclose(sorted(joints), motion.times * 1e9, atol=1000)  # nanoseconds
    for number, time in enumerate(sorted(joints)):
        is_known = ~np.isnan(motion.found[number, :, 0])
        np.testing.assert_allclose(joints[time], motion.found[number][is_known], atol=1e-6)
        assert len(bones[time]) == (17 if number == 3 else 18)


def test_rerun_without_its_package_says_what_to_install(walk, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rerun", None)
    with pytest.raises(UsageError, match=r"walk\.rrd: Rerun recordings need the package rerun-sdk: pip install"):
        write_rerun(tmp_path / "walk.rrd", Motion.of(walk))
    assert not list(tmp_path.iterdir())


def test_samples_bridge_no_gap(walk):
    motion = Motion.of([*walk[:5], FrameJoints("gap", {}, walk[5].time), *walk[6:]])
    halves = (motion.times[1:] + motion.times[:-1]) / 2
    sampled = motion.sampled(halves)
    assert np.flatnonzero(np.isnan(sampled[:, 0, 0])).tolist() == [4, 5]
    np.testing.assert_allclose(sampled[0], (motion.found[0] + motion.found[1]) / 2)
    np.testing.assert_array_equal(np.isnan(motion.sampled(motion.times)), np.isnan(motion.found))


def test_tracks_write_what_they_kept(walk, tmp_path):
    tracks = JointTracks(15, keep=True)
    for frame in walk:
        tracks.add(frame.people, time=frame.time, name=frame.name)
    assert [frame.name for frame in tracks.frames] == [frame.name for frame in walk]
    tracks.to_bvh(tmp_path / "a.bvh")
    write_bvh(tmp_path / "b.bvh", Motion.of(tracks.frames))
    assert (tmp_path / "a.bvh").read_bytes() == (tmp_path / "b.bvh").read_bytes()
    tracks.to_gltf(tmp_path / "a.glb", 1)
    for name in ("angles", "bones", "wide"):
        getattr(tracks, f"to_{name}")(tmp_path / f"{name}.csv")
        assert (tmp_path / f"{name}.csv").read_text().count("\n") > 15
    tracks.add({1: walk[-1].people[1], 2: walk[-1].people[1]})
    with pytest.raises(UsageError, match="name a person; ids: 1, 2"):
        tracks.to_bvh(tmp_path / "c.bvh")
    with pytest.raises(UsageError, match=r"no frames are kept; make JointTracks\(keep=True\)"):
        JointTracks().to_bvh(tmp_path / "c.bvh")
