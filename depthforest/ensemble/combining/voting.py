"""Voting: classifiers of any kind combined by votes, probabilities, or votes weighted by confidence.

Built on `members`; weights come from `weighting`, the reject rule and its curve from `rejecting`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from depthforest.base import Floats, Longs, UsageError
from depthforest.ensemble.combining.members import NamedMembers, is_dropped
from depthforest.ensemble.combining.rejecting import (
    RejectCurve,
    check_majority,
    check_reject_label,
    is_rejected,
    reject_curve,
    rounded_shares,
    with_rejects,
)
from depthforest.ensemble.combining.weighting import (
    FITTED,
    accuracy_weights,
    given_weights,
    is_found,
    least_squares_weights,
)
from depthforest.ensemble.fitting import Answers, Member, check_code_classes, class_codes, codes_of, shared_classes

Codes = Longs

# voting -> the method of the members to call
_METHODS = {"hard": "predict", "soft": "predict_proba", "confidence": "predict_proba"}


class VotingClassifier(ClassifierMixin, NamedMembers):  # type: ignore[misc]
    """Classifier whose members vote: plurality, majority or reject, weighted, soft, or by confidence.

    With weights w_i (summing to 1) and the vote h_i(x) of each member, a class c gets the share

    - `hard`: sum of w_i over members with h_i(x) = c;
    - `soft`: sum of w_i p_i(c | x);
    - `confidence`: sum of w_i q_i(x) over members with h_i(x) = c, divided by the sum over all members, where
      q_i(x) = max over c of p_i(c | x) is the member's own confidence in its vote h_i(x) (for a tree the purity of the
      leaf).

    The largest share wins; the first class if several are equal.

    Parameters
    ----------
    estimators : list of (str, estimator)
        Members with their names; 'drop' instead of an estimator leaves it out. Clones are fitted on the class codes
        0 .. n_classes - 1.
    voting : {'hard', 'soft', 'confidence'}, default='hard'
        How members are combined. 'soft' and 'confidence' need probabilities, which every member must have.
    weights : None, array-like (n_members,), 'validation' or 'fitted', default=None
        None: equal. Numbers: nonnegative, scaled to sum to 1. 'validation': from the accuracy on held-out rows
        (log-odds relative to chance). 'fitted': the nonnegative weights with sum 1 that minimize the squared error of
        the shares (the Brier score) on the held-out rows, so that members with similar errors share their weight.
    reject_label : label or None, default=None
        Predicted if the winner has no majority; None never rejects. Must have the classes' type and not be a class.
        `score` counts rejected rows as wrong; `reject_curve` shows both sides.
    majority : float, default=0.5
        Share of the votes that the winner must exceed to be accepted.
    cv : None, int, splitter, list of folds or 'prefit', default=None
        Folds of the held-out predictions for `weights`: None for 5, stratified (grouped, if `fit` gets `groups`).
        'prefit' takes fitted members as they are; X and y of `fit` are then the held-out rows and must not be what the
        members were fitted on.
    n_jobs : int or None, default=None
        Members fitted at once; the result is the same for any number.
    flatten_transform : bool, default=True
        Shape of the probabilities that `transform` returns: (n, n_members * n_classes), or (n_members, n, n_classes).
    verbose : int or bool, default=False
        Above 0: progress bars.

    Attributes
    ----------
    estimators_ : list of fitted members, without the dropped ones
    named_estimators_ : Bunch, the same by name
    classes_ : ndarray (n_classes,)
    weights_ : ndarray (n_kept,) float64, summing to 1
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    def __init__(
        self,
        estimators: Any,
        *,
        voting: str = "hard",
        weights: Any = None,
        reject_label: Any = None,
        majority: float = 0.5,
        cv: Any = None,
        n_jobs: int | None = None,
        flatten_transform: bool = True,
        verbose: int = False,
    ) -> None:
        self.estimators = estimators
        self.voting = voting
        self.weights = weights
        self.reject_label = reject_label
        self.majority = majority
        self.cv = cv
        self.n_jobs = n_jobs
        self.flatten_transform = flatten_transform
        self.verbose = verbose

    # ------------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any, groups: Any = None, **fit_params: Any) -> VotingClassifier:
        """Fit the members and find their weights.

        Parameters
        ----------
        X : array-like, sparse matrix or frame (n, n_features)
            Passed to the members unchanged.
        y : array-like (n,)
            Labels.
        groups : array-like (n,), optional
            Rows of one group stay in one fold; used if `weights` come from folds.
        **fit_params
            `sample_weight` goes to every member and is used in finding weights; with metadata routing, anything that
            members request.

        Returns
        -------
        VotingClassifier
            Itself.
        """
        members = self._checked_members(only="classifier")
        self._check_options(members)
        known = shared_classes([name for name, _ in members], [m for _, m in members]) if self._is_prefit else None
        classes, codes = class_codes(X, y, known, owner=type(self).__name__)
        if self.reject_label is not None:
            check_reject_label(self.reject_label, classes)
        self._check_features(X, reset=True)
        routed = self._routed(X, groups, fit_params)
        fitted = self._fit_members(members, X, codes, routed)
        if not self._is_prefit:
            check_code_classes([name for name, _ in members], fitted, classes)
        self._keep_members(members, fitted)
        self.classes_ = classes
        self._member_classes = classes if self._is_prefit else np.arange(len(classes))
        if is_found(self.weights):
            answers = self._held_out(members, [_METHODS[self.voting]] * len(members), X, codes, routed, labels=classes)
            sample_weight = fit_params.get("sample_weight")
            if sample_weight is not None:
                sample_weight = _check_sample_weight(sample_weight, X)
            self.weights_ = self._found_weights(answers, codes, sample_weight)
        else:
            self.weights_ = given_weights(self.weights, [not is_dropped(m) for _, m in self.estimators])
        return self

    def _check_options(self, members: Sequence[Member]) -> None:
        if self.voting not in _METHODS:
            raise UsageError(f"voting must be one of {', '.join(map(repr, _METHODS))}, got {self.voting!r}")
        check_majority(self.majority)
        if not is_found(self.weights):
            given_weights(self.weights, [not is_dropped(m) for _, m in self.estimators])
        method = _METHODS[self.voting]
        without = [f"{name!r} ({type(m).__name__})" for name, m in members if not hasattr(m, method)]
        if without:
            raise UsageError(
                f"voting={self.voting!r} needs members with {method}, which these lack: {', '.join(without)};"
                " use voting='hard' or other members"
            )

    def _found_weights(self, answers: Sequence[Answers], codes: Codes, sample_weight: Floats | None) -> Floats:
        """Return weights from the members' answers on held-out rows with the class codes (n,)."""
        ballots = [self._ballot(name, answer) for name, answer in zip(self._kept_names(), answers, strict=True)]
        n_classes = len(self.classes_)
        if self.weights == FITTED:
            truth = np.eye(n_classes)[codes]
            errors = np.stack([(ballot - truth).ravel() for ballot in ballots], axis=1)
            return least_squares_weights(errors, None if sample_weight is None else np.repeat(sample_weight, n_classes))
        right = np.stack([ballot.argmax(axis=1) == codes for ballot in ballots], axis=1)
        return accuracy_weights(right, n_classes, sample_weight)

    # ------------------------------------------------------------------ counting

    def _ballot(self, name: str, answer: Answers) -> Floats:
        """Return the votes of a member's answer for each class, (n, n_classes) float64, before weighting."""
        n_classes = len(self.classes_)
        if self.voting == "hard":
            return np.eye(n_classes)[codes_of(answer.ravel(), self._member_classes, what=f"member {name!r} voted for")]
        if answer.shape != (len(answer), n_classes):
            raise UsageError(
                f"member {name!r} must return probabilities of shape (n, {n_classes}), got shape {answer.shape}"
            )
        if self.voting == "soft":
            return answer.astype(np.float64)
        ballot = np.zeros(answer.shape)
        rows, winners = np.arange(len(answer)), answer.argmax(axis=1)
        ballot[rows, winners] = answer[rows, winners]
        return ballot

    def vote_shares(self, X: Any) -> Floats:
        """Return each class's share of the votes, (n, n_classes) float64; every row sums to 1.

        Parameters
        ----------
        X : array-like, sparse matrix or frame (n, n_features)
        """
        answers = self._asked(_METHODS[self.voting], X)
        counted = zip(self._kept_names(), self.weights_, answers, strict=True)
        shares: Floats = np.sum([weight * self._ballot(name, answer) for name, weight, answer in counted], axis=0)
        if self.voting == "confidence":
            shares /= shares.sum(axis=1, keepdims=True)
        return rounded_shares(shares)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class with the largest share for each row, (n,), or `reject_label` if it has no majority.

        Parameters
        ----------
        X : array-like, sparse matrix or frame (n, n_features)
        """
        shares = self.vote_shares(X)
        labels: npt.NDArray[Any] = self.classes_[shares.argmax(axis=1)]
        if self.reject_label is None:
            return labels
        return with_rejects(labels, is_rejected(shares, self.majority), self.reject_label)

    @property
    def predict_proba(self) -> Callable[[Any], Floats]:
        """Weighted mean of the members' probabilities: predict_proba(X) -> (n, n_classes); with voting='soft' only."""
        if self.voting != "soft":
            raise AttributeError(
                f"voting={self.voting!r} counts votes, which are not probabilities: use vote_shares(X) or voting='soft'"
            )
        return self.vote_shares

    def reject_curve(self, X: Any, y: Any, sample_weight: Any = None) -> RejectCurve:
        """Return the share of rows rejected and the accuracy on the rest, for every relevant majority.

        Parameters
        ----------
        X : array-like, sparse matrix or frame (n, n_features)
            Rows that members have not seen.
        y : array-like (n,)
            Their labels.
        sample_weight : array-like (n,), optional

        Returns
        -------
        RejectCurve
            `majority`, `rejected`, `accuracy`, and `plot()`. Needs no `reject_label`.
        """
        check_is_fitted(self)
        _, codes = class_codes(X, y, self.classes_, owner=type(self).__name__)
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, X)
        shares = self.vote_shares(X)
        return reject_curve(shares.max(axis=1), shares.argmax(axis=1) == codes, weight)

    # ------------------------------------------------------------------ as a transformer

    def transform(self, X: Any) -> npt.NDArray[Any]:
        """Return every member's answer: class codes (n, n_members), or probabilities shaped by `flatten_transform`.

        Parameters
        ----------
        X : array-like, sparse matrix or frame (n, n_features)
        """
        answers = self._asked(_METHODS[self.voting], X)
        if self.voting == "hard":
            votes = [self._ballot(name, a).argmax(axis=1) for name, a in zip(self._kept_names(), answers, strict=True)]
            return np.stack(votes, axis=1)
        return np.hstack(answers) if self.flatten_transform else np.stack(answers)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:  # noqa: ARG002
        """Return the names of the columns of `transform`: votingclassifier_NAME; probabilities add the class code.

        Parameters
        ----------
        input_features
            Not used.
        """
        check_is_fitted(self)
        prefix = type(self).__name__.lower()
        if self.voting == "hard":
            return np.asarray([f"{prefix}_{name}" for name in self._kept_names()], dtype=object)
        if not self.flatten_transform:
            raise UsageError("flatten_transform=False has no columns to name; use flatten_transform=True")
        codes = range(len(self.classes_))
        return np.asarray([f"{prefix}_{name}{code}" for name in self._kept_names() for code in codes], dtype=object)
