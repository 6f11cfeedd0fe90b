"""Body: a skinned, labeled human surface in its rest pose. Pose: the rotations that move it.

Body space is that of `skeleton`: meters, x to the person's left, y up, z forward, soles at y = 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import DepthForestError, Floats, Singles
from depthforest.frames import BODY31, JOINTS
from synth.bodies.skeleton import BONE, BONE_MIRROR, N_BONES, PARENTS, T_POSE_DIRECTIONS

WEIGHTS_PER_VERTEX = 4


class BodyError(DepthForestError, ValueError):
    """A body or a pose with inconsistent arrays."""


@dataclass(frozen=True, eq=False)
class Body:
    """A human surface at rest.

    Parameters
    ----------
    vertices : array (n, 3), float32
        Rest positions in body space, meters.
    faces : array (m, 3), int32
        Vertex indices, counterclockwise when seen from outside.
    face_parts : array (m,), uint8
        Label in BODY31 of every face.
    bone_heads : array (31, 3), float32
        Rest positions of the bones of `skeleton.BONE_NAMES`.
    weight_bones : array (n, 4), uint8
        The bones that move each vertex.
    weights : array (n, 4), float32
        Their skin weights: nonnegative, summing to 1 per vertex; unused ones are 0.
    joint_bones : array (19,), uint8
        The bone that carries each joint of `parts.JOINTS`.
    joint_positions : array (19, 3), float32
        Rest positions of these joints.
    measures : mapping of str to float
        The measurements that the body was made from (stature in meters, and so on), for statistics and model cards.
    """

    vertices: Singles
    faces: npt.NDArray[np.int32]
    face_parts: npt.NDArray[np.uint8]
    bone_heads: Singles
    weight_bones: npt.NDArray[np.uint8]
    weights: Singles
    joint_bones: npt.NDArray[np.uint8]
    joint_positions: Singles
    measures: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n, m = len(self.vertices), len(self.faces)
        for name, dtype, shape in (
            ("vertices", np.float32, (n, 3)),
            ("faces", np.int32, (m, 3)),
            ("face_parts", np.uint8, (m,)),
            ("bone_heads", np.float32, (N_BONES, 3)),
            ("weight_bones", np.uint8, (n, WEIGHTS_PER_VERTEX)),
            ("weights", np.float32, (n, WEIGHTS_PER_VERTEX)),
            ("joint_bones", np.uint8, (len(JOINTS),)),
            ("joint_positions", np.float32, (len(JOINTS), 3)),
        ):
            array = np.ascontiguousarray(getattr(self, name), dtype=dtype)
            if array.shape != shape:
                raise BodyError(f"a body's {name} must have shape {shape}, got {array.shape}")
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise BodyError(f"a body's {name} must be finite")
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if n == 0 or m == 0 or self.faces.min() < 0 or self.faces.max() >= n:
            raise BodyError(f"a body's faces must name vertices from 0 to {n - 1}")
        if self.weight_bones.max() >= N_BONES or self.joint_bones.max() >= N_BONES:
            raise BodyError(f"a body's bones must be from 0 to {N_BONES - 1}")
        if self.weights.min() < 0 or np.abs(self.weights.sum(axis=1) - 1).max() > 1e-3:
            raise BodyError("a body's skin weights must not be negative and must sum to 1 for every vertex")
        if self.face_parts.max() >= len(BODY31):
            raise BodyError(f"a body's part labels must be from 0 to {len(BODY31) - 1}")
        object.__setattr__(self, "measures", dict(self.measures))
        object.__setattr__(self, "to_t_pose", t_pose_rotations(self.bone_heads))

    to_t_pose: Floats = field(init=False, repr=False)
    """Array (31, 3, 3): the global rotation of every bone that brings the rest into the T-pose."""

    @cached_property
    def leg_length(self) -> float:
        """Thigh plus shin in meters, mean of both sides."""
        lengths = [
            np.linalg.norm(self.bone_heads[BONE[f"{s}{a}"]] - self.bone_heads[BONE[f"{s}{b}"]])
            for s in ("Left", "Right")
            for a, b in (("UpLeg", "Leg"), ("Leg", "Foot"))
        ]
        return float(sum(lengths) / 2)


@dataclass(frozen=True, eq=False)
class Pose:
    """The rotations of the bones, independent of the body that they are applied to.

    Parameters
    ----------
    rotations : array (31, 3, 3), float32
        The global rotation (not relative to the parent) of every bone from the T-pose, in body space. The identity
        everywhere is the T-pose.
    foot_clearance : float
        Height of the lower foot above the ground, in leg lengths: 0 stands on the floor.
    """

    rotations: Singles
    foot_clearance: float = 0.0

    def __post_init__(self) -> None:
        rotations = np.ascontiguousarray(self.rotations, dtype=np.float32)
        if rotations.shape != (N_BONES, 3, 3):
            raise BodyError(f"a pose has {N_BONES} rotations of 3 x 3, got shape {rotations.shape}")
        if not np.isfinite(rotations).all() or not np.isfinite(self.foot_clearance):
            raise BodyError("a pose must be finite")
        rotations.setflags(write=False)
        object.__setattr__(self, "rotations", rotations)

    def mirrored(self) -> Pose:
        """Return the pose as seen in a mirror: left and right are swapped."""
        return Pose(self.rotations[BONE_MIRROR] * _MIRRORED, self.foot_clearance)


_MIRRORED = np.outer((-1.0, 1.0, 1.0), (-1.0, 1.0, 1.0)).astype(np.float32)
"""Signs (3, 3) that turn a rotation into its mirror image across x = 0."""


def t_pose_rotations(bone_heads: npt.NDArray[Any]) -> Floats:
    """Return the global rotation (31, 3, 3) of every bone that brings a rest pose into the T-pose.

    Arms and legs are straightened by the smallest rotation; fingers follow their hand; other bones do not move.
    """
    rotations = np.tile(np.eye(3), (N_BONES, 1, 1))
    for name, (child, direction) in T_POSE_DIRECTIONS.items():
        along = np.asarray(bone_heads[BONE[child]], dtype=np.float64) - bone_heads[BONE[name]]
        rotations[BONE[name]] = shortest_turn(along, np.asarray(direction))
    for bone in range(N_BONES):
        parent = PARENTS[bone]
        if parent >= 0 and _is_below_hand(bone):
            rotations[bone] = rotations[parent]
    return rotations


def _is_below_hand(bone: int) -> bool:
    while (bone := int(PARENTS[bone])) >= 0:
        if bone in (BONE["LeftHand"], BONE["RightHand"]):
            return True
    return False


def shortest_turn(start: Floats, end: Floats) -> Floats:
    """Return the 3 x 3 rotation of the smallest angle that turns one direction into another."""
    a, b = start / np.linalg.norm(start), end / np.linalg.norm(end)
    cos = float(a @ b)
    if cos < -1 + 1e-9:  # opposite: half a turn about any axis across
        across = np.cross(a, np.eye(3)[np.argmin(np.abs(a))])
        across /= np.linalg.norm(across)
        return np.asarray(2 * np.outer(across, across) - np.eye(3))
    x, y, z = np.cross(a, b)
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.eye(3) + skew + skew @ skew / (1 + cos))
