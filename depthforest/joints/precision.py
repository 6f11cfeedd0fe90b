"""Average precision: precision and recall of answers in the order of their confidence, and the area under the curve.

All functions accept leading axes, so that one formula serves a data set and a thousand resampled ones. `stats` uses it
for fitting, `evaluation.scores` for evaluation.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats


def share(part: npt.ArrayLike, whole: npt.ArrayLike) -> Floats:
    """Return part / whole, NaN where the whole is 0."""
    part, whole = np.broadcast_arrays(np.asarray(part, np.float64), np.asarray(whole, np.float64))
    return np.asarray(np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole != 0))


def precision_recall(
    right: npt.NDArray[np.generic],
    counted: npt.NDArray[np.generic],
    ends: npt.NDArray[np.int64],
    n_truths: npt.ArrayLike,
) -> tuple[Floats, Floats]:
    """Return precision and recall (..., n_thresholds), from the highest confidence down.

    Parameters
    ----------
    right, counted : arrays (..., n)
        How often each answer is correct, and how often it counts at all, in order of falling confidence.
    ends : array (n_thresholds,), int64
        Index of the last answer that each threshold accepts.
    n_truths : array (...)
        Number of true items to find.
    """
    n_right = np.cumsum(right, axis=-1)[..., ends]
    n_counted = np.cumsum(counted, axis=-1)[..., ends]
    return share(n_right, n_counted), share(n_right, np.asarray(n_truths)[..., None])


def area_under(precision: Floats, recall: Floats) -> Floats:
    """Return the area under precision over recall, (...): the sum of precision x step of recall, not interpolated."""
    steps = np.diff(recall, axis=-1, prepend=0.0)
    return np.asarray(np.where(np.isnan(precision), 0.0, precision * steps).sum(axis=-1))
