"""ROS 1 bags, ROS 2 bags and MCAP: depth topics with their `CameraInfo`; RealSense `.bag` files are ROS 1 bags.

`rosbags` reads them; no ROS is needed. Raw images (16UC1, mono16, 32FC1) and compressedDepth PNG are decoded here.
"""

from __future__ import annotations

import itertools
import math
import re
import struct
import warnings
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import CameraError, DepthForestWarning, FrameError, Parameter, is_finite
from depthforest.frames import Camera, check_size
from depthforest.io.formats import Page, decode_png
from depthforest.io.recordings.bounds import bound_index, bound_rosbags, check_database, check_nesting
from depthforest.io.recordings.packages import need, untrusted

IMAGE, COMPRESSED, CAMERA_INFO = (f"sensor_msgs/msg/{name}" for name in ("Image", "CompressedImage", "CameraInfo"))
ENCODINGS = {"16UC1": "u2", "mono16": "u2", "32FC1": "f4"}
"""Encoding of an image that can be depth -> its dtype."""

COMPRESSED_HEADER = struct.Struct("<iff")
"""Header before the PNG of compressedDepth: format, and two numbers that convert inverse depth to meters."""

LENS_MODELS = ("", "plumb_bob", "rational_polynomial", "none", "None")


class RosBag:
    """A depth topic of a bag.

    Parameters
    ----------
    path : Path
        A ROS 1 bag, an MCAP or SQLite file, or the folder of a ROS 2 bag.
    topic : str, optional
        Default: the only one that holds depth.
    """

    is_paged, is_seekable = True, True

    def __init__(self, path: Path, topic: str | None = None) -> None:
        self.path = path
        need("rosbags", "pip install rosbags", f"{path}: ROS bags and MCAP")
        bound_rosbags()
        check_nesting(path)
        for file in path.glob("*.db3") if path.is_dir() else (path,):
            check_database(file)
        self._times: list[int] | None = None
        with untrusted(path), self._reader() as reader:
            self._topic = _chosen(reader, path, topic)
            self._n = int(sum(c.msgcount for c in reader.connections if c.topic == self._topic))
            self._camera = _camera(reader, self._topic, path)
            self._scale = _unit(reader, self._topic)
            self._sent = _frame_times(reader, self._topic)

    def count(self) -> int:
        """Return how many frames the index lists."""
        return self._n

    def pages(self) -> Iterator[Page]:
        """Yield the frames, one message in memory at a time."""
        with untrusted(self.path), self._reader() as reader:
            for connection, stamp, content in reader.messages(_of(reader, self._topic)):
                yield self._page(_message(reader, connection, content), stamp)

    def page(self, number: int) -> Page:
        """Return one frame by its number from 0."""
        with untrusted(self.path), self._reader() as reader:
            chosen = _of(reader, self._topic)
            if self._times is None:
                self._times = [stamp for _, stamp, _ in reader.messages(chosen)]
            stamp = self._times[number]
            found = reader.messages(chosen, start=stamp, stop=stamp + 1)
            same = number - bisect_left(self._times, stamp)
            connection, _, content = next(itertools.islice(found, same, None))
            return self._page(_message(reader, connection, content), stamp)

    def _reader(self) -> Any:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore

        reader = AnyReader([self.path], default_typestore=get_typestore(Stores.LATEST))
        for part in reader.readers:
            bound_index(part, self.path)
        return reader

    def _page(self, message: Any, stamp: int) -> Page:
        name = f"{self.path}, {self._topic}"
        values = _compressed(message, name) if hasattr(message, "format") else _image(message, name)
        sent = message.header.stamp
        seconds = self._sent.get(stamp, sent.sec + sent.nanosec / 1e9)
        scale = self._scale if values.dtype.kind == "u" else None
        return Page(values, self._camera, time_s=seconds if seconds > 0 else stamp / 1e9, scale=scale)


def _of(reader: Any, topic: str) -> list[Any]:
    return [c for c in reader.connections if c.topic == topic]


def _first(reader: Any, topic: str) -> Any:
    """Return the first message of a topic; None if there is none."""
    for connection, _, content in reader.messages(_of(reader, topic)):
        return _message(reader, connection, content)
    return None


def _message(reader: Any, connection: Any, content: bytes) -> Any:
    """Return a message. In ROS 1 bags, RealSense appends the unit of depth, a float, to an image."""
    try:
        return reader.deserialize(content, connection.msgtype)
    except Exception:
        if reader.is2 or connection.msgtype != IMAGE or "/Depth_" not in connection.topic:
            raise
        return reader.deserialize(content[:-4], connection.msgtype)


def _chosen(reader: Any, path: Path, topic: str | None) -> str:
    """Return the depth topic to read."""
    kinds = {str(c.topic): c.msgtype for c in reader.connections if c.msgtype in (IMAGE, COMPRESSED) and c.msgcount}
    if topic is not None:
        name = topic if topic in kinds else f"/{topic.lstrip('/')}"
        if name not in kinds:
            raise FrameError(f"{path}: has no image topic {topic!r}; image topics: {', '.join(kinds) or 'none'}")
        return name
    depth = [name for name in kinds if _is_depth(_first(reader, name))]
    if len(depth) == 1:
        return depth[0]
    if depth:
        raise FrameError(f"{path}: has several depth topics: {', '.join(depth)}; name one with ", Parameter("topic"))
    others = sorted({c.topic for c in reader.connections})
    raise FrameError(f"{path}: has no topic of depth images; topics: {', '.join(others[:12]) or 'none'}")


def _is_depth(message: Any) -> bool:
    if hasattr(message, "format"):
        return "compressedDepth" in message.format
    return message is not None and message.encoding in ENCODINGS


def _image(message: Any, name: str) -> npt.NDArray[Any]:
    """Return the picture of a sensor_msgs/Image."""
    if message.encoding not in ENCODINGS:
        raise FrameError(f"{name}: is encoded as {message.encoding[:40]!r}; depth is {', '.join(ENCODINGS)}")
    check_size(message.width, message.height, name, FrameError)
    dtype = np.dtype((">" if message.is_bigendian else "<") + ENCODINGS[message.encoding])
    step, n_bytes = message.step, message.width * dtype.itemsize
    if step < n_bytes or len(message.data) < (message.height - 1) * step + n_bytes:
        raise FrameError(
            f"{name}: is damaged: {len(message.data)} bytes in rows of {step} are not a {message.encoding} picture of "
            f"{message.width} x {message.height}"
        )
    content = np.ascontiguousarray(message.data)
    rows = np.lib.stride_tricks.as_strided(content, (message.height, n_bytes), (step, 1), writeable=False)
    values: npt.NDArray[Any] = np.ascontiguousarray(rows).view(dtype)
    return values.astype(dtype.newbyteorder("="))


def _compressed(message: Any, name: str) -> npt.NDArray[Any]:
    """Return the picture of a compressedDepth message."""
    if "compressedDepth" not in message.format:
        raise FrameError(f"{name}: holds {message.format[:40]!r}, a picture of colors; depth is compressedDepth")
    content = bytes(message.data)
    if len(content) < COMPRESSED_HEADER.size or "rvl" in message.format.lower():
        raise FrameError(f"{name}: compressedDepth is read as PNG; got {message.format[:60]!r}, {len(content)} bytes")
    _, a, b = COMPRESSED_HEADER.unpack_from(content)
    values = decode_png(content[COMPRESSED_HEADER.size :], name)
    if values.ndim != 2 or values.dtype.itemsize != 2:
        raise FrameError(f"{name}: expected a 16-bit PNG of one channel, got {values.dtype} of shape {values.shape}")
    if not message.format.startswith("32FC1"):
        return values.astype(np.uint16)
    with np.errstate(divide="ignore", invalid="ignore"):
        meters = np.float32(a) / (values.astype(np.float32) - np.float32(b))
    return np.where(values > 0, meters, np.float32(0))


def _camera(reader: Any, topic: str, path: Path) -> Camera | None:
    """Return the camera of the CameraInfo topic whose name is closest to a topic's."""
    infos = {c.topic for c in reader.connections if c.msgtype == CAMERA_INFO and c.msgcount}
    near = sorted(infos, key=lambda name: (-_shared(name, topic), name))
    message = _first(reader, near[0]) if near else None
    if message is None:
        return None
    matrix = np.asarray(_either(message, "k"), dtype=np.float64).reshape(3, 3)
    lens = tuple(map(float, _either(message, "d")))
    if "rect" in topic:
        matrix, lens = np.asarray(_either(message, "p"), dtype=np.float64).reshape(3, 4)[:, :3], ()
    if not matrix.any():
        return None  # ROS's way to say that it is not calibrated
    try:
        if any(lens) and message.distortion_model not in LENS_MODELS:
            raise CameraError(f"its lens model is {message.distortion_model[:40]}")
        return Camera.from_matrix(matrix, int(message.width), int(message.height), lens if any(lens) else ())
    except CameraError as error:
        warnings.warn(
            DepthForestWarning(f"{path}: {near[0]} cannot be used: {error}; pass ", Parameter("camera")), stacklevel=2
        )
        return None


def _shared(name: str, other: str) -> int:
    """Return how many folders two topics share."""
    return sum(
        1
        for _ in itertools.takewhile(
            lambda pair: pair[0] == pair[1], zip(name.split("/"), other.split("/"), strict=False)
        )
    )


def _either(message: Any, name: str) -> Any:
    """Return a field whose name is in capitals in ROS 1."""
    return getattr(message, name) if hasattr(message, name) else getattr(message, name.upper())


def _unit(reader: Any, topic: str) -> float | None:
    """Return the meters per unit that a RealSense file stores beside its depth."""
    sensor = topic.partition("/Depth_")[0]
    option = f"{sensor}/option/Depth_Units/value"
    if sensor == topic or not any(c.topic == option and c.msgcount for c in reader.connections):
        return None
    value = float(_first(reader, option).data)
    return value if math.isfinite(value) and value > 0 else None


def _frame_times(reader: Any, topic: str) -> dict[int, float]:
    """Return the times in seconds that a RealSense file of ROS 2 stores beside its frames, by message time stamp.

    The message header only has the time since the recording began.
    """
    told = f"{topic.partition('/image/data')[0]}/image/metadata"
    if not reader.is2 or "/image/data" not in topic or not any(c.topic == told for c in reader.connections):
        return {}
    found = {}
    for connection, stamp, content in reader.messages(_of(reader, told)):
        match = re.search(r"\btimestamp=([\d.]+);", str(reader.deserialize(content, connection.msgtype).data))
        if match and is_finite(float(match[1])):
            found[stamp] = float(match[1]) / 1000
    return found
