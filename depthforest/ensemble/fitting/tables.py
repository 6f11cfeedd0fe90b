"""Rows and columns of the X that users pass: arrays, sparse matrices, pandas frames; members get subsets of them.

A frame stays a frame, so that a member sees column names and types; everything else becomes an array or a CSR or CSC
matrix. The checks are scikit-learn's, with its messages.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, check_consistent_length, validate_data

from depthforest.base import Floats, UsageError, is_number

Indices = npt.NDArray[np.intp]

LARGEST_TOTAL = 1e100
"""Of weights: squares of sums up to this, times squares of targets up to 1e50, are finite; so are their inverses."""

_ARRAY_CHECKS = {"accept_sparse": ["csr", "csc"], "dtype": None}


def is_frame(X: Any) -> bool:
    """Return whether X is a table of named columns like a pandas frame."""
    return hasattr(X, "iloc") and getattr(X, "ndim", 0) == 2


def checked_training_table(estimator: Any, X: Any, y: Any, *, reset: bool, finite: bool) -> tuple[Any, Any]:
    """Return X as a frame, array or sparse matrix and y as an array of the same length; check or set the columns.

    `finite` requires finite values in all of X, because a missing value in a row that no member draws would go
    unnoticed.
    """
    if issparse(y):
        raise UsageError("y must be an array, got a sparse matrix: pass y.toarray()")
    if y is None or not is_frame(X):
        table, y = validate_data(
            estimator, X, y, reset=reset, multi_output=True, ensure_all_finite=finite, **_ARRAY_CHECKS
        )
        _check_cells(table)
        return table, y
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    if 0 in X.shape:
        raise UsageError(f"X must have at least one row and one column, got {X.shape[0]} rows and {X.shape[1]} columns")
    y = check_array(y, ensure_2d=False, dtype=None, input_name="y", estimator=estimator)
    check_consistent_length(X, y)
    return X, y


def _check_cells(X: Any) -> None:
    """Refuse cells of an object array that hold several values, even in rows that no member draws."""
    if X.dtype == object and not issparse(X):
        for kind in {type(cell) for cell in X.flat}:
            if issubclass(kind, Collection) and not issubclass(kind, str | bytes):
                raise TypeError(f"argument must be a string or a number in each cell of X, got a {kind.__name__}")


def checked_table(estimator: Any, X: Any, *, framed: bool) -> Any:
    """Return a checked X for prediction; if `framed`, members were fitted with frames, so they get a frame."""
    if is_frame(X) and framed:
        validate_data(estimator, X, reset=False, skip_check_array=True)
        if not len(X):
            raise UsageError("X must have at least one row, got none")
        return X
    table = validate_data(estimator, X, reset=False, ensure_all_finite=False, **_ARRAY_CHECKS)
    if framed and not issparse(table):
        # the ensemble has warned of missing names, so its members need not repeat the warning
        try:
            from pandas import DataFrame
        except ImportError:  # pandas may be missing where a model was loaded
            return table
        return DataFrame(table, columns=getattr(estimator, "feature_names_in_", None))
    return table


def checked_weights(sample_weight: Any, n_samples: int) -> Floats:
    """Return the weights, (n_samples,) float64, after checking that none is negative and not all are zero."""
    if is_number(sample_weight):
        sample_weight = np.full(n_samples, float(sample_weight))
    weights = np.asarray(check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"))
    if weights.shape != (n_samples,):
        raise UsageError(f"sample_weight must have shape ({n_samples},), a weight for each row, got {weights.shape}")
    if weights.min() < 0:
        raise UsageError(f"sample_weight must not be negative, got {weights.min():g} as its lowest")
    if not weights.any():
        raise UsageError("sample_weight is zero for every row: give at least one row a weight above zero")
    return check_total("sample_weight", weights)


def check_total(name: str, weights: Floats) -> Floats:
    """Return weights after checking that their sum, and products with it, neither overflow nor vanish."""
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if total > LARGEST_TOTAL or 0 < total < 1 / LARGEST_TOTAL:
        raise UsageError(
            f"{name} must sum to between {1 / LARGEST_TOTAL:g} and {LARGEST_TOTAL:g}, got {total:g}: divide all by "
            "their mean"
        )
    return weights


def cut(X: Any, rows: Indices | None, columns: Indices | None) -> Any:
    """Return some rows and columns of X as the same kind of table; None means all."""
    if is_frame(X):
        part = X if rows is None else X.iloc[rows]
        return part if columns is None else part.iloc[:, columns]
    part = X if rows is None else X[rows]
    return part if columns is None else part[:, columns]


def cut_metadata(metadata: Mapping[str, Any], rows: Indices | None, n_samples: int) -> dict[str, Any]:
    """Return routed metadata for the same rows: values of length `n_samples` are per row, others are unchanged."""
    if rows is None:
        return dict(metadata)
    return {name: _cut_values(value, rows, n_samples) for name, value in metadata.items()}


def _cut_values(value: Any, rows: Indices, n_samples: int) -> Any:
    is_array = hasattr(value, "shape") and len(value.shape) > 0
    if not (is_array or isinstance(value, list | tuple)) or (value.shape[0] if is_array else len(value)) != n_samples:
        return value
    if hasattr(value, "iloc"):
        return value.iloc[rows]
    return value[rows] if is_array else [value[row] for row in rows]
