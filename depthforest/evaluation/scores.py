"""Metrics on plain arrays: accuracy and overlap of classes, precision of joints, calibration, bootstrap intervals.

This module knows neither forests nor frames: `judging` and `marks` count, and the functions here turn counts into
figures. All accept leading axes, so that one formula serves a data set, one person, and a thousand resampled data sets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from depthforest.base import Bools, Floats, UsageError
from depthforest.joints import area_under, precision_recall, share

Counts = npt.NDArray[np.int64]

WITHIN_M = 0.1
"""A proposal this near to the truth is correct: D in Shotton et al. 2011, about the accuracy of their ground truth."""

CURVE_M: Floats = np.linspace(0.0, 0.3, 31)
"""Distances of the precision curve: centimeters from 0 to 30."""

N_BINS = 20
"""Bins of confidence: 5 points wide, so that some thousand pixels fill each well."""

REPLICATES = 1000
"""Resampled data sets: enough to know the ends of a 95 % interval to about a tenth of its width."""

COVERAGE = 0.95
BLOCK = 50
"""Replicates that are computed together, which bounds memory."""


# -- classes -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Tally:
    """How often each class was seen, correctly answered, and answered at all.

    Parameters
    ----------
    seen, right, answered : arrays (..., n_classes)
        Row sums, diagonal and column sums of a confusion matrix.
    """

    seen: npt.NDArray[np.number]
    right: npt.NDArray[np.number]
    answered: npt.NDArray[np.number]

    @classmethod
    def of(cls, confusion: npt.NDArray[np.number]) -> Tally:
        """Return the tally of confusion matrices (..., n, n): true classes in rows, answers in columns."""
        return cls(confusion.sum(axis=-1), np.diagonal(confusion, axis1=-2, axis2=-1).copy(), confusion.sum(axis=-2))

    def total(self, chosen: Bools | None = None) -> Tally:
        """Return the sum over the first axis, or over its chosen rows."""
        rows = slice(None) if chosen is None else chosen
        return Tally(*(a[rows].sum(axis=0, dtype=np.int64) for a in (self.seen, self.right, self.answered)))

    def weighted(self, weights: Floats) -> Tally:
        """Return the sums under each row of weights (n_replicates, n), as (n_replicates, n_classes)."""
        # whole numbers below 2^53 in float64: the product is exact, whatever the order of its sums
        return Tally(*(weights @ a.astype(np.float64) for a in (self.seen, self.right, self.answered)))

    @property
    def pixel_accuracy(self) -> Floats:
        """Array (...): share of correct answers; NaN if there are no answers."""
        return share(self.right.sum(axis=-1), self.seen.sum(axis=-1))

    @property
    def class_accuracies(self) -> Floats:
        """Array (..., n_classes): share of each class that was answered correctly; NaN for classes never seen."""
        return share(self.right, self.seen)

    @property
    def mean_class_accuracy(self) -> Floats:
        """Array (...): mean over the classes that were seen, the figure of Shotton et al. 2011."""
        return known_mean(self.class_accuracies)

    @property
    def ious(self) -> Floats:
        """Array (..., n_classes): intersection over union; NaN for classes neither seen nor answered."""
        return share(self.right, self.seen + self.answered - self.right)

    @property
    def mean_iou(self) -> Floats:
        """Array (...): mean over the classes that were seen or answered."""
        return known_mean(self.ious)


def count_pairs(truth: npt.NDArray[np.uint8], answered: npt.NDArray[np.uint8], n_truth: int, n_answers: int) -> Counts:
    """Return the matrix (n_truth, n_answers) of how often each class (row) got each answer (column).

    Parameters
    ----------
    truth, answered : arrays of the same shape, uint8
        Labels below `n_truth` and `n_answers`.
    """
    if truth.shape != answered.shape:
        raise UsageError(f"truth has shape {truth.shape}, the answers {answered.shape}; they must be equal")
    if truth.size and (truth.max() >= n_truth or answered.max() >= n_answers):
        raise UsageError(f"labels reach {truth.max()} and {answered.max()}; expected below {n_truth} and {n_answers}")
    pairs = truth.astype(np.int64).ravel() * n_answers + answered.ravel()
    return np.bincount(pairs, minlength=n_truth * n_answers).reshape(n_truth, n_answers)


def known_mean(values: Floats) -> Floats:
    """Return the mean over the last axis of all values that are not NaN; NaN if all are."""
    is_known = ~np.isnan(values)
    return share(np.where(is_known, values, 0.0).sum(axis=-1), is_known.sum(axis=-1))


# -- joints ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class JudgedProposals:
    """All proposals of one joint, each with its distance to the truth.

    Parameters
    ----------
    person : array (n,), int64
        Whose proposal it is: an index into `is_expected`.
    confidence : array (n,), float64
    distance_m : array (n,), float64
        Distance to the true joint.
    nearest_before_m : array (n,), float64
        Smallest distance of the same person's more confident proposals; infinite for the first.
    is_hidden : array (n,), bool
        Whether the true joint is hidden.
    is_expected : array (n_people,), bool
        Whether the person has a visible joint that should be found.
    """

    person: Counts
    confidence: Floats
    distance_m: Floats
    nearest_before_m: Floats
    is_hidden: Bools
    is_expected: Bools

    @cached_property
    def _order(self) -> Counts:
        return np.argsort(-self.confidence, kind="stable")

    @cached_property
    def _ends(self) -> Counts:
        """Index of the last of equally confident proposals, in order: a threshold passes all of them or none."""
        ordered = self.confidence[self._order]
        return np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True)) if len(ordered) else np.zeros(0, np.int64)

    def _n_expected(self, weights: Floats | None) -> Floats:
        """Return how many joints can be found, (...)."""
        return np.asarray(self.is_expected.sum() if weights is None else weights @ self.is_expected.astype(np.float64))

    def precision_recall(self, within_m: float = WITHIN_M, weights: Floats | None = None) -> tuple[Floats, Floats]:
        """Return precision and recall (..., n_thresholds) at every confidence, from the highest down.

        By the rules of Shotton et al. 2011: the most confident of a person's proposals within the distance is correct;
        all others, near or far, are wrong. A hidden joint does not count as missed, and the first near proposal of one
        counts neither way.

        Parameters
        ----------
        within_m : float
        weights : array (n_replicates, n_people), optional
            How often each person counts. Default: once.
        """
        is_first = (self.distance_m <= within_m) & (self.nearest_before_m > within_m)
        is_right, is_counted = is_first & ~self.is_hidden, ~(is_first & self.is_hidden)
        order, ends = self._order, self._ends
        own = np.ones(len(order)) if weights is None else weights[:, self.person[order]]
        return precision_recall(own * is_right[order], own * is_counted[order], ends, self._n_expected(weights))

    def average_precision(self, within_m: float = WITHIN_M, weights: Floats | None = None) -> Floats:
        """Return the area under precision over recall, (...): the sum of precision x step of recall, not interpolated.

        NaN where no joint is expected; 0 where none of them has a proposal.
        """
        precision, recall = self.precision_recall(within_m, weights)
        return np.asarray(np.where(self._n_expected(weights) > 0, area_under(precision, recall), np.nan))

    def curve(self, distances_m: Floats = CURVE_M) -> Floats:
        """Return the average precision at each distance."""
        return np.array([self.average_precision(float(d)) for d in distances_m])

    def of_people(self, chosen: Bools) -> JudgedProposals:
        """Return the proposals of the chosen people (n_people,), as if the others were absent."""
        keep = chosen[self.person]
        return JudgedProposals(
            self.person[keep],
            self.confidence[keep],
            self.distance_m[keep],
            self.nearest_before_m[keep],
            self.is_hidden[keep],
            self.is_expected & chosen,
        )


class ProposalLog:
    """Collects the proposals of one joint, person by person."""

    def __init__(self) -> None:
        self._rows: list[Floats] = []
        self._expected: list[int] = []

    def add(self, person: int, distances_m: npt.ArrayLike, confidences: npt.ArrayLike, *, is_visible: bool) -> None:
        """Add a person's proposals in any order; equally confident ones keep their order."""
        distances, confidence = np.asarray(distances_m, np.float64), np.asarray(confidences, np.float64)
        if is_visible:
            self._expected.append(person)
        if not len(distances):
            return
        order = np.argsort(-confidence, kind="stable")
        distances = distances[order]
        before = np.minimum.accumulate(np.append(np.inf, distances[:-1]))
        same = np.full(len(order), float(person)), np.full(len(order), 0.0 if is_visible else 1.0)
        self._rows.append(np.stack((same[0], confidence[order], distances, before, same[1])))

    def judged(self, n_people: int) -> JudgedProposals:
        """Return all added proposals of `n_people` people."""
        person, confidence, distance, before, hidden = np.concatenate([np.zeros((5, 0)), *self._rows], axis=1)
        is_expected = np.zeros(n_people, dtype=np.bool_)
        is_expected[self._expected] = True
        return JudgedProposals(person.astype(np.int64), confidence, distance, before, hidden > 0, is_expected)


# -- calibration -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Calibration:
    """Confidence and accuracy of answers, in bins of equal width.

    Parameters
    ----------
    n, n_right : arrays (n_bins,), int64
        Answers in each bin, and the correct ones among them.
    confidence_sum : array (n_bins,), float64
    """

    n: Counts = field(default_factory=lambda: np.zeros(N_BINS, np.int64))
    n_right: Counts = field(default_factory=lambda: np.zeros(N_BINS, np.int64))
    confidence_sum: Floats = field(default_factory=lambda: np.zeros(N_BINS))

    @classmethod
    def of(cls, confidence: npt.ArrayLike, is_right: npt.ArrayLike, n_bins: int = N_BINS) -> Calibration:
        """Count answers with a confidence from 0 to 1; one on an edge belongs to the bin below it."""
        confidence = np.asarray(confidence, np.float64).ravel()
        bins = np.searchsorted(np.linspace(0, 1, n_bins + 1)[1:-1], confidence)
        return cls(
            np.bincount(bins, minlength=n_bins),
            np.bincount(bins[np.asarray(is_right, np.bool_).ravel()], minlength=n_bins),
            np.asarray(np.bincount(bins, weights=confidence, minlength=n_bins), np.float64),
        )

    def __add__(self, other: Calibration) -> Calibration:
        return Calibration(self.n + other.n, self.n_right + other.n_right, self.confidence_sum + other.confidence_sum)

    @property
    def accuracy(self) -> Floats:
        """Array (n_bins,): share of correct answers; NaN for empty bins."""
        return share(self.n_right, self.n)

    @property
    def confidence(self) -> Floats:
        """Array (n_bins,): mean confidence; NaN for empty bins."""
        return share(self.confidence_sum, self.n)

    @property
    def expected_error(self) -> float:
        """Expected calibration error: mean of |accuracy - confidence| over bins, weighted by their answers."""
        return float(share(np.nansum(self.n * np.abs(self.accuracy - self.confidence)), self.n.sum()))


# -- bootstrap ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Estimate:
    """A figure with its bootstrap interval.

    Parameters
    ----------
    value, low, high : float
        The figure, and the ends of its interval of `COVERAGE`; NaN where unknown.
    replicates : array (n_replicates,)
        The figure of every resampled data set.
    """

    value: float
    low: float
    high: float
    replicates: Floats = field(repr=False)

    @classmethod
    def of(cls, value: npt.ArrayLike, replicates: Floats) -> Estimate:
        """Return the percentile interval of a figure; replicates in which it is unknown are left out."""
        return cls(float(np.asarray(value)), *_ends(replicates), replicates)

    def to_dict(self) -> dict[str, float | None]:
        """Return value, low and high in JSON form, rounded."""
        return {name: rounded(getattr(self, name)) for name in ("value", "low", "high")}


@dataclass(frozen=True)
class Difference:
    """By how much a second model's figure exceeds the first one's, on the same frames.

    Parameters
    ----------
    value, low, high : float
        The difference, and its interval.
    p_value : float
        Two-sided: twice the share of resampled data sets in which the difference has the other sign, or none.
    """

    value: float
    low: float
    high: float
    p_value: float

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0

    def to_dict(self) -> dict[str, float | bool | None]:
        """Return the JSON form, rounded."""
        entries = {name: rounded(getattr(self, name)) for name in ("value", "low", "high", "p_value")}
        return entries | {"is_clear": self.is_clear}


def difference(first: Estimate, second: Estimate) -> Difference:
    """Compare two figures of the same frames by the paired bootstrap: replicate by replicate.

    Both must come from `frame_weights` of the same number of frames and the same seed. Frames that are hard for both
    models then cancel, so that even models whose own intervals overlap can be distinguished.
    """
    if first.replicates.shape != second.replicates.shape:
        raise UsageError("two figures are compared replicate by replicate; compute both with the same number of them")
    gaps = second.replicates - first.replicates
    known = gaps[~np.isnan(gaps)]
    p_value = float("nan")
    if len(known):
        p_value = min(1.0, 2 * min(float(np.mean(known <= 0)), float(np.mean(known >= 0))))
    return Difference(second.value - first.value, *_ends(gaps), p_value)


def frame_weights(n_frames: int, n_replicates: int = REPLICATES, seed: int = 0) -> Iterator[Floats]:
    """Yield blocks of bootstrap weights (up to `BLOCK`, n_frames): how often each frame was drawn.

    Frames are drawn with replacement, as many as there are; people of one frame stay together, because they share
    its noise and its camera.
    """
    rng = np.random.default_rng(seed)
    for first in range(0, n_replicates, BLOCK):
        n = min(BLOCK, n_replicates - first)
        drawn = rng.integers(n_frames, size=(n, n_frames)) + np.arange(n)[:, None] * n_frames
        yield np.bincount(drawn.ravel(), minlength=n * n_frames).reshape(n, n_frames).astype(np.float64)


def mean_precision(
    proposals: Sequence[JudgedProposals], within_m: float = WITHIN_M, weights: Floats | None = None
) -> Floats:
    """Return the mean average precision (...) over the joints that are expected anywhere."""
    return known_mean(np.stack([p.average_precision(within_m, weights) for p in proposals], axis=-1))


def rounded(value: float, digits: int = 5) -> float | None:
    """Return a figure in JSON form: None if it is unknown."""
    return round(float(value), digits) if np.isfinite(value) else None


def _ends(replicates: Floats) -> tuple[float, float]:
    known = replicates[~np.isnan(replicates)]
    if not len(known):
        return float("nan"), float("nan")
    low, high = np.quantile(known, ((1 - COVERAGE) / 2, (1 + COVERAGE) / 2))
    return float(low), float(high)
