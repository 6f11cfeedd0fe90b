"""Losses by name, with scikit-learn's names for the same losses.

For gradient and Newton boosting; custom losses are wrapped by `custom`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from depthforest.base import UsageError, is_number
from depthforest.ensemble.boosting.losses.base import Loss
from depthforest.ensemble.boosting.losses.classes import Exponential, Hinge, Logistic, Multinomial, Perceptron
from depthforest.ensemble.boosting.losses.custom import CustomLoss
from depthforest.ensemble.boosting.losses.regression import AbsoluteError, Huber, Quantile, SquaredError
from depthforest.ensemble.boosting.losses.tweedie import GAMMA, POISSON, Tweedie

__all__ = ["CLASSIFICATION_LOSSES", "REGRESSION_LOSSES", "Loss", "loss_of"]

LOG_LOSS = "log_loss"

REGRESSION: dict[str, Callable[[float, float], Loss]] = {
    "squared_error": lambda _, __: SquaredError(),
    "absolute_error": lambda _, __: AbsoluteError(),
    "huber": lambda alpha, _: Huber(alpha),
    "quantile": lambda alpha, _: Quantile(alpha),
    "poisson": lambda _, __: Tweedie(POISSON, "poisson"),
    "gamma": lambda _, __: Tweedie(GAMMA, "gamma"),
    "tweedie": lambda _, power: Tweedie(power),
}
TWO_CLASSES: dict[str, Callable[[], Loss]] = {
    "logistic": Logistic,
    "exponential": Exponential,
    "hinge": Hinge,
    "perceptron": Perceptron,
}
REGRESSION_LOSSES = tuple(REGRESSION)
CLASSIFICATION_LOSSES = (LOG_LOSS, *TWO_CLASSES, "multinomial")


def loss_of(loss: Any, *, n_classes: int | None = None, alpha: float = 0.9, power: float = 1.5) -> Loss:
    """Return the loss for a name, or an adapter for a custom loss.

    'log_loss' is 'logistic' for two classes and 'multinomial' for more; 'multinomial' also supports two, with a tree
    for each.

    Parameters
    ----------
    loss : str or object
        A name, or an object with the methods of `custom.LossProtocol`.
    n_classes : int, optional
        Number of classes; None for regression.
    alpha : float
        The quantile of 'quantile'; for 'huber', the share of residuals that do not count as outliers.
    power : float
        For 'tweedie': the variance is proportional to this power of the mean.
    """
    if n_classes is not None and n_classes < 2:
        raise UsageError(f"y must have at least two classes to boost, got {n_classes} class")
    if not isinstance(loss, str):
        return CustomLoss(loss, n_classes=n_classes)
    if n_classes is None:
        return _regression_loss(loss, alpha, power)
    if loss == "multinomial" or (loss == LOG_LOSS and n_classes > 2):
        return Multinomial(n_classes)
    if loss == LOG_LOSS:
        return Logistic()
    if loss not in TWO_CLASSES:
        raise _unknown(loss, CLASSIFICATION_LOSSES, REGRESSION_LOSSES, "regression")
    if n_classes > 2:
        raise UsageError(
            f"loss {loss!r} separates two classes, but y has {n_classes}: use 'log_loss' (here 'multinomial')"
        )
    return TWO_CLASSES[loss]()


def _regression_loss(loss: str, alpha: float, power: float) -> Loss:
    if loss not in REGRESSION:
        raise _unknown(loss, REGRESSION_LOSSES, CLASSIFICATION_LOSSES, "classification")
    if loss in ("huber", "quantile") and not (is_number(alpha) and 0 < alpha < 1):
        raise UsageError(f"alpha must be a number above 0 and below 1 for loss {loss!r}, got {alpha!r}")
    if loss == "tweedie" and not (is_number(power) and POISSON < power < GAMMA):
        raise UsageError(f"power must be a number above 1 and below 2 for loss 'tweedie', got {power!r}")
    return REGRESSION[loss](alpha, power)


def _unknown(loss: str, known: tuple[str, ...], others: tuple[str, ...], task: str) -> UsageError:
    reason = f"{loss!r}, which is for {task}" if loss in others else repr(loss)
    return UsageError(f"loss must be one of {', '.join(map(repr, known))} or a custom loss object, got {reason}")
