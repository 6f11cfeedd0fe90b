"""Joining: several data sets as one, for training and evaluation, and the sensor that made each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from depthforest.base import DatasetError, Place, read_bytes, read_json
from depthforest.frames import FrameSource, LabeledFrame
from depthforest.io.datasets import FolderDataset, ZarrDataset, open_dataset
from depthforest.io.writing import MARKS


class JoinedFrames(FrameSource):
    """The frames of several data sets, one set after the other.

    Parameters
    ----------
    sets : sequence of data sets
    limit : int, optional
        Use only this many frames of each set, from its start.
    """

    def __init__(self, sets: Sequence[FolderDataset | ZarrDataset], limit: int | None = None) -> None:
        self.sets, self._limit = tuple(sets), limit
        self.lengths = tuple(len(s) if limit is None else min(limit, len(s)) for s in sets)
        self._places = [(s, i) for s, n in enumerate(self.lengths) for i in range(n)]

    def __reduce__(self) -> tuple[type[JoinedFrames], tuple[Sequence[FolderDataset | ZarrDataset], int | None]]:
        return JoinedFrames, (self.sets, self._limit)

    def __len__(self) -> int:
        return len(self._places)

    @property
    def paths(self) -> tuple[Place, ...]:
        """Where the sets are, for a fingerprint."""
        return tuple(s.path for s in self.sets)

    @property
    def title(self) -> str:
        """A title for people to read: the names of the sets."""
        return ", ".join(s.path.name for s in self.sets)

    def _frame(self, number: int) -> LabeledFrame:
        which, index = self._places[number]
        return self.sets[which][index]

    @property
    def names(self) -> tuple[str, ...]:
        """Frame names; with several sets, each is preceded by the set's name."""
        if len(self.sets) == 1:
            return self.sets[0].names[: self.lengths[0]]
        return tuple(f"{self.sets[s].path.name}/{self.sets[s].names[i]}" for s, i in self._places)

    @property
    def sensors(self) -> tuple[str, ...]:
        """The sensor of each frame, as its set names it; with several sets, the set's name is the fallback."""
        own = [sensor_of(s) or (s.path.name if len(self.sets) > 1 else "") for s in self.sets]
        return tuple(own[s] for s, _ in self._places)


def sensor_of(data: FolderDataset | ZarrDataset) -> str:
    """Return the sensor from a data set's description or the record of `depthforest synth`; else an empty text."""
    if isinstance(data, ZarrDataset):
        content = read_json(data.path / "zarr.json", DatasetError)
        described = content.get("attributes", {}).get("dataset", {}) if isinstance(content, Mapping) else {}
    else:
        described = read_json(data.path / "dataset.json", DatasetError)
    named = described.get("sensor") if isinstance(described, Mapping) else None
    if isinstance(named, str):
        return named
    identity = data.path / MARKS / "identity"
    if identity.is_file():
        text = read_bytes(identity, DatasetError).decode("utf-8", errors="replace")
        if found := re.search(r'^sensor = "([^"]*)"$', text, re.MULTILINE):
            return found[1]
    return ""


def open_datasets(paths: Sequence[str | Place], limit: int | None = None) -> FolderDataset | ZarrDataset | JoinedFrames:
    """Open one data set, or several as one; with `limit`, only the first `limit` frames of each."""
    opened = [open_dataset(path) for path in paths]
    return opened[0] if len(opened) == 1 and limit is None else JoinedFrames(opened, limit)
