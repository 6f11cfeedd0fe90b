"""Rotations about axes, headings, and joint positions of a reference adult.

`mocap` and `sampling` make rotations with it; `diversity` compares the positions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, Singles
from synth.bodies import BONE_NAMES, N_BONES, PARENTS, BodyError

REFERENCE_STATURE = 1.75
"""Meters."""

# Meters, left side. Rounded shares of stature from common anthropometric tables: upper arm 0.186, forearm 0.146,
# thigh 0.245, shank 0.246, ankle 0.039; shoulder height 0.818. The joints of the trunk are placed as in the CMU
# skeleton.
_HEADS: dict[str, tuple[float, float, float]] = {
    "Hips": (0.0, 0.985, 0.0),
    "LHipJoint": (0.0, 0.985, 0.0),
    "LeftUpLeg": (0.09, 0.928, 0.0),
    "LeftLeg": (0.09, 0.499, 0.0),
    "LeftFoot": (0.09, 0.068, 0.0),
    "LeftToeBase": (0.09, 0.02, 0.14),
    "LowerBack": (0.0, 0.985, 0.0),
    "Spine": (0.0, 1.10, -0.01),
    "Spine1": (0.0, 1.22, -0.015),
    "Neck": (0.0, 1.46, -0.015),
    "Neck1": (0.0, 1.52, 0.0),
    "Head": (0.0, 1.59, 0.015),
    "LeftShoulder": (0.02, 1.42, 0.0),
    "LeftArm": (0.185, 1.432, -0.02),
    "LeftForeArm": (0.51, 1.432, -0.02),
    "LeftHand": (0.766, 1.432, -0.02),
    "LeftFingerBase": (0.856, 1.432, -0.02),
    "LeftHandFinger1": (0.90, 1.432, -0.02),
    "LThumb": (0.796, 1.427, 0.015),
}


def _both_sides() -> Floats:
    heads = np.zeros((N_BONES, 3))
    for bone, name in enumerate(BONE_NAMES):
        left = name.replace("Right", "Left").replace("RHip", "LHip").replace("RThumb", "LThumb")
        heads[bone] = _HEADS[left] if left == name else np.array((-1.0, 1.0, 1.0)) * _HEADS[left]
    heads.setflags(write=False)
    return heads


REFERENCE_HEADS: Floats = _both_sides()
"""Array (31, 3): heads of the bones of an adult of 1.75 m in the T-pose, body space, meters."""

REFERENCE_LEG = 0.86
"""Thigh plus shin of the reference adult, meters."""


def turns(axis: npt.ArrayLike, angle: npt.ArrayLike) -> Floats:
    """Return the rotations (..., 3, 3) about unit axes (..., 3) by angles (...) in radians.

    An axis of zeros gives the identity.
    """
    x, y, z = np.moveaxis(np.asarray(axis, dtype=np.float64), -1, 0)
    zero = np.zeros_like(x)
    skew = np.stack((zero, -z, y, z, zero, -x, -y, x, zero), axis=-1).reshape(*x.shape, 3, 3)
    angle = np.asarray(angle, dtype=np.float64)[..., None, None]
    return np.asarray(np.eye(3) + np.sin(angle) * skew + (1 - np.cos(angle)) * (skew @ skew))


def heading(rotations: npt.NDArray[Any]) -> Floats:
    """Return the yaw (...) in radians of rotations (..., 3, 3): 0 faces +z, pi/2 faces +x.

    It is the twist about the vertical in the swing-twist decomposition, so that the remaining rotation is smallest. It
    is therefore stable for bodies that bend or lie on any side, and arbitrary only upside down.
    """
    sine, cosine = rotations[..., 0, 2] - rotations[..., 2, 0], rotations[..., 0, 0] + rotations[..., 2, 2]
    return np.asarray(np.arctan2(sine, cosine), dtype=np.float64)


def joint_positions(rotations: npt.NDArray[Any], bone_heads: npt.NDArray[Any] | None = None) -> Singles:
    """Return the positions of the heads of all bones in a batch of poses, relative to the hips.

    Parameters
    ----------
    rotations : array (n, 31, 3, 3)
        Global rotations from the T-pose, as in `Pose`.
    bone_heads : array (31, 3), optional
        Heads in the T-pose, meters; default: the reference adult's.

    Returns
    -------
    array (n, 31, 3), float32
        Meters, in body space.
    """
    heads = np.asarray(REFERENCE_HEADS if bone_heads is None else bone_heads, dtype=np.float32)
    if rotations.ndim != 4 or rotations.shape[1:] != (N_BONES, 3, 3) or heads.shape != (N_BONES, 3):
        raise BodyError(
            f"expected rotations (n, {N_BONES}, 3, 3) and heads ({N_BONES}, 3), got {rotations.shape} and {heads.shape}"
        )
    positions = np.zeros((len(rotations), N_BONES, 3), dtype=np.float32)
    for bone, parent in enumerate(PARENTS):
        if parent >= 0:
            positions[:, bone] = positions[:, parent] + rotations[:, parent] @ (heads[bone] - heads[parent])
    return positions
