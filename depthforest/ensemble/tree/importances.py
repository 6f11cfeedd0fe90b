"""Importances: gain and number of the splits on each column, for all classes together or for each.

The impurity of a node is a sum over classes: p (1 - p) for gini, -p log2 p for entropy. The gain of a split for a class
is the decrease of the class's summand, which is 0 or more; the gains of all classes sum to the gain of the split.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from depthforest.base import Floats, UsageError
from depthforest.ensemble.tree.trees import Tree, check_one_target

GAIN, SPLIT = "gain", "split"


class ColumnImportances:
    """`importances` of an estimator that has `trees_`, or one `tree_`."""

    n_features_in_: int

    def importances(self, kind: str = GAIN, *, by_class: bool = False) -> Floats:
        """Return the importance of columns, (n_features,), summed over all trees and not normalized.

        Parameters
        ----------
        kind : {"gain", "split"}, default="gain"
            The decrease of weight times impurity by the splits on a column, or their number.
        by_class : bool, default=False
            Return the importance for each class, (n_classes, n_features); they sum to the total. Splits of trees that
            predict all classes at once do not belong to one class, so for these trees only gains are available.
        """
        check_is_fitted(self)
        if kind not in (GAIN, SPLIT):
            raise UsageError(f"kind must be 'gain' or 'split', got {kind!r}")
        if by_class and not hasattr(self, "classes_"):
            raise UsageError(f"by_class=True needs a classifier, got {type(self).__name__}: leave it out")
        return self._importances_by_class(kind) if by_class else importances_of(self._all_trees(), kind, self)

    def _all_trees(self) -> Sequence[Tree]:
        return self.trees_ if hasattr(self, "trees_") else [self.tree_]  # type: ignore[attr-defined]

    def _importances_by_class(self, kind: str) -> Floats:
        trees = self._all_trees()
        check_one_target(trees[0], "importances by class")
        if kind == SPLIT:
            raise UsageError("a split of these trees serves all classes: use kind='gain' with by_class=True")
        is_gini = getattr(self, "criterion", "gini") == "gini"
        return np.asarray(sum(_class_gains(tree, self.n_features_in_, is_gini=is_gini) for tree in trees))


def importances_of(trees: Sequence[Tree], kind: str, estimator: Any) -> Floats:
    """Return the gain of the splits on each column in all trees, or their number, (n_features,)."""
    n_features = estimator.n_features_in_
    if kind == GAIN:
        return np.asarray(np.sum([tree.gains(n_features) for tree in trees], axis=0))
    features = np.concatenate([tree.feature[~tree.is_leaf] for tree in trees])
    return np.bincount(features, minlength=n_features).astype(np.float64)


def _class_gains(tree: Tree, n_features: int, *, is_gini: bool) -> Floats:
    """Return the decrease of weight times a class's summand by the splits on each column, (n_classes, n_features)."""
    shares = tree.flat_value
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = shares * (1 - shares) if is_gini else np.where(shares > 0, -shares * np.log2(shares), 0.0)
    amounts = tree.weighted_n_node_samples[:, None] * terms
    inner = np.flatnonzero(~tree.is_leaf)
    gains = amounts[inner] - amounts[tree.child[inner]] - amounts[tree.child[inner] + 1]
    out = np.zeros((shares.shape[1], n_features))
    np.add.at(out.T, tree.feature[inner], gains)
    return out
