"""The pose of a run's camera above the floor, and joints in meters above the floor: the outputs of `label --world`."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from depthforest.base import DepthForestError, DepthForestWarning, replacing
from depthforest.frames import Frame, Joint
from depthforest.io import FrameSequence
from depthforest.joints import FrameJoints, read_joints, write_joints
from depthforest.people import FittedPlane, World, find_world, floor_of, world_of
from depthforest.pipeline.outputs import JOINTS, output_path

WORLD_TABLE, WORLD_FILE = "joints_world.csv", "world.json"
N_SAMPLES = 8
"""Frames in which the floor is searched for: evenly spaced in a recording; in a stream, the first that show one."""


class Standing:
    """The world frame of a run's camera, which does not move.

    Parameters
    ----------
    frames : FrameSequence
        All frames of the run. Files are sampled evenly, so that a resumed run finds the same.
    """

    def __init__(self, frames: FrameSequence) -> None:
        self._frames = frames
        self._is_stream = any(isinstance(source, str) for source in frames.sources)
        self._floors: list[FittedPlane] = []
        self._world: World | None = None

    def see(self, frame: Frame) -> None:
        """Use a frame of a stream, which cannot be read again."""
        if self._is_stream and len(self._floors) < N_SAMPLES:
            floor = floor_of(frame)
            self._floors += [] if floor is None else [floor]

    def world(self) -> World | None:
        """Return the world frame; None, with a warning, if no floor was seen."""
        if self._world is None:
            self._world = world_of(self._floors) if self._is_stream else find_world(self._sampled())
        if self._world is None:
            warnings.warn(
                "no floor is seen, so nothing is known of how the camera stands; joints stay in camera space",
                DepthForestWarning,
                stacklevel=4,
            )
        return self._world

    def _sampled(self) -> Iterable[Frame]:
        n = len(self._frames)
        for number in np.unique(np.linspace(0, n - 1, N_SAMPLES).round().astype(int)).tolist():
            try:
                yield self._frames[number]
            except DepthForestError:  # labeling will report it
                continue


def write_world(folder: Path, world: World, names: Iterable[str]) -> None:
    """Write the world frame, and the table of all joints of the frames with these names in it."""
    frames = (frame for name in names for frame in read_joints(output_path(folder, JOINTS, name)))
    standing = (
        FrameJoints(f.name, {person: world.joints(joints) for person, joints in f.people.items()}, f.time)
        for f in frames
    )
    write_joints(folder / WORLD_TABLE, standing)
    with replacing(folder / WORLD_FILE) as file:
        file.write((json.dumps(world.to_dict(), indent=1) + "\n").encode())


def leveled(world: World, frames: Iterable[FrameJoints]) -> list[FrameJoints]:
    """Return joints as a level camera on the floor would see them: for writers that turn camera space upright."""

    def turned(joint: Joint) -> Joint:
        x, y, z = joint.position
        return Joint((x, -y, -z), joint.is_visible, joint.confidence)

    return [
        FrameJoints(
            frame.name,
            {
                person: {name: turned(joint) for name, joint in world.joints(joints).items()}
                for person, joints in frame.people.items()
            },
            frame.time,
        )
        for frame in frames
    ]
