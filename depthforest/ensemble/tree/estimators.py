"""Decision trees: scikit-learn estimators of one tree, and a table on which many of them can be fitted (`adaboost`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from depthforest.base import Floats, Longs
from depthforest.ensemble.fitting import (
    best_classes,
    class_count,
    class_starts,
    logarithms,
    member_seeds,
    number,
    shares_by_target,
    starts_of,
)
from depthforest.ensemble.growth import Binned, bin_columns, check_max_bins
from depthforest.ensemble.tree.importances import ColumnImportances
from depthforest.ensemble.tree.inputs import Table, check_weights, fit_table, predict_table
from depthforest.ensemble.tree.parameters import CLASS_CRITERIA, NUMBER_CRITERIA, feature_count, growth_of
from depthforest.ensemble.tree.paths import decision_path, pruning_path
from depthforest.ensemble.tree.planting import plant
from depthforest.ensemble.tree.store import CLASS_TREE, NUMBER_TREE, Categories, Columns, categorical_flags, save_trees
from depthforest.ensemble.tree.targets import (
    fit_classes,
    fit_numbers,
    weighed_classes,
)
from depthforest.ensemble.tree.trees import Tree
from depthforest.ensemble.tree.walking import Walk

OF_COLUMNS = ("n_features_in_", "feature_names_in_", "is_categorical_", "categories_")
"""Attributes of a tree that describe the columns of its table."""


@dataclass(frozen=True, eq=False)
class CodedTable:
    """A training table checked, encoded and binned once, for many classification trees with the same parameters.

    Inside this package, `fit` and `predict` of `DecisionTreeClassifier` take it in place of X. The trees are the same,
    except that all of them use the quantile bins of the first weights.

    Attributes
    ----------
    table : (n, n_features) float32, or SparseTable
    binned : Binned
    known : mapping
        `OF_COLUMNS` that are set.
    """

    table: Table
    binned: Binned
    known: Mapping[str, Any]

    @classmethod
    def of(cls, tree: DecisionTreeClassifier, X: Any, weights: Floats) -> Self:
        """Return the table X, with rows of these weights, encoded for trees with the parameters of this one."""
        first = clone(tree)
        table = fit_table(first, X, first.categorical_features, weights)
        known = {name: getattr(first, name) for name in OF_COLUMNS if hasattr(first, name)}
        return cls(table, first._bin(table, weights), known)


class _BaseTree(ColumnImportances, BaseEstimator):  # type: ignore[misc]
    """Common base of classification and regression trees."""

    _criteria: tuple[str, ...]
    tree_: Tree
    n_features_in_: int

    def _grow(
        self,
        table: Table,
        channels: Any,
        targets: Floats,
        weights: Floats,
        n_channels: int,
        starts: tuple[int, ...] = (),
        offset: float = 0.0,
        unit: float = 1.0,
        binned: Binned | None = None,
    ) -> None:
        growth = growth_of(
            self,
            n_rows=int(np.count_nonzero(weights)),
            n_features=table.shape[1],
            n_channels=n_channels,
            weight=float(weights.sum()),
            starts=starts,
        )
        alpha = number("ccp_alpha", self.ccp_alpha, 0, np.inf)
        binned = self._bin(table, weights) if binned is None else binned
        seed = int(member_seeds(self.random_state, 1)[0])
        tree = plant(binned, channels, targets, weights, growth, seed=seed, offset=offset).in_unit(unit)
        self._set_tree(tree.without_branches(alpha) if alpha > 0 else tree)

    def _bin(self, table: Table, weights: Floats) -> Binned:
        max_bins = check_max_bins(self.max_bins)
        return bin_columns(table, max_bins=max_bins, categorical=self.is_categorical_, weights=weights)

    def _set_tree(self, tree: Tree) -> None:
        self.tree_ = replace(tree, category_values=self.categories_) if self.categories_ else tree
        self._walk = Walk.of([tree])

    def apply(self, X: Any) -> Longs:
        """Return the leaf of every row, (n,): the index of a node of `tree_`."""
        table = predict_table(self, X)
        return self._walk.leaves(table)[:, 0]

    def decision_path(self, X: Any) -> Any:
        """Return the nodes that every row passes, a sparse matrix (n, n_nodes) of 0 and 1."""
        return decision_path(self.tree_, self.apply(X))

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Return the effect of increasing `ccp_alpha` on the tree that is grown on these rows.

        Returns
        -------
        Bunch
            `ccp_alphas`, and `impurities`: total impurity of the leaves after each pruned branch.
        """
        return pruning_path(clone(self).set_params(ccp_alpha=0.0).fit(X, y, sample_weight).tree_)

    @property
    def max_features_(self) -> int:
        """Number of columns considered in a node."""
        check_is_fitted(self)
        return feature_count(self.max_features, self.n_features_in_)

    @property
    def n_outputs_(self) -> int:
        """Number of targets per row."""
        check_is_fitted(self)
        return self.tree_.n_targets

    def save(self, path: str | Path) -> None:
        """Write the tree to a file that `depthforest.ensemble.load` reads; equal trees give equal bytes."""
        save_trees(self, path)

    def _stored_trees(self) -> tuple[list[Tree], Categories]:
        return [self.tree_], self.categories_

    def _pack(self, columns: Columns) -> dict[str, Any]:  # noqa: ARG002 - a tree adds no columns
        return {}

    def _unpack(self, trees: list[Tree], categories: Categories, fitted: dict[str, Any], columns: Columns) -> None:  # noqa: ARG002 - likewise
        self.categories_, self.is_categorical_ = categories, categorical_flags(self.n_features_in_, categories)
        self._set_tree(trees[0])

    def get_depth(self) -> int:
        """Return the depth of the deepest leaf."""
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> Floats:
        """Share of the impurity decrease due to each column, (n_features,), summing to 1."""
        check_is_fitted(self)
        return self.tree_.compute_feature_importances(self.n_features_in_)

    def __sklearn_is_fitted__(self) -> bool:
        return "_walk" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags


class DecisionTreeClassifier(ClassifierMixin, _BaseTree):  # type: ignore[misc]
    """A decision tree for classification.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        1 - sum p^2, or -sum p log2 p, which has two names.
    splitter : {"best", "random"}, default="best"
        The best threshold of a column, or a random one, uniform between its smallest and largest value in the node.
    max_depth, max_leaf_nodes : int, optional
        Limits; by default a tree grows until its leaves are pure. With `max_leaf_nodes`, nodes are split in the order
        of their gain.
    min_samples_split, min_samples_leaf : int or float
        Number of rows, or share of all rows.
    min_weight_fraction_leaf : float
        Least share of the weight in a leaf.
    max_features : int, float, {"sqrt", "log2"}, optional
        Number of columns considered in a node, drawn at random for each node; default: all.
    min_impurity_decrease : float
        Least gain of a split: decrease of impurity times the node's share of the weight.
    class_weight : dict, "balanced", optional
    ccp_alpha : float
        Minimal cost-complexity pruning: a branch must decrease the impurity by this much for each additional leaf.
    max_bins : int or None, default=255
        Columns with more values than this are split at quantile bin edges; None: at any value.
    categorical_features : "from_dtype", mask, numbers or names of columns, optional
        Columns with unordered values of any type. Beyond 254 categories, the rarest share one code.
    monotonic_cst : sequence of -1, 0 and 1, or mapping from names to them, optional
        For each column, whether the share of the second class falls or rises with it. For two classes and one target.
    random_state : int, RandomState, Generator, optional

    Attributes
    ----------
    classes_ : (n_classes,) array
        With several targets, a list of such arrays.
    tree_ : Tree
    feature_importances_ : (n_features,) array
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    NaN is a missing value: a split sends all missing values to the side where the gain is larger. If a node had none in
    training, they go to its larger side; so do categories that it has not seen.
    """

    _layout = CLASS_TREE
    _criteria = CLASS_CRITERIA

    def __init__(
        self,
        *,
        criterion: str = "gini",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        max_bins: int | None = 255,
        categorical_features: Any = None,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.max_bins = max_bins
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DecisionTreeClassifier:
        """Grow the tree.

        Parameters
        ----------
        X : (n, n_features) array, sparse matrix or DataFrame
        y : (n,) or (n, n_targets) array
        sample_weight : (n,) array, optional

        Returns
        -------
        self
        """
        binned = None
        if isinstance(X, CodedTable):
            table, binned = X.table, X.binned
            self.__dict__.update(X.known)
        else:
            table = fit_table(self, X, self.categorical_features, sample_weight)
        self.classes_, codes = fit_classes(y, table)
        weights = check_weights(sample_weight, table)
        weights, unit = weighed_classes(weights, self.class_weight, self.classes_, codes)
        starts = class_starts(self.classes_)
        n_channels = starts[-1] if starts else len(self.classes_)
        self._grow(table, codes, np.ones(len(codes)), weights, n_channels, starts, unit=unit, binned=binned)
        return self

    @property
    def n_classes_(self) -> Any:
        """Number of classes; a list with several targets."""
        check_is_fitted(self)
        return class_count(self.classes_)

    def predict_proba(self, X: Any) -> Any:
        """Return the shares of the classes in the leaf of every row, (n, n_classes); a list with several targets."""
        return shares_by_target(self._shares(X), self.classes_)

    def _shares(self, X: Any) -> Floats:
        table = X.table if isinstance(X, CodedTable) else predict_table(self, X)
        return self._walk.mean(table)

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithm of `predict_proba`."""
        return logarithms(self.predict_proba(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most frequent class in the leaf of every row, the first if equal: (n,), or (n, n_targets)."""
        return best_classes(self._shares(X), self.classes_)


class DecisionTreeRegressor(RegressorMixin, _BaseTree):  # type: ignore[misc]
    """A decision tree for regression.

    Parameters
    ----------
    criterion : {"squared_error", "friedman_mse", "absolute_error", "poisson"}, default="squared_error"
        The first two are one criterion: both choose the same splits. With absolute_error, leaves predict medians;
        poisson is half of Poisson's deviance, for counts and rates from 0.
    All others
        As in `DecisionTreeClassifier`.

    Attributes
    ----------
    tree_ : Tree
    feature_importances_ : (n_features,) array
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    _layout = NUMBER_TREE
    _criteria = NUMBER_CRITERIA

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        max_bins: int | None = 255,
        categorical_features: Any = None,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.max_bins = max_bins
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DecisionTreeRegressor:
        """Grow the tree.

        Parameters
        ----------
        X : (n, n_features) array, sparse matrix or DataFrame
        y : (n,) or (n, n_targets) array
        sample_weight : (n,) array, optional

        Returns
        -------
        self
        """
        table = fit_table(self, X, self.categorical_features, sample_weight)
        weights = check_weights(sample_weight, table)
        targets, offset = fit_numbers(y, table, weights, criterion=self.criterion)
        n_targets = 1 if targets.ndim == 1 else targets.shape[1]
        starts, channels = starts_of([1] * n_targets), np.zeros(len(targets), dtype=np.int32)
        self._grow(table, channels, targets, weights, n_targets, starts, offset)
        return self

    def predict(self, X: Any) -> Floats:
        """Return the prediction of the leaf of every row, (n,), or (n, n_targets): the mean of its training targets.

        With criterion absolute_error, it is their median.
        """
        table = predict_table(self, X)
        means = self._walk.mean(table)
        return means if self.tree_.starts else means[:, 0]
