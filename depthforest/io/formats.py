"""Files to raw arrays: PNG, TIFF, PGM, NumPy, PCD and plain 16-bit dumps, identified by content, never by name.

Decoders return the stored values, unscaled; `units` decides what they mean. Pages come one at a time. Every header is
checked before memory is allocated for what it promises.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
import numpy.typing as npt

from depthforest.base import FrameError, Parameter, Place, RemotePath, read_bytes, reason
from depthforest.frames import Camera, check_size

Raw = npt.NDArray[Any]
Size = tuple[int, int]

DEPTH_SUFFIXES = (".png", ".tif", ".tiff", ".pgm", ".npy", ".npz", ".pcd", ".raw", ".bin", ".depth")
"""Endings of files in a folder that are read as frames."""

RAW_SUFFIXES = (".raw", ".bin", ".depth")
"""Endings of plain dumps, which have the camera's size; other files count as dumps only if their size is given."""

_MAGIC = {
    b"\x89PNG\r\n\x1a\n": "png",
    b"II*\0": "tiff",
    b"MM\0*": "tiff",
    b"II+\0": "tiff",
    b"MM\0+": "tiff",
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
    b"PK\x05\x06": "npz",  # without a member
    b"# .PCD": "pcd",
    b"VERSION": "pcd",
    b"\xff\xd8\xff": "jpeg",
    b"BM": "bmp",
    b"GIF8": "gif",
    b"#ROSBAG V": "rosbag",
    b"\x89MCAP0\r\n": "mcap",
    b"SQLite format 3": "sqlite",
    b"\x89HDF\r\n\x1a\n": "hdf5",
    b"\x1aE\xdf\xa3": "mkv",
}
EIGHT_BIT_KINDS = ("jpeg", "bmp", "gif")
"""Formats that are recognized but cannot hold depth."""

RECORDING_KINDS = ("rosbag", "mcap", "sqlite", "hdf5", "mkv")
"""Formats that `recordings` opens."""

MAX_PAGES = 20_000
"""Most pages of a TIFF. Pillow compares each page with all before it; this many take a second or two."""

MAX_COLOR_PIXELS = 2**24
"""Most pixels of a picture with channels. It is decoded only to say what it is, because depth has one channel."""

MAX_VALUE_BYTES = 16
"""Most bytes of one value of an array: those of a long double."""

_ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
"""The passes of an interlaced PNG: first column and row, and steps of columns and rows."""

_UNPACKED_AT_ONCE = 2**20

_PGM_MAGIC = re.compile(rb"P[25][\s#]")
_NPZ_NAMES = ("depth_mm", "depth")


@dataclass(frozen=True)
class Page:
    """One raw picture, with the metadata in its file.

    Parameters
    ----------
    values : array (rows, cols)
        As stored.
    camera : Camera, optional
    is_backwards : bool
        Whether x falls from column to column.
    time_s : float, optional
        When it was taken, in seconds on the clock of the recording.
    scale : float, optional
        Meters per unit; None: the usual unit of such values.
    """

    values: Raw
    camera: Camera | None = None
    is_backwards: bool = False
    time_s: float | None = None
    scale: float | None = None


class Pictures(Protocol):
    """A container of pictures: a file or a recording."""

    @property
    def is_paged(self) -> bool:
        """Whether its pictures are identified by number."""

    @property
    def is_seekable(self) -> bool:
        """Whether `page` finds any picture without decoding those before it."""

    def count(self) -> int | None:
        """Return how many pictures there are, without decoding them; None if that is not known."""

    def pages(self) -> Iterator[Page]:
        """Yield the pictures, one in memory at a time."""

    def page(self, number: int) -> Page:
        """Return one picture by its number from 0."""


def sniff(path: Place) -> str:
    """Return the format of a file by its first bytes; "raw" if they say nothing."""
    start, is_odd = b"", False
    try:
        if isinstance(path, RemotePath):
            start = path.read_bytes()[:16]
        elif not (is_odd := path.exists() and not path.is_file() and not path.is_dir()):
            with path.open("rb") as file:
                start = file.read(16)
    except OSError as error:  # a name that is too long is one
        raise FrameError(f"{path}: cannot be read: {reason(error)}") from None
    if is_odd:
        raise FrameError(f"{path}: is a pipe or a device, not a file; pass - and feed it to standard input")
    if not start:
        raise FrameError(f"{path}: is empty (0 bytes); was it copied or written to the end?")
    if _PGM_MAGIC.match(start):
        return "pgm"
    return next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), "raw")


class PictureFile:
    """A file of pictures, whose format is detected once, at construction.

    Parameters
    ----------
    path : Path
    size : (width, height), optional
        Needed for plain dumps only.
    kind : str, optional
        The format, if it is known.

    Attributes
    ----------
    kind : str
        The format, as `sniff` names it.
    """

    def __init__(self, path: Path, size: Size | None = None, kind: str | None = None) -> None:
        self.path, self.size, self.kind = path, size, kind or sniff(path)

    @property
    def is_paged(self) -> bool:
        """Whether there are several pictures."""
        return self.count() > 1

    @property
    def is_seekable(self) -> bool:
        """Whether `page` finds any picture without decoding those before it; not possible in a compressed stack."""
        return self.kind != "npz"

    def page(self, number: int) -> Page:
        """Return one picture by its number from 0."""
        if self.kind == "npy" and self.is_paged:
            return Page(np.array(_open_npy(self.path)[number]))
        if self.kind == "tiff":
            return Page(next(_read_tiff(self.path, number)))
        if self.kind == "raw":
            return Page(next(_read_raw(self.path, self.size, number)))
        return next(itertools.islice(self.pages(), number, None))

    def count(self) -> int:
        """Return how many pictures there are, without decoding them."""
        if self.kind == "tiff":
            with _open_image(self.path, "TIFF"):
                return _n_pages(self.path)
        if self.kind == "npy":
            return _n_pictures(_open_npy(self.path), self.path)
        if self.kind == "npz":
            with _open_npz(self.path) as (_, shape, _):
                return shape[0] if _is_stack(shape) else 1
        if self.kind == "raw":
            return self.path.stat().st_size // _raw_frame_bytes(self.path, self.size)
        return 1

    def pages(self) -> Iterator[Page]:
        """Yield the pictures, one in memory at a time."""
        if self.kind == "png":
            yield Page(_read_png(self.path))
        elif self.kind == "tiff":
            yield from map(Page, _read_tiff(self.path))
        elif self.kind == "pgm":
            yield Page(_read_pgm(self.path))
        elif self.kind == "npy":
            yield from map(Page, _read_npy(self.path))
        elif self.kind == "npz":
            yield from map(Page, _read_npz(self.path))
        elif self.kind == "pcd":
            from depthforest.io.pcd import read_pcd

            yield Page(*read_pcd(self.path))
        elif self.kind == "raw":
            yield from map(Page, _read_raw(self.path, self.size))
        elif self.kind in RECORDING_KINDS:
            raise FrameError(f"{self.path}: is a recording, not a picture; open_source reads it")
        else:
            raise FrameError(
                f"{self.path}: is a {self.kind.upper()} picture of 8 bits a channel, which cannot hold depth; "
                "export 16-bit PNG or TIFF"
            )


def read_stream(stream: IO[bytes], size: Size, name: str = "stream") -> Iterator[Raw]:
    """Yield pictures of raw little-endian 16-bit values from a byte stream until it ends."""
    width, height = size
    n_bytes = 2 * width * height
    for number in range(1, 1 << 62):
        content = _read_fully(stream, n_bytes)
        if not content and number == 1:
            raise FrameError(f"{name}: ended before the first picture; is the program that feeds it running?")
        if not content:
            return
        if len(content) < n_bytes:
            raise FrameError(
                f"{name}: ended inside picture {number}, after {len(content)} of {n_bytes} bytes; "
                f"is {width}x{height} the size, and gray16le the format?"
            )
        yield np.frombuffer(content, dtype="<u2").reshape(height, width)


def read_picture(path: Place) -> Raw:
    """Return the first picture of a file, as it is stored; at a URL it must be a PNG."""
    if isinstance(path, Path):
        return next(PictureFile(path).pages()).values
    if sniff(path) != "png":
        raise FrameError(f"{path}: is not a PNG; the pictures of a data set at a URL are")
    return _read_png(path)


def read_labels(path: Place) -> npt.NDArray[np.uint8]:
    """Return the label indices of an 8-bit PNG, gray or indexed."""
    if sniff(path) != "png":
        raise FrameError(f"{path}: is not a PNG; labels are stored as 8-bit PNG")
    values = _read_png(path)
    if values.ndim != 2 or values.dtype != np.uint8:
        raise FrameError(
            f"{path}: expected an 8-bit PNG of label indices (gray or indexed), "
            f"got {values.dtype} of shape {values.shape}"
        )
    return values


# -- pictures ----------------------------------------------------------------------------------------------------------


def _open_image(path: object, kind: str, file: IO[bytes] | None = None) -> Any:
    from PIL import Image

    try:
        return Image.open(Path(str(path)) if file is None else file, formats=[kind])
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise FrameError(f"{path}: its header asks for too many pixels: {error}") from None
    except Exception as error:  # a decoder of untrusted bytes may raise anything
        raise FrameError(
            f"{path}: cannot be opened as {kind} with one 8-, 16- or 32-bit channel: {_first_line(error)}"
        ) from None


def _damaged(path: object, error: Exception) -> FrameError:
    return FrameError(f"{path}: is truncated or damaged: {_first_line(error)}; copy it again, or leave it out")


def _decoded(image: Any, path: object) -> Raw:
    width, height = image.size
    check_size(width, height, str(path), FrameError)
    n_channels = len(image.getbands())
    if n_channels > 1 and width * height > MAX_COLOR_PIXELS:
        raise FrameError(f"{path}: has {n_channels} channels, a color picture of {width} x {height}; depth has one")
    try:
        return np.asarray(image)
    except Exception as error:  # as above
        raise _damaged(path, error) from None


def _read_png(path: Place) -> Raw:
    return decode_png(read_bytes(path, FrameError), path)


def decode_png(content: bytes, path: object) -> Raw:
    """Return the picture of a PNG in memory; messages call it `path`."""
    if len(content) < 33:
        raise FrameError(f"{path}: is truncated: {len(content)} bytes are not a PNG")
    width, height = struct.unpack(">II", content[16:24])
    check_size(width, height, str(path), FrameError)
    _check_png(content, path)
    with _open_image(path, "PNG", io.BytesIO(content)) as image:
        values = _decoded(image, path)
    # a decoder leaves missing rows empty; so the data are only checked if the last row is empty
    if content[28] or not values[-1].any():
        _check_rows(content, width, height, path)
    return values


def _check_rows(content: bytes, width: int, height: int, path: object) -> None:
    """Raise an error if the compressed data of a PNG hold fewer rows than its header says."""
    bits = content[24] * {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}.get(content[25], 1)
    passes = _ADAM7 if content[28] else ((0, 0, 1, 1),)
    sizes = [(-(-(height - y) // dy), -(-(width - x) // dx)) for x, y, dx, dy in passes]
    n_missing = sum(rows * (1 + -(-cols * bits // 8)) for rows, cols in sizes if rows > 0 and cols > 0)
    unpacker, start, kind = zlib.decompressobj(), 8, b""
    try:
        while n_missing > 0 and kind != b"IEND":  # chunks up to IEND are complete; anything after it is ignored
            n_bytes, kind = struct.unpack(">I4s", content[start : start + 8])
            packed = content[start + 8 : start + 8 + n_bytes] if kind == b"IDAT" else b""
            while packed and n_missing > 0 and not unpacker.eof:
                n_missing -= len(unpacker.decompress(packed, _UNPACKED_AT_ONCE))
                packed = unpacker.unconsumed_tail
            start += n_bytes + 12
        n_missing -= len(unpacker.flush()) if n_missing > 0 else 0
    except zlib.error as error:
        raise _damaged(path, error) from None
    if n_missing > 0:
        raise FrameError(f"{path}: is damaged: fewer rows than its header says; copy it again, or leave it out")


def _check_png(content: bytes, path: object) -> None:
    """Verify the checksums of all chunks: decoders let damaged pixels pass."""
    start, kind = 8, b""
    while kind != b"IEND":
        if start + 12 > len(content):
            raise FrameError(f"{path}: is truncated; copy it again, or leave it out")
        n_bytes, kind = struct.unpack(">I4s", content[start : start + 8])
        end = start + 8 + n_bytes
        if end + 4 > len(content):
            raise FrameError(f"{path}: is truncated; copy it again, or leave it out")
        if zlib.crc32(content[start + 4 : end]) != int.from_bytes(content[end : end + 4], "big"):
            raise FrameError(f"{path}: is damaged: a check sum is wrong; copy it again, or leave it out")
        start = end + 4


def _n_pages(path: Path) -> int:
    """Return how many pages a TIFF has. Follows the chain of page headers, which may be damaged."""
    seen: set[int] = set()
    try:
        with path.open("rb") as file:
            start = file.read(16)
            order = "<" if start[:2] == b"II" else ">"
            is_big = struct.unpack_from(order + "H", start, 2)[0] == 43
            count, link, entry = ("Q", "Q", 20) if is_big else ("H", "I", 12)
            place = struct.unpack_from(order + link, start, 8 if is_big else 4)[0]
            while place and place not in seen and len(seen) <= MAX_PAGES:
                seen.add(place)
                file.seek(place)
                n_entries = struct.unpack(order + count, file.read(struct.calcsize(count)))[0]
                file.seek(n_entries * entry, io.SEEK_CUR)
                place = struct.unpack(order + link, file.read(struct.calcsize(link)))[0]
    except (struct.error, OSError, OverflowError, ValueError) as error:
        raise _damaged(path, error) from None
    if len(seen) > MAX_PAGES:
        raise FrameError(f"{path}: has more than {MAX_PAGES} pages; split it, or write single files")
    return len(seen)


def _read_tiff(path: Path, first: int = 0) -> Iterator[Raw]:
    n_pages = _n_pages(path)
    with _open_image(path, "TIFF") as image:
        for page in range(first, n_pages):
            try:
                image.seek(page)
            except EOFError:
                raise FrameError(
                    f"{path}: page {page} of {n_pages} is missing; copy it again, or leave it out"
                ) from None
            except Exception as error:  # as above
                raise FrameError(f"{path}: page {page} is damaged: {_first_line(error)}") from None
            yield _decoded(image, path)


def _read_pgm(path: Path) -> Raw:
    content = read_bytes(path, FrameError)
    # magic, then three numbers, with comments anywhere between; one white space ends the header. The repetition has
    # `\s`, not `\s+`, which would try 2^40 ways to split a header of 40 blanks before refusing it.
    match = re.match(rb"P([25])" + rb"(?:\s|#[^\n]*\n)+(\d{1,9})" * 3 + rb"\s", content)
    if not match:
        raise FrameError(f"{path}: has no valid PGM header (P2 or P5, width, height, largest value)")
    width, height, largest = (int(match[i]) for i in (2, 3, 4))
    check_size(width, height, str(path), FrameError)
    if not 1 <= largest <= 65535:
        raise FrameError(f"{path}: its largest value is {largest}; PGM has 1 to 65535")
    dtype = np.dtype(np.uint8 if largest < 256 else ">u2")
    n = width * height
    body = content[match.end() :]
    if match[1] == b"5":
        if len(body) < n * dtype.itemsize:
            raise FrameError(f"{path}: is truncated: {len(body)} of {n * dtype.itemsize} bytes of pixels")
        return np.frombuffer(body, dtype=dtype, count=n).reshape(height, width)
    try:
        values = np.array(re.sub(rb"#[^\n]*", b"", body).split()[:n], dtype=np.int64)
    except (ValueError, OverflowError):
        raise FrameError(f"{path}: holds something other than numbers") from None
    if len(values) < n or values.min() < 0 or values.max() > largest:
        raise FrameError(f"{path}: expected {n} values from 0 to {largest}, got {len(values)} or some outside")
    return values.astype(dtype).reshape(height, width)


# -- NumPy -------------------------------------------------------------------------------------------------------------


def _is_stack(shape: tuple[int, ...]) -> bool:
    """Tell a stack (n, rows, cols) from one picture with channels (rows, cols, 1 to 4)."""
    return len(shape) == 4 or (len(shape) == 3 and shape[2] > 4)


def _check_numpy(shape: tuple[int, ...], dtype: np.dtype[Any], name: str) -> None:
    if dtype.hasobject:
        raise FrameError(f"{name}: holds Python objects, which are not read; save a plain array of numbers")
    if dtype.kind not in "biuf" or dtype.itemsize > MAX_VALUE_BYTES:
        raise FrameError(f"{name}: expected an array of whole numbers or floats, got {dtype}; save a plain array")
    picture = shape[1:] if _is_stack(shape) else shape
    # a header may hold True instead of a number
    if len(picture) not in (2, 3) or any(type(n) is not int or n < 0 for n in shape):
        raise FrameError(f"{name}: expected shape (rows, cols) or (n, rows, cols), got {shape}")
    check_size(picture[1], picture[0] * math.prod(picture[2:]), name, FrameError)


def _open_npy(path: Path) -> Raw:
    try:
        array: Raw = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # as above
        raise FrameError(f"{path}: cannot be read as a NumPy array of numbers: {_first_line(error)}") from None
    _check_numpy(array.shape, array.dtype, str(path))
    return array


def _n_pictures(array: Raw, path: Path) -> int:
    n = array.shape[0] if _is_stack(array.shape) else 1
    if n == 0:
        raise FrameError(f"{path}: is a stack of 0 pictures")
    return n


def _read_npy(path: Path) -> Iterator[Raw]:
    array = _open_npy(path)
    n = _n_pictures(array, path)
    if not _is_stack(array.shape):
        yield np.array(array)
        return
    for i in range(n):
        yield np.array(array[i])


@contextlib.contextmanager
def _open_npz(path: Path) -> Iterator[tuple[IO[bytes], tuple[int, ...], np.dtype[Any]]]:
    """Open the depth array of an .npz: yields a stream positioned at its data, its shape and its dtype."""
    with contextlib.ExitStack() as stack:
        try:
            archive = stack.enter_context(zipfile.ZipFile(path))
            stream = stack.enter_context(archive.open(_npz_member(archive, path)))
            shape, dtype = _npz_header(stream, path)
        except FrameError:
            raise
        except Exception as error:  # zipfile and the header parser raise many kinds of errors on broken bytes
            raise FrameError(f"{path}: cannot be read as .npz: {_first_line(error)}") from None
        yield stream, shape, dtype


def _npz_member(archive: zipfile.ZipFile, path: Path) -> str:
    names = [n[:-4] for n in archive.namelist() if n.endswith(".npy")]
    name = next((n for n in _NPZ_NAMES if n in names), names[0] if len(names) == 1 else None)
    if name is None:
        raise FrameError(
            f"{path}: holds {', '.join(names) or 'no arrays'}; expected one array, or one called depth or depth_mm"
        )
    return f"{name}.npy"


def _npz_header(stream: IO[bytes], path: Path) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, is_fortran, dtype = read(stream)
    if is_fortran:
        raise FrameError(f"{path}: its array is in Fortran order; save np.ascontiguousarray(depth)")
    _check_numpy(shape, dtype, str(path))
    return shape, dtype


def _read_npz(path: Path) -> Iterator[Raw]:
    with _open_npz(path) as (stream, shape, dtype):
        n, picture = (shape[0], shape[1:]) if _is_stack(shape) else (1, shape)
        if n == 0:
            raise FrameError(f"{path}: is a stack of 0 pictures")
        n_bytes = math.prod(picture) * dtype.itemsize
        for _ in range(n):
            try:
                content = _read_fully(stream, n_bytes)
            except Exception as error:  # as above
                raise FrameError(f"{path}: is damaged: {_first_line(error)}") from None
            if len(content) < n_bytes:
                raise FrameError(f"{path}: is truncated; its array ends early")
            yield np.frombuffer(content, dtype=dtype).reshape(picture)


# -- plain dumps -------------------------------------------------------------------------------------------------------


def _raw_frame_bytes(path: Path, size: Size | None) -> int:
    if size is None:
        raise FrameError(
            f"{path}: is not a PNG, TIFF, PGM, NumPy or PCD file; if it holds raw 16-bit depth, pass its ",
            Parameter("size"),
            ", as in 640x480",
        )
    n_bytes = 2 * size[0] * size[1]
    total = path.stat().st_size
    if total % n_bytes:
        raise FrameError(
            f"{path}: {total} bytes are not a whole number of {size[0]}x{size[1]} pictures of 16-bit values "
            f"({n_bytes} bytes each); is the size right, the file whole?"
        )
    return n_bytes


def _read_raw(path: Path, size: Size | None, first: int = 0) -> Iterator[Raw]:
    n_bytes = _raw_frame_bytes(path, size)
    assert size is not None
    with path.open("rb") as file:
        file.seek(first * n_bytes)
        yield from read_stream(file, size, str(path))


def _read_fully(stream: IO[bytes], n_bytes: int) -> bytes:
    """Read `n_bytes`, or what is left, in several reads: one read of a pipe may return less."""
    chunks = []
    while n_bytes > 0 and (chunk := stream.read(n_bytes)):
        chunks.append(chunk)
        n_bytes -= len(chunk)
    return b"".join(chunks)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
