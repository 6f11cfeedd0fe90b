"""Training: from a data set and a configuration to a forest, with checkpoints, progress and out-of-bag accuracy."""

from __future__ import annotations

import hashlib
import math
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from depthforest.base import (
    DatasetError,
    DepthForestError,
    DepthForestWarning,
    Message,
    Parameter,
    UsageError,
    is_finite,
    is_whole,
    map_in_order,
    modelfile,
    patient_interrupts,
    reason,
    thread_count,
)
from depthforest.cluster import Crew
from depthforest.forest import Forest
from depthforest.frames import FrameSource, LabeledFrame, PartSet
from depthforest.training.checkpoints import Checkpoint
from depthforest.training.config import ContextConfig, TrainConfig
from depthforest.training.fingerprints import fingerprint
from depthforest.training.growing import Grower, GrowingTree, class_weights
from depthforest.training.outofbag import Judge, Votes
from depthforest.training.progress import Outlook, Progress
from depthforest.training.sampling import OUT_OF_BAG, checked_frame, frames_of_tree
from depthforest.training.shards import Shard
from depthforest.trees import SCHEMA, quantize_leaves

if TYPE_CHECKING:
    from depthforest.training.distributed.growing import ClusterGrower

MEMORY_MB = 2048
"""Default memory budget: half for the people's crops and the pixels' state, half for counting."""

JUDGES_SHARE = 0.25
"""Share of the crops' half for the out-of-bag frames of a tree."""

PIXEL_BYTES = 20
"""Bytes of a training pixel's state, whether its crop is kept or not: label, node, and its rank in sorting."""

NODE_BYTES = 26
"""Bytes of a split in a model file: four offsets, a threshold, two children."""

Counts = npt.NDArray[np.int64]
Leaves = npt.NDArray[np.uint8]


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
    client: Any = None,
) -> Forest:
    """Grow a forest on labeled frames.

    Parameters
    ----------
    source : sequence of LabeledFrame
        A data set or a `synth.Generator`, of one part set; any frame may be read again at any time.
    config : TrainConfig
        Everything that shapes the forest. The options below do not change the result by a single byte.
    progress : callable or True, optional
        Called with a `Progress` after every level and tree; True prints them.
    threads : int, optional
        Default: one per core.
    shards : int, optional
        Number of shards of the frames of a tree. Default: one for each thread.
    memory_mb : float
        Budget for crops, pixels and counts, without the frames that are being read. If crops exceed it, frames are
        read again for every batch of nodes. Each training pixel needs 20 bytes in any case.
    checkpoint : str or Path, optional
        Folder that saves the run after every level.
    resume : bool
        Continue from the checkpoint, if there is one.
    client : dask.distributed.Client, optional
        Grow on the workers of this cluster, which open the data set by its path. The forest and the checkpoints are the
        same. `threads` and `memory_mb` then apply to this process, which reads the out-of-bag frames.

    Notes
    -----
    Ctrl-C stops at the next safe point (a frame or a batch of counts); a second Ctrl-C stops at once. The checkpoint
    always holds the last complete level.
    """
    config = TrainConfig() if config is None else config
    if not isinstance(config, TrainConfig) or config.n_groups:
        raise UsageError(f"config must be a TrainConfig, got {type(config).__name__}")
    with patient_interrupts() as check:
        run = Run(source, config, reporter(progress), check, threads, shards, memory_mb, client)
        return run.forest(*grow_trees(run, checkpoint, resume))


def grow_trees(run: Run, checkpoint: str | Path | None, resume: bool) -> tuple[list[GrowingTree], list[Leaves]]:
    """Grow the trees of a run; if it is stopped, the message says what is kept."""
    if resume and checkpoint is None:
        raise UsageError("resume needs the folder of a checkpoint")
    book = None
    try:
        if checkpoint is not None:
            book = Checkpoint(checkpoint, run.identity(), resume=resume)
        return run.grow(book, is_resumed=resume)
    except KeyboardInterrupt:
        if book is None:
            raise
        message = f"training was stopped; its last whole level is kept in {book.path}: resume continues from there"
        raise KeyboardInterrupt(message) from None
    except MemoryError:
        raise DepthForestError(
            "this machine has too little memory; lower ", Parameter("memory_mb"), *_kept(book)
        ) from None
    except DepthForestError as error:
        if kept := _kept(book):
            raise type(error)(*error.args, *kept) from error
        raise


class _GuardedFrames(FrameSource):
    """A data set in which every frame is a safe point to stop at, and errors are one clear line."""

    def __init__(self, source: Sequence[LabeledFrame], check: Callable[[], None]) -> None:
        self._source, self._check = source, check
        # needed by the fingerprint
        self.path, self.paths = getattr(source, "path", None), getattr(source, "paths", None)
        self.identity = getattr(source, "identity", None)

    def __len__(self) -> int:
        return len(self._source)

    def _frame(self, number: int) -> LabeledFrame:
        self._check()
        try:
            return self._source[number]
        except OSError as error:
            raise DatasetError(f"frame {number} cannot be read: {reason(error)}") from None


class Run:
    """One call of `train`."""

    def __init__(
        self,
        source: Sequence[LabeledFrame],
        config: TrainConfig,
        report: Callable[[Progress], object],
        check: Callable[[], None],
        threads: int | None,
        shards: int | None,
        memory_mb: float,
        client: Any = None,
        first_stage: Forest | None = None,
    ) -> None:
        self.first_stage = first_stage
        self.config, self.report, self.check = config, report, check
        self.threads, self.asked_shards, self.origin = thread_count(threads), shards, source
        self.crew: Crew | None = None
        if client is not None:
            self.crew = Crew(client, check)
            self.crew.wait_for_workers()
        self.n_shards = self.threads if shards is None else shards
        if not is_whole(self.n_shards, 1, 100_000):
            raise UsageError(f"shards must be a whole number from 1 to 100000, got {shards!r}")
        if not is_finite(memory_mb) or memory_mb <= 0:
            raise UsageError(Parameter("memory_mb"), f" must be a number of megabytes above 0, got {memory_mb!r}")
        self.half_bytes = int(memory_mb * 2**20 / 2)
        if not isinstance(source, Sequence) or len(source) == 0:
            got = "an empty one" if isinstance(source, Sequence) else f"a {type(source).__name__}"
            raise DatasetError(f"training needs a data set with at least one frame, got {got}")
        self.source = _GuardedFrames(source, check)
        first = self.source[0]
        if not isinstance(first, LabeledFrame):
            got = type(first).__name__
            raise DatasetError(f"frame 0 is a {got}; training needs LabeledFrames, as df.open_dataset gives them")
        self.part_set: PartSet = checked_frame(self.source, 0, first.part_set).part_set
        if len(self.part_set) < 2:
            raise DatasetError(f"the part set has one part ({self.part_set.names[0]}); there is nothing to tell apart")
        self.votes = Votes(len(self.part_set), config.trees)
        self.n_file_bytes = 0
        self.outlook = Outlook(config.trees, config.depth)

    def identity(self) -> dict[str, Any]:
        """Return everything that shapes the forest: the configuration and a fingerprint of the data."""
        config = self.config.to_dict()
        if self.first_stage is not None:
            config["first"] = _digest(self.first_stage)
        return {"config": config, "data": fingerprint(self.source, threads=self.threads)}

    def grow(self, book: Checkpoint | None, *, is_resumed: bool) -> tuple[list[GrowingTree], list[Leaves]]:
        """Grow the missing trees, and return all of them with their leaves."""
        finished: list[GrowingTree] = list(book.state.finished) if book else []
        if book and is_resumed:
            self._tell_state(book)
        leaves = []
        for tree, grown in enumerate(finished):
            leaves.append(self._leaves(grown))
            self._vote(self._judge(tree), grown, leaves[-1])
            self._check_size(tree, grown)
        self.outlook = Outlook(self.config.trees, self.config.depth, len(finished))
        if book and book.state.is_finished:
            self.report(self._news("finished", len(finished) - 1, forest_out_of_bag=self.votes.accuracy()))
        for tree in range(len(finished), self.config.trees):
            growing = book.state.growing if book and tree == len(book.state.finished) else None
            grown = growing or GrowingTree.start(tree, len(self.part_set), self.config)
            leaves.append(self._grow_and_judge(tree, grown, book))
            finished.append(grown)
        return finished, leaves

    def _grow_and_judge(self, tree: int, grown: GrowingTree, book: Checkpoint | None) -> Leaves:
        """Grow a tree to its end, report its accuracy, and return its leaves."""
        started = time.perf_counter()
        judge = self._grow(tree, grown, book)
        grown_at = time.perf_counter()
        leaves = self._leaves(grown)
        accuracy = self._vote(judge, grown, leaves)
        ended = time.perf_counter()
        self.outlook.end_tree(ended - grown_at)
        news = self._news(
            "tree",
            tree,
            level=grown.level,
            seconds=ended - started,
            out_of_bag=accuracy,
            forest_out_of_bag=self.votes.accuracy(),
            seconds_left=self.outlook.seconds_left(),
        )
        self._tell(news, book)
        return leaves

    def _news(self, event: str, tree: int, **rest: Any) -> Progress:
        return Progress(event, tree, self.config.trees, **{"level": 0, "depth": self.config.depth} | rest)

    def _tell(self, news: Progress, book: Checkpoint | None) -> None:
        if book:
            book.log(news.to_dict())
        self.report(news)

    def _tell_state(self, book: Checkpoint) -> None:
        tree, growing = len(book.state.finished), book.state.growing
        level = growing.level if growing else 0
        if book.state.is_finished:
            return
        if tree or level:
            text = f"going on with tree {tree + 1} of {self.config.trees} at level {level}, from {book.path}"
        else:
            text = f"{book.path} holds nothing to go on from: starting afresh"
        self._tell(self._news("note", tree, level=level, text=text), book)

    def _shards(self, frames: Counts, stream: int, keep_bytes: float) -> list[Shard]:
        pieces = [piece for piece in np.array_split(frames, min(self.n_shards, len(frames))) if len(piece)]
        # the pixels' state reduces the memory for crops
        state = PIXEL_BYTES * self.config.pixels_per_frame * len(frames)
        keep = max(0, int(keep_bytes - state)) // max(len(pieces), 1)

        def make(piece: Counts) -> Shard:
            first, what = self.first_stage, (self.source, piece, stream, self.config, self.part_set)
            return Shard(*what, keep_bytes=keep, first=first)

        return list(map_in_order(make, pieces, threads=self.threads))

    def _judge(self, tree: int) -> Judge | None:
        """Read the out-of-bag frames of a tree; None if it has seen all frames."""
        _, frames = frames_of_tree(len(self.source), tree, self.config)
        if not len(frames):
            return None
        return Judge(frames, self._shards(frames, OUT_OF_BAG, JUDGES_SHARE * self.half_bytes))

    def _grow(self, tree: int, grown: GrowingTree, book: Checkpoint | None) -> Judge | None:
        """Grow a tree to its end; return its `Judge`, so that out-of-bag frames are not read again."""
        started = time.perf_counter()
        frames, judges = frames_of_tree(len(self.source), tree, self.config)
        share = 1 - JUDGES_SHARE if len(judges) else 1.0
        self.report(self._news("reading", tree, text=f"reading {len(frames):,} frames ..."))
        grower, counts = (self._on_threads if self.crew is None else self._on_cluster)(tree, frames, share, book)
        self._check_pixels(tree, len(frames), counts, book)
        grower.weights = class_weights(counts, self.config.class_weights)
        judge = self._judge(tree)
        grower.place(grown)
        if judge:
            judge.place(grown)
        self.outlook.start_tree(grown.level, time.perf_counter() - started)
        while not grown.is_done:
            self.check()
            started = time.perf_counter()
            level = grower.grow_level(grown, judge.follow if judge else None)
            seconds = time.perf_counter() - started
            self._check_size(tree, grown)
            if book:
                book.save(tree, grown)
            if level.n_nodes:
                number = grown.level - 1
                self.outlook.add_level(
                    number, level.n_pixels, level.n_evaluations, seconds, is_last=grown.is_done or not level.n_splits
                )
                figures = asdict(level) | {"level": number, "seconds": seconds}
                accuracy = judge.accuracy(len(self.part_set)) if judge else None
                left = self.outlook.seconds_left()
                self._tell(self._news("level", tree, **figures, out_of_bag=accuracy, seconds_left=left), book)
        return judge

    def _on_threads(
        self, tree: int, frames: Counts, share: float, book: Checkpoint | None
    ) -> tuple[Grower | ClusterGrower, Counts]:
        """Read the frames of a tree; return a grower for this process, and the class counts of its pixels."""
        shards = self._shards(frames, tree, share * self.half_bytes)
        self._check_memory(tree, shards, share, book)
        counts = np.bincount(np.concatenate([s.labels for s in shards]), minlength=len(self.part_set))
        grower = Grower(
            shards, self.config, counts, scratch_bytes=self.half_bytes, threads=self.threads, on_batch=self.check
        )
        return grower, counts

    def _on_cluster(
        self, tree: int, frames: Counts, share: float, book: Checkpoint | None
    ) -> tuple[Grower | ClusterGrower, Counts]:
        """Let workers read the frames of a tree; return a cluster grower, and the class counts of the tree's pixels."""
        from depthforest.training.distributed.growing import ClusterGrower
        from depthforest.training.distributed.tasks import Origin

        if self.crew is None:
            raise UsageError("there is no cluster")
        origin = Origin.of(self.origin, self.config, self.part_set)
        grower = ClusterGrower(
            self.crew,
            origin,
            frames,
            tree,
            n_shards=self.asked_shards,
            memory_bytes=int(share * self.half_bytes),
            first=self.first_stage,
        )
        if not grower.facts.is_kept and tree == 0:
            text = (
                f"the people of a tree take {grower.facts.n_bytes / 2**20:,.0f} MB, more than workers keep, so frames "
                "are read again at every level, which takes long; start more workers, or such with more memory"
            )
            self._tell(self._news("note", tree, text=text), book)
        return grower, grower.facts.counts

    def _check_pixels(self, tree: int, n_frames: int, counts: Counts, book: Checkpoint | None) -> None:
        """Raise DatasetError if there is nothing to learn from the pixels of a tree; report if there is little."""
        n, n_leaves = int(counts.sum()), 2**self.config.depth
        if n == 0:
            raise DatasetError(
                f"none of the {n_frames} frames of tree {tree + 1} shows a labeled person; there is nothing to learn"
            )
        if np.count_nonzero(counts) < 2:
            name = self.part_set.names[int(counts.argmax())]
            raise DatasetError(f"all training pixels are {name}; there is nothing to tell apart")
        if n < self.config.min_pixels:
            raise DatasetError(
                f"a tree has {n} training pixels, fewer than min_pixels ({self.config.min_pixels}); "
                "give more frames, draw more pixels, or lower min_pixels"
            )
        if n < n_leaves and tree == 0:
            text = (
                f"a tree has {n:,} training pixels, fewer than the {n_leaves:,} leaves of depth {self.config.depth}: "
                "branches will end earlier"
            )
            self._tell(self._news("note", tree, text=text), book)

    def _check_memory(self, tree: int, shards: Sequence[Shard], share: float, book: Checkpoint | None) -> None:
        """Report once how much memory would avoid reading frames repeatedly."""
        if tree == 0 and not all(shard.is_kept for shard in shards):
            crops = len(shards) * max(shard.n_bytes for shard in shards)
            state = PIXEL_BYTES * self.config.pixels_per_frame * sum(len(shard.per_frame) for shard in shards)
            text = (
                "the people of a tree exceed the memory budget, so frames are read again for every batch, which takes "
                f"long; memory_mb (--memory) {math.ceil((crops + state) * 2 / share / 2**20)} keeps them"
            )
            self._tell(self._news("note", tree, text=text), book)

    def _check_size(self, tree: int, grown: GrowingTree) -> None:
        """Raise UsageError if the forest no longer fits a model file; warn if its first trees suggest that."""
        n_leaves = len(grown.leaf_counts) + grown.n_open
        n_bytes = self.n_file_bytes + NODE_BYTES * len(grown.children) + n_leaves * len(self.part_set)
        fits = f"a model file has {modelfile.MAX_FILE_BYTES:,}; lower depth or trees, or raise min_pixels"
        if n_bytes > modelfile.MAX_FILE_BYTES:
            raise UsageError(f"{tree + 1} trees of {n_leaves:,} leaves and more take {n_bytes:,} bytes, {fits}")
        if grown.is_done:
            self.n_file_bytes = n_bytes
            promised = n_bytes * self.config.trees // (tree + 1)
            if promised > modelfile.MAX_FILE_BYTES:
                message = f"{self.config.trees} trees like these will take {promised:,} bytes, {fits}"
                warnings.warn(message, DepthForestWarning, stacklevel=6)

    def _leaves(self, grown: GrowingTree) -> Leaves:
        shares = leaf_distributions(grown.leaf_counts, self.config.leaf_smoothing)
        if isinstance(self.config, ContextConfig):
            totals = np.maximum(grown.leaf_counts.sum(axis=0), 1)
            shares *= (totals.max() / totals) ** self.config.leaf_balance
        return quantize_leaves(shares)

    def _vote(self, judge: Judge | None, grown: GrowingTree, leaves: Leaves) -> float | None:
        return judge.vote(grown, leaves, self.votes) if judge else None

    def forest(self, trees: Sequence[GrowingTree], leaves: Sequence[Leaves]) -> Forest:
        """Return the trees as a forest."""
        roots, children = joined(trees)
        return Forest(
            roots,
            np.concatenate([t.offsets for t in trees]),
            np.concatenate([t.thresholds for t in trees]),
            children,
            np.concatenate(leaves),
            self.part_set,
            self.config.background_mm,
            config=self.config.to_dict(),
            scores=self.scores(),
        )

    def scores(self) -> dict[str, Any]:
        """Return the out-of-bag scores of the trees."""
        accuracy = self.votes.accuracy()
        return {} if accuracy is None else {"out_of_bag": {"mean_class_accuracy": round(accuracy, 6)}}


def joined(trees: Sequence[GrowingTree]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the roots and children of all trees together."""
    roots, children = [], []
    n_nodes = n_leaves = 0
    for grown in trees:
        shift = np.where(grown.children >= 0, n_nodes, -n_leaves)
        children.append((grown.children + shift).astype(np.int32))
        roots.append(grown.root + n_nodes if grown.root >= 0 else grown.root - n_leaves)
        n_nodes += len(grown.children)
        n_leaves += len(grown.leaf_counts)
    return np.array(roots, dtype=np.int32), np.concatenate(children)


def _digest(forest: Forest) -> str:
    """Return a digest that identifies a first stage."""
    digest = hashlib.sha256()
    for name in SCHEMA:
        digest.update(np.ascontiguousarray(getattr(forest, name)).tobytes())
    digest.update(repr((forest.mirror, forest.smooth_m, forest.background_mm)).encode())
    return digest.hexdigest()


def leaf_distributions(counts: Counts, smoothing: float) -> npt.NDArray[np.float64]:
    """Return leaf distributions (n_leaves, n_parts), not normalized, from class counts.

    Parameters
    ----------
    counts : array (n_leaves, n_parts), int64
        Training pixels.
    smoothing : float
        Pixels of the whole tree's distribution that are added to each leaf.
    """
    whole = counts.sum(axis=0).astype(np.float64)
    return np.asarray(counts.astype(np.float64) + smoothing * (whole / math.fsum(whole.tolist())))


def _kept(book: Checkpoint | None) -> Message:
    """Return the end of a message: where the grown trees are kept, if there are any."""
    if book is None or not book.has_trees:
        return ()
    return f"; what was grown is kept in {book.path}: ", Parameter("resume"), " continues from there"


def reporter(progress: Callable[[Progress], object] | bool | None) -> Callable[[Progress], object]:
    """Return the function to call with news: the callable itself, a printer, or one that does nothing."""
    if callable(progress):
        return progress
    if progress is True:
        return lambda news: print(news, file=sys.stderr, flush=True)
    if progress is None or progress is False:
        return lambda _: None
    raise UsageError(f"progress must be a callable, True or None, got {progress!r}")
