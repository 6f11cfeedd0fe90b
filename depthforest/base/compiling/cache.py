"""Where compiled kernels are kept on disk, for commands and tests alike.

numba recompiles a kernel when the file that holds it is edited, but misses edits of kernels that it calls or has
inlined. Here every source that a kernel can use counts: those of its own room and of the rooms below it. Their hash
names the folder, so an edit of the command line recompiles nothing. A read-only folder is still read, so that a
container image can ship compiled kernels.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import uuid
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from numba.core import caching

PACKAGES = Path(__file__).resolve().parents[3]
"""The folder of `depthforest` and `synth`."""

ORDER = (
    ("base",),
    ("frames", "ensemble"),
    ("cluster",),
    ("io",),
    ("trees",),
    ("labeling",),
    ("forest",),
    ("joints",),
    ("people",),
    ("training",),
)
"""The rooms of depthforest up to the last that has kernels: a room imports only from rows above its own."""

BELOW_SYNTH = ("base", "frames", "cluster", "io")
"""What synth imports."""

_TOKEN = uuid.uuid4().hex[:6]

not_kept: list[str] = []
"""Why kernels of this process were compiled but not kept."""


def _own_name() -> str:
    """Return a token for the names of files that this process writes; no other process has it, not even a fork."""
    return f"{os.getpid():x}{_TOKEN}"


@cache
def sources_hash(room: Path | None = None) -> str:
    """Return a hash of the Python sources that a kernel of a room can use; without a room, of all sources.

    Parameters
    ----------
    room : Path, optional
        Folder of a room, relative to `PACKAGES`, such as `depthforest/trees`.
    """
    digest = hashlib.sha256()
    for folder in [Path("depthforest"), Path("synth")] if room is None else _used_by(room):
        digest.update(_folder_hash(folder))
    return digest.hexdigest()[:16]


def _used_by(room: Path) -> list[Path]:
    """Return the folders whose kernels a kernel of a room can use, its own included."""
    rows = [[Path("depthforest", name) for name in row] for row in ORDER]
    if room == Path("synth"):
        return [*(Path("depthforest", name) for name in BELOW_SYNTH), room]
    for height, row in enumerate(rows):
        if room in row:
            return [*chain(*rows[:height]), room]
    return [Path("depthforest"), Path("synth")]


@cache
def _folder_hash(folder: Path) -> bytes:
    """Return a hash of the Python sources of a folder. Takes a few milliseconds, once per process."""
    digest = hashlib.sha256()
    for path in sorted(_sources(PACKAGES / folder)):
        digest.update(path.relative_to(PACKAGES).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.digest()


def _sources(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.suffix == ".py":
            yield path
        elif path.is_dir() and path.name != "__pycache__":
            yield from _sources(path)


@cache
def cache_folder() -> Path | None:
    """Return the folder of this state of the sources: the first that is there, or that can be made.

    It holds the marks of what was compiled ahead of time; kernels are in the folders of their rooms beside it. The
    candidates are `NUMBA_CACHE_DIR`, `.cache/numba` of a checkout, and the user's cache folder. If all fail, returns
    None: every process then compiles its kernels.
    """
    for folder in _places():
        own = folder / sources_hash()
        with contextlib.suppress(OSError):
            if own.is_dir() or is_writable(own):
                return own
    return None


def _places() -> Iterator[Path]:
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(given)
    if (PACKAGES / "pyproject.toml").is_file():
        yield PACKAGES / ".cache" / "numba"
    with contextlib.suppress(RuntimeError):  # no home
        given = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME")
        users = Path(given) if given else Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
        yield users / "depthforest" / "numba"


def is_writable(folder: Path) -> bool:
    """Return whether a file can be made in a folder, which is made if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f"probe.{_own_name()}"
        probe.touch()
        probe.unlink()
    except OSError:
        return False
    return True


class _Locator:
    """Tells numba where the kernels of a source file are kept, and when they are stale."""

    def __init__(self, folder: Path, stamp: str, line: int) -> None:
        self._folder, self._stamp, self._line = folder, stamp, line

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> _Locator | None:
        """Return where a kernel is kept; None if nowhere, or if it is not from a source file of the packages."""
        marks = cache_folder()
        try:
            parts = Path(file).resolve().parent.relative_to(PACKAGES).parts
        except ValueError:
            return None
        if marks is None or not Path(file).is_file():
            return None
        room = Path(*parts[: 1 if parts[:1] == ("synth",) else 2])
        stamp = sources_hash(room)
        return cls(marks.parent / f"{room.name}.{stamp}" / ".".join(parts), stamp, function.__code__.co_firstlineno)

    def ensure_cache_path(self) -> None:
        """Make the folder."""
        self._folder.mkdir(parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        """Return the folder."""
        return str(self._folder)

    def get_source_stamp(self) -> str:
        """Return a stamp that changes with any source that the kernel can use."""
        return self._stamp

    def get_disambiguator(self) -> str:
        """Return a token that distinguishes functions of the same name."""
        return str(self._line)


class _Results(caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Locator,)


class KernelCache(caching.FunctionCache):  # type: ignore[misc]
    """The compiled versions of one kernel on disk.

    numba names data files by number, and two processes that compile different versions at the same time may give both
    the same name, so that one would load the other's. Here each process uses names of its own. At worst, a version is
    compiled again.
    """

    _impl_class = _Results

    def load_overload(self, *args: Any) -> Any:
        """Return a version from disk; one that is damaged or unreadable is compiled again."""
        try:
            return super().load_overload(*args)
        except OSError:
            return None
        except Exception:  # unpickling a damaged file can raise nearly anything
            self._forget()
            return None

    def save_overload(self, *args: Any) -> None:
        """Save a version. If the folder is read-only or the disk full, record the reason in `not_kept`."""
        self._cache_file._data_name_pattern = f"{self._impl.filename_base}.{_own_name()}.{{number:d}}.nbc"
        try:
            super().save_overload(*args)
        except OSError as error:
            folder = self._impl.locator.get_cache_path()
            not_kept.append(f"compiled kernels cannot be kept in {folder}: {error.strerror}")
        except Exception:  # the list of versions was damaged in the meantime
            self._forget()

    def _forget(self) -> None:
        """Remove the list of versions, so that all are compiled and saved again."""
        with contextlib.suppress(OSError):
            Path(self._cache_file._index_path).unlink()
