"""Tree checks: whether columns form a valid tree, before a kernel walks it, because kernels check nothing.

`store` checks every tree that it reads and every tree that it writes, so that every saved file can be loaded.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from depthforest.base import Bools, Broken, Floats, ModelError, find_fault
from depthforest.ensemble.growth import LEAF
from depthforest.ensemble.tree.trees import UNDEFINED, Tree

TOLERANCE = 1e-6
"""Relative error allowed in sums of weights and shares: the rounding of billions of additions stays below it."""

LARGEST = 1e300
"""Largest values, and impurities times weight: sums over all nodes and all trees stay finite."""


def check_tree(tree: Tree, n_features: int, is_categorical: Bools) -> None:
    """Raise ModelError unless a tree is valid; its columns already have the right types and shapes.

    Parameters
    ----------
    tree : Tree
        `begins` and `rows` are ignored.
    n_features : int
        Columns of the tables that the tree will be used on.
    is_categorical : (n_features,) bool
    """
    _none(~((tree.feature >= LEAF) & (tree.feature < n_features)), "has no column of the table", tree.feature)
    _check_links(tree)
    _check_leaves(tree)
    _check_splits(tree, is_categorical)
    _check_amounts(tree)
    _check_values(tree)


def _none(is_bad: Bools, what: str, values: npt.NDArray[np.generic], name: str = "node", first: int = 0) -> None:
    """Raise ModelError for the first bad node, if any; `first` is added to its index in the message."""
    if is_bad.any():
        index = int(np.flatnonzero(is_bad)[0])
        raise ModelError(f"{name} {first + index} {what}: {values[index].tolist()!r}"[:200])


def _check_links(tree: Tree) -> None:
    """Check that children follow their parent, in pairs, and each node but the root is the child of exactly one."""
    n = tree.node_count
    inner = np.flatnonzero(~tree.is_leaf)
    left = tree.child[inner].astype(np.int64)
    links = np.concatenate(([0], np.stack((left, left + 1), axis=1).ravel()))
    fault = find_fault(links, n, sources=np.concatenate(([-1], np.repeat(inner, 2))))
    if fault is not None and fault.what is Broken.NODE:
        raise ModelError(f"node {fault.index} must have one parent, or be the root: {fault.n_parents}")
    if fault is not None:
        node = int(inner[(fault.index - 1) // 2])
        raise ModelError(f"node {node} must have its children after it and within the {n} nodes: {tree.child[node]}")


def _check_leaves(tree: Tree) -> None:
    """Check that each leaf has a row of values, shared or its own."""
    is_leaf, n_values = tree.is_leaf, tree.n_shared + len(tree.own_values)
    _none(is_leaf & ~((tree.child >= 0) & (tree.child < n_values)), f"has no row of the {n_values} values", tree.child)
    n_uses = np.bincount(tree.child[is_leaf], minlength=n_values)
    n_uses[: tree.n_shared] = 1
    _none(n_uses != 1, "must belong to one leaf", n_uses, "row of values")
    is_odd = (tree.threshold != UNDEFINED) | (tree.missing_go_to_left != 1) | (tree.mask != -1)
    _none(is_leaf & is_odd, "is a leaf: its threshold must be inf, missing_go_to_left 1, mask -1", tree.threshold)


def _check_splits(tree: Tree, is_categorical: Bools) -> None:
    is_inner = ~tree.is_leaf
    _none(~(tree.threshold > -np.inf), "has no threshold", tree.threshold)  # also true for NaN
    _none(tree.missing_go_to_left > 1, "must send missing values to one side, 0 or 1", tree.missing_go_to_left)
    n_masks = len(tree.masks)
    _none(~((tree.mask >= -1) & (tree.mask < n_masks)), f"has no row of the {n_masks} masks", tree.mask)
    splits_categories = is_inner & is_categorical[np.maximum(tree.feature, 0)]
    _none((tree.mask >= 0) != splits_categories, "must have a mask where its column is categorical", tree.mask)
    n_uses = np.bincount(tree.mask[splits_categories], minlength=n_masks)
    _none(n_uses != 1, "must belong to one node", n_uses, "row of masks")


def _check_amounts(tree: Tree) -> None:
    """Check that rows and weights are above 0, and those of children add up to those of their parent."""
    rows, weights = tree.n_node_samples.astype(np.int64), tree.weighted_n_node_samples
    _none(rows < 1, "must have at least one row", rows)
    _none(~((weights > 0) & (weights < np.inf)), "must have a finite weight above 0", weights)
    _none(~((tree.impurity >= 0) & (tree.impurity < np.inf)), "must have a finite impurity from 0", tree.impurity)
    with np.errstate(over="ignore"):
        _none(weights * tree.impurity > LARGEST, f"must have a weight times impurity up to {LARGEST:g}", weights)
        inner = np.flatnonzero(~tree.is_leaf)
        left = tree.child[inner]
        of_rows, of_weights = np.zeros(len(rows), dtype=np.bool_), np.zeros(len(rows), dtype=np.bool_)
        of_rows[inner] = rows[left] + rows[left + 1] != rows[inner]
        sums = weights[left] + weights[left + 1]
        of_weights[inner] = ~(np.abs(sums - weights[inner]) <= TOLERANCE * weights[inner])
    _none(of_rows, "must have as many rows as its children", rows)
    _none(of_weights, "must weigh as much as its children", weights)


def _check_values(tree: Tree) -> None:
    """Check that values are bounded; class values must be shares."""
    values, n_shared = tree.own_values, tree.n_shared
    if not n_shared:
        weight = max(float(tree.weighted_n_node_samples[0]), 1.0)
        is_bad = np.any(~(np.abs(values) <= LARGEST / weight), axis=1)  # also true for NaN
        _none(is_bad, f"must be up to {LARGEST:g}, times the weight of the tree", values, "row of values")
        return
    check_shares(values, n_shared)


def check_shares(values: Floats, n_shared: int = 0) -> None:
    """Raise ModelError unless rows of values are shares of classes; `n_shared` only offsets the reported row number."""
    with np.errstate(invalid="ignore", over="ignore"):
        sums = values.sum(axis=1)
        is_good = (values >= 0).all(axis=1) & (values <= 1 + TOLERANCE).all(axis=1) & (np.abs(sums - 1) <= TOLERANCE)
    _none(~is_good, "must be shares from 0 to 1 that sum to 1", values, "row of values", n_shared)
