"""A function that returns depth, used as a camera: `df.open_source(grab, camera=...)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from depthforest.base import UsageError
from depthforest.frames import Frame
from depthforest.io.formats import Page
from depthforest.io.live.source import CameraLostError, DepthCamera, LiveSource

Callback: TypeAlias = Callable[[], Any]


class CallbackCamera:
    """A function that returns the next picture, used as a camera.

    Parameters
    ----------
    grab : callable
        Waits for the next picture and returns it: an array (rows, cols) or a `Frame`. None ends the source; OSError and
        TimeoutError mean that the camera is lost, and the function is called again a second later.
    name : str
    """

    def __init__(self, grab: Callback, name: str) -> None:
        self._grab, self._name = grab, name

    def read(self, timeout_s: float) -> Page | None:  # noqa: ARG002  # the function waits as long as it likes
        """Return the next picture."""
        try:
            found = self._grab()
        except OSError as error:
            raise CameraLostError(str(error) or type(error).__name__) from None
        if found is None:
            raise EOFError
        if isinstance(found, Frame):
            return Page(found.depth_mm, found.camera, time_s=found.time_s, scale=0.001)
        values = np.array(found)  # a copy, because drivers reuse their memory
        if values.ndim != 2:
            raise UsageError(f"{self._name}: must return depth of shape (rows, cols), got {values.shape}")
        return Page(values)

    def close(self) -> None:
        """Do nothing; the function's owner closes the device."""


def callback_source(grab: Callback, name: str) -> LiveSource:
    """Return a live source of a function's pictures."""

    def opened() -> DepthCamera:
        return CallbackCamera(grab, name)

    return LiveSource(name, opened)
