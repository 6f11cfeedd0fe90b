"""Quantizing: a leaf's distribution over parts in 255ths, so that it fits bytes and sums are exact."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from depthforest.base import ModelError, kernel
from depthforest.frames import NO_PART

LEAF_SUM = 255
"""Sum of a leaf's row: the largest uint8, for a leaf where one part has it all."""

MAX_LEAF_ERROR = 1 / LEAF_SUM
"""A stored probability differs from the original one by less than this."""

Leaves = npt.NDArray[np.uint8]


def quantize_leaves(probabilities: npt.ArrayLike) -> Leaves:
    """Return distributions in 255ths that sum to exactly 255, by largest remainders.

    Each entry is rounded down; then the largest remainders get one more each until the row sums to 255, the lowest part
    first among equal remainders. An entry divided by 255 differs by less than `MAX_LEAF_ERROR` from the probability,
    and a larger probability never gets a smaller entry.

    Parameters
    ----------
    probabilities : array (n_leaves, n_parts), float or whole numbers
        Not negative, with a finite sum above 0 in each row. Rows are divided by their sums, so counts work, too.

    Returns
    -------
    array (n_leaves, n_parts), uint8
    """
    weights = np.asarray(probabilities)
    if weights.ndim != 2 or not 1 <= weights.shape[1] <= NO_PART or weights.dtype.kind not in "fiu":
        raise ModelError(
            f"leaf distributions must be numbers of shape (leaves, parts), got {weights.dtype} of shape {weights.shape}"
        )
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    # a running sum has one order of additions everywhere; numpy's sum depends on the machine
    with np.errstate(over="ignore", invalid="ignore"):
        totals = np.ascontiguousarray(weights.cumsum(axis=1)[:, -1])
    bad = ~((weights >= 0).all(axis=1) & np.isfinite(totals) & (totals > 0))
    if bad.any():
        raise ModelError(
            f"leaf distribution {int(np.flatnonzero(bad)[0])} must have no negative entry and a finite sum above 0"
        )
    quantized = np.empty(weights.shape, dtype=np.uint8)
    _quantize(weights, totals, quantized)
    return quantized


@kernel
def _quantize(weights: npt.NDArray[np.float64], totals: npt.NDArray[np.float64], quantized: Leaves) -> None:
    remainders = np.empty(weights.shape[1])
    for leaf in range(len(weights)):
        n_missing = LEAF_SUM
        for p in range(len(remainders)):
            scaled = weights[leaf, p] / totals[leaf] * LEAF_SUM
            entry = int(scaled)
            quantized[leaf, p] = entry
            remainders[p] = scaled - entry
            n_missing -= entry
        for _ in range(n_missing):
            largest = np.argmax(remainders)
            quantized[leaf, largest] += 1
            remainders[largest] = -1.0
