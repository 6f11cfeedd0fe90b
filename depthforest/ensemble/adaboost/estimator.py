"""AdaBoost: members fitted one after another, each on rows weighted by the errors of those before it.

`rounds` does the arithmetic, `votes` the predictions; `bagging.members` makes a member. `pool` chooses members instead
of fitting them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from depthforest.base import Floats, UsageError, is_whole
from depthforest.ensemble.adaboost.rounds import Flags, Ledger, chance_error, check_form
from depthforest.ensemble.adaboost.store import (
    ADABOOST,
    check_members,
    pack_adaboost,
    trees_in_shared_terms,
    unpack_adaboost,
)
from depthforest.ensemble.adaboost.votes import BoostedVotes
from depthforest.ensemble.bagging import (
    DrawPlan,
    MemberSetup,
    checked_template,
    fitted_member,
    refuses_missing,
    takes_weights,
)
from depthforest.ensemble.fitting import (
    Indices,
    MemberSequence,
    Seeds,
    checked_table,
    checked_training_table,
    checked_weights,
    class_codes,
    cut,
    is_flag,
    is_frame,
    member_seeds,
    number,
    plain,
    shown,
    whole,
)
from depthforest.ensemble.tree import (
    Categories,
    CodedTable,
    Columns,
    DecisionTreeClassifier,
    Tree,
    Walk,
    predict_table,
    save_trees,
)

AUTO = "auto"

MAX_TRIES = 10
"""Members fitted per round, with new seeds, until one is better than chance: an unlucky draw does not end a run."""


class AdaBoostClassifier(MemberSequence, MetaEstimatorMixin, BoostedVotes, BaseEstimator):  # type: ignore[misc]
    """AdaBoost over any weak classifier: SAMME for K classes (Zhu et al. 2009); for two it is Freund and Schapire's.

    Each round fits a member on weighted rows. With its weighted error e it votes with the weight
    z = ln((1-e)/e) + ln(K-1), and the weights of correctly classified rows are multiplied by exp(-z); then the weights
    are scaled to sum to 1.

    - e = 0: the weight would be infinite. The member gets one more than the sum of all weights before it, so that it
      decides every row, and fitting stops. A first member without error is the whole ensemble, with weight 1.
    - e >= 1 - 1/K (1/2 for two classes): the member is no better than a guess. It is discarded, and fitting stops.
      If it is random (drawn rows, or a `random_state` of its own), up to ten members with other seeds are tried
      first. If it is the first member, `fit` raises an error.

    Parameters
    ----------
    estimator : classifier, default=None
        Cloned for each member; None for a stump, `DecisionTreeClassifier(max_depth=1)`. It sees classes as numbers
        0 ... n_classes - 1.
    n_estimators : int, default=50
        Largest number of rounds.
    learning_rate : float, default=1.0
        Factor of the members' weights, above 0; smaller values need more rounds.
    resample : {'auto', True, False}, default='auto'
        How a member gets the weights. False: as `sample_weight`, which it must support; they sum to the total weight
        passed to `fit`, or to the number of rows. True: as n rows drawn with replacement in proportion to the weights.
        'auto': True for estimators without `sample_weight`, such as nearest neighbors and pipelines.
    form : {'odds', 'exponential'}, default='odds'
        Convention of `estimator_weights_`. 'odds': z, as above and in scikit-learn. 'exponential', the stagewise
        minimum of exp(-y H): for two classes alpha = z / 2, and rows are multiplied by exp(-alpha y h); for
        K classes (K-1)^2 / K z. After normalization both are the same, so predictions do not differ.
    weight_history : bool, default=False
        Keep the weights of the rows in each round, for plots: n_estimators * n_samples * 8 bytes.
    random_state : int, RandomState instance or None, default=None
        Seed of the drawn samples, and of every `random_state` inside the members.
    verbose : int, default=0
        Above 0: a progress bar of the fit on standard error.

    Attributes
    ----------
    estimators_ : list of classifiers
        The members, one for each round; their classes are numbers, positions in `classes_`.
    estimator_ : classifier
        The template of the members.
    estimator_weights_ : ndarray of shape (n_rounds,), float64
        Weights of their votes, in the chosen form, including the learning rate.
    estimator_errors_ : ndarray of shape (n_rounds,), float64
        Weighted errors of the members in their rounds.
    error_bound_ : ndarray of shape (n_rounds,), float64
        For two classes: an upper bound on the training error after each round.
    weight_history_ : ndarray of shape (n_rounds, n_samples), float64
        With `weight_history`: weights of the rows in each round; every round sums to 1.
    feature_importances_ : ndarray of shape (n_features,), float64
        If the members have it: their weighted mean.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    n_classes_ : int
        Their number.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    .. [1] Y. Freund, R. E. Schapire, "A decision-theoretic generalization of on-line learning and an application to
       boosting", Journal of Computer and System Sciences 55 (1997), 119-139.
    .. [2] J. Zhu, H. Zou, S. Rosset, T. Hastie, "Multi-class AdaBoost", Statistics and Its Interface 2 (2009), 349-360.
    """

    _layout = ADABOOST
    _framed: bool  # whether members were fitted with frames

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        resample: Any = AUTO,
        form: str = "odds",
        weight_history: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.resample = resample
        self.form = form
        self.weight_history = weight_history
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the members, one after another.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Members get a DataFrame as a DataFrame. Missing values are allowed where the member allows them.
        y : array-like of shape (n_samples,)
            Classes of any type, at least two.
        sample_weight : array-like of shape (n_samples,) or a number, default=None
            Weights of the first round. Rows of weight zero count as absent.

        Returns
        -------
        self : AdaBoostClassifier
            If interrupted (KeyboardInterrupt, or an error in a member), the finished members stay: the ensemble
            predicts with them.
        """
        check_boosting(self)
        template = checked_template(self._template(), kind="classifier", owner=type(self).__name__)
        is_drawn = self._draws_rows(template)
        self.estimators_ = []  # an error from here on leaves no mixture of two fits
        self._framed = is_frame(X)
        table, y = checked_training_table(self, X, y, reset=True, finite=refuses_missing(template))
        classes, codes = class_codes(table, y, None, owner=type(self).__name__)
        check_two_classes(classes, owner=type(self).__name__)
        self.classes_, self.n_classes_, self.estimator_ = classes, len(classes), template
        weights, rows = first_weights(sample_weight, len(codes))
        if rows is not None:
            table, codes = cut(table, rows, None), codes[rows]
        setup = member_setup(template, table, codes, weights, len(classes), is_drawn=is_drawn)
        self._boost(setup, weights, rows, len(y))
        return self

    def _draws_rows(self, template: Any) -> bool:
        """Return whether members get drawn rows instead of weights."""
        if not (is_flag(self.resample) or self.resample == AUTO):
            raise UsageError(f"resample must be 'auto', True or False, got {self.resample!r}")
        # by the signature even if metadata routing is on: these weights are our own, so no request is needed
        is_weighable = has_fit_parameter(template, "sample_weight") or takes_weights(template)
        if self.resample == AUTO:
            return not is_weighable
        if not self.resample and not is_weighable:
            raise UsageError(
                f"{type(template).__name__} takes no sample_weight: draw its rows by weight (resample=True)"
            )
        return bool(self.resample)

    def _boost(self, setup: MemberSetup, weights: Floats, rows: Indices | None, n_samples: int) -> None:
        """Fit members until the rounds are over; keep the finished ones if interrupted."""
        rounds = Ledger(
            weights,
            n_classes=self.n_classes_,
            learning_rate=self.learning_rate,
            form=self.form,
            keeps_history=self.weight_history,
        )
        title = type(self).__name__
        members = self._rounds(setup, rounds, weights)
        try:
            for member in shown(members, n=self.n_estimators, title=title, verbose=self.verbose):
                self.estimators_.append(member)
        finally:
            self._keep_books(rounds, rows, n_samples)

    def _rounds(self, setup: MemberSetup, rounds: Ledger, first: Floats) -> Iterator[Any]:
        """Yield the member of each round; `first` are the weights of the first round, as given."""
        seeds = member_seeds(self.random_state, self.n_estimators * MAX_TRIES).reshape(-1, MAX_TRIES)
        for index, own in enumerate(seeds):
            member, wrong = _best_member(setup, rounds, first, index, own)
            error = rounds.error(wrong)
            if rounds.is_chance(error):
                if index == 0:
                    raise UsageError(too_weak(setup.template, error, self.n_classes_))
                return
            rounds.take(wrong)
            yield member
            if rounds.is_perfect:
                return

    def _votes(self, X: Any) -> Iterator[npt.NDArray[np.intp]]:
        table = checked_table(self, X, framed=self._framed)
        return (_answers(member, table) for member in self.estimators_)

    def _all_votes(self, X: Any) -> tuple[Floats, float]:
        """Return the weights of votes; trees on the same columns are walked together, with votes in their leaves."""
        first = self.estimators_[0]
        if not all(type(m) is DecisionTreeClassifier and m.categories_ is first.categories_ for m in self.estimators_):
            return super()._all_votes(X)
        table = predict_table(first, checked_table(self, X, framed=self._framed))
        weighed = zip(self.estimators_, self.estimator_weights_.tolist(), strict=True)
        trees = [_voting_tree(member, weight, self.n_classes_) for member, weight in weighed]
        return Walk.of(trees).sums(table), sum(self.estimator_weights_.tolist())

    def save(self, path: str | Path) -> None:
        """Write an ensemble of our own trees to a file for `depthforest.ensemble.load`; equal ensembles, equal bytes.

        Parameters
        ----------
        path : str or Path

        Notes
        -----
        Members must be `DecisionTreeClassifier` of this package, as the default stumps are. `verbose` and
        `weight_history_`, which is as long as the training table, are not stored. Loaded members know the classes and
        categories of all members: if rows were drawn, these may be more than they had seen.
        """
        save_trees(self, path)

    def _stored_trees(self) -> tuple[list[Tree], Categories]:
        check_members(self)
        return trees_in_shared_terms(self)

    def _pack(self, columns: Columns) -> dict[str, Any]:
        return pack_adaboost(self, columns)

    def _unpack(self, trees: list[Tree], categories: Categories, fitted: dict[str, Any], columns: Columns) -> None:
        unpack_adaboost(self, trees, categories, fitted, columns)

    def _template(self) -> Any:
        return DecisionTreeClassifier(max_depth=1) if self.estimator is None else self.estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        member = self._template()
        if hasattr(member, "__sklearn_tags__"):
            inner = get_tags(member).input_tags
            tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags


def member_setup(
    template: Any, table: Any, truth: npt.NDArray[Any], weights: Floats, n_classes: int, *, is_drawn: bool
) -> MemberSetup:
    """Return the inputs of all members' fits; `weights` are those of the first round, later ones come per round."""
    n_samples, n_features = table.shape
    plan = DrawPlan(
        n_samples=n_samples,
        n_features=n_features,
        n_rows=n_samples if is_drawn else None,
        replace=is_drawn,
        weights=None,
        n_columns=None,
        replace_columns=False,
    )
    return MemberSetup(
        template=template,
        X=table if is_drawn else _coded(template, table, weights),
        y=truth,
        plan=plan,
        distributions=None,
        input_sigma=None,
        flip=0.0,
        output_sigma=None,
        n_classes=(n_classes,),
        weights=None,
        is_counted=False,
        metadata={},
    )


def _coded(template: Any, table: Any, weights: Floats) -> Any:
    """Return the table binned once if members are our own trees, whose rounds would spend most of their time on it."""
    return CodedTable.of(template, table, weights) if type(template) is DecisionTreeClassifier else table


def _best_member(setup: MemberSetup, rounds: Ledger, first: Floats, index: int, seeds: Seeds) -> tuple[Any, Flags]:
    """Return the member of a round and a mask of its errors: the first that is better than chance, or the last."""
    if setup.plan.replace:
        setup = replace(setup, plan=replace(setup.plan, weights=rounds.weights))
    else:
        # the first weights are passed as given: whole numbers stay whole, and one round equals the member alone
        setup = replace(setup, weights=rounds.weights * first.sum() if rounds.errors else first)
        if not any(name.endswith("random_state") for name in setup.template.get_params()):
            seeds = seeds[:1]  # another fit would be the same
    for seed in seeds.tolist():
        member = fitted_member(setup, (index, seed))
        wrong = _answers(member, setup.X) != setup.y
        if not rounds.is_chance(rounds.error(wrong)):
            break
    return member, wrong


def _voting_tree(member: DecisionTreeClassifier, weight: float, n_classes: int) -> Tree:
    """Return a member's tree whose leaves hold the weight of its vote for the class they predict."""
    leaves = np.flatnonzero(member.tree_.is_leaf)
    child = member.tree_.child.copy()
    winners = member.classes_[member.tree_.values[child[leaves]].argmax(axis=1)]
    votes = np.zeros((len(leaves), n_classes))
    votes[np.arange(len(leaves)), winners] = weight
    child[leaves] = np.arange(len(leaves))
    return replace(member.tree_, child=child, own_values=votes, n_shared=0)


def _answers(member: Any, table: Any) -> Indices:
    return np.ravel(member.predict(table)).astype(np.intp)


# ------------------------------------------------------------------ checks that `pool` shares


def check_boosting(estimator: Any) -> None:
    """Check the parameters of the rounds."""
    whole("n_estimators", estimator.n_estimators, 1)
    if number("learning_rate", estimator.learning_rate, 0) == 0:
        raise UsageError("learning_rate must be above 0, got 0: no member would have a vote")
    check_form(estimator.form)
    if not is_flag(estimator.weight_history):
        raise UsageError(f"weight_history must be True or False, got {estimator.weight_history!r}")
    if not (is_flag(estimator.verbose) or is_whole(estimator.verbose)):
        raise UsageError(f"verbose must be a whole number, above 0 for a progress bar; got {estimator.verbose!r}")


def check_two_classes(classes: npt.NDArray[Any], *, owner: str) -> None:
    """Refuse a y of one class, which leaves no error to boost."""
    if len(classes) < 2:
        got = f"one class, {plain(classes[0])!r}" if len(classes) else "no rows"
        raise UsageError(f"{owner} needs at least two classes in y, got {got}")


def first_weights(sample_weight: Any, n_samples: int) -> tuple[Floats, Indices | None]:
    """Return the weights above zero and their rows; None for all rows."""
    if sample_weight is None:
        return np.ones(n_samples), None
    weights = checked_weights(sample_weight, n_samples)
    rows = None if weights.all() else np.flatnonzero(weights)
    return weights if rows is None else weights[rows], rows


def too_weak(estimator: Any, error: float, n_classes: int) -> str:
    """Return the message for a first member that is no better than chance."""
    return (
        f"the first {type(estimator).__name__} is wrong on {100 * error:.3g} % of the weight, no better than a guess "
        f"among {n_classes} classes ({100 * chance_error(n_classes):.3g} %): give it more freedom or choose another"
    )
