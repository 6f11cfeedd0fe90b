"""TUM RGB-D folders: `depth.txt` lists time stamps and 16-bit PNG files of 5000 units a meter."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from depthforest.base import FrameError, read_bytes
from depthforest.frames import NAMED_SCALES
from depthforest.io.formats import Page, PictureFile

LIST = "depth.txt"


class TumFolder:
    """The depth frames of a TUM RGB-D folder, in the order of its list.

    Parameters
    ----------
    path : Path
        The folder with `depth.txt`, whose lines are `SECONDS FILE`; lines that begin with # are comments.
    """

    is_paged, is_seekable = True, True

    def __init__(self, path: Path) -> None:
        self.path = path
        self._entries = _listed(path)

    def count(self) -> int:
        """Return how many frames are in the list."""
        return len(self._entries)

    def pages(self) -> Iterator[Page]:
        """Yield the frames, one in memory at a time."""
        return map(self.page, range(len(self._entries)))

    def page(self, number: int) -> Page:
        """Return one frame by its number from 0."""
        seconds, file = self._entries[number]
        page = next(PictureFile(file).pages())
        return replace(page, time_s=seconds, scale=NAMED_SCALES["tum"])


def _listed(folder: Path) -> list[tuple[float, Path]]:
    """Return time stamp and file of every frame; files outside of the folder are refused."""
    path = folder / LIST
    entries = []
    root = folder.resolve()
    for number, line in enumerate(read_bytes(path, FrameError).decode(errors="replace").splitlines(), start=1):
        fields = line.split("#")[0].split(maxsplit=1)
        if not fields:
            continue
        try:
            seconds = float(fields[0]) if len(fields) == 2 else math.nan
        except ValueError:
            seconds = math.nan
        if not math.isfinite(seconds):
            raise FrameError(f"{path}: line {number}: expected SECONDS FILE, got {line[:80]!r}")
        file = folder / fields[1].strip()
        try:
            is_inside = file.resolve().is_relative_to(root)
        except (ValueError, OSError):  # a null byte, or a name that is too long
            raise FrameError(f"{path}: line {number}: {fields[1].strip()[:80]!r} is not a file name") from None
        if not is_inside:
            raise FrameError(f"{path}: line {number}: {fields[1].strip()[:80]} leads out of the folder")
        entries.append((seconds, file))
    if not entries:
        raise FrameError(f"{path}: names no frame; expected lines of SECONDS FILE")
    return entries
