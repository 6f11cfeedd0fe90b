"""Targets: y as class codes or as numbers, one per row or several; class weights.

`fitting.shares` describes how several targets are concatenated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite, check_array, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from depthforest.base import Floats, Ints, UsageError
from depthforest.ensemble.fitting import Classes, check_total, coded_classes, labels_of
from depthforest.ensemble.tree.inputs import Table

Labels = npt.NDArray[Any]


class SparseTargetError(UsageError, TypeError):
    """A sparse y; has both types that scikit-learn expects."""


MAX_WEIGHT = 2**31
"""Whole-number weights are counted exactly up to this sum."""


def fit_classes(y: Any, table: Table) -> tuple[Any, Ints]:
    """Return the sorted classes, and the class code of every row, (n,); with several targets (n, T)."""
    labels = _by_row(y, table)
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    return coded_classes(labels)


def _by_row(y: Any, table: Table) -> Labels:
    """Return y as an array, (n,), or (n, T) for more than one target."""
    if issparse(y):
        raise SparseTargetError("sparse multilabel-indicator for y is not supported.: pass y.toarray()")
    labels = y if hasattr(y, "shape") else np.asarray(y)
    labels = np.asarray(labels) if len(labels.shape) == 2 and labels.shape[1] > 1 else column_or_1d(y, warn=True)
    check_consistent_length(table, labels)
    return labels


def fit_numbers(y: Any, table: Table, weights: Floats, *, criterion: str = "squared_error") -> tuple[Floats, float]:
    """Return targets, and a median target of the rows with weight, about which sums of squares do not cancel.

    It is one of the targets and not their mean, so that differences of whole numbers stay whole and weights do not
    affect it. For several targets, (n, T), it is 0, because their trees find their own.
    """
    targets = check_array(_by_row(y, table), ensure_2d=False, dtype=np.float64, input_name="y")
    if criterion == "poisson":
        _check_counts(targets)
    if targets.ndim == 2:
        return np.asarray(targets), 0.0
    values = np.unique(targets[weights > 0])
    return np.asarray(targets), float(values[len(values) // 2])


def _check_counts(targets: Floats) -> None:
    """Raise unless Poisson's deviance is defined for the mean of the targets."""
    if (targets < 0).any():
        raise UsageError(
            "Some value(s) of y are negative which is not allowed for Poisson regression: criterion='poisson' takes "
            f"counts and rates, got {targets.min():g}"
        )
    if (targets.sum(axis=0) <= 0).any():
        raise UsageError(
            "Sum of y is not strictly positive which is necessary for Poisson regression.: all targets are 0"
        )


def weighed_classes(weights: Floats, class_weight: Any, classes: Classes, codes: Ints) -> tuple[Floats, float]:
    """Return the weights of rows times those of their classes, and their unit: fractions are scaled to a mean of 1.

    Scaling changes no split. Entropy is summed in fixed point, and is then as precise as for whole-number weights.
    """
    if class_weight is not None:
        weights = times_classes(weights, class_weight, classes, codes)
    if not weights.any():
        raise UsageError("class_weight leaves no row any weight: there would be nothing to learn from")
    if (weights != np.floor(weights)).any() or weights.sum() > MAX_WEIGHT:
        unit = weights.sum() / np.count_nonzero(weights)
        return weights / unit, float(unit)
    return weights, 1.0


def times_classes(weights: Floats, class_weight: Any, classes: Classes, codes: Ints) -> Floats:
    """Return the weights of rows times the class weights of all targets."""
    labels = labels_of(codes, classes)
    factors = compute_sample_weight(class_weight, labels)
    if not (factors >= 0).all():  # also true for NaN
        row = int(np.flatnonzero(~(factors >= 0))[0])
        raise UsageError(f"class_weight must be 0 or more, got {factors[row]:g} for class {labels[row]!s}")
    return check_total("class_weight times sample_weight", weights * factors)
