"""Rules of pose families that ranges of angles cannot express: the rhythm of a step, resting feet, touching hands.

`families` refers to these functions; `sampling` calls them. Those that adjust change drawn angles (n, a) in place.
Those that check mark the valid candidates from joint positions (n, 31, 3) of the reference adult.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, Singles
from synth.bodies import BONE
from synth.poses.angles import COLUMN

REACH, HOLD, TOUCH, KNEEL = 0.55, 0.17, 0.19, 0.1
"""Meters: least distance from the neck to a reaching hand; largest from the knuckles to the other elbow, from the
knuckles to the head's joint, and from the lower knee down to the lower toes. The face is 0.11 in front of the head's
joint."""

# A step of level walking, degrees at every tenth of the cycle from heel strike on: rounded textbook curves.
_GAIT = {
    "hip_flexion": (30, 25, 18, 8, -2, -10, -5, 12, 27, 32),
    "knee": (5, 18, 17, 10, 7, 12, 38, 60, 50, 18),
    "ankle": (0, -6, 3, 7, 10, 8, -15, -8, 0, 2),
}


def walk(angles: Floats, rng: np.random.Generator) -> None:
    """Set legs and arms to a phase of a step: legs half a cycle apart, each arm in phase with the opposite leg."""
    phase, stride = rng.uniform(0, 1, len(angles)), rng.uniform(0.5, 1.3, len(angles))
    swing = rng.uniform(0.3, 1.4, len(angles))
    set_gait(angles, phase, stride, swing, (rng.uniform(5, 14, len(angles)), rng.uniform(5, 14, len(angles))))


def set_gait(angles: Floats, phase: Floats, stride: Floats, swing: Floats, sideways: tuple[Floats, Floats]) -> None:
    """Set legs and arms (n, a) to phases of a step.

    `phase` (n,) is a fraction of the cycle, from 0 to 1; `stride` and `swing` (n,) scale the usual swing of legs and
    arms; `sideways` holds the angles (n,) of left and right arm from the body, in degrees.
    """
    for side, other, outwards in (("l", 0.0, sideways[0]), ("r", 0.5, sideways[1])):
        for name, curve in _GAIT.items():
            at = np.interp((phase + other) % 1.0, np.arange(11) / 10, (*curve, curve[0]))
            angles[:, COLUMN[f"{side}.{name}"]] = stride * at
        forwards = 5 + swing * 22 * np.sin(2 * np.pi * (phase + other) - np.pi / 2)
        angles[:, COLUMN[f"{side}.shoulder_plane"]] = np.rad2deg(np.arctan2(forwards, outwards))
        angles[:, COLUMN[f"{side}.shoulder_raise"]] = np.hypot(forwards, outwards)
        angles[:, COLUMN[f"{side}.elbow"]] += 0.6 * np.maximum(forwards, 0)


def rest_feet(angles: Floats, rng: np.random.Generator) -> None:  # noqa: ARG001 (one signature for all)
    """Bend the knees of bodies that lie on their back until the feet are on the floor."""
    tilt = angles[:, COLUMN["pelvis_tilt"]]
    for side in "lr":
        slope = angles[:, COLUMN[f"{side}.hip_flexion"]] - 90 - tilt  # of the thigh, up from the floor
        knee = COLUMN[f"{side}.knee"]
        angles[:, knee] = np.where(tilt < -45, np.maximum(2 * slope, 0), angles[:, knee])


def _distance(positions: Singles, a: str, b: str) -> Singles:
    return np.asarray(np.linalg.norm(positions[:, BONE[a]] - positions[:, BONE[b]], axis=1), dtype=np.float32)


def reaches(positions: Singles) -> npt.NDArray[np.bool_]:
    """Whether a hand is far from the trunk, measured from the neck."""
    return np.maximum(_distance(positions, "LeftHand", "Neck"), _distance(positions, "RightHand", "Neck")) > REACH


def holds_elbows(positions: Singles) -> npt.NDArray[np.bool_]:
    """Whether either hand is at the other arm's elbow or just above."""
    left = _distance(positions, "LeftFingerBase", "RightForeArm")
    return np.asarray(np.maximum(left, _distance(positions, "RightFingerBase", "LeftForeArm")) < HOLD)


def touches_head(positions: Singles) -> npt.NDArray[np.bool_]:
    """Whether a hand is at the face, the chin or an ear."""
    left = _distance(positions, "LeftFingerBase", "Head")
    return np.minimum(left, _distance(positions, "RightFingerBase", "Head")) < TOUCH


def kneels(positions: Singles) -> npt.NDArray[np.bool_]:
    """Whether a knee is down at the height of the toes."""
    knees, toes = (
        positions[:, [BONE[f"{side}{bone}"] for side in ("Left", "Right")], 1] for bone in ("Leg", "ToeBase")
    )
    return np.asarray(knees.min(axis=1) < toes.min(axis=1) + KNEEL)
