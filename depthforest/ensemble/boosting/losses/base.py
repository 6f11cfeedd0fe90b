"""The base class of all losses of boosting, which growers and estimators use.

`regression`, `tweedie` and `classes` define the built-in losses, `custom` wraps those of users, `choice` finds a loss
by name.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, Ints, Longs, UsageError

Targets = npt.NDArray[Any]
"""(n,) float64 for regression, (n,) int32 class codes for classification."""


class Loss:
    """A loss L(y, F) of targets and raw values, which boosting minimizes.

    `y` is (n,): float64 for regression, int32 class codes from 0 for classification. `raw` is (n,) float64 for one
    output, else (n_outputs, n) float64, a row for each class. All methods accept any block of rows (`is_by_row`):
    `y[a:b]` with `raw[a:b]` or `raw[:, a:b]`.

    Attributes
    ----------
    name : str
    n_outputs : int
        Trees per round: 1, or the number of classes for the multinomial loss.
    has_hessian : bool
        Whether Newton boosting can use the loss: its second derivative is nowhere 0, except for rounding.
    has_probabilities : bool
    is_by_row : bool
        Whether the loss is a sum over rows; if not, methods need all rows at once.
    is_searched : bool
        Whether Newton boosting uses the loss's own minima for leaves, because second derivatives do not give them.
    is_logarithm : bool
        Whether raw values of regression are logarithms of the predictions.
    max_newton_step : float
        Largest step of a leaf in Newton boosting, before the learning rate.
    """

    name: str
    n_outputs: int = 1
    has_hessian: bool = False
    has_probabilities: bool = False
    is_by_row: bool = True
    is_searched: bool = False
    is_logarithm: bool = False
    max_newton_step: float = np.inf

    def check_targets(self, y: Targets) -> None:
        """Raise UsageError for targets that the loss does not allow."""

    def prepare(self, y: Targets, raw: Floats, weights: Floats) -> None:
        """Process all training rows before a round; does nothing unless the loss adapts to each round."""

    def value(self, y: Targets, raw: Floats) -> Floats:
        """Return the loss of every row, (n,) float64, not weighted."""
        raise NotImplementedError

    def derivatives(self, y: Targets, raw: Floats, gradient: Floats, hessian: Floats | None) -> None:
        """Fill the first and second derivatives with respect to the raw values, in the shape of `raw`, not weighted.

        `hessian` may be None. Losses without a useful one (`has_hessian`) fill it with 1, others with at least
        `HESSIAN_FLOOR`.
        """
        raise NotImplementedError

    def start(self, y: Targets, weights: Floats) -> Floats:
        """Return the constant raw values that minimize the weighted loss, (n_outputs,) float64."""
        return self._minima(y, np.zeros(len(y)), weights, np.zeros(len(y), dtype=np.int32), 1)

    def leaf_values(
        self,
        y: Targets,
        raw: Floats,
        weights: Floats,
        leaf_of: Ints,
        n_leaves: int,
        output: int = 0,  # noqa: ARG002 - for several outputs
        gradient: Floats | None = None,  # noqa: ARG002
    ) -> Floats:
        """Return the steps of leaves, added to raw values, that minimize the weighted loss, (n_leaves,) float64.

        Leaves without rows, or without weight, get 0.

        Parameters
        ----------
        leaf_of : (n,) int32
            The leaf of every row; -1 for rows that are left out.
        output : int
            The class of the tree, if there are several outputs.
        gradient : (n,) float64, optional
            The output's gradient at `raw`, as filled by `derivatives`, which saves the multinomial loss from computing
            it for all classes. Losses with one output do not need it.
        """
        return self._minima(y, raw, weights, leaf_of, n_leaves)

    def _minima(self, y: Targets, raw: Floats, weights: Floats, leaf_of: Ints, n_leaves: int) -> Floats:
        """Return the leaf values of the only output."""
        raise NotImplementedError

    def numbers(self, raw: Floats) -> Floats:
        """Return the predictions of regression for raw values, (n,) float64."""
        return raw

    def probabilities(self, raw: Floats) -> Floats:  # noqa: ARG002 - for subclasses
        """Return the probability of every class, (n, n_classes) float64."""
        raise UsageError(f"loss {self.name!r} has no probabilities: use decision_function, or loss='log_loss'")

    def decide(self, raw: Floats) -> Longs:
        """Return the class codes, (n,) int64; the lower one if two are equal."""
        raise NotImplementedError
