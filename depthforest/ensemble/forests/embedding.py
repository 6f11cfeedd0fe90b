"""Random trees embedding: rows encoded by the leaves of random trees, with a column of 0 and 1 for each leaf."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import TransformerMixin
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from depthforest.ensemble.forests.base import BaseForest
from depthforest.ensemble.tree import NUMBER_CRITERIA, ExtraTreeRegressor, check_weights, fit_table

TARGETS = 1
"""Stream of random numbers for the targets, separate from those of the trees."""


class RandomTreesEmbedding(TransformerMixin, BaseForest):  # type: ignore[misc]
    """One-hot encoding of rows by the leaves of totally random trees; parameters and defaults as in scikit-learn.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    max_depth : int, default=5
        Depth of each tree, which has up to 2^max_depth leaves.
    min_samples_split, min_samples_leaf, min_weight_fraction_leaf, max_leaf_nodes, min_impurity_decrease
        For each tree, as in `DecisionTreeRegressor`.
    sparse_output : bool, default=True
        Whether to return a sparse matrix instead of an array.
    n_jobs, random_state, verbose, warm_start
        As in `RandomForestRegressor`.

    Attributes
    ----------
    estimators_ : list of ExtraTreeRegressor
    one_hot_encoder_ : OneHotEncoder
        Maps leaf numbers to columns.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    _criteria = NUMBER_CRITERIA
    criterion = "squared_error"
    splitter = "random"
    max_features = 1
    bootstrap = False
    oob_score = False
    max_samples = None
    ccp_alpha = 0.0
    monotonic_cst = None
    max_bins = 255
    categorical_features = None

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_depth: int | None = 5,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        sparse_output: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.sparse_output = sparse_output
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : (n, n_features) array, sparse matrix or DataFrame
        y : ignored
        sample_weight : (n,) array, optional

        Returns
        -------
        self
        """
        self.fit_transform(X, y, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:  # noqa: ARG002 - y is scikit-learn's
        """Grow the trees and return the leaves of the rows, (n, n_leaves of all trees) of 0 and 1; as `fit`."""
        table = fit_table(self, X, None)
        weights = check_weights(sample_weight, table)
        # with random targets no node is pure and no split is better than another; the same targets in every fit
        targets = np.random.default_rng([len(table), TARGETS]).uniform(size=len(table))
        self._offset = 0.5
        self._fit(table, np.zeros(len(table), dtype=np.int32), targets, weights, 1)
        self.one_hot_encoder_ = OneHotEncoder(sparse_output=self.sparse_output, handle_unknown="ignore")
        return self.one_hot_encoder_.fit_transform(self._walk.leaves(table))

    def transform(self, X: Any) -> Any:
        """Return the leaves of rows, (n, n_leaves of all trees) of 0 and 1."""
        check_is_fitted(self)
        return self.one_hot_encoder_.transform(self.apply(X))

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:  # noqa: ARG002 - as there
        """Return the names of the columns of `transform`: randomtreesembedding_{tree}_{leaf}."""
        check_is_fitted(self)
        leaves = enumerate(self.one_hot_encoder_.categories_)
        return np.array([f"randomtreesembedding_{t}_{leaf}" for t, own in leaves for leaf in own], dtype=object)

    def _new_member(self, **parameters: Any) -> ExtraTreeRegressor:
        return ExtraTreeRegressor(**parameters)
