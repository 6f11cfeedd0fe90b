from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from depthforest.base.errors import DepthForestWarning, UsageError
from synth.bodies.body import Pose, t_pose_rotations
from synth.bodies.skeleton import BONE, BONE_MIRROR, BONE_NAMES, N_BONES, PARENTS, T_POSE_DIRECTIONS
from synth.poses.bvh import CHANNELS, Clip, MocapError, read_bvh
from synth.poses.kinematics import REFERENCE_HEADS, heading, joint_positions, turns
from synth.poses.mocap import (
    CMU_NAMES,
    MAX_CLEARANCE,
    MAX_JUMP,
    NameMap,
    clip_files,
    load_poses,
    retarget,
)

Y = np.array([0.0, 1.0, 0.0])
SMALL = """HIERARCHY
ROOT Base
{
\tOFFSET 0 0 0
\tCHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation
\tJOINT Tip {
\t\tOFFSET 1.5 -2e-1 0
\t\tCHANNELS 1 Xrotation
\t\tEnd Site
\t\t{
\t\t\tOFFSET 0 1 0
\t\t}
\t}
}
MOTION
Frames: 2
Frame Time: 0.04
1 2 3 0 0 0 0
1 2 3\t90 0 0  -4.5e1
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def naive_turn(axis: str, degrees: float) -> np.ndarray:
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array(
        {
            "x": [[1, 0, 0], [0, c, -s], [0, s, c]],
            "y": [[c, 0, s], [0, 1, 0], [-s, 0, c]],
            "z": [[c, -s, 0], [s, c, 0], [0, 0, 1]],
        }[axis]
    )


def naive_move(clip: Clip, frame: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    values = list(clip.motion[frame])
    rotations: list[np.ndarray] = []
    positions: list[np.ndarray] = []
    for joint, channels in enumerate(clip.channels):
        step, turn = clip.offsets[joint].copy(), np.eye(3)
        for channel in channels:
            value = values.pop(0)
            if channel.endswith("position"):
                step["xyz".index(channel[0])] = value
            else:
                turn = turn @ naive_turn(channel[0], value)
        parent = clip.parents[joint]
        rotations.append(turn if parent < 0 else rotations[parent] @ turn)
        positions.append(step if parent < 0 else positions[parent] + rotations[parent] @ step)
    return rotations, positions


def poses_of(clip: Clip, step: int = 1, *, names: NameMap = CMU_NAMES, t_pose_frame: int | None = 0) -> list[Pose]:
    return list(retarget(clip, step=step, names=names, t_pose_frame=t_pose_frame))


def person(
    motion: np.ndarray, *, names: Sequence[str] = BONE_NAMES, axes: np.ndarray | None = None, frame_time: float = 0.2
) -> Clip:
    """Return a clip of the reference adult: rows of `motion` are the root's position, then z, y, x turns of every bone.

    `axes` turns it into another space.
    """
    axes = np.eye(3) if axes is None else axes
    kept = [bone for bone, name in enumerate(BONE_NAMES) if name in names]
    parents = [-1]
    for bone in kept[1:]:
        parent = int(PARENTS[bone])
        while parent not in kept:
            parent = int(PARENTS[parent])
        parents.append(kept.index(parent))
    heads = REFERENCE_HEADS[kept]
    offsets = np.array([heads[i] - (heads[p] if p >= 0 else heads[i]) for i, p in enumerate(parents)]) @ axes.T
    channels = (CHANNELS[:3] + CHANNELS[:2:-1],) + (CHANNELS[:2:-1],) * (len(kept) - 1)
    motion = motion.reshape(len(motion), -1)[:, [0, 1, 2] + [3 + 3 * b + i for b in kept for i in range(3)]]
    clip = Clip("person", tuple(BONE_NAMES[b] for b in kept), np.array(parents), offsets, channels, frame_time, motion)
    if np.allclose(axes, np.eye(3)):
        return clip
    # turning the axes changes what the channels mean: write every local turn anew as z, y, x turns
    rotations, positions = clip.move(np.arange(len(clip)))
    rotations = axes @ rotations @ axes.T
    turned = np.zeros_like(motion)
    turned[:, :3] = positions[:, 0] @ axes.T
    for joint, parent in enumerate(parents):
        local = rotations[:, joint] if parent < 0 else np.swapaxes(rotations[:, parent], -1, -2) @ rotations[:, joint]
        y = -np.arcsin(np.clip(local[:, 2, 0], -1, 1))
        z, x = np.arctan2(local[:, 1, 0], local[:, 0, 0]), np.arctan2(local[:, 2, 1], local[:, 2, 2])
        turned[:, 3 + 3 * joint : 6 + 3 * joint] = np.rad2deg(np.stack((z, y, x), axis=1))
    return Clip("person", clip.joints, clip.parents, offsets, channels, frame_time, turned)


def random_motion(n: int = 5, seed: int = 0) -> np.ndarray:
    """Return motions of the reference adult with a T-pose first."""
    rng = np.random.default_rng(seed)
    motion = np.zeros((n, 3 + 3 * N_BONES))
    motion[:, :3] = 0.2, 0.985, -0.4
    motion[1:, 3:] = rng.uniform(-40, 40, (n - 1, 3 * N_BONES))
    return motion


def test_small_file_is_read_whole(tmp_path: Path) -> None:
    clip = read_bvh(write(tmp_path / "a.bvh", SMALL))
    assert clip.name == "a"
    assert clip.joints == ("Base", "Tip")
    assert clip.parents.tolist() == [-1, 0]
    assert clip.offsets.tolist() == [[0, 0, 0], [1.5, -0.2, 0]]
    assert clip.channels[1] == ("xrotation",)
    assert clip.frame_time == 0.04
    assert clip.motion.tolist() == [[1, 2, 3, 0, 0, 0, 0], [1, 2, 3, 90, 0, 0, -45]]
    rotations, positions = clip.move([1])
    # turned by 90 degrees about z, the tip's offset (1.5, -0.2, 0) points to (0.2, 1.5, 0)
    np.testing.assert_allclose(positions[0, 1], [1.2, 3.5, 3.0], atol=1e-12)
    np.testing.assert_allclose(rotations[0, 1], naive_turn("z", 90) @ naive_turn("x", -45), atol=1e-12)


def test_windows_line_ends_and_spaces_do_not_matter(tmp_path: Path) -> None:
    odd = SMALL.replace("\t", "   ").replace("\n", " \r\n\r\n").replace("ROOT Base", "root My Base")
    clip = read_bvh(write(tmp_path / "a.bvh", odd))
    assert clip.joints == ("My Base", "Tip")
    assert clip.motion.shape == (2, 7)


def test_any_channels_in_any_order_match_the_naive_twin() -> None:
    rng = np.random.default_rng(4)
    channels = tuple(tuple(rng.permutation(CHANNELS)[: rng.integers(0, 7)].tolist()) for _ in range(12))
    parents = np.array([-1, *(int(rng.integers(i)) for i in range(1, 12))])
    motion = rng.uniform(-200, 200, (3, sum(map(len, channels))))
    clip = Clip("odd", tuple("abcdefghijkl"), parents, rng.normal(size=(12, 3)), channels, 0.1, motion)
    rotations, positions = clip.move([0, 2])
    for row, frame in enumerate((0, 2)):
        ref_rotations, ref_positions = naive_move(clip, frame)
        np.testing.assert_allclose(rotations[row], ref_rotations, atol=1e-9)
        np.testing.assert_allclose(positions[row], ref_positions, atol=1e-9)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("HIERARCHY", "HIERARCHIE", 1, "expected HIERARCHY"),
        ("ROOT Base", "JOINT Base", 2, "expected ROOT"),
        ("ROOT Base", "ROOT", 3, "expected a joint's name"),
        ("OFFSET 0 0 0", "OFFSET 0 zero 0", 4, "expected a number, got 'zero'"),
        ("OFFSET 0 1 0", "OFFSET 0 nan 0", 11, "expected a number, got 'nan'"),
        ("OFFSET 0 0 0", "OFFSET 0 0", 5, "expected a number, got 'CHANNELS'"),
        ("CHANNELS 6", "CHANNELS six", 5, "number of channels"),
        ("Zposition", "Wposition", 5, "unknown channel 'Wposition'"),
        ("End Site", "Ent Site", 9, "expected JOINT, End Site"),
        ("\t}\n}\nMOTION", "\t}\nMOTION", 13, "the hierarchy ends"),
        ("\t}\n}\nMOTION", "\t}\n}\n}\nMOTION", 15, "expected MOTION"),
        ("MOTION", "MOTIONS", 15, "expected MOTION"),
        ("Frames: 2", "Frame: 2", 16, "expected Frames:"),
        ("Frames: 2", "Frames: two", 16, "expected a number, got 'two'"),
        ("Frame Time: 0.04", "Frame Time: 0", 17, "frame time must be above 0"),
        ("Frames: 2", "Frames: 3", 19, "expected 3 frames, got 2"),
        ("Frames: 2", "Frames: 0", 16, "no frames"),
        ("1 2 3 0 0 0 0\n", "1 2 3 0 0 0\n", 18, "expected 7 values, one per channel, got 6"),
        ("1 2 3\t90", "1 2 3\t9O", 19, "expected a number, got '9O'"),
        ("1 2 3\t90", "1 2 3\tinf", 19, "expected a number, got 'inf'"),
    ],
)
def test_broken_files_name_the_line(tmp_path: Path, old: str, new: str, line: int, message: str) -> None:
    assert old in SMALL
    path = write(tmp_path / "broken.bvh", SMALL.replace(old, new, 1))
    with pytest.raises(MocapError, match=f"^{re.escape(str(path))}:{line}: .*{re.escape(message)}") as caught:
        read_bvh(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kept", range(1, 15))
def test_a_hierarchy_cut_short_is_an_error(tmp_path: Path, kept: int) -> None:
    with pytest.raises(MocapError, match=rf"cut\.bvh:{kept}: the (hierarchy|file) ends"):
        read_bvh(write(tmp_path / "cut.bvh", "\n".join(SMALL.splitlines()[:kept])))


def test_missing_motion_frames_or_file_are_errors(tmp_path: Path) -> None:
    with pytest.raises(MocapError, match="ends without MOTION"):
        read_bvh(write(tmp_path / "a.bvh", SMALL[: SMALL.index("MOTION")]))
    with pytest.raises(MocapError, match="number of frames and the frame time"):
        read_bvh(write(tmp_path / "a.bvh", SMALL[: SMALL.index("Frame Time")]))
    with pytest.raises(MocapError, match="no frames"):
        read_bvh(write(tmp_path / "a.bvh", SMALL[: SMALL.index("1 2 3")]))
    with pytest.raises(MocapError, match="cannot be read"):
        read_bvh(tmp_path / "none.bvh")


def test_poses_are_turns_from_the_t_pose() -> None:
    clip = person(random_motion())
    poses = poses_of(clip)
    assert len(poses) == 4
    rotations, _ = clip.move(np.arange(1, 5))
    for pose, expected in zip(poses, rotations, strict=True):
        unturn = turns(Y, -heading(expected[0]))
        np.testing.assert_allclose(pose.rotations, unturn @ expected, atol=1e-6)
        assert heading(pose.rotations[0]) == pytest.approx(0, abs=1e-6)
    assert [len(poses_of(clip, step)) for step in (2, 3, 9)] == [2, 2, 1]
    np.testing.assert_array_equal(poses_of(clip, 3)[1].rotations, poses[3].rotations)
    with pytest.raises(UsageError, match="step"):
        poses_of(clip, 0)


def test_a_slack_t_pose_is_straightened_so_that_limbs_point_as_recorded() -> None:
    motion = random_motion()
    for bone, sign in (("LeftArm", -1), ("RightArm", 1), ("LeftUpLeg", -2), ("RightUpLeg", 2)):
        motion[0, 3 + 3 * BONE[bone]] = 8.0 * sign  # arms hang by 8 degrees, as in the CMU clips
    clip = person(motion)
    rotations, positions = clip.move(np.arange(1, 5))
    for pose, turned, recorded in zip(poses_of(clip), rotations, positions, strict=True):
        recorded = recorded @ turns(Y, heading(turned[0]))  # without the heading
        for bone, (child, direction) in T_POSE_DIRECTIONS.items():
            along = recorded[BONE[child]] - recorded[BONE[bone]]
            pointing = pose.rotations[BONE[bone]] @ np.array(direction)
            np.testing.assert_allclose(pointing, along / np.linalg.norm(along), atol=1e-5)


@pytest.mark.parametrize("yaw", [-170.0, -45.0, 90.0, 180.0])
def test_the_heading_is_taken_out(yaw: float) -> None:
    motion, turned = random_motion(), random_motion()
    plain = person(motion)
    rotations, _ = plain.move(np.arange(1, 5))
    outer = turns(Y, np.deg2rad(yaw)) @ rotations[:, 0]
    turned[1:, 3] = np.rad2deg(np.arctan2(outer[:, 1, 0], outer[:, 0, 0]))
    turned[1:, 4] = np.rad2deg(-np.arcsin(outer[:, 2, 0]))
    turned[1:, 5] = np.rad2deg(np.arctan2(outer[:, 2, 1], outer[:, 2, 2]))
    for a, b in zip(poses_of(plain), poses_of(person(turned)), strict=True):
        np.testing.assert_allclose(a.rotations, b.rotations, atol=1e-5)


@pytest.mark.parametrize(("axis", "degrees"), [("x", 90.0), ("x", -90.0), ("z", 90.0), ("z", -90.0), ("x", 120.0)])
def test_the_heading_of_a_lying_body_is_steady(axis: str, degrees: float) -> None:
    lying = naive_turn("y", 35.0) @ naive_turn(axis, degrees)
    assert np.rad2deg(heading(lying)) == pytest.approx(35.0, abs=1e-6)
    wobble = naive_turn("y", 35.0) @ naive_turn(axis, degrees + 2) @ naive_turn("x", 2.0)
    assert np.rad2deg(heading(wobble)) == pytest.approx(35.0, abs=5.0)


@pytest.mark.parametrize("yaw", [0.0, 90.0, 180.0, 33.0])
def test_clips_may_have_other_axes(yaw: float) -> None:
    motion = random_motion(8)
    plain = person(motion)
    z_up = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])  # y becomes z
    other = person(motion, axes=z_up @ naive_turn("y", yaw))
    ref, comp = retarget(plain), retarget(other)
    np.testing.assert_allclose(ref.rotations, comp.rotations, atol=1e-5)
    np.testing.assert_allclose(ref.foot_clearance, comp.foot_clearance, atol=1e-5)


def test_the_offsets_can_be_the_t_pose() -> None:
    motion = random_motion()
    ref, comp = poses_of(person(motion)), poses_of(person(motion[1:]), t_pose_frame=None)
    assert len(comp) == 4
    for a, b in zip(ref, comp, strict=True):
        np.testing.assert_allclose(a.rotations, b.rotations, atol=1e-6)
    last = poses_of(person(np.roll(motion, -1, axis=0)), t_pose_frame=4)
    np.testing.assert_allclose(last[0].rotations, ref[0].rotations, atol=1e-6)


def test_a_t_pose_that_is_none_is_refused() -> None:
    motion = random_motion()
    motion[0, 3 + 3 * BONE["LeftArm"]] = -80.0
    with pytest.raises(MocapError, match="person: expected a T-pose"):
        poses_of(person(motion))
    with pytest.raises(MocapError, match="frame 7, but there are 5"):
        poses_of(person(motion), t_pose_frame=7)
    with pytest.raises(MocapError, match="no frames beside"):
        poses_of(person(motion[:1]))
    swapped = NameMap({name: BONE_NAMES[BONE_MIRROR[BONE[name]]] for name in BONE_NAMES})
    with pytest.raises(MocapError, match=r"left and right swapped|expected a T-pose"):
        poses_of(person(random_motion()), names=swapped)


def test_frames_of_zeros_were_not_recorded() -> None:
    motion = random_motion(6)
    motion[[1, 2]] = 0
    assert retarget(person(motion)).frame_index.tolist() == [3, 4, 5]


def test_missing_bones_turn_with_their_parent() -> None:
    left_out = {"LHipJoint", "Spine", "Neck1", "LeftHand", "LeftFingerBase", "LeftHandFinger1", "LThumb"}
    clip = person(random_motion(), names=[n for n in BONE_NAMES if n not in left_out])
    for pose in poses_of(clip):
        for name in left_out:
            np.testing.assert_array_equal(pose.rotations[BONE[name]], pose.rotations[PARENTS[BONE[name]]])


def test_missing_essential_bones_are_named() -> None:
    clip = person(random_motion(), names=[n for n in BONE_NAMES if n not in ("LeftLeg", "RightForeArm")])
    with pytest.raises(MocapError, match=r"person: no joint is mapped to LeftLeg, RightForeArm; pass a name map"):
        poses_of(clip)


def test_name_maps_from_json(tmp_path: Path) -> None:
    clip = person(random_motion())
    other = Clip("x", tuple(f"rig:{n}" for n in clip.joints), *(getattr(clip, f) for f in ("parents", "offsets")),
                 clip.channels, clip.frame_time, clip.motion)  # fmt: skip
    path = write(tmp_path / "map.json", json.dumps({f"rig:{n}": n for n in BONE_NAMES}))
    ref, comp = poses_of(clip), poses_of(other, names=NameMap.from_json(path))
    np.testing.assert_array_equal(ref[2].rotations, comp[2].rotations)
    for text, message in (
        ('{"a": "Tail"}', r"map\.json: .*'a' to 'Tail', an unknown bone"),
        ('{"a": 3}', "an unknown bone"),
        ("[]", "expected an object"),
        ("{", "not valid JSON"),
    ):
        with pytest.raises(MocapError, match=message):
            NameMap.from_json(write(path, text))
    with pytest.raises(MocapError, match="Hips and hip are both mapped to Hips"):
        NameMap({"Hips": "Hips", "hip": "Hips"}).find_bones(("Hips", "hip"))
    assert CMU_NAMES.names["LeftHandIndex1"] == "LeftHandFinger1"


def heights_clip(heights: Sequence[float], *, frame_time: float = 0.2) -> Clip:
    """Return a clip of somebody upright whose feet are at some heights in leg lengths, after a T-pose."""
    motion = np.zeros((len(heights) + 1, 3 + 3 * N_BONES))
    motion[0, 1], motion[1:, 1] = 5.0, 7.0 + 0.86 * np.asarray(heights)
    motion[:, 3 + 3 * BONE["Head"]] = 1.0
    return person(motion, frame_time=frame_time)


def test_a_jump_keeps_its_height_wherever_the_floor_is() -> None:
    jump = [0, 0, 0, 0, 0.1, 0.35, 0.2, 0, 0, 0]
    np.testing.assert_allclose(retarget(heights_clip(jump)).foot_clearance, jump, atol=1e-5)
    np.testing.assert_allclose(retarget(heights_clip(np.array(jump) - 3)).foot_clearance, jump, atol=1e-5)


def test_standing_on_something_is_standing() -> None:
    stairs = [0.0] * 8 + [0.1] + [0.25] * 8 + [0.4] + [0.5] * 8
    assert retarget(heights_clip(stairs)).foot_clearance.max() < 0.26  # only while stepping up
    np.testing.assert_allclose(retarget(heights_clip(stairs)).foot_clearance[14:17], 0, atol=1e-6)
    hanging = retarget(heights_clip([0.0] * 3 + [0.4, 0.9] + [1.3] * 20)).foot_clearance
    np.testing.assert_allclose(hanging[12:], 0, atol=1e-6)


def test_clearance_is_bounded() -> None:
    wild = retarget(heights_clip([0, 0, 0, 0, 0, 9, -4, 30, 0.01, 0.0])).foot_clearance
    assert wild.min() >= 0
    assert wild.max() == pytest.approx(MAX_JUMP, abs=0.1)
    assert wild.max() <= MAX_CLEARANCE


def bvh_text(clip: Clip) -> str:
    lines = ["HIERARCHY"]
    children = {p: [i for i, q in enumerate(clip.parents) if q == p] for p in range(-1, len(clip.joints))}

    def add(joint: int) -> None:
        channels = " ".join(c.capitalize() for c in clip.channels[joint])
        lines.append(f"{'ROOT' if clip.parents[joint] < 0 else 'JOINT'} {clip.joints[joint]}")
        lines.append("{")
        lines.append("OFFSET " + " ".join(map(repr, clip.offsets[joint].tolist())))
        lines.append(f"CHANNELS {len(clip.channels[joint])} {channels}")
        for child in children[joint]:
            add(child)
        if not children[joint]:
            lines.extend(("End Site", "{", "OFFSET 0 0 0", "}"))
        lines.append("}")

    add(0)
    lines += ["MOTION", f"Frames: {len(clip)}", f"Frame Time: {clip.frame_time}"]
    return "\n".join(lines + [" ".join(map(repr, row)) for row in clip.motion.tolist()])


def test_a_folder_of_clips_becomes_a_library(tmp_path: Path) -> None:
    clips = {"b/07_10.bvh": person(random_motion(4, 1)), "b/07_2.BVH": person(random_motion(6, 2)),
             "x.bvh": person(random_motion(3, 3))}  # fmt: skip
    (tmp_path / "b").mkdir()
    for name, clip in clips.items():
        write(tmp_path / name, bvh_text(clip))
    write(tmp_path / "notes.txt", "no clip")
    assert [p.name for p in clip_files(tmp_path)] == ["07_2.BVH", "07_10.bvh", "x.bvh"]
    library = load_poses(tmp_path)
    assert library.clips == ("b/07_2", "b/07_10", "x")
    assert library.subjects == ("07", "07", "x")
    assert len(library) == 5 + 3 + 2
    assert library.clip_index.tolist() == [0] * 5 + [1] * 3 + [2] * 2
    assert library.frame_index.tolist() == [1, 2, 3, 4, 5, 1, 2, 3, 1, 2]
    assert library.rotations.dtype == np.float32
    np.testing.assert_allclose(library[6].rotations, poses_of(clips["b/07_10.bvh"])[1].rotations, atol=1e-6)
    assert library.subject(9) == "x"
    chosen = library.take([9, 0])
    assert len(chosen) == 2
    np.testing.assert_array_equal(chosen[0].rotations, library[9].rotations)
    assert chosen.subject(0) == "x"
    assert len(load_poses(tmp_path, step=2)) == 3 + 2 + 1


def test_broken_clips_are_named_and_left_out(tmp_path: Path) -> None:
    write(tmp_path / "good.bvh", bvh_text(person(random_motion(3))))
    write(tmp_path / "bad.bvh", SMALL[:60])
    with pytest.warns(DepthForestWarning, match=r"skipped a clip: .*bad\.bvh:"):
        assert load_poses(tmp_path).clips == ("good",)


def test_a_folder_without_usable_clips_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MocapError, match=r"holds no BVH clips"):
        load_poses(tmp_path)
    with pytest.raises(MocapError, match="is not a folder"):
        load_poses(tmp_path / "none")
    write(tmp_path / "small.bvh", SMALL)
    with (
        pytest.warns(DepthForestWarning, match="small: no joint is mapped to Hips"),
        pytest.raises(MocapError, match="none of its 1 clips can be used"),
    ):
        load_poses(tmp_path)


def test_joints_move_where_trigonometry_says() -> None:
    rotations = np.tile(np.eye(3), (2, N_BONES, 1, 1))
    below = [BONE[f"Left{b}"] for b in ("ForeArm", "Hand", "FingerBase", "HandFinger1")] + [BONE["LThumb"]]
    rotations[1, below] = naive_turn("y", -90)  # the left forearm points forward
    rest, bent = joint_positions(rotations)
    np.testing.assert_allclose(rest, REFERENCE_HEADS - REFERENCE_HEADS[0], atol=1e-6)
    elbow, wrist = bent[BONE["LeftForeArm"]], bent[BONE["LeftHand"]]
    np.testing.assert_allclose(wrist - elbow, [0, 0, 0.256], atol=1e-6)
    np.testing.assert_allclose(t_pose_rotations(REFERENCE_HEADS), rotations[0], atol=1e-6)
    with pytest.raises(ValueError, match="expected rotations"):
        joint_positions(rotations[0])


def test_mirroring_a_pose_mirrors_its_joints() -> None:
    pose = poses_of(person(random_motion()))[0]
    np.testing.assert_array_equal(pose.mirrored().mirrored().rotations, pose.rotations)
    plain, mirrored = joint_positions(np.stack((pose.rotations, pose.mirrored().rotations)))
    np.testing.assert_allclose(mirrored[BONE["LeftHand"]], plain[BONE["RightHand"]] * (-1, 1, 1), atol=1e-6)
    np.testing.assert_allclose(mirrored, plain[BONE_MIRROR] * (-1, 1, 1), atol=1e-6)
    assert not np.allclose(mirrored, plain, atol=0.05)
    assert Pose(pose.rotations, 0.3).mirrored().foot_clearance == 0.3


def check_cmu(files: Sequence[Path]) -> None:
    n_poses = 0
    for path in files:
        clip = read_bvh(path)
        library = retarget(clip)
        n_poses += len(library)
        rotations = library.rotations
        assert np.isfinite(rotations).all()
        np.testing.assert_allclose(
            rotations @ np.swapaxes(rotations, -1, -2), np.broadcast_to(np.eye(3), rotations.shape), atol=1e-5
        )
        assert library.foot_clearance.min() >= 0
        assert library.foot_clearance.max() <= MAX_CLEARANCE
        assert clip.frame_time == pytest.approx(0.2)
    assert n_poses > 10 * len(files)


def test_cmu_clips_load(shared_data: Callable[[str], Path]) -> None:
    files = clip_files(shared_data("cmu_bvh"))
    assert len(files) == 2017
    check_cmu(files[::50])


def test_cmu_feet_stay_near_the_floor(shared_data: Callable[[str], Path]) -> None:
    walk = retarget(read_bvh(shared_data("cmu_bvh") / "007" / "07_01.bvh"))
    assert walk.subjects == ("07",)
    assert walk.foot_clearance.max() < 0.12
    # the head is above the hips, the feet below, the toes in front of the ankles
    positions = joint_positions(walk.rotations)
    assert positions[:, BONE["Head"], 1].min() > 0.4
    assert positions[:, BONE["LeftFoot"], 1].max() < -0.5
    toes = positions[:, BONE["LeftToeBase"]] - positions[:, BONE["LeftFoot"]]
    assert np.median(toes[:, 2]) > 0.08


@pytest.mark.slow
def test_all_cmu_clips_load(shared_data: Callable[[str], Path]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        library = load_poses(shared_data("cmu_bvh"))
    assert len(library.clips) == 2017
    assert len(library) > 100_000
    assert np.isfinite(library.rotations).all()
    assert np.percentile(library.foot_clearance, 90) < 0.1
