"""The folder of a comparison: its settings and the result of each learner, one file each, written atomically.

settings.json           what everybody shares; other settings are refused
learners/NAME.json      of a finished learner: run again and it is not fitted again
table.csv .md .json     all finished learners (`table`)
compare_*.png           plots (`plots`)
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from depthforest.base import (
    Change,
    ClaimedFolder,
    DepthForestError,
    UsageError,
    is_finite,
    is_whole,
    json_bytes,
    make_folder,
    read_json,
)
from depthforest.compare.fits import FIGURES
from depthforest.compare.learners import FAMILIES, LEARNERS

SCHEMA = 1
SETTINGS, RECORDS = "settings.json", "learners"


class CompareFolder(ClaimedFolder):
    """A folder that keeps a comparison.

    Parameters
    ----------
    path : Path
    settings : mapping
        Everything that shapes the results, in JSON form.
    """

    RECORD = SETTINGS

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        super().__init__(path)
        self.settings: dict[str, Any] = {"schema": SCHEMA, **settings}
        self.check(self.settings)

    def begin(self) -> None:
        """Make the folder and note the settings; keep other runs out until `unlock`. Later calls do nothing more."""
        self.lock()
        self.check(self.settings)  # another run may have made the folder since
        self.remove_leftovers()
        self.claim(json_bytes(self.settings))
        make_folder(self.path / RECORDS)

    def results(self) -> list[dict[str, Any]]:
        """Return the records of all finished learners, in the order of the table."""
        n_parts = len(self.settings["parts"])
        finished = [learner.name for learner in LEARNERS if self.has(_file_of(learner.name))]
        return [read_record(self.path / _file_of(name), name, n_parts) for name in finished]

    def keep_result(self, name: str, result: Mapping[str, Any]) -> None:
        """Keep the record of a finished learner."""
        self.keep(_file_of(name), json_bytes(result))

    def _read_record(self) -> dict[str, Any]:
        there = super()._read_record()
        if not isinstance(there, dict):
            path = self.path / SETTINGS
            raise DepthForestError(f"{path}: is not what compare writes; name another folder, or remove this one")
        return there

    def _refuse(self, change: Change) -> None:
        raise UsageError(f"{self.path}: was made with other settings ({change}); name another folder")

    def _refuse_others(self) -> None:
        # hidden files are the system's, or partial
        if self.path.exists() and (
            not self.path.is_dir() or any(not entry.name.startswith(".") for entry in self.path.iterdir())
        ):
            raise UsageError(f"{self.path}: is there already, and not from compare; name another folder")


def _file_of(name: str) -> str:
    """Return the file of a learner's record."""
    return f"{RECORDS}/{name}.json"


def read_record(path: Path, name: str, n_parts: int) -> dict[str, Any]:
    """Return the record of a learner, or raise DepthForestError with one line.

    Parameters
    ----------
    path : Path
    name : str
        Of the learner.
    n_parts : int
        Whose accuracies each fit has.
    """
    record = read_json(path, DepthForestError)
    if not _is_record(record, name, n_parts):
        raise DepthForestError(f"{path}: is not what compare writes; remove it, and the learner is fitted again")
    checked: dict[str, Any] = record
    return checked


def _is_record(record: Any, name: str, n_parts: int) -> bool:
    """Tell whether a file's content has everything that tables and plots need."""
    return (
        isinstance(record, dict)
        and record.get("name") == name
        and record.get("family") in FAMILIES
        and all(isinstance(record.get(key), str) for key in ("library", "unit"))
        and isinstance(record.get("is_over"), bool)
        and is_whole(record.get("size"), 1)
        and isinstance(record.get("fits"), list)
        and all(_is_fit(fit, n_parts) for fit in record["fits"])
        and is_whole(record.get("chosen"), 0)
        and record["chosen"] < len(record["fits"])
    )


def _is_fit(fit: Any, n_parts: int) -> bool:
    return (
        isinstance(fit, dict)
        and is_whole(fit.get("n"), 1)
        and is_whole(fit.get("bytes"), 1)
        and all(is_finite(fit.get(key)) for key in ("fit_seconds", "predict_seconds"))
        and isinstance(fit.get("class_accuracies"), list)
        and len(fit["class_accuracies"]) == n_parts
        and all(value is None or is_finite(value) for value in fit["class_accuracies"])
        and all(_is_figure(fit.get(key)) for key in FIGURES)
    )


def _is_figure(figure: Any) -> bool:
    return isinstance(figure, dict) and all(is_finite(figure.get(key)) for key in ("value", "low", "high"))
