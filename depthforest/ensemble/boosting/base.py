"""Boosting base: the common base of gradient and Newton boosting: rounds, early stopping, stages, warm start."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from depthforest.base import Floats, Longs, UsageError
from depthforest.ensemble.boosting.judging import LOSS, RoundJudge, Watched, callbacks_of, scorers_of
from depthforest.ensemble.boosting.losses.choice import Loss, loss_of
from depthforest.ensemble.boosting.planting import BoostGrowth
from depthforest.ensemble.boosting.rounds import Rounds, Rows
from depthforest.ensemble.boosting.sampling import sampling_of
from depthforest.ensemble.boosting.starting import Started, check_init, fitted_start, is_estimator
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
    ColumnImportances,
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

VALIDATION = "validation"
"""Name, in `evals_result_`, of the rows that early stopping uses."""

SCORES = ("train_score", "validation_score", "oob_improvement", "oob_scores")
"""Attributes with one value per round, here without their trailing underscore."""


class BaseBoosting(Started, ColumnImportances, MemberSequence, BaseEstimator):  # type: ignore[misc]
    """Common base of boosted classifiers and regressors."""

    _n_classes: int | None = None  # number of classes of y, for classifiers
    _is_newton = False
    alpha = 0.9  # for losses that have one
    power = 1.5  # likewise
    scoring: Any = None

    trees_: list[Tree]
    _seeds: Seeds
    oob_scores_: Floats
    _known_raw: Floats | None = None  # in a view: the raw values of the only rows it predicts
    n_features_in_: int

    # -- fitting -------------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        monitor: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        eval_set: Any = None,
        base_margin: Any = None,
        base_margin_val: Any = None,
        callbacks: Any = None,
    ) -> Self:
        """Fit the ensemble round by round.

        Parameters
        ----------
        X : (n, n_features) array, sparse matrix or DataFrame
        y : (n,) array
        sample_weight : (n,) array, optional
        monitor, callbacks : callable, list of callables, optional
            Called after each round as `f(round, estimator, scores)`, where `scores` has this round's values of
            `evals_result_`. A true return value ends the fit.
        X_val, y_val, sample_weight_val : optional
            Validation rows, instead of a share of X.
        eval_set : list of (X, y) or (X, y, sample_weight), optional
            More rows that evaluate rounds, "validation_0" and so on in `evals_result_`. Without `X_val`, early stopping
            uses the first.
        base_margin, base_margin_val : (n,) or (n, n_outputs) array, optional
            Raw values to start from instead of `init`, for each row of X and of X_val. Predictions then need those of
            their rows, too.

        Returns
        -------
        self
        """
        table = fit_table(self, X, self.categorical_features, sample_weight)
        truth = self._fit_truth(y, table)
        weights = self._by_class(check_weights(sample_weight, table), truth)
        loss = self._loss_for_fit()
        growth = self._growth(loss, *table.shape)
        judge = self._judge(monitor, callbacks)
        old = self._kept(loss)
        self._check_margins(old, base_margin, base_margin_val, X_val, eval_set)
        learned, judged = self._parted(truth, weights, is_judged=X_val is not None or bool(eval_set))
        if is_estimator(self.init) and not (old and hasattr(self, "init_")):
            has_weights = sample_weight is not None or getattr(self, "class_weight", None) is not None
            given = weights[learned] if has_weights else None
            self.init_ = fitted_start(self.init, _safe_indexing(X, learned), self._named(truth[learned]), given)
        bases = self._bases(X, len(table), loss, base_margin)

        def part(which: Longs) -> Rows:
            if len(which) == len(table):
                return Rows(table, truth, weights, loss, base=bases)
            return Rows(table[which], truth[which], weights[which], loss, base=None if bases is None else bases[which])

        training = part(learned)
        if len(judged):
            judge.watched.append(Watched(VALIDATION, part(judged), _safe_indexing(X, judged)))
        self._add_watched(judge, loss, (X_val, y_val, sample_weight_val, base_margin_val), eval_set)
        for rows in (training, *(watched.rows for watched in judge.watched)):
            loss.check_targets(rows.y)
        self._begin(old, training, judge)
        self._boost(growth, training, judge, old)
        return self

    def _judge(self, monitor: Any, callbacks: Any) -> RoundJudge:
        """Return the evaluation of rounds, still without its rows."""
        patience = None if self.n_iter_no_change is None else whole("n_iter_no_change", self.n_iter_no_change, 1)
        return RoundJudge(
            [], scorers_of(self.scoring), callbacks_of(monitor, callbacks), patience, number("tol", self.tol, 0)
        )

    def _kept(self, loss: Loss) -> list[Tree]:
        """Return the trees that a warm start keeps, after extending the seeds to all rounds."""
        old: list[Tree] = kept_members(self, "trees_")
        n_rounds = whole("n_estimators", self.n_estimators, 1)
        kinds, known = self._kinds_by(loss), getattr(self, "_kinds", None)
        if old and known is not None:
            check_same(known, kinds, "loss, columns, classes and categories")
        check_count(n_rounds, len(old) // loss.n_outputs, "rounds")
        self._kinds = kinds
        self._seeds = continued_seeds(self._seeds if old else None, self.random_state, n_rounds + 1)
        return old

    def _begin(self, old: list[Tree], training: Rows, judge: RoundJudge) -> None:
        """Set the raw values of all rows before the first new round."""
        start = training.loss.start(training.y, training.weights)  # custom losses are checked here
        if not old:
            self.__dict__.pop("trees_", None)  # of the last fit, which must not be continued
            self.start_ = start if self.init is None and training.base is None else np.zeros(len(start))
            self.evals_result_: dict[str, dict[str, Floats]] = {}
            for name in SCORES:
                setattr(self, f"{name}_", np.empty(0))
        judge.begin(getattr(self, "evals_result_", {}), len(old) // len(self.start_))
        for rows in (training, *(watched.rows for watched in judge.watched)):
            rows.raw = self._raw_after(rows.table, old, rows.base)
        self._loss = training.loss

    def _fit_truth(self, y: Any, table: Table) -> npt.NDArray[Any]:
        """Return the targets, or the class codes."""
        if y is None:
            raise UsageError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        return self._truth(y, table)

    def _truth(self, y: Any, table: Table) -> npt.NDArray[Any]:
        raise NotImplementedError

    def _named(self, truth: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return targets with the user's class names."""
        return truth

    def _by_class(self, weights: Floats, truth: npt.NDArray[Any]) -> Floats:  # noqa: ARG002 - classes use truth
        """Return the weights of rows times their class weights, if any."""
        return weights

    def _validation_truth(self, y_val: Any, table: Table) -> npt.NDArray[Any]:
        """Return the targets of validation rows, or the codes of classes that fit has seen."""
        return self._truth(y_val, table)

    def _loss_for_fit(self) -> Loss:
        loss = self._loss_by(self.loss)
        check_init(self.init, loss, is_classifier=self._n_classes is not None)
        return loss

    def _loss_by(self, name: Any) -> Loss:
        """Return the loss for a name or an object; files store the name."""
        loss = loss_of(name, n_classes=self._n_classes, alpha=self.alpha, power=self.power)
        if self._is_newton and not (loss.has_hessian or loss.is_searched):
            raise UsageError(
                f"Newton boosting needs second derivatives, which loss {loss.name!r} lacks: use "
                f"{type(self).__name__.replace('Newton', 'Gradient')}"
            )
        return loss

    def _growth(self, loss: Loss, n_rows: int, n_features: int) -> BoostGrowth:
        raise NotImplementedError

    def _kinds_by(self, loss: Loss) -> tuple[Any, ...]:
        """Return the meaning of the trees' numbers: a fit can only add trees with the same meaning."""
        return loss.name, self.n_features_in_, *known_values(self)

    def _parted(self, truth: npt.NDArray[Any], weights: Floats, *, is_judged: bool) -> tuple[Longs, Longs]:
        """Return the training rows, and those held out to evaluate rounds if there are no others; ascending."""
        kept = np.flatnonzero(weights > 0)  # rows without weight count as absent
        if self.n_iter_no_change is None or is_judged:
            return kept, kept[:0]
        share = self._validation_share()
        try:
            learned, judged = train_test_split(
                kept,
                test_size=share,
                stratify=None if self._n_classes is None else truth[kept],
                random_state=int(self._seeds[0]),
            )
        except ValueError as error:
            raise UsageError(f"early stopping cannot hold out validation_fraction={share:g}: {error}") from None
        return np.sort(learned), np.sort(judged)

    def _add_watched(self, judge: RoundJudge, loss: Loss, given: tuple[Any, Any, Any, Any], eval_set: Any) -> None:
        """Add the user's validation rows: X_val, y_val, weights and base margins; and the `eval_set`."""
        X_val, y_val, weights, margin = given
        if (X_val is None) != (y_val is None):
            raise UsageError("X_val and y_val go together: pass both, or neither")
        sets = [] if X_val is None else [(VALIDATION, X_val, y_val, weights, margin)]
        if eval_set is not None and not isinstance(eval_set, (list, tuple)):
            raise UsageError(
                f"eval_set must be a list of (X, y) or (X, y, sample_weight), got {type(eval_set).__name__}"
            )
        for number_of_set, item in enumerate(eval_set or ()):
            if not isinstance(item, (list, tuple)) or len(item) not in (2, 3):
                raise UsageError("eval_set must be a list of (X, y) or (X, y, sample_weight)")
            sets.append((f"{VALIDATION}_{number_of_set}", *item, *(None,) * (4 - len(item))))
        for name, X, y, its_weights, its_margin in sets:
            table = encoded_table(self, X)
            truth = self._validation_truth(y, table)
            checked = self._by_class(check_weights(its_weights, table), truth)
            base = self._bases(X, len(table), loss, its_margin, "base_margin_val")
            judge.watched.append(Watched(name, Rows(table, truth, checked, loss, base=base), X))

    def _validation_share(self) -> float:
        share = number("validation_fraction", self.validation_fraction, 0, 1)
        if not 0 < share < 1:
            raise UsageError(f"validation_fraction must be above 0 and below 1, got {share:g}")
        return share

    def _raw_after(self, table: Table, trees: list[Tree], base: Floats | None = None) -> Floats:
        """Return the raw values after some trees, from the common or each row's start, (n,) or (n_outputs, n)."""
        out = np.tile(self.start_, (len(table), 1)) if base is None else base.reshape(len(table), -1).copy()
        if trees:
            add_trees(Walk.of(trees), table, out, threads=job_count(self.n_jobs, in_threads=True))
        return out[:, 0].copy() if out.shape[1] == 1 else np.ascontiguousarray(out.T)

    def _boost(self, growth: BoostGrowth, training: Rows, judge: RoundJudge, trees: list[Tree]) -> None:
        """Continue boosting after the given trees."""
        threads = job_count(self.n_jobs, in_threads=True)
        rate = number("learning_rate", self.learning_rate, 0)
        sampling = sampling_of(self, rate)
        max_bins = check_max_bins(self.max_bins)
        n_outputs, n_rounds = training.loss.n_outputs, whole("n_estimators", self.n_estimators, 1)
        n_before = len(trees) // n_outputs
        scores: dict[str, list[float]] = {
            name: getattr(self, f"{name}_", np.empty(0))[:n_before].tolist() for name in SCORES
        }

        def keep(name: str, score: float) -> None:
            n_missing = len(trees) // n_outputs - 1 - len(scores[name])  # earlier rounds without evaluation
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
            rounds = Rounds(training, binned, growth, rate, sampling, self._is_newton, threads, trees)
            seeds = self._seeds[1 + n_before : 1 + n_rounds].tolist()
            for grown in shown(map(rounds.round, seeds), n=len(seeds), title="boosting", verbose=self.verbose):
                trees.extend(grown)
                keep("train_score", rounds.train_score)
                if sampling.subsample < 1 and training.loss.is_by_row:
                    keep("oob_improvement", rounds.oob_improvement)
                    keep("oob_scores", rounds.oob_score)
                judge.note(grown, rounds.changes, self, threads)
                if judge.watched:
                    keep("validation_score", judge.curves[judge.watched[0].name][LOSS][-1])
                if judge.callbacks:
                    self._know(trees, scores, judge)
                if judge.is_over() or judge.is_stopped(len(trees) // n_outputs - 1, self):
                    break
        finally:  # an interrupted fit keeps its finished rounds
            if trees:
                n_best = judge.n_best()
                if n_best is not None:
                    del trees[n_best * n_outputs :]
                self._know(trees, scores, judge)

    def _know(self, trees: list[Tree], scores: dict[str, list[float]], judge: RoundJudge) -> None:
        """Set the fitted attributes after the last round."""
        for name, values in scores.items():
            setattr(self, f"{name}_", np.asarray(values))
        self.evals_result_ = {
            name: {metric: np.asarray(values) for metric, values in curves.items()}
            for name, curves in judge.curves.items()
        }
        self._set_trees(trees)

    def _set_trees(self, trees: list[Tree]) -> None:
        self.trees_ = trees
        self.n_estimators_ = len(trees) // len(self.start_)
        self._walk = Walk.of(trees)
        self.__dict__.pop("estimators_", None)

    # -- predicting ----------------------------------------------------------------------------------------------------

    def _raw(self, X: Any, base_margin: Any = None) -> Floats:
        """Return raw values, (n, n_outputs)."""
        if self._known_raw is not None:
            return self._known_raw
        table = predict_table(self, X)
        out = self._begun(X, len(table), base_margin)
        add_trees(self._walk, table, out, threads=job_count(self.n_jobs, in_threads=True))
        return out

    def _staged_raw(self, X: Any, base_margin: Any = None) -> Iterator[Floats]:
        """Yield raw values after every round, (n, n_outputs), each a new array."""
        table = predict_table(self, X)
        threads = job_count(self.n_jobs, in_threads=True)
        out = self._begun(X, len(table), base_margin)
        n = len(self.start_)
        for r in range(self.n_estimators_):
            add_trees(self._walk, table, out, first=r * n, last=(r + 1) * n, threads=threads)
            yield out.copy()

    def apply(self, X: Any) -> Longs:
        """Return the leaf of every row in every tree, (n, n_rounds); with several outputs (n, n_rounds, n_outputs)."""
        table = predict_table(self, X)
        leaves = self._walk.leaves(table, threads=job_count(self.n_jobs, in_threads=True))
        return leaves if self._n_classes is None else leaves.reshape(len(table), -1, len(self.start_))

    # -- attributes ----------------------------------------------------------------------------------------------------

    @cached_property
    def estimators_(self) -> npt.NDArray[Any]:
        """The trees as regressors of the steps in raw values, (n_rounds, n_outputs) objects."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("estimators_")
        members = np.empty(len(self.trees_), dtype=object)
        for t, tree in enumerate(self.trees_):
            member = DecisionTreeRegressor(
                categorical_features=self.categorical_features,
                max_bins=self.max_bins,
                min_impurity_decrease=getattr(self, "min_impurity_decrease", 0.0),
            )
            member.n_features_in_ = self.n_features_in_
            if hasattr(self, "feature_names_in_"):
                member.feature_names_in_ = self.feature_names_in_
            member.is_categorical_, member.categories_ = self.is_categorical_, self.categories_
            member._set_tree(tree)
            members[t] = member
        return members.reshape(-1, len(self.start_))

    @property
    def n_trees_per_iteration_(self) -> int:
        """Number of trees per round: one for each class; one for two classes or regression."""
        check_is_fitted(self)
        return len(self.start_)

    @property
    def oob_score_(self) -> float:
        """Mean loss after the last round on the rows that it did not draw; only if rounds draw rows."""
        if not len(getattr(self, "oob_scores_", ())):
            raise AttributeError("oob_score_ needs a subsample below 1")
        return float(self.oob_scores_[-1])

    @property
    def feature_importances_(self) -> Floats:
        """Share of the gain of all splits due to each column, (n_features,), summing to 1 unless all are 0."""
        check_is_fitted(self)
        gains = self.importances()
        return np.asarray(gains / gains.sum() if gains.sum() > 0 else gains)

    def save(self, path: str | Path) -> None:
        """Write the trees to a file that `depthforest.ensemble.load` reads; equal ensembles give equal bytes.

        Parameters
        ----------
        path : str or Path

        Notes
        -----
        `n_jobs` and `verbose` are not stored. Ensembles with a custom loss cannot be saved, because files hold no code.
        """
        save_trees(self, path)

    def _stored_trees(self) -> tuple[list[Tree], Categories]:
        check_own_loss(self)
        if hasattr(self, "init_"):
            raise UsageError(
                f"{type(self).__name__} that starts from {type(self.init_).__name__} cannot be saved: files hold trees "
                "only; use pickle, or pass its raw predictions as base_margin"
            )
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
