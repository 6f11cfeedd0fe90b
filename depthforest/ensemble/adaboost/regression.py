"""AdaBoost for regression: AdaBoost.R2 (Drucker 1997), members fitted on rows drawn by weight, weighted medians."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from depthforest.base import Floats, UsageError, is_whole
from depthforest.ensemble.adaboost.estimator import first_weights, member_setup
from depthforest.ensemble.adaboost.votes import weighed_importances
from depthforest.ensemble.bagging import MemberSetup, checked_template, fitted_member, refuses_missing
from depthforest.ensemble.fitting import (
    MemberSequence,
    checked_table,
    checked_training_table,
    cut,
    is_flag,
    is_frame,
    member_seeds,
    number,
    numbers,
    shown,
    whole,
)
from depthforest.ensemble.tree import DecisionTreeRegressor

LOSSES = ("linear", "square", "exponential")

CHANCE = 0.5
"""Largest mean loss of a member: beyond it, its weight would be zero or negative."""


class AdaBoostRegressor(MemberSequence, RegressorMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """AdaBoost for regression over any regressor: AdaBoost.R2 (Drucker 1997).

    Each round fits a member on n rows, drawn with replacement in proportion to their weights. A row's loss L is its
    absolute residual relative to the largest one, and e is the weighted mean loss. The member's weight is ln((1-e)/e),
    and the weights of rows are multiplied by (e/(1-e))^(1-L). Predictions are the weighted median of the members.

    - e = 0: the member fits all rows exactly. It gets weight 1, and fitting stops.
    - e >= 1/2: the member is discarded and fitting stops. The first member stays.

    Parameters
    ----------
    estimator : regressor, default=None
        Cloned for each member; None for `DecisionTreeRegressor(max_depth=3)`.
    n_estimators : int, default=50
        Largest number of rounds.
    learning_rate : float, default=1.0
        Factor of the members' weights, and exponent of the rows' factors; above 0.
    loss : {'linear', 'square', 'exponential'}, default='linear'
        L, L^2, or 1 - exp(-L).
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the drawn rows, and of every `random_state` inside the members.
    verbose : int, default=0
        Above 0: a progress bar of the fit on standard error.

    Attributes
    ----------
    estimators_ : list of regressors
        The members, one for each round.
    estimator_ : regressor
        The template of the members.
    estimator_weights_, estimator_errors_ : ndarray of shape (n_rounds,), float64
        Their weights, and their weighted mean losses in their rounds.
    feature_importances_ : ndarray of shape (n_features,), float64
        If the members have it: their weighted mean.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    .. [1] H. Drucker, "Improving regressors using boosting techniques", ICML (1997), 107-115.
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        loss: str = "linear",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.loss = loss
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the members, one after another.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Members get a DataFrame as a DataFrame. Missing values are allowed where the member allows them.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,) or a number, default=None
            Weights of the first round. Rows of weight zero count as absent.

        Returns
        -------
        self : AdaBoostRegressor
            If interrupted (KeyboardInterrupt, or an error in a member), the finished members stay: the ensemble
            predicts with them.
        """
        self._check_parameters()
        template = checked_template(self._template(), kind="regressor", owner=type(self).__name__)
        self.estimators_: list[Any] = []  # an error from here on leaves no mixture of two fits
        self._framed = is_frame(X)
        table, y = checked_training_table(self, X, y, reset=True, finite=refuses_missing(template))
        targets = numbers(table, y, owner=type(self).__name__)
        weights, rows = first_weights(sample_weight, len(targets))
        if rows is not None:
            table, targets = cut(table, rows, None), targets[rows]
        self.estimator_ = template
        setup = member_setup(template, table, targets, weights, 0, is_drawn=True)
        books: list[tuple[float, float]] = []
        members = self._rounds(setup, weights / weights.sum(), books)
        try:
            for member in shown(members, n=self.n_estimators, title=type(self).__name__, verbose=self.verbose):
                self.estimators_.append(member)
        finally:
            kept = np.array(books[: len(self.estimators_)]).reshape(-1, 2)
            self.estimator_weights_, self.estimator_errors_ = kept[:, 0], kept[:, 1]
        return self

    def _check_parameters(self) -> None:
        whole("n_estimators", self.n_estimators, 1)
        if number("learning_rate", self.learning_rate, 0) == 0:
            raise UsageError("learning_rate must be above 0, got 0: no member would have a weight")
        if self.loss not in LOSSES:
            raise UsageError(f"loss must be one of {', '.join(map(repr, LOSSES))}, got {self.loss!r}")
        if not (is_flag(self.verbose) or is_whole(self.verbose)):
            raise UsageError(f"verbose must be a whole number, above 0 for a progress bar; got {self.verbose!r}")

    def _rounds(self, setup: MemberSetup, weights: Floats, books: list[tuple[float, float]]) -> Iterator[Any]:
        """Yield the member of each round, after its weight and error were appended to `books`."""
        for index, seed in enumerate(member_seeds(self.random_state, self.n_estimators).tolist()):
            drawn = replace(setup, plan=replace(setup.plan, weights=weights))
            member = fitted_member(drawn, (index, seed))
            losses = _losses(np.abs(np.ravel(member.predict(setup.X)) - setup.y), self.loss)
            error = float(weights @ losses)
            if error >= CHANCE and index > 0:
                return
            is_last = error <= 0 or error >= CHANCE
            weight = 1.0 if is_last else self.learning_rate * float(np.log((1 - error) / error))
            books.append((weight, error))
            yield member
            if is_last:
                return
            weights = weights * (error / (1 - error)) ** (self.learning_rate * (1 - losses))
            weights /= weights.sum()

    def _medians(self, X: Any) -> Iterator[Floats]:
        """Yield the combined prediction for all rows after each member."""
        check_is_fitted(self)
        table = checked_table(self, X, framed=self._framed)
        answers: list[Floats] = []
        for n, member in enumerate(self.estimators_, 1):
            answers.append(np.ravel(member.predict(table)).astype(np.float64))
            yield _weighted_median(np.stack(answers, axis=1), self.estimator_weights_[:n])

    def predict(self, X: Any) -> Floats:
        """Return the weighted median of the members' predictions, (n_samples,) float64; the lower one of two middles.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        table = checked_table(self, X, framed=self._framed)
        answers = np.stack([np.ravel(member.predict(table)) for member in self.estimators_], axis=1)
        return _weighted_median(answers.astype(np.float64), self.estimator_weights_)

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Yield `predict(X)`, (n_samples,), after each round."""
        return self._medians(X)

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield the coefficient of determination after each round."""
        from sklearn.metrics import r2_score

        for answers in self._medians(X):
            yield float(r2_score(y, answers, sample_weight=sample_weight))

    @property
    def feature_importances_(self) -> Floats:
        """Weighted mean importance of each column over the members, (n_features,); only if all members have it."""
        check_is_fitted(self)
        return weighed_importances(self.estimators_, self.estimator_weights_)

    def _template(self) -> Any:
        return DecisionTreeRegressor(max_depth=3) if self.estimator is None else self.estimator

    def __sklearn_is_fitted__(self) -> bool:
        return bool(getattr(self, "estimators_", None))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        member = self._template()
        if hasattr(member, "__sklearn_tags__"):
            inner = get_tags(member).input_tags
            tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags


def _losses(sizes: Floats, kind: str) -> Floats:
    """Return the loss of every row, from 0 to 1, from the absolute residuals."""
    largest = float(sizes.max())
    shares = sizes / largest if largest > 0 else sizes
    if kind == "square":
        return np.asarray(shares**2)
    return np.asarray(1 - np.exp(-shares)) if kind == "exponential" else shares


def _weighted_median(answers: Floats, weights: Floats) -> Floats:
    """Return for each row the least answer of (n, n_members) with half of the weight at or below it."""
    order = np.argsort(answers, axis=1, kind="stable")
    reached = np.cumsum(weights[order], axis=1)
    place = (reached >= 0.5 * reached[:, -1:]).argmax(axis=1)
    rows = np.arange(len(answers))
    return np.asarray(answers[rows, order[rows, place]])
