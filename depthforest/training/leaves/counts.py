"""Leaf counts: the number of people's pixels of each part in every leaf of a forest, by facing.

`fit` makes leaves from them. Every frame counts twice, as it is and mirrored, so that left and right are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from depthforest.base import DatasetError, Parameter, UsageError, kernel
from depthforest.cluster import spread
from depthforest.forest import Forest
from depthforest.frames import NO_PART, LabeledFrame
from depthforest.labeling import leaves_of_person
from depthforest.training.leaves.facings import FacedPeople
from depthforest.training.sampling import checked_frame
from depthforest.trees import facings, levels

PERSON_PIXELS = 2000
"""Fewest pixels of a person to count, on a grid; neighbors are redundant."""

FACING_STEP = 10
"""Every n-th of them is kept to fit the evidence for facings."""

MAX_COUNT_BYTES = 2**33
"""Most bytes of counts; 8 GiB are enough for a million leaves with 64 facings and 31 parts."""

Counts = npt.NDArray[np.uint32]


def count_leaves(
    forest: Forest,
    data: Sequence[LabeledFrame],
    n_facings: int,
    *,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> tuple[Counts, FacedPeople]:
    """Return how many pixels of each part reach each leaf from people of each facing, and some pixels of these people.

    Parameters
    ----------
    forest : Forest
        Only its nodes are used.
    data : sequence of LabeledFrame
        Frames with the forest's part set. With more than one facing, people without joints are left out.
    n_facings : int
    threads : int, optional
        Default: one per core. The counts are the same for any number.
    progress : callable, optional
        Called with 1 after every frame.

    Returns
    -------
    array (n_leaves, n_facings, n_parts), uint32
    FacedPeople
    """
    shape = (forest.n_leaves, n_facings, len(forest.part_set))
    if 4 * np.prod(shape, dtype=np.int64) > MAX_COUNT_BYTES:
        fewer = ("facings (", Parameter("n_facings"), ") or ") if n_facings > 1 else ()
        raise UsageError(
            f"counts of shape {shape} take more than {MAX_COUNT_BYTES} bytes; take fewer ",
            *fewer,
            "trees (",
            Parameter("max_trees"),
            ")",
        )
    if len(data) and data[0].part_set != forest.part_set:
        raise DatasetError("the frames have other parts than the model; its leaves can be counted for its own only")
    counts = np.zeros(shape, dtype=np.uint32)
    mirror = forest.part_set.mirror_table

    def one(index: int) -> list[tuple[int, npt.NDArray[np.int32], npt.NDArray[np.uint8]]]:
        return list(faced_people(forest, checked_frame(data, index, forest.part_set), n_facings))

    faced: list[int] = []
    kept: list[npt.NDArray[np.int32]] = []
    for found in spread(one, range(len(data)), threads=threads):
        for facing, leaves, labels in found:
            faced.append(facing)
            kept.append(leaves[:, ::FACING_STEP].copy())
            _count(leaves[0], labels, facing, counts)
            _count(leaves[1], mirror[labels], -facing % n_facings, counts)
        if progress is not None:
            progress(1)
    if not faced:
        lacking = " with joints (shoulders or hips)" if n_facings > 1 else ""
        raise DatasetError(f"none of the {len(data)} frames shows a labeled person{lacking}; there is nothing to count")
    return counts, FacedPeople.of(faced, kept)


def faced_people(
    forest: Forest, frame: LabeledFrame, n_facings: int
) -> Iterator[tuple[int, npt.NDArray[np.int32], npt.NDArray[np.uint8]]]:
    """Yield the facing of each labeled person, the leaves (2, n, n_trees) of some pixels, and their labels."""
    for person in np.unique(frame.people[(frame.parts != NO_PART) & (frame.depth_mm > 0)]).tolist():
        angle = facings.angle_of(frame.joints.get(person, {})) if n_facings > 1 else 0.0
        if angle is None:
            continue
        # as in labeling, probes see the whole person, including pixels without a label
        leaves, rows, cols = leaves_of_person(forest, frame, frame.people == person, PERSON_PIXELS)
        labels = frame.parts[rows, cols]
        is_labeled = labels != NO_PART
        if is_labeled.any():
            yield facings.facing_of(angle, n_facings), leaves[:, is_labeled], labels[is_labeled]


@kernel
def _count(leaves: npt.NDArray[np.int32], labels: npt.NDArray[np.uint8], facing: int, counts: Counts) -> None:
    for i in range(len(labels)):
        for tree in range(leaves.shape[1]):
            counts[leaves[i, tree], facing, labels[i]] += np.uint32(1)


@dataclass(frozen=True)
class Pruned:
    """A forest's nodes without the smallest branches.

    Parameters
    ----------
    roots, offsets, thresholds, children
        As in `Forest`.
    counts : array (n_leaves, n_facings, n_parts), uint32
        Counts of the new leaves.
    new_leaves : array (n_old_leaves,), int64
        The new leaf of each old leaf.
    """

    roots: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.float32]
    thresholds: npt.NDArray[np.int16]
    children: npt.NDArray[np.int32]
    counts: Counts
    new_leaves: npt.NDArray[np.int64]


def first_trees(forest: Forest, n: int) -> Forest:
    """Return a forest with the first `n` trees of another."""
    roots = forest.roots[:n]
    nodes = np.sort(np.concatenate([np.zeros(0, dtype=np.int32), *levels(roots, forest.children)]))
    links = np.concatenate((roots, forest.children[nodes].ravel()))
    leaves = np.sort(~links[links < 0])

    def linked(old: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        new = np.where(old >= 0, np.searchsorted(nodes, old), ~np.searchsorted(leaves, ~old))
        return new.astype(np.int32)

    rows = leaves[:, None] * forest.n_facings + np.arange(forest.n_facings)
    return replace(
        forest,
        roots=linked(roots),
        offsets=forest.offsets[nodes],
        thresholds=forest.thresholds[nodes],
        children=linked(forest.children[nodes]),
        leaves=forest.leaves[rows.ravel()],
        evidence=forest.facing_evidence[leaves],
        context=None,
        calibration=None,
    )


def prune(forest: Forest, counts: Counts, max_leaves: int, max_depth: int) -> Pruned:
    """Return a forest with limited leaves and levels: the nodes that the fewest pixels reach become leaves.

    A node has at least as many pixels as its children, so the kept nodes form complete trees.
    """
    per_leaf = counts.sum(axis=(1, 2), dtype=np.int64)
    per_node = np.zeros(forest.n_nodes, dtype=np.int64)
    found = levels(forest.roots, forest.children)
    for level in reversed(found):
        for links in forest.children[level].T:
            is_node = links >= 0
            per_node[level[is_node]] += per_node[links[is_node]]
            per_node[level[~is_node]] += per_leaf[~links[~is_node]]
    is_kept = np.zeros(forest.n_nodes, dtype=np.bool_)
    for level in found[:max_depth]:
        is_kept[level] = True
    n_most = max_leaves - forest.n_trees
    if np.count_nonzero(is_kept) > n_most:
        # drops all nodes with as many pixels as the first one beyond the limit
        least = np.sort(per_node[is_kept])[::-1][n_most] if n_most >= 0 else np.iinfo(np.int64).max
        is_kept &= per_node > least
    return _without(forest, counts, found, is_kept)


def _without(
    forest: Forest, counts: Counts, found: Sequence[npt.NDArray[np.int32]], is_kept: npt.NDArray[np.bool_]
) -> Pruned:
    """Return the kept nodes, numbered in their old order, and the leaves that replace the others."""
    numbers = np.cumsum(is_kept) - 1
    # for each dropped node the topmost dropped one above it, or itself; -1 for kept nodes
    falls_to = np.full(forest.n_nodes, -1, dtype=np.int64)
    leaf_falls_to = np.full(forest.n_leaves, -1, dtype=np.int64)
    for level in found:
        lost = level[~is_kept[level]]
        falls_to[lost] = np.where(falls_to[lost] < 0, lost, falls_to[lost])
        for links in forest.children[lost].T:
            is_node = links >= 0
            falls_to[links[is_node]] = falls_to[lost[is_node]]
            leaf_falls_to[~links[~is_node]] = falls_to[lost[~is_node]]
    tops = np.unique(np.concatenate((falls_to[falls_to >= 0], leaf_falls_to[leaf_falls_to >= 0])))
    stays = np.flatnonzero(leaf_falls_to < 0)
    new_leaf = np.empty(forest.n_leaves, dtype=np.int64)
    new_leaf[stays] = np.arange(len(stays))
    fallen = np.flatnonzero(leaf_falls_to >= 0)
    new_leaf[fallen] = len(stays) + np.searchsorted(tops, leaf_falls_to[fallen])
    merged = np.zeros((len(stays) + len(tops), *counts.shape[1:]), dtype=np.uint32)
    _merge(counts, new_leaf, merged)

    def linked(links: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        is_node, new = links >= 0, np.empty(links.shape, dtype=np.int32)
        nodes = links[is_node]
        new[is_node] = np.where(is_kept[nodes], numbers[nodes], ~(len(stays) + np.searchsorted(tops, nodes)))
        new[~is_node] = ~new_leaf[~links[~is_node]]
        return new

    return Pruned(
        linked(forest.roots),
        forest.offsets[is_kept],
        forest.thresholds[is_kept],
        linked(forest.children[is_kept]),
        merged,
        new_leaf,
    )


@kernel
def _merge(counts: Counts, new_leaf: npt.NDArray[np.int64], merged: Counts) -> None:
    for leaf in range(len(counts)):
        for facing in range(counts.shape[1]):
            for part in range(counts.shape[2]):
                merged[new_leaf[leaf], facing, part] += counts[leaf, facing, part]
