"""find_people: a depth frame to a mask for each person, with a background or without.

With a background, what is nearer than it is somebody. Without one, floor and walls (`planes`) and the flat sides of
furniture (`faces`) are taken away, and what is left is judged by its shape (`bodies`). Both work on a coarse grid
(`grid`); the masks are then drawn pixel by pixel (`outlines`).
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import overload

import cv2
import numpy as np
import numpy.typing as npt

from depthforest.base import FrameError, UsageError, is_whole
from depthforest.frames import Frame
from depthforest.people.background import SOMEBODY, Background
from depthforest.people.bodies import find_bodies, find_visitors
from depthforest.people.grid import DepthGrid
from depthforest.people.outlines import outline_people

Mask = npt.NDArray[np.bool_]
BackgroundLike = Frame | Sequence[Frame] | Background

MAX_PEOPLE = 20
"""At most so many are found in a frame, the largest: as many as a mask that is given may hold."""


@dataclass(frozen=True, eq=False, repr=False)
class People(Sequence[Mask]):
    """The people of a frame: `people[i]` is the mask of one of them, (rows, cols) bool, the largest first.

    Parameters
    ----------
    map : array (rows, cols), uint8
        Id of the person that a pixel shows; 0 = nobody.
    ids : tuple of int
        Id of each mask, 1 to 255.
    """

    map: npt.NDArray[np.uint8]
    ids: tuple[int, ...]

    def __post_init__(self) -> None:
        people = _checked_map(self.map)
        n_pixels = _count_ids(people)
        in_map = _ids_of(n_pixels)
        if tuple(sorted(self.ids)) != in_map:
            raise FrameError(f"ids must be those of the map, {in_map}; got {self.ids}")
        people.setflags(write=False)
        object.__setattr__(self, "map", people)
        object.__setattr__(self, "ids", tuple(sorted(self.ids, key=lambda i: (-n_pixels[i], i))))

    @classmethod
    def of_map(cls, people: npt.NDArray[np.uint8]) -> People:
        """Return the people of a map, as the parameter `map`; it is made read-only."""
        return cls(people, _ids_of(_count_ids(_checked_map(people))))

    @classmethod
    def _in_order(cls, people: npt.NDArray[np.uint8], ids: tuple[int, ...]) -> People:
        """Return the people of a map of which it is known that it has these ids, the largest first."""
        made = object.__new__(cls)
        people.setflags(write=False)
        object.__setattr__(made, "map", people)
        object.__setattr__(made, "ids", ids)
        return made

    def only(self, ids: Container[int]) -> People:
        """Return those of these ids; the pixels of the others show nobody."""
        kept = tuple(person for person in self.ids if person in ids)
        if kept == self.ids:
            return self
        table = np.zeros(256, dtype=np.uint8)
        table[list(kept)] = kept
        return People(table[self.map], kept)

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, index: int) -> Mask: ...
    @overload
    def __getitem__(self, index: slice) -> list[Mask]: ...
    def __getitem__(self, index: int | slice) -> Mask | list[Mask]:
        if isinstance(index, slice):
            return [self.map == person for person in self.ids[index]]
        if not self.ids:
            raise IndexError("nobody was found in this frame; look at len(people) before you take people[0]")
        return np.asarray(self.map == self.ids[index])

    def __repr__(self) -> str:
        return f"People(ids={self.ids}, map of {self.map.shape[1]} x {self.map.shape[0]})"


def find_people(frame: Frame, background: BackgroundLike | None = None, *, n: int | None = None) -> People:
    """Find the people of a frame.

    Parameters
    ----------
    frame : Frame
    background : Frame, sequence of Frame or Background, optional
        The empty room, seen by the same camera from the same place: whatever is before it is somebody. Without it,
        people are told from the room by their shape.
    n : int, optional
        At most so many people, the largest.

    Returns
    -------
    People
        Ids from 1, the largest first; empty if there is nobody. Pixels without a reading show nobody.
    """
    if not isinstance(frame, Frame):
        raise UsageError(f"people are found in a Frame, got {type(frame).__name__}")
    n_people = MAX_PEOPLE if n is None else min(check_count(n), MAX_PEOPLE)
    known = as_background(background)
    if known is None:
        grid = DepthGrid.of(frame)
        bodies = find_bodies(grid)
        drawn, n_pixels = outline_people(frame.depth_mm, grid, bodies.cells, bodies.owner, bodies.planes)
    else:
        compared = known.compare(frame)
        grid = DepthGrid.of(frame, is_kept=compared == SOMEBODY, noise=known.noise)
        drawn, n_pixels = outline_people(frame.depth_mm, grid, find_visitors(grid, known.up), allowed=compared)
    n_pixels[0] = 0
    order = [i for i in np.argsort(-n_pixels, kind="stable")[:n_people].tolist() if n_pixels[i]]
    ids = tuple(range(1, len(order) + 1))
    if order != [*ids] or np.count_nonzero(n_pixels) > len(order):
        renumber = np.zeros(256, dtype=np.uint8)
        renumber[order] = ids
        drawn = np.asarray(cv2.LUT(drawn, renumber))
    return People._in_order(drawn, ids)


def _checked_map(people: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    people = np.ascontiguousarray(people)
    if people.ndim != 2 or people.dtype != np.uint8:
        raise FrameError(f"a map of people is a picture of uint8, got {people.dtype} of shape {people.shape}")
    return people


def _count_ids(people: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Return how many pixels have each id, (256,)."""
    return cv2.calcHist([people], [0], None, [256], [0, 256]).ravel().astype(np.int64)


def _ids_of(n_pixels: npt.NDArray[np.int64]) -> tuple[int, ...]:
    """Return the ids that some pixels have, in order."""
    return tuple((np.flatnonzero(n_pixels[1:]) + 1).tolist())


def as_background(background: BackgroundLike | None) -> Background | None:
    """Return what `find_people` takes as a background, learned; None for none."""
    if background is None or isinstance(background, Background):
        return background
    if isinstance(background, Frame) or (isinstance(background, Sequence) and not isinstance(background, str | bytes)):
        return Background.learn(background)
    raise UsageError(
        f"a background is an empty Frame, several of them, or a Background; got {type(background).__name__}"
    )


def check_count(n: object) -> int:
    """Return a number of people, 1 or more."""
    if not is_whole(n, 1):
        raise UsageError(f"n must be a whole number of people, 1 or more; got {n!r}")
    return int(n)
