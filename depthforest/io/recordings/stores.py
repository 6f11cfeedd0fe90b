"""Zarr stores of labeled frames as recordings: their depth, for labeling or viewing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from depthforest.base import DatasetError, FrameError
from depthforest.io.datasets import ZarrDataset
from depthforest.io.formats import Page


class StoreFrames:
    """The depth frames of a Zarr data set.

    Parameters
    ----------
    path : Path
    """

    is_paged, is_seekable = True, True

    def __init__(self, path: Path) -> None:
        try:
            self._data = ZarrDataset(path)
        except DatasetError as error:
            raise FrameError(*error.args) from None

    def count(self) -> int:
        """Return how many frames there are."""
        return len(self._data)

    def pages(self) -> Iterator[Page]:
        """Yield the frames, a chunk of them in memory at a time."""
        return map(self.page, range(len(self._data)))

    def page(self, number: int) -> Page:
        """Return one frame by its number from 0."""
        try:
            frame = self._data[number]
        except DatasetError as error:
            raise FrameError(*error.args) from None
        return Page(frame.depth_mm, self._data.camera)
