"""The folder of a comparison: what it was made with, and what came of each learner; one file each, whole or not at all.

settings.json           what everybody shares; other settings are refused
learners/NAME.json      of a finished learner: run again and it is not fitted again
table.csv .md .json     all finished learners (`comparetable`)
compare_*.png           plots (`compareplots`)
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from depthforest.checks import is_number
from depthforest.comparefits import FIGURES
from depthforest.comparelearners import FAMILIES, LEARNERS
from depthforest.errors import DepthForestError, UsageError
from depthforest.files import make_folder, read_json, replacing

SCHEMA = 1
SETTINGS, RECORDS = "settings.json", "learners"


class CompareFolder:
    """A folder that keeps a comparison.

    Parameters
    ----------
    path : Path
    settings : mapping
        What makes the results what they are, as JSON holds it.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path = path
        self.settings: dict[str, Any] = {"schema": SCHEMA, **settings}
        self._check()

    def begin(self) -> None:
        """Make the folder and note the settings."""
        make_folder(self.path)
        # the settings first: whenever it is stopped, the folder is empty or known as one of compare
        write_json(self.path / SETTINGS, self.settings)
        make_folder(self.path / RECORDS)

    def results(self) -> list[dict[str, Any]]:
        """Return the records of all finished learners, in the order of the table."""
        found = ((learner, self._record(learner.name)) for learner in LEARNERS)
        n_parts = len(self.settings["parts"])
        return [read_record(path, learner.name, n_parts) for learner, path in found if path.exists()]

    def keep(self, name: str, result: Mapping[str, Any]) -> None:
        """Keep the record of a finished learner."""
        write_json(self._record(name), result)

    def _record(self, name: str) -> Path:
        return self.path / RECORDS / f"{name}.json"

    def _check(self) -> None:
        """Raise UsageError if the folder holds something else."""
        path = self.path / SETTINGS
        if not path.exists():
            if self.path.exists() and (not self.path.is_dir() or not _is_empty(self.path)):
                raise UsageError(f"{self.path}: is there already, and not from compare; name another folder")
            return
        there = read_json(path, DepthForestError)
        if not isinstance(there, dict):
            raise DepthForestError(f"{path}: is not what compare writes; name another folder, or remove this one")
        for key in (*self.settings, *there):
            old, new = there.get(key), self.settings.get(key)
            if old != new:
                what = f"another {key}" if isinstance(new, dict | list) else f"{key} was {old}, now {new}"
                raise UsageError(f"{self.path}: was made with other settings ({what}); name another folder")


def _is_empty(folder: Path) -> bool:
    """Tell whether a folder holds nothing; hidden files are of the system, or half written."""
    return all(path.name.startswith(".") for path in folder.iterdir())


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
    """Tell whether a file's content has everything that tables and plots ask for."""
    return (
        isinstance(record, dict)
        and record.get("name") == name
        and record.get("family") in FAMILIES
        and all(isinstance(record.get(key), str) for key in ("library", "unit"))
        and isinstance(record.get("is_over"), bool)
        and _is_whole(record.get("size"), 1)
        and isinstance(record.get("fits"), list)
        and all(_is_fit(fit, n_parts) for fit in record["fits"])
        and _is_whole(record.get("chosen"), 0)
        and record["chosen"] < len(record["fits"])
    )


def _is_fit(fit: Any, n_parts: int) -> bool:
    return (
        isinstance(fit, dict)
        and _is_whole(fit.get("n"), 1)
        and _is_whole(fit.get("bytes"), 1)
        and all(_is_number(fit.get(key)) for key in ("fit_seconds", "predict_seconds"))
        and isinstance(fit.get("class_accuracies"), list)
        and len(fit["class_accuracies"]) == n_parts
        and all(value is None or _is_number(value) for value in fit["class_accuracies"])
        and all(_is_figure(fit.get(key)) for key in FIGURES)
    )


def _is_figure(figure: Any) -> bool:
    return isinstance(figure, dict) and all(_is_number(figure.get(key)) for key in ("value", "low", "high"))


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_number(value: Any) -> bool:
    return is_number(value) and math.isfinite(value)


def write_json(path: Path, content: object) -> None:
    """Write JSON, whole or not at all."""
    with replacing(path) as file:
        file.write((json.dumps(content, indent=1) + "\n").encode())
