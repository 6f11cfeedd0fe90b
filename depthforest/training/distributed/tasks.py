"""Tasks: the functions that run on the workers of a cluster. All are pure, so a lost task is simply done again."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import (
    NO_SPLIT,
    Sides,
    UsageError,
    count_bins,
    criteria,
    information_table,
    score_histograms,
)
from depthforest.cluster import Crew
from depthforest.forest import Forest
from depthforest.frames import PartSet
from depthforest.training.candidates import Keys, draw
from depthforest.training.config import TrainConfig
from depthforest.training.distributed.handing import is_dense
from depthforest.training.growing import Counts, FoundSplits, Grower, GrowingTree
from depthforest.training.sampling import Pixels
from depthforest.training.shards import Batch, Shard
from depthforest.training.sweeping import networks, score_pixels

MAX_MESSAGE = 2**20
"""Most bytes of a data set as a message, which is sent with every task that reads."""

MESSAGE_BYTES = 2**22
"""Bytes of a message with part of a value that all workers need: a forest of 30 MB takes eight messages."""

BIN_BYTES = 2**26
"""Memory for bins while a range of candidates is counted."""


@dataclass(frozen=True)
class Origin:
    """Everything that workers need to read frames themselves.

    Parameters
    ----------
    blob : bytes
        The data set as a message: its location, not its content.
    config : TrainConfig
    part_set : PartSet
    """

    blob: bytes
    config: TrainConfig
    part_set: PartSet

    @classmethod
    def of(cls, source: Any, config: TrainConfig, part_set: PartSet) -> Origin:
        """Return the message of a data set that workers can open."""
        advice = "give a data set that workers can open by its path, or a synth.Generator"
        try:
            blob = pickle.dumps(source)
        except Exception as error:  # pickling can raise anything
            raise UsageError(f"the frames cannot be sent to a cluster ({type(error).__name__}); {advice}") from None
        if len(blob) > MAX_MESSAGE:
            raise UsageError(f"the frames are {len(blob):,} bytes as a message, at most {MAX_MESSAGE:,}; {advice}")
        return cls(blob, config, part_set)


Places = npt.NDArray[np.int32]
"""The open node of each pixel of a shard."""

Picked = tuple[list[Pixels], Places]
"""Pixels of a shard, and the position of each one's node among the requested ones."""


@lru_cache(maxsize=4)
def _opened(blob: bytes) -> Any:
    return pickle.loads(blob)  # safe: our own message, as all messages of Dask


def send(crew: Crew, value: Any) -> Any:
    """Send a value of the client in small messages; return its future, which can be recomputed at any time."""
    blob = pickle.dumps(value)
    pieces = [blob[i : i + MESSAGE_BYTES] for i in range(0, len(blob), MESSAGE_BYTES)]
    return crew.submit(received, *[crew.submit(held, piece) for piece in pieces])


def received(*pieces: bytes) -> Any:
    """Return a value from its pieces."""
    return pickle.loads(b"".join(pieces))  # safe: our own message, as all messages of Dask


def read_shard(origin: Origin, frames: Counts, stream: int, keep_bytes: int, first: Forest | None) -> Shard:
    """Read some frames and draw their pixels."""
    source = _opened(origin.blob)
    return Shard(source, frames, stream, origin.config, origin.part_set, keep_bytes=keep_bytes, first=first)


@dataclass(frozen=True)
class ShardFacts:
    """Facts about shards for the client: class counts of all pixels, bytes of crops, frames, whether all are kept."""

    counts: Counts
    n_bytes: int
    n_frames: int
    is_kept: bool


def shard_facts(shard: Shard) -> ShardFacts:
    """Return the facts of one shard."""
    counts = np.bincount(shard.labels, minlength=shard.n_parts)
    return ShardFacts(counts, shard.n_bytes, len(shard.per_frame), shard.is_kept)


def add_facts(*facts: ShardFacts) -> ShardFacts:
    """Return the facts of several shards."""
    return ShardFacts(
        np.asarray(sum(one.counts for one in facts)),
        sum(one.n_bytes for one in facts),
        sum(one.n_frames for one in facts),
        all(one.is_kept for one in facts),
    )


def place_shard(shard: Shard, outline: GrowingTree) -> Places:
    """Return the open node of each pixel of a shard, by a walk from the root: cheaper than one candidate per level."""
    placed = shard.at(np.zeros(len(shard), dtype=np.int32))
    replace(
        outline,
        offsets=np.require(outline.offsets, requirements="W"),
        channels=np.require(outline.channels, requirements="W"),
        thresholds=np.require(outline.thresholds, requirements="W"),
        children=np.require(outline.children, requirements="W"),
    ).place(placed)
    return placed.nodes


def _placed(shard: Shard, places: Places | None) -> Shard:
    """Return a shard with its pixels at the given open nodes, in memory of its own; None: at their current nodes."""
    return shard.at(shard.nodes if places is None else np.require(places, requirements="W"))


def held(value: Any) -> Any:
    """Return a value: as a task's result, many tasks can fetch it from a worker instead of the scheduler."""
    return value


def count_classes(shard: Shard, places: Places, nodes: Counts, n_open: int) -> Counts:
    """Return the class counts (n_nodes, n_parts) of some open nodes in a placed shard."""
    return _placed(shard, places).counts_of(nodes, n_open)


def add_counts(*counts: Counts) -> Counts:
    """Return the sum of class counts."""
    return np.asarray(sum(counts))


@dataclass(frozen=True)
class Question:
    """A range of candidates of some open nodes.

    Parameters
    ----------
    nodes : array (n,), int64
    n_open : int
    keys : array (n,), uint64
    first, last : int
        Candidates.
    """

    nodes: Counts
    n_open: int
    keys: Keys
    first: int
    last: int


@dataclass(frozen=True)
class Answer:
    """A shard's answer to a question: for each node, tables or the bins of its pixels, whichever is smaller.

    Parameters
    ----------
    tables : array (n_dense, n_candidates, n_parts, n_bins), uint8, uint16 or int32
        In the narrowest type for the counts.
    dense : array (n_dense,), int64
        Positions of these nodes among the question's.
    bins, labels : array (n_pixels, n_candidates), (n_pixels,), uint8
        Bins and labels of the other nodes' pixels, sorted by node and label.
    starts : array (n_sparse + 1,), int64
    sparse : array (n_sparse,), int64
    """

    tables: npt.NDArray[Any]
    dense: Counts
    bins: npt.NDArray[np.uint8]
    labels: npt.NDArray[np.uint8]
    starts: Counts
    sparse: Counts

    def __sizeof__(self) -> int:
        """Return the size in bytes: Dask runs tasks where their largest inputs are."""
        return sum(array.nbytes for array in vars(self).values())


def narrow(tables: npt.NDArray[np.int32]) -> npt.NDArray[Any]:
    """Return counts in the narrowest type that holds them."""
    most = int(tables.max(initial=0))
    dtype = np.uint8 if most < 2**8 else np.uint16 if most < 2**16 else np.int32
    return tables.astype(dtype, copy=False)


def answer(shard: Shard, places: Places | None, question: Question, config: TrainConfig) -> Answer:
    """Return a shard's answer to a question."""
    shard, n_bins = _placed(shard, places), config.thresholds + 1
    keys = np.require(question.keys, requirements="W")
    width = question.last - question.first
    totals = shard.counts_of(question.nodes, question.n_open).sum(axis=1)
    starts = np.concatenate(([0], np.cumsum(totals)))
    n = int(starts[-1])
    has_table = is_dense(totals, shard.n_parts * n_bins)
    dense, sparse = np.flatnonzero(has_table), np.flatnonzero(~has_table)
    tables = np.zeros((len(dense), width, shard.n_parts, n_bins), dtype=np.int32)
    rows = np.concatenate([np.zeros(0, np.int64), *(np.arange(starts[i], starts[i + 1]) for i in sparse)])
    few, labels = np.empty((len(rows), width), dtype=np.uint8), np.empty(n, dtype=np.uint8)
    step = max(1, min(width, BIN_BYTES // max(n, 1)))
    for begin in range(0, width, step):
        end = min(begin + step, width)
        drawn = draw(keys, question.first + begin, question.first + end, config)
        bins = np.empty((n, end - begin), dtype=np.uint8)
        shard.fill(Batch(question.nodes, question.n_open, drawn), starts[:-1], bins, labels)
        part = np.zeros((len(dense), end - begin, shard.n_parts, n_bins), dtype=np.int32)
        count_bins(bins, labels, starts, dense, part)
        tables[:, begin:end] = part
        few[:, begin:end] = bins[rows]
    its_starts = np.concatenate(([0], np.cumsum(totals[sparse])))
    return Answer(narrow(tables), dense, few, labels[rows], its_starts, sparse)


@dataclass(frozen=True)
class Scoring:
    """Parameters for adding and scoring answers: the number of nodes and parts, class weights, configuration."""

    n_nodes: int
    n_parts: int
    weights: Counts
    config: TrainConfig


def add_answers(scoring: Scoring, *answers: Answer) -> Answer:
    """Return the sum of answers: tables of nodes that have one or now have enough pixels, and the bins of others."""
    n_nodes, n_bins, width = scoring.n_nodes, scoring.config.thresholds + 1, answers[0].bins.shape[1]
    totals = np.zeros(n_nodes, dtype=np.int64)
    has_table = np.zeros(n_nodes, dtype=np.bool_)
    for one in answers:
        totals[one.sparse] += np.diff(one.starts)
        has_table[one.dense] = True
    has_table |= is_dense(totals, scoring.n_parts * n_bins)
    dense, sparse = np.flatnonzero(has_table), np.flatnonzero(~has_table)
    which = np.cumsum(has_table) - 1  # the position of a node among those with tables
    tables = np.zeros((len(dense), width, scoring.n_parts, n_bins), dtype=np.int32)
    bins, labels, nodes = [], [], []
    for one in answers:
        tables[which[one.dense]] += one.tables
        its_nodes = np.repeat(one.sparse, np.diff(one.starts))
        is_few = ~has_table[its_nodes]
        bins.append(one.bins[is_few])
        labels.append(one.labels[is_few])
        nodes.append(its_nodes[is_few])
        counted = np.flatnonzero(has_table[one.sparse])
        if len(counted):
            some = np.zeros((len(counted), *tables.shape[1:]), dtype=np.int32)
            own = [np.require(array, requirements="W") for array in (one.bins, one.labels, one.starts)]
            count_bins(*own, counted, some)
            tables[which[one.sparse[counted]]] += some
    order = np.argsort(np.concatenate(nodes), kind="stable")
    starts = np.concatenate(([0], np.cumsum(totals[sparse])))
    few = np.concatenate(bins)[order], np.concatenate(labels)[order]
    return Answer(narrow(tables), dense, *few, starts, sparse)


def score_answers(
    scoring: Scoring, first: int, counts: Counts, *answers: Answer
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]:
    """Return the best score (n_nodes,) of a range of candidates, and its candidate and threshold (n_nodes, 2)."""
    config, whole = scoring.config, add_answers(scoring, *answers)
    scores = np.full(scoring.n_nodes, -np.inf)
    chosen = np.full((scoring.n_nodes, 2), NO_SPLIT, dtype=np.int32)
    counts, weights = (np.require(array, requirements="W") for array in (counts, scoring.weights))
    for node, table in zip(whole.dense, whole.tables, strict=True):
        sides = Sides.of(counts[node], weights, config.criterion)
        table = table.astype(np.int32, copy=False)
        best, candidate, threshold = score_histograms(table, weights, sides, config.criterion)
        if candidate >= 0:
            scores[node], chosen[node] = best, (first + candidate, threshold)
    its_scores, its_chosen = scores[whole.sparse], chosen[whole.sparse]
    score_pixels(
        information_table(), criteria.is_gini(config.criterion), *networks(), whole.bins, whole.labels, whole.starts,
        weights, config.thresholds + 1, first, its_scores, its_chosen,
    )  # fmt: skip
    scores[whole.sparse], chosen[whole.sparse] = its_scores, its_chosen
    return scores, chosen


def pick_pixels(shard: Shard, places: Places | None, nodes: Counts, n_open: int) -> Picked:
    """Return a shard's pixels of some open nodes, with their crops."""
    return _placed(shard, places).pick(nodes, n_open)


def join_shard(config: TrainConfig, part_set: PartSet, nodes: Counts, *picked: Picked) -> Shard:
    """Return one shard of pixels that were picked from several."""
    shard = Shard.of_pixels([pixels for some, _ in picked for pixels in some], config, part_set)
    shard.nodes[:] = nodes[np.concatenate([places for _, places in picked])]
    return shard


@dataclass(frozen=True)
class Bundle:
    """Subtrees that one worker grows: their pixels, and the open nodes of a level.

    Parameters
    ----------
    shard : Shard
        Shard with its pixels at the nodes of this bundle.
    keys : array (n_open,), uint64
    level : int
    """

    shard: Shard
    keys: Keys
    level: int

    def __sizeof__(self) -> int:
        return self.shard.__sizeof__()


def join_pixels(config: TrainConfig, part_set: PartSet, keys: Keys, level: int, *picked: Picked) -> tuple[Bundle, None]:
    """Return the bundle of pixels that were picked from all shards of a group."""
    return Bundle(join_shard(config, part_set, np.arange(len(keys)), *picked), keys, level), None


def grow_bundle(
    before: tuple[Bundle, Any], config: TrainConfig, weights: Counts, scratch_bytes: int
) -> tuple[Bundle, FoundSplits]:
    """Grow the subtrees of a bundle by one level; return the bundle at the next level, and the found splits."""
    bundle = before[0]
    shard = bundle.shard.at(bundle.shard.nodes.copy())
    tree = GrowingTree.start(0, len(weights), config)
    tree.open_keys, tree.level = np.require(bundle.keys, requirements="W"), bundle.level
    grower = Grower([shard], config, np.require(weights, requirements="W"), scratch_bytes, threads=1)
    found = grower.find_splits(tree)
    shard.apply(found.splits)
    tree.close_level(found.splits, found.counts)
    return Bundle(shard.at(shard.nodes), tree.open_keys, tree.level), found


def found_of(after: tuple[Bundle, FoundSplits]) -> FoundSplits:
    """Return the part of a bundle's level that is sent to the client."""
    return after[1]
