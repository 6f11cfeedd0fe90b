"""The joints of a whole recording in memory: tracks and labels people, and finds joints in each frame."""

from __future__ import annotations

from collections.abc import Iterable

from depthforest.forest import Forest
from depthforest.frames import Frame
from depthforest.joints import FrameJoints
from depthforest.people import FittedPlane, PeopleTracker, World, floor_of, world_of
from depthforest.pipeline.clock import Clock
from depthforest.pipeline.merging import label_people

FLOOR_EVERY, MOST_FLOORS = 30, 8
"""The floor is searched for in every n-th frame, until it was found this often."""


def joints_of_recording(
    forest: Forest, frames: Iterable[Frame], *, fps: float = 30.0
) -> tuple[list[FrameJoints], World | None]:
    """Return the joints of everybody in each frame of a recording, and the world frame if a floor is visible.

    Parameters
    ----------
    forest : Forest
    frames : iterable of Frame
        In order.
    fps : float
        Frames per second, for frames without a time.
    """
    tracker, clock = PeopleTracker(), Clock(fps)
    found: list[FrameJoints] = []
    floors: list[FittedPlane] = []
    for number, frame in enumerate(frames):
        if number % FLOOR_EVERY == 0 and len(floors) < MOST_FLOORS and (floor := floor_of(frame)) is not None:
            floors.append(floor)
        labels = label_people(forest, frame, tracker.add(frame), joints=True)
        found.append(FrameJoints(f"{number:06d}", labels.joints or {}, clock.at(frame.time_s), frame.camera))
    return found, world_of(floors)
