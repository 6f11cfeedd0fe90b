"""Out-of-bag accuracy: of a tree as it grows and of all finished trees together."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from depthforest.training.growing import GrowingTree
from depthforest.training.probing import OUT
from depthforest.training.shards import Shard

Counts = npt.NDArray[np.int64]
Leaves = npt.NDArray[np.uint8]


class Judge:
    """Frames that a tree has not seen: their pixels follow its splits, and answer with their node's most common part.

    Parameters
    ----------
    frames : array (n,), int64
        Numbers of those frames.
    shards : list of Shard
        Shards of those frames, in order.
    """

    def __init__(self, frames: Counts, shards: list[Shard]) -> None:
        self._frames, self._shards = frames, shards
        self._answers = [np.zeros(len(shard), dtype=np.uint8) for shard in shards]

    def place(self, grown: GrowingTree) -> None:
        """Place the pixels at their nodes in a growing tree."""
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
        return mean_accuracy(np.bincount(labels[is_hit], minlength=n_parts), np.bincount(labels, minlength=n_parts))

    def vote(self, grown: GrowingTree, leaves: Leaves, votes: Votes) -> float | None:
        """Answer with the leaves of the finished tree.

        Parameters
        ----------
        grown : GrowingTree
        leaves : array (n_leaves, n_parts), uint8
            Its distributions.
        votes : Votes
            The answers are added to these.

        Returns
        -------
        float or None
            The mean per-class accuracy of the tree.
        """
        hits, totals = np.zeros(leaves.shape[1], np.int64), np.zeros(leaves.shape[1], np.int64)
        first = 0
        for shard in self._shards:
            answers = leaves[grown.place(shard)]
            votes.add(self._frames[first : first + len(shard.per_frame)], shard, answers)
            first += len(shard.per_frame)
            totals += np.bincount(shard.labels, minlength=len(totals))
            hits += np.bincount(shard.labels[answers.argmax(axis=1) == shard.labels], minlength=len(hits))
        return mean_accuracy(hits, totals)


class Votes:
    """Answers of the trees on frames that they have not seen, added up frame by frame.

    Parameters
    ----------
    n_parts, n_trees : int
    """

    def __init__(self, n_parts: int, n_trees: int) -> None:
        self._n_parts = n_parts
        # a leaf's entries are up to 255
        self._dtype = np.uint16 if n_trees <= 257 else np.uint32
        self._frames: dict[int, tuple[Leaves, npt.NDArray[np.unsignedinteger]]] = {}

    def add(self, frames: Counts, shard: Shard, answers: Leaves) -> None:
        """Add a tree's distributions (n_pixels, n_parts) for the pixels of some frames."""
        ends = np.cumsum(shard.per_frame)
        for frame, begin, end in zip(frames.tolist(), ends - shard.per_frame, ends, strict=True):
            if frame not in self._frames:
                self._frames[frame] = shard.labels[begin:end].copy(), answers[begin:end].astype(self._dtype)
            else:
                self._frames[frame][1][...] += answers[begin:end]

    def accuracy(self) -> float | None:
        """Return the mean per-class accuracy of the added answers."""
        hits, totals = np.zeros(self._n_parts, np.int64), np.zeros(self._n_parts, np.int64)
        for labels, sums in self._frames.values():
            is_hit = sums.argmax(axis=1) == labels
            totals += np.bincount(labels, minlength=self._n_parts)
            hits += np.bincount(labels[is_hit], minlength=self._n_parts)
        return mean_accuracy(hits, totals)


def mean_accuracy(hits: Counts, totals: Counts) -> float | None:
    """Return the mean of hits / totals over the classes that occur; None if none does."""
    is_there = totals > 0
    if not is_there.any():
        return None
    return math.fsum((hits[is_there] / totals[is_there]).tolist()) / int(is_there.sum())
