"""HDF5 files: a data set of shape (n, rows, cols), such as ITOP's `data`; `file.h5:path` names one of several."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from depthforest.base import FrameError, Parameter
from depthforest.frames import Camera, check_size
from depthforest.io.formats import Page
from depthforest.io.recordings.packages import need, untrusted

MAX_CHUNK_BYTES = 1 << 28
"""Largest stored block, which is unpacked as a whole."""

MAX_OBJECTS = 20_000
"""Most groups and data sets of a file that are searched for pictures."""

PACKERS = frozenset({1, 4, 32000})
"""Compressing filters: deflate, SZIP, LZF. One unpacks to at most 1000 times its size, but two to a million times."""

OTHER_FILTERS = frozenset({2, 3, 5, 6})
"""Other filters: shuffle, checksum, N-bit, scale and offset."""

ITOP_CAMERA = Camera(1 / 0.0035, 1 / 0.0035, 160.0, 120.0, 320, 240)
"""ITOP's conversion to meters is x = (col - 160) 0.0035 z, y = (120 - row) 0.0035 z."""


class Hdf5File:
    """Pictures of a data set in an HDF5 file.

    Parameters
    ----------
    path : Path
    topic : str, optional
        The data set. Default: the only one that can hold pictures.
    """

    is_seekable = True

    def __init__(self, path: Path, topic: str | None = None) -> None:
        self.path = path
        self._h5py = need("h5py", "pip install h5py", f"{path}: HDF5")
        with untrusted(path), self._h5py.File(path, "r") as file:
            sets = _picture_sets(file, self._h5py)
            self._name = _chosen(path, sets, topic)
            found = sets[self._name]
            _check(found, f"{path}:{self._name}")
            self._n = found.shape[0] if found.ndim == 3 else None
            is_itop = self._name == "data" and "id" in file and found.shape[-2:] == ITOP_CAMERA.shape
            self._camera = ITOP_CAMERA if is_itop and found.dtype.kind == "f" else None

    @property
    def is_paged(self) -> bool:
        """Whether it is a stack, even of one picture."""
        return self._n is not None

    def count(self) -> int:
        """Return how many pictures the data set holds."""
        return 1 if self._n is None else int(self._n)

    def pages(self) -> Iterator[Page]:
        """Yield the pictures, one in memory at a time."""
        with untrusted(self.path), self._h5py.File(self.path, "r") as file:
            for number in range(self.count()):
                yield self._page(file, number)

    def page(self, number: int) -> Page:
        """Return one picture by its number from 0."""
        with untrusted(self.path), self._h5py.File(self.path, "r") as file:
            return self._page(file, number)

    def _page(self, file: Any, number: int) -> Page:
        found = file[self._name]
        values = np.asarray(found[()] if self._n is None else found[number])
        return Page(values, self._camera)


def split_name(text: str) -> tuple[str, str] | None:
    """Return file and data set of `file.h5:path`; None if it is not of that form."""
    match = re.fullmatch(r"(.+\.(?:h5|hdf5|hdf)):(.+)", text, re.IGNORECASE)
    return (match[1], match[2].strip("/")) if match else None


def _picture_sets(file: Any, h5py: Any) -> dict[str, Any]:
    """Return the data sets that can hold pictures, by name; only links within the file are followed.

    Does not use `visititems`: HDF5 would count the entries of each group's index, and never end if a damaged index has
    a cycle.
    """
    found: dict[str, Any] = {}
    groups, n_seen = [("", file)], 0
    while groups:
        path, group = groups.pop()
        for name in group:
            n_seen += 1
            if n_seen > MAX_OBJECTS:  # or groups that contain each other
                raise FrameError(f"{file.filename}: holds more than {MAX_OBJECTS} groups and data sets")
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                continue
            item, own = group[name], f"{path}{name}"
            if isinstance(item, h5py.Group):
                groups.append((f"{own}/", item))
            elif isinstance(item, h5py.Dataset) and _holds_frames(item):
                found[own] = item
    return dict(sorted(found.items()))


def _holds_frames(item: Any) -> bool:
    """Tell whether a data set has the shape and dtype of frames; small tables do not."""
    return item.dtype.kind in "iuf" and item.ndim in (2, 3) and min(item.shape[-2:]) > 8


def _chosen(path: Path, sets: dict[str, Any], topic: str | None) -> str:
    names = ", ".join(list(sets)[:12])
    if not sets:
        raise FrameError(f"{path}: holds no data set of numbers with shape (n, rows, cols)")
    if topic is None:
        stacks = [name for name, item in sets.items() if item.ndim == 3] or list(sets)
        if len(stacks) == 1:
            return stacks[0]
        raise FrameError(
            f"{path}: holds several data sets: {names}; name one, as in {path.name}:{stacks[0]}, or with ",
            Parameter("topic", stacks[0]),
        )
    name = topic.strip("/")
    if name not in sets:
        raise FrameError(f"{path}: holds no pictures in {name!r}; data sets: {names}")
    return name


def _check(found: Any, name: str) -> None:
    """Refuse a data set that would take too much memory or read other files."""
    check_size(found.shape[-1], found.shape[-2], name, FrameError)
    if found.ndim == 3 and found.shape[0] == 0:
        raise FrameError(f"{name}: is a stack of 0 pictures")
    if found.is_virtual or found.external:
        raise FrameError(f"{name}: keeps its numbers in other files, which are not read; copy it with h5repack")
    if found.chunks is not None and math.prod(found.chunks) * found.dtype.itemsize > MAX_CHUNK_BYTES:
        raise FrameError(f"{name}: is stored in blocks of {found.chunks}, too large to read; repack it by pictures")
    how = found.id.get_create_plist()
    filters = [how.get_filter(number)[0] for number in range(how.get_nfilters())]
    if sum(number in PACKERS for number in filters) > 1 or not set(filters) <= PACKERS | OTHER_FILTERS:
        raise FrameError(
            f"{name}: is packed by filters {filters}; expected gzip, SZIP or LZF, once; h5repack changes it"
        )
