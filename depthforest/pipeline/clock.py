"""Times of the frames of a recording."""

from __future__ import annotations


class Clock:
    """Increasing times of frames: those of the source, or evenly spaced ones if it has none or they decrease."""

    def __init__(self, fps: float) -> None:
        self._fps = fps
        self._last: float | None = None

    def at(self, time_s: float | None) -> float:
        """Return the time of the next frame in seconds."""
        if time_s is None or (self._last is not None and time_s <= self._last):
            time_s = 0.0 if self._last is None else self._last + 1 / self._fps
        self._last = time_s
        return time_s
