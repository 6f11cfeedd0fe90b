"""The error-ambiguity decomposition: an averaged regressor beats the mean error of its members by their spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from depthforest.base import Floats
from depthforest.ensemble.analysis.checking import checked_values, checked_weights


@dataclass(frozen=True, eq=False)
class ErrorAmbiguity:
    """Squared errors of members and of their mean; `ensemble_error` = `member_error` - `ambiguity`.

    Parameters
    ----------
    ensemble_error : float
        Mean squared error of the (weighted) mean of the members.
    member_error : float
        (Weighted) mean of the members' mean squared errors.
    ambiguity : float
        (Weighted) mean squared distance of the members from their mean; does not depend on the true values.
    member_errors : array (n_members,), float64
        Mean squared error of each member.
    member_ambiguities : array (n_members,), float64
        Mean squared distance of each member from the mean.
    """

    ensemble_error: float
    member_error: float
    ambiguity: float
    member_errors: Floats
    member_ambiguities: Floats


def error_ambiguity(predictions: Any, y: Any, *, weights: Any = None) -> ErrorAmbiguity:
    """Return the error of averaged members as their mean error minus their ambiguity [1]_.

    Parameters
    ----------
    predictions : array (n_members, n_samples)
        Predictions of each member, at least two members.
    y : array (n_samples,)
        True values.
    weights : array (n_members,), optional
        Weights of the members: nonnegative, summing to 1; equal by default.

    References
    ----------
    .. [1] A. Krogh, J. Vedelsby, "Neural network ensembles, cross validation, and active learning", Advances in Neural
       Information Processing Systems 7 (1995), 231-238.
    """
    values, truth = checked_values(predictions, y)
    shares = checked_weights(weights, len(values))
    gaps = values - truth  # subtracted first, so that small errors of large numbers keep their digits
    mean = shares @ gaps
    errors = np.asarray((gaps**2).mean(axis=1))
    ambiguities = np.asarray(((gaps - mean) ** 2).mean(axis=1))
    return ErrorAmbiguity(
        ensemble_error=float((mean**2).mean()),
        member_error=float(shares @ errors),
        ambiguity=float(shares @ ambiguities),
        member_errors=errors,
        member_ambiguities=ambiguities,
    )
