"""Isolation forest: outliers are rows that random splits soon separate from all others (Liu, Ting and Zhou 2008).

Every tree is grown from a few rows with random thresholds of random columns. Let h be the depth of a row's leaf, plus
the expected depth of the subtree that was not grown. The score of the row is 2^(-mean h / c), where c(n) is the mean
depth of a random search tree.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted

from depthforest.base import DepthForestWarning, Floats, Ints, Longs, UsageError, is_number, is_whole, map_in_order
from depthforest.ensemble.fitting import (
    MemberSequence,
    Seeds,
    check_count,
    continued_seeds,
    is_flag,
    job_count,
    kept_members,
    resolved_count,
    shown,
    whole,
)
from depthforest.ensemble.growth import SparseTable, bin_columns
from depthforest.ensemble.tree import (
    ExtraTreeRegressor,
    Growth,
    Table,
    Tree,
    Walk,
    check_weights,
    fit_table,
    in_blocks,
    plant,
    predict_table,
)

AUTO_ROWS = 256
"""Rows of a tree for max_samples="auto": with more, outliers hide each other, and growing takes longer."""

AUTO_OFFSET = -0.5
"""With contamination="auto", outliers score below this: the score of a row whose leaves have average depth."""


def mean_path_length(n: Any) -> Floats:
    """Return the mean depth of a leaf in a random search tree of n rows, float64."""
    counts = np.asarray(n, dtype=np.float64)
    many = np.maximum(counts, 3.0)
    length = 2.0 * (np.log(many - 1.0) + np.euler_gamma) - 2.0 * (many - 1.0) / many
    return np.where(counts <= 1, 0.0, np.where(counts <= 2, 1.0, length))


class IsolationForest(MemberSequence, OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Finds outliers by how soon random splits isolate a row; parameters and defaults as in scikit-learn.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    max_samples : int, float or "auto", default="auto"
        Rows of a tree, or their share; "auto" for 256, or all if there are fewer.
    contamination : "auto" or float, default="auto"
        Share of the training rows that are outliers, above 0 and up to 0.5; "auto" for scores below -0.5.
    max_features : int or float, default=1.0
        Columns of a tree, or their share.
    bootstrap : bool, default=False
        Draw rows with replacement.
    n_jobs : int, optional
        Threads; -1 for all cores. The forest does not depend on it.
    random_state : int, RandomState, Generator, optional
    verbose : int, default=0
        Above 0 shows progress.
    warm_start : bool, default=False
        Keep the trees of the last fit and add trees up to `n_estimators`.

    Attributes
    ----------
    estimators_ : list of ExtraTreeRegressor
    estimators_samples_, estimators_features_ : list of arrays
        Rows and columns of each tree.
    max_samples_ : int
        Rows of a tree.
    offset_ : float
        Offset that `decision_function` subtracts from the scores: outliers are below 0.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    NaN is a missing value and goes to a random side.
    """

    estimators_: list[ExtraTreeRegressor]
    _seeds: Seeds
    _n_columns: int
    _draws: list[Any]
    _walk: Walk

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        max_samples: Any = "auto",
        contamination: Any = "auto",
        max_features: float = 1.0,
        bootstrap: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.contamination = contamination
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    # -- fitting -------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002 - y is scikit-learn's
        """Grow the forest.

        Parameters
        ----------
        X : (n, n_features) array, sparse matrix or DataFrame
        y : ignored
        sample_weight : (n,) array, optional
            Rows are drawn in proportion to it; without `bootstrap`, those of weight 0 are left out.

        Returns
        -------
        self
        """
        n_trees = whole("n_estimators", self.n_estimators, 1)
        self._check_contamination()
        old: list[ExtraTreeRegressor] = kept_members(self, "estimators_")
        check_count(n_trees, len(old), "trees")
        table = fit_table(self, X, None)
        weights = None if sample_weight is None else check_weights(sample_weight, table)
        if old and self._n_columns != table.shape[1]:
            raise UsageError(f"warm_start needs {self._n_columns} columns as before, got {table.shape[1]}")
        self.max_samples_ = self._draw_count(len(table))
        self._n_columns = table.shape[1]
        n_columns = min(resolved_count("max_features", self.max_features, table.shape[1]), table.shape[1])
        self._seeds = continued_seeds(self._seeds if old else None, self.random_state, n_trees)
        self._draws = self._draws[: len(old)] if old else []

        def grow(t: int) -> tuple[Ints, Ints, ExtraTreeRegressor]:
            return self._member(table, weights, n_columns, int(self._seeds[t]))

        threads = job_count(self.n_jobs, in_threads=True)
        numbers = range(len(old), n_trees)
        grown = map_in_order(grow, numbers, threads=threads)
        for rows, columns, member in shown(grown, n=len(numbers), title="growing trees", verbose=self.verbose):
            self._draws.append((rows, columns))
            old.append(member)
        self.estimators_ = old
        self._walk = Walk.of([member.tree_ for member in old])
        self.offset_ = AUTO_OFFSET
        if self.contamination != "auto":
            self.offset_ = float(np.percentile(self._scores(table), 100.0 * self.contamination))
        return self

    def _check_contamination(self) -> None:
        share = self.contamination
        if share != "auto" and not (is_number(share) and 0 < share <= 0.5):
            raise UsageError(f"contamination must be 'auto' or a number above 0 and up to 0.5, got {share!r}")
        if not is_flag(self.bootstrap):
            raise UsageError(f"bootstrap must be True or False, got {self.bootstrap!r}")

    def _draw_count(self, n_rows: int) -> int:
        if self.max_samples == "auto":
            return min(AUTO_ROWS, n_rows)
        if is_whole(self.max_samples) and self.max_samples > n_rows:
            warnings.warn(
                f"max_samples ({self.max_samples}) is greater than the total number of samples ({n_rows}). max_samples "
                "will be set to n_samples for estimation.",
                DepthForestWarning,
                stacklevel=3,
            )
            return n_rows
        return resolved_count("max_samples", self.max_samples, n_rows)

    def _member(
        self, table: Table, weights: Floats | None, n_columns: int, seed: int
    ) -> tuple[Ints, Ints, ExtraTreeRegressor]:
        """Return the rows and columns that a tree draws, and the tree."""
        rng = np.random.RandomState(seed)
        n_rows, n_features = table.shape
        shares = None if weights is None else weights / weights.sum()
        if self.bootstrap:
            rows = rng.choice(n_rows, self.max_samples_, p=shares)
        else:
            n_known = n_rows if shares is None else int(np.count_nonzero(shares))
            rows = rng.choice(n_rows, min(self.max_samples_, n_known), replace=False, p=shares)
        columns = np.sort(rng.choice(n_features, n_columns, replace=False))
        used, counts = np.unique(rows, return_counts=True)
        part = table[used][:] if isinstance(table, SparseTable) else table[used]
        binned = bin_columns(np.ascontiguousarray(part[:, columns]), max_bins=None)
        max_depth = math.ceil(math.log2(max(self.max_samples_, 2)))
        growth = Growth("squared_error", True, 1, 1, max_depth=max_depth)
        # with random targets no node is pure and no split is better than another
        tree = plant(
            binned,
            np.zeros(len(used), np.int32),
            rng.uniform(size=len(used)),
            counts.astype(np.float64),
            growth,
            seed=seed,
        )
        features = np.where(tree.is_leaf, tree.feature, columns[tree.feature]).astype(np.int32)
        member = ExtraTreeRegressor(max_features=1, max_depth=max_depth, random_state=seed)
        member.n_features_in_ = n_features
        member.is_categorical_, member.categories_ = self.is_categorical_, self.categories_
        member._set_tree(replace(tree, feature=features))
        return np.sort(rows).astype(np.int32), columns.astype(np.int32), member

    # -- predictions ---------------------------------------------------------------------------------------------------

    def score_samples(self, X: Any) -> Floats:
        """Return the normality of rows, (n,), from -1 for outliers to 0."""
        return self._scores(predict_table(self, X))

    def decision_function(self, X: Any) -> Floats:
        """Return `score_samples` minus `offset_`, (n,): outliers are below 0."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> Longs:
        """Return -1 for outliers and 1 for other rows, (n,)."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def _scores(self, table: Table) -> Floats:
        trees = [member.tree_ for member in self.estimators_]
        lengths = np.concatenate([_path_lengths(tree) for tree in trees])
        out = np.empty((len(table), 1))

        def fill(rows: slice) -> None:
            leaves = self._walk.leaves(table[rows]) + self._walk.roots
            out[rows, 0] = lengths[leaves].mean(axis=1)

        in_blocks(fill, table, out, job_count(self.n_jobs, in_threads=True))
        usual = float(mean_path_length(self.max_samples_))
        # trees of a single row carry no information: all rows get the score of average depth
        return -(2.0 ** (-out[:, 0] / usual)) if usual > 0 else np.full(len(table), AUTO_OFFSET)

    @property
    def estimators_samples_(self) -> list[Ints]:
        """Rows that each tree was grown from, int32."""
        check_is_fitted(self)
        return [rows for rows, _ in self._draws]

    @property
    def estimators_features_(self) -> list[Ints]:
        """Columns that each tree was grown from, int32."""
        check_is_fitted(self)
        return [columns for _, columns in self._draws]

    def __sklearn_is_fitted__(self) -> bool:
        return "_walk" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags


def _path_lengths(tree: Tree) -> Floats:
    """Return the depth of every node, plus the expected depth of the subtree that was not grown."""
    return tree.depths + mean_path_length(tree.weighted_n_node_samples)
