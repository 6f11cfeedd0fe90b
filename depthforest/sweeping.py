"""Sweeping: the best splits of nodes of few pixels, from the pixels' bins and labels themselves.

Deep levels have many nodes with few pixels, where tables of all classes, bins and candidates would be mostly empty. The
scores are those of `splitting`, to the bit.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from depthforest.kernels import kernel
from depthforest.splitting import NO_SPLIT, Counts, fill_sides, look_up, score_table

_TOGETHER = 16
"""Candidates whose tables are filled together for a node of few pixels: their tables fit the second cache."""

SWEEP_RATIO = 16
"""A node with fewer pixels than so many times its parts is scored pixel by pixel: measured where the two meet."""


@kernel
def _sort_by_bin(
    bins: npt.NDArray[np.uint8],
    start: int,
    column: int,
    classes: npt.NDArray[np.uint8],
    ends: npt.NDArray[np.int32],
    out: npt.NDArray[np.uint16],
) -> None:
    """Sort a node's pixels by their bin in a column: `out` holds bin * 256 + class. `ends` (n_bins,) is scratch."""
    ends[:] = 0
    for p in range(len(classes)):
        ends[bins[start + p, column]] += 1
    place = np.int32(0)
    for b in range(len(ends)):
        n = ends[b]
        ends[b] = place
        place += n
    for p in range(len(classes)):
        b = bins[start + p, column]
        out[ends[b]] = np.uint16(np.uint16(b) << np.uint16(8)) | np.uint16(classes[p])
        ends[b] += 1


@kernel
def _sweep(
    table: Counts,
    is_gini: bool,
    order: npt.NDArray[np.uint16],
    weights: Counts,
    places: Counts,
    left: Counts,
    right: Counts,
    at: Counts,
    best: float,
) -> tuple[float, int]:
    """As `score_table`, for one candidate of a node of few pixels, sorted: they move to the left side one by one.

    Whether a split lies between two bins is asked only of the few that beat the best; nothing else branches.
    """
    left_sum, right_sum, n_left, n_right = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for c in range(len(at)):
        at[c] = places[c]
        left_sum += left[places[c]]
        right_sum += right[places[c]]
        n_right += (places[c + 1] - places[c] - 1) * weights[c]
    found = NO_SPLIT
    last = len(order) - 1
    for p in range(last):
        c = order[p] & 255
        place = at[c]
        at[c] = place + 1
        n_left += weights[c]
        n_right -= weights[c]
        left_sum += left[place + 1] - left[place]
        if is_gini:
            right_sum += right[place + 1] - right[place]
            score = left_sum / n_left + right_sum / n_right
        else:
            score = np.float64(left_sum - look_up(table, n_left) - look_up(table, n_right))
        if score > best and order[p] >> 8 != order[p + 1] >> 8:
            best, found = score, int(order[p] >> 8)
    return best, found


@kernel
def score_pixels(
    table: Counts,
    is_gini: bool,
    bins: npt.NDArray[np.uint8],
    labels: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    weights: Counts,
    n_bins: int,
    first: int,
    scores: npt.NDArray[np.float64],
    splits: npt.NDArray[np.int32],
) -> None:
    """Find the best splits of nodes from the bins (n_pixels, n_candidates) and labels of their pixels.

    Rows `starts[i]` to `starts[i + 1]` are node i's; `scores` and `splits` as in `score_histograms`.
    """
    n_candidates, n_classes = bins.shape[1], len(weights)
    largest = 0
    for i in range(len(starts) - 1):
        largest = max(largest, starts[i + 1] - starts[i])
    classes = np.empty(largest, dtype=np.uint8)
    number = np.empty(n_classes, dtype=np.int64)
    its_totals, its_weights = np.empty(n_classes, dtype=np.int64), np.empty(n_classes, dtype=np.int64)
    places, at = np.empty(n_classes + 1, dtype=np.int64), np.empty(n_classes, dtype=np.int64)
    left, right = np.empty(largest + n_classes, dtype=np.int64), np.empty(largest + n_classes, dtype=np.int64)
    order, ends = np.empty(largest, dtype=np.uint16), np.empty(n_bins, dtype=np.int32)
    sums = np.empty((3, n_bins), dtype=np.int64)
    counts = np.empty((_TOGETHER, n_classes, n_bins), dtype=np.int32)
    for i in range(len(starts) - 1):
        begin, n = starts[i], starts[i + 1] - starts[i]
        # only the classes that the node has: deep nodes have few
        number[:] = -1
        n_own = 0
        for p in range(n):
            label = labels[begin + p]
            if number[label] < 0:
                number[label] = n_own
                its_totals[n_own] = 0
                its_weights[n_own] = weights[label]
                n_own += 1
            classes[p] = number[label]
            its_totals[classes[p]] += 1
        # sliced once a node: a slice costs as much as scoring a few pixels
        own, own_classes, own_order = its_weights[:n_own], classes[:n], order[:n]
        own_places, own_at = places[: n_own + 1], at[:n_own]
        fill_sides(table, is_gini, its_totals[:n_own], own, own_places, left, right)
        is_dense = n > SWEEP_RATIO * n_own
        for start in range(0, n_candidates, _TOGETHER):
            width = min(_TOGETHER, n_candidates - start)
            if is_dense:
                counts[:width, :n_own] = 0
                for p in range(n):
                    k = classes[p]
                    for c in range(width):
                        counts[c, k, bins[begin + p, start + c]] += 1
            for c in range(width):
                if is_dense:
                    score, found = score_table(
                        table, is_gini, counts[c, :n_own], own, own_places, left, right, sums, scores[i]
                    )
                else:
                    _sort_by_bin(bins, begin, start + c, own_classes, ends, own_order)
                    score, found = _sweep(table, is_gini, own_order, own, own_places, left, right, own_at, scores[i])
                if found != NO_SPLIT:
                    scores[i] = score
                    splits[i, 0] = first + start + c
                    splits[i, 1] = found
