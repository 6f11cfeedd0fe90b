"""How good a forest is on labeled frames: the confusion matrix, and the accuracies that follow from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from depthforest.errors import UsageError
from depthforest.forest import Forest
from depthforest.frames import LabeledFrame
from depthforest.parts import NO_PART, PartSet
from depthforest.threads import map_in_order

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a forest said of the labeled pixels of a data set.

    Parameters
    ----------
    confusion : array (n_parts, n_parts), int64
        Pixels by true part (row) and answered part (column).
    part_set : PartSet
    n_frames : int
    """

    confusion: Counts
    part_set: PartSet
    n_frames: int

    @property
    def n_pixels(self) -> int:
        """Labeled pixels in all."""
        return int(self.confusion.sum())

    @property
    def pixel_accuracy(self) -> float:
        """Share of pixels that were answered rightly."""
        return float(np.trace(self.confusion) / max(1, self.n_pixels))

    @property
    def class_accuracies(self) -> npt.NDArray[np.float64]:
        """Array (n_parts,): share of each part's pixels that were answered rightly; NaN for parts never seen."""
        seen = self.confusion.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.diagonal(self.confusion) / seen)

    @property
    def mean_class_accuracy(self) -> float:
        """Mean over the parts that were seen: the figure of Shotton et al. 2011."""
        accuracies = self.class_accuracies
        return float(np.nanmean(accuracies)) if np.isfinite(accuracies).any() else float("nan")

    def to_dict(self) -> dict[str, object]:
        """Return the figures in JSON form."""
        accuracies = zip(self.part_set.names, self.class_accuracies.tolist(), strict=True)
        return {
            "frames": self.n_frames,
            "pixels": self.n_pixels,
            "pixel_accuracy": round(self.pixel_accuracy, 4),
            "mean_class_accuracy": round(self.mean_class_accuracy, 4),
            "class_accuracy": {name: round(value, 4) for name, value in accuracies if np.isfinite(value)},
        }


def evaluate(
    forest: Forest,
    data: Sequence[LabeledFrame],
    *,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Evaluation:
    """Let a forest label every person of every frame by itself, and count right and wrong.

    Parameters
    ----------
    forest : Forest
    data : sequence of LabeledFrame
        With the forest's part set.
    threads : int, optional
        Omitted: one for each core.
    progress : callable, optional
        Called with 1 after every frame.
    """
    if len(data) == 0:
        raise UsageError("there are no frames to evaluate")
    n_parts = len(forest.part_set)
    confusion = np.zeros((n_parts, n_parts), dtype=np.int64)

    def count(index: int) -> Counts:
        frame = data[index]
        if frame.part_set.names != forest.part_set.names:
            raise UsageError(
                f"frame {index} has other parts than the model ({', '.join(frame.part_set.names[:3])}, ... "
                f"instead of {', '.join(forest.part_set.names[:3])}, ...); evaluate on data with the model's part set"
            )
        counts = np.zeros(n_parts * n_parts, dtype=np.int64)
        for person in np.unique(frame.people[frame.parts != NO_PART]):
            is_person = frame.people == person
            answered = forest.label(frame, is_person, threads=1).parts
            is_counted = is_person & (frame.parts != NO_PART) & (answered != NO_PART)
            pairs = frame.parts[is_counted].astype(np.int64) * n_parts + answered[is_counted]
            counts += np.bincount(pairs, minlength=n_parts * n_parts)
        return counts.reshape(n_parts, n_parts)

    for counts in map_in_order(count, range(len(data)), threads=threads):
        confusion += counts
        if progress is not None:
            progress(1)
    return Evaluation(confusion, forest.part_set, len(data))
