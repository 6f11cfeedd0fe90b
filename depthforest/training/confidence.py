"""Calibration: the temperatures that make a forest's confidence a probability, fitted on labeled frames.

Labels stay as they are: a temperature keeps the order of a pixel's parts (`labeling.calibrating`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Bools, Floats, UsageError
from depthforest.cluster import spread
from depthforest.forest import Forest
from depthforest.frames import NO_PART, LabeledFrame

STRIDE = 41
"""Only every n-th of a person's labeled pixels is used, because neighbors are redundant."""

LEAST_PIXELS = 200
"""Fewest pixels to fit a temperature to."""

POWERS = (0.25, 8.0)
"""Range to search for the best power, 1 / temperature."""

SEARCH_STEPS = 30
"""Steps of the golden-section search: the last interval is a millionth of the first."""

GOLDEN = (5**0.5 - 1) / 2
SAFE = 1e-6
"""Probabilities are kept this far from 0 and 1."""

Shares = npt.NDArray[np.float32]


def fit_confidence(
    forest: Forest,
    data: Sequence[LabeledFrame],
    *,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Forest:
    """Return a copy of a forest whose confidence and probabilities are calibrated; its labels stay as they are.

    Parameters
    ----------
    forest : Forest
        An existing calibration is ignored.
    data : sequence of LabeledFrame
        Frames that neither its trees nor its leaves were fitted on; some hundreds, of all sensors and views that it
        is made for. People are given, as in training.
    threads : int, optional
        Default: one per core. The temperatures are the same for any number.
    progress : callable, optional
        Called with 1 after every frame.

    Notes
    -----
    The temperature minimizes the log loss of "this label is right", given the confidence. There are two: one for
    labels smoothed as stored in the model, and one for unsmoothed labels.
    """
    forest = replace(forest, calibration=None)
    smooth_m = (forest.smooth_m, 0.0)

    def one(index: int) -> list[tuple[Any, Any, npt.NDArray[np.uint8]]]:
        frame = data[index]
        if frame.part_set.names != forest.part_set.names:
            raise UsageError(f"frame {index} has other parts than the model; confidence is fitted on the same ones")
        found = []
        for person in np.unique(frame.people[(frame.people > 0) & (frame.parts != NO_PART)]).tolist():
            labelings = [forest.label(frame, frame.people == person, smooth=m, threads=1) for m in smooth_m]
            is_used = (labelings[0].parts != NO_PART) & (frame.parts != NO_PART)
            places = np.flatnonzero(is_used)[::STRIDE]
            if len(places):
                shares = [np.asarray(labeling.probabilities()) for labeling in labelings]
                smoothed, other = (own.reshape(-1, len(forest.part_set))[places] for own in shares)
                found.append((smoothed, other, frame.parts.reshape(-1)[places]))
        return found

    rows = []
    for found in spread(one, range(len(data)), threads=threads):
        rows += found
        if progress is not None:
            progress(1)
    n_pixels = sum(len(truth) for *_, truth in rows)
    if n_pixels < LEAST_PIXELS:
        raise UsageError(
            f"confidence is fitted on at least {LEAST_PIXELS} labeled pixels of people, got {n_pixels}; take "
            "more frames"
        )
    smoothed, other = (np.concatenate([row[i] for row in rows]) for i in range(2))
    truth = np.concatenate([row[2] for row in rows])
    fitted = [best_temperature(shares, truth) for shares in (smoothed, other)]
    return replace(forest, calibration={"temperature": fitted[0], "temperature_unsmoothed": fitted[1]})


def best_temperature(shares: Shares, truth: npt.NDArray[np.uint8]) -> float:
    """Return the temperature at which the log loss of "the largest is the true one" is lowest, to four digits.

    Parameters
    ----------
    shares : array (n, n_parts), float32
        Shares of parts before calibration.
    truth : array (n,), uint8
    """
    is_right = np.asarray(shares.argmax(axis=1) == truth)
    of_largest = shares / shares.max(axis=1, keepdims=True)

    def loss(power: float) -> float:
        return log_loss(1 / (of_largest ** np.float32(power)).sum(axis=1, dtype=np.float64), is_right)

    low, high = POWERS
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = loss(left), loss(right)
    for _ in range(SEARCH_STEPS):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = loss(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = loss(right)
    return round(2 / (low + high), 4)


def log_loss(confidence: Floats, is_right: Bools) -> float:
    """Return the mean negative log likelihood of the outcomes under the confidences."""
    safe = np.clip(confidence, SAFE, 1 - SAFE)
    return float(-np.where(is_right, np.log(safe), np.log(1 - safe)).mean())
