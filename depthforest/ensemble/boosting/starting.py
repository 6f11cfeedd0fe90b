"""The start of boosting: the best constant, 0, another estimator's predictions, or the caller's base margins."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from depthforest.base import Floats, UsageError, shown
from depthforest.ensemble.boosting.losses.base import Loss

LEAST_SHARE = float(np.finfo(np.float64).eps)
"""Probabilities of a start are clipped this far from 0 and 1, as in scikit-learn, so that logarithms stay finite."""

LEAST_NUMBER = 1e-12
"""The same for predictions whose logarithm is boosted."""


class Started:
    """The start of boosted ensembles: a constant for each output, an estimator, or base margins."""

    init: Any
    init_: Any
    start_: Floats
    _loss: Loss
    _n_classes: int | None
    _has_base_margin = False

    def _check_margins(self, old: list[Any], margin: Any, margin_val: Any, X_val: Any, eval_set: Any) -> None:
        """Raise UsageError if base margins are given for some rows only, or together with another start."""
        if margin is not None and self.init is not None:
            raise UsageError("init and base_margin are both starts: pass one of them")
        if (margin is None) != (margin_val is None) and X_val is not None:
            raise UsageError("base_margin and base_margin_val go together: pass both, or neither")
        if margin_val is not None and X_val is None:
            raise UsageError("base_margin_val needs X_val: pass it, too")
        if margin is not None and eval_set:
            raise UsageError("eval_set has no base margins: use X_val, y_val and base_margin_val")
        if old and self._has_base_margin != (margin is not None):
            raise UsageError("warm_start needs base_margin if the previous fit had it, and only then")
        if not old:
            self.__dict__.pop("init_", None)
        self._has_base_margin = margin is not None

    def _bases(self, X: Any, n: int, loss: Loss, margin: Any, name: str = "base_margin") -> Floats | None:
        """Return the start values of rows, (n, n_outputs), if they are not the same for all rows."""
        if margin is not None:
            return check_margin(margin, n, loss.n_outputs, name)
        if not hasattr(self, "init_"):
            return None
        return raw_start(self.init_, X, loss, None if self._n_classes is None else self.classes_)  # type: ignore[attr-defined]

    def _begun(self, X: Any, n: int, margin: Any) -> Floats:
        """Return the raw values of rows before the first round, (n, n_outputs)."""
        if self._has_base_margin and margin is None:
            raise UsageError("predictions need base_margin, because fit had it: the trees only correct it")
        if margin is not None and not self._has_base_margin:
            raise UsageError("base_margin was not given to fit: the trees start from raw values of their own")
        bases = self._bases(X, n, self._loss, margin)
        return np.tile(self.start_, (n, 1)) if bases is None else bases.copy()  # trees are added to it in place


def is_estimator(init: Any) -> bool:
    """Return whether `init` is an estimator to start from."""
    return init is not None and not isinstance(init, str)


def check_init(init: Any, loss: Loss, *, is_classifier: bool) -> None:
    """Raise UsageError if boosting cannot start from `init`."""
    method = "predict_proba" if is_classifier else "predict"
    if init is None or (isinstance(init, str) and init == "zero"):
        return
    if isinstance(init, (str, type)) or not (hasattr(init, "fit") and hasattr(init, method)):
        raise UsageError(f"init must be None, 'zero' or an estimator with fit and {method}; got {init!r}")
    if is_classifier and not loss.has_probabilities:
        raise UsageError(f"init={type(init).__name__} predicts probabilities, but loss {loss.name!r} has none")


def fitted_start(init: Any, X: Any, y: Any, weights: Floats | None) -> Any:
    """Return a fitted clone of an estimator; weights are None if the caller passed none."""
    start = clone(init)
    if weights is None:
        return start.fit(X, y)
    if not has_fit_parameter(start, "sample_weight"):
        raise UsageError(
            f"The initial estimator {type(start).__name__} does not support sample weights: fit without weights, or "
            "choose another init"
        )
    return start.fit(X, y, sample_weight=weights)


def raw_start(start: Any, X: Any, loss: Loss, classes: npt.NDArray[Any] | None) -> Floats:
    """Return the raw values that correspond to a fitted estimator's predictions, (n, n_outputs) float64."""
    if classes is None:
        numbers = np.asarray(start.predict(X), dtype=np.float64).reshape(-1, 1)
        return np.log(np.maximum(numbers, LEAST_NUMBER)) if loss.is_logarithm else numbers
    shares = np.asarray(start.predict_proba(X), dtype=np.float64)
    if not np.array_equal(start.classes_, classes):
        raise UsageError(
            f"The initial estimator {type(start).__name__} does not know the same classes as y: {shown(start.classes_)}"
        )
    logs = np.log(np.clip(shares, LEAST_SHARE, 1.0 - LEAST_SHARE))
    if loss.n_outputs > 1:
        return np.asarray(logs - logs.mean(axis=1, keepdims=True))
    log_odds = logs[:, 1:] - logs[:, :1]
    return np.asarray(log_odds / 2 if loss.name == "exponential" else log_odds)


def check_margin(margin: Any, n: int, n_outputs: int, name: str = "base_margin") -> Floats:
    """Return base margins as (n, n_outputs) float64, after checking them."""
    try:
        found = np.array(margin, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"{name} must be numbers, got {shown(margin)}") from None
    if found.shape not in ((n, n_outputs), (n,) if n_outputs == 1 else None):
        raise UsageError(f"{name} must have the shape ({n}, {n_outputs}), a raw value for each row, got {found.shape}")
    if not np.isfinite(found).all():
        raise UsageError(f"{name} must be finite")
    return found.reshape(n, n_outputs)
