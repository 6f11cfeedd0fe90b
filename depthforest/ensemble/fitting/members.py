"""Members at work: fitted in parallel on everything, or fold by fold to predict what they were not fitted on.

`stacking` trains its meta learner on the out-of-fold predictions, `voting` and `averaging` find weights by them, all
through `members`; the folds are those of `folds`. An error carries the name of the member it came from.
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
    """A member's TypeError with the member's name: callers that expect the one type get it."""


@dataclass(frozen=True)
class _FitTask:
    """One member to fit: what a worker gets."""

    name: str
    estimator: Any
    X: Any
    y: npt.NDArray[Any]
    params: Params


@dataclass(frozen=True)
class _FoldTask:
    """One member on one fold; rows are cut by the worker, so that all share the memory of X."""

    member: _FitTask
    method: str
    train: Rows
    test: Rows
    n_classes: int | None


def fit_named(name: str, estimator: Any, X: Any, y: npt.NDArray[Any], params: Params) -> Any:
    """Return a fitted clone of the estimator; what goes wrong is raised with its name in front."""
    member = clone(estimator)
    try:
        member.fit(X, y, **params)
    except Exception as error:
        message = " ".join(str(error).split()) or type(error).__name__  # other libraries break their lines
        kind = MemberTypeError if isinstance(error, TypeError) else UsageError
        if kind is MemberTypeError and "unexpected keyword argument 'sample_weight'" in message:
            message = f"Underlying estimator {type(estimator).__name__} does not support sample weights."
        raise kind(f"{name} ({type(estimator).__name__}) failed to fit: {message}") from error
    return member  # not what `fit` returns, which may be nothing


def side_by_side(answer: Any) -> Answers:
    """Return a member's answer as one array; of several targets, each of two classes, the share of the second."""
    if not isinstance(answer, list):
        return np.asarray(answer)
    return np.hstack([own[:, 1:] if own.shape[1] == 2 else own for own in answer])


def _fit_member(task: _FitTask) -> Any:
    return fit_named(f"member {task.name!r}", task.estimator, task.X, task.y, task.params)


def _predict_fold(task: _FoldTask) -> Answers:
    """Return what a clone of the member, fitted on the training rows, says about the held-out ones."""
    whole = task.member
    X, y = _safe_split(whole.estimator, whole.X, whole.y, task.train)  # cuts frames, sparse matrices, kernels too
    params = _check_method_params(whole.X, whole.params, task.train)
    fitted = _fit_member(_FitTask(whole.name, whole.estimator, X, y, params))
    held_out, _ = _safe_split(whole.estimator, whole.X, None, task.test, task.train)
    answer = side_by_side(getattr(fitted, task.method)(held_out))
    known = getattr(fitted, "classes_", None)
    if task.method == "predict" or task.n_classes is None or known is None or len(known) == task.n_classes:
        return answer
    return _with_all_classes(answer, np.asarray(known), task.n_classes, is_share=task.method == "predict_proba")


def _with_all_classes(answer: Answers, known: Answers, n_classes: int, *, is_share: bool) -> Answers:
    """Return a column for each class: one that the fold did not train on has the probability 0, or the row's least."""
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
    """Return fitted clones of the members, (name, estimator) each, in their order."""
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
        What to ask each member by: 'predict', 'predict_proba' or 'decision_function'.
    X, y
        n rows and their targets.
    folds : sequence of (train rows, held-out rows)
        From `make_folds`: the held-out rows make up all rows.
    fit_params : mapping
        For each name what its `fit` gets; values with n rows are cut like X.
    n_classes : int, optional
        y are class codes below this: members of a fold that lacks some still answer for all.

    Returns
    -------
    list of ndarray (n,) or (n, columns)
        One for each member.
    """
    X = indexable(X)[0]  # what cannot be cut by rows, such as COO matrices, becomes what can
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
