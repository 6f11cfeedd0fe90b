"""Inputs: arguments of fit and predict as the plain arrays that kernels need, checked once.

scikit-learn's validation checks the number and names of columns. Categories of any type are encoded as their positions
in a stored list, so that prediction uses the same encoding; categories not seen in fitting are missing values. Codes
fit a byte: if a column has too many categories, the rarest share the last code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils import check_array
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from depthforest.base import Floats, Longs, Singles, UsageError
from depthforest.ensemble.fitting import check_total
from depthforest.ensemble.growth import MAX_BINS, SparseTable
from depthforest.ensemble.tree.frames import NamedTable, frame_of

Table = Singles | SparseTable

FINITE = "allow-nan"

SHARED_CODE = MAX_BINS - 1
"""The code shared by all categories of a column beyond its most frequent ones; also the number of the latter."""

_CHECKS = {"dtype": np.float32, "order": "C", "ensure_all_finite": FINITE, "accept_sparse": ["csr", "csc"]}


def fit_table(estimator: Any, x: Any, categorical_features: Any, sample_weight: Any = None) -> Table:
    """Return the training table (n, n_features), dense or sparse, and keep the estimator's columns and categories.

    Sets `n_features_in_`, `feature_names_in_` if there are names, `is_categorical_` (n_features,) bool and
    `categories_`, a dict from columns to their categories in the order of their codes. `sample_weight` determines which
    of too many categories are rare. The trees of an earlier fit are discarded: if this fit fails, trees for other
    columns must not be used.
    """
    vars(estimator).pop("_walk", None)
    _refuse_text(x, categorical_features)
    if categorical_features is None:
        table = validate_data(estimator, x, **_CHECKS)
        estimator.is_categorical_ = np.zeros(table.shape[1], dtype=bool)
        estimator.categories_ = {}
        return _plain(table)
    _refuse_sparse(x)
    validate_data(estimator, x, skip_check_array=True)
    n_features = estimator.n_features_in_
    chosen = _categorical_columns(frame_of(x), categorical_features, n_features)
    estimator.is_categorical_ = np.isin(np.arange(n_features), chosen)
    estimator.categories_ = {}
    for column in chosen:
        cells = _column(x, column)
        encoder = OrdinalEncoder().fit(cells)
        categories = np.asarray([c for c in encoder.categories_[0] if not _is_missing(c)])
        if len(categories) > SHARED_CODE:
            codes = encoder.transform(cells)[:, 0]
            categories = categories[_frequent_first(codes, check_weights(sample_weight, cells), len(categories))]
        estimator.categories_[int(column)] = categories
    return _encoded(estimator, x)


def category_codes(n_categories: int) -> Longs:
    """Return the codes of this many categories of a column, (n_categories,): those from `SHARED_CODE` on share it."""
    return np.minimum(np.arange(n_categories), SHARED_CODE)


def _frequent_first(codes: Floats, weights: Floats, n_categories: int) -> Longs:
    """Return an order of categories (n_categories,): first the most frequent, with codes of their own, then the rest.

    `codes` (n,) are the positions of the rows' categories, NaN if missing. Among equally frequent categories the first
    gets its own code. Both parts are ascending.
    """
    is_known = ~np.isnan(codes)
    amounts = np.bincount(codes[is_known].astype(np.int64), weights[is_known], minlength=n_categories)
    by_amount = np.argsort(-amounts, kind="stable")
    return np.concatenate((np.sort(by_amount[:SHARED_CODE]), np.sort(by_amount[SHARED_CODE:])))


def _refuse_text(x: Any, categorical_features: Any) -> None:
    """Raise if a DataFrame has a text column that is not declared categorical."""
    frame = frame_of(x)
    if frame is None:
        return
    chosen = [] if categorical_features is None else _categorical_columns(frame, categorical_features, len(frame.names))
    for number, name in enumerate(frame.names):
        if number not in chosen and frame.is_text(number):
            raise UsageError(
                f"column {name!r} holds text or categories: name it in categorical_features "
                "('from_dtype' takes those of a categorical type), or encode it as numbers"
            )


def predict_table(estimator: Any, x: Any) -> Table:
    """Return a table for prediction, (n, n_features), dense float32 or sparse, encoded like the training table."""
    check_is_fitted(estimator)
    return encoded_table(estimator, x)


def encoded_table(estimator: Any, x: Any) -> Table:
    """Return a table encoded like the training table, which `fit_table` has processed."""
    if not estimator.categories_:
        return _plain(validate_data(estimator, x, reset=False, **_CHECKS))
    _refuse_sparse(x)
    validate_data(estimator, x, skip_check_array=True, reset=False)
    return _encoded(estimator, x)


def _plain(table: Any) -> Table:
    """Return a table in the layout that kernels are compiled for; read-only and unaligned ones are copied."""
    if issparse(table):
        return SparseTable(table)
    return np.require(table, dtype=np.float32, requirements=["C", "A", "W"])


def check_weights(sample_weight: Any, x: Table) -> Floats:
    """Return the weights of rows, (n,) float64, after checking them; ones if none are given."""
    if sample_weight is not None and not np.asarray(sample_weight).any():
        raise UsageError("sample_weight must not all be zero: there would be nothing to learn from")
    weights = np.asarray(_check_sample_weight(sample_weight, x, dtype=np.float64))
    if (weights < 0).any():
        raise UsageError(f"sample_weight must be 0 or more, got {weights.min():g}")
    return check_total("sample_weight", weights)


def _categorical_columns(frame: NamedTable | None, categorical_features: Any, n_features: int) -> list[int]:
    """Return the indices of the categorical columns, from a mask, indices or names, or from the types of a frame."""
    names = None if frame is None else list(map(str, frame.names))
    if isinstance(categorical_features, str):
        if categorical_features != "from_dtype":
            raise UsageError(
                "categorical_features must be None, 'from_dtype', a mask, or numbers or names of columns; got "
                f"{categorical_features!r}"
            )
        return [] if frame is None else [i for i in range(n_features) if frame.is_category(i)]
    chosen = np.asarray(categorical_features)
    if chosen.dtype == bool:
        if chosen.shape != (n_features,):
            raise UsageError(f"a mask of categorical_features must have {n_features} entries, got {chosen.shape}")
        return [int(i) for i in np.flatnonzero(chosen)]
    if chosen.dtype.kind in "iu" and chosen.ndim == 1:
        if len(chosen) and not (-n_features <= chosen.min() and chosen.max() < n_features):
            raise UsageError(f"categorical_features must be columns from 0 to {n_features - 1}, got {chosen.tolist()}")
        return sorted({int(i) % n_features for i in chosen})
    if chosen.dtype.kind in "UO" and chosen.ndim == 1 and len(chosen):
        unknown = [name for name in chosen if names is None or name not in names]
        if unknown:
            raise UsageError(
                f"categorical_features names {str(unknown[0])!r}, which is not a column of X"
                + ("; X has no column names: pass a DataFrame, or numbers of columns" if names is None else "")
            )
        return sorted({names.index(name) for name in chosen})  # type: ignore[union-attr]
    if chosen.size == 0:
        return []
    raise UsageError(
        "categorical_features must be None, 'from_dtype', a mask, or numbers or names of columns; got "
        f"{categorical_features!r}"
    )


def _refuse_sparse(x: Any) -> None:
    if issparse(x):
        raise UsageError("categories need a dense table, got a sparse matrix: pass X.toarray()")


def _column(x: Any, column: int) -> npt.NDArray[Any]:
    """Return a column (n, 1) unchanged: text, numbers or categories."""
    frame = frame_of(x)
    values = np.asarray(x)[:, column] if frame is None else frame.column(column)
    if values.dtype.kind == "O":
        values = np.array([np.nan if _is_missing(v) else v for v in values], dtype=object)
    return np.asarray(values).reshape(-1, 1)


def _is_missing(value: Any) -> bool:
    # pandas' NA first, because it is neither equal nor unequal to itself
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def _encoded(estimator: Any, x: Any) -> Table:
    n_features = estimator.n_features_in_
    shape = getattr(x, "shape", None) or np.asarray(x).shape
    if len(shape) != 2:
        raise UsageError(f"X must be a table of rows and columns, got an array of shape {tuple(shape)}")
    table = np.empty((shape[0], n_features), dtype=np.float32)
    numbers = [f for f in range(n_features) if f not in estimator.categories_]
    if numbers:
        part = x.iloc[:, numbers] if hasattr(x, "iloc") else np.asarray(x)[:, numbers]
        table[:, numbers] = check_array(part, dtype=np.float32, ensure_all_finite=FINITE, input_name="X")
    for column, categories in estimator.categories_.items():
        codes = dict(zip(categories.tolist(), category_codes(len(categories)).tolist(), strict=True))
        values = _column(x, column)[:, 0]
        table[:, column] = [codes.get(v.item() if isinstance(v, np.generic) else v, np.nan) for v in values]
    return table
