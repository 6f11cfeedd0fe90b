"""Slow, obvious twins of synth's kernels.

Rendering is done in whole numbers of any size: vertices, lens and pixels are binary fractions, so that a common factor
makes them integers, and coverage is decided exactly, without projecting, clipping or rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from depthforest.frames.camera import Camera
from depthforest.frames.parts import NO_PART
from synth.bodies.body import Body, Pose
from synth.bodies.skeleton import BONE, N_BONES, PARENTS
from synth.scene.rendering import Mesh, Rendered

Vector = tuple[int, int, int]


def skin(body: Body, pose: Pose, ground: str) -> tuple[npt.NDArray[np.float64], ...]:
    """Return vertices, joints and bone heads of a posed body, as `skinning.pose_body` defines them."""
    rest = body.bone_heads.astype(np.float64)
    turns = [pose.rotations[b].astype(np.float64) @ body.to_t_pose[b] for b in range(N_BONES)]
    heads = [rest[0]]
    for bone in range(1, N_BONES):
        parent = PARENTS[bone]
        heads.append(heads[parent] + turns[parent] @ (rest[bone] - rest[parent]))

    def moved(point: npt.NDArray[np.float32], bone: int) -> npt.NDArray[np.float64]:
        return turns[bone] @ (point - rest[bone]) + heads[bone]

    vertices = np.zeros((len(body.vertices), 3))
    for i, vertex in enumerate(body.vertices):
        for bone, weight in zip(body.weight_bones[i], body.weights[i], strict=True):
            vertices[i] += weight * moved(vertex, bone)
    joints = np.array([moved(p, b) for p, b in zip(body.joint_positions, body.joint_bones, strict=True)])

    if ground == "feet":
        feet = [BONE[f"{side}{bone}"] for side in ("Left", "Right") for bone in ("Foot", "ToeBase")]
        lift = pose.foot_clearance * body.leg_length - min(heads[b][1] - rest[b][1] for b in feet)
    else:
        lift = -min(y for _, y, _ in vertices)
    shift = np.array([-rest[0][0], lift, -rest[0][2]])
    return vertices + shift, joints + shift, np.array(heads) + shift


def cover(
    camera: Camera, vertices: npt.NDArray[np.float32], face: Sequence[int], near: float
) -> npt.NDArray[np.float64]:
    """Return the depth (rows, cols) of one face wherever it covers a pixel's center, elsewhere inf.

    The plane through the eye and an edge of the face splits the pixels' rays; a ray inside the face lies on the inner
    side of all three. A ray in such a plane is moved to the right by an infinitely small amount, and downwards by one
    that is infinitely smaller still: this is the top-left rule.
    """
    corners, scale = _whole_numbers(vertices[list(face)])
    a, b, c = corners
    normal = _cross(_minus(b, a), _minus(c, a))
    plane = _dot(normal, a)
    depth = np.full(camera.shape, np.inf)
    if plane == 0:
        return depth  # no area, or seen exactly from its edge
    inner = 1 if plane > 0 else -1
    walls = [_cross(a, b), _cross(b, c), _cross(c, a)]
    ((fx, fy, cx, cy, one),), _ = _whole_numbers([[camera.fx, camera.fy, camera.cx, camera.cy, 1.0]])
    for row in range(camera.height):
        for col in range(camera.width):
            ray = (fy * (col * one - cx), fx * (row * one - cy), fx * fy)
            to_the_right, downwards = (fy * one, 0, 0), (0, fx * one, 0)
            for wall in walls:
                sides = [_dot(wall, direction) * inner for direction in (ray, to_the_right, downwards)]
                if next((side for side in sides if side != 0), -1) < 0:
                    break
            else:
                z = Fraction(plane * ray[2], _dot(normal, ray) * scale) if _dot(normal, ray) else Fraction(0)
                if z >= Fraction(near):
                    depth[row, col] = z
    return depth


def render(camera: Camera, meshes: Sequence[Mesh], near: float = 0.05, far: float = math.inf) -> Rendered:
    """Draw face after face as `rendering.render` does."""
    depth = np.full(camera.shape, np.inf)
    parts = np.full(camera.shape, NO_PART, dtype=np.uint8)
    people = np.zeros(camera.shape, dtype=np.uint8)
    facing = np.zeros(camera.shape)
    for mesh in meshes:
        for face, part in zip(mesh.faces, mesh.parts, strict=True):
            a, b, c = mesh.vertices[face].astype(np.float64)
            normal = np.cross(b - a, c - a)
            if mesh.is_closed and normal @ a >= 0:
                continue
            z = cover(camera, mesh.vertices, face, near)
            for row, col in np.argwhere((z < depth) & (z < far)):
                ray = np.array([(col - camera.cx) / camera.fx, (row - camera.cy) / camera.fy, 1.0])
                depth[row, col] = z[row, col]
                parts[row, col] = part
                people[row, col] = mesh.person
                facing[row, col] = abs(normal @ ray) / np.linalg.norm(normal) / np.linalg.norm(ray)
    depth[np.isinf(depth)] = 0
    return Rendered(depth.astype(np.float32), parts, people, facing.astype(np.float32))


def _whole_numbers(rows: npt.ArrayLike) -> tuple[list[tuple[int, ...]], int]:
    """Return rows of floats times one power of two that makes them all whole, and that power."""
    fractions = [[Fraction(float(value)) for value in row] for row in np.asarray(rows)]
    scale = max(value.denominator for row in fractions for value in row)
    return [tuple(int(value * scale) for value in row) for row in fractions], scale


def _minus(a: Sequence[int], b: Sequence[int]) -> Vector:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def _cross(a: Sequence[int], b: Sequence[int]) -> Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _dot(a: Sequence[int], b: Sequence[int]) -> int:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
