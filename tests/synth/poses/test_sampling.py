from __future__ import annotations

import numpy as np
import pytest

from depthforest.base.errors import UsageError
from synth.bodies.body import Pose
from synth.bodies.skeleton import BONE, BONE_MIRROR, BONE_NAMES, N_BONES
from synth.poses import sampling as poses
from synth.poses.angles import (
    ANGLE_NAMES,
    COLUMN,
    LIMITS,
    SIDED,
    clip_to_limits,
    curl_fingers,
    flatten_feet,
    is_within_limits,
    level_feet,
    rotations_of,
)
from synth.poses.collision import is_above_floor, is_balanced, is_clear, is_on_floor
from synth.poses.families import RELAXED
from synth.poses.kinematics import REFERENCE_LEG, heading, joint_positions
from synth.poses.sampling import FAMILIES, FamilyPose, draw_angles, sample_pose, sample_poses, seat_height

N = 60


def angles_of(**degrees: float) -> np.ndarray:
    """Return one row of angles; ``l_knee`` means ``l.knee``, everything else is 0, so the arms hang."""
    angles = np.zeros((1, len(ANGLE_NAMES)))
    for name, value in degrees.items():
        angles[0, COLUMN[name.replace("_", ".", 1) if name[:2] in ("l_", "r_") else name]] = value
    return angles


def at(**degrees: float) -> dict[str, np.ndarray]:
    return dict(zip(BONE_NAMES, joint_positions(rotations_of(angles_of(**degrees)))[0], strict=True))


def sampled(family: str, seed: int = 0) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return rotations (n, 31, 3, 3) and the positions (n, 3) of every bone of sampled poses."""
    rotations = np.stack([p.pose.rotations for p in sample_poses(np.random.default_rng(seed), N, family)])
    positions = joint_positions(rotations)
    return rotations, {name: positions[:, bone] for name, bone in BONE.items()}


def gap(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.linalg.norm(a - b, axis=-1)


def bend(joints: dict[str, np.ndarray], a: str, b: str, c: str) -> np.ndarray:
    """Return the angle in degrees by which the line a-b-c is bent at b."""
    u, v = joints[b] - joints[a], joints[c] - joints[b]
    return np.rad2deg(np.arccos((u * v).sum(axis=-1) / gap(u, 0 * u) / gap(v, 0 * v)))


def test_raised_arms_are_the_t_pose() -> None:
    rotations = rotations_of(angles_of(l_shoulder_raise=90, r_shoulder_raise=90))
    np.testing.assert_allclose(rotations[0], np.tile(np.eye(3), (N_BONES, 1, 1)), atol=1e-12)


@pytest.mark.parametrize(
    ("angles", "start", "end", "direction"),
    [
        ({}, "LeftArm", "LeftHand", (0, -1, 0)),
        ({"l_shoulder_raise": 90, "l_shoulder_plane": 90}, "LeftArm", "LeftHand", (0, 0, 1)),
        ({"r_shoulder_raise": 60, "r_shoulder_plane": -90}, "RightArm", "RightHand", (0, -0.5, -(0.75**0.5))),
        ({"l_shoulder_raise": 180}, "LeftArm", "LeftHand", (0, 1, 0)),
        ({"l_elbow": 90}, "LeftForeArm", "LeftHand", (0, 0, 1)),
        ({"l_elbow": 90, "l_shoulder_turn": 90}, "LeftForeArm", "LeftHand", (-1, 0, 0)),
        ({"r_elbow": 90, "r_shoulder_turn": 90}, "RightForeArm", "RightHand", (1, 0, 0)),
        ({"r_elbow": 90, "r_shoulder_turn": -90}, "RightForeArm", "RightHand", (-1, 0, 0)),
        ({"l_wrist_flexion": 90}, "LeftHand", "LeftFingerBase", (-1, 0, 0)),
        ({"l_wrist_flexion": 90, "l_forearm_turn": 60}, "LeftHand", "LeftFingerBase", (-0.5, 0, -(0.75**0.5))),
        ({"l_hip_flexion": 90}, "LeftUpLeg", "LeftFoot", (0, 0, 1)),
        ({"l_hip_spread": 30}, "LeftUpLeg", "LeftFoot", (0.5, -(0.75**0.5), 0)),
        ({"r_hip_spread": 30}, "RightUpLeg", "RightFoot", (-0.5, -(0.75**0.5), 0)),
        ({"l_knee": 90}, "LeftLeg", "LeftFoot", (0, 0, -1)),
        ({"l_hip_flexion": 90, "l_knee": 90, "l_hip_turn": 45}, "LeftLeg", "LeftFoot", (0.5**0.5, -(0.5**0.5), 0)),
        ({"pelvis_tilt": 90}, "LeftUpLeg", "LeftFoot", (0, 0, -1)),
    ],
)  # fmt: skip
def test_angles_mean_what_clinics_mean(
    angles: dict[str, float], start: str, end: str, direction: tuple[float, float, float]
) -> None:
    joints = at(**angles)
    along = joints[end] - joints[start]
    np.testing.assert_allclose(along / np.linalg.norm(along), direction, atol=1e-5)


def test_spine_and_neck_bend_in_shares() -> None:
    rotations = rotations_of(angles_of(spine_flexion=80, neck_twist=60))[0]
    np.testing.assert_allclose(rotations[BONE["Spine1"], 1, 1], np.cos(np.deg2rad(80)), atol=1e-9)
    assert rotations[BONE["LowerBack"], 1, 1] > rotations[BONE["Spine"], 1, 1] > rotations[BONE["Spine1"], 1, 1]
    # the nose, in the frame of the chest, has turned 60 degrees to the left
    nose = rotations[BONE["Spine1"]].T @ rotations[BONE["Head"], :, 2]
    np.testing.assert_allclose(nose, [np.sin(np.pi / 3), 0, np.cos(np.pi / 3)], atol=1e-9)
    assert at(spine_bend=20)["Head"][0] > 0.1
    assert at(pelvis_roll=20)["Head"][0] > 0.1
    assert at(l_ankle=20)["LeftToeBase"][1] > at()["LeftToeBase"][1]


def test_sides_mirror_each_other() -> None:
    rng = np.random.default_rng(1)
    angles = clip_to_limits(rng.uniform(-60, 60, (5, len(ANGLE_NAMES))))
    swapped = angles.copy()
    for name in ("pelvis_roll", "pelvis_turn", "spine_bend", "spine_twist", "neck_bend", "neck_twist"):
        swapped[:, COLUMN[name]] *= -1
    for name in SIDED:
        swapped[:, [COLUMN[f"l.{name}"], COLUMN[f"r.{name}"]]] = angles[:, [COLUMN[f"r.{name}"], COLUMN[f"l.{name}"]]]
    for plain, mirrored in zip(rotations_of(angles), rotations_of(swapped), strict=True):
        np.testing.assert_allclose(Pose(plain).mirrored().rotations, mirrored, atol=1e-6)


@pytest.mark.parametrize("side", ["l", "r"])
def test_fingers_curl_as_their_angle_says(side: str) -> None:
    angles = clip_to_limits(np.random.default_rng(3).uniform(-60, 60, (1, len(ANGLE_NAMES))))
    curled = angles.copy()
    curled[:, COLUMN[f"{side}.fingers"]] = 120
    before, after = (rotations_of(a)[0].astype(np.float32) for a in (angles, curled))
    assert not np.allclose(before, after, atol=0.1)
    np.testing.assert_allclose(curl_fingers(before, side, 120.0), after, atol=1e-6)


def test_fewer_bones_are_the_same_bones() -> None:
    angles = clip_to_limits(np.random.default_rng(2).uniform(-60, 60, (4, len(ANGLE_NAMES))))
    np.testing.assert_array_equal(rotations_of(angles, 9), rotations_of(angles)[:, :9])


def test_feet_are_brought_level_and_flat() -> None:
    rng = np.random.default_rng(3)
    angles = np.zeros((50, len(ANGLE_NAMES)))
    for side in "lr":
        for name, low, high in (("hip_flexion", -5, 35), ("knee", 0, 30), ("hip_spread", 0, 12), ("hip_turn", -20, 5)):
            angles[:, COLUMN[f"{side}.{name}"]] = rng.uniform(low, high, 50)
    before = joint_positions(rotations_of(angles))
    assert np.abs(before[:, BONE["LeftFoot"], 1] - before[:, BONE["RightFoot"], 1]).max() > 0.04
    level = level_feet(angles)
    flat = flatten_feet(level)
    rotations = rotations_of(flat)
    positions = joint_positions(rotations)
    assert np.abs(positions[:, BONE["LeftFoot"], 1] - positions[:, BONE["RightFoot"], 1]).max() < 0.002
    for side, letter in (("Left", "l"), ("Right", "r")):
        can = np.abs(flat[:, COLUMN[f"{letter}.ankle"]]) < 29.9
        np.testing.assert_allclose(rotations[can, BONE[f"{side}Foot"], 1, 1], 1, atol=1e-3)
        assert can.sum() > 25
    assert is_within_limits(clip_to_limits(flat)).all()


def test_limits_are_used_for_every_angle() -> None:
    low = {"r." + name: LIMITS["r." + name] for name in SIDED}
    assert all(LIMITS["l." + name[2:]] == limits for name, limits in low.items())
    for name, (smallest, largest) in LIMITS.items():
        assert smallest <= 0 <= largest, name
        for value, is_good in ((smallest, True), (largest, True), (smallest - 1, False), (largest + 1, False)):
            angles = np.zeros((1, len(ANGLE_NAMES)))
            angles[0, COLUMN[name]] = value
            assert is_within_limits(angles)[0] == is_good
            assert is_within_limits(clip_to_limits(angles))[0]


@pytest.mark.parametrize("name", FAMILIES)
def test_families_stay_within_limits(name: str) -> None:
    for variant in FAMILIES[name].variants:
        for angle, (low, high) in {**RELAXED, **variant}.items():
            smallest, largest = LIMITS[f"l.{angle}" if angle in SIDED else angle]
            assert smallest <= low <= high <= largest, angle
    variants = np.arange(300) % len(FAMILIES[name].variants)
    angles = draw_angles(np.random.default_rng(0), name, variants)
    assert angles.shape == (300, len(ANGLE_NAMES))
    assert is_within_limits(angles).all()


@pytest.mark.parametrize("name", FAMILIES)
def test_sampled_poses_are_sound(name: str) -> None:
    rotations, joints = sampled(name)
    assert np.isfinite(rotations).all()
    products = rotations @ np.swapaxes(rotations, -1, -2)
    np.testing.assert_allclose(products, np.broadcast_to(np.eye(3), products.shape), atol=1e-5)
    np.testing.assert_allclose(np.linalg.det(rotations), 1, atol=1e-4)
    np.testing.assert_allclose(heading(rotations[:, 0]), 0, atol=1e-5)
    positions = joint_positions(rotations)
    assert is_clear(positions).all()
    if FAMILIES[name].is_lying:
        assert is_on_floor(positions).all()
    else:
        assert (joints["Head"][:, 1] > np.minimum(joints["LeftFoot"], joints["RightFoot"])[:, 1] + 0.3).all()
    if FAMILIES[name].is_balanced:
        assert is_balanced(positions).all()
        assert is_above_floor(positions).all()
        assert np.abs(joints["LeftFoot"][:, 1] - joints["RightFoot"][:, 1]).max() < 0.05
    # every pose is another one, and both sides are used
    flat = positions.reshape(N, -1)
    assert len(np.unique(flat.round(3), axis=0)) == N


@pytest.mark.parametrize("name", FAMILIES)
def test_the_same_seed_gives_the_same_poses(name: str) -> None:
    np.testing.assert_array_equal(sampled(name, 4)[0], sampled(name, 4)[0])
    assert not np.array_equal(sampled(name, 4)[0], sampled(name, 5)[0])


def test_left_and_right_change_places() -> None:
    _, joints = sampled("waving")
    left_is_higher = joints["LeftHand"][:, 1] > joints["RightHand"][:, 1]
    assert 0.25 < left_is_higher.mean() < 0.75


def test_all_families_are_mixed_by_weight() -> None:
    drawn = sample_poses(np.random.default_rng(0), 600)
    counts = {name: sum(p.family == name for p in drawn) for name in FAMILIES}
    assert min(counts.values()) > 0
    assert counts["standing"] > 2 * counts["t_pose"]
    for p in drawn:
        assert isinstance(p, FamilyPose)
        assert p.needs_seat == (p.family == "sitting")
        assert p.is_lying == (p.family == "lying")
        assert p.pose.foot_clearance == 0
    assert sample_poses(np.random.default_rng(0), 0) == []


def test_one_pose_is_the_first_of_one() -> None:
    one, many = sample_pose(np.random.default_rng(8), "bending"), sample_poses(np.random.default_rng(8), 1, "bending")
    np.testing.assert_array_equal(one.pose.rotations, many[0].pose.rotations)
    assert one.family == "bending"


def test_unknown_families_are_refused() -> None:
    with pytest.raises(UsageError, match="no pose family is called 'flying'; the families are standing, walking"):
        sample_pose(np.random.default_rng(0), "flying")
    with pytest.raises(UsageError, match="0 or more"):
        sample_poses(np.random.default_rng(0), -1)


def test_an_impossible_family_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(poses, "MAX_ROUNDS", 3)
    monkeypatch.setattr(poses, "is_clear", lambda positions: np.zeros(len(positions), dtype=bool))
    with pytest.raises(Exception, match="the pose family standing has no possible pose"):
        sample_pose(np.random.default_rng(0), "standing")


def test_standing_people_are_upright() -> None:
    _, joints = sampled("standing")
    assert (joints["Head"][:, 1] > 0.5).all()
    assert (joints["LeftFoot"][:, 1] < -0.8).all()


def test_walkers_take_steps() -> None:
    _, joints = sampled("walking")
    stride = np.abs(joints["LeftFoot"][:, 2] - joints["RightFoot"][:, 2])
    assert stride.max() > 0.5
    # the arm on the side of the leading leg swings back
    leads = joints["LeftFoot"][:, 2] - joints["RightFoot"][:, 2]
    swings = joints["LeftHand"][:, 2] - joints["RightHand"][:, 2]
    assert np.corrcoef(leads, swings)[0, 1] < -0.5


def test_reaching_hands_are_far_from_the_body() -> None:
    _, joints = sampled("reaching")
    farthest = np.maximum(*(gap(joints[f"{side}Hand"], joints["Neck"]) for side in ("Left", "Right")))
    assert (farthest > 0.55).all()
    _, standing = sampled("standing")
    assert np.median(farthest) > np.median(gap(standing["LeftHand"], standing["Neck"]))


def test_sitting_knees_are_bent_and_thighs_level() -> None:
    _, joints = sampled("sitting")
    for side in ("Left", "Right"):
        knee = bend(joints, f"{side}UpLeg", f"{side}Leg", f"{side}Foot")
        assert 70 < np.median(knee) < 105
        assert knee.min() > 15
        thigh = joints[f"{side}Leg"] - joints[f"{side}UpLeg"]
        slope = np.rad2deg(np.arcsin(thigh[:, 1] / gap(thigh, 0 * thigh)))
        assert np.abs(np.median(slope)) < 10
        assert np.abs(slope).max() < 35
        assert (thigh[:, 2] > 0.3).all()


def test_seats_are_as_high_as_chairs() -> None:
    drawn = sample_poses(np.random.default_rng(0), N, "sitting")
    heights = np.array([seat_height(p.pose, REFERENCE_LEG) for p in drawn])
    assert 0.35 < np.median(heights) < 0.48
    assert heights.min() > 0.2
    assert heights.max() < 0.55
    assert seat_height(drawn[0].pose, 0.5) == pytest.approx(heights[0] * 0.5 / REFERENCE_LEG)
    # a right angle at hips and knees: the shin and the ankle, less the flesh under the hip
    chair = Pose(rotations_of(angles_of(l_hip_flexion=90, r_hip_flexion=90, l_knee=90, r_knee=90))[0])
    assert seat_height(chair, REFERENCE_LEG) == pytest.approx(0.431 + 0.068 - 0.085, abs=1e-4)


def test_crouchers_are_low_and_their_knees_bent() -> None:
    _, joints = sampled("crouching")
    for side in ("Left", "Right"):
        assert (bend(joints, f"{side}UpLeg", f"{side}Leg", f"{side}Foot") > 80).all()
    height = joints["Head"][:, 1] - np.minimum(joints["LeftFoot"][:, 1], joints["RightFoot"][:, 1])
    assert height.max() < 1.3


def test_kneelers_have_one_knee_near_the_floor() -> None:
    _, joints = sampled("kneeling")
    soles = np.minimum(joints["LeftToeBase"][:, 1], joints["RightToeBase"][:, 1])
    knees = np.sort(np.stack((joints["LeftLeg"][:, 1], joints["RightLeg"][:, 1])) - soles, axis=0)
    assert (knees[0] < 0.11).all()
    assert (knees[1] > 0.35).all()


def test_benders_lean_forward_on_long_legs() -> None:
    _, joints = sampled("bending")
    trunk = joints["Neck"] - joints["Hips"]
    assert np.median(trunk[:, 2]) > 0.3
    assert np.median(np.rad2deg(np.arctan2(trunk[:, 2], trunk[:, 1]))) > 50
    assert np.median(bend(joints, "LeftUpLeg", "LeftLeg", "LeftFoot")) < 50


def test_lying_spines_are_level() -> None:
    _, joints = sampled("lying")
    spine = joints["Neck"] - joints["Hips"]
    assert np.abs(np.rad2deg(np.arcsin(spine[:, 1] / gap(spine, 0 * spine)))).max() < 30
    # on the back, on the front and on the sides
    rotations, _ = sampled("lying")
    chest = rotations[:, BONE["Spine1"], 1, 2]  # how far the chest faces up
    assert (chest > 0.7).any()
    assert (chest < -0.7).any()
    assert (np.abs(chest) < 0.5).any()


def test_crossed_arms_bring_hands_to_the_other_elbow() -> None:
    _, joints = sampled("arms_crossed")
    for side, other in (("Left", "Right"), ("Right", "Left")):
        assert (gap(joints[f"{side}FingerBase"], joints[f"{other}ForeArm"]) < 0.17).all()
        assert (joints[f"{side}Hand"][:, 2] > 0.05).all()  # in front of the chest
    assert (joints["LeftHand"][:, 0] < joints["RightHand"][:, 0]).all()


def test_hands_to_the_face_reach_it() -> None:
    rotations, joints = sampled("hands_to_face")
    face = joints["Head"] + rotations[:, BONE["Head"]] @ np.array([0.0, 0.04, 0.1])
    nearest = np.minimum(gap(joints["LeftFingerBase"], face), gap(joints["RightFingerBase"], face))
    assert np.median(nearest) < 0.16
    near_head = np.minimum(*(gap(joints[f"{side}FingerBase"], joints["Head"]) for side in ("Left", "Right")))
    assert (near_head < 0.19).all()


def test_t_poses_have_level_arms_and_pointers_straight_ones() -> None:
    _, joints = sampled("t_pose")
    for side, sign in (("Left", 1), ("Right", -1)):
        assert (sign * (joints[f"{side}Hand"] - joints[f"{side}Arm"])[:, 0] > 0.5).all()
    _, joints = sampled("pointing")
    elbows = [bend(joints, f"{side}Arm", f"{side}ForeArm", f"{side}Hand") for side in ("Left", "Right")]
    assert (np.minimum(*elbows) < 21).all()


def test_limbs_through_the_body_are_noticed() -> None:
    good = angles_of(l_shoulder_raise=15, r_shoulder_raise=15, l_hip_spread=5, r_hip_spread=5)
    bad = {
        "hand in the belly": {"l_shoulder_turn": 90, "l_elbow": 90},
        "hand in the thigh": {"r_shoulder_raise": 0, "r_shoulder_plane": 0, "r_hip_spread": 14},
        "crossed shins": {"l_hip_spread": -7, "r_hip_spread": -7},
        "hand in the head": {"l_shoulder_raise": 129, "l_shoulder_plane": 94, "l_elbow": 122, "l_shoulder_turn": 60},
        "knee in the chest": {"l_hip_flexion": 125, "spine_flexion": 80},
        "forearms in each other": {f"{s}_{a}": v for s in "lr" for a, v in (
            ("shoulder_plane", 90), ("shoulder_raise", 60), ("shoulder_turn", 60), ("elbow", 80))},
    }  # fmt: skip
    assert is_clear(joint_positions(rotations_of(good)))[0]
    for what, angles in bad.items():
        changed = good.copy()
        for name, value in angles.items():
            changed[0, COLUMN[name.replace("_", ".", 1) if name[:2] in ("l_", "r_") else name]] = value
        assert not is_clear(joint_positions(rotations_of(changed)))[0], what


def test_mirrored_bodies_are_as_clear() -> None:
    rng = np.random.default_rng(0)
    rotations = rotations_of(clip_to_limits(rng.uniform(-60, 100, (400, len(ANGLE_NAMES)))))
    positions = joint_positions(rotations)
    mirrored = positions[:, BONE_MIRROR] * np.array((-1, 1, 1), dtype=np.float32)
    clear = is_clear(positions)
    assert 0.02 < clear.mean() < 0.98
    np.testing.assert_array_equal(clear, is_clear(mirrored))
    np.testing.assert_array_equal(is_balanced(positions), is_balanced(mirrored))


def test_leaning_towers_fall() -> None:
    assert is_balanced(joint_positions(rotations_of(angles_of())))[0]
    assert not is_balanced(joint_positions(rotations_of(angles_of(pelvis_tilt=25))))[0]
    assert not is_balanced(joint_positions(rotations_of(angles_of(pelvis_roll=25))))[0]
