"""Medians: the absolute error around the weighted median, for a set that grows row by row.

A node's rows are ranked by target. A Fenwick tree over ranks holds the weights, and weights times targets, of the rows
in the set; descending it finds the median. A column of n rows takes n log n steps. Kernels check nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from depthforest.base import Floats, Ints, bare
from depthforest.ensemble.growth.columns import sort
from depthforest.ensemble.growth.general.objective import Objective
from depthforest.ensemble.growth.sweeps import KEYS, ORDER, SORTED

LEFT_LOSS, RIGHT_LOSS, LEFT_VALUE, RIGHT_VALUE = range(4)
"""Rows of `cuts`, for each side after rows up to a position went left: summed absolute errors, median of the target."""


class MedianMemory(NamedTuple):
    """Memory for medians; empty if the criterion needs none.

    Attributes
    ----------
    local : (n_targets, n) int32
        Ranks of a node's rows within the node.
    levels : (n_targets, n) float64
        Their targets in ascending order.
    tree : (2, n + 1) float64
        Fenwick tree of weights, and of weights times targets.
    cuts : (4, n) float64
    """

    local: Ints
    levels: Floats
    tree: Floats
    cuts: Floats

    @classmethod
    def of(cls, n_targets: int, n_rows: int) -> MedianMemory:
        """Return memory for nodes of at most `n_rows` rows."""
        return cls(
            np.empty((n_targets, n_rows), np.int32),
            np.empty((n_targets, n_rows)),
            np.empty((2, n_rows + 1)),
            np.empty((4, n_rows)),
        )


@bare
def rank_rows(
    objective: Objective, ids: Ints, begin: int, n: int, target: int, places: Ints, ints: Ints, memory: MedianMemory
) -> None:
    """Rank the rows of a node by a target."""
    low, high = np.int32(2**31 - 1), np.int32(0)
    for i in range(n):
        rank = objective.ranks[target, ids[begin + i]]
        ints[KEYS, i] = rank
        low, high = min(low, rank), max(high, rank)
    sort(n, np.int64(low), np.int64(high), places, ints)
    for i in range(n):
        position = ints[ORDER, i]
        memory.local[target, position] = i
        memory.levels[target, i] = objective.truth[ids[begin + position], target]


@bare
def node_loss(
    objective: Objective, ids: Ints, begin: int, n: int, target: int, weight: float, ints: Ints, memory: MedianMemory
) -> tuple[float, float]:
    """Return the summed absolute error of a node with ranked rows around its weighted median, and that median."""
    half = 0.5 * weight
    up_to, at = 0.0, np.int64(0)
    while at < n - 1:
        up_to += objective.weights[ids[begin + ints[ORDER, at]]]
        if up_to >= half:
            break
        at += 1
    low = memory.levels[target, at]
    median = 0.5 * (low + memory.levels[target, at + 1]) if up_to == half and at < n - 1 else low
    loss = 0.0
    for i in range(n):
        loss += objective.weights[ids[begin + ints[ORDER, i]]] * abs(memory.levels[target, i] - low)
    return loss, median


@bare
def _insert(tree: Floats, n: int, rank: int, weight: float, target: float) -> None:
    at = np.int64(rank) + 1
    while at <= n:
        tree[0, at] += weight
        tree[1, at] += weight * target
        at += at & -at


@bare
def _descend(tree: Floats, n: int, half: float, takes_equal: bool) -> tuple[Any, float, float]:
    """Return the number of ranks that sum to less than half (or at most half), and their sums of weight and target."""
    step = np.int64(1)
    while 2 * step <= n:
        step *= 2
    at, weight, total = np.int64(0), 0.0, 0.0
    while step > 0:
        following = at + step
        if following <= n:
            up_to = weight + tree[0, following]
            if up_to < half or (takes_equal and up_to <= half):
                at, weight, total = following, up_to, total + tree[1, following]
        step >>= 1
    return at, weight, total


@bare
def _loss(levels: Floats, tree: Floats, n: int, weight: float, total: float) -> tuple[float, float]:
    """Return the absolute error of the set around its weighted median, and that median."""
    at, below, total_below = _descend(tree, n, 0.5 * weight, False)
    at = min(at, n - 1)
    other, _, _ = _descend(tree, n, 0.5 * weight, True)
    low = levels[at]
    loss = low * below - total_below + (total - total_below) - low * (weight - below)
    return max(loss, 0.0), 0.5 * (low + levels[max(at, min(other, n - 1))])


@bare
def _fill_side(
    objective: Objective, ids: Ints, begin: int, n: int, target: int, is_left: bool, ints: Ints, memory: MedianMemory
) -> None:
    """Add a target's losses to the cuts of one side, with rows in the order of `ints`; medians are overwritten."""
    tree, cuts, levels = memory.tree, memory.cuts, memory.levels[target]
    for i in range(n + 1):
        tree[0, i] = 0.0
        tree[1, i] = 0.0
    weight, total = 0.0, 0.0
    for step in range(n - 1):
        i = step if is_left else n - 1 - step
        position = ints[ORDER, i]
        own, rank = objective.weights[ids[begin + position]], memory.local[target, position]
        _insert(tree, n, rank, own, levels[rank])
        weight += own
        total += own * levels[rank]
        cut: Any = i if is_left else i - 1
        if ints[SORTED, cut] != ints[SORTED, cut + 1]:
            loss, median = _loss(levels, tree, n, weight, total)
            cuts[LEFT_LOSS if is_left else RIGHT_LOSS, cut] += loss
            cuts[LEFT_VALUE if is_left else RIGHT_VALUE, cut] = median


@bare
def fill_losses(objective: Objective, ids: Ints, begin: int, n: int, ints: Ints, memory: MedianMemory) -> None:
    """Fill `cuts` for all cuts of a node's rows: positions in `ints[ORDER]`, separated where SORTED changes."""
    for i in range(n):
        memory.cuts[LEFT_LOSS, i] = 0.0
        memory.cuts[RIGHT_LOSS, i] = 0.0
    for t in range(objective.truth.shape[1]):
        _fill_side(objective, ids, begin, n, t, True, ints, memory)
        _fill_side(objective, ids, begin, n, t, False, ints, memory)
