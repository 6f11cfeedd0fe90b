"""Stacking: a meta learner fitted on the out-of-fold predictions of members of any kind.

Built on `stackedmembers`; `fitting.folds` and `fitting.members` make the folds and the predictions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression, RidgeCV

from depthforest.base import Floats, UsageError
from depthforest.ensemble.combining.stackedmembers import StackedMembers
from depthforest.ensemble.fitting import (
    Answers,
    check_code_classes,
    class_codes,
    codes_of,
    label_codes,
    numbers,
    shared_classes,
)

# methods that 'auto' tries, in this order
_AUTO = ("predict_proba", "decision_function", "predict")
# Inverse penalty of the default meta learner. Probabilities lie within 0 and 1, so scikit-learn's 1.0 shrinks their
# coefficients too much: accuracy minus that of the best member on breast cancer, 30 seeds: C=1 -0.0053 +- 0.0013,
# 3 -0.0022, 10 -0.0012 +- 0.0010, 50 -0.0032; on wine all within noise.
META_C = 10.0
# iterations of the default meta learner: scikit-learn's 100 are too few with passed-through features
META_STEPS = 1000


class StackingClassifier(ClassifierMixin, StackedMembers):  # type: ignore[misc]
    """Classifier fitted on its members' out-of-fold answers.

    Every row i is predicted by members that were fitted without its fold, z_i = (h_1(x_i), ..., h_T(x_i)), and the meta
    learner is fitted on (z_i, y_i). For new rows, members fitted on all rows make z, and the meta learner predicts.
    More layers: use a StackingClassifier as `final_estimator` or as a member.

    Parameters
    ----------
    estimators : list of (str, estimator)
        Members with their names; 'drop' instead of an estimator leaves it out. Clones are fitted on the class codes
        0 .. n_classes - 1. A member may be a regressor, which is fitted to the codes.
    final_estimator : classifier, default=None
        The meta learner; None for logistic regression (C=10).
    cv : None, int, splitter, list of folds or 'prefit', default=None
        Folds of the out-of-fold answers: None for 5; a number is stratified, and also grouped if `fit` gets `groups`.
        Every row must be held out once. If a fold trains without a class, its members give that class the probability
        0, with a warning. 'prefit' takes fitted members as they are; X and y of `fit` then train only the meta learner
        and must not be what the members were fitted on.
    stack_method : {'auto', 'predict_proba', 'decision_function', 'predict'}, default='auto'
        Method of the members to call. 'auto': the first of these that a member has. Probabilities become one
        column for each class (for two classes, that of the second). Labels ('predict') are one-hot encoded (for two
        classes, the column of the second), because codes would imply an order.
    n_jobs : int or None, default=None
        Number of parallel fits over members and folds; the result is the same for any number.
    passthrough : bool, default=False
        Whether the meta learner also sees the original features.
    verbose : int or bool, default=0
        Above 0: progress bars.

    Attributes
    ----------
    estimators_ : list of members fitted on all rows, without the dropped ones
    named_estimators_ : Bunch, the same by name
    final_estimator_ : the fitted meta learner
    stack_method_ : list of str, the method used for each member
    classes_ : ndarray (n_classes,); a list of them with several targets
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    def __init__(
        self,
        estimators: Any,
        final_estimator: Any = None,
        *,
        cv: Any = None,
        stack_method: str = "auto",
        n_jobs: int | None = None,
        passthrough: bool = False,
        verbose: int = 0,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.cv = cv
        self.stack_method = stack_method
        self.n_jobs = n_jobs
        self.passthrough = passthrough
        self.verbose = verbose

    def _default_final_estimator(self) -> Any:
        return LogisticRegression(C=META_C, max_iter=META_STEPS)

    def fit(self, X: Any, y: Any, groups: Any = None, **fit_params: Any) -> StackingClassifier:
        """Fit the members, and the meta learner on their out-of-fold answers.

        Parameters
        ----------
        X : array-like, sparse matrix or frame (n, n_features)
            Passed to the members unchanged.
        y : array-like (n,) or (n, n_targets)
            Labels; with several targets each must be 0 or 1, and the meta learner must support them.
        groups : array-like (n,), optional
            Rows of one group stay in one fold: passed to the splitter. (A stacking inside this one gets it by metadata
            routing only.)
        **fit_params
            `sample_weight` goes to every member and to the meta learner; with metadata routing, anything they request.

        Returns
        -------
        StackingClassifier
            Itself.
        """
        members = self._checked_members(only="either")
        final = self._checked_final("classifier", is_classifier)
        methods = [self._method(name, member) for name, member in members]
        judges = [(name, member) for name, member in members if is_classifier(member)]
        known = shared_classes([n for n, _ in judges], [m for _, m in judges]) if self._is_prefit and judges else None
        several = label_codes(X, y, owner=type(self).__name__)
        if several is not None:
            return self._fit_targets(members, final, methods, X, several, self._routed(X, groups, fit_params))
        classes, codes = class_codes(X, y, known, owner=type(self).__name__)
        self._check_features(X, reset=True)
        routed = self._routed(X, groups, fit_params)
        fitted = self._fit_members(members, X, codes, routed)
        if not self._is_prefit:
            coded = [i for i, (_, member) in enumerate(members) if is_classifier(member)]
            check_code_classes([members[i][0] for i in coded], [fitted[i] for i in coded], classes)
        self.classes_ = classes
        self._member_classes = classes if self._is_prefit else np.arange(len(classes))
        self.stack_method_ = methods
        self._keep_members(members, fitted)
        z = self._all_columns(self._held_out(members, methods, X, codes, routed, labels=classes))
        self._fit_final(final, z, X, codes, routed)
        check_code_classes(["final_estimator"], [self.final_estimator_], classes)
        return self

    def _fit_targets(
        self, members: Any, final: Any, methods: list[str], X: Any, targets: tuple[list[Any], Any], routed: Any
    ) -> StackingClassifier:
        """Fit to several binary targets: each member has a column for each."""
        codes = targets[1]
        classes: Any = targets[0]
        self._check_features(X, reset=True)
        fitted = self._fit_members(members, X, codes, routed)
        self.classes_, self.stack_method_ = classes, methods
        self._keep_members(members, fitted)
        z = self._all_columns(self._held_out(members, methods, X, codes, routed, labels=None))
        self._fit_final(final, z, X, codes, routed)
        return self

    def _method(self, name: str, member: Any) -> str:
        if self.stack_method not in ("auto", *_AUTO):
            raise UsageError(f"stack_method must be 'auto' or one of {', '.join(_AUTO)}, got {self.stack_method!r}")
        wanted = _AUTO if self.stack_method == "auto" else (self.stack_method,)
        for method in wanted:
            if hasattr(member, method):
                return method
        raise UsageError(
            f"member {name!r} ({type(member).__name__}) has no {' or '.join(wanted)}; use stack_method='auto'"
        )

    def _columns(self, name: str, answer: Answers, method: str) -> Floats:
        if isinstance(self.classes_, list):
            return np.asarray(answer, dtype=np.float64)
        n_classes = len(self.classes_)
        if method == "predict" and is_classifier(self.named_estimators_[name]):
            answer = np.eye(n_classes)[
                codes_of(answer.ravel(), self._member_classes, what=f"member {name!r} predicted")
            ]
        elif answer.ndim == 1:
            answer = answer[:, None]
        return np.asarray(answer[:, 1:] if n_classes == answer.shape[1] == 2 else answer, dtype=np.float64)

    def predict(self, X: Any, **predict_params: Any) -> npt.NDArray[Any]:
        """Return the meta learner's label for each row, (n,), or (n, n_targets).

        Parameters
        ----------
        X : array-like, sparse matrix or frame (n, n_features)
        **predict_params
            Passed to the meta learner's `predict`.
        """
        codes = self._final_answer("predict", X, predict_params)
        numbers_of = np.asarray(codes, dtype=np.int64)
        if isinstance(self.classes_, list):
            return np.stack([own[numbers_of[:, t]] for t, own in enumerate(self.classes_)], axis=1)
        return np.asarray(self.classes_[numbers_of])

    @property
    def predict_proba(self) -> Callable[[Any], Floats]:
        """The meta learner's probabilities: predict_proba(X) -> (n, n_classes); only if it has them."""
        self._final_offers("predict_proba")
        return lambda X: self._final_answer("predict_proba", X, {})

    @property
    def decision_function(self) -> Callable[[Any], Floats]:
        """The meta learner's scores: decision_function(X) -> (n,) or (n, n_classes); only if it has them."""
        self._final_offers("decision_function")
        return lambda X: self._final_answer("decision_function", X, {})


class StackingRegressor(RegressorMixin, StackedMembers):  # type: ignore[misc]
    """Regressor fitted on its members' out-of-fold predictions.

    Every row i is predicted by members that were fitted without its fold, z_i = (h_1(x_i), ..., h_T(x_i)), and the meta
    learner is fitted on (z_i, y_i). For new rows, members fitted on all rows make z, and the meta learner predicts.
    More layers: use a StackingRegressor as `final_estimator` or as a member.

    Parameters
    ----------
    estimators : list of (str, estimator)
        Members with their names; 'drop' instead of an estimator leaves it out. Clones are fitted.
    final_estimator : regressor, default=None
        The meta learner; None for ridge regression with a cross-validated penalty.
    cv : None, int, splitter, list of folds or 'prefit', default=None
        Folds of the out-of-fold predictions: None for 5, grouped if `fit` gets `groups`. They are not shuffled: pass
        KFold(5, shuffle=True, random_state=0) if the rows are sorted. Every row must be held out once. 'prefit' takes
        fitted members as they are; X and y of `fit` then train only the meta learner and must not be what the members
        were fitted on.
    n_jobs : int or None, default=None
        Number of parallel fits over members and folds; the result is the same for any number.
    passthrough : bool, default=False
        Whether the meta learner also sees the original features.
    verbose : int or bool, default=0
        Above 0: progress bars.

    Attributes
    ----------
    estimators_ : list of members fitted on all rows, without the dropped ones
    named_estimators_ : Bunch, the same by name
    final_estimator_ : the fitted meta learner
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    def __init__(
        self,
        estimators: Any,
        final_estimator: Any = None,
        *,
        cv: Any = None,
        n_jobs: int | None = None,
        passthrough: bool = False,
        verbose: int = 0,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.cv = cv
        self.n_jobs = n_jobs
        self.passthrough = passthrough
        self.verbose = verbose

    def _default_final_estimator(self) -> Any:
        return RidgeCV()

    def fit(self, X: Any, y: Any, groups: Any = None, **fit_params: Any) -> StackingRegressor:
        """Fit the members, and the meta learner on their out-of-fold predictions.

        Parameters
        ----------
        X : array-like, sparse matrix or frame (n, n_features)
            Passed to the members unchanged.
        y : array-like (n,)
            Targets.
        groups : array-like (n,), optional
            Rows of one group stay in one fold: passed to the splitter. (A stacking inside this one gets it by metadata
            routing only.)
        **fit_params
            `sample_weight` goes to every member and to the meta learner; with metadata routing, anything they request.

        Returns
        -------
        StackingRegressor
            Itself.
        """
        members = self._checked_members(only="regressor")
        final = self._checked_final("regressor", is_regressor)
        target = numbers(X, y, owner=type(self).__name__)
        self._check_features(X, reset=True)
        routed = self._routed(X, groups, fit_params)
        fitted = self._fit_members(members, X, target, routed)
        self.stack_method_ = ["predict"] * len(members)
        self._keep_members(members, fitted)
        z = self._all_columns(self._held_out(members, self.stack_method_, X, target, routed, labels=None))
        self._fit_final(final, z, X, target, routed)
        return self

    def _columns(self, name: str, answer: Answers, method: str) -> Floats:  # noqa: ARG002
        return answer.reshape(len(answer), -1).astype(np.float64)

    def predict(self, X: Any, **predict_params: Any) -> npt.NDArray[Any]:
        """Return the meta learner's prediction for each row, (n,) float64.

        Parameters
        ----------
        X : array-like, sparse matrix or frame (n, n_features)
        **predict_params
            Passed to the meta learner's `predict`; with `return_std` and the like, its result is returned as it is.
        """
        return self._final_answer("predict", X, predict_params)
