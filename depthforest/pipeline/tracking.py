"""Live loops: a frame in, everyone in it out, with ids, parts and joints tracked from frame to frame.

`Tracker.add` takes one frame; `track` takes them as they come. Both do what `depthforest label --track` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import numpy as np
import numpy.typing as npt

from depthforest.base import UsageError
from depthforest.forest import Forest, load
from depthforest.frames import Frame
from depthforest.joints import JointTracks, TrackedJoint
from depthforest.people import BackgroundLike, PeopleTracker, PersonModel
from depthforest.pipeline.merging import PeopleLabels, label_people
from depthforest.pipeline.viewpoint import choose_model


@dataclass(frozen=True, eq=False)
class SeenPerson:
    """One person of a frame.

    Attributes
    ----------
    id : int
        Id from 1, the same in every frame in which this person is tracked.
    mask : array (rows, cols), bool
        The pixels of the person.
    joints : dict of str to TrackedJoint
        Known joints of `parts.JOINTS` by name: `position` (x, y, z) in meters, `confidence`, `is_visible`.
    probability, confidence : float
        Probability that this is a person, and mean confidence of the labels; 0 to 1.
    facing : float or None
        Facing in degrees, 0 is toward the camera; None if the model has no facings.
    """

    id: int
    mask: npt.NDArray[np.bool_]
    joints: Mapping[str, TrackedJoint]
    probability: float
    confidence: float
    facing: float | None

    def __repr__(self) -> str:
        return f"SeenPerson({self.id}, {len(self.joints)} joints, probability {self.probability:.2f})"


class SeenPeople(Sequence[SeenPerson]):
    """Everyone in a frame, in the order of their ids; empty if nobody is there.

    Attributes
    ----------
    frame : Frame
    parts : array (rows, cols), uint8
        Part of every pixel of a person, a label of `part_set`; 255 = nobody.
    confidence : array (rows, cols), float32
        Confidence of the parts, 0 to 1.
    part_set : PartSet
    """

    def __init__(self, labels: PeopleLabels, joints: Mapping[int, Mapping[str, TrackedJoint]]) -> None:
        self.frame, self.part_set = labels.frame, labels.part_set
        self.parts, self.confidence = labels.parts, labels.confidence
        probable = dict(zip(labels.people.ids, labels.people.probabilities, strict=True))
        self._people = tuple(
            SeenPerson(
                person, labels.people.map == person, joints.get(person, {}), probable[person],
                labels.confidences[person], labels.facings[person],
            )
            for person in labels.ids
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self._people)

    @overload
    def __getitem__(self, index: int) -> SeenPerson: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[SeenPerson, ...]: ...
    def __getitem__(self, index: int | slice) -> SeenPerson | tuple[SeenPerson, ...]:
        if not self._people and not isinstance(index, slice):
            raise IndexError("nobody was found in this frame; loop over the people, or look at len() first")
        return self._people[index]

    def __repr__(self) -> str:
        return f"SeenPeople({', '.join(f'id {person.id}' for person in self) or 'nobody'})"


class Tracker:
    """Finds, labels and follows the people of a recording or a live stream, one frame at a time.

    Parameters
    ----------
    model : Forest, str or Path, optional
        A forest, a model file or the name of a shipped model; default: the one that `choose_model` returns for the
        first frame with people.
    background : Frame, sequence of Frame or Background, optional
        The empty room; default: people are recognized by their shape, and the room is learned during the recording.
    n : int, optional
        Maximum number of people at a time; those who have been there longest are kept.
    fps : float
        Frames per second, for frames without a time.
    person_model : str, Path or PersonModel, optional
        Person model; default: the shipped one.
    """

    def __init__(
        self,
        model: Forest | str | Path | None = None,
        background: BackgroundLike | None = None,
        *,
        n: int | None = None,
        fps: float = 30.0,
        person_model: str | Path | PersonModel | None = None,
    ) -> None:
        self._forest = model if isinstance(model, Forest) or model is None else load(model)
        self._people = PeopleTracker(background, n, model=person_model)
        self._is_chosen = model is not None
        self._fps = fps
        self._tracks = JointTracks(fps)
        self._last: float | None = None

    def reset(self) -> None:
        """Forget everyone: the next frame is the first of a recording."""
        self._people.reset()
        self._tracks, self._last = JointTracks(self._fps), None

    def add(self, frame: Frame) -> SeenPeople:
        """Return everyone in the next frame."""
        if not isinstance(frame, Frame):
            raise UsageError(
                f"people are followed through Frames, got {type(frame).__name__}; df.Frame.from_array(array, camera) "
                "makes one"
            )
        people = self._people.add(frame)
        if self._forest is None or (not self._is_chosen and len(people)):
            self._forest, self._is_chosen = load(choose_model(frame)), len(people) > 0
        labels = label_people(self._forest, frame, people, joints=True)
        return SeenPeople(labels, self._tracks.add(labels.joints or {}, time=self._time_of(frame)))

    def _time_of(self, frame: Frame) -> float | None:
        """Return a frame's time if it has one that is later than the last; else one step after the last."""
        if frame.time_s is None or (self._last is not None and frame.time_s <= self._last):
            self._last = None if self._last is None else self._last + 1 / self._fps
            return self._last
        self._last = frame.time_s
        return self._last


def track(
    frames: Iterable[Frame],
    model: Forest | str | Path | None = None,
    background: BackgroundLike | None = None,
    *,
    n: int | None = None,
    fps: float = 30.0,
    person_model: str | Path | PersonModel | None = None,
) -> Iterator[SeenPeople]:
    """Find, label and track people in frames as they come, and yield everyone in each.

    Parameters
    ----------
    frames : iterable of Frame
        A recording, as returned by `open_source`, or an endless live stream. No frame is read ahead.
    model, background, n, fps, person_model
        As in `Tracker`.

    Yields
    ------
    SeenPeople
    """
    if isinstance(frames, Frame):
        raise UsageError("track takes frames one after the other; for a single one, df.Tracker().add(frame)")
    tracker = Tracker(model, background, n=n, fps=fps, person_model=person_model)
    return map(tracker.add, frames)
