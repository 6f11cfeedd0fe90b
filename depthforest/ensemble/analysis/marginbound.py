"""The margin bound with diversity: why diverse members generalize better. Computed from the margins of `margins`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from depthforest.base import UsageError
from depthforest.ensemble.analysis.checking import between, checked_votes, whole_number
from depthforest.ensemble.analysis.margins import vote_margins


@dataclass(frozen=True)
class MarginBound:
    """The parts of the bound for one vote.

    Parameters
    ----------
    bound : float
        `margin_error` + the complexity term; vacuous if 1 or more.
    margin_error : float
        Share of training samples with a margin of at most theta.
    diversity : float
        q: 1 minus the mean over pairs of members of the mean product of their votes (-1 or 1), which is twice their
        mean disagreement.
    """

    bound: float
    margin_error: float
    diversity: float


def margin_bound(
    margin_error: float,
    diversity: float,
    *,
    n_members: int,
    n_samples: int,
    theta: float,
    delta: float = 0.05,
    constant: float = 1.0,
) -> float:
    """Return a bound on the error of a vote from its margins and the diversity of its members.

    With probability 1 - delta over training samples [1]_,

        err <= err_S^theta + C / sqrt(m) * sqrt(ln n ln(m sqrt(1/n + (1 - 1/n)(1 - q))) / theta^2 + ln(1/delta)).

    It holds for two classes and n members with equal votes. More diversity q reduces the second term.

    Parameters
    ----------
    margin_error : float
        err_S^theta, the share of the training samples whose margin is at most theta.
    diversity : float
        q, from 0 (all members identical) to below n / (n - 1), where members cancel each other out.
    n_members, n_samples : int
        n, at least 2, and m, at least 1.
    theta : float
        Above 0, at most 1.
    delta : float
        Above 0, below 1.
    constant : float
        C: a universal constant whose value the theorem does not give. With the default of 1 the result can compare
        ensembles on the same data, but it is not a guarantee.

    References
    ----------
    .. [1] N. Li, Y. Yu, Z.-H. Zhou, "Diversity regularized ensemble pruning", European Conference on Machine Learning
       and Knowledge Discovery in Databases (2012), 330-345.
    """
    n, m = whole_number(n_members, "n_members", least=2), whole_number(n_samples, "n_samples", least=1)
    error = between(margin_error, "margin_error", 0, 1)
    q = between(diversity, "diversity", 0, n / (n - 1))
    theta, delta = between(theta, "theta", 0, 1), between(delta, "delta", 0, 1)
    constant = between(constant, "constant", 0, math.inf)
    if theta == 0:
        raise UsageError("theta must be above 0: the bound divides by its square")
    if delta in (0, 1):
        raise UsageError(f"delta must be above 0 and below 1, got {delta:g}")
    if not 0 < constant < math.inf:
        raise UsageError(f"constant must be above 0 and finite, got {constant:g}")
    inner = m * math.sqrt(max(0.0, 1 / n + (1 - 1 / n) * (1 - q)))
    if inner < 1:
        raise UsageError(
            f"the bound is not defined for a diversity of {q:g} of {n} members on {m} samples: "
            f"m sqrt(1/n + (1 - 1/n)(1 - q)) must be at least 1, got {inner:g}"
        )
    return error + constant / math.sqrt(m) * math.sqrt(math.log(n) * math.log(inner) / theta**2 - math.log(delta))


def vote_margin_bound(
    predictions: Any, y: Any, *, theta: float, delta: float = 0.05, constant: float = 1.0
) -> MarginBound:
    """Return `margin_bound` for the equal vote of members on their training samples, of two classes.

    Parameters
    ----------
    predictions : array (n_members, n_samples)
        Labels that each member predicts for the training samples.
    y : array (n_samples,)
        Their true labels.
    theta, delta, constant
        As in `margin_bound`.
    """
    votes = checked_votes(predictions, y)
    if votes.n_classes > 2:
        raise UsageError(
            f"the margin bound holds for two classes, got {votes.n_classes}: compare one class with the rest"
        )
    n, m = votes.answers.shape
    total = (2.0 * votes.right - 1).sum(axis=0)  # right and wrong instead of the two labels: the products are the same
    # the products of all ordered pairs are the squared sums minus the n squares of single votes
    diversity = 1 - float((total**2 - n).mean()) / (n * (n - 1))
    error = float(np.mean(vote_margins(predictions, y) <= theta))
    bound = margin_bound(error, diversity, n_members=n, n_samples=m, theta=theta, delta=delta, constant=constant)
    return MarginBound(bound, error, diversity)
