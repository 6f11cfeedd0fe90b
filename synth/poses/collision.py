"""Tests whether a pose is possible: limbs outside the body, weight over the feet, limbs on the floor.

Cheap tests on joint positions of the reference adult (`kinematics.joint_positions`), for `sampling`. They reject gross
errors and allow a few centimeters, because flesh is soft and bodies differ.
"""

from __future__ import annotations

import numpy as np

from depthforest.base import Bools, Singles
from synth.bodies import BONE, N_BONES

# Meters between the axes of limbs: the sum of their radii on a slim adult, minus the compression of the flesh.
TRUNK_TO_ELBOW, TRUNK_TO_ARM, TRUNK_TO_KNEE = 0.10, 0.12, 0.13
HEAD_TO_ARM, THIGH_TO_ARM, SHIN_TO_ARM, ARM_TO_ARM = 0.10, 0.085, 0.07, 0.045
LEG_TO_LEG = 0.09

HEAD_RISE = 0.06
"""Meters from the head's joint up to the center of the head."""

BALANCE_MARGIN = 0.06
"""Meters by which the center of mass may leave the box around the foot joints: heels and toes extend beyond it."""

ANKLE_RISE, TOE_RISE, FLOOR_MARGIN = 0.068, 0.02, 0.02
"""Meters from the sole to ankle and ball of a standing foot; how far any other joint may be below the floor."""

LYING_TRUNK = 0.11
"""Meters from the axis of a lying trunk down to the floor."""

LYING_FOOT, LYING_HAND = 0.25, 0.45
"""Meters above the floor that feet and hands of a lying body may be: feet rest on the floor, hands on the body."""

# Approximate shares of the body's mass, from common biomechanical tables; half of each segment at either end.
_MASSES: tuple[tuple[str, str, float], ...] = (
    ("Neck", "Head", 0.081),
    ("Hips", "Neck", 0.497),
    *(
        (f"{side}{a}", f"{side}{b}", mass)
        for side in ("Left", "Right")
        for a, b, mass in (
            ("Arm", "ForeArm", 0.028),
            ("ForeArm", "Hand", 0.016),
            ("Hand", "FingerBase", 0.006),
            ("UpLeg", "Leg", 0.1),
            ("Leg", "Foot", 0.0465),
            ("Foot", "ToeBase", 0.0145),
        )
    ),
)
_MASS = np.zeros(N_BONES, dtype=np.float32)
for _a, _b, _mass in _MASSES:
    _MASS[[BONE[_a], BONE[_b]]] += _mass / 2


# Points on limbs: two bones and the fraction of the way from the first to the second.
_POINTS: tuple[tuple[str, str, float], ...] = tuple(
    (f"{side}{a}", f"{side}{b}", share)
    for side in ("Left", "Right")
    for a, b, share in (
        ("ForeArm", "ForeArm", 0.0),
        ("ForeArm", "Hand", 0.5),
        ("Hand", "Hand", 0.0),
        ("Hand", "HandFinger1", 0.5),
        ("HandFinger1", "HandFinger1", 0.0),
        ("UpLeg", "Leg", 0.6),
        ("Leg", "Leg", 0.0),
        ("Leg", "Foot", 0.5),
        ("Foot", "Foot", 0.0),
    )
)
_STARTS, _ENDS = np.array([(BONE[start], BONE[end]) for start, end, _ in _POINTS]).T
_SHARES = np.array([share for _, _, share in _POINTS], dtype=np.float32)[:, None]
# Axes of limbs and body: the trunk's middle, left and right; the head; then those between two bones.
_N_TRUNK = 3
_SEGMENTS: tuple[tuple[str, str], ...] = tuple(
    (f"{side}{a}", f"{side}{b}")
    for a, b in (("UpLeg", "Leg"), ("Leg", "Foot"), ("ForeArm", "Hand"), ("Hand", "HandFinger1"))
    for side in ("Left", "Right")
)


def _least_distances() -> Singles:
    """Return the least distance of each point from each segment, meters; -1 where they may touch."""
    least = np.full((len(_POINTS), _N_TRUNK + 1 + len(_SEGMENTS)), -1.0, dtype=np.float32)
    for row, (start, end, share) in enumerate(_POINTS):
        is_left, is_elbow = start.startswith("Left"), end.endswith("ForeArm")
        is_arm = "Arm" in start or "Hand" in start
        if is_arm:
            least[row, :_N_TRUNK] = TRUNK_TO_ELBOW if is_elbow else TRUNK_TO_ARM
            least[row, _N_TRUNK] = -1.0 if is_elbow else HEAD_TO_ARM
        elif end.endswith("Leg") and share == 0:
            least[row, 0] = TRUNK_TO_KNEE
        for col, (bone, _) in enumerate(_SEGMENTS, start=_N_TRUNK + 1):
            is_other_side = bone.startswith("Left") != is_left
            if is_arm and not is_elbow and bone.endswith("Leg"):
                least[row, col] = THIGH_TO_ARM if bone.endswith("UpLeg") else SHIN_TO_ARM
            elif is_other_side and is_arm and not is_elbow:
                least[row, col] = ARM_TO_ARM
            elif is_other_side and not is_arm and bone.endswith("Leg"):
                least[row, col] = LEG_TO_LEG
    return least


_LEAST = _least_distances()


def is_clear(positions: Singles) -> Bools:
    """Return for each pose (n, 31, 3) whether no limb penetrates trunk, head or another limb."""
    at = {name: positions[:, bone] for name, bone in BONE.items()}
    up = at["Head"] - at["Neck1"]
    head = at["Head"] + HEAD_RISE * up / np.linalg.norm(up, axis=1, keepdims=True)
    hips = [0.3 * at["Hips"] + 0.7 * at[f"{side}UpLeg"] for side in ("Left", "Right")]
    chest = [0.55 * at["Neck"] + 0.45 * at[f"{side}Arm"] for side in ("Left", "Right")]
    starts = np.stack([at["Hips"], *hips, head, *(at[a] for a, _ in _SEGMENTS)], axis=1)[:, None]
    along = np.stack([at["Neck"], *chest, head, *(at[b] for _, b in _SEGMENTS)], axis=1)[:, None] - starts
    points = positions[:, _STARTS] * (1 - _SHARES) + positions[:, _ENDS] * _SHARES
    # the distance of every point (axis 1) from every segment (axis 2)
    gap = points[:, :, None] - starts
    square = np.maximum(np.einsum("nksi,nksi->nks", along, along), 1e-12)
    share = np.clip(np.einsum("nksi,nksi->nks", gap, np.broadcast_to(along, gap.shape)) / square, 0, 1)
    gap = gap - share[..., None] * along
    return np.asarray((np.sqrt(np.einsum("nksi,nksi->nks", gap, gap)) > _LEAST).all(axis=(1, 2)))


def is_balanced(positions: Singles) -> Bools:
    """Return for each pose (n, 31, 3) whether its center of mass is above the feet."""
    center = np.tensordot(positions[..., ::2], _MASS, axes=(1, 0)) / _MASS.sum()
    feet = positions[:, [BONE[f"{s}{b}"] for s in ("Left", "Right") for b in ("Foot", "ToeBase")], ::2]
    low, high = feet.min(axis=1) - BALANCE_MARGIN, feet.max(axis=1) + BALANCE_MARGIN
    return np.asarray(((center >= low) & (center <= high)).all(axis=1))


def is_above_floor(positions: Singles) -> Bools:
    """Return for each pose (n, 31, 3) whether no joint is below the floor, which is the sole of the higher foot."""
    heights = positions[..., 1]
    ankles, toes = (heights[:, [BONE[f"{s}{b}"] for s in ("Left", "Right")]] for b in ("Foot", "ToeBase"))
    floor = np.minimum(ankles - ANKLE_RISE, toes - TOE_RISE).max(axis=1)
    return np.asarray(heights.min(axis=1) > floor - FLOOR_MARGIN)


def is_on_floor(positions: Singles) -> Bools:
    """Return for each lying pose (n, 31, 3) whether no limb reaches below the floor or is held up in the air."""
    heights = positions[..., 1]
    trunk = ["Hips", "Spine1", "Neck", "LeftArm", "RightArm", "LeftUpLeg", "RightUpLeg"]
    floor = heights[:, [BONE[name] for name in trunk]].min(axis=1) - LYING_TRUNK
    hands, feet = ([BONE[f"{side}{name}"] for side in ("Left", "Right")] for name in ("Hand", "Foot"))
    good = heights.min(axis=1) > floor
    good &= heights[:, feet].max(axis=1) < floor + LYING_FOOT
    return np.asarray(good & (heights[:, hands].max(axis=1) < floor + LYING_HAND))
