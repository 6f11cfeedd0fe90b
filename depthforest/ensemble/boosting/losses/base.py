"""What every loss of boosting offers: the base class that growers and estimators know.

`regression` and `classes` define the built-in ones, `custom` wraps those of users, `losses` finds one
by name.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, Ints, Longs, UsageError

Targets = npt.NDArray[Any]
"""(n,) float64 of regression, (n,) int32 class codes of classification."""


class Loss:
    """A loss L(y, F) of targets and raw values, which boosting makes small.

    `y` is (n,): float64 for regression, int32 class codes from 0 for classification. `raw` is (n,) float64 where there
    is one output, else (n_outputs, n) float64, a row for each class. All methods take any block of rows
    (`is_by_row`): `y[a:b]` with `raw[a:b]` or `raw[:, a:b]`.

    Attributes
    ----------
    name : str
    n_outputs : int
        Trees in a round: 1, or the number of classes for the multinomial loss.
    has_hessian : bool
        Whether Newton boosting can use it: the second derivative is nowhere 0 but for rounding.
    has_probabilities : bool
    is_by_row : bool
        Whether every row counts for itself alone; if not, methods take all rows at once.
    is_searched : bool
        Whether Newton boosting takes the loss's own minima for leaves, because second derivatives do not tell them.
    is_logarithm : bool
        Whether raw values of regression are logarithms of what they predict.
    max_newton_step : float
        How far a leaf of Newton boosting goes at most, before the learning rate.
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
        """Raise UsageError for targets that the loss is not for."""

    def prepare(self, y: Targets, raw: Floats, weights: Floats) -> None:
        """Look at all training rows once, before a round; what is not round-wise does nothing here."""

    def value(self, y: Targets, raw: Floats) -> Floats:
        """Return the loss of every row, (n,) float64, not weighted."""
        raise NotImplementedError

    def derivatives(self, y: Targets, raw: Floats, gradient: Floats, hessian: Floats | None) -> None:
        """Fill the first and second derivatives in the raw values, of the shape of `raw`, not weighted.

        `hessian` may be None. Losses without a useful one (`has_hessian`) fill it with 1, others with at least
        `HESSIAN_FLOOR`.
        """
        raise NotImplementedError

    def start(self, y: Targets, weights: Floats) -> Floats:
        """Return the constant raw values of the least weighted loss, (n_outputs,) float64."""
        return self._minima(y, np.zeros(len(y)), weights, np.zeros(len(y), dtype=np.int32), 1)

    def leaf_values(
        self,
        y: Targets,
        raw: Floats,
        weights: Floats,
        leaf_of: Ints,
        n_leaves: int,
        output: int = 0,  # noqa: ARG002 - of several outputs
        gradient: Floats | None = None,  # noqa: ARG002
    ) -> Floats:
        """Return what each leaf adds to the raw values of its rows for the least weighted loss, (n_leaves,) float64.

        Leaves without rows, or without weight, get 0.

        Parameters
        ----------
        leaf_of : (n,) int32
            The leaf of every row, -1 for rows that are left out.
        output : int
            The class whose tree it is, where there are several outputs.
        gradient : (n,) float64, optional
            The output's gradient at `raw`, as `derivatives` has filled it: saves the multinomial loss its computation
            for all classes. Losses of one output do not need it.
        """
        return self._minima(y, raw, weights, leaf_of, n_leaves)

    def _minima(self, y: Targets, raw: Floats, weights: Floats, leaf_of: Ints, n_leaves: int) -> Floats:
        """Return the leaf values of the only output."""
        raise NotImplementedError

    def numbers(self, raw: Floats) -> Floats:
        """Return what raw values of regression predict, (n,) float64."""
        return raw

    def probabilities(self, raw: Floats) -> Floats:  # noqa: ARG002 - for those that have them
        """Return the probability of every class, (n, n_classes) float64."""
        raise UsageError(f"loss {self.name!r} gives no probabilities: use decision_function, or loss='log_loss'")

    def decide(self, raw: Floats) -> Longs:
        """Return the class codes, (n,) int64; the lower one of two that are equal."""
        raise NotImplementedError
