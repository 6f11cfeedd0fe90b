"""Video4Linux devices that deliver 16-bit depth (Z16, Y16), through PyAV; they report neither camera nor unit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from depthforest.base import FrameError
from depthforest.frames import check_size
from depthforest.io.formats import Page, Size
from depthforest.io.live.source import POLL_S, CameraLostError, camera_name

DEVICE = "/dev/video0"
INPUT_FORMAT = "gray16le"
"""FFmpeg's names of Z16 and Y16."""


class VideoCamera:
    """A device that FFmpeg reads.

    Parameters
    ----------
    file : str
    kind : str, optional
        FFmpeg's name of the device's input format.
    options : dict, optional
        For FFmpeg.
    """

    def __init__(self, file: str, kind: str | None = "v4l2", options: dict[str, str] | None = None) -> None:
        import av

        self._errors = (av.error.FFmpegError, OSError)
        try:
            self._container: Any = av.open(file, format=kind, options=options or {}, timeout=(None, 25 * POLL_S))
        except self._errors as error:
            raise CameraLostError(f"v4l2:{file}: cannot be opened: {_line(error)}") from None
        if not self._container.streams.video:
            raise FrameError(f"v4l2:{file}: delivers no pictures")
        self._pictures = self._container.decode(video=0)
        self._file = file

    def read(self, timeout_s: float) -> Page | None:  # noqa: ARG002  # FFmpeg has a timeout of its own
        """Return the next picture."""
        try:
            picture = next(self._pictures)
        except (StopIteration, EOFError):
            raise EOFError from None
        except self._errors as error:
            raise CameraLostError(_line(error)) from None
        if picture.format.name != INPUT_FORMAT:
            raise FrameError(f"v4l2:{self._file}: delivers {picture.format.name}; depth is 16-bit gray (Z16, Y16)")
        check_size(picture.width, picture.height, f"v4l2:{self._file}", FrameError)
        return Page(np.array(picture.to_ndarray(), dtype=np.uint16), time_s=picture.time)

    def close(self) -> None:
        """Close the device."""
        self._container.close()


def open_device(name: str, size: Size | None) -> VideoCamera:
    """Open a device by its path or number."""
    file = f"/dev/video{name}" if name.isdecimal() else name or DEVICE
    if not Path(file).exists():
        raise CameraLostError(f"{camera_name('v4l2', name)}: there is no {file}")
    options = {"input_format": INPUT_FORMAT}
    if size is not None:
        options["video_size"] = f"{size[0]}x{size[1]}"
    return VideoCamera(file, options=options)


def _line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
