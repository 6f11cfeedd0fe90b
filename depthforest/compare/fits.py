"""One fit of one learner of `compare`: its cost, and its accuracy on whole frames.

All learners fit and predict on one thread, and times are processor times, so a busy machine does not count. The time of
a fit starts with the finished table, or with frames in memory. The time of a prediction starts with a depth frame and
its people and ends with the part of each of their pixels; for learners of columns it includes computing the responses.
"""

from __future__ import annotations

import io
import pickle
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.compare.data import CompareData, labeled_pixels
from depthforest.compare.learners import FOLDS, Learner
from depthforest.evaluation import Estimate, Tally, count_pairs, frame_weights, rounded
from depthforest.frames import LabeledFrame
from depthforest.people import People
from depthforest.pipeline import label_people
from depthforest.training import pixel_responses, train

WARM_ROWS = 4000
"""Fewest rows of the warm-up fit, which compiles and is not counted."""

FIGURES = ("pixel_accuracy", "mean_class_accuracy")


@dataclass(frozen=True, eq=False)
class Fit:
    """The result of one fit.

    Parameters
    ----------
    n : int
        Size.
    fit_seconds, predict_seconds : float
        Processor time of the fit, and mean processor time of predicting a frame.
    n_bytes : int
        Size of the fitted model, pickled.
    figures : mapping of str to Estimate
        `FIGURES`, with bootstrap intervals over frames.
    class_accuracies : (n_parts,) float64
        NaN for parts that no test frame shows.
    """

    n: int
    fit_seconds: float
    predict_seconds: float
    n_bytes: int
    figures: dict[str, Estimate]
    class_accuracies: npt.NDArray[np.float64]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it in JSON form."""
        return {
            "n": self.n,
            "fit_seconds": round(self.fit_seconds, 4),
            "predict_seconds": round(self.predict_seconds, 6),
            "bytes": self.n_bytes,
            "class_accuracies": [rounded(float(a)) for a in self.class_accuracies],
        } | {name: figure.to_dict() for name, figure in self.figures.items()}


Predict = Callable[[LabeledFrame, npt.NDArray[np.int64]], npt.NDArray[np.uint8]]


class Fitter:
    """Fits one learner at any size, and evaluates it.

    Parameters
    ----------
    learner : Learner
    data : CompareData
    seed : int
    """

    def __init__(self, learner: Learner, data: CompareData, seed: int) -> None:
        self._learner, self._data, self._seed = learner, data, seed
        self._classes, self._codes = np.unique(data.table.labels, return_inverse=True)
        self._is_warm = False

    def __call__(self, n: int) -> Fit:
        """Fit with size n."""
        if not self._is_warm:
            with _one_thread(), _quiet():
                self._fitted(1, self._warm_frames())
            self._is_warm = True
        # again: libraries loaded by the warm-up were not limited by the first block
        with _one_thread(), _quiet():
            started = time.process_time()
            model = self._fitted(n)
            fit_seconds = time.process_time() - started
            tally, predict_seconds = self._judged(self._predictor(model))
        return Fit(
            n, fit_seconds, predict_seconds, pickled_size(model), _figures(tally), tally.total().class_accuracies
        )

    def _warm_frames(self) -> int:
        """Return how many of the first frames are enough to compile: `WARM_ROWS` rows, each part in `FOLDS` frames.

        Folds split by frames, and some learners refuse to fit if a part is missing. If all frames together have too few
        rows, returns all.
        """
        frames = self._data.table.frames
        is_shown = np.zeros((int(frames.max()) + 1, len(self._classes)), dtype=np.bool_)
        is_shown[frames, self._codes] = True
        is_enough = np.cumsum(is_shown, axis=0).min(axis=1) >= FOLDS
        is_enough &= np.cumsum(np.bincount(frames)) >= WARM_ROWS
        return int(is_enough.argmax()) + 1 if is_enough.any() else len(is_enough)

    def _fitted(self, n: int, n_frames: int | None = None) -> Any:
        """Fit with size n on the rows of the first frames; default: of all."""
        if self._learner.sees_frames:
            return self._depth_forest(n, n_frames)
        table = self._data.table
        rows = slice(None) if n_frames is None else table.frames < n_frames
        model = self._learner.make(n, self._seed)
        groups = {"groups": table.frames[rows]} if self._learner.has_groups else {}
        return model.fit(table.x[rows], self._codes[rows], **groups)

    def _depth_forest(self, n: int, n_frames: int | None) -> Any:
        source = self._data.frames if self._learner.is_fresh else self._data.drawn
        # draw from each frame as many pixels as the table has of the fullest one, whether the same or fresh ones
        pixels = int(np.bincount(self._data.table.frames).max())
        config = replace(self._learner.make(n, self._seed), pixels_per_frame=pixels)
        return train(source[:n_frames], config, threads=1)

    def _predictor(self, model: Any) -> Predict:
        if self._learner.sees_frames:

            def label(frame: LabeledFrame, pixels: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
                return label_people(model, frame, People.of_map(frame.people), threads=1).parts.ravel()[pixels]

            return label
        probes = self._data.table.probes

        def predict(frame: LabeledFrame, pixels: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
            return self._classes[np.asarray(model.predict(pixel_responses(frame, pixels, probes)), dtype=np.int64)]

        return predict

    def _judged(self, predict: Predict) -> tuple[Tally, float]:
        """Return a tally with a row for each test frame, and the mean processor time of a frame."""
        n_parts, confusions, seconds = len(self._data.part_set), [], 0.0
        first = self._data.test[0]
        predict(first, labeled_pixels(first))  # compiles, or packs the trees for walking
        for frame in self._data.test:
            pixels = labeled_pixels(frame)
            started = time.process_time()
            answered = predict(frame, pixels)
            seconds += time.process_time() - started
            confusions.append(count_pairs(frame.parts.ravel()[pixels], answered, n_parts, n_parts))
        return Tally.of(np.stack(confusions)), seconds / len(self._data.test)


def pickled_size(model: Any) -> int:
    """Return the size of a model's pickle in bytes, without keeping it in memory."""
    counter = _Counter()
    pickle.Pickler(counter, protocol=5).dump(model)
    return counter.n


class _Counter(io.RawIOBase):
    """A file that counts what is written and keeps nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        n = memoryview(content).nbytes
        self.n += n
        return n


def _figures(tally: Tally) -> dict[str, Estimate]:
    total = tally.total()
    blocks = [tally.weighted(weights) for weights in frame_weights(len(tally.seen))]
    return {
        name: Estimate.of(getattr(total, name), np.concatenate([np.atleast_1d(getattr(b, name)) for b in blocks]))
        for name in FIGURES
    }


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep the thread pools of scikit-learn's and numpy's libraries at one thread."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress other libraries' warnings (rounds without gain, names of columns): the figures show problems."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
