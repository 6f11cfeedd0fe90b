"""Boosted leaves: adds the leaves of a new tree to the raw values of rows, in training and afterward.

Rows that a tree was grown from are sorted by leaf; others are walked down. Kernels check nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, Ints, Singles, Words, kernel, map_in_order
from depthforest.ensemble.boosting.losses.base import Loss
from depthforest.ensemble.growth import LEAF, SparseTable
from depthforest.ensemble.tree import WALK_CHILD, WALK_FEATURE, WALK_MORE, WALK_THRESHOLD, Table, Tree, Walk, goes_right

_BLOCK = 8192
"""Rows walked by one thread at a time."""


def add_grown(tree: Tree, raw: Floats) -> None:
    """Add the values of leaves to the raw values (n,) of the rows that the tree was grown from."""
    _add_stretches(tree.feature, tree.child, tree.begins, tree.n_node_samples, tree.rows, tree.own_values, raw)


def add_walked(walk: Walk, table: Table, rows: Ints, raw: Floats, *, threads: int = 1) -> None:
    """Add a tree's predictions for some rows of a table to their raw values (n_table_rows,)."""
    if isinstance(table, SparseTable):
        raw[rows] += walk.mean(table[rows], threads=threads)[:, 0]
        return
    dense = table

    def add(first: int) -> None:
        _walk_rows(dense, rows[first : first + _BLOCK], walk.nodes, walk.masks, walk.values, raw)

    for _ in map_in_order(add, range(0, len(rows), _BLOCK), threads=threads if len(rows) > _BLOCK else 1):
        pass


def leaf_steps(
    tree: Tree,
    loss: Loss,
    y: npt.NDArray[Any],
    raw: Floats,
    weights: Floats,
    output: int,
    gradient: Floats,
    directions: Ints,
) -> Floats:
    """Return the step of each leaf that minimizes the loss, (n_leaves,), in the order of `tree.own_values`.

    Under a monotonic constraint, the leaves on both sides of a split on a constrained column are kept apart: from the
    root down, both sides get a common bound, the mean of the steps that each side would take as a whole.
    """
    n_leaves = len(tree.own_values)
    leaf_of = np.full(len(y), -1, dtype=np.int32)
    if not directions.any():
        _fill_numbers(tree.feature, tree.child, tree.begins, tree.n_node_samples, tree.rows, leaf_of)
        return loss.leaf_values(y, raw, weights, leaf_of, n_leaves, output, gradient)
    steps, bounds = np.empty(tree.node_count), np.empty((tree.node_count, 2))
    for depth in range(tree.max_depth + 1):
        nodes = np.flatnonzero(tree.depths == depth)
        leaf_of[:] = -1
        for number, at in enumerate(nodes):
            leaf_of[tree.rows[tree.begins[at] : tree.begins[at] + tree.n_node_samples[at]]] = number
        steps[nodes] = loss.leaf_values(y, raw, weights, leaf_of, len(nodes), output, gradient)
    bounds[0] = -np.inf, np.inf
    for node in range(tree.node_count):  # parents come before their children
        steps[node] = min(max(steps[node], bounds[node, 0]), bounds[node, 1])
        if tree.feature[node] == LEAF:
            continue
        left = int(tree.child[node])
        bounds[left : left + 2] = bounds[node]
        direction = directions[tree.feature[node]]
        if direction:
            middle = np.clip(steps[left : left + 2], bounds[node, 0], bounds[node, 1]).mean()
            lower, upper = (left, left + 1) if direction > 0 else (left + 1, left)
            bounds[lower, 1] = bounds[upper, 0] = middle
    leaves = np.flatnonzero(tree.is_leaf)
    values = np.empty(n_leaves)
    values[tree.child[leaves]] = steps[leaves]
    return values


@kernel
def _add_stretches(
    feature: Ints, child: Ints, begins: Ints, counts: Ints, rows: Ints, values: Floats, raw: Floats
) -> None:
    for node in range(len(feature)):
        if feature[node] == LEAF:
            value = values[child[node], 0]
            for i in range(begins[node], begins[node] + counts[node]):
                raw[rows[i]] += value


@kernel
def _fill_numbers(feature: Ints, child: Ints, begins: Ints, counts: Ints, rows: Ints, leaf_of: Ints) -> None:
    for node in range(len(feature)):
        if feature[node] == LEAF:
            for i in range(begins[node], begins[node] + counts[node]):
                leaf_of[rows[i]] = child[node]


@kernel
def _walk_rows(x: Singles, rows: Ints, nodes: Ints, masks: Words, values: Floats, raw: Floats) -> None:
    """Walk rows through one tree, and add its values to the raw values."""
    thresholds = nodes.view(np.float32)
    for i in range(len(rows)):
        row, node = rows[i], np.int64(0)
        while nodes[node, WALK_CHILD] != node:
            value = x[row, nodes[node, WALK_FEATURE]]
            node = nodes[node, WALK_CHILD] + goes_right(
                value, thresholds[node, WALK_THRESHOLD], nodes[node, WALK_MORE], masks
            )
        raw[row] += values[nodes[node, WALK_MORE] >> 1, 0]
