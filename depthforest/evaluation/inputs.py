"""What is evaluated besides data sets: marked frames by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from depthforest.base import UsageError, natural_key, reason
from depthforest.frames import CameraLike, Frame
from depthforest.io import read_depth

KEPT_FRAMES = 8
"""Marked frames that are kept in memory; others are read once for every model."""


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
