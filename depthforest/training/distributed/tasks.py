"""Tasks: what runs on the workers of a cluster. All are pure, so that a task that was lost is simply done again."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import NO_SPLIT, Sides, UsageError, count_bins, score_histograms
from depthforest.frames import PartSet
from depthforest.training.candidates import Keys, draw
from depthforest.training.config import TrainConfig
from depthforest.training.growing import Counts, FoundSplits, Grower, GrowingTree
from depthforest.training.sampling import Pixels
from depthforest.training.shards import Batch, Shard

MAX_MESSAGE = 2**20
"""Bytes of a data set as a message: it goes with every task that reads."""

BIN_BYTES = 2**26
"""Memory for bins while a range of candidates is counted."""


@dataclass(frozen=True)
class Origin:
    """What workers need to read frames themselves.

    Parameters
    ----------
    blob : bytes
        The data set as a message: where it is, not what is in it.
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
        except Exception as error:  # whatever its parts raise
            raise UsageError(f"the frames cannot be sent to a cluster ({type(error).__name__}); {advice}") from None
        if len(blob) > MAX_MESSAGE:
            raise UsageError(f"the frames are {len(blob):,} bytes as a message, at most {MAX_MESSAGE:,}; {advice}")
        return cls(blob, config, part_set)


@lru_cache(maxsize=4)
def _opened(blob: bytes) -> Any:
    return pickle.loads(blob)  # our own message, as all of Dask's are


def read_shard(origin: Origin, frames: Counts, stream: int, keep_bytes: int) -> Shard:
    """Read some frames and draw their pixels."""
    return Shard(_opened(origin.blob), frames, stream, origin.config, origin.part_set, keep_bytes=keep_bytes)


@dataclass(frozen=True)
class ShardFacts:
    """What the client must know of shards: class counts of all pixels, bytes of crops, frames, whether all are kept."""

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


def place_shard(shard: Shard, outline: GrowingTree) -> Shard:
    """Put the pixels of a shard at the open nodes of a tree, from its root: cheaper than one candidate a level."""
    placed = shard.at(np.zeros(len(shard), dtype=np.int32))
    replace(
        outline,
        offsets=np.require(outline.offsets, requirements="W"),
        channels=np.require(outline.channels, requirements="W"),
        thresholds=np.require(outline.thresholds, requirements="W"),
        children=np.require(outline.children, requirements="W"),
    ).place(placed)
    return placed


def held(value: Any) -> Any:
    """Return a value, which many tasks then take from a worker and not from the scheduler."""
    return value


def count_classes(shard: Shard, n_open: int) -> Counts:
    """Return the class counts (n_open, n_parts) of a shard that was placed."""
    return shard.at(shard.nodes).class_counts(n_open).copy()


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
    """What pixels say to a question: tables for nodes of many pixels, bins for those of few, whichever is smaller.

    Parameters
    ----------
    tables : array (n_dense, n_candidates, n_parts, n_bins), uint8, uint16 or int32
        As narrow as the counts allow.
    dense : array (n_dense,), int64
        Their places among the question's nodes.
    bins, labels : array (n_pixels, n_candidates), (n_pixels,), uint8
        Of the other nodes' pixels, sorted by node and label.
    starts : array (n_sparse + 1,), int64
    sparse : array (n_sparse,), int64
    """

    tables: npt.NDArray[Any]
    dense: Counts
    bins: npt.NDArray[np.uint8]
    labels: npt.NDArray[np.uint8]
    starts: Counts
    sparse: Counts


def narrow(tables: npt.NDArray[np.int32]) -> npt.NDArray[Any]:
    """Return counts in the narrowest type that holds them."""
    most = int(tables.max(initial=0))
    dtype = np.uint8 if most < 2**8 else np.uint16 if most < 2**16 else np.int32
    return tables.astype(dtype, copy=False)


def answer(shard: Shard, question: Question, config: TrainConfig) -> Answer:
    """Return what the pixels of a shard say to a question."""
    shard, n_bins = shard.at(shard.nodes), config.thresholds + 1
    keys = np.require(question.keys, requirements="W")
    width = question.last - question.first
    totals = shard.class_counts(question.n_open)[question.nodes].sum(axis=1)
    starts = np.concatenate(([0], np.cumsum(totals)))
    n = int(starts[-1])
    is_dense = totals >= 2 * shard.n_parts * n_bins
    dense, sparse = np.flatnonzero(is_dense), np.flatnonzero(~is_dense)
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


def tables_of(answers: tuple[Answer, ...], n_nodes: int, n_parts: int, n_bins: int) -> npt.NDArray[np.int32]:
    """Return the summed tables (n_nodes, n_candidates, n_parts, n_bins) of answers."""
    width = answers[0].bins.shape[1]
    whole = np.zeros((n_nodes, width, n_parts, n_bins), dtype=np.int32)
    for one in answers:
        whole[one.dense] += one.tables
        if len(one.sparse):
            some = np.zeros((len(one.sparse), width, n_parts, n_bins), dtype=np.int32)
            own = [np.require(array, requirements="W") for array in (one.bins, one.labels, one.starts)]
            count_bins(*own, np.arange(len(one.sparse)), some)
            whole[one.sparse] += some
    return whole


@dataclass(frozen=True)
class Scoring:
    """What it takes to add and score answers: the number of nodes and parts, class weights, configuration."""

    n_nodes: int
    n_parts: int
    weights: Counts
    config: TrainConfig


def add_answers(scoring: Scoring, *answers: Answer) -> Answer:
    """Return the sum of answers, as tables."""
    whole = tables_of(answers, scoring.n_nodes, scoring.n_parts, scoring.config.thresholds + 1)
    nothing = np.zeros(0, dtype=np.int64)
    empty = np.zeros((0, whole.shape[1]), dtype=np.uint8)
    no_labels = np.zeros(0, dtype=np.uint8)
    return Answer(narrow(whole), np.arange(scoring.n_nodes), empty, no_labels, np.zeros(1, np.int64), nothing)


def score_answers(
    scoring: Scoring, first: int, counts: Counts, *answers: Answer
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]:
    """Return the best score (n_nodes,) of a range of candidates, and its candidate and threshold (n_nodes, 2)."""
    config = scoring.config
    whole = tables_of(answers, scoring.n_nodes, scoring.n_parts, config.thresholds + 1)
    scores = np.full(scoring.n_nodes, -np.inf)
    chosen = np.full((scoring.n_nodes, 2), NO_SPLIT, dtype=np.int32)
    counts, weights = (np.require(array, requirements="W") for array in (counts, scoring.weights))
    for node in range(scoring.n_nodes):
        sides = Sides.of(counts[node], weights, config.criterion)
        best, candidate, threshold = score_histograms(whole[node], weights, sides, config.criterion)
        if candidate >= 0:
            scores[node], chosen[node] = best, (first + candidate, threshold)
    return scores, chosen


def pick_pixels(shard: Shard, nodes: Counts, n_open: int) -> tuple[list[Pixels], npt.NDArray[np.int32]]:
    """Return the pixels of a bundle that are in a shard, with their crops."""
    return shard.at(shard.nodes).pick(nodes, n_open)


@dataclass(frozen=True)
class Bundle:
    """Subtrees that one worker grows: their pixels, and the open nodes of a level.

    Parameters
    ----------
    shard : Shard
        At the nodes of this bundle.
    keys : array (n_open,), uint64
    level : int
    """

    shard: Shard
    keys: Keys
    level: int

    def __sizeof__(self) -> int:
        return self.shard.__sizeof__()


def join_pixels(
    config: TrainConfig, part_set: PartSet, keys: Keys, level: int, *picked: tuple[list[Pixels], npt.NDArray[np.int32]]
) -> tuple[Bundle, None]:
    """Return the bundle of pixels that were picked of all shards."""
    shard = Shard.of_pixels([pixels for some, _ in picked for pixels in some], config, part_set)
    shard.nodes[:] = np.concatenate([places for _, places in picked])
    return Bundle(shard, keys, level), None


def grow_bundle(
    before: tuple[Bundle, Any], config: TrainConfig, weights: Counts, scratch_bytes: int
) -> tuple[Bundle, FoundSplits]:
    """Grow the subtrees of a bundle by one level; return the bundle at the next, and what its nodes became."""
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
    """Return what is sent to the client of a level of a bundle."""
    return after[1]
