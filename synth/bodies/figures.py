"""Figure: a human shape as an implicit surface, built from profiles along trunk, head, arm, leg and foot.

All figures share one rest pose: arms 45 degrees below the T-pose, legs slightly apart. `shapes` holds a man, a
woman and a child; `templates` meshes them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from depthforest.base import Floats
from synth.bodies.implicit import Lens, Loft, Vector, ellipsoid, round_cone, smooth_cut, smooth_union

ARM_SLOPE = np.pi / 4
"""Angle of the arms below the T-pose at rest: halfway to hanging, so that skin stretches little in either direction."""

LEG_SLOPE = np.radians(3.5)
"""Sideways angle of the legs at rest: keeps the thighs apart, so that they are meshed as separate surfaces."""

ARM_AXES = np.array(
    [
        [np.cos(ARM_SLOPE), -np.sin(ARM_SLOPE), 0.0],
        [np.sin(ARM_SLOPE), np.cos(ARM_SLOPE), 0.0],
        [0.0, 0.0, 1.0],
    ]
)
"""Rows: along the left arm to the hand; across toward the back of the hand; across toward the thumb."""

LEG_AXES = np.array(
    [
        [np.sin(LEG_SLOPE), -np.cos(LEG_SLOPE), 0.0],
        [np.cos(LEG_SLOPE), np.sin(LEG_SLOPE), 0.0],
        [0.0, 0.0, 1.0],
    ]
)
"""Rows: down the left leg to the foot; outward; forward."""

UP_AXES = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
FORWARD_AXES = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])

EAR_TURN = np.array(
    [
        [np.cos(0.45), 0.0, -np.sin(0.45)],
        [0.0, 1.0, 0.0],
        [np.sin(0.45), 0.0, np.cos(0.45)],
    ]
)
"""Rotation of the left ear: its rear rim stands off the skull."""

Table = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Figure:
    """The dimensions of one figure, in meters.

    Parameters
    ----------
    top, chin, waist, neck : float
        Heights above the floor: of the crown, of the lowest point of the chin, of the waist, of the root of the neck.
    shoulder, hip, ankle : (x, y, z)
        The left joints.
    arm_lengths : (float, float, float)
        Shoulder to elbow, elbow to wrist, wrist to fingertip.
    torso, head : table
        Rows: height; half breadth; reach to the front and to the back of z = 0.
    arm : table
        Rows: position along the arm from the shoulder; radii to the dorsal, palmar, thumb and little finger side.
    leg : table
        Rows: position down the leg from the hip; radii outward, inward, forward, backward.
    foot : table
        Rows: position in front of the ankle; radii outward, inward; reach up and down from the foot's axis.
    neck_radius : float
        Of the neck below the chin.
    breast, buttock : (center, radii)
        Ellipsoids of the left side.
    nose : float
        How far it protrudes.
    hand_breadth : float
        Across the knuckles, without the thumb.
    """

    top: float
    chin: float
    waist: float
    neck: float
    shoulder: Vector
    hip: Vector
    ankle: Vector
    arm_lengths: tuple[float, float, float]
    torso: Table
    head: Table
    arm: Table
    leg: Table
    foot: Table
    neck_radius: float
    breast: tuple[Vector, Vector]
    buttock: tuple[Vector, Vector]
    nose: float
    hand_breadth: float

    @property
    def knee(self) -> Floats:
        """The left knee joint: on the line from hip to ankle, a little above its middle."""
        return np.asarray(self.hip) + 0.496 * (np.asarray(self.ankle) - self.hip)

    def along_arm(self, distance: float, dorsal: float = 0.0, thumbward: float = 0.0) -> Floats:
        """Return the point at a position along the left arm and offsets across it."""
        return np.asarray(self.shoulder + np.array([distance, dorsal, thumbward]) @ ARM_AXES)

    def lenses(self) -> tuple[Lens, ...]:
        """Return the regions that need a finer mesh: face, hand, foot."""
        upper, fore, hand = self.arm_lengths
        middle = self.along_arm(upper + fore + 0.45 * hand)
        return (
            Lens((0.0, 0.5 * (self.top + self.chin), 0.03), 0.30, 1.5),
            Lens((float(middle[0]), float(middle[1]), float(middle[2])), 0.27, 2.0),
            Lens((self.ankle[0], 0.4 * self.ankle[1], 0.07), 0.26, 1.3),
        )

    def field(self, points: Floats) -> Floats:
        """Return the approximate signed distance of points (..., 3), x >= about 0, to the skin, negative inside."""
        trunk = self._trunk(points)
        limb = self._leg(points)
        other = self._leg(points * (-1, 1, 1))
        body = smooth_union(trunk, smooth_union(limb, other, 0.008), 0.045)
        return smooth_union(body, smooth_union(self._arm(points), self._hand(points), 0.015), 0.045)

    def _trunk(self, points: Floats) -> Floats:
        folded = points.copy()
        folded[..., 0] = np.abs(points[..., 0])
        torso = Loft((0, 0, 0), UP_AXES, _both_sides(self.torso), (0.06, 0.03), 2.3)(points)
        for center, radii in (self.buttock, self.breast):
            torso = smooth_union(torso, ellipsoid(folded, center, radii), 0.045)
        neck = round_cone(
            points,
            (0, self.neck - 0.03, -0.035),
            (0, self.chin + 0.05, -0.004),
            1.08 * self.neck_radius,
            0.96 * self.neck_radius,
        )
        return smooth_union(torso, smooth_union(neck, self._head(folded), 0.018), 0.05)

    def _head(self, folded: Floats) -> Floats:
        skull = Loft((0, 0, 0), UP_AXES, _both_sides(self.head), (0.022, 0.085), 2.15)(folded)
        face = self.top - self.chin  # all features of the face scale with its height
        eyes, tip = self.chin + 0.53 * face, self.chin + 0.345 * face
        front = float(np.interp(eyes, [row[0] for row in self.head], [row[2] for row in self.head]))
        nose = round_cone(folded, (0, eyes + 0.005, front - 0.004), (0, tip, front + self.nose - 0.01), 0.006, 0.010)
        wing = ellipsoid(folded, (0.011, tip - 0.004, front + 0.2 * self.nose), (0.010, 0.008, 0.6 * self.nose))
        socket = ellipsoid(folded, (0.14 * face, eyes, front + 0.035 * face), (0.085 * face, 0.055 * face, 0.06 * face))
        lips = ellipsoid(
            folded, (0, self.chin + 0.175 * face, front - 0.002), (0.11 * face, 0.035 * face, 0.036 * face)
        )
        ear = ellipsoid(
            folded @ EAR_TURN.T,
            tuple(EAR_TURN @ (0.325 * face, eyes - 0.05 * face, -0.008)),
            (0.009, 0.13 * face, 0.016),
        )
        head = smooth_cut(skull, socket, 0.016)
        head = smooth_union(head, smooth_union(nose, wing, 0.008), 0.012)
        head = smooth_union(head, lips, 0.012)
        return smooth_union(head, ear, 0.008)

    def _arm(self, points: Floats) -> Floats:
        return Loft(self.shoulder, ARM_AXES, np.array(self.arm), (0.08, 0.02))(points)

    def _hand(self, points: Floats) -> Floats:
        wrist = sum(self.arm_lengths[:2])
        length, half = self.arm_lengths[2], self.hand_breadth / 2
        palm_length = 0.56 * length
        palm = Loft(
            self.shoulder,
            ARM_AXES,
            np.array(
                (
                    (wrist - 0.02, 0.021, 0.021, 0.6 * half, 0.6 * half),
                    (wrist + 0.4 * palm_length, 0.015, 0.019, 0.92 * half, 0.9 * half),
                    (wrist + palm_length, 0.013, 0.012, half, half),
                    (wrist + 0.9 * length, 0.008, 0.011, 0.9 * half, 0.8 * half),
                )
            ),
            (0.02, 0.02),
            2.4,
        )(points)
        hand = palm
        # index to little finger: offset across the palm, and reach along the hand
        for across, reach in ((0.72, 0.955), (0.25, 1.0), (-0.24, 0.965), (-0.70, 0.84)):
            start = self.along_arm(wrist + 0.9 * palm_length, 0.0, across * half)
            end = self.along_arm(wrist + reach * length - 0.0085, -0.005, 0.88 * across * half)
            finger = round_cone(points, _vector(start), _vector(end), 0.0105, 0.0085)
            hand = smooth_union(hand, finger, 0.012)
        thumb_root = self.along_arm(wrist + 0.16 * length, -0.006, 0.55 * half)
        thumb_bend = self.along_arm(wrist + 0.40 * length, -0.012, 1.22 * half)
        thumb_tip = self.along_arm(wrist + 0.60 * length, -0.012, 1.55 * half)
        thumb = smooth_union(
            round_cone(points, _vector(thumb_root), _vector(thumb_bend), 0.016, 0.012),
            round_cone(points, _vector(thumb_bend), _vector(thumb_tip), 0.012, 0.008),
            0.008,
        )
        return smooth_union(hand, thumb, 0.014)

    def _leg(self, points: Floats) -> Floats:
        leg = Loft(self.hip, LEG_AXES, np.array(self.leg), (0.16, 0.02))(points)
        # the foot points slightly outward
        local = points - (self.ankle[0], 0.0, self.ankle[2])
        local = local - np.stack([0.1 * local[..., 2], 0 * local[..., 2], 0 * local[..., 2]], axis=-1)
        sole = self.foot[0][4]
        foot = Loft((0, sole, 0), FORWARD_AXES, np.array(self.foot), (0.035, 0.03), 2.5)(local)
        return smooth_union(leg, foot, 0.03)


def _both_sides(table: Table) -> Floats:
    """Return the stations of a loft from rows of height, half breadth, front, back."""
    rows = np.array(table)
    return rows[:, [0, 1, 1, 2, 3]]


def _vector(point: Floats) -> Vector:
    return float(point[0]), float(point[1]), float(point[2])
