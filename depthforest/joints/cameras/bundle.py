"""Bundle adjustment of all cameras: poses, clocks and depth biases of joints, by Gauss-Newton over all pairs of joints.

A found joint lies a little in front of or behind the true one, seen from the camera: hips under wide clothes are too
near. Cameras on different sides disagree by this bias, and poses alone would have to compensate for it. So every joint
has a bias along the ray from the camera, the same in all cameras, which is fitted together with the poses. Joints that
agree well between cameras (head, neck) count more than those that do not (hands).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from depthforest.base import Floats, Longs
from depthforest.frames import JOINTS
from depthforest.joints.cameras.rig import CameraPose
from depthforest.joints.cameras.rigid import FLOOR_WEIGHT, Floor, rotation_by

ROUNDS = 8

BIAS_M = 0.005
"""Meters: expected size of the bias along the ray. Small, because errors of consecutive frames are correlated, so pairs
of joints carry less information than their number suggests."""

LEAST_SCATTER_M = 0.01
"""Meters: smallest expected distance between two cameras' positions of a joint."""

LEAST_OF_JOINT = 20
"""With fewer pairs of a joint, its scatter is assumed to be `USUAL_SCATTER_M`."""

USUAL_SCATTER_M = 0.08

MAX_LATE_S = 0.1
"""Largest change of a clock in one round, seconds."""

N_POSE = 7
"""Unknowns of a camera: rotation, translation, clock."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Joints of the same person at the same time in cameras a and b, each in its own camera's space.

    Parameters
    ----------
    a, b : int
    joint : array (n,)
        Index into `JOINTS`.
    points_a, points_b, speeds : array (n, 3)
        Meters; and a's velocity in meters per second, from other frames, so that it is independent of the points'
        noise. NaN where unknown.
    weights : array (n,)
    """

    a: int
    b: int
    joint: Longs
    points_a: Floats
    points_b: Floats
    speeds: Floats
    weights: Floats


def adjusted(
    poses: Sequence[CameraPose], pairs: Sequence[Pairs], floors: Sequence[Floor | None], bias: Floats
) -> tuple[list[CameraPose], Floats]:
    """Return poses and biases (19,) after one step; the first camera stays."""
    n_poses = N_POSE * (len(poses) - 1)
    size = n_poses + len(JOINTS)
    normal, right = np.zeros((size, size)), np.zeros(size)
    residuals = [_residuals(pair, poses, bias) for pair in pairs]
    scatter = _scatter(pairs, residuals)
    total = 0.0
    for pair, errors in zip(pairs, residuals, strict=True):
        lengths = np.linalg.norm(errors, axis=1) / scatter[pair.joint]
        weights = pair.weights / (1 + lengths**2) ** 2 / scatter[pair.joint] ** 2
        total += float(weights.sum())
        slopes = _slopes(pair, poses, bias, size) * np.sqrt(weights)[:, None, None]
        rows = slopes.reshape(-1, size)
        normal += rows.T @ rows
        right -= rows.T @ (errors * np.sqrt(weights)[:, None]).ravel()
    for number in range(1, len(poses)):
        own, reference = floors[number], floors[0]
        if own is not None and reference is not None:
            rows, errors = _floor_rows(poses[number], own, reference, number, size)
            normal += FLOOR_WEIGHT * total * rows.T @ rows
            right -= FLOOR_WEIGHT * total * rows.T @ errors
    biased = np.arange(n_poses, size)
    normal[biased, biased] += 1 / BIAS_M**2
    right[biased] -= bias / BIAS_M**2
    normal[np.diag_indices(size)] += 1e-9 * (total + 1)  # unconstrained unknowns stay as they are
    step = np.linalg.solve(normal, right)
    moved = [poses[0]]
    for number, pose in enumerate(poses[1:]):
        turn, shift, late = np.split(step[N_POSE * number : N_POSE * (number + 1)], [3, 6])
        moved.append(
            replace(
                pose,
                rotation=rotation_by(turn) @ pose.rotation,
                translation=pose.translation + shift,
                offset_s=pose.offset_s + float(np.clip(late[0], -MAX_LATE_S, MAX_LATE_S)),
            )
        )
    return moved, bias + step[n_poses:]


def _rays(points: Floats) -> Floats:
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


def _residuals(pair: Pairs, poses: Sequence[CameraPose], bias: Floats) -> Floats:
    """Return a's points minus b's, (n, 3), in the space of the first camera, with biases removed."""
    off = bias[pair.joint, None]
    return np.asarray(
        poses[pair.a].place(pair.points_a - off * _rays(pair.points_a))
        - poses[pair.b].place(pair.points_b - off * _rays(pair.points_b))
    )


def _scatter(pairs: Sequence[Pairs], residuals: Sequence[Floats]) -> Floats:
    """Return meters for each joint, (19,): the weighted median distance between two cameras' positions of it."""
    joints = np.concatenate([pair.joint for pair in pairs])
    weights = np.concatenate([pair.weights for pair in pairs])
    lengths = np.linalg.norm(np.concatenate(list(residuals)), axis=1)
    scatter = np.full(len(JOINTS), USUAL_SCATTER_M)
    for joint in range(len(JOINTS)):
        chosen = np.flatnonzero(joints == joint)
        if len(chosen) >= LEAST_OF_JOINT:
            order = chosen[np.argsort(lengths[chosen], kind="stable")]
            sums = np.cumsum(weights[order])
            scatter[joint] = lengths[order[np.searchsorted(sums, sums[-1] / 2)]]
    return np.asarray(np.maximum(scatter, LEAST_SCATTER_M))


def _slopes(pair: Pairs, poses: Sequence[CameraPose], bias: Floats, size: int) -> Floats:
    """Return how residuals change with each unknown, (n, 3, size)."""
    slopes = np.zeros((len(pair.joint), 3, size))
    off = bias[pair.joint, None]
    speeds = np.nan_to_num(pair.speeds @ poses[pair.a].rotation.T)
    ends = ((pair.a, pair.points_a, 1.0), (pair.b, pair.points_b, -1.0))
    for camera, points, sign in ends:
        rotation, rays = poses[camera].rotation, _rays(points)
        slopes[np.arange(len(points)), :, N_POSE * (len(poses) - 1) + pair.joint] -= sign * (rays @ rotation.T)
        if camera > 0:
            at = N_POSE * (camera - 1)
            slopes[:, :, at : at + 3] = sign * _turning((points - off * rays) @ rotation.T)
            slopes[:, :, at + 3 : at + 6] = sign * np.eye(3)
            slopes[:, :, at + 6] = -sign * speeds  # b is read later if a's clock advances, earlier if its own does
    return slopes


def _turning(points: Floats) -> Floats:
    """Return the derivative of points (n, 3) by a small rotation: minus their cross product matrices, (n, 3, 3)."""
    x, y, z = points.T
    zero = np.zeros_like(x)
    return np.stack((zero, z, -y, -z, zero, x, y, -x, zero), axis=1).reshape(-1, 3, 3)


def _floor_rows(pose: CameraPose, own: Floor, reference: Floor, number: int, size: int) -> tuple[Floats, Floats]:
    """Return slopes (4, size) and residuals (4,) of a camera's floor against that of the first one."""
    rows, at = np.zeros((4, size)), N_POSE * (number - 1)
    up, up_own = np.array(reference[0]), pose.rotation @ np.array(own[0])
    rows[:3, at : at + 3] = _turning(up_own[None])[0]
    rows[3, at + 3 : at + 6] = up
    return rows, np.append(up_own - up, up @ pose.translation - (own[1] - reference[1]))
