"""A calibrated rig: poses and clock offsets of cameras, and its file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from depthforest.base import Floats, is_finite, read_json, write_json
from depthforest.joints.cameras.views import RigError

FORMAT, VERSION = "depthforest cameras", 1


@dataclass(frozen=True, eq=False)
class CameraPose:
    """Pose and clock of a camera, relative to the first one.

    Parameters
    ----------
    name : str
    rotation : array (3, 3), float64
    translation : array (3,), float64
        Meters. ``rotation @ point + translation`` is the camera's point in the space of the first camera.
    offset_s : float
        Seconds to add to the camera's times to get those of the first camera.
    error_m : float
        Median distance, in meters, between its joints and those of the other cameras; NaN for a single camera.
    n_joints : int
        Number of pairs of joints that the pose was fitted to.
    """

    name: str
    rotation: Floats
    translation: Floats
    offset_s: float = 0.0
    error_m: float = math.nan
    n_joints: int = 0

    def place(self, points: Floats) -> Floats:
        """Return points (..., 3) of the camera in the space of the first camera."""
        return np.asarray(points @ self.rotation.T + self.translation)


@dataclass(frozen=True)
class CameraRig:
    """Cameras that look at the same people; the first one is the reference."""

    cameras: tuple[CameraPose, ...]

    def save(self, path: str | Path) -> None:
        """Write the rig as JSON."""
        cameras = [
            {
                "name": camera.name,
                "rotation": camera.rotation.tolist(),
                "translation": camera.translation.tolist(),
                "offset_s": camera.offset_s,
                "error_m": None if math.isnan(camera.error_m) else camera.error_m,
                "joints": camera.n_joints,
            }
            for camera in self.cameras
        ]
        write_json(Path(path), {"format": FORMAT, "version": VERSION, "unit": "meter", "cameras": cameras})

    @classmethod
    def load(cls, path: str | Path) -> CameraRig:
        """Read a rig from JSON, and check it."""
        content = read_json(Path(path), RigError)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise RigError(f'{path}: is another kind of file; expected "format": "{FORMAT}"')
        if content.get("version") != VERSION:
            raise RigError(f"{path}: has version {content.get('version')!r}; this program reads {VERSION}")
        cameras = content.get("cameras")
        if not isinstance(cameras, list) or not cameras:
            raise RigError(f"{path}: cameras must be a list of at least one")
        return cls(tuple(_pose(camera, f"{path}, camera {number}") for number, camera in enumerate(cameras, start=1)))


def _pose(content: Any, where: str) -> CameraPose:
    if not isinstance(content, dict):
        raise RigError(f"{where}: expected an object with name, rotation, translation and offset_s")
    name, offset_s = content.get("name"), content.get("offset_s", 0.0)
    rotation, translation = (_numbers(content.get(key), shape) for key, shape in _SHAPES.items())
    if not isinstance(name, str) or not is_finite(offset_s):
        raise RigError(f"{where}: name must be text and offset_s a number")
    if rotation is None or translation is None or np.abs(rotation @ rotation.T - np.eye(3)).max() > 1e-3:
        raise RigError(f"{where}: rotation must be a rotation matrix of 3 rows and translation 3 numbers, in meters")
    error_m, n_joints = content.get("error_m"), content.get("joints", 0)
    error_m = float(error_m) if is_finite(error_m) else math.nan
    return CameraPose(
        name, rotation, translation, float(offset_s), error_m, int(n_joints) if is_finite(n_joints) else 0
    )


_SHAPES: dict[str, tuple[int, ...]] = {"rotation": (3, 3), "translation": (3,)}


def _numbers(content: Any, shape: tuple[int, ...]) -> Floats | None:
    """Return finite numbers of a shape, None if they are not."""
    try:
        array = np.array(content, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        return None
    return array if array.shape == shape and bool(np.isfinite(array).all()) else None
