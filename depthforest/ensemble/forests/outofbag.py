"""Out of bag: every row judged by the trees that have not seen it, which costs no data and flatters no forest.

Trees are asked in their order, so that the error after each of them is known too. Strength, correlation and the bound
are those of Breiman 2001; the permutation importance is that of the same paper, tree by tree on its own unseen rows.
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
    """What the trees say of rows that they have not seen.

    Attributes
    ----------
    means : (n_rows, n_outputs) float64
        Mean prediction of the trees that have not seen a row; NaN where all have.
    errors : (n_trees,) float64
        Error after each tree, over the rows that some tree has not seen: share of wrong classes, or mean squared error;
        with several targets the mean over them.
    """

    means: Floats
    errors: Floats


def ask(
    trees: Sequence[Tree], unseen: Unseen, table: Table, truth: npt.NDArray[Any], *, is_number: bool, threads: int
) -> OutOfBag:
    """Ask all trees for their unseen rows.

    Parameters
    ----------
    trees : sequence of Tree
    unseen : callable
        From the number of a tree to the rows that it has not seen.
    table : (n_rows, n_features) float32
    truth : (n_rows,) or (n_rows, n_targets), int or float
        Numbers of classes, or targets.
    is_number : bool
        Whether they are targets.
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
    """Return Breiman's strength s and mean correlation rho of a forest of classes, out of bag.

    The margin of a row is the share of votes for its class minus the largest share of another one; s is its mean. The
    raw margin of a tree is 1 where it votes for the row's class, -1 where it votes for that other one, else 0; rho is
    the variance of the margin over the squared mean deviation of the raw margins. (Of a raw margin with chances p1 and
    p2 of 1 and -1 the variance is p1 + p2 - (p1 - p2)^2.)
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
    rival[asked] = np.where(others.max(axis=1) < 0, -1, others.argmax(axis=1))  # where there is one class: none
    margins = right - np.maximum(others.max(axis=1), 0)
    deviations = []
    for rows, labels in own:
        if len(rows):
            p1, p2 = np.mean(labels == codes[rows]), np.mean(labels == rival[rows])
            deviations.append(np.sqrt(max(p1 + p2 - (p1 - p2) ** 2, 0.0)))
    spread = float(np.mean(deviations)) ** 2 if deviations else 0.0
    return float(margins.mean()), float(margins.var() / spread) if spread > 0 else float("nan")


def error_bound(strength: float, correlation: float) -> float:
    """Return Breiman's bound of the error, rho (1 - s^2) / s^2; infinite where the strength is not positive."""
    square = strength * strength  # a power would raise an error for what a file may hold
    return float("inf") if strength <= 0 or square == 0 else correlation * (1 - square) / square


def permutation_importance(
    trees: Sequence[Tree], unseen: Unseen, table: Table, truth: npt.NDArray[Any], *, seed: int, threads: int
) -> Bunch:
    """Return how much worse trees get on their unseen rows when a column is shuffled among these.

    The loss is the share of wrong classes, or the squared error. A column that a tree does not use costs it nothing,
    and takes no time.

    Returns
    -------
    Bunch
        `importances` (n_features, n_trees), `importances_mean` and `importances_std` (n_features,) over trees; of
        classes also `importances_by_class` (n_classes, n_features), the mean rise of the error among unseen rows of a
        class, over the trees that have such rows (NaN where none has).
    """
    n_features = table.shape[1]
    is_number = trees[0].n_shared == 0

    n_groups = 1 if is_number else trees[0].n_outputs

    def judge(t: int) -> tuple[Floats, Longs]:
        """Return how much the summed loss of the unseen rows of each class rises, and how many there are."""
        rows, walk = unseen(t), Walk.of([trees[t]])
        rises = np.zeros((n_groups, n_features))
        own, expected = table[rows][:], truth[rows]  # dense: a column is shuffled in it
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
    """Warn where every tree has seen some row."""
    if not is_known.all():
        warnings.warn(
            "Some inputs do not have OOB scores. This probably means too few trees were used to compute any reliable "
            "OOB estimates.",
            DepthForestWarning,
            stacklevel=4,
        )


def check_same_rows(n_rows: int, table: Table, truth: npt.NDArray[Any]) -> None:
    """Raise unless rows are those of the training table: only of these it is known which tree has seen them."""
    if len(table) != n_rows or truth.shape != (n_rows,):
        raise UsageError(
            f"out-of-bag figures need the {n_rows} training rows and their targets, in their order; got {len(table)} "
            f"rows and targets of shape {truth.shape}"
        )
