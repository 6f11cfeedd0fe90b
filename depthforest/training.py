"""Training: a data set and a configuration to a forest; checkpoints, progress and out-of-bag accuracy along the way."""

from __future__ import annotations

import hashlib
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.checkpoints import Checkpoint
from depthforest.errors import DatasetError, UsageError
from depthforest.forest import Forest, quantise_leaves
from depthforest.frames import LabeledFrame
from depthforest.growing import Grower, GrowingTree, Level, class_weights
from depthforest.modelfile import canonical_json
from depthforest.parts import PartSet
from depthforest.sampling import OUT_OF_BAG, checked_frame, frames_of_tree
from depthforest.shards import OUT, Shard
from depthforest.threads import map_in_order, thread_count
from depthforest.trainconfig import TrainConfig

MEMORY_MB = 2048
"""Default budget of what training holds at once: half for the people's crops, half for counting."""

Counts = npt.NDArray[np.int64]
Leaves = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Progress:
    """News of a training run.

    Parameters
    ----------
    event : "level", "tree" or "finished"
        A level was grown, a tree is done, or the checkpoint holds the whole forest already.
    tree, n_trees : int
        From 0.
    level, depth : int
    n_nodes, n_splits : int
        Nodes that were tried, and those that were split.
    n_pixels, n_evaluations : int
        Training pixels of those nodes; pixels times candidates.
    seconds : float
        That this level, or this tree, took.
    gain : float
        Mean of the splits, by pixels: bits, or gini impurity.
    out_of_bag : float or None
        Mean per-class accuracy of the tree so far on frames that it has not seen.
    forest_out_of_bag : float or None
        Of all finished trees together, each frame by those that have not seen it; with "tree" and "finished".
    """

    event: str
    tree: int
    n_trees: int
    level: int
    depth: int
    n_nodes: int = 0
    n_splits: int = 0
    n_pixels: int = 0
    n_evaluations: int = 0
    seconds: float = 0.0
    gain: float = 0.0
    out_of_bag: float | None = None
    forest_out_of_bag: float | None = None

    @property
    def rate(self) -> float:
        """Candidate evaluations a second."""
        return self.n_evaluations / self.seconds if self.seconds > 0 else 0.0

    def __str__(self) -> str:
        name = f"tree {self.tree + 1} of {self.n_trees}"
        if self.event == "finished":
            return f"all {self.n_trees} trees are finished already"
        if self.event == "tree":
            return (
                f"{name}: done{_percent(', out of bag', self.out_of_bag)}{_percent(', forest', self.forest_out_of_bag)}"
            )
        return (
            f"{name}, level {self.level} of {self.depth}: {self.n_nodes} nodes, {self.n_splits} split, "
            f"{self.rate / 1e6:.0f} M evaluations/s, gain {self.gain:.3f}{_percent(', out of bag', self.out_of_bag)}"
        )


def train(
    source: Sequence[LabeledFrame],
    config: TrainConfig | None = None,
    *,
    progress: Callable[[Progress], object] | bool | None = None,
    threads: int | None = None,
    shards: int | None = None,
    memory_mb: float = MEMORY_MB,
    checkpoint: str | Path | None = None,
    resume: bool = False,
) -> Forest:
    """Grow a forest on labeled frames.

    Parameters
    ----------
    source : sequence of LabeledFrame
        A data set or a `synth.Generator`, of one part set; any frame may be read again at any time.
    config : TrainConfig
        Everything that shapes the forest. The options below do not change a byte of it.
    progress : callable or True, optional
        Called with a `Progress` after every level and tree; True prints them.
    threads : int, optional
        Omitted: one for each core.
    shards : int, optional
        Into how many parts the frames of a tree are cut. Omitted: one for each thread.
    memory_mb : float
        Budget for crops and counting, beside the frames being read and about 20 bytes a training pixel. Crops that
        don't fit are made again at every level.
    checkpoint : str or Path, optional
        A folder that keeps the run after every level.
    resume : bool
        Go on from the checkpoint, if there is one.
    """
    config = TrainConfig() if config is None else config
    if not isinstance(config, TrainConfig):
        raise UsageError(f"config must be a TrainConfig, got {type(config).__name__}")
    if resume and checkpoint is None:
        raise UsageError("resume needs the folder of a checkpoint")
    run = _Run(source, config, _reporter(progress), threads, shards, memory_mb)
    book = Checkpoint(checkpoint, run.identity(), resume=resume) if checkpoint is not None else None
    try:
        return run.forest(book)
    except KeyboardInterrupt:
        if book is None:
            raise
        message = f"training was stopped; its last whole level is kept in {book.path}: resume goes on from there"
        raise KeyboardInterrupt(message) from None


class _Run:
    """One call of `train`."""

    def __init__(
        self,
        source: Sequence[LabeledFrame],
        config: TrainConfig,
        report: Callable[[Progress], object],
        threads: int | None,
        shards: int | None,
        memory_mb: float,
    ) -> None:
        self.source, self.config, self.report = source, config, report
        self.threads = thread_count(threads)
        self.n_shards = self.threads if shards is None else shards
        if isinstance(shards, bool) or not isinstance(self.n_shards, int) or not 1 <= self.n_shards <= 100_000:
            raise UsageError(f"shards must be a whole number from 1 to 100000, got {shards!r}")
        if isinstance(memory_mb, bool) or not isinstance(memory_mb, int | float) or not 0 < memory_mb < math.inf:
            raise UsageError(f"memory_mb must be a number of megabytes above 0, got {memory_mb!r}")
        self.half_bytes = int(memory_mb * 2**20 / 2)
        if not isinstance(source, Sequence) or len(source) == 0:
            got = "an empty one" if isinstance(source, Sequence) else f"a {type(source).__name__}"
            raise DatasetError(f"training needs a data set with at least one frame, got {got}")
        first = source[0]
        if not isinstance(first, LabeledFrame):
            raise DatasetError(f"frame 0 is a {type(first).__name__}; training needs LabeledFrames")
        self.part_set: PartSet = first.part_set
        if len(self.part_set) < 2:
            raise DatasetError(f"the part set has one part ({self.part_set.names[0]}); there is nothing to tell apart")
        self.votes = _Votes(len(self.part_set))

    def identity(self) -> dict[str, Any]:
        """Return what makes the forest what it is: the configuration and a fingerprint of the data."""
        n = len(self.source)
        digest = hashlib.sha256()
        for index in sorted({0, n // 3, n // 2, n - 1}):
            frame = checked_frame(self.source, index, self.part_set)
            digest.update(canonical_json(frame.camera.to_dict()).encode())
            for array in (frame.depth_mm, frame.parts, frame.people):
                digest.update(np.ascontiguousarray(array).tobytes())
        data = {"frames": n, "parts": list(self.part_set.names), "sample": digest.hexdigest()}
        return {"config": self.config.to_dict(), "data": data}

    def forest(self, book: Checkpoint | None) -> Forest:
        """Grow what is missing of the forest."""
        finished: list[GrowingTree] = list(book.state.finished) if book else []
        leaves = []
        for tree, grown in enumerate(finished):
            leaves.append(self._judged(tree, grown)[0])
        if book and book.state.is_finished:
            self.report(self._news("finished", len(finished) - 1, forest_out_of_bag=self.votes.accuracy()))
        for tree in range(len(finished), self.config.trees):
            started = time.perf_counter()
            growing = book.state.growing if book and tree == len(book.state.finished) else None
            grown = self._grow(tree, growing or GrowingTree.start(tree, len(self.part_set), self.config), book)
            its_leaves, accuracy = self._judged(tree, grown)
            finished.append(grown)
            leaves.append(its_leaves)
            news = self._news(
                "tree",
                tree,
                level=grown.level,
                seconds=time.perf_counter() - started,
                out_of_bag=accuracy,
                forest_out_of_bag=self.votes.accuracy(),
            )
            self._tell(news, book)
        return self._assembled(finished, leaves)

    def _news(self, event: str, tree: int, **rest: Any) -> Progress:
        return Progress(event, tree, self.config.trees, **{"level": 0, "depth": self.config.depth} | rest)

    def _tell(self, news: Progress, book: Checkpoint | None) -> None:
        if book:
            book.log({key: value for key, value in asdict(news).items() if value is not None})
        self.report(news)

    def _shards(self, frames: Counts, stream: int) -> list[Shard]:
        pieces = [piece for piece in np.array_split(frames, min(self.n_shards, len(frames))) if len(piece)]
        keep = self.half_bytes // max(len(pieces), 1)

        def make(piece: Counts) -> Shard:
            return Shard(self.source, piece, stream, self.config, self.part_set, keep_bytes=keep)

        return list(map_in_order(make, pieces, threads=self.threads))

    def _grow(self, tree: int, grown: GrowingTree, book: Checkpoint | None) -> GrowingTree:
        frames, judges = frames_of_tree(len(self.source), tree, self.config)
        shards = self._shards(frames, tree)
        counts = np.bincount(np.concatenate([s.labels for s in shards]), minlength=len(self.part_set))
        self._check_pixels(counts)
        grower = Grower(
            shards, self.config, class_weights(counts, self.config.class_weights), self.half_bytes, self.threads
        )
        judge = _Judge(self._shards(judges, OUT_OF_BAG)) if len(judges) else None
        list(map_in_order(grown.place, shards, threads=self.threads))
        if judge:
            judge.place(grown)
        while not grown.is_done:
            started = time.perf_counter()
            level = grower.grow_level(grown, judge.follow if judge else None)
            seconds = time.perf_counter() - started
            if book:
                book.save(tree, grown)
            if level.n_nodes:
                self._tell(self._level_news(tree, grown, level, seconds, judge), book)
        return grown

    def _level_news(
        self, tree: int, grown: GrowingTree, level: Level, seconds: float, judge: _Judge | None
    ) -> Progress:
        figures = asdict(level) | {"level": grown.level - 1, "seconds": seconds}
        return self._news("level", tree, **figures, out_of_bag=judge.accuracy(len(self.part_set)) if judge else None)

    def _check_pixels(self, counts: Counts) -> None:
        n = int(counts.sum())
        if n == 0:
            raise DatasetError(
                f"none of the {len(self.source)} frames shows a labeled person; there is nothing to learn"
            )
        if np.count_nonzero(counts) < 2:
            name = self.part_set.names[int(counts.argmax())]
            raise DatasetError(f"all training pixels are {name}; there is nothing to tell apart")
        if n < self.config.min_pixels:
            raise DatasetError(
                f"a tree has {n} training pixels, fewer than min_pixels ({self.config.min_pixels}); "
                "give more frames, draw more pixels, or lower min_pixels"
            )

    def _judged(self, tree: int, grown: GrowingTree) -> tuple[Leaves, float | None]:
        """Return a tree's leaf distributions, and its accuracy on frames that it has not seen."""
        frames, judges = frames_of_tree(len(self.source), tree, self.config)
        visible = None
        if self.config.leaf_counts == "true":
            visible = np.sum([s.visible for s in self._shards(frames, tree)], axis=0)
        leaves = quantise_leaves(leaf_distributions(grown.leaf_counts, self.config.leaf_smoothing, visible))
        if not len(judges):
            return leaves, None
        hits, totals = np.zeros(len(self.part_set), np.int64), np.zeros(len(self.part_set), np.int64)
        first = 0
        for shard in self._shards(judges, OUT_OF_BAG):
            answers = leaves[grown.place(shard)]
            self.votes.add(judges[first : first + len(shard.per_frame)], shard, answers)
            first += len(shard.per_frame)
            np.add.at(totals, shard.labels, 1)
            np.add.at(hits, shard.labels, answers.argmax(axis=1) == shard.labels)
        return leaves, _mean_accuracy(hits, totals)

    def _assembled(self, trees: Sequence[GrowingTree], leaves: Sequence[Leaves]) -> Forest:
        roots, children = [], []
        n_nodes = n_leaves = 0
        for grown in trees:
            shift = np.where(grown.children >= 0, n_nodes, -n_leaves)
            children.append((grown.children + shift).astype(np.int32))
            roots.append(grown.root + n_nodes if grown.root >= 0 else grown.root - n_leaves)
            n_nodes += len(grown.children)
            n_leaves += len(grown.leaf_counts)
        accuracy = self.votes.accuracy()
        scores = {} if accuracy is None else {"out_of_bag": {"mean_class_accuracy": round(accuracy, 6)}}
        return Forest(
            np.array(roots, dtype=np.int32),
            np.concatenate([t.offsets for t in trees]),
            np.concatenate([t.thresholds for t in trees]),
            np.concatenate(children),
            np.concatenate(leaves),
            self.part_set,
            self.config.background_mm,
            config=self.config.to_dict(),
            scores=scores,
        )


class _Judge:
    """Frames that a tree has not seen: their pixels follow its splits, and answer with their node's commonest part."""

    def __init__(self, shards: list[Shard]) -> None:
        self._shards = shards
        self._answers = [np.zeros(len(shard), dtype=np.uint8) for shard in shards]

    def place(self, grown: GrowingTree) -> None:
        """Put the pixels where they are in a tree in the making."""
        for shard, answers in zip(self._shards, self._answers, strict=True):
            leaves = grown.place(shard)
            is_in = leaves >= 0
            answers[is_in] = grown.leaf_counts[leaves[is_in]].argmax(axis=1)

    def follow(self, counts: Counts, move: Callable[[Shard], object]) -> None:
        """Answer with the open nodes' counts, then move on."""
        best = counts.argmax(axis=1).astype(np.uint8)
        for shard, answers in zip(self._shards, self._answers, strict=True):
            is_in = shard.nodes != OUT
            answers[is_in] = best[shard.nodes[is_in]]
            move(shard)

    def accuracy(self, n_parts: int) -> float | None:
        """Return the mean per-class accuracy of the answers."""
        labels = np.concatenate([shard.labels for shard in self._shards])
        is_hit = np.concatenate(self._answers) == labels
        return _mean_accuracy(np.bincount(labels[is_hit], minlength=n_parts), np.bincount(labels, minlength=n_parts))


class _Votes:
    """Answers of the trees on frames that they have not seen, added up frame by frame."""

    def __init__(self, n_parts: int) -> None:
        self._n_parts = n_parts
        self._frames: dict[int, tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]] = {}

    def add(self, frames: Counts, shard: Shard, answers: Leaves) -> None:
        """Add a tree's distributions (n_pixels, n_parts) for the pixels of some frames."""
        ends = np.cumsum(shard.per_frame)
        for frame, begin, end in zip(frames.tolist(), ends - shard.per_frame, ends, strict=True):
            labels, sums = self._frames.get(frame, (shard.labels[begin:end], np.int32(0)))
            self._frames[frame] = labels, sums + answers[begin:end].astype(np.int32)

    def accuracy(self) -> float | None:
        """Return the mean per-class accuracy of the added answers."""
        hits, totals = np.zeros(self._n_parts, np.int64), np.zeros(self._n_parts, np.int64)
        for labels, sums in self._frames.values():
            is_hit = sums.argmax(axis=1) == labels
            totals += np.bincount(labels, minlength=self._n_parts)
            hits += np.bincount(labels[is_hit], minlength=self._n_parts)
        return _mean_accuracy(hits, totals)


def leaf_distributions(counts: Counts, smoothing: float, visible: Counts | None = None) -> npt.NDArray[np.float64]:
    """Return leaf distributions (n_leaves, n_parts), not normalised, from class counts.

    Parameters
    ----------
    counts : array (n_leaves, n_parts), int64
        Training pixels.
    smoothing : float
        Pixels of the whole tree's distribution that are added to each leaf.
    visible : array (n_parts,), int64, optional
        How many pixels of each part there are; counts are then scaled to it, part by part.
    """
    drawn = counts.sum(axis=0)
    scaled = counts.astype(np.float64)
    whole = drawn.astype(np.float64)
    if visible is not None:
        # the mean factor is 1, so that smoothing weighs the same
        factors = np.where(drawn > 0, visible / np.maximum(drawn, 1), 0.0) * (int(drawn.sum()) / int(visible.sum()))
        scaled, whole = scaled * factors, whole * factors
    return np.asarray(scaled + smoothing * (whole / math.fsum(whole.tolist())))


def _mean_accuracy(hits: Counts, totals: Counts) -> float | None:
    is_there = totals > 0
    if not is_there.any():
        return None
    return math.fsum((hits[is_there] / totals[is_there]).tolist()) / int(is_there.sum())


def _percent(name: str, value: float | None) -> str:
    return "" if value is None else f"{name} {value:.1%}"


def _reporter(progress: Callable[[Progress], object] | bool | None) -> Callable[[Progress], object]:
    if callable(progress):
        return progress
    if progress is True:
        return lambda news: print(news, file=sys.stderr, flush=True)
    if progress is None or progress is False:
        return lambda _: None
    raise UsageError(f"progress must be a callable, True or None, got {progress!r}")
