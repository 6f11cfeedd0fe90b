"""Forests of classes and of numbers: how y is read, what they predict, and how they judge themselves out of bag."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import Bunch, compute_class_weight
from sklearn.utils.validation import check_is_fitted

from depthforest.base import Floats, UsageError
from depthforest.ensemble.fitting import job_count
from depthforest.ensemble.forests.base import BaseForest
from depthforest.ensemble.forests.outofbag import (
    ask,
    error_bound,
    strength_and_correlation,
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
    check_weights,
    fit_classes,
    fit_numbers,
    fit_table,
    predict_table,
    weighed_classes,
)

SUBSAMPLE = "balanced_subsample"


class ForestClassifier(ClassifierMixin, BaseForest):  # type: ignore[misc]
    """What forests of classes learn from and predict."""

    _criteria = CLASS_CRITERIA

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the forest.

        Parameters
        ----------
        X : (n, n_features) array, sparse matrix or DataFrame
        y : (n,) array
        sample_weight : (n,) array, optional

        Returns
        -------
        self
        """
        table = fit_table(self, X, self.categorical_features)
        self.classes_, codes = fit_classes(y, table)
        weights = check_weights(sample_weight, table)
        by_tree = isinstance(self.class_weight, str) and self.class_weight == SUBSAMPLE
        weights = weighed_classes(weights, None if by_tree else self.class_weight, self.classes_, codes)
        self._fit(table, codes, np.ones(len(codes)), weights, len(self.classes_))
        if self.oob_score:
            self._judge_out_of_bag(table, codes)
        return self

    def _judge_out_of_bag(self, table: Table, codes: npt.NDArray[np.int32]) -> None:
        threads = job_count(self.n_jobs, in_threads=True)
        asked = ask(self.trees_, self._unseen_rows, table, codes, threads=threads)
        known = ~np.isnan(asked.means[:, 0])
        self.oob_decision_function_ = asked.means
        self.oob_errors_ = asked.errors
        self.oob_score_ = (
            float(accuracy_score(codes[known], asked.means[known].argmax(axis=1))) if known.any() else np.nan
        )
        self.strength_, self.correlation_ = strength_and_correlation(
            self.trees_, self._unseen_rows, table, codes, threads=threads
        )
        self.error_bound_ = error_bound(self.strength_, self.correlation_)

    def _tree_weights(self, t: int, channels: Any, weights: Floats) -> Floats:
        own = super()._tree_weights(t, channels, weights)
        if not isinstance(self.class_weight, str) or self.class_weight != SUBSAMPLE:
            return own
        there = np.unique(channels[own > 0])
        drawn = channels[self._drawn_rows(t)]
        factors = np.zeros(len(self.classes_))
        factors[there] = compute_class_weight("balanced", classes=there, y=drawn)
        return np.asarray(own * factors[channels])

    def _new_member(self, **parameters: Any) -> DecisionTreeClassifier:
        member = DecisionTreeClassifier(**parameters)
        member.classes_ = np.arange(len(self.classes_))
        return member

    @property
    def n_classes_(self) -> int:
        """How many classes there are."""
        check_is_fitted(self)
        return len(self.classes_)

    def predict_proba(self, X: Any) -> Floats:
        """Return the mean of the trees' class shares, (n, n_classes)."""
        return self._mean(X)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class with the largest mean share, (n,); of equals the first."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_.take(best))

    def permutation_importance(self, X: Any, y: Any) -> Bunch:
        """Return how much the error of each tree rises when a column is shuffled among its unseen rows.

        Parameters
        ----------
        X, y
            What the forest was fitted on.

        Returns
        -------
        Bunch
            `importances_mean` and `importances_std` (n_features,), `importances` (n_features, n_trees).
        """
        check_is_fitted(self)
        labels = np.asarray(y)
        unknown = labels[~np.isin(labels, self.classes_)]
        if len(unknown):
            raise UsageError(f"y must be what the forest was fitted on, got the unknown class {unknown[0]!r}")
        codes = np.searchsorted(self.classes_, labels).astype(np.int32)
        self._check_same_truth(codes, np.ones(len(codes)))
        return self._permutation_importance(X, codes)


class ForestRegressor(RegressorMixin, BaseForest):  # type: ignore[misc]
    """What forests of numbers learn from and predict."""

    _criteria = NUMBER_CRITERIA

    @property
    def _keeps_rows(self) -> bool:  # type: ignore[override]
        return bool(self.quantiles)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the forest.

        Parameters
        ----------
        X : (n, n_features) array, sparse matrix or DataFrame
        y : (n,) array
        sample_weight : (n,) array, optional

        Returns
        -------
        self
        """
        table = fit_table(self, X, self.categorical_features)
        weights = check_weights(sample_weight, table)
        targets, self._offset = fit_numbers(y, table, weights)
        self.__dict__.pop("_targets", None)
        if self.quantiles:  # before the trees: an interrupted fit keeps those that are finished
            self._targets, self._weights = targets, weights
        self._fit(table, np.zeros(len(targets), dtype=np.int32), targets, weights, 1)
        if self.oob_score:
            asked = ask(self.trees_, self._unseen_rows, table, targets, threads=job_count(self.n_jobs, in_threads=True))
            known = ~np.isnan(asked.means[:, 0])
            self.oob_prediction_ = asked.means[:, 0]
            self.oob_errors_ = asked.errors
            n_known = np.count_nonzero(known)
            self.oob_score_ = float(r2_score(targets[known], asked.means[known, 0])) if n_known > 1 else np.nan
        return self

    def predict(self, X: Any) -> Floats:
        """Return the mean of the trees' predictions, (n,)."""
        return self._mean(X)[:, 0]

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
        """Return how much the squared error of each tree rises when a column is shuffled among its unseen rows.

        As of `RandomForestClassifier`.
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
