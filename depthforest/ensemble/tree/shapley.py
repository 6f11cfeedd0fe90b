"""Shapley values: the contribution of each column to a tree's prediction (Lundberg et al. 2020, path-dependent).

The value of a set of columns is the prediction of the tree if only these are known; at splits on other columns both
sides count, weighted by their training weight. A leaf's value is then a product over the columns on its path: 1 or 0 if
a column is known (the row may pass, or not), else the share z of the weight that passes. In the product of (z + o t)
over columns, with o = 1 if the row passes, the coefficient of t^k sums over all sets of k known columns. The product
without one column follows by dividing by its factor. Time is rows x leaves x (columns on a path)^2.

Kernels check nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from depthforest.base import Bytes, Floats, Ints, Longs, Singles, Words, kernel
from depthforest.ensemble.growth import LEAF
from depthforest.ensemble.tree.trees import Tree
from depthforest.ensemble.tree.walking import WALK_MORE, WALK_THRESHOLD, Walk, goes_right, in_blocks

_ROWS = 64
"""Rows explained together: the sides that they take at all nodes stay in the caches."""


def shapley_values(trees: Sequence[Tree], x: Singles, *, n_columns: int, by_turns: int = 1, threads: int = 1) -> Floats:
    """Return the contribution of each column to the sum of all trees, (n, n_features, n_outputs) float64.

    Parameters
    ----------
    trees : sequence of Tree
    x : (n, n_features) float32, C-contiguous
    n_columns : int
        Number of predicted values: classes, or outputs of boosting.
    by_turns : int
        Tree t of boosting adds to output t % by_turns; 1 for trees that predict all of them.
    threads : int
    """
    out = np.zeros((len(x), x.shape[1] * n_columns))
    walks = [Walk.of([tree]) for tree in trees]

    def explain(rows: slice) -> None:
        for t, (tree, walk) in enumerate(zip(trees, walks, strict=True)):
            _explain(
                x[rows], tree.feature, tree.parents, tree.child, tree.weighted_n_node_samples, tree.own_values,
                tree.n_shared, walk.nodes, walk.masks, int(tree.max_depth), t % by_turns, n_columns, out[rows],
            )  # fmt: skip

    in_blocks(explain, x, out, threads)
    return out.reshape(len(x), x.shape[1], n_columns)


@kernel
def _fill_sides(x: Singles, first: int, n: int, feature: Ints, nodes: Ints, masks: Words, sides: Bytes) -> None:
    """Fill in which side each of n rows takes at each node: 1 is right."""
    thresholds = nodes.view(np.float32)
    for node in range(len(feature)):
        if feature[node] == LEAF:
            continue
        for r in range(n):
            sides[node, r] = goes_right(
                x[first + r, feature[node]], thresholds[node, WALK_THRESHOLD], nodes[node, WALK_MORE], masks
            )


@kernel
def _take_path(
    leaf: int,
    feature: Ints,
    parents: Longs,
    child: Ints,
    weights: Floats,
    columns: Longs,
    shares: Floats,
    steps: Longs,
) -> tuple[int, int]:
    """Fill in the columns on the path to a leaf, the share that passes each, and the steps: node, side, position."""
    n_columns, n_steps, node = 0, 0, leaf
    while parents[node] >= 0:
        parent = parents[node]
        place = 0
        while place < n_columns and columns[place] != feature[parent]:
            place += 1
        if place == n_columns:
            columns[place], shares[place] = feature[parent], 1.0
            n_columns += 1
        shares[place] *= weights[node] / weights[parent]
        steps[n_steps, 0], steps[n_steps, 1], steps[n_steps, 2] = parent, node - child[parent], place
        n_steps += 1
        node = parent
    return n_columns, n_steps


@kernel
def _weigh_columns(d: int, shares: Floats, passes: Bytes, product: Floats, less: Floats, found: Floats) -> None:
    """Fill in the Shapley value of each of d columns for a leaf of value 1."""
    product[0] = 1.0
    for i in range(d):  # multiply by (share + passes t)
        product[i + 1] = 0.0
        for k in range(i + 1, 0, -1):
            product[k] = product[k] * shares[i] + (product[k - 1] if passes[i] else 0.0)
        product[0] *= shares[i]
    for i in range(d):
        if passes[i]:  # from the highest power, because shares up to 1 keep rounding errors small
            less[d - 1] = product[d]
            for k in range(d - 1, 0, -1):
                less[k - 1] = product[k] - shares[i] * less[k]
        else:
            for k in range(d):
                less[k] = product[k] / shares[i]
        total, weight = 0.0, 1.0 / d  # k! (d - 1 - k)! / d!
        for k in range(d):
            total += less[k] * weight
            weight *= (k + 1.0) / (d - 1.0 - k) if k < d - 1 else 1.0
        found[i] = total * ((1.0 if passes[i] else 0.0) - shares[i])


@kernel
def _explain(
    x: Singles,
    feature: Ints,
    parents: Longs,
    child: Ints,
    weights: Floats,
    values: Floats,
    n_shared: int,
    nodes: Ints,
    masks: Words,
    max_depth: int,
    output: int,
    n_outputs: int,
    out: Floats,
) -> None:
    """Add the Shapley values of one tree to `out` (n, n_features * n_outputs)."""
    sides = np.empty((len(feature), _ROWS), dtype=np.uint8)
    columns, steps = np.empty(max_depth + 1, dtype=np.int64), np.empty((max_depth + 1, 3), dtype=np.int64)
    shares, found, less = np.empty(max_depth + 1), np.empty(max_depth + 1), np.empty(max_depth + 1)
    product, passes = np.empty(max_depth + 2), np.empty(max_depth + 1, dtype=np.uint8)
    for first in range(0, x.shape[0], _ROWS):
        n = min(_ROWS, x.shape[0] - first)
        _fill_sides(x, first, n, feature, nodes, masks, sides)
        for leaf in range(1, len(feature)):
            if feature[leaf] != LEAF:
                continue
            d, n_steps = _take_path(leaf, feature, parents, child, weights, columns, shares, steps)
            row_of_values = child[leaf] - n_shared
            for r in range(n):
                for i in range(d):
                    passes[i] = 1
                for step in range(n_steps):
                    passes[steps[step, 2]] &= sides[steps[step, 0], r] == steps[step, 1]
                _weigh_columns(d, shares, passes, product, less, found)
                for i in range(d):
                    place = columns[i] * n_outputs
                    if row_of_values < 0:
                        out[first + r, place + child[leaf]] += found[i]
                    elif values.shape[1] == 1:
                        out[first + r, place + output] += found[i] * values[row_of_values, 0]
                    else:
                        for c in range(n_outputs):
                            out[first + r, place + c] += found[i] * values[row_of_values, c]
