"""One member of a diverse ensemble: made and fitted on its draws, queried for votes or values.

`base` runs these functions for all members, possibly in other processes; `draws` determines what each member gets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from depthforest.base import Floats, UsageError
from depthforest.ensemble.bagging.draws import (
    DrawPlan,
    ParameterDistributions,
    drawn_member,
    flipped_labels,
    noisy_inputs,
    smeared_targets,
)
from depthforest.ensemble.fitting import Indices, cut, cut_metadata


@dataclass(frozen=True, eq=False)
class MemberSetup:
    """The inputs of the fit of all members; each draws its own part of them.

    Attributes
    ----------
    template : estimator
        Cloned for each member.
    X, y : frame, array or sparse matrix; array of shape (n_samples,) or (n_samples, n_outputs)
        All the data; classes as numbers 0 ... n_classes - 1.
    plan : DrawPlan
        Which rows and columns a member gets.
    distributions : mapping, sequence of mappings, or None
        The parameters to draw.
    input_sigma : ndarray of shape (n_features,), float64, or None
        Standard deviation of the noise on each column.
    flip : float
        Share of labels that are shuffled.
    output_sigma : ndarray of shape () or (n_outputs,), float64, or None
        Standard deviation of the noise on the target.
    n_classes : tuple of int
        Number of classes of each target; empty for regression.
    weights : ndarray of shape (n_samples,), float64, or None
        Weights of the rows for the members; None if they went into the draw of rows, or there are none.
    is_counted : bool
        Whether a member gets a row that was drawn k times once, with the weight k.
    metadata : mapping
        The metadata routed to a member's `fit`.
    """

    template: Any
    X: Any
    y: npt.NDArray[Any]
    plan: DrawPlan
    distributions: ParameterDistributions | None
    input_sigma: Floats | None
    flip: float
    output_sigma: Floats | None
    n_classes: tuple[int, ...]
    weights: Floats | None
    is_counted: bool
    metadata: Mapping[str, Any]

    def counted_rows(self, drawn: Indices) -> tuple[Indices, Floats]:
        """Return the distinct rows drawn and how often each was drawn; then one row of every other class, with 0.

        A member that needs all classes then knows them, and the additional rows have no weight.
        """
        rows, counts = np.unique(drawn, return_counts=True)
        found = set()
        for n_classes, codes in zip(self.n_classes, self.y.reshape(len(self.y), -1).T, strict=False):
            others = np.setdiff1d(np.arange(n_classes), codes[rows])
            found |= {int(np.flatnonzero(codes == c)[0]) for c in others}
        firsts = np.array(sorted(found), dtype=np.intp)
        return np.concatenate((rows, firsts)), np.concatenate((counts, np.zeros(len(firsts))))


def fitted_member(setup: MemberSetup, numbered_seed: tuple[int, int]) -> Any:
    """Return the member with this number and seed, fitted; an error of its `fit` names the member."""
    number, seed = numbered_seed
    rows, columns = setup.plan.rows(seed), setup.plan.columns(seed)
    counts = None
    if setup.is_counted and rows is not None:
        rows, counts = setup.counted_rows(rows)
    table, y = cut(setup.X, rows, columns), cut(setup.y, rows, None)
    if setup.input_sigma is not None:
        table = noisy_inputs(table, cut(setup.input_sigma, columns, None), seed)
    if setup.flip:
        y = flipped_labels(y, setup.flip, seed)
    if setup.output_sigma is not None:
        y = smeared_targets(y, setup.output_sigma, seed)
    metadata = cut_metadata(setup.metadata, rows, setup.plan.n_samples)
    if setup.plan.is_bayesian:
        metadata["sample_weight"] = cut(setup.plan.row_weights(seed), rows, None)
    if setup.weights is not None:
        metadata["sample_weight"] = cut(setup.weights, rows, None)
    if counts is not None:
        metadata["sample_weight"] = counts
    member = drawn_member(setup.template, setup.distributions, seed)
    try:
        member.fit(table, y, **metadata)
    except Exception as error:
        error.add_note(f"raised by member {number} of the ensemble, {type(member).__name__}, fitted on {len(y)} rows")
        n_known = len(np.unique(y))
        if len(setup.n_classes) == 1 and n_known < setup.n_classes[0]:
            error.add_note(
                f"its rows have {n_known} of the {setup.n_classes[0]} classes: an estimator that needs all of them "
                "needs more rows of the rare ones, or bootstrap=False"
            )
        raise
    return member  # not the result of `fit`, which may be None


def checked_template(estimator: Any, *, kind: str, owner: str) -> Any:
    """Return a clone of the estimator after checking that it can be a member; `kind` is classifier or regressor."""
    if isinstance(estimator, type):
        raise UsageError(
            f"estimator must be an object, got the class {estimator.__name__}: write {estimator.__name__}()"
        )
    for method in ("fit", "predict", "get_params"):
        if not hasattr(estimator, method):
            raise UsageError(f"estimator must be a {kind} with fit and predict, got {estimator!r} without {method}")
    if (is_regressor if kind == "classifier" else is_classifier)(estimator):
        raise UsageError(f"{owner} needs a {kind} as its estimator, got {type(estimator).__name__}")
    return clone(estimator)


def refuses_missing(estimator: Any) -> bool:
    """Return whether X must be finite. Only plain estimators' tags tell: a pipeline may start with an imputer."""
    is_plain = not any("__" in name for name in estimator.get_params())
    return is_plain and hasattr(estimator, "__sklearn_tags__") and not get_tags(estimator).input_tags.allow_nan


def is_routing() -> bool:
    """Return whether scikit-learn's metadata routing is enabled."""
    return bool(get_config()["enable_metadata_routing"])


def takes_weights(estimator: Any) -> bool:
    """Return whether `fit` takes `sample_weight`: by its metadata request if routing is on, else by its signature."""
    if is_routing():
        return bool(get_routing_for_object(estimator).consumes("fit", ["sample_weight"]))
    return bool(has_fit_parameter(estimator, "sample_weight"))


class MemberAnswer(Protocol):
    """A way to query a member: returns the numbers that the ensemble averages."""

    def __call__(self, member: Any, X: Any, metadata: Mapping[str, Any]) -> Floats:
        """Return an array with one row for each row of X."""


@dataclass(frozen=True)
class ClassVotes:
    """The answer of a classifier: probabilities in the order of the ensemble's classes, or (hard) a vote.

    `n_classes` holds the number of classes of each target.
    """

    n_classes: tuple[int, ...]
    hard: bool

    def __call__(self, member: Any, X: Any, metadata: Mapping[str, Any]) -> Floats:
        """Return an array of shape (n_samples, n_classes), float64; 0 for a class that the member never saw.

        The classes of several targets are concatenated.
        """
        n_rows, is_one = X.shape[0], len(self.n_classes) == 1
        votes = [np.zeros((n_rows, n)) for n in self.n_classes]
        if self.hard:
            codes = np.asarray(member.predict(X, **metadata)).reshape(n_rows, -1).astype(np.intp)
            for own, its in zip(votes, codes.T, strict=True):
                own[np.arange(n_rows), its] = 1.0
        else:
            shares, classes = member.predict_proba(X, **metadata), member.classes_
            if not is_one and not isinstance(shares, list):
                raise UsageError(
                    f"{type(member).__name__} returns one array for all targets: use a member whose "
                    "predict_proba returns a list with an array for each target, as trees do"
                )
            if is_one:
                shares, classes = [shares], [classes]
            for own, its, known in zip(votes, shares, classes, strict=True):
                own[:, np.asarray(known, dtype=np.intp)] = its
        return votes[0] if is_one else np.concatenate(votes, axis=1)


def decided_values(member: Any, X: Any, metadata: Mapping[str, Any]) -> Floats:
    """Return the decision values of a classifier, (n_samples,) or (n_samples, n_classes) float64."""
    return np.asarray(member.decision_function(X, **metadata), dtype=np.float64)


def predicted_values(member: Any, X: Any, metadata: Mapping[str, Any]) -> Floats:
    """Return the predictions of a regressor, (n_samples,) or (n_samples, n_outputs) float64."""
    return np.asarray(member.predict(X, **metadata), dtype=np.float64)


def answer_of(
    ask: MemberAnswer, X: Any, metadata: Mapping[str, Any], member_and_columns: tuple[Any, Indices | None]
) -> Floats:
    """Return the answer of a member for X, restricted to the member's columns."""
    member, columns = member_and_columns
    return ask(member, cut(X, None, columns), metadata)


def unseen_answer(
    ask: MemberAnswer, X: Any, member_columns_rows: tuple[Any, Indices | None, Indices]
) -> tuple[Indices, Floats | None]:
    """Return the rows that a member was not fitted on, and its answer for them (None if there are none)."""
    member, columns, rows = member_columns_rows
    is_unseen = np.ones(X.shape[0], dtype=np.bool_)
    is_unseen[rows] = False
    unseen = np.flatnonzero(is_unseen)
    return unseen, ask(member, cut(X, unseen, columns), {}) if unseen.size else None
