"""Fitting of members: in parallel on all rows, or fold by fold to predict rows that they were not fitted on.

`stacking` trains its meta learner on out-of-fold predictions; `voting` and `averaging` optimize their weights on them.
The folds come from `folds`. An error names the member that raised it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import indexable
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params

from depthforest.base import UsageError
from depthforest.ensemble.fitting.folds import Fold, Rows
from depthforest.ensemble.fitting.jobs import in_parallel, shown

Member = tuple[str, Any]
Params = Mapping[str, Any]
Answers = npt.NDArray[Any]


class MemberTypeError(UsageError, TypeError):
    """A member's TypeError with the member's name; callers that expect a TypeError still catch it."""


@dataclass(frozen=True)
class _FitTask:
    """The fit of one member, as sent to a worker."""

    name: str
    estimator: Any
    X: Any
    y: npt.NDArray[Any]
    params: Params


@dataclass(frozen=True)
class _FoldTask:
    """The fit of one member on one fold; the worker selects the rows, so that all tasks share the memory of X."""

    member: _FitTask
    method: str
    train: Rows
    test: Rows
    n_classes: int | None


def fit_named(name: str, estimator: Any, X: Any, y: npt.NDArray[Any], params: Params) -> Any:
    """Return a fitted clone of the estimator; an error is raised again with `name` in front."""
    member = clone(estimator)
    try:
        member.fit(X, y, **params)
    except Exception as error:
        message = " ".join(str(error).split()) or type(error).__name__  # other libraries' may have several lines
        kind = MemberTypeError if isinstance(error, TypeError) else UsageError
        if kind is MemberTypeError and "unexpected keyword argument 'sample_weight'" in message:
            message = f"Underlying estimator {type(estimator).__name__} does not support sample weights."
        raise kind(f"{name} ({type(estimator).__name__}) failed to fit: {message}") from error
    return member  # not the result of `fit`, which may be None


def side_by_side(answer: Any) -> Answers:
    """Return a member's answer as one array; for several binary targets, the shares of the second classes."""
    if not isinstance(answer, list):
        return np.asarray(answer)
    return np.hstack([own[:, 1:] if own.shape[1] == 2 else own for own in answer])


def _fit_member(task: _FitTask) -> Any:
    return fit_named(f"member {task.name!r}", task.estimator, task.X, task.y, task.params)


def _predict_fold(task: _FoldTask) -> Answers:
    """Return the predictions of a clone of the member, fitted on the training rows, for the held-out rows."""
    whole = task.member
    X, y = _safe_split(whole.estimator, whole.X, whole.y, task.train)  # handles frames, sparse matrices, kernels too
    params = _check_method_params(whole.X, whole.params, task.train)
    fitted = _fit_member(_FitTask(whole.name, whole.estimator, X, y, params))
    held_out, _ = _safe_split(whole.estimator, whole.X, None, task.test, task.train)
    answer = side_by_side(getattr(fitted, task.method)(held_out))
    known = getattr(fitted, "classes_", None)
    if task.method == "predict" or task.n_classes is None or known is None or len(known) == task.n_classes:
        return answer
    return _with_all_classes(answer, np.asarray(known), task.n_classes, is_share=task.method == "predict_proba")


def _with_all_classes(answer: Answers, known: Answers, n_classes: int, *, is_share: bool) -> Answers:
    """Return a column for each class; one missing from the fold gets probability 0, or the row's lowest value."""
    if answer.ndim == 1:  # decision values of two classes
        answer = np.stack((-answer, answer), axis=1)
    least = np.zeros(len(answer)) if is_share else answer.min(axis=1)
    every = np.repeat(least[:, None], n_classes, axis=1).astype(np.float64)
    every[:, known.astype(np.intp)] = answer
    return every


def fit_members(
    members: Sequence[Member],
    X: Any,
    y: npt.NDArray[Any],
    *,
    fit_params: Mapping[str, Params],
    n_jobs: int | None = None,
    verbose: int = 0,
) -> list[Any]:
    """Return fitted clones of the members, (name, estimator) pairs, in their order."""
    tasks = [_FitTask(name, estimator, X, y, fit_params[name]) for name, estimator in members]
    results = in_parallel(_fit_member, tasks, n_jobs=n_jobs)
    return list(shown(results, n=len(tasks), title="members", verbose=verbose))


def out_of_fold(
    members: Sequence[Member],
    methods: Sequence[str],
    X: Any,
    y: npt.NDArray[Any],
    folds: Sequence[Fold],
    *,
    fit_params: Mapping[str, Params],
    n_classes: int | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> list[Answers]:
    """Return each member's predictions of every row, made by a clone that was fitted without the row's fold.

    Parameters
    ----------
    members : sequence of (name, estimator)
    methods : sequence of str
        The method of each member to call: 'predict', 'predict_proba' or 'decision_function'.
    X, y
        n rows and their targets.
    folds : sequence of (train rows, held-out rows)
        From `make_folds`; together, the held-out rows are all rows.
    fit_params : mapping
        For each name, the arguments of its `fit`; values with n rows are indexed like X.
    n_classes : int, optional
        y are class codes below this; members of a fold without some class still return a column for it.

    Returns
    -------
    list of ndarray (n,) or (n, columns)
        One for each member.
    """
    X = indexable(X)[0]  # converts what has no row indexing, such as COO matrices
    tasks = [
        _FoldTask(_FitTask(name, estimator, X, y, fit_params[name]), method, train, test, n_classes)
        for (name, estimator), method in zip(members, methods, strict=True)
        for train, test in folds
    ]
    results = in_parallel(_predict_fold, tasks, n_jobs=n_jobs)
    parts = list(shown(results, n=len(tasks), title="folds", verbose=verbose))
    order = np.argsort(np.concatenate([test for _, test in folds]))
    k = len(folds)
    return [_joined(name, parts[i * k : (i + 1) * k])[order] for i, (name, _) in enumerate(members)]


def _joined(name: str, parts: Sequence[Answers]) -> Answers:
    if len({part.shape[1:] for part in parts}) > 1:
        widths = sorted({part.shape[1:] for part in parts})
        raise UsageError(f"member {name!r} predicts arrays of different widths from fold to fold: {widths}")
    return np.concatenate(parts)
