"""Files by URL: `s3://`, `gs://`, `https://`, `memory://`, read through fsspec as local files are.

A `RemotePath` has the few methods of `pathlib.Path` that readers need and raises the same errors, so that a reader
treats both alike. The size of every answer is bounded. Credentials and endpoints come from the environment (AWS's and
Google's own variables and files, fsspec's configuration); none is stored, sent elsewhere or printed.

The process keeps each object that it has read in one unnamed temporary file, which the system frees when the process
ends, even by a kill. A data set that is sent to a worker and opened there several times is downloaded once.
"""

from __future__ import annotations

import contextlib
import errno
import html
import os
import re
import shutil
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import quote, unquote, urlsplit
from weakref import WeakValueDictionary, finalize

from depthforest.base.errors import UsageError

PACKAGES = {"s3": "s3fs", "gs": "gcsfs", "https": "aiohttp", "http": "aiohttp", "memory": "fsspec"}
"""Supported protocols, and the package that fsspec needs for each."""

MAX_BYTES = 2**29
"""Largest object, as large as a model file may be: a server could send forever."""

CONNECT_SECONDS, READ_SECONDS = 10, 60
"""Seconds that a server may be silent."""

MIN_FREE_BYTES = 2**30
"""Bytes that stay free in the temporary folder; when less is free, objects are not kept but read again on demand."""

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_LINK = re.compile(rb"""<a\s[^>]*?href\s*=\s*["']([^"'?#]+)["']""", re.IGNORECASE)


class RemotePath:
    """A file or a folder at a URL. It has no parent and cannot be written.

    Parameters
    ----------
    url : str
        Its protocol must be a known one; `place_of` distinguishes URLs from paths.
    kept : Kept, optional
        What was read so far of the data set that this file belongs to. Default: nothing.
    """

    def __init__(self, url: str, kept: Kept | None = None) -> None:
        protocol, rest = url.split("://", 1)
        self.protocol = protocol.lower()
        if self.protocol not in PACKAGES:
            known = ", ".join(f"{name}://" for name in PACKAGES)
            raise UsageError(f"{protocol}:// addresses cannot be read; known are {known}")
        if not rest.strip("/") or "::" in url or any(not c.isprintable() for c in url):
            raise UsageError(f"{protocol}://{rest[:60]!r} is not the address of a file or a folder")
        self.url = f"{self.protocol}://{rest.rstrip('/')}"
        self.kept = Kept.of(uuid.uuid4().hex) if kept is None else kept

    def __reduce__(self) -> tuple[Callable[[str, str], RemotePath], tuple[str, str]]:
        return _rebuilt, (self.url, self.kept.token)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and self.url == other.url

    def __hash__(self) -> int:
        return hash(self.url)

    def __str__(self) -> str:
        """Return the address without passwords and signatures."""
        if self.protocol not in ("http", "https"):
            return self.url
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def __repr__(self) -> str:
        return f"RemotePath({str(self)!r})"

    def __truediv__(self, name: str) -> RemotePath:
        address, mark, query = self.url.partition("?") if self._is_web else (self.url, "", "")
        return RemotePath(f"{address}/{quote(name) if self._is_web else name}{mark}{query}", self.kept)

    @property
    def _is_web(self) -> bool:
        return self.protocol in ("http", "https")

    @property
    def _pure(self) -> PurePosixPath:
        path = str(self).split("://", 1)[1]
        return PurePosixPath(unquote(path) if self._is_web else path)

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self._pure.name

    @property
    def stem(self) -> str:
        """The name without its ending."""
        return self._pure.stem

    @property
    def suffix(self) -> str:
        """The ending of the name, with its dot."""
        return self._pure.suffix

    def absolute(self) -> RemotePath:
        """Return the same: a URL is absolute."""
        return self

    def read_bytes(self, limit: int = MAX_BYTES) -> bytes:
        """Return the content of a file; raise an OSError, as for local files, if it is missing or exceeds the limit."""
        return self._read(self.url, limit)

    def exists(self) -> bool:
        """Tell whether it is a file or a folder."""
        return self.is_file() or self.is_dir()

    def is_file(self) -> bool:
        """Tell whether it is a file. Reads it, because it is kept and usually needed next."""
        try:
            self.read_bytes()
        except FileNotFoundError:
            return False
        return True

    def is_dir(self) -> bool:
        """Tell whether it is a folder: whether anything is in it."""
        try:
            return next(self.iterdir(), None) is not None
        except (FileNotFoundError, NotADirectoryError):
            return False

    def iterdir(self) -> Iterator[RemotePath]:
        """Yield the entries of a folder; a web server must list it as a page of links."""
        names = self._linked() if self._is_web else self._listed()
        return (self / name for name in sorted(names))

    def _listed(self) -> set[str]:
        with _plain_errors(self):
            system = self._system()
            system.invalidate_cache()
            folder = system._strip_protocol(self.url)
            found = (one.rstrip("/") for one in system.ls(folder, detail=False))
        return {one.rpartition("/")[2] for one in found if one != folder}

    def _linked(self) -> set[str]:
        address, mark, query = self.url.partition("?")
        content = self._read(f"{address}/{mark}{query}", MAX_BYTES)
        if not content[:512].lstrip().startswith(b"<"):
            raise NotADirectoryError(errno.ENOTDIR, "it is not a list of files", str(self))
        links = (unquote(html.unescape(link.decode("utf-8", errors="replace"))) for link in _LINK.findall(content))
        names = {link.removeprefix("./").rstrip("/") for link in links}
        return {name for name in names if name and "/" not in name and name != ".."}

    def _system(self) -> Any:
        """Return fsspec's file system for this protocol: one per protocol, made again after a fork."""
        package = PACKAGES[self.protocol]
        if find_spec("fsspec") is None or find_spec(package) is None:
            raise UsageError(
                f"{self.protocol}:// addresses need the package {package}, which is not installed: run pip install "
                f"{package}"
            )
        import fsspec

        return fsspec.filesystem(self.protocol, **_patience(self.protocol))

    def _read(self, url: str, limit: int) -> bytes:
        content = self.kept.get(url, lambda: self._fetched(url, limit))
        if content is None:
            raise FileNotFoundError(errno.ENOENT, "there is no such file", str(self))
        return content

    def _fetched(self, url: str, limit: int) -> bytes | None:
        """Return the content of a URL; None if there is no such file."""
        content = self._asked(url, limit + 1)
        if content is not None and len(content) > limit:
            raise OSError(errno.EFBIG, f"it has more than {limit} bytes", str(self))
        return content

    def _asked(self, url: str, n: int) -> bytes | None:
        """Return at most the first n bytes of the content of a URL."""
        with _plain_errors(self):
            system = self._system()
            try:
                if not self._is_web:
                    return bytes(system.cat_file(system._strip_protocol(url), start=0, end=n))
                # a web server may ignore a range; with any size given, fsspec does not ask for it
                with system.open(url, block_size=0, size=1) as stream:
                    return _read_at_most(stream, n)
            except (FileNotFoundError, IsADirectoryError):
                return None


Place = Path | RemotePath
"""Where a file or a folder is."""


def place_of(path: str | Place) -> Place:
    """Return the place that a user named: a URL or a path."""
    if isinstance(path, RemotePath):
        return path
    return RemotePath(path) if isinstance(path, str) and _URL.match(path) else Path(path)


def _rebuilt(url: str, token: str) -> RemotePath:
    return RemotePath(url, Kept.of(token))


def _read_at_most(stream: Any, n: int) -> bytes:
    pieces, left = [], n
    while left > 0 and (piece := stream.read(left)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _patience(protocol: str) -> dict[str, Any]:
    """Return options of fsspec's file system that set a timeout for a silent server."""
    if protocol == "s3":
        waits = {"connect_timeout": CONNECT_SECONDS, "read_timeout": READ_SECONDS, "retries": {"max_attempts": 2}}
        return {"config_kwargs": waits}
    if protocol == "gs":
        return {"requests_timeout": READ_SECONDS}
    if protocol in ("http", "https"):
        import aiohttp

        limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=READ_SECONDS)
        return {"client_kwargs": {"timeout": limits}}
    return {}


@contextlib.contextmanager
def _plain_errors(path: RemotePath) -> Iterator[None]:
    """Turn whatever a file system raises into an OSError whose text says what happened."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "there is no such file or folder", str(path)) from None
    except (UsageError, IsADirectoryError, NotADirectoryError):
        raise
    except Exception as error:  # each kind of server has a package with errors of its own
        kind, said = type(error).__name__, str(error)
        status = getattr(error, "status", None)
        if isinstance(error, PermissionError) or "Credentials" in kind or status in (401, 403):
            text = "access is refused; are credentials set, and for this address?"
            raise PermissionError(errno.EACCES, text, str(path)) from None
        lost = ("Connect", "Timeout", "ClientOS", "Payload", "Disconnected", "Endpoint")
        if isinstance(error, ConnectionError | TimeoutError) or any(word in kind for word in lost):
            raise OSError(errno.EIO, "the server does not answer; is the address right?", str(path)) from None
        line = f"status {status}" if status is not None else f"{kind}: {' '.join(said.split())[:120]}"
        raise OSError(errno.EIO, f"the server says {line}", str(path)) from None


# -- cache of objects --------------------------------------------------------------------------------------------------


@dataclass
class _Entry:
    """Where one object's bytes are in the file; length -1 if the object does not exist, None while it is not kept."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    start: int = 0
    length: int | None = None


class Kept:
    """What this process has read of one data set. If one thread is reading an object, others that want it wait.

    Parameters
    ----------
    token : str
        Identifies the data set since it was opened; copies that are sent to workers have the same token.
    """

    def __init__(self, token: str) -> None:
        self.token = token
        self._start_empty()

    def _start_empty(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}
        self._file: IO[bytes] | None = None
        self._end = 0

    @staticmethod
    def of(token: str) -> Kept:
        """Return what this process has read of the data set with a token."""
        with _all_lock:
            return _all.setdefault(token, Kept(token))

    def get(self, key: str, fetch: Callable[[], bytes | None]) -> bytes | None:
        """Return an object, fetched if it was not kept before."""
        if self._pid != os.getpid():  # a fork: the file and the locks are the parent's
            self._start_empty()
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
        with entry.lock:
            if entry.length is not None:
                return None if entry.length < 0 else self._read(entry)
            content = fetch()
            if content is None:
                entry.length = -1
            else:
                self._keep(entry, content)
            return content

    def _keep(self, entry: _Entry, content: bytes) -> None:
        with self._lock, contextlib.suppress(OSError):  # the disk is full: read it again next time
            if shutil.disk_usage(tempfile.gettempdir()).free < len(content) + MIN_FREE_BYTES:
                return
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="depthforest-")  # noqa: SIM115  # open as long as this lives
                finalize(self, self._file.close)
            self._file.seek(self._end)
            self._file.write(content)
            entry.start, entry.length = self._end, len(content)
            self._end += len(content)

    def _read(self, entry: _Entry) -> bytes:
        with self._lock:
            assert self._file is not None
            assert entry.length is not None
            self._file.seek(entry.start)
            return self._file.read(entry.length)


_all: WeakValueDictionary[str, Kept] = WeakValueDictionary()
_all_lock = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: globals().update(_all_lock=threading.Lock()))
