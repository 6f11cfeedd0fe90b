"""Facings: which way a person stands, decided by all pixels together, so that left and right are consistent.

A patch of depth hardly shows whether it is a left or a right arm. That depends on which way the person faces, which
hundreds of pixels can decide together. A forest may therefore hold, in each leaf, one distribution over parts for each
of `n` facings, and the evidence of a pixel in this leaf for each facing. Labeling first finds the leaves of all pixels,
weighs the facings by their evidence, and mixes the distributions with these weights (`depthtrees` has the plain
implementation, `labeling` the fast one). Facing 0 is toward the camera; facings are equal steps around the circle, and
k and n - k are mirror images.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from depthforest.frames import Joint

MAX_FACINGS = 32

EVIDENCE_STEP = 0.5
"""Value of one unit of a leaf's evidence in nats, where all pixels of a person agree."""

WEIGHT_SUM = 255
"""Weights of facings are whole numbers with about this sum."""

LEAST_WEIGHT = 8
"""A facing with less weight (3 %) is left out, because every facing costs time."""

_SIDES = (("shoulder_l", "shoulder_r"), ("hip_l", "hip_r"))


def mirrored(n: int) -> npt.NDArray[np.int64]:
    """Return for each of `n` facings its mirror image."""
    return -np.arange(n) % n


def weigh(evidence: npt.NDArray[np.int64], n_votes: int) -> npt.NDArray[np.int32]:
    """Return the weight of each facing of a person, from 0 to `WEIGHT_SUM`, at least one above 0.

    Parameters
    ----------
    evidence : array (n_facings,), int64
        Evidence of the leaves, summed over all pixels, trees and walks.
    n_votes : int
        How many leaves were summed.
    """
    # Python numbers and an exact sum: neither the order of facings nor the machine may change a weight
    said = evidence.tolist()
    largest = max(said)
    shares = [math.exp((one - largest) * EVIDENCE_STEP / max(n_votes, 1)) for one in said]
    whole = math.fsum(shares)
    weights = [math.floor(WEIGHT_SUM * share / whole + 0.5) for share in shares]
    least = min(LEAST_WEIGHT, max(weights))
    return np.array([weight if weight >= least else 0 for weight in weights], dtype=np.int32)


def angle_of(joints: Mapping[str, Joint]) -> float | None:
    """Return which way a person faces in degrees, 0 to below 360; None where the trunk is seen from its side.

    0 is toward the camera; at 90 the left side of the body is away from the camera.
    """
    across = np.zeros(3)
    for left, right in _SIDES:
        if left in joints and right in joints:
            across += np.subtract(joints[left].position, joints[right].position)
    if math.hypot(across[0], across[2]) < 1e-6:
        return None
    return _degrees(across[2], across[0])


def facing_of(angle: float, n: int) -> int:
    """Return the facing of an angle in degrees: the nearest of `n`."""
    return math.floor(angle / 360 * n + 0.5) % n


def direction(facing: int, n: int) -> tuple[float, float]:
    """Return the cosine and the sine of a facing's angle; those of k and n - k differ only in sign."""
    turn = 2 * math.pi * min(facing, n - facing) / n
    side = 1 if 2 * facing < n else -1 if 2 * facing > n else 0
    return math.cos(turn), side * math.sin(turn)


def mean_angle(weights: npt.NDArray[np.int32]) -> float | None:
    """Return the mean angle of facings in degrees, 0 to below 360; None for a single facing, or where they cancel."""
    turns = np.exp(2j * np.pi * np.arange(len(weights)) / len(weights))
    mean = complex(weights @ turns) / max(int(weights.sum()), 1)
    return _degrees(mean.imag, mean.real) if len(weights) > 1 and abs(mean) > 1e-6 else None


def _degrees(y: float, x: float) -> float:
    """Return the angle of a direction, 0 to below 360."""
    angle = math.degrees(math.atan2(y, x)) % 360
    # a value just below 0 is rounded to 360
    return angle if angle < 360 else 0.0
