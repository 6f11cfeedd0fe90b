"""Tables of motion as CSV: joint angles, bone lengths, and joints with a row for each frame."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from depthforest.base import Floats, replacing
from depthforest.frames import JOINTS
from depthforest.joints.motion.motion import Motion


def write_angles(path: str | Path, motion: Motion) -> None:
    """Write the joint angles of `Motion.angles` as CSV: frame, time, then columns of degrees."""
    angles = motion.angles()
    _write_csv(path, ("frame", "time", *angles), _table(motion, np.stack(list(angles.values()), axis=1), 2))


def write_bones(path: str | Path, motion: Motion) -> None:
    """Write the bone lengths of `Motion.bone_lengths` as CSV: bone, median and noise in meters, frames."""
    lengths = motion.bone_lengths().items()
    rows = [(name, *_shown((bone.median, bone.noise), 4), bone.n) for name, bone in lengths]
    _write_csv(path, ("bone", "length", "noise", "frames"), rows)


def write_wide(path: str | Path, motion: Motion) -> None:
    """Write joints as CSV with a row for each frame: frame, time, then x, y, z of each joint, y up, meters."""
    columns = [f"{name}_{axis}" for name in JOINTS for axis in "xyz"]
    _write_csv(path, ("frame", "time", *columns), _table(motion, motion.found.reshape(len(motion.names), -1), 5))


def _table(motion: Motion, values: Floats, digits: int) -> list[tuple[object, ...]]:
    rows = zip(motion.names, motion.times, values, strict=True)
    return [(name, repr(float(time)), *_shown(row, digits)) for name, time, row in rows]


def _shown(values: Iterable[float], digits: int) -> list[str]:
    return ["" if np.isnan(value) else f"{value:.{digits}f}" for value in values]


def _write_csv(path: str | Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    with replacing(path) as file:
        file.write(text.getvalue().encode())
