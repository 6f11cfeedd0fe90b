"""Columns: the features of a candidate for the judge: the forests' answers, its size, and its surroundings.

All lengths are meters and all counts are shares, so that a column means the same for every camera and resolution. Axes
are those of the room: right, up, ahead.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from depthforest.base import Bytes, Floats, Ints, Longs, Singles, kernel
from depthforest.frames import BODY31
from depthforest.people.judging.looks import SCENE
from depthforest.people.regions import (
    AREA,
    BEFORE,
    BEHIND,
    BORDER,
    FACED,
    FLOORED,
    HIGH,
    LOW,
    MIDDLE,
    N_CELLS,
    THICKNESS,
)

GROUPS = ("head", "neck", "torso", "upper_arm", "forearm", "thigh", "shin", "foot")
"""Groups of the body forest's parts."""

_PREFIXES = {
    "head": "head", "neck": "neck", "shoulder": "torso", "torso": "torso", "arm_upper": "upper_arm",
    "elbow": "upper_arm", "arm_lower": "forearm", "wrist": "forearm", "hand": "forearm", "leg_upper": "thigh",
    "knee": "thigh", "leg_lower": "shin", "ankle": "shin", "foot": "foot",
}  # fmt: skip

QUANTILES = (0.1, 0.5, 0.9)

NO_FLOOR = -9.0
"""Height above the floor where no floor is visible: lower than any real one."""

LEAST_EXTENT_M = 0.02
"""Meters. Lower bound of a candidate's box in each direction, because columns divide by it."""

LEAST_SHARE = 1e-6
"""Below this share, a group's height and spread are meaningless and set to 0."""

_PARTS = tuple(SCENE.names[1:])

NAMES = (
    "confidence", "confidence_10", "confidence_50", "confidence_90", "agreement",
    *(f"share_{name}" for name in GROUPS),
    *(f"below_top_{name}" for name in GROUPS),
    *(f"spread_{name}" for name in GROUPS),
    "scene", "scene_10", "scene_50", "scene_90",
    *(f"scene_{name}" for name in _PARTS),
    "area", "picture_share", "width", "height", "depth", "thickness", "roundness", "filled",
    "faced", "floored", "before", "behind",
    "cut_top", "cut_bottom", "cut_left", "cut_right",
    "distance", "top_above_floor", "bottom_above_floor", "camera_up", "camera_height",
    "clutter", "own_share",
)  # fmt: skip
"""Names of the columns, in order. A model file stores them, and a model with other names is refused.

`clutter` is the share of readings that belong neither to the room nor to a face, `own_share` the candidate's share of
these: in a tidy room, whatever stands there is a person."""

N_LOOKS = 5 + 3 * len(GROUPS) + 4 + len(_PARTS)


@lru_cache(maxsize=4)
def part_groups(names: tuple[str, ...] = BODY31.names) -> Longs:
    """Return the number in `GROUPS` of each part of a body forest."""
    groups = []
    for name in names:
        found = [group for prefix, group in _PREFIXES.items() if name == prefix or name.startswith(f"{prefix}_")]
        groups.append(GROUPS.index(found[0]) if found else GROUPS.index("torso"))
    return np.array(groups, dtype=np.int64)


@kernel
def describe_looks(
    places: Ints, step: int, at: Singles, weights: Singles, shares: Singles, groups: Longs, scene: Singles, out: Floats
) -> None:
    """Write a candidate's columns of the forests' answers.

    Parameters
    ----------
    places : array (n, 2), int32
        Rows and columns of cells, row by row.
    step : int
        Distance of neighbors in cells, along rows and columns.
    at : array (n, 3), float32
        Positions of the cells, along the axes of the room.
    weights : array (n,), float32
        Surface areas of the cells in square meters, at least one above 0.
    shares : array (n, n_parts), float32
        Shares of the body forest.
    groups : array (n_parts,), int64
        From `part_groups`.
    scene : array (n, len(SCENE)), float32
        Shares of the scene forest.
    out : array (N_LOOKS,), float64
    """
    n, n_parts = shares.shape
    n_groups, n_scene = (len(out) - 8 - scene.shape[1]) // 3, scene.shape[1]
    sums = np.zeros((n_groups, 5))
    best, person = np.empty(n, dtype=np.float32), np.empty(n, dtype=np.float32)
    out[:] = 0
    total, top = 0.0, -np.inf
    grouped = np.empty(n_groups, dtype=np.float64)
    first_scene = 5 + 3 * n_groups
    for i in range(n):
        w = weights[i]
        total += w
        top = max(top, at[i, 1])
        grouped[:] = 0
        largest = np.float32(0)
        for part in range(n_parts):
            largest = max(largest, shares[i, part])
            grouped[groups[part]] += shares[i, part]
        best[i], person[i] = largest, np.float32(1) - scene[i, 0]
        out[0] += w * largest
        out[first_scene] += w * person[i]
        for k in range(1, n_scene):
            out[first_scene + 3 + k] += w * scene[i, k]
        for g in range(n_groups):
            amount = w * grouped[g]
            sums[g, 0] += amount
            squares = 0.0
            for axis in range(3):
                sums[g, 1 + axis] += amount * at[i, axis]
                squares += at[i, axis] * at[i, axis]
            sums[g, 4] += amount * squares
    best.sort()
    person.sort()
    for k in range(len(QUANTILES)):
        out[1 + k] = best[int(QUANTILES[k] * (n - 1))]
        out[first_scene + 1 + k] = person[int(QUANTILES[k] * (n - 1))]
    out[4] = _agreement(places, step, shares)
    out[0] /= total
    out[first_scene] /= total
    for k in range(1, n_scene):
        out[first_scene + 3 + k] /= total
    for g in range(n_groups):
        out[5 + g] = sums[g, 0] / total
        if out[5 + g] < LEAST_SHARE:
            continue
        variance = sums[g, 4] / sums[g, 0]
        for axis in range(3):
            variance -= (sums[g, 1 + axis] / sums[g, 0]) ** 2
        out[5 + n_groups + g] = top - sums[g, 2] / sums[g, 0]
        out[5 + 2 * n_groups + g] = np.sqrt(max(variance, 0.0))


@kernel
def _agreement(places: Ints, step: int, shares: Singles) -> float:
    """Return the mean probability that neighbors, `step` cells apart, have the same part; 0 without neighbors."""
    last = np.full(places[:, 1].max() + 1, -1, dtype=np.int64)  # the one above, in every column
    total, n_pairs = 0.0, 0
    for i in range(len(places)):
        row, col = places[i, 0], places[i, 1]
        for side in range(2):
            k = last[col] if side else np.int64(i - 1)
            if k < 0 or (places[k, 0] != row - step if side else places[k, 0] != row or places[k, 1] != col - step):
                continue
            n_pairs += 1
            for part in range(shares.shape[1]):
                total += shares[i, part] * shares[k, part]
        last[col] = i
    return total / max(n_pairs, 1)


@kernel
def describe_all_looks(
    places: Longs, ends: Longs, steps: Longs, n_cols: int, at: Singles, area: Singles, shares: Singles, groups: Longs,
    looks: Singles, columns: Floats,
) -> None:  # fmt: skip
    """Write the first `N_LOOKS` columns of every candidate that has places.

    Parameters
    ----------
    places, ends, steps
        From `sample_cells`.
    n_cols : int
        Of the grid.
    at : array (3, n_cells), float32
        Where the cells of the grid are, along the axes of the room.
    area : array (n_cells,), float32
        Their square meters.
    shares : array (n, n_parts), float32
        Of the body forest, for the places.
    groups : array (n_parts,), int64
        As `part_groups` gives them.
    looks : array (n_cells, len(SCENE)), float32
        Of the scene forest.
    columns : array (n_candidates, n_columns), float64
    """
    out = np.empty(N_LOOKS)
    for k in range(len(steps)):
        begin, end = ends[k], ends[k + 1]
        n = end - begin
        if n == 0:
            continue
        on_grid, own_at = np.empty((n, 2), dtype=np.int32), np.empty((n, 3), dtype=np.float32)
        weights, scene = np.empty(n, dtype=np.float32), np.empty((n, looks.shape[1]), dtype=np.float32)
        for i in range(n):
            place = places[begin + i]
            on_grid[i, 0], on_grid[i, 1] = place // n_cols, place % n_cols
            weights[i] = area[place]
            for axis in range(3):
                own_at[i, axis] = at[axis, place]
            for part in range(looks.shape[1]):
                scene[i, part] = looks[place, part]
        describe_looks(on_grid, steps[k], own_at, weights, shares[begin:end], groups, scene, out)
        for column in range(N_LOOKS):
            columns[k, column] = out[column]


@kernel
def sample_cells(
    cells: Longs, ends: Longs, is_open: Bytes, n_cols: int, least: int, places: Longs, place_ends: Longs, steps: Longs
) -> None:
    """Write the open cells of every candidate, or those on a coarser grid if there are many, and that grid's step.

    Parameters
    ----------
    cells : array (n,), int64
        Of the candidates, one after the other, counted line by line.
    ends : array (n_candidates + 1,), int64
        Where the cells of each begin.
    is_open : array (n_cells,), uint8
    n_cols : int
        Of the grid.
    least : int
        At least this many cells of a candidate are kept, at most four times as many.
    places : array (n,), int64
        The chosen cells; `place_ends` are their ends.
    steps : array (n_candidates,), int64
    """
    n = 0
    place_ends[0] = 0
    for k in range(len(steps)):
        n_open = 0
        for i in range(ends[k], ends[k + 1]):
            n_open += is_open[cells[i]] > 0
        steps[k] = max(int(np.sqrt(n_open // least)), 1)
        for i in range(ends[k], ends[k + 1]):
            cell = cells[i]
            is_on_grid = steps[k] == 1 or ((cell // n_cols) % steps[k] == 0 and (cell % n_cols) % steps[k] == 0)
            if is_open[cell] and is_on_grid:
                places[n] = cell
                n += 1
        if n == place_ends[k]:  # a grid may miss a thin shape
            steps[k] = 1
            for i in range(ends[k], ends[k + 1]):
                if is_open[cells[i]]:
                    places[n] = cells[i]
                    n += 1
        place_ends[k + 1] = n


@kernel
def describe_shapes(
    shape: tuple[int, int], cells: Longs, ends: Longs, measures: Floats, rounds: Floats, room: tuple[float, float],
    counts: tuple[int, int], columns: Floats,
) -> None:  # fmt: skip
    """Write the columns from `N_LOOKS` on: sizes and surroundings of candidates.

    Parameters
    ----------
    shape : (int, int)
        Of the grid.
    cells : array (n,), int64
        Of the candidates, one after the other, counted line by line.
    ends : array (n_candidates + 1,), int64
        Where the cells of each begin; each has some.
    measures, rounds : arrays (n_candidates, N_MEASURES), (n_candidates,)
        From `regions.measure_regions` and `regions.roundness`.
    room : (float, float)
        Cosine between the picture's up and the room's; height of the camera above the floor in meters, NaN if no floor
        is visible.
    counts : (int, int)
        Numbers of grid cells that belong neither to the room nor to a face, and of cells with a reading.
    columns : array (n_candidates, n_columns), float64
    """
    n_rows, n_cols = shape
    upright, ground = room
    n_open, n_readings = counts
    has_floor = not np.isnan(ground)
    size = np.empty(3)
    for k in range(len(measures)):
        values, out = measures[k], columns[k, N_LOOKS:]
        n_top, n_bottom, n_left, n_right = 0, 0, 0, 0
        for i in range(ends[k], ends[k + 1]):
            row, col = cells[i] // n_cols, cells[i] % n_cols
            n_top += row == 0
            n_bottom += row == n_rows - 1
            n_left += col == 0
            n_right += col == n_cols - 1
        for axis in range(3):
            size[axis] = max(values[HIGH + axis] - values[LOW + axis], LEAST_EXTENT_M)
            out[2 + axis] = size[axis]
        border = max(values[BORDER], 1.0)
        out[0], out[1] = values[AREA], values[N_CELLS] / (n_rows * n_cols)
        out[5], out[6], out[7] = values[THICKNESS], rounds[k], values[AREA] / (size[0] * size[1])
        out[8], out[9] = values[FACED] / border, values[FLOORED] / border
        out[10], out[11] = values[BEFORE] / border, values[BEHIND] / border
        out[12], out[13], out[14], out[15] = n_top / n_cols, n_bottom / n_cols, n_left / n_rows, n_right / n_rows
        out[16] = values[MIDDLE + 2] / values[AREA]
        out[17] = values[HIGH + 1] + ground if has_floor else NO_FLOOR
        out[18] = values[LOW + 1] + ground if has_floor else NO_FLOOR
        out[19], out[20] = upright, ground if has_floor else NO_FLOOR
        out[21], out[22] = n_open / max(n_readings, 1), min(values[N_CELLS] / max(n_open, 1), 1.0)
