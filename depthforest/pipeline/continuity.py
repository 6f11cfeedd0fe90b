"""Whether frames that are tracked follow each other: in a recording, hardly anybody is new."""

from __future__ import annotations

from collections.abc import Iterable

from depthforest.base import Parameter
from depthforest.pipeline.plausibility import Finding

LEAST_NEW, NEW_SHARE = 3, 0.25
"""People who are new after the first frame with people, at least so many, and their share of everyone seen since, from
which the frames are no recording. Of pictures that have nothing to do with each other it is 0.4 to 0.7, of recordings
below 0.03 (15 frames/s), of their every tenth frame up to 0.17."""


class Continuity:
    """Counts how many of those who are tracked are new; `add` takes the ids of each frame in order."""

    def __init__(self) -> None:
        self._known: set[int] = set()
        self._n_seen = self._n_new = 0

    def add(self, ids: Iterable[int]) -> None:
        """Take note of who is in the next frame."""
        people = set(ids)
        if self._known:
            self._n_seen += len(people)
            self._n_new += len(people - self._known)
        self._known |= people

    def findings(self) -> tuple[Finding, ...]:
        """Return that the frames do not seem to be a recording, if so."""
        if self._n_new < LEAST_NEW or self._n_new < NEW_SHARE * self._n_seen:
            return ()
        text = (
            f"after the first frame, {self._n_new} of {self._n_seen} people are new: the frames do not seem to follow "
            "each other; for single pictures leave out "
        )
        return (Finding("track", (text, Parameter("is_tracked"), ", which predicts joints from earlier frames")),)
