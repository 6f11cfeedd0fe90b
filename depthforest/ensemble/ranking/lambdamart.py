"""LambdaMART (Burges 2010): boosted trees on the lambdas of a metric, with Newton steps in the leaves."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from depthforest.base import Bools, Floats, UsageError
from depthforest.ensemble.boosting import (
    BOOSTED_NUMBERS,
    VALIDATION,
    BaseBoosting,
    BoostGrowth,
    Rows,
    Watched,
)
from depthforest.ensemble.fitting import directions_of, job_count, number, resolved_count, share_count, whole
from depthforest.ensemble.ranking.base import BaseRanker
from depthforest.ensemble.ranking.groups import (
    EXPONENTIAL,
    Starts,
    check_learnable,
    check_relevance,
    check_scores,
    fit_starts,
    query_starts,
    query_weights,
)
from depthforest.ensemble.ranking.lambdas import METRICS, pair_targets
from depthforest.ensemble.ranking.loss import RankingLoss
from depthforest.ensemble.ranking.metrics import cut_off
from depthforest.ensemble.tree import UNLIMITED, Table, encoded_table, fit_table


class LambdaMART(BaseRanker, BaseBoosting):
    """LambdaMART: a ranker of boosted trees.

    Parameters
    ----------
    metric : {"ndcg", "err", "map", "ranknet"}, default="ndcg"
        Weight of a pair of documents: the change of this metric if they swapped ranks. "ranknet" weighs all pairs
        equally.
    k : int or None, default=30
        Truncation: only pairs with a document among the first k ranks count.
    sigma : float
        Slope of the logistic function of the score difference.
    normalize : bool
        Whether pairs and queries are normalized like LightGBM's `lambdarank_norm`; see `lambdas.pair_targets`.
    gain : {"exponential", "linear"}
        Gain of NDCG, in the weights of pairs and in scores; exponential gain allows grades up to 31.
    eval_at : int or None, default=10
        Cutoff of the NDCG in `score`, early stopping and learning curves.
    learning_rate, n_estimators, subsample, max_depth, max_leaf_nodes
        As in `NewtonBoostingClassifier`; trees grow best first.
    min_samples_leaf : int or float
        Least number or share of documents in a leaf, estimated from their share of the hessians as LightGBM does.
    min_child_weight, reg_lambda : float
        Least sum of hessians of a leaf, and penalty: leaf = -sum of gradients / (sum of hessians + reg_lambda).
    colsample_bytree, max_bins, categorical_features, monotonic_cst, warm_start, random_state, n_jobs, verbose
        As in `NewtonBoostingClassifier`.
    validation_fraction, n_iter_no_change, tol : float, int or None, float
        With `n_iter_no_change`, this many rounds without an increase of the NDCG of the validation queries by more than
        `tol` end the fit, and the rounds up to the best are kept. Validation queries are given to `fit`, or are a
        share of the queries that is held out.

    Attributes
    ----------
    n_estimators_, trees_, estimators_, feature_importances_
        As in `NewtonBoostingClassifier`.
    train_score_, validation_score_ : (n_rounds,) arrays
        1 - NDCG at `eval_at` after each round: the mean over queries; one without relevant documents counts 0.
    train_scores_, validation_scores_ : (n_rounds,) arrays
        The NDCG itself, as in `RankNet`.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    _layout = BOOSTED_NUMBERS
    _is_newton = True
    init = "zero"
    _has_base_scores = False  # unknown after `load`

    def __init__(
        self,
        *,
        metric: str = "ndcg",
        k: int | None = 30,
        sigma: float = 1.0,
        normalize: bool = True,
        gain: str = EXPONENTIAL,
        eval_at: int | None = 10,
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        subsample: float = 1.0,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = 31,
        min_samples_leaf: float = 20,
        min_child_weight: float = 1e-3,
        reg_lambda: float = 0.0,
        colsample_bytree: float = 1.0,
        max_bins: int | None = 255,
        categorical_features: Any = None,
        monotonic_cst: Any = None,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 0.0,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.metric = metric
        self.k = k
        self.sigma = sigma
        self.normalize = normalize
        self.gain = gain
        self.eval_at = eval_at
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.subsample = subsample
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.min_child_weight = min_child_weight
        self.reg_lambda = reg_lambda
        self.colsample_bytree = colsample_bytree
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        qid: Any = None,
        *,
        base_scores: Any = None,
        query_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        qid_val: Any = None,
        base_scores_val: Any = None,
        query_weight_val: Any = None,
    ) -> Self:
        """Boost trees on ranking data.

        Parameters
        ----------
        X : (n, n_features) array, sparse matrix or DataFrame
        y : (n,) array
            Relevance: whole numbers from 0. Queries with documents of equal relevance, or with only one, contribute
            nothing; at least one query must have documents of different relevance.
        qid : (n,) array, optional
            The query of each row; the rows of a query must be adjacent. None: one query, with a warning.
        base_scores : (n,) array, optional
            Scores of another model to start from; `predict` then needs its scores, too.
        query_weight : (n,) array, optional
            The weight of each row's query, the same for all of its rows: a query of weight 2 counts as two, one of
            weight 0 as absent.
        X_val, y_val, qid_val, base_scores_val, query_weight_val : optional
            Validation queries, instead of a share of those in X; with base scores if `base_scores` is given.

        Returns
        -------
        self
        """
        table = fit_table(self, X, self.categorical_features, query_weight)
        grades = self._grades(y, table)
        starts = fit_starts(qid, len(grades))
        scores = None if base_scores is None else check_scores(base_scores, len(grades))
        named = self._loss_by(self.metric)
        growth = self._growth(named, *table.shape)
        old = self._kept(named)
        if old and self._has_base_scores and scores is None:
            raise UsageError("warm_start needs base_scores if the previous fit had them")
        self.__dict__.pop("_has_base_scores", None)
        if scores is not None:
            self._has_base_scores = True
        parts = [_Part(table, grades, starts, scores, query_weights(query_weight, starts)).heavy()]
        if (X_val is None) != (y_val is None):
            raise UsageError("X_val and y_val go together: pass both, or neither")
        if X_val is None and not (qid_val is None and base_scores_val is None and query_weight_val is None):
            raise UsageError("qid_val, base_scores_val and query_weight_val need X_val and y_val: pass these, too")
        if X_val is not None:
            its_table = encoded_table(self, X_val)
            its_grades = self._grades(y_val, its_table)
            if (base_scores is None) != (base_scores_val is None):
                raise UsageError("base_scores and base_scores_val go together: pass both, or neither")
            its_scores = None if base_scores_val is None else check_scores(base_scores_val, len(its_grades))
            its_starts = query_starts(qid_val, len(its_grades))
            its_weights = query_weights(query_weight_val, its_starts)
            parts.append(_Part(its_table, its_grades, its_starts, its_scores, its_weights).heavy())
        elif self.n_iter_no_change is not None:
            parts = self._set_aside(parts[0])
        check_learnable(parts[0].grades, parts[0].starts)
        rows = [self._rows(part) for part in parts]
        judge = self._judge(None, None)
        judge.watched += [Watched(VALIDATION, own) for own in rows[1:]]
        self._begin(old, rows[0], judge)
        self._loss = named  # without the rows, which copies and files do not need
        self._boost(growth, rows[0], judge, old)
        return self

    def predict(self, X: Any, base_scores: Any = None) -> Floats:
        """Return the score of each document, (n,) float64: higher ones rank first within a query.

        Parameters
        ----------
        X : (n, n_features) array, sparse matrix or DataFrame
        base_scores : (n,) array, optional
            Scores of the model that the fit started from.
        """
        raw = self._raw(X)[:, 0]
        if self._has_base_scores and base_scores is None:
            raise UsageError("predict needs base_scores, because fit had them: the trees only correct them")
        return raw if base_scores is None else raw + check_scores(base_scores, len(raw))

    def staged_predict(self, X: Any) -> Any:
        """Yield `predict` after every round."""
        return (raw[:, 0] for raw in self._staged_raw(X))

    @property
    def train_scores_(self) -> Floats:
        """NDCG of the training queries after each round, (n_rounds,)."""
        return np.asarray(1.0 - self.train_score_)

    @property
    def validation_scores_(self) -> Floats:
        """NDCG of the validation queries after each round, (n_rounds,); empty if there were none."""
        return np.asarray(1.0 - self.validation_score_)

    # -- fitting -------------------------------------------------------------------------------------------------------

    def _grades(self, y: Any, table: Table) -> Floats:
        if y is None:
            raise UsageError("LambdaMART requires y to be passed, but the target y is None")
        grades = check_relevance(y, gain=self.gain)
        if len(grades) != len(table):
            raise UsageError(f"X and y must have the same number of rows, got {len(table)} and {len(grades)}")
        return grades

    def _loss_by(self, name: Any) -> RankingLoss:
        if not isinstance(name, str) or name not in METRICS:
            raise UsageError(f"metric must be one of {', '.join(METRICS)}; got {name!r}")
        return RankingLoss(name, gain=self.gain)

    def _rows(self, part: _Part) -> Rows:
        """Return rows with a loss bound to their queries."""
        targets = pair_targets(
            self.metric, part.grades, part.starts, k=self.k, sigma=self.sigma, normalize=self.normalize, gain=self.gain
        )
        n = len(part.grades)
        loss = RankingLoss(
            self.metric,
            targets,
            weights=None if (part.weights == 1.0).all() else part.weights,
            eval_at=cut_off(self.eval_at, n, "eval_at"),
            gain=self.gain,
            threads=job_count(self.n_jobs, in_threads=True),
        )
        base = None if part.scores is None else part.scores.reshape(-1, 1)
        return Rows(part.table, part.grades, np.repeat(part.weights, np.diff(part.starts)), loss, base=base)

    def _set_aside(self, part: _Part) -> list[_Part]:
        """Return the training queries and the validation queries."""
        share, n_queries = self._validation_share(), len(part.starts) - 1
        n_judged = round(share * n_queries)
        if not 1 <= n_judged < n_queries:
            raise UsageError(
                "early stopping holds out a share of the queries, at least one and not all: "
                f"validation_fraction={share:g} of {n_queries} gives {n_judged}; change it, or n_iter_no_change"
            )
        is_judged = np.zeros(n_queries, dtype=bool)
        is_judged[np.random.RandomState(self._seeds[0]).permutation(n_queries)[:n_judged]] = True
        return [part.of(~is_judged), part.of(is_judged)]

    def _growth(self, loss: Any, n_rows: int, n_features: int) -> BoostGrowth:  # noqa: ARG002 - all metrics alike
        leaves, depth = self.max_leaf_nodes, self.max_depth
        n_columns = share_count("colsample_bytree", self.colsample_bytree, n_features)
        return BoostGrowth(
            directions=directions_of(self, 1),
            n_columns=n_columns,
            n_drawn=n_columns,
            l2=number("reg_lambda", self.reg_lambda, 0),
            min_weight=number("min_child_weight", self.min_child_weight, 0),
            min_rows=min(resolved_count("min_samples_leaf", self.min_samples_leaf, n_rows), n_rows),
            max_depth=UNLIMITED if depth is None else min(whole("max_depth", depth, 1), UNLIMITED),
            max_leaves=UNLIMITED if leaves is None else whole("max_leaf_nodes", leaves, 2),
        )


class _Part:
    """Some queries: their documents, grades, weights, and base scores, if any."""

    def __init__(self, table: Table, grades: Floats, starts: Starts, scores: Floats | None, weights: Floats) -> None:
        self.table, self.grades, self.starts, self.scores, self.weights = table, grades, starts, scores, weights

    def heavy(self) -> _Part:
        """Return the queries with a weight above 0."""
        return self if self.weights.all() else self.of(self.weights > 0)

    def of(self, queries: Bools) -> _Part:
        """Return the queries selected by a mask."""
        sizes = np.diff(self.starts)
        rows = np.repeat(queries, sizes)
        starts = np.concatenate(([0], np.cumsum(sizes[queries]))).astype(np.int64)
        scores = None if self.scores is None else self.scores[rows]
        return _Part(self.table[rows], self.grades[rows], starts, scores, self.weights[queries])
