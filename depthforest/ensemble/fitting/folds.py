"""Folds without leaks: every row is held out once, by members that have seen neither it nor its group.

`members` makes predictions with these folds.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, check_cv

from depthforest.base import DepthForestWarning, Longs, UsageError, is_whole

Rows = Longs
Fold = tuple[Rows, Rows]

# value of `cv` for members that are already fitted: the data passed to `fit` is new to them
PREFIT = "prefit"
DEFAULT_FOLDS = 5  # as scikit-learn's cv=None


def plain(label: Any) -> Any:
    """Return a label without its NumPy type, for messages."""
    return label.item() if isinstance(label, np.generic) else label


def routing_splitter(cv: Any, *, classifier: bool) -> Any:
    """Return the splitter that tells metadata routing whether `cv` uses `groups`.

    A number of folds becomes grouped folds if groups are passed, and given folds are checked with them, so both use
    `groups`. The folds themselves are not read, because a generator yields them only once.
    """
    return cv if hasattr(cv, "split") else _counted_splitter(DEFAULT_FOLDS, classifier=classifier, grouped=True)


def _fold_count(cv: Any) -> int | None:
    """Return the number of folds if `cv` is one or None; None if it is a splitter or a list of folds."""
    if cv is None:
        return DEFAULT_FOLDS
    return int(cv) if is_whole(cv) else None


def _counted_splitter(n_folds: int, *, classifier: bool, grouped: bool) -> Any:
    if grouped:
        return StratifiedGroupKFold(n_folds) if classifier else GroupKFold(n_folds)
    return StratifiedKFold(n_folds) if classifier else KFold(n_folds)


def make_folds(cv: Any, X: Any, y: npt.NDArray[Any], *, groups: Any, labels: npt.NDArray[Any] | None) -> list[Fold]:
    """Return checked folds: every row is held out once, by members that have seen neither it nor its group.

    Parameters
    ----------
    cv
        None for 5 folds, a number of folds, a scikit-learn splitter, or a list of (train, test) rows. A
        number means stratified folds for a classifier; with `groups` it means grouped ones.
    X
        The data, n rows of any kind.
    y : ndarray (n,)
        Class codes (int) or targets (float).
    groups
        A group for each row, or None.
    labels : ndarray (n_classes,) or None
        The name of each class code; None for a regressor.

    Returns
    -------
    list of (ndarray (n_train,) int64, ndarray (n_test,) int64)
        The rows to fit on and the rows to predict.
    """
    splitter = _splitter(cv, y, grouped=groups is not None, labels=labels)
    try:
        folds = [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(X, y, groups)]
    except (ValueError, TypeError) as error:
        message = " ".join(str(error).split())
        advice = "; pass fit(X, y, groups=...)" if groups is None and "groups" in message else ""
        raise UsageError(f"cv cannot split the {len(y)} rows: {message}{advice}") from error
    rows = [(_as_rows(train, len(y)), _as_rows(test, len(y))) for train, test in folds]
    _check_partition(rows, len(y))
    if groups is not None:
        _check_groups(rows, np.asarray(groups))
    if labels is not None:
        _warn_of_training_classes(rows, y, labels)
    return rows


def _splitter(cv: Any, y: npt.NDArray[Any], *, grouped: bool, labels: npt.NDArray[Any] | None) -> Any:
    n_folds = _fold_count(cv)
    if n_folds is None:
        if isinstance(cv, str | bool) or not (hasattr(cv, "split") or hasattr(cv, "__iter__")):
            raise UsageError(f"cv must be None, a number, a splitter, a list of folds or '{PREFIT}', got {cv!r}")
        return check_cv(cv)
    if n_folds < 2:
        raise UsageError(f"cv must be at least 2 folds, got {n_folds}")
    if len(y) < n_folds:
        raise UsageError(f"cv={n_folds} folds need at least as many rows, got n_samples={len(y)}; use a smaller cv")
    return _counted_splitter(n_folds, classifier=labels is not None, grouped=grouped)


def _as_rows(index: npt.NDArray[Any], n: int) -> Rows:
    """Return one side of a fold as row numbers: splitters may yield masks."""
    rows = np.flatnonzero(index) if index.dtype == bool and len(index) == n else index
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or (len(rows) and (rows.min() < 0 or rows.max() >= n)):
        raise UsageError(f"cv must give row numbers between 0 and {n - 1}, got an array of {index.dtype}")
    return rows.astype(np.int64)


def _check_partition(folds: Sequence[Fold], n: int) -> None:
    for number, (train, test) in enumerate(folds):
        seen = np.intersect1d(train, test)
        if len(seen):
            raise UsageError(
                f"cv leaks: fold {number} trains on {len(seen)} of the rows that it holds out (such as row {seen[0]})"
            )
    times = np.bincount(np.concatenate([test for _, test in folds]), minlength=n) if folds else np.zeros(n, np.int64)
    wrong = np.flatnonzero(times != 1)
    if len(wrong):
        raise UsageError(
            f"cv must hold out every row once, but row {wrong[0]} is held out {times[wrong[0]]} times;"
            " use folds that split the rows, such as KFold or GroupKFold"
        )


def _check_groups(folds: Sequence[Fold], groups: npt.NDArray[Any]) -> None:
    for number, (train, test) in enumerate(folds):
        seen = np.intersect1d(groups[train], groups[test])
        if len(seen):
            raise UsageError(
                f"cv leaks: fold {number} trains on group {plain(seen[0])!r}, which it also holds out;"
                " use a number of folds, GroupKFold or StratifiedGroupKFold"
            )


def _warn_of_training_classes(folds: Sequence[Fold], y: npt.NDArray[Any], labels: npt.NDArray[Any]) -> None:
    present = np.unique(y)
    for number, (train, _) in enumerate(folds):
        missing = np.setdiff1d(present, y[train])
        if len(missing):
            warnings.warn(
                f"fold {number} of cv trains without class {plain(labels[missing[0]])!r}: its members cannot predict "
                "it; use fewer or stratified folds, or drop the class",
                DepthForestWarning,
                stacklevel=5,
            )
            return
