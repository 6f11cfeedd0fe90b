"""A mannequin of spheres on a floor beside a box: the bundled sample frames, exact in depth, parts and joints.

A stand-in with the right parts in the right places, to open, draw and test with; it is no body to train on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from depthforest.camera import Camera
from depthforest.frames import Joint, LabeledFrame
from depthforest.parts import BODY31, JOINT_PARTS, NO_PART
from synth.analytic import Box, Plane, Solid, Sphere, cast

Floats = npt.NDArray[np.float64]
Direction = tuple[float, float, float]

DOWN: Direction = (0.0, -1.0, 0.0)

# Metres, of a body of 1.75 m. Body space: x to the person's left, y up from the floor, z forward out of the chest.
PELVIS = (0.0, 0.95, 0.0)
CHEST_UP, NECK_UP, HEAD_UP = 0.38, 0.53, 0.70
SHOULDER_OUT, SHOULDER_UP, HIP_OUT, HIP_UP = 0.19, 0.46, 0.10, -0.04
UPPER_ARM, LOWER_ARM, HAND = 0.29, 0.25, 0.10
THIGH, SHIN, FOOT = 0.43, 0.40, 0.17
ANKLE_UP = 0.08

SPHERES_PER_METRE = 40


@dataclass(frozen=True)
class Mannequin:
    """A pose and a place.

    Parameters
    ----------
    position : (x, z)
        Metres on the floor, to the right of and away from the camera.
    yaw : float
        Radians; 0 faces the camera, positive turns the person to their left.
    limbs : mapping of "arm_l", "arm_r", "leg_l", "leg_r" to two directions
        Of the upper and the lower half, in body space; omitted limbs hang down.
    """

    position: tuple[float, float]
    yaw: float = 0.0
    limbs: Mapping[str, tuple[Direction, Direction]] = field(default_factory=dict)

    def joints(self) -> dict[str, Floats]:
        """Return the joints in world space: x right, y up, z away from the camera, origin on the floor below it."""
        pelvis = np.array(PELVIS)
        body = {
            "head": pelvis + (0, HEAD_UP, 0.02),
            "neck": pelvis + (0, NECK_UP, 0),
            "spine": pelvis + (0, CHEST_UP / 2, 0),
        }
        for side, out in (("l", 1.0), ("r", -1.0)):
            upper, lower = (_unit(d) for d in self.limbs.get(f"arm_{side}", (DOWN, DOWN)))
            body[f"shoulder_{side}"] = pelvis + (out * SHOULDER_OUT, SHOULDER_UP, 0)
            body[f"elbow_{side}"] = body[f"shoulder_{side}"] + UPPER_ARM * upper
            body[f"wrist_{side}"] = body[f"elbow_{side}"] + LOWER_ARM * lower
            body[f"hand_{side}"] = body[f"wrist_{side}"] + HAND * lower
            upper, lower = (_unit(d) for d in self.limbs.get(f"leg_{side}", (DOWN, DOWN)))
            body[f"hip_{side}"] = pelvis + (out * HIP_OUT, HIP_UP, 0)
            body[f"knee_{side}"] = body[f"hip_{side}"] + THIGH * upper
            body[f"ankle_{side}"] = body[f"knee_{side}"] + SHIN * lower
            body[f"foot_{side}"] = body[f"ankle_{side}"] + (0, -0.04, FOOT)
        lowest = min(body["ankle_l"][1], body["ankle_r"][1]) - ANKLE_UP
        return {name: self._to_world(p - (0, lowest, 0)) for name, p in body.items()}

    def spheres(self) -> list[tuple[str, Floats, float]]:
        """Return (part, centre in world space, radius) of every sphere."""
        joints = self.joints()
        found = self._trunk(joints)
        for side in "lr":
            shoulder, elbow, wrist, hand, hip, knee, ankle, foot = (
                joints[f"{n}_{side}"] for n in ("shoulder", "elbow", "wrist", "hand", "hip", "knee", "ankle", "foot")
            )
            for part, start, end, radii in (
                ("arm_upper", shoulder, elbow, (0.055, 0.045)),
                ("arm_lower", elbow, wrist, (0.045, 0.034)),
                ("hand", wrist, hand, (0.036, 0.046)),
                ("leg_upper", hip, knee, (0.085, 0.060)),
                ("leg_lower", knee, ankle, (0.058, 0.042)),
                ("foot", ankle, foot, (0.050, 0.040)),
            ):
                found += [(f"{part}_{side}", c, r) for c, r in _row(start, end, radii)]
            for part, centre, radius in (
                ("shoulder", shoulder, 0.075),
                ("elbow", elbow, 0.053),
                ("wrist", wrist, 0.042),
                ("knee", knee, 0.068),
                ("ankle", ankle, 0.054),
            ):
                found.append((f"{part}_{side}", centre, radius))
        return found

    def _trunk(self, joints: Mapping[str, Floats]) -> list[tuple[str, Floats, float]]:
        left = self._turn(np.array([1.0, 0.0, 0.0]))
        up = np.array([0.0, 1.0, 0.0])
        head, neck, spine = joints["head"], joints["neck"], joints["spine"]
        found = [("neck", c, r) for c, r in _row(neck - 0.05 * up, neck + 0.05 * up, (0.055, 0.052))]
        for side, out in (("l", 1.0), ("r", -1.0)):
            found.append((f"head_upper_{side}", head + out * 0.022 * left + 0.050 * up, 0.088))
            found.append((f"head_lower_{side}", head + out * 0.020 * left - 0.040 * up, 0.080))
            for distance in (0.045, 0.10):
                start = spine + out * distance * left
                radius = 0.125 if distance < 0.05 else 0.105
                found += [(f"torso_upper_{side}", c, r) for c, r in _row(start, start + 0.24 * up, (radius, radius))]
                found += [(f"torso_lower_{side}", c, r) for c, r in _row(start - 0.22 * up, start, (radius, radius))]
        return found

    def _turn(self, vector: Floats) -> Floats:
        """Turn a vector of body space into world space; at yaw 0 the person's left is the camera's right."""
        cos, sin = np.cos(self.yaw), np.sin(self.yaw)
        x, y, z = vector
        return np.array([cos * x + sin * z, y, sin * x - cos * z])

    def _to_world(self, point: Floats) -> Floats:
        return self._turn(point) + (self.position[0], 0.0, self.position[1])


def _unit(direction: Direction) -> Floats:
    vector = np.asarray(direction, dtype=np.float64)
    return vector / np.linalg.norm(vector)


def _row(start: Floats, end: Floats, radii: tuple[float, float]) -> list[tuple[Floats, float]]:
    """Return spheres in a row with the radius changing from one end to the other."""
    n = max(2, round(SPHERES_PER_METRE * float(np.linalg.norm(end - start))))
    return [((1 - t) * start + t * end, (1 - t) * radii[0] + t * radii[1]) for t in np.linspace(0, 1, n)]


@dataclass(frozen=True)
class Viewpoint:
    """A camera at a height above the floor, tilted down by an angle in radians."""

    camera: Camera
    height: float = 1.1
    tilt: float = 0.08

    def to_camera(self, world: Floats) -> Floats:
        """Return camera-space points (..., 3) of world points: the same place, y down, tilted."""
        x, y, z = world[..., 0], self.height - world[..., 1], world[..., 2]
        cos, sin = np.cos(self.tilt), np.sin(self.tilt)
        return np.stack((x, cos * y - sin * z, sin * y + cos * z), axis=-1)

    def axes(self) -> Floats:
        """Return the world's axes in camera space, as columns."""
        return (self.to_camera(np.eye(3)) - self.to_camera(np.zeros(3))).T


def render(view: Viewpoint, people: Sequence[Mannequin], boxes: Sequence[tuple[Direction, Direction]]) -> LabeledFrame:
    """Return the labeled frame of people and boxes on a floor before a wall.

    Parameters
    ----------
    view : Viewpoint
    people : sequence of Mannequin
        Person ids count from 1 in this order.
    boxes : sequence of (centre, half size)
        In world space.
    """
    axes = view.axes()
    floor = Plane(view.to_camera(np.zeros(3)), axes[:, 1])
    wall = Plane(view.to_camera(np.array([0.0, 0.0, 4.2])), axes[:, 2])
    solids: list[Solid] = [floor, wall, *(Box(view.to_camera(np.array(c)), h, axes) for c, h in boxes)]
    labels = [(NO_PART, 0)] * len(solids)
    for person, mannequin in enumerate(people, start=1):
        for part, centre, radius in mannequin.spheres():
            solids.append(Sphere(view.to_camera(centre), radius))
            labels.append((BODY31.index(part), person))
    depth, index = cast(view.camera, solids)
    table = np.array([*labels, (NO_PART, 0)], dtype=np.uint8)  # the last, -1, is "nothing"
    parts, ids = table[index, 0], table[index, 1]
    joints = {
        person: {
            name: Joint(tuple(position), _is_visible(name, position, person, view.camera, parts, ids))
            for name, position in ((n, view.to_camera(p)) for n, p in mannequin.joints().items())
        }
        for person, mannequin in enumerate(people, start=1)
    }
    return LabeledFrame(np.where(np.isfinite(depth), depth, 0.0), view.camera, parts, ids, joints)


def _is_visible(
    joint: str,
    position: Floats,
    person: int,
    camera: Camera,
    parts: npt.NDArray[np.uint8],
    people: npt.NDArray[np.uint8],
) -> bool:
    """Tell whether the pixel that a joint projects to shows a part of that person which carries the joint."""
    row, col = np.rint(camera.project(position))
    if not (0 <= row < camera.height and 0 <= col < camera.width):
        return False
    at = int(row), int(col)
    carriers = {BODY31.index(p) for p in JOINT_PARTS[joint]}
    return bool(people[at] == person and int(parts[at]) in carriers)


def sample_frames() -> dict[str, LabeledFrame]:
    """Return the bundled sample frames by name."""
    view = Viewpoint(Camera.preset("kinect_v1@320x240"))
    box = ((0.95, 0.25, 2.9), (0.30, 0.25, 0.30))
    out, bent = (1.0, -0.15, 0.1), (0.15, 1.0, 0.25)
    open_arms = Mannequin((-0.1, 2.6), 0.0, {"arm_l": (out, bent), "arm_r": (_mirrored(out), _mirrored(bent))})
    walking = Mannequin(
        (-0.3, 2.9),
        0.9,
        {
            "arm_l": ((0.1, -1.0, -0.45), (0.05, -0.8, 0.35)),
            "arm_r": ((-0.1, -1.0, 0.45), (-0.05, -0.6, 0.7)),
            "leg_l": ((0.0, -1.0, 0.45), (0.0, -1.0, 0.1)),
            "leg_r": ((0.0, -1.0, -0.25), (0.0, -1.0, -0.7)),
        },
    )
    pointing = Mannequin((0.15, 1.7), -0.3, {"arm_r": ((-0.5, -0.1, 0.8), (-0.3, 0.15, 1.0))})
    behind_box = Mannequin((0.85, 3.4), 0.4, {"arm_l": ((0.5, -1.0, 0.2), (0.2, -0.4, 0.8))})
    waving = Mannequin((-0.75, 2.5), -0.35, {"arm_r": ((-0.9, 0.2, 0.1), (-0.1, 1.0, 0.1))})
    return {
        "open_arms": render(view, [open_arms], [box]),
        "walking": render(view, [walking], [box]),
        "pointing_near": render(view, [pointing], [box]),
        "two_people": render(view, [waving, behind_box], [box]),
    }


def _mirrored(direction: Direction) -> Direction:
    return -direction[0], direction[1], direction[2]
