"""Record3D (`.r3d`): depth of an iPhone's LiDAR or TrueDepth camera, float meters packed with LZFSE in a ZIP file."""

from __future__ import annotations

import ctypes
import functools
import json
import math
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from depthforest.base import FrameError
from depthforest.frames import Camera, check_size
from depthforest.io.formats import Page
from depthforest.io.recordings.packages import need, untrusted

METADATA = "metadata"
MAX_METADATA_BYTES = 1 << 28
"""Largest metadata: a pose and a time stamp for each frame, enough for hours."""

SIZES = {192 * 256: (192, 256), 480 * 640: (480, 640), 720 * 960: (720, 960)}
"""Pixels of a picture -> its width and height, for old files that do not record them: LiDAR, TrueDepth."""

_DEPTH = re.compile(r"rgbd/(\d{1,9})\.depth")


def is_record3d(path: Path) -> bool:
    """Tell whether a ZIP file is a recording of Record3D."""
    try:
        with zipfile.ZipFile(path) as file:
            names = file.namelist()
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        return False
    return METADATA in names and any(map(_DEPTH.fullmatch, names))


class Record3dFile:
    """Pictures of a Record3D file, upright as the app shows them.

    Parameters
    ----------
    path : Path
    """

    is_paged, is_seekable = True, True

    def __init__(self, path: Path) -> None:
        self.path = path
        need("liblzfse", "pip install pyliblzfse", f"{path}: Record3D")
        with untrusted(path), zipfile.ZipFile(path) as file:
            found = {int(match[1]): match[0] for match in map(_DEPTH.fullmatch, file.namelist()) if match}
            self._names = [found[number] for number in sorted(found)]
            if file.getinfo(METADATA).file_size > MAX_METADATA_BYTES:
                raise FrameError(f"{path}: its metadata are too large")
            told = json.loads(file.read(METADATA))
            times = told.get("frameTimestamps") or []
            fps = float(told.get("fps") or 60)
            self._times = [float(t) for t in times] if len(times) == len(found) else [n / fps for n in sorted(found)]
            self._size = _size(told, path)
            self._told = told

    def count(self) -> int:
        """Return how many pictures there are."""
        return len(self._names)

    def pages(self) -> Iterator[Page]:
        """Yield the pictures, one in memory at a time."""
        return map(self.page, range(len(self._names)))

    def page(self, number: int) -> Page:
        """Return one picture by its number from 0."""
        with untrusted(self.path), zipfile.ZipFile(self.path) as file:
            info = file.getinfo(self._names[number])
            most = 4 * math.prod(self._size or max(SIZES.values()))
            if info.file_size > 2 * most:  # incompressible data grow only a little
                raise FrameError(f"{self.path}: {info.filename} is too large for its picture")
            values = np.frombuffer(_unpack(file.read(info), most), "<f4")
            size = self._size or SIZES.get(len(values))
            if size is None or len(values) != math.prod(size):
                raise FrameError(f"{self.path}: {info.filename} holds {len(values)} numbers, no picture of {size}")
            time_s = self._times[number] if math.isfinite(self._times[number]) else None
            return Page(values.reshape(size[::-1]), _camera(self._told, size), time_s=time_s, scale=1.0)


def _size(told: Any, path: Path) -> tuple[int, int] | None:
    if "dw" not in told or "dh" not in told:
        return None
    size = int(told["dw"]), int(told["dh"])
    check_size(*size, str(path), FrameError)
    return size


def _camera(told: Any, size: tuple[int, int]) -> Camera:
    """Return the camera of depth pictures: `K` describes the color pictures and is stored by columns."""
    fx, _, _, _, fy, _, cx, cy, _ = map(float, told["K"])
    width, height = int(told["w"]), int(told["h"])
    x, y = size[0] / width, size[1] / height
    return Camera(fx * x, fy * y, (cx + 0.5) * x - 0.5, (cy + 0.5) * y - 0.5, *size)


def _unpack(content: bytes, most: int) -> bytes:
    """Unpack LZFSE; raise ValueError if there are more than `most` bytes."""
    decode = _bounded_decoder()
    if decode is None:
        import liblzfse

        return bytes(liblzfse.decompress(content))
    target = ctypes.create_string_buffer(most + 1)
    n = decode(target, most + 1, content, len(content), None)
    if n > most:
        raise ValueError(f"a picture of {len(content)} bytes unpacks to more than {most}")
    return target.raw[:n]


@functools.cache
def _bounded_decoder() -> Callable[..., int] | None:
    """Return the decoder of Apple's library inside liblzfse, which stops when the buffer is full.

    The package's own function has no bound. Returns None where the library does not export the decoder.
    """
    import liblzfse

    try:
        decode = ctypes.CDLL(liblzfse.__file__).lzfse_decode_buffer
    except (OSError, AttributeError):
        return None
    decode.restype = ctypes.c_size_t
    decode.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p]
    found: Callable[..., int] = decode
    return found
