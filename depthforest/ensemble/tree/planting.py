"""Planting: grows a tree from rows, targets and weights, on one thread or several.

With several threads, the largest nodes are split one after the other, with their columns spread over the threads; the
subtrees below are then grown in parallel. `Tree.of` renumbers the nodes, so that the result is the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from depthforest.base import GOLDEN, Floats, Ints, gain_over_terms, information_table, map_in_order, mix
from depthforest.ensemble.growth import (
    CHILD,
    FEATURE,
    IS_CATEGORICAL,
    LEAF,
    MASK,
    N_MASKS,
    N_NODES,
    N_VALUES,
    NO_FEATURE,
    TARGET,
    WEIGHT,
    Binned,
    Limits,
    OpenNodes,
    Rules,
    Split,
    SplitMemory,
    TreeRows,
    TreeTables,
    child_key,
    divide,
    fill_values,
    find_split,
    grow_best,
    grow_deep,
    is_worth,
    may_split,
    weigh,
    write_node,
    write_split,
)
from depthforest.ensemble.tree.anyobjective import plant_general
from depthforest.ensemble.tree.plans import Growth
from depthforest.ensemble.tree.trees import Tree

_TOP_ROWS = 8192
"""Nodes with fewer rows are not worth spreading over threads."""

_SEGMENTS = 4
"""Subtrees per thread, so that a large one does not keep the others waiting."""


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
    channels : (n_rows,) or (n_rows, n_targets) int32
        Class code of every row, below `growth.n_channels`; 0 for regression.
    targets : (n_rows,) or (n_rows, n_targets) float64
        1 for classification, else the target.
    weights : (n_rows,) float64
        0 leaves a row out; finite, nonnegative, and not all 0.
    growth : Growth
    seed : int
    offset : float
        A value among the targets that is subtracted to evaluate splits, so that sums of squares do not cancel.
    threads : int
        Threads within this tree; the result does not depend on them.
    """
    key = np.uint64(mix(np.uint64((seed + 1) * int(GOLDEN) % 2**64)))
    if growth.is_general:
        return plant_general(binned, channels if growth.is_class else targets, weights, growth, key)
    rows = np.flatnonzero(weights).astype(np.int32)
    if growth.n_channels > 1:
        # sorted by channel, and every node keeps this order; 16-bit numbers sort fastest
        rows = rows[
            np.argsort(channels[rows].astype(np.int16 if growth.n_channels < 2**15 else np.int32), kind="stable")
        ]
    amounts = np.empty((len(rows), 2))
    amounts[:, TARGET], amounts[:, WEIGHT] = targets[rows] - offset, weights[rows]
    limits = Limits(
        growth.max_depth, growth.min_samples_split, float(growth.min_decrease), float(amounts[:, WEIGHT].sum())
    )
    rules = growth.rules(is_even=bool((amounts[:, WEIGHT] == 1.0).all()))
    planting = _Planting(binned, growth, rules, limits, TreeRows(rows, channels[rows], amounts), targets)
    if growth.max_leaves is not None:
        return planting.best_first(key)
    if threads > 1 and len(rows) >= 2 * _TOP_ROWS:
        return planting.spread(key, threads)
    return planting.tree(planting.subtree(0, len(rows), 0, key))


@dataclass(frozen=True, eq=False)
class _Planting:
    """The rows of a growing tree, and everything that its kernels share."""

    binned: Binned
    growth: Growth
    rules: Rules
    limits: Limits
    rows: TreeRows
    targets: Floats

    @property
    def _has_categories(self) -> bool:
        return bool(self.binned.columns[:, IS_CATEGORICAL].any())

    def _memory(self, n_rows: int) -> SplitMemory:
        return SplitMemory.of(n_rows, len(self.binned.columns), self.binned.n_codes, self.growth.n_channels)

    def _tables(self, n_leaves: int) -> TreeTables:
        return TreeTables.of(n_leaves, 0, self.growth.n_shared, has_categories=self._has_categories)

    def tree(self, tables: TreeTables) -> Tree:
        """Return the finished tree, with the predictions of its leaves."""
        (ids, channels, amounts), n_shared = self.rows, self.growth.n_shared
        values = np.empty((tables.used[N_VALUES] - n_shared, self.growth.n_channels))
        fill_values(self.rules, n_shared, ids, channels, amounts, self.targets, tables, values)
        return Tree.of(tables._replace(values=values), n_shared, ids if self.growth.keeps_rows else ids[:0])

    def subtree(self, begin: int, end: int, depth: int, key: np.uint64) -> TreeTables:
        """Grow the tree of the rows from `begin` to `end` on this thread."""
        tables, memory = self._tables(end - begin), self._memory(end - begin)
        grow_deep(
            information_table(), self.rules, self.limits, self.binned, self.rows, begin, end, depth, key, memory,
            *memory.ways(is_random=self.growth.is_random), tables,
        )  # fmt: skip
        return tables

    def best_first(self, key: np.uint64) -> Tree:
        """Grow a tree with a limited number of leaves."""
        n = len(self.rows.ids)
        n_leaves = min(n, self.growth.max_leaves or n)
        tables, memory = self._tables(n_leaves), self._memory(n)
        opened = OpenNodes.of(len(tables.node_ints), has_categories=self._has_categories)
        grow_best(
            information_table(), self.rules, self.limits, n_leaves, self.binned, self.rows, key, memory,
            *memory.ways(is_random=self.growth.is_random), opened, tables,
        )  # fmt: skip
        return self.tree(tables)

    # -- several threads -----------------------------------------------------------------------------------------------

    def spread(self, key: np.uint64, threads: int) -> Tree:
        """Grow a tree on several threads."""
        n = len(self.rows.ids)
        top = self._tables(_SEGMENTS * threads + 1)
        memories = [self._memory(n) for _ in range(threads)]
        segments = [(0, 0, n, 0, key)]  # node, begin, end, depth, key
        done: list[tuple[int, int, int, int, np.uint64]] = []
        while segments and len(segments) + len(done) < _SEGMENTS * threads:
            segments.sort(key=lambda segment: (segment[2] - segment[1], -segment[0]))
            node, begin, end, depth, own = segments.pop()
            split = self._split_top(begin, end, depth, own, memories) if end - begin >= _TOP_ROWS else None
            if split is None:
                done.append((node, begin, end, depth, own))
                continue
            middle = self._divide_top(split, node, begin, end, memories[0], top)
            left = int(top.node_ints[node, CHILD])
            segments.append((left, begin, middle, depth + 1, np.uint64(child_key(own, 0))))
            segments.append((left + 1, middle, end, depth + 1, np.uint64(child_key(own, 1))))
        segments = sorted(segments + done, key=lambda segment: segment[1] - segment[2])
        grown = map_in_order(lambda segment: self.subtree(*segment[1:]), segments, threads=threads)
        return self.tree(_joined(top, [s[0] for s in segments], list(grown), self.growth.n_shared))

    def _split_top(
        self, begin: int, end: int, depth: int, key: np.uint64, memories: list[SplitMemory]
    ) -> tuple[Split, SplitMemory, float, float] | None:
        """Find a node's best split, with its columns spread over the threads; None if it has none."""
        table, rules, rows = information_table(), self.rules, self.rows

        def search(part: int, n_parts: int) -> tuple[Split, SplitMemory, float, float] | None:
            memory = memories[part]
            weight, terms, impurity, is_pure = weigh(
                table, rules, rows.channels, rows.amounts, begin, end, memory.present, memory.ends, memory.sums
            )
            if not may_split(rules, self.limits, end - begin, depth, weight, is_pure):
                return None
            split = find_split(
                table, rules, self.binned, rows, begin, end, weight, terms, key, part, n_parts, memory,
                *memory.ways(is_random=self.growth.is_random),
            )  # fmt: skip
            if split.feature == NO_FEATURE or not is_worth(
                self.limits, gain_over_terms(table, rules.is_entropy, terms, weight, split.score)
            ):
                return None
            return split, memory, weight, impurity

        n = len(memories)
        found = [f for f in map_in_order(lambda part: search(part, n), range(n), threads=n) if f is not None]
        if not found:
            return search(0, 1)  # maybe none of the first columns varies
        return min(found, key=lambda f: (-f[0].score, f[0].rank))

    def _divide_top(
        self,
        found: tuple[Split, SplitMemory, float, float],
        node: int,
        begin: int,
        end: int,
        memory: SplitMemory,
        top: TreeTables,
    ) -> int:
        split, its, weight, impurity = found
        middle = int(divide(self.rules, self.binned, self.rows, begin, end, split, its.sides, memory))
        write_node(node, begin, end, impurity, weight, top.node_ints, top.node_floats)
        write_split(
            self.binned.columns, split, middle - begin > end - middle, node, its.sides, top.node_ints, top.node_floats,
            top.masks, top.used,
        )  # fmt: skip
        return middle


def _joined(top: TreeTables, roots: list[int], subtrees: list[TreeTables], n_shared: int) -> TreeTables:
    """Return one table with the top of a tree and the subtrees at some of its nodes."""
    node_ints = [top.node_ints[: top.used[N_NODES]].copy()]
    node_floats = [top.node_floats[: top.used[N_NODES]].copy()]
    masks = [top.masks[: top.used[N_MASKS]]]
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
        masks.append(subtree.masks[: subtree.used[N_MASKS]])
        n_nodes += len(ints) - 1
        n_values += int(subtree.used[N_VALUES]) - n_shared
        n_masks += int(subtree.used[N_MASKS])
    return TreeTables(
        np.concatenate(node_ints),
        np.concatenate(node_floats),
        top.values,
        np.concatenate(masks),
        np.array([n_nodes, n_values, n_masks]),
    )
