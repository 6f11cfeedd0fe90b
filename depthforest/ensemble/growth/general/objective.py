"""Objective: what a tree optimizes: a criterion, one target per row or several, and monotonic constraints.

A channel is one sum: for each class of each target, or for each regression target. Kernels check nothing.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from depthforest.base import Counts, Floats, Ints, Longs, bare, weighed_information
from depthforest.ensemble.growth.sweeps import TOTALS

GINI, ENTROPY, SQUARED_ERROR, ABSOLUTE_ERROR, POISSON = range(5)
KINDS = {
    "gini": GINI, "entropy": ENTROPY, "squared_error": SQUARED_ERROR, "absolute_error": ABSOLUTE_ERROR,
    "poisson": POISSON,
}  # fmt: skip

_ONE_BIT = 1 << 20
"""Fixed-point value of one bit, as in `base.splitting`."""

_LEAST_SHARE = 1e-12
"""A side whose targets sum to at most this share of the node's has no mean that Poisson's deviance allows."""

Signs = npt.NDArray[np.int8]


class Objective(NamedTuple):
    """The data for evaluating splits.

    Attributes
    ----------
    kind : int
        GINI, ENTROPY, SQUARED_ERROR, ABSOLUTE_ERROR or POISSON.
    is_random : bool
        Random thresholds instead of the best.
    truth : (n_table_rows, n_targets) float64
        Class codes, or numbers: minus one of them, except for POISSON.
    weights : (n_table_rows,) float64
    starts : (n_targets + 1,) int64
        First channel of each target.
    ranks : (n_targets, n_table_rows) int32
        The order of the truth; (0, 0) unless the criterion is ABSOLUTE_ERROR.
    signs : (n_features,) int8
        1 if predictions must rise with a column, -1 if they must fall; empty without constraints.
    """

    kind: int
    is_random: bool
    truth: Floats
    weights: Floats
    starts: Longs
    ranks: Ints
    signs: Signs


@bare
def is_class(objective: Objective) -> bool:
    """Return whether targets are classes."""
    return bool(objective.kind == GINI or objective.kind == ENTROPY)


@bare
def add_row(objective: Objective, row: int, side: int, sums: Floats) -> Any:
    """Add a row to the channels of a side; return its weight."""
    weight = objective.weights[row]
    of_classes = is_class(objective)
    for t in range(objective.truth.shape[1]):
        if of_classes:
            sums[side, objective.starts[t] + np.int64(objective.truth[row, t])] += weight
        else:
            sums[side, t] += weight * objective.truth[row, t]
    return weight


@bare
def terms_of(table: Counts, objective: Objective, side: int, weight: float, sums: Floats) -> Any:
    """Return the terms of a side of this weight in the score of a split, larger if purer; -inf if it is not allowed.

    For ABSOLUTE_ERROR `medians` computes them.
    """
    n_channels = sums.shape[1]
    total = 0.0
    if objective.kind == ENTROPY:
        for c in range(n_channels):
            total += weighed_information(table, sums[side, c])
        return total - objective.truth.shape[1] * weighed_information(table, weight)
    if objective.kind == POISSON:
        for c in range(n_channels):
            if sums[side, c] <= _LEAST_SHARE * sums[TOTALS, c]:
                return -np.inf
            total += sums[side, c] * math.log(sums[side, c] / weight)
        return total
    for c in range(n_channels):
        total += sums[side, c] * sums[side, c]
    return total / weight


@bare
def gain_of(objective: Objective, terms: float, score: float) -> Any:
    """Return the decrease of weight times impurity by a split with this score of a node with these terms."""
    scale = objective.truth.shape[1] * (np.float64(_ONE_BIT) if objective.kind == ENTROPY else 1.0)
    return (score - terms) / scale


@bare
def sum_rows(objective: Objective, ids: Ints, begin: int, end: int, sums: Floats) -> tuple[float, float, bool]:
    """Sum a node's rows by channel.

    Returns its weight, the terms of its single rows, from which those of the node are subtracted, and whether it is
    pure.
    """
    for c in range(sums.shape[1]):
        sums[TOTALS, c] = 0.0
    weight, alone = 0.0, 0.0
    is_pure = True
    for i in range(begin, end):
        row = ids[i]
        own = add_row(objective, row, np.int64(TOTALS), sums)
        weight += own
        for t in range(objective.truth.shape[1]):
            value = objective.truth[row, t]
            is_pure &= value == objective.truth[ids[begin], t]
            if objective.kind == GINI:
                alone += own
            elif objective.kind == SQUARED_ERROR:
                alone += own * value * value
            elif objective.kind == POISSON and value > 0.0:
                alone += own * value * math.log(value)
    return weight, alone, is_pure
