"""Growing: one tree, level by level over shards. Adds the histograms of all shards, chooses splits, moves pixels.

A level's open nodes and their candidates are processed in batches that fit the memory budget. The budget and the
numbers of shards and threads do not change the tree, because only whole numbers are added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from depthforest.base import (
    MAX_COUNT,
    NO_SPLIT,
    Parameter,
    Scratch,
    Sides,
    UsageError,
    criteria,
    find_fault,
    gain_of_score,
    information_table,
    kernel,
    map_in_order,
    score_histograms,
    thread_count,
)
from depthforest.training.candidates import Candidates, Keys, child_keys, draw, draw_chosen, root_key
from depthforest.training.config import MAX_DEPTH, MAX_WEIGHT, TrainConfig
from depthforest.training.probing import OUT
from depthforest.training.shards import Batch, Shard, Splits
from depthforest.training.sweeping import networks, score_pixels
from depthforest.trees import MAX_OFFSET_M

WEIGHT_UNIT = 4
"""Class weights are multiples of a quarter."""

BYTES_PER_COUNT = 4

TASKS_PER_THREAD = 4
"""Scoring is split into this many pieces per thread, because nodes take unequal time."""

SIDE_BYTES = 17
"""Bytes per pixel of a node that is scored: its share of the node's `Sides`, and a copy of its label."""

_OPEN = np.iinfo(np.int32).min
"""A child with the value `_OPEN + i` is open node i."""

_LAST_OPEN = -(2**30)

Counts = npt.NDArray[np.int64]
Follow = Callable[[Counts, Callable[[Shard], object]], object]


@dataclass
class GrowingTree:
    """A tree as columns, some of whose children may still be open.

    Parameters
    ----------
    root : int
        0, ~0, or open.
    offsets : array (n_nodes, 4), float32
    channels : array (n_nodes, 2), uint8
        Channels that the probes read; 0 is depth.
    thresholds : array (n_nodes,), int16
    children : array (n_nodes, 2), int32
        0 or more: node; below 0: leaf `~value`; from -2^31: open node.
    leaf_counts : array (n_leaves, n_parts), int64
        Training pixels of each leaf.
    open_keys : array (n_open,), uint64
    level : int
        Level of the open nodes.
    """

    root: int
    offsets: npt.NDArray[np.float32]
    channels: npt.NDArray[np.uint8]
    thresholds: npt.NDArray[np.int16]
    children: npt.NDArray[np.int32]
    leaf_counts: Counts
    open_keys: Keys
    level: int = 0

    @classmethod
    def start(cls, tree: int, n_parts: int, config: TrainConfig) -> GrowingTree:
        """Return a tree whose root is open."""
        return cls(
            int(_OPEN),
            np.zeros((0, 4), np.float32),
            np.zeros((0, 2), np.uint8),
            np.zeros(0, np.int16),
            np.zeros((0, 2), np.int32),
            np.zeros((0, n_parts), np.int64),
            root_key(config.seed, tree),
        )

    @property
    def n_open(self) -> int:
        """How many nodes are open."""
        return len(self.open_keys)

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to grow."""
        return self.n_open == 0

    def check(self, n_channels: int = 1) -> None:
        """Raise UsageError unless each node, leaf and open node has one parent, and nodes come after their parents.

        Probes read channels below `n_channels`.
        """
        n_nodes, n_leaves = len(self.children), len(self.leaf_counts)
        links = np.concatenate(([self.root], self.children.ravel())).astype(np.int64)
        sources = np.concatenate(([-1], np.repeat(np.arange(n_nodes), 2)))
        is_open = links <= _LAST_OPEN
        closed = links[~is_open]
        if find_fault(closed, n_nodes, n_leaves) or find_fault(links[is_open] - _OPEN, self.n_open):
            raise UsageError("its links are broken")
        if find_fault(closed, n_nodes, n_leaves, sources[~is_open]):
            raise UsageError("its nodes are not in order")
        if not np.isfinite(self.offsets).all() or np.abs(self.offsets).max(initial=0) > MAX_OFFSET_M:
            raise UsageError("its probes are out of range")
        if self.channels.max(initial=0) >= n_channels:
            raise UsageError(f"its channels must be below {n_channels}")
        if self.leaf_counts.min(initial=0) < 0 or not 0 <= self.level <= MAX_DEPTH + 1:
            raise UsageError("its leaves or its level are out of range")

    def close_level(self, splits: Splits, counts: Counts) -> None:
        """Turn the open nodes into nodes and leaves, and open the nodes' children."""
        is_split = splits.children[:, 0] >= 0
        n_split = int(is_split.sum())
        fates = np.empty(self.n_open, dtype=np.int32)
        fates[is_split] = len(self.children) + np.arange(n_split, dtype=np.int32)
        fates[~is_split] = ~(len(self.leaf_counts) + np.arange(self.n_open - n_split, dtype=np.int32))
        if self.root <= _LAST_OPEN:
            self.root = int(fates[0])
        flat = self.children.ravel()
        where = np.flatnonzero(flat <= _LAST_OPEN)
        flat[where] = fates[flat[where] - _OPEN]
        self.children = np.concatenate((flat.reshape(-1, 2), _OPEN + splits.children[is_split])).astype(np.int32)
        self.offsets = np.concatenate((self.offsets, splits.probes[is_split]))
        self.channels = np.concatenate((self.channels, splits.channels[is_split]))
        self.thresholds = np.concatenate((self.thresholds, splits.thresholds[is_split].astype(np.int16)))
        self.leaf_counts = np.concatenate((self.leaf_counts, counts[~is_split]))
        self.open_keys = child_keys(self.open_keys[is_split])
        self.level += 1

    def place(self, shard: Shard) -> npt.NDArray[np.int32]:
        """Walk a shard's pixels from the root; place them at open nodes and return the leaf of each, -1 if open."""
        ends = shard.walk(self.root, self.offsets, self.channels, self.thresholds, self.children)
        is_open = ends <= _LAST_OPEN
        shard.nodes[:] = np.where(is_open, ends - _OPEN, OUT)
        return np.where(is_open, -1, ~ends).astype(np.int32)


@dataclass(frozen=True)
class Level:
    """Figures of growing one level."""

    n_nodes: int
    n_splits: int
    n_pixels: int
    n_evaluations: int
    gain: float
    """Mean gain over the training pixels of split nodes: bits, or gini impurity."""


@dataclass(frozen=True)
class FoundSplits:
    """The outcome for the open nodes of a level.

    Parameters
    ----------
    splits : Splits
    counts : array (n_open, n_parts), int64
    gains : array (n_open,), float64
    is_tried : array (n_open,), bool
    """

    splits: Splits
    counts: Counts
    gains: npt.NDArray[np.float64]
    is_tried: npt.NDArray[np.bool_]

    def level(self, n_candidates: int) -> Level:
        """Return the figures of the level."""
        totals, is_split = self.counts.sum(axis=1), self.splits.children[:, 0] >= 0
        n_pixels = int(totals[self.is_tried].sum())
        mean_gain = float((self.gains[is_split] * totals[is_split]).sum() / max(int(totals[is_split].sum()), 1))
        n_tried, n_splits = int(np.count_nonzero(self.is_tried)), int(np.count_nonzero(is_split))
        return Level(n_tried, n_splits, n_pixels, n_pixels * n_candidates, mean_gain)


@dataclass
class Grower:
    """Everything that growing a tree needs besides the tree.

    Parameters
    ----------
    shards : sequence of Shard
    config : TrainConfig
    weights : array (n_parts,), int64
        Class weights.
    scratch_bytes : int
        Memory for the counts of a batch.
    threads : int, optional
    on_batch : callable
        Called after every batch; whatever it raises stops the growing.
    """

    shards: Sequence[Shard]
    config: TrainConfig
    weights: Counts
    scratch_bytes: int
    threads: int | None = None
    on_batch: Callable[[], object] = field(default=lambda: None)
    _scratch: Scratch = field(default_factory=Scratch)

    def place(self, tree: GrowingTree) -> None:
        """Place all pixels at their nodes in a growing tree."""
        list(map_in_order(tree.place, self.shards, threads=self.threads))

    def grow_level(self, tree: GrowingTree, follow: Follow | None = None) -> Level:
        """Split the open nodes of a tree or turn them into leaves, and move the pixels of all shards.

        `follow` is called with the class counts (n_open, n_parts) of the open nodes and a function that moves the
        pixels of any other shard.
        """
        found = self.find_splits(tree)
        list(map_in_order(lambda shard: shard.apply(found.splits), self.shards, threads=self.threads))
        if follow is not None:
            follow(found.counts, lambda shard: shard.apply(found.splits))
        tree.close_level(found.splits, found.counts)
        return found.level(self.config.candidates)

    def find_splits(self, tree: GrowingTree) -> FoundSplits:
        """Return the outcome for the open nodes of a tree; changes neither the tree nor any pixel."""
        by_shard = list(map_in_order(lambda shard: shard.class_counts(tree.n_open), self.shards, threads=self.threads))
        counts = np.asarray(sum(by_shard))
        totals = counts.sum(axis=1)
        is_tried = tried_nodes(counts, tree.level, self.config)
        tried = np.flatnonzero(is_tried)
        scores = np.full(tree.n_open, -np.inf)
        chosen = np.full((tree.n_open, 2), NO_SPLIT, dtype=np.int32)
        for nodes, first, last, is_dense in self._batches(tried, totals):
            drawn = draw(tree.open_keys[nodes], first, last, self.config, self._scratch, self.threads)
            batch = Batch(nodes, tree.n_open, drawn)
            its_scores, its_chosen = scores[nodes], chosen[nodes]
            its_own = [of_shard[nodes] for of_shard in by_shard]
            (self._score_dense if is_dense else self._score_sparse)(batch, its_own, first, its_scores, its_chosen)
            scores[nodes], chosen[nodes] = its_scores, its_chosen
            self.on_batch()
        splits, gains = splits_of(tree.open_keys, counts, scores, chosen, self.weights, self.config)
        return FoundSplits(splits, counts, gains, is_tried)

    def _batches(self, tried: Counts, totals: Counts) -> Iterator[tuple[Counts, int, int, bool]]:
        """Yield batches (nodes, first candidate, last candidate, whether dense) that fit the memory."""
        cells = len(self.weights) * (self.config.thresholds + 1) * BYTES_PER_COUNT
        n_all = self.config.candidates
        for is_dense in (True, False):
            nodes = tried[(totals[tried] >= cells) == is_dense]
            if not len(nodes):
                continue
            # bytes per candidate: bins, the candidate itself, and tables of all shards
            costs = totals[nodes] + Candidates.BYTES
            if is_dense:
                costs += cells * (len(self.shards) + 1)
            fixed = totals[nodes] * SIDE_BYTES
            width = min(n_all, (self.scratch_bytes - int(fixed.max())) // int(costs.max()))
            if width < 1:
                raise UsageError(
                    f"one candidate of a node of {int(totals[nodes].max())} pixels needs "
                    f"{int((costs + fixed).max()) / 2**20:.2f} MB, half of the memory budget is "
                    f"{self.scratch_bytes / 2**20:.2f} MB; raise ",
                    Parameter("memory_mb"),
                )
            if width > 64:
                width = n_all if width >= n_all else width // 64 * 64
            for first in range(0, n_all, width):
                last = min(first + width, n_all)
                # greedy packs of neighbors
                ends = np.cumsum(costs * (last - first) + fixed)
                begin = 0
                while begin < len(nodes):
                    before = ends[begin - 1] if begin else 0
                    end = max(int(np.searchsorted(ends, before + self.scratch_bytes, side="right")), begin + 1)
                    yield nodes[begin:end], first, last, is_dense
                    begin = end

    def _score_dense(
        self,
        batch: Batch,
        counts: Sequence[Counts],
        first: int,
        scores: npt.NDArray[np.float64],
        chosen: npt.NDArray[np.int32],
    ) -> None:
        """Score large nodes, whose class counts (n_nodes, n_parts) in each shard are given."""
        shape = (len(batch.nodes), batch.n_candidates, len(self.weights), self.config.thresholds + 1)
        rooms = []
        for its_own in counts:
            n = int(its_own.sum())
            rooms += [((n, batch.n_candidates), np.uint8), ((n,), np.uint8), (shape, np.int32)]
        memory = self._scratch.take("bins", *rooms)
        tables = memory[2::3]

        def count(i: int) -> None:
            self.shards[i].count(batch, *memory[3 * i : 3 * i + 3])

        list(map_in_order(count, range(len(self.shards)), threads=self.threads))
        sides = [Sides.of(of_node, self.weights, self.config.criterion) for of_node in np.asarray(sum(counts))]
        pieces = self._pieces(len(batch.nodes), batch.n_candidates)

        def score(piece: tuple[int, int, int]) -> tuple[float, int, int]:
            node, start, stop = piece
            summed = tables[0][node, start:stop]
            for other in tables[1:]:
                summed = summed + other[node, start:stop]
            return score_histograms(summed, self.weights, sides[node], self.config.criterion)

        results = map_in_order(score, pieces, threads=self.threads)
        for (node, start, _), (best, candidate, threshold) in zip(pieces, results, strict=True):
            if best > scores[node]:  # pieces are in order of candidates, so the lowest wins a tie
                scores[node], chosen[node] = best, (first + start + candidate, threshold)

    def _pieces(self, n_nodes: int, n_candidates: int) -> list[tuple[int, int, int]]:
        wanted = -(-TASKS_PER_THREAD * thread_count(self.threads) // n_nodes)
        width = max(16, -(-n_candidates // wanted))
        return [(n, c, min(c + width, n_candidates)) for n in range(n_nodes) for c in range(0, n_candidates, width)]

    def _score_sparse(
        self,
        batch: Batch,
        counts: Sequence[Counts],
        first: int,
        scores: npt.NDArray[np.float64],
        chosen: npt.NDArray[np.int32],
    ) -> None:
        """Score small nodes, whose class counts (n_nodes, n_parts) in each shard are given."""
        n_pixels = np.stack([its_own.sum(axis=1) for its_own in counts], axis=1)
        begins = np.concatenate(([0], np.cumsum(n_pixels)))
        n = int(begins[-1])
        bins, labels = self._scratch.take("bins", ((n, batch.n_candidates), np.uint8), ((n,), np.uint8))

        def fill(i: int) -> None:
            self.shards[i].fill(batch, begins[i : -1 : len(self.shards)].copy(), bins, labels)

        list(map_in_order(fill, range(len(self.shards)), threads=self.threads))
        table, is_gini = information_table(), criteria.is_gini(self.config.criterion)
        starts = begins[:: len(self.shards)].copy()
        n_pieces = TASKS_PER_THREAD * thread_count(self.threads)
        cuts = np.unique(np.searchsorted(starts, np.linspace(0, n, n_pieces + 1)))
        n_bins = self.config.thresholds + 1

        def score(piece: tuple[int, int]) -> None:
            begin, end = piece
            score_pixels(
                table, is_gini, *networks(), bins, labels, starts[begin : end + 1], self.weights, n_bins, first,
                scores[begin:end], chosen[begin:end],
            )  # fmt: skip

        list(map_in_order(score, list(pairwise(cuts.tolist())), threads=self.threads))


def tried_nodes(counts: Counts, level: int, config: TrainConfig) -> npt.NDArray[np.bool_]:
    """Tell which nodes, by class counts (n, n_parts), are tried: enough pixels, two or more parts, not too deep."""
    is_tried = (counts.sum(axis=1) >= config.min_pixels) & (np.count_nonzero(counts, axis=1) > 1)
    return np.asarray(is_tried & (level < config.depth))


def splits_of(
    keys: Keys,
    counts: Counts,
    scores: npt.NDArray[np.float64],
    chosen: npt.NDArray[np.int32],
    weights: Counts,
    config: TrainConfig,
) -> tuple[Splits, npt.NDArray[np.float64]]:
    """Return the splits with enough gain, with children numbered in order, and all gains."""
    n = len(keys)
    gains = np.zeros(n)
    _fill_gains(information_table(), criteria.is_gini(config.criterion), counts * weights, scores, chosen, gains)
    is_split = gains > config.min_gain
    splits = Splits(
        np.zeros((n, 4), np.float32), np.zeros((n, 2), np.uint8), np.zeros(n, np.int32), numbered_children(is_split)
    )
    where = np.flatnonzero(is_split)
    drawn = draw_chosen(keys[where], chosen[where, 0], config)
    splits.probes[where], lows, steps, splits.channels[where] = drawn
    splits.thresholds[where] = lows + steps * (chosen[where, 1] + 1) - 1
    return splits, gains


def numbered_children(is_split: npt.NDArray[np.bool_]) -> npt.NDArray[np.int32]:
    """Return the children (n, 2) of open nodes: numbered in order, OUT where a node becomes a leaf."""
    children = np.full((len(is_split), 2), OUT, dtype=np.int32)
    where = np.flatnonzero(is_split)
    children[where] = np.arange(2 * len(where), dtype=np.int32).reshape(-1, 2)
    return children


def class_weights(counts: Counts, power: float) -> Counts:
    """Return integer class weights for class counts, as defined by `TrainConfig.class_weights`."""
    if power == 0:
        weights = np.ones(len(counts), dtype=np.int64)
    else:
        ratios = (counts.max() / np.maximum(counts, 1)) ** power
        weights = np.clip(np.rint(WEIGHT_UNIT * ratios), WEIGHT_UNIT, WEIGHT_UNIT * MAX_WEIGHT).astype(np.int64)
    if int((counts * weights).sum()) > MAX_COUNT:
        raise UsageError(
            f"{int(counts.sum())} training pixels a tree weigh more than {MAX_COUNT}; draw fewer pixels or frames"
        )
    return weights


@kernel
def _fill_gains(table, is_gini, counts, scores, chosen, out):  # type: ignore[no-untyped-def]
    for i in range(len(scores)):
        if chosen[i, 0] >= 0:
            out[i] = gain_of_score(table, is_gini, counts[i], scores[i])
