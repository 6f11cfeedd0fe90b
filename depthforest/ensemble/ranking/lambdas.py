"""Lambdas: the gradients of RankNet and LambdaRank, and their hessians, query by query.

For every two documents of a query of which i is more relevant than j, with s their scores,

    RankNet      cost_ij = log(1 + exp(-sigma (s_i - s_j)))
                 lambda_ij = dcost_ij / ds_i = -sigma / (1 + exp(sigma (s_i - s_j)))
                 h_ij = d lambda_ij / ds_i = sigma^2 rho (1 - rho),    rho = 1 / (1 + exp(sigma (s_i - s_j)))
    LambdaRank   both times |change of the metric when i and j swap their ranks|

The gradient of a document sums lambda_ij over the pairs that it should win, less those that it should lose. A tree or a
network is fitted to minus the gradient. `metrics` has the metrics, `network` and LambdaMART call `fill_lambdas`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from depthforest.base import Floats, Longs, UsageError, kernel
from depthforest.ensemble.boosting import EXP_LOW, at_least, fast_exp
from depthforest.ensemble.fitting import is_flag, number
from depthforest.ensemble.ranking.groups import (
    EXPONENTIAL,
    LINEAR,
    Starts,
    check_gain,
    check_relevance,
    check_scores,
    gains_of,
    query_starts,
)
from depthforest.ensemble.ranking.metrics import cut_off, dcg_by_query, discounts_of, ranked, stop_chances

METRICS = ("ranknet", "ndcg", "err", "map")
"""What weighs the pairs; "ranknet" weighs all the same."""

RANKNET, NDCG, ERR, MAP = range(len(METRICS))

SCORE_SLACK = 0.01
"""Added to the difference of scores that `normalize` divides by, as in LightGBM."""

_TOGETHER = 512
"""Pairs that are worked out together: they fit the first cache. No result depends on it."""


@dataclass(frozen=True, eq=False)
class PairTargets:
    """What stays the same in every round: grades and the amounts that pairs are weighed with. Made by `pair_targets`.

    Attributes
    ----------
    metric : int
        Index into `METRICS`.
    grades, worths : (n,) float64
        Relevance; and by metric the gain, the chance to stop, or 1 for relevant.
    scales : (n_queries,) float64
        What a change of the metric is multiplied with: 1 over the ideal DCG, 1 over the number of relevant documents.
    starts : (n_queries + 1,) int64
    discounts : (largest query,) float64
    k : int
    sigma : float
    is_normalized : bool
    """

    metric: int
    grades: Floats
    worths: Floats
    scales: Floats
    starts: Starts
    discounts: Floats
    k: int
    sigma: float
    is_normalized: bool

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.starts) - 1


def pair_targets(
    metric: str,
    grades: Floats,
    starts: Starts,
    *,
    k: int | None = None,
    sigma: float = 1.0,
    normalize: bool = False,
    gain: str = EXPONENTIAL,
) -> PairTargets:
    """Return what `fill_lambdas` needs of the training data, once for all rounds.

    Parameters
    ----------
    metric : {"ndcg", "err", "map", "ranknet"}
    grades : (n,) float64
        From `groups.check_relevance`.
    starts : (n_queries + 1,) int64
        From `groups.query_starts`.
    k : int, optional
        Truncation: only pairs count of which at least one document ranks among the first k, as in LightGBM
        (`lambdarank_truncation_level`) and XGBoost (`lambdarank_num_pair_per_sample`). As in LightGBM the ideal DCG is
        that of the first k ranks, while swaps beyond k keep their discounts. All pairs by default.
    sigma : float
        Slope of the logistic function.
    normalize : bool
        As LightGBM's `lambdarank_norm`: the weight of a pair is divided by 0.01 + |s_i - s_j| (unless all scores of the
        query are equal), then gradient and hessian of a query are multiplied with log2(1 + S) / S, S being the sum of
        |lambda_ij| over both documents of all pairs. Queries of many pairs then count for less.
    gain : {"exponential", "linear"}
        Of NDCG.
    """
    if not isinstance(metric, str) or metric not in METRICS:
        raise UsageError(f"metric must be one of {', '.join(METRICS)}; got {metric!r}")
    if not is_flag(normalize):
        raise UsageError(f"normalize must be True or False, got {normalize!r}")
    if number("sigma", sigma, 0) == 0:
        raise UsageError(f"sigma must be above 0, got {sigma!r}")
    code, top = METRICS.index(metric), cut_off(k, len(grades))
    worths, scales = np.zeros(len(grades)), np.ones(len(starts) - 1)
    if code == NDCG:
        worths = gains_of(grades, check_gain(gain))
        scales = _inverse(dcg_by_query(worths, worths, starts, top, "usual", False))
    elif code == ERR:
        worths = stop_chances(check_relevance(grades))
    elif code == MAP:
        worths = (grades > 0).astype(np.float64)
        scales = _inverse(np.add.reduceat(worths, starts[:-1]))
    discounts = discounts_of(int(np.diff(starts).max()))
    return PairTargets(code, grades, worths, scales, starts, discounts, top, float(sigma), bool(normalize))


def _inverse(values: Floats) -> Floats:
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


# -- kernels -----------------------------------------------------------------------------------------------------------


@kernel
def _list_pairs(
    metric: int,
    a: int,
    n: int,
    scores: Floats,
    grades: Floats,
    worths: Floats,
    scale: float,
    discounts: Floats,
    reached: float,
    n_before: float,
    at: int,
    aparts: Floats,
    weights: Floats,
) -> None:
    """List the pairs of the document at rank a with all at lower ranks: how far apart their scores are, and a weight.

    The first goes to place `at`. Scores, grades and worths stand by rank. The weight is what the metric changes by if
    the two change places, below 0 where the lower one is more relevant, 0 where both are the same. What lies between
    two ranks grows by one document at a time: `between` and `passed` are what ERR and MAP need of it.
    """
    score, grade, worth = scores[a], grades[a], worths[a]
    between, passed, n_hits = 0.0, 1.0, n_before + worth
    for b in range(a + 1, n):
        change, other = 1.0, worths[b]
        n_hits += other
        if metric == NDCG:
            change = (worth - other) * (discounts[a] - discounts[b])
        elif metric == ERR:
            # R_a / a + (1 - R_a) (what lies between + none of it stops * R_b / b), with R_a and R_b swapped
            change = (worth - other) * (1.0 / (a + 1) - between - passed / (b + 1)) * reached
            between += passed * other / (b + 1)
            passed *= 1.0 - other
        elif metric == MAP:
            change = 0.0 if worth == other else (n_before + 1.0) / (a + 1) + between - n_hits / (b + 1)
            between += other / (b + 1)
        place = np.uint64(at + b - a - 1)
        aparts[place] = score - scores[b]
        sign = 1.0 if grade > grades[b] else -1.0
        weights[place] = sign * abs(change) * scale if grade != grades[b] else 0.0


@kernel
def _work_out(n: int, sigma: float, slack: float, slope: float, pulls: Floats, bends: Floats) -> None:
    """Replace what `_list_pairs` has written by the pull and the bend of every pair, by vector instructions."""
    for i in range(np.uint64(n)):
        apart, weight = pulls[i], bends[i] / (slack + slope * pulls[i])
        small = fast_exp(at_least(-sigma * apart, EXP_LOW))
        rho = (small if weight > 0 else 1.0) / (1.0 + small)
        pulls[i] = sigma * rho * weight
        bends[i] = sigma * sigma * rho * (1.0 - rho) * abs(weight)


@kernel
def _add_pairs(a: int, n: int, at: int, pulls: Floats, bends: Floats, gradient: Floats, hessian: Floats) -> float:
    """Add the pairs of the document at rank a to the gradients by rank, and return the sum of their |pull|."""
    total, own_gradient, own_hessian = 0.0, gradient[a], hessian[a]
    for b in range(np.uint64(a + 1), np.uint64(n)):
        place = np.uint64(at - a - 1) + b
        pull, bend = pulls[place], bends[place]
        own_gradient -= pull
        own_hessian += bend
        gradient[b] += pull
        hessian[b] += bend
        total += abs(pull)
    gradient[a], hessian[a] = own_gradient, own_hessian
    return total


@kernel
def _fill_query(
    metric: int,
    grades: Floats,
    worths: Floats,
    scale: float,
    discounts: Floats,
    k: int,
    sigma: float,
    is_normalized: bool,
    score: Floats,
    by_rank: Floats,
    pulls: Floats,
    bends: Floats,
    gradient: Floats,
    hessian: Floats,
) -> None:
    """Fill the gradients and hessians of one query.

    As many upper documents as `pulls` and `bends` have room for are worked out together: loops over a few pairs would
    not be vectorized.
    """
    order = ranked(score)
    n = len(order)
    scores, own_grades, own_worths = by_rank[0], by_rank[1], by_rank[2]
    own_gradient, own_hessian = by_rank[3], by_rank[4]
    for i in range(n):
        scores[i], own_grades[i], own_worths[i] = score[order[i]], grades[order[i]], worths[order[i]]
        own_gradient[i], own_hessian[i] = 0.0, 0.0
    slack, slope = (SCORE_SLACK, 1.0) if is_normalized and scores[0] != scores[n - 1] else (1.0, 0.0)
    total, reached, n_before = 0.0, 1.0, 0.0
    nothing = np.int64(0)  # typed: a literal would compile kernels a second time
    first, top = nothing, min(n - 1, k)
    while first < top:
        last, used = first, nothing
        while last < top and used + n - 1 - last <= len(pulls):
            _list_pairs(
                metric, last, n, scores, own_grades, own_worths, scale, discounts, reached, n_before, used,
                pulls, bends,
            )  # fmt: skip
            reached *= 1.0 - own_worths[last]
            n_before += own_worths[last]
            used += n - 1 - last
            last += 1
        _work_out(used, sigma, slack, slope, pulls, bends)
        used = nothing
        for a in range(first, last):
            total += 2.0 * _add_pairs(a, n, used, pulls, bends, own_gradient, own_hessian)
            used += n - 1 - a
        first = last
    factor = math.log2(1.0 + total) / total if is_normalized and total > 0.0 else 1.0
    for i in range(n):
        gradient[order[i]], hessian[order[i]] = own_gradient[i] * factor, own_hessian[i] * factor


@kernel
def _fill_queries(
    metric: int,
    grades: Floats,
    worths: Floats,
    scales: Floats,
    starts: Starts,
    discounts: Floats,
    k: int,
    sigma: float,
    is_normalized: bool,
    queries: Longs,
    score: Floats,
    gradient: Floats,
    hessian: Floats,
) -> None:
    by_rank = np.empty((5, len(discounts)))
    room = max(len(discounts), _TOGETHER)
    pulls, bends = np.empty(room), np.empty(room)
    for i in range(len(queries)):
        q = queries[i]
        begin, end = starts[q], starts[q + 1]
        _fill_query(
            metric, grades[begin:end], worths[begin:end], scales[q], discounts, k, sigma, is_normalized,
            score[begin:end], by_rank, pulls, bends, gradient[begin:end], hessian[begin:end],
        )  # fmt: skip


# -- what learners and users call --------------------------------------------------------------------------------------


def fill_lambdas(
    targets: PairTargets,
    score: Floats,
    gradient: Floats,
    hessian: Floats,
    queries: Longs | None = None,
) -> None:
    """Fill gradient and hessian of the rows of queries; rows of other queries are not touched.

    Queries don't depend on each other, so that blocks of them may be filled by several threads.

    Parameters
    ----------
    targets : PairTargets
    score : (n,) float64
        Finite.
    gradient, hessian : (n,) float64
        Filled: dcost / dscore, which sums to 0 in a query; and its derivative by the same score, 0 or more.
    queries : (m,) int64, optional
        Which ones; all by default.
    """
    n = len(targets.grades)
    for array in (score, gradient, hessian):
        if array.dtype != np.float64 or array.shape != (n,) or not array.flags.c_contiguous:
            raise UsageError(
                f"score, gradient and hessian must be float64 of shape ({n},), got {array.dtype} {array.shape}"
            )
    if queries is None:
        queries = np.arange(targets.n_queries, dtype=np.int64)
    elif queries.dtype != np.int64 or (len(queries) and not 0 <= queries.min() <= queries.max() < targets.n_queries):
        raise UsageError(f"queries must be int64 from 0 to {targets.n_queries - 1}, got {queries}")
    _fill_queries(
        targets.metric, targets.grades, targets.worths, targets.scales, targets.starts, targets.discounts, targets.k,
        targets.sigma, targets.is_normalized, queries, score, gradient, hessian,
    )  # fmt: skip


def lambda_gradients(
    y: Any,
    score: Any,
    *,
    qid: Any = None,
    metric: str = "ndcg",
    k: int | None = None,
    sigma: float = 1.0,
    normalize: bool = False,
    gain: str = EXPONENTIAL,
) -> tuple[Floats, Floats]:
    """Return (gradient, hessian) of the cost by the scores, each (n,) float64: descend to rank better.

    Parameters
    ----------
    y, score, qid
        As of `ranking.ndcg`; relevance must be whole numbers from 0, up to 31 for exponential gains and ERR.
    metric : {"ndcg", "err", "map", "ranknet"}
        What a pair weighs: the change of this metric when its two documents swap ranks; 1 for "ranknet".
    k, sigma, normalize, gain
        As of `lambdas.pair_targets`.

    Returns
    -------
    gradient, hessian : (n,) float64 array
    """
    grades = check_relevance(y, gain=gain if metric == "ndcg" else LINEAR)
    starts = query_starts(qid, len(grades))
    targets = pair_targets(metric, grades, starts, k=k, sigma=sigma, normalize=normalize, gain=gain)
    gradient, hessian = np.empty(len(grades)), np.empty(len(grades))
    fill_lambdas(targets, check_scores(score, len(grades)), gradient, hessian)
    return gradient, hessian


def ranknet_cost(y: Any, score: Any, *, qid: Any = None, sigma: float = 1.0) -> float:
    """Return RankNet's cost: the sum over pairs of log(1 + exp(-sigma (s_i - s_j))), i more relevant than j.

    Its gradient is `lambda_gradients(..., metric="ranknet")`.

    Parameters
    ----------
    y, score, qid, sigma
        As of `lambda_gradients`.

    Returns
    -------
    float
    """
    grades = check_relevance(y, gain=LINEAR)
    scores, starts = check_scores(score, len(grades)), query_starts(qid, len(grades))
    total = 0.0
    for begin, end in pairwise(starts):
        own, grade = scores[begin:end], grades[begin:end]
        for i in range(len(own)):  # one document at a time: all pairs at once would need their square in memory
            total += float(np.logaddexp(0.0, -sigma * (own[i] - own[grade < grade[i]])).sum())
    return total
