"""Bias, variance and noise of an estimator, from its predictions after training on different samples.

`retraining` makes such predictions from bootstrap or fresh samples; the decompositions here are plain arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from depthforest.base import Floats, UsageError
from depthforest.ensemble.analysis.checking import (
    Codes,
    as_labels,
    check_same_kind,
    checked_distribution,
    checked_values,
    checked_votes,
    counts_of_votes,
    finite,
    member_rows,
    one_column,
)


@dataclass(frozen=True)
class BiasVariance:
    """The parts of an expected loss, averaged over the samples: `error` = `bias` + `net_variance` + `net_noise`.

    With squared loss, `bias` is the squared bias, and variance and noise add as they are. With 0-1 loss, variance
    adds to the error where the main prediction is right and subtracts where it is wrong; noise likewise.

    Parameters
    ----------
    loss : str
        "squared" or "zero_one".
    error : float
        Expected loss after one training round.
    bias : float
        Loss of the main prediction (the mean; the most frequent label) relative to the best possible one. If the noise
        is unknown, the observed answers replace the best possible ones, and bias contains the noise.
    variance : float
        Expected loss of a round relative to the main prediction.
    noise : float
        Loss of the best possible prediction; 0 if unknown.
    net_variance, net_noise : float
        Their contributions to the error.
    unbiased_variance, biased_variance : float
        What variance adds where the main prediction is right, and subtracts where it is wrong; their difference is
        `net_variance`. With squared loss all variance is unbiased.
    """

    loss: str
    error: float
    bias: float
    variance: float
    noise: float
    net_variance: float
    net_noise: float
    unbiased_variance: float
    biased_variance: float


def squared_decomposition(predictions: Any, y: Any, *, noise: Any = None) -> BiasVariance:
    """Return squared bias, variance and noise under squared loss.

    Parameters
    ----------
    predictions : array (n_rounds, n_samples)
        Predictions after each round of training, at least two rounds.
    y : array (n_samples,)
        Observed answers; with `noise`, the true means of the answers.
    noise : float or array (n_samples,), optional
        True variance of the answers around their means, if known.
    """
    values, truth = checked_values(predictions, y)
    noises = _checked_noise(noise, len(truth))
    gaps = values - truth  # subtracted first, so that small errors of large numbers keep their digits
    main = gaps.mean(axis=0)
    bias, variance = float((main**2).mean()), float(((gaps - main) ** 2).mean())
    return BiasVariance(
        loss="squared",
        error=float((gaps**2).mean()) + noises,
        bias=bias,
        variance=variance,
        noise=noises,
        net_variance=variance,
        net_noise=noises,
        unbiased_variance=variance,
        biased_variance=0.0,
    )


def zero_one_decomposition(
    predictions: Any, y: Any = None, *, class_probabilities: Any = None, classes: Any = None
) -> BiasVariance:
    """Return bias, variance and noise under 0-1 loss, as Domingos defines them [1]_.

    For one sample let t be its answer, y* the most probable answer, f the prediction of a round and m the most frequent
    prediction of all rounds. With noise N = P(t != y*), bias B = [m != y*] and variance V = P(f != m),

        P(f != t) = c1 N + B + c2 V,
        c1 = P(f = y*) - P(f = t | t != y*),
        c2 = 1 if m = y*, else -P(f = y* | f != m).

    This is exact for any number of classes; with two, c2 = -1 where m is wrong, so variance helps there. The main
    prediction is the vote of infinitely many rounds, so `bias` is the lowest error that voting can reach. Ties go to
    the lower class.

    Parameters
    ----------
    predictions : array (n_rounds, n_samples)
        Labels predicted after each round of training, at least two rounds.
    y : array (n_samples,), optional
        Observed labels; noise is then unknown and taken as 0.
    class_probabilities : array (n_samples, n_classes), optional
        Instead of `y`: the true probability of each class.
    classes : array (n_classes,), optional
        The labels of these columns.

    References
    ----------
    .. [1] P. Domingos, "A unified bias-variance decomposition and its applications", Proceedings of the 17th
       International Conference on Machine Learning (2000), 231-238.
    """
    answers, truth = _with_distribution(predictions, y, class_probabilities, classes)
    shares = counts_of_votes(answers, truth.shape[1]) / len(answers)
    rows = np.arange(len(shares))
    best, main = truth.argmax(axis=1), shares.argmax(axis=1)
    right_share = shares[rows, best]
    hits = shares * truth  # prediction and answer are independent given the sample
    noise = 1 - truth[rows, best]
    variance = 1 - shares[rows, main]
    is_biased = main != best
    net_noise = noise * right_share - (hits.sum(axis=1) - hits[rows, best])
    unbiased = np.where(is_biased, 0.0, variance)
    biased = np.where(is_biased, right_share, 0.0)
    return BiasVariance(
        loss="zero_one",
        error=float(1 - hits.sum(axis=1).mean()),
        bias=float(is_biased.mean()),
        variance=float(variance.mean()),
        noise=float(noise.mean()),
        net_variance=float((unbiased - biased).mean()),
        net_noise=float(net_noise.mean()),
        unbiased_variance=float(unbiased.mean()),
        biased_variance=float(biased.mean()),
    )


def _checked_noise(noise: Any, n_samples: int) -> float:
    """Return the mean variance of the answers."""
    if noise is None:
        return 0.0
    array = np.asarray(noise)
    if array.shape not in ((), (n_samples,)):
        raise UsageError(f"noise must be one number or have the shape ({n_samples},), got the shape {array.shape}")
    array = finite(array, "noise")
    if (array < 0).any():
        raise UsageError(f"noise is a variance, so it must not be negative; got {array.min():g}")
    return float(array.mean())


def _with_distribution(predictions: Any, y: Any, class_probabilities: Any, classes: Any) -> tuple[Codes, Floats]:
    """Return predictions as class indices and the distribution of the true answers, (n_samples, n_classes)."""
    if (y is None) == (class_probabilities is None):
        raise UsageError("pass either y, the observed labels, or class_probabilities, but not both")
    if class_probabilities is None:
        votes = checked_votes(predictions, y)
        return votes.answers, np.asarray(np.eye(votes.n_classes)[votes.truth])
    if classes is None:
        raise UsageError("class_probabilities need classes, the labels of their columns")
    labels = as_labels(one_column(classes, "classes"), "classes")
    order = np.argsort(labels)
    if (labels[order][1:] == labels[order][:-1]).any():
        raise UsageError("classes must differ from each other, got a duplicate")
    truth = checked_distribution(class_probabilities, len(labels))[:, order]
    answers = as_labels(member_rows(predictions, len(truth), least=2), "predictions")
    check_same_kind(answers, labels, "predictions and classes")
    unknown = np.setdiff1d(answers, labels)
    if len(unknown):
        raise UsageError(f"predictions hold a label that is not in classes: {unknown[0].item()!r}")
    return np.searchsorted(labels[order], answers), truth
