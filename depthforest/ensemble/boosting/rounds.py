"""Boosting rounds: raw values, their derivatives, a tree for each output, and the new raw values.

Gradient boosting fits trees to the gradient alone and then searches the value of each leaf; Newton boosting uses the
second-order expansion of the loss for both. The trees of a round are grown in parallel; if there is only one output,
its tree uses all threads.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, Ints, Longs, map_in_order
from depthforest.ensemble.boosting.leaves import add_grown, add_walked, leaf_steps
from depthforest.ensemble.boosting.losses.base import Loss
from depthforest.ensemble.boosting.planting import BoostGrower, BoostGrowth
from depthforest.ensemble.boosting.sampling import Sampling
from depthforest.ensemble.growth import Binned
from depthforest.ensemble.tree import Table, Tree, Walk

_BLOCK = 16_384
"""Rows whose derivatives are computed by one thread at a time."""


@dataclass(eq=False)
class Rows:
    """Rows with their targets, and their raw values after the trees so far.

    Attributes
    ----------
    table : (n, n_features) float32
    y : (n,) float64 or int32
        Targets, or class codes.
    weights : (n,) float64, above 0
    loss : Loss
        The loss that evaluates them.
    raw : (n,) or (n_outputs, n) float64
    base : (n, n_outputs) float64, optional
        Start of the raw values, if not the same for all rows.
    """

    table: Table
    y: npt.NDArray[Any]
    weights: Floats
    loss: Loss
    raw: Floats = field(default_factory=lambda: np.empty(0))
    base: Floats | None = None

    def output(self, k: int) -> Floats:
        """Return the raw values of an output, (n,): a view."""
        return self.raw if self.raw.ndim == 1 else self.raw[k]

    def losses(self, threads: int) -> Floats:
        """Return the loss of every row."""

        def value(part: slice) -> Floats:
            return self.loss.value(self.y[part], self.raw[..., part])

        blocks = self.blocks()
        if len(blocks) == 1:
            return value(blocks[0])
        return np.concatenate(list(map_in_order(value, blocks, threads=threads)))

    def blocks(self) -> list[slice]:
        """Return the rows in blocks; a single block if the loss is not a sum over rows."""
        size = _BLOCK if self.loss.is_by_row else len(self.y)
        return [slice(first, min(first + size, len(self.y))) for first in range(0, len(self.y), size)]


@dataclass(eq=False)
class Rounds:
    """A boosting run that makes the trees round by round.

    Parameters
    ----------
    rows : Rows
        The training rows.
    binned : Binned
        Columns of the training rows.
    growth : BoostGrowth
    learning_rate : float
        Factor of every tree.
    sampling : Sampling
        How rounds draw rows and drop trees.
    is_newton : bool
    threads : int
    trees : list of Tree
        Trees of all rounds so far; the caller adds those of each round. Dropped ones are replaced.
    """

    rows: Rows
    binned: Binned
    growth: BoostGrowth
    learning_rate: float
    sampling: Sampling
    is_newton: bool
    threads: int
    trees: list[Tree] = field(default_factory=list)
    train_score: float = field(default=np.nan, init=False)
    """Mean loss of the rows that the last round drew; of all rows with GOSS, or if the loss is not a sum over rows."""
    oob_improvement: float = field(default=np.nan, init=False)
    """Decrease of the mean loss by the last round on the rows that it did not draw."""
    oob_score: float = field(default=np.nan, init=False)
    """Mean loss after the last round on the rows that it did not draw."""

    changes: list[tuple[int, Tree]] = field(default_factory=list, init=False)
    """Changes of earlier trees in the last round, to be added to the raw values of an output."""

    def __post_init__(self) -> None:
        n_outputs = self.rows.loss.n_outputs
        self._in_bag: Ints | None = None
        self._factors = np.empty(0)
        self._out_of_bag: Ints | None = None
        self._within = 1 if n_outputs > 1 else self.threads
        self._growers: SimpleQueue[BoostGrower] = SimpleQueue()
        self._is_weighted = bool((self.rows.weights != 1.0).any())
        weights = self.rows.weights if self._is_weighted else None
        for _ in range(min(self.threads, n_outputs)):
            self._growers.put(BoostGrower(self.binned, self.growth, weights))
        self._gradient = np.empty(self.rows.raw.shape)
        # gradient boosting fits trees by least squares, with the weights of rows
        self._hessian = np.empty(self.rows.raw.shape) if self.is_newton else self.rows.weights

    def round(self, seed: int) -> list[Tree]:
        """Grow the trees of a round, one for each output, and add them to the raw values of all rows."""
        rows, n_outputs = self.rows, self.rows.loss.n_outputs
        n_round = len(self.trees) // n_outputs
        self._in_bag, self._factors = self.sampling.bag(len(rows.y), seed), np.empty(0)
        dropped = self.sampling.dropped(n_round, seed)
        self._add_dropped(dropped, -1.0)
        rows.loss.prepare(rows.y, rows.raw, rows.weights)
        # if the loss is not a sum over rows, drawn and other rows cannot be separated
        is_by_row = rows.loss.is_by_row
        before = None if self._in_bag is None or not is_by_row else rows.losses(self.threads)
        self._fill_derivatives()
        if self.sampling.other:
            self._leave_out(n_round, seed)
        self._out_of_bag = _others(len(rows.y), self._in_bag)
        # DART: the new tree and the dropped ones overshoot alike, and are scaled down together
        n_dropped = len(dropped)
        scale = 1.0 / (n_dropped + self.learning_rate) if n_dropped else 1.0

        def grow(k: int) -> Tree:
            grower = self._growers.get()
            try:
                tree = self._grow(grower, k, seed * n_outputs + k, self.learning_rate * scale)
            finally:
                self._growers.put(grower)
            add_grown(tree, rows.output(k))
            if self._out_of_bag is not None:
                add_walked(Walk.of([tree]), rows.table, self._out_of_bag, rows.output(k), threads=self._within)
            return tree.without_rows()

        trees = list(map_in_order(grow, range(n_outputs), threads=min(self.threads, n_outputs)))
        self._add_dropped(dropped, n_dropped * scale)
        after = rows.losses(self.threads)
        self.train_score = weighed_mean(
            after, rows.weights, self._in_bag if is_by_row and not self.sampling.other else None
        )
        if before is not None:
            self.oob_improvement = weighed_mean(before - after, rows.weights, self._out_of_bag)
            self.oob_score = weighed_mean(after, rows.weights, self._out_of_bag)
        return trees

    def _leave_out(self, n_round: int, seed: int) -> None:
        """Keep the rows with large gradients and a sample of the rest, which represents all of it."""
        sizes = np.abs(self._gradient * self._hessian) if self.is_newton else np.abs(self._gradient)
        self._in_bag, self._factors = self.sampling.steep(sizes.reshape(-1, sizes.shape[-1]).sum(axis=0), n_round, seed)
        if self._in_bag is not None:
            self._gradient *= self._factors
            self._hessian *= self._factors

    def _add_dropped(self, dropped: Longs, factor: float) -> None:
        """Subtract the trees of earlier rounds from the raw values, or add them scaled, and store them so."""
        rows, n_outputs = self.rows, self.rows.loss.n_outputs
        self.changes = []
        for at in (n_outputs * dropped[:, None] + np.arange(n_outputs)).ravel() if len(dropped) else ():
            tree, k = self.trees[at], int(at) % n_outputs
            scaled = replace(tree, own_values=tree.own_values * factor)
            add_tree(scaled, rows, k, self.threads)
            if factor >= 0:
                self.trees[at] = scaled
                self.changes.append((k, replace(tree, own_values=tree.own_values * (factor - 1.0))))

    def _fill_derivatives(self) -> None:
        rows = self.rows

        def fill(part: slice) -> None:
            gradient = self._gradient[..., part]
            hessian = self._hessian[..., part] if self.is_newton else None
            self.rows.loss.derivatives(rows.y[part], rows.raw[..., part], gradient, hessian)
            if self._is_weighted:
                gradient *= rows.weights[part]
                if hessian is not None:
                    hessian *= rows.weights[part]

        for _ in map_in_order(fill, rows.blocks(), threads=self.threads):
            pass

    def _grow(self, grower: BoostGrower, k: int, seed: int, rate: float) -> Tree:
        """Return the tree of an output, with leaf values multiplied by the learning rate."""
        rows = self.rows
        many = rows.raw.ndim > 1
        gradient = self._gradient[k] if many else self._gradient
        hessian = self._hessian[k] if many and self.is_newton else self._hessian
        tree = grower.grow(gradient, hessian, rows=self._in_bag, seed=seed, threads=self._within)
        # for the squared error, leaves already have their means
        if rows.loss.is_searched or (not self.is_newton and rows.loss.name != "squared_error"):
            plain = gradient / rows.weights if self._is_weighted else gradient
            weights = rows.weights * self._factors if len(self._factors) else rows.weights
            steps = leaf_steps(tree, rows.loss, rows.y, rows.raw, weights, k, plain, self.growth.directions)
            tree.own_values[:, 0] = np.clip(steps, -self.growth.max_step, self.growth.max_step)
        tree.own_values[:] *= rate
        return tree


def _others(n: int, rows: Ints | None) -> Ints | None:
    """Return the rows that are not among `rows`, ascending."""
    if rows is None:
        return None
    is_other = np.ones(n, dtype=bool)
    is_other[rows] = False
    return np.flatnonzero(is_other).astype(np.int32)


def add_round(trees: list[Tree], rows: Rows, threads: int) -> None:
    """Add the trees of a round to the raw values of rows that they were not grown from."""
    for k, tree in enumerate(trees):
        add_tree(tree, rows, k, threads)


def add_tree(tree: Tree, rows: Rows, output: int, threads: int) -> None:
    """Add a tree to the raw values of an output, of rows that it was not grown from."""
    every = np.arange(len(rows.y), dtype=np.int32)
    add_walked(Walk.of([tree]), rows.table, every, rows.output(output), threads=threads)


def weighed_mean(losses: Floats, weights: Floats, which: Ints | None = None) -> float:
    """Return the weighted mean of the losses of some rows, or all."""
    if which is not None:
        losses, weights = losses[which], weights[which]
    return float((losses * weights).sum() / weights.sum()) if len(losses) else float("nan")
