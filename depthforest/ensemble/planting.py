"""Planting: a tree grown from rows, targets and weights, on one thread or several.

With several, the largest nodes are split one after the other, their columns spread over the threads; the subtrees below
are then grown side by side. `Tree.of` numbers the nodes afterwards, so that no trace of it stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from depthforest.ensemble.bestfirst import grow_best
from depthforest.ensemble.binning import Binned
from depthforest.ensemble.columns import ABSENT, DIGIT
from depthforest.ensemble.finding import find_split
from depthforest.ensemble.growing import (
    CHILD,
    FEATURE,
    LEAF,
    MASK,
    MASK_WORDS,
    N_MASKS,
    N_NODES,
    N_VALUES,
    Limits,
    Masks,
    Used,
    child_key,
    divide,
    grow_deep,
    is_worth,
    may_split,
    weigh,
    write_node,
    write_split,
)
from depthforest.ensemble.lanes import BATCH, N_LANE_ROWS, Lanes
from depthforest.ensemble.splits import NO_FEATURE, Split
from depthforest.ensemble.sweeps import TARGET, WEIGHT, Floats, Ints, Rules
from depthforest.ensemble.trees import Tree
from depthforest.mixing import GOLDEN, mix
from depthforest.splitting import gain_over_terms, information_table
from depthforest.threads import map_in_order

UNLIMITED = 2**31 - 1
"""A depth that no tree reaches."""

_TOP_ROWS = 8192
"""Nodes of fewer rows are not worth spreading over threads."""

_SEGMENTS = 4
"""Subtrees for each thread, so that a large one does not leave the others waiting."""


@dataclass(frozen=True)
class Growth:
    """How a tree is grown: scikit-learn's parameters, worked out for the data.

    Parameters
    ----------
    criterion : "gini", "entropy" or "squared_error"
    is_random : bool
        Random thresholds in place of the best.
    n_channels : int
        Classes; 1 for numbers.
    max_features : int
        Columns looked at in a node.
    min_rows, min_weight : int, float
        Of a leaf.
    max_depth, min_samples_split, min_decrease
        When a node stays a leaf.
    max_leaves : int or None
        With it the tree is grown where it gains most.
    keeps_rows : bool
        Whether the tree remembers which rows its leaves hold.
    """

    criterion: str
    is_random: bool
    n_channels: int
    max_features: int
    min_rows: int = 1
    min_weight: float = 0.0
    max_depth: int = UNLIMITED
    min_samples_split: int = 2
    min_decrease: float = 0.0
    max_leaves: int | None = None
    keeps_rows: bool = False

    def rules(self, *, is_even: bool) -> Rules:
        """Return what kernels need to judge splits of rows that all weigh 1, or not."""
        return Rules(
            self.criterion == "entropy",
            self.criterion == "squared_error",
            self.is_random,
            is_even,
            self.n_channels,
            self.max_features,
            self.min_rows,
            float(self.min_weight),
        )

    @property
    def n_shared(self) -> int:
        """Rows of values that pure leaves share."""
        return 0 if self.criterion == "squared_error" else self.n_channels


class Scratch(NamedTuple):
    """Memory that finding a split needs, of one thread; the kernels' modules say what each is."""

    present: Ints
    ends: Ints
    ints: Ints
    sums: Floats
    bins: Floats
    cuts: Floats
    places: Ints
    keys: npt.NDArray[np.uint8]
    lanes: Lanes
    at: Floats
    sides: npt.NDArray[np.uint8]
    drawn: Ints

    @classmethod
    def of(cls, n_rows: int, n_features: int, n_codes: int, n_channels: int) -> Scratch:
        """Return memory for nodes of up to so many rows."""
        return cls(
            present=np.zeros(n_channels + 1, dtype=np.int32),
            ends=np.zeros(n_channels + 1, dtype=np.int32),
            ints=np.empty((5, n_rows), dtype=np.int32),
            sums=np.zeros((5, n_channels)),
            bins=np.empty((min(n_codes, DIGIT) + 1, n_channels + 2)),
            cuts=np.empty((3, n_rows)),
            places=np.empty(DIGIT, dtype=np.int32),
            keys=np.empty((BATCH, n_rows), dtype=np.uint8),
            lanes=np.empty((N_LANE_ROWS, BATCH), dtype=np.int64),
            at=np.empty(BATCH),
            sides=np.full((2, DIGIT), ABSENT, dtype=np.uint8),
            drawn=np.stack([np.arange(n_features, dtype=np.int32)] * 2),
        )


class _Tables(NamedTuple):
    """Memory of a growing tree. What is not written costs nothing."""

    node_ints: Ints
    node_floats: Floats
    values: Floats
    masks: Masks
    used: Used

    @classmethod
    def of(cls, n_leaves: int, growth: Growth, *, has_categories: bool) -> _Tables:
        n_nodes, n_shared, n_channels = 2 * n_leaves - 1, growth.n_shared, growth.n_channels
        values = np.empty((n_leaves + n_shared, n_channels))
        values[:n_shared] = np.eye(n_shared, n_channels)
        masks = np.empty((n_leaves if has_categories else 0, MASK_WORDS), dtype=np.uint32)
        return cls(np.empty((n_nodes, 6), np.int32), np.empty((n_nodes, 3)), values, masks, np.array([1, n_shared, 0]))

    def tree(self, growth: Growth, rows: Ints) -> Tree:
        """Return what was grown."""
        n_nodes, n_values, n_masks = self.used
        kept = rows if growth.keeps_rows else rows[:0]
        return Tree.of(
            self.node_ints[:n_nodes],
            self.node_floats[:n_nodes],
            self.values[:n_values],
            self.masks[:n_masks],
            growth.n_shared,
            kept,
        )


def plant(
    binned: Binned,
    channels: Ints,
    targets: Floats,
    weights: Floats,
    growth: Growth,
    *,
    seed: int,
    offset: float = 0.0,
    threads: int = 1,
) -> Tree:
    """Grow a tree.

    Parameters
    ----------
    binned : Binned
        The columns.
    channels : (n_rows,) int32
        Class of every row, below `growth.n_channels`; 0 for numbers.
    targets : (n_rows,) float64
        1 for classes, the number otherwise.
    weights : (n_rows,) float64
        0 leaves a row out; finite, none negative, and not all 0.
    growth : Growth
    seed : int
    offset : float
        Added to what leaves predict: the mean that was taken off the targets.
    threads : int
        Within this tree; the result does not depend on it.
    """
    rows = np.flatnonzero(weights).astype(np.int32)
    if growth.n_channels > 1:
        # in the order of their channels, and every node keeps it; numbers of 16 bits are sorted fastest
        rows = rows[
            np.argsort(channels[rows].astype(np.int16 if growth.n_channels < 2**15 else np.int32), kind="stable")
        ]
    amounts = np.empty((len(rows), 2))
    amounts[:, TARGET], amounts[:, WEIGHT] = targets[rows], weights[rows]
    limits = Limits(
        growth.max_depth, growth.min_samples_split, float(growth.min_decrease), float(amounts[:, WEIGHT].sum())
    )
    rules = growth.rules(is_even=bool((amounts[:, WEIGHT] == 1.0).all()))
    planting = _Planting(binned, growth, rules, limits, rows, channels[rows], amounts)
    key = np.uint64(mix(np.uint64((seed + 1) * int(GOLDEN) % 2**64)))
    if growth.max_leaves is not None:
        tree = planting.best_first(key)
    elif threads > 1 and len(rows) >= 2 * _TOP_ROWS:
        tree = planting.spread(key, threads)
    else:
        tree = planting.subtree(0, len(rows), 0, key).tree(growth, rows)
    if offset:
        tree.values[:] += offset
    return tree


@dataclass(frozen=True, eq=False)
class _Planting:
    """The rows of a tree that is being grown, and everything that its kernels share."""

    binned: Binned
    growth: Growth
    rules: Rules
    limits: Limits
    rows: Ints
    channels: Ints
    amounts: Floats

    @property
    def _has_categories(self) -> bool:
        return bool(self.binned.columns[:, 2].any())

    def _scratch(self, n_rows: int) -> Scratch:
        return Scratch.of(n_rows, len(self.binned.columns), self.binned.n_codes, self.growth.n_channels)

    def subtree(self, begin: int, end: int, depth: int, key: np.uint64) -> _Tables:
        """Grow the tree of the rows from `begin` to `end` on this thread."""
        n, b = end - begin, self.binned
        tables = _Tables.of(n, self.growth, has_categories=self._has_categories)
        grow_deep(
            information_table(), self.rules, self.limits, b.codes, b.by_row, b.wide, b.columns, b.ranges,
            self.rows, self.channels, self.amounts, begin, end, depth, key, *self._scratch(n), np.empty((n, 2)),
            *tables,
        )  # fmt: skip
        return tables

    def best_first(self, key: np.uint64) -> Tree:
        """Grow a tree of a limited number of leaves."""
        n, b = len(self.rows), self.binned
        n_leaves = min(n, self.growth.max_leaves or n)
        tables = _Tables.of(n_leaves, self.growth, has_categories=self._has_categories)
        grow_best(
            information_table(), self.rules, self.limits, n_leaves, b.codes, b.by_row, b.wide, b.columns, b.ranges,
            self.rows, self.channels, self.amounts, key, *self._scratch(n), np.empty((n, 2)), *tables,
        )  # fmt: skip
        return tables.tree(self.growth, self.rows)

    # -- several threads -----------------------------------------------------------------------------------------------

    def spread(self, key: np.uint64, threads: int) -> Tree:
        """Grow a tree on several threads."""
        top = _Tables.of(_SEGMENTS * threads + 1, self.growth, has_categories=self._has_categories)
        scratches = [self._scratch(len(self.rows)) for _ in range(threads)]
        spare = np.empty((len(self.rows), 2))
        segments = [(0, 0, len(self.rows), 0, key)]  # node, begin, end, depth, key
        done: list[tuple[int, int, int, int, np.uint64]] = []
        while segments and len(segments) + len(done) < _SEGMENTS * threads:
            segments.sort(key=lambda segment: (segment[2] - segment[1], -segment[0]))
            node, begin, end, depth, own = segments.pop()
            split = self._split_top(begin, end, depth, own, scratches) if end - begin >= _TOP_ROWS else None
            if split is None:
                done.append((node, begin, end, depth, own))
                continue
            middle = self._divide_top(split, node, begin, end, scratches[0], spare, top)
            left = int(top.node_ints[node, CHILD])
            segments.append((left, begin, middle, depth + 1, np.uint64(child_key(own, 0))))
            segments.append((left + 1, middle, end, depth + 1, np.uint64(child_key(own, 1))))
        segments = sorted(segments + done, key=lambda segment: segment[1] - segment[2])
        grown = map_in_order(lambda segment: self.subtree(*segment[1:]), segments, threads=threads)
        return _joined(top, [s[0] for s in segments], list(grown), self.growth).tree(self.growth, self.rows)

    def _split_top(
        self, begin: int, end: int, depth: int, key: np.uint64, scratches: list[Scratch]
    ) -> tuple[Split, Scratch, float, float] | None:
        """Find a node's best split, its columns spread over the threads; None where it has none."""
        b, table, rules = self.binned, information_table(), self.rules

        def search(part: int, n_parts: int) -> tuple[Split, Scratch, float, float] | None:
            scratch = scratches[part]
            weight, terms, impurity, is_pure = weigh(
                table, rules, self.channels, self.amounts, begin, end, scratch.present, scratch.ends, scratch.sums
            )
            if not may_split(rules, self.limits, end - begin, depth, weight, is_pure):
                return None
            split = find_split(
                table, rules, b.codes, b.by_row, b.wide, b.columns, b.ranges, self.rows, self.channels, self.amounts,
                begin, end, weight, terms, key, part, n_parts, *scratch,
            )  # fmt: skip
            if split.feature == NO_FEATURE or not is_worth(
                self.limits, gain_over_terms(table, rules.is_entropy, terms, weight, split.score)
            ):
                return None
            return split, scratch, weight, impurity

        n = len(scratches)
        found = [f for f in map_in_order(lambda part: search(part, n), range(n), threads=n) if f is not None]
        if not found:
            return search(0, 1)  # perhaps none of the first columns varies
        return min(found, key=lambda f: (-f[0].score, f[0].rank))

    def _divide_top(
        self,
        found: tuple[Split, Scratch, float, float],
        node: int,
        begin: int,
        end: int,
        scratch: Scratch,
        spare: Floats,
        top: _Tables,
    ) -> int:
        split, its, weight, impurity = found
        b = self.binned
        middle = int(divide(
            self.rules, b.codes, b.by_row, b.wide, b.columns, self.rows, self.channels, self.amounts, begin, end, split,
            its.sides, scratch.ints, spare,
        ))  # fmt: skip
        write_node(node, begin, end, impurity, weight, top.node_ints, top.node_floats)
        write_split(
            b.columns, split, middle - begin > end - middle, node, its.sides, top.node_ints, top.node_floats,
            top.masks, top.used,
        )  # fmt: skip
        return middle


def _joined(top: _Tables, roots: list[int], subtrees: list[_Tables], growth: Growth) -> _Tables:
    """Return one table of the top of a tree and the subtrees that hang at some of its nodes."""
    n_shared = growth.n_shared
    node_ints = [top.node_ints[: top.used[N_NODES]].copy()]
    node_floats = [top.node_floats[: top.used[N_NODES]].copy()]
    values, masks = [top.values[:n_shared]], [top.masks[: top.used[N_MASKS]]]
    n_nodes, n_values, n_masks = int(top.used[N_NODES]), n_shared, int(top.used[N_MASKS])
    for root, subtree in zip(roots, subtrees, strict=True):
        ints = subtree.node_ints[: subtree.used[N_NODES]].copy()
        is_leaf = ints[:, FEATURE] == LEAF
        ints[:, CHILD] += np.where(is_leaf, np.where(ints[:, CHILD] < n_shared, 0, n_values - n_shared), n_nodes - 1)
        ints[:, MASK] += np.where(ints[:, MASK] >= 0, n_masks, 0)
        floats = subtree.node_floats[: subtree.used[N_NODES]]
        node_ints[0][root], node_floats[0][root] = ints[0], floats[0]
        node_ints.append(ints[1:])
        node_floats.append(floats[1:])
        values.append(subtree.values[n_shared : subtree.used[N_VALUES]])
        masks.append(subtree.masks[: subtree.used[N_MASKS]])
        n_nodes += len(ints) - 1
        n_values += int(subtree.used[N_VALUES]) - n_shared
        n_masks += int(subtree.used[N_MASKS])
    return _Tables(
        np.concatenate(node_ints),
        np.concatenate(node_floats),
        np.concatenate(values),
        np.concatenate(masks),
        np.array([n_nodes, n_values, n_masks]),
    )
