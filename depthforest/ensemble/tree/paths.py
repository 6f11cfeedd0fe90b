"""Paths: the nodes that rows pass on their way to a leaf, and the results of pruning a tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.utils import Bunch

from depthforest.base import Longs
from depthforest.ensemble.tree.trees import Tree


def decision_path(tree: Tree, leaves: Longs) -> csr_matrix:
    """Return the nodes that rows pass, (n, n_nodes) of 0 and 1, given the leaves (n,) that they reach."""
    depths, parents = tree.depths, tree.parents
    counts = depths[leaves] + 1
    ends = np.cumsum(counts)
    nodes = np.empty(int(counts.sum()), dtype=np.int64)
    at = leaves.astype(np.int64)
    for step in range(int(counts.max(initial=0))):
        is_on = step < counts
        nodes[ends[is_on] - 1 - step] = at[is_on]
        at = np.where(is_on, parents[at], at)
    starts = np.concatenate(([0], ends))
    return csr_matrix((np.ones(len(nodes), dtype=np.int64), nodes, starts), shape=(len(leaves), tree.node_count))


def decision_paths(trees: Sequence[Tree], leaves: Longs) -> tuple[csr_matrix, Longs]:
    """Return the nodes that rows pass in all trees side by side, and where the columns of each tree begin and end.

    `leaves` is (n, n_trees).
    """
    paths = [decision_path(tree, leaves[:, t]) for t, tree in enumerate(trees)]
    ends = np.cumsum([0] + [tree.node_count for tree in trees])
    return hstack(paths, format="csr"), ends


def pruning_path(tree: Tree) -> Bunch:
    """Return the alphas at which pruning removes a branch, and the total impurity of the remaining leaves.

    Minimal cost-complexity pruning (Breiman et al. 1984): as alpha rises, the branch that decreases the impurity least
    for each additional leaf becomes a leaf. Equally weak branches are removed together.
    """
    share = tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
    cost = (share * tree.impurity).tolist()
    left, parents = tree.children_left.tolist(), tree.parents.tolist()
    is_leaf = [child < 0 for child in left]
    below, n_leaves = cost.copy(), [1] * len(cost)
    for node in range(len(cost) - 1, -1, -1):
        if not is_leaf[node]:
            below[node] = below[left[node]] + below[left[node] + 1]
            n_leaves[node] = n_leaves[left[node]] + n_leaves[left[node] + 1]
    alphas, impurities = [0.0], [below[0]]
    is_gone = [False] * len(cost)
    while not is_leaf[0]:
        inner = [n for n in range(len(cost)) if not is_leaf[n] and not is_gone[n]]
        weakest = min(inner, key=lambda n: (cost[n] - below[n]) / (n_leaves[n] - 1))
        alphas.append(max((cost[weakest] - below[weakest]) / (n_leaves[weakest] - 1), alphas[-1]))
        rise, fewer = cost[weakest] - below[weakest], n_leaves[weakest] - 1
        stack = [left[weakest], left[weakest] + 1]
        while stack:
            node = stack.pop()
            is_gone[node] = True
            if not is_leaf[node]:
                stack += [left[node], left[node] + 1]
        is_leaf[weakest] = True
        node = weakest
        while node >= 0:
            below[node] += rise
            n_leaves[node] -= fewer
            node = parents[node]
        impurities.append(below[0])
    return Bunch(ccp_alphas=np.array(alphas), impurities=np.array(impurities))
