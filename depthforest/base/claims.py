"""A folder that one run owns: a run that was stopped goes on, and two runs never mix.

The folder's record is written before anything else and says what made it: its identity. A run of the same identity goes
on with what is there, another one is refused, and so is a folder of other things. Whatever is done is a file in the
folder, whole or not there. `outfolder`, `compare.folder`, `checkpoints` and `writing` are such folders: each says what
its record holds, which files are foreign to it, and how it refuses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from depthforest.base.errors import DepthForestError
from depthforest.base.files import make_folder, read_json, reason, replacing


class Change(NamedTuple):
    """The first thing in which a run differs from the one that made a folder; None stands for a missing value."""

    key: Any
    old: Any
    new: Any

    def __str__(self) -> str:
        if isinstance(self.old, dict | list) or isinstance(self.new, dict | list):
            return f"another {self.key}"
        return f"{self.key} was {self.old}, now {self.new}"


class ClaimedFolder(ABC):
    """A folder with a record of what made it; see the module.

    Parameters
    ----------
    path : str or Path
    """

    RECORD: ClassVar[str]
    """Name of the record in the folder."""

    ERROR: ClassVar[type[DepthForestError]] = DepthForestError
    """What is raised if the record or the folder cannot be read."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def check(self, identity: Mapping[Any, Any]) -> Any:
        """Raise an error if a run of this identity cannot have the folder; nothing is written.

        Returns
        -------
        object or None
            The record of the earlier run that this one goes on with, None if there is none.
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

    def claim(self, record: bytes, *, is_durable: bool = False) -> None:
        """Make the folder and write its record; from then on it is this run's."""
        make_folder((self.path / self.RECORD).parent)
        self.keep(self.RECORD, record, is_durable=is_durable)

    def has(self, name: str) -> bool:
        """Tell whether a file is there, and so what it stands for is done."""
        return (self.path / name).exists()

    def keep(self, name: str, content: bytes, *, is_durable: bool = False) -> None:
        """Write a file, whole or not at all."""
        with replacing(self.path / name, is_durable=is_durable) as file:
            file.write(content)

    def remove_leftovers(self) -> None:
        """Remove what a run that was killed had half written."""
        for leftover in self.path.glob("**/.*.part"):
            leftover.unlink(missing_ok=True)

    def _read_record(self) -> Any:
        """Return the record, or raise an error if it is none."""
        return read_json(self.path / self.RECORD, self.ERROR)

    def _identity_of(self, record: Any) -> Mapping[Any, Any]:
        """Return what a record says of the run that made the folder."""
        return dict(record)

    def _order(self, keys: Iterable[Any]) -> Iterable[Any]:
        """Return the keys of identities in the order in which a difference is looked for."""
        return keys

    @abstractmethod
    def _refuse(self, change: Change) -> None:
        """Raise an error that says what another run made the folder with."""

    @abstractmethod
    def _refuse_others(self) -> None:
        """Raise an error if the folder, which has no record, holds other things."""
