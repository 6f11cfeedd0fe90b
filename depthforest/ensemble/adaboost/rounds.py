"""The arithmetic of AdaBoost, round by round: what a member weighs and how the weights of the rows change.

K classes (SAMME, Zhu et al. 2009), of which two are Freund and Schapire's case. Nothing here knows an estimator:
`adaboost` fits members, `pool` chooses them, and both keep their books here.
"""

from __future__ import annotations

import math

import numpy as np

from depthforest.base import Bools, Floats, UsageError

Flags = Bools

FORMS = ("odds", "exponential")

ROUNDING = 1e-10
"""Errors this close are equal: more than sums of weights are rounded by.

A member that is asked again at once has the error of chance, but for rounding. It would weigh 4e-10, next to nothing.
"""


def chance_error(n_classes: int) -> float:
    """Return the error of a guess among K classes: 1 - 1/K."""
    return 1.0 - 1.0 / n_classes


def check_form(form: object) -> str:
    """Return the form, if it is one."""
    if form not in FORMS:
        raise UsageError(f"form must be one of {', '.join(map(repr, FORMS))}, got {form!r}")
    return str(form)


def form_scale(form: str, n_classes: int) -> float:
    """Return what a member weighs in this form, where it weighs 1 in the form of the odds: (K-1)^2/K, or 1."""
    return (n_classes - 1) ** 2 / n_classes if form == "exponential" else 1.0


def log_odds(error: float, n_classes: int) -> float:
    """Return ln((1-e)/e) + ln(K-1), for 0 < e < 1; above 0 for what is better than chance."""
    return math.log1p(-error) - math.log(error) + math.log(n_classes - 1)


LEAST_WEIGHT = float(np.finfo(np.float64).eps)
"""Of a row that has weight, as in scikit-learn: high learning rates take weights down by many powers of ten a round."""


def reweighted(weights: Floats, wrong: Flags, member_weight: float, *, form: str, n_classes: int) -> Floats:
    """Return the weights of the rows (n,) for the next round, summing to one.

    Parameters
    ----------
    weights : (n,) float64
        Of this round.
    wrong : (n,) bool
        Rows that the member has wrong, at least one of them with a weight.
    member_weight : float
        Its weight in this form, z or beta.
    form : {'odds', 'exponential'}
        By the odds: right rows times exp(-z), which for two classes is e/(1-e). Exponential: rows times
        exp(-y.g beta / K) with the codes of Zhu et al., so right ones times exp(-beta / (K-1)) and wrong ones times
        exp(beta / (K-1)^2); for two classes exp(-alpha y h).
    n_classes : int
        K.
    """
    if form == "exponential":
        on_right, on_wrong = -member_weight / (n_classes - 1), member_weight / (n_classes - 1) ** 2
    else:
        on_right, on_wrong = -member_weight, 0.0
    # both less the larger, which normalizing takes out again: a huge learning rate overflows nothing
    updated = np.where(wrong, weights, weights * math.exp(on_right - on_wrong))
    updated = np.asarray(updated / updated.sum())
    vanishes = (updated < LEAST_WEIGHT) & (weights > 0.0)
    if vanishes.any():  # a member that has such rows wrong would look perfect
        updated[vanishes] = LEAST_WEIGHT
        updated /= updated.sum()
    return updated


class Ledger:
    """The books of a run: the weights of the rows now, and the errors and weights of the members so far.

    Parameters
    ----------
    weights : (n,) float64
        Of the rows in the first round; they are scaled to a sum of one.
    n_classes : int
    learning_rate : float
    form : {'odds', 'exponential'}
    keeps_history : bool
        Whether the weights of all rounds are kept.
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
        """Return the share of the weight on rows that are wrong."""
        return float(self.weights[wrong].sum())

    def is_chance(self, error: float) -> bool:
        """Return whether a member of this error is no better than a guess."""
        return error >= chance_error(self.n_classes) - ROUNDING

    @property
    def is_perfect(self) -> bool:
        """Whether the last member has nothing wrong: no weight can change any more."""
        return bool(self.errors) and self.errors[-1] == 0.0

    def take(self, wrong: Flags) -> None:
        """Enter a member that is better than chance, and go on to the weights of the next round.

        A member without error would weigh infinitely much. It gets one more (in units of the odds) than all before it
        together: that decides every row as infinity would.
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
    """Return the bound on the training error of two classes after each round, (n_rounds,) float64.

    The product of Z = (1-e) exp(-alpha) + e exp(alpha), which is the mean of exp(-y H) after the round. With the
    learning rate 1 it is 2 sqrt(e (1-e)); with an error of 0 it is 0.
    """
    alphas = member_weights * (form_scale("exponential", 2) / form_scale(form, 2))
    with np.errstate(over="ignore", invalid="ignore"):  # a huge learning rate: no bound
        products = np.cumprod((1 - errors) * np.exp(-alphas) + errors * np.exp(alphas))
    return np.where(errors == 0.0, 0.0, products)
