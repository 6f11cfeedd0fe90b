"""PeopleScore: how well people were found in a set of frames, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from depthforest.base import Floats
from depthforest.evaluation.people.ids import IdScore
from depthforest.evaluation.people.matching import FALSE_IOU, FOUND_IOU, IGNORED_SHARE, JudgedFrame, MarkedFrame
from depthforest.evaluation.scores import COVERAGE, Difference, Estimate, difference, frame_weights, rounded
from depthforest.frames import LabeledFrame
from depthforest.joints import share
from depthforest.people import People

FIGURES = {
    "recall": "recall",
    "mean_iou": "mean IoU",
    "false_per_frame": "false people a frame",
    "false_per_empty_frame": "in empty frames",
    "false_per_peopled_frame": "in frames with people",
}
"""Names of the figures that have intervals, with their titles."""


@dataclass(frozen=True, eq=False)
class WorstFrame:
    """One of the frames with the worst masks: the frame, what was found, and the judgment."""

    frame: LabeledFrame | MarkedFrame
    found: People
    judged: JudgedFrame


@dataclass(frozen=True, eq=False)
class PeopleScore:
    """How well people were found in a set of frames.

    Parameters
    ----------
    frames : tuple of JudgedFrame
        In order.
    worst : tuple of WorstFrame
        The frames with the highest `JudgedFrame.badness`, the worst first; frames without any error are left out.
    ids : IdScore or None
        Only for recordings.
    least_seen : float
        Smallest share of the picture that people of labeled frames had to cover to count.
    seed : int
        Seed of the bootstrap.
    """

    frames: tuple[JudgedFrame, ...]
    worst: tuple[WorstFrame, ...] = ()
    ids: IdScore | None = None
    least_seen: float = 0.0
    seed: int = 0

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        return len(self.frames)

    @property
    def n_empty_frames(self) -> int:
        """Number of frames without anybody."""
        return sum(frame.is_empty for frame in self.frames)

    @property
    def n_people(self) -> int:
        """Number of true people who count, over all frames."""
        return len(self.ious)

    @property
    def n_found(self) -> int:
        """Number of people found with an IoU of `FOUND_IOU` or more."""
        return int(np.count_nonzero(self.ious >= FOUND_IOU))

    @property
    def n_false(self) -> int:
        """Number of masks that show nobody."""
        return sum(len(frame.false_ids) for frame in self.frames)

    @cached_property
    def ious(self) -> Floats:
        """Array (n_people,): IoU of each person's best mask, 0 without one."""
        return np.array([iou for frame in self.frames for _, _, iou in frame.people], dtype=np.float64)

    @property
    def recall(self) -> float:
        """Share of people that were found; NaN if there are none."""
        return self.figures["recall"].value

    @property
    def mean_iou(self) -> float:
        """Mean IoU over true people; NaN if there are none."""
        return self.figures["mean_iou"].value

    @property
    def false_per_frame(self) -> float:
        """False people per frame."""
        return self.figures["false_per_frame"].value

    @property
    def false_per_empty_frame(self) -> float:
        """False people per frame without anybody; NaN if there are no such frames."""
        return self.figures["false_per_empty_frame"].value

    @property
    def false_per_peopled_frame(self) -> float:
        """False people per frame with people, counted or ignored; NaN if there are no such frames."""
        return self.figures["false_per_peopled_frame"].value

    @cached_property
    def figures(self) -> dict[str, Estimate]:
        """The figures of `FIGURES`, each with its interval over frames; NaN where there is nothing to evaluate."""
        n_false = np.array([len(f.false_ids) for f in self.frames], dtype=np.float64)
        is_empty = np.array([f.is_empty for f in self.frames], dtype=np.float64)
        n_people = np.array([len(f.people) for f in self.frames], dtype=np.float64)
        n_found = np.array([f.n_found for f in self.frames], dtype=np.float64)
        iou_sum = np.array([sum(iou for _, _, iou in f.people) for f in self.frames], dtype=np.float64)
        ratios = {
            "recall": (n_found, n_people),
            "mean_iou": (iou_sum, n_people),
            "false_per_frame": (n_false, np.ones(self.n_frames)),
            "false_per_empty_frame": (n_false * is_empty, is_empty),
            "false_per_peopled_frame": (n_false * (1 - is_empty), 1 - is_empty),
        }
        weights = np.concatenate(list(frame_weights(self.n_frames, seed=self.seed)))
        return {
            name: Estimate.of(share(above.sum(), below.sum()), share(weights @ above, weights @ below))
            for name, (above, below) in ratios.items()
        }

    def compared_with(self, first: PeopleScore) -> dict[str, Difference]:
        """Return by how much each figure exceeds that of another finder on the same frames."""
        return {name: difference(first.figures[name], estimate) for name, estimate in self.figures.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return the figures in JSON form."""
        content: dict[str, Any] = {
            "frames": self.n_frames,
            "empty_frames": self.n_empty_frames,
            "people": self.n_people,
            "found": self.n_found,
            "false": self.n_false,
            "coverage": COVERAGE,
            "figures": {name: estimate.to_dict() for name, estimate in self.figures.items()},
            "rule": {
                "least_seen": self.least_seen,
                "found_iou": FOUND_IOU,
                "false_iou": FALSE_IOU,
                "ignored_share": IGNORED_SHARE,
            },
            "worst": [{"frame": w.judged.index, "badness": rounded(w.judged.badness)} for w in self.worst],
        }
        if self.ids is not None:
            content["ids"] = {
                "kept": rounded(self.ids.kept),
                "switches": self.ids.n_switches,
                "people": self.ids.n_people,
                "seen": self.ids.n_seen,
            }
        return content
