"""Named members of a combination: their list, their parameters, and the routing of metadata.

`voting`, `averaging` and `stacking` are built on `NamedMembers`. Members are any estimators that follow scikit-learn's
conventions; `fitting.members` fits them and makes their out-of-fold predictions, `fitting.targets` checks the targets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import _num_samples, check_consistent_length, check_is_fitted, validate_data

from depthforest.base import UsageError, is_number
from depthforest.ensemble.fitting import (
    PREFIT,
    Member,
    Params,
    fit_members,
    job_count,
    make_folds,
    out_of_fold,
    routing_splitter,
    side_by_side,
)

DROPPED = "drop"


def is_dropped(estimator: Any) -> bool:
    """Return whether a member was dropped: the string 'drop' takes its place."""
    return isinstance(estimator, str) and estimator == DROPPED


def routing_enabled() -> bool:
    """Return whether scikit-learn's metadata routing is enabled."""
    return bool(get_config()["enable_metadata_routing"])


class NamedMembers(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the combinations: `estimators`, a list of (name, estimator), with `cv`, `n_jobs` and `verbose`."""

    estimators: Any
    cv: Any
    n_jobs: int | None
    verbose: int

    # `groups` goes to the splitter (see get_metadata_routing); the combination itself does not request it
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"groups": UNUSED}

    # ------------------------------------------------------------------ parameters, including those of members

    @property
    def named_estimators(self) -> Bunch:
        """The members as given, by name."""
        return Bunch(**dict(self.estimators))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with `deep` also the members by name, and their parameters as `name__parameter`."""
        params: dict[str, Any] = dict(super().get_params(deep=deep))
        if deep:
            for name, estimator in self._pairs():
                params[name] = estimator
                if hasattr(estimator, "get_params") and not isinstance(estimator, type):
                    params.update({f"{name}__{key}": value for key, value in estimator.get_params(deep=True).items()})
        return params

    def set_params(self, **params: Any) -> NamedMembers:
        """Set parameters: `estimators` first, then members by name (an estimator or 'drop'), then all others."""
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        names = {name for name, _ in self._pairs()}
        swapped = {key: params.pop(key) for key in list(params) if key in names}
        if swapped:
            self.estimators = [(name, swapped.get(name, estimator)) for name, estimator in self.estimators]
        super().set_params(**params)
        return self

    def _pairs(self) -> list[Member]:
        """Return (name, estimator) of all entries that look like a member: `estimators` may be unchecked yet."""
        members = self.estimators if isinstance(self.estimators, list | tuple) else []
        return [tuple(m) for m in members if isinstance(m, list | tuple) and len(m) == 2 and isinstance(m[0], str)]

    # ------------------------------------------------------------------ checks

    def _checked_members(self, *, only: str) -> list[Member]:
        """Return the members that are not dropped, after checking names and estimators.

        `only` is 'classifier', 'regressor' or 'either'.
        """
        given = self.estimators
        if not isinstance(given, list | tuple) or not given:
            raise UsageError(f"estimators must be a list of (name, estimator) with at least one member, got {given!r}")
        if len(self._pairs()) != len(given):
            raise UsageError("estimators must be a list of pairs (name, estimator), each name a string")
        self._check_names([name for name, _ in given])
        members = [(name, estimator) for name, estimator in given if not is_dropped(estimator)]
        if not members:
            raise UsageError("All estimators are dropped. At least one of `estimators` must be an estimator")
        for name, estimator in members:
            _check_kind(name, estimator, only)
            if self._is_prefit:
                _check_prefit(name, estimator)
        job_count(self.n_jobs)
        return members

    def _check_names(self, names: Sequence[str]) -> None:
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise UsageError(f"the names of members must differ; these occur more than once: {', '.join(repeated)}")
        own = set(self.get_params(deep=False))
        wrong = [name for name in names if not name or "__" in name or name in own]
        if wrong:
            raise UsageError(
                f"a member's name must not be empty, hold '__' or be a parameter of {type(self).__name__},"
                f" got {wrong[0]!r}"
            )

    @property
    def _is_prefit(self) -> bool:
        return isinstance(self.cv, str) and self.cv == PREFIT

    def _kept_names(self) -> list[str]:
        """Return the names of the fitted members, even if `estimators` has changed since."""
        return [name for name, estimator in self.named_estimators_.items() if not is_dropped(estimator)]

    # ------------------------------------------------------------------ fitting

    def _check_features(self, X: Any, *, reset: bool) -> None:
        """Store or check the number and the names of features; X itself goes to the members unchanged."""
        is_flat = getattr(X, "ndim", 2) == 1 and getattr(getattr(X, "dtype", None), "kind", "O") in "biufc"
        if is_flat and not reset:
            raise UsageError(
                "X must be rows of features, got a 1D array. Reshape your data: X.reshape(1, -1) is one row"
            )
        validate_data(self, X, reset=reset, skip_check_array=True)

    def _routed(self, X: Any, groups: Any, fit_params: Params) -> Bunch:
        """Return the routed metadata: `[name].fit` of members, `cv.split` of the splitter, `final_estimator.fit`."""
        given = {key: value for key, value in {**fit_params, "groups": groups}.items() if value is not None}
        if is_number(given.get("sample_weight")):
            given["sample_weight"] = np.full(_num_samples(X), float(given["sample_weight"]))
        check_consistent_length(X, given.get("sample_weight"), given.get("groups"))
        if routing_enabled():
            routed: Bunch = process_routing(self, "fit", **given)
            return routed
        unknown = sorted(set(given) - {"sample_weight", "groups"})
        if unknown:
            raise UsageError(
                f"fit takes sample_weight and groups, got {', '.join(unknown)}; for more, enable metadata routing:"
                " sklearn.set_config(enable_metadata_routing=True)"
            )
        weight = {key: value for key, value in given.items() if key == "sample_weight"}
        split = {key: value for key, value in given.items() if key == "groups"}
        people = {name: Bunch(fit=weight) for name in [*dict(self.estimators), "final_estimator"]}
        return Bunch(**people, cv=Bunch(split=split))

    def _held_out(
        self,
        members: list[Member],
        methods: Sequence[str],
        X: Any,
        y: npt.NDArray[Any],
        routed: Bunch,
        *,
        labels: npt.NDArray[Any] | None,
    ) -> list[npt.NDArray[Any]]:
        """Return the members' predictions of unseen rows: out of fold, or of all X if they are prefitted.

        `labels` names the class codes y; None for a regressor.
        """
        if self._is_prefit:
            return [side_by_side(getattr(m, method)(X)) for (_, m), method in zip(members, methods, strict=True)]
        folds = make_folds(self.cv, X, y, groups=routed.cv.split.get("groups"), labels=labels)
        fit_params = {name: dict(routed[name].fit) for name, _ in members}
        return out_of_fold(
            members,
            methods,
            X,
            y,
            folds,
            fit_params=fit_params,
            n_classes=None if labels is None else len(labels),
            n_jobs=self.n_jobs,
            verbose=int(self.verbose),
        )

    def _fit_members(self, members: list[Member], X: Any, y: npt.NDArray[Any], routed: Bunch) -> list[Any]:
        """Return the fitted members: clones fitted here in parallel, or the given ones if they are prefitted."""
        if self._is_prefit:
            return [estimator for _, estimator in members]
        fit_params = {name: dict(routed[name].fit) for name, _ in members}
        return fit_members(members, X, y, fit_params=fit_params, n_jobs=self.n_jobs, verbose=int(self.verbose))

    def _keep_members(self, members: list[Member], fitted: list[Any]) -> None:
        """Store the fitted members: by position without dropped ones, and by name with them."""
        self.estimators_ = fitted
        by_name = dict(zip([name for name, _ in members], fitted, strict=True))
        self.named_estimators_ = Bunch(**{name: by_name.get(name, DROPPED) for name, _ in self.estimators})

    def _asked(self, method: str, X: Any) -> list[npt.NDArray[Any]]:
        """Return the result of `method` of each fitted member for X, after checking its features."""
        check_is_fitted(self)
        self._check_features(X, reset=False)
        return [np.asarray(getattr(member, method)(X)) for member in self.estimators_]

    # ------------------------------------------------------------------ scikit-learn's protocols

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the routing of `fit` metadata: to members that request them, and `groups` to the splitter of `cv`."""
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)  # for `score`
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        for name, estimator in self._pairs():
            if not is_dropped(estimator):
                router.add(**{name: estimator}, method_mapping=to_fit)
        if not self._is_prefit:
            splitter = routing_splitter(self.cv, classifier=is_classifier(self))
            router.add(cv=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # `transform` returns predictions, not X
        kept = [estimator for _, estimator in self._pairs() if not is_dropped(estimator)]
        for trait in ("sparse", "allow_nan", "pairwise"):
            setattr(tags.input_tags, trait, bool(kept) and all(has_trait(estimator, trait) for estimator in kept))
        return tags


def has_trait(estimator: Any, trait: str) -> bool:
    """Return whether an estimator's input tags have a trait: 'sparse', 'allow_nan', 'pairwise'."""
    try:
        return bool(getattr(get_tags(estimator).input_tags, trait))
    except (AttributeError, TypeError):  # not an estimator: `fit` raises the error, tags must not
        return False


def _check_kind(name: str, estimator: Any, only: str) -> None:
    kinds: dict[str, Callable[[Any], bool]] = {"classifier": is_classifier, "regressor": is_regressor}
    if isinstance(estimator, type) or not (hasattr(estimator, "fit") and hasattr(estimator, "get_params")):
        raise UsageError(f"member {name!r} must be an estimator with fit and get_params, or 'drop', got {estimator!r}")
    wanted = list(kinds) if only == "either" else [only]
    if not any(kinds[kind](estimator) for kind in wanted):
        raise UsageError(f"member {name!r} must be a {' or '.join(wanted)}, got {type(estimator).__name__}")


class NotFittedMemberError(UsageError, NotFittedError):  # type: ignore[misc]
    """A member that should be fitted but is not; also scikit-learn's NotFittedError."""


def _check_prefit(name: str, estimator: Any) -> None:
    try:
        check_is_fitted(estimator)
    except NotFittedError as error:
        raise NotFittedMemberError(
            f"cv='prefit' takes fitted members, but {name!r} is not fitted; fit it, or choose another cv"
        ) from error
