"""Losses of classification: four based on the margin m = (2y - 1) F of two classes, and the multinomial loss."""

from __future__ import annotations

import numpy as np

from depthforest.base import Bools, Floats, Ints, Longs
from depthforest.ensemble.boosting.losses.base import Loss
from depthforest.ensemble.boosting.losses.derivatives import (
    EXP_HIGH,
    LANES,
    by_leaf,
    fill_exponential,
    fill_logistic,
    log_sums,
    softmax,
    softmax_derivatives,
    sum_exponential,
    sum_logistic,
    sum_slopes,
)
from depthforest.ensemble.boosting.losses.linesearch import crossing_intervals, leaf_sums, stepped_back, zero_slopes

MAX_LOG_ODDS = 4.0
"""Largest step of a leaf, in log-odds, in one round: the minimum of a pure leaf is infinitely far away.

It limits only the step of one round; later rounds continue from there. Log loss on held-out rows divided by that of
scikit-learn, which has no bound: for two classes, on seven tables, two seeds, after 5, 20 and 100 rounds of 0.1, the
worst value with bounds of 2, 4 and 8 is 1.15, 1.03, 1.00, and the median after 100 rounds 0.96, 0.99, 0.97. For several
classes, with bounds of 2, 4, 8 and none: digits 1.09, 1.05, 1.06, 1.05; 26 blobs 0.96, 0.99, 1.00, 1.01; three others
within 0.015 of 1.
"""

MAX_SURE_STEP = 2.0
"""The same for leaves whose minimum is known in closed form, so that pure leaves always take the largest step.

2 is the size of one Newton step of a pure leaf from even odds.
"""

LEAST_SHARE = 1e-12
"""Classes without weight start as if they had this share of the weight, so that logarithms stay finite."""

NEWTON_TOLERANCE = 1e-6
"""Tolerance of the last step, as a share of the interval. Newton squares it, so the error is below 1e-10."""

NO_HESSIAN = np.empty(0)


class MarginLoss(Loss):
    """A loss based on the margin of two classes, whose sign decides."""

    def decide(self, raw: Floats) -> Longs:
        """Return 1 if the raw value is above 0, else 0."""
        return (raw > 0).astype(np.int64)


class Logistic(MarginLoss):
    """log(1 + e^-m); raw values are log-odds of the second class."""

    name = "logistic"
    has_hessian = True
    has_probabilities = True

    def value(self, y: Ints, raw: Floats) -> Floats:
        """Return log(1 + e^-m)."""
        margin = _signs(y) * raw
        return np.log1p(np.exp(-np.abs(margin))) + np.maximum(-margin, 0.0)

    def derivatives(self, y: Ints, raw: Floats, gradient: Floats, hessian: Floats | None) -> None:
        """Fill p - y and p (1 - p) with p = 1 / (1 + e^-F)."""
        fill_logistic(y, raw, gradient, NO_HESSIAN if hessian is None else hessian)

    def start(self, y: Ints, weights: Floats) -> Floats:
        """Return the log-odds."""
        logs = _log_shares(y, weights, 2)
        return logs[1:] - logs[:1]

    def leaf_values(
        self,
        y: Ints,
        raw: Floats,
        weights: Floats,
        leaf_of: Ints,
        n_leaves: int,
        output: int = 0,  # noqa: ARG002 - there is only one
        gradient: Floats | None = None,
    ) -> Floats:
        """Return the minimum of every leaf within `MAX_LOG_ODDS` of 0; a Newton step if it is beyond."""
        if gradient is None:
            gradient = np.empty(len(raw))
            self.derivatives(y, raw, gradient, None)
        starts = np.zeros(n_leaves + 1, dtype=np.int64)
        own_gradient, own_weights = np.zeros((2, len(raw) + n_leaves * LANES))
        by_leaf(gradient, weights, leaf_of, starts, own_gradient, own_weights)

        def slopes(at: Floats, is_open: Bools) -> tuple[Floats, Floats]:
            sums = np.zeros((n_leaves, 2))
            sum_logistic(own_gradient, own_weights, starts, at, is_open, sums)
            return sums[:, 0], sums[:, 1]

        bound = np.full(n_leaves, MAX_LOG_ODDS)
        found = zero_slopes(slopes, -bound, bound, tolerance=NEWTON_TOLERANCE)
        return stepped_back(slopes, found, MAX_LOG_ODDS)

    def probabilities(self, raw: Floats) -> Floats:
        """Return 1 - p and p."""
        return _two_shares(raw)


class Exponential(MarginLoss):
    """e^-m, AdaBoost's loss; raw values are half of the log-odds. e^300 is its largest value."""

    name = "exponential"
    has_hessian = True
    has_probabilities = True

    def value(self, y: Ints, raw: Floats) -> Floats:
        """Return e^-m."""
        return np.exp(np.minimum(-_signs(y) * raw, EXP_HIGH))

    def derivatives(self, y: Ints, raw: Floats, gradient: Floats, hessian: Floats | None) -> None:
        """Fill -(2y - 1) e^-m and e^-m."""
        fill_exponential(y, raw, gradient, NO_HESSIAN if hessian is None else hessian)

    def start(self, y: Ints, weights: Floats) -> Floats:
        """Return half of the log-odds."""
        logs = _log_shares(y, weights, 2)
        return (logs[1:] - logs[:1]) / 2

    def _minima(self, y: Ints, raw: Floats, weights: Floats, leaf_of: Ints, n_leaves: int) -> Floats:
        """Return half of the log of sum w e^-F of the second class over sum w e^F of the first, but bounded."""
        tops, sums = np.full((n_leaves, 2), -np.inf), np.zeros((n_leaves, 2))
        sum_exponential(y, raw, weights, leaf_of, tops, sums)
        is_empty = (sums == 0).all(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = tops + np.log(sums)
            log_odds = np.where(is_empty, 0.0, logs[:, 1] - logs[:, 0])
        return np.asarray(np.clip(log_odds, -MAX_SURE_STEP, MAX_SURE_STEP) / 2)

    def probabilities(self, raw: Floats) -> Floats:
        """Return 1 - p and p with p = 1 / (1 + e^-2F)."""
        return _two_shares(2.0 * raw)


class Hinge(MarginLoss):
    """max(0, 1 - m). The subgradient at m = 1 is 0."""

    name = "hinge"

    def value(self, y: Ints, raw: Floats) -> Floats:
        """Return max(0, 1 - m)."""
        return np.maximum(0.0, 1.0 - _signs(y) * raw)

    def derivatives(self, y: Ints, raw: Floats, gradient: Floats, hessian: Floats | None) -> None:
        """Fill -(2y - 1) if m < 1, else 0."""
        signs = _signs(y)
        gradient[:] = np.where(signs * raw < 1.0, -signs, 0.0)
        if hessian is not None:
            hessian[:] = 1.0

    def _minima(self, y: Ints, raw: Floats, weights: Floats, leaf_of: Ints, n_leaves: int) -> Floats:
        """Return the minimum of every leaf; if it is an interval, the point closest to 0.

        The slope starts at minus the weight of the second class and rises by a row's weight where its margin reaches 1.
        """
        wanted = leaf_sums(weights * (y == 1), leaf_of, n_leaves)
        return np.asarray(np.clip(0.0, *crossing_intervals(_signs(y) - raw, weights, leaf_of, n_leaves, wanted)))


class Perceptron(MarginLoss):
    """max(0, -m), with the subgradient of a wrong row at m = 0.

    F = 0 is already a minimum, so a line search would never leave it. Leaves take the step of the perceptron instead:
    the weighted mean of the negative subgradients of their rows. The loss need not decrease in every round.
    """

    name = "perceptron"

    def value(self, y: Ints, raw: Floats) -> Floats:
        """Return max(0, -m)."""
        return np.maximum(0.0, -_signs(y) * raw)

    def derivatives(self, y: Ints, raw: Floats, gradient: Floats, hessian: Floats | None) -> None:
        """Fill -(2y - 1) if m <= 0, else 0."""
        signs = _signs(y)
        gradient[:] = np.where(signs * raw <= 0.0, -signs, 0.0)
        if hessian is not None:
            hessian[:] = 1.0

    def start(self, y: Ints, weights: Floats) -> Floats:  # noqa: ARG002 - the same for all
        """Return 0."""
        return np.zeros(1)

    def _minima(self, y: Ints, raw: Floats, weights: Floats, leaf_of: Ints, n_leaves: int) -> Floats:
        """Return the mean step of every leaf, from -1 to 1: not a line search, see the class."""
        gradient = np.empty(len(raw))
        self.derivatives(y, raw, gradient, None)
        total = leaf_sums(weights, leaf_of, n_leaves)
        return np.asarray(-leaf_sums(weights * gradient, leaf_of, n_leaves) / np.where(total > 0, total, 1.0))


class Multinomial(Loss):
    """-log p_y, where p is the softmax of the raw values of all classes.

    The second derivative is that of the diagonal, p (1 - p). XGBoost uses twice that, LightGBM K / (K - 1) times.
    """

    name = "multinomial"
    has_hessian = True
    has_probabilities = True

    def __init__(self, n_classes: int) -> None:
        self.n_outputs = n_classes

    def value(self, y: Ints, raw: Floats) -> Floats:
        """Return log(sum e^F) - F_y."""
        return np.asarray(log_sums(raw) - raw[y, np.arange(len(y))])

    def derivatives(self, y: Ints, raw: Floats, gradient: Floats, hessian: Floats | None) -> None:
        """Fill p - [class is y] and p (1 - p) of every class."""
        softmax_derivatives(y, raw, gradient, hessian)

    def start(self, y: Ints, weights: Floats) -> Floats:
        """Return the logarithms of the classes' shares, centered at 0."""
        logs = _log_shares(y, weights, self.n_outputs)
        return np.asarray(logs - logs.mean())

    def leaf_values(
        self,
        y: Ints,
        raw: Floats,
        weights: Floats,
        leaf_of: Ints,
        n_leaves: int,
        output: int = 0,
        gradient: Floats | None = None,
    ) -> Floats:
        """Return Friedman's single Newton step of every leaf, within `MAX_LOG_ODDS` of 0.

        (K - 1) / K sum r / sum |r| (1 - |r|) with r = -gradient. Without `gradient`, it is computed for all classes.
        """
        if gradient is None:
            every = np.empty(raw.shape)
            self.derivatives(y, raw, every, None)
            gradient = every[output]
        sums = np.zeros((n_leaves, 2))
        sum_slopes(gradient, weights, leaf_of, sums)
        tiny = np.finfo(np.float64).tiny
        with np.errstate(over="ignore"):
            step = -(self.n_outputs - 1) / self.n_outputs * sums[:, 0] / np.maximum(sums[:, 1], tiny)
        return np.asarray(np.clip(step, -MAX_LOG_ODDS, MAX_LOG_ODDS))

    def probabilities(self, raw: Floats) -> Floats:
        """Return the softmax of the raw values."""
        return softmax(raw)

    def decide(self, raw: Floats) -> Longs:
        """Return the class of the largest raw value."""
        return np.asarray(np.argmax(raw, axis=0), dtype=np.int64)


def _signs(y: Ints) -> Floats:
    return np.asarray(2.0 * y - 1.0, dtype=np.float64)


def _log_shares(y: Ints, weights: Floats, n_classes: int) -> Floats:
    shares = np.bincount(y, weights=weights, minlength=n_classes)
    return np.asarray(np.log(np.maximum(shares / shares.sum(), LEAST_SHARE)))


def _two_shares(log_odds: Floats) -> Floats:
    """Return the probabilities of two classes, (n, 2), both with full precision."""
    e = np.exp(-np.abs(log_odds))
    large, small = 1.0 / (1.0 + e), e / (1.0 + e)
    is_second = log_odds >= 0
    return np.stack((np.where(is_second, small, large), np.where(is_second, large, small)), axis=1)
