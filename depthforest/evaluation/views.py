"""Facts about each person in each frame, independent of models: distance, heading, whether the border cuts them.

A *view* is one person in one frame. Figures are broken down by these facts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from depthforest.base import Bools, Floats
from depthforest.evaluation.scores import Counts
from depthforest.frames import Camera, Joints, LabeledFrame

DISTANCES_M = (1.0, 2.0, 3.0, 4.0)
"""Borders of the distance groups."""

YAWS_DEG = (45.0, 90.0, 135.0)
"""Borders of the groups of |yaw|: front, half front, half back, back."""

MIN_LEVEL = 0.5
"""Smallest horizontal share of the line across hips and shoulders. A steeper line, of a person lying on their side,
says little about the heading."""


@dataclass(frozen=True)
class PersonView:
    """One person in one frame.

    Parameters
    ----------
    frame, person : int
        Index of the frame, id of the person.
    distance_m : float
        Median depth of the person's pixels.
    yaw_deg : float
        Heading: 0 faces the camera, positive turns to the person's left; NaN if the joints do not determine it.
    is_cut : bool
        Whether the picture's border cuts the person: a pixel on it, or a joint outside.
    sensor : str
        Sensor of the frame; empty if unknown.
    """

    frame: int
    person: int
    distance_m: float
    yaw_deg: float
    is_cut: bool
    sensor: str = ""

    @classmethod
    def of(cls, frame: LabeledFrame, index: int, person: int, mask: Bools, sensor: str = "") -> PersonView:
        """Return the view of the person with a mask (rows, cols) in frame number `index`."""
        readings = frame.depth_mm[mask & (frame.depth_mm > 0)]
        joints = frame.joints.get(person, {})
        is_cut = touches_border(mask) or has_joint_outside(joints, frame.camera)
        distance = float(np.median(readings)) / 1000 if readings.size else math.nan
        return cls(index, person, distance, yaw_of(joints), is_cut, sensor)


def yaw_of(joints: Joints) -> float:
    """Return the heading in degrees from -180 to 180, from the true shoulders and hips; NaN if undetermined.

    The line from right to left is projected along the camera's y axis, so a tilted camera changes the angle a little.
    """
    pairs = [
        np.subtract(joints[f"{name}_l"].position, joints[f"{name}_r"].position)
        for name in ("shoulder", "hip")
        if f"{name}_l" in joints and f"{name}_r" in joints
    ]
    if not pairs:
        return math.nan
    x, y, z = np.sum(pairs, axis=0)
    length = math.sqrt(x * x + y * y + z * z)
    if length == 0 or math.hypot(x, z) < MIN_LEVEL * length:
        return math.nan
    # a person who faces the camera has the left hand on the right of the picture, at positive x
    return math.degrees(math.atan2(z, x))


def touches_border(mask: Bools) -> bool:
    """Tell whether a mask (rows, cols) has a pixel on the border of the picture."""
    return bool(mask[0].any() or mask[-1].any() or mask[:, 0].any() or mask[:, -1].any())


def has_joint_outside(joints: Joints, camera: Camera) -> bool:
    """Tell whether a joint projects outside the picture, or lies behind the camera."""
    if not joints:
        return False
    rows, cols = camera.project([joint.position for joint in joints.values()]).T
    # NaN, behind the camera, compares false
    is_inside = (rows >= -0.5) & (rows < camera.height - 0.5) & (cols >= -0.5) & (cols < camera.width - 0.5)
    return not bool(is_inside.all())


@dataclass(frozen=True, eq=False)
class Group:
    """Views with a common property.

    Parameters
    ----------
    axis : "distance", "yaw", "border" or "sensor"
    label : str
    chosen : array (n_views,), bool
    """

    axis: str
    label: str
    chosen: Bools


AXES = {
    "distance": "distance of the person",
    "yaw": "heading of the person",
    "border": "the picture's border",
    "sensor": "sensor",
}


def groups(views: Sequence[PersonView]) -> list[Group]:
    """Return the nonempty groups of all axes, in order; axes with a single group are left out."""
    distance: Floats = np.array([v.distance_m for v in views], dtype=np.float64)
    turned: Floats = np.abs(np.array([v.yaw_deg for v in views], dtype=np.float64))
    is_cut: Bools = np.array([v.is_cut for v in views], dtype=np.bool_)
    sensor: npt.NDArray[np.str_] = np.array([v.sensor for v in views], dtype=np.str_)
    found = [Group("distance", label, chosen) for label, chosen in _ranges(distance, DISTANCES_M, "m")]
    names = ("front", "half front", "half back", "back")
    found += [
        Group("yaw", f"{name}, {label}", chosen)
        for name, (label, chosen) in zip(names, _ranges(turned, YAWS_DEG, "°"), strict=True)
    ]
    found += [Group("yaw", "unknown", np.isnan(turned))]
    found += [Group("border", "whole", ~is_cut), Group("border", "cut", is_cut)]
    found += [Group("sensor", str(name), sensor == name) for name in np.unique(sensor) if name]
    found = [group for group in found if group.chosen.any()]
    n_groups = {axis: sum(group.axis == axis for group in found) for axis in AXES}
    return [group for group in found if n_groups[group.axis] > 1]


def _ranges(values: Floats, borders: tuple[float, ...], unit: str) -> list[tuple[str, Bools]]:
    """Return the ranges below, between and above borders, each with a mask of its values; NaN is in none."""
    which: Counts = np.where(np.isnan(values), -1, np.searchsorted(borders, values, side="right"))
    gap = "" if unit == "°" else " "
    labels = [f"below {borders[0]:g}{gap}{unit}"]
    labels += [f"{a:g} to {b:g}{gap}{unit}" for a, b in pairwise(borders)]
    labels += [f"above {borders[-1]:g}{gap}{unit}"]
    return [(label, which == i) for i, label in enumerate(labels)]
