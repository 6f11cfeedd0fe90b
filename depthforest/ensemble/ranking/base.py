"""The common base of all rankers, networks and boosted trees: documents get scores, evaluated by mean NDCG."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from depthforest.ensemble.ranking.groups import query_starts, query_weights
from depthforest.ensemble.ranking.metrics import cut_off, ndcg


class BaseRanker(BaseEstimator):  # type: ignore[misc]
    """A ranker with `fit(X, y, qid=None)` and `predict(X)`; its parameters `eval_at` and `gain` define the NDCG."""

    def score(self, X: Any, y: Any, qid: Any = None, *, query_weight: Any = None) -> float:
        """Return the mean NDCG at `eval_at` over queries; a query without relevant documents counts 1.

        Parameters
        ----------
        X : (n, n_features) array or DataFrame
        y : (n,) array
            Relevance.
        qid : (n,) array, optional
            The query of each row; the rows of a query must be adjacent. None: one query.
        query_weight : (n,) array, optional
            The weight of each row's query, for a weighted mean.
        """
        found = self.predict(X)
        top = cut_off(self.eval_at, len(found), "eval_at")
        values = ndcg(y, found, qid=qid, k=top, gain=self.gain, per_query=True)
        if query_weight is None:
            return float(np.mean(values))
        return float(np.average(values, weights=query_weights(query_weight, query_starts(qid, len(found)))))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        return tags
