"""Pairwise diversity: Q, correlation, disagreement, double fault, kappa; all members together: `nonpairwise`."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from depthforest.base import Floats
from depthforest.ensemble.analysis.checking import Codes, Flags, checked_votes

SAMPLES_AT_ONCE = 2**16
"""Samples in one matrix product of 0 and 1 in float32, which counts exactly up to 2^24."""


@dataclass(frozen=True, eq=False)
class PairwiseDiversity:
    """Measures of all pairs of members, each an array (n_members, n_members) of float64, symmetric.

    All but kappa compare correctness. Let a be the share of samples on which both members are right, d on which both
    are wrong, b and c on which only the first or only the second is right.

    Parameters
    ----------
    q_statistic
        (ad - bc) / (ad + bc): 0 for independent members, 1 for members that are right on the same samples [1]_.
        NaN if ad = bc = 0.
    correlation
        Of correctness: (ad - bc) / sqrt((a + b)(c + d)(a + c)(b + d)). NaN if a member is always right or always
        wrong.
    disagreement
        b + c: the share of samples on which exactly one of the two is right [2]_.
    double_fault
        d: the share of samples on which both are wrong [3]_.
    kappa
        Agreement of the *labels* beyond chance: (A - E) / (1 - E), with A the share of equal answers and E its
        expectation for independent members with the same label frequencies [4]_. NaN if both members always predict
        the same single label.

    References
    ----------
    .. [1] G. U. Yule, "On the association of attributes in statistics", Philosophical Transactions of the Royal Society
       A 194 (1900), 257-319; for ensembles: L. I. Kuncheva, C. J. Whitaker, "Measures of diversity in classifier
       ensembles and their relationship with the ensemble accuracy", Machine Learning 51 (2003), 181-207.
    .. [2] D. B. Skalak, "The sources of increased accuracy for two proposed boosting algorithms", AAAI Workshop on
       Integrating Multiple Learned Models (1996), 120-125.
    .. [3] G. Giacinto, F. Roli, "Design of effective neural network ensembles for image classification purposes", Image
       and Vision Computing 19 (2001), 699-707.
    .. [4] D. D. Margineantu, T. G. Dietterich, "Pruning adaptive boosting", Proceedings of the 14th International
       Conference on Machine Learning (1997), 211-218.
    """

    q_statistic: Floats
    correlation: Floats
    disagreement: Floats
    double_fault: Floats
    kappa: Floats

    def means(self) -> dict[str, float]:
        """Return the mean of each measure over the pairs for which it is defined; NaN if there are none."""
        return {field.name: mean_of_pairs(getattr(self, field.name)) for field in fields(self)}


def pairwise_diversity(predictions: Any, y: Any) -> PairwiseDiversity:
    """Return how much the members of an ensemble differ, pair by pair.

    Parameters
    ----------
    predictions : array (n_members, n_samples)
        Labels predicted by each member, at least two members; for a fitted ensemble, `member_predictions(ensemble, X)`.
    y : array (n_samples,)
        True labels.
    """
    votes = checked_votes(predictions, y)
    right = votes.right
    n_samples = right.shape[1]
    both = _joint_counts(right, right) / n_samples
    neither = _joint_counts(~right, ~right) / n_samples
    first = _joint_counts(right, ~right) / n_samples
    second = first.T
    diagonal, off = both * neither, first * second
    spread = np.sqrt((both + first) * (second + neither) * (both + second) * (first + neither))
    return PairwiseDiversity(
        q_statistic=_ratio(diagonal - off, diagonal + off),
        correlation=np.clip(_ratio(diagonal - off, spread), -1, 1),
        disagreement=first + second,
        double_fault=neither,
        kappa=_kappa(votes.answers, votes.n_classes),
    )


def mean_of_pairs(matrix: Floats) -> float:
    """Return the mean of the entries above the diagonal that are not NaN; NaN if there are none."""
    entries = matrix[np.triu_indices(len(matrix), k=1)]
    entries = entries[~np.isnan(entries)]
    return float(entries.mean()) if len(entries) else math.nan


def _kappa(answers: Codes, n_classes: int) -> Floats:
    n_members, n_samples = answers.shape
    agreement = np.full((n_members, n_members), n_samples, dtype=np.float64)
    small = answers.astype(np.min_scalar_type(n_classes))  # small types compare faster
    for index in range(n_members - 1):
        agreement[index, index + 1 :] = (small[index + 1 :] == small[index]).sum(axis=1)
        agreement[index + 1 :, index] = agreement[index, index + 1 :]
    frequencies = np.array([np.bincount(own, minlength=n_classes) for own in answers]) / n_samples
    expected = frequencies @ frequencies.T
    return _ratio(agreement / n_samples - expected, 1 - expected)


def _joint_counts(first: Flags, second: Flags) -> Floats:
    """Return the number of samples on which both flags (n_members, n_samples) are set, (n_members, n_members)."""
    counts = np.zeros((len(first), len(second)))
    for start in range(0, first.shape[1], SAMPLES_AT_ONCE):
        part = slice(start, start + SAMPLES_AT_ONCE)
        counts += first[:, part].astype(np.float32) @ second[:, part].astype(np.float32).T
    return counts


def _ratio(above: Floats, below: Floats) -> Floats:
    """Return a quotient, NaN for 0 / 0; the denominator is never 0 alone."""
    return np.divide(above, below, out=np.full_like(above, math.nan), where=below != 0)
