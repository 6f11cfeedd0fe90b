"""Classification and regression forests: the reading of y, predictions, and out-of-bag evaluation."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import Bunch, compute_class_weight
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from depthforest.base import Floats, UsageError
from depthforest.ensemble.fitting import (
    best_classes,
    best_codes,
    class_count,
    class_starts,
    job_count,
    logarithms,
    shares_by_target,
    stacked_shares,
    starts_of,
)
from depthforest.ensemble.forests.base import BaseForest
from depthforest.ensemble.forests.outofbag import (
    ask,
    error_bound,
    strength_and_correlation,
    warn_of_seen_rows,
)
from depthforest.ensemble.forests.quantiles import forest_quantiles
from depthforest.ensemble.forests.store import pack_quantiles, unpack_quantiles
from depthforest.ensemble.tree import (
    CLASS_CRITERIA,
    NUMBER_CRITERIA,
    Columns,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    Table,
    Tree,
    check_one_target,
    check_weights,
    fit_classes,
    fit_numbers,
    fit_table,
    predict_table,
    weighed_classes,
)

SUBSAMPLE = "balanced_subsample"


class ForestClassifier(ClassifierMixin, BaseForest):  # type: ignore[misc]
    """Targets and predictions of classification forests."""

    _criteria = CLASS_CRITERIA

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the forest.

        Parameters
        ----------
        X : (n, n_features) array, sparse matrix or DataFrame
        y : (n,) or (n, n_targets) array
        sample_weight : (n,) array, optional

        Returns
        -------
        self
        """
        table = fit_table(self, X, self.categorical_features, sample_weight)
        self.classes_, codes = fit_classes(y, table)
        weights = check_weights(sample_weight, table)
        by_tree = isinstance(self.class_weight, str) and self.class_weight == SUBSAMPLE
        weights, self._unit = weighed_classes(weights, None if by_tree else self.class_weight, self.classes_, codes)
        self._check_oob(codes)
        starts = class_starts(self.classes_)
        n_channels = starts[-1] if starts else len(self.classes_)
        self._fit(table, codes, np.ones(len(codes)), weights, n_channels, starts)
        if self.oob_score:
            self._judge_out_of_bag(table, codes)
        return self

    def _check_oob(self, codes: npt.NDArray[np.int32]) -> None:
        kind = type_of_target(codes)
        if self.oob_score and kind == "multiclass-multioutput" and not callable(self.oob_score):
            raise UsageError(
                "The type of target cannot be used to compute OOB estimates. Got multiclass-multioutput while only "
                "the following are supported: continuous, continuous-multioutput, binary, multiclass, "
                "multilabel-indicator; "
                "pass a function of (y_true, y_pred) as oob_score"
            )

    def _judge_out_of_bag(self, table: Table, codes: npt.NDArray[np.int32]) -> None:
        threads = job_count(self.n_jobs, in_threads=True)
        asked = ask(self.trees_, self._unseen_rows, table, codes, is_number=False, threads=threads)
        known, starts = ~np.isnan(asked.means[:, 0]), self.trees_[0].starts
        warn_of_seen_rows(known)
        self.oob_decision_function_ = stacked_shares(asked.means, self.classes_)
        self.oob_errors_ = asked.errors
        score = self.oob_score if callable(self.oob_score) else accuracy_score
        best = best_codes(asked.means[known], starts)
        self.oob_score_ = float(score(codes[known], best)) if known.any() else np.nan
        if starts:
            return
        self.strength_, self.correlation_ = strength_and_correlation(
            self.trees_, self._unseen_rows, table, codes, threads=threads
        )
        self.error_bound_ = error_bound(self.strength_, self.correlation_)

    def _tree_weights(self, t: int, channels: Any, weights: Floats) -> Floats:
        own = super()._tree_weights(t, channels, weights)
        if not isinstance(self.class_weight, str) or self.class_weight != SUBSAMPLE:
            return own
        rows = self._drawn_rows(t)
        columns = channels.reshape(len(channels), -1)
        for codes in columns.T:
            there = np.unique(codes[own > 0])
            factors = np.zeros(codes.max() + 1)
            factors[there] = compute_class_weight("balanced", classes=there, y=codes[rows])
            own = own * factors[codes]
        return np.asarray(own)

    def _new_member(self, **parameters: Any) -> DecisionTreeClassifier:
        member = DecisionTreeClassifier(**parameters)
        counts = class_count(self.classes_)
        member.classes_ = [np.arange(n) for n in counts] if isinstance(counts, list) else np.arange(counts)
        return member

    @property
    def n_classes_(self) -> Any:
        """Number of classes; a list with several targets."""
        check_is_fitted(self)
        return class_count(self.classes_)

    def predict_proba(self, X: Any) -> Any:
        """Return the mean of the trees' class shares, (n, n_classes); a list with several targets."""
        return shares_by_target(self._mean(X), self.classes_)

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithm of `predict_proba`."""
        return logarithms(self.predict_proba(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class with the largest mean share, the first if equal: (n,), or (n, n_targets)."""
        return best_classes(self._mean(X), self.classes_)

    def permutation_importance(self, X: Any, y: Any) -> Bunch:
        """Return the increase of each tree's error when a column is shuffled among its unseen rows.

        Parameters
        ----------
        X, y
            The training data of the forest.

        Returns
        -------
        Bunch
            `importances_mean` and `importances_std` (n_features,), `importances` (n_features, n_trees), and
            `importances_by_class` (n_classes, n_features): the mean increase among the rows of a class.
        """
        check_is_fitted(self)
        check_one_target(self.trees_[0], "permutation_importance")
        labels = np.asarray(y)
        unknown = labels[~np.isin(labels, self.classes_)]
        if len(unknown):
            raise UsageError(f"y must be the targets of the fit, got the unknown class {unknown[0]!r}")
        codes = np.searchsorted(self.classes_, labels).astype(np.int32)
        self._check_same_truth(codes, np.ones(len(codes)))
        return self._permutation_importance(X, codes)


class ForestRegressor(RegressorMixin, BaseForest):  # type: ignore[misc]
    """Targets and predictions of regression forests."""

    _criteria = NUMBER_CRITERIA

    @property
    def _keeps_rows(self) -> bool:  # type: ignore[override]
        return bool(self.quantiles)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the forest.

        Parameters
        ----------
        X : (n, n_features) array, sparse matrix or DataFrame
        y : (n,) or (n, n_targets) array
        sample_weight : (n,) array, optional

        Returns
        -------
        self
        """
        table = fit_table(self, X, self.categorical_features, sample_weight)
        weights = check_weights(sample_weight, table)
        targets, self._offset = fit_numbers(y, table, weights, criterion=self.criterion)
        n_targets = 1 if targets.ndim == 1 else targets.shape[1]
        self.__dict__.pop("_targets", None)
        if self.quantiles and n_targets > 1:
            raise UsageError(f"quantiles=True takes one target per row, got {n_targets}")
        if self.quantiles:  # before the trees, because an interrupted fit keeps the finished ones
            self._targets, self._weights = targets, weights
        channels = np.zeros(len(targets), dtype=np.int32)
        self._fit(table, channels, targets, weights, n_targets, starts_of([1] * n_targets))
        if self.oob_score:
            self._judge_out_of_bag(table, targets)
        return self

    def _judge_out_of_bag(self, table: Table, targets: Floats) -> None:
        threads = job_count(self.n_jobs, in_threads=True)
        asked = ask(self.trees_, self._unseen_rows, table, targets, is_number=True, threads=threads)
        known = ~np.isnan(asked.means[:, 0])
        warn_of_seen_rows(known)
        self.oob_prediction_ = asked.means if targets.ndim == 2 else asked.means[:, 0]
        self.oob_errors_ = asked.errors
        score = self.oob_score if callable(self.oob_score) else r2_score
        is_enough = np.count_nonzero(known) > 1
        self.oob_score_ = float(score(targets[known], self.oob_prediction_[known])) if is_enough else np.nan

    def predict(self, X: Any) -> Floats:
        """Return the mean of the trees' predictions, (n,), or (n, n_targets)."""
        means = self._mean(X)
        return means if self.trees_[0].starts else means[:, 0]

    def predict_quantiles(self, X: Any, quantiles: Any = (0.05, 0.5, 0.95)) -> Floats:
        """Return quantiles of the target given X (Meinshausen 2006), (n, n_quantiles).

        Parameters
        ----------
        X : (n, n_features) array, sparse matrix or DataFrame
        quantiles : sequence of float, default=(0.05, 0.5, 0.95)
            From 0 to 1, in any order.
        """
        table = predict_table(self, X)
        if not hasattr(self, "_targets") or not all(len(tree.rows) for tree in self.trees_):
            raise UsageError("predict_quantiles needs the rows of all trees' leaves: fit with quantiles=True")
        wanted = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
        if wanted.ndim != 1 or not wanted.size or not ((wanted >= 0) & (wanted <= 1)).all():
            raise UsageError(f"quantiles must be numbers from 0 to 1, got {quantiles!r}")
        order = np.argsort(wanted, kind="stable")
        leaves = self._walk.leaves(table, threads=job_count(self.n_jobs, in_threads=True))
        channels = np.zeros(self.n_rows_, dtype=np.int32)
        weights = [self._tree_weights(t, channels, self._weights) for t in range(len(self.trees_))]
        out = np.empty((len(table), len(wanted)))
        out[:, order] = forest_quantiles(self.trees_, leaves, self._targets, weights, wanted[order])
        return out

    def permutation_importance(self, X: Any, y: Any) -> Bunch:
        """Return the increase of each tree's squared error when a column is shuffled among its unseen rows.

        As in `RandomForestClassifier`.
        """
        check_is_fitted(self)
        truth = np.asarray(y, dtype=np.float64)
        self._check_same_truth(np.zeros(len(truth), dtype=np.int32), truth)
        return self._permutation_importance(X, truth)

    def _new_member(self, **parameters: Any) -> DecisionTreeRegressor:
        return DecisionTreeRegressor(**parameters)

    def _pack(self, columns: Columns) -> dict[str, Any]:
        fitted = super()._pack(columns)
        pack_quantiles(self, columns)
        return fitted

    def _with_rows(self, trees: list[Tree], columns: Columns) -> list[Tree]:
        return unpack_quantiles(self, trees, columns)
