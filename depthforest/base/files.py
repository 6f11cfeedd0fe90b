"""Files: read with clear errors, write to a temporary name and rename, sort in natural order.

The one place that touches the disk for whole files; it knows no image format.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from depthforest.base.errors import DepthForestError, UsageError
from depthforest.base.remote import Place


def natural_key(name: str) -> tuple[list[int | str], str]:
    """Return a sort key under which `frame2` comes before `frame10`."""
    # re.split with a group alternates text and digits, so that text never meets a number
    pieces = re.split(r"(\d+)", name)
    return [int(p) if i % 2 else p.lower() for i, p in enumerate(pieces)], name


def reason(error: OSError) -> str:
    """Return what the operating system said, without the path."""
    return (error.strerror or str(error) or type(error).__name__).lower()


def read_bytes(path: Place, error_type: type[DepthForestError]) -> bytes:
    """Return a file's bytes, or raise `error_type` with one clear line."""
    try:
        # check before opening, because opening a pipe waits for a writer
        if isinstance(path, Path) and stat.S_ISFIFO(path.stat().st_mode):
            raise error_type(f"{path}: is a pipe, no file; write it to a file first")
        content = path.read_bytes()
    except OSError as error:
        raise error_type(f"{path}: cannot be read: {reason(error)}") from None
    if not content:
        raise error_type(f"{path}: is empty (0 bytes); was it copied or written to the end?")
    return content


def read_json(path: Place, error_type: type[DepthForestError]) -> Any:
    """Return a JSON file's content, or raise `error_type` with one clear line."""
    content = read_bytes(path, error_type)
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise error_type(f"{path}: is not valid JSON: {error}") from None


def json_bytes(content: object) -> bytes:
    """Return content as the text of a JSON file that people can read."""
    return (json.dumps(content, indent=1) + "\n").encode()


def write_json(path: Path, content: object) -> None:
    """Write JSON atomically."""
    with replacing(path) as file:
        file.write(json_bytes(content))


@contextlib.contextmanager
def replacing(path: str | Path, *, is_durable: bool = False) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `path` that takes its place when the block ends well.

    If anything fails inside the block, an existing file stays as it was and no partial file is left. A durable file is
    flushed to the disk before it is renamed and before the block ends, so it survives a power cut.
    """
    path = Path(path)
    # short, so that a long but legal file name does not become too long
    temporary = path.with_name(f".{secrets.token_hex(6)}.part")
    try:
        with temporary.open("xb") as file:
            yield file
            if is_durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
        if is_durable:
            _sync_folder(path.parent)
    except OSError as error:
        raise DepthForestError(f"{path}: cannot be written: {reason(error)}") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Flush a folder's entries to the disk where the system can; the content of its files is there already."""
    if os.name != "posix":
        return
    # some network file systems cannot do this; the file is complete in any case
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def is_folder(path: Place, error_type: type[DepthForestError]) -> bool:
    """Tell whether a path is a folder; raise `error_type` where access is denied."""
    try:
        return path.is_dir()
    except OSError as error:
        raise error_type(f"{path}: cannot be read: {reason(error)}") from None


def make_folder(path: str | Path) -> Path:
    """Create a folder and its parents, or raise DepthForestError with one clear line."""
    path = Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DepthForestError(f"{path}: cannot be made a folder: {reason(error)}") from None
    return path


def check_writable(path: Path) -> None:
    """Raise UsageError if a file cannot be written there. Call it before hours of work, not after."""
    if path.is_dir():
        raise UsageError(f"{path}: is a folder; name a file")
    parent = path.absolute().parent
    if not parent.is_dir():
        raise UsageError(f"{path}: cannot be written: there is no folder {parent}; make it, or name another")
    if not os.access(parent, os.W_OK):
        raise UsageError(f"{path}: cannot be written: the folder {parent} is read-only")
