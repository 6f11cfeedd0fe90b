"""Boosting base: what gradient and Newton boosting share as estimators: rounds, early stopping, stages, warm start."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted

from depthforest.base import Floats, Longs, UsageError
from depthforest.ensemble.boosting.losses.choice import Loss, loss_of
from depthforest.ensemble.boosting.planting import BoostGrowth
from depthforest.ensemble.boosting.rounds import Rounds, Rows, add_round, weighed_mean
from depthforest.ensemble.boosting.store import check_own_loss, pack_boosted, unpack_boosted
from depthforest.ensemble.boosting.walking import add_trees
from depthforest.ensemble.fitting import (
    MemberSequence,
    Seeds,
    check_count,
    check_same,
    continued_seeds,
    job_count,
    kept_members,
    known_values,
    number,
    shown,
    whole,
)
from depthforest.ensemble.growth import bin_columns, check_max_bins
from depthforest.ensemble.tree import (
    Categories,
    Columns,
    DecisionTreeRegressor,
    Table,
    Tree,
    Walk,
    categorical_flags,
    check_weights,
    encoded_table,
    fit_table,
    predict_table,
    save_trees,
)

INITS = (None, "zero")

SCORES = ("train_score", "validation_score", "oob_improvement")
"""Known of rounds, as attributes with an underscore."""


class BaseBoosting(MemberSequence, BaseEstimator):  # type: ignore[misc]
    """What boosted classifiers and regressors share."""

    _n_classes: int | None = None  # of y, where it is classes
    _is_newton = False
    alpha = 0.9  # of losses that have one
    power = 1.5  # the same

    trees_: list[Tree]
    _seeds: Seeds
    start_: Floats
    n_features_in_: int

    # -- fitting -------------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Boost.

        Parameters
        ----------
        X : (n, n_features) array, sparse matrix or DataFrame
        y : (n,) array
        sample_weight : (n,) array, optional
        X_val, y_val, sample_weight_val : optional
            Rows to judge rounds by, in place of a share of X.

        Returns
        -------
        self
        """
        table = fit_table(self, X, self.categorical_features)
        truth = self._fit_truth(y, table)
        weights = self._by_class(check_weights(sample_weight, table), truth)
        loss = self._loss_for_fit()
        growth = self._growth(loss, *table.shape)
        old = self._kept(loss)
        has_weight = weights > 0
        if not has_weight.all():  # as if they were not there
            table, truth, weights = table[has_weight], truth[has_weight], weights[has_weight]
        training, validation = self._parted(table, truth, weights, loss, X_val, y_val, sample_weight_val)
        for rows in (training, validation):
            if rows is not None:
                loss.check_targets(rows.y)
        self._begin(old, training, validation)
        self._boost(growth, training, validation, old)
        return self

    def _kept(self, loss: Loss) -> list[Tree]:
        """Return the trees that a warm start keeps, and see that all rounds have seeds."""
        old: list[Tree] = kept_members(self, "trees_")
        n_rounds = whole("n_estimators", self.n_estimators, 1)
        kinds, known = self._kinds_by(loss), getattr(self, "_kinds", None)
        if old and known is not None:
            check_same(known, kinds, "loss, columns, classes and categories")
        check_count(n_rounds, len(old) // loss.n_outputs, "rounds")
        self._kinds = kinds
        self._seeds = continued_seeds(self._seeds if old else None, self.random_state, n_rounds + 1)
        return old

    def _begin(self, old: list[Tree], training: Rows, validation: Rows | None) -> None:
        """Give all rows the raw values that they have before the first new round."""
        start = training.loss.start(training.y, training.weights)  # a loss of one's own is checked here
        if not old:
            self.__dict__.pop("trees_", None)  # of the last fit: nothing may go on from them
            self.start_ = start if self.init is None else np.zeros(len(start))
            self.train_score_, self.validation_score_ = np.empty(0), np.empty(0)
            self.oob_improvement_ = np.empty(0)
        for rows in (training, validation):
            if rows is not None:
                rows.raw = self._raw_after(rows.table, old)
        self._loss = training.loss

    def _fit_truth(self, y: Any, table: Table) -> npt.NDArray[Any]:
        """Return the targets, or the numbers of classes."""
        if y is None:
            raise UsageError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        return self._truth(y, table)

    def _truth(self, y: Any, table: Table) -> npt.NDArray[Any]:
        raise NotImplementedError

    def _by_class(self, weights: Floats, truth: npt.NDArray[Any]) -> Floats:  # noqa: ARG002 - classes use truth
        """Return the weights of rows, times those of their classes where these have some."""
        return weights

    def _validation_truth(self, y_val: Any, table: Table) -> npt.NDArray[Any]:
        """Return the targets of rows to judge by, or the numbers of classes that fit has seen."""
        return self._truth(y_val, table)

    def _loss_for_fit(self) -> Loss:
        loss = self._loss_by(self.loss)
        if self.init not in INITS:
            raise UsageError(f"init must be None for the best constant, or 'zero'; got {self.init!r}")
        return loss

    def _loss_by(self, name: Any) -> Loss:
        """Return the loss of a name, or of an object; files name theirs."""
        loss = loss_of(name, n_classes=self._n_classes, alpha=self.alpha, power=self.power)
        if self._is_newton and not (loss.has_hessian or loss.is_searched):
            raise UsageError(
                f"Newton boosting needs second derivatives, which loss {loss.name!r} has not: use "
                f"{type(self).__name__.replace('Newton', 'Gradient')}"
            )
        return loss

    def _growth(self, loss: Loss, n_rows: int, n_features: int) -> BoostGrowth:
        raise NotImplementedError

    def _kinds_by(self, loss: Loss) -> tuple[Any, ...]:
        """Return what trees mean by their numbers: another fit must mean the same to add to them."""
        return loss.name, self.n_features_in_, *known_values(self)

    def _parted(
        self,
        table: Table,
        truth: npt.NDArray[Any],
        weights: Floats,
        loss: Loss,
        X_val: Any,
        y_val: Any,
        sample_weight_val: Any,
    ) -> tuple[Rows, Rows | None]:
        """Return the rows to train on and those to judge rounds by, if there are any."""
        if (X_val is None) != (y_val is None):
            raise UsageError("X_val and y_val go together: pass both, or neither")
        if X_val is not None:
            its_table = encoded_table(self, X_val)
            its_truth = self._validation_truth(y_val, its_table)
            its_weights = self._by_class(check_weights(sample_weight_val, its_table), its_truth)
            return Rows(table, truth, weights, loss), Rows(its_table, its_truth, its_weights, loss)
        if self.n_iter_no_change is None:
            return Rows(table, truth, weights, loss), None
        share = self._validation_share()
        try:
            learned, judged = train_test_split(
                np.arange(len(truth)),
                test_size=share,
                stratify=None if self._n_classes is None else truth,
                random_state=int(self._seeds[0]),
            )
        except ValueError as error:
            raise UsageError(f"early stopping cannot set validation_fraction={share:g} aside: {error}") from None
        learned, judged = np.sort(learned), np.sort(judged)
        return tuple(  # type: ignore[return-value]
            Rows(table[rows], truth[rows], weights[rows], loss) for rows in (learned, judged)
        )

    def _validation_share(self) -> float:
        share = number("validation_fraction", self.validation_fraction, 0, 1)
        if not 0 < share < 1:
            raise UsageError(f"validation_fraction must be above 0 and below 1, got {share:g}")
        return share

    def _raw_after(self, table: Table, trees: list[Tree], base: Floats | None = None) -> Floats:
        """Return the raw values that trees add to the start, or to that of each row, (n,) or (n_outputs, n)."""
        out = np.tile(self.start_, (len(table), 1)) if base is None else base.reshape(len(table), -1).copy()
        if trees:
            add_trees(Walk.of(trees), table, out, threads=job_count(self.n_jobs, in_threads=True))
        return out[:, 0].copy() if out.shape[1] == 1 else np.ascontiguousarray(out.T)

    def _boost(self, growth: BoostGrowth, training: Rows, validation: Rows | None, trees: list[Tree]) -> None:
        """Go on from the trees there are."""
        threads = job_count(self.n_jobs, in_threads=True)
        patience = None if self.n_iter_no_change is None else whole("n_iter_no_change", self.n_iter_no_change, 1)
        tolerance = number("tol", self.tol, 0)
        rate = number("learning_rate", self.learning_rate, 0)
        subsample = number("subsample", self.subsample, 0, 1)
        if not rate or not subsample:
            raise UsageError(f"learning_rate and subsample must be above 0, got {rate:g} and {subsample:g}")
        max_bins = check_max_bins(self.max_bins)
        n_outputs, n_rounds = training.loss.n_outputs, whole("n_estimators", self.n_estimators, 1)
        n_before = len(trees) // n_outputs
        scores: dict[str, list[float]] = {name: getattr(self, f"{name}_")[:n_before].tolist() for name in SCORES}

        def keep(name: str, score: float) -> None:
            n_missing = len(trees) // n_outputs - 1 - len(scores[name])  # rounds before that were not judged
            scores[name] += [np.nan] * n_missing + [score]

        try:
            if n_before == n_rounds:
                return
            binned = bin_columns(
                training.table,
                max_bins=max_bins,
                categorical=self.is_categorical_,
                weights=training.weights,
                threads=threads,
            )
            rounds = Rounds(training, binned, growth, rate, subsample, self._is_newton, threads)
            seeds = self._seeds[1 + n_before : 1 + n_rounds].tolist()
            for grown in shown(map(rounds.round, seeds), n=len(seeds), title="boosting", verbose=self.verbose):
                trees.extend(grown)
                keep("train_score", rounds.train_score)
                if subsample < 1 and training.loss.is_by_row:
                    keep("oob_improvement", rounds.oob_improvement)
                if validation is not None:
                    add_round(grown, validation, threads)
                    losses = validation.losses(threads)
                    keep("validation_score", weighed_mean(losses, validation.weights))
                    if patience is not None and _is_over(scores["validation_score"], patience, tolerance):
                        break
        finally:  # an interrupted fit keeps what it has
            if trees:
                if patience is not None and not np.isnan(scores["validation_score"]).all():
                    n_best = 1 + int(np.nanargmin(scores["validation_score"]))
                    del trees[n_best * n_outputs :]
                for name, values in scores.items():
                    setattr(self, f"{name}_", np.asarray(values))
                self._set_trees(trees)

    def _set_trees(self, trees: list[Tree]) -> None:
        self.trees_ = trees
        self.n_estimators_ = len(trees) // len(self.start_)
        self._walk = Walk.of(trees)
        self.__dict__.pop("estimators_", None)

    # -- predicting ----------------------------------------------------------------------------------------------------

    def _raw(self, X: Any) -> Floats:
        """Return raw values, (n, n_outputs)."""
        table = predict_table(self, X)
        out = np.tile(self.start_, (len(table), 1))
        add_trees(self._walk, table, out, threads=job_count(self.n_jobs, in_threads=True))
        return out

    def _staged_raw(self, X: Any) -> Iterator[Floats]:
        """Yield raw values after every round, (n, n_outputs), each a new array."""
        table = predict_table(self, X)
        threads = job_count(self.n_jobs, in_threads=True)
        out = np.tile(self.start_, (len(table), 1))
        n = len(self.start_)
        for r in range(self.n_estimators_):
            add_trees(self._walk, table, out, first=r * n, last=(r + 1) * n, threads=threads)
            yield out.copy()

    def apply(self, X: Any) -> Longs:
        """Return the leaf of every row in every tree, (n, n_rounds); of classes (n, n_rounds, n_outputs)."""
        table = predict_table(self, X)
        leaves = self._walk.leaves(table, threads=job_count(self.n_jobs, in_threads=True))
        return leaves if self._n_classes is None else leaves.reshape(len(table), -1, len(self.start_))

    # -- what is known of it -------------------------------------------------------------------------------------------

    @cached_property
    def estimators_(self) -> npt.NDArray[Any]:
        """The trees as regressors of steps in raw values, (n_rounds, n_outputs) objects."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("estimators_")
        members = np.empty(len(self.trees_), dtype=object)
        for t, tree in enumerate(self.trees_):
            member = DecisionTreeRegressor(categorical_features=self.categorical_features, max_bins=self.max_bins)
            member.n_features_in_ = self.n_features_in_
            if hasattr(self, "feature_names_in_"):
                member.feature_names_in_ = self.feature_names_in_
            member.is_categorical_, member.categories_ = self.is_categorical_, self.categories_
            member._set_tree(tree)
            members[t] = member
        return members.reshape(-1, len(self.start_))

    @property
    def feature_importances_(self) -> Floats:
        """What the splits of each column gain in all trees, (n_features,), summing to 1; zeros without a split."""
        check_is_fitted(self)
        gains = np.sum([tree.gains(self.n_features_in_) for tree in self.trees_], axis=0)
        return np.asarray(gains / gains.sum() if gains.sum() > 0 else gains)

    def save(self, path: str | Path) -> None:
        """Write the trees to a file that `depthforest.ensemble.load` reads; equal ensembles give equal bytes.

        Parameters
        ----------
        path : str or Path

        Notes
        -----
        `n_jobs` and `verbose` are not stored. An ensemble of a loss of one's own cannot be: files hold no code.
        """
        save_trees(self, path)

    def _stored_trees(self) -> tuple[list[Tree], Categories]:
        check_own_loss(self)
        return self.trees_, self.categories_

    def _pack(self, columns: Columns) -> dict[str, Any]:
        return pack_boosted(self, columns)

    def _unpack(self, trees: list[Tree], categories: Categories, fitted: dict[str, Any], columns: Columns) -> None:
        self.categories_, self.is_categorical_ = categories, categorical_flags(self.n_features_in_, categories)
        unpack_boosted(self, trees, fitted, columns)
        self._set_trees(trees)

    def __len__(self) -> int:
        return getattr(self, "n_estimators_", 0)

    def __sklearn_is_fitted__(self) -> bool:
        return "_walk" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags


def _is_over(scores: list[float], patience: int, tolerance: float) -> bool:
    """Return whether the last rounds brought nothing: none is better than the best before them."""
    known = [score for score in scores if not np.isnan(score)]
    return len(known) > patience and min(known[-patience:]) > min(known[:-patience]) - tolerance
