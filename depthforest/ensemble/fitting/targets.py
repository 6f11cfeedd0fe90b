"""Targets of combined members: class codes or numbers, checked; and the classes that members know.

Members fitted here learn the codes 0 .. n_classes - 1 (XGBoost accepts nothing else); prefitted ones keep their labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from depthforest.base import Floats, Longs, UsageError
from depthforest.ensemble.fitting.folds import plain

Labels = npt.NDArray[Any]
Codes = Longs

SHOWN_CLASSES = 6  # shown in messages


class SeveralTargetsError(UsageError, NotImplementedError):
    """More than one target per row; also a NotImplementedError, as scikit-learn expects."""


def class_codes(X: Any, y: Any, known: Labels | None, *, owner: str) -> tuple[Labels, Codes]:
    """Return the classes, sorted, and the code of every row's class.

    Parameters
    ----------
    X, y
        n rows and their labels.
    known : ndarray (n_classes,) or None
        The classes that prefitted members know; None takes those of y.
    owner : str
        Name of the estimator, for messages.

    Returns
    -------
    classes : ndarray (n_classes,)
    codes : ndarray (n,) int64
    """
    labels = _one_per_row(X, y, owner)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise UsageError(f"{owner} takes labels, got a y that contains NaN or infinity; leave such rows out")
    check_classification_targets(labels)
    if known is None:
        classes, codes = np.unique(labels, return_inverse=True)
        return classes, codes.reshape(-1).astype(np.int64)
    return known, codes_of(labels, known, what="y holds")


def label_codes(X: Any, y: Any, *, owner: str) -> tuple[list[Labels], Codes] | None:
    """Return the classes of each of several binary targets, and the codes (n, n_targets); None for one target."""
    if y is None or getattr(y, "ndim", 1) != 2 or y.shape[1] < 2:
        return None
    if type_of_target(y) != "multilabel-indicator":
        raise SeveralTargetsError(f"{owner} takes one target per row, or several of 0 and 1; got y of shape {y.shape}")
    check_consistent_length(X, y)
    found = [np.unique(column, return_inverse=True) for column in np.asarray(y).T]
    return [classes for classes, _ in found], np.stack([codes for _, codes in found], axis=1).astype(np.int64)


def codes_of(labels: Labels, classes: Labels, *, what: str) -> Codes:
    """Return the position of every label in the sorted `classes`; `what` begins the message about an unknown label."""
    try:
        codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        strange = np.flatnonzero(classes[codes] != labels)
    except TypeError:  # comparing numbers with strings
        codes, strange = np.zeros(len(labels), np.int64), np.arange(len(labels))
    if len(strange):
        raise UsageError(f"{what} {plain(labels[strange[0]])!r}, which is not one of the classes {_listed(classes)}")
    return codes.astype(np.int64)


def numbers(X: Any, y: Any, *, owner: str) -> Floats:
    """Return a regressor's targets, (n,) float64, finite."""
    y = _one_per_row(X, y, owner)
    return np.asarray(check_array(y, ensure_2d=False, dtype=np.float64, input_name="y"))


def _one_per_row(X: Any, y: Any, owner: str) -> npt.NDArray[Any]:
    if y is None:
        raise UsageError(f"{owner} requires y to be passed, but the target y is None")
    if getattr(y, "ndim", 1) == 2 and y.shape[1] > 1:
        raise SeveralTargetsError(
            f"{owner} takes one target per row, got y of shape {y.shape}; fit one {owner} for each column"
        )
    check_consistent_length(X, y)
    return np.asarray(column_or_1d(y, warn=True))


def shared_classes(names: Sequence[str], members: Sequence[Any]) -> Labels:
    """Return the classes of prefitted members after checking that all members know the same."""
    known = [_known_classes(name, member) for name, member in zip(names, members, strict=True)]
    for name, classes in zip(names, known, strict=True):
        if not np.array_equal(classes, known[0]):
            raise UsageError(
                f"members must know the same classes, but {names[0]!r} knows {_listed(known[0])} and {name!r}"
                f" knows {_listed(classes)}; fit them on the same labels"
            )
    return known[0]


def check_code_classes(names: Sequence[str], members: Sequence[Any], classes: Labels) -> None:
    """Raise unless members fitted here know every class by its code."""
    for name, member in zip(names, members, strict=True):
        known = np.asarray(getattr(member, "classes_", np.arange(len(classes))))
        if not np.array_equal(known, np.arange(len(classes))):
            raise UsageError(
                f"member {name!r} knows the classes {_listed(known)} after fitting on the codes"
                f" 0 .. {len(classes) - 1}; for fitted members use cv='prefit'"
            )


def _known_classes(name: str, member: Any) -> Labels:
    classes = getattr(member, "classes_", None)
    if classes is None:
        raise UsageError(f"member {name!r} has no classes_: cv='prefit' takes fitted classifiers")
    return np.asarray(classes)


def _listed(classes: Labels) -> str:
    words = [repr(plain(label)) for label in classes[:SHOWN_CLASSES]]
    return f"[{', '.join(words)}{', ...' if len(classes) > SHOWN_CLASSES else ''}] ({len(classes)})"
