"""Gains: the value of a node with summed gradients G and hessians H, as in XGBoost (Chen and Guestrin 2016).

A leaf of weight w changes the loss by G w + (H + l2) w^2 / 2 + l1 |w|. The best w is -T(G) / (H + l2), where T moves G
toward 0 by l1; the node's score T(G)^2 / (H + l2) is twice the decrease of the loss. The gain of a split is the sum of
the scores of its sides minus the node's own; as in XGBoost's code, gamma is compared with this value, not with half of
it. If hessians are row weights and there are no penalties, the gain is the decrease of the squared error: the trees of
gradient boosting.

Kernels check nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from depthforest.base import kernel
from depthforest.ensemble.growth import NEGLIGIBLE

GRADIENT, HESSIAN, MASS = 0, 1, 2
"""Columns of `amounts` (n, 2) of the rows, and the two numbers of a bin; for nodes also their weight, or the number of
their rows if rows have no weights."""

LOWER, UPPER = 0, 1
"""Columns of `bounds` (n_nodes, 2): limits of a node's weight, if columns are constrained."""


_ROUNDING = 1e-11
"""Relative increase that makes a score better: rounding errors of sums over hundreds of thousands of rows are smaller.
Without it, rounding would choose among equal splits, and a row of weight two would differ from two rows."""


class Penalties(NamedTuple):
    """How splits are evaluated.

    Attributes
    ----------
    l2, l1 : float
        Penalties of leaf weights.
    min_weight : float
        Least sum of hessians on each side.
    min_rows : float
        Least rows, or their weight, on each side, estimated from its share of the node's hessians: LightGBM's rule.
    max_step : float
        Limit of leaf weights; infinite if there is none.
    has_bounds : bool
        Whether leaf weights are limited: by this limit, or by monotonic constraints.
    """

    l2: float
    l1: float
    min_weight: float
    min_rows: float
    max_step: float
    has_bounds: bool


class NodeSums(NamedTuple):
    """The data of a node for evaluating its splits.

    Attributes
    ----------
    gradient, hessian : float
        Sums over its rows.
    least : float
        Least sum of hessians on each side.
    lower, upper : float
        Limits of the weights of both sides.
    """

    gradient: float
    hessian: float
    least: float
    lower: float
    upper: float


@kernel
def least_hessian(penalties: Penalties, hessian: float, mass: float) -> Any:
    """Return the least sum of hessians on a side of a node; less than rounding errors never suffices."""
    return max(penalties.min_weight, NEGLIGIBLE * hessian, penalties.min_rows * hessian / mass)


@kernel
def bar_over(score: float) -> Any:
    """Return the value that a better score must exceed."""
    return score + _ROUNDING * abs(score)


@kernel
def _towards_zero(penalties: Penalties, gradient: float) -> Any:
    if gradient > penalties.l1:
        return gradient - penalties.l1
    if gradient < -penalties.l1:
        return gradient + penalties.l1
    return 0.0


@kernel
def best_weight(penalties: Penalties, gradient: float, hessian: float) -> Any:
    """Return the weight of a leaf that minimizes the loss."""
    return -_towards_zero(penalties, gradient) / (hessian + penalties.l2)


@kernel
def best_score(penalties: Penalties, gradient: float, hessian: float) -> Any:
    """Return twice the decrease of the loss by a leaf of the best weight."""
    moved = _towards_zero(penalties, gradient)
    return moved * moved / (hessian + penalties.l2)


@kernel
def bounded_weight(penalties: Penalties, gradient: float, hessian: float, lower: float, upper: float) -> Any:
    """Return the weight within limits that minimizes the loss."""
    return min(max(best_weight(penalties, gradient, hessian), lower), upper)


@kernel
def score_at(penalties: Penalties, gradient: float, hessian: float, weight: float) -> Any:
    """Return twice the decrease of the loss by a leaf of any weight."""
    return -(2.0 * gradient + (hessian + penalties.l2) * weight) * weight - 2.0 * penalties.l1 * abs(weight)


@kernel
def bounded_split(
    penalties: Penalties,
    left_gradient: float,
    left_hessian: float,
    right_gradient: float,
    right_hessian: float,
    direction: int,
    lower: float,
    upper: float,
) -> Any:
    """Return the score of a split with limited leaf weights; -inf if they violate the monotonic constraint."""
    left = bounded_weight(penalties, left_gradient, left_hessian, lower, upper)
    right = bounded_weight(penalties, right_gradient, right_hessian, lower, upper)
    if direction * (right - left) < 0.0:
        return -np.inf
    return score_at(penalties, left_gradient, left_hessian, left) + score_at(
        penalties, right_gradient, right_hessian, right
    )
