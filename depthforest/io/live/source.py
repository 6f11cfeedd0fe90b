"""A live camera as a source of frames: delivers the newest frame, and waits for a lost camera to come back."""

from __future__ import annotations

import contextlib
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Protocol

from depthforest.base import DepthForestWarning, FrameError, UsageError, check_interrupt
from depthforest.io.formats import Page

POLL_S = 0.2
"""Seconds that a driver may wait for a frame, so that it reacts to Ctrl-C and `close` soon."""

RETRY_S = 1.0
"""Seconds between two attempts to reopen a lost camera."""

STALL_S = 5.0
"""Seconds without a frame after which an open camera counts as lost and is reopened."""


class CameraLostError(FrameError):
    """The camera is missing or was disconnected; it can be tried again later."""


class DepthCamera(Protocol):
    """An open camera: the methods that a driver must have."""

    def read(self, timeout_s: float) -> Page | None:
        """Return the next picture; None if none arrives within the time.

        Raises CameraLostError if the camera is gone, and EOFError if there will be no more pictures.
        """

    def close(self) -> None:
        """Release the camera."""


class LiveSource:
    """Pictures of a live camera. Iterating opens the camera; ending the iteration closes it.

    A thread reads the camera. A consumer that is slower than the camera gets the newest picture and misses others.

    Parameters
    ----------
    name : str
        Name in messages.
    opened : callable
        Opens the camera; raises CameraLostError if it is missing. At the first attempt, the error ends `pages`; later,
        attempts are repeated until the camera is back.
    retry_s, stall_s : float
        Seconds between attempts, and seconds without a picture after which the camera is reopened.

    Attributes
    ----------
    n_frames, n_dropped, n_lost : int
        Pictures delivered, pictures dropped because nobody took them in time, and how often the camera was lost.
    """

    is_paged, is_seekable = True, False

    def __init__(
        self, name: str, opened: Callable[[], DepthCamera], *, retry_s: float = RETRY_S, stall_s: float = STALL_S
    ) -> None:
        self.name, self._opened = name, opened
        self._retry_s, self._stall_s = retry_s, stall_s
        self.n_frames = self.n_dropped = self.n_lost = 0

    def check(self) -> None:
        """Open the camera and close it again. Raises the errors that `pages` would, before other work begins."""
        self._opened().close()

    def count(self) -> None:
        """Return None: a camera does not end."""
        return

    def page(self, number: int) -> Page:
        """Raise UsageError: past pictures of a camera are gone."""
        raise UsageError(f"{self.name}: frame {number} of a live camera cannot be looked up; iterate it")

    def pages(self) -> Iterator[Page]:
        """Yield the newest picture, again and again, until the camera ends."""
        grabber = _Grabber(self.name, self._opened, self._retry_s, self._stall_s)
        try:
            while (page := grabber.take()) is not None:
                self.n_frames += 1
                self.n_dropped, self.n_lost = grabber.n_dropped, grabber.n_lost
                yield page
        finally:
            grabber.close()
            self.n_dropped, self.n_lost = grabber.n_dropped, grabber.n_lost


class _Grabber:
    """The thread that reads a camera into a slot for one picture."""

    def __init__(self, name: str, opened: Callable[[], DepthCamera], retry_s: float, stall_s: float) -> None:
        self._name, self._opened = name, opened
        self._retry_s, self._stall_s = retry_s, stall_s
        self.n_dropped = self.n_lost = 0
        self._changed = threading.Condition()
        self._newest: Page | None = None
        self._n_put = 0
        self._notices: list[tuple[int, str]] = []  # number of pictures before it, and its text
        self._error: BaseException | None = None
        self._is_over = False
        self._is_closing = threading.Event()
        camera = opened()  # here, so that a missing camera is reported at once
        self._thread = threading.Thread(target=self._run, args=(camera,), name=f"depthforest {name}", daemon=True)
        self._thread.start()

    def take(self) -> Page | None:
        """Return the newest picture as soon as there is one; None when there will be no more."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._newest is not None or self._notices or self._is_over, POLL_S)
                page, self._newest = self._newest, None
                due = [text for after, text in self._notices if page is None or after < self._n_put]
                self._notices = self._notices[len(due) :]
                is_over = self._is_over
            for text in due:  # notices from before this picture, none from after it
                warnings.warn(text, DepthForestWarning, stacklevel=2)
            if page is not None:
                return page
            if is_over:
                break
            check_interrupt()
        if self._error is not None:
            raise self._error
        return None

    def close(self) -> None:
        """Stop reading and release the camera."""
        self._is_closing.set()
        self._thread.join(timeout=10 * POLL_S)

    def _run(self, camera: DepthCamera | None) -> None:
        heard = time.monotonic()
        try:
            while not self._is_closing.is_set():
                try:
                    if camera is None:
                        camera = self._opened()
                        self._tell("is back")
                    page = camera.read(POLL_S)
                    if page is not None:
                        heard = time.monotonic()
                        self._put(page)
                    elif time.monotonic() - heard > self._stall_s:
                        raise CameraLostError(f"no frame for {self._stall_s:g} s")
                except CameraLostError as error:
                    if camera is not None:
                        self.n_lost += 1
                        self._tell(f"is lost ({error}); waiting for it")
                        _let_go(camera)
                        camera = None
                    self._is_closing.wait(self._retry_s)
                    heard = time.monotonic()
        except EOFError:
            self._end(None)
        except BaseException as error:  # raised again in the consumer's thread
            self._end(error)
        finally:
            if camera is not None:
                _let_go(camera)

    def _put(self, page: Page) -> None:
        with self._changed:
            self.n_dropped += self._newest is not None
            self._newest = page
            self._n_put += 1
            self._changed.notify_all()

    def _tell(self, what: str) -> None:
        with self._changed:
            self._notices.append((self._n_put, f"{self._name}: the camera {what}"))
            self._changed.notify_all()

    def _end(self, error: BaseException | None) -> None:
        with self._changed:
            self._is_over, self._error = True, error
            self._changed.notify_all()


def camera_name(kind: str, device: str) -> str:
    """Return a camera's name for messages."""
    return f"{kind}:{device}" if device else kind


def _let_go(camera: DepthCamera) -> None:
    with contextlib.suppress(Exception):  # closing an unplugged camera may fail
        camera.close()
