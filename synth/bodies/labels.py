"""Assign one of the 31 parts to every face of a body and place its 19 joints, from bones and geometry.

It serves any body on our skeleton that rests in a T- or A-pose: `makehuman` and `procedural` call it once per body.
Borders are planes through, and balls around, the joints. Their sizes are fractions of bone lengths, so that children
and adults are divided alike. The right side is labeled as the mirror image of the left, with the same arithmetic.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Bools, Floats
from depthforest.frames import BODY31, JOINTS
from synth.bodies.body import BodyError
from synth.bodies.skeleton import BONE, BONE_MIRROR, N_BONES

# Half widths of the bands and radii of the balls, in lengths of the bone above the joint. The comments give their sizes
# on a man of 1.75 m (upper arm and forearm 0.26 m, thigh and shin 0.42 m). Shotton et al. name the parts but give no
# sizes; these follow the pictures of the paper.
SHOULDER_RADIUS = 0.36  # 9.5 cm: the ball of the shoulder with the front of the armpit
ELBOW_HALF_BAND = 0.17  # 4.5 cm
WRIST_HALF_BAND = 0.12  # 3 cm
KNEE_HALF_BAND = 0.15  # 6.5 cm: the kneecap and as much below it
ANKLE_RADIUS = 0.16  # 7 cm: the ankle bones; the heel belongs to the foot
ANKLE_HALF_BAND = 0.12  # 5 cm above the joint

# Slopes of border planes: rise per meter outward (x) and forward (z).
HIP_CREASE_OUTWARDS = 0.8  # from the groin up to the hip bone
HIP_CREASE_FORWARDS = 0.3  # the buttocks belong to the torso
JAW_FORWARDS = -0.5  # from the nape down to the throat
COLLAR_FORWARDS = -0.5  # from the lowest neck bone down to the pit of the throat

GROIN_DROP = 0.1
"""Depth of the hip crease below the hip joint, at the joint's x, in thigh lengths."""
JAW_HEIGHT = 0.6
"""Height of the jaw plane at the Head bone, as a share of the way back from it to the Neck bone."""
FACE_HEIGHT = 0.22
"""Height of the border between upper and lower head, at the eyes: share of the way from the Head bone to the top."""
WAIST_HEIGHT = 0.5
"""Height of the border between upper and lower torso: share of the way from the hip joints to the Neck bone."""

_LEFT_ARM = tuple(
    BONE[name] for name in ("LeftArm", "LeftForeArm", "LeftHand", "LeftFingerBase", "LeftHandFinger1", "LThumb")
)
_LEFT_LEG = tuple(BONE[name] for name in ("LeftUpLeg", "LeftLeg", "LeftFoot", "LeftToeBase"))

TINY = 1e-30
"""Meters: a face center on the midline is moved this far to its side."""

_MIRROR_X = np.array([-1.0, 1.0, 1.0])


def face_parts(
    vertices: npt.NDArray[Any],
    faces: npt.NDArray[Any],
    bone_heads: npt.NDArray[Any],
    weight_bones: npt.NDArray[Any],
    weights: npt.NDArray[Any],
) -> npt.NDArray[np.uint8]:
    """Return the part in BODY31 of every face of a body in its rest pose.

    The skin weights separate arms from trunk and left from right limbs; all other borders are tested at the centers
    of the faces. A mirrored body gets exactly the mirrored labels; a face whose center lies on the midline belongs to
    the side of its first vertex.

    Parameters
    ----------
    vertices : array (n, 3)
        Rest positions in body space, meters.
    faces : array (m, 3) of int
        Vertex indices.
    bone_heads : array (31, 3)
        Rest positions of the bones of `skeleton.BONE_NAMES`, meters.
    weight_bones : array (n, 4) of int
        The bones that move each vertex.
    weights : array (n, 4)
        Their skin weights.

    Returns
    -------
    array (m,), uint8
    """
    corners, heads = _checked_points(vertices, bone_heads)
    faces = np.asarray(faces)
    weight_bones = np.asarray(weight_bones)
    n = len(corners)
    if faces.ndim != 2 or faces.shape[1] != 3 or faces.dtype.kind not in "iu" or not len(faces):
        raise BodyError(f"faces must be whole numbers of shape (m, 3), got {faces.dtype} {faces.shape}")
    if faces.min() < 0 or faces.max() >= n:
        raise BodyError(f"faces must name vertices from 0 to {n - 1}")
    if weight_bones.shape != np.shape(weights) or weight_bones.ndim != 2 or len(weight_bones) != n:
        raise BodyError(f"weight_bones and weights must have a row for each of the {n} vertices")
    if weight_bones.min() < 0 or weight_bones.max() >= N_BONES:
        raise BodyError(f"weight_bones must be from 0 to {N_BONES - 1}")

    # A sum of three float32 is exact in float64, so the order of a face's corners, which mirroring changes, has no
    # effect.
    centers = corners[faces].sum(axis=1) / 3
    centers[:, 0] = np.where(centers[:, 0] != 0, centers[:, 0], TINY * np.sign(corners[faces[:, 0], 0]))
    shares = limb_shares(weight_bones, weights)[faces].sum(axis=1) / 3
    return point_parts(centers, shares, heads, float(corners[:, 1].max()))


def point_parts(points: Floats, shares: Floats, bone_heads: Floats, top: float) -> npt.NDArray[np.uint8]:
    """Return the part in BODY31 (n,) of points of a surface.

    Parameters
    ----------
    points : array (n, 3), float64
        Points of the surface at rest, meters.
    shares : array (n, 4), float64
        Their `limb_shares`.
    bone_heads : array (31, 3), float64
        Rest positions of the bones, meters.
    top : float
        Height of the top of the head, meters.
    """
    arm_l, arm_r, leg_l, leg_r = shares.T
    # Bones decide a limb's side, because heavy thighs cross the midline; trunk and head are split at x = 0.
    is_left = points[:, 0] > 0
    on_left = np.where(arm_l + leg_l != arm_r + leg_r, arm_l + leg_l > arm_r + leg_r, is_left)
    parts = np.empty(len(points), dtype=np.uint8)
    parts[on_left] = _left_parts(points[on_left], bone_heads, arm_l[on_left], top)
    mirrored = _left_parts(points[~on_left] * _MIRROR_X, bone_heads[BONE_MIRROR] * _MIRROR_X, arm_r[~on_left], top)
    parts[~on_left] = BODY31.mirror_table[mirrored]
    swap = np.isin(parts, _MIDDLE_PARTS) & (is_left != on_left)
    parts[swap] = BODY31.mirror_table[parts[swap]]
    return parts


_MIDDLE_PARTS = [
    BODY31.index(f"{name}_{side}")
    for name in ("head_upper", "head_lower", "torso_upper", "torso_lower")
    for side in "lr"
]


def _checked_points(vertices: npt.NDArray[Any], bone_heads: npt.NDArray[Any]) -> tuple[Floats, Floats]:
    """Return vertices and bone heads rounded to float32, as float64, or raise BodyError."""
    corners = np.asarray(vertices, dtype=np.float32).astype(np.float64)
    heads = np.asarray(bone_heads, dtype=np.float32).astype(np.float64)
    if corners.ndim != 2 or corners.shape[1] != 3 or not len(corners) or not np.isfinite(corners).all():
        raise BodyError(f"vertices must be finite, of shape (n, 3), got shape {corners.shape}")
    if heads.shape != (N_BONES, 3) or not np.isfinite(heads).all():
        raise BodyError(f"bone_heads must be finite, of shape ({N_BONES}, 3), got shape {heads.shape}")
    return corners, heads


def limb_shares(weight_bones: npt.NDArray[Any], weights: npt.NDArray[Any]) -> Floats:
    """Return the skin weight (n, 4) of each vertex on left arm, right arm, left leg and right leg."""
    weights = np.asarray(weights, dtype=np.float32).astype(np.float64)
    shares = np.empty((len(weights), 4))
    for column, left_bones in ((0, _LEFT_ARM), (2, _LEFT_LEG)):
        for side, bones in enumerate((left_bones, tuple(BONE_MIRROR[list(left_bones)]))):
            is_limb = np.zeros(N_BONES, dtype=bool)
            is_limb[list(bones)] = True
            shares[:, column + side] = np.where(is_limb[weight_bones], weights, 0.0).sum(axis=1)
    return shares


def _left_parts(centers: Floats, heads: Floats, arm: Floats, top: float) -> npt.NDArray[np.uint8]:
    """Return the parts of faces of the left half from their centers and their skin weight on the arm."""
    head = {name: heads[i] for name, i in BONE.items()}
    is_arm = arm > 0.5
    is_leg = ~is_arm & _below_hip_crease(centers, head)
    is_above_collar, is_above_jaw = _above_collar_and_jaw(centers, head)
    is_neck = ~is_arm & is_above_collar
    is_head = is_neck & is_above_jaw
    face_height = head["Head"][1] + FACE_HEIGHT * (top - head["Head"][1])
    waist = (1 - WAIST_HEIGHT) * head["LeftUpLeg"][1] + WAIST_HEIGHT * head["Neck"][1]
    upper_arm = float(np.linalg.norm(head["LeftForeArm"] - head["LeftArm"]))
    is_shoulder = ~is_neck & _is_near(centers, head["LeftArm"], SHOULDER_RADIUS * upper_arm)
    names_and_masks: tuple[tuple[str, Bools], ...] = (
        *_arm_masks(centers, head, is_arm, is_shoulder),
        *_leg_masks(centers, head, is_leg),
        ("head_upper_l", is_head & (centers[:, 1] >= face_height)),
        ("head_lower_l", is_head),
        ("neck", is_neck),
        ("torso_upper_l", centers[:, 1] >= waist),
    )
    labels = [np.uint8(BODY31.index(name)) for name, _ in names_and_masks]
    lowest = np.uint8(BODY31.index("torso_lower_l"))
    return np.select([mask for _, mask in names_and_masks], labels, lowest)


def _arm_masks(
    centers: Floats, head: dict[str, Floats], is_arm: Bools, is_shoulder: Bools
) -> tuple[tuple[str, Bools], ...]:
    upper, upper_arm = _direction(head["LeftArm"], head["LeftForeArm"])
    lower, forearm = _direction(head["LeftForeArm"], head["LeftHand"])
    palm, _ = _direction(head["LeftHand"], head["LeftHandFinger1"])
    elbow, wrist = centers - head["LeftForeArm"], centers - head["LeftHand"]
    return (
        ("shoulder_l", is_shoulder),
        ("arm_upper_l", is_arm & (elbow @ upper < -ELBOW_HALF_BAND * upper_arm)),
        ("elbow_l", is_arm & (elbow @ lower <= ELBOW_HALF_BAND * upper_arm)),
        ("arm_lower_l", is_arm & (wrist @ lower < -WRIST_HALF_BAND * forearm)),
        ("wrist_l", is_arm & (wrist @ palm <= WRIST_HALF_BAND * forearm)),
        ("hand_l", is_arm),
    )


def _leg_masks(centers: Floats, head: dict[str, Floats], is_leg: Bools) -> tuple[tuple[str, Bools], ...]:
    upper, thigh = _direction(head["LeftUpLeg"], head["LeftLeg"])
    lower, shin = _direction(head["LeftLeg"], head["LeftFoot"])
    knee, ankle = centers - head["LeftLeg"], centers - head["LeftFoot"]
    along_shin = ankle @ lower
    is_ankle = (along_shin < 0) | _is_near(centers, head["LeftFoot"], ANKLE_RADIUS * shin)
    return (
        ("leg_upper_l", is_leg & (knee @ upper < -KNEE_HALF_BAND * thigh)),
        ("knee_l", is_leg & (knee @ lower <= KNEE_HALF_BAND * thigh)),
        ("leg_lower_l", is_leg & (along_shin < -ANKLE_HALF_BAND * shin)),
        ("ankle_l", is_leg & is_ankle),
        ("foot_l", is_leg),
    )


def _below_hip_crease(centers: Floats, head: dict[str, Floats]) -> Bools:
    x, y, z = (centers - head["LeftUpLeg"]).T
    _, thigh = _direction(head["LeftUpLeg"], head["LeftLeg"])
    return np.asarray(y < HIP_CREASE_OUTWARDS * x + HIP_CREASE_FORWARDS * z - GROIN_DROP * thigh)


def _above_collar_and_jaw(centers: Floats, head: dict[str, Floats]) -> tuple[Bools, Bools]:
    _, y, z = (centers - head["Neck"]).T
    is_above_collar = y > COLLAR_FORWARDS * z
    _, y, z = (centers - head["Head"]).T
    length = head["Head"][1] - head["Neck"][1]
    return is_above_collar, is_above_collar & (y > JAW_FORWARDS * z - JAW_HEIGHT * length)


def _direction(start: Floats, end: Floats) -> tuple[Floats, float]:
    """Return the unit vector from start to end, and their distance."""
    length = float(np.linalg.norm(end - start))
    if length == 0:
        raise BodyError("two bones of a limb have the same head; a limb needs a length")
    return (end - start) / length, length


def _is_near(centers: Floats, point: Floats, radius: float) -> Bools:
    return np.asarray(((centers - point) ** 2).sum(axis=1) < radius**2)


def joint_anchors(
    vertices: npt.NDArray[Any], bone_heads: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]:
    """Return the bone that carries each joint of `parts.JOINTS`, and the joint's rest position.

    Shoulder, elbow, wrist, hip, knee and ankle are the heads of Arm, ForeArm, Hand, UpLeg, Leg and Foot.

    - head: the middle of the skull and the face: halfway between the top of the head and the jaw, and halfway between
      nose and back of the head; carried by Head.
    - neck: a third of the way from the head of Neck to that of Head, the middle of the part; carried by Neck.
    - spine: halfway between the hip joints and the head of Neck; carried by Spine.
    - hand: the mean of the surface within half a palm of the middle of the palm, which is halfway between the wrist and
      the first knuckle; carried by Hand.
    - foot: inside the toes: from the head of ToeBase 60 % of the way to the tip of the foot, halfway down to the sole;
      carried by ToeBase.

    Parameters
    ----------
    vertices : array (n, 3)
        Rest positions in body space, meters.
    bone_heads : array (31, 3)
        Rest positions of the bones, meters.

    Returns
    -------
    joint_bones : array (19,), uint8
    joint_positions : array (19, 3), float32
    """
    corners, heads = _checked_points(vertices, bone_heads)
    head = {name: heads[i] for name, i in BONE.items()}
    anchors: dict[str, tuple[str, Floats]] = {
        "head": ("Head", _head_center(corners, head)),
        "neck": ("Neck", (2 * head["Neck"] + head["Head"]) / 3),
        "spine": ("Spine", (head["LeftUpLeg"] + head["RightUpLeg"] + 2 * head["Neck"]) / 4),
    }
    for side, letter in (("Left", "l"), ("Right", "r")):
        for joint, bone in (
            ("shoulder", "Arm"),
            ("elbow", "ForeArm"),
            ("wrist", "Hand"),
            ("hip", "UpLeg"),
            ("knee", "Leg"),
            ("ankle", "Foot"),
        ):
            anchors[f"{joint}_{letter}"] = (f"{side}{bone}", head[f"{side}{bone}"])
        anchors[f"hand_{letter}"] = (f"{side}Hand", _palm_center(corners, head, side))
        anchors[f"foot_{letter}"] = (f"{side}ToeBase", _toes(corners, head, side))
    bones = np.array([BONE[anchors[joint][0]] for joint in JOINTS], dtype=np.uint8)
    return bones, np.array([anchors[joint][1] for joint in JOINTS], dtype=np.float32)


TOES_SHARE = 0.6
JAW_BELOW_HEAD = 0.5
"""How far the jaw is below the Head bone, as a share of the height of the skull above that bone."""


def _head_center(corners: Floats, head: dict[str, Floats]) -> Floats:
    skull = corners[corners[:, 1] > head["Head"][1]]
    if not len(skull):
        raise BodyError("a body needs vertices above its Head bone")
    low, high = skull.min(axis=0), skull.max(axis=0)
    jaw = head["Head"][1] - JAW_BELOW_HEAD * (high[1] - head["Head"][1])
    return np.array([head["Head"][0], (jaw + high[1]) / 2, (low[2] + high[2]) / 2])


def _palm_center(corners: Floats, head: dict[str, Floats], side: str) -> Floats:
    wrist, knuckle = head[f"{side}Hand"], head[f"{side}HandFinger1"]
    middle = (wrist + knuckle) / 2
    palm = corners[_is_near(corners, middle, float(np.linalg.norm(knuckle - wrist)) / 2)]
    return np.asarray(palm.mean(axis=0)) if len(palm) else middle


def _toes(corners: Floats, head: dict[str, Floats], side: str) -> Floats:
    ankle, toes = head[f"{side}Foot"], head[f"{side}ToeBase"]
    along = (toes - ankle) * (1.0, 0.0, 1.0)
    along, length = _direction(np.zeros(3), along)
    foot = corners[_is_near(corners, toes, length) & (corners[:, 1] < ankle[1])] - toes
    reach = max(float((foot @ along).max()), 0.0) if len(foot) else 0.0
    sole = float(foot[:, 1].min()) if len(foot) else 0.0
    return toes + TOES_SHARE * reach * along + (0.0, sole / 2, 0.0)
