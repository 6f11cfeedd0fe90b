"""Organized PCD point clouds to depth: ascii, binary and binary_compressed, with the camera fitted to the points."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import CameraError, FrameError, read_bytes
from depthforest.frames import Camera, check_size

_DTYPES = {
    (letter, size): np.dtype(f"<{code}{size}")
    for letter, code, sizes in (("F", "f", (4, 8)), ("U", "u", (1, 2, 4, 8)), ("I", "i", (1, 2, 4, 8)))
    for size in sizes
}
_MAX_HEADER_BYTES = 65536
_MAX_POINT_BYTES = 4096
_FIT_TOLERANCE_PX = 1.0
"""If points lie farther from their pixels than this, on average, no pinhole camera made the cloud."""


@dataclass(frozen=True)
class _Header:
    names: tuple[str, ...]
    dtype: np.dtype[Any]
    width: int
    height: int
    encoding: str
    n_bytes: int


def read_pcd(path: Path) -> tuple[npt.NDArray[np.float32], Camera | None, bool]:
    """Return z in meters (rows, cols), NaN for no reading; the camera of the points; and whether x runs backwards."""
    content = read_bytes(path, FrameError)
    header = _parse_header(content, path)
    body = content[header.n_bytes :]
    read = {"ascii": _read_ascii, "binary": _read_binary, "binary_compressed": _read_compressed}[header.encoding]
    x, y, z = (field.astype(np.float32).reshape(header.height, header.width) for field in read(body, header, path))
    return z, *_fitted_camera(x, y, z)


def _parse_header(content: bytes, path: Path) -> _Header:
    fields: dict[str, list[str]] = {}
    start = 0
    while "DATA" not in fields:
        end = content.find(b"\n", start, _MAX_HEADER_BYTES)
        if end < 0:
            raise FrameError(f"{path}: its PCD header has no DATA line; the file is truncated or no PCD")
        words = content[start:end].decode("ascii", errors="replace").split("#")[0].split()
        if words:
            fields[words[0].upper()] = words[1:]
        start = end + 1
    try:
        names = tuple(fields["FIELDS"])
        sizes = [int(s) for s in fields["SIZE"]]
        counts = [int(c) for c in fields.get("COUNT", ["1"] * len(names))]
        types = [_DTYPES[t.upper(), s] for t, s in zip(fields["TYPE"], sizes, strict=True)]
        width, height = int(fields["WIDTH"][0]), int(fields["HEIGHT"][0])
        encoding = fields["DATA"][0].lower()
        if not len(names) == len(types) == len(counts) or min(counts) < 1:
            raise ValueError("FIELDS, SIZE, TYPE and COUNT differ in length")
    except (KeyError, ValueError, IndexError) as error:
        raise FrameError(f"{path}: its PCD header is broken: {error}") from None
    missing = {"x", "y", "z"} - set(names)
    if missing or any(names.count(n) != 1 or counts[names.index(n)] != 1 for n in "xyz"):
        raise FrameError(f"{path}: expected fields x, y and z once each, got {', '.join(names)}")
    if encoding not in ("ascii", "binary", "binary_compressed"):
        raise FrameError(f"{path}: its data are {encoding!r}; ascii, binary and binary_compressed can be read")
    if height == 1 or width == 1:
        raise FrameError(
            f"{path}: is an unorganized cloud ({width} x {height} points) without pixels; "
            "save it organized, as the camera gave it"
        )
    check_size(width, height, str(path), FrameError)
    if sum(t.itemsize * c for t, c in zip(types, counts, strict=True)) > _MAX_POINT_BYTES:
        raise FrameError(f"{path}: its points take more than {_MAX_POINT_BYTES} bytes each")
    # names may repeat ("_" is padding), so number them and find x, y, z by position
    layout = [(f"{i}", t, (c,)) for i, (t, c) in enumerate(zip(types, counts, strict=True))]
    return _Header(names, np.dtype(layout), width, height, encoding, start)


def _read_ascii(body: bytes, header: _Header, path: Path) -> list[npt.NDArray[Any]]:
    n_columns = sum(header.dtype[i].shape[0] for i in range(len(header.names)))
    n = header.width * header.height
    try:
        table = np.array(body.split(), dtype=np.float64)
    except ValueError:
        raise FrameError(f"{path}: holds something other than numbers") from None
    if len(table) != n * n_columns:
        raise FrameError(
            f"{path}: expected {n} points of {n_columns} numbers, got {len(table)} numbers; is it truncated?"
        )
    table = table.reshape(n, n_columns)
    columns = np.cumsum([0] + [header.dtype[i].shape[0] for i in range(len(header.names))])
    return [table[:, columns[header.names.index(name)]] for name in "xyz"]


def _read_binary(body: bytes, header: _Header, path: Path) -> list[npt.NDArray[Any]]:
    n = header.width * header.height
    if len(body) < n * header.dtype.itemsize:
        raise FrameError(f"{path}: is truncated: {len(body)} of {n * header.dtype.itemsize} bytes of points")
    points = np.frombuffer(body, dtype=header.dtype, count=n)
    return [points[str(header.names.index(name))][:, 0] for name in "xyz"]


def _read_compressed(body: bytes, header: _Header, path: Path) -> list[npt.NDArray[Any]]:
    """Decompress and pick the fields, which are stored one after the other instead of point by point."""
    from depthforest.io.lzf import decompress

    n = header.width * header.height
    n_expected = n * header.dtype.itemsize
    if len(body) < 8:
        raise FrameError(f"{path}: is truncated before its compressed points")
    n_packed, n_unpacked = (int(v) for v in np.frombuffer(body, dtype="<u4", count=2))
    if n_unpacked != n_expected or len(body) - 8 < n_packed:
        raise FrameError(
            f"{path}: expected {n_expected} bytes of points in {n_packed} compressed ones, "
            f"got {n_unpacked} in {len(body) - 8}; the file is truncated or damaged"
        )
    try:
        unpacked = decompress(body[8 : 8 + n_packed], n_unpacked)
    except ValueError as error:
        raise FrameError(f"{path}: its compressed points are damaged: {error}") from None
    found = []
    for name in "xyz":
        i = header.names.index(name)
        offset = sum(header.dtype[j].itemsize for j in range(i)) * n
        found.append(unpacked[offset : offset + n * header.dtype[i].itemsize].view(header.dtype[i].base))
    return found


def _fitted_camera(
    x: npt.NDArray[np.float32], y: npt.NDArray[np.float32], z: npt.NDArray[np.float32]
) -> tuple[Camera | None, bool]:
    """Fit col = fx x/z + cx and row = fy y/z + cy to the points; None where no pinhole camera made them.

    z may point backwards and y up, as in OpenGL: the picture is the same. Also returns whether x falls along the rows.
    """
    height, width = z.shape
    is_reading = np.isfinite(x) & np.isfinite(y) & np.isfinite(z) & (z != 0)
    if np.count_nonzero(z[is_reading] < 0) > np.count_nonzero(is_reading) / 2:
        z = -z
    is_reading &= z > 0
    rows, cols = np.nonzero(is_reading)
    if len(rows) < 100:
        return None, False
    depth = z[is_reading].astype(np.float64)
    lines = []
    for pixels, sideways in ((cols, x), (rows, y)):
        slope = sideways[is_reading] / depth
        if np.ptp(slope) == 0:
            return None, False
        (focal, center), *_ = np.linalg.lstsq(np.stack((slope, np.ones_like(slope)), axis=1), pixels, rcond=None)
        if np.abs(focal * slope + center - pixels).mean() > _FIT_TOLERANCE_PX:
            return None, False
        lines.append((float(focal), float(center)))
    (fx, cx), (fy, cy) = lines
    try:
        return Camera(abs(fx), abs(fy), cx, cy, width, height), fx < 0
    except CameraError:
        return None, False
