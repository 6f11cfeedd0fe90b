"""Boosted files: the contents of a boosted ensemble's file besides its trees: loss, start values, scores.

`tree.store` writes and reads the trees; `base` calls these functions. The stored loss is the one that the trees were
grown with, whatever the parameter is now, because it gives raw values their meaning.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from depthforest.base import Column, ModelError, UsageError, shown
from depthforest.ensemble.boosting.losses.choice import Loss
from depthforest.ensemble.boosting.losses.custom import CustomLoss
from depthforest.ensemble.tree import LARGEST, TREE_COLUMNS, Columns, Layout, Tree

SCORES = ("train_score", "oob_improvement", "validation_score")

BOOST_COLUMNS = {
    "seeds": Column("int32", ("seeds",)),
    "start": Column("float64", ("starts",)),
    "train_score": Column("float64", ("trained",)),
    "oob_improvement": Column("float64", ("improved",)),
    "validation_score": Column("float64", ("validated",)),
}
"""Scores of all rounds tried: early stopping removes the last rounds, but not their scores."""

OF_BOOSTED = ("loss",)
"""Keys of the metadata `fitted`."""

BOOSTED_CLASSES = Layout(TREE_COLUMNS | BOOST_COLUMNS, OF_BOOSTED, has_classes=True)
BOOSTED_NUMBERS = Layout(TREE_COLUMNS | BOOST_COLUMNS, OF_BOOSTED)


def check_own_loss(estimator: Any) -> None:
    """Raise UsageError for an ensemble with a custom loss."""
    if isinstance(estimator._loss, CustomLoss):
        raise UsageError(
            f"an ensemble with a custom loss cannot be saved, got {estimator._loss.name}: files hold no code; use "
            "pickle, or a built-in loss"
        )


def pack_boosted(estimator: Any, columns: Columns) -> dict[str, Any]:
    """Add the columns of a boosted ensemble, and return its other fitted values."""
    start = np.empty(0) if estimator._has_base_margin else np.asarray(estimator.start_, dtype=np.float64)
    columns.update(seeds=estimator._seeds.astype(np.int32), start=start)
    columns.update({name: np.asarray(getattr(estimator, f"{name}_"), dtype=np.float64) for name in SCORES})
    # as when loading, so that every saved file can be loaded
    _check(len(estimator.trees_), _loss_named(estimator, estimator._loss.name), columns)
    return {"loss": estimator._loss.name}


def unpack_boosted(estimator: Any, trees: list[Tree], fitted: dict[str, Any], columns: Columns) -> None:
    """Set the fitted values of a boosted ensemble besides its trees: everything that a warm start needs."""
    loss = _loss_named(estimator, fitted["loss"])
    _check(len(trees), loss, columns)
    estimator._loss = loss
    estimator._kinds = estimator._kinds_by(loss)
    estimator._seeds = columns["seeds"].astype(np.int64)
    for name in ("start", *SCORES):
        setattr(estimator, f"{name}_", columns[name].copy())
    if not len(estimator.start_):
        estimator.start_, estimator._has_base_margin = np.zeros(loss.n_outputs), True


def _loss_named(estimator: Any, name: Any) -> Loss:
    if not isinstance(name, str):
        raise ModelError(f"loss must be a string, got {shown(name)}")
    loss: Loss = estimator._loss_by(name)
    if loss.name != name:
        raise ModelError(f"loss must be the one that {name!r} stands for, {loss.name!r}")
    return loss


def _check(n_trees: int, loss: Loss, columns: Columns) -> None:
    """Raise ModelError unless the columns match the trees and sums of raw values stay finite."""
    start, seeds, n_outputs = columns["start"], columns["seeds"], loss.n_outputs
    if len(start) not in (0, n_outputs) or not (np.abs(start) <= LARGEST).all():  # also true for NaN
        raise ModelError(
            f"start must be {n_outputs} numbers for loss {loss.name!r}, up to {LARGEST:g}, or none; got "
            f"{shown(start.tolist())}"
        )
    if n_trees % n_outputs:
        raise ModelError(f"loss {loss.name!r} has {n_outputs} trees in each round, got {n_trees} trees")
    n_rounds, n_tried = n_trees // n_outputs, len(columns["train_score"])
    if n_tried < n_rounds:
        raise ModelError(f"train_score must have a value for each of {n_rounds} rounds, got {n_tried}")
    # the first seed is that of the validation share
    if len(seeds) <= n_tried or (seeds < 0).any():
        raise ModelError(f"seeds must be whole numbers from 0, one and at least {n_tried} for rounds; got {len(seeds)}")
    for name in SCORES:
        scores = columns[name]
        # there may be no out-of-bag rows, and a warm start may add or remove validation rows
        is_good = np.isfinite(scores) if name == "train_score" else ~np.isinf(scores)
        if len(scores) > n_tried or not is_good.all():
            raise ModelError(f"{name} must be finite, one for each of {n_tried} rounds; got {shown(scores.tolist())}")
