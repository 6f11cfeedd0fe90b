"""train_people: from labeled frames of rooms to a person model: a scene forest, then a judge of candidates.

The judge learns from frames that the scene forest has not seen, as stacking requires: the forest is more confident on
frames that it has seen than on others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import DatasetError, Floats, UsageError, map_in_order
from depthforest.forest import Forest
from depthforest.frames import FrameSource, LabeledFrame
from depthforest.people import NAMES, SCENE, PersonModel, TreeSum, body_forest, candidates_of, scene_frame
from depthforest.training.config import PeopleConfig
from depthforest.training.progress import Progress
from depthforest.training.run import train

PERSON_IOU, THING_IOU = 0.5, 0.3
"""A candidate that fits a person at least this well is a person; one that fits none better than the second is a thing.
Others are not used."""

TRIED = 12
"""Columns tried at a split of the judge: more than the square root of their number, because many say little."""

FOLDS = 5
"""Folds of the judge's frames: limits are chosen by predictions on frames that were left out."""


class _Varied(FrameSource):
    """Frames, some of them of people alone."""

    def __init__(self, source: Sequence[LabeledFrame], config: PeopleConfig) -> None:
        self._source, self._config = source, config

    def __len__(self) -> int:
        return len(self._source)

    def _frame(self, number: int) -> LabeledFrame:
        frame = self._source[number]
        is_bare = np.random.default_rng([self._config.seed, 2, number]).random() < self._config.bare_share
        if not is_bare or not frame.people.any():
            return frame
        return replace(frame, depth_mm=np.where(frame.people > 0, frame.depth_mm, np.uint16(0)))


class _Scenes(FrameSource):
    """Frames in the form that the scene forest learns from."""

    part_set = SCENE

    def __init__(self, source: Sequence[LabeledFrame], chosen: npt.NDArray[np.int64]) -> None:
        self._source, self._chosen = source, chosen

    def __len__(self) -> int:
        return len(self._chosen)

    def _frame(self, number: int) -> LabeledFrame:
        return scene_frame(self._source[int(self._chosen[number])])


def train_people(
    source: Sequence[LabeledFrame],
    config: PeopleConfig | None = None,
    *,
    progress: Callable[[Progress], object] | bool | None = None,
    advance: Callable[[int], object] | None = None,
    threads: int | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
) -> PersonModel:
    """Train a person model on labeled frames of rooms, with people in them and without.

    Parameters
    ----------
    source : sequence of LabeledFrame
        A data set or a `synth.Generator`; several sensors and cameras make the model fit any.
    config : PeopleConfig, optional
    progress : callable or True, optional
        Progress of the scene forest, as in `train`.
    advance : callable, optional
        Called with 1 after every frame whose candidates were found.
    threads : int, optional
        Default: one per core.
    checkpoint, resume
        Checkpoint of the scene forest, as in `train`; the steps after it take minutes.
    """
    config = PeopleConfig() if config is None else config
    if not isinstance(config, PeopleConfig):
        raise UsageError(f"config must be a PeopleConfig, got {type(config).__name__}")
    source = _Varied(source, config)
    order = np.random.default_rng([config.seed, 1]).permutation(len(source))
    n_scenes = round(config.scene_share * len(source))
    scenes, judged = np.sort(order[:n_scenes]), np.sort(order[n_scenes:])
    if len(scenes) < 2 or len(judged) < 2 * FOLDS:
        raise DatasetError(f"a person model needs at least {4 * FOLDS} frames, got {len(source)}")
    scene = train(
        _Scenes(source, scenes), config.scene_config(), progress=progress, threads=threads, checkpoint=checkpoint,
        resume=resume,
    )  # fmt: skip
    body = body_forest(config.body)
    columns, fits, frames = _candidates(source, judged, scene, body, config, advance, threads)
    return _fit(scene, columns, fits, frames, len(judged), config)


def _candidates(
    source: Sequence[LabeledFrame],
    chosen: npt.NDArray[np.int64],
    scene: Forest,
    body: Forest,
    config: PeopleConfig,
    advance: Callable[[int], object] | None,
    threads: int | None,
) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
    """Return columns, fits and frame numbers of all candidates of the frames."""

    def one(number: int) -> tuple[Floats, Floats]:
        return candidates_of(source[number], scene, body, config.least_person)

    rows, fits, frames = [np.empty((0, len(NAMES)))], [np.empty(0)], []
    for i, (columns, fit) in enumerate(map_in_order(one, chosen.tolist(), threads=threads)):
        rows.append(columns)
        fits.append(fit)
        frames += [i] * len(fit)
        if advance is not None:
            advance(1)
    return np.concatenate(rows), np.concatenate(fits), np.array(frames, dtype=np.int64)


def _fit(
    scene: Forest, columns: Floats, fits: Floats, frames: npt.NDArray[np.int64], n_frames: int, config: PeopleConfig
) -> PersonModel:
    """Fit the judge, and choose the limit of probability by frames that were left out."""
    from depthforest.ensemble import RandomForestClassifier

    make = partial(
        RandomForestClassifier, n_estimators=config.judges, max_leaf_nodes=config.judge_leaves, max_features=TRIED,
        random_state=config.seed,
    )  # fmt: skip
    is_person, is_clear = fits >= PERSON_IOU, (fits >= PERSON_IOU) | (fits < THING_IOU)
    if not (is_person.any() and (is_clear & ~is_person).any()):
        raise DatasetError("no candidates of both kinds, people and things, are in these frames; give others, or more")
    rounded = columns.astype(np.float32)
    left_out = np.empty(len(fits))
    for fold in range(FOLDS):
        is_out = frames % FOLDS == fold
        fitted = make().fit(rounded[is_clear & ~is_out], is_person[is_clear & ~is_out])
        if is_out.any():
            left_out[is_out] = fitted.predict_proba(rounded[is_out])[:, 1]
    things = np.sort(left_out[is_clear & ~is_person])[::-1]
    n_false = min(int(config.false_people * n_frames), len(things) - 1)
    least = round(float(np.clip(things[n_false], 0.05, 0.95)), 4)
    judge = tree_sum(make().fit(rounded[is_clear], is_person[is_clear]), column=1)
    scores = {
        "frames": n_frames,
        "candidates": len(fits),
        "people": int(is_person.sum()),
        "kept": round(float((left_out[is_person] >= least).mean()), 4),
        "false_a_frame": round(float((left_out[is_clear & ~is_person] >= least).sum() / n_frames), 4),
    }
    return PersonModel(scene, judge, config.body, config.least_person, least, config.to_dict(), scores)


def tree_sum(forest: Any, column: int) -> TreeSum:
    """Return the trees of a random forest as a sum: the mean of a column of their leaves' values."""
    trees = [member.tree_ for member in forest.estimators_]
    starts = np.cumsum([0, *(tree.node_count for tree in trees)])
    features, thresholds, children, values = [], [], [], []
    for tree, start in zip(trees, starts, strict=False):
        is_leaf = tree.feature < 0
        features.append(tree.feature)
        thresholds.append(np.where(is_leaf, 0, tree.threshold))
        children.append(np.where(is_leaf, 0, tree.child + start))
        values.append(np.where(is_leaf, tree.values[np.where(is_leaf, tree.child, 0), column], 0) / len(trees))
    return TreeSum(
        starts[:-1].astype(np.int32),
        np.concatenate(features).astype(np.int16),
        np.concatenate(thresholds).astype(np.float32),
        np.concatenate(children).astype(np.int32),
        np.concatenate(values).astype(np.float32),
        len(NAMES),
    )
