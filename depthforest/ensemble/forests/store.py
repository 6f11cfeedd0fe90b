"""Forest files: the contents besides the trees: seeds, rows drawn, out-of-bag results, rows for quantiles.

`tree.store` writes and reads the trees; `base` and `tasks` call these functions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from depthforest.base import Column, Floats, Ints, ModelError, kernel, shown
from depthforest.ensemble.fitting import MAX_SEED
from depthforest.ensemble.forests.outofbag import error_bound
from depthforest.ensemble.growth import LEAF
from depthforest.ensemble.tree import TREE_COLUMNS, Columns, Layout, Tree, pack_number, unpack_number, whole

MAX_ROWS = 2**31 - 1
"""Largest number of rows: they are numbered with 32 bits."""

FOREST_COLUMNS = {
    "seeds": Column("int32", ("seeds",)),
    "positive": Column("int32", ("positive",)),
    "oob_errors": Column("float64", ("judged",)),
}
"""`positive` has the rows with weight, empty if all have; `oob_errors` is empty if there are none."""

QUANTILE_COLUMNS = {
    "rows": Column("int32", ("kept",)),
    "targets": Column("float64", ("targets",)),
    "weights": Column("float64", ("targets",)),
}
"""Data for `predict_quantiles`; empty if not kept."""

COUNTS = ("n_drawn", "n_rows")
OF_NUMBERS = (*COUNTS, "oob_score")
OF_CLASSES = (*OF_NUMBERS, "strength", "correlation")
"""Keys of `fitted`: counts, then out-of-bag scores."""

CLASS_FOREST = Layout(TREE_COLUMNS | FOREST_COLUMNS, OF_CLASSES, has_classes=True, has_shares=True, has_targets=True)
NUMBER_FOREST = Layout(TREE_COLUMNS | FOREST_COLUMNS | QUANTILE_COLUMNS, OF_NUMBERS, has_targets=True)


# -- writing -----------------------------------------------------------------------------------------------------------


def pack_forest(estimator: Any, keys: tuple[str, ...], columns: Columns) -> dict[str, Any]:
    """Add the columns of a forest, and return its other fitted values: an object with these keys."""
    errors = np.asarray(getattr(estimator, "oob_errors_", ()), dtype=np.float64)
    if len(errors) != len(estimator.trees_):
        errors = errors[:0]  # these are from another fit
    positive = np.empty(0) if estimator._positive is None else estimator._positive
    columns.update(seeds=estimator._seeds.astype(np.int32), positive=positive.astype(np.int32), oob_errors=errors)
    fitted: dict[str, Any] = {"n_rows": estimator.n_rows_, "n_drawn": estimator._n_drawn}
    for name in keys:
        if name not in COUNTS:
            fitted[name] = pack_number(getattr(estimator, f"{name}_", np.nan)) if len(errors) else None
    return fitted


def pack_quantiles(estimator: Any, columns: Columns) -> None:
    """Add the rows of leaves, their targets and weights, if every tree kept them."""
    trees = estimator.trees_
    if hasattr(estimator, "_targets") and all(len(tree.rows) for tree in trees):
        rows, targets, weights = np.concatenate([t.rows for t in trees]), estimator._targets, estimator._weights
        _check_kept(estimator, trees, targets, weights)
    else:
        rows, targets, weights = np.empty(0, dtype=np.int32), np.empty(0), np.empty(0)
    columns.update(rows=rows, targets=targets, weights=weights)


# -- reading -----------------------------------------------------------------------------------------------------------


def unpack_forest(estimator: Any, trees: list[Tree], fitted: dict[str, Any], columns: Columns) -> None:
    """Set the fitted values of a forest besides its trees."""
    n_rows = whole("n_rows", fitted["n_rows"], 1, MAX_ROWS)
    positive, seeds = columns["positive"].astype(np.int64), columns["seeds"].astype(np.int64)
    if len(positive) and not (positive[0] >= 0 and positive[-1] < n_rows and (np.diff(positive) > 0).all()):
        raise ModelError(f"positive must be ascending rows from 0 to {n_rows - 1}, got {shown(positive.tolist())}")
    n_positive = len(positive) or n_rows
    for number, tree in enumerate(trees):
        if tree.n_node_samples[0] > n_positive:
            raise ModelError(f"tree {number}: has {tree.n_node_samples[0]} rows, the forest {n_positive}")
    if len(seeds) < len(trees) or ((seeds < 0) | (seeds > MAX_SEED)).any():
        raise ModelError(f"seeds must be whole numbers from 0, at least one for each of the {len(trees)} trees")
    estimator.n_rows_ = n_rows
    estimator._n_drawn = whole("n_drawn", fitted["n_drawn"], 1, n_positive)
    estimator._positive = positive if len(positive) else None
    estimator._seeds = seeds
    scores = {name: unpack_number(name, value) for name, value in fitted.items() if name not in COUNTS}
    _unpack_out_of_bag(estimator, len(trees), columns["oob_errors"], scores)


def _unpack_out_of_bag(estimator: Any, n_trees: int, errors: Floats, scores: dict[str, float]) -> None:
    if not len(errors):
        if not np.isnan(list(scores.values())).all():
            raise ModelError(f"{', '.join(scores)} must be null if there are no oob_errors")
        return
    known = errors[np.logical_or.accumulate(~np.isnan(errors))]  # there is no error before some row is out of bag
    if len(errors) != n_trees or not ((known >= 0) & (known < np.inf)).all():
        raise ModelError(
            f"oob_errors must be numbers from 0, one for each of {n_trees} trees; only the first may be NaN"
        )
    estimator.oob_errors_ = errors.copy()
    for name, value in scores.items():
        setattr(estimator, f"{name}_", value)
    if "strength" in scores:
        estimator.error_bound_ = error_bound(scores["strength"], scores["correlation"])


def unpack_quantiles(estimator: Any, trees: list[Tree], columns: Columns) -> list[Tree]:
    """Return the trees with the rows of their leaves, if the file has them, and set targets and weights."""
    rows, targets, weights = (columns[name].copy() for name in QUANTILE_COLUMNS)
    if not len(rows) and not len(targets):
        return trees
    ends = np.cumsum([tree.n_node_samples[0] for tree in trees], dtype=np.int64)
    if len(rows) != ends[-1] or len(targets) != estimator.n_rows_:
        raise ModelError(
            f"rows and targets must be none, or {ends[-1]} and {estimator.n_rows_}; got {len(rows)} and {len(targets)}"
        )
    kept = []
    for tree, own in zip(trees, np.split(rows, ends[:-1]), strict=True):
        begins = np.zeros(tree.node_count, dtype=np.int32)
        _fill_begins(tree.feature, tree.child, tree.n_node_samples, begins)
        kept.append(replace(tree, begins=begins, rows=own))
    _check_kept(estimator, kept, targets, weights)
    estimator._targets, estimator._weights = targets, weights
    return kept


def _check_kept(estimator: Any, trees: list[Tree], targets: Floats, weights: Floats) -> None:
    """Raise ModelError unless trees kept exactly the rows that their seeds draw, so that every leaf has weight."""
    if not np.isfinite(targets).all() or not np.isfinite(weights).all() or (weights < 0).any():
        raise ModelError("targets must be finite, and weights finite and nonnegative")
    positive = np.arange(estimator.n_rows_) if estimator._positive is None else estimator._positive
    if not np.array_equal(np.flatnonzero(weights), positive):
        raise ModelError("weights must be above 0 for the rows that have weight, and for no others")
    for number, tree in enumerate(trees):
        with np.errstate(over="ignore"):
            own = estimator._tree_weights(number, None, weights)
            is_finite = np.isfinite(own.sum())
        if not is_finite or not np.array_equal(np.sort(tree.rows), np.flatnonzero(own)):
            raise ModelError(
                f"tree {number}: its leaves must hold the rows that its seed draws; did a warm start change weights?"
            )


@kernel
def _fill_begins(
    feature: Ints,
    child: Ints,
    n_node_samples: Ints,
    begins: Ints,
) -> None:
    """Fill in where the rows of nodes begin: first those of the left child, then those of the right."""
    for node in range(len(feature)):
        if feature[node] != LEAF:
            left = child[node]
            begins[left] = begins[node]
            begins[left + 1] = begins[node] + n_node_samples[left]
