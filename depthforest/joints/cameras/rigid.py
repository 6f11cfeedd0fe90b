"""Rigid motions that fit pairs of points: weighted least squares, and a robust variant for many wrong pairs."""

from __future__ import annotations

import numpy as np

from depthforest.base import Floats

SCALES_M = (1.0, 0.5, 0.25, 0.12, 0.08, 0.08)
"""Error in meters at which a pair has half the weight: wide at first, for poor starts, then as large as joint noise."""


FLOOR_WEIGHT = 100.0
"""Weight in square meters: far more than the spread of joints, so that the floors are aligned."""

Floor = tuple[tuple[float, float, float], float]
"""A camera's floor: the unit vector up in camera space, and the camera's height above the floor in meters."""


def kabsch(
    source: Floats, target: Floats, weights: Floats, floors: tuple[Floor, Floor] | None = None
) -> tuple[Floats, Floats]:
    """Return rotation (3, 3) and translation (3,) with least squares of target - (rotation @ source + translation).

    Kabsch 1976: the singular vectors of the weighted covariance, with the sign that makes them a rotation.

    Parameters
    ----------
    source, target : arrays (n, 3)
    weights : array (n,)
        0 or more, not all 0.
    floors : pair of Floor, optional
        Floors of source and target: the motion maps one to the other.
    """
    share = (weights / weights.sum())[:, None]
    a, b = (share * source).sum(axis=0), (share * target).sum(axis=0)
    spread = (share * (source - a)).T @ (target - b)
    if floors is not None:
        spread = spread + FLOOR_WEIGHT * np.outer(floors[0][0], floors[1][0])
    left, _, right = np.linalg.svd(spread)
    sign = np.sign(np.linalg.det(right.T @ left.T))
    rotation = right.T @ np.diag([1.0, 1.0, sign]) @ left.T
    translation = b - rotation @ a
    if floors is not None:
        up = np.array(floors[1][0])
        translation = translation + (floors[0][1] - floors[1][1] - up @ translation) * up
    return rotation, translation


def fit(
    source: Floats, target: Floats, weights: Floats, floors: tuple[Floor, Floor] | None = None
) -> tuple[Floats, Floats, Floats]:
    """Return rotation, translation and the weight of each pair, 0 to 1; robust to wrong pairs.

    Kabsch with weights that fall with the error (Geman and McClure), whose scale narrows from step to step.
    """
    belief = np.ones(len(source))
    for scale in SCALES_M:
        rotation, translation = kabsch(source, target, weights * belief, floors)
        errors = np.linalg.norm(source @ rotation.T + translation - target, axis=1)
        belief = 1 / (1 + (errors / scale) ** 2) ** 2
    return rotation, translation, belief


def rotation_by(turn: Floats) -> Floats:
    """Return the rotation (3, 3) about an axis by its length in radians (Rodrigues)."""
    angle = float(np.linalg.norm(turn))
    if angle < 1e-12:
        return np.eye(3)
    x, y, z = turn / angle
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross)


def degrees(rotation: Floats) -> float:
    """Return the angle of a rotation."""
    return float(np.degrees(np.arccos(np.clip((np.trace(rotation) - 1) / 2, -1, 1))))
