"""Leaf fitting: a grown forest's leaves made anew from many more pixels than it was grown on, by facing.

Growing draws few pixels of each frame, and what it has seen it believes too much. Here every leaf is counted again
(`leafcounts`), best on frames that the forest was not grown on; small branches fall away; leaves learn to tell which
way people face (`facings`). It costs minutes, no split is tried, and labels come out better.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from depthforest import facings
from depthforest.errors import UsageError
from depthforest.facingfit import fit_evidence
from depthforest.forest import MAX_DEPTH, MAX_NODES, Forest, check_smoothing, quantise_leaves
from depthforest.frames import LabeledFrame
from depthforest.leafcounts import Counts, count_leaves, first_trees, prune

N_FACINGS = 8
SMOOTH_M = 0.03
"""Defaults: measured, docs/EXPERIMENTS.md."""

BALANCE = 0.9
"""A part that is k times rarer counts k to this power as much: 0 as parts come, 1 all the same."""

TREE_PIXELS, LEAF_PIXELS = 2.0, 8.0
"""Pixels of the whole forest's distribution that every leaf gets, and of the leaf's that each of its facings gets."""

LEAST_SHARE = 0.05
"""Shares below it are dropped: they make files larger and change no label."""

SHARPNESS = 10.0
"""Times that the mean log likelihood of a pixel counts for the person: pixels repeat each other."""

BLOCK = 4096
"""Leaves whose distributions are computed together."""


def fit_leaves(
    forest: Forest,
    data: Sequence[LabeledFrame],
    *,
    n_facings: int = N_FACINGS,
    smooth_m: float = SMOOTH_M,
    max_trees: int | None = None,
    max_leaves: int | None = None,
    max_depth: int | None = None,
    mirror: bool | None = None,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Forest:
    """Return a forest with leaves that fit labeled frames.

    Parameters
    ----------
    forest : Forest
        Its splits stay, but for branches that fall away. Its parameters of joints are dropped: fit them again.
    data : sequence of LabeledFrame
        Many frames, best such that the forest was not grown on; with joints where there are facings.
    n_facings : int
        From 1 to `facings.MAX_FACINGS`.
    smooth_m : float
        Radius that the model's labels are smoothed with, metres.
    max_trees : int, optional
        Only so many, the first, are kept.
    max_leaves, max_depth : int, optional
        Where the branches that the fewest pixels reach, and the deepest, are cut.
    mirror : bool, optional
        Whether the model shall walk twice; omitted: as it did.
    threads : int, optional
        Omitted: one for each core.
    progress : callable, optional
        Called with 1 after every frame.
    """
    if max_trees is not None:
        if isinstance(max_trees, bool) or not isinstance(max_trees, int) or max_trees < 1:
            raise UsageError(f"max_trees must be a whole number from 1, got {max_trees!r}")
        forest = first_trees(forest, max_trees)
    for name, value, low, high in (
        ("n_facings", n_facings, 1, facings.MAX_FACINGS),
        ("max_leaves", MAX_NODES if max_leaves is None else max_leaves, forest.n_trees, MAX_NODES),
        ("max_depth", MAX_DEPTH if max_depth is None else max_depth, 1, MAX_DEPTH),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise UsageError(f"{name} must be a whole number from {low} to {high}, got {value!r}")
    smooth_m = check_smoothing(smooth_m)
    counts, people = count_leaves(forest, data, n_facings, threads=threads, progress=progress)
    pruned = prune(forest, counts, MAX_NODES if max_leaves is None else max_leaves, max_depth or MAX_DEPTH)
    leaves, evidence = leaves_of_counts(pruned.counts)
    if n_facings > 1:
        people = replace(people, leaves=pruned.new_leaves[people.leaves].astype(np.int32))
        evidence = fit_evidence(people, evidence, SHARPNESS)
    return replace(
        forest,
        roots=pruned.roots,
        offsets=pruned.offsets,
        thresholds=pruned.thresholds,
        children=pruned.children,
        leaves=leaves,
        evidence=_stored(evidence),
        joints=None,
        scores={},
        mirror=forest.mirror if mirror is None else mirror,
        smooth_m=smooth_m,
    )


def leaves_of_counts(counts: Counts) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]:
    """Return the rows (n_leaves * n_facings, n_parts) of counts, and what they say of facings (n_leaves, n_facings)."""
    n_leaves, n_facings, n_parts = counts.shape
    totals = counts.sum(axis=(0, 1), dtype=np.int64)
    of_part = (totals.max() / np.maximum(totals, 1)) ** BALANCE
    per_facing = np.zeros((n_leaves, n_facings))
    whole = totals * of_part / (totals * of_part).sum()
    rows = np.empty((n_leaves * n_facings, n_parts), dtype=np.uint8)
    # a block of leaves at a time: in floats, all counts would need four times their memory
    for first in range(0, n_leaves, BLOCK):
        weighted = counts[first : first + BLOCK] * of_part
        per_facing[first : first + BLOCK] = weighted.sum(axis=2)
        own = weighted.sum(axis=1) + TREE_PIXELS * whole
        own /= own.sum(axis=1, keepdims=True)
        shares = weighted + LEAF_PIXELS * own[:, None]
        shares /= shares.sum(axis=2, keepdims=True)
        shares[shares < np.minimum(LEAST_SHARE, shares.max(axis=2, keepdims=True))] = 0
        rows[first * n_facings : (first + BLOCK) * n_facings] = quantise_leaves(shares.reshape(-1, n_parts))
    return rows, _evidence(per_facing)


def _evidence(per_facing: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """Return how much likelier each leaf makes each facing, as logarithms, from the pixels that came of each."""
    n_facings = per_facing.shape[1]
    all_of_them = per_facing.sum(axis=0) + 1
    shares = per_facing + n_facings * all_of_them / all_of_them.sum()
    likelier = np.log(shares / shares.sum(axis=1, keepdims=True) / (all_of_them / all_of_them.sum()))
    return np.asarray(likelier.astype(np.float32))


def _stored(evidence: npt.NDArray[np.float32]) -> npt.NDArray[np.int8]:
    """Return evidence in the units of a model."""
    limit = np.iinfo(np.int8).max
    units = np.clip(np.rint(SHARPNESS / facings.EVIDENCE_STEP * evidence), -limit, limit)
    return np.asarray(units.astype(np.int8))
