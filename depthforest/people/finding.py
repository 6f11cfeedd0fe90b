"""find_people: from a depth frame to a mask for each person, with or without a background.

Without a background, floor and walls (`survey`) and cells that do not look like a person (`looks`) are removed, and the
rest is assembled into bodies (`bodies`). With one, bodies are assembled from the readings in front of it. Either way,
the judge of the person model gives each candidate a probability (`candidates`). Without a background, whole pieces are
then corrected (`pieces`). All this works on a coarse grid (`grid`); the masks are drawn pixel by pixel (`outlines`).
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import cv2
import numpy as np
import numpy.typing as npt

from depthforest.base import FrameError, UsageError, is_number, is_whole
from depthforest.frames import Frame
from depthforest.people.background import SOMEBODY, Background
from depthforest.people.grid import DepthGrid
from depthforest.people.judging.candidates import find_candidates, find_moved
from depthforest.people.judging.model import PersonModel, body_forest, load_person_model
from depthforest.people.judging.pieces import put_right
from depthforest.people.outlines import outline_people

Mask = npt.NDArray[np.bool_]
BackgroundLike = Frame | Sequence[Frame] | Background

MAX_PEOPLE = 20
"""Most people found in a frame; the most probable are kept. A given mask may hold as many."""

MOVED_LOG_ODDS = 4.3
"""Log odds added for a candidate in front of a background. Without a background, about a fifth of the candidates in a
cluttered room are people; with one, about 19 in 20."""


@dataclass(frozen=True, eq=False, repr=False)
class People(Sequence[Mask]):
    """The people in a frame: `people[i]` is the mask of one person, (rows, cols) bool, the most probable first.

    Parameters
    ----------
    map : array (rows, cols), uint8
        Id of the person at each pixel; 0 = nobody.
    ids : tuple of int
        Id of each mask, 1 to 255.
    probabilities : tuple of float, optional
        Probability that each is a person, in the order of `ids`; default: 1, for given masks. Among equally probable
        people, larger ones come first.
    """

    map: npt.NDArray[np.uint8]
    ids: tuple[int, ...]
    probabilities: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        people = _checked_map(self.map)
        n_pixels = _count_ids(people)
        in_map = _ids_of(n_pixels)
        if tuple(sorted(self.ids)) != in_map:
            raise FrameError(f"ids must be those of the map, {in_map}; got {self.ids}")
        probable = self.probabilities or (1.0,) * len(self.ids)
        if len(probable) != len(self.ids) or not all(is_number(p) and 0 <= p <= 1 for p in probable):
            raise FrameError(f"probabilities must be {len(self.ids)} numbers from 0 to 1, got {self.probabilities}")
        order = sorted(zip(self.ids, probable, strict=True), key=lambda one: (-one[1], -n_pixels[one[0]], one[0]))
        people.setflags(write=False)
        object.__setattr__(self, "map", people)
        object.__setattr__(self, "ids", tuple(person for person, _ in order))
        object.__setattr__(self, "probabilities", tuple(float(p) for _, p in order))

    @classmethod
    def of_map(cls, people: npt.NDArray[np.uint8]) -> People:
        """Return the people of a map, as the parameter `map`; it is made read-only."""
        return cls(people, _ids_of(_count_ids(_checked_map(people))))

    @classmethod
    def _in_order(cls, people: npt.NDArray[np.uint8], ids: tuple[int, ...], probabilities: tuple[float, ...]) -> People:
        """Return the people of a map that is known to have exactly these ids, the most probable first."""
        made = object.__new__(cls)
        people.setflags(write=False)
        for name, value in (("map", people), ("ids", ids), ("probabilities", probabilities)):
            object.__setattr__(made, name, value)
        return made

    def only(self, ids: Container[int]) -> People:
        """Return the people with these ids; pixels of the others become nobody's."""
        kept = {person: p for person, p in zip(self.ids, self.probabilities, strict=True) if person in ids}
        if len(kept) == len(self.ids):
            return self
        table = np.zeros(256, dtype=np.uint8)
        table[list(kept)] = list(kept)
        return People(table[self.map], tuple(kept), tuple(kept.values()))

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


def find_people(
    frame: Frame,
    background: BackgroundLike | None = None,
    *,
    n: int | None = None,
    model: str | Path | PersonModel | None = None,
    least: float | None = None,
) -> People:
    """Find the people of a frame.

    Parameters
    ----------
    frame : Frame
    background : Frame, sequence of Frame or Background, optional
        The empty room, seen by the same camera from the same place; whatever is in front of it is a candidate.
        Default: people are recognized by their shape alone.
    n : int, optional
        Maximum number of people; the most probable are kept.
    model : str, Path or PersonModel, optional
        Person model, for example one of `training.train_people`; default: the shipped one.
    least : float, optional
        Minimum probability of a person, 0 to 1; default: as stored in the model. 0 keeps all candidates.

    Returns
    -------
    People
        Ids from 1, the most probable first; empty if there is nobody. Pixels without a reading show nobody.
    """
    if not isinstance(frame, Frame):
        raise UsageError(f"people are found in a Frame, got {type(frame).__name__}")
    if least is not None and (not is_number(least) or not 0 <= least <= 1):
        raise UsageError(f"least must be a probability from 0 to 1, got {least!r}")
    n_people = MAX_PEOPLE if n is None else min(check_count(n), MAX_PEOPLE)
    known, knows = as_background(background), load_person_model(model)
    if known is None:
        grid, allowed = DepthGrid.of(frame), None
        found = find_candidates(grid, knows.scene, body_forest(knows.body), knows.least_person)
    else:
        allowed = known.compare(frame)
        grid = DepthGrid.of(frame, is_kept=allowed == SOMEBODY, noise=known.noise)
        found = find_moved(grid, DepthGrid.of(frame, noise=known.noise), known.up, knows.scene, body_forest(knows.body))
    probable = knows.probabilities(found.columns, 0.0 if known is None else MOVED_LOG_ODDS)
    is_kept = probable >= (knows.least_probability if least is None else least)
    chosen = found.choose(probable, is_kept)[:n_people]
    cells = found.cells_of(chosen)
    if chosen and found.person is not None and found.is_open is not None:
        put_right(grid, found.person, found.is_open, cells)
    if known is None:
        drawn, n_pixels = outline_people(frame.depth_mm, grid, cells, found.room.owner, found.room.planes)
    else:
        drawn, n_pixels = outline_people(frame.depth_mm, grid, cells, allowed=allowed)
    ids = [i + 1 for i in range(len(chosen)) if n_pixels[i + 1]]
    return People._in_order(drawn, tuple(ids), tuple(float(probable[chosen[i - 1]]) for i in ids))


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
    """Return a `Background` from anything that `find_people` accepts as one; None stays None."""
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
