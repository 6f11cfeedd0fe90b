"""Custom losses: any object with a value and a gradient, checked numerically when first used.

`CustomLoss` gives them the interface of the built-in losses; `choice.loss_of` calls it for objects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from depthforest.base import Bools, Floats, Ints, UsageError
from depthforest.ensemble.boosting.losses.base import Targets
from depthforest.ensemble.boosting.losses.classes import MAX_LOG_ODDS, MAX_SURE_STEP, MarginLoss
from depthforest.ensemble.boosting.losses.derivatives import HESSIAN_FLOOR
from depthforest.ensemble.boosting.losses.linesearch import leaf_sums, stepped_back, zero_slopes

CHECKED_ROWS = 50
"""Training rows, evenly spread over the sorted targets, at which derivatives are checked."""

OFFSETS = (-2.0, -0.7, -0.1, 0.0, 0.1, 0.7, 2.0)
"""Raw values of the check; for regression also the targets plus these times the targets' standard deviation."""

STEP = 1e-5
"""Step of differences, relative to the spread of raw values: about the cube root of the rounding error."""

LEAST_STEP = 1e-9
"""Step of differences, relative to the raw value: if targets are far from 0, raw values themselves are rounded."""

TOLERANCE = 1e-3
"""Relative error of a derivative that counts as wrong: differences are accurate to 1e-5."""


class LossProtocol(Protocol):
    """The interface of a custom loss with one output, which must be a sum over rows.

    `y` is (n,) float64: the targets, or -1 and 1 for the two classes. `raw` is (n,) float64; it starts at 0 and can
    have any value.

    Two more methods are optional. `hessian(y, raw)` is the second derivative of every row, (n,), which Newton boosting
    needs and which makes line searches faster. `leaf_value(y, raw, weights)` is the step that a leaf with these rows
    adds to their raw values; it is also called with all rows at raw 0 for the start of boosting. Without it, the zero
    of the weighted sum of gradients is searched, which is correct if the loss is convex in `raw`.
    """

    def value(self, y: Floats, raw: Floats) -> Floats:
        """Return the loss of every row, (n,)."""

    def gradient(self, y: Floats, raw: Floats) -> Floats:
        """Return its derivative with respect to `raw`, (n,); at a kink, any slope between those of both sides."""


class CustomLoss(MarginLoss):
    """A user's loss with the interface of the built-in ones.

    `start` checks it by finite differences; `derivatives` checks that its results have the right shape and are finite.

    Parameters
    ----------
    loss : LossProtocol
    n_classes : int or None
        2, or None for regression.
    """

    def __init__(self, loss: LossProtocol, *, n_classes: int | None = None) -> None:
        self.name = type(loss).__name__
        if isinstance(loss, type):
            raise UsageError(f"loss must be an object, got the class {loss.__name__}: pass {loss.__name__}()")
        if not all(callable(getattr(loss, method, None)) for method in ("value", "gradient")):
            raise UsageError(
                f"loss must be a name, or an object with methods value(y, raw) and gradient(y, raw), got {loss!r}"
            )
        if n_classes is not None and n_classes != 2:
            raise UsageError(f"custom loss {self.name} separates two classes, but y has {n_classes}: use 'log_loss'")
        self.loss = loss
        self.is_classifier = n_classes is not None
        self.has_hessian = callable(getattr(loss, "hessian", None))
        self.round = 0

    def prepare(self, y: Targets, raw: Floats, weights: Floats) -> None:  # noqa: ARG002 - as in the base
        """Count the rounds, for messages."""
        self.round += 1

    def value(self, y: Targets, raw: Floats) -> Floats:
        """Return the custom loss's value, checked."""
        return self._asked("value", self._numbers(y), raw)

    def derivatives(self, y: Targets, raw: Floats, gradient: Floats, hessian: Floats | None) -> None:
        """Fill the custom loss's gradient and hessian, checked."""
        gradient[:] = self._asked("gradient", self._numbers(y), raw)
        if hessian is not None:
            hessian[:] = self._asked("hessian", self._numbers(y), raw) if self.has_hessian else 1.0
            np.maximum(hessian, HESSIAN_FLOOR, out=hessian)

    def start(self, y: Targets, weights: Floats) -> Floats:
        """Return the minimum, searched from 0, after checking the loss's derivatives."""
        self.round = 0
        self._check(self._numbers(y))
        return super().start(y, weights)

    def _minima(self, y: Targets, raw: Floats, weights: Floats, leaf_of: Ints, n_leaves: int) -> Floats:
        """Return the custom loss's own leaf values, or the zeros of the sum of gradients.

        The search is limited to `MAX_LOG_ODDS` for classes (beyond it, a Newton step is taken; without a hessian,
        `MAX_SURE_STEP`), and for regression to 10 times the largest target or raw value.
        """
        counted = (leaf_of >= 0) & (weights > 0)
        y, raw, weights, leaf_of = self._numbers(y)[counted], raw[counted], weights[counted], leaf_of[counted]
        if not len(y):
            return np.zeros(n_leaves)
        if callable(getattr(self.loss, "leaf_value", None)):
            return self._own_leaf_values(y, raw, weights, leaf_of, n_leaves)

        def slopes(at: Floats, is_open: Bools) -> tuple[Floats, Floats | None]:
            rows = is_open[leaf_of]
            leaves, moved = leaf_of[rows], (raw + at[leaf_of])[rows]
            first = leaf_sums(weights[rows] * self._asked("gradient", y[rows], moved), leaves, n_leaves)
            if not self.has_hessian:
                return first, None
            return first, leaf_sums(weights[rows] * self._asked("hessian", y[rows], moved), leaves, n_leaves)

        largest = max(np.abs(y).max(initial=1.0), np.abs(raw).max(initial=1.0))
        of_classes = MAX_LOG_ODDS if self.has_hessian else MAX_SURE_STEP
        bound = np.full(n_leaves, of_classes if self.is_classifier else 10.0 * largest)
        found = zero_slopes(slopes, -bound, bound, reach=1.0)
        return stepped_back(slopes, found, MAX_LOG_ODDS) if self.is_classifier and self.has_hessian else found

    def _own_leaf_values(self, y: Floats, raw: Floats, weights: Floats, leaf_of: Ints, n_leaves: int) -> Floats:
        own: Callable[[Floats, Floats, Floats], Any] = self.loss.leaf_value  # type: ignore[attr-defined]
        order = np.argsort(leaf_of, kind="stable")
        ends = np.searchsorted(leaf_of[order], np.arange(n_leaves), side="right")
        values = np.zeros(n_leaves)
        for leaf, rows in enumerate(np.split(order, ends)[:n_leaves]):
            if len(rows):
                found = np.asarray(own(y[rows], raw[rows], weights[rows]))
                if found.shape != () or found.dtype.kind not in "fiu" or not np.isfinite(found):
                    raise UsageError(f"leaf_value of loss {self.name} must return one finite number, got {found!r}")
                values[leaf] = float(found)
        return values

    def _numbers(self, y: Targets) -> Floats:
        return np.asarray(2.0 * y - 1.0 if self.is_classifier else y, dtype=np.float64)

    def _asked(self, method: str, y: Floats, raw: Floats) -> Floats:
        """Return the result of a method, (n,) float64, checked."""
        found = self._said(method, y, raw)
        bad = np.flatnonzero(~np.isfinite(found))
        if len(bad):
            i = bad[0]
            raise UsageError(
                f"{method} of loss {self.name} must be finite, got {found[i]} at y={y[i]:g}, raw={raw[i]:g}"
                + (f" in round {self.round}" if self.round else "")
            )
        return found

    def _said(self, method: str, y: Floats, raw: Floats) -> Floats:
        # copies, because a loss that works in place must change neither the rows nor the caller's own y
        found = np.asarray(getattr(self.loss, method)(y.copy(), raw.copy()))
        if found.shape != y.shape or found.dtype.kind not in "fiu":
            raise UsageError(
                f"{method} of loss {self.name} must return one number for each of {len(y)} rows, got "
                f"{found.dtype} of shape {found.shape}"
            )
        return found.astype(np.float64)

    def _check(self, y: Floats) -> None:
        """Compare the gradient with finite differences of the value, and the hessian with those of the gradient."""
        sample = np.sort(y)[np.unique(np.linspace(0, len(y) - 1, min(len(y), CHECKED_ROWS)).astype(np.intp))]
        if self.is_classifier:
            sample = np.array([-1.0, 1.0])
        targets, offsets = (part.ravel() for part in np.meshgrid(sample, OFFSETS, indexing="ij"))
        spread = float(np.std(y)) or 1.0
        pairs = [("gradient", "value"), ("hessian", "gradient")] if self.has_hessian else [("gradient", "value")]
        for derivative, method in pairs:
            self._asked(method, targets, offsets)
            self._asked(derivative, targets, offsets)
            self._compare(derivative, method, targets, offsets, STEP)
            if derivative == "hessian":
                self._check_sign(targets, offsets)
            if not self.is_classifier:
                self._compare(derivative, method, targets, targets + offsets * spread, STEP * spread)

    def _check_sign(self, y: Floats, raw: Floats) -> None:
        """Raise if the loss is concave everywhere, so that it has no minimum."""
        if (self._said("hessian", y, raw) < 0).all():
            raise UsageError(
                f"hessian of loss {self.name} is negative everywhere, so it has no minimum: flip the signs of "
                "value, gradient and hessian"
            )

    def _compare(self, derivative: str, method: str, y: Floats, raw: Floats, least_step: float) -> None:
        """Raise unless a derivative is between the slopes to the left and to the right, except for rounding.

        At a kink the two differ, and any subgradient between them is correct. Points at which something overflows, as
        may happen far from a loss's domain, are ignored.
        """
        step = np.maximum(least_step, LEAST_STEP * np.abs(raw))
        with np.errstate(all="ignore"):
            below, here, above = (self._said(method, y, raw + side * step) for side in (-1.0, 0.0, 1.0))
            said = self._said(derivative, y, raw)
            left, right = (here - below) / step, (above - here) / step
            rounding = 100 * np.finfo(np.float64).eps * (1.0 + np.abs(below) + np.abs(above)) / step
            allowed = TOLERANCE * (np.abs(left) + np.abs(right)) + rounding
            is_wrong = (said < np.minimum(left, right) - allowed) | (said > np.maximum(left, right) + allowed)
        is_wrong &= np.isfinite(left) & np.isfinite(right)
        if is_wrong.any():
            i = int(np.flatnonzero(is_wrong)[0])
            raise UsageError(
                f"{derivative} of loss {self.name} does not match its {method}: expected about "
                f"{(left[i] + right[i]) / 2:.6g}, got {said[i]:.6g} at y={y[i]:g}, raw={raw[i]:g}"
            )
