"""Metrics of rankings: DCG, NDCG, ERR and average precision, query by query.

Documents with equal scores have no order. By default each metric is its expected value over all their orders, computed
exactly (`ties="mean"`, as scikit-learn does for DCG); with `ties="order"` the earlier row ranks first (as in LightGBM).
`groups` defines queries and grades.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from depthforest.base import Floats, Longs, UsageError, kernel
from depthforest.ensemble.fitting import number, whole
from depthforest.ensemble.ranking.groups import (
    EXPONENTIAL,
    LINEAR,
    MAX_GRADE,
    Starts,
    check_gain,
    check_relevance,
    check_scores,
    gains_of,
    query_starts,
)

DISCOUNTS = ("usual", "lecture")
"""Divisor of the gain at rank i: log2(i + 1); or 1 at rank 1 and log2(i) from rank 2 on."""

TIES = ("mean", "order")


# -- kernels -----------------------------------------------------------------------------------------------------------


@kernel
def ranked(score: Floats) -> Longs:
    """Return the documents of a query from the highest score to the lowest; equal scores in the order of rows.

    A merge sort, because numba's own sort takes half a second to compile.
    """
    n, width = len(score), 1
    order, merged = np.arange(n), np.empty(n, dtype=np.int64)
    while width < n:
        for begin in range(0, n, 2 * width):
            left, right = begin, min(begin + width, n)
            middle, end = right, min(begin + 2 * width, n)
            for k in range(begin, end):
                is_left = left < middle and (right == end or score[order[left]] >= score[order[right]])
                merged[k] = order[left] if is_left else order[right]
                left, right = (left + 1, right) if is_left else (left, right + 1)
        order, merged = merged, order
        width *= 2
    return order


@kernel
def _tie_end(score: Floats, order: Longs, begin: int, is_mean: bool) -> int:
    """Return the end of the documents that have the same score as the one at `begin`."""
    end = begin + 1
    while is_mean and end < len(order) and score[order[end]] == score[order[begin]]:
        end += 1
    return end


@kernel
def _fill_dcg(
    gains: Floats, score: Floats, starts: Starts, discounts: Floats, k: int, is_mean: bool, out: Floats
) -> None:
    """Fill the DCG of each query; documents with equal scores share their mean gain."""
    for q in range(len(starts) - 1):
        gain, own = gains[starts[q] : starts[q + 1]], score[starts[q] : starts[q + 1]]
        order = ranked(own)
        total = 0.0
        begin = 0
        while begin < min(len(order), k):
            end = _tie_end(own, order, begin, is_mean)
            worth = 0.0
            for i in range(begin, end):
                worth += gain[order[i]]
            weight = 0.0
            for i in range(begin, min(end, k)):
                weight += discounts[i]
            total += worth / (end - begin) * weight
            begin = end
        out[q] = total


@kernel
def _fill_err(stops: Floats, score: Floats, starts: Starts, k: int, is_mean: bool, out: Floats) -> None:
    """Fill the expected reciprocal rank of each query from the probabilities that a document satisfies.

    For documents with equal scores, the probability that none of the first j satisfies is the mean over all choices of
    j of them: an elementary symmetric mean, built up document by document.
    """
    for q in range(len(starts) - 1):
        stop, own = stops[starts[q] : starts[q + 1]], score[starts[q] : starts[q + 1]]
        order = ranked(own)
        passed = np.empty(len(order) + 1)
        total, reached = 0.0, 1.0
        begin = 0
        while begin < min(len(order), k):
            end = _tie_end(own, order, begin, is_mean)
            passed[0] = 1.0
            for m in range(1, end - begin + 1):
                go_on = 1.0 - stop[order[begin + m - 1]]
                passed[m] = go_on * passed[m - 1]
                for j in range(m - 1, 0, -1):
                    passed[j] = (j * go_on * passed[j - 1] + (m - j) * passed[j]) / m
            for i in range(begin, min(end, k)):
                total += reached * (passed[i - begin] - passed[i - begin + 1]) / (i + 1)
            reached *= passed[end - begin]
            begin = end
        out[q] = total


@kernel
def _fill_precision(hits: Floats, score: Floats, starts: Starts, k: int, is_mean: bool, out: Floats) -> None:
    """Fill the average precision of each query; NaN if nothing is relevant."""
    for q in range(len(starts) - 1):
        hit, own = hits[starts[q] : starts[q + 1]], score[starts[q] : starts[q + 1]]
        order = ranked(own)
        total, before = 0.0, 0.0
        begin = 0
        while begin < len(order):
            end = _tie_end(own, order, begin, is_mean)
            n, n_hits = end - begin, 0.0
            for i in range(begin, end):
                n_hits += hit[order[i]]
            others = (n_hits - 1) / (n - 1) if n > 1 else 0.0
            for i in range(begin, min(end, k)):
                total += n_hits / n * (before + 1 + (i - begin) * others) / (i + 1)
            before += n_hits
            begin = end
        out[q] = total / min(before, k) if before > 0 else np.nan


# -- for users ---------------------------------------------------------------------------------------------------------


def dcg(
    y: Any,
    score: Any,
    *,
    qid: Any = None,
    k: int | None = None,
    gain: str = EXPONENTIAL,
    discount: str = "usual",
    ties: str = "mean",
    per_query: bool = False,
) -> Any:
    """Return the discounted cumulative gain: sum over ranks i of gain_i / discount_i.

    Parameters
    ----------
    y : (n,) array
        Relevance: whole numbers from 0 to 31, or with linear gain any numbers from 0.
    score : (n,) array
        Documents are ranked by score, highest first.
    qid : (n,) array, optional
        The query of each row; the rows of a query must be adjacent. None: one query.
    k : int, optional
        Only the first k ranks count; all by default.
    gain : {"exponential", "linear"}
        2^y - 1, or y.
    discount : {"usual", "lecture"}
        log2(i + 1); or 1 for i = 1 and log2(i) for i >= 2.
    ties : {"mean", "order"}
        For equal scores: the expected value over their orders, or the order of rows.
    per_query : bool
        Whether to return the value of each query, (n_queries,), instead of their mean.

    Returns
    -------
    float, or (n_queries,) float64 array
    """
    grades, scores, starts, top = _checked(y, score, qid, k, gain)
    values = dcg_by_query(gains_of(grades, gain), scores, starts, top, discount, _is_mean(ties))
    return _answer(values, None, per_query)


def ndcg(
    y: Any,
    score: Any,
    *,
    qid: Any = None,
    k: int | None = None,
    gain: str = EXPONENTIAL,
    discount: str = "usual",
    ties: str = "mean",
    without_relevant: float | None = 1.0,
    per_query: bool = False,
) -> Any:
    """Return the DCG divided by that of the best order, from 0 to 1.

    Parameters
    ----------
    y, score, qid, k, gain, discount, ties, per_query
        As in `dcg`.
    without_relevant : float or None
        Value of a query without relevant documents: 1 by default, as in LightGBM and XGBoost; scikit-learn uses 0.
        None excludes it from the mean (NaN if `per_query`).

    Returns
    -------
    float, or (n_queries,) float64 array
    """
    grades, scores, starts, top = _checked(y, score, qid, k, gain)
    values = ndcg_by_query(gains_of(grades, gain), scores, starts, top, discount=discount, is_mean=_is_mean(ties))
    return _answer(values, without_relevant, per_query)


def err(
    y: Any,
    score: Any,
    *,
    qid: Any = None,
    k: int | None = None,
    max_grade: int | None = None,
    ties: str = "mean",
    per_query: bool = False,
) -> Any:
    """Return the expected reciprocal rank (Chapelle et al. 2009): sum over r of R_r / r times prod_{i<r} (1 - R_i).

    A user goes down the list and stops at a document of grade g with probability R = (2^g - 1) / 2^max_grade. A query
    without relevant documents has value 0.

    Parameters
    ----------
    y, score, qid, k, ties, per_query
        As in `dcg`; relevance must be whole numbers from 0 to 31.
    max_grade : int, optional
        The best possible grade; default: the largest of `y`. Set it to compare parts of one data set.

    Returns
    -------
    float, or (n_queries,) float64 array
    """
    grades, scores, starts, top = _checked(y, score, qid, k, EXPONENTIAL)
    values = np.empty(len(starts) - 1)
    _fill_err(stop_chances(grades, max_grade), scores, starts, top, _is_mean(ties), values)
    return _answer(values, None, per_query)


def average_precision(
    y: Any,
    score: Any,
    *,
    qid: Any = None,
    k: int | None = None,
    ties: str = "mean",
    without_relevant: float | None = 1.0,
    per_query: bool = False,
) -> Any:
    """Return the mean average precision (MAP): for each query, the mean precision at the ranks of relevant documents.

    Documents with a grade above 0 are relevant. With `k`, the sum over the first k ranks is divided by the number of
    relevant documents, but at most by k.

    Parameters
    ----------
    y, score, qid, k, ties, without_relevant, per_query
        As in `ndcg`; relevance may be any number from 0.

    Returns
    -------
    float, or (n_queries,) float64 array
    """
    grades, scores, starts, top = _checked(y, score, qid, k, LINEAR)
    values = np.empty(len(starts) - 1)
    _fill_precision((grades > 0).astype(np.float64), scores, starts, top, _is_mean(ties), values)
    return _answer(values, without_relevant, per_query)


# -- for the learners --------------------------------------------------------------------------------------------------


def dcg_by_query(gains: Floats, score: Floats, starts: Starts, k: int, discount: str, is_mean: bool) -> Floats:
    """Return the DCG of each query, (n_queries,) float64; expects checked arguments."""
    values = np.empty(len(starts) - 1)
    _fill_dcg(gains, score, starts, discounts_of(int(np.diff(starts).max()), discount), k, is_mean, values)
    return values


def ndcg_by_query(
    gains: Floats, score: Floats, starts: Starts, k: int, *, discount: str = "usual", is_mean: bool = True
) -> Floats:
    """Return the NDCG of each query, (n_queries,); NaN without relevant documents. Expects checked arguments.

    Parameters
    ----------
    gains, score : (n,) float64
    starts : (n_queries + 1,) int64
    k : int
    """
    ideal = dcg_by_query(gains, gains, starts, k, discount, False)
    found = dcg_by_query(gains, score, starts, k, discount, is_mean)
    return np.asarray(np.divide(found, ideal, out=np.full(len(ideal), np.nan), where=ideal > 0))


def discounts_of(n: int, discount: str = "usual") -> Floats:
    """Return the factors of the gains at ranks 1 to n, (n,) float64."""
    if not isinstance(discount, str) or discount not in DISCOUNTS:
        raise UsageError(f"discount must be one of {', '.join(DISCOUNTS)}; got {discount!r}")
    ranks = np.arange(1, n + 1, dtype=np.float64)
    if discount == "usual":
        return np.asarray(1 / np.log2(ranks + 1))
    return np.asarray(1 / np.log2(np.maximum(ranks, 2)))


def stop_chances(grades: Floats, max_grade: int | None = None) -> Floats:
    """Return the probability that a user stops at a document, (n,) float64, from the documents' grades."""
    most = int(grades.max()) if max_grade is None else whole("max_grade", max_grade, 0)
    if not grades.max() <= most <= MAX_GRADE:
        raise UsageError(f"max_grade must be from the largest relevance, {grades.max():g}, to {MAX_GRADE}; got {most}")
    return gains_of(grades, EXPONENTIAL) / 2.0**most


def cut_off(k: Any, n_rows: int, name: str = "k") -> int:
    """Return how many ranks count: k, or all ranks for None."""
    return n_rows if k is None else min(whole(name, k, 1), n_rows)


def _checked(y: Any, score: Any, qid: Any, k: Any, gain: Any) -> tuple[Floats, Floats, Starts, int]:
    grades = check_relevance(y, gain=gain, are_whole=check_gain(gain) == EXPONENTIAL)
    return grades, check_scores(score, len(grades)), query_starts(qid, len(grades)), cut_off(k, len(grades))


def _is_mean(ties: Any) -> bool:
    if not isinstance(ties, str) or ties not in TIES:
        raise UsageError(f"ties must be one of {', '.join(TIES)}; got {ties!r}")
    return ties == "mean"


def _answer(values: Floats, without_relevant: float | None, per_query: bool) -> Any:
    """Return the values by query, or their mean; NaN marks queries without relevant documents."""
    if without_relevant is not None:
        values = np.nan_to_num(values, nan=number("without_relevant", without_relevant, 0, 1))
    if per_query:
        return values
    known = values[~np.isnan(values)]
    if not len(known):
        raise UsageError("no query has relevant documents: set without_relevant to a number, or check y")
    return float(known.mean())
