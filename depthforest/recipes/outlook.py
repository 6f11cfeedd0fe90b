"""Outlook: how long steps will take, from their work and from the rates of finished steps."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from depthforest.recipes.kinds import Step


class RecipeOutlook:
    """How long the rest of a recipe will take.

    A step takes its units of work times the seconds per unit. These are the kind's default, measured on two cores,
    until a step of the same kind is done; after that, the measured value.

    Parameters
    ----------
    steps : sequence of Step
        The remaining steps, in order.
    records : iterable of mapping
        Records of finished steps: kind, units and seconds.
    """

    def __init__(self, steps: Sequence[Step], records: Iterable[Mapping[str, Any]] = ()) -> None:
        self._steps = list(steps)
        self._measured: dict[str, tuple[float, float]] = {}
        for record in records:
            self._add(record["kind"], record["units"], record["seconds"])

    def _add(self, kind: str, units: float, seconds: float) -> None:
        before = self._measured.get(kind, (0.0, 0.0))
        self._measured[kind] = before[0] + units, before[1] + seconds

    def seconds_of(self, step: Step) -> float:
        """Return how long a step will take, from its start."""
        units, seconds = self._measured.get(step.kind.name, (0.0, 0.0))
        unit_seconds = seconds / units if units > 0 else step.kind.unit_seconds
        return step.work.units * unit_seconds

    def end(self, step: Step, seconds: float) -> None:
        """Note that a step is done."""
        self._steps.remove(step)
        self._add(step.kind.name, step.work.units, seconds)

    def seconds_left(self, step: Step, done: float, seconds: float, own: float | None = None) -> float:
        """Return how long all remaining work will take.

        Parameters
        ----------
        step : Step
            The step in progress.
        done : float
            Its units that are done.
        seconds : float
            Its time so far.
        own : float, optional
            The step's own estimate of its remaining time.
        """
        rest = sum(self.seconds_of(one) for one in self._steps if one is not step)
        if own is not None:
            return rest + own
        share = done / step.work.units if step.work.units else 1.0
        if share > 0.05:  # its own rate, once it has run for a while
            return rest + max(0.0, seconds / share - seconds)
        return rest + max(0.0, self.seconds_of(step) - seconds)


def shown_bytes(n: float) -> str:
    """Return a size for people."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n >= size:
            return f"{n / size:.1f} {unit}"
    return f"{n:.0f} B"


def log_line(entry: Mapping[str, Any]) -> bytes:
    """Return a line of the log."""
    return json.dumps(entry).encode() + b"\n"
