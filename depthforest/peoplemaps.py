"""Who is where in the frames of a run: people that are found, masks that were given, or all readings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from depthforest.background import Background
from depthforest.errors import UsageError
from depthforest.frames import Frame
from depthforest.labeloptions import LabelOptions
from depthforest.masks import GivenMasks, People
from depthforest.merging import ONLY_PERSON
from depthforest.peopletracks import PeopleTracker
from depthforest.reading import FrameName, FrameSequence
from depthforest.segmentation import check_count, find_people


class PeopleMaps:
    """The people of the frames of a run.

    Parameters
    ----------
    frames : FrameSequence
    options : LabelOptions
        Who the people are. If they are tracked, frames must be given in their order, by one thread.
    """

    def __init__(self, frames: FrameSequence, options: LabelOptions) -> None:
        mask, background, is_background_removed = options.mask, options.background, options.is_background_removed
        n = options.n_people
        if sum((mask is not None, background is not None, is_background_removed)) > 1:
            raise UsageError(
                "--mask says who the people are, --background what is nobody, --background-removed that all readings "
                "are one person; give one of them"
            )
        if n is not None:
            check_count(n)
            if mask is not None or is_background_removed:
                raise UsageError("--people is for people who are looked for; leave it out, or the mask")
        self._masks = GivenMasks(mask, frames.options, frames.sources) if mask is not None else None
        self._is_all = is_background_removed
        self._n = n
        self._background: Background | None = None
        self.files: list[Path] = [] if self._masks is None else [self._masks.path]
        """What is read beside the frames."""
        if background is not None:
            empty = FrameSequence([background], frames.options)
            self._background = Background.learn(empty)
            self.files.append(Path(background))
        is_found = self._masks is None and not is_background_removed
        self.is_by_shape = is_found and background is None
        """Whether people are looked for by their shape alone."""
        self.is_doubted = self.is_by_shape and not options.is_doubtful_kept
        """Whether people may be left out later."""
        self._tracker = PeopleTracker(self._background, n) if options.is_tracked and is_found else None
        self.most = n if self.is_doubted and self._tracker is None else None
        """How many are to be kept of those that are found: a shelf that is left out takes nobody's place. A tracker,
        whose ids stay, counts by itself."""

    @property
    def is_in_order(self) -> bool:
        """Whether frames must be given in their order, by one thread."""
        return self._tracker is not None

    def of(self, name: FrameName, frame: Frame) -> People:
        """Return the person of every pixel of a frame: ids from 1, 0 for nobody."""
        if self._masks is not None:
            return self._masks.read(name, frame)
        if self._is_all:
            return np.where(frame.depth_mm > 0, np.uint8(ONLY_PERSON), np.uint8(0))
        if self._tracker is not None:
            return self._tracker.add(frame).map
        return find_people(frame, self._background, n=self._n if self.most is None else None).map

    def inputs(self, name: FrameName) -> list[Path]:
        """Return the files that shape the answer for a frame."""
        if self._masks is not None:
            return [name.path, self._masks.path_for(name)]
        return [name.path, *self.files]

    def identity(self) -> dict[str, Any]:
        """Return what shapes the answers, as JSON holds it."""
        path = self.files[0].resolve().as_posix() if self.files else None
        return {
            "mask": path if self._masks is not None else None,
            "background": path if self._background is not None else None,
            "background_removed": self._is_all,
            "people": self._n,
        }
