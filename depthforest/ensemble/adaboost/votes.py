"""Weighted votes of boosted members, after all rounds or after each. Base of the AdaBoost classifiers.

The values equal scikit-learn's, so that one class can replace the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from depthforest.base import Floats
from depthforest.ensemble.adaboost.rounds import Ledger, error_bounds
from depthforest.ensemble.fitting import Indices


def weighed_importances(members: list[Any], weights: Floats) -> Floats:
    """Return the weighted mean importance of each column over the members, (n_features,)."""
    without = [member for member in members if not hasattr(member, "feature_importances_")]
    if without:
        raise AttributeError(f"a member has no feature_importances_: {type(without[0]).__name__}")
    each = np.array([member.feature_importances_ for member in members])
    return np.asarray(weights @ each / weights.sum())


class BoostedVotes(ClassifierMixin):  # type: ignore[misc]
    """Predictions of an ensemble with `estimators_`, `estimator_weights_` and `classes_`.

    A subclass implements `_votes`, the answer of each round's member.
    """

    form: str
    estimators_: list[Any]
    estimator_weights_: Floats
    estimator_errors_: Floats
    weight_history_: Floats
    classes_: npt.NDArray[Any]
    n_classes_: int

    def _votes(self, X: Any) -> Iterator[npt.NDArray[np.intp]]:
        """Yield the class that each round's member votes for, as its code, (n_samples,); checks X."""
        raise NotImplementedError

    def _keep_books(self, rounds: Ledger, rows: Indices | None, n_samples: int) -> None:
        """Store the figures of the finished members, from a run on these training rows (None for all)."""
        n = len(self.estimators_)  # an interruption may fall between a round's figures and its member
        self.estimator_weights_ = np.array(rounds.member_weights[:n])
        self.estimator_errors_ = np.array(rounds.errors[:n])
        is_bounded = self.n_classes_ == 2
        bound = error_bounds(self.estimator_errors_, self.estimator_weights_, form=self.form) if is_bounded else None
        self._error_bound: Floats | None = bound
        if hasattr(self, "weight_history_"):
            del self.weight_history_  # of the last fit
        if rounds.history is not None:
            self.weight_history_ = np.zeros((n, n_samples))
            for kept in self.weight_history_:
                kept[slice(None) if rows is None else rows] = rounds.history.pop(0)  # never two copies of all of it

    # ------------------------------------------------------------------ predictions after each round

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Yield `decision_function(X)` after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        for votes, total in self._staged_votes(X):
            yield self._decision(votes / total)

    def _staged_votes(self, X: Any) -> Iterator[tuple[Floats, float]]:
        """Yield the weight of the votes for each class, (n_samples, n_classes), and of all; overwritten each round."""
        sums: Floats | None = None
        total = 0.0
        for votes, weight in zip(self._votes(X), self.estimator_weights_, strict=True):
            if sums is None:
                sums, rows = np.zeros((len(votes), self.n_classes_)), np.arange(len(votes))
            sums[rows, votes] += weight
            total += float(weight)
            yield sums, total

    def _all_votes(self, X: Any) -> tuple[Floats, float]:
        """Return the last value of `_staged_votes`."""
        *_, last = self._staged_votes(X)
        return last

    def _decision(self, shares: Floats) -> Floats:
        """Return scikit-learn's decision values from shares of the votes (n_samples, n_classes)."""
        if self.n_classes_ == 2:
            return np.asarray(2 * (shares[:, 1] - shares[:, 0]))
        return (self.n_classes_ * shares - 1) / (self.n_classes_ - 1)

    def staged_predict(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Yield `predict(X)`, (n_samples,), after each round."""
        for decision in self.staged_decision_function(X):
            yield self._labels(decision)

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Yield `predict_proba(X)`, (n_samples, n_classes), after each round."""
        for decision in self.staged_decision_function(X):
            yield self._probabilities(decision)

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield the accuracy after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            True classes.
        sample_weight : array-like of shape (n_samples,), optional
        """
        for labels in self.staged_predict(X):
            yield float(accuracy_score(y, labels, sample_weight=sample_weight))

    # ------------------------------------------------------------------ predictions after the last round

    def decision_function(self, X: Any) -> Floats:
        """Return the margin of the vote, float64.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        (n_samples,) for two classes, else (n_samples, n_classes)
            With S_k the share of the members' weight that votes for class k: 2 (S_1 - S_0), from -2 to 2, above 0 for
            the second class; or (K S_k - 1) / (K - 1) for each of K classes, at most 1, with rows that sum to 0.
        """
        check_is_fitted(self)
        votes, total = self._all_votes(X)
        return self._decision(votes / total)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class with the largest weight of votes for each row, (n_samples,); the first if equal.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        """
        return self._labels(self.decision_function(X))

    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities, (n_samples, n_classes) float64: the softmax of the decision values over K - 1.

        As in scikit-learn they are in the right order but far too close to each other, because the decision values are
        shares: calibrate them (scikit-learn's `CalibratedClassifierCV`) before using them as frequencies.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        """
        return self._probabilities(self.decision_function(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of `predict_proba`, (n_samples, n_classes) float64."""
        return np.log(self.predict_proba(X))

    def _labels(self, decision: Floats) -> npt.NDArray[Any]:
        winners = decision > 0 if self.n_classes_ == 2 else decision.argmax(axis=1)
        return np.asarray(self.classes_[winners.astype(np.intp)])

    def _probabilities(self, decision: Floats) -> Floats:
        if self.n_classes_ == 2:
            decision = np.stack([-decision, decision], axis=1) / 2
        return np.asarray(softmax(decision / (self.n_classes_ - 1), axis=1))

    # ------------------------------------------------------------------ figures of the rounds

    @property
    def error_bound_(self) -> Floats:
        """Upper bound on the training error after each round, (n_rounds,) float64; for two classes only.

        The product of 2 sqrt(e (1-e)); for a learning rate other than 1, of (1-e) exp(-alpha) + e exp(alpha). With
        `sample_weight` it bounds the weighted error.
        """
        check_is_fitted(self)
        if self._error_bound is None:
            raise AttributeError(f"the bound on the training error is for two classes, but y has {self.n_classes_}")
        return self._error_bound

    @property
    def feature_importances_(self) -> Floats:
        """Weighted mean importance of each column over the members, (n_features,); only if all members have it."""
        check_is_fitted(self)
        return weighed_importances(self.estimators_, self.estimator_weights_)

    def __sklearn_is_fitted__(self) -> bool:
        return bool(getattr(self, "estimators_", None))
