"""Cross-validation by query: all rows of a query are in the same fold."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GroupKFold
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from depthforest.base import Floats, UsageError
from depthforest.ensemble.fitting import in_parallel, whole
from depthforest.ensemble.ranking.groups import EXPONENTIAL, check_relevance, check_scores, query_starts
from depthforest.ensemble.ranking.metrics import ndcg


def cross_val_ndcg(
    estimator: Any,
    X: Any,
    y: Any,
    qid: Any,
    *,
    k: int | None = 10,
    gain: str = EXPONENTIAL,
    n_splits: int = 5,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Floats:
    """Return the NDCG of each query, ranked by a model that was fitted without the query's fold.

    Parameters
    ----------
    estimator
        Any ranker with `fit(X, y, qid=...)` and `predict(X)`; it is cloned.
    X : (n, n_features) array or DataFrame
    y : (n,) array
        Relevance.
    qid : (n,) array
        The query of each row; the rows of a query must be adjacent.
    k, gain
        As in `ranking.ndcg`.
    n_splits : int
        Number of folds.
    random_state : int, RandomState or None
        Queries are assigned to folds at random; None balances the folds by query size, always in the same way.
    n_jobs : int, optional
        Folds fitted in parallel.

    Returns
    -------
    (n_queries,) float64 array
        In the order of the queries, with 1 for queries without relevant documents; the mean is the score.
    """
    grades = check_relevance(y, gain=gain)
    starts = query_starts(qid, len(grades))
    if _num_samples(X) != len(grades):
        raise UsageError(f"X must have a row for each of the {len(grades)} documents, got {_num_samples(X)}")
    if qid is None or len(starts) - 1 < whole("n_splits", n_splits, 2):
        raise UsageError(f"{n_splits} folds of queries need as many queries in qid, got {len(starts) - 1}")
    queries = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    folds = GroupKFold(n_splits, shuffle=random_state is not None, random_state=random_state)
    parts = list(folds.split(queries, groups=queries))

    def held_out(part: Any) -> Floats:
        seen, unseen = part
        model = clone(estimator).fit(_safe_indexing(X, seen), grades[seen], qid=queries[seen])
        return check_scores(model.predict(_safe_indexing(X, unseen)), len(unseen))

    score = np.empty(len(grades))
    for (_, unseen), found in zip(parts, in_parallel(held_out, parts, n_jobs=n_jobs), strict=True):
        score[unseen] = found
    values: Floats = ndcg(grades, score, qid=queries, k=k, gain=gain, per_query=True)
    return values
