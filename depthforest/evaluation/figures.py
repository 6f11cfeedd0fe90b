"""Evaluation: counts of a forest's answers on a data set, and every figure computed from them, with intervals.

These are plain values: `judging` fills them, `report` shows them. Counts are kept for every view (one person in one
frame), about 2 kB each, so that intervals, breakdowns and comparisons of models need not read the data again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from depthforest.base import Bools, Floats
from depthforest.evaluation.partmaps import MERGED, ComparisonLevel
from depthforest.evaluation.scores import (
    COVERAGE,
    CURVE_M,
    WITHIN_M,
    Calibration,
    Counts,
    Difference,
    Estimate,
    JudgedProposals,
    Tally,
    difference,
    frame_weights,
    known_mean,
    mean_precision,
    rounded,
)
from depthforest.evaluation.views import PersonView, groups
from depthforest.frames import PartSet
from depthforest.joints import share

CLASS_FIGURES = ("mean_class_accuracy", "pixel_accuracy", "mean_iou")
MAP, FOUND = "joints.mean_average_precision", "joints.found"
PARTS_FIGURE = "parts.mean_class_accuracy"
"""The headline: the figure of Shotton et al. 2011 in the finest part set."""

REGIONS_FIGURE = "regions.mean_class_accuracy"

SLICE_REPLICATES = 200
"""Bootstrap replicates of the breakdowns, which are many and need less precise intervals."""


@dataclass(frozen=True, eq=False)
class LevelScores:
    """Counts in one part set.

    Parameters
    ----------
    level : ComparisonLevel
    confusion : array (n, n), int64
        Pixels by true part (row) and answered part (column).
    tally : Tally
        Counts with arrays (n_views, n).
    """

    level: ComparisonLevel
    confusion: Counts
    tally: Tally

    @cached_property
    def total(self) -> Tally:
        """Counts of all views."""
        return Tally.of(self.confusion)


@dataclass(frozen=True, eq=False)
class JointScores:
    """Distances of a model's joints from the truth.

    Parameters
    ----------
    proposals : mapping of joint name to JudgedProposals
        Its people are views.
    chosen_m : mapping of joint name to array (n_views,)
        Distance of the position chosen for a joint; infinite if none was chosen, NaN where none is expected.
    calibration : Calibration
        Calibration of the confidence that a chosen position lies within `WITHIN_M` of a visible joint.
    """

    proposals: Mapping[str, JudgedProposals]
    chosen_m: Mapping[str, Floats]
    calibration: Calibration

    @property
    def names(self) -> tuple[str, ...]:
        """The joints that are visible in the data, in order."""
        return tuple(name for name, judged in self.proposals.items() if judged.is_expected.any())

    def average_precisions(self, within_m: float = WITHIN_M) -> dict[str, float]:
        """Return the average precision of each visible joint."""
        return {name: float(self.proposals[name].average_precision(within_m)) for name in self.names}

    def curves(self) -> dict[str, Floats]:
        """Return the average precision of each joint over the distances `CURVE_M`."""
        return {name: self.proposals[name].curve() for name in self.names}

    def mean_precision(self, weights: Floats | None = None, chosen: Bools | None = None) -> Floats:
        """Return the mean average precision (...) at `WITHIN_M`, of all views or the chosen ones."""
        judged = [self.proposals[name] for name in self.names]
        return mean_precision([p if chosen is None else p.of_people(chosen) for p in judged], WITHIN_M, weights)

    def found_shares(self, weights: Floats | None = None, within_m: float = WITHIN_M) -> Floats:
        """Return for each joint (..., n_joints) the share of visible ones whose chosen position is near enough."""
        distances = np.stack([self.chosen_m[name] for name in self.names], axis=-1)
        is_near, is_expected = (distances <= within_m).astype(np.float64), (~np.isnan(distances)).astype(np.float64)
        if weights is None:
            return share(is_near.sum(axis=0), is_expected.sum(axis=0))
        return share(weights @ is_near, weights @ is_expected)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures in JSON form."""
        curves = self.curves()
        return {
            "within_m": WITHIN_M,
            "average_precision": {name: rounded(value) for name, value in self.average_precisions().items()},
            "found": dict(zip(self.names, map(rounded, self.found_shares().tolist()), strict=True)),
            "distances_m": [round(float(d), 3) for d in CURVE_M],
            "curves": {name: [rounded(v, 4) for v in curve] for name, curve in curves.items()},
            "mean_curve": [rounded(v, 4) for v in known_mean(np.stack(list(curves.values()), axis=-1))],
            "expected_calibration_error": rounded(self.calibration.expected_error),
        }


@dataclass(frozen=True)
class Speed:
    """A model's speed, one frame at a time: medians.

    Parameters
    ----------
    n_frames, threads : int
        Frames that were timed, and threads that labeled each frame (joints use one).
    label_ms, joints_ms : float
        Time for all people of a frame; NaN without joints.
    """

    n_frames: int
    threads: int
    label_ms: float
    joints_ms: float

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, with frames per second."""
        return {
            "frames": self.n_frames,
            "threads": self.threads,
            "label_ms": rounded(self.label_ms, 3),
            "joints_ms": rounded(self.joints_ms, 3),
            "label_per_second": rounded(1000 / self.label_ms, 1),
            "joints_per_second": rounded(1000 / self.joints_ms, 1),
        }


@dataclass(frozen=True, eq=False)
class Slice:
    """The figures of a group of views.

    Parameters
    ----------
    axis, label : str
        As in `views.Group`.
    n_views : int
    figures : mapping of name to Estimate
        `PARTS_FIGURE` and its counterparts at other levels; also `MAP` if there are joints.
    """

    axis: str
    label: str
    n_views: int
    figures: Mapping[str, Estimate]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Evaluation of a forest on the pixels and joints of a data set.

    Parameters
    ----------
    confusion : array (n_parts, n_parts), int64
        Pixels by true part (row) and predicted part (column), in the finest part set that data and model share.
    part_set : PartSet
        The part set of `confusion`.
    n_frames : int
    levels : tuple of LevelScores
        Finest first, then coarser ones; each also with left and right merged.
    views : tuple of PersonView
        The people of the frames.
    calibration : Calibration
        Calibration of the pixels' confidence.
    joints : JointScores or None
    no_joints : str
        Why there are no joints.
    speed : Speed or None
    seed : int
        Seed of the bootstrap. Models are compared replicate by replicate, so all need the same seed.
    """

    confusion: Counts
    part_set: PartSet
    n_frames: int
    levels: tuple[LevelScores, ...] = ()
    views: tuple[PersonView, ...] = ()
    calibration: Calibration = field(default_factory=Calibration)
    joints: JointScores | None = None
    no_joints: str = ""
    speed: Speed | None = None
    seed: int = 0

    @cached_property
    def tally(self) -> Tally:
        """Counts of the confusion matrix."""
        return Tally.of(self.confusion)

    @property
    def n_pixels(self) -> int:
        """Labeled pixels in all."""
        return int(self.confusion.sum())

    @property
    def pixel_accuracy(self) -> float:
        """Share of pixels that were labeled correctly; NaN if there are none."""
        return float(self.tally.pixel_accuracy)

    @property
    def class_accuracies(self) -> Floats:
        """Array (n_parts,): share of each part's pixels that were labeled correctly; NaN for parts never seen."""
        return self.tally.class_accuracies

    @property
    def mean_class_accuracy(self) -> float:
        """Mean over the parts that were seen, as in Shotton et al. 2011."""
        return float(self.tally.mean_class_accuracy)

    @property
    def ious(self) -> Floats:
        """Array (n_parts,): intersection over union; NaN for parts neither seen nor answered."""
        return self.tally.ious

    @property
    def mean_iou(self) -> float:
        """Mean over the parts that were seen or answered."""
        return float(self.tally.mean_iou)

    @cached_property
    def frame_accuracies(self) -> Floats:
        """Array (n_frames,): share of correct pixels of each frame; NaN for frames without labeled pixels."""
        n_right, n_seen = np.zeros(self.n_frames), np.zeros(self.n_frames)
        if self.levels:
            np.add.at(n_right, self._frame_of, self.levels[0].tally.right.sum(axis=1))
            np.add.at(n_seen, self._frame_of, self.levels[0].tally.seen.sum(axis=1))
        return share(n_right, n_seen)

    @cached_property
    def frame_pixels(self) -> Counts:
        """Array (n_frames,): labeled pixels of each frame."""
        n_seen = np.zeros(self.n_frames, dtype=np.int64)
        if self.levels:
            np.add.at(n_seen, self._frame_of, self.levels[0].tally.seen.sum(axis=1))
        return n_seen

    @cached_property
    def _frame_of(self) -> Counts:
        return np.array([view.frame for view in self.views], dtype=np.int64)

    @cached_property
    def _replicates(self) -> dict[str, Floats]:
        """Every figure of every resampled data set: (n_replicates,), or (n_replicates, n) for those of classes."""
        found: dict[str, list[Floats]] = defaultdict(list)
        for weights in frame_weights(self.n_frames, seed=self.seed):
            own = weights[:, self._frame_of]
            for scores in self.levels:
                tally = scores.tally.weighted(own)
                for figure in (*CLASS_FIGURES, "class_accuracies", "ious"):
                    found[f"{scores.level.key}.{figure}"].append(getattr(tally, figure))
            if self.joints is not None:
                each = [self.joints.proposals[name].average_precision(WITHIN_M, own) for name in self.joints.names]
                found["joints.average_precisions"].append(np.stack(each, axis=-1))
                found["joints.found_shares"].append(self.joints.found_shares(own))
        stacked = {name: np.concatenate(blocks) for name, blocks in found.items()}
        if self.joints is not None:
            stacked[MAP] = known_mean(stacked["joints.average_precisions"])
            stacked[FOUND] = known_mean(stacked["joints.found_shares"])
        return stacked

    @cached_property
    def figures(self) -> dict[str, Estimate]:
        """Every headline figure with its interval: "parts.mean_class_accuracy", "joints.mean_average_precision", ..."""
        values = {
            f"{scores.level.key}.{figure}": getattr(scores.total, figure)
            for scores in self.levels
            for figure in CLASS_FIGURES
        }
        if self.joints is not None:
            values |= {MAP: self.joints.mean_precision(), FOUND: known_mean(self.joints.found_shares())}
        return {name: Estimate.of(value, self._replicates[name]) for name, value in values.items()}

    def spread(self, name: str) -> tuple[Floats, Floats]:
        """Return the interval ends (n,) of "KEY.class_accuracies", "KEY.ious" or "joints.average_precisions"."""
        ends = [Estimate.of(np.nan, column) for column in self._replicates[name].T]
        return np.array([e.low for e in ends]), np.array([e.high for e in ends])

    @cached_property
    def slices(self) -> list[Slice]:
        """The figures broken down by distance, heading, border and sensor."""
        found = groups(self.views) if self.views else []
        blocks: list[dict[str, list[Floats]]] = [defaultdict(list) for _ in found]
        levels = [scores for scores in self.levels if not scores.level.key.endswith(MERGED)]
        for weights in frame_weights(self.n_frames, SLICE_REPLICATES if found else 0, self.seed):
            own = weights[:, self._frame_of]
            for group, block in zip(found, blocks, strict=True):
                for scores in levels:
                    tally = scores.tally.weighted(own * group.chosen)
                    for figure in CLASS_FIGURES:
                        block[f"{scores.level.key}.{figure}"].append(getattr(tally, figure))
                if self.joints is not None:
                    block[MAP].append(self.joints.mean_precision(own, group.chosen))
        slices = []
        for group, block in zip(found, blocks, strict=True):
            values = {
                f"{scores.level.key}.{figure}": getattr(scores.tally.total(group.chosen), figure)
                for scores in levels
                for figure in CLASS_FIGURES
            }
            if self.joints is not None:
                values[MAP] = self.joints.mean_precision(chosen=group.chosen)
            estimates = {name: Estimate.of(value, np.concatenate(block[name])) for name, value in values.items()}
            slices.append(Slice(group.axis, group.label, int(group.chosen.sum()), estimates))
        return slices

    def compared_with(self, first: Evaluation) -> dict[str, Difference]:
        """Return by how much each figure exceeds another model's on the same frames, and whether that is significant.

        Figures in part sets that the other model was not evaluated in are left out.
        """
        theirs = {first.meaning(name): estimate for name, estimate in first.figures.items()}
        return {
            name: difference(theirs[self.meaning(name)], estimate)
            for name, estimate in self.figures.items()
            if self.meaning(name) in theirs
        }

    def meaning(self, name: str) -> tuple[str, tuple[str, ...]]:
        """Return the kind of a figure and its parts: both are equal for figures that can be compared."""
        key, _, figure = name.partition(".")
        return figure, next((s.level.part_set.names for s in self.levels if s.level.key == key), ())

    def to_dict(self) -> dict[str, Any]:
        """Return the figures in JSON form."""
        content: dict[str, Any] = {
            "frames": self.n_frames,
            "pixels": self.n_pixels,
            "pixel_accuracy": rounded(self.pixel_accuracy, 4),
            "mean_class_accuracy": rounded(self.mean_class_accuracy, 4),
            "mean_iou": rounded(self.mean_iou, 4),
            "class_accuracy": _named(self.part_set, self.class_accuracies),
        }
        if not self.levels:
            return content
        joints: dict[str, Any] = {"skipped": self.no_joints} if self.joints is None else self.joints.to_dict()
        return content | {
            "people": len(self.views),
            "coverage": COVERAGE,
            "figures": {name: estimate.to_dict() for name, estimate in self.figures.items()},
            "levels": {
                scores.level.key: {
                    "title": scores.level.title,
                    "parts": list(scores.level.part_set.names),
                    "class_accuracy": _named(scores.level.part_set, scores.total.class_accuracies),
                    "iou": _named(scores.level.part_set, scores.total.ious),
                    "confusion": scores.confusion.tolist(),
                }
                for scores in self.levels
            },
            "joints": joints,
            "breakdowns": [
                {"axis": s.axis, "group": s.label, "people": s.n_views}
                | {"figures": {name: estimate.to_dict() for name, estimate in s.figures.items()}}
                for s in self.slices
            ],
            "calibration": {
                "expected_error": rounded(self.calibration.expected_error),
                "confidence": [rounded(v, 4) for v in self.calibration.confidence],
                "accuracy": [rounded(v, 4) for v in self.calibration.accuracy],
                "pixels": self.calibration.n.tolist(),
            },
            "speed": None if self.speed is None else self.speed.to_dict(),
        }


def _named(part_set: PartSet, values: Floats) -> dict[str, float]:
    """Return the known (not NaN) values by the names of their parts."""
    return {
        name: round(value, 4) for name, value in zip(part_set.names, values.tolist(), strict=True) if np.isfinite(value)
    }
