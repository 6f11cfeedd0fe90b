"""Lambdas: the gradients and hessians of RankNet and LambdaRank, query by query.

For every pair of documents of a query with scores s, where i is more relevant than j,

    RankNet      cost_ij = log(1 + exp(-sigma (s_i - s_j)))
                 lambda_ij = dcost_ij / ds_i = -sigma / (1 + exp(sigma (s_i - s_j)))
                 h_ij = d lambda_ij / ds_i = sigma^2 rho (1 - rho),    rho = 1 / (1 + exp(sigma (s_i - s_j)))
    LambdaRank   both times |change of the metric if i and j swapped ranks|

The gradient of a document is the sum of lambda_ij over the pairs in which it is the more relevant one, minus the sum
over the others. Trees and networks are fitted to the negative gradient. `metrics` has the metrics; `network` and
LambdaMART call `fill_lambdas`.
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
"""Metrics whose change weighs the pairs; "ranknet" weighs all equally."""

RANKNET, NDCG, ERR, MAP = range(len(METRICS))

SCORE_SLACK = 0.01
"""Added to the score difference that `normalize` divides by, as in LightGBM."""

_TOGETHER = 512
"""Pairs that are computed together: they fit the first-level cache. No result depends on it."""


@dataclass(frozen=True, eq=False)
class PairTargets:
    """What stays the same in every round: grades, and the factors of the pair weights. Made by `pair_targets`.

    Attributes
    ----------
    metric : int
        Index into `METRICS`.
    grades, worths : (n,) float64
        Relevance; and, depending on the metric, the gain, the stopping probability, or 1 for relevant.
    scales : (n_queries,) float64
        Factor of a change of the metric: 1 / ideal DCG, or 1 / number of relevant documents.
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
    """Return the inputs of `fill_lambdas` that do not change between rounds.

    Parameters
    ----------
    metric : {"ndcg", "err", "map", "ranknet"}
    grades : (n,) float64
        From `groups.check_relevance`.
    starts : (n_queries + 1,) int64
        From `groups.query_starts`.
    k : int, optional
        Truncation: only pairs with at least one document among the first k ranks count, as in LightGBM
        (`lambdarank_truncation_level`) and XGBoost (`lambdarank_num_pair_per_sample`). As in LightGBM, the ideal DCG is
        that of the first k ranks, while swaps beyond k keep their discounts. All pairs by default.
    sigma : float
        Slope of the logistic function.
    normalize : bool
        As LightGBM's `lambdarank_norm`: the weight of a pair is divided by 0.01 + |s_i - s_j| (unless all scores of the
        query are equal), then gradient and hessian of a query are multiplied by log2(1 + S) / S, where S is the sum of
        |lambda_ij| over both documents of all pairs. So queries with many pairs weigh less.
    gain : {"exponential", "linear"}
        Gain of NDCG.
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
    gaps: Floats,
    weights: Floats,
) -> None:
    """List the pairs of the document at rank a with all lower ranks: the score difference and a weight of each.

    The first pair goes to index `at`. Scores, grades and worths are sorted by rank. The weight is the change of the
    metric if the two swapped ranks: negative if the lower one is more relevant, 0 if both are equally relevant.
    `between` and `passed` accumulate, document by document, what ERR and MAP need of the ranks between the two.
    """
    score, grade, worth = scores[a], grades[a], worths[a]
    between, passed, n_hits = 0.0, 1.0, n_before + worth
    for b in range(a + 1, n):
        change, other = 1.0, worths[b]
        n_hits += other
        if metric == NDCG:
            change = (worth - other) * (discounts[a] - discounts[b])
        elif metric == ERR:
            # R_a / a + (1 - R_a) (terms between + P(none between stops) * R_b / b), minus the same with R_a and R_b
            # swapped
            change = (worth - other) * (1.0 / (a + 1) - between - passed / (b + 1)) * reached
            between += passed * other / (b + 1)
            passed *= 1.0 - other
        elif metric == MAP:
            change = 0.0 if worth == other else (n_before + 1.0) / (a + 1) + between - n_hits / (b + 1)
            between += other / (b + 1)
        place = np.uint64(at + b - a - 1)
        gaps[place] = score - scores[b]
        sign = 1.0 if grade > grades[b] else -1.0
        weights[place] = sign * abs(change) * scale if grade != grades[b] else 0.0


@kernel
def _derive_pairs(
    n: int, sigma: float, slack: float, slope: float, pair_lambdas: Floats, pair_hessians: Floats
) -> None:
    """Replace score differences and weights from `_list_pairs` by each pair's lambda and hessian, vectorized."""
    for i in range(np.uint64(n)):
        gap, weight = pair_lambdas[i], pair_hessians[i] / (slack + slope * pair_lambdas[i])
        small = fast_exp(at_least(-sigma * gap, EXP_LOW))
        rho = (small if weight > 0 else 1.0) / (1.0 + small)
        pair_lambdas[i] = sigma * rho * weight
        pair_hessians[i] = sigma * sigma * rho * (1.0 - rho) * abs(weight)


@kernel
def _add_pairs(
    a: int, n: int, at: int, pair_lambdas: Floats, pair_hessians: Floats, gradient: Floats, hessian: Floats
) -> float:
    """Add the pairs of the document at rank a to the gradients by rank, and return the sum of their |lambda|."""
    total, own_gradient, own_hessian = 0.0, gradient[a], hessian[a]
    for b in range(np.uint64(a + 1), np.uint64(n)):
        place = np.uint64(at - a - 1) + b
        pair_lambda, pair_hessian = pair_lambdas[place], pair_hessians[place]
        own_gradient -= pair_lambda
        own_hessian += pair_hessian
        gradient[b] += pair_lambda
        hessian[b] += pair_hessian
        total += abs(pair_lambda)
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
    pair_lambdas: Floats,
    pair_hessians: Floats,
    gradient: Floats,
    hessian: Floats,
) -> None:
    """Fill the gradients and hessians of one query.

    As many upper documents as `pair_lambdas` and `pair_hessians` have room for are computed together, because loops
    over a few pairs would not be vectorized.
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
    nothing = np.int64(0)  # typed, because a literal would compile kernels a second time
    first, top = nothing, min(n - 1, k)
    while first < top:
        last, used = first, nothing
        while last < top and used + n - 1 - last <= len(pair_lambdas):
            _list_pairs(
                metric, last, n, scores, own_grades, own_worths, scale, discounts, reached, n_before, used,
                pair_lambdas, pair_hessians,
            )  # fmt: skip
            reached *= 1.0 - own_worths[last]
            n_before += own_worths[last]
            used += n - 1 - last
            last += 1
        _derive_pairs(used, sigma, slack, slope, pair_lambdas, pair_hessians)
        used = nothing
        for a in range(first, last):
            total += 2.0 * _add_pairs(a, n, used, pair_lambdas, pair_hessians, own_gradient, own_hessian)
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
    pair_lambdas, pair_hessians = np.empty(room), np.empty(room)
    for i in range(len(queries)):
        q = queries[i]
        begin, end = starts[q], starts[q + 1]
        _fill_query(
            metric, grades[begin:end], worths[begin:end], scales[q], discounts, k, sigma, is_normalized,
            score[begin:end], by_rank, pair_lambdas, pair_hessians, gradient[begin:end], hessian[begin:end],
        )  # fmt: skip


# -- for learners and users --------------------------------------------------------------------------------------------


def fill_lambdas(
    targets: PairTargets,
    score: Floats,
    gradient: Floats,
    hessian: Floats,
    queries: Longs | None = None,
) -> None:
    """Fill gradient and hessian of the rows of some queries; other rows are not touched.

    Queries are independent, so several threads may fill blocks of them.

    Parameters
    ----------
    targets : PairTargets
    score : (n,) float64
        Finite.
    gradient, hessian : (n,) float64
        Filled with dcost / dscore, which sums to 0 in a query, and its derivative by the same score, 0 or more.
    queries : (m,) int64, optional
        Indices of the queries; all by default.
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
    """Return (gradient, hessian) of the cost with respect to the scores, each (n,) float64.

    Parameters
    ----------
    y, score, qid
        As in `ranking.ndcg`; relevance must be whole numbers from 0, up to 31 for exponential gains and ERR.
    metric : {"ndcg", "err", "map", "ranknet"}
        Weight of a pair: the change of this metric if its two documents swapped ranks; 1 for "ranknet".
    k, sigma, normalize, gain
        As in `lambdas.pair_targets`.

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
    """Return RankNet's cost: the sum over pairs of log(1 + exp(-sigma (s_i - s_j))) where i is more relevant than j.

    Its gradient is `lambda_gradients(..., metric="ranknet")`.

    Parameters
    ----------
    y, score, qid, sigma
        As in `lambda_gradients`.

    Returns
    -------
    float
    """
    grades = check_relevance(y, gain=LINEAR)
    scores, starts = check_scores(score, len(grades)), query_starts(qid, len(grades))
    total = 0.0
    for begin, end in pairwise(starts):
        own, grade = scores[begin:end], grades[begin:end]
        for i in range(len(own)):  # one document at a time, because all pairs at once need quadratic memory
            total += float(np.logaddexp(0.0, -sigma * (own[i] - own[grade < grade[i]])).sum())
    return total
