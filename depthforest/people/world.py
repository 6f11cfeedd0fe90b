"""The world frame: up and the camera's height, from the floor."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, UsageError
from depthforest.frames import Frame, Joint
from depthforest.people.grid import DepthGrid
from depthforest.people.planes import FittedPlane, find_floor, find_planes

MOST_FRAMES = 8
"""Frames whose floors are combined: more would change the height by less than a millimeter."""

MAX_PLANES = 8
"""Most planes to find; the floor is among the first."""

STEEP_COS = math.sin(math.radians(50.0))
"""A camera looks down if this component of the floor's normal toward it is larger: by 50 degrees or more."""

LEVEL_COS, PLUMB_COS = math.cos(math.radians(10.0)), math.sin(math.radians(10.0))
"""Tolerance between the floor's normal and level or vertical planes: the walls and table tops of its room."""

FACING_COS = math.cos(math.radians(35.0))
"""A plane that is turned away from the camera by less may be a floor below it or a wall in front of it."""

FACING_AREA = 1.0
"""Smallest area of such a plane in square meters: more than any patch of a body."""


@dataclass(frozen=True, eq=False)
class World:
    """A coordinate frame on the floor, right below the camera: x right, y up, z toward the viewer.

    The camera looks along -z. BVH, glTF and most animation tools use this frame.

    Parameters
    ----------
    up : (x, y, z)
        Unit vector in camera space: the floor's normal.
    height : float
        Meters from the floor to the camera.
    """

    up: tuple[float, float, float]
    height: float

    @property
    def rotation(self) -> Floats:
        """Axes of the camera to axes of the world, (3, 3)."""
        up = np.array(self.up)
        forward = np.array((0.0, 0.0, 1.0)) - up[2] * up
        back = -forward / np.linalg.norm(forward)
        return np.stack((np.cross(up, back), up, back))

    @property
    def tilt(self) -> float:
        """Degrees by which the camera looks down."""
        return math.degrees(math.asin(min(1.0, max(-1.0, -self.up[2]))))

    @property
    def roll(self) -> float:
        """Degrees by which the camera leans to its right: clockwise, seen from behind it."""
        return math.degrees(math.atan2(-self.up[0], -self.up[1]))

    def points(self, points: npt.ArrayLike) -> Floats:
        """Return points (..., 3) of camera space in the world, meters."""
        return np.asarray(np.asarray(points, dtype=np.float64) @ self.rotation.T + (0.0, self.height, 0.0))

    def joints(self, joints: Mapping[str, Any]) -> dict[str, Joint]:
        """Return joints of camera space in the world: y is their height above the floor."""
        found = {}
        for name, joint in joints.items():
            x, y, z = self.points(joint.position).tolist()
            found[name] = Joint((x, y, z), getattr(joint, "is_visible", True), float(joint.confidence))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the frame in JSON form."""
        return {
            "up": list(self.up),
            "height_m": self.height,
            "tilt_deg": self.tilt,
            "roll_deg": self.roll,
            "camera_to_world": [
                [*row, shift] for row, shift in zip(self.rotation.tolist(), (0, self.height, 0), strict=True)
            ],
        }

    def __str__(self) -> str:
        looks = f"looks {'down' if self.tilt >= 0 else 'up'} by {abs(self.tilt):.1f} degrees"
        leans = f"leans {abs(self.roll):.1f} degrees to its {'right' if self.roll >= 0 else 'left'}"
        return f"the camera stands {self.height:.2f} m above the floor, {looks} and {leans}"


def find_world(frames: Frame | Iterable[Frame]) -> World | None:
    """Return the world frame of a camera that does not move; None if no frame shows a floor.

    Parameters
    ----------
    frames : Frame or iterable of Frame
        The first 8 that show a floor are used; the result is the median of their floors.
    """
    floors: list[FittedPlane] = []
    for frame in [frames] if isinstance(frames, Frame) else frames:
        if not isinstance(frame, Frame):
            raise UsageError(f"find_world takes frames, got {type(frame).__name__}")
        floor = floor_of(frame)
        if floor is not None:
            floors.append(floor)
        if len(floors) == MOST_FRAMES:
            break
    return world_of(floors)


def floor_of(frame: Frame) -> FittedPlane | None:
    """Return the floor of a frame; None if it shows none. A steep one counts only in a room that stands on it."""
    return _floor_among(find_planes(DepthGrid.of(frame), n=MAX_PLANES))[0]


def looks_down(frame: Frame) -> bool | None:
    """Tell whether the camera looks down by 50 degrees or more; None if the room does not determine it.

    A plane that faces the camera is a floor seen from above or a wall seen from the front; its geometry alone cannot
    decide.
    """
    planes = find_planes(DepthGrid.of(frame), n=MAX_PLANES)
    floor, is_refused = _floor_among(planes)
    if floor is not None or is_refused:
        return floor is not None and _is_steep(floor)
    is_open = any(plane.area >= FACING_AREA and -plane.normal[2] > FACING_COS for plane in planes)
    return None if is_open else False


def _floor_among(planes: tuple[FittedPlane, ...]) -> tuple[FittedPlane | None, bool]:
    """Return the floor among planes, and whether there is none because the room does not stand on a steep one."""
    floor = find_floor(planes)
    is_refused = floor is not None and _is_steep(floor) and not _stands_on(floor, planes)
    return None if is_refused else floor, is_refused


def _is_steep(floor: FittedPlane) -> bool:
    return bool(-floor.normal[2] > STEEP_COS)


def _stands_on(floor: FittedPlane, planes: tuple[FittedPlane, ...]) -> bool:
    """Tell whether a room stands on a floor: planes that are neither level nor vertical cover less than the floor does.

    Rooms are built level and vertical. A plane through distant, noisy things is tilted relative to the walls and tables
    in front of it.
    """
    up = np.array(floor.normal)
    leaning = sum(p.area for p in planes if PLUMB_COS < abs(float(up @ p.normal)) < LEVEL_COS)
    return floor.area > leaning


def world_of(floors: list[FittedPlane]) -> World | None:
    """Return the world frame on the median of floors; None if there is none."""
    if not floors:
        return None
    up = np.median([floor.normal for floor in floors], axis=0)
    x, y, z = (up / np.linalg.norm(up)).tolist()
    return World((x, y, z), float(np.median([floor.offset for floor in floors])))
