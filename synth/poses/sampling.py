"""Built-in poses: samples the families, so that bodies can be posed without motion capture.

Angles are drawn from the ranges in `families`; then knees and ankles adapt to the floor. Candidates are drawn again if
limbs penetrate the body, if they would fall over, or if they miss the point of the family. Left and right are swapped
at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from depthforest.base import DepthForestError, Floats, Singles, UsageError
from synth.bodies import BONE, BONE_MIRROR, Pose
from synth.poses.angles import (
    ANGLE_NAMES,
    COLUMN,
    LIMITS,
    SIDED,
    clip_to_limits,
    flatten_feet,
    level_feet,
    rotations_of,
)
from synth.poses.collision import is_above_floor, is_balanced, is_clear, is_on_floor
from synth.poses.families import FAMILIES, RELAXED, Family
from synth.poses.kinematics import REFERENCE_HEADS, REFERENCE_LEG, heading, joint_positions, turns

__all__ = ["FAMILIES", "LIMITS", "FamilyPose", "sample_pose", "sample_poses", "seat_height"]

SEAT_BELOW_HIP = 0.085
"""Meters from the hip joints of the reference adult down to the seat."""

FEWEST_CANDIDATES = 6
"""Least number of candidates per draw: one more costs little, another round much."""

MAX_ROUNDS = 500
"""Every variant accepts a tenth of its candidates or more, so this is only reached if a family is broken."""

RHYTHM, RHYTHM_START = 0.2, 50.0
"""The collar bone rises by this share of the arm's elevation beyond 50 degrees (scapulohumeral rhythm)."""


@dataclass(frozen=True, eq=False)
class FamilyPose:
    """A pose and the support it needs.

    Parameters
    ----------
    pose : Pose
        Its hips face +z (`kinematics.heading` is 0).
    family : str
        One of `FAMILIES`.
    needs_seat : bool
        The person sits: put a seat of `seat_height` under the hips.
    is_lying : bool
        The person lies: ignore `foot_clearance` and put the lowest vertex of the body on the floor.
    """

    pose: Pose
    family: str
    needs_seat: bool = False
    is_lying: bool = False


def sample_pose(rng: np.random.Generator, family: str | None = None) -> FamilyPose:
    """Draw one pose; see `sample_poses`, which is much faster for many."""
    return sample_poses(rng, 1, family)[0]


def sample_poses(rng: np.random.Generator, n: int, family: str | None = None) -> list[FamilyPose]:
    """Draw poses.

    Parameters
    ----------
    rng : Generator
        The same state gives the same poses.
    n : int
        Number of poses.
    family : str, optional
        One of `FAMILIES`; default: all of them, by their weights.
    """
    if family is not None and family not in FAMILIES:
        raise UsageError(f"no pose family is called {family!r}; the families are {', '.join(FAMILIES)}")
    if n < 0:
        raise UsageError(f"the number of poses must be 0 or more, got {n}")
    names = list(FAMILIES) if family is None else [family]
    weights = np.array([FAMILIES[name].weight for name in names])
    choice = rng.choice(len(names), n, p=weights / weights.sum())
    rotations = np.empty((n, len(BONE), 3, 3), dtype=np.float32)
    for index, name in enumerate(names):
        wanted = choice == index
        if wanted.any():
            rotations[wanted] = _sample_family(rng, int(wanted.sum()), name)
    found = [(Pose(turned), names[index]) for turned, index in zip(rotations, choice, strict=True)]
    return [FamilyPose(pose, name, FAMILIES[name].needs_seat, FAMILIES[name].is_lying) for pose, name in found]


def seat_height(pose: Pose, leg_length: float) -> float:
    """Return the height in meters of a seat just under the hips of a sitting pose, on a body of this leg length."""
    positions = joint_positions(pose.rotations[None])[0, :, 1]
    hips, feet = (positions[[BONE[f"Left{bone}"], BONE[f"Right{bone}"]]] for bone in ("UpLeg", "Foot"))
    height = hips.min() - feet.min() + REFERENCE_HEADS[BONE["LeftFoot"], 1] - SEAT_BELOW_HIP
    return float(height + pose.foot_clearance * REFERENCE_LEG) * leg_length / REFERENCE_LEG


def _sample_family(rng: np.random.Generator, n: int, name: str) -> Singles:
    """Draw rotations (n, 31, 3, 3) of one family."""
    family = FAMILIES[name]
    # each pose keeps its variant, so that variants that often fail do not become rarer
    variants = rng.integers(len(family.variants), size=n)
    rotations = np.empty((n, len(BONE), 3, 3), dtype=np.float32)
    missing = np.arange(n)
    for _ in range(MAX_ROUNDS):
        tried = np.repeat(missing, -(-FEWEST_CANDIDATES // len(missing)))
        turned = _face_forward(rotations_of(draw_angles(rng, name, variants[tried])))
        passed = np.flatnonzero(_is_good(family, joint_positions(turned)))
        solved, first = np.unique(tried[passed], return_index=True)
        rotations[solved] = turned[passed[first]]
        missing = np.setdiff1d(missing, solved)
        if not len(missing):
            break
    else:
        raise DepthForestError(f"the pose family {name} has no possible pose; correct its ranges in synth/families.py")
    flip = np.array([-1.0, 1.0, 1.0], dtype=np.float32)
    mirrored = rng.random(n) < 0.5
    rotations[mirrored] = flip[:, None] * rotations[mirrored][:, BONE_MIRROR] * flip
    return rotations


def draw_angles(rng: np.random.Generator, name: str, variants: npt.NDArray[np.int64]) -> Floats:
    """Draw candidates: joint angles (n, a) in degrees, within their limits, for variants (n,) of a family."""
    family = FAMILIES[name]
    low, high = (table[variants] for table in _range_tables(name))
    angles = low + (high - low) * rng.beta(2, 2, low.shape)
    if family.adjust is not None:
        family.adjust(angles, rng)
    for side in "lr":
        raised = np.maximum(angles[:, COLUMN[f"{side}.shoulder_raise"]] - RHYTHM_START, 0)
        angles[:, COLUMN[f"{side}.collar_raise"]] += RHYTHM * raised
        if not family.is_lying:
            angles[:, COLUMN[f"{side}.hip_flexion"]] += angles[:, COLUMN["pelvis_tilt"]]
    angles = clip_to_limits(angles)
    if family.flat_feet == "lr":
        angles = clip_to_limits(level_feet(angles))
    return flatten_feet(angles, family.flat_feet) if family.flat_feet else angles


@cache
def _range_tables(name: str) -> tuple[Floats, Floats]:
    """Return the lowest and highest angles (v, a) of all variants of a family."""
    tables = np.zeros((2, len(FAMILIES[name].variants), len(ANGLE_NAMES)))
    for row, variant in enumerate(FAMILIES[name].variants):
        # names with a side come last, so that they override those for both sides
        for angle, (low, high) in sorted({**RELAXED, **variant}.items(), key=lambda item: "." in item[0]):
            columns = [COLUMN[f"{side}.{angle}"] for side in "lr"] if angle in SIDED else [COLUMN[angle]]
            tables[0, row, columns], tables[1, row, columns] = low, high
    return tables[0], tables[1]


def _face_forward(rotations: Floats) -> Singles:
    yaw = heading(rotations[:, BONE["Hips"]])
    turned = np.swapaxes(turns(np.array([0.0, 1.0, 0.0]), yaw), -1, -2)[:, None] @ rotations
    return turned.astype(np.float32)


def _is_good(family: Family, positions: Singles) -> npt.NDArray[np.bool_]:
    good = is_clear(positions)
    if family.is_lying:
        good &= is_on_floor(positions)
    elif family.flat_feet:
        good &= is_above_floor(positions)
    if family.is_balanced:
        good &= is_balanced(positions)
    if family.check is not None:
        good &= family.check(positions)
    return good
