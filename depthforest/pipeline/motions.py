"""Files that `label` writes for the people in a recording: one for each person and output."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from depthforest.base import DepthForestError, DepthForestWarning, make_folder, reason
from depthforest.joints import (
    FrameJoints,
    Motion,
    MotionError,
    write_angles,
    write_bones,
    write_bvh,
    write_c3d,
    write_gltf,
    write_rerun,
    write_wide,
)
from depthforest.pipeline.outputs import MOTION

WRITERS: dict[str, Callable[[Path, Motion], object]] = {
    "bvh": write_bvh,
    "c3d": write_c3d,
    "gltf": write_gltf,
    "rerun": write_rerun,
    "angles": write_angles,
    "bones": write_bones,
    "wide": write_wide,
}
"""A writer for each key of `outputs.MOTION`."""


def motion_path(folder: Path, kind: str, person: int) -> Path:
    """Return the file of one output of a person."""
    return folder / kind / f"person_{person}{MOTION[kind]}"


def write_motions(folder: Path, kinds: Iterable[str], frames: Sequence[FrameJoints]) -> None:
    """Write the motion of everybody in the frames, and remove that of people from an earlier run.

    For a person without all joints, outputs that need a complete skeleton are left out, with a warning.

    Parameters
    ----------
    folder : Path
    kinds : iterable of str
        Keys of `outputs.MOTION`.
    frames : sequence of FrameJoints
        Tracked frames, with times.
    """
    motions = {person: Motion.of(frames, person) for person in sorted({known for f in frames for known in f.people})}
    for kind in kinds:
        clear_motions(folder, kind)
        for person, motion in motions.items():
            path = motion_path(folder, kind, person)
            make_folder(path.parent)
            try:
                WRITERS[kind](path, motion)
            except MotionError as error:
                warnings.warn(f"{path}: is not written: {error}", DepthForestWarning, stacklevel=4)


def clear_motions(folder: Path, kind: str) -> None:
    """Remove all files of an output."""
    try:
        for path in (folder / kind).glob(f"person_*{MOTION[kind]}"):
            path.unlink()
        with contextlib.suppress(OSError):  # it contains other files, or does not exist
            (folder / kind).rmdir()
    except OSError as error:
        raise DepthForestError(f"{folder / kind}: cannot be cleared: {reason(error)}") from None
