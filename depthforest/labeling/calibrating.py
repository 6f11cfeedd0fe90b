"""Calibration: from sums of leaves to calibrated probabilities, by a temperature stored in the model.

Every share is raised to the power 1 / temperature, and those of a pixel are scaled to sum to 1 (temperature scaling,
Guo et al. 2017). That keeps the order of a pixel's parts. Powers come from a table of `STEPS` + 1 ratios to the largest
share, so that no pixel calls `pow` and every machine gets the same numbers. docs/MODEL_FORMAT.md has the arithmetic
step by step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Derived, kernel
from depthforest.labeling.mixing import MEAN
from depthforest.trees import DepthTrees

STEPS = 1024
"""Steps of the table: a share is rounded down to 1024ths of the largest."""

Table = npt.NDArray[np.float32]


@Derived
def _tables(forest: DepthTrees) -> tuple[Table, Table] | None:
    """Return the tables of a forest for smoothed shares and for others; None without a calibration."""
    if forest.calibration is None:
        return None
    names = "temperature", "temperature_unsmoothed"
    smoothed, other = (powers(forest.calibration[name]) for name in names)
    return smoothed, other


def powers(temperature: float) -> Table:
    """Return the table (STEPS + 1,) of a temperature: the powers of ratios from 0 to 1."""
    table = (np.arange(STEPS + 1) / STEPS) ** (1 / temperature)
    return np.asarray(table.astype(np.float32))


def table_of(forest: DepthTrees, rule: int, *, is_smoothed: bool) -> Table | None:
    """Return the table to calibrate shares with; None if they stay as they are. Votes are not calibrated."""
    tables = _tables(forest)
    if tables is None or rule != MEAN:
        return None
    return tables[0 if is_smoothed else 1]


def calibration_table(forest: DepthTrees, *, is_smoothed: bool) -> Table | None:
    """Return the table (STEPS + 1,) to calibrate a forest's shares with; None if it has no calibration."""
    return table_of(forest, MEAN, is_smoothed=is_smoothed)


@kernel
def calibrate_best(sums: npt.NDArray[np.int32], table: Table, begin: int, end: int, shares: Any) -> None:
    """Fill the calibrated share of the largest of each row of sums, for the pixels `begin` to `end`."""
    n_columns = sums.shape[1]
    places = np.empty(n_columns, dtype=np.int32)
    for i in range(begin, end):
        best = np.int32(0)
        for p in range(n_columns):
            best = max(best, sums[i, p])
        largest, total = np.float32(best), np.float32(0)
        for p in range(n_columns):  # apart from the sum, whose order counts: vector instructions
            places[p] = np.int32(np.float32(sums[i, p]) / largest * np.float32(STEPS))
        for p in range(n_columns):  # a share of 0 counts for 0
            total += table[np.uint64(places[p])]
        shares[i] = np.float32(1) / total


@kernel
def calibrate_rows(sums: npt.NDArray[np.int32], table: Table, shares: npt.NDArray[np.float32]) -> None:
    """Fill the calibrated shares of all parts, row by row; the largest is the share of `calibrate_best` to the bit."""
    for i in range(len(sums)):
        best = np.int32(0)
        for p in range(sums.shape[1]):
            best = max(best, sums[i, p])
        largest, total = np.float32(best), np.float32(0)
        for p in range(sums.shape[1]):
            shares[i, p] = 0
            if sums[i, p] > 0:
                shares[i, p] = table[np.int64(np.float32(sums[i, p]) / largest * np.float32(STEPS))]
                total += shares[i, p]
        for p in range(sums.shape[1]):
            shares[i, p] /= total
