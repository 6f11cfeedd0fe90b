"""Forest base: many trees with randomized columns or thresholds, grown in parallel and averaged.

Every tree draws its rows and columns from its own seed. Trees are spread over threads; if there are fewer trees than
threads, each tree is itself spread over threads. The forest is the same either way.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from depthforest.base import DepthForestWarning, Floats, Ints, Longs, UsageError, is_whole, map_in_order
from depthforest.ensemble.fitting import (
    MemberSequence,
    Seeds,
    check_count,
    check_same,
    continued_seeds,
    in_parallel,
    is_on_cluster,
    job_count,
    kept_members,
    known_values,
    number,
    shown,
    whole,
)
from depthforest.ensemble.forests.outofbag import check_same_rows, permutation_importance
from depthforest.ensemble.forests.store import pack_forest, unpack_forest
from depthforest.ensemble.growth import bin_columns, check_max_bins
from depthforest.ensemble.tree import (
    Categories,
    ColumnImportances,
    Columns,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    Growth,
    Layout,
    Table,
    Tree,
    Walk,
    categorical_flags,
    check_one_target,
    decision_paths,
    growth_of,
    plant,
    predict_table,
    row_count,
    save_trees,
)

TREE_PARAMETERS = (
    "criterion", "splitter", "max_depth", "min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf",
    "max_features", "max_leaf_nodes", "min_impurity_decrease", "ccp_alpha", "monotonic_cst", "max_bins",
    "categorical_features",
)  # fmt: skip
"""Parameters that a forest passes on to its trees."""


OUT_OF_BAG = (
    "oob_score_", "oob_errors_", "oob_decision_function_", "oob_prediction_", "strength_", "correlation_",
    "error_bound_",
)  # fmt: skip
"""Attributes set by a fit with oob_score."""


def truth_print(channels: Any, targets: Floats) -> int:
    """Return a number that distinguishes y from other targets or another order of rows."""
    return zlib.crc32(np.ascontiguousarray(targets).data, zlib.crc32(np.ascontiguousarray(channels).data))


class BaseForest(ColumnImportances, MemberSequence, BaseEstimator):  # type: ignore[misc]
    """Common base of classification and regression forests."""

    splitter = "best"

    # set by `tasks` and `estimators`
    _layout: Layout
    _criteria: tuple[str, ...]

    trees_: list[Tree]
    _seeds: Seeds
    n_features_in_: int
    _keeps_rows = False
    _offset = 0.0
    _unit = 1.0

    # -- fitting -------------------------------------------------------------------------------------------------------

    def _fit(
        self,
        table: Table,
        channels: Any,
        targets: Floats,
        weights: Floats,
        n_channels: int,
        starts: tuple[int, ...] = (),
    ) -> None:
        """Grow the missing trees; `starts` are those of several targets (`fitting.shares`)."""
        for name in OUT_OF_BAG:  # of the last fit
            self.__dict__.pop(name, None)
        n_trees = whole("n_estimators", self.n_estimators, 1)
        old: list[Tree] = kept_members(self, "trees_")
        check_count(n_trees, len(old), "trees")
        if old:
            self._check_same_size(old, (*table.shape, n_channels))
        self._check_draws(n_trees, len(old))
        self._check_kinds(old, truth_print(channels, targets))
        self._seeds = continued_seeds(self._seeds if old else None, self.random_state, n_trees)
        self.n_rows_ = len(table)
        self._positive = np.flatnonzero(weights) if (weights == 0).any() else None
        growth = growth_of(
            self,
            n_rows=len(table) if self._positive is None else len(self._positive),
            n_features=table.shape[1],
            n_channels=n_channels,
            weight=float(weights.sum()),
            starts=starts,
            keeps_rows=self._keeps_rows,
        )
        trees = old.copy()
        try:
            for tree in self._grown(table, channels, targets, weights, growth, range(len(old), n_trees)):
                trees.append(tree)  # one by one, because an interrupted `extend` would lose them
        finally:  # an interrupted fit keeps the finished trees
            if trees:
                self._set_trees(trees)

    def _check_draws(self, n_trees: int, n_old: int) -> None:
        if self.oob_score and not self.bootstrap:
            raise UsageError(
                "Out of bag estimation only available if bootstrap=True: without it every tree sees all rows"
            )
        if self.max_samples is not None and not self.bootstrap:
            raise UsageError(
                "`max_sample` cannot be set if `bootstrap=False`: without it every tree sees all rows; set "
                "`max_samples=None` or `bootstrap=True`"
            )
        if n_old and n_trees == n_old:
            warnings.warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees.",
                DepthForestWarning,
                stacklevel=4,
            )

    def _check_same_size(self, old: list[Tree], now: tuple[int, int, int]) -> None:
        before = (self.n_rows_, self._n_columns, old[0].n_outputs)
        if before != now:
            raise UsageError(
                "warm_start needs the same rows, columns and classes as before: the trees were grown on "
                f"{before[0]} rows, {before[1]} columns and {before[2]} outputs, got {now[0]}, {now[1]} and {now[2]}"
            )

    def _check_kinds(self, old: list[Tree], truth: int) -> None:
        """Store the classes and categories behind the trees' codes; raise if they differ from those of old trees."""
        kinds = known_values(self)
        known = getattr(self, "_kinds", None)  # a loaded forest has none
        if old and known is not None:
            check_same(known[0], kinds, "classes and categories")
            if self.oob_score and known[1] != truth:
                raise UsageError(
                    "warm_start with oob_score needs the same rows in the same order as before, got a different y: it "
                    "is unknown which rows the old trees have seen"
                )
        self._kinds = (kinds, truth)

    def _check_same_truth(self, channels: Any, targets: Floats) -> None:
        """Raise unless y is that of the fit: the order of rows tells which tree has seen which rows."""
        known = getattr(self, "_kinds", None)
        if known is not None and len(channels) == self.n_rows_ and known[1] != truth_print(channels, targets):
            raise UsageError("out-of-bag figures need the rows of the fit, in their order; got a different y")

    def _grown(
        self,
        table: Table,
        channels: Any,
        targets: Floats,
        weights: Floats,
        growth: Growth,
        numbers: range,
    ) -> Iterator[Tree]:
        """Yield new trees in order."""
        threads = job_count(self.n_jobs, in_threads=True)
        alpha = number("ccp_alpha", self.ccp_alpha, 0, np.inf)
        max_bins = check_max_bins(self.max_bins)
        self._n_drawn = self._draw_count(len(table))
        if not len(numbers):
            return
        binned = bin_columns(
            table, max_bins=max_bins, categorical=self.is_categorical_, weights=weights, threads=threads
        )
        is_spread = is_on_cluster()
        within = 1 if is_spread or len(numbers) >= threads else threads

        def grow(t: int) -> Tree:
            own = self._tree_weights(t, channels, weights)
            # scaled by this tree's share of the weight
            its = replace(growth, min_weight=growth.min_weight * float(own.sum() / weights.sum()))
            tree = plant(
                binned, channels, targets, own, its, offset=self._offset, seed=int(self._seeds[t]), threads=within
            ).in_unit(self._unit)
            return tree.without_branches(alpha) if alpha > 0 else tree

        if is_spread:
            trees = in_parallel(grow, numbers, n_jobs=-1)
        else:
            trees = map_in_order(grow, numbers, threads=1 if within > 1 else threads)
        yield from shown(trees, n=len(numbers), title="growing trees", verbose=self.verbose)

    def _draw_count(self, n_rows: int) -> int:
        max_samples = self.max_samples
        n = n_rows if self._positive is None else len(self._positive)
        if max_samples is None:
            return n
        count = row_count("max_samples", max_samples, n, least=1)
        if is_whole(max_samples) and count > n:
            raise UsageError(f"max_samples must be at most the {n} rows that have weight, got {max_samples}")
        return count

    def _drawn_rows(self, t: int) -> Longs:
        """Return the rows that a tree is grown from, with repetitions; rows without weight are never drawn."""
        if not self.bootstrap:
            return np.arange(self.n_rows_) if self._positive is None else self._positive
        rng = np.random.RandomState(self._seeds[t])
        drawn = rng.randint(0, self.n_rows_ if self._positive is None else len(self._positive), self._n_drawn)
        return np.asarray(drawn if self._positive is None else self._positive[drawn])

    def _tree_weights(self, t: int, channels: Any, weights: Floats) -> Floats:  # noqa: ARG002 - classes use channels
        """Return the weights of rows in a tree: their own, times how often the tree drew them."""
        if not self.bootstrap:
            return weights
        return np.bincount(self._drawn_rows(t), minlength=self.n_rows_) * weights

    def _unseen_rows(self, t: int) -> Longs:
        """Return the rows that a tree has not seen."""
        is_seen = np.zeros(self.n_rows_, dtype=bool)
        is_seen[self._drawn_rows(t)] = True
        return np.flatnonzero(~is_seen)

    def _set_trees(self, trees: list[Tree]) -> None:
        self.trees_ = trees
        self._n_columns = self.n_features_in_  # a failed fit may change n_features_in_ later
        self._walk = Walk.of(trees)
        self.__dict__.pop("estimators_", None)

    # -- attributes and predictions ------------------------------------------------------------------------------------

    @cached_property
    def estimators_(self) -> list[Any]:
        """The trees as estimators; classification trees predict class codes, as in scikit-learn."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("estimators_")
        parameters = {name: getattr(self, name) for name in TREE_PARAMETERS}
        members = []
        for seed, tree in zip(self._seeds, self.trees_, strict=False):
            member = self._new_member(**parameters, random_state=int(seed))
            member.n_features_in_ = self.n_features_in_
            member.is_categorical_, member.categories_ = self.is_categorical_, self.categories_
            member._set_tree(tree)
            members.append(member)
        return members

    def _new_member(self, **parameters: Any) -> DecisionTreeClassifier | DecisionTreeRegressor:
        """Return an estimator without its tree, which is set later."""
        raise NotImplementedError

    @property
    def estimators_samples_(self) -> list[Ints]:
        """Rows that each tree was grown from, int32."""
        check_is_fitted(self)
        return [self._drawn_rows(t).astype(np.int32) for t in range(len(self.trees_))]

    @property
    def feature_importances_(self) -> Floats:
        """Share of the impurity decrease due to each column, (n_features,): the mean over trees, summing to 1."""
        check_is_fitted(self)
        mean = np.mean([tree.compute_feature_importances(self.n_features_in_) for tree in self.trees_], axis=0)
        return np.asarray(mean / mean.sum() if mean.sum() > 0 else mean)

    def proximities(self, X: Any, other: Any = None) -> Floats:
        """Return the share of the trees in which two rows fall into the same leaf, (n, n_others).

        Parameters
        ----------
        X : (n, n_features) array, sparse matrix or DataFrame
        other : (n_others, n_features), optional
            Default: X.
        """
        marked = self._marked_leaves(X)
        of_others = marked if other is None else self._marked_leaves(other)
        return np.asarray((marked @ of_others.T).toarray() / len(self.trees_))

    def _marked_leaves(self, X: Any) -> csr_array:
        """Return the leaves of rows, (n, n_nodes): a column of 0 and 1 for each node of all trees."""
        leaves = self.apply(X) + self._walk.roots
        starts = np.arange(0, leaves.size + 1, leaves.shape[1])
        shape = (len(leaves), len(self._walk.nodes))
        return csr_array((np.ones(leaves.size), leaves.ravel(), starts), shape=shape)

    def apply(self, X: Any) -> Longs:
        """Return the leaf of every row in every tree, (n, n_trees)."""
        table = predict_table(self, X)
        return self._walk.leaves(table, threads=job_count(self.n_jobs, in_threads=True))

    def decision_path(self, X: Any) -> tuple[Any, Longs]:
        """Return the nodes that every row passes, sparse (n, n_nodes of all trees), and where each tree's begin."""
        leaves = self.apply(X)
        return decision_paths(self.trees_, leaves)

    @property
    def estimator_(self) -> Any:
        """An unfitted tree with the parameters of this forest's trees."""
        return clone(self.estimators_[0]).set_params(random_state=None)

    @property
    def n_outputs_(self) -> int:
        """Number of targets per row."""
        check_is_fitted(self)
        return self.trees_[0].n_targets

    def _permutation_importance(self, X: Any, truth: npt.NDArray[Any]) -> Bunch:
        table = predict_table(self, X)
        if not self.bootstrap:
            raise UsageError("permutation_importance needs bootstrap=True: without it every tree has seen all rows")
        check_one_target(self.trees_[0], "permutation_importance")
        check_same_rows(self.n_rows_, table, truth)
        threads = job_count(self.n_jobs, in_threads=True)
        return permutation_importance(
            self.trees_, self._unseen_rows, table, truth, seed=int(self._seeds[0]), threads=threads
        )

    def _mean(self, X: Any) -> Floats:
        table = predict_table(self, X)
        return self._walk.mean(table, threads=job_count(self.n_jobs, in_threads=True))

    def save(self, path: str | Path) -> None:
        """Write the forest to a file that `depthforest.ensemble.load` reads; equal forests give equal bytes.

        Parameters
        ----------
        path : str or Path

        Notes
        -----
        `n_jobs`, `verbose` and out-of-bag predictions, which are as long as the training table, are not stored. The
        data for `predict_quantiles` are.
        """
        save_trees(self, path)

    def _stored_trees(self) -> tuple[list[Tree], Categories]:
        return self.trees_, self.categories_

    def _pack(self, columns: Columns) -> dict[str, Any]:
        return pack_forest(self, self._layout.fitted, columns)

    def _unpack(self, trees: list[Tree], categories: Categories, fitted: dict[str, Any], columns: Columns) -> None:
        self.categories_, self.is_categorical_ = categories, categorical_flags(self.n_features_in_, categories)
        unpack_forest(self, trees, fitted, columns)
        self._set_trees(self._with_rows(trees, columns))

    def _with_rows(self, trees: list[Tree], columns: Columns) -> list[Tree]:  # noqa: ARG002 - numbers use columns
        """Return the trees of a file with the rows of their leaves, if it has them."""
        return trees

    def __len__(self) -> int:
        return len(self.trees_) if hasattr(self, "trees_") else 0

    def __sklearn_is_fitted__(self) -> bool:
        return "_walk" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags
