"""Line searches: the zeros of the slopes of convex losses of one variable, for all leaves of a tree at once.

Two kinds: slopes with jumps, whose zero is found by sorting the jumps (absolute, quantile, hinge), and slopes evaluated
at chosen points, with safeguarded Newton steps (logistic, Huber, custom losses).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from depthforest.base import Bools, Floats, Ints, Longs, kernel

Slopes = Callable[[Floats, Bools], tuple[Floats, Floats | None]]

MAX_STEPS = 200
"""Bisection alone needs about 60 steps; each step at least halves the interval or is a good Newton step."""

ROUNDING = 1e-13
"""Steps below this share of the distance between the bounds end the search."""

SAME = 1e-12
"""Sums of weights that differ by less than this share of their total count as equal: the difference is rounding."""


def leaf_sums(values: Floats, leaf_of: Ints, n_leaves: int) -> Floats:
    """Return the sum of the values of every leaf, (n_leaves,) float64; rows with leaf -1 are left out."""
    return np.asarray(np.bincount(leaf_of + 1, weights=values, minlength=n_leaves + 1)[1:], dtype=np.float64)


def crossing_intervals(
    points: Floats, weights: Floats, leaf_of: Ints, n_leaves: int, wanted: Floats
) -> tuple[Floats, Floats]:
    """Return, for every leaf, the interval of points below which the weights sum to the wanted value.

    A loss whose slope starts at -wanted and rises by a row's weight at the row's point has its minimum from `low` to
    `high`: both are the same point if the slope jumps over 0 there.

    Parameters
    ----------
    points, weights : (n,) float64
    leaf_of : (n,) int32
        -1 for rows that are left out.
    n_leaves : int
    wanted : (n_leaves,) float64
        From 0 to the leaf's weight.

    Returns
    -------
    low, high : (n_leaves,) float64
        -inf if nothing is wanted; inf if all of the weight is.
    """
    low, high = np.full(n_leaves, -np.inf), np.full(n_leaves, np.inf)
    rounding = SAME * leaf_sums(weights, leaf_of, n_leaves)
    order = np.argsort(points)
    _find_crossings(order, points, weights, leaf_of, wanted, rounding, np.zeros(n_leaves), low, high)
    return low, high


def leaf_ranges(values: Floats, weights: Floats, leaf_of: Ints, n_leaves: int) -> tuple[Floats, Floats]:
    """Return the least and the largest value of every leaf's rows with weight; inf and -inf if there are none."""
    low, high = np.full(n_leaves, np.inf), np.full(n_leaves, -np.inf)
    _find_ranges(values, weights, leaf_of, low, high)
    return low, high


def weighted_quantile(values: Floats, weights: Floats, q: float) -> float:
    """Return the midpoint of all numbers with a share q of the weight below them; 0 without weight."""
    leaf_of = np.zeros(len(values), dtype=np.int32)
    low, high = crossing_intervals(values, weights, leaf_of, 1, np.array([q * weights.sum()]))
    return float(middle(low, high)[0])


def middle(low: Floats, high: Floats) -> Floats:
    """Return the midpoints of intervals; 0 for unbounded ones, which are those of leaves without weight."""
    is_bounded = np.isfinite(low) & np.isfinite(high)
    return np.where(is_bounded, low, 0.0) / 2 + np.where(is_bounded, high, 0.0) / 2


@kernel
def _find_ranges(values: Floats, weights: Floats, leaf_of: Ints, low: Floats, high: Floats) -> None:
    for i in range(len(values)):
        leaf = leaf_of[i]
        if leaf >= 0 and weights[i] > 0:
            low[leaf] = min(low[leaf], values[i])
            high[leaf] = max(high[leaf], values[i])


@kernel
def _find_crossings(
    order: Longs,
    points: Floats,
    weights: Floats,
    leaf_of: Ints,
    wanted: Floats,
    rounding: Floats,
    reached: Floats,
    low: Floats,
    high: Floats,
) -> None:
    for i in order:
        leaf = leaf_of[i]
        if leaf < 0 or weights[i] <= 0 or high[leaf] < np.inf:
            continue
        if reached[leaf] >= wanted[leaf] - rounding[leaf]:  # exactly enough is below: the interval ends here
            high[leaf] = points[i]
            continue
        reached[leaf] += weights[i]
        if reached[leaf] >= wanted[leaf] - rounding[leaf]:
            low[leaf] = points[i]
        if reached[leaf] > wanted[leaf] + rounding[leaf]:
            high[leaf] = points[i]


def zero_slopes(
    slopes: Slopes, low: Floats, high: Floats, *, reach: float = np.inf, tolerance: float = ROUNDING
) -> Floats:
    """Return the zeros of nondecreasing slopes, or the bound beyond which they are: (n_leaves,) float64.

    Takes Newton steps from 0 (secant steps if the second derivative is unknown). A step that leaves the interval known
    to contain the zero, or is longer than half of the previous step, is replaced by bisection.

    Parameters
    ----------
    slopes : callable
        Maps positions (n_leaves,) and a mask of the leaves still open to the first and second derivatives there,
        (n_leaves,) each; None for the second if unknown.
    low, high : (n_leaves,) float64
        Bounds of the answer.
    reach : float
        The longest first step, doubled at each further one, so that slopes far beyond the zero, which may overflow, are
        not evaluated.
    tolerance : float
        Of the last Newton step, as a share of high - low. If Newton steps square the error, about the root of
        `ROUNDING` suffices.
    """
    low, high = low.copy(), high.copy()
    distance = high - low
    at, last_step, last_slope = np.clip(0.0, low, high), np.full(len(low), np.inf), np.zeros(len(low))
    reaches = np.full(len(low), reach)
    is_low, is_high = np.zeros(len(low), dtype=bool), np.zeros(len(low), dtype=bool)  # known to be beyond the zero
    is_open = np.ones(len(low), dtype=bool)
    for _ in range(MAX_STEPS):
        first, second = slopes(at, is_open)
        is_open &= first != 0
        is_low |= is_open & (first < 0)
        is_high |= is_open & (first > 0)
        low, high = np.where(is_open & (first < 0), at, low), np.where(is_open & (first > 0), at, high)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            curve = (first - last_slope) / last_step if second is None else second
            wish = np.where(curve > 0, -first / curve, np.copysign(np.inf, -first))
        wish = np.clip(wish, -reaches, reaches)
        is_bad = (at + wish <= low) | (at + wish >= high) | (np.abs(wish) > np.abs(last_step) / 2)
        is_bad &= is_low & is_high
        to = np.where(is_bad, low + (high - low) / 2, np.clip(at + wish, low, high))
        last_step, last_slope = to - at, first
        at = np.where(is_open, to, at)
        is_open &= np.abs(last_step) > np.where(is_bad, ROUNDING, tolerance) * distance
        if not is_open.any():
            break
        reaches *= 2
    return np.asarray(at)


def stepped_back(slopes: Slopes, found: Floats, bound: float) -> Floats:
    """Return the result of `zero_slopes`, but a Newton step from 0 where it is at the bound; needs second derivatives.

    A pure leaf of a class has its minimum infinitely far away, and the largest possible step would overfit it.
    """
    is_far = np.abs(found) >= bound
    if not is_far.any():
        return found
    first, second = slopes(np.zeros(len(found)), is_far)
    assert second is not None
    steps = -first / np.maximum(second, np.finfo(np.float64).tiny)
    return np.where(is_far, np.clip(steps, -bound, bound), found)
