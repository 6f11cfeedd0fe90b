"""Weights of members: given, from validation, or fitted by constrained least squares.

All weights are >= 0 and sum to 1. `voting` and `averaging` supply the held-out predictions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import nnls

from depthforest.base import Bools, Floats, UsageError

VALIDATION = "validation"
FITTED = "fitted"
FOUND = (VALIDATION, FITTED)  # weights that need held-out predictions

# Share of the best member's mean squared error that is added to each member's own: it makes the solution unique, so
# that identical members get equal weights in any order. Small enough not to change weights that the data determine.
RIDGE = 1e-6
# Mean squared errors are at least this share of the largest: a perfect member gets nearly all weight without 1 / 0.
ERROR_FLOOR = 1e-12


def is_found(weights: Any) -> bool:
    """Return whether weights are to be found from held-out predictions, after checking the name of the method."""
    if isinstance(weights, str):
        if weights not in FOUND:
            raise UsageError(f"weights must be None, numbers, '{VALIDATION}' or '{FITTED}', got {weights!r}")
        return True
    return False


def given_weights(weights: Any, kept: Sequence[bool]) -> Floats:
    """Return given weights of the members that are kept, scaled to sum to 1.

    Parameters
    ----------
    weights : None or array-like (n_members,)
        One for each member, including dropped ones; None for equal weights.
    kept : sequence of bool, length n_members
        Which members are not dropped.

    Returns
    -------
    ndarray (n_kept,) float64
    """
    if weights is None:
        return np.full(sum(kept), 1.0 / sum(kept))
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"weights must be numbers, one for each member, got {weights!r}") from error
    if values.shape != (len(kept),):
        raise UsageError(f"weights must be one for each of the {len(kept)} members, got shape {values.shape}")
    if not np.isfinite(values).all() or (values < 0).any():
        raise UsageError(f"weights must be finite and not negative, got {values.tolist()}")
    values = values[np.asarray(kept, dtype=bool)]
    if values.sum() <= 0:
        raise UsageError("weights must add up to more than 0, but those of the members that are kept are all 0")
    return np.asarray(values / values.sum())


def accuracy_weights(right: Bools, n_classes: int, sample_weight: Floats | None = None) -> Floats:
    """Return weights from validation accuracy: log-odds relative to chance, which are optimal for independent voters.

    w_i = ln(p_i (K - 1) / (1 - p_i)) with p_i = (correct answers + 1) / (rows + K), so that no p is 0 or 1. Members
    that are no better than chance get 0; if none is better, all get the same weight.

    Parameters
    ----------
    right : ndarray (n_rows, n_members) bool
        Whether a member was right on a row that it had not seen.
    n_classes : int
        Number of classes, K.
    sample_weight : ndarray (n_rows,) float64, optional

    Returns
    -------
    ndarray (n_members,) float64
        Weights that sum to 1.
    """
    n, n_members = right.shape
    if n_classes < 2:
        return np.full(n_members, 1.0 / n_members)
    p = (_row_shares(n, sample_weight) @ right * n + 1) / (n + n_classes)
    return _normalized(np.maximum(np.log(p * (n_classes - 1) / (1 - p)), 0.0))


def error_weights(errors: Floats, sample_weight: Floats | None = None) -> Floats:
    """Return weights from validation error: 1 / mean squared error, optimal for independent unbiased members.

    Parameters
    ----------
    errors : ndarray (n_rows, n_members) float64
        Prediction minus target on rows that the member had not seen.
    sample_weight : ndarray (n_rows,) float64, optional

    Returns
    -------
    ndarray (n_members,) float64
        Weights that sum to 1.
    """
    mean_squares = _row_shares(len(errors), sample_weight) @ errors**2
    if mean_squares.max() == 0:
        return np.full(errors.shape[1], 1.0 / errors.shape[1])
    return _normalized(1.0 / np.maximum(mean_squares, ERROR_FLOOR * mean_squares.max()))


def least_squares_weights(errors: Floats, sample_weight: Floats | None = None) -> Floats:
    """Return the weights whose combination has the least squared error: w >= 0, summing to 1.

    Because the weights sum to 1, the error of the combination is the combination of the errors E. The function
    minimizes the mean of (E w)^2 = w' C w. C holds the members' mean squared errors and, off the diagonal, the mean
    products of their errors, so that members with similar errors share their weight. The sum is not a penalty but
    exact: the non-negative least squares solution of the stacked rows [E; 1 ... 1] u = [0; 1] is proportional to w,
    whatever the scale of E.

    Parameters
    ----------
    errors : ndarray (n_rows, n_members) float64
        Prediction minus target on rows that the member had not seen.
    sample_weight : ndarray (n_rows,) float64, optional

    Returns
    -------
    ndarray (n_members,) float64
        Weights that sum to 1.
    """
    n, n_members = errors.shape
    scaled = errors * np.sqrt(_row_shares(n, sample_weight))[:, None]
    sizes = np.sqrt((scaled**2).sum(axis=0))
    if sizes.min() == 0:  # perfect members share all the weight
        return _normalized((sizes == 0).astype(np.float64))
    triangle = np.linalg.qr(scaled / sizes.min(), mode="r")  # the same sums of squares in n_members rows at most
    rows = np.vstack([triangle, np.sqrt(RIDGE) * np.eye(n_members), np.ones(n_members)])
    wanted = np.zeros(len(rows))
    wanted[-1] = 1.0
    return _normalized(nnls(rows, wanted)[0])


def _row_shares(n: int, sample_weight: Floats | None) -> Floats:
    """Return the weight of each row, (n,), summing to 1."""
    if sample_weight is None:
        return np.full(n, 1.0 / n)
    if sample_weight.sum() <= 0:
        raise UsageError("sample_weight must add up to more than 0 to find weights of members")
    return np.asarray(sample_weight / sample_weight.sum())


def _normalized(weights: Floats) -> Floats:
    total = weights.sum()
    return weights / total if total > 0 else np.full(len(weights), 1.0 / len(weights))
