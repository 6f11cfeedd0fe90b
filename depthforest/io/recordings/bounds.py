"""Bounds for what rosbags unpacks: bags are untrusted, and a kilobyte of them can unpack to gigabytes.

rosbags unpacks each chunk completely, however large. This module replaces its decompressors by ones that stop at a
limit; files within the limit are read as before.
"""

from __future__ import annotations

import bz2
import functools
import itertools
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from depthforest.base import FrameError

MIN_BOUND = 1 << 28
"""Bytes that any chunk may unpack to."""

MAX_RATIO = 200
"""Largest compression ratio of a larger chunk; a sensor's depth, with its noise, compresses to about a third."""

MAX_DESCRIPTION_BYTES, MAX_NESTED = 1 << 24, 50
"""Largest description of a ROS 2 bag, metadata.yaml."""

INDEX_ENTRY_BYTES = 12
"""Bytes of one message in the index of a ROS 1 bag."""


def bound_of(n_packed: int) -> int:
    """Return how many bytes `n_packed` packed ones may unpack to."""
    return max(MIN_BOUND, MAX_RATIO * n_packed)


def unpacked(decompressor: Any, content: bytes, bound: int | None = None) -> bytes:
    """Unpack a block with an object that has `decompress(data, max_length)` and `eof`; ValueError beyond the bound."""
    bound = bound_of(len(content)) if bound is None else bound
    found = bytes(decompressor.decompress(content, max_length=bound + 1))
    if len(found) > bound:
        raise ValueError(f"a block of {len(content)} bytes unpacks to more than {bound >> 20} MB")
    if not decompressor.eof:
        raise ValueError("a packed block ends early")
    return found


@functools.cache
def bound_rosbags() -> None:
    """Make rosbags' decompressors stop at a bound."""
    import lz4.frame
    from rosbags.rosbag1 import reader as one
    from rosbags.rosbag2 import reader as two
    from rosbags.rosbag2 import storage_mcap as mcap

    zstd = two.zstd
    lz4_block: Callable[[bytes], bytes] = lambda data: unpacked(lz4.frame.LZ4FrameDecompressor(), data)  # noqa: E731
    zstd_block: Callable[[bytes], bytes] = lambda data: unpacked(zstd.ZstdDecompressor(), data)  # noqa: E731
    one.decompressors |= {"bz2": lambda data: unpacked(bz2.BZ2Decompressor(), data), "lz4": lz4_block}
    mcap.DECOMPRESSORS |= {"lz4": lambda data, _size: lz4_block(data), "zstd": lambda data, _size: zstd_block(data)}
    two.zstd = _BoundedZstd(zstd, zstd_block)


class _BoundedZstd:
    """The two zstd functions that rosbags calls for ROS 2 bags packed message by message, or as a whole."""

    def __init__(self, zstd: Any, block: Callable[[bytes], bytes]) -> None:
        self._zstd, self.decompress = zstd, block

    def open(self, file: Any, mode: str) -> Any:
        """Open a packed file within its bound. It is unpacked to a temporary file, which must not fill the disk."""
        bound = bound_of(Path(file.name).stat().st_size)
        with self._zstd.open(file.name, "rb") as packed:
            n = 0
            while block := packed.read(1 << 20):
                n += len(block)
                if n > bound:
                    raise ValueError(f"the file unpacks to more than {bound >> 20} MB")
        return self._zstd.open(file, mode)


def check_nesting(folder: Path) -> None:
    """Refuse a description of a ROS 2 bag with deeply nested lists or mappings: parsing it would take seconds."""
    file = folder / "metadata.yaml"
    if not file.is_file():
        return
    n_bytes = file.stat().st_size
    if n_bytes > MAX_DESCRIPTION_BYTES:
        raise FrameError(f"{file}: has {n_bytes >> 20} MB; a description of a bag has a few kB")
    plain = re.sub(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'', "", file.read_text(errors="replace"))
    depths = itertools.accumulate((1 if sign in "[{" else -1 for sign in re.findall(r"[][{}]", plain)), initial=0)
    if max(depths) > MAX_NESTED or re.search(rf"(?:- +){{{MAX_NESTED}}}", plain):
        raise FrameError(f"{file}: nests lists or mappings more than {MAX_NESTED} deep; no description of a bag does")


def bound_index(reader: Any, path: Path) -> None:
    """Refuse a ROS 1 index with more messages than fit into the file: a hostile index may list one several times."""
    if not hasattr(reader, "read_index_data"):
        return
    read, most = reader.read_index_data, path.stat().st_size // INDEX_ENTRY_BYTES

    def counted(pos: int, indexes: dict[int, list[Any]]) -> None:
        read(pos, indexes)
        if sum(map(len, indexes.values())) > most:
            raise ValueError("the index names more messages than the file can hold")

    reader.read_index_data = counted


def check_database(path: Path) -> None:
    """Refuse a SQLite file whose columns are computed while it is read, because they may be of any size."""
    if path.suffix != ".db3" or not path.is_file():
        return
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    try:
        database = sqlite3.connect(uri, uri=True)
        try:
            tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            hidden = [
                f"{table}.{column[1]}"
                for table in tables
                for column in database.execute("SELECT * FROM pragma_table_xinfo(?)", (table,))
                if column[6]
            ]
        finally:
            database.close()
    except (sqlite3.Error, UnicodeDecodeError):
        return  # rosbags says what is wrong
    if hidden:
        raise FrameError(f"{path}: is refused: its column {hidden[0][:80]} is computed; a bag only stores")
