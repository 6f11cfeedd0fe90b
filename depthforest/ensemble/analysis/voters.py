"""The theory of voters: how often the majority of T voters is wrong, exactly, as a bound, and by simulation.

A voter is wrong with some probability, its error. Two voters are correlated if they tend to be wrong on the same cases.
The model also defines how correlation arises, in the same way in the exact formulas and in the simulation:

- positive: every case has its own difficulty, the probability with which *any* voter is wrong on it, drawn from a
  beta distribution whose mean is the error; given the case, voters are independent. The number of wrong votes is
  beta-binomial, and the correlation of two voters is 1 / (a + b + 1) for a beta distribution with parameters a, b.
- negative: in some share of the cases the wrong votes are spread so evenly that their number is the floor or the
  ceiling of T times the error; in the others, voters are independent. No distribution has less variance, so this
  reaches the lowest correlation that T voters can have.

Nothing here depends on data; `reporting` compares a fitted ensemble with it, `plots` draws it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from depthforest.base import Floats, UsageError
from depthforest.ensemble.analysis.checking import Flags, between, finite, whole_number

TIES = {"error": 1.0, "right": 0.0, "coin": 0.5}
"""The share of ties that counts as wrong, by rule."""

VOTES_AT_ONCE = 2**22
"""Size of one draw: 32 MB of random numbers."""


@dataclass(frozen=True)
class SimulatedVote:
    """The result of a simulation of voters.

    Parameters
    ----------
    error : float
        Share of the cases on which the majority was wrong.
    standard_error : float
        Standard error of that share, for independent cases.
    member_error : float
        Share of single votes that were wrong.
    correlation : float
        Of two voters, all pairs pooled; NaN for one voter or if votes never differ.
    """

    error: float
    standard_error: float
    member_error: float
    correlation: float


def wrong_vote_probabilities(n_voters: int, error: Any, *, correlation: float = 0.0) -> Floats:
    """Return the probability of each number of wrong votes, from none to all.

    Parameters
    ----------
    n_voters : int
        T, at least 1.
    error : float or array (n_voters,)
        The probability with which a voter is wrong. Voters with different errors must be independent.
    correlation : float
        Of two voters; the docstring of the module says how it arises.

    Returns
    -------
    array (n_voters + 1,), float64
    """
    n = whole_number(n_voters, "n_voters", least=1)
    if np.ndim(error):
        return _unequal_voters(n, error, correlation)
    p, rho = _checked_correlation(n, error, correlation)
    if rho == 1:
        return np.concatenate([[1 - p], np.zeros(n - 1), [p]])
    if rho >= 0:
        return _beta_binomial(n, p, rho)
    share = rho / lowest_correlation(n, p)
    return share * _least_variance(n, p) + (1 - share) * _beta_binomial(n, p, 0.0)


def majority_error(n_voters: int, error: Any, *, correlation: float = 0.0, tie: str | None = None) -> float:
    """Return the exact probability that the majority of the voters is wrong.

    For independent voters of error p: the sum over t > T/2 of C(T, t) p^t (1 - p)^(T - t).

    Parameters
    ----------
    n_voters, error, correlation
        As in `wrong_vote_probabilities`.
    tie : {"error", "right", "coin"}, optional
        How a tie, half of the voters wrong, counts: as an error, as right, or half of each. Required for an even
        number of voters; an odd number has no ties.
    """
    probabilities = wrong_vote_probabilities(n_voters, error, correlation=correlation)
    share = _tie_share(n_voters, tie)
    half = n_voters // 2
    beyond = float(probabilities[half + 1 :].sum())
    return min(1.0, beyond + (share * float(probabilities[half]) if n_voters % 2 == 0 else 0.0))


def hoeffding_bound(n_voters: int, error: float, *, tie: str | None = None) -> float:
    """Return a bound on the majority error of independent voters: exp(-2 T (1/2 - p)^2) / 2.

    It is Hoeffding's inequality [1]_, halved. Halving is valid if, by symmetry, errors of 1/2 give a majority error of
    1/2: for odd T, and for even T if ties count as right or are decided by a coin. If ties are errors, the bound is
    exp(-2 T (1/2 - p)^2).

    Parameters
    ----------
    n_voters : int
        T, at least 1.
    error : float
        p, at most 1/2: worse voters do worse together, and no such bound holds.
    tie : {"error", "right", "coin"}, optional
        As in `majority_error`.

    References
    ----------
    .. [1] W. Hoeffding, "Probability inequalities for sums of bounded random variables", Journal of the American
       Statistical Association 58 (1963), 13-30.
    """
    n = whole_number(n_voters, "n_voters", least=1)
    p = between(error, "error", 0, 1)
    if p > 0.5:
        raise UsageError(f"the bound holds for voters with an error of at most 0.5, got {p:g}: use majority_error")
    share = _tie_share(n, tie)
    factor = 1.0 if n % 2 == 0 and share == 1 else 0.5
    return factor * math.exp(-2 * n * (0.5 - p) ** 2)


def lowest_correlation(n_voters: int, error: float) -> float:
    """Return the lowest correlation that this many voters of equal error can have, the same for all pairs.

    The number of wrong votes has variance T p (1 - p) (1 + (T - 1) rho). As a whole number with mean T p, it cannot
    have less than f (1 - f), where f is the fractional part of T p.
    """
    n = whole_number(n_voters, "n_voters", least=2)
    p = between(error, "error", 0, 1)
    if p in (0, 1):
        raise UsageError(f"voters that are always or never wrong have no correlation, got the error {p:g}")
    fraction = n * p - math.floor(n * p)
    return (fraction * (1 - fraction) / (n * p * (1 - p)) - 1) / (n - 1)


def draw_voters(
    n_voters: int, error: float, *, correlation: float = 0.0, n_cases: int = 10_000, random_state: Any = None
) -> Flags:
    """Return simulated votes, True if a voter is wrong.

    Parameters
    ----------
    n_voters, error, correlation
        As in `wrong_vote_probabilities`; here all voters have the same error.
    n_cases : int
        Number of cases they vote on.
    random_state : int, RandomState or None

    Returns
    -------
    array (n_voters, n_cases), bool
    """
    n = whole_number(n_voters, "n_voters", least=1)
    n_cases = whole_number(n_cases, "n_cases", least=1)
    p, rho = _checked_correlation(n, error, correlation)
    rng = check_random_state(random_state)
    wrong = np.empty((n, n_cases), dtype=np.bool_)
    step = max(1, VOTES_AT_ONCE // n)
    for start in range(0, n_cases, step):
        part = wrong[:, start : start + step]
        if rho < 0:
            part[:] = _draw_evenly(n, p, rho / lowest_correlation(n, p), part.shape[1], rng)
        else:
            part[:] = rng.random_sample(part.shape) < _draw_difficulties(p, rho, part.shape[1], rng)
    return wrong


def simulate_majority(
    n_voters: int,
    error: float,
    *,
    correlation: float = 0.0,
    tie: str | None = None,
    n_cases: int = 10_000,
    random_state: Any = None,
) -> SimulatedVote:
    """Return how often the majority of simulated, correlated voters is wrong; parameters as in `draw_voters`."""
    share = _tie_share(whole_number(n_voters, "n_voters", least=1), tie)
    wrong = draw_voters(n_voters, error, correlation=correlation, n_cases=n_cases, random_state=random_state)
    twice = 2 * wrong.sum(axis=0)
    outcome = float((twice > n_voters).mean() + share * (twice == n_voters).mean())
    return SimulatedVote(
        error=outcome,
        standard_error=math.sqrt(outcome * (1 - outcome) / n_cases),
        member_error=float(wrong.mean()),
        correlation=pooled_correlation(wrong),
    )


def pooled_correlation(wrong: Flags) -> float:
    """Return the correlation of two voters from (n_voters, n_cases) flags: mean covariance over mean variance."""
    n = len(wrong)
    member = wrong.mean(axis=1)
    variance = float((member * (1 - member)).sum())
    if n < 2 or variance == 0:
        return math.nan
    return float((wrong.sum(axis=0).var() - variance) / ((n - 1) * variance))


def _tie_share(n_voters: int, tie: str | None) -> float:
    if tie is None:
        if n_voters % 2 == 0:
            raise UsageError(
                f"{n_voters} voters can tie: set tie='error', tie='right' or tie='coin', or use an odd number"
            )
        return 0.0
    if tie not in TIES:
        raise UsageError(f"tie must be 'error', 'right' or 'coin', got {tie!r}")
    return TIES[tie]


def _checked_correlation(n: int, error: Any, correlation: Any) -> tuple[float, float]:
    p = between(error, "error", 0, 1)
    rho = between(correlation, "correlation", -1, 1)
    if rho == 0:
        return p, rho
    if p in (0, 1):
        raise UsageError(f"voters of error {p:g} never differ: the correlation must be 0, got {rho:g}")
    if rho < 0:
        lowest = lowest_correlation(n, p) if n > 1 else 0.0
        if rho < lowest:
            raise UsageError(
                f"{n} voters of error {p:g} cannot have the correlation {rho:g}: the lowest is {lowest:.6g}"
            )
    return p, rho


def _beta_binomial(n: int, p: float, rho: float) -> Floats:
    """Return C(n, k) prod_{i<k} (p + i t) prod_{j<n-k} (1 - p + j t) / prod_{l<n} (1 + l t), with t = rho / (1 - rho).

    This form is the binomial distribution at rho = 0 and exact near it, where the usual form with beta functions loses
    all its digits.
    """
    steps = np.arange(n) * (rho / (1 - rho))
    with np.errstate(divide="ignore"):  # the logarithm of 0 if p is 0 or 1
        wrong, right = (np.concatenate([[0.0], np.cumsum(np.log(start + steps))]) for start in (p, 1 - p))
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    choices = factorials[-1] - factorials - factorials[::-1]
    return np.asarray(np.exp(choices + wrong + right[::-1] - np.log1p(steps).sum()))


def _least_variance(n: int, p: float) -> Floats:
    """Return the distribution of wrong votes with the least variance: on the floor and the ceiling of n p."""
    low = math.floor(n * p)
    probabilities = np.zeros(n + 1)
    probabilities[low] = 1 - (n * p - low)
    probabilities[min(low + 1, n)] += n * p - low
    return probabilities


def _unequal_voters(n: int, error: Any, correlation: float) -> Floats:
    """Return the distribution of wrong votes of independent voters, each with its own error."""
    errors = np.asarray(error)
    if errors.shape != (n,):
        raise UsageError(f"error must be one number or have the shape ({n},), got the shape {errors.shape}")
    errors = finite(errors, "error")
    if errors.min() < 0 or errors.max() > 1:
        raise UsageError(f"errors must be from 0 to 1, got {errors.min():g} to {errors.max():g}")
    if correlation != 0:
        raise UsageError(f"voters of different errors must be independent here, got the correlation {correlation:g}")
    probabilities = np.ones(1)
    for p in errors:
        probabilities = np.convolve(probabilities, [1 - p, p])
    return probabilities


def _draw_difficulties(p: float, rho: float, n_cases: int, rng: np.random.RandomState) -> Floats:
    """Return the probability that a voter is wrong on each case, (n_cases,)."""
    if rho == 0:
        return np.full(n_cases, p)
    if rho == 1:
        return (rng.random_sample(n_cases) < p).astype(np.float64)
    total = 1 / rho - 1
    return np.asarray(rng.beta(p * total, (1 - p) * total, size=n_cases))


def _draw_evenly(n: int, p: float, share: float, n_cases: int, rng: np.random.RandomState) -> Flags:
    """Return wrong votes that are spread evenly in a share of the cases and independent in the others."""
    low = math.floor(n * p)
    counts = low + (rng.random_sample(n_cases) < n * p - low)
    order = rng.random_sample((n, n_cases)).argsort(axis=0).argsort(axis=0)
    independent = rng.random_sample((n, n_cases)) < p
    is_even = rng.random_sample(n_cases) < share
    return np.where(is_even, order < counts, independent)
