"""Leaf fitting: new leaves for a grown forest, by facing, from many more pixels than it was grown on.

Growing draws few pixels of each frame and overfits to them. Here every leaf is counted again (`counts`), preferably on
frames that the forest was not grown on; small branches are pruned; leaves learn evidence for facings (`facings`), and
are fitted jointly, so that each leaves to others what they know (`shares`). This takes minutes, tries no split, and
improves labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from depthforest.base import MAX_FILE_BYTES, Parameter, UsageError, is_whole
from depthforest.cluster import spread
from depthforest.forest import Forest
from depthforest.frames import NO_PART, LabeledFrame
from depthforest.training.leaves.counts import Counts, count_leaves, first_trees, prune
from depthforest.training.leaves.facings import fit_evidence
from depthforest.training.leaves.shares import Shares, share_leaves
from depthforest.trees import MAX_DEPTH, MAX_FACING_TREES, MAX_NODES, check_smoothing, facings, quantize_leaves

N_FACINGS = 8
SMOOTH_M = 0.03
ROUNDS = 2
"""Defaults, by measurement: docs/EXPERIMENTS.md."""

BALANCE = 0.9
"""Class-weight exponent: 0 = natural frequencies, 1 = fully balanced."""

TREE_PIXELS, LEAF_PIXELS = 2.0, 8.0
"""Priors in pixels: of the whole forest's distribution for every leaf, and of the leaf's for each of its facings."""

LEAST_SHARE, LEAST_OF_LARGEST = 0.05, 0.25
"""A share is dropped if it is below the first value and below the second times the row's largest: such shares make
files larger and hardly change a label. The second value protects leaves with many about equal parts, where every share
is small."""

MAX_ROUNDS = 100
"""Most rounds, far more than are useful."""

CONFIDENCE_FRAMES = 2000
DOUBTFUL_SHARE, LEAST_SEEN = 0.02, 0.005
"""Frames for measuring the confidence of people's labels; the share of people below the stored limit; and the smallest
share of the picture that such people cover, because smaller ones are hardly found."""

SHARPNESS = 10.0
"""Factor of a pixel's mean log likelihood for the person, because pixels are redundant."""

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
    rounds: int = ROUNDS,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Forest:
    """Return a forest with leaves that fit labeled frames.

    Parameters
    ----------
    forest : Forest
        Its splits stay, except for pruned branches. Joint parameters, calibration and context stage are dropped; fit
        them again. Its `config` gets an entry "fit_leaves" with the settings of the fit.
    data : sequence of LabeledFrame
        Labeled frames, preferably unseen in growing; with joints if there are facings.
    n_facings : int
        Number of facings, from 1 to `facings.MAX_FACINGS`.
    smooth_m : float
        Radius of smoothing of the model's labels, in meters.
    max_trees : int, optional
        Keep only this many trees, the first ones.
    max_leaves, max_depth : int, optional
        Limits for pruning the branches that the fewest pixels reach, and the deepest ones.
    mirror : bool, optional
        Whether the model uses the mirrored walk. Default: as before.
    rounds : int
        How often leaves are fitted jointly after counting; each round reads all frames.
    threads : int, optional
        Default: one per core.
    progress : callable, optional
        Called with 1 after every frame, in every round.
    """
    if max_trees is not None:
        if not is_whole(max_trees, 1):
            raise UsageError(Parameter("max_trees"), f" must be a whole number from 1, got {max_trees!r}")
        forest = first_trees(forest, max_trees)
    most_leaves = MAX_NODES if max_leaves is None else max_leaves
    most_levels = MAX_DEPTH if max_depth is None else max_depth
    for name, value, low, high in (
        (Parameter("n_facings"), n_facings, 1, facings.MAX_FACINGS),
        (Parameter("max_leaves"), most_leaves, forest.n_trees, MAX_NODES),
        (Parameter("max_depth"), most_levels, 1, MAX_DEPTH),
        ("rounds", rounds, 0, MAX_ROUNDS),
    ):
        if not is_whole(value, low, high):
            raise UsageError(name, f" must be a whole number from {low} to {high}, got {value!r}")
    if mirror is not None and not isinstance(mirror, bool):
        raise UsageError(f"mirror must be true or false, got {mirror!r}")
    smooth_m = check_smoothing(smooth_m)
    _check_size(forest, n_facings, most_leaves, most_levels)
    counts, people = count_leaves(forest, data, n_facings, threads=threads, progress=progress)
    pruned = prune(forest, counts, most_leaves, most_levels)
    leaves, evidence = leaves_of_counts(pruned.counts)
    if n_facings > 1:
        people = replace(people, leaves=pruned.new_leaves[people.leaves].astype(np.int32))
        evidence = fit_evidence(people, evidence, SHARPNESS)
    options = {"max_trees": max_trees, "max_leaves": max_leaves, "max_depth": max_depth, "mirror": mirror}
    fitted = {"frames": len(data), "facings": n_facings, "rounds": rounds, "smooth_m": smooth_m}
    fitted |= {name: value for name, value in options.items() if value is not None}
    forest = replace(forest, joints=None, context=None, calibration=None, scores={})  # these belong to the old leaves
    forest = replace(
        forest,
        roots=pruned.roots,
        offsets=pruned.offsets,
        thresholds=pruned.thresholds,
        children=pruned.children,
        leaves=leaves,
        evidence=_stored(evidence),
        config={**forest.config, "fit_leaves": fitted},
        mirror=forest.mirror if mirror is None else mirror,
        smooth_m=smooth_m,
    )
    for _ in range(rounds):
        shares = share_leaves(forest, data, threads=threads, progress=progress)
        forest = replace(forest, leaves=leaves_of_counts(shares)[0])
    return replace(forest, person_confidence=person_confidence(forest, data, threads=threads))


def person_confidence(forest: Forest, data: Sequence[LabeledFrame], *, threads: int | None = None) -> float:
    """Return the mean share that nearly all people in labeled frames reach, all but the lowest `DOUBTFUL_SHARE`.

    Parameters
    ----------
    forest : Forest
    data : sequence of LabeledFrame
        At most `CONFIDENCE_FRAMES` of them are used, spread evenly.
    threads : int, optional
        Default: one per core.
    """

    def one(index: int) -> list[float]:
        frame = data[index]
        found = []
        for person in np.unique(frame.people[(frame.people > 0) & (frame.depth_mm > 0)]).tolist():
            labeling = forest.label(frame, frame.people == person, threads=1)
            is_labeled = labeling.parts != NO_PART
            if is_labeled.mean() >= LEAST_SEEN:
                found.append(labeling.mean_share)
        return found

    chosen = np.unique(np.linspace(0, len(data) - 1, min(len(data), CONFIDENCE_FRAMES)).astype(np.int64))
    means = [mean for found in spread(one, chosen.tolist(), threads=threads) for mean in found]
    return round(float(np.quantile(means, DOUBTFUL_SHARE)), 4) if means else 0.0


def _check_size(forest: Forest, n_facings: int, max_leaves: int, max_depth: int) -> None:
    """Raise UsageError if the result could not be stored. Called before minutes of counting, not after."""
    if n_facings > 1 and forest.n_trees > MAX_FACING_TREES:
        raise UsageError(
            f"a forest with facings has at most {MAX_FACING_TREES} trees, got {forest.n_trees}; keep fewer (",
            Parameter("max_trees"),
            ")",
        )
    n_leaves = min(forest.n_leaves, max_leaves, forest.n_trees * 2**max_depth)
    n_each = n_facings * len(forest.part_set)
    if n_leaves * n_each > MAX_FILE_BYTES:
        raise UsageError(
            f"{n_leaves} leaves of {n_facings} facings and {len(forest.part_set)} parts are more than the "
            f"{MAX_FILE_BYTES} bytes of a model; keep at most {MAX_FILE_BYTES // n_each} leaves (",
            Parameter("max_leaves"),
            ")",
        )


def leaves_of_counts(counts: Counts | Shares) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]:
    """Return the rows (n_leaves * n_facings, n_parts) of counts, and their evidence (n_leaves, n_facings)."""
    n_leaves, n_facings, n_parts = counts.shape
    totals = counts.sum(axis=(0, 1), dtype=np.float64)
    of_part = (totals.max() / np.maximum(totals, 1)) ** BALANCE
    per_facing = np.zeros((n_leaves, n_facings))
    whole = totals * of_part / (totals * of_part).sum()
    rows = np.empty((n_leaves * n_facings, n_parts), dtype=np.uint8)
    # a block of leaves at a time: as floats, all counts would need four times the memory
    for first in range(0, n_leaves, BLOCK):
        weighted = counts[first : first + BLOCK] * of_part
        per_facing[first : first + BLOCK] = weighted.sum(axis=2)
        own = weighted.sum(axis=1) + TREE_PIXELS * whole
        own /= own.sum(axis=1, keepdims=True)
        shares = weighted + LEAF_PIXELS * own[:, None]
        shares /= shares.sum(axis=2, keepdims=True)
        shares[shares < np.minimum(LEAST_SHARE, LEAST_OF_LARGEST * shares.max(axis=2, keepdims=True))] = 0
        rows[first * n_facings : (first + BLOCK) * n_facings] = quantize_leaves(shares.reshape(-1, n_parts))
    return rows, _evidence(per_facing)


def _evidence(per_facing: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """Return the log likelihood of each facing in each leaf, from the pixels of each facing."""
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
