"""AdaBoost over a fixed pool: every round chooses the classifier of the pool with the least weighted error.

Members are named, as in `voting` and `stacking`, and are fitted once or not at all. `rounds` does the arithmetic,
`votes` the predictions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from depthforest.base import UsageError
from depthforest.ensemble.adaboost.estimator import check_boosting, check_two_classes, first_weights, too_weak
from depthforest.ensemble.adaboost.rounds import ROUNDING, Flags, Ledger
from depthforest.ensemble.adaboost.votes import BoostedVotes
from depthforest.ensemble.combining import NamedMembers
from depthforest.ensemble.fitting import (
    Answers,
    Codes,
    Member,
    check_code_classes,
    class_codes,
    codes_of,
    shared_classes,
)


class AdaBoostPoolClassifier(BoostedVotes, NamedMembers):
    """AdaBoost that chooses from a fixed pool: each round takes the member with the least weighted error.

    A member may be chosen again, but not at once: after its round it is wrong on exactly 1 - 1/K of the weight
    (for learning rate 1). Weights of members and rows, and the cases of errors 0 and 1 - 1/K, are as in
    `AdaBoostClassifier`; among equally good members the first is chosen. Rounds take almost no time, because nothing is
    fitted in them.

    Parameters
    ----------
    estimators : list of (str, estimator)
        The pool: classifiers with their names; 'drop' instead of an estimator leaves it out. Clones are fitted once,
        on the class codes 0 .. n_classes - 1.
    n_estimators : int, default=50
        Largest number of rounds.
    learning_rate : float, default=1.0
        Factor of the members' weights, above 0.
    form : {'odds', 'exponential'}, default='odds'
        Convention of `estimator_weights_`, as in `AdaBoostClassifier`.
    cv : None, int, splitter, list of folds or 'prefit', default=None
        The rows on which the members' answers are evaluated. None: those they were fitted on, as in the textbooks; a
        member that has memorized them is then chosen at once, and alone. Folds: rows they have not seen. 'prefit':
        the rows of X, for members that are already fitted.
    weight_history : bool, default=False
        Keep the weights of the rows in each round, for plots: n_estimators * n_samples * 8 bytes.
    n_jobs : int or None, default=None
        Members fitted at once; the result is the same for any number.
    verbose : int or bool, default=False
        Above 0: progress bars of the members' fit.

    Attributes
    ----------
    estimators_ : list of fitted classifiers
        The member of each round; the same object again if it was chosen again.
    chosen_ : list of str
        Their names.
    named_estimators_ : Bunch
        The whole pool, by name.
    estimator_weights_, estimator_errors_, error_bound_, weight_history_, feature_importances_
        By round, as in `AdaBoostClassifier`. With folds, the bound holds for the votes of members on unseen rows.
    classes_ : ndarray of shape (n_classes,)
    n_classes_ : int
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    def __init__(
        self,
        estimators: Any,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        form: str = "odds",
        cv: Any = None,
        weight_history: bool = False,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.estimators = estimators
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.form = form
        self.cv = cv
        self.weight_history = weight_history
        self.n_jobs = n_jobs
        self.verbose = verbose

    # ------------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any, groups: Any = None, **fit_params: Any) -> Self:
        """Fit the pool once and choose from it in each round.

        Parameters
        ----------
        X : array-like, sparse matrix or frame (n, n_features)
            Passed to the members unchanged.
        y : array-like (n,)
            Labels, of at least two classes.
        groups : array-like (n,), optional
            Rows of one group stay in one fold; used if `cv` makes folds.
        **fit_params
            `sample_weight` goes to every member and gives the rows' weights in the first round; with metadata
            routing, anything that members request.

        Returns
        -------
        self : AdaBoostPoolClassifier
        """
        check_boosting(self)
        members = self._checked_members(only="classifier")
        names = [name for name, _ in members]
        known = shared_classes(names, [m for _, m in members]) if self._is_prefit else None
        classes, codes = class_codes(X, y, known, owner=type(self).__name__)
        check_two_classes(classes, owner=type(self).__name__)
        self._check_features(X, reset=True)
        routed = self._routed(X, groups, fit_params)
        pool = self._fit_members(members, X, codes, routed)
        if not self._is_prefit:
            check_code_classes(names, pool, classes)
        self._keep_members(members, pool)
        self.classes_, self.n_classes_ = classes, len(classes)
        self._member_classes = classes if self._is_prefit else np.arange(len(classes))
        if self.cv is None:
            answers = [np.asarray(member.predict(X)) for member in pool]
        else:
            answers = self._held_out(members, ["predict"] * len(members), X, codes, routed, labels=classes)
        self._choose(members, pool, answers, codes, fit_params.get("sample_weight"))
        return self

    def _choose(
        self, members: list[Member], pool: list[Any], answers: list[Answers], codes: Codes, sample_weight: Any
    ) -> None:
        """Choose the best member of the pool in each round, by the errors of their answers (n,)."""
        self.estimators_ = []
        weights, rows = first_weights(sample_weight, len(codes))
        names = [name for name, _ in members]
        wrong: Flags = np.stack([self._codes(*answer) for answer in zip(names, answers, strict=True)]) != codes
        if rows is not None:
            wrong = wrong[:, rows]
        rounds = Ledger(
            weights,
            n_classes=self.n_classes_,
            learning_rate=self.learning_rate,
            form=self.form,
            keeps_history=self.weight_history,
        )
        chosen: list[int] = []
        while len(chosen) < self.n_estimators and not rounds.is_perfect:
            errors = [rounds.error(own) for own in wrong]
            best = next(i for i, error in enumerate(errors) if error <= min(errors) + ROUNDING)
            if rounds.is_chance(errors[best]):
                break
            rounds.take(wrong[best])
            chosen.append(best)
        if not chosen:
            raise UsageError(f"of the pool, {too_weak(members[best][1], errors[best], self.n_classes_)}")
        self.estimators_ = [pool[index] for index in chosen]
        self.chosen_ = [names[index] for index in chosen]
        self._keep_books(rounds, rows, len(codes))

    def _codes(self, name: str, answer: Answers) -> Codes:
        """Return a member's answer as class codes."""
        return codes_of(answer.ravel(), self._member_classes, what=f"member {name!r} voted for")

    # ------------------------------------------------------------------ answers

    def _votes(self, X: Any) -> Iterator[npt.NDArray[np.intp]]:
        self._check_features(X, reset=False)
        asked: dict[str, Codes] = {}  # each member predicts once, however often it was chosen
        for name, member in zip(self.chosen_, self.estimators_, strict=True):
            if name not in asked:
                asked[name] = self._codes(name, np.asarray(member.predict(X)))
            yield asked[name]

    def transform(self, X: Any) -> Codes:
        """Return the answer of every member of the pool as class codes (n, n_members).

        Parameters
        ----------
        X : array-like, sparse matrix or frame (n, n_features)
        """
        check_is_fitted(self)
        self._check_features(X, reset=False)
        pool = [self.named_estimators_[name] for name in self._kept_names()]
        answers = zip(self._kept_names(), [np.asarray(member.predict(X)) for member in pool], strict=True)
        return np.stack([self._codes(name, answer) for name, answer in answers], axis=1)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:  # noqa: ARG002
        """Return the names of the columns of `transform`: adaboostpoolclassifier_NAME.

        Parameters
        ----------
        input_features
            Not used.
        """
        check_is_fitted(self)
        return np.asarray([f"{type(self).__name__.lower()}_{name}" for name in self._kept_names()], dtype=object)
