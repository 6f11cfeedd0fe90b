"""Losses of regression: squared error, absolute error, Huber and quantile."""

from __future__ import annotations

import numpy as np

from depthforest.base import Bools, Floats, Ints, kernel
from depthforest.ensemble.boosting.losses.base import Loss
from depthforest.ensemble.boosting.losses.linesearch import (
    crossing_intervals,
    leaf_ranges,
    leaf_sums,
    middle,
    weighted_quantile,
    zero_slopes,
)


class SquaredError(Loss):
    """Half of the squared residual, (y - F)^2 / 2.

    The negative gradient is the residual itself. Texts without the factor 1/2 fit trees to -2 (F - y): their trees are
    the same with doubled leaves, so the same learning rate has twice the effect there. With a line search in the leaves
    there is no difference.
    """

    name = "squared_error"
    has_hessian = True

    def value(self, y: Floats, raw: Floats) -> Floats:
        """Return (y - F)^2 / 2."""
        return 0.5 * (y - raw) ** 2

    def derivatives(self, y: Floats, raw: Floats, gradient: Floats, hessian: Floats | None) -> None:
        """Fill F - y and 1."""
        np.subtract(raw, y, out=gradient)
        if hessian is not None:
            hessian[:] = 1.0

    def _minima(self, y: Floats, raw: Floats, weights: Floats, leaf_of: Ints, n_leaves: int) -> Floats:
        """Return the weighted mean residual of every leaf."""
        total = leaf_sums(weights, leaf_of, n_leaves)
        return leaf_sums(weights * (y - raw), leaf_of, n_leaves) / np.where(total > 0, total, 1.0)


class Quantile(Loss):
    """The pinball loss, alpha (y - F) if y is above F and (1 - alpha) (F - y) if it is below.

    Its minimum is the alpha-quantile. At y = F, the subgradient is 0. If the minimum is an interval (half of the weight
    below, half above), leaves take its midpoint, as for medians.
    """

    name = "quantile"
    is_searched = True

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha
        self.scale = 1.0

    def value(self, y: Floats, raw: Floats) -> Floats:
        """Return alpha (y - F) or (1 - alpha) (F - y)."""
        residual = y - raw
        return self.scale * np.where(residual > 0, self.alpha * residual, (self.alpha - 1.0) * residual)

    def derivatives(self, y: Floats, raw: Floats, gradient: Floats, hessian: Floats | None) -> None:
        """Fill -alpha if F is below y, 1 - alpha if it is above, else 0."""
        gradient[:] = self.scale * ((1.0 - self.alpha) * (raw > y) - self.alpha * (raw < y))
        if hessian is not None:
            hessian[:] = 1.0

    def _minima(self, y: Floats, raw: Floats, weights: Floats, leaf_of: Ints, n_leaves: int) -> Floats:
        """Return the weighted alpha-quantile of the residuals of every leaf."""
        wanted = self.alpha * leaf_sums(weights, leaf_of, n_leaves)
        return middle(*crossing_intervals(y - raw, weights, leaf_of, n_leaves, wanted))


class AbsoluteError(Quantile):
    """The absolute residual |y - F|: twice the pinball loss of the median."""

    name = "absolute_error"

    def __init__(self) -> None:
        super().__init__(0.5)
        self.scale = 2.0


class Huber(Loss):
    """Huber's loss: r^2 / 2 for residuals up to delta, delta (|r| - delta / 2) for larger ones.

    delta is the alpha-quantile of the absolute residuals, computed by `prepare` before every round, as in Friedman's
    paper, so the threshold for outliers shrinks with the residuals. Values are therefore only comparable with the same
    delta. If more than alpha of the rows are fitted exactly, delta is the mean absolute residual; 1 if all are.

    Attributes
    ----------
    delta : float
    """

    name = "huber"
    is_searched = True

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha
        self.delta = 1.0

    def prepare(self, y: Floats, raw: Floats, weights: Floats) -> None:
        """Compute delta."""
        sizes = np.abs(y - raw)
        delta = weighted_quantile(sizes, weights, self.alpha)
        self.delta = float(delta or np.average(sizes, weights=weights) or 1.0)

    def value(self, y: Floats, raw: Floats) -> Floats:
        """Return r^2 / 2 or delta (|r| - delta / 2)."""
        size = np.abs(y - raw)
        return np.where(size <= self.delta, 0.5 * size**2, self.delta * (size - 0.5 * self.delta))

    def derivatives(self, y: Floats, raw: Floats, gradient: Floats, hessian: Floats | None) -> None:
        """Fill F - y, clipped to delta on both sides."""
        np.clip(raw - y, -self.delta, self.delta, out=gradient)
        if hessian is not None:
            hessian[:] = 1.0

    def start(self, y: Floats, weights: Floats) -> Floats:
        """Return the minimum, with delta computed from the residuals of the median; this delta is kept."""
        self.prepare(y, np.full(len(y), weighted_quantile(y, weights, 0.5)), weights)
        return super().start(y, weights)

    def _minima(self, y: Floats, raw: Floats, weights: Floats, leaf_of: Ints, n_leaves: int) -> Floats:
        """Return the minimum of every leaf: Newton steps, exact once the right rows count as outliers."""
        residual = y - raw

        def slopes(at: Floats, is_open: Bools) -> tuple[Floats, Floats]:
            sums = np.zeros((n_leaves, 2))
            _sum_huber(residual, weights, leaf_of, self.delta, at, is_open.astype(np.int32), sums)
            return sums[:, 0], sums[:, 1]

        low, high = leaf_ranges(residual, weights, leaf_of, n_leaves)
        is_empty = low > high
        low[is_empty] = high[is_empty] = 0.0
        return zero_slopes(slopes, low, high)


@kernel
def _sum_huber(
    residual: Floats, weights: Floats, leaf_of: Ints, delta: float, moved: Floats, is_open: Ints, sums: Floats
) -> None:
    """Sum the first and second derivatives by leaf after the raw values of every leaf have moved."""
    for i in range(len(residual)):
        leaf = leaf_of[i]
        if leaf >= 0 and is_open[leaf]:
            away = moved[leaf] - residual[i]
            sums[leaf, 0] += weights[i] * min(max(away, -delta), delta)
            sums[leaf, 1] += weights[i] * (abs(away) < delta)
