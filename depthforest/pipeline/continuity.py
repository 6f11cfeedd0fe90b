"""Checking whether tracked frames are consecutive: in a recording, hardly anybody is new."""

from __future__ import annotations

from collections.abc import Iterable

from depthforest.base import Parameter
from depthforest.pipeline.plausibility import Finding

LEAST_NEW, NEW_SHARE = 3, 0.25
"""The frames are not a recording if, after the first frame with people, at least this many people are new, and at least
this share of everyone seen. For unrelated pictures the share is 0.4 to 0.7; for recordings it is below 0.03 (15
frames/s), for every tenth frame of them up to 0.17."""


class Continuity:
    """Counts how many tracked people are new; `add` takes the ids of each frame in order."""

    def __init__(self) -> None:
        self._known: set[int] = set()
        self._n_seen = self._n_new = 0

    def add(self, ids: Iterable[int]) -> None:
        """Note the people in the next frame."""
        people = set(ids)
        if self._known:
            self._n_seen += len(people)
            self._n_new += len(people - self._known)
        self._known |= people

    def findings(self) -> tuple[Finding, ...]:
        """Return a finding if the frames do not seem to be a recording."""
        if self._n_new < LEAST_NEW or self._n_new < NEW_SHARE * self._n_seen:
            return ()
        text = (
            f"after the first frame, {self._n_new} of {self._n_seen} people are new: the frames do not seem to follow "
            "each other; for single pictures leave out "
        )
        return (Finding("track", (text, Parameter("is_tracked"), ", which predicts joints from earlier frames")),)
