"""ClusterGrower: one tree, level by level, on the workers of a Dask cluster. The client sees small messages only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import NO_SPLIT
from depthforest.cluster import FAN_IN, Crew
from depthforest.training.distributed import handing, tasks
from depthforest.training.distributed.handing import pack
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

SCRATCH_SHARE = 0.2
"""Share of a thread's memory for the counts of a bundle."""


@dataclass(frozen=True)
class ShardGroup:
    """Shards that hold all pixels of some open nodes.

    Parameters
    ----------
    shards : sequence of futures of Shard
    places : sequence of futures of arrays, or None
        The open nodes of each shard's pixels; None if they are those in the shard.
    nodes : array (n,), int64
        Open nodes of the tree, rising.
    """

    shards: Sequence[Any]
    places: Sequence[Any]
    nodes: Counts

    @property
    def pairs(self) -> list[tuple[Any, Any]]:
        """The shards with their places."""
        return list(zip(self.shards, self.places, strict=True))

    def at(self, nodes: Counts) -> ShardGroup:
        """Return a group of the same shards and other nodes."""
        return ShardGroup(self.shards, self.places, nodes)


@dataclass(frozen=True)
class Scored:
    """Nodes of a group that are split, and the futures of their best candidates.

    Parameters
    ----------
    group : ShardGroup
        Group for the next level.
    counts : array (n, n_parts), int64
    futures : list of futures
        Each gives (scores, chosen) of a range of candidates.
    places : list of slice
        The nodes that each future is about.
    """

    group: ShardGroup
    counts: Counts
    futures: list[Any]
    places: list[slice]


class ClusterGrower:
    """Everything that growing a tree on a cluster needs besides the tree.

    Parameters
    ----------
    crew : Crew
    origin : Origin
    frames : array (n,), int64
        Frames of the tree.
    stream : int
        Number of the tree.
    n_shards : int, optional
        Default: one for each thread of the cluster.
    memory_bytes : int
        Memory of a thread if workers have no limit.
    first : Forest, optional
        The first stage, whose answers the probes of a context stage read.
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
        first: Any = None,
    ) -> None:
        self._crew, self._origin, self._config = crew, origin, origin.config
        self._memory = crew.memory_bytes() or memory_bytes
        n_threads = crew.n_threads()
        n = min(n_threads if n_shards is None else n_shards, len(frames))
        keep = int(handing.KEEP_SHARE * self._memory * min(1.0, n_threads / n))
        pieces = np.array_split(frames, n)
        stage = None if first is None else tasks.send(crew, first)
        self._shards = [crew.submit(tasks.read_shard, origin, piece, stream, keep, stage) for piece in pieces]
        facts = [crew.submit(tasks.shard_facts, shard) for shard in self._shards]
        self._n_shards = n
        self.facts: tasks.ShardFacts = crew.result(crew.reduce(tasks.add_facts, facts))
        crop_bytes = self.facts.n_bytes / max(self.facts.n_frames, 1)
        n_pixels = int(self.facts.counts.sum())
        self._ware = handing.Pixelware(n_pixels, self.facts.n_frames, crop_bytes, n_threads, self._memory)
        self._bundles: list[tuple[Any, Counts]] = []  # the future of a bundle, and its open nodes in the tree
        self._groups: list[ShardGroup] | None = None
        self.weights: Counts = np.ones(0, dtype=np.int64)

    def place(self, tree: GrowingTree) -> None:
        """Do nothing: pixels are placed by the tasks that need them."""

    def grow_level(self, tree: GrowingTree, follow: Follow | None = None) -> Level:
        """Split the open nodes of a tree, or make leaves of them, as `Grower.grow_level`."""
        n, n_parts = tree.n_open, len(self.weights)
        if self._groups is None:
            self._groups = [ShardGroup(self._shards, [None] * self._n_shards, np.arange(n))]
            self._shards = []  # the groups keep those that they use
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
        bundles = [self._grown(bundle, ids) for bundle, ids in self._bundles]
        scored: list[Scored] = []
        for group, counts in self._counted(tree):
            found.counts[group.nodes] = counts
            is_tried = tried_nodes(counts, tree.level, self._config)
            found.is_tried[group.nodes] = is_tried
            for part, its_counts in self._divided(group.at(group.nodes[is_tried]), counts[is_tried], tree):
                totals = its_counts.sum(axis=1)
                is_small = totals <= self._ware.limit
                packs = pack(part.nodes[is_small], totals[is_small], self._ware.bundle_pixels)
                bundles += [self._handed(part, nodes, tree) for nodes in packs]
                if not is_small.all():
                    scored.append(self._scoring(part.at(part.nodes[~is_small]), its_counts[~is_small], tree))
        for its, (_, _, ids) in zip(self._crew.gather([told for _, told, _ in bundles]), bundles, strict=True):
            _copy(its, found, ids)
            is_split[ids] = its.splits.children[:, 0] >= 0
        answers = iter(self._crew.gather([future for one in scored for future in one.futures]))
        for one in scored:
            nodes = one.group.nodes
            scores, chosen = _best([next(answers) for _ in one.futures], one.places, len(nodes))
            splits, gains = splits_of(tree.open_keys[nodes], one.counts, scores, chosen, self.weights, self._config)
            _copy(FoundSplits(splits, one.counts, gains, np.ones(len(nodes), np.bool_)), found, nodes)
            is_split[nodes] = splits.children[:, 0] >= 0
        found.splits.children[:] = numbered_children(is_split)

        def children(nodes: Counts) -> Counts:
            return found.splits.children[nodes[is_split[nodes]]].ravel().astype(np.int64)

        self._bundles = [(state, children(ids)) for state, _, ids in bundles if is_split[ids].any()]
        its_groups = [one.group for one in scored if is_split[one.group.nodes].any()]
        self._groups = [group.at(children(group.nodes)) for group in its_groups]
        if follow is not None:
            follow(found.counts, lambda shard: shard.apply(found.splits))
        tree.close_level(found.splits, found.counts)
        return found.level(self._config.candidates)

    def _grown(self, bundle: Any, ids: Counts) -> tuple[Any, Any, Counts]:
        """Grow a bundle by a level; return the futures of its next state and of its found splits."""
        scratch = int(SCRATCH_SHARE * self._memory)
        state = self._crew.submit(tasks.grow_bundle, bundle, self._config, self.weights, scratch)
        return state, self._crew.submit(tasks.found_of, state), ids

    def _counted(self, tree: GrowingTree) -> list[tuple[ShardGroup, Counts]]:
        """Place all pixels of the groups at the open nodes; return the groups, and the class counts of their nodes."""
        crew, groups = self._crew, self._groups
        if not groups:
            return []
        outline = crew.submit(tasks.held, replace(tree, leaf_counts=np.zeros((0, len(self.weights)), np.int64)))
        placed, sums = [], []
        for group in groups:
            places = [crew.submit(tasks.place_shard, shard, outline) for shard in group.shards]
            placed.append(ShardGroup(group.shards, places, group.nodes))
            what = group.nodes, tree.n_open
            counted = [crew.submit(tasks.count_classes, *pair, *what) for pair in placed[-1].pairs]
            sums.append(crew.reduce(tasks.add_counts, counted))
        return list(zip(placed, crew.gather(sums), strict=True))

    def _divided(self, group: ShardGroup, counts: Counts, tree: GrowingTree) -> list[tuple[ShardGroup, Counts]]:
        """Divide the nodes of a group with many shards among several groups with fewer, which get the nodes' pixels.

        Each shard answers each range of candidates and fills each bundle of its group. Without dividing, the number of
        tasks would be the square of the number of threads.
        """
        n = self._ware.n_groups(len(group.shards), self._n_shards, len(group.nodes))
        crew, totals, found = self._crew, counts.sum(axis=1), []
        whole = int(totals.sum())
        packs = pack(group.nodes, totals, -(-whole // n)) if n > 1 else []
        if len(packs) < 2:
            return [(group, counts)]
        ends = np.cumsum([len(nodes) for nodes in packs])
        for nodes, its_own in zip(packs, np.split(counts, ends[:-1]), strict=True):
            n_shards = max(1, round(len(group.shards) * int(its_own.sum()) / whole))
            picked = [crew.submit(tasks.pick_pixels, *pair, nodes, tree.n_open) for pair in group.pairs]
            what = self._config, self._origin.part_set, nodes
            shards = [
                crew.submit(tasks.join_shard, *what, *picked[piece[0] : piece[-1] + 1])
                for piece in np.array_split(np.arange(len(picked)), n_shards)
            ]
            found += self._divided(ShardGroup(shards, [None] * n_shards, nodes), its_own, tree)
        return found

    def _handed(self, group: ShardGroup, nodes: Counts, tree: GrowingTree) -> tuple[Any, Any, Counts]:
        """Hand nodes over to one worker, which grows them by a level right away."""
        crew, config = self._crew, self._config
        picked = [crew.submit(tasks.pick_pixels, *pair, nodes, tree.n_open) for pair in group.pairs]
        keys = tree.open_keys[nodes]
        bundle = crew.submit(tasks.join_pixels, config, self._origin.part_set, keys, tree.level, *picked)
        return self._grown(bundle, nodes)

    def _scoring(self, group: ShardGroup, counts: Counts, tree: GrowingTree) -> Scored:
        """Let the shards of a group count the candidates of large nodes, and workers score them."""
        crew, config, nodes = self._crew, self._config, group.nodes
        n_parts, n_bins = len(self.weights), config.thresholds + 1
        n_threads = max(1, self._ware.n_threads * len(group.shards) // self._n_shards)
        scored = Scored(group, counts, [], [])
        what = counts.sum(axis=1), config.candidates, n_parts * n_bins, n_threads, self._ware.table_bytes
        for some, first, last in handing.questions(*what):
            scoring = tasks.Scoring(len(nodes[some]), n_parts, self.weights, config)
            question = tasks.Question(nodes[some], tree.n_open, tree.open_keys[nodes[some]], first, last)
            answers = [crew.submit(tasks.answer, *pair, question, config) for pair in group.pairs]
            while len(answers) > FAN_IN:
                parts = [answers[i : i + FAN_IN] for i in range(0, len(answers), FAN_IN)]
                answers = [crew.submit(tasks.add_answers, scoring, *part) for part in parts]
            scored.futures.append(crew.submit(tasks.score_answers, scoring, first, counts[some], *answers))
            scored.places.append(some)
        return scored


def _best(
    answers: list[tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]], places: list[slice], n: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]:
    """Return the best scores of n nodes over ranges of candidates, and their candidates and thresholds."""
    scores, chosen = np.full(n, -np.inf), np.full((n, 2), NO_SPLIT, dtype=np.int32)
    for (its_scores, its_chosen), some in zip(answers, places, strict=True):
        is_better = its_scores > scores[some]  # ranges are in order of candidates, so the lowest wins a tie
        scores[some] = np.where(is_better, its_scores, scores[some])
        chosen[some] = np.where(is_better[:, None], its_chosen, chosen[some])
    return scores, chosen


def _copy(its: FoundSplits, found: FoundSplits, ids: Counts) -> None:
    """Write what some nodes became to their places in the level."""
    found.splits.probes[ids], found.splits.thresholds[ids] = its.splits.probes, its.splits.thresholds
    found.splits.channels[ids] = its.splits.channels
    found.counts[ids], found.gains[ids], found.is_tried[ids] = its.counts, its.gains, its.is_tried
