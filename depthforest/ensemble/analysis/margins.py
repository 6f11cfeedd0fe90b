"""Margins: the lead of the true class, and Breiman's bound. `marginbound` has another bound based on them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from depthforest.base import Floats, UsageError
from depthforest.ensemble.analysis.checking import (
    Codes,
    as_labels,
    check_same_kind,
    checked_distribution,
    checked_votes,
    checked_weights,
    counts_of_votes,
    finite,
    one_column,
)


@dataclass(frozen=True)
class BreimanBound:
    """Breiman's measures of a forest [1]_, for the given samples.

    Parameters
    ----------
    strength : float
        s: the mean margin of the votes.
    correlation : float
        rho: variance of the margin divided by the squared mean standard deviation of the members' raw margins. The raw
        margin of a member is 1 if it is right, -1 if it predicts the most popular wrong class, else 0. NaN if no raw
        margin varies.
    bound : float
        rho (1 - s^2) / s^2, an upper bound on the share of samples with a margin of 0 or less; infinite unless s > 0.

    References
    ----------
    .. [1] L. Breiman, "Random forests", Machine Learning 45 (2001), 5-32. The paper prints the deviation with a plus
       sign where the variance of a raw margin, p1 + p2 - (p1 - p2)^2, has a minus.
    """

    strength: float
    correlation: float
    bound: float


def vote_margins(predictions: Any, y: Any, *, weights: Any = None) -> Floats:
    """Return the margin of each sample: the share of votes for the true class minus the largest share of another.

    It is the margin of Schapire et al. [1]_, and Breiman's margin function of a forest. The vote is right above 0 and
    wrong below.

    Parameters
    ----------
    predictions : array (n_members, n_samples)
        Labels predicted by each member; for a fitted ensemble, `member_predictions(ensemble, X)`.
    y : array (n_samples,)
        True labels.
    weights : array (n_members,), optional
        Weights of the members: nonnegative, summing to 1; equal by default.

    Returns
    -------
    array (n_samples,), float64
        From -1 to 1.

    References
    ----------
    .. [1] R. E. Schapire, Y. Freund, P. Bartlett, W. S. Lee, "Boosting the margin: a new explanation for the
       effectiveness of voting methods", Annals of Statistics 26 (1998), 1651-1686.
    """
    votes = checked_votes(predictions, y)
    n_members = len(votes.answers)
    if weights is not None:
        shares = counts_of_votes(votes.answers, votes.n_classes, checked_weights(weights, n_members))
        return _lead(shares, votes.truth)[0]
    # divided last, so that a margin of 6 votes in 20 is exactly 0.3, not the difference of two rounded shares
    return _lead(counts_of_votes(votes.answers, votes.n_classes), votes.truth)[0] / n_members


def probability_margins(class_probabilities: Any, y: Any, *, classes: Any) -> Floats:
    """Return the margin of each sample: the probability of the true class minus the largest other probability.

    Parameters
    ----------
    class_probabilities : array (n_samples, n_classes) or (n_members, n_samples, n_classes)
        Of the ensemble (its `predict_proba`), or of its members (`member_probabilities`), which are averaged.
    y : array (n_samples,)
        True labels.
    classes : array (n_classes,)
        The labels of the columns: the `classes_` of the ensemble.

    Returns
    -------
    array (n_samples,), float64
        From -1 to 1.
    """
    labels = as_labels(one_column(classes, "classes"), "classes")
    given = np.asarray(class_probabilities)
    shares = checked_distribution(given.mean(axis=0) if given.ndim == 3 and len(given) else given, len(labels))
    truth = as_labels(one_column(y, "y"), "y")
    check_same_kind(truth, labels, "y and classes")
    if len(truth) != len(shares):
        raise UsageError(
            f"class_probabilities and y must have the same number of samples, got {len(shares)} and {len(truth)}"
        )
    order = np.argsort(labels)
    places = np.minimum(np.searchsorted(labels[order], truth), len(labels) - 1)
    unknown = truth[labels[order][places] != truth]
    if len(unknown):
        raise UsageError(f"y holds a label that is not in classes: {unknown[0].item()!r}")
    return _lead(shares[:, order], places)[0]


def margin_distribution(margins: Any, thresholds: Any = None) -> tuple[Floats, Floats]:
    """Return thresholds and, for each, the share of samples with at most this margin.

    Parameters
    ----------
    margins : array (n_samples,)
    thresholds : array (n_thresholds,), optional
        Default: all distinct margins in ascending order.
    """
    values = np.sort(finite(one_column(margins, "margins"), "margins"))
    at = np.unique(values) if thresholds is None else finite(one_column(thresholds, "thresholds"), "thresholds")
    return at, np.searchsorted(values, at, side="right") / len(values)


def breiman_bound(predictions: Any, y: Any) -> BreimanBound:
    """Return strength, correlation and Breiman's bound on the error, from the members' votes.

    Parameters
    ----------
    predictions : array (n_members, n_samples)
        Labels predicted by each member; for a fitted ensemble, `member_predictions(ensemble, X)`. On samples that the
        members were trained on, all three figures are too optimistic.
    y : array (n_samples,)
        True labels.
    """
    votes = checked_votes(predictions, y)
    leads, rivals = _lead(counts_of_votes(votes.answers, votes.n_classes), votes.truth)
    margins = leads / len(votes.answers)
    raw = votes.right.astype(np.int8) - (votes.answers == rivals)
    deviation = float(raw.std(axis=1, dtype=np.float64).mean())
    strength = float(margins.mean())
    correlation = float(margins.var()) / deviation**2 if deviation else math.nan
    if strength <= 0:
        return BreimanBound(strength, correlation, math.inf)
    return BreimanBound(strength, correlation, correlation * (1 - strength**2) / strength**2 if deviation else 0.0)


def _lead(shares: Floats, truth: Codes) -> tuple[Floats, Codes]:
    """Return the lead of the true class over the best other one, and the latter's index (-1 if there is none)."""
    rows = np.arange(len(shares))
    own = shares[rows, truth]
    others = shares.copy()
    others[rows, truth] = -1.0
    rivals = others.argmax(axis=1)
    if shares.shape[1] == 1:
        return own, np.full(len(own), -1)
    return own - others[rows, rivals], rivals
