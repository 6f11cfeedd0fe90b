"""What is evaluated: several data sets as one, the sensor that made each, and marked frames by name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from depthforest.camera import CameraLike
from depthforest.datasets import FolderDataset, ZarrDataset
from depthforest.errors import DatasetError, UsageError
from depthforest.files import natural_key, read_bytes, read_json, reason
from depthforest.frames import Frame, FrameSource, LabeledFrame
from depthforest.reading import read_depth
from depthforest.writing import MARKS

KEPT_FRAMES = 8
"""Marked frames that are kept in memory; others are read once for every model."""


class JoinedFrames(FrameSource):
    """The frames of several data sets, one set after the other.

    Parameters
    ----------
    sets : sequence of data sets
    limit : int, optional
        Only so many of each, from its start.
    """

    def __init__(self, sets: Sequence[FolderDataset | ZarrDataset], limit: int | None = None) -> None:
        self.sets = tuple(sets)
        self.lengths = tuple(len(s) if limit is None else min(limit, len(s)) for s in sets)
        self._places = [(s, i) for s, n in enumerate(self.lengths) for i in range(n)]

    def __len__(self) -> int:
        return len(self._places)

    @property
    def title(self) -> str:
        """What it is, for people: the names of the sets."""
        return ", ".join(s.path.name for s in self.sets)

    def _frame(self, number: int) -> LabeledFrame:
        which, index = self._places[number]
        return self.sets[which][index]

    @property
    def names(self) -> tuple[str, ...]:
        """Frame names; with several sets, behind the set's."""
        if len(self.sets) == 1:
            return self.sets[0].names[: self.lengths[0]]
        return tuple(f"{self.sets[s].path.name}/{self.sets[s].names[i]}" for s, i in self._places)

    @property
    def sensors(self) -> tuple[str, ...]:
        """What made each frame: as its set says, or the set's name if there are several."""
        own = [sensor_of(s) or (s.path.name if len(self.sets) > 1 else "") for s in self.sets]
        return tuple(own[s] for s, _ in self._places)


def sensor_of(data: FolderDataset | ZarrDataset) -> str:
    """Return the sensor that a data set names in its description, or that `depthforest synth` noted; else nothing."""
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


class MarkedFrames(Mapping[str, Frame]):
    """The depth frames of a folder by their names without ending, read when they are asked for."""

    def __init__(self, folder: str | Path, camera: CameraLike | None = None) -> None:
        try:
            files = [f for f in Path(folder).iterdir() if f.is_file() and not f.name.startswith(".")]
        except OSError as error:
            raise UsageError(f"{folder}: cannot be read as the folder of the marked frames: {reason(error)}") from None
        # the endings of pictures win over those of notes beside them
        order = sorted(files, key=lambda f: (f.suffix.lower() in (".json", ".md", ".txt"), natural_key(f.name)))
        self._files: dict[str, Path] = {}
        for file in order:
            self._files.setdefault(file.stem, file)
        self._read = lru_cache(KEPT_FRAMES)(lambda name: read_depth(self._files[name], camera))

    def __getitem__(self, name: str) -> Frame:
        if name not in self._files:
            raise KeyError(name)
        return self._read(name)

    def __contains__(self, name: object) -> bool:
        return name in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)
