"""Learners that are held against a model by `bench_peers`: fitted to the same pixels in the same time of one core.

Those on pixels see a fixed pool of probes as columns (`depthforest.pixeltables`): forests of scikit-learn and the
ensembles of this package. The depth forest beside them is grown on as many pixels of the same frames for each tree, and
draws its probes anew in every node.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import ensemble as scikit

import depthforest as df
from depthforest import ensemble as ours
from depthforest.features import masked_depth
from depthforest.frames import Frame, LabeledFrame
from depthforest.parts import NO_PART, PartSet
from depthforest.pixeltables import PixelTable, person_responses
from depthforest.progress import Progress

SEED = 0
BOOSTING_COLUMNS = 0.2
"""Share of the columns that a boosted tree looks at: rounds of all columns would be few in any time."""

PIXEL_LEARNERS: dict[str, Callable[[], Any]] = {
    "scikit-learn RandomForest": lambda: scikit.RandomForestClassifier(random_state=SEED, n_jobs=1),
    "scikit-learn ExtraTrees": lambda: scikit.ExtraTreesClassifier(random_state=SEED, n_jobs=1),
    "ensemble RandomForest": lambda: ours.RandomForestClassifier(random_state=SEED, n_jobs=1),
    "ensemble ExtraTrees": lambda: ours.ExtraTreesClassifier(random_state=SEED, n_jobs=1),
    "ensemble NewtonBoosting": lambda: ours.NewtonBoostingClassifier(
        colsample_bytree=BOOSTING_COLUMNS, random_state=SEED, n_jobs=1
    ),
}
"""Name to what is fitted: default settings, but for the columns of boosting."""

DEPTH_FOREST = "depth forest"
TREES = 3
PILOT_CANDIDATES = 100
"""Of the tree whose time says how many candidates the forest can have; its own time is not counted. With fewer, batches
of candidates are not full, and take longer each."""

SAID_LEVELS = 5
"""Every so many levels of a tree there is news."""

USED_SHARE = 0.95
"""Of the time that the depth forest is planned for: the plan may be a little off."""

WARM_UP_ROWS = 200
"""Rows of a first fit that compiles kernels before the clock runs."""

BLOCK = 16384
"""Pixels whose responses are computed at once: 20 MB with 300 probes."""

MIRRORED = np.array([-1, 1, -1, 1], dtype=np.float32)
"""What turns probes into those that see a mirrored frame."""

Say = Callable[[str], object]


@dataclass(frozen=True, eq=False)
class PixelLabels:
    """The parts of a person's pixels: as `Labeling`, what a judge looks at."""

    parts: npt.NDArray[np.uint8]
    confidence: npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class PixelLabeler:
    """A fitted classifier of pixel tables as a model that labels people, like a forest.

    Parameters
    ----------
    estimator : classifier with predict_proba
        Its classes are labels of `part_set`.
    probes : array (n_features, 4), float32
        u_x, u_y, v_x, v_y in metres: the columns of its table.
    part_set : PartSet
    """

    estimator: Any
    probes: npt.NDArray[np.float32]
    part_set: PartSet

    def label(
        self,
        frame: Frame,
        mask: npt.NDArray[np.bool_],
        *,
        mirror: bool | None = None,
        threads: int = 1,  # noqa: ARG002 - one core, as all learners here
    ) -> PixelLabels:
        """Return the most probable part of every reading on the mask; with `mirror`, by the mirrored probes too."""
        depth = masked_depth(frame, mask)
        pixels = np.argwhere(depth > 0)
        parts = np.full(frame.shape, NO_PART, dtype=np.uint8)
        confidence = np.zeros(frame.shape, dtype=np.float32)
        for first in range(0, len(pixels), BLOCK):
            own = pixels[first : first + BLOCK]
            shares = self._shares(frame, depth, own, self.probes)
            if mirror:
                swapped = self._shares(frame, depth, own, self.probes * MIRRORED)[:, list(self.part_set.mirror)]
                shares = (shares + swapped) / 2
            place = own[:, 0], own[:, 1]
            parts[place] = shares.argmax(axis=1)
            confidence[place] = np.minimum(shares.max(axis=1), 1)
        return PixelLabels(parts, confidence)

    def _shares(
        self,
        frame: Frame,
        depth: npt.NDArray[np.uint16],
        pixels: npt.NDArray[np.int64],
        probes: npt.NDArray[np.float32],
    ) -> npt.NDArray[np.float64]:
        """Return the probabilities (n_pixels, n_parts)."""
        known = self.estimator.predict_proba(person_responses(depth, pixels, probes, frame.camera))
        shares = np.zeros((len(pixels), len(self.part_set)))
        shares[:, self.estimator.classes_.astype(np.int64)] = known
        return shares


@dataclass(frozen=True)
class Fit:
    """What came of a fit.

    Parameters
    ----------
    model : PixelLabeler or Forest
    seconds : float or None
        Of one core; None of a model that was trained elsewhere.
    nodes : int
        Of all trees, leaves included: the model's size.
    about : str
        Trees, rounds or candidates, for people.
    """

    model: Any
    seconds: float | None
    nodes: int
    about: str


def fit_pixels(name: str, table: PixelTable, part_set: PartSet, seconds: float, say: Say) -> Fit:
    """Fit one of `PIXEL_LEARNERS` with as many trees, or rounds, as the time allows; at least one.

    Trees are added in batches, each at most as large as all before, so that the time for the next is known.
    """
    PIXEL_LEARNERS[name]().set_params(n_estimators=1).fit(table.x[:WARM_UP_ROWS], table.labels[:WARM_UP_ROWS])
    estimator = PIXEL_LEARNERS[name]().set_params(warm_start=True)
    unit = "rounds" if "Boosting" in name else "trees"
    began, spent, n, batch = time.process_time(), 0.0, 0, 1
    while batch > 0:
        n += batch
        estimator.set_params(n_estimators=n).fit(table.x, table.labels)
        spent = time.process_time() - began
        say(f"{name}: {n} {unit}, {spent:.0f} of {seconds:g} s")
        batch = min(n, math.floor((seconds - spent) / (spent / n))) if spent > 0 else n
    trees = np.ravel(np.array(estimator.estimators_, dtype=object))
    nodes = sum(int(tree.tree_.node_count) for tree in trees)
    return Fit(PixelLabeler(estimator, table.probes, part_set), spent, nodes, f"{n} {unit}")


def fit_forest(frames: Sequence[LabeledFrame], n_pixels: int, seconds: float, say: Say) -> Fit:
    """Train a depth forest of `TREES` trees with as many candidates as the time allows; at least one.

    Parameters
    ----------
    frames : sequence of LabeledFrame
    n_pixels : int
        Of each tree. The first tree draws those of the pixel table, as far as they are the same number of each frame;
        the others draw their own.
    seconds : float
        Of one core; reading the frames counts.
    say : callable
    """
    config = df.TrainConfig(
        trees=1, frames_per_tree=1.0, pixels_per_frame=max(1, n_pixels // len(frames)), seed=SEED,
        candidates=PILOT_CANDIDATES,
    )  # fmt: skip
    growing = 0.0

    def tell(news: Progress) -> None:
        nonlocal growing
        growing += news.seconds if news.event == "level" else 0.0
        if news.event == "tree" or (news.event == "level" and news.level % SAID_LEVELS == 0):
            say(f"{DEPTH_FOREST}, {config.candidates} candidates: {news}")

    df.train([frames[0]], replace(config, depth=2), threads=1)  # compiles
    began, watch = time.process_time(), time.perf_counter()
    df.train(frames, config, progress=tell, threads=1)
    took = time.process_time() - began
    # news tell the clock's time, which on a busy machine is more than the core's
    each = took * min(1.0, growing / (time.perf_counter() - watch)) / PILOT_CANDIDATES
    most = (USED_SHARE * seconds / TREES - (took - each * PILOT_CANDIDATES)) / each if each > 0 else 1.0
    config = replace(config, trees=TREES, candidates=max(1, math.floor(most)))
    began = time.process_time()
    forest = df.train(frames, config, progress=tell, threads=1)
    spent = time.process_time() - began
    nodes = forest.n_nodes + forest.n_leaves
    return Fit(forest, spent, nodes, f"{TREES} trees, {config.candidates} candidates")
