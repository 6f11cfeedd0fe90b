"""The data of `compare`: training frames in memory, the pixels drawn from them, and whole test frames.

All learners see the same pixels: learners of columns get a table from `pixeltables`, the depth forest gets the same
frames with no other pixel labeled (`drawn_frames`). Time to read frames is never counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import DatasetError, Parameter, UsageError
from depthforest.compare.budget import CompareSettings
from depthforest.evaluation import open_bench
from depthforest.frames import NO_PART, LabeledFrame, PartSet
from depthforest.io import open_dataset
from depthforest.training import PixelTable, checked_frame, draw_probes, pixel_table, table_pixels


@dataclass(frozen=True, eq=False)
class CompareData:
    """Training and test data of all learners.

    Parameters
    ----------
    table : PixelTable
        Training pixels.
    frames : list of LabeledFrame
        The frames of these pixels, cropped to their people.
    drawn : list of LabeledFrame
        The same with no other pixel labeled.
    test : list of LabeledFrame
        Whole frames.
    part_set : PartSet
    """

    table: PixelTable
    frames: list[LabeledFrame]
    drawn: list[LabeledFrame]
    test: list[LabeledFrame]
    part_set: PartSet


def drawn_frames(frames: Sequence[LabeledFrame], n: int, seed: int) -> list[LabeledFrame]:
    """Return frames in which only the pixels of a table are labeled; people are whole, so that probes read the same.

    Parameters
    ----------
    frames : sequence of LabeledFrame
    n, seed : int
        As in `pixel_table`.
    """
    drawn = []
    for number, frame in enumerate(frames):
        pixels = table_pixels(frame, number, len(frames), n, seed=seed)
        parts = np.full(frame.shape, NO_PART, dtype=np.uint8)
        parts.flat[pixels] = frame.parts.ravel()[pixels]
        drawn.append(LabeledFrame(frame.depth_mm, frame.camera, parts, frame.people, {}, frame.part_set))
    return drawn


def open_frames(data: str | Path | None, synth_config: Path | None, n: int, seed: int) -> Any:
    """Open a data set, or generate synthetic frames as `train` does."""
    if data is not None:
        if synth_config is not None:
            raise UsageError(Parameter("data"), " brings its own frames; leave out ", Parameter("synth_config"))
        return open_dataset(data)
    from synth import Config, Generator

    return Generator(Config.load(synth_config) if synth_config is not None else Config(), seed, n=n)


def open_judges(test: str | Path | None, bench: str | None, mocap: Path | None) -> Any:
    """Open the test data: a data set, or a fixed test set by name; None if training frames are held out."""
    if bench is None:
        if mocap is not None:
            raise UsageError(
                Parameter("mocap"), " has the clips of a fixed test set; name one with ", Parameter("bench")
            )
        return None if test is None else open_dataset(test)
    if test is not None:
        raise UsageError(Parameter("test"), " and ", Parameter("bench"), " are both test sets; give one")
    return open_bench(bench, mocap, judging="parts")


def spread(n_there: int, n: int) -> list[int]:
    """Return the numbers of at most n frames, spread evenly over all of them."""
    n = min(n, n_there)
    return [i * n_there // n for i in range(n)]


def chosen_frames(
    n_data: int, n_test: int | None, frames: int, test_frames: int, held_out: float
) -> tuple[list[int], list[int]]:
    """Return which frames are for training and which for testing.

    Parameters
    ----------
    n_data, n_test : int
        Numbers of frames. Without a test set (None), the last share `held_out` of the chosen frames is for testing:
        consecutive frames of a recording are alike, so they stay together.
    frames, test_frames : int
        Most frames to use, spread evenly.
    held_out : float
    """
    chosen = spread(n_data, frames)
    if n_test is not None:
        return chosen, spread(n_test, test_frames)
    n_held = max(1, round(held_out * len(chosen)))
    if n_held >= len(chosen):
        raise UsageError(f"{len(chosen)} frames cannot be parted into some to train on and some to judge by; use more")
    rest = chosen[-n_held:]
    return chosen[:-n_held], [rest[i] for i in spread(n_held, test_frames)]


def read_data(
    source: Sequence[LabeledFrame],
    test: Sequence[LabeledFrame],
    train_numbers: Sequence[int],
    test_numbers: Sequence[int],
    settings: CompareSettings,
    advance: Callable[[int], object],
) -> CompareData:
    """Read the chosen frames, draw pixels and compute their responses.

    Parameters
    ----------
    source, test : sequences of LabeledFrame
    train_numbers, test_numbers : sequences of int
    settings : CompareSettings
    advance : callable
        Called with the number of frames that were read.
    """
    part_set = source[train_numbers[0]].part_set
    frames = []
    for number in train_numbers:
        frames.append(cut_to_people(checked_frame(source, number, part_set)))
        advance(1)
    if test[test_numbers[0]].part_set != part_set:
        raise DatasetError("the test set has other parts than the training frames; both must name the same")
    judges = []
    for number in test_numbers:
        judges.append(checked_frame(test, number, part_set))
        advance(1)
    judges = [frame for frame in judges if len(labeled_pixels(frame))]
    if not judges:
        raise DatasetError("no test frame has a labeled pixel; make frames with people in view")
    n, seed = settings.pixels, settings.seed
    table = pixel_table(frames, n, draw_probes(settings.probes, seed), seed=seed)
    if len(np.unique(table.labels)) < 2:
        raise DatasetError("all training pixels are of one part; there is nothing to tell apart")
    return CompareData(table, frames, drawn_frames(frames, n, seed), judges, part_set)


def labeled_pixels(frame: LabeledFrame) -> npt.NDArray[np.int64]:
    """Return the pixels with a part and a reading, as flat positions."""
    return np.flatnonzero((frame.parts != NO_PART) & (frame.depth_mm > 0))


def cut_to_people(frame: LabeledFrame) -> LabeledFrame:
    """Return the window of a frame around all people; every probe reads the same in it as in the whole frame."""
    rows, cols = (np.flatnonzero((frame.people > 0).any(axis=axis)) for axis in (1, 0))
    if not len(rows):
        return frame
    top, left = int(rows[0]), int(cols[0])
    height, width = int(rows[-1]) + 1 - top, int(cols[-1]) + 1 - left
    window = np.s_[top : top + height, left : left + width]
    camera = frame.camera.cropped(top, left, height, width)
    return LabeledFrame(frame.depth_mm[window], camera, frame.parts[window], frame.people[window], {}, frame.part_set)
