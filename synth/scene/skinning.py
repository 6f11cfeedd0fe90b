"""Linear blend skinning: a `Body` and a `Pose` become the posed surface, with its joints, standing on the floor.

`body` defines the input; `rendering` draws the result, once the scene has moved it into camera space. Everything is in
body space (`skeleton`): meters, x to the person's left, y up, z forward.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, Singles, kernel
from synth.bodies import BONE, N_BONES, PARENTS, Body, BodyError, Pose

Ground = Literal["feet", "lowest"]

FOOT_BONES: tuple[int, ...] = tuple(BONE[name] for name in ("LeftFoot", "LeftToeBase", "RightFoot", "RightToeBase"))
"""Ankles and balls of the feet: the bones that determine the floor."""


@dataclass(frozen=True, eq=False)
class PosedBody:
    """A body in a pose.

    Parameters
    ----------
    vertices : array (n, 3), float32
        The body's vertices, meters; its faces and their parts are those of the `Body`.
    joints : array (19, 3), float32
        The joints in the order of `parts.JOINTS`.
    bone_heads : array (31, 3), float32
        The bones in the order of `skeleton.BONE_NAMES`.
    """

    vertices: Singles
    joints: Singles
    bone_heads: Singles


def pose_body(body: Body, pose: Pose, *, ground: Ground = "feet") -> PosedBody:
    """Rotate every bone of a body by a pose, and put the body on the floor.

    With G(b) = pose.rotations[b] @ body.to_t_pose[b], the heads of the bones are p(child) = p(parent) + G(parent)
    (head(child) - head(parent)), and a vertex x moves to the sum over its bones of weight (G(b) (x - head(b)) + p(b)).
    A joint moves with the one bone that carries it.

    Parameters
    ----------
    body : Body
    pose : Pose
    ground : "feet" or "lowest"
        The height of the body. "feet": each ankle and ball of a foot (`FOOT_BONES`) has a rise, its height above the
        floor minus its height in the rest pose, whose soles are at y = 0; the smallest of these four rises becomes
        ``pose.foot_clearance * body.leg_length``. So the sole of a flat foot stands on the floor. "lowest": the lowest
        vertex is at y = 0, whatever the clearance: for bodies that lie, kneel or sit on the floor.

    Returns
    -------
    PosedBody
        Its hips are above the origin: x = z = 0.
    """
    if ground not in get_args(Ground):
        raise BodyError(f'ground must be "feet" or "lowest", got {ground!r}')
    heads = np.empty((N_BONES, 3))
    moves = np.empty((N_BONES, 3, 4), dtype=np.float32)
    _place_bones(pose.rotations, body.to_t_pose, body.bone_heads, PARENTS, heads, moves)

    shift = -heads[0]
    if ground == "feet":
        rises = [heads[bone, 1] - float(body.bone_heads[bone, 1]) for bone in FOOT_BONES]
        shift[1] = pose.foot_clearance * body.leg_length - min(rises)
        moves[:, :, 3] += shift
    vertices = np.empty((len(body.vertices), 3), dtype=np.float32)
    _skin(body.vertices, body.weight_bones, body.weights, moves, vertices)
    if ground == "lowest":
        shift[1] = -float(vertices[:, 1].min())
        vertices += shift.astype(np.float32)
        moves[:, :, 3] += shift

    joints = np.empty((len(body.joint_bones), 3), dtype=np.float32)
    _carry(body.joint_positions, body.joint_bones, moves, joints)
    return PosedBody(vertices, joints, (heads + shift).astype(np.float32))


@kernel
def _place_bones(
    rotations: Singles,
    to_t_pose: Floats,
    rest_heads: Singles,
    parents: npt.NDArray[np.int64],
    heads: Floats,
    moves: Singles,
) -> None:
    """Write the posed head of every bone, and its transform (3, 4) from rest to pose: a rotation and a shift.

    The hips stay in their rest position. Parents come before their children.
    """
    turns = np.empty(to_t_pose.shape)
    for bone in range(len(parents)):
        for i in range(3):
            for j in range(3):
                total = 0.0
                for k in range(3):
                    total += rotations[bone, i, k] * to_t_pose[bone, k, j]
                turns[bone, i, j] = total
        parent = parents[bone]
        for i in range(3):
            if parent < 0:
                heads[bone, i] = rest_heads[bone, i]
            else:
                heads[bone, i] = heads[parent, i]
                for k in range(3):
                    step = np.float64(rest_heads[bone, k]) - np.float64(rest_heads[parent, k])
                    heads[bone, i] += turns[parent, i, k] * step
        for i in range(3):
            shift = heads[bone, i]
            for k in range(3):
                shift -= turns[bone, i, k] * rest_heads[bone, k]
                moves[bone, i, k] = turns[bone, i, k]
            moves[bone, i, 3] = shift


@kernel
def _carry(rest: Singles, bones: npt.NDArray[np.uint8], moves: Singles, points: Singles) -> None:
    """Write every point moved by its bone."""
    for i in range(len(rest)):
        m = moves[bones[i]]
        for k in range(3):
            points[i, k] = m[k, 0] * rest[i, 0] + m[k, 1] * rest[i, 1] + m[k, 2] * rest[i, 2] + m[k, 3]


@kernel
def _skin(
    rest: Singles,
    weight_bones: npt.NDArray[np.uint8],
    weights: Singles,
    moves: Singles,
    vertices: Singles,
) -> None:
    """Write every vertex moved by the weighted mean of its bones' transforms."""
    for vertex in range(len(rest)):
        x, y, z = rest[vertex, 0], rest[vertex, 1], rest[vertex, 2]
        new_x = new_y = new_z = np.float32(0)
        for slot in range(weights.shape[1]):
            weight = weights[vertex, slot]
            if weight > 0:
                m = moves[weight_bones[vertex, slot]]
                new_x += weight * (m[0, 0] * x + m[0, 1] * y + m[0, 2] * z + m[0, 3])
                new_y += weight * (m[1, 0] * x + m[1, 1] * y + m[1, 2] * z + m[1, 3])
                new_z += weight * (m[2, 0] * x + m[2, 1] * y + m[2, 2] * z + m[2, 3])
        vertices[vertex, 0] = new_x
        vertices[vertex, 1] = new_y
        vertices[vertex, 2] = new_z
