"""Diversity of all members together: entropies, Kohavi-Wolpert variance, generalized diversity; pairs: `pairwise`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from depthforest.ensemble.analysis.checking import checked_votes, counts_of_votes


@dataclass(frozen=True)
class NonpairwiseDiversity:
    """Measures of a whole ensemble of L members; l is the number of members that are right on a sample.

    Parameters
    ----------
    entropy : float
        Mean of min(l, L - l) / (L - ceil(L / 2)): 0 if all are right or all wrong, 1 if they are split in half
        [1]_.
    vote_entropy : float
        Mean entropy of the votes over the classes, in bits; needs no true labels [2]_.
    kohavi_wolpert : float
        Mean of l (L - l) / L^2: the variance of being right [1]_, after Kohavi and Wolpert. It is (L - 1) / (2 L) times
        the mean pairwise disagreement.
    generalised_diversity : float
        1 - p(2) / p(1), with p(1) the probability that a random member is wrong and p(2) that two are [3]_: 1 if a
        fault of one member always meets correct answers of the others, 0 if they fail together. NaN if none fails.

    References
    ----------
    .. [1] L. I. Kuncheva, C. J. Whitaker, "Measures of diversity in classifier ensembles and their relationship with
       the ensemble accuracy", Machine Learning 51 (2003), 181-207.
    .. [2] P. Cunningham, J. Carney, "Diversity versus quality in classification ensembles based on feature selection",
       European Conference on Machine Learning (2000), 109-116.
    .. [3] D. Partridge, W. Krzanowski, "Software diversity: practical statistics for its measurement and exploitation",
       Information and Software Technology 39 (1997), 707-717.
    """

    entropy: float
    vote_entropy: float
    kohavi_wolpert: float
    generalised_diversity: float


def nonpairwise_diversity(predictions: Any, y: Any) -> NonpairwiseDiversity:
    """Return how much the members of an ensemble differ, all together.

    Parameters
    ----------
    predictions : array (n_members, n_samples)
        Labels predicted by each member, at least two members; for a fitted ensemble, `member_predictions(ensemble, X)`.
    y : array (n_samples,)
        True labels.
    """
    votes = checked_votes(predictions, y)
    n = len(votes.answers)
    right = votes.right.sum(axis=0)
    wrong = n - right
    one = float(wrong.mean() / n)
    two = float((wrong * (wrong - 1)).mean() / (n * (n - 1)))
    shares = counts_of_votes(votes.answers, votes.n_classes) / n
    logarithms = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return NonpairwiseDiversity(
        entropy=float(np.minimum(right, wrong).mean() / (n // 2)),
        vote_entropy=max(0.0, -float((shares * logarithms).sum(axis=1).mean())),
        kohavi_wolpert=float((right * wrong).mean() / n**2),
        generalised_diversity=1 - two / one if one else math.nan,
    )
