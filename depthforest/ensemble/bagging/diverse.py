"""Ensembles of any estimator whose members differ by random draws, as a classifier and as a regressor.

Rows, columns, noise on the inputs, noise on the outputs, learning parameters: any combination of them can be drawn for
each member. The engine is `base`; `variants` has presets under well-known names.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import mean_squared_error, r2_score
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from depthforest.base import Floats, UsageError
from depthforest.ensemble.bagging.base import DiverseEnsemble
from depthforest.ensemble.bagging.draws import ParameterDistributions
from depthforest.ensemble.bagging.members import ClassVotes, MemberAnswer, decided_values, predicted_values
from depthforest.ensemble.fitting import (
    Classes,
    best_classes,
    best_codes,
    class_count,
    class_starts,
    coded_classes,
    logarithms,
    same_classes,
    shares_by_target,
    stacked_shares,
)


def _members_decide(ensemble: Any) -> bool:
    """Tell whether the members, or the template if there are none yet, have decision values."""
    known = getattr(ensemble, "estimators_", None) or [ensemble._template()]
    getattr(known[0], "decision_function")  # noqa: B009 - the member's own message
    return True


class DiverseEnsembleClassifier(ClassifierMixin, DiverseEnsemble):  # type: ignore[misc]
    """Classifier that averages members of one kind, made to differ by random draws.

    The probabilities of the members are averaged; if a member has no `predict_proba`, all members vote and the
    probabilities are shares of votes. The defaults are bagging. Every other parameter adds a source of diversity, and
    `bootstrap=False` removes the drawing of rows.

    Parameters
    ----------
    estimator : classifier, default=None
        Cloned for each member; None for a `DecisionTreeClassifier`. It sees classes as numbers 0 ... n_classes - 1.
    n_estimators : int, default=10
        Number of members.
    max_samples : int, float or None, default=None
        Rows that a member gets: a number, a share of the rows, or None for their number.
    bootstrap : bool or "bayesian", default=True
        Draw rows with replacement. False: without replacement; with `max_samples=None` every member then gets all rows.
        "bayesian": all rows with random weights from a Dirichlet distribution; the member must support `sample_weight`.
    max_features : int or float, default=1.0
        Columns that a member gets: a number, or a share of the columns.
    bootstrap_features : bool, default=False
        Draw columns with replacement.
    noise : float, default=0.0
        Standard deviation of normal noise added to every column that a member learns from, in standard deviations of
        the column. Non-numeric columns of a DataFrame and missing values are unchanged.
    flip : float, default=0.0
        Share of a member's rows whose labels are shuffled among them: each class keeps its exact number of rows. A row
        of class i becomes class j with probability flip * p_j, so a share flip * (1 - sum p_c^2) of the labels changes.
    param_distributions : mapping or sequence of mappings, default=None
        Parameters of the member that are drawn for each, as for scikit-learn's `ParameterSampler`: lists of values, or
        distributions with `rvs`.
    oob_score : bool, default=False
        Score each row with the members that have not seen it. Needs `bootstrap` or `max_samples` below all rows.
    warm_start : bool, default=False
        Keep the members of the last `fit` and add to them up to `n_estimators`.
    n_jobs : int, default=None
        Number of members that fit or predict in parallel (joblib). The result is the same for any number.
    random_state : int, RandomState instance or None, default=None
        Seed of all draws. Every `random_state` inside a member gets a seed of its own from it.
    verbose : int, default=0
        Above 0: a progress bar of the fit on standard error.

    Attributes
    ----------
    estimators_ : list of classifiers
        The members; their classes are numbers, positions in `classes_`.
    estimators_samples_, estimators_features_ : lists of ndarray, intp
        Rows and columns that each was fitted on.
    estimator_ : classifier
        The template of the members.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted; with several targets a list of these.
    n_classes_ : int or list of int
        Their number.
    n_outputs_ : int
        Number of targets.
    feature_importances_ : ndarray of shape (n_features,), float64
        Mean over the members, if all have it.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes), float64
        Out-of-bag probabilities; nan for a row that every member has seen. With several targets (n_samples, most
        classes, n_outputs), as in forests.
    oob_score_ : float
        Their accuracy over the rows that have them; with several targets the mean over them.
    oob_errors_ : ndarray of shape (n_estimators,), float64
        Out-of-bag error (1 - accuracy) after each member.
    """

    classes_: Classes

    _kind = "classifier"
    _predictions = ("predict", "predict_proba", "predict_log_proba", "decision_function")

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        max_samples: float | int | None = None,
        bootstrap: bool | str = True,
        max_features: float | int = 1.0,
        bootstrap_features: bool = False,
        noise: float = 0.0,
        flip: float = 0.0,
        param_distributions: ParameterDistributions | None = None,
        oob_score: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.bootstrap = bootstrap
        self.max_features = max_features
        self.bootstrap_features = bootstrap_features
        self.noise = noise
        self.flip = flip
        self.param_distributions = param_distributions
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def predict(self, X: Any, **params: Any) -> npt.NDArray[Any]:
        """Return the class with the highest mean probability (or most votes) of each row, the first if equal.

        The shape is (n_samples,); with several targets (n_samples, n_outputs).
        """
        return best_classes(self._mean_answer(X, "predict", params), self.classes_)

    def predict_proba(self, X: Any, **params: Any) -> Any:
        """Return mean probabilities (shares of votes), (n_samples, n_classes) float64, in the order of `classes_`.

        With several targets, the result is a list of such arrays.
        """
        return shares_by_target(self._mean_answer(X, "predict_proba", params), self.classes_)

    def predict_log_proba(self, X: Any, **params: Any) -> Any:
        """Return the logarithm of `predict_proba`; -inf where that is 0."""
        return logarithms(shares_by_target(self._mean_answer(X, "predict_log_proba", params), self.classes_))

    @available_if(_members_decide)
    def decision_function(self, X: Any, **params: Any) -> Floats:
        """Return the mean decision value of the members, (n_samples,) or (n_samples, n_classes), if they have it."""
        return self._mean_answer(X, "decision_function", params, decided_values)

    @staticmethod
    def _default_member() -> Any:
        # imported here, because members of other libraries need no compiled trees
        from depthforest.ensemble.tree import DecisionTreeClassifier

        return DecisionTreeClassifier()

    def _checked_target(self, y: Any, *, goes_on: bool) -> npt.NDArray[np.intp]:
        if y.ndim == 1 or y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        classes, codes = coded_classes(y)
        if goes_on and not same_classes(classes, self.classes_):
            raise UsageError(
                f"warm_start=True continues with the same classes: the members know {list(self.classes_)}, "
                f"and y has {list(classes)}"
            )
        self.classes_ = classes
        self.n_classes_ = class_count(classes)
        return codes.astype(np.intp)

    def _class_counts(self) -> tuple[int, ...]:
        return tuple(self.n_classes_) if isinstance(self.n_classes_, list) else (self.n_classes_,)

    def _answer(self) -> MemberAnswer:
        is_hard = not all(hasattr(member, "predict_proba") for member in self.estimators_)
        return ClassVotes(self._class_counts(), hard=is_hard)

    def _loss(self, y: npt.NDArray[Any], mean: Floats, weights: Floats | None) -> float:
        return 1.0 - self._quality(y, mean, weights)

    def _quality(self, y: npt.NDArray[Any], mean: Floats, weights: Floats | None) -> float:
        is_right = best_codes(mean, class_starts(self.classes_)) == y
        return float(np.average(is_right if y.ndim == 1 else is_right.mean(axis=1), weights=weights))

    def _keep_out_of_bag(self, mean: Floats) -> None:
        self.oob_decision_function_ = stacked_shares(mean, self.classes_)


class DiverseEnsembleRegressor(RegressorMixin, DiverseEnsemble):  # type: ignore[misc]
    """Regressor that averages members of one kind, made to differ by random draws.

    The defaults are bagging. Every other parameter adds a source of diversity; `bootstrap=False` removes the row draws.

    Parameters
    ----------
    estimator : regressor, default=None
        Cloned for each member; None for a `DecisionTreeRegressor`.
    n_estimators : int, default=10
        Number of members.
    max_samples : int, float or None, default=None
        Rows that a member gets: a number, a share of the rows, or None for their number.
    bootstrap : bool or "bayesian", default=True
        Draw rows with replacement. False: without replacement; with `max_samples=None` every member then gets all rows.
        "bayesian": all rows with random weights from a Dirichlet distribution; the member must support `sample_weight`.
    max_features : int or float, default=1.0
        Columns that a member gets: a number, or a share of the columns.
    bootstrap_features : bool, default=False
        Draw columns with replacement.
    noise : float, default=0.0
        Standard deviation of normal noise added to every column that a member learns from, in standard deviations of
        the column. Non-numeric columns of a DataFrame and missing values are unchanged.
    smear : float, default=0.0
        Standard deviation of normal noise added to the target of a member, in standard deviations of the target.
    param_distributions : mapping or sequence of mappings, default=None
        Parameters of the member that are drawn for each, as for scikit-learn's `ParameterSampler`: lists of values, or
        distributions with `rvs`.
    oob_score : bool, default=False
        Score each row with the members that have not seen it. Needs `bootstrap` or `max_samples` below all rows.
    warm_start : bool, default=False
        Keep the members of the last `fit` and add to them up to `n_estimators`.
    n_jobs : int, default=None
        Number of members that fit or predict in parallel (joblib). The result is the same for any number.
    random_state : int, RandomState instance or None, default=None
        Seed of all draws. Every `random_state` inside a member gets a seed of its own from it.
    verbose : int, default=0
        Above 0: a progress bar of the fit on standard error.

    Attributes
    ----------
    estimators_ : list of regressors
        The members.
    estimators_samples_, estimators_features_ : lists of ndarray, intp
        Rows and columns that each was fitted on.
    estimator_ : regressor
        The template of the members.
    n_outputs_ : int
        Number of targets.
    feature_importances_ : ndarray of shape (n_features,), float64
        Mean over the members, if all have it.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs), float64
        Out-of-bag predictions; nan for a row that every member has seen.
    oob_score_ : float
        Their R^2 over the rows that have them.
    oob_errors_ : ndarray of shape (n_estimators,), float64
        Out-of-bag mean squared error after each member.
    """

    _kind = "regressor"
    _predictions = ("predict",)

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        max_samples: float | int | None = None,
        bootstrap: bool | str = True,
        max_features: float | int = 1.0,
        bootstrap_features: bool = False,
        noise: float = 0.0,
        smear: float = 0.0,
        param_distributions: ParameterDistributions | None = None,
        oob_score: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.bootstrap = bootstrap
        self.max_features = max_features
        self.bootstrap_features = bootstrap_features
        self.noise = noise
        self.smear = smear
        self.param_distributions = param_distributions
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def predict(self, X: Any, **params: Any) -> Floats:
        """Return the mean prediction of the members, (n_samples,) or (n_samples, n_outputs) float64."""
        return self._mean_answer(X, "predict", params)

    @staticmethod
    def _default_member() -> Any:
        # imported here, because members of other libraries need no compiled trees
        from depthforest.ensemble.tree import DecisionTreeRegressor

        return DecisionTreeRegressor()

    def _checked_target(self, y: Any, *, goes_on: bool) -> Floats:  # noqa: ARG002 the classifier needs it
        if y.ndim == 1 or y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        return np.asarray(y, dtype=np.float64)

    def _answer(self) -> MemberAnswer:
        return predicted_values

    def _loss(self, y: npt.NDArray[Any], mean: Floats, weights: Floats | None) -> float:
        return float(mean_squared_error(y, mean, sample_weight=weights))

    def _quality(self, y: npt.NDArray[Any], mean: Floats, weights: Floats | None) -> float:
        # R^2 of a single row is undefined
        return float(r2_score(y, mean, sample_weight=weights)) if len(y) > 1 else float("nan")

    def _keep_out_of_bag(self, mean: Floats) -> None:
        self.oob_prediction_ = mean
