"""Gains: what a node of summed gradients G and hessians H is worth, as in XGBoost (Chen and Guestrin 2016).

A leaf of weight w changes the loss by G w + (H + l2) w^2 / 2 + l1 |w|. The best w is -T(G) / (H + l2), T moving G by l1
toward 0; what it takes off the loss, doubled, is the node's score T(G)^2 / (H + l2). A split gains the scores of its
sides less its own; as in XGBoost's code that number, without its half, is what gamma is compared with. With hessians
that are the weights of rows, and no penalties, it is the fall of the squared error: gradient boosting's own trees.

Kernels check nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from depthforest.base import kernel
from depthforest.ensemble.growth import NEGLIGIBLE

GRADIENT, HESSIAN, MASS = 0, 1, 2
"""Columns of `amounts` (n, 2), of the rows, and the order of the two numbers of a bin; of nodes also their weight: the
number of their rows where these have none."""

LOWER, UPPER = 0, 1
"""Columns of `bounds` (n_nodes, 2): between which a node's weight must lie, where some column is constrained."""


_ROUNDING = 1e-11
"""Share by which a score must be larger to be so: sums of hundreds of thousands of rows are rounded by less. Without it
rounding would choose among equal splits, and a row of weight two would not be the same as two rows."""


class Penalties(NamedTuple):
    """How splits are judged.

    Attributes
    ----------
    l2, l1 : float
        Of leaf weights.
    min_weight : float
        Sum of hessians that each side has at least.
    min_rows : float
        Rows, or their weight, that each side has at least, by its share of the node's hessians: LightGBM's rule.
    max_step : float
        Bound of leaf weights; infinite without one.
    has_bounds : bool
        Whether leaf weights have bounds: this one, or those of columns that may only raise, or only lower, what is
        predicted.
    """

    l2: float
    l1: float
    min_weight: float
    min_rows: float
    max_step: float
    has_bounds: bool


class NodeSums(NamedTuple):
    """What the splits of a node are judged by.

    Attributes
    ----------
    gradient, hessian : float
        Sums over its rows.
    least : float
        Sum of hessians that each side must have.
    lower, upper : float
        Between which the weights of both sides must lie.
    """

    gradient: float
    hessian: float
    least: float
    lower: float
    upper: float


@kernel
def least_hessian(penalties: Penalties, hessian: float, mass: float) -> Any:
    """Return the sum of hessians that a side of a node must have; what is less than rounding is never enough."""
    return max(penalties.min_weight, NEGLIGIBLE * hessian, penalties.min_rows * hessian / mass)


@kernel
def bar_over(score: float) -> Any:
    """Return what a better score must exceed."""
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
    """Return the weight of a leaf that lowers the loss most."""
    return -_towards_zero(penalties, gradient) / (hessian + penalties.l2)


@kernel
def best_score(penalties: Penalties, gradient: float, hessian: float) -> Any:
    """Return what a leaf of the best weight takes off the loss, doubled."""
    moved = _towards_zero(penalties, gradient)
    return moved * moved / (hessian + penalties.l2)


@kernel
def bounded_weight(penalties: Penalties, gradient: float, hessian: float, lower: float, upper: float) -> Any:
    """Return the weight between two bounds that lowers the loss most."""
    return min(max(best_weight(penalties, gradient, hessian), lower), upper)


@kernel
def score_at(penalties: Penalties, gradient: float, hessian: float, weight: float) -> Any:
    """Return what a leaf of any weight takes off the loss, doubled."""
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
    """Return the score of a split whose leaves keep to bounds, -inf where they stand the wrong way round."""
    left = bounded_weight(penalties, left_gradient, left_hessian, lower, upper)
    right = bounded_weight(penalties, right_gradient, right_hessian, lower, upper)
    if direction * (right - left) < 0.0:
        return -np.inf
    return score_at(penalties, left_gradient, left_hessian, left) + score_at(
        penalties, right_gradient, right_hessian, right
    )
