"""A frame in, its people, parts and joints out, with the time that each stage took."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from depthforest.base import DepthForestWarning
from depthforest.forest import Forest
from depthforest.frames import Frame
from depthforest.joints import JointLike, JointTracks
from depthforest.people import Background, People, PeopleTracker, find_people
from depthforest.pipeline import PeopleLabels, label_people
from depthforest.view.clips import Clip, Taken


@dataclass(frozen=True, eq=False)
class Look:
    """Everything that is shown for a frame.

    Parameters
    ----------
    taken : Taken
    labels : PeopleLabels
    other : PeopleLabels or None
        Labels of the model to compare with.
    joints : mapping of person id to mapping of joint name to joint
    warnings : tuple of str
        What was assumed or looks wrong.
    stages_ms : mapping of str to float
        Milliseconds that each stage took.
    """

    taken: Taken
    labels: PeopleLabels
    other: PeopleLabels | None
    joints: Mapping[int, Mapping[str, JointLike]]
    warnings: tuple[str, ...]
    stages_ms: Mapping[str, float]


@dataclass
class Looker:
    """Reads and labels frames. Not thread-safe.

    Parameters
    ----------
    forest : Forest
    other : Forest, optional
        A model to compare with.
    background : Background, optional
    is_background_removed, n_people, is_tracked, fps
        As in `ViewOptions`.
    """

    forest: Forest
    other: Forest | None = None
    background: Background | None = None
    is_background_removed: bool = False
    n_people: int | None = None
    is_tracked: bool = False
    fps: float = 30.0
    _tracking: tuple[PeopleTracker, JointTracks] | None = field(default=None, init=False)
    _last: int = field(default=-2, init=False)

    def look(self, clip: Clip, number: int) -> Look:
        """Read and label a frame."""
        began = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DepthForestWarning)
            taken = clip.take(number)
            stages = {"wait" if clip.is_live else "read": time.perf_counter() - began}
            if clip.is_live:
                stages["wait"] = time.monotonic() - taken.time
            read = time.perf_counter()
            people = self._people(taken)
            stages["people"] = time.perf_counter() - read
            labels = label_people(self.forest, taken.frame, people, joints=True, took=stages)
            labeled = time.perf_counter()
            other = None if self.other is None else label_people(self.other, taken.frame, people)
        if other is not None:
            stages["other model"] = time.perf_counter() - labeled
        joints: Mapping[int, Mapping[str, JointLike]] = labels.joints or {}
        if self._tracking is not None:
            joints = self._tracking[1].add(joints)
        said = tuple(dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, DepthForestWarning)))
        return Look(taken, labels, other, joints, said, {name: 1000 * seconds for name, seconds in stages.items()})

    def _people(self, taken: Taken) -> People:
        frame = taken.frame
        if self.is_background_removed:
            return People.of_map(_everything(frame))
        if not self.is_tracked:
            return find_people(frame, self._fitting(frame), n=self.n_people)
        if taken.number <= self._last or self._tracking is None:  # a step back, or the beginning
            self._tracking = PeopleTracker(self._fitting(frame), self.n_people), JointTracks(self.fps)
        self._last = taken.number
        return self._tracking[0].add(frame)

    def _fitting(self, frame: Frame) -> Background | None:
        """Return the background if it has the frame's size: the page may have uploaded another file."""
        return self.background if self.background is not None and self.background.shape == frame.shape else None


def _everything(frame: Frame) -> npt.NDArray[np.uint8]:
    return (frame.depth_mm > 0).astype(np.uint8)
