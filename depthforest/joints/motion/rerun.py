"""Recordings for the Rerun viewer: joints and bones on a timeline, to view beside other data of a robot."""

from __future__ import annotations

import importlib
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from depthforest.base import UsageError, replacing
from depthforest.frames import BONES, JOINTS
from depthforest.joints.motion.motion import Motion

TIMELINE = "time"
JOINT_RADIUS_M, BONE_RADIUS_M = 0.02, 0.01

_ENDS = np.array([[JOINTS.index(a), JOINTS.index(b)] for a, b in BONES])


def write_rerun(path: str | Path, motion: Motion) -> None:
    """Write the joints and the bones between them as a Rerun recording (.rrd), y up. Needs the package rerun-sdk.

    Entities are `person/joints` and `person/bones`; a joint or bone that a frame lacks is not in it. The timeline
    `time` has the seconds of the frames.

    Parameters
    ----------
    path : str or Path
    motion : Motion
    """
    try:
        rr: Any = importlib.import_module("rerun")
    except ImportError:
        raise UsageError(f"{path}: Rerun recordings need the package rerun-sdk: pip install rerun-sdk") from None
    with tempfile.TemporaryDirectory() as folder, replacing(path) as file:
        made = Path(folder) / "made.rrd"  # the SDK only writes to named files
        with rr.RecordingStream("depthforest") as recording:
            recording.save(made)
            recording.log("person", rr.ViewCoordinates.RIGHT_HAND_Y_UP, static=True)
            for time, places in zip(motion.times, motion.found, strict=True):
                is_known = ~np.isnan(places[:, 0])
                labels = [name for name, known in zip(JOINTS, is_known, strict=True) if known]
                bones = places[_ENDS[is_known[_ENDS].all(axis=1)]]
                recording.set_time(TIMELINE, duration=float(time))
                recording.log("person/joints", rr.Points3D(places[is_known], labels=labels, radii=JOINT_RADIUS_M))
                recording.log("person/bones", rr.LineStrips3D(bones, radii=BONE_RADIUS_M))
            recording.disconnect()  # finishes the file
        file.write(made.read_bytes())
