"""The video of a run: H.264 through PyAV where it is installed, else MPEG-4 through OpenCV."""

from __future__ import annotations

import contextlib
import importlib
import secrets
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import cv2
import numpy as np

from depthforest.base import DepthForestError, Parameter, reason
from depthforest.frames import drawing

H264, QUALITY = "libx264", "23"
"""PyAV's encoder, and its constant rate factor: the encoder's own default, at which text and parts look clean."""

VIDEO_CODEC = "mp4v"
"""MPEG-4 part 2: every build of OpenCV with a video writer encodes it, whereas H.264 is missing in those of PyPI."""

TICKS = 90_000
"""Ticks per second of H.264 in MP4."""


class _Encoder(Protocol):
    def write(self, picture: drawing.Picture, time: float | None) -> None:
        """Add the next picture, RGB."""

    def close(self) -> None:
        """Finish the file."""


class _PyAV:
    """H.264; pictures at their own times."""

    def __init__(self, av: Any, path: Path, fps: float, size: tuple[int, int]) -> None:
        self._av, self._fps = av, fps
        self._container = av.open(str(path), "w", options={"movflags": "faststart"})
        self._stream = self._container.add_stream(H264, rate=Fraction(fps).limit_denominator(1001))
        self._stream.width, self._stream.height = size
        self._stream.pix_fmt = "yuv420p"
        self._stream.options = {"crf": QUALITY, "preset": "veryfast"}
        self._stream.codec_context.time_base = Fraction(1, TICKS)
        self._start: float | None = None
        self._last = -1
        self._n = 0

    def write(self, picture: drawing.Picture, time: float | None) -> None:
        time = self._n / self._fps if time is None else time
        self._start = time if self._start is None else self._start
        shown = self._av.VideoFrame.from_ndarray(picture, format="rgb24")
        self._last = max(round((time - self._start) * TICKS), self._last + 1)
        shown.pts, shown.time_base = self._last, Fraction(1, TICKS)
        self._n += 1
        self._mux(shown)

    def close(self) -> None:
        try:
            self._mux(None)
        finally:
            self._container.close()

    def _mux(self, shown: Any) -> None:
        for packet in self._stream.encode(shown):
            self._container.mux(packet)


class _OpenCV:
    """MPEG-4 part 2; pictures evenly spaced."""

    def __init__(self, path: Path, fps: float, size: tuple[int, int]) -> None:
        self._writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*VIDEO_CODEC), fps, size)
        self.is_open = self._writer.isOpened()

    def write(self, picture: drawing.Picture, time: float | None) -> None:  # noqa: ARG002
        self._writer.write(cv2.cvtColor(picture, cv2.COLOR_RGB2BGR))

    def close(self) -> None:
        self._writer.release()


def _pyav() -> Any:
    """Return PyAV if it is installed and has the encoder."""
    try:
        av = importlib.import_module("av")
    except ImportError:
        return None
    return av if H264 in av.codecs_available else None


class VideoFile:
    """An MP4 file, which is renamed to its path when the block ends without an error and has at least one picture.

    Parameters
    ----------
    path : Path
        In a folder that exists.
    fps : float
        Pictures per second, for pictures without a time; OpenCV supports only these.

    Notes
    -----
    The video has the size of its first picture, rounded up to even numbers. Pictures of other sizes are letterboxed.
    """

    def __init__(self, path: Path, fps: float) -> None:
        self._path = path
        self._fps = fps
        # OpenCV chooses the container by the ending
        self._temporary = path.with_name(f".{secrets.token_hex(6)}.part{path.suffix}")
        self._writer: _Encoder | None = None
        self._size = 0, 0
        self.n_resized = 0
        self._n_added = 0

    def __enter__(self) -> VideoFile:
        return self

    def add(self, picture: drawing.Picture, time: float | None = None) -> None:
        """Add an RGB picture, shown at a time in seconds; the first one's is the start."""
        if self._writer is None:
            self._size = picture.shape[1] + picture.shape[1] % 2, picture.shape[0] + picture.shape[0] % 2
            self._writer = self._opened()
        fitted, is_resized = letterboxed(picture, self._size)
        self.n_resized += is_resized
        try:
            self._writer.write(fitted, time)
        except (OSError, ValueError) as error:  # PyAV raises both
            raise DepthForestError(f"{self._path}: cannot be written: {_said(error)}") from None
        self._n_added += 1

    def _opened(self) -> _Encoder:
        av = _pyav()
        if av is not None:
            try:
                return _PyAV(av, self._temporary, self._fps, self._size)
            except (OSError, ValueError) as error:
                raise DepthForestError(f"{self._path}: cannot be written: {_said(error)}") from None
        writer = _OpenCV(self._temporary, self._fps, self._size)
        if not writer.is_open:
            raise DepthForestError(
                f"{self._path}: OpenCV cannot write MP4 here (codec {VIDEO_CODEC}); pip install av, or leave video out "
                "of ",
                Parameter("outputs"),
                ", and make it of the pictures in overlay/ with another program",
            )
        return writer

    def _closed(self, writer: _Encoder) -> bool:
        """Finish the file; tell whether that succeeded."""
        try:
            writer.close()
        except (OSError, ValueError):
            return False
        return True

    def _is_whole(self) -> bool:
        """Tell whether the file has all pictures, because OpenCV does not report a full disk."""
        reader = cv2.VideoCapture(str(self._temporary))
        try:
            if not reader.isOpened() or int(reader.get(cv2.CAP_PROP_FRAME_COUNT)) != self._n_added:
                return False
            reader.set(cv2.CAP_PROP_POS_FRAMES, self._n_added - 1)
            return bool(reader.read()[0])
        finally:
            reader.release()

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        try:
            if self._writer is None:
                return
            is_closed = self._closed(self._writer)
            if kind is None:
                if not is_closed or not self._is_whole():
                    raise DepthForestError(
                        f"{self._path}: the video cannot be read back; is the disk full, or the size of files limited?"
                    )
                self._temporary.replace(self._path)
        except OSError as error:
            raise DepthForestError(f"{self._path}: cannot be written: {reason(error)}") from None
        finally:
            with contextlib.suppress(OSError):
                self._temporary.unlink(missing_ok=True)


def letterboxed(picture: drawing.Picture, size: tuple[int, int]) -> tuple[drawing.Picture, bool]:
    """Return a picture at the size (width, height), centered on black, and whether it had to be scaled."""
    width, height = size
    is_same = (picture.shape[1] + picture.shape[1] % 2, picture.shape[0] + picture.shape[0] % 2) == size
    if not is_same:
        scale = min(width / picture.shape[1], height / picture.shape[0])
        fitting = max(1, int(picture.shape[1] * scale)), max(1, int(picture.shape[0] * scale))
        picture = np.asarray(
            cv2.resize(picture, fitting, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_NEAREST)
        )
    canvas = np.zeros((height, width, 3), dtype=np.uint8)
    top, left = (height - picture.shape[0]) // 2, (width - picture.shape[1]) // 2
    canvas[top : top + picture.shape[0], left : left + picture.shape[1]] = picture
    return canvas, not is_same


def _said(error: OSError | ValueError) -> str:
    return reason(error) if isinstance(error, OSError) else str(error)
