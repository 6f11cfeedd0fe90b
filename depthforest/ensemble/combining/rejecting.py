"""Rejecting rows without a majority: the rule, and the curve of what it gains and loses. `voting` uses both."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Bools, Floats, UsageError, is_number
from depthforest.ensemble.fitting import plain

# kinds of NumPy type of a reject label that are allowed for each kind of class label, so that one array holds both
_FITTING_KINDS = {"i": "iu", "u": "iu", "f": "iuf", "U": "U", "O": "U", "S": "S"}

SHARE_DECIMALS = 12
"""Shares are rounded to this many decimals: equal votes stay equal whatever the order of summation, so that ties go to
the first class and half of the votes is not a majority."""


def rounded_shares(shares: Floats) -> Floats:
    """Return shares of votes (n, n_classes), rounded so that they can be compared with each other and a majority."""
    return np.round(shares, SHARE_DECIMALS)


def is_rejected(shares: Floats, majority: float) -> Bools:
    """Tell for each row of rounded shares (n, n_classes) whether the winner has at most `majority` of all votes."""
    return np.asarray(
        shares.max(axis=1) <= np.round(majority, SHARE_DECIMALS)
    )  # so that 2 / 3 is two votes out of three


@dataclass(frozen=True)
class RejectCurve:
    """Share of rejected rows and accuracy on the rest, for every relevant majority.

    Attributes
    ----------
    majority : ndarray (n_points,) float64
        Share of the votes that the winner must exceed; ascending from 0 (nothing is rejected). Setting `majority` to
        it gives the predictions of this point.
    rejected : ndarray (n_points,) float64
        Share of rows rejected; ascending.
    accuracy : ndarray (n_points,) float64
        Accuracy on the rows that are kept.
    """

    majority: Floats
    rejected: Floats
    accuracy: Floats

    def plot(self, path: str | Path | None = None, *, ax: Any = None) -> Any:
        """Draw accuracy on the kept rows against the share rejected; return matplotlib's axes (extra [plots]).

        Parameters
        ----------
        path : str or Path, optional
            Where to save the figure, as for `analysis.Report.plot`.
        ax : Axes, optional
            Axes to draw into; a new figure by default.
        """
        import matplotlib.pyplot as plt

        if ax is None and hasattr(path, "plot"):  # earlier versions had the axes first
            path, ax = None, path
        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        ax.step(100 * self.rejected, 100 * self.accuracy, where="post")
        ax.plot(100 * self.rejected[-1], 100 * self.accuracy[-1], ".", color=ax.lines[-1].get_color())
        ax.set_xlabel("rejected [%]")
        ax.set_ylabel("accuracy on the rest [%]")
        if path is not None:
            ax.figure.savefig(path, dpi=120)
        return ax


def reject_curve(share: Floats, right: Bools, sample_weight: Floats | None = None) -> RejectCurve:
    """Return the curve of rejecting rows whose winner has at most a given share of the votes.

    Parameters
    ----------
    share : ndarray (n,) float64
        The winner's share of the votes in each row.
    right : ndarray (n,) bool
        Whether the winner is the true class.
    sample_weight : ndarray (n,) float64, optional
        Weight of each row.

    Returns
    -------
    RejectCurve
        One point without rejection, then one for each distinct share except the largest, which would reject all rows.
    """
    weight = np.ones(len(share)) if sample_weight is None else sample_weight
    if not weight.sum() > 0:
        raise UsageError("a reject curve needs rows with a sample_weight above 0, got none")
    counted = weight > 0
    levels, level = np.unique(share[counted], return_inverse=True)
    rows = np.bincount(level, weights=weight[counted])
    hits = np.bincount(level, weights=(weight * right)[counted])
    kept = np.cumsum(rows[::-1])[::-1]  # rows of this share and above
    kept_hits = np.cumsum(hits[::-1])[::-1]
    return RejectCurve(
        majority=np.concatenate([[0.0], levels[:-1]]),
        rejected=np.clip(1.0 - kept / kept[0], 0.0, 1.0),
        accuracy=np.clip(kept_hits / kept, 0.0, 1.0),
    )


def with_rejects(labels: npt.NDArray[Any], rejected: Bools, reject_label: Any) -> npt.NDArray[Any]:
    """Return the labels, (n,), with `reject_label` where `rejected`; the type widens if necessary."""
    mark = np.asarray(reject_label)
    out = labels.astype(np.result_type(labels.dtype, mark.dtype))
    out[rejected] = reject_label
    return out


def check_reject_label(reject_label: Any, classes: npt.NDArray[Any]) -> None:
    """Check that a reject label has the classes' type, so that one array holds both, and is not a class."""
    mark = np.asarray(reject_label)
    kind = classes.dtype.kind
    if mark.ndim or mark.dtype.kind not in _FITTING_KINDS.get(kind, "") or (mark.dtype.kind == "f" and mark != mark):
        raise UsageError(
            f"reject_label must be of the classes' type (such as {plain(classes[0])!r}), got {reject_label!r}"
        )
    if (classes == reject_label).any():
        raise UsageError(f"reject_label must not be one of the classes, got {reject_label!r}; choose another")


def check_majority(majority: Any) -> None:
    """Check the share of votes that a winner must exceed."""
    if not is_number(majority) or not 0 <= majority < 1:
        raise UsageError(f"majority must be a share of the votes, at least 0 and below 1, got {majority!r}")
