"""The answers of each member of a fitted ensemble: labels, probabilities or numbers.

All ensembles keep their members in `estimators_`, but with differences: members may see a subset of the columns
(`estimators_features_`), may know classes as indices into the ensemble's `classes_`, may lack a class, and may have
been fitted without the column names that the ensemble knows. This module undoes all of these. The measures in this
room take its results; nothing else here touches an estimator, except `retraining`, which fits some.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor, RegressorChain
from sklearn.utils.validation import check_is_fitted

from depthforest.base import Floats, UsageError
from depthforest.ensemble.analysis.checking import Codes, Labels, Numbers, as_labels, one_column

# their members solve parts of the problem: none of them predicts what the ensemble predicts
NO_VOTERS = (
    *(OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier),
    *(ClassifierChain, MultiOutputClassifier, MultiOutputRegressor, RegressorChain),
)


def members_of(ensemble: Any) -> list[Any]:
    """Return the fitted members of an ensemble, after checking that each of them predicts what the ensemble does."""
    name = type(ensemble).__name__
    if isinstance(ensemble, type):
        raise UsageError(f"expected a fitted ensemble, got the class {ensemble.__name__}")
    if not hasattr(ensemble, "estimators_"):
        try:
            check_is_fitted(ensemble)
        except NotFittedError:
            raise UsageError(f"{name} is not fitted: call its fit before the analysis") from None
        except TypeError:
            raise UsageError(f"expected a fitted ensemble, got an object of type {name}") from None
        raise UsageError(f"{name} has no estimators_: the analysis needs an ensemble that keeps its members there")
    if not (is_classifier(ensemble) or is_regressor(ensemble)):
        raise UsageError(f"expected a classifier or a regressor, got {name}")
    members = ensemble.estimators_
    if not len(members):
        raise UsageError(f"{name} has no members: its estimators_ is empty")
    corrections = isinstance(members, np.ndarray) and members.ndim > 1
    if is_classifier(ensemble) and not corrections:
        corrections = any(is_regressor(member) for member in members)
    if corrections:
        raise UsageError(f"the members of {name} are corrections of each other, not answers: they cannot be compared")
    if isinstance(ensemble, NO_VOTERS):
        raise UsageError(f"the members of {name} solve parts of the problem: they cannot be compared")
    if getattr(ensemble, "n_outputs_", 1) != 1:
        raise UsageError(f"the analysis needs one output, but {name} was fitted with {ensemble.n_outputs_}")
    return list(members)


def member_predictions(ensemble: Any, X: Any) -> Numbers:
    """Return the predictions of each member of a fitted ensemble.

    Parameters
    ----------
    ensemble : fitted classifier or regressor with `estimators_`
    X : array or DataFrame (n_samples, n_features)
        As for the ensemble's own `predict`.

    Returns
    -------
    array (n_members, n_samples)
        Labels of the ensemble's `classes_`; float64 for a regressor.
    """
    members = members_of(ensemble)
    seen = _views(ensemble, members, X)
    answers = [np.asarray(member.predict(view)) for member, view in zip(members, seen, strict=True)]
    if is_regressor(ensemble):
        return np.array([np.ravel(answer) for answer in answers], dtype=np.float64)
    classes = as_labels(np.asarray(ensemble.classes_), "classes_")
    known = [getattr(member, "classes_", answer) for member, answer in zip(members, answers, strict=True)]
    places = _places(ensemble, known)
    return np.array([classes[_placed(answer.ravel(), places)] for answer in answers])


def member_probabilities(ensemble: Any, X: Any) -> Floats:
    """Return the class probabilities of each member of a fitted classifier.

    Returns
    -------
    array (n_members, n_samples, n_classes), float64
        Columns in the order of the ensemble's `classes_`; 0 for a class that a member does not know.
    """
    return np.array(list(each_probabilities(ensemble, X)))


def each_probabilities(ensemble: Any, X: Any) -> Iterator[Floats]:
    """Yield the class probabilities member by member, so that they need not all be held in memory."""
    members = members_of(ensemble)
    if not is_classifier(ensemble):
        raise UsageError(f"probabilities need a classifier, got {type(ensemble).__name__}")
    for index, member in enumerate(members):
        if not hasattr(member, "predict_proba"):
            raise UsageError(f"member {index}, {type(member).__name__}, has no predict_proba: use votes instead")
    places = _places(ensemble, [member.classes_ for member in members])
    n_classes = len(ensemble.classes_)
    for member, view in zip(members, _views(ensemble, members, X), strict=True):
        given = np.asarray(member.predict_proba(view), dtype=np.float64)
        aligned = np.zeros((len(given), n_classes))
        aligned[:, [places[label] for label in np.asarray(member.classes_).tolist()]] = given
        yield aligned


def has_probabilities(ensemble: Any) -> bool:
    """Return whether all members of a fitted classifier have probabilities."""
    return is_classifier(ensemble) and all(hasattr(member, "predict_proba") for member in members_of(ensemble))


def known_labels(ensemble: Any, y: Any) -> Labels:
    """Return true labels (n_samples,), after checking that the fitted classifier knows all of them."""
    truth = as_labels(one_column(y, "y"), "y")
    unknown = sorted(set(truth.tolist()) - set(np.asarray(ensemble.classes_).tolist()))
    if unknown:
        shown = ", ".join(map(repr, unknown[:3])) + (", ..." if len(unknown) > 3 else "")
        raise UsageError(f"y holds labels that the ensemble was not fitted with: {shown}")
    return truth


def _places(ensemble: Any, known: list[Any]) -> dict[Any, int]:
    """Return the index in the ensemble's `classes_` of every possible answer, from the classes that each member knows.

    Members answer with the ensemble's labels or with their indices. Bootstrap members may lack classes, so only all
    members together show which it is.
    """
    classes = np.asarray(ensemble.classes_).tolist()
    labels = {label: place for place, label in enumerate(classes)}
    indices: dict[Any, int] = {place: place for place in range(len(classes))}
    met = {label for own in known for label in np.asarray(own).ravel().tolist()}
    if labels == indices or (met - indices.keys() and not met - labels.keys()):
        return labels
    if met - labels.keys() and not met - indices.keys():
        return indices
    if not met - labels.keys():
        raise UsageError(
            "cannot tell whether members answer with labels or with their indices, as no member knows every class: "
            "fit members that do"
        )
    strange = sorted(map(repr, met - labels.keys() - indices.keys()))
    raise UsageError(f"a member predicts labels that the ensemble does not know: {', '.join(strange[:3])}")


def _placed(answers: Numbers, places: dict[Any, int]) -> Codes:
    """Return the class index of each answer."""
    labels, inverse = np.unique(answers, return_inverse=True)
    return np.array([places[label] for label in labels.tolist()], dtype=np.int64)[inverse]


def _views(ensemble: Any, members: list[Any], X: Any) -> list[Any]:
    """Return X as each member needs it: its columns, with column names only if it was fitted with them."""
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    if len(X.shape) != 2 or not X.shape[0]:
        raise UsageError(f"X must have the shape (n_samples, n_features) with at least one sample, got {X.shape}")
    wanted = getattr(ensemble, "n_features_in_", X.shape[1])
    if X.shape[1] != wanted:
        raise UsageError(f"the ensemble was fitted with {wanted} features, but X has {X.shape[1]}")
    subsets = getattr(ensemble, "estimators_features_", None)
    is_frame = hasattr(X, "iloc")
    plain = np.asarray(X) if is_frame else X
    views = []
    for index, member in enumerate(members):
        view = X if is_frame and _wants_names(member, X) else plain
        if subsets is not None:
            view = view.iloc[:, subsets[index]] if hasattr(view, "iloc") else view[:, subsets[index]]
        views.append(view)
    return views


def _wants_names(member: Any, frame: Any) -> bool:
    """Return whether a member was fitted with the column names of a DataFrame, or refers to columns by name."""
    if not hasattr(member, "feature_names_in_"):
        return not hasattr(member, "n_features_in_")
    return set(member.feature_names_in_) <= set(frame.columns)


def first_members_answers(ensemble: Any, X: Any, sizes: Codes) -> Numbers:
    """Return the combined predictions of the first members, for several numbers of members.

    For an ensemble with `staged_predict`, such as boosting, these are its stages. Otherwise members have equal weight:
    the mean for a regressor; the class of the highest mean probability if all members have probabilities (as in forests
    and bagging) and the ensemble is not set to `voting="hard"`; else the class with the most votes. Ties go to the
    lower class.

    Parameters
    ----------
    sizes : array (n_sizes,), int64
        From 1 to the number of members.

    Returns
    -------
    array (n_sizes, n_samples)
    """
    # members of gradient boosting are steps, not predictions; their stages are predictions
    stages = list(ensemble.staged_predict(X)) if hasattr(ensemble, "staged_predict") else None
    n_members = len(members_of(ensemble) if stages is None else stages)
    if sizes.min() < 1 or sizes.max() > n_members:
        raise UsageError(f"sizes must be from 1 to the {n_members} members, got {sizes.min()} to {sizes.max()}")
    if stages is not None:
        return np.array([stages[size - 1] for size in sizes])
    if is_regressor(ensemble):
        sums = np.cumsum(member_predictions(ensemble, X), axis=0)
        return np.asarray(sums[sizes - 1] / sizes[:, None])
    classes = np.asarray(ensemble.classes_)
    if has_probabilities(ensemble) and getattr(ensemble, "voting", "soft") == "soft":
        each: Iterable[Floats] = each_probabilities(ensemble, X)
    else:
        each = ((own[:, None] == classes).astype(np.float64) for own in member_predictions(ensemble, X))
    wanted = set(sizes.tolist())
    winners = {size: scores.argmax(axis=1) for size, scores in enumerate(accumulate(each, np.add), 1) if size in wanted}
    return np.asarray(classes[[winners[size] for size in sizes.tolist()]])
