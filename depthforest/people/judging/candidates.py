"""Candidates: proposals with their columns, as the judge takes them, and the choice among those that overlap.

The one way from a grid to candidates: `finding` asks it for frames, training for what the judge learns from.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import cv2
import numpy as np
import numpy.typing as npt

from depthforest.base import Bytes, Floats, Ints, Longs, Singles
from depthforest.frames import Frame
from depthforest.labeling import shares_at
from depthforest.people.bodies import find_visitors
from depthforest.people.grid import DepthGrid
from depthforest.people.judging.columns import N_LOOKS, NAMES, describe_looks, describe_shape, part_groups
from depthforest.people.judging.looks import coarse_frame, look_at_cells
from depthforest.people.judging.proposals import cells_by_number, propose
from depthforest.people.regions import N_MEASURES, measure_regions
from depthforest.people.survey import SurveyedRoom, survey
from depthforest.trees import DepthTrees

SMOOTH_CELLS = 5
"""Cells along the square over which the scene forest's answers are averaged."""

BODY_CELLS = 100
"""Cells of a candidate that the body forest looks at, at most four times as many."""

MAX_OVERLAP = 0.3
"""Share of the smaller of two candidates' cells that both may have, if both are people."""

CLOSE = 0.05
"""Probabilities that differ by less, about, are the same."""

PAIR_PROBABILITY, HELD_SHARE = 0.6, 0.8
"""A candidate that holds this share of two others, both at least as probable, is two people."""


@dataclass(frozen=True, eq=False)
class PersonCandidates:
    """What may be people; candidates may overlap.

    Parameters
    ----------
    room : SurveyedRoom
    shape : (int, int)
        Rows and columns of the grid of `places`.
    places : list of array (n_cells,), int64
        Cells of every candidate, counted line by line.
    columns : array (n, len(columns.NAMES)), float64
    """

    room: SurveyedRoom
    shape: tuple[int, int]
    places: list[Longs]
    columns: Floats

    def choose(self, probable: Floats, is_kept: npt.NDArray[np.bool_]) -> list[int]:
        """Return the candidates that are kept and do not overlap, the most probable first.

        Of those that are about as probable, the largest is taken: a person without legs looks like one, too.
        """
        owner = np.zeros(self.shape[0] * self.shape[1], dtype=np.int64)
        chosen: list[int] = []
        order = np.flatnonzero(is_kept).tolist()
        order.sort(key=lambda k: (-round(float(probable[k]) / CLOSE), -len(self.places[k]), k))
        sure = [k for k in order if probable[k] >= PAIR_PROBABILITY]
        for k in order:
            if self._is_pair(k, sure):
                continue
            both = np.bincount(owner[self.places[k]], minlength=len(chosen) + 1)[1:]
            sizes = [min(len(self.places[k]), len(self.places[i])) for i in chosen]
            if all(both <= MAX_OVERLAP * np.array(sizes)):
                chosen.append(k)
                own = self.places[k]
                owner[own[owner[own] == 0]] = len(chosen)
        return sorted(chosen, key=lambda k: -probable[k])

    def _is_pair(self, k: int, sure: Sequence[int]) -> bool:
        """Tell whether a candidate holds two others that are surely people and share no cells: then it is neither."""
        if len(sure) < 2:
            return False
        mask = np.zeros(self.shape[0] * self.shape[1], dtype=np.bool_)
        mask[self.places[k]] = True
        held = [
            i for i in sure if i != k and np.count_nonzero(mask[self.places[i]]) >= HELD_SHARE * len(self.places[i])
        ]
        return any(
            len(np.intersect1d(self.places[i], self.places[j], assume_unique=True)) == 0
            for i, j in combinations(held, 2)
        )

    def cells_of(self, chosen: Sequence[int]) -> Bytes:
        """Return who every cell belongs to, from 1 in the order of `chosen`; of several the first."""
        cells = np.zeros(self.shape[0] * self.shape[1], dtype=np.uint8)
        for number in range(len(chosen), 0, -1):
            cells[self.places[chosen[number - 1]]] = number
        return cells.reshape(self.shape)


def find_candidates(grid: DepthGrid, scene: DepthTrees, body: DepthTrees, least_person: float) -> PersonCandidates:
    """Return what may be people in a room without a background.

    Parameters
    ----------
    grid : DepthGrid
    scene, body : DepthTrees
        The forests.
    least_person : float
        Cells that look less like a person's are the room's.
    """
    room = survey(grid)
    coarse = coarse_frame(grid)
    is_open = (room.taken == 0) & (coarse.depth_mm > 0)
    looks = look_at_cells(scene, coarse, is_open)
    person = _smoothed(1 - looks[..., 0], is_open)
    places = _different(propose(grid, room, person, is_open, least_person))
    describe = _Describer(grid, room, coarse, is_open, looks, body)
    return PersonCandidates(room, grid.shape, places, describe.all(places))


def find_moved(grid: DepthGrid, whole: DepthGrid, up: Floats, scene: DepthTrees, body: DepthTrees) -> PersonCandidates:
    """Return what may be people before a background.

    Parameters
    ----------
    grid : DepthGrid
        Of the readings that the background does not account for. The candidates' cells are its.
    whole : DepthGrid
        Of all readings of the frame.
    up : array (3,)
        Unit vector, as the background knows it.
    scene, body : DepthTrees
        The forests.
    """
    cells = find_visitors(grid, up)
    room, coarse = survey(whole), coarse_frame(whole)
    # where readings are few, their cells are longer
    rows, cols = (np.arange(n) * whole.step // grid.step for n in whole.shape)
    seen = cells[np.ix_(rows, cols)]
    is_open = (seen > 0) & (coarse.depth_mm > 0)
    looks = look_at_cells(scene, coarse, is_open)
    describe = _Describer(whole, room, coarse, is_open, looks, body)
    n = int(cells.max(initial=0))
    columns = describe.all([np.flatnonzero((seen == k + 1) & is_open) for k in range(n)])
    return PersonCandidates(room, grid.shape, list(cells_by_number(cells)), columns)


def _smoothed(values: Singles, is_used: npt.NDArray[np.bool_]) -> Singles:
    """Return the mean of the values that are used around every cell."""
    square = (SMOOTH_CELLS, SMOOTH_CELLS)
    used = is_used.astype(np.float32)
    return np.asarray(cv2.boxFilter(values * used, -1, square) / np.maximum(cv2.boxFilter(used, -1, square), 1e-6))


def _different(places: Iterable[Longs]) -> list[Longs]:
    """Return proposals, those of the same cells once."""
    return list({one.tobytes(): one for one in reversed(list(places))}.values())[::-1]


class _Describer:
    """Makes the columns of candidates; parameters as in `find_candidates`, places are cells of its grid."""

    def __init__(
        self, grid: DepthGrid, room: SurveyedRoom, coarse: Frame, is_open: npt.NDArray[np.bool_], looks: Singles,
        body: DepthTrees,
    ) -> None:  # fmt: skip
        self._grid, self._room, self._coarse, self._body = grid, room, coarse, body
        self._is_open, self._looks = is_open, looks
        is_read = coarse.depth_mm > 0
        self._counts = int(np.count_nonzero(is_read & (room.taken == 0))), int(np.count_nonzero(is_read))
        self._groups = part_groups(body.part_set.names)
        self._labels = np.full(grid.shape, -1, dtype=np.int32)
        self._mask = np.zeros(grid.shape, dtype=np.bool_)
        self._inside = np.zeros((grid.shape[0] + 2, grid.shape[1] + 2), dtype=np.float32)

    def all(self, places: Sequence[Longs]) -> Floats:
        """Return the columns (n, len(NAMES)); of a candidate without an open cell, 0."""
        columns = np.zeros((len(places), len(NAMES)))
        for row, own in zip(columns, places, strict=True):
            if self._is_open.reshape(-1)[own].any():
                self._mask.reshape(-1)[own] = True
                row[N_LOOKS:] = self._shape(own)
                self._look(own, row[:N_LOOKS])
                self._mask.reshape(-1)[own] = False
        return columns

    def _shape(self, own: Longs) -> Floats:
        """Return the columns of a candidate's size and surroundings."""
        grid, room, n_cols = self._grid, self._room, self._grid.shape[1]
        top, bottom = int(own[0]) // n_cols, int(own[-1]) // n_cols + 1
        # with a margin of one cell around the picture
        rows = np.pad(self._mask[top:bottom].view(np.uint8), 1)
        self._inside[top : bottom + 2] = cv2.distanceTransform(rows, cv2.DIST_L2, 3)
        self._labels.reshape(-1)[own] = 0
        measures = np.empty((1, N_MEASURES))
        measure_regions(
            grid.points, grid.normals, grid.area, self._inside, room.axes, self._labels, room.taken,
            np.float32(grid.spacing), measures,
        )  # fmt: skip
        self._labels.reshape(-1)[own] = -1
        return describe_shape(grid.shape, own, measures, room.ground, room.axes[1], *self._counts)

    def _look(self, own: Longs, out: Floats) -> None:
        """Write the columns of what forests see in a candidate."""
        places, step = self._sampled(own)
        rows, cols = places.T
        shares = shares_at(self._body, self._coarse, self._mask, places, mirror=False)
        at = np.ascontiguousarray((self._room.axes @ self._grid.points[:3, rows, cols]).T)
        weights, looks = self._grid.area[rows, cols], self._looks[rows, cols]
        describe_looks(places, step, at, weights, shares, self._groups, looks, out)

    def _sampled(self, own: Longs) -> tuple[Ints, int]:
        """Return rows and columns (n, 2) of open cells, on a grid where they are many, and the step of the grid."""
        own = own[self._is_open.reshape(-1)[own]]
        n_cols = self._grid.shape[1]
        places = np.stack([own // n_cols, own % n_cols], axis=1).astype(np.int32)
        step = math.isqrt(len(places) // BODY_CELLS)
        on_grid = places[((places % step) == 0).all(axis=1)] if step > 1 else places
        # a grid may pass by a thin shape
        return (on_grid, max(step, 1)) if len(on_grid) else (places, 1)
