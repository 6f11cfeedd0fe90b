"""Boosted planting: the trees of one boosting run, grown one after the other from new gradients and hessians.

A `BoostGrower` keeps what all trees need: the coded columns and the memory for histograms and nodes. Each grows one
tree at a time; the trees of several outputs are grown in parallel by as many growers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from depthforest.base import GOLDEN, Bools, Bytes, Floats, Ints, Longs, mix, run_parts
from depthforest.ensemble.boosting.gains import GRADIENT, HESSIAN, Penalties
from depthforest.ensemble.boosting.growing import grow_tree
from depthforest.ensemble.boosting.histograms import count_rows, offsets_of
from depthforest.ensemble.boosting.memory import SearchMemory, TreeSample
from depthforest.ensemble.boosting.nodes import (
    BEST_FIRST,
    DEEPEST_FIRST,
    FIRST_FIRST,
    IS_COUNTED,
    NODE_BEGIN,
    NODE_END,
    NODE_SLOT,
    NodeTables,
    TreePlan,
)
from depthforest.ensemble.boosting.sortedcolumns import sorted_rows
from depthforest.ensemble.growth import DIGIT, IS_CATEGORICAL, N_CODES, Binned, TreeTables
from depthforest.ensemble.tree import UNLIMITED, Tree

_POOL_BYTES = 2**26
"""Memory for histograms kept for subtraction; if there are more, children are counted from their rows. The number is
fixed, so that no result depends on threads or available memory."""

_SPREAD_CELLS = 150_000
"""Rows times columns of a node to be counted on several threads; below this, handing over costs more than it saves."""

_SPREAD_ROWS = 1024


@dataclass(frozen=True, eq=False)
class BoostGrowth:
    """How a boosting run grows its trees.

    Parameters
    ----------
    l2, l1, gamma : float
        L2 and L1 penalties of leaf weights, and the penalty of each split: see `gains`.
    min_weight, min_rows : float
        Least sum of hessians of a leaf, and least rows or their weight.
    max_step : float
        Limit of leaf weights.
    least_split : int
        Least rows of a node that is split.
    least_share, least_decrease : float
        Least sum of hessians of a leaf, as a share of the tree's; least gain of a split, as a share of the tree's.
    max_depth, max_leaves : int
    is_leaf_wise : bool
        Whether trees grow best first instead of level by level.
    is_shuffled : bool
        Whether ties between columns are broken at random instead of by order.
    n_columns, n_drawn : int
        Number of columns that a tree may use, and of those, number of columns considered in a node.
    groups : (n_groups, n_features) uint8
        Columns that may occur together on a path; no groups without constraints.
    directions : (n_features,) int32
        1 if a column may only raise the prediction, -1 if it may only lower it, else 0.
    """

    directions: Ints
    n_columns: int
    n_drawn: int
    l2: float = 0.0
    l1: float = 0.0
    gamma: float = 0.0
    min_weight: float = 0.0
    min_rows: float = 0.0
    max_step: float = np.inf
    least_split: int = 2
    least_share: float = 0.0
    least_decrease: float = 0.0
    max_depth: int = UNLIMITED
    max_leaves: int = UNLIMITED
    is_leaf_wise: bool = True
    is_shuffled: bool = False
    groups: Bytes = field(default_factory=lambda: np.zeros((0, 0), dtype=np.uint8))

    def penalties(self, hessian: float) -> Penalties:
        """Return what kernels need to evaluate the splits of a tree with this sum of hessians."""
        return Penalties(
            float(self.l2),
            float(self.l1),
            float(max(self.min_weight, self.least_share * hessian)),
            float(self.min_rows),
            float(self.max_step),
            bool(self.directions.any()) or self.max_step < np.inf,
        )


class BoostGrower:
    """Grows trees one after the other.

    Parameters
    ----------
    binned : Binned
    growth : BoostGrowth
    weights : (n_rows,) float64, optional
        Weights of rows, if they count for `min_rows`.
    """

    def __init__(self, binned: Binned, growth: BoostGrowth, weights: Floats | None = None) -> None:
        self.binned, self.growth = binned, growth
        self._weights = np.empty(0) if weights is None else weights
        n, n_columns = binned.n_rows, growth.n_columns
        self._is_exact = binned.codes.shape[0] == 0
        deepest = 2 ** min(growth.max_depth, 62)
        self.max_leaves = max(1, min(n, growth.max_leaves, deepest))
        is_limited = growth.max_leaves < min(n, deepest)
        self._order = (BEST_FIRST if growth.is_leaf_wise else FIRST_FIRST) if is_limited else DEEPEST_FIRST
        n_nodes = 2 * self.max_leaves - 1
        has_categories = bool(binned.columns[:, IS_CATEGORICAL].any())
        self._amounts = np.empty((n, 2))
        # enough for any columns that a tree may draw; with exact splits, for one categorical column
        sizes = np.sort(2 * (binned.columns[:, N_CODES] + 1))[::-1]
        n_numbers = 2 * DIGIT if self._is_exact else int(sizes[:n_columns].sum())
        n_slots = self._slot_count(n_numbers)
        self._memory = SearchMemory.of(n, n_columns, n_slots, n_numbers, is_exact=self._is_exact)
        self._nodes = NodeTables.of(n_nodes, n_slots, n_groups=len(growth.groups), has_categories=has_categories)
        # a value for each node, because removed leaves have had one
        self._tables = TreeTables.of(self.max_leaves, n_nodes, 0, has_categories=has_categories)
        self._varies = _varying(binned)
        self._penalties = growth.penalties(0.0)
        self._chosen: tuple[Ints, Longs] | None = None  # if all trees have the same

    def _slot_count(self, n_numbers: int) -> int:
        if self._is_exact:
            return 1
        # in depth-first order one node per level waits; otherwise every leaf does
        n_open = self.max_leaves if self._order != DEEPEST_FIRST else min(self.growth.max_depth, self.max_leaves)
        return int(max(2, min(n_open + 2, _POOL_BYTES // (8 * n_numbers))))

    def grow(
        self, gradient: Floats, hessian: Floats, *, rows: Ints | None = None, seed: int = 0, threads: int = 1
    ) -> Tree:
        """Grow a tree whose leaves hold the best weights; the tree keeps its rows.

        Parameters
        ----------
        gradient, hessian : (n_rows,) float64
            Of the loss, times the weights of rows; finite, with hessians above 0 for the rows used.
        rows : (n,) int32, ascending, optional
            Rows of the tree, at least one; default: all.
        seed : int
            Seed of the drawn columns.
        threads : int
            Threads within this tree; the result does not depend on them.
        """
        growth = self.growth
        total, penalties = 0.0, self._penalties
        if growth.least_share or growth.least_decrease:
            total = float((hessian if rows is None else hessian[rows]).sum())
            penalties = growth.penalties(total)
        plan, sample = self._plan_tree(gradient, hessian, rows, seed, threads, growth.least_decrease * total)
        key = np.uint64(mix(np.uint64((seed + 1) * int(GOLDEN) % 2**64)))
        is_new = True
        while True:
            node = grow_tree(
                is_new, key, float(growth.gamma), plan, penalties, self.binned, sample, self._memory, self._nodes,
                self._tables,
            )  # fmt: skip
            if node < 0:
                return Tree.of(self._tables, 0, sample.rows)
            self._count(node, sample, threads)
            is_new = False

    def _plan_tree(
        self, gradient: Floats, hessian: Floats, rows: Ints | None, seed: int, threads: int, gain: float
    ) -> tuple[TreePlan, TreeSample]:
        """Return how the tree is grown, and its data."""
        b, growth = self.binned, self.growth
        rows = np.arange(b.n_rows, dtype=np.int32) if rows is None else rows.copy()
        self._amounts[:, GRADIENT], self._amounts[:, HESSIAN] = gradient, hessian
        chosen, offsets = self._tree_columns(seed)
        orders = sorted_rows(b.wide, rows, chosen) if self._is_exact else np.empty((0, 0), dtype=np.int32)
        n_drawn = min(growth.n_drawn, len(chosen))
        spread_rows = max(_SPREAD_ROWS, _SPREAD_CELLS // len(chosen)) if threads > 1 else UNLIMITED
        plan = TreePlan(
            self._order, growth.max_depth, self.max_leaves, n_drawn, growth.is_shuffled, spread_rows, self._is_exact,
            growth.least_split, gain,
        )  # fmt: skip
        return plan, TreeSample(
            growth.directions, chosen, offsets, rows, self._amounts, self._weights, orders, growth.groups
        )

    def _tree_columns(self, seed: int) -> tuple[Ints, Longs]:
        """Return the columns that a tree may use, ascending, and the starts of their histograms.

        Constant columns are left out, if others remain.
        """
        n_features, n_columns = len(self.binned.columns), self.growth.n_columns
        if self._chosen is not None:
            return self._chosen
        is_drawn = np.ones(n_features, dtype=bool)
        if n_columns < n_features:
            is_drawn[np.random.default_rng(seed).permutation(n_features)[n_columns:]] = False
        is_useful = is_drawn & self._varies
        chosen = np.flatnonzero(is_useful if is_useful.any() else is_drawn).astype(np.int32)
        found = chosen, offsets_of(self.binned.columns, chosen)
        if n_columns == n_features:
            self._chosen = found
        return found

    def _count(self, node: int, sample: TreeSample, threads: int) -> None:
        """Count a large node on several threads, with some of the columns on each."""
        spot = self._nodes.spots[node]
        n_chosen = len(sample.chosen)
        edges = np.linspace(0, n_chosen, min(threads, n_chosen) + 1).astype(int)

        def count(part: int) -> None:
            count_rows(
                self.binned.by_row, sample.rows, sample.amounts, spot[NODE_BEGIN], spot[NODE_END], sample.chosen,
                sample.offsets, edges[part], edges[part + 1], self._memory.sums[spot[NODE_SLOT]],
            )  # fmt: skip

        run_parts(count, len(edges) - 1)
        self._nodes.state[IS_COUNTED] = 1


def _varying(binned: Binned) -> Bools:
    """Return a mask of the columns with two codes, or with one and missing values."""
    varies = binned.columns[:, N_CODES] > 1
    for column in np.flatnonzero(~varies):
        codes = binned.wide[column] if len(binned.wide) else binned.codes[column]
        varies[column] = bool((codes != codes[0]).any())
    return np.asarray(varies)
