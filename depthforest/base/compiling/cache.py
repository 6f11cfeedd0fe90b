"""Where compiled kernels are kept on disk: one folder for each state of the sources, for commands and tests alike.

numba keeps a kernel until the file that holds it is edited, and misses edits of kernels that it calls or has inlined.
Here all sources count: their hash names the folder. A folder that cannot be written is read all the same, so that an
image may hold compiled kernels.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import uuid
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import caching

PACKAGES = Path(__file__).resolve().parents[3]
"""The folder of `depthforest` and `synth`."""

_TOKEN = uuid.uuid4().hex[:6]

not_kept: list[str] = []
"""Why kernels of this process were compiled but not kept."""


def _own_name() -> str:
    """Return what is in the names of the files that this process writes, and no other, not even a fork of it."""
    return f"{os.getpid():x}{_TOKEN}"


@cache
def sources_hash() -> str:
    """Return a hash of all Python sources: some milliseconds, once in a process."""
    digest = hashlib.sha256()
    for package in ("depthforest", "synth"):
        for path in sorted(_sources(PACKAGES / package)):
            digest.update(path.relative_to(PACKAGES).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _sources(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.suffix == ".py":
            yield path
        elif path.is_dir() and path.name != "__pycache__":
            yield from _sources(path)


@cache
def cache_folder() -> Path | None:
    """Return the folder for the kernels of these sources: the first that holds some, or that can be written.

    Looked at are `NUMBA_CACHE_DIR`, `.cache/numba` of a checkout, and the user's folder for caches. None if all fail:
    kernels are then compiled in every process.
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
    """Tells numba where the kernels of a source file are kept, and by what they are known to be fresh."""

    def __init__(self, folder: Path, line: int) -> None:
        self._folder, self._line = folder, line

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> _Locator | None:
        """Return where a kernel is kept; None if nowhere, or if no source file of the packages holds it."""
        folder = cache_folder()
        try:
            room = Path(file).resolve().parent.relative_to(PACKAGES)
        except ValueError:
            return None
        if folder is None or not Path(file).is_file():
            return None
        return cls(folder / ".".join(room.parts), function.__code__.co_firstlineno)

    def ensure_cache_path(self) -> None:
        """Make the folder."""
        self._folder.mkdir(parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        """Return the folder."""
        return str(self._folder)

    def get_source_stamp(self) -> str:
        """Return what changes with any source."""
        return sources_hash()

    def get_disambiguator(self) -> str:
        """Return what tells functions of the same name apart."""
        return str(self._line)


class _Results(caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Locator,)


class KernelCache(caching.FunctionCache):  # type: ignore[misc]
    """The compiled versions of one kernel on disk.

    numba names data files by number, and two processes that compile different versions at the same time may give both
    the same name: the one would then load the other's. Here names are a process's own. At worst a version is forgotten.
    """

    _impl_class = _Results

    def load_overload(self, *args: Any) -> Any:
        """Return a version that is on disk; what cannot be read, or is damaged, is compiled again."""
        try:
            return super().load_overload(*args)
        except OSError:
            return None
        except Exception:  # of unpickling what is cut or damaged: nearly any
            self._forget()
            return None

    def save_overload(self, *args: Any) -> None:
        """Keep a version, unless the folder is read-only or the disk is full; `not_kept` then says so."""
        self._cache_file._data_name_pattern = f"{self._impl.filename_base}.{_own_name()}.{{number:d}}.nbc"
        try:
            super().save_overload(*args)
        except OSError as error:
            folder = self._impl.locator.get_cache_path()
            not_kept.append(f"compiled kernels cannot be kept in {folder}: {error.strerror}")
        except Exception:  # the list of versions was damaged meanwhile
            self._forget()

    def _forget(self) -> None:
        """Remove the list of versions, so that all are compiled and kept anew."""
        with contextlib.suppress(OSError):
            Path(self._cache_file._index_path).unlink()
