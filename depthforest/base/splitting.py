"""Splitting: impurity, gain, class histograms, and the best split of a node. Defined here once.

Counts are whole numbers. Entropy is summed in fixed point (`information_table`), so that a sum is the same in any
order: of pixels, shards, threads. Gini is one formula in float64 of two whole numbers. Among equal scores the lowest
candidate wins, then the lowest threshold. Bins up to a threshold's index go left, the others right; a split with an
empty side is not allowed.

This module scores a node's candidates from a dense table of counts; `training.sweeping` scores nodes of few pixels
directly from their bins. Both give the same split. The trees of `ensemble` score with the same formulas, in float64:
their weights need not be whole, and squared error is gini's formula of one channel of sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import criteria
from depthforest.base.errors import UsageError
from depthforest.base.kernels import kernel

Counts = npt.NDArray[np.int64]

ONE_BIT = 1 << 20
"""Fixed-point value of one bit. For n = 2^31 pixels, n log2 n times this is below 2^56; the rounding is 1e-6 bits."""

SLACK = 1024
"""A gain below this is rounding: 0.001 bits of one pixel, in fixed point, however many pixels the node has."""

MAX_COUNT = 2**31 - 1
"""Largest weighted number of pixels of a node: squares of counts must fit 64 bits."""

TABLE_SIZE = 1 << 20
"""n log2 n is looked up for n below this and computed above."""

NO_SPLIT = -1

_CHUNK = 64
"""Candidates counted together: a pixel's bins fill a cache line, and the counters fit the L1 cache (64 x 51 x 4 B)."""


@kernel
def _information(n: int) -> np.int64:
    """Return n log2 n in fixed point."""
    if n < 2:
        return np.int64(0)
    return np.int64(np.rint(n * math.log2(n) * ONE_BIT))


@kernel
def _fill_information(out: Counts) -> None:
    for n in range(len(out)):
        out[n] = _information(n)


@lru_cache(maxsize=1)
def information_table() -> Counts:
    """Return n log2 n in units of 1 / `ONE_BIT` bits, for n below `TABLE_SIZE`."""
    table = np.empty(TABLE_SIZE, dtype=np.int64)
    _fill_information(table)
    table.setflags(write=False)
    return table


@kernel
def look_up(table: Counts, n: int) -> np.int64:
    """Return n log2 n in fixed point, from the table where it reaches."""
    return np.int64(table[n]) if n < len(table) else _information(n)


@kernel
def weighed_information(table: Counts, weight: float) -> float:
    """Return w log2 w in fixed point, of a weight that need not be whole; sums below 2^53 are exact."""
    n = np.int64(weight)
    if n == weight and n < len(table):
        return np.float64(table[n])
    return np.rint(weight * math.log2(weight) * ONE_BIT) if weight > 0 else 0.0


@kernel
def gini_score(left_sum: float, n_left: float, right_sum: float, n_right: float) -> float:
    """Return the score of a split from the sums of squared counts; for squared error, from one channel of sums."""
    return left_sum / n_left + right_sum / n_right


@kernel
def entropy_score(left_sum: float, left: float, right_sum: float, right: float) -> float:
    """Return the score of a split from the summed information of the counts and of each side's total."""
    return np.float64(left_sum + right_sum - left - right)


@kernel
def impurity_of_terms(table: Counts, is_entropy: bool, terms: float, weight: float, most: float) -> Any:
    """Return the impurity of a node from the summed terms of its channels: information, or squares.

    `most` is the sum of squares of a pure node divided by its weight: the weight itself for classes, the sum of squared
    targets for numbers.
    """
    if is_entropy:
        return max(weighed_information(table, weight) - terms, 0.0) / ONE_BIT / weight
    return max(most / weight - terms / (weight * weight), 0.0)


@kernel
def gain_over_terms(table: Counts, is_entropy: bool, terms: float, weight: float, score: float) -> Any:
    """Return by how much a split with this score reduces the node's weight times impurity."""
    if is_entropy:
        return (score - (terms - weighed_information(table, weight))) / ONE_BIT
    return score - terms / weight


@kernel
def _sided(table: Counts, is_gini: bool, n: int) -> np.int64:
    """Return what a count adds to its side's sum: n log2 n, or n^2."""
    return np.int64(n * n) if is_gini else look_up(table, n)


@kernel
def _score(table: Counts, is_gini: bool, left_sum: int, n_left: int, right_sum: int, n_right: int) -> Any:
    """Return the score of a split, larger for purer sides: exact up to 2^53 for entropy, one fixed formula for gini."""
    if is_gini:
        return gini_score(left_sum, n_left, right_sum, n_right)
    return entropy_score(left_sum, look_up(table, n_left), right_sum, look_up(table, n_right))


def impurity(counts: npt.ArrayLike, criterion: str = "entropy") -> npt.NDArray[np.float64]:
    """Return the impurity of class counts (..., n_classes): entropy in bits, or gini; 0 where there are none."""
    is_gini = criteria.is_gini(criterion)
    values = np.asarray(counts, dtype=np.float64)
    total = values.sum(axis=-1, keepdims=True)
    shares = np.divide(values, total, out=np.zeros_like(values), where=total > 0)
    if is_gini:
        return np.asarray(np.where(total[..., 0] > 0, 1 - (shares**2).sum(axis=-1), 0.0))
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(np.maximum(-(shares * logs).sum(axis=-1), 0.0))


def gain(parent: npt.ArrayLike, left: npt.ArrayLike, criterion: str = "entropy") -> npt.NDArray[np.float64]:
    """Return how much impurity a split removes, per pixel, from the counts of the node and of its left side."""
    whole, one = np.asarray(parent, dtype=np.float64), np.asarray(left, dtype=np.float64)
    other = whole - one
    n = np.maximum(whole.sum(axis=-1), 1)
    rest = one.sum(axis=-1) * impurity(one, criterion) + other.sum(axis=-1) * impurity(other, criterion)
    return np.asarray(impurity(whole, criterion) - rest / n)


@kernel
def gain_of_score(table: Counts, is_gini: bool, counts: Counts, score: float) -> float:
    """Return the gain per unit of weight of a node's split with this score; 0 where it is only rounding."""
    whole, total = np.int64(0), np.int64(0)
    for c in range(len(counts)):
        whole += _sided(table, is_gini, counts[c])
        total += counts[c]
    if is_gini:
        won = (score - whole / total) / total
        return won if won > 1e-12 else 0.0
    won = score - np.float64(whole - look_up(table, total))
    return won / ONE_BIT / total if won > SLACK else 0.0


@kernel
def count_bins(
    bins: npt.NDArray[np.uint8],
    labels: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    nodes: npt.NDArray[np.int64],
    out: npt.NDArray[np.int32],
) -> None:
    """Add pixels to the class histograms of nodes.

    Rows `starts[i]` to `starts[i + 1]` of `bins` (n_pixels, n_candidates) are the pixels of `out[i]`'s node `nodes[i]`,
    sorted by label; `out` is (n, n_candidates, n_classes, n_bins). A run of one label is counted in a table that fits
    the L1 cache.
    """
    n_candidates, n_bins = bins.shape[1], out.shape[3]
    run = np.empty(_CHUNK * n_bins, dtype=np.int32)
    for i in range(len(nodes)):
        node = nodes[i]
        begin, stop = starts[node], starts[node + 1]
        while begin < stop:
            label = labels[begin]
            end = begin + 1
            while end < stop and labels[end] == label:
                end += 1
            for first in range(0, n_candidates, _CHUNK):
                n = min(_CHUNK, n_candidates - first)
                run[:] = 0
                for p in range(np.uint64(begin), np.uint64(end)):
                    for c in range(np.uint64(n)):  # unsigned: a possibly negative index costs a comparison
                        b = bins[np.uint64(p), np.uint64(first) + np.uint64(c)]
                        run[np.uint64(c) * np.uint64(n_bins) + np.uint64(b)] += np.int32(1)
                for c in range(n):
                    for b in range(n_bins):
                        out[i, first + c, label, b] += run[c * n_bins + b]
            begin = end


@kernel
def fill_sides(
    table: Counts, is_gini: bool, totals: Counts, weights: Counts, places: Counts, left: Counts, right: Counts
) -> None:
    """Fill what each class adds to the sums of the two sides, for each number of its pixels that went left.

    Class c with `totals[c]` pixels has the entries `places[c]` to `places[c] + totals[c]`. For entropy only the sum of
    both is needed; it is put into `left`, and `right` is not touched. Every candidate of a node looks these up.
    """
    place = 0
    for c in range(len(totals)):
        places[c] = place
        weight, n = weights[c], totals[c]
        for k in range(n + 1):
            on_left, on_right = _sided(table, is_gini, k * weight), _sided(table, is_gini, (n - k) * weight)
            if is_gini:
                left[place + k] = on_left
                right[place + k] = on_right
            else:
                left[place + k] = on_left + on_right
        place += n + 1
    places[len(totals)] = place


@kernel
def score_table(
    table: Counts,
    is_gini: bool,
    counts: npt.NDArray[np.int32],
    weights: Counts,
    places: Counts,
    left: Counts,
    right: Counts,
    sums: Counts,
    best: float,
) -> tuple[float, int]:
    """Return (score, threshold) of one candidate's best split if it beats `best`, else (best, NO_SPLIT).

    `counts` is (n_classes, n_bins), `sums` scratch (3, n_bins): sum of each side, weight of the bin.
    """
    n_bins = counts.shape[1]
    sums[:] = 0
    total = np.int64(0)
    for c in range(counts.shape[0]):
        place = places[c]
        if places[c + 1] - place == 1:
            continue
        total += (places[c + 1] - place - 1) * weights[c]
        for b in range(n_bins):
            sums[2, b] += counts[c, b] * weights[c]
        entry = np.uint64(place)
        if is_gini:
            for b in range(n_bins):
                entry += np.uint64(counts[c, b])
                sums[0, b] += left[entry]
                sums[1, b] += right[entry]
        else:
            for b in range(n_bins):
                entry += np.uint64(counts[c, b])
                sums[0, b] += left[entry]
    found = NO_SPLIT
    n_left = np.int64(0)
    for b in range(n_bins - 1):
        if sums[2, b] == 0:
            continue
        n_left += sums[2, b]
        if n_left == total:
            break
        score = _score(table, is_gini, sums[0, b], n_left, sums[1, b], total - n_left)
        if score > best:
            best, found = score, b
    return best, found


@dataclass(frozen=True)
class Sides:
    """What the classes of a node add to the sums of the two sides, as `fill_sides` says."""

    places: Counts
    left: Counts
    right: Counts

    @classmethod
    def of(cls, totals: Counts, weights: Counts, criterion: str) -> Sides:
        """Return the sides of a node with `totals` pixels of each class."""
        is_gini = criteria.is_gini(criterion)
        n = int(totals.sum()) + len(totals)
        sides = cls(np.empty(len(totals) + 1, np.int64), np.empty(n, np.int64), np.empty(n if is_gini else 0, np.int64))
        fill_sides(information_table(), is_gini, totals, weights, sides.places, sides.left, sides.right)
        return sides


@kernel
def _score_histograms(
    table: Counts,
    is_gini: bool,
    histograms: npt.NDArray[np.int32],
    weights: Counts,
    places: Counts,
    left: Counts,
    right: Counts,
    best: float,
) -> tuple[float, int, int]:
    sums = np.empty((3, histograms.shape[2]), dtype=np.int64)
    candidate, threshold = NO_SPLIT, NO_SPLIT
    for c in range(len(histograms)):
        score, found = score_table(table, is_gini, histograms[c], weights, places, left, right, sums, best)
        if found != NO_SPLIT:
            best, candidate, threshold = score, c, found
    return best, candidate, threshold


def score_histograms(
    histograms: npt.NDArray[np.int32], weights: Counts, sides: Sides, criterion: str
) -> tuple[float, int, int]:
    """Return (score, candidate, threshold) of the best split of a node; (-inf, -1, -1) if there is none.

    `histograms` is (n_candidates, n_classes, n_bins), contiguous; `weights` (n_classes,).
    """
    best, candidate, threshold = _score_histograms(
        information_table(), criteria.is_gini(criterion), histograms, weights,
        sides.places, sides.left, sides.right, -np.inf,
    )  # fmt: skip
    return float(best), int(candidate), int(threshold)


def best_split(
    histograms: npt.NDArray[Any], criterion: str = "entropy", weights: npt.ArrayLike | None = None
) -> tuple[int, int, float] | None:
    """Return (candidate, threshold, gain) of the best split of one node, or None where nothing can be gained.

    Parameters
    ----------
    histograms : array (n_candidates, n_classes, n_bins), whole numbers
        Pixels of the node in each bin, class by class; every candidate has the same class totals.
    criterion : "entropy" or "gini"
    weights : array (n_classes,), whole numbers, optional
        Of the classes, 1 or more. Default: 1.
    """
    is_gini = criteria.is_gini(criterion)
    array = np.asarray(histograms)
    if array.ndim != 3 or array.dtype.kind not in "iu" or array.size == 0 or array.min() < 0:
        raise UsageError(
            "histograms must be whole numbers, 0 or more, of shape (n_candidates, n_classes, n_bins); "
            f"got {array.dtype} of shape {array.shape}"
        )
    totals = array.sum(axis=2, dtype=np.int64)
    if (totals != totals[0]).any():
        raise UsageError("histograms of one node must hold the same pixels: their class totals differ")
    its_weights = np.ones(array.shape[1], dtype=np.int64) if weights is None else np.asarray(weights, dtype=np.int64)
    if its_weights.shape != (array.shape[1],) or its_weights.min() < 1:
        raise UsageError(f"weights must be {array.shape[1]} whole numbers, 1 or more; got {weights!r}")
    counts = totals[0] * its_weights
    if int(counts.sum()) > MAX_COUNT:
        raise UsageError(f"a node may weigh up to {MAX_COUNT}, got {int(counts.sum())}")
    sides = Sides.of(totals[0], its_weights, criterion)
    score, candidate, threshold = score_histograms(array.astype(np.int32), its_weights, sides, criterion)
    if candidate == NO_SPLIT:
        return None
    won = float(gain_of_score(information_table(), is_gini, counts, score))
    return (candidate, threshold, won) if won > 0 else None
