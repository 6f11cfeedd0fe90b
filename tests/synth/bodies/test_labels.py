from __future__ import annotations

import numpy as np
import pytest
from support import boxman

from depthforest.frames.parts import BODY31, JOINT_MIRROR, JOINTS
from synth.bodies import labels
from synth.bodies.body import BodyError
from synth.bodies.skeleton import BONE, BONE_MIRROR

MAN = boxman.make()


@pytest.fixture(scope="module")
def parts() -> np.ndarray:
    return labels.face_parts(*MAN.args)


def centers_of(name: str, parts: np.ndarray) -> np.ndarray:
    centers = MAN.points[MAN.faces].mean(axis=1)[parts == BODY31.index(name)]
    assert len(centers), f"no face is {name}"
    return centers


def crooked_man() -> boxman.BoxMan:
    """Nobody is symmetric: every coordinate and bone moves by a millimeter or two."""
    rng = np.random.default_rng(3)
    man = boxman.make()
    man.points = (man.points + rng.normal(scale=0.002, size=man.points.shape)).astype(np.float32)
    man.heads = (man.heads + rng.normal(scale=0.001, size=man.heads.shape)).astype(np.float32)
    return man


def test_every_part_is_there_and_on_its_side(parts: np.ndarray) -> None:
    for name in BODY31.names:
        x = centers_of(name, parts)[:, 0]
        if name.endswith("_l"):
            assert x.min() > 0
        elif name.endswith("_r"):
            assert x.max() < 0


def test_mirrored_body_has_mirrored_labels() -> None:
    man = crooked_man()
    flip = np.array([-1, 1, 1], dtype=np.float32)
    bones, weights = man.skin
    mirrored = labels.face_parts(
        man.points * flip, man.faces[:, ::-1], (man.heads * flip)[BONE_MIRROR], BONE_MIRROR[bones], weights
    )
    np.testing.assert_array_equal(BODY31.mirror_table[labels.face_parts(*man.args)], mirrored)


def test_order_of_corners_is_irrelevant() -> None:
    man = crooked_man()
    points, faces, *rest = man.args
    np.testing.assert_array_equal(
        labels.face_parts(points, faces, *rest), labels.face_parts(points, faces[:, [1, 2, 0]], *rest)
    )


def test_a_child_is_cut_like_an_adult(parts: np.ndarray) -> None:
    points, faces, heads, *skin = MAN.args
    np.testing.assert_array_equal(parts, labels.face_parts(points / 2, faces, heads / 2, *skin))


def test_arms_keep_their_labels_in_an_a_pose(parts: np.ndarray) -> None:
    lowered = boxman.make()
    arm_bones = {BONE[n] for n in ("LeftArm", "LeftForeArm", "LeftHand", "LeftFingerBase", "LeftHandFinger1", "LThumb")}
    angle = np.deg2rad(-50)
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    shoulder = lowered.heads[BONE["LeftArm"]].copy()
    on_arm = lowered.weights[:, sorted(arm_bones)].sum(axis=1) > 0.5
    lowered.points[on_arm] = (lowered.points[on_arm] - shoulder) @ turn.T + shoulder
    for bone in arm_bones:
        lowered.heads[bone] = (lowered.heads[bone] - shoulder) @ turn.T + shoulder
    np.testing.assert_array_equal(labels.face_parts(*lowered.args), parts)


@pytest.mark.parametrize(
    ("joint", "neighbors", "bone", "parent", "half_band", "axis"),
    [
        ("elbow_l", ("arm_upper_l", "arm_lower_l"), "LeftForeArm", "LeftArm", labels.ELBOW_HALF_BAND, 0),
        ("knee_r", ("leg_upper_r", "leg_lower_r"), "RightLeg", "RightUpLeg", labels.KNEE_HALF_BAND, 1),
        ("wrist_l", ("arm_lower_l",), "LeftHand", "LeftForeArm", labels.WRIST_HALF_BAND, 0),
    ],
)
def test_joints_of_limbs_are_bands(
    parts: np.ndarray, joint: str, neighbors: tuple[str, ...], bone: str, parent: str, half_band: float, axis: int
) -> None:
    head = MAN.heads[BONE[bone]]
    half = half_band * np.linalg.norm(head - MAN.heads[BONE[parent]])
    slack = 0.009  # the palm points a little forwards, and the wrist's lower border with it
    assert np.abs(centers_of(joint, parts)[:, axis] - head[axis]).max() <= half + slack * (joint == "wrist_l")
    for neighbor in neighbors:
        assert np.abs(centers_of(neighbor, parts)[:, axis] - head[axis]).min() >= half


def test_shoulder_is_a_ball(parts: np.ndarray) -> None:
    center = MAN.heads[BONE["LeftArm"]]
    radius = labels.SHOULDER_RADIUS * 0.29
    assert np.linalg.norm(centers_of("shoulder_l", parts) - center, axis=1).max() < radius
    for name in ("arm_upper_l", "torso_upper_l"):
        assert np.linalg.norm(centers_of(name, parts) - center, axis=1).min() >= radius


def test_head_neck_and_torso_are_stacked(parts: np.ndarray) -> None:
    heights = [
        centers_of(name, parts)[:, 1].mean()
        for name in ("leg_upper_l", "torso_lower_l", "torso_upper_l", "neck", "head_lower_l", "head_upper_l")
    ]
    assert heights == sorted(heights)
    assert centers_of("head_lower_r", parts)[:, 1].max() <= centers_of("head_upper_r", parts)[:, 1].min()


def test_joint_anchors() -> None:
    bones, positions = labels.joint_anchors(MAN.points, MAN.heads)
    assert (bones.dtype, bones.shape) == (np.uint8, (len(JOINTS),))
    assert (positions.dtype, positions.shape) == (np.float32, (len(JOINTS), 3))
    at = dict(zip(JOINTS, positions, strict=True))
    for joint, bone in (("shoulder_l", "LeftArm"), ("knee_r", "RightLeg"), ("hip_l", "LeftUpLeg")):
        np.testing.assert_allclose(at[joint], MAN.heads[BONE[bone]], atol=1e-6)
        assert bones[JOINTS.index(joint)] == BONE[bone]
    # inside the tubes that they belong to
    assert abs(at["head"][2] - 0.03) < 0.02
    assert 1.58 < at["head"][1] < 1.70
    np.testing.assert_allclose(at["hand_l"], (0.79, 1.43, 0.0), atol=0.02)
    assert 0.14 < at["foot_l"][2] < 0.21
    assert 0 < at["foot_l"][1] < 0.08
    for joint, other in JOINT_MIRROR.items():
        np.testing.assert_allclose(at[joint] * (-1, 1, 1), at[other], atol=1e-6)


@pytest.mark.parametrize(
    ("position", "bad", "message"),
    [
        (0, np.full((5, 3), np.nan), "vertices must be finite"),
        (1, np.zeros((4, 4), dtype=int), r"faces must be whole numbers of shape \(m, 3\)"),
        (1, np.full((4, 3), 10**6), "faces must name vertices from 0 to"),
        (2, np.zeros((30, 3)), r"bone_heads must be finite, of shape \(31, 3\)"),
        (2, np.zeros((31, 3)), "a limb needs a length"),
        (3, np.zeros((3, 4), dtype=int), "a row for each"),
        (3, np.full((len(MAN.points), 4), 31), "weight_bones must be from 0 to 30"),
    ],
)
def test_what_contradicts_itself_is_an_error(position: int, bad: np.ndarray, message: str) -> None:
    args = list(MAN.args)
    args[position] = bad
    with pytest.raises(BodyError, match=message):
        labels.face_parts(*args)


def test_a_body_needs_a_head() -> None:
    with pytest.raises(BodyError, match="above its Head bone"):
        labels.joint_anchors(MAN.points - (0, 0.5, 0), MAN.heads)
