"""Context leaves: the leaves of a context stage, fitted for the combination of both stages.

Growing counts the parts of the pixels that reach a leaf. But a leaf's distribution is multiplied by the first stage's
for the same pixel (`trees.combine`), and the first stage has already shaped the pixel's path: counts would use its
information twice. Here leaves learn only what is missing, from more frames than growing keeps in memory.

The likelihood of the true parts under the product rises with each round. A leaf's share of a part is multiplied by how
often the part was true, divided by how often both stages together predicted it (iterative proportional fitting). If a
pixel walks twice, its two leaves split it by their shares of the part, as in `leaves.shares`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from depthforest.base import DatasetError, UsageError, is_whole, kernel
from depthforest.cluster import spread
from depthforest.forest import Forest
from depthforest.frames import NO_PART, LabeledFrame
from depthforest.labeling import context_leaves, thumbnail
from depthforest.training.sampling import checked_frame
from depthforest.trees import DOUBT, SHARE_WHOLE, ContextTrees, quantize_leaves

ROUNDS = 2
"""Default number of rounds, by measurement: docs/EXPERIMENTS.md."""

MAX_ROUNDS = 100
"""Most rounds, far more than are useful."""

BALANCE = 0.9
"""Class-weight exponent if the configuration of the context stage has none: that of the first stage's leaves."""

PERSON_PIXELS = 256
"""Approximate number of pixels per person that leaves learn from; neighbors are redundant."""

PRIOR_PIXELS = 10.0
"""Prior of each leaf, in correctly predicted pixels spread evenly over parts, so that few pixels change it little."""

LEAST_SHARE = 0.006
"""Smallest share in a leaf; smaller ones are dropped. The constant added by `share_rows` covers them."""


@dataclass(frozen=True, eq=False)
class Looks:
    """Pixels that a context stage learns from.

    Parameters
    ----------
    leaves : array (n, n_walks, n_trees), int32
    shares : array (n, n_parts), uint16
        The first stage's shares, as `trees.combine` multiplies them.
    labels : array (n,), uint8
    """

    leaves: npt.NDArray[np.int32]
    shares: npt.NDArray[np.uint16]
    labels: npt.NDArray[np.uint8]

    @classmethod
    def joined(cls, some: Iterable[Looks]) -> Looks:
        """Join pixels in their order."""
        columns = zip(*((one.leaves, one.shares, one.labels) for one in some), strict=True)
        return cls(*(np.concatenate(column) for column in columns))


def fit_context(
    forest: Forest,
    data: Sequence[LabeledFrame],
    *,
    rounds: int = ROUNDS,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Forest:
    """Return a forest whose context stage has leaves fitted for the combination with the first stage.

    Parameters
    ----------
    forest : Forest
        A forest with a context stage. Its splits stay. Its calibration is dropped; fit it and the joints again.
    data : sequence of LabeledFrame
        Many frames that the first stage has not seen, preferably frames that the context stage was not grown on either.
    rounds : int
        How often leaves are fitted, each time starting from the last.
    threads : int, optional
        Default: one per core. The leaves are the same for any number.
    progress : callable, optional
        Called with 1 after every frame.

    Notes
    -----
    It keeps about 80 bytes for each of `PERSON_PIXELS` pixels of a person: 2 GB for 100,000 people.
    """
    context = forest.context
    if context is None:
        raise UsageError("the model has no context stage whose leaves could be fitted; train one (train_context)")
    if not is_whole(rounds, 1, MAX_ROUNDS):
        raise UsageError(f"rounds must be a whole number from 1 to {MAX_ROUNDS}, got {rounds!r}")

    def one(index: int) -> list[Looks]:
        return list(_looks(forest, context, checked_frame(data, index, forest.part_set)))

    some: list[Looks] = []
    for found in spread(one, range(len(data)), threads=threads):
        some += found
        if progress is not None:
            progress(1)
    if not some:
        raise DatasetError(f"none of the {len(data)} frames shows a labeled person; leaves cannot be fitted")
    leaves = fitted(context, Looks.joined(some), rounds, float(context.config.get("leaf_balance", BALANCE)))
    config = {**context.config, "fit_context": {"frames": len(data), "rounds": rounds}}
    return replace(forest, context=replace(context, leaves=leaves, config=config, scores={}), calibration=None)


def fitted(context: ContextTrees, looks: Looks, rounds: int, balance: float) -> npt.NDArray[np.uint8]:
    """Return leaves of a context stage that maximize the likelihood of the pixels' true parts."""
    n_parts = len(context.part_set)
    counts = np.bincount(looks.labels, minlength=n_parts).astype(np.float64)
    weights = (counts.max() / np.maximum(counts, 1)) ** balance
    weights *= counts.sum() / (weights * counts).sum()
    rows = context.leaves.astype(np.float64) + 0.5
    rows /= rows.sum(axis=1, keepdims=True)
    mirrored = context.part_set.mirror_table
    for _ in range(rounds):
        true, said = np.zeros((2, *rows.shape))
        _add_pixels(looks.leaves, looks.shares, looks.labels, weights, mirrored, rows, true, said)
        rows *= (true + PRIOR_PIXELS / n_parts) / (said + PRIOR_PIXELS / n_parts)
        rows /= rows.sum(axis=1, keepdims=True)
    is_small = rows < np.minimum(LEAST_SHARE, rows.max(axis=1, keepdims=True))
    return quantize_leaves(np.where(is_small, 0, rows))


def _looks(forest: Forest, context: ContextTrees, frame: LabeledFrame) -> Iterator[Looks]:
    """Yield some pixels of each labeled person."""
    n_parts = len(forest.part_set)
    for person in np.unique(frame.people[(frame.parts != NO_PART) & (frame.depth_mm > 0)]).tolist():
        grid, planes, sums = thumbnail(forest, frame, frame.people == person, context.groups)
        rows, cols = (grid.crop.places[grid.chosen] + np.array(grid.crop.corner)).T
        labels = frame.parts[rows, cols]
        chosen = np.flatnonzero(labels != NO_PART)
        chosen = chosen[:: max(1, len(chosen) // PERSON_PIXELS)]
        if len(chosen):
            totals = sums[chosen].sum(axis=1, keepdims=True, dtype=np.int64)
            shares = (sums[chosen] * (SHARE_WHOLE / totals)).astype(np.uint16) + np.uint16(DOUBT)
            leaves = context_leaves(context, grid, planes, forest.mirror)
            yield Looks(leaves[chosen], shares[:, :n_parts], labels[chosen])


@kernel
def _add_pixels(
    leaves: npt.NDArray[np.int32], shares: npt.NDArray[np.uint16], labels: npt.NDArray[np.uint8],
    weights: npt.NDArray[np.float64], mirrored: npt.NDArray[np.uint8], rows: npt.NDArray[np.float64],
    true: npt.NDArray[np.float64], said: npt.NDArray[np.float64],
) -> None:  # fmt: skip
    """Add how much of each part was `true` in each leaf, and how much both stages predicted (`said`)."""
    n_parts = rows.shape[1]
    n_each = leaves.shape[1] * leaves.shape[2]
    second, both = np.empty((2, n_parts))
    doubt = DOUBT / SHARE_WHOLE
    for i in range(len(labels)):
        second[:] = 0
        for walk in range(leaves.shape[1]):
            for tree in range(leaves.shape[2]):
                leaf = leaves[i, walk, tree]
                for p in range(n_parts):
                    second[mirrored[p] if walk else p] += rows[leaf, p]
        total = 0.0
        for p in range(n_parts):
            both[p] = shares[i, p] * (second[p] / n_each + doubt)
            total += both[p]
        weight = weights[labels[i]]
        for walk in range(leaves.shape[1]):
            for tree in range(leaves.shape[2]):
                leaf = leaves[i, walk, tree]
                for p in range(n_parts):
                    part = mirrored[p] if walk else p
                    # the prediction of part p, split between this leaf and the added constant
                    own = n_each * rows[leaf, p] / (second[part] + n_each * doubt)
                    said[leaf, p] += weight * own * both[part] / total
                    if part == labels[i]:
                        true[leaf, p] += weight * own
