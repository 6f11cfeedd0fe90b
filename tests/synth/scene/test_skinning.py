from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from support import naive_synth as naive

from depthforest.frames.parts import JOINTS
from synth.bodies.body import Body, BodyError, Pose
from synth.bodies.skeleton import BONE, BONE_MIRROR, N_BONES, PARENTS
from synth.scene.skinning import FOOT_BONES, pose_body

LEFT_HALF = {
    "LHipJoint": (0.03, 0.95, 0.0),
    "LeftUpLeg": (0.1, 0.9, 0.0),
    "LeftLeg": (0.1, 0.5, 0.0),
    "LeftFoot": (0.1, 0.08, 0.0),
    "LeftToeBase": (0.1, 0.03, 0.12),
    "LeftShoulder": (0.03, 1.4, 0.0),
    "LeftArm": (0.18, 1.4, 0.0),
    "LeftForeArm": (0.46, 1.4, 0.0),
    "LeftHand": (0.7, 1.4, 0.0),
    "LeftFingerBase": (0.78, 1.4, 0.0),
    "LeftHandFinger1": (0.83, 1.4, 0.0),
    "LThumb": (0.72, 1.39, 0.04),
}
MIDDLE = {
    "Hips": (0.0, 1.0, 0.0),
    "LowerBack": (0.0, 1.02, -0.01),
    "Spine": (0.0, 1.12, -0.02),
    "Spine1": (0.0, 1.25, -0.02),
    "Neck": (0.0, 1.45, -0.01),
    "Neck1": (0.0, 1.5, 0.0),
    "Head": (0.0, 1.56, 0.01),
}
JOINT_BONES = {
    "head": "Head",
    "neck": "Neck",
    "spine": "Spine",
    "shoulder": "Arm",
    "elbow": "ForeArm",
    "wrist": "Hand",
    "hand": "FingerBase",
    "hip": "UpLeg",
    "knee": "Leg",
    "ankle": "Foot",
    "foot": "ToeBase",
}
ARMS_DOWN_45 = {"LeftForeArm": 0.28, "LeftHand": 0.52, "LeftFingerBase": 0.6, "LeftHandFinger1": 0.65}
"""Distances from the shoulder along the arm, of an A-pose."""


@cache
def boxy(is_a_pose: bool = False, hips: tuple[float, float] = (0.0, 0.0)) -> Body:
    """Return a symmetric body with its hips at (x, z): a box about every bone, hanging on it and on its parent."""
    heads = np.zeros((N_BONES, 3))
    for name, place in {**LEFT_HALF, **MIDDLE}.items():
        heads[BONE[name]] = place
    if is_a_pose:
        for name, distance in ARMS_DOWN_45.items():
            heads[BONE[name]] = heads[BONE["LeftArm"]] + distance * np.array([0.5**0.5, -(0.5**0.5), 0.0])
        heads[BONE["LThumb"]] = heads[BONE["LeftHand"]] + np.array([0.01, -0.02, 0.04])
    for bone in range(N_BONES):
        if BONE_MIRROR[bone] > bone:
            heads[BONE_MIRROR[bone]] = heads[bone] * (-1, 1, 1)
    heads += (hips[0], 0, hips[1])

    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 0.03
    quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    faces = np.array([[q[0], q[i], q[i + 1]] for q in quads for i in (1, 2)])
    bones = np.repeat(np.arange(N_BONES), 8)
    weight_bones = np.stack((bones, np.maximum(PARENTS[bones], 0), 0 * bones, 0 * bones), axis=-1)
    weights = np.zeros((len(bones), 4))
    weights[:, 0] = np.tile(np.linspace(0.5, 1.0, 4).repeat(2), N_BONES)
    weights[:, 1] = 1 - weights[:, 0]
    # corners that mirror each other must hang on their bones alike
    is_right = np.tile(corners[:, 0] < 0, N_BONES)
    weights[is_right] = weights[np.arange(len(bones)) ^ 4][is_right]
    sides = {"l": "Left", "r": "Right"}
    carriers = [JOINT_BONES[j] if j in JOINT_BONES else sides[j[-1]] + JOINT_BONES[j[:-2]] for j in JOINTS]
    joint_bones = np.array([BONE[name] for name in carriers])
    return Body(
        vertices=(heads[:, None] + corners).reshape(-1, 3),
        faces=(8 * np.arange(N_BONES)[:, None, None] + faces).reshape(-1, 3),
        face_parts=np.zeros(12 * N_BONES, dtype=np.uint8),
        bone_heads=heads,
        weight_bones=weight_bones.astype(np.uint8),
        weights=weights,
        joint_bones=joint_bones.astype(np.uint8),
        joint_positions=heads[joint_bones] + (0.0, 0.01, 0.02),
    )


def rotation(axis: int, degrees: float) -> npt.NDArray[np.float64]:
    """Return the turn about axis x, y or z, right-handed."""
    i, j = (axis + 1) % 3, (axis + 2) % 3
    turn = np.eye(3)
    turn[[i, j], [i, j]] = np.cos(np.radians(degrees))
    turn[j, i] = np.sin(np.radians(degrees))
    turn[i, j] = -turn[j, i]
    return turn


def turned(**degrees: tuple[int, float]) -> Pose:
    """Return the T-pose with some bones, and all below them, turned: bone=(axis, degrees)."""
    rotations = np.tile(np.eye(3), (N_BONES, 1, 1))
    for bone in range(N_BONES):
        above = bone
        while above >= 0:
            name = next(n for n, i in BONE.items() if i == above)
            if name in degrees:
                rotations[bone] = rotation(*degrees[name]) @ rotations[bone]
            above = int(PARENTS[above])
    return Pose(rotations)


def random_pose(seed: int, clearance: float = 0.0) -> Pose:
    rng = np.random.default_rng(seed)
    matrices = [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(N_BONES)]
    return Pose(np.array([m * np.sign(np.linalg.det(m)) for m in matrices]), clearance)


T_POSE = Pose(np.tile(np.eye(3), (N_BONES, 1, 1)))


def test_t_pose_of_a_body_at_rest_in_the_t_pose_is_its_rest() -> None:
    body = boxy()
    posed = pose_body(body, T_POSE)
    np.testing.assert_allclose(posed.vertices, body.vertices, rtol=0, atol=1e-6)
    np.testing.assert_allclose(posed.joints, body.joint_positions, rtol=0, atol=1e-6)
    np.testing.assert_allclose(posed.bone_heads, body.bone_heads, rtol=0, atol=1e-6)
    for array in (posed.vertices, posed.joints, posed.bone_heads):
        assert array.dtype == np.float32


@pytest.mark.parametrize("is_a_pose", [False, True])
@pytest.mark.parametrize("hips", [(0.0, 0.0), (0.4, -0.3)])
def test_undoing_the_way_to_the_t_pose_gives_the_rest(is_a_pose: bool, hips: tuple[float, float]) -> None:
    body = boxy(is_a_pose, hips)
    posed = pose_body(body, Pose(body.to_t_pose.transpose(0, 2, 1)))
    offset = np.array([hips[0], 0, hips[1]])
    np.testing.assert_allclose(posed.vertices, body.vertices - offset, rtol=0, atol=1e-6)
    np.testing.assert_allclose(posed.joints, body.joint_positions - offset, rtol=0, atol=1e-6)


def test_t_pose_of_an_a_pose_body_has_level_arms() -> None:
    posed = pose_body(boxy(is_a_pose=True), T_POSE)
    for name, distance in ARMS_DOWN_45.items():
        np.testing.assert_allclose(posed.bone_heads[BONE[name]], (0.18 + distance, 1.4, 0), rtol=0, atol=1e-6)


def test_a_forearm_turned_90_degrees_goes_where_trigonometry_says() -> None:
    body = boxy()
    joints = dict(zip(JOINTS, pose_body(body, turned(LeftForeArm=(1, -90))).joints, strict=True))
    rest = dict(zip(JOINTS, body.joint_positions, strict=True))
    # about the upward axis, from the left to the front: (x, y, z) from the elbow goes to (-z, y, x)
    elbow = np.array(LEFT_HALF["LeftForeArm"])
    np.testing.assert_allclose(joints["wrist_l"], elbow + (-0.02, 0.01, 0.24), rtol=0, atol=1e-6)
    np.testing.assert_allclose(joints["hand_l"], elbow + (-0.02, 0.01, 0.32), rtol=0, atol=1e-6)
    for name in set(JOINTS) - {"elbow_l", "wrist_l", "hand_l"}:
        np.testing.assert_allclose(joints[name], rest[name], rtol=0, atol=1e-6)


def test_two_turns_add_up_along_the_chain() -> None:
    """Shoulder turned 30 degrees down, elbow 60 more: the forearm hangs."""
    posed = pose_body(boxy(), turned(LeftArm=(2, -30), LeftForeArm=(2, -60)))
    elbow = np.array([0.18 + 0.28 * np.cos(np.radians(30)), 1.4 - 0.28 * 0.5, 0.0])
    np.testing.assert_allclose(posed.bone_heads[BONE["LeftForeArm"]], elbow, rtol=0, atol=1e-6)
    np.testing.assert_allclose(posed.bone_heads[BONE["LeftHand"]], elbow - (0, 0.24, 0), rtol=0, atol=1e-6)


def test_a_vertex_follows_its_bones_by_weight() -> None:
    """A forearm turned by 180 degrees: a vertex that hangs on it and on the upper arm alike goes to the middle."""
    body = boxy()
    posed = pose_body(body, turned(LeftForeArm=(2, 180)))
    first = 8 * BONE["LeftForeArm"]
    elbow = np.array(LEFT_HALF["LeftForeArm"])
    for vertex in range(first, first + 8):
        arm = body.vertices[vertex] - elbow
        weight = body.weights[vertex, 0]
        expected = elbow + weight * arm * (-1, -1, 1) + (1 - weight) * arm
        np.testing.assert_allclose(posed.vertices[vertex], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("ground", ["feet", "lowest"])
@pytest.mark.parametrize("is_a_pose", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_random_poses_equal_twin(seed: int, is_a_pose: bool, ground: str) -> None:
    body, pose = boxy(is_a_pose, (0.2, 0.1)), random_pose(seed, clearance=0.1 * seed)
    comp = pose_body(body, pose, ground=ground)
    ref_vertices, ref_joints, ref_heads = naive.skin(body, pose, ground)
    np.testing.assert_allclose(comp.vertices, ref_vertices, rtol=0, atol=3e-6)
    np.testing.assert_allclose(comp.joints, ref_joints, rtol=0, atol=3e-6)
    np.testing.assert_allclose(comp.bone_heads, ref_heads, rtol=0, atol=3e-6)


@pytest.mark.parametrize("ground", ["feet", "lowest"])
@pytest.mark.parametrize("seed", range(3))
def test_a_mirrored_pose_gives_the_mirrored_body(seed: int, ground: str) -> None:
    body, pose = boxy(is_a_pose=True), random_pose(seed)
    straight, mirrored = pose_body(body, pose, ground=ground), pose_body(body, pose.mirrored(), ground=ground)
    # box of the mirrored bone, corner with the other x
    twins = (8 * BONE_MIRROR[:, None] + (np.arange(8) ^ 4)).ravel()
    np.testing.assert_allclose(mirrored.vertices, straight.vertices[twins] * (-1, 1, 1), rtol=0, atol=3e-6)
    np.testing.assert_allclose(mirrored.bone_heads, straight.bone_heads[BONE_MIRROR] * (-1, 1, 1), rtol=0, atol=3e-6)


def test_the_lower_foot_stands_on_the_floor() -> None:
    """The left knee lifted: the right sole stays on the floor, and so does everything above it."""
    body = boxy()
    posed = pose_body(body, turned(LeftUpLeg=(0, -90)))
    right = BONE["RightFoot"]
    np.testing.assert_allclose(posed.bone_heads[right], body.bone_heads[right], rtol=0, atol=1e-6)
    np.testing.assert_allclose(posed.bone_heads[BONE["LeftLeg"]], (0.1, 0.9, 0.4), rtol=0, atol=1e-6)


def test_both_knees_bent_bring_the_body_down_to_its_feet() -> None:
    body = boxy()
    bent = {f"{side}UpLeg": (0, -60.0) for side in ("Left", "Right")}
    bent |= {f"{side}Leg": (0, 90.0) for side in ("Left", "Right")}
    bent |= {f"{side}Foot": (0, -30.0) for side in ("Left", "Right")}
    posed = pose_body(body, turned(**bent))
    np.testing.assert_allclose(posed.bone_heads[list(FOOT_BONES), 1], body.bone_heads[list(FOOT_BONES), 1], atol=1e-6)
    hip = 0.08 + 0.4 * np.cos(np.radians(60)) + 0.42 * np.cos(np.radians(30))
    assert posed.bone_heads[BONE["LeftUpLeg"], 1] == pytest.approx(hip, abs=1e-6)


def test_clearance_lifts_in_leg_lengths() -> None:
    body = boxy()
    standing, jumping = pose_body(body, T_POSE), pose_body(body, Pose(T_POSE.rotations, 0.25))
    assert body.leg_length == pytest.approx(0.82)
    np.testing.assert_allclose(jumping.vertices - standing.vertices, np.tile((0, 0.205, 0), (248, 1)), atol=1e-6)


def test_lying_bodies_rest_on_their_lowest_vertex_with_hips_above_the_origin() -> None:
    posed = pose_body(boxy(hips=(0.3, 0.2)), turned(Hips=(0, -90)), ground="lowest")
    assert posed.vertices[:, 1].min() == pytest.approx(0, abs=1e-6)
    np.testing.assert_allclose(posed.bone_heads[0, [0, 2]], 0, atol=1e-6)
    # lying on the back, the head is behind the hips
    np.testing.assert_allclose(posed.bone_heads[BONE["Head"], 2], -0.56, atol=1e-6)


def test_an_unknown_ground_is_refused() -> None:
    with pytest.raises(BodyError, match=r"ground must be .*, got 'floor'"):
        pose_body(boxy(), T_POSE, ground="floor")
