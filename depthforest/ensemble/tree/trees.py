"""Trees: the flat columns of a grown tree, and properties that need no data.

The children of a node are adjacent and follow their parent; nodes are numbered depth first, whatever the order of
growing. Growing writes other, wider tables (`growth.tables`), which `Tree.of` turns into columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Bools, Bytes, Floats, Ints, Longs, Singles, UsageError, Words, kernel
from depthforest.ensemble.growth import (
    BEGIN,
    CHILD,
    FEATURE,
    IMPURITY,
    LEAF,
    MASK,
    MISSING_LEFT,
    N_MASKS,
    N_NODES,
    N_ROWS,
    N_VALUES,
    NODE_WEIGHT,
    THRESHOLD,
    TreeTables,
)
from depthforest.ensemble.tree.inputs import category_codes

UNDEFINED = -2.0
"""Threshold of leaves."""


@dataclass(frozen=True, eq=False)
class Tree:
    """A grown tree.

    Attributes
    ----------
    feature : (n_nodes,) int32
        Column of the split; -1 at leaves.
    threshold : (n_nodes,) float32
        Values up to it go left; UNDEFINED at leaves, as in scikit-learn. Files have infinity there.
    child : (n_nodes,) int32
        The left child; the right one follows it. At leaves, the row of `values`.
    missing_go_to_left : (n_nodes,) uint8
    mask : (n_nodes,) int32
        For a categorical split, the row of `masks`; else -1.
    impurity, weighted_n_node_samples : (n_nodes,) float64
    n_node_samples : (n_nodes,) int32
    own_values : (n_values - n_shared, n_outputs) float64
        Predictions of leaves that share no row of `values`: shares of the classes, or a number.
    masks : (n_masks, 8) uint32
        The bit of a category is set if it goes left.
    begins : (n_nodes,) int32
        Where a node's rows begin in `rows`; empty if rows were not kept.
    rows : (n,) int32
        Training rows in the order of the leaves; empty if rows were not kept.
    n_shared : int
        Number of first rows of `values` that leaves may share: one for each class, 0 for regression.
    node_values : (n_nodes, n_outputs) float64
        Prediction of every node, if it is not the mean of its leaves; else empty.
    starts : tuple of int
        For several targets: where the values of each begin in a row, and finally their number. Else empty.
    category_values : mapping
        From a categorical column to its categories in the order of their codes, if an estimator knows them.
    """

    feature: Ints
    threshold: Singles
    child: Ints
    missing_go_to_left: Bytes
    mask: Ints
    impurity: Floats
    n_node_samples: Ints
    weighted_n_node_samples: Floats
    own_values: Floats
    masks: Words
    begins: Ints
    rows: Ints
    n_shared: int
    node_values: Floats = field(default_factory=lambda: np.empty((0, 0)))
    starts: tuple[int, ...] = ()
    category_values: Mapping[int, npt.NDArray[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, tables: TreeTables, n_shared: int, rows: Ints) -> Tree:
        """Return the tree of grown tables, numbered as if it had been grown depth first.

        Nodes that cannot be reached from the root are omitted. `n_shared` is the number of rows of values that leaves
        share, those of pure classes; `tables.values` has the others. `rows` may be empty.
        """
        n, n_values, n_masks = tables.used.tolist()
        used = np.array([1, n_shared, 0])
        ints, floats = np.empty((5, n), dtype=np.int32), np.empty((2, n))
        threshold, missing_go_to_left = np.empty(n, dtype=np.float32), np.empty(n, dtype=np.uint8)
        values = np.empty((n_values - n_shared, tables.values.shape[1]))
        masks = np.empty((n_masks, tables.masks.shape[1]), dtype=np.uint32)
        _renumber(tables, n, n_shared, ints, floats, threshold, missing_go_to_left, values, masks, used)
        n, n_values, n_masks = used.tolist()
        return cls(
            feature=ints[0, :n],
            threshold=threshold[:n],
            child=ints[1, :n],
            missing_go_to_left=missing_go_to_left[:n],
            mask=ints[2, :n],
            impurity=floats[0, :n],
            n_node_samples=ints[3, :n],
            weighted_n_node_samples=floats[1, :n],
            own_values=values[: n_values - n_shared],
            masks=masks[:n_masks],
            begins=ints[4, :n] if len(rows) else np.empty(0, dtype=np.int32),
            rows=rows,
            n_shared=n_shared,
        )

    def without_rows(self) -> Tree:
        """Return the tree without its training rows."""
        tree, none = object.__new__(Tree), np.empty(0, dtype=np.int32)
        tree.__dict__.update(self.__dict__, rows=none, begins=none)  # `replace` takes as long as growing a small tree
        return tree

    @property
    def values(self) -> Floats:
        """Predictions of leaves, (n_values, n_outputs): first the rows that pure leaves share, one for each class."""
        return np.concatenate((np.eye(self.n_shared), self.own_values)) if self.n_shared else self.own_values

    @property
    def n_outputs(self) -> int:
        """Number of values that a leaf predicts: the number of classes, or 1."""
        return int(self.own_values.shape[1])

    @property
    def n_targets(self) -> int:
        """Number of targets per row."""
        return max(1, len(self.starts) - 1)

    def in_unit(self, unit: float) -> Tree:
        """Return the tree with weights multiplied by `unit`."""
        return self if unit == 1.0 else replace(self, weighted_n_node_samples=self.weighted_n_node_samples * unit)

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return len(self.feature)

    @property
    def is_leaf(self) -> Bools:
        """Mask of the leaves, (n_nodes,)."""
        return np.asarray(self.feature == LEAF)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.is_leaf))

    @property
    def children_left(self) -> Longs:
        """Left children, (n_nodes,); -1 at leaves."""
        return np.where(self.is_leaf, -1, self.child).astype(np.int64)

    @property
    def children_right(self) -> Longs:
        """Right children, (n_nodes,); -1 at leaves."""
        return np.where(self.is_leaf, -1, self.child + 1).astype(np.int64)

    @cached_property
    def parents(self) -> Longs:
        """Parent of every node, (n_nodes,); -1 for the root."""
        parents = np.full(self.node_count, -1, dtype=np.int64)
        inner = np.flatnonzero(~self.is_leaf)
        parents[self.child[inner]] = inner
        parents[self.child[inner] + 1] = inner
        return parents

    @cached_property
    def depths(self) -> Longs:
        """Depth of every node, (n_nodes,); 0 for the root."""
        depths = np.zeros(self.node_count, dtype=np.int64)
        _fill_depths(self.feature, self.child, depths)
        return depths

    @property
    def max_depth(self) -> int:
        """Depth of the deepest leaf."""
        return int(self.depths.max())

    @cached_property
    def value(self) -> Floats:
        """Prediction of every node, (n_nodes, n_targets, most classes of a target): the mean of its leaves.

        For medians and bounded predictions it is that of the node's own rows.
        """
        if not self.starts:
            return self.flat_value[:, None, :]
        sizes = np.diff(self.starts)
        out = np.zeros((self.node_count, len(sizes), sizes.max()))
        for t, (first, size) in enumerate(zip(self.starts, sizes, strict=False)):
            out[:, t, :size] = self.flat_value[:, first : first + size]
        return out

    @cached_property
    def flat_value(self) -> Floats:
        """Prediction of every node, (n_nodes, n_outputs), with all targets concatenated."""
        if len(self.node_values):
            return self.node_values
        sums = np.zeros((self.node_count, self.n_outputs))
        leaves = np.flatnonzero(self.is_leaf)
        is_own = self.child[leaves] >= self.n_shared
        own, pure = leaves[is_own], leaves[~is_own]
        sums[own] = self.own_values[self.child[own] - self.n_shared] * self.weighted_n_node_samples[own, None]
        sums[pure, self.child[pure]] = self.weighted_n_node_samples[pure]
        for node in np.flatnonzero(~self.is_leaf)[::-1]:  # children come after their parent
            sums[node] = sums[self.child[node]] + sums[self.child[node] + 1]
        return np.asarray(sums / self.weighted_n_node_samples[:, None])

    def categories(self, node: int) -> tuple[Any, ...] | None:
        """Return the categories that go left at a node (codes if unknown); None if it splits numbers."""
        if self.mask[node] < 0:
            return None
        bits = np.unpackbits(self.masks[self.mask[node]].astype("<u4").view(np.uint8), bitorder="little")
        values = self.category_values.get(int(self.feature[node]))
        if values is None:
            return tuple(np.flatnonzero(bits).tolist())
        return tuple(values[bits[category_codes(len(values))] == 1].tolist())

    def compute_feature_importances(self, n_features: int) -> Floats:
        """Return the share of the impurity decrease due to each column, (n_features,), summing to 1 unless all are 0.

        The importance of a node is w I - w_left I_left - w_right I_right, where w is the share of the weight.
        """
        gains = self.gains(n_features)
        total = gains.sum()
        return np.asarray(gains / total if total > 0 else gains * 0.0)

    def gains(self, n_features: int) -> Floats:
        """Return the decrease of weight times impurity by the splits on each column, (n_features,)."""
        inner = np.flatnonzero(~self.is_leaf)
        left, right = self.child[inner], self.child[inner] + 1
        amount = self.weighted_n_node_samples * self.impurity
        gains = amount[inner] - amount[left] - amount[right]
        return np.bincount(self.feature[inner], weights=gains, minlength=n_features).astype(np.float64)

    def without_branches(self, alpha: float) -> Tree:
        """Return the subtree that minimal cost-complexity pruning leaves (Breiman et al. 1984).

        While some branch decreases the impurity (by share of weight) by less than `alpha` for each additional leaf, the
        weakest branch becomes a leaf.
        """
        cost = self.weighted_n_node_samples / self.weighted_n_node_samples[0] * self.impurity
        becomes_leaf = np.zeros(self.node_count, dtype=bool)
        _prune(self.feature, self.child, cost, alpha, becomes_leaf)
        nodes = np.flatnonzero(becomes_leaf)
        node_ints = np.empty((self.node_count, 6), dtype=np.int32)
        node_ints[:, FEATURE] = np.where(becomes_leaf, LEAF, self.feature)
        node_ints[:, CHILD] = self.child
        node_ints[nodes, CHILD] = self.n_shared + len(self.own_values) + np.arange(len(nodes))
        node_ints[:, MASK] = np.where(becomes_leaf, -1, self.mask)
        node_ints[:, N_ROWS] = self.n_node_samples
        node_ints[:, MISSING_LEFT] = np.where(becomes_leaf, 1, self.missing_go_to_left)
        node_ints[:, BEGIN] = self.begins if len(self.begins) else 0
        threshold = np.where(becomes_leaf, np.inf, self.threshold)
        node_floats = np.stack((threshold, self.impurity, self.weighted_n_node_samples), axis=1)
        values = np.concatenate((self.own_values, self.flat_value[nodes]))
        used = np.array([self.node_count, self.n_shared + len(values), len(self.masks)])
        pruned = Tree.of(TreeTables(node_ints, node_floats, values, self.masks, used), self.n_shared, self.rows)
        return replace(pruned, node_values=self._values_without(becomes_leaf), starts=self.starts)

    def _values_without(self, becomes_leaf: Bools) -> Floats:
        """Return `node_values` of the nodes that remain when some become leaves, in their order."""
        if not len(self.node_values):
            return self.node_values
        stays = np.ones(self.node_count, dtype=bool)
        for node in np.flatnonzero(~self.is_leaf):  # children come after their parent
            stays[self.child[node] : self.child[node] + 2] = stays[node] and not becomes_leaf[node]
        return self.node_values[stays]


def check_one_target(tree: Tree, what: str) -> None:
    """Raise if a tree has several targets."""
    if tree.n_targets > 1:
        raise UsageError(
            f"{what} takes trees of one target per row, got {tree.n_targets}: fit one for each column of y"
        )


@kernel
def _renumber(
    grown: TreeTables,
    n_nodes: int,
    n_shared: int,
    ints: Ints,
    floats: Floats,
    threshold: Singles,
    missing_go_to_left: Bytes,
    values: Floats,
    masks: Words,
    used: Longs,
) -> None:
    """Copy the nodes that are reached from the root: both children of a node, then everything below the left one.

    `ints` are feature, child, mask, rows and where these begin; `floats` are impurity and weight. `used` initially
    counts the root and the shared values, and finally everything copied.
    """
    node_ints, node_floats = grown.node_ints, grown.node_floats
    stack = np.empty((n_nodes, 2), dtype=np.int64)
    stack[0, 0], stack[0, 1] = 0, 0
    n = 1
    while n:
        n -= 1
        old, new = stack[n, 0], stack[n, 1]
        feature, child, mask = node_ints[old, FEATURE], node_ints[old, CHILD], node_ints[old, MASK]
        threshold[new] = UNDEFINED if feature == LEAF else node_floats[old, THRESHOLD]
        missing_go_to_left[new] = node_ints[old, MISSING_LEFT]
        floats[0, new], floats[1, new] = node_floats[old, IMPURITY], node_floats[old, NODE_WEIGHT]
        if feature == LEAF:
            if child >= n_shared:
                for c in range(values.shape[1]):
                    values[used[N_VALUES] - n_shared, c] = grown.values[child - n_shared, c]
                child = used[N_VALUES]
                used[N_VALUES] += 1
        else:
            if mask >= 0:
                for word in range(masks.shape[1]):
                    masks[used[N_MASKS], word] = grown.masks[mask, word]
                mask = used[N_MASKS]
                used[N_MASKS] += 1
            for side in range(1, -1, -1):
                stack[n, 0], stack[n, 1] = child + side, used[N_NODES] + side
                n += 1
            child = used[N_NODES]
            used[N_NODES] += 2
        ints[0, new], ints[1, new], ints[2, new] = feature, child, mask
        ints[3, new], ints[4, new] = node_ints[old, N_ROWS], node_ints[old, BEGIN]


@kernel
def _fill_depths(feature: Ints, child: Ints, depths: Longs) -> None:
    for node in range(len(feature)):
        if feature[node] != LEAF:
            depths[child[node]] = depths[node] + 1
            depths[child[node] + 1] = depths[node] + 1


@kernel
def _prune(feature: Ints, child: Ints, cost: Floats, alpha: float, becomes_leaf: Bools) -> None:
    """Mark the inner nodes to become leaves: the cost of a branch is that of its leaves plus alpha for each leaf."""
    least = np.empty(len(feature))
    for node in range(len(feature) - 1, -1, -1):
        least[node] = cost[node] + alpha
        if feature[node] == LEAF:
            continue
        branch = least[child[node]] + least[child[node] + 1]
        if branch < least[node]:
            least[node] = branch
        else:
            becomes_leaf[node] = True
