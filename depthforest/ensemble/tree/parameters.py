"""Parameters: scikit-learn's settings of a tree, checked and resolved for the data."""

from __future__ import annotations

import math
from typing import Any

from depthforest.base import UsageError, is_number, is_whole
from depthforest.ensemble.fitting import directions_of, number, whole
from depthforest.ensemble.tree.plans import UNLIMITED, Growth

CLASS_CRITERIA = ("gini", "entropy", "log_loss")
NUMBER_CRITERIA = ("squared_error", "friedman_mse", "absolute_error", "poisson")
SAME_AS = {"log_loss": "entropy", "friedman_mse": "squared_error"}
"""Names of the same criterion: Friedman's improvement w_l w_r / (w_l + w_r) (mean_l - mean_r)^2 equals the decrease of
the squared error."""
SPLITTERS = ("best", "random")


def growth_of(
    estimator: Any,
    *,
    n_rows: int,
    n_features: int,
    n_channels: int,
    weight: float,
    starts: tuple[int, ...] = (),
    keeps_rows: bool = False,
) -> Growth:
    """Return how the trees of an estimator are grown on this many rows and columns of this total weight.

    The estimator's class attribute `_criteria` lists its criteria.
    """
    criteria = estimator._criteria
    if estimator.criterion not in criteria:
        raise UsageError(f"criterion must be one of {', '.join(criteria)}; got {estimator.criterion!r}")
    if estimator.splitter not in SPLITTERS:
        raise UsageError(f"splitter must be one of {', '.join(SPLITTERS)}; got {estimator.splitter!r}")
    max_depth, max_leaves = estimator.max_depth, estimator.max_leaf_nodes
    return Growth(
        criterion=SAME_AS.get(estimator.criterion, estimator.criterion),
        is_random=estimator.splitter == "random",
        n_channels=n_channels,
        max_features=feature_count(estimator.max_features, n_features),
        min_rows=row_count("min_samples_leaf", estimator.min_samples_leaf, n_rows, least=1),
        min_weight=number("min_weight_fraction_leaf", estimator.min_weight_fraction_leaf, 0, 0.5) * weight,
        max_depth=UNLIMITED if max_depth is None else min(whole("max_depth", max_depth, 1), UNLIMITED),
        min_samples_split=row_count("min_samples_split", estimator.min_samples_split, n_rows, least=2),
        min_decrease=number("min_impurity_decrease", estimator.min_impurity_decrease, 0, math.inf),
        max_leaves=None if max_leaves is None else whole("max_leaf_nodes", max_leaves, 2),
        keeps_rows=keeps_rows,
        starts=starts,
        signs=signs_of(estimator, n_channels, starts),
    )


def signs_of(estimator: Any, n_channels: int, starts: tuple[int, ...]) -> tuple[int, ...]:
    """Return for each column whether predictions must rise (1) or fall (-1) with it; empty without constraints."""
    if estimator.monotonic_cst is None:
        return ()
    signs = directions_of(estimator, 1)
    if starts:
        raise UsageError(
            "Monotonic constraints are not supported with multiple output: monotonic_cst needs one target per row, got "
            f"{len(starts) - 1}"
        )
    if n_channels > 2:
        raise UsageError(
            "Monotonic constraints are not supported with multiclass classification: monotonic_cst needs two classes, "
            f"got {n_channels}"
        )
    return tuple(signs.tolist()) if signs.any() else ()


def feature_count(max_features: Any, n_features: int) -> int:
    """Return the number of columns considered in a node."""
    if max_features is None:
        return n_features
    if isinstance(max_features, str):
        if max_features == "sqrt":
            return max(1, int(math.sqrt(n_features)))
        if max_features == "log2":
            return max(1, int(math.log2(n_features)))
    elif is_whole(max_features):
        if max_features >= 1:
            return min(int(max_features), n_features)
    elif is_number(max_features) and 0 < max_features <= 1:
        return max(1, int(max_features * n_features))
    raise UsageError(
        "max_features must be 'sqrt', 'log2', None for all, a whole number from 1, or a share above 0 and up to 1; got "
        f"{max_features!r}"
    )


def row_count(name: str, value: Any, n_rows: int, *, least: int) -> int:
    """Return a number of rows from a number or a share of all rows."""
    if is_whole(value) and value >= least:
        return min(int(value), UNLIMITED)
    if is_number(value) and not is_whole(value) and 0 < value <= 1:
        return max(least, math.ceil(float(value) * n_rows))
    raise UsageError(f"{name} must be a whole number from {least}, or a share above 0 and up to 1; got {value!r}")
