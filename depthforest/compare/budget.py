"""Settings and budget of `compare`: the cost allowed for each learner, and the size that it buys.

A learner is a function from a size n to a fitted model; n counts members, rounds or candidates. `spend` fits growing
sizes, each about `STEP` times as expensive as the one before, extrapolates the line through the last two, and fits the
size that should cost the budget. This module imports nothing heavy, so that the command line can show the defaults at
once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from depthforest.base import UsageError, check_range

SECONDS = 30.0
"""Default budget of a fit in processor seconds: a minute or two per learner, including search and evaluation."""

STEP = 5.0
"""A fit costs about this many times the one before it, so the whole search costs about a third of the last fit."""

ENOUGH, TOO_MUCH = 0.85, 1.1
"""A fit whose cost lies between these shares of the budget counts as on budget: times of equal fits vary by a few
percent."""

NEAR, MAX_NEAR = 0.7, 3
"""Most fits close to the budget: one that aims at it, and two corrections."""

MAX_JUMP = 64
"""A size is at most this many times the one before: the line through two cheap fits may be nearly flat."""

MAX_FITS = 9
"""Most fits of one learner: seven reach any budget from a ten-thousandth of it, two more correct."""

JUMP, GROWTH = 16, 1.05
"""A learner whose cost grows by less than this over three fits, while its size grows by so much, has stopped by itself.
The cost is bytes, and time if it is budgeted. Two fits are not enough, because fixed costs hide the cost of the first
steps."""


class Costs(Protocol):
    """The cost of a fit."""

    @property
    def n(self) -> int:
        """Size."""

    @property
    def fit_seconds(self) -> float:
        """Processor time."""

    @property
    def n_bytes(self) -> int:
        """Size of the model in bytes."""


_F = TypeVar("_F", bound=Costs)


@dataclass(frozen=True)
class CompareSettings:
    """Settings that all learners share, besides the budget.

    Parameters
    ----------
    pixels : int
        Total number of training pixels.
    probes : int
        Pairs of probes in the pool: columns of the table.
    frames : int
        Most training frames.
    test_frames : int
        Most test frames.
    held_out : float
        Share of the frames held out for testing if there is no test set.
    seed : int
        The same seed draws the same pixels and frames.
    """

    pixels: int = 100_000
    probes: int = 200
    frames: int = 2000
    test_frames: int = 100
    held_out: float = 0.2
    seed: int = 0

    def __post_init__(self) -> None:
        for name, low, high in (
            ("pixels", 1, 10**9),
            ("probes", 1, 100_000),
            ("frames", 1, 10**9),
            ("test_frames", 1, 10**9),
            ("held_out", 0, 1),
            ("seed", 0, 2**31 - 1),
        ):
            check_range(name, getattr(self, name), low, high)


@dataclass(frozen=True)
class Budget:
    """Budget of every learner; entries of None do not count.

    Parameters
    ----------
    seconds : float, optional
        Processor time of the fit.
    megabytes : float, optional
        Size of the fitted model, in millions of bytes.
    rounds : int, optional
        A fixed size for all learners instead; needs no search, and is exactly reproducible.
    """

    seconds: float | None = None
    megabytes: float | None = None
    rounds: int | None = None

    def __post_init__(self) -> None:
        given = [value for value in (self.seconds, self.megabytes, self.rounds) if value is not None]
        if not given:
            raise UsageError("a comparison needs a budget: seconds, megabytes or both; or rounds")
        if self.rounds is not None and len(given) > 1:
            raise UsageError("rounds is a fixed size; leave out seconds and megabytes")
        for value in given:
            if not 0 < value < math.inf:
                raise UsageError(f"a budget must be a number above 0, got {value}")

    def spent(self, fit: Costs) -> float:
        """Return the share of the budget that a fit has spent: the largest over all budgets."""
        return max(cost(fit) / limit for cost, limit in self._limits())

    def is_over(self, fit: Costs) -> bool:
        """Tell whether a fit has cost more than the budget."""
        return self.rounds is None and self.spent(fit) > TOO_MUCH

    def next_size(self, fits: Sequence[Costs], share: float) -> int:
        """Return the size that should cost this share of the budget, by the line through the last two fits."""
        return min(_size_for(share * limit, fits, cost) for cost, limit in self._limits())

    def _limits(self) -> Iterator[tuple[Callable[[Costs], float], float]]:
        if self.seconds is not None:
            yield (lambda fit: fit.fit_seconds), self.seconds
        if self.megabytes is not None:
            yield (lambda fit: fit.n_bytes), 1e6 * self.megabytes


def spend(budget: Budget, fit: Callable[[int], _F], *, is_single: bool = False) -> tuple[list[_F], _F]:
    """Fit a learner of a size that costs the budget.

    Parameters
    ----------
    budget : Budget
    fit : callable
        From a size to the fitted model, with its cost.
    is_single : bool
        The learner has no size: it is fitted once.

    Returns
    -------
    fits : list
        All fits, in order.
    chosen : one of them
        The largest within the budget; if none is, the smallest.
    """
    if budget.rounds is not None or is_single:
        only = fit(1 if is_single else budget.rounds or 1)
        return [only], only
    fits = [fit(1)]
    while len(fits) < MAX_FITS and (n := _next(budget, fits)) is not None:
        fits.append(fit(n))
    affordable = [f for f in fits if budget.spent(f) <= TOO_MUCH]
    return fits, max(affordable, key=lambda f: f.n) if affordable else min(fits, key=lambda f: f.n)


def _next(budget: Budget, fits: Sequence[Costs]) -> int | None:
    """Return the size to fit next, or None if the budget is spent as well as it can be."""
    last, spent = fits[-1], budget.spent(fits[-1])
    if ENOUGH <= spent <= TOO_MUCH or sum(budget.spent(f) >= NEAR for f in fits) >= MAX_NEAR:
        return None
    if spent < ENOUGH and len(fits) > 2 and _has_stopped(budget, fits[-3], last):
        return None
    n = budget.next_size(fits, 1.0 if spent >= 1 / STEP else STEP * spent)
    if spent < ENOUGH:
        # at least one more, but less than a size that was over budget before
        n = max(n, last.n + 1)
        too_large = [f.n for f in fits if budget.spent(f) > TOO_MUCH]
        n = min(n, min(too_large, default=n + 1) - 1)
        return n if n > last.n else None
    n = min(n, last.n - 1)
    return n if n > max((f.n for f in fits if budget.spent(f) <= TOO_MUCH), default=0) else None


def _has_stopped(budget: Budget, before: Costs, last: Costs) -> bool:
    has_time_stopped = budget.seconds is None or last.fit_seconds < GROWTH * before.fit_seconds
    return last.n >= JUMP * before.n and last.n_bytes < GROWTH * before.n_bytes and has_time_stopped


def _size_for(limit: float, fits: Sequence[Costs], cost: Callable[[Costs], float]) -> int:
    """Return the largest size whose cost should be within the limit."""
    last = fits[-1]
    start, slope = 0.0, cost(last) / last.n
    if len(fits) > 1 and last.n != fits[-2].n:
        line = (cost(last) - cost(fits[-2])) / (last.n - fits[-2].n)
        if line > 0:
            start, slope = max(0.0, cost(last) - line * last.n), line
    n = MAX_JUMP * last.n if slope <= 0 else (limit - start) / slope
    return max(1, int(min(n, MAX_JUMP * last.n)))
