"""Candidates: proposals with their columns, the judge's input, and the choice among overlapping ones.

`finding` and training both get candidates from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations

import cv2
import numpy as np
import numpy.typing as npt

from depthforest.base import Bytes, Floats, Longs, Singles
from depthforest.frames import Frame
from depthforest.labeling import Several, shares_at
from depthforest.people.bodies import find_visitors
from depthforest.people.grid import DepthGrid
from depthforest.people.judging.columns import NAMES, describe_all_looks, describe_shapes, part_groups, sample_cells
from depthforest.people.judging.looks import coarse_frame, look_at_cells
from depthforest.people.judging.proposals import cells_by_number, propose
from depthforest.people.regions import N_MEASURES, measure_candidates, roundness, stack_pictures, stacked_rows
from depthforest.people.survey import SurveyedRoom, survey
from depthforest.trees import DepthTrees

SMOOTH_CELLS = 5
"""Side of the square, in cells, over which the scene forest's answers are averaged."""

BODY_CELLS = 100
"""Fewest cells of a candidate that the body forest labels; at most four times as many."""

MAX_OVERLAP = 0.3
"""Largest share of the smaller one's cells that two candidates may share if both are people."""

CLOSE = 0.05
"""Probabilities that differ by less count as about equal."""

PAIR_PROBABILITY, HELD_SHARE = 0.6, 0.8
"""A candidate that contains this share of two others, both at least as probable, is two people."""


@dataclass(frozen=True, eq=False)
class PersonCandidates:
    """Candidates for people, which may overlap.

    Parameters
    ----------
    room : SurveyedRoom
    shape : (int, int)
        Rows and columns of the grid of `places`.
    places : list of array (n_cells,), int64
        Cells of every candidate, numbered row by row.
    columns : array (n, len(columns.NAMES)), float64
    is_open, person : array (rows, cols), optional
        Without a background: which cells belong neither to the room nor to a face (bool), and how much each looks like
        a person (float32).
    """

    room: SurveyedRoom
    shape: tuple[int, int]
    places: list[Longs]
    columns: Floats
    is_open: npt.NDArray[np.bool_] | None = None
    person: Singles | None = None

    def choose(self, probable: Floats, is_kept: npt.NDArray[np.bool_]) -> list[int]:
        """Return kept candidates that do not overlap, the most probable first.

        Among about equally probable ones, the largest is chosen, because a person without legs looks like a person,
        too.
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
        """Tell whether a candidate contains two surely real people who share no cells: then it is neither."""
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
        """Return the person of every cell, from 1 in the order of `chosen`; the first one if there are several."""
        cells = np.zeros(self.shape[0] * self.shape[1], dtype=np.uint8)
        for number in range(len(chosen), 0, -1):
            cells[self.places[chosen[number - 1]]] = number
        return cells.reshape(self.shape)


def find_candidates(grid: DepthGrid, scene: DepthTrees, body: DepthTrees, least_person: float) -> PersonCandidates:
    """Return candidates for people in a room without a background.

    Parameters
    ----------
    grid : DepthGrid
    scene, body : DepthTrees
        The forests.
    least_person : float
        Cells that look less like a person belong to the room.
    """
    room = survey(grid)
    coarse = coarse_frame(grid)
    is_open = (room.taken == 0) & (coarse.depth_mm > 0)
    looks = look_at_cells(scene, coarse, is_open)
    person = 1 - looks[..., 0]
    places = _different(propose(grid, room, _smoothed(person, is_open), is_open, least_person))
    columns = describe(grid, room, coarse, is_open, looks, body, places)
    return PersonCandidates(room, grid.shape, places, columns, is_open, person)


def find_moved(grid: DepthGrid, whole: DepthGrid, up: Floats, scene: DepthTrees, body: DepthTrees) -> PersonCandidates:
    """Return candidates for people in front of a background.

    Parameters
    ----------
    grid : DepthGrid
        Grid of the readings that the background does not explain. The candidates' cells are cells of this grid.
    whole : DepthGrid
        Grid of all readings of the frame.
    up : array (3,)
        Unit vector that points up, from the background.
    scene, body : DepthTrees
        The forests.
    """
    cells = find_visitors(grid, up)
    room, coarse = survey(whole), coarse_frame(whole)
    # where readings are few, cells are larger
    rows, cols = (np.arange(n) * whole.step // grid.step for n in whole.shape)
    seen = cells[np.ix_(rows, cols)]
    is_open = (seen > 0) & (coarse.depth_mm > 0)
    looks = look_at_cells(scene, coarse, is_open)
    places = [np.flatnonzero((seen == k + 1) & is_open) for k in range(int(cells.max(initial=0)))]
    columns = describe(whole, room, coarse, is_open, looks, body, places)
    return PersonCandidates(room, grid.shape, list(cells_by_number(cells)), columns)


def _smoothed(values: Singles, is_used: npt.NDArray[np.bool_]) -> Singles:
    """Return the mean around every cell, over cells with `is_used`."""
    square = (SMOOTH_CELLS, SMOOTH_CELLS)
    used = is_used.astype(np.float32)
    return np.asarray(cv2.boxFilter(values * used, -1, square) / np.maximum(cv2.boxFilter(used, -1, square), 1e-6))


def _different(places: Iterable[Longs]) -> list[Longs]:
    """Return proposals without duplicates."""
    return list({one.tobytes(): one for one in reversed(list(places))}.values())[::-1]


def describe(
    grid: DepthGrid, room: SurveyedRoom, coarse: Frame, is_open: npt.NDArray[np.bool_], looks: Singles,
    body: DepthTrees, places: Sequence[Longs],
) -> Floats:  # fmt: skip
    """Return the columns (n, len(NAMES)) of candidates; 0 for one without an open cell.

    Parameters
    ----------
    grid, room, coarse
        Of the frame.
    is_open, looks
        As in `find_candidates`.
    body : DepthTrees
    places : sequence of array, int64
        Cells of each candidate in the grid.
    """
    columns = np.zeros((len(places), len(NAMES)))
    if not places:
        return columns
    n_cols, opened = grid.shape[1], is_open.reshape(-1).view(np.uint8)
    cells = np.concatenate(places)
    ends = np.array([0, *accumulate(map(len, places))])
    sampled, sampled_ends, steps = np.empty_like(cells), np.empty_like(ends), np.empty(len(places), dtype=np.int64)
    sample_cells(cells, ends, opened, n_cols, BODY_CELLS, sampled, sampled_ends, steps)
    sampled = sampled[: sampled_ends[-1]]
    shares = shares_at(body, coarse, sampled, Several(cells, ends, sampled_ends))
    at = room.axes @ grid.points[:3].reshape(3, -1)
    seen, groups = looks.reshape(-1, looks.shape[-1]), part_groups(body.part_set.names)
    describe_all_looks(sampled, sampled_ends, steps, n_cols, at, grid.area.reshape(-1), shares, groups, seen, columns)
    picture = np.zeros((stacked_rows(cells, ends, n_cols), n_cols + 2), dtype=np.uint8)
    stack_pictures(cells, ends, n_cols, picture)
    inside = np.asarray(cv2.distanceTransform(picture, cv2.DIST_L2, 3)) if len(picture) else picture.astype(np.float32)
    measures = np.empty((len(places), N_MEASURES))
    spacing = np.float32(grid.spacing)
    measure_candidates(
        grid.points, grid.normals, grid.area, inside, room.axes, cells, ends, room.taken, spacing, measures
    )
    is_read = coarse.depth_mm > 0
    counts = int(np.count_nonzero(is_read & (room.taken == 0))), int(np.count_nonzero(is_read))
    upright = -float(room.axes[1, 1]), float(room.ground)
    describe_shapes(grid.shape, cells, ends, measures, roundness(measures), upright, counts, columns)
    columns[sampled_ends[1:] == sampled_ends[:-1]] = 0
    return columns
