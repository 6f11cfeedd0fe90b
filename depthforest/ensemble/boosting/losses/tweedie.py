"""The Tweedie family: counts, durations and amounts, whose mean is the exponential of the raw value.

The variance of y is proportional to a power of its mean: 1 is Poisson, 2 is gamma; between them are sums of a Poisson
number of gamma amounts, which can be zero as well as positive (insurance claims). With power p,

    L(y, F) = -y e^((1-p) F) / (1-p) + e^((2-p) F) / (2-p)

and the limits e^F - y F for p = 1, y e^-F + F for p = 2. They equal XGBoost's and LightGBM's.
"""

from __future__ import annotations

import numpy as np

from depthforest.base import Floats, Ints, UsageError
from depthforest.ensemble.boosting.losses.base import Loss, Targets
from depthforest.ensemble.boosting.losses.derivatives import EXP_HIGH, HESSIAN_FLOOR
from depthforest.ensemble.boosting.losses.linesearch import leaf_sums

POISSON, GAMMA = 1.0, 2.0

MAX_LOG_STEP = 2.0
"""A leaf of a line search multiplies or divides the mean of its rows by at most e^2: leaves with only zeros have their
minimum at a mean of 0, infinitely far away."""

NEWTON_STEP = 0.7
"""Newton's step in the logarithm overshoots if a leaf's mean is several times the prediction. XGBoost and LightGBM
limit it to this number for the Poisson loss."""


class Tweedie(Loss):
    """The loss for a power from 1 to 2.

    Parameters
    ----------
    power : float
    name : str
        Name of the loss: "tweedie", or "poisson" and "gamma" for powers 1 and 2.
    """

    has_hessian = True
    is_logarithm = True
    max_newton_step = NEWTON_STEP

    def __init__(self, power: float, name: str = "tweedie") -> None:
        self.power, self.name = float(power), name

    def check_targets(self, y: Targets) -> None:
        """Raise UsageError for targets outside the range of the distribution."""
        is_bad = y <= 0 if self.power == GAMMA else y < 0
        if is_bad.any():
            least = "above 0" if self.power == GAMMA else "0 or more"
            raise UsageError(f"y must be {least} for loss {self.name!r}, got {y[is_bad][0]:g}")
        if not (y > 0).any():
            raise UsageError(f"y must have a number above 0 for loss {self.name!r}, got only 0")

    def numbers(self, raw: Floats) -> Floats:
        """Return the means e^F."""
        return np.exp(np.clip(raw, -EXP_HIGH, EXP_HIGH))

    def value(self, y: Floats, raw: Floats) -> Floats:
        """Return the loss; the deviance is twice the difference from its minimum."""
        p, bounded = self.power, np.clip(raw, -EXP_HIGH, EXP_HIGH)
        if p == POISSON:
            return np.asarray(np.exp(bounded) - y * bounded)
        if p == GAMMA:
            return np.asarray(y * np.exp(-bounded) + bounded)
        return np.asarray(np.exp((2 - p) * bounded) / (2 - p) - y * np.exp((1 - p) * bounded) / (1 - p))

    def derivatives(self, y: Floats, raw: Floats, gradient: Floats, hessian: Floats | None) -> None:
        """Fill b - a and (p-1) a + (2-p) b with a = y e^((1-p) F), b = e^((2-p) F)."""
        pull, push = self._forces(y, raw)
        np.subtract(push, pull, out=gradient)
        if hessian is not None:
            hessian[:] = (self.power - 1) * pull + (2 - self.power) * push
            np.maximum(hessian, HESSIAN_FLOOR, out=hessian)

    def start(self, y: Floats, weights: Floats) -> Floats:
        """Return the logarithm of the weighted mean."""
        return np.array([np.log(np.average(y, weights=weights))])

    def _minima(self, y: Floats, raw: Floats, weights: Floats, leaf_of: Ints, n_leaves: int) -> Floats:
        """Return log(sum w a / sum w b), limited to `MAX_LOG_STEP`."""
        pull, push = self._forces(y, raw)
        wanted, given = leaf_sums(weights * pull, leaf_of, n_leaves), leaf_sums(weights * push, leaf_of, n_leaves)
        with np.errstate(divide="ignore"):
            steps = np.log(wanted) - np.log(np.where(given > 0, given, 1.0))
        return np.where(given > 0, np.clip(steps, -MAX_LOG_STEP, MAX_LOG_STEP), 0.0)

    def _forces(self, y: Floats, raw: Floats) -> tuple[Floats, Floats]:
        """Return y e^((1-p) F) and e^((2-p) F)."""
        bounded = np.clip(raw, -EXP_HIGH, EXP_HIGH)
        pull = y if self.power == POISSON else y * np.exp((1 - self.power) * bounded)
        push = np.ones(len(y)) if self.power == GAMMA else np.exp((2 - self.power) * bounded)
        return pull, push
