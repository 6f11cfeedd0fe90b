"""The folder of a comparison: what it was made with, and what came of each learner; one file each, whole or not at all.

settings.json           what everybody shares; other settings are refused
learners/NAME.json      of a finished learner: run again and it is not fitted again
table.csv .md .json     all finished learners (`comparetable`)
compare_*.png           plots (`compareplots`)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from depthforest.comparelearners import LEARNERS
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
        make_folder(self.path / RECORDS)
        write_json(self.path / SETTINGS, self.settings)

    def results(self) -> list[dict[str, Any]]:
        """Return the records of all finished learners, in the order of the table."""
        found = ((learner, self._record(learner.name)) for learner in LEARNERS)
        return [read_record(path, learner.name) for learner, path in found if path.exists()]

    def keep(self, name: str, result: Mapping[str, Any]) -> None:
        """Keep the record of a finished learner."""
        write_json(self._record(name), result)

    def _record(self, name: str) -> Path:
        return self.path / RECORDS / f"{name}.json"

    def _check(self) -> None:
        """Raise UsageError if the folder holds something else."""
        path = self.path / SETTINGS
        if not path.exists():
            if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
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


def read_record(path: Path, name: str) -> dict[str, Any]:
    """Return the record of a learner, or raise DepthForestError with one line."""
    record = read_json(path, DepthForestError)
    if not isinstance(record, dict) or record.get("name") != name or not isinstance(record.get("fits"), list):
        raise DepthForestError(f"{path}: is not what compare writes; remove it, and the learner is fitted again")
    return record


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON, whole or not at all."""
    with replacing(path) as file:
        file.write((json.dumps(content, indent=1) + "\n").encode())
