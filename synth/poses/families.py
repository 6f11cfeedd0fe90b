"""The families of built-in poses: ranges of joint angles in degrees; `sampling` draws from them.

Every angle is drawn between two limits from Beta(2, 2), which favors the middle, independently of the others. Walking
is the exception: legs and arms follow one phase. The ranges were tuned on the reference adult of `kinematics`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, Singles
from synth.poses.angles import SIDED
from synth.poses.rules import holds_elbows, kneels, reaches, rest_feet, touches_head, walk

Ranges = Mapping[str, tuple[float, float]]
Check = Callable[[Singles], npt.NDArray[np.bool_]]
Adjust = Callable[[Floats, np.random.Generator], None]


@dataclass(frozen=True)
class Family:
    """A kind of pose and how to draw it.

    Parameters
    ----------
    variants : tuple of mappings
        Ranges in degrees by angle; one variant is chosen at random. ``elbow`` is drawn for both sides, ``l.elbow`` for
        one only. Angles without a range are drawn from `RELAXED`. Hip flexion is that of the thigh relative to the
        vertical, so that legs stay where they are when the pelvis tilts, unless the body lies.
    weight : float
        Share of the family when families are mixed.
    flat_feet : str
        The sides whose sole is leveled with the floor; for "lr", the ankles are also brought to one height.
    is_balanced : bool
        Whether the feet alone support the body.
    needs_seat, is_lying : bool
        As in `FamilyPose`.
    check : callable, optional
        Maps joint positions (n, 31, 3) to a mask of the valid candidates.
    adjust : callable, optional
        Takes the drawn angles (n, a) and a random generator, and changes the angles in place.
    """

    variants: tuple[Ranges, ...]
    weight: float = 1.0
    flat_feet: str = "lr"
    is_balanced: bool = True
    needs_seat: bool = False
    is_lying: bool = False
    check: Check | None = field(default=None, repr=False)
    adjust: Adjust | None = field(default=None, repr=False)


RELAXED: Ranges = {
    "pelvis_tilt": (-6, 8),
    "pelvis_roll": (-4, 4),
    "pelvis_turn": (0, 0),
    "spine_flexion": (-6, 14),
    "spine_bend": (-7, 7),
    "spine_twist": (-12, 12),
    "neck_flexion": (-22, 28),
    "neck_bend": (-12, 12),
    "neck_twist": (-50, 50),
    "collar_raise": (-4, 6),
    "collar_forward": (-6, 6),
    "shoulder_plane": (-30, 60),
    "shoulder_raise": (4, 20),
    "shoulder_turn": (-10, 40),
    "elbow": (5, 40),
    "forearm_turn": (-20, 50),
    "wrist_flexion": (-20, 20),
    "wrist_side": (-12, 8),
    "fingers": (10, 80),
    "hip_flexion": (-4, 8),
    "hip_spread": (0, 12),
    "hip_turn": (-25, 5),
    "knee": (0, 14),
    "ankle": (-8, 8),
    "foot_tilt": (-4, 4),
    "toes": (-5, 10),
}
"""Standing at ease with hanging arms; degrees."""

# arms of both sides; `_one` limits them to one side
_ON_HIP: Ranges = {
    "shoulder_plane": (-45, 0),
    "shoulder_raise": (42, 60),
    "shoulder_turn": (35, 75),
    "elbow": (85, 108),
    "forearm_turn": (-40, 60),
    "fingers": (20, 60),
}
_ON_BELLY: Ranges = {
    "shoulder_plane": (10, 60),
    "shoulder_raise": (14, 32),
    "shoulder_turn": (45, 80),
    "elbow": (70, 95),
    "forearm_turn": (-20, 45),
}
_BEHIND: Ranges = {
    "shoulder_plane": (-85, -50),
    "shoulder_raise": (38, 58),
    "shoulder_turn": (35, 85),
    "elbow": (68, 95),
    "forearm_turn": (-20, 40),
}
_TALKING: Ranges = {
    "shoulder_plane": (15, 100),
    "shoulder_raise": (15, 75),
    "shoulder_turn": (-25, 60),
    "elbow": (40, 125),
    "forearm_turn": (-70, 60),
    "wrist_flexion": (-40, 30),
    "fingers": (0, 110),
}
_FOLDED: Ranges = {
    "shoulder_plane": (75, 118),
    "shoulder_turn": (74, 90),
    "forearm_turn": (-20, 50),
    "wrist_flexion": (-10, 25),
    "l.shoulder_raise": (28, 42),
    "r.shoulder_raise": (20, 32),
    "l.elbow": (92, 112),
    "r.elbow": (80, 102),
    "spine_flexion": (-4, 10),
}
_TO_FACE: Ranges = {
    "shoulder_plane": (65, 128),
    "shoulder_raise": (55, 100),
    "shoulder_turn": (25, 58),
    "elbow": (110, 138),
    "forearm_turn": (-55, 20),
    "wrist_flexion": (-25, 25),
    "fingers": (0, 90),
}
_TO_EAR: Ranges = {
    "shoulder_plane": (40, 120),
    "shoulder_raise": (75, 120),
    "shoulder_turn": (-35, 40),
    "elbow": (130, 149),
    "forearm_turn": (-40, 60),
    "wrist_flexion": (-25, 25),
    "fingers": (20, 110),
}
_REACH: Ranges = {
    "shoulder_plane": (-15, 115),
    "shoulder_raise": (55, 150),
    "shoulder_turn": (-40, 50),
    "elbow": (0, 35),
    "forearm_turn": (-60, 60),
    "wrist_flexion": (-35, 35),
    "collar_forward": (0, 20),
    "fingers": (0, 70),
}
_ON_THIGH: Ranges = {
    "shoulder_plane": (35, 95),
    "shoulder_raise": (12, 45),
    "shoulder_turn": (-5, 45),
    "elbow": (35, 90),
    "forearm_turn": (0, 70),
    "fingers": (5, 60),
}
_SEATED: Ranges = {
    "pelvis_tilt": (-25, 5),
    "spine_flexion": (0, 30),
    "hip_flexion": (82, 96),
    "hip_spread": (0, 18),
    "hip_turn": (-12, 12),
    "knee": (72, 108),
}
_LEANING: Ranges = {
    **_SEATED,
    "pelvis_tilt": (4, 20),
    "spine_flexion": (12, 36),
    "neck_flexion": (-40, 10),
    "hip_spread": (6, 22),
    "shoulder_plane": (55, 100),
    "shoulder_raise": (40, 72),
    "shoulder_turn": (0, 45),
    "elbow": (45, 95),
    "forearm_turn": (-10, 60),
}
_STRETCHED: Ranges = {"hip_flexion": (68, 84), "knee": (25, 70)}
_SQUAT: Ranges = {
    "pelvis_tilt": (10, 45),
    "spine_flexion": (10, 45),
    "neck_flexion": (-45, 5),
    "hip_flexion": (50, 95),
    "hip_spread": (2, 28),
    "hip_turn": (-30, 5),
    "knee": (85, 145),
    "shoulder_plane": (40, 100),
    "shoulder_raise": (30, 95),
    "elbow": (5, 70),
}
_KNEELING: Ranges = {
    "pelvis_tilt": (-5, 20),
    "spine_flexion": (0, 30),
    "l.hip_flexion": (78, 95),
    "l.knee": (75, 100),
    "r.hip_flexion": (-12, 8),
    "r.knee": (78, 100),
    "r.ankle": (-50, -20),
    "hip_spread": (0, 12),
    "hip_turn": (-8, 4),
    "shoulder_plane": (20, 95),
    "shoulder_raise": (10, 70),
    "elbow": (10, 80),
}
_BENT: Ranges = {
    "pelvis_tilt": (20, 75),
    "spine_flexion": (15, 70),
    "neck_flexion": (-40, 20),
    "hip_flexion": (2, 26),
    "hip_spread": (1, 16),
    "knee": (0, 45),
    "shoulder_plane": (60, 105),
    "shoulder_raise": (35, 120),
    "shoulder_turn": (-20, 40),
    "elbow": (0, 50),
}
_FALLEN: Ranges = {
    "pelvis_roll": (-3, 3),
    "spine_flexion": (-6, 10),
    "neck_twist": (-65, 65),
    "hip_spread": (0, 24),
    "hip_turn": (-40, 0),
    "ankle": (-45, -5),
}
# arms in the plane of the back, which touches the floor when the body lies
_FLAT_DOWN: Ranges = {
    "shoulder_plane": (-4, 12),
    "shoulder_raise": (12, 70),
    "shoulder_turn": (-30, 60),
    "elbow": (0, 14),
    "forearm_turn": (-60, 70),
}
_FLAT_UP: Ranges = {
    "shoulder_plane": (-4, 8),
    "shoulder_raise": (65, 150),
    "shoulder_turn": (-90, -76),
    "elbow": (10, 115),
    "forearm_turn": (-30, 60),
}
_ON_BACK: Ranges = {
    **_FALLEN,
    "pelvis_tilt": (-93, -88),
    "neck_flexion": (0, 30),
    "hip_flexion": (-2, 55),
}
_ON_FRONT: Ranges = {
    **_FALLEN,
    "pelvis_tilt": (87, 92),
    "spine_flexion": (-10, 2),
    "neck_flexion": (-35, -5),
    "hip_flexion": (-6, 1),
    "hip_turn": (-45, -20),
    "knee": (0, 8),
    "ankle": (-50, -42),
}
_ON_LEFT_SIDE: Ranges = {
    "pelvis_roll": (86, 94),
    "pelvis_turn": (-15, 12),
    "spine_flexion": (0, 40),
    "spine_bend": (-5, 5),
    "neck_bend": (0, 30),
    "neck_flexion": (0, 35),
    "neck_twist": (-30, 30),
    "hip_flexion": (5, 85),
    "knee": (10, 110),
    "ankle": (-40, 0),
    "l.hip_spread": (-2, 6),
    "l.hip_turn": (-8, 8),
    "r.hip_spread": (-20, -8),
    "r.hip_turn": (0, 20),
    "l.shoulder_plane": (84, 102),
    "l.shoulder_raise": (40, 130),
    "l.shoulder_turn": (-12, 12),
    "l.elbow": (0, 110),
    "r.shoulder_plane": (90, 125),
    "r.shoulder_raise": (25, 95),
    "r.shoulder_turn": (-10, 50),
    "r.elbow": (5, 80),
}


def _one(ranges: Ranges, side: str = "l") -> Ranges:
    """Return ranges for one side only."""
    return {f"{side}.{name}" if name in SIDED else name: values for name, values in ranges.items()}


FAMILIES: Mapping[str, Family] = {
    "standing": Family(
        (
            {},
            {"r.hip_flexion": (8, 20), "r.knee": (12, 32), "pelvis_roll": (-7, 7)},
            _ON_HIP,
            _one(_ON_HIP),
            _ON_BELLY,
            _BEHIND,
        ),
        weight=2.0,
    ),
    "walking": Family(({"spine_flexion": (-4, 12)},), weight=2.0, flat_feet="", is_balanced=False, adjust=walk),
    "reaching": Family(
        (
            {**_one(_REACH), "spine_twist": (-30, 20), "spine_bend": (-20, 20), "pelvis_tilt": (-5, 20)},
            {**_REACH, "spine_flexion": (-10, 30), "pelvis_tilt": (-5, 20)},
        ),
        weight=2.0,
        check=reaches,
    ),
    "gesturing": Family((_TALKING, _one(_TALKING), {**_one(_TALKING), **_one(_ON_HIP, "r")}), weight=2.0),
    "sitting": Family(
        (
            {**_SEATED, **_ON_THIGH},
            _LEANING,
            {**_SEATED, **_STRETCHED, **_ON_BELLY},
            {**_SEATED, **_TALKING},
            {**_SEATED, **_ON_THIGH, **_one(_TALKING)},
        ),
        weight=2.0,
        is_balanced=False,
        needs_seat=True,
    ),
    "crouching": Family((_SQUAT,)),
    "kneeling": Family((_KNEELING,), weight=0.5, flat_feet="l", is_balanced=False, check=kneels),
    "bending": Family((_BENT, {**_BENT, "spine_twist": (-35, 35)})),
    "lying": Family(
        (
            {**_ON_BACK, **_FLAT_DOWN},
            {**_ON_BACK, **_one(_FLAT_UP), **_one(_FLAT_DOWN, "r")},
            {**_ON_BACK, **_one(_ON_BELLY), **_one(_FLAT_DOWN, "r")},
            {**_ON_FRONT, **_FLAT_DOWN},
            {**_ON_FRONT, **_FLAT_UP},
            {**_ON_FRONT, **_one(_FLAT_UP), **_one(_FLAT_DOWN, "r")},
            _ON_LEFT_SIDE,
            _ON_LEFT_SIDE,
        ),
        flat_feet="",
        is_balanced=False,
        is_lying=True,
        adjust=rest_feet,
    ),
    "arms_crossed": Family((_FOLDED,), check=holds_elbows),
    "hands_to_face": Family(
        (_one(_TO_FACE), _one(_TO_EAR), {**_one(_TO_FACE), **_one(_ON_BELLY, "r")}, _TO_FACE), check=touches_head
    ),
    "waving": Family(
        (
            _one(
                {
                    "shoulder_plane": (-10, 45),
                    "shoulder_raise": (50, 135),
                    "shoulder_turn": (-90, -50),
                    "elbow": (25, 115),
                    "forearm_turn": (-10, 50),
                    "fingers": (0, 30),
                }
            ),
        ),
        weight=0.5,
    ),
    "pointing": Family(
        (
            _one(
                {
                    "shoulder_plane": (-10, 115),
                    "shoulder_raise": (60, 110),
                    "shoulder_turn": (-20, 40),
                    "elbow": (0, 20),
                    "forearm_turn": (-20, 70),
                    "wrist_flexion": (-10, 10),
                    "fingers": (0, 40),
                }
            ),
        ),
        weight=0.5,
    ),
    "t_pose": Family(
        (
            {
                "shoulder_plane": (-10, 12),
                "shoulder_raise": (78, 98),
                "shoulder_turn": (-12, 12),
                "elbow": (0, 14),
                "forearm_turn": (-15, 15),
                "fingers": (0, 25),
                "neck_twist": (-20, 20),
            },
        ),
        weight=0.5,
    ),
}
"""The built-in families by name."""
