"""Boosted classification and regression: the reading of y, and predictions after all rounds or each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d

from depthforest.base import Floats, UsageError
from depthforest.ensemble.boosting.base import BaseBoosting
from depthforest.ensemble.tree import Table, fit_classes, importances_of, times_classes


def _has_probabilities(estimator: Any) -> bool:
    """Return whether the loss has probabilities; for an unfitted estimator, by the loss's name."""
    loss = getattr(estimator, "_loss", None)
    known = estimator.loss in ("log_loss", "logistic", "exponential", "multinomial")
    if not (known if loss is None else loss.has_probabilities):
        raise AttributeError(f"loss {estimator.loss!r} has no probabilities: use decision_function, or loss='log_loss'")
    return True


class BoostedClassifier(ClassifierMixin, BaseBoosting):  # type: ignore[misc]
    """Targets and predictions of boosted classifiers."""

    classes_: npt.NDArray[Any]
    class_weight: Any

    @property
    def _n_classes(self) -> int:  # type: ignore[override]
        return len(self.classes_)

    def _truth(self, y: Any, table: Table) -> npt.NDArray[np.int32]:
        self.classes_, codes = fit_classes(y, table)
        return codes

    def _validation_truth(self, y_val: Any, table: Table) -> npt.NDArray[np.int32]:
        classes, codes = fit_classes(y_val, table)
        unknown = classes[~np.isin(classes, self.classes_)]
        if len(unknown):
            raise UsageError(f"y_val has the class {unknown[:1].tolist()[0]!r}, which is missing from y")
        return np.asarray(np.searchsorted(self.classes_, classes)[codes], dtype=np.int32)

    def _named(self, truth: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.asarray(self.classes_[truth])

    def _by_class(self, weights: Floats, truth: npt.NDArray[Any]) -> Floats:
        if self.class_weight is None:
            return weights
        weights = times_classes(weights, self.class_weight, self.classes_, truth)
        if not weights.any():
            raise UsageError("class_weight leaves no row any weight: there would be nothing to learn from")
        return weights

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        check_is_fitted(self)
        return len(self.classes_)

    def _importances_by_class(self, kind: str) -> Floats:
        """Return the importances in the trees of each class; two classes share theirs, half for each."""
        n_outputs = len(self.start_)
        by_output = [importances_of(self.trees_[k::n_outputs], kind, self) for k in range(n_outputs)]
        return np.stack(by_output) if n_outputs > 1 else np.stack(by_output * 2) / 2

    def decision_function(self, X: Any, base_margin: Any = None) -> Floats:
        """Return raw values: (n,) for two classes, above 0 for the second one; else (n, n_classes)."""
        return _flat(self._raw(X, base_margin))

    def predict(self, X: Any, base_margin: Any = None) -> npt.NDArray[Any]:
        """Return the class of every row, (n,)."""
        return self._decided(self._raw(X, base_margin))

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any, base_margin: Any = None) -> Floats:
        """Return the probabilities of the classes, (n, n_classes); not for hinge, perceptron or custom losses."""
        return self._probabilities(self._raw(X, base_margin))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any, base_margin: Any = None) -> Floats:
        """Return the logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X, base_margin)))

    def staged_decision_function(self, X: Any, base_margin: Any = None) -> Iterator[Floats]:
        """Yield `decision_function` after every round."""
        return map(_flat, self._staged_raw(X, base_margin))

    def staged_predict(self, X: Any, base_margin: Any = None) -> Iterator[npt.NDArray[Any]]:
        """Yield `predict` after every round."""
        return map(self._decided, self._staged_raw(X, base_margin))

    @available_if(_has_probabilities)
    def staged_predict_proba(self, X: Any, base_margin: Any = None) -> Iterator[Floats]:
        """Yield `predict_proba` after every round."""
        return map(self._probabilities, self._staged_raw(X, base_margin))

    def _decided(self, raw: Floats) -> npt.NDArray[Any]:
        return np.asarray(self.classes_.take(self._loss.decide(_by_output(raw))))

    def _probabilities(self, raw: Floats) -> Floats:
        return self._loss.probabilities(_by_output(raw))


class BoostedRegressor(RegressorMixin, BaseBoosting):  # type: ignore[misc]
    """Targets and predictions of boosted regressors."""

    def _truth(self, y: Any, table: Table) -> Floats:
        targets = check_array(column_or_1d(y, warn=True), ensure_2d=False, dtype=np.float64, input_name="y")
        check_consistent_length(table, targets)
        return np.asarray(targets)

    def predict(self, X: Any, base_margin: Any = None) -> Floats:
        """Return the predicted value of every row, (n,)."""
        raw = self._raw(X, base_margin)  # first, because it raises if not fitted
        return self._loss.numbers(raw[:, 0])

    def staged_predict(self, X: Any, base_margin: Any = None) -> Iterator[Floats]:
        """Yield `predict` after every round."""
        return (self._loss.numbers(raw[:, 0]) for raw in self._staged_raw(X, base_margin))


def _flat(raw: Floats) -> Floats:
    return raw[:, 0] if raw.shape[1] == 1 else raw


def _by_output(raw: Floats) -> Floats:
    """Return raw values in the shape that losses take: (n,) or (n_outputs, n)."""
    return np.ascontiguousarray(raw[:, 0]) if raw.shape[1] == 1 else np.ascontiguousarray(raw.T)
