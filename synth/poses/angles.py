"""Anatomical joint angles: their names, their limits, and the skeleton's rotations that they describe.

`sampling` draws such angles. A set of angles is a row of an array with one column for each of `ANGLE_NAMES`, in
degrees. Angles prefixed with ``l.`` or ``r.`` belong to a side; the same value is the mirrored movement on the other.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats
from synth.bodies import BONE, N_BONES, PARENTS
from synth.poses.kinematics import REFERENCE_HEADS, turns

# Normal ranges of motion as used in clinics (published tables differ by 10 to 20 degrees), in
# degrees. The pelvis may have any orientation: bodies lie and fall.
_CENTRAL_LIMITS: dict[str, tuple[float, float]] = {
    "pelvis_tilt": (-180, 180),  # forward
    "pelvis_roll": (-180, 180),  # to the left
    "pelvis_turn": (-180, 180),  # to the left, about the body's long axis
    "spine_flexion": (-30, 80),  # thoracic and lumbar together
    "spine_bend": (-35, 35),  # to the left
    "spine_twist": (-45, 45),  # to the left
    "neck_flexion": (-55, 50),
    "neck_bend": (-40, 40),
    "neck_twist": (-75, 75),
}
_SIDE_LIMITS: dict[str, tuple[float, float]] = {
    "collar_raise": (-10, 40),
    "collar_forward": (-20, 30),
    # The upper arm swings up from hanging, without twisting, by `shoulder_raise` in a vertical plane: 0 is sideways, 90
    # forward. So raise 60 in plane -90 is full extension, and planes beyond 90 are horizontal adduction.
    "shoulder_plane": (-90, 135),
    "shoulder_raise": (0, 175),
    "shoulder_turn": (-90, 90),  # inward; clinics measure it with the arm raised
    "elbow": (0, 150),
    "forearm_turn": (-80, 80),  # pronation; 0 has the thumb in front when the arm hangs
    "wrist_flexion": (-70, 80),
    "wrist_side": (-35, 20),  # toward the thumb
    "fingers": (0, 150),  # knuckles and middle joints together
    "hip_flexion": (-30, 125),
    "hip_spread": (-30, 45),
    "hip_turn": (-45, 45),  # inward
    "knee": (0, 150),
    "ankle": (-50, 30),  # dorsiflexion: 20 in the clinic, 30 and more under the body's weight
    "foot_tilt": (-20, 35),  # inversion
    "toes": (-40, 70),  # upward
}
SIDED = tuple(_SIDE_LIMITS)
LIMITS: dict[str, tuple[float, float]] = {
    **_CENTRAL_LIMITS,
    **{f"{side}.{name}": limits for side in "lr" for name, limits in _SIDE_LIMITS.items()},
}
"""Smallest and largest value of every joint angle, degrees."""

ANGLE_NAMES = tuple(LIMITS)
COLUMN: dict[str, int] = {name: i for i, name in enumerate(ANGLE_NAMES)}
_LOW, _HIGH = np.array(list(LIMITS.values())).T

_Turn = tuple[str, str | None, float]  # axis; angle, or None for a constant; factor, or the constant in degrees


def _bend(prefix: str, share: float) -> list[_Turn]:
    return [("x", f"{prefix}_flexion", share), ("z", f"{prefix}_bend", -share), ("y", f"{prefix}_twist", share)]


# For each bone, its rotations from the parent, outermost first, on the left side. On the right, rotations about y and z
# are reversed, which mirrors them.
_CENTRAL_TURNS: dict[str, list[_Turn]] = {
    "Hips": [("z", "pelvis_roll", -1), ("x", "pelvis_tilt", 1), ("y", "pelvis_turn", 1)],
    "LowerBack": _bend("spine", 0.4),
    "Spine": _bend("spine", 0.35),
    "Spine1": _bend("spine", 0.25),
    "Neck": _bend("neck", 0.3),
    "Neck1": _bend("neck", 0.3),
    "Head": _bend("neck", 0.4),
}
_SIDE_TURNS: dict[str, list[_Turn]] = {
    "UpLeg": [("x", "hip_flexion", -1), ("z", "hip_spread", 1), ("y", "hip_turn", -1)],
    "Leg": [("x", "knee", 1)],
    "Foot": [("x", "ankle", -1), ("z", "foot_tilt", -1)],
    "ToeBase": [("x", "toes", -1)],
    "Shoulder": [("z", "collar_raise", 1), ("y", "collar_forward", -1)],
    "Arm": [
        ("y", "shoulder_plane", -1),
        ("z", "shoulder_raise", 1),
        ("y", "shoulder_plane", 1),
        ("y", "shoulder_turn", -1),
        ("z", None, -90),  # from the T-pose to hanging
    ],
    # half of the forearm's rotation appears along the forearm, the other half at the wrist
    "ForeArm": [("y", "elbow", -1), ("x", "forearm_turn", 0.5)],
    "Hand": [("x", "forearm_turn", 0.5), ("y", "wrist_side", -1), ("z", "wrist_flexion", -1)],
    "FingerBase": [("z", "fingers", -0.5)],
    "HandFinger1": [("z", "fingers", -0.5)],
}
_THUMB: list[_Turn] = [("z", "fingers", -0.2)]
_MOST_TURNS = max(map(len, (*_CENTRAL_TURNS.values(), *_SIDE_TURNS.values())))


def _turn_tables() -> tuple[Floats, npt.NDArray[np.int64], Floats, Floats]:
    """Return axes (5, 31, 3) of rotations, and the columns, factors and constants (5, 31) of their angles."""
    shape = (_MOST_TURNS, N_BONES)
    axes, columns, factors, constants = (
        np.zeros((*shape, 3)),
        np.zeros(shape, np.int64),
        np.zeros(shape),
        np.zeros(shape),
    )
    bones: list[tuple[str, list[_Turn], str, float]] = [(n, t, "", 1.0) for n, t in _CENTRAL_TURNS.items()]
    for word, letter, sign in (("Left", "l", 1.0), ("Right", "r", -1.0)):
        bones += [(f"{word}{name}", chain, f"{letter}.", sign) for name, chain in _SIDE_TURNS.items()]
        bones.append((f"{word[0]}Thumb", _THUMB, f"{letter}.", sign))
    for bone, chain, prefix, sign in bones:
        for slot, (axis, angle, factor) in enumerate(chain):
            axes[slot, BONE[bone], "xyz".index(axis)] = 1.0
            signed = factor if axis == "x" else sign * factor
            if angle is None:
                constants[slot, BONE[bone]] = signed
            else:
                columns[slot, BONE[bone]], factors[slot, BONE[bone]] = COLUMN[f"{prefix}{angle}"], signed
    return axes, columns, factors, constants


_AXES, _COLUMNS, _FACTORS, _CONSTANTS = _turn_tables()
_LEGS = 1 + BONE["RightLeg"]
"""Bones up to this index are pelvis, thighs and shins."""

# the upper arm is measured relative to the chest, not to the collar bone that carries it
_FRAMES = PARENTS.copy()
_FRAMES[[BONE["LeftArm"], BONE["RightArm"]]] = BONE["Spine1"]


def is_within_limits(angles: Floats) -> npt.NDArray[np.bool_]:
    """Return whether all angles of each row (n, a) are within `LIMITS`."""
    return np.asarray(((angles >= _LOW - 1e-9) & (angles <= _HIGH + 1e-9)).all(axis=1))


def clip_to_limits(angles: Floats) -> Floats:
    """Return angles (n, a) clipped to `LIMITS`."""
    return np.clip(angles, _LOW, _HIGH)


def rotations_of(angles: Floats, n_bones: int = N_BONES) -> Floats:
    """Return the global rotations (n, 31, 3, 3) of all bones from the T-pose for angles (n, a) in degrees.

    With `n_bones`, only the first bones are returned; parents come first.
    """
    degrees = angles[:, _COLUMNS[:, :n_bones]] * _FACTORS[:, :n_bones] + _CONSTANTS[:, :n_bones]
    single = turns(_AXES[:, :n_bones], np.deg2rad(degrees))
    rotations = single[:, 0]
    for slot in range(1, _MOST_TURNS):
        rotations = rotations @ single[:, slot]
    for bone, frame in enumerate(_FRAMES[:n_bones]):
        if frame >= 0:
            rotations[:, bone] = rotations[:, frame] @ rotations[:, bone]
    return rotations


def curl_fingers(rotations: npt.NDArray[np.float32], side: str, degrees: float) -> npt.NDArray[np.float32]:
    """Return global rotations (31, 3, 3) with the fingers of a side, "l" or "r", curled by an angle."""
    word, sign = ("Left", 1.0) if side == "l" else ("Right", -1.0)
    curled = rotations.copy()
    hand = f"{word}Hand"
    for bone, parent, chain in (
        (f"{word}FingerBase", hand, _SIDE_TURNS["FingerBase"]),
        (f"{word}HandFinger1", f"{word}FingerBase", _SIDE_TURNS["HandFinger1"]),
        (f"{word[0]}Thumb", hand, _THUMB),
    ):
        turn = curled[BONE[parent]].astype(np.float64)
        for axis, _, factor in chain:
            turn = turn @ turns(np.eye(3)["xyz".index(axis)], np.deg2rad(sign * factor * degrees))
        curled[BONE[bone]] = turn
    return curled


def level_feet(angles: Floats) -> Floats:
    """Return angles whose longer leg bends until both ankles are level; shins roughly keep their slope."""
    angles = angles.copy()
    rows = np.arange(len(angles))
    hips, knees = ([COLUMN[f"{side}.{name}"] for side in "lr"] for name in ("hip_flexion", "knee"))
    thigh, shin = -np.diff(REFERENCE_HEADS[[BONE["LeftUpLeg"], BONE["LeftLeg"], BONE["LeftFoot"]], 1])
    for _ in range(3):  # one round is exact for a leg that moves in a plane
        drops = -_ankle_heights(angles)
        longer = np.argmax(drops, axis=1)
        hip, knee = np.choose(longer, hips), np.choose(longer, knees)
        old = np.deg2rad(angles[rows, knee])
        # the hip keeps its height and the line from hip to ankle its direction; only its length changes
        offset = drops[rows, longer] - drops[rows, 1 - longer]
        share = 1 - offset / np.maximum(drops[rows, longer], 0.1)
        reach = share * np.sqrt(thigh**2 + shin**2 + 2 * thigh * shin * np.cos(old))
        new = np.arccos(np.clip((reach**2 - thigh**2 - shin**2) / (2 * thigh * shin), -1, 1))
        change = _thigh_to_line(thigh, shin, new) - _thigh_to_line(thigh, shin, old)
        angles[rows, knee] = np.rad2deg(new)
        angles[rows, hip] += np.rad2deg(change)
    return angles


def _thigh_to_line(thigh: float, shin: float, knee: Floats) -> Floats:
    """Return the angle between the thigh and the line from hip to ankle, radians."""
    return np.arctan2(shin * np.sin(knee), thigh + shin * np.cos(knee))


def _ankle_heights(angles: Floats) -> Floats:
    """Return the heights (n, 2) of the left and right ankle above the hips."""
    rotations = rotations_of(angles, _LEGS)
    heights = np.zeros((len(angles), 2))
    for side, word in enumerate(("Left", "Right")):
        for start, end in (("Hips", "UpLeg"), ("UpLeg", "Leg"), ("Leg", "Foot")):
            a, b = BONE[start if start == "Hips" else word + start], BONE[word + end]
            heights[:, side] += rotations[:, a, 1] @ (REFERENCE_HEADS[b] - REFERENCE_HEADS[a])
    return heights


def flatten_feet(angles: Floats, sides: str = "lr") -> Floats:
    """Return angles whose ankles and toes bend, within their limits, until the given sides' soles are level."""
    angles, rotations = angles.copy(), rotations_of(angles, _LEGS)
    for side, word, sign in (("l", "Left", 1.0), ("r", "Right", -1.0)):
        if side not in sides:
            continue
        ankle, tilt, toes = (COLUMN[f"{side}.{name}"] for name in ("ankle", "foot_tilt", "toes"))
        up = rotations[:, BONE[f"{word}Leg"], 1]  # the heights of the shin's axes
        angles[:, ankle] = _clip(np.arctan2(-up[:, 2], up[:, 1]), ankle)
        bend = np.deg2rad(angles[:, ankle])
        across, along = up[:, 0], np.cos(bend) * up[:, 1] - np.sin(bend) * up[:, 2]
        angles[:, tilt] = _clip(sign * np.arctan2(across, along), tilt)
        lift = np.sin(bend) * up[:, 1] + np.cos(bend) * up[:, 2]  # how far the ball is still above the heel
        angles[:, toes] = _clip(np.arctan2(-lift, along), toes)
    return angles


def _clip(radians: Floats, column: int) -> Floats:
    return np.clip(np.rad2deg(radians), _LOW[column], _HIGH[column])
