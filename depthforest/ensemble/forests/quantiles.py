"""Quantiles of the training targets in a row's leaves, weighted as in a forest's prediction (Meinshausen 2006)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from depthforest.base import Floats, Ints, Longs, kernel
from depthforest.ensemble.tree import Tree


def forest_quantiles(
    trees: Sequence[Tree],
    leaves: Longs,
    targets: Floats,
    weights: Sequence[Floats],
    quantiles: Floats,
) -> Floats:
    """Return quantiles of the targets, (n, n_quantiles).

    In each tree, the weight of a training row is its share of the weight of the leaf that it shares with the query row;
    weights are averaged over trees. The quantile q is the smallest target at which the cumulative weight reaches q.

    Parameters
    ----------
    trees : sequence of Tree
        Trees that kept their rows.
    leaves : (n, n_trees) int64
    targets : (n_rows,) float64
    weights : sequence of (n_rows,) float64
        Weights of the training rows in each tree.
    quantiles : (n_quantiles,) float64
        Ascending, from 0 to 1.
    """
    begins = np.stack([t.begins[leaves[:, i]] for i, t in enumerate(trees)], axis=1).astype(np.int64)
    counts = np.stack([t.n_node_samples[leaves[:, i]] for i, t in enumerate(trees)], axis=1).astype(np.int64)
    starts = np.concatenate(([0], np.cumsum([len(tree.rows) for tree in trees])))
    begins += starts[:-1]
    rows = np.concatenate([tree.rows for tree in trees])
    own = np.concatenate([w[tree.rows] for w, tree in zip(weights, trees, strict=True)])
    out = np.empty((len(leaves), len(quantiles)))
    most = int(counts.sum(axis=1).max(initial=0))
    _fill_quantiles(begins, counts, rows, own, targets, quantiles, np.empty((2, most)), out)
    return out


@kernel
def _fill_quantiles(
    begins: Longs,
    counts: Longs,
    rows: Ints,
    weights: Floats,
    targets: Floats,
    quantiles: Floats,
    scratch: Floats,
    out: Floats,
) -> None:
    n_trees = begins.shape[1]
    for r in range(begins.shape[0]):
        n = 0
        for t in range(n_trees):
            total = 0.0
            for i in range(begins[r, t], begins[r, t] + counts[r, t]):
                total += weights[i]
            for i in range(begins[r, t], begins[r, t] + counts[r, t]):
                scratch[0, n] = targets[rows[i]]
                scratch[1, n] = weights[i] / total / n_trees
                n += 1
        order = np.argsort(scratch[0, :n])
        at, total = 0, scratch[1, order[0]]
        for q in range(len(quantiles)):
            # sums of shares differ from 1 by rounding
            while at + 1 < n and total < quantiles[q] - 1e-12:
                at += 1
                total += scratch[1, order[at]]
            out[r, q] = scratch[0, order[at]]
