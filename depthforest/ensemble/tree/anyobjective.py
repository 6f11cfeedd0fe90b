"""Growing for any objective: trees with other criteria, several targets per row, or monotonic constraints."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, Ints, information_table
from depthforest.ensemble.growth import (
    ABSOLUTE_ERROR,
    IS_CATEGORICAL,
    KINDS,
    N_VALUES,
    POISSON,
    Binned,
    GeneralMemory,
    Limits,
    MedianMemory,
    Objective,
    OpenNodes,
    SplitMemory,
    TreeRows,
    TreeTables,
    clip_nodes,
    fill_nodes,
    grow_general,
)
from depthforest.ensemble.tree.plans import Growth
from depthforest.ensemble.tree.trees import Tree


def plant_general(binned: Binned, truth: npt.NDArray[Any], weights: Floats, growth: Growth, key: np.uint64) -> Tree:
    """Grow a tree for any objective on this thread; see also `planting.plant`.

    Parameters
    ----------
    binned : Binned
    truth : (n_rows,) or (n_rows, n_targets)
        Class codes, or numbers.
    weights : (n_rows,) float64
    growth : Growth
    key : uint64
        Random key of the root.
    """
    targets = np.ascontiguousarray(truth.reshape(len(truth), -1), dtype=np.float64)
    ids = np.flatnonzero(weights).astype(np.int32)
    objective = _objective(targets, weights, growth, ids)
    n_leaves = min(len(ids), growth.max_leaves or len(ids))
    has_categories = bool(binned.columns[:, IS_CATEGORICAL].any())
    tables = TreeTables.of(n_leaves, 0, growth.n_shared, has_categories=has_categories)
    n_nodes = len(tables.node_ints)
    memory = GeneralMemory(
        SplitMemory.of(len(ids), len(binned.columns), binned.n_codes, growth.n_channels),
        MedianMemory.of(*(targets.shape[1], len(ids)) if objective.kind == ABSOLUTE_ERROR else (0, 0)),
        OpenNodes.of(n_nodes, has_categories=has_categories),
        np.empty((n_nodes, 3)),
    )
    limits = Limits(growth.max_depth, growth.min_samples_split, float(growth.min_decrease), float(weights[ids].sum()))
    rows = TreeRows(ids, np.empty(0, dtype=np.int32), np.empty((0, 2)))
    grow_general(
        information_table(), objective, growth.rules(is_even=False), limits, n_leaves, binned, rows, key, memory, tables
    )
    return _with_values(tables, objective._replace(truth=targets), growth, ids, memory)


def _objective(targets: Floats, weights: Floats, growth: Growth, ids: Ints) -> Objective:
    kind = KINDS[growth.criterion]
    truth, ranks = targets, np.empty((0, 0), dtype=np.int32)
    if not growth.is_class and kind != POISSON:  # minus one of them, so that sums of squares do not cancel
        values = [np.unique(column[ids]) for column in targets.T]
        truth = targets - [v[len(v) // 2] for v in values]
    if kind == ABSOLUTE_ERROR:
        ranks = np.zeros(targets.shape[::-1], dtype=np.int32)
        for own, column in zip(ranks, targets.T, strict=True):
            own[ids] = np.unique(column[ids], return_inverse=True)[1]
    starts = np.array(growth.starts or (0, growth.n_channels), dtype=np.int64)
    signs = np.array(growth.signs, dtype=np.int8)
    return Objective(kind, growth.is_random, truth, weights, starts, ranks, signs)


def _with_values(tables: TreeTables, objective: Objective, growth: Growth, ids: Ints, memory: GeneralMemory) -> Tree:
    """Return the tree of grown tables with the predictions of its nodes."""
    n_shared = growth.n_shared
    empty = np.zeros((int(tables.used[N_VALUES]) - n_shared, growth.n_channels))
    tree = Tree.of(tables._replace(values=empty), n_shared, ids)
    values = np.empty((tree.node_count, growth.n_channels))
    fill_nodes(objective, ids, tree.begins, tree.n_node_samples, memory.split, memory.medians, values)
    if len(objective.signs) and growth.n_channels == (2 if growth.is_class else 1):  # else there is only one class
        clip_nodes(growth.is_class, objective.signs, tree.feature, tree.child, memory.bounds, values)
        if growth.is_class:
            np.clip(values, 0.0, 1.0, out=values)  # a share above 1 by rounding would make the other one negative
    own = np.empty_like(tree.own_values)
    leaves = np.flatnonzero(tree.is_leaf)
    own[tree.child[leaves] - n_shared] = values[leaves]
    kept: dict[str, Any] = {} if growth.keeps_rows else {"begins": tree.begins[:0], "rows": tree.rows[:0]}
    return replace(tree, own_values=own, node_values=values, starts=growth.starts, **kept)
