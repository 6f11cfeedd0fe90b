"""A folder that one run owns: a stopped run can resume, and two runs never mix.

The folder's record is written before anything else. It holds the identity of the run: what made the folder. A run of
the same identity resumes; any other run is refused, and so is a folder that holds other things. Each finished step is
one file in the folder, complete or absent. `outfolder`, `compare.folder`, `checkpoints` and `writing` are such folders:
each says what its record holds, which files are foreign to it, and how it refuses.
"""

from __future__ import annotations

import contextlib
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from depthforest.base.errors import DepthForestError
from depthforest.base.files import make_folder, read_json, reason, replacing

try:
    import fcntl
except ImportError:  # Windows: runs are not kept apart there
    fcntl = None  # type: ignore[assignment]

_LEFTOVER = re.compile(r"\.[0-9a-f]+\.part(\.\w+)?")
"""Names that `files.replacing` and the video writer give to a file that is not complete yet."""

_locked: dict[Path, int] = {}
"""Folders that this process has locked, and the open descriptors that hold the locks."""


class Change(NamedTuple):
    """The first difference between a run and the one that made a folder; None stands for a missing value."""

    key: Any
    old: Any
    new: Any

    def __str__(self) -> str:
        if isinstance(self.old, dict | list) or isinstance(self.new, dict | list):
            return f"another {self.key}"
        return f"{self.key} was {_told(self.old)}, now {_told(self.new)}"


def _told(value: Any) -> Any:
    return "not given" if value is None else value


class ClaimedFolder(ABC):
    """A folder with a record of what made it; the module's docstring has the rules.

    Parameters
    ----------
    path : str or Path
    """

    RECORD: ClassVar[str]
    """Name of the record in the folder."""

    ERROR: ClassVar[type[DepthForestError]] = DepthForestError
    """The error raised if the record or the folder cannot be read."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def check(self, identity: Mapping[Any, Any]) -> Any:
        """Raise an error if a run of this identity cannot use the folder; nothing is written.

        Returns
        -------
        object or None
            The record of the earlier run that this one resumes, None if there is none.
        """
        try:
            if not self.has(self.RECORD):
                self._refuse_others()
                return None
            record = self._read_record()
        except OSError as error:
            raise self.ERROR(f"{self.path}: cannot be made a folder: {reason(error)}") from None
        change = self.change(record, identity)
        if change is not None:
            self._refuse(change)
        return record

    def change(self, record: Any, identity: Mapping[Any, Any]) -> Change | None:
        """Return the first thing in which a record differs from an identity."""
        old = self._identity_of(record)
        for key in self._order(dict.fromkeys((*identity, *old))):
            if old.get(key) != identity.get(key):
                return Change(key, old.get(key), identity.get(key))
        return None

    def lock(self) -> None:
        """Make the folder and lock out runs of other processes until `unlock` or the end of this process."""
        place = make_folder(self.path).resolve()
        if fcntl is None or place in _locked:
            return
        try:
            # lock the folder itself: a lock file would stay behind
            descriptor = os.open(place, os.O_RDONLY)
        except OSError as error:
            raise self.ERROR(f"{self.path}: cannot be read: {reason(error)}") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise self.ERROR(
                f"{self.path}: another run is writing there; wait until it has ended, or name another folder"
            ) from None
        except OSError:  # a file system without locks
            os.close(descriptor)
            return
        _locked[place] = descriptor

    def unlock(self) -> None:
        """Let other runs have the folder again."""
        descriptor = _locked.pop(self.path.resolve(), None)
        if descriptor is not None:
            os.close(descriptor)

    def claim(self, record: bytes, *, is_durable: bool = False) -> None:
        """Make the folder and write its record; from then on it is this run's."""
        make_folder((self.path / self.RECORD).parent)
        self.keep(self.RECORD, record, is_durable=is_durable)

    def has(self, name: str) -> bool:
        """Tell whether a file is there, which means that its step is done."""
        return (self.path / name).exists()

    def keep(self, name: str, content: bytes, *, is_durable: bool = False) -> None:
        """Write a file, whole or not at all."""
        with replacing(self.path / name, is_durable=is_durable) as file:
            file.write(content)

    def remove_leftovers(self) -> None:
        """Remove partial files of a run that was killed."""
        self._remove_leftovers(self.path.glob("**/.*.part*"))

    def _remove_leftovers(self, paths: Iterable[Path]) -> None:
        for path in paths:
            if _LEFTOVER.fullmatch(path.name):
                with contextlib.suppress(OSError):  # somebody else's file, then
                    path.unlink()

    def _read_record(self) -> Any:
        """Return the record, or raise an error if the file is not one."""
        return read_json(self.path / self.RECORD, self.ERROR)

    def _identity_of(self, record: Any) -> Mapping[Any, Any]:
        """Return the identity of the run that a record describes."""
        return dict(record)

    def _order(self, keys: Iterable[Any]) -> Iterable[Any]:
        """Return the keys of identities in the order in which they are compared."""
        return keys

    @abstractmethod
    def _refuse(self, change: Change) -> None:
        """Raise an error that says what another run made the folder with."""

    @abstractmethod
    def _refuse_others(self) -> None:
        """Raise an error if the folder, which has no record, holds other things."""
