"""The skeleton that all bodies and poses share: the 31 bones of the CMU motion captures.

Body space: meters, x to the person's left, y up, z forward out of the chest; a standing body has its soles at y = 0.
A bone is a joint and everything that rotates about it; the position of the joint is its head. In the T-pose the arms
point sideways, palms down, the legs straight down, the toes forward.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_PARENTS: dict[str, str] = {
    "Hips": "",
    "LHipJoint": "Hips",
    "LeftUpLeg": "LHipJoint",
    "LeftLeg": "LeftUpLeg",
    "LeftFoot": "LeftLeg",
    "LeftToeBase": "LeftFoot",
    "RHipJoint": "Hips",
    "RightUpLeg": "RHipJoint",
    "RightLeg": "RightUpLeg",
    "RightFoot": "RightLeg",
    "RightToeBase": "RightFoot",
    "LowerBack": "Hips",
    "Spine": "LowerBack",
    "Spine1": "Spine",
    "Neck": "Spine1",
    "Neck1": "Neck",
    "Head": "Neck1",
    "LeftShoulder": "Spine1",
    "LeftArm": "LeftShoulder",
    "LeftForeArm": "LeftArm",
    "LeftHand": "LeftForeArm",
    "LeftFingerBase": "LeftHand",
    "LeftHandFinger1": "LeftFingerBase",
    "LThumb": "LeftHand",
    "RightShoulder": "Spine1",
    "RightArm": "RightShoulder",
    "RightForeArm": "RightArm",
    "RightHand": "RightForeArm",
    "RightFingerBase": "RightHand",
    "RightHandFinger1": "RightFingerBase",
    "RThumb": "RightHand",
}

BONE_NAMES: tuple[str, ...] = tuple(_PARENTS)
"""Bone names; parents come before their children. The left and right collar bones are called Left/RightShoulder."""

N_BONES = len(BONE_NAMES)
BONE: dict[str, int] = {name: i for i, name in enumerate(BONE_NAMES)}
PARENTS: npt.NDArray[np.int64] = np.array([BONE.get(_PARENTS[name], -1) for name in BONE_NAMES])
"""Index of each bone's parent; -1 for the root."""


def _mirrored(name: str) -> str:
    for left, right in (("Left", "Right"), ("LHip", "RHip"), ("LThumb", "RThumb")):
        if name.startswith(left):
            return right + name[len(left) :]
        if name.startswith(right):
            return left + name[len(right) :]
    return name


BONE_MIRROR: npt.NDArray[np.int64] = np.array([BONE[_mirrored(name)] for name in BONE_NAMES])
"""Index of each bone's counterpart on the other side."""

T_POSE_DIRECTIONS: dict[str, tuple[str, tuple[float, float, float]]] = {
    f"{side}{bone}": (f"{side}{child}", (out * x, y, 0.0))
    for side, out in (("Left", 1.0), ("Right", -1.0))
    for bone, child, x, y in (
        ("Arm", "ForeArm", 1.0, 0.0),
        ("ForeArm", "Hand", 1.0, 0.0),
        ("Hand", "FingerBase", 1.0, 0.0),
        ("UpLeg", "Leg", 0.0, -1.0),
        ("Leg", "Foot", 0.0, -1.0),
    )
}
"""Bones that the T-pose straightens: bone -> (child it points to, direction in body space). Others keep their rest."""
