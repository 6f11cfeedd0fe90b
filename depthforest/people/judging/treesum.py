"""TreeSum: sums of trees over the columns of a candidate, as plain arrays, and the kernel that evaluates them.

They are fitted with `depthforest.ensemble` and stored without it, so that finding people imports no scikit-learn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Column, Floats, ModelError, kernel, modelfile

MAX_TREES, MAX_NODES = 4096, 2**20

SCHEMA = {
    "roots": Column("int32", ("trees",)),
    "features": Column("int16", ("nodes",)),
    "thresholds": Column("float32", ("nodes",)),
    "children": Column("int32", ("nodes",)),
    "values": Column("float32", ("nodes",)),
}
"""Columns of a file."""


@dataclass(frozen=True, eq=False)
class TreeSum:
    """Trees whose leaves are summed.

    Parameters
    ----------
    roots : array (n_trees,), int32
        Node where each tree begins.
    features : array (n_nodes,), int16
        Column that a node tests; -1 for leaves.
    thresholds : array (n_nodes,), float32
        A value up to the threshold goes to the left child, a larger one to the right.
    children : array (n_nodes,), int32
        The left child, which has a higher index than its parent; the right one follows it. 0 for leaves.
    values : array (n_nodes,), float32
        Values that leaves add to the sum.
    n_columns : int
        Number of columns.
    """

    roots: npt.NDArray[np.int32]
    features: npt.NDArray[np.int16]
    thresholds: npt.NDArray[np.float32]
    children: npt.NDArray[np.int32]
    values: npt.NDArray[np.float32]
    n_columns: int

    def __post_init__(self) -> None:
        columns = {name: np.array(getattr(self, name), order="C") for name in SCHEMA}
        _check(columns, self.n_columns)
        for name, array in columns.items():
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def sums(self, columns: Floats) -> Floats:
        """Return the sum of the trees for each candidate, (n,), from its columns (n, n_columns)."""
        columns = np.ascontiguousarray(columns, dtype=np.float64)
        if columns.ndim != 2 or columns.shape[1] != self.n_columns:
            raise ModelError(f"trees over {self.n_columns} columns were given an array of shape {columns.shape}")
        sums = np.zeros(len(columns))
        _add_trees(columns, self.roots, self.features, self.thresholds, self.children, self.values, sums)
        return sums


def _check(columns: Mapping[str, npt.NDArray[Any]], n_columns: int) -> None:
    """Raise ModelError unless every walk through the trees stays in them and ends."""
    lengths = modelfile.check_columns(columns, SCHEMA)
    n = lengths["nodes"]
    if not 1 <= lengths["trees"] <= MAX_TREES or not 1 <= n <= MAX_NODES:
        raise ModelError(f"there must be 1 to {MAX_TREES} trees of up to {MAX_NODES} nodes")
    roots, features, children = columns["roots"], columns["features"], columns["children"]
    if (roots < 0).any() or (roots >= n).any():
        raise ModelError("roots must be nodes")
    is_split = features >= 0
    if (features < -1).any() or (features >= n_columns).any():
        raise ModelError(f"features must be -1 or one of {n_columns} columns")
    # children come after their parents, so there are no cycles
    nodes = np.arange(n)
    if (children[is_split] <= nodes[is_split]).any() or (children[is_split] >= n - 1).any():
        raise ModelError("children must be pairs of nodes behind their parents")
    if not (np.isfinite(columns["thresholds"]).all() and np.isfinite(columns["values"]).all()):
        raise ModelError("thresholds and values must be finite numbers")


@kernel
def _add_trees(columns, roots, features, thresholds, children, values, sums):  # type: ignore[no-untyped-def]
    # all walks, one for each tree and candidate, take each step together, so that their waits for memory overlap
    n = len(columns)
    nodes = np.empty(len(roots) * n, dtype=np.int32)
    for tree in range(len(roots)):
        nodes[tree * n : (tree + 1) * n] = roots[tree]
    n_moving = len(nodes)
    while n_moving > 0:
        n_moving = 0
        for tree in range(len(roots)):
            for i in range(n):
                node = nodes[tree * n + i]
                feature = features[node]
                is_right = np.float32(columns[i, max(feature, 0)]) > thresholds[node]
                nodes[tree * n + i] = children[node] + is_right if feature >= 0 else node
                n_moving += feature >= 0
    for tree in range(len(roots)):
        for i in range(n):
            sums[i] += values[nodes[tree * n + i]]
