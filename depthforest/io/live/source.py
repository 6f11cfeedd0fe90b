"""A live camera as a source of frames: the newest frame wins, a camera that is lost is waited for."""

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
"""Seconds that a driver may wait for a frame, so that Ctrl-C and `close` are heeded soon."""

RETRY_S = 1.0
"""Seconds between two attempts to open a camera that is lost."""

STALL_S = 5.0
"""Seconds without a frame after which a camera that is open is taken for lost, and opened again."""


class CameraLostError(FrameError):
    """The camera is not there, or no longer: try again later."""


class DepthCamera(Protocol):
    """A camera that is open: all that a driver has to offer."""

    def read(self, timeout_s: float) -> Page | None:
        """Return the next picture; None if none comes within the time.

        Raises CameraLostError if the camera is gone, and EOFError if there will be no more pictures.
        """

    def close(self) -> None:
        """Let go of the camera."""


class LiveSource:
    """Pictures of a live camera. It is opened when they are first asked for, and closed when nobody takes them.

    A thread reads the camera. Whoever is slower than the camera gets the newest picture and misses the others.

    Parameters
    ----------
    name : str
        What messages call it.
    opened : callable
        Opens the camera; raises CameraLostError if it is not there. The first time that ends `pages`; later it is tried
        again until the camera is back.
    retry_s, stall_s : float
        Seconds between attempts, and seconds without a picture after which it is opened again.

    Attributes
    ----------
    n_frames, n_dropped, n_lost : int
        Pictures that were taken, pictures that nobody took in time, and how often the camera was lost.
    """

    is_paged, is_seekable = True, False

    def __init__(
        self, name: str, opened: Callable[[], DepthCamera], *, retry_s: float = RETRY_S, stall_s: float = STALL_S
    ) -> None:
        self.name, self._opened = name, opened
        self._retry_s, self._stall_s = retry_s, stall_s
        self.n_frames = self.n_dropped = self.n_lost = 0

    def check(self) -> None:
        """Open the camera and close it again: raises what `pages` would, before anything else is made ready."""
        self._opened().close()

    def count(self) -> None:
        """Return None: a camera does not end."""
        return

    def page(self, number: int) -> Page:
        """Raise UsageError: what a camera saw is gone."""
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
        self._notices: list[tuple[int, str]] = []  # after how many pictures, and what
        self._error: BaseException | None = None
        self._is_over = False
        self._is_closing = threading.Event()
        camera = opened()  # here, so that a camera that is not there is told at once
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
            for text in due:  # what happened before this picture came, and not what happened since
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
        """Stop reading and let go of the camera."""
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
        except BaseException as error:  # for whoever takes the pictures
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
    """Return what messages call a camera."""
    return f"{kind}:{device}" if device else kind


def _let_go(camera: DepthCamera) -> None:
    with contextlib.suppress(Exception):  # a camera that was pulled out cannot be closed well
        camera.close()
