"""Out of bag: every row is evaluated by the trees that have not seen it, so the result is not optimistic.

Trees are evaluated in order, which also gives the error after each of them. Strength, correlation and bound follow
Breiman 2001, as does the permutation importance, tree by tree on its own unseen rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch

from depthforest.base import Bools, DepthForestWarning, Floats, Ints, Longs, UsageError, map_in_order
from depthforest.ensemble.fitting import best_codes
from depthforest.ensemble.tree import Table, Tree, Walk

Unseen = Callable[[int], Longs]


@dataclass(frozen=True, eq=False)
class OutOfBag:
    """The trees' predictions for rows that they have not seen.

    Attributes
    ----------
    means : (n_rows, n_outputs) float64
        Mean prediction of the trees that have not seen a row; NaN if all have.
    errors : (n_trees,) float64
        Error after each tree, over the rows that some tree has not seen: share of wrong classes, or mean squared error;
        with several targets, the mean over them.
    """

    means: Floats
    errors: Floats


def ask(
    trees: Sequence[Tree], unseen: Unseen, table: Table, truth: npt.NDArray[Any], *, is_number: bool, threads: int
) -> OutOfBag:
    """Predict the unseen rows of all trees.

    Parameters
    ----------
    trees : sequence of Tree
    unseen : callable
        Maps the index of a tree to the rows that it has not seen.
    table : (n_rows, n_features) float32
    truth : (n_rows,) or (n_rows, n_targets), int or float
        Class codes, or targets.
    is_number : bool
        Whether `truth` are regression targets.
    threads : int
    """
    starts = trees[0].starts
    sums = np.zeros((len(table), trees[0].n_outputs))
    counts = np.zeros(len(table), dtype=np.int64)
    losses = np.zeros(len(table))
    errors = np.full(len(trees), np.nan)

    def answer(t: int) -> tuple[Longs, Floats]:
        rows = unseen(t)
        return rows, Walk.of([trees[t]]).mean(table[rows])

    for t, (rows, answers) in enumerate(map_in_order(answer, range(len(trees)), threads=threads)):
        sums[rows] += answers
        counts[rows] += 1
        means = sums[rows] / counts[rows, None]
        wrong = (
            (means - truth[rows].reshape(means.shape)) ** 2 if is_number else best_codes(means, starts) != truth[rows]
        )
        losses[rows] = wrong if wrong.ndim == 1 else wrong.mean(axis=1)
        if counts.any():
            errors[t] = losses.sum() / np.count_nonzero(counts)
    with np.errstate(invalid="ignore"):
        return OutOfBag(sums / np.where(counts > 0, counts, np.nan)[:, None], errors)


def strength_and_correlation(
    trees: Sequence[Tree], unseen: Unseen, table: Table, codes: Ints, *, threads: int
) -> tuple[float, float]:
    """Return Breiman's strength s and mean correlation rho of a classification forest, out of bag.

    The margin of a row is the share of votes for its class minus the largest share of another class; s is its mean. The
    raw margin of a tree is 1 if it votes for the row's class, -1 if it votes for that other class, else 0; rho is the
    variance of the margin divided by the squared mean standard deviation of the raw margins. (With probabilities p1 and
    p2 of 1 and -1, the variance of a raw margin is p1 + p2 - (p1 - p2)^2.)
    """
    n_classes = trees[0].n_outputs
    votes = np.zeros((len(table), n_classes))
    own: list[tuple[Longs, Longs]] = []

    def answer(t: int) -> tuple[Longs, Longs]:
        rows = unseen(t)
        return rows, Walk.of([trees[t]]).mean(table[rows]).argmax(axis=1)

    for rows, labels in map_in_order(answer, range(len(trees)), threads=threads):
        votes[rows, labels] += 1
        own.append((rows, labels))
    counts = votes.sum(axis=1)
    asked = np.flatnonzero(counts)
    if not len(asked):
        return float("nan"), float("nan")
    shares = votes[asked] / counts[asked, None]
    right = shares[np.arange(len(asked)), codes[asked]]
    others = shares.copy()
    others[np.arange(len(asked)), codes[asked]] = -1
    rival = np.full(len(table), -1)
    rival[asked] = np.where(others.max(axis=1) < 0, -1, others.argmax(axis=1))  # none if there is only one class
    margins = right - np.maximum(others.max(axis=1), 0)
    deviations = []
    for rows, labels in own:
        if len(rows):
            p1, p2 = np.mean(labels == codes[rows]), np.mean(labels == rival[rows])
            deviations.append(np.sqrt(max(p1 + p2 - (p1 - p2) ** 2, 0.0)))
    spread = float(np.mean(deviations)) ** 2 if deviations else 0.0
    return float(margins.mean()), float(margins.var() / spread) if spread > 0 else float("nan")


def error_bound(strength: float, correlation: float) -> float:
    """Return Breiman's bound on the error, rho (1 - s^2) / s^2; infinite unless the strength is positive."""
    square = strength * strength  # `**` would raise an error for some values that a file may hold
    return float("inf") if strength <= 0 or square == 0 else correlation * (1 - square) / square


def permutation_importance(
    trees: Sequence[Tree], unseen: Unseen, table: Table, truth: npt.NDArray[Any], *, seed: int, threads: int
) -> Bunch:
    """Return the increase of each tree's loss on its unseen rows when a column is shuffled among them.

    The loss is the share of wrong classes, or the squared error. Columns that a tree does not use have no effect and
    take no time.

    Returns
    -------
    Bunch
        `importances` (n_features, n_trees), `importances_mean` and `importances_std` (n_features,) over trees; for
        classification also `importances_by_class` (n_classes, n_features), the mean increase of the error among the
        unseen rows of a class, over the trees that have such rows (NaN if none has).
    """
    n_features = table.shape[1]
    is_number = trees[0].n_shared == 0

    n_groups = 1 if is_number else trees[0].n_outputs

    def judge(t: int) -> tuple[Floats, Longs]:
        """Return the increase of the summed loss of the unseen rows of each class, and the number of these rows."""
        rows, walk = unseen(t), Walk.of([trees[t]])
        rises = np.zeros((n_groups, n_features))
        own, expected = table[rows][:], truth[rows]  # dense, because a column is shuffled in place
        groups = np.zeros(len(rows), dtype=np.int64) if is_number else expected

        def losses() -> Floats:
            answers = walk.mean(own)
            each = (answers[:, 0] - expected) ** 2 if is_number else answers.argmax(axis=1) != expected
            return np.bincount(groups, weights=each, minlength=n_groups).astype(np.float64)

        if len(rows):
            base = losses()
            rng = np.random.default_rng([seed, t])
            for f in np.unique(trees[t].feature[~trees[t].is_leaf]):
                kept = own[:, f].copy()
                own[:, f] = rng.permutation(kept)
                rises[:, f] = losses() - base
                own[:, f] = kept
        return rises, np.bincount(groups, minlength=n_groups)

    judged = list(map_in_order(judge, range(len(trees)), threads=threads))
    rises, counts = np.stack([its for its, _ in judged]), np.stack([n for _, n in judged])
    importances = rises.sum(axis=1).T / np.maximum(counts.sum(axis=1), 1)
    found = Bunch(
        importances=importances, importances_mean=importances.mean(axis=1), importances_std=importances.std(axis=1)
    )
    if not is_number:
        with np.errstate(invalid="ignore"):
            shares = rises / np.maximum(counts, 1)[:, :, None]
            found.importances_by_class = shares.sum(axis=0) / np.count_nonzero(counts, axis=0)[:, None]
    return found


def warn_of_seen_rows(is_known: Bools) -> None:
    """Warn if some rows have been seen by every tree."""
    if not is_known.all():
        warnings.warn(
            "Some inputs do not have OOB scores. This probably means too few trees were used to compute any reliable "
            "OOB estimates.",
            DepthForestWarning,
            stacklevel=4,
        )


def check_same_rows(n_rows: int, table: Table, truth: npt.NDArray[Any]) -> None:
    """Raise unless rows are those of the training table: only for these it is known which trees have seen them."""
    if len(table) != n_rows or truth.shape != (n_rows,):
        raise UsageError(
            f"out-of-bag figures need the {n_rows} training rows and their targets, in their order; got {len(table)} "
            f"rows and targets of shape {truth.shape}"
        )
