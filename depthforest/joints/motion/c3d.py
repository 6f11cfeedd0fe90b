"""C3D, the format of motion laboratories: the joints as markers, evenly spaced in time."""

from __future__ import annotations

import importlib
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from depthforest.base import UsageError, replacing
from depthforest.frames import JOINTS
from depthforest.joints.motion.motion import Motion

MAX_FRAMES = 65535
"""The format counts frames in 16 bits; programs disagree on how to store longer files."""


def write_c3d(path: str | Path, motion: Motion, *, fps: float | None = None) -> None:
    """Write the joints as markers in millimeters, y up; unknown ones are marked as such. Needs the package ezc3d.

    Parameters
    ----------
    path : str or Path
    motion : Motion
    fps : float, optional
        Frames per second of the file, whose frames are evenly spaced. Default: the recording's median rate.
    """
    try:
        ezc3d: Any = importlib.import_module("ezc3d")
    except ImportError:
        raise UsageError(f"{path}: C3D needs the package ezc3d: pip install ezc3d") from None
    times, rate = motion.even_times(fps)
    if len(times) > MAX_FRAMES:
        raise UsageError(f"{path}: has {len(times)} frames; C3D holds {MAX_FRAMES}: write a part, or give a lower fps")
    points = np.ones((4, len(JOINTS), len(times)))
    points[:3] = 1000 * motion.sampled(times).transpose(2, 1, 0)
    content = ezc3d.c3d()
    about = content["parameters"]["POINT"]
    about["RATE"]["value"], about["UNITS"]["value"], about["LABELS"]["value"] = [rate], ["mm"], JOINTS
    content.add_parameter("POINT", "X_SCREEN", ["+X"])
    content.add_parameter("POINT", "Y_SCREEN", ["+Y"])
    # as text, because single precision would truncate clock times
    content.add_parameter("DEPTHFOREST", "START_S", [repr(float(times[0]))])
    content["data"]["points"] = points
    with tempfile.TemporaryDirectory() as folder, replacing(path) as file:
        made = Path(folder) / "made.c3d"  # ezc3d requires this ending
        content.write(str(made))
        file.write(made.read_bytes())
