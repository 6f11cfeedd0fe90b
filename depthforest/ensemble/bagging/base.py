"""The engine of ensembles whose members differ by random draws; `diverse` derives a classifier and a regressor from it.

It checks parameters and data, fits the members in parallel, averages their answers and evaluates them out of bag.
`draws` determines what a member gets; `members` fits and queries one member.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from joblib import parallel_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.model_selection import ParameterSampler
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from depthforest.base import DepthForestWarning, Floats, UsageError, is_whole
from depthforest.ensemble.bagging.draws import DrawPlan, ParameterDistributions, column_spread, target_spread
from depthforest.ensemble.bagging.members import (
    MemberAnswer,
    MemberSetup,
    answer_of,
    checked_template,
    fitted_member,
    is_routing,
    refuses_missing,
    takes_weights,
    unseen_answer,
)
from depthforest.ensemble.fitting import (
    Indices,
    MemberSequence,
    check_count,
    checked_table,
    checked_training_table,
    checked_weights,
    in_parallel,
    is_flag,
    is_frame,
    job_count,
    kept_members,
    member_seeds,
    number,
    resolved_count,
    shown,
    whole,
)

BAYESIAN = "bayesian"
"""The value of `bootstrap` that gives rows random weights instead of drawing them."""

# unless the caller has chosen a backend: predictions are fast, and processes would have to receive all the members
_in_threads = partial(parallel_config, prefer="threads")


class DiverseEnsemble(MemberSequence, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of the classifier and the regressor; use one of these.

    A subclass has parameters for some of the ways to make members differ. The ways without a parameter are off, as
    here.
    """

    estimator: Any = None
    n_estimators: int = 10
    max_samples: float | int | None = None
    bootstrap: bool | str = False
    max_features: float | int = 1.0
    bootstrap_features: bool = False
    noise: float = 0.0
    flip: float = 0.0
    smear: float = 0.0
    param_distributions: ParameterDistributions | None = None
    oob_score: bool = False
    warm_start: bool = False
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    _framed: bool  # whether members were fitted with frames

    # set by `diverse`
    _kind: str  # kind of members: classifier or regressor
    _predictions: tuple[str, ...]  # names of the methods that query the members

    @staticmethod
    def _default_member() -> Any:
        raise NotImplementedError

    def _checked_target(self, y: Any, *, goes_on: bool) -> npt.NDArray[Any]:
        raise NotImplementedError

    def _class_counts(self) -> tuple[int, ...]:
        """Return the number of classes of each target; empty for regression."""
        return ()

    def _answer(self) -> MemberAnswer:
        raise NotImplementedError

    def _loss(self, y: npt.NDArray[Any], mean: Floats, weights: Floats | None) -> float:
        raise NotImplementedError

    def _quality(self, y: npt.NDArray[Any], mean: Floats, weights: Floats | None) -> float:
        raise NotImplementedError

    def _keep_out_of_bag(self, mean: Floats) -> None:
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit the members, each on its own draws.

        A member that takes `sample_weight` gets a row that was drawn k times once, with the weight k, and one row of
        weight 0 of every class that was not drawn, as in scikit-learn, so that it knows all classes. (Not with noise,
        which is drawn independently for each row.)

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Members get the rows and columns of a DataFrame as a DataFrame. Missing values are allowed where the member
            allows them.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes of any type, or numbers; several targets if the members support them.
        sample_weight : array-like of shape (n_samples,) or a number, default=None
            Rows of weight zero count as absent. With `bootstrap`, rows are drawn in proportion to their weights,
            whatever the member; without it, the member gets the weights of its rows and must support them.
        **fit_params
            Passed to the members' `fit` by metadata routing; values for each row are reduced to the member's rows.

        Returns
        -------
        self : estimator
            If interrupted (KeyboardInterrupt, or an error in a member), the finished members stay: the ensemble
            predicts with them, and with `warm_start=True` the next `fit` continues after them.
        """
        self._check_parameters()
        template = checked_template(self._template(), kind=self._kind, owner=type(self).__name__)
        metadata = self._routed("fit", fit_params)
        old = kept_members(self, "estimators_")
        goes_on = bool(old)
        check_count(self.n_estimators, len(old), "members")
        if goes_on and is_frame(X) != self._framed:
            raise UsageError(
                "warm_start=True continues with the same data: X was a DataFrame in one fit and not in the other"
            )
        if not goes_on:  # an error from here on leaves no mixture of two fits
            self.estimators_: list[Any] = []
            self._recipes: list[tuple[DrawPlan, int]] = []
            self._framed = is_frame(X)
        table, y = checked_training_table(self, X, y, reset=not goes_on, finite=refuses_missing(template))
        y = self._checked_target(y, goes_on=goes_on)
        self.n_outputs_ = 1 if y.ndim == 1 else y.shape[1]
        weights = None if sample_weight is None else checked_weights(sample_weight, table.shape[0])
        setup = self._setup(template, table, y, weights, metadata)
        self._start(setup, goes_on=goes_on)
        self._fit_members(setup)
        if self.oob_score:
            self._judge_out_of_bag(setup, weights)
        return self

    def _check_parameters(self) -> None:
        whole("n_estimators", self.n_estimators, 1)
        if not (is_flag(self.verbose) or is_whole(self.verbose)):
            raise UsageError(f"verbose must be a whole number, above 0 for a progress bar; got {self.verbose!r}")
        job_count(self.n_jobs)
        if not (is_flag(self.bootstrap) or self._is_bayesian):
            raise UsageError(f"bootstrap must be True, False or '{BAYESIAN}', got {self.bootstrap!r}")
        if self._is_bayesian and self.max_samples is not None:
            raise UsageError(
                f"bootstrap='{BAYESIAN}' weighs all rows: max_samples must be None, got {self.max_samples}"
            )
        for name in ("bootstrap_features", "oob_score", "warm_start"):
            if not is_flag(getattr(self, name)):
                raise UsageError(f"{name} must be True or False, got {getattr(self, name)!r}")
        number("noise", self.noise, 0)
        number("flip", self.flip, 0, 1)
        number("smear", self.smear, 0)
        if self.param_distributions is not None:
            try:
                ParameterSampler(self.param_distributions, n_iter=1)
            except (TypeError, ValueError) as error:
                raise UsageError(
                    f"param_distributions must be as in scikit-learn's ParameterSampler: {error}"
                ) from error

    def _plan(self, X: Any, weights: Floats | None) -> DrawPlan:
        n_samples, n_features = X.shape
        n_usable = n_samples if weights is None else int(np.count_nonzero(weights))
        n_rows = resolved_count("max_samples", self.max_samples, n_usable)
        if not self.bootstrap and n_rows > n_usable:
            raise UsageError(
                f"max_samples must be at most {n_usable}, the number of rows, got {self.max_samples}: "
                "draw fewer, or with replacement (bootstrap=True)"
            )
        is_drawn = self.bootstrap and not self._is_bayesian
        leaves_rows_out = is_drawn or n_rows < n_usable
        if self.oob_score and not leaves_rows_out:
            raise UsageError(
                "oob_score=True needs rows that a member has not seen, but here every member sees all rows: "
                "set bootstrap=True or max_samples below the number of rows, or use cross-validation"
            )
        n_columns = resolved_count("max_features", self.max_features, n_features)
        if not self.bootstrap_features and n_columns > n_features:
            raise UsageError(
                f"max_features must be at most {n_features}, the number of columns, got {self.max_features}"
            )
        if weights is not None and np.ptp(weights) == 0.0:
            weights = None  # equal weights give the same draws as no weights
        return DrawPlan(
            n_samples=n_samples,
            n_features=n_features,
            n_rows=n_rows if leaves_rows_out else None,
            replace=bool(is_drawn),
            weights=weights,
            n_columns=n_columns if self.bootstrap_features or n_columns < n_features else None,
            replace_columns=bool(self.bootstrap_features),
            is_bayesian=self._is_bayesian,
        )

    @property
    def _is_bayesian(self) -> bool:
        return isinstance(self.bootstrap, str) and self.bootstrap == BAYESIAN

    def _setup(self, template: Any, X: Any, y: Any, weights: Floats | None, metadata: dict[str, Any]) -> MemberSetup:
        plan = self._plan(X, weights)
        is_weighed = self._is_bayesian or (weights is not None and not self.bootstrap)
        if is_weighed and not takes_weights(template):
            raise UsageError(
                f"{type(template).__name__} takes no sample_weight: draw rows by weight (bootstrap=True)"
                + (", or request it: set_fit_request(sample_weight=True)" if is_routing() else "")
            )
        return MemberSetup(
            template=template,
            X=X,
            y=y,
            plan=plan,
            distributions=self.param_distributions,
            input_sigma=self.noise * column_spread(X, weights) if self.noise else None,
            flip=float(self.flip),
            output_sigma=self.smear * target_spread(y, weights) if self.smear else None,
            n_classes=self._class_counts(),
            weights=None if self.bootstrap else weights,
            # noise is drawn independently for each row, also for rows that are drawn twice
            is_counted=plan.replace and takes_weights(template) and not (self.noise or self.flip or self.smear),
            metadata=metadata,
        )

    def _start(self, setup: MemberSetup, *, goes_on: bool) -> None:
        if goes_on and self.n_estimators == len(self.estimators_):
            warnings.warn(
                f"warm_start=True and the ensemble has its {self.n_estimators} members already: nothing is fitted; "
                "raise n_estimators to add some",
                DepthForestWarning,
                stacklevel=3,
            )
        if self.n_estimators > 1 and self._is_uniform(setup):
            warnings.warn(
                f"nothing is drawn and {type(setup.template).__name__} has no random_state: all members are the same; "
                "set bootstrap=True or another way to make them differ",
                DepthForestWarning,
                stacklevel=3,
            )
        self.estimator_ = setup.template
        for name in ("oob_score_", "oob_errors_", "oob_decision_function_", "oob_prediction_"):
            if hasattr(self, name):
                delattr(self, name)

    def _is_uniform(self, setup: MemberSetup) -> bool:
        plan = setup.plan
        draws_data = plan.n_rows is not None or plan.n_columns is not None or plan.is_bayesian
        changes_data = setup.input_sigma is not None or setup.flip > 0 or setup.output_sigma is not None
        starts_at_random = any(name.endswith("random_state") for name in setup.template.get_params())
        return not (draws_data or changes_data or starts_at_random or setup.distributions is not None)

    def _fit_members(self, setup: MemberSetup) -> None:
        del self._recipes[len(self.estimators_) :]  # of a member that was interrupted at the very end
        seeds = [int(seed) for seed in member_seeds(self.random_state, self.n_estimators)]
        items = list(enumerate(seeds))[len(self.estimators_) :]
        fitted = in_parallel(partial(fitted_member, setup), items, n_jobs=self.n_jobs)
        members = shown(fitted, n=len(items), title=type(self).__name__, verbose=self.verbose)
        try:
            for (_, seed), member in zip(items, members, strict=True):
                self._recipes.append((setup.plan, seed))
                self.estimators_.append(member)
        finally:
            # joblib warns of work left undone by an interruption; if warnings are errors, they would hide the
            # interruption
            with suppress(UserWarning), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted.close()  # type: ignore[attr-defined]

    def _judge_out_of_bag(self, setup: MemberSetup, weights: Floats | None) -> None:
        n_samples = setup.plan.n_samples
        if any(plan.n_samples != n_samples or plan.n_rows is None for plan, _ in self._recipes):
            raise UsageError(
                "oob_score=True with warm_start=True needs members that were all drawn from the same rows: "
                "fit again with warm_start=False"
            )
        items = zip(self.estimators_, self._member_columns(), self.estimators_samples_, strict=True)
        ask = partial(unseen_answer, self._answer(), setup.X)
        total: Floats | None = None
        n_answers = np.zeros(n_samples)
        errors = np.full(len(self.estimators_), np.nan)
        with _in_threads():
            for number, (unseen, answer) in enumerate(in_parallel(ask, items, n_jobs=self.n_jobs)):
                if answer is not None:
                    total = np.zeros((n_samples, *answer.shape[1:])) if total is None else total
                    total[unseen] += answer
                    n_answers[unseen] += 1
                if total is not None:
                    errors[number] = self._out_of_bag_loss(setup.y, total, n_answers, weights, self._loss)
        if total is None:
            raise UsageError(
                "oob_score=True, but every member has seen every row: use more members, or cross-validation"
            )
        n_missing = int(np.count_nonzero(n_answers == 0))
        if n_missing:
            warnings.warn(
                f"{n_missing} of {n_samples} rows were in the sample of every member and have no out-of-bag "
                "prediction (nan); they are left out of the score: use more members",
                DepthForestWarning,
                stacklevel=3,
            )
        self.oob_errors_ = errors
        self.oob_score_ = self._out_of_bag_loss(setup.y, total, n_answers, weights, self._quality)
        total[n_answers == 0] = np.nan
        self._keep_out_of_bag(total / np.maximum(n_answers, 1).reshape(-1, *[1] * (total.ndim - 1)))

    @staticmethod
    def _out_of_bag_loss(y: Any, total: Floats, n_answers: Floats, weights: Floats | None, measure: Any) -> float:
        """Return a measure of the mean answers over the rows that have one; nan if these have no weight."""
        known = np.flatnonzero(n_answers if weights is None else n_answers * weights)
        if not known.size:
            return float("nan")
        mean = total[known] / n_answers[known].reshape(-1, *[1] * (total.ndim - 1))
        return float(measure(y[known], mean, None if weights is None else weights[known]))

    def _mean_answer(self, X: Any, method: str, params: dict[str, Any], ask_by: MemberAnswer | None = None) -> Floats:
        check_is_fitted(self)
        metadata = self._routed(method, params)
        table = checked_table(self, X, framed=self._framed)
        items = zip(self.estimators_, self._member_columns(), strict=False)
        ask = partial(answer_of, ask_by or self._answer(), table, metadata)
        total: Floats | None = None
        with _in_threads():
            # in the order of the members, whatever `n_jobs`: the rounding of a sum depends on its order
            for answer in in_parallel(ask, items, n_jobs=self.n_jobs):
                total = answer if total is None else total + answer
        assert total is not None  # a fitted ensemble has at least one member
        return total / len(self.estimators_)

    def _member_columns(self) -> Iterator[Indices | None]:
        return (plan.columns(seed) for plan, seed in self._recipes)

    @property
    def estimators_samples_(self) -> list[Indices]:
        """Rows that each member was fitted on, list of (n_rows,) intp; drawn again at each access, not stored."""
        check_is_fitted(self)
        drawn = [(plan, plan.rows(seed)) for plan, seed in self._recipes[: len(self.estimators_)]]
        return [np.arange(plan.n_samples) if rows is None else rows for plan, rows in drawn]

    @property
    def estimators_features_(self) -> list[Indices]:
        """Columns that each member was fitted on, list of (n_columns,) intp; drawn again at each access, not stored."""
        check_is_fitted(self)
        drawn = [(plan, plan.columns(seed)) for plan, seed in self._recipes[: len(self.estimators_)]]
        return [np.arange(plan.n_features) if columns is None else columns for plan, columns in drawn]

    @property
    def feature_importances_(self) -> Floats:
        """Mean importance of each column over the members, (n_features,); only if all members have it."""
        check_is_fitted(self)
        sums = np.zeros(self.n_features_in_)
        for member, columns in zip(self.estimators_, self.estimators_features_, strict=True):
            np.add.at(sums, columns, member.feature_importances_)  # a column may be drawn twice
        return sums / len(self.estimators_)

    def __sklearn_is_fitted__(self) -> bool:
        return bool(getattr(self, "estimators_", None))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata routing: `sample_weight` is used here, everything else goes to the members."""
        member = self._template()
        asked = "predict_proba" if self._kind == "classifier" and hasattr(member, "predict_proba") else "predict"
        mapping = MethodMapping().add(caller="fit", callee="fit")
        for caller in self._predictions:
            mapping.add(caller=caller, callee=caller if caller == "decision_function" else asked)
        return MetadataRouter(owner=self).add_self_request(self).add(estimator=member, method_mapping=mapping)

    def _routed(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the part of `params` that goes to a member's method."""
        if not params:
            return {}
        if not is_routing():
            raise UsageError(
                f"{method} got {', '.join(sorted(params))}: to pass anything but sample_weight to the members, "
                "enable metadata routing: sklearn.set_config(enable_metadata_routing=True)"
            )
        routed = process_routing(self, method, **params).estimator
        return {name: value for values in routed.values() for name, value in values.items()}

    def _template(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        tree = self._default_member()
        return tree.set_fit_request(sample_weight=True) if is_routing() else tree

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        member = self._template()
        if hasattr(member, "__sklearn_tags__"):
            inner = get_tags(member)
            tags.input_tags.sparse = inner.input_tags.sparse and not self.noise
            tags.input_tags.allow_nan = inner.input_tags.allow_nan
            tags.target_tags.multi_output = inner.target_tags.multi_output
        return tags
