"""Groups: queries, relevance and scores of documents, checked once for all of ranking.

The rows of a query are adjacent; queries come in any order. Kernels take `starts`, (n_queries + 1,) int64: query q has
the rows from `starts[q]` up to but excluding `starts[q + 1]`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import DepthForestWarning, Floats, Longs, UsageError

Starts = Longs

EXPONENTIAL, LINEAR = "exponential", "linear"
GAINS = (EXPONENTIAL, LINEAR)
"""The gain of a grade: 2^grade - 1, or the grade itself."""

MAX_GRADE = 31
"""Largest grade with exponential gain: beyond it one document outweighs all others in double precision."""


def query_starts(qid: Any, n_rows: int) -> Starts:
    """Return where each query begins, (n_queries + 1,) int64; the last entry is `n_rows`.

    Parameters
    ----------
    qid : (n_rows,) array of whole numbers or text, or None
        The query of each row; None for one query. The rows of a query must be adjacent.
    n_rows : int
    """
    if qid is None:
        return np.array([0, n_rows], dtype=np.int64)
    ids = _checked_ids(qid)
    if len(ids) != n_rows:
        raise UsageError(f"qid must name the query of each of the {n_rows} rows, got {len(ids)}")
    begins = np.flatnonzero(ids[1:] != ids[:-1]) + 1
    starts = np.concatenate(([0], begins, [n_rows])).astype(np.int64)
    _check_together(ids, starts)
    return starts


def fit_starts(qid: Any, n_rows: int) -> Starts:
    """Return `query_starts` of training rows; warn if there is no qid."""
    if qid is None:
        warnings.warn(
            f"qid is not given: all {n_rows} rows count as one query, and each is ranked against all others; pass qid, "
            "the query of each row",
            DepthForestWarning,
            stacklevel=3,
        )
    return query_starts(qid, n_rows)


def query_weights(weights: Any, starts: Starts) -> Floats:
    """Return the weight of each query, (n_queries,) float64, from the equal weights of its rows; ones for None.

    Parameters
    ----------
    weights : (n_rows,) array or None
        0 or more, finite, not all 0; a query of weight 0 counts as absent.
    starts : (n_queries + 1,) int64
        From `query_starts`.
    """
    if weights is None:
        return np.ones(len(starts) - 1)
    found = numbers("query_weight", weights)
    if len(found) != starts[-1]:
        raise UsageError(f"query_weight must have one number for each of the {starts[-1]} rows, got {len(found)}")
    own = found[starts[:-1]]
    bad = np.flatnonzero(found != np.repeat(own, np.diff(starts)))
    if len(bad):
        raise UsageError(f"query_weight must be the same for all rows of a query: row {bad[0]} has {found[bad[0]]:g}")
    if (own < 0).any() or not own.any():
        raise UsageError("query_weight must be 0 or more, and above 0 for at least one query")
    return own


def _checked_ids(qid: Any) -> npt.NDArray[Any]:
    ids = np.asarray(qid)
    if ids.ndim == 2 and ids.shape[1] == 1:
        ids = ids[:, 0]
    if ids.ndim != 1 or not len(ids):
        raise UsageError(f"qid must have one entry for each row, got the shape {ids.shape}")
    if ids.dtype.kind == "f" and (np.abs(ids) < 2**53).all() and (ids == np.floor(ids)).all():
        ids = ids.astype(np.int64)
    if ids.dtype.kind == "O" and all(isinstance(i, str) for i in ids):
        ids = ids.astype(str)
    elif ids.dtype.kind == "O" and all(isinstance(i, int | np.integer) for i in ids):
        ids = ids.astype(np.int64)
    if ids.dtype.kind not in "iuUSb":
        raise UsageError(
            f"qid must be whole numbers or text without missing values, got the type {np.asarray(qid).dtype}"
        )
    return ids


def _check_together(ids: npt.NDArray[Any], starts: Starts) -> None:
    firsts = ids[starts[:-1]]
    order = np.argsort(firsts, kind="stable")
    again = np.flatnonzero(firsts[order][1:] == firsts[order][:-1])
    if len(again):
        place = order[again[0]], order[again[0] + 1]
        raise UsageError(
            f"the rows of a query must be adjacent, but those of qid {firsts[place[0]]} are apart (rows "
            f"{starts[place[0]]} and {starts[place[1]]}): sort all rows by np.argsort(qid, kind='stable') first"
        )


def group_sizes(qid: Any) -> Starts:
    """Return the number of rows of each query, (n_queries,) int64, in their order: `group` in other libraries."""
    ids = _checked_ids(qid)
    return np.diff(query_starts(ids, len(ids)))


def group_ids(sizes: Any, n_rows: int | None = None) -> Starts:
    """Return the query of each row, (n_rows,) int64 from 0, from the sizes of the queries.

    Parameters
    ----------
    sizes : (n_queries,) array of whole numbers from 1
    n_rows : int, optional
        The sum that the sizes must have.
    """
    counts = np.asarray(sizes)
    if counts.ndim != 1 or not len(counts) or counts.dtype.kind not in "iu" or counts.min() < 1:
        raise UsageError(f"sizes of groups must be whole numbers from 1, one for each query, got {_few(counts)}")
    total = int(counts.sum(dtype=np.int64))
    if n_rows is not None and total != n_rows:
        raise UsageError(
            f"sizes of groups must add up to the {n_rows} rows, but those of {len(counts)} add up to {total}"
        )
    return np.repeat(np.arange(len(counts), dtype=np.int64), counts)


def _few(values: npt.NDArray[Any]) -> str:
    return np.array2string(values, threshold=6, edgeitems=3, separator=", ").replace("\n", "")


def check_gain(gain: Any) -> str:
    """Return the name of a gain after checking it."""
    if not isinstance(gain, str) or gain not in GAINS:
        raise UsageError(f"gain must be one of {', '.join(GAINS)}; got {gain!r}")
    return gain


def numbers(name: str, values: Any) -> Floats:
    """Return finite numbers (n,), n > 0, as float64, after checking them."""
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or not len(array):
        raise UsageError(f"{name} must have one number for each document, got the shape {array.shape}")
    try:
        array = np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"{name} must be numbers, got the type {array.dtype}") from None
    if not np.isfinite(array).all():
        place = int(np.flatnonzero(~np.isfinite(array))[0])
        raise UsageError(f"{name} must be finite numbers, got {array[place]} for row {place}")
    return array


def check_relevance(y: Any, *, gain: str = EXPONENTIAL, are_whole: bool = True) -> Floats:
    """Return the relevance of documents, (n,) float64, after checking it: 0 for none, more for better.

    Parameters
    ----------
    y : (n,) array
    gain : {"exponential", "linear"}
        Exponential gain allows grades up to 31.
    are_whole : bool
        Whether relevance must be whole numbers.
    """
    grades = numbers("relevance", y)
    if grades.min() < 0:
        place = int(grades.argmin())
        raise UsageError(f"relevance must be 0 (not relevant) or more, got {grades[place]:g} for row {place}")
    fractions = np.flatnonzero(grades != np.floor(grades))
    if are_whole and len(fractions):
        place = int(fractions[0])
        raise UsageError(
            f"relevance must be whole numbers, the grades of documents, got {grades[place]:g} for row {place}: round "
            "them, or put them into bins"
        )
    if check_gain(gain) == EXPONENTIAL and grades.max() > MAX_GRADE:
        raise UsageError(
            f"relevance must be up to {MAX_GRADE} if its gain is 2^grade - 1, got {grades.max():g}: use fewer "
            "grades, or gain='linear'"
        )
    return grades


def check_scores(score: Any, n_rows: int) -> Floats:
    """Return the scores of documents, (n_rows,) float64, after checking that they are finite; higher ranks first."""
    scores = numbers("scores", score)
    if len(scores) != n_rows:
        raise UsageError(f"scores must be one for each of the {n_rows} documents, got {len(scores)}")
    return scores


def gains_of(grades: Floats, gain: str) -> Floats:
    """Return the gains of grades, (n,) float64."""
    return np.exp2(grades) - 1.0 if gain == EXPONENTIAL else grades


def check_learnable(grades: Floats, starts: Starts, queries: Starts | None = None) -> None:
    """Raise if none of the queries (all by default) has two documents of different relevance."""
    differ = np.maximum.reduceat(grades, starts[:-1]) > np.minimum.reduceat(grades, starts[:-1])
    if not (differ if queries is None else differ[queries]).any():
        raise UsageError(
            "there is nothing to learn: no query has two documents of different relevance"
            + (", there is only one sample" if len(grades) == 1 else "; is qid the query of each row, not its number?")
        )
