"""Sampling in a round: rows at random or by gradient (GOSS), and dropout of earlier trees (DART).

Every draw is a pure function of the round's seed and of numbers that do not depend on threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from depthforest.base import Floats, Ints, Longs, UsageError
from depthforest.ensemble.fitting import number

STRATEGIES = ("bagging", "goss")

_DROPS = 1
"""Added to the seed, so that dropout has its own stream of random numbers."""


@dataclass(frozen=True)
class Sampling:
    """How rounds draw rows and drop trees.

    Parameters
    ----------
    subsample : float
        Share of the rows that each round draws; 1 with GOSS.
    top, other : float
        For GOSS (LightGBM, Ke et al. 2017): shares of the rows with the largest gradients and of those drawn; 0 and 0
        without it.
    n_warm : int
        First rounds in which GOSS uses all rows, as in LightGBM.
    drop, skip : float
        For DART (Rashmi and Gilad-Bachrach 2015): the probability that an earlier round is dropped, and that a round
        drops none.
    """

    subsample: float = 1.0
    top: float = 0.0
    other: float = 0.0
    n_warm: int = 0
    drop: float = 0.0
    skip: float = 0.0

    def bag(self, n: int, seed: int) -> Ints | None:
        """Return the rows that a round draws, ascending; None for all."""
        if self.subsample >= 1.0:
            return None
        drawn = np.random.default_rng(seed).choice(n, max(1, int(self.subsample * n)), replace=False)
        return np.sort(drawn).astype(np.int32)

    def steep(self, sizes: Floats, n_round: int, seed: int) -> tuple[Ints | None, Floats]:
        """Return the rows of GOSS, ascending, and the factors of their derivatives, (n,); None for all rows.

        Parameters
        ----------
        sizes : (n,) float64
            Absolute gradients, times hessians. Among equal ones the first count as large.
        """
        n = len(sizes)
        n_top, n_other = max(1, int(self.top * n)), max(1, int(self.other * n))
        if not self.other or n_round < self.n_warm or n_top + n_other >= n:
            return None, np.empty(0)
        bar = np.partition(sizes, n - n_top)[n - n_top]
        is_top = sizes > bar
        is_top[np.flatnonzero(sizes == bar)[: n_top - int(is_top.sum())]] = True
        rest = np.flatnonzero(~is_top)
        drawn = np.random.default_rng(seed).choice(rest, n_other, replace=False)
        factors = np.ones(n)
        factors[drawn] = len(rest) / n_other
        is_top[drawn] = True
        return np.flatnonzero(is_top).astype(np.int32), factors

    def dropped(self, n_rounds: int, seed: int) -> Longs:
        """Return the earlier rounds that a round drops."""
        if not self.drop:
            return np.empty(0, dtype=np.int64)
        rng = np.random.default_rng([seed, _DROPS])
        if rng.random() < self.skip:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(rng.random(n_rounds) < self.drop)


def sampling_of(estimator: Any, rate: float) -> Sampling:
    """Return how an estimator's rounds draw rows and drop trees; without these parameters, they only draw rows."""
    subsample = number("subsample", estimator.subsample, 0, 1)
    if not rate or not subsample:
        raise UsageError(f"learning_rate and subsample must be above 0, got {rate:g} and {subsample:g}")
    strategy = getattr(estimator, "data_sample_strategy", "bagging")
    if strategy not in STRATEGIES:
        raise UsageError(f"data_sample_strategy must be one of {', '.join(STRATEGIES)}; got {strategy!r}")
    drop, skip = (number(name, getattr(estimator, name, 0.0), 0, 1) for name in ("drop_rate", "skip_drop"))
    if drop and (estimator.n_iter_no_change is not None or estimator.warm_start):
        raise UsageError(
            "drop_rate rescales earlier trees in every round, so that no earlier round can be restored or continued: "
            "set n_iter_no_change=None and warm_start=False"
        )
    if strategy == "bagging":
        return Sampling(subsample, drop=drop, skip=skip)
    top, other = (number(name, getattr(estimator, name), 0, 1) for name in ("top_rate", "other_rate"))
    if not (top and other) or top + other > 1 or subsample < 1:
        raise UsageError(
            "data_sample_strategy='goss' needs top_rate and other_rate above 0, together at most 1, and subsample=1; "
            f"got {top:g}, {other:g} and {subsample:g}"
        )
    return Sampling(1.0, top, other, int(1.0 / rate), drop, skip)
