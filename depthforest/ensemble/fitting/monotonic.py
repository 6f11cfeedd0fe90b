"""Monotonic constraints: columns that may only raise, or only lower, the prediction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from depthforest.base import Ints, UsageError


def directions_of(estimator: Any, n_outputs: int) -> Ints:
    """Return the direction of every column, (n_features,) int32: 1 increasing, -1 decreasing, 0 unconstrained.

    `monotonic_cst` is None, a list of these numbers for all columns, or a dict from column names to them.
    """
    wanted, n_features = estimator.monotonic_cst, estimator.n_features_in_
    if wanted is None:
        return np.zeros(n_features, dtype=np.int32)
    if isinstance(wanted, Mapping):
        names = list(getattr(estimator, "feature_names_in_", ()))
        unknown = [name for name in wanted if name not in names]
        if unknown:
            raise UsageError(
                f"monotonic_cst names {unknown[0]!r}, which is not a column of X"
                + ("" if names else "; X has no column names: pass a DataFrame, or a list for all columns")
            )
        directions = np.array([wanted.get(name, 0) for name in names])
    else:
        directions = np.asarray(wanted)
    if directions.shape != (n_features,) or not np.isin(directions, (-1, 0, 1)).all():
        raise UsageError(f"monotonic_cst must be -1, 0 or 1 for each of {n_features} columns, got {wanted!r}")
    if n_outputs > 1 and directions.any():
        raise UsageError("monotonic_cst needs a single output: two classes or one regression target")
    both = np.flatnonzero((directions != 0) & estimator.is_categorical_)
    if len(both):
        raise UsageError(f"monotonic_cst cannot order the categories of column {both[0]}")
    return directions.astype(np.int32)
