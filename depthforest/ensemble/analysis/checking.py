"""Checks of users' arguments: predictions of members, true answers, weights, probabilities.

Every other module of this room uses it; after these checks votes are class indices and values finite floats.
"""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from depthforest.base import Bools, Floats, Longs, UsageError
from depthforest.ensemble.fitting import is_flag

Codes = Longs
Flags = Bools
Labels = npt.NDArray[Any]
Numbers = npt.NDArray[Any]

WEIGHT_ROUNDING = 1e-9
"""Tolerance of sums that must be 1: more than rounding errors, less than a typing error."""


PROBABILITY_ROUNDING = 1e-5
"""The same for probabilities, which some libraries return in single precision."""

TABLE_SIZE = 2**16
"""Whole-number labels are coded by table lookup if their range is at most this; others are sorted."""


class CheckedVotes(NamedTuple):
    """Checked votes: `answers` (n_members, n_samples) and `truth` (n_samples,) are class indices below `n_classes`."""

    answers: Codes
    truth: Codes
    n_classes: int

    @property
    def right(self) -> Flags:
        """Mask of the correct answers, (n_members, n_samples)."""
        return np.asarray(self.answers == self.truth, dtype=np.bool_)


def whole_number(value: Any, name: str, *, least: int) -> int:
    """Return a whole number after checking that it is at least `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise UsageError(f"{name} must be a whole number, got {value!r}") from None
    if is_flag(value) or number < least:
        raise UsageError(f"{name} must be a whole number of {least} or more, got {value!r}")
    return number


def between(value: Any, name: str, low: float, high: float) -> float:
    """Return a number after checking that it is within [low, high]."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise UsageError(f"{name} must be a number from {low:g} to {high:g}, got {value!r}") from None
    if not low <= number <= high:
        raise UsageError(f"{name} must be a number from {low:g} to {high:g}, got {value!r}")
    return number


def one_column(values: Any, name: str) -> Numbers:
    """Return values (n,), n > 0, as an array after checking their shape."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise UsageError(f"{name} must have one dimension (n_samples,), got the shape {array.shape}")
    if not len(array):
        raise UsageError(f"{name} is empty: the analysis needs at least one sample")
    return array


def member_rows(predictions: Any, n_samples: int, *, least: int) -> Numbers:
    """Return predictions (n_members, n_samples) as an array after checking shape and number of members."""
    array = np.asarray(predictions)
    wanted = f"(n_members, n_samples = {n_samples})"
    if array.ndim != 2:
        raise UsageError(f"predictions must have the shape {wanted}, got the shape {array.shape}")
    if array.shape[1] != n_samples:
        hint = ": transpose them" if array.shape[0] == n_samples else ""
        raise UsageError(f"predictions must have the shape {wanted}, got the shape {array.shape}{hint}")
    if len(array) < least:
        raise UsageError(f"predictions must come from at least {least} members, got {len(array)}")
    return array


def as_labels(array: Numbers, name: str) -> Labels:
    """Return labels as numbers or as text, never as objects, so that they can be sorted and compared."""
    if array.dtype.kind == "O":
        items = array.ravel().tolist()
        if all(isinstance(item, str) for item in items):
            array = array.astype(str)
        elif all(isinstance(item, int | float | np.number | np.bool_) for item in items):
            array = np.array(items).reshape(array.shape)
    if array.dtype.kind not in "biufU":
        raise UsageError(f"{name} must hold labels that are all numbers or all text, got the type {array.dtype}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise UsageError(f"{name} must hold labels, got NaN or infinity among them")
    return array


def check_same_kind(a: Labels, b: Labels, names: str) -> None:
    """Raise if one array holds text and the other numbers: 1 and "1" could be confused."""
    if (a.dtype.kind == "U") != (b.dtype.kind == "U"):
        raise UsageError(f"{names} must be labels of one kind, got the types {a.dtype} and {b.dtype}")


def checked_votes(predictions: Any, y: Any, *, least: int = 2) -> CheckedVotes:
    """Return the predicted labels, (n_members, n_samples), and the true ones, (n_samples,), as class indices."""
    truth = as_labels(one_column(y, "y"), "y")
    answers = as_labels(member_rows(predictions, len(truth), least=least), "predictions")
    check_same_kind(answers, truth, "predictions and y")
    if answers.dtype.kind in "iu" and truth.dtype.kind in "iu":
        coded = _coded_by_table(answers, truth)
        if coded is not None:
            return coded
    classes = np.unique(np.concatenate([np.unique(truth), np.unique(answers)]))
    return CheckedVotes(np.searchsorted(classes, answers), np.searchsorted(classes, truth), len(classes))


def _coded_by_table(answers: Labels, truth: Labels) -> CheckedVotes | None:
    """Return whole numbers as class indices without sorting them, which would take most of the time, or None."""
    low = min(int(answers.min()), int(truth.min()))
    span = max(int(answers.max()), int(truth.max())) - low + 1
    if span > TABLE_SIZE or low < np.iinfo(np.int64).min // 2 or low + span > np.iinfo(np.int64).max // 2:
        return None
    answers, truth = answers.astype(np.int64) - low, truth.astype(np.int64) - low
    is_there = np.zeros(span, dtype=np.bool_)
    is_there[answers] = True
    is_there[truth] = True
    places = np.cumsum(is_there) - 1
    return CheckedVotes(places[answers], places[truth], int(is_there.sum()))


def finite(values: Numbers, name: str) -> Floats:
    """Return numbers as float64 after checking that they are finite."""
    if values.dtype.kind not in "biufO":
        raise UsageError(f"{name} must be numbers, got the type {values.dtype}")
    try:
        array = values.astype(np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"{name} must be numbers, got other objects among them") from None
    if not np.isfinite(array).all():
        raise UsageError(f"{name} must be finite, got NaN or infinity among them")
    return array


def checked_values(predictions: Any, y: Any, *, least: int = 2) -> tuple[Floats, Floats]:
    """Return the values predicted by members, (n_members, n_samples), and the true ones (n_samples,), as float64."""
    truth = finite(one_column(y, "y"), "y")
    return finite(member_rows(predictions, len(truth), least=least), "predictions"), truth


def checked_weights(weights: Any, n_members: int) -> Floats:
    """Return a weight for each member, after checking that they are nonnegative and sum to 1; equal ones for None."""
    if weights is None:
        return np.full(n_members, 1 / n_members)
    array = np.asarray(weights)
    if array.shape != (n_members,):
        raise UsageError(
            f"weights must have the shape ({n_members},), one for each member, got the shape {array.shape}"
        )
    array = finite(array, "weights")
    if (array < 0).any():
        raise UsageError(f"weights must not be negative, got {array.min():g}")
    if not math.isclose(array.sum(), 1, abs_tol=WEIGHT_ROUNDING):
        raise UsageError(f"weights must sum to 1, got the sum {array.sum():g}: divide them by it")
    return np.asarray(array / array.sum())


def checked_distribution(probabilities: Any, n_classes: int) -> Floats:
    """Return class probabilities (n_samples, n_classes) after checking that every row sums to 1."""
    array = np.asarray(probabilities)
    if array.ndim != 2 or array.shape[1] != n_classes or not len(array):
        raise UsageError(
            f"class_probabilities must have the shape (n_samples, {n_classes}), a column for each class, "
            f"got the shape {array.shape}"
        )
    array = finite(array, "class_probabilities")
    if (array < 0).any() or not np.allclose(array.sum(axis=1), 1, rtol=0, atol=PROBABILITY_ROUNDING):
        raise UsageError("class_probabilities must not be negative and must sum to 1 in each row")
    return np.asarray(array / array.sum(axis=1, keepdims=True))


def counts_of_votes(answers: Codes, n_classes: int, weights: Floats | None = None) -> Floats:
    """Return the number of votes, or their weight, for each class, (n_samples, n_classes) float64."""
    n_members, n_samples = answers.shape
    counts = np.zeros((n_samples, n_classes))
    rows = np.arange(n_samples)
    for member in range(n_members):  # member by member, so that no index occurs twice
        counts[rows, answers[member]] += 1.0 if weights is None else weights[member]
    return counts
