"""Common base of both stackings: members' answers become the columns that the meta learner is fitted on.

Built on `members`; `stacking` is built on it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from depthforest.base import Floats, UsageError
from depthforest.ensemble.combining.members import NamedMembers, has_trait, routing_enabled
from depthforest.ensemble.fitting import Answers, fit_named, side_by_side


class StackedMembers(NamedMembers):
    """Common base of both stackings: members' answers become the columns that the meta learner is fitted on."""

    final_estimator: Any
    passthrough: bool
    stack_method_: list[str]

    @abstractmethod
    def _default_final_estimator(self) -> Any: ...

    @abstractmethod
    def _columns(self, name: str, answer: Answers, method: str) -> Floats:
        """Return a member's answer as columns for the meta learner, (n, columns)."""

    # ------------------------------------------------------------------ fitting

    def _checked_final(self, kind: str, is_kind: Callable[[Any], bool]) -> Any:
        """Return the meta learner to fit, after checking its kind."""
        final = self._default_final_estimator() if self.final_estimator is None else self.final_estimator
        has_both = all(hasattr(final, method) for method in ("fit", "predict"))
        if isinstance(final, type) or not has_both or not is_kind(final):
            raise UsageError(f"final_estimator must be a {kind} with fit and predict, got {final!r}")
        return final

    def _fit_final(self, final: Any, z: Sequence[Floats], X: Any, y: npt.NDArray[Any], routed: Bunch) -> None:
        self._widths = [columns.shape[1] for columns in z]
        columns = self._with_features(z, X)
        self.final_estimator_ = fit_named("final_estimator", final, columns, y, dict(routed.final_estimator.fit))

    def _all_columns(self, answers: Sequence[Answers]) -> list[Floats]:
        named = zip(self._kept_names(), answers, self.stack_method_, strict=True)
        return [self._columns(name, answer, method) for name, answer, method in named]

    def _with_features(self, z: Sequence[Floats], X: Any) -> Any:
        """Return the members' columns, followed by the original features with `passthrough`.

        A pandas frame stays one, because its columns may have different types, such as categories.
        """
        if not self.passthrough:
            return np.hstack(z)
        if sparse.issparse(X):
            return sparse.hstack([*z, X], format=X.format)
        if type(X).__module__.startswith("pandas") and all(isinstance(name, str) for name in X.columns):
            import pandas as pd

            columns = pd.DataFrame(np.hstack(z), columns=self._member_columns(), index=X.index)
            return pd.concat([columns, X], axis=1)
        return np.hstack([*z, np.asarray(X)])

    # ------------------------------------------------------------------ prediction

    def _stacked(self, X: Any) -> Any:
        check_is_fitted(self)
        self._check_features(X, reset=False)
        asked = zip(self.estimators_, self.stack_method_, strict=True)
        return self._with_features(self._all_columns([side_by_side(getattr(m, how)(X)) for m, how in asked]), X)

    def transform(self, X: Any) -> Any:
        """Return the input of the meta learner: every member's columns, then X itself with `passthrough`.

        Members look better than they are on rows they were fitted on; only unseen rows give a fair picture.

        Parameters
        ----------
        X : array-like, sparse matrix or frame (n, n_features)

        Returns
        -------
        ndarray (n, n_columns) float64; with `passthrough` a sparse matrix for sparse X, a frame for a pandas frame
        """
        return self._stacked(X)

    def _final_answer(self, method: str, X: Any, params: dict[str, Any]) -> npt.NDArray[Any]:
        z = self._stacked(X)
        if params and routing_enabled():
            params = process_routing(self, method, **params).final_estimator[method]
        return getattr(self.final_estimator_, method)(z, **params)  # type: ignore[no-any-return]

    def _final_offers(self, method: str) -> None:
        """Raise AttributeError, which tells scikit-learn that a method is missing, unless the meta learner has it."""
        final = getattr(self, "final_estimator_", self.final_estimator)
        if final is not None and not hasattr(final, method):
            raise AttributeError(
                f"final_estimator {type(final).__name__} has no {method}; choose one that has, or use predict"
            )

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the columns of `transform`: classname_NAME, numbered if a member has several.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the features that `passthrough` appends; default: those seen in `fit`, or x0, x1, ...
        """
        check_is_fitted(self)
        appended = self._input_names(input_features) if self.passthrough else []
        return np.asarray(self._member_columns() + appended, dtype=object)

    def _member_columns(self) -> list[str]:
        prefix = type(self).__name__.lower()
        names: list[str] = []
        for name, width in zip(self._kept_names(), self._widths, strict=True):
            names += [f"{prefix}_{name}"] if width == 1 else [f"{prefix}_{name}{i}" for i in range(width)]
        return names

    def _input_names(self, given: Any) -> list[str]:
        seen = getattr(self, "feature_names_in_", None)
        if given is None:
            return [f"x{i}" for i in range(self.n_features_in_)] if seen is None else list(seen)
        names = list(given)
        if len(names) != self.n_features_in_:
            raise UsageError(f"input_features should have length equal to {self.n_features_in_}, got {len(names)}")
        if seen is not None and names != list(seen):
            raise UsageError("input_features is not equal to feature_names_in_")
        return names

    # ------------------------------------------------------------------ scikit-learn's protocols

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata routing: from `fit` to members, splitter and meta learner, from `predict` to the last."""
        router = super().get_metadata_routing()
        final = getattr(self, "final_estimator_", self.final_estimator)
        mapping = MethodMapping().add(caller="fit", callee="fit").add(caller="predict", callee="predict")
        router.add(final_estimator=self._default_final_estimator() if final is None else final, method_mapping=mapping)
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = tags.input_tags.pairwise and not self.passthrough
        if self.passthrough:  # then the meta learner sees the features, too
            final = self._default_final_estimator() if self.final_estimator is None else self.final_estimator
            tags.input_tags.sparse = tags.input_tags.sparse and has_trait(final, "sparse")
            tags.input_tags.allow_nan = tags.input_tags.allow_nan and has_trait(final, "allow_nan")
        return tags
