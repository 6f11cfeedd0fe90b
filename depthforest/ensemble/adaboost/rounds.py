"""The arithmetic of AdaBoost, round by round: the weight of a member and the change of the rows' weights.

K classes (SAMME, Zhu et al. 2009), which for two are Freund and Schapire's case. Nothing here knows estimators:
`estimator` fits members, `pool` chooses them, and both record their rounds in a `Ledger`.
"""

from __future__ import annotations

import math

import numpy as np

from depthforest.base import Bools, Floats, UsageError

Flags = Bools

FORMS = ("odds", "exponential")

ROUNDING = 1e-10
"""Errors this close are equal: more than the rounding of sums of weights.

A member evaluated again right after its round has the error of chance except for rounding; its weight would be 4e-10.
"""


def chance_error(n_classes: int) -> float:
    """Return the error of a guess among K classes: 1 - 1/K."""
    return 1.0 - 1.0 / n_classes


def check_form(form: object) -> str:
    """Return the form after checking it."""
    if form not in FORMS:
        raise UsageError(f"form must be one of {', '.join(map(repr, FORMS))}, got {form!r}")
    return str(form)


def form_scale(form: str, n_classes: int) -> float:
    """Return a member's weight in this form if it has weight 1 in the odds form: (K-1)^2/K, or 1."""
    return (n_classes - 1) ** 2 / n_classes if form == "exponential" else 1.0


def log_odds(error: float, n_classes: int) -> float:
    """Return ln((1-e)/e) + ln(K-1), for 0 < e < 1; above 0 if better than chance."""
    return math.log1p(-error) - math.log(error) + math.log(n_classes - 1)


LEAST_WEIGHT = float(np.finfo(np.float64).eps)
"""Least weight of a row with weight, as in scikit-learn: high learning rates shrink weights by many powers of ten."""


def reweighted(weights: Floats, wrong: Flags, member_weight: float, *, form: str, n_classes: int) -> Floats:
    """Return the weights of the rows (n,) for the next round, summing to 1.

    Parameters
    ----------
    weights : (n,) float64
        Weights in this round.
    wrong : (n,) bool
        Rows on which the member is wrong, at least one of them with a weight.
    member_weight : float
        The member's weight in this form, z or beta.
    form : {'odds', 'exponential'}
        'odds': correct rows times exp(-z), which for two classes is e/(1-e). 'exponential': rows times
        exp(-y.g beta / K) with the codes of Zhu et al., so correct ones times exp(-beta / (K-1)) and wrong ones times
        exp(beta / (K-1)^2); for two classes exp(-alpha y h).
    n_classes : int
        Number of classes, K.
    """
    if form == "exponential":
        on_right, on_wrong = -member_weight / (n_classes - 1), member_weight / (n_classes - 1) ** 2
    else:
        on_right, on_wrong = -member_weight, 0.0
    # both exponents minus the larger one, which normalization cancels: a huge learning rate cannot overflow
    updated = np.where(wrong, weights, weights * math.exp(on_right - on_wrong))
    updated = np.asarray(updated / updated.sum())
    vanishes = (updated < LEAST_WEIGHT) & (weights > 0.0)
    if vanishes.any():  # a member that is wrong only on such rows would look perfect
        updated[vanishes] = LEAST_WEIGHT
        updated /= updated.sum()
    return updated


class Ledger:
    """The record of a run: the current weights of the rows, and the errors and weights of the members so far.

    Parameters
    ----------
    weights : (n,) float64
        Weights of the rows in the first round; scaled to sum to 1.
    n_classes : int
    learning_rate : float
    form : {'odds', 'exponential'}
    keeps_history : bool
        Whether to keep the weights of all rounds.
    """

    def __init__(
        self, weights: Floats, *, n_classes: int, learning_rate: float, form: str, keeps_history: bool
    ) -> None:
        self.weights = weights / weights.sum()
        self.n_classes = n_classes
        self.learning_rate = learning_rate
        self.form = form
        self.errors: list[float] = []
        self.member_weights: list[float] = []
        self.history: list[Floats] | None = [] if keeps_history else None

    def error(self, wrong: Flags) -> float:
        """Return the share of the weight on wrong rows."""
        return float(self.weights[wrong].sum())

    def is_chance(self, error: float) -> bool:
        """Return whether a member with this error is no better than a guess."""
        return error >= chance_error(self.n_classes) - ROUNDING

    @property
    def is_perfect(self) -> bool:
        """Whether the last member has no error: the weights cannot change any more."""
        return bool(self.errors) and self.errors[-1] == 0.0

    def take(self, wrong: Flags) -> None:
        """Record a member that is better than chance, and update the weights for the next round.

        The weight of a member without error would be infinite. It gets one more (in units of the odds) than the sum of
        all weights before it, which decides every row just as infinity would.
        """
        error = self.error(wrong)
        scale = form_scale(self.form, self.n_classes)
        if error == 0.0:
            weight = sum(self.member_weights) + scale
        else:
            weight = scale * self.learning_rate * log_odds(error, self.n_classes)
        if self.history is not None:
            self.history.append(self.weights)
        if error > 0.0:
            self.weights = reweighted(self.weights, wrong, weight, form=self.form, n_classes=self.n_classes)
        self.errors.append(error)
        self.member_weights.append(weight)


def error_bounds(errors: Floats, member_weights: Floats, *, form: str) -> Floats:
    """Return an upper bound on the training error for two classes after each round, (n_rounds,) float64.

    It is the product of Z = (1-e) exp(-alpha) + e exp(alpha), which is the mean of exp(-y H) after the round. For
    learning rate 1, Z is 2 sqrt(e (1-e)); for an error of 0 it is 0.
    """
    alphas = member_weights * (form_scale("exponential", 2) / form_scale(form, 2))
    with np.errstate(over="ignore", invalid="ignore"):  # a huge learning rate: no bound
        products = np.cumprod((1 - errors) * np.exp(-alphas) + errors * np.exp(alphas))
    return np.where(errors == 0.0, 0.0, products)
