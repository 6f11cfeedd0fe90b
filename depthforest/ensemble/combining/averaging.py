"""Averaging: regressors of any kind combined by their simple or weighted mean (a committee).

Built on `members`; weights come from `weighting`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from depthforest.base import Floats
from depthforest.ensemble.combining.members import NamedMembers, is_dropped
from depthforest.ensemble.combining.weighting import (
    FITTED,
    error_weights,
    given_weights,
    is_found,
    least_squares_weights,
)
from depthforest.ensemble.fitting import numbers


class AveragingRegressor(RegressorMixin, NamedMembers):  # type: ignore[misc]
    """Regressor that predicts the weighted mean of its members: sum of w_i h_i(x), with w_i >= 0 summing to 1.

    Parameters
    ----------
    estimators : list of (str, estimator)
        Members with their names; 'drop' instead of an estimator leaves it out. Clones are fitted.
    weights : None, array-like (n_members,), 'validation' or 'fitted', default=None
        None: equal (the simple mean). Numbers: nonnegative, scaled to sum to 1. 'validation': 1 / mean squared error on
        held-out rows. 'fitted': the nonnegative weights with sum 1 that minimize the squared error of the mean on the
        held-out rows, so that members with similar errors share their weight.
    cv : None, int, splitter, list of folds or 'prefit', default=None
        Folds of the held-out predictions for `weights`: None for 5 (grouped, if `fit` gets `groups`). They are not
        shuffled: pass KFold(5, shuffle=True, random_state=0) if the rows are sorted. 'prefit' takes fitted members as
        they are; X and y of `fit` are then the held-out rows and must not be what the members were fitted on.
    n_jobs : int or None, default=None
        Members fitted at once; the result is the same for any number.
    verbose : int or bool, default=False
        Above 0: progress bars.

    Attributes
    ----------
    estimators_ : list of fitted members, without the dropped ones
    named_estimators_ : Bunch, the same by name
    weights_ : ndarray (n_kept,) float64, summing to 1
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    def __init__(
        self,
        estimators: Any,
        *,
        weights: Any = None,
        cv: Any = None,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.cv = cv
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, groups: Any = None, **fit_params: Any) -> AveragingRegressor:
        """Fit the members and find their weights.

        Parameters
        ----------
        X : array-like, sparse matrix or frame (n, n_features)
            Passed to the members unchanged.
        y : array-like (n,)
            Targets.
        groups : array-like (n,), optional
            Rows of one group stay in one fold; used if `weights` come from folds.
        **fit_params
            `sample_weight` goes to every member and is used in finding weights; with metadata routing, anything that
            members request.

        Returns
        -------
        AveragingRegressor
            Itself.
        """
        members = self._checked_members(only="regressor")
        kept = [not is_dropped(m) for _, m in self.estimators]
        given = None if is_found(self.weights) else given_weights(self.weights, kept)
        target = numbers(X, y, owner=type(self).__name__)
        self._check_features(X, reset=True)
        routed = self._routed(X, groups, fit_params)
        fitted = self._fit_members(members, X, target, routed)
        if given is None:
            answers = self._held_out(members, ["predict"] * len(members), X, target, routed, labels=None)
            errors = np.stack([answer.ravel() for answer in answers], axis=1) - target[:, None]
            weight = fit_params.get("sample_weight")
            weight = None if weight is None else _check_sample_weight(weight, X)
            find = least_squares_weights if self.weights == FITTED else error_weights
            given = find(errors, weight)
        self.weights_ = given
        self._keep_members(members, fitted)
        return self

    def transform(self, X: Any) -> Floats:
        """Return every member's prediction, (n, n_members) float64.

        Parameters
        ----------
        X : array-like, sparse matrix or frame (n, n_features)
        """
        return np.stack([answer.ravel() for answer in self._asked("predict", X)], axis=1).astype(np.float64)

    def predict(self, X: Any) -> Floats:
        """Return the weighted mean of the members' predictions, (n,) float64.

        Parameters
        ----------
        X : array-like, sparse matrix or frame (n, n_features)
        """
        # not through `transform`, whose result `set_output` may turn into a frame
        return np.stack([answer.ravel() for answer in self._asked("predict", X)], axis=1) @ self.weights_

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:  # noqa: ARG002
        """Return the names of the columns of `transform`: averagingregressor_NAME.

        Parameters
        ----------
        input_features
            Not used.
        """
        check_is_fitted(self)
        return np.asarray([f"{type(self).__name__.lower()}_{name}" for name in self._kept_names()], dtype=object)


class VotingRegressor(AveragingRegressor):
    """`AveragingRegressor` under scikit-learn's name.

    Parameters and attributes are those of `AveragingRegressor`.
    """
