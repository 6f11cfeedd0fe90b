"""The people in the frames of a run: people found, given masks, or all readings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from depthforest.base import Parameter, UsageError
from depthforest.frames import Frame
from depthforest.io import FrameName, FrameSequence
from depthforest.people import Background, People, PeopleTracker, check_count, find_people, load_person_model
from depthforest.pipeline.masks import GivenMasks
from depthforest.pipeline.merging import all_readings
from depthforest.pipeline.options import LabelOptions


class PeopleMaps:
    """The people in the frames of a run.

    Parameters
    ----------
    frames : FrameSequence
    options : LabelOptions
        How people are determined. If they are tracked, frames must be given in order, by one thread.
    """

    def __init__(self, frames: FrameSequence, options: LabelOptions) -> None:
        is_given = options.mask is not None or options.is_background_removed
        if sum((options.mask is not None, options.background is not None, options.is_background_removed)) > 1:
            raise UsageError(
                Parameter("mask"),
                " says who the people are, ",
                Parameter("background"),
                " what is nobody, ",
                Parameter("is_background_removed"),
                " that all readings are one person; give one of them",
            )
        if options.n_people is not None:
            check_count(options.n_people)
            if is_given:
                raise UsageError(Parameter("n_people"), " limits detected people; leave it out, or the mask")
        self._masks = GivenMasks(options.mask, frames.options, frames.sources) if options.mask is not None else None
        self._is_all = options.is_background_removed
        self._n_people = options.n_people
        self._background: Background | None = None
        self.files: list[Path] = [] if self._masks is None else [self._masks.path]
        """Files that are read besides the frames."""
        if options.background is not None:
            empty = FrameSequence([options.background], frames.options)
            self._background = Background.learn(empty)
            self.files.append(options.background)
        self.is_looked_for = not is_given
        """Whether people are found, not given."""
        self._model = None if is_given else load_person_model(options.person_model)
        self._least = 0.0 if options.is_doubtful_kept else None
        if self._model is not None and options.person_model is not None and Path(options.person_model).is_file():
            self.files.append(Path(options.person_model))
        self._tracker: PeopleTracker | None = None
        if options.is_tracked and not is_given:
            how: dict[str, Any] = {"model": self._model, "least": self._least}
            self._tracker = PeopleTracker(self._background, options.n_people, **how)

    @property
    def is_in_order(self) -> bool:
        """Whether frames must be given in order, by one thread."""
        return self._tracker is not None

    def of(self, name: FrameName, frame: Frame) -> People:
        """Return the people of a frame."""
        if self._masks is not None:
            return self._masks.read(name, frame)
        if self._is_all:
            return all_readings(frame)
        if self._tracker is not None:
            return self._tracker.add(frame)
        return find_people(frame, self._background, n=self._n_people, model=self._model, least=self._least)

    def inputs(self, name: FrameName) -> list[Path]:
        """Return the files that shape the answer for a frame."""
        if self._masks is not None:
            return [name.path, self._masks.path_for(name)]
        return [name.path, *self.files]

    def identity(self) -> dict[str, Any]:
        """Return everything that shapes the answers, in JSON form."""
        path = self.files[0].resolve().as_posix() if self.files else None
        model = None if self._model is None else self._model.digest()
        return {
            "mask": path if self._masks is not None else None,
            "background": path if self._background is not None else None,
            "background_removed": self._is_all,
            "people": self._n_people,
            "person_model": model,
            "doubtful": self._least is not None and model is not None,
        }
