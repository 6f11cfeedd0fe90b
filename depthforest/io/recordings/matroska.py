"""Matroska (MKV): recordings of Azure Kinect and Femto, and 16-bit lossless video (FFV1), in and out.

Azure Kinect stores depth as raw big-endian 16-bit video in a track called DEPTH and the factory calibration as an
attachment. `depthforest record` stores FFV1 with the camera and the first time stamp as an attachment, `camera.json`.
"""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from depthforest.base import CameraError, DepthForestError, FrameError, Parameter, reason
from depthforest.frames import Camera, Frame, check_size
from depthforest.io.formats import Page
from depthforest.io.recordings.packages import need, untrusted

CAMERA_FILE = "camera.json"
AZURE_FILE = "calibration.json"
MAX_ATTACHMENT_BYTES = 1 << 22
TICKS = 1000
"""Ticks per second: Matroska counts milliseconds."""

AZURE_MODES: dict[tuple[int, int], tuple[int, tuple[int, int]]] = {
    (640, 576): (1024, (192, 180)),
    (320, 288): (512, (96, 90)),
    (512, 512): (512, (0, 0)),
    (1024, 1024): (1024, (0, 0)),
}
"""Picture size of a depth mode -> side of the binned sensor in pixels, and where the picture begins on it."""


OPENING = {"codec_whitelist": "ffv1,rawvideo,mjpeg"}
"""Codecs that FFmpeg may decode while it probes a file; other tracks are ignored."""


class MkvFile:
    """The depth track of a Matroska file.

    Parameters
    ----------
    path : Path
    topic : str, optional
        Title or number of the track. Default: the only 16-bit one, or the one called DEPTH.
    """

    is_paged, is_seekable = True, True

    def __init__(self, path: Path, topic: str | None = None) -> None:
        self.path = path
        self._av = need("av", "pip install av", f"{path}: video")
        self._ticks: list[int] | None = None
        with untrusted(path), self._opened() as container:
            stream = _depth_stream(container, path, topic)
            self._index = stream.index
            size = stream.codec_context.width, stream.codec_context.height
            check_size(*size, str(path), FrameError)
            self._camera, self._start = _attached(container, size, path)

    def count(self) -> int:
        """Return how many pictures there are, without decoding them."""
        return len(self._packet_ticks())

    def pages(self) -> Iterator[Page]:
        """Yield the pictures, one in memory at a time."""
        with untrusted(self.path), self._opened() as container:
            for picture in container.decode(container.streams[self._index]):
                yield self._page(picture)

    def page(self, number: int) -> Page:
        """Return one picture by its number from 0."""
        ticks = self._packet_ticks()[number]
        with untrusted(self.path), self._opened() as container:
            stream = container.streams[self._index]
            container.seek(ticks, stream=stream)
            found = next((p for p in container.decode(stream) if p.pts is not None and p.pts >= ticks), None)
            if found is None:
                raise FrameError(f"{self.path}: picture {number} cannot be found; the file may be cut")
            return self._page(found)

    def _opened(self) -> Any:
        return self._av.open(str(self.path), format="matroska", options=OPENING)

    def _page(self, picture: Any) -> Page:
        check_size(picture.width, picture.height, str(self.path), FrameError)
        time_s = None if picture.time is None else self._start + picture.time
        return Page(np.asarray(picture.to_ndarray(), dtype=np.uint16), self._camera, time_s=time_s)

    def _packet_ticks(self) -> list[int]:
        if self._ticks is None:
            with untrusted(self.path), self._opened() as container:
                packets = container.demux(container.streams[self._index])
                self._ticks = sorted(packet.pts for packet in packets if packet.pts is not None)
        return self._ticks


class MkvWriter:
    """Write frames of one camera as lossless 16-bit video; the file takes its name when the block ends well.

    Parameters
    ----------
    path : Path
    fps : float
        Frames per second, for frames that have no time stamp.
    """

    def __init__(self, path: Path, fps: float = 30.0) -> None:
        self.path, self._fps = path, fps
        self._av = need("av", "pip install av", f"{path}: writing video")
        # short, so that a long but legal file name does not become too long
        self._temporary = path.with_name(f".{secrets.token_hex(6)}.part")
        self._container: Any = None
        self._stream: Any = None
        self._camera: Camera | None = None
        self._start, self._last = 0.0, -1
        self.n_frames = 0

    def __enter__(self) -> MkvWriter:
        return self

    def add(self, frame: Frame) -> None:
        """Write a frame. Times are rounded to milliseconds; one that does not increase is put 1 ms after the last."""
        if self._container is None:
            self._begin(frame)
        if frame.camera != self._camera:
            raise FrameError(f"{frame.name or 'frame'}: is of another camera than the first; a recording has one")
        time_s = self.n_frames / self._fps if frame.time_s is None else frame.time_s - self._start
        self._last = max(round(time_s * TICKS), self._last + 1)
        picture = self._av.VideoFrame.from_ndarray(frame.depth_mm, format="gray16le")
        picture.pts, picture.time_base = self._last, Fraction(1, TICKS)
        self._write(picture)
        self.n_frames += 1

    def _begin(self, frame: Frame) -> None:
        self._camera, self._start = frame.camera, frame.time_s or 0.0
        content = {"camera": frame.camera.to_dict(), "start_s": self._start}
        try:
            self._container = self._av.open(str(self._temporary), "w", format="matroska")
        except OSError as error:
            raise DepthForestError(f"{self.path}: cannot be written: {reason(error)}") from None
        self._stream = self._container.add_stream("ffv1", rate=max(1, round(self._fps)))
        self._stream.width, self._stream.height = frame.camera.width, frame.camera.height
        self._stream.pix_fmt = "gray16le"
        self._stream.codec_context.time_base = Fraction(1, TICKS)
        self._container.add_attachment(CAMERA_FILE, "application/json", json.dumps(content).encode())

    def _write(self, picture: Any) -> None:
        try:
            for packet in self._stream.encode(picture):
                self._container.mux(packet)
        except OSError as error:
            raise DepthForestError(f"{self.path}: cannot be written: {reason(error)}") from None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Keep the file if the block ended well and there was a frame."""
        try:
            if self._container is not None:
                if kind is None:
                    self._write(None)
                with contextlib.suppress(OSError):
                    self._container.close()
                if kind is None:
                    self._temporary.replace(self.path)
        finally:
            with contextlib.suppress(OSError):
                self._temporary.unlink(missing_ok=True)


def _depth_stream(container: Any, path: Path, topic: str | None) -> Any:
    """Return the track that holds depth."""
    streams = [s for s in container.streams.video if (s.codec_context.pix_fmt or "").startswith("gray16")]
    if not streams:
        kinds = ", ".join(str(s.codec_context.pix_fmt) for s in container.streams.video)
        raise FrameError(f"{path}: has no 16-bit gray track (its video: {kinds or 'none'}); colors cannot be depth")
    titles = {stream.index: stream.metadata.get("title", "") for stream in streams}
    if topic is not None:
        found = [s for s in streams if topic in (titles[s.index], str(s.index))]
        if not found:
            raise FrameError(f"{path}: has no 16-bit track {topic!r}; tracks: {_listed(titles)}")
        return found[0]
    named = [s for s in streams if "DEPTH" in titles[s.index].upper()]
    if len(streams) > 1 and len(named) != 1:
        raise FrameError(f"{path}: has several 16-bit tracks: {_listed(titles)}; name one with ", Parameter("topic"))
    return (named or streams)[0]


def _listed(titles: dict[int, str]) -> str:
    return ", ".join(title or str(index) for index, title in titles.items())


def _attached(container: Any, size: tuple[int, int], path: Path) -> tuple[Camera | None, float]:
    """Return the camera and the first time stamp of the attachments."""
    for attachment in container.streams.attachments:
        if attachment.name not in (CAMERA_FILE, AZURE_FILE) or len(attachment.data) > MAX_ATTACHMENT_BYTES:
            continue
        try:
            content = json.loads(attachment.data)
            if attachment.name == AZURE_FILE:
                return azure_camera(content, *size), 0.0
            return Camera.from_dict(content["camera"]), float(content["start_s"])
        except (CameraError, ValueError, TypeError, KeyError, RecursionError, StopIteration) as error:
            said = str(error) or type(error).__name__
            raise FrameError(f"{path}: its attachment {attachment.name} holds no calibration: {said[:120]}") from None
    return None, 0.0


def azure_camera(content: Any, width: int, height: int) -> Camera:
    """Return the depth camera of an Azure Kinect calibration, for the depth mode with a picture size.

    Calibration numbers are relative to the side of the binned sensor. The principal point is measured from the corner
    of the first pixel, not from its center.
    """
    if (width, height) not in AZURE_MODES:
        raise CameraError(f"{width} x {height} is not a depth mode of an Azure Kinect")
    side, (left, top) = AZURE_MODES[width, height]
    cameras = content["CalibrationInformation"]["Cameras"]
    depth = next(c for c in cameras if c["Location"] == "CALIBRATION_CameraLocationD0")
    cx, cy, fx, fy, k1, k2, k3, k4, k5, k6, _, _, p2, p1 = map(float, depth["Intrinsics"]["ModelParameters"][:14])
    lens = (k1, k2, p1, p2, k3, k4, k5, k6)
    return Camera(fx * side, fy * side, cx * side - left - 0.5, cy * side - top - 0.5, width, height, lens)
