"""Leaf shares: joint fitting of leaves by expectation maximization, instead of each by itself.

If one tree knows a pixel's part, another tree's leaf need not count the pixel. The current distributions of leaves (at
first those counted in `fit`) split each pixel among the leaves that it reaches, in proportion to their share of its
true part; then each leaf's distribution is computed from its shares. This is a step of expectation maximization for the
mean of the leaves, so no step makes the true parts less likely.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from depthforest.base import kernel
from depthforest.cluster import spread
from depthforest.forest import Forest
from depthforest.frames import LabeledFrame
from depthforest.training.leaves.counts import faced_people
from depthforest.training.sampling import checked_frame

Shares = npt.NDArray[np.float32]


def share_leaves(
    forest: Forest,
    data: Sequence[LabeledFrame],
    *,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Shares:
    """Return each leaf's share of the pixels of each part, from people of each facing.

    Parameters
    ----------
    forest : Forest
        Its distributions split the pixels.
    data : sequence of LabeledFrame
        As in `counts.count_leaves`; each frame counts as it is and mirrored.
    threads : int, optional
        Default: one per core. The shares are the same for any number: frames are added in their order.
    progress : callable, optional
        Called with 1 after every frame.

    Returns
    -------
    array (n_leaves, n_facings, n_parts), float32
        In pixels; each pixel adds up to the number of trees times walks.
    """
    shares = np.zeros((forest.n_leaves, forest.n_facings, len(forest.part_set)), dtype=np.float32)
    mirrored = forest.part_set.mirror_table

    def one(index: int) -> list[tuple[int, npt.NDArray[np.int32], npt.NDArray[np.uint8]]]:
        return list(faced_people(forest, checked_frame(data, index, forest.part_set), forest.n_facings))

    for found in spread(one, range(len(data)), threads=threads):
        for facing, leaves, labels in found:
            _deal_out(leaves, labels, mirrored, facing, forest.leaves, shares)
        if progress is not None:
            progress(1)
    return shares


@kernel
def _deal_out(
    leaves: npt.NDArray[np.int32],
    labels: npt.NDArray[np.uint8],
    mirrored: npt.NDArray[np.uint8],
    facing: int,
    rows: npt.NDArray[np.uint8],
    shares: Shares,
) -> None:
    """Add a person's pixels, with leaves (2, n, n_trees), plain and mirrored, to the `shares` of leaves.

    A leaf without a part still gets a 255th of it, so that a share that was dropped when stored can come back.
    """
    n_facings = shares.shape[1]
    n_walks = leaves.shape[0] * leaves.shape[2]
    for i in range(leaves.shape[1]):
        total = np.int64(0)
        for walk in range(2):
            f = (n_facings - facing) % n_facings if walk else facing
            part = mirrored[labels[i]] if walk else labels[i]
            for tree in range(leaves.shape[2]):
                total += 1 + np.int64(rows[leaves[walk, i, tree] * n_facings + f, part])
        for walk in range(2):
            f = (n_facings - facing) % n_facings if walk else facing
            part = mirrored[labels[i]] if walk else labels[i]
            for tree in range(leaves.shape[2]):
                leaf = leaves[walk, i, tree]
                said = 1 + np.int64(rows[leaf * n_facings + f, part])
                shares[leaf, f, part] += np.float32(n_walks * said / total)
