"""ClusterGrower: one tree, level by level, on the workers of a Dask cluster. The client sees small messages only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import NO_SPLIT
from depthforest.cluster import FAN_IN, Crew
from depthforest.training.distributed import tasks
from depthforest.training.distributed.handing import Pixelware, pack
from depthforest.training.growing import (
    Counts,
    Follow,
    FoundSplits,
    GrowingTree,
    Level,
    numbered_children,
    splits_of,
    tried_nodes,
)
from depthforest.training.shards import Splits

TABLE_BYTES = 2**25
"""Of the tables that one task counts, about: many fit a worker, and a message does not block the others."""

MAX_RANGES = 32
"""Ranges of candidates that are scored apart, at most, while tables are small: each is a task for every shard, and the
scheduler has less than a millisecond for a task."""

SCRATCH_SHARE = 0.2
"""Of a thread's memory, for what a bundle counts."""

KEEP_SHARE = 0.3
"""Of a thread's memory, for the crops of its shards."""


class ClusterGrower:
    """What growing a tree on a cluster needs besides the tree.

    Parameters
    ----------
    crew : Crew
    origin : Origin
    frames : array (n,), int64
        Of the tree.
    stream : int
        The tree.
    n_shards : int, optional
        Omitted: one for each thread of the cluster.
    memory_bytes : int
        Of a thread, where workers have no limit.
    """

    def __init__(
        self,
        crew: Crew,
        origin: tasks.Origin,
        frames: Counts,
        stream: int,
        *,
        n_shards: int | None,
        memory_bytes: int,
    ) -> None:
        self._crew, self._origin, self._config = crew, origin, origin.config
        self._memory = crew.memory_bytes() or memory_bytes
        n_threads = crew.n_threads()
        n = min(n_threads if n_shards is None else n_shards, len(frames))
        keep = int(KEEP_SHARE * self._memory * min(1.0, n_threads / n))
        pieces = np.array_split(frames, n)
        self._shards = [crew.submit(tasks.read_shard, origin, piece, stream, keep) for piece in pieces]
        facts = [crew.submit(tasks.shard_facts, shard) for shard in self._shards]
        self.facts: tasks.ShardFacts = crew.result(crew.reduce(tasks.add_facts, facts))
        crop_bytes = self.facts.n_bytes / max(self.facts.n_frames, 1)
        n_pixels = int(self.facts.counts.sum())
        self._ware = Pixelware(n_pixels, self.facts.n_frames, crop_bytes, n_threads, self._memory)
        self._bundles: list[tuple[Any, Counts]] = []  # the future of a bundle, and its open nodes in the tree
        self._is_shared: npt.NDArray[np.bool_] | None = None
        self.weights: Counts = np.ones(0, dtype=np.int64)

    def place(self, tree: GrowingTree) -> None:
        """Do nothing: pixels are placed by the tasks that need them."""

    def grow_level(self, tree: GrowingTree, follow: Follow | None = None) -> Level:
        """Split the open nodes of a tree, or make leaves of them, as `Grower.grow_level`."""
        n, n_parts = tree.n_open, len(self.weights)
        is_shared = np.ones(n, dtype=np.bool_) if self._is_shared is None else self._is_shared
        found = FoundSplits(
            Splits(
                np.zeros((n, 4), np.float32),
                np.zeros((n, 2), np.uint8),
                np.zeros(n, np.int32),
                np.zeros((n, 2), np.int32),
            ),
            np.zeros((n, n_parts), np.int64),
            np.zeros(n),
            np.zeros(n, np.bool_),
        )
        is_split = np.zeros(n, dtype=np.bool_)
        old = [self._grown(bundle, ids) for bundle, ids in self._bundles]
        new: list[tuple[Any, Any, Counts]] = []
        if is_shared.any():
            new = self._share(tree, np.flatnonzero(is_shared), found, is_split)
        bundles = old + new
        for its, (_, _, ids) in zip(self._crew.gather([told for _, told, _ in bundles]), bundles, strict=True):
            _copy(its, found, ids)
            is_split[ids] = its.splits.children[:, 0] >= 0
            is_shared[ids] = False
        found.splits.children[:] = numbered_children(is_split)
        self._bundles = [
            (state, found.splits.children[ids[is_split[ids]]].ravel().astype(np.int64))
            for state, _, ids in bundles
            if is_split[ids].any()
        ]
        self._is_shared = np.repeat(is_shared[is_split], 2)
        if follow is not None:
            follow(found.counts, lambda shard: shard.apply(found.splits))
        tree.close_level(found.splits, found.counts)
        return found.level(self._config.candidates)

    def _grown(self, bundle: Any, ids: Counts) -> tuple[Any, Any, Counts]:
        """Let a bundle grow by a level; return the futures of its next state and of what it tells."""
        scratch = int(SCRATCH_SHARE * self._memory)
        state = self._crew.submit(tasks.grow_bundle, bundle, self._config, self.weights, scratch)
        return state, self._crew.submit(tasks.found_of, state), ids

    def _share(
        self, tree: GrowingTree, shared: Counts, found: FoundSplits, is_split: npt.NDArray[np.bool_]
    ) -> list[tuple[Any, Any, Counts]]:
        """Hand over the small ones of the shared nodes, and split the others; return the new bundles, at work."""
        n, crew = tree.n_open, self._crew
        outline = crew.submit(tasks.held, replace(tree, leaf_counts=np.zeros((0, len(self.weights)), np.int64)))
        placed = [crew.submit(tasks.place_shard, shard, outline) for shard in self._shards]
        counted = [crew.submit(tasks.count_classes, shard, n) for shard in placed]
        counts = crew.result(crew.reduce(tasks.add_counts, counted))[shared]
        found.counts[shared] = counts
        is_tried = tried_nodes(counts, tree.level, self._config)
        found.is_tried[shared] = is_tried
        totals = counts.sum(axis=1)
        is_small = is_tried & (totals <= self._ware.limit)
        bundles = [
            self._handed(placed, nodes, tree)
            for nodes in pack(shared[is_small], totals[is_small], self._ware.bundle_pixels)
        ]
        is_large = is_tried & ~is_small
        if is_large.any():
            nodes = shared[is_large]
            scores, chosen = self._scored(placed, nodes, counts[is_large], tree)
            keys = tree.open_keys[nodes]
            splits, gains = splits_of(keys, counts[is_large], scores, chosen, self.weights, self._config)
            its = FoundSplits(splits, counts[is_large], gains, np.ones(len(nodes), np.bool_))
            _copy(its, found, nodes)
            is_split[nodes] = splits.children[:, 0] >= 0
        return bundles

    def _handed(self, placed: Sequence[Any], nodes: Counts, tree: GrowingTree) -> tuple[Any, Any, Counts]:
        """Hand nodes over to one worker, which grows them by a level at once."""
        crew, config = self._crew, self._config
        picked = [crew.submit(tasks.pick_pixels, shard, nodes, tree.n_open) for shard in placed]
        keys = tree.open_keys[nodes]
        bundle = crew.submit(tasks.join_pixels, config, self._origin.part_set, keys, tree.level, *picked)
        return self._grown(bundle, nodes)

    def _scored(
        self, placed: Sequence[Any], nodes: Counts, counts: Counts, tree: GrowingTree
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]:
        """Return the best scores of large nodes, and their candidates and thresholds."""
        crew, config = self._crew, self._config
        n_parts, n_bins = len(self.weights), config.thresholds + 1
        row = 4 * n_parts * n_bins
        together = max(1, TABLE_BYTES // (row * min(config.candidates, 64)))
        futures, places = [], []
        for begin in range(0, len(nodes), together):
            some = slice(begin, min(begin + together, len(nodes)))
            scoring = tasks.Scoring(len(nodes[some]), n_parts, self.weights, config)
            for first, last in self._ranges(row * len(nodes[some])):
                question = tasks.Question(nodes[some], tree.n_open, tree.open_keys[nodes[some]], first, last)
                answers = [crew.submit(tasks.answer, shard, question, config) for shard in placed]
                while len(answers) > FAN_IN:
                    groups = [answers[i : i + FAN_IN] for i in range(0, len(answers), FAN_IN)]
                    answers = [crew.submit(tasks.add_answers, scoring, *group) for group in groups]
                futures.append(crew.submit(tasks.score_answers, scoring, first, counts[some], *answers))
                places.append(some)
        scores = np.full(len(nodes), -np.inf)
        chosen = np.full((len(nodes), 2), NO_SPLIT, dtype=np.int32)
        for (its_scores, its_chosen), some in zip(crew.gather(futures), places, strict=True):
            is_better = its_scores > scores[some]  # ranges come in rising candidates: the lowest keeps a tie
            scores[some] = np.where(is_better, its_scores, scores[some])
            chosen[some] = np.where(is_better[:, None], its_chosen, chosen[some])
        return scores, chosen

    def _ranges(self, candidate_bytes: int) -> list[tuple[int, int]]:
        """Return ranges of candidates whose tables are small, and one for each thread of the cluster up to a limit."""
        n = self._config.candidates
        width = max(1, min(TABLE_BYTES // candidate_bytes, -(-n // min(self._ware.n_threads, MAX_RANGES))))
        return [(first, min(first + width, n)) for first in range(0, n, width)]


def _copy(its: FoundSplits, found: FoundSplits, ids: Counts) -> None:
    """Write what some nodes became to their places in the level."""
    found.splits.probes[ids], found.splits.thresholds[ids] = its.splits.probes, its.splits.thresholds
    found.splits.channels[ids] = its.splits.channels
    found.counts[ids], found.gains[ids], found.is_tried[ids] = its.counts, its.gains, its.is_tried
