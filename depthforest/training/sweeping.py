"""Sweeping: the best splits of nodes with few pixels, directly from the pixels' bins and labels.

Deep levels have many nodes with few pixels, where tables of all classes, bins and candidates would be mostly empty.
There, `LANES` candidates are scored together: a sorting network sorts each one's pixels by bin without a branch, then
all lanes move their pixels to the left side one by one. The scores are those of `base.splitting`, to the bit: all sums
are whole numbers below 2^53, which float64 holds exactly.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from depthforest.base import NO_SPLIT, Counts, Floats, fill_sides, inlined, kernel, look_up, score_table

LANES = 32
"""Candidates scored together: two registers of 16-bit keys."""

NETWORK_PIXELS = 256
"""Largest node that is sorted; above this, tables are faster. The break-even was measured."""

_TOGETHER = 8
"""Candidates of a larger node whose tables are filled together: with a dozen classes they fit the L1 cache."""

_LANES = np.uint64(LANES)
_0, _1, _8, _255 = np.uint64(0), np.uint64(1), np.uint16(8), np.uint16(255)

Keys = npt.NDArray[np.uint16]


@kernel
def _fill_network(n: int, out: Keys) -> int:
    """Fill the comparisons (n, 2) of Batcher's odd-even merge sort of n keys, and return how many there are.

    Comparisons with keys past the end are left out, as if those were the largest. `out` may be empty.
    """
    n_pairs = 0
    size = 1
    while size < n:
        apart = size
        while apart >= 1:
            for begin in range(apart % size, n - apart, 2 * apart):
                for i in range(begin, min(begin + apart, n - apart)):
                    if i // (2 * size) == (i + apart) // (2 * size):
                        if n_pairs < len(out):
                            out[n_pairs, 0] = i
                            out[n_pairs, 1] = i + apart
                        n_pairs += 1
            apart //= 2
        size *= 2
    return n_pairs


@lru_cache(maxsize=1)
def networks() -> tuple[Keys, npt.NDArray[np.int64]]:
    """Return the sorting networks of all sizes up to `NETWORK_PIXELS`: pairs (m, 2), and where each network begins."""
    nothing = np.empty((0, 2), dtype=np.uint16)
    ends = np.cumsum([_fill_network(n, nothing) for n in range(NETWORK_PIXELS + 1)])
    starts = np.concatenate(([0], ends)).astype(np.int64)
    pairs = np.empty((int(starts[-1]), 2), dtype=np.uint16)
    for n in range(NETWORK_PIXELS + 1):
        _fill_network(n, pairs[starts[n] : starts[n + 1]])
    return pairs, starts


@kernel
def _fill_keys(
    bins: npt.NDArray[np.uint8], start: int, column: int, width: int, classes: Keys, n: int, keys: Keys
) -> None:
    """Fill bin * 256 + class of the node's pixels, for `LANES` candidates; lanes without a candidate hold 0."""
    for p in range(n):
        place, row = np.uint64(p) * _LANES, np.uint64(start + p)
        if width < LANES:
            for lane in range(_LANES):
                keys[place + np.uint64(lane)] = 0
        for lane in range(np.uint64(width)):
            b = bins[row, np.uint64(column) + np.uint64(lane)]
            keys[place + np.uint64(lane)] = (np.uint16(b) << _8) | classes[p]


@kernel
def _sort(pairs: Keys, first: int, last: int, keys: Keys) -> None:
    """Sort the keys of each lane by the comparisons of a network."""
    for i in range(first, last):
        one, other = np.uint64(pairs[i, 0]) * _LANES, np.uint64(pairs[i, 1]) * _LANES
        for lane in range(_LANES):
            a, b = keys[one + np.uint64(lane)], keys[other + np.uint64(lane)]
            keys[one + np.uint64(lane)] = min(a, b)
            keys[other + np.uint64(lane)] = max(a, b)


@kernel
def _sweep(
    table: Counts,
    is_gini: bool,
    is_even: bool,
    keys: Keys,
    n: int,
    total: int,
    weights: Counts,
    left: Floats,
    right: Floats,
    at: npt.NDArray[np.uint32],
    sums: Floats,
    n_left: Counts,
    scores: Floats,
    best: Floats,
    found: npt.NDArray[np.int32],
) -> None:
    """Move the sorted pixels of each lane to the left side, one by one, and keep the best split.

    Parameters
    ----------
    is_even : bool
        Whether all classes have the same weight, so that all lanes have the same weight on the left.
    total : int
        Weight of the node.
    left, right : array
        What the next pixel of a class adds to the sums of the sides, in the order of `fill_sides`.
    at : array (n_classes * LANES,)
        The next entry of each class in each lane.
    sums : array (2, LANES)
        Sums of the left and right side; for entropy, the first holds both.
    n_left : array (LANES,)
        Weight on the left, if weights are not even.
    scores : array (LANES,)
        Scratch.
    best, found : array (LANES,)
        Best score, and the number of the last pixel on its left.
    """
    is_simple = is_even and not is_gini
    for p in range(n - 1):
        place = np.uint64(p) * _LANES
        both = 0.0
        if is_simple:
            on_left = (p + 1) * weights[0]
            both = np.float64(look_up(table, on_left) + look_up(table, total - on_left))
        for lane in range(_LANES):
            i = np.uint64(lane)
            key = keys[place + i]
            c = np.uint64(key & _255)
            entry = at[c * _LANES + i]
            at[c * _LANES + i] = entry + np.uint32(1)
            score = sums[_0, i] + left[entry]
            sums[_0, i] = score
            if is_simple:
                score -= both
            else:
                on_left = n_left[i] + weights[c]
                n_left[i] = on_left
                if is_gini:
                    on_right = sums[_1, i] + right[entry]
                    sums[_1, i] = on_right
                    score = score / on_left + on_right / (total - on_left)
                else:
                    score -= np.float64(look_up(table, on_left) + look_up(table, total - on_left))
            scores[i] = score
        # a separate loop, because it vectorizes: a branch on whether two bins differ would be unpredictable
        for lane in range(_LANES):
            i = np.uint64(lane)
            is_between = (keys[place + i] ^ keys[place + _LANES + i]) > _255
            is_better = is_between & (scores[i] > best[i])
            best[i] = scores[i] if is_better else best[i]
            found[i] = p if is_better else found[i]


@kernel
def _fill_steps(places: Counts, sides: Counts, out: Floats) -> float:
    """Fill the differences between the neighbors of each class in `sides`; return the sum with none on the left."""
    whole = np.int64(0)
    for c in range(len(places) - 1):
        whole += sides[places[c]]
        for i in range(places[c], places[c + 1] - 1):
            out[i] = sides[i + 1] - sides[i]
        out[places[c + 1] - 1] = 0
    return np.float64(whole)


@inlined
def _own_classes(
    labels: npt.NDArray[np.uint8],
    weights: Counts,
    number: Counts,
    classes: Keys,
    totals: Counts,
    own_weights: Counts,
) -> tuple[int, np.int64, bool]:
    """Renumber the classes that occur in a node, in the order of its pixels, because deep nodes have few.

    Parameters
    ----------
    labels : array (n,), uint8
        Labels of the node's pixels.
    weights : array (n_classes,)
    number : array (n_classes,)
        Scratch.
    classes : array (n or more,)
        Written: the number of each pixel's class.
    totals, own_weights : array (n_classes,)
        Written: how many pixels each of the node's classes has, and its weight.

    Returns
    -------
    n_own : int
        How many classes the node has.
    total : int
        Weight of the node.
    is_even : bool
        Whether all of them have the same weight.
    """
    number[:] = -1
    n_own, total, is_even = 0, np.int64(0), True
    for p in range(len(labels)):
        label = labels[p]
        if number[label] < 0:
            number[label] = n_own
            totals[n_own] = 0
            own_weights[n_own] = weights[label]
            is_even &= weights[label] == own_weights[0]
            n_own += 1
        classes[p] = number[label]
        totals[number[label]] += 1
        total += weights[label]
    return n_own, total, is_even


@inlined
def _score_tables(
    table: Counts,
    is_gini: bool,
    bins: npt.NDArray[np.uint8],
    begin: int,
    n: int,
    classes: Keys,
    weights: Counts,
    places: Counts,
    left: Counts,
    right: Counts,
    counts: npt.NDArray[np.int32],
    sums: Counts,
    first: int,
    i: int,
    scores: Floats,
    splits: npt.NDArray[np.int32],
) -> None:
    """Find the best split of node i, which is too large for a network, from tables of a few candidates at a time.

    Its `n` pixels begin at row `begin` of `bins`; `counts` and `sums` are scratch.
    """
    n_candidates, n_own = bins.shape[1], len(weights)
    for start in range(0, n_candidates, _TOGETHER):
        width = min(_TOGETHER, n_candidates - start)
        counts[:width, :n_own] = 0
        for p in range(n):
            k, row = np.uint64(classes[p]), np.uint64(begin + p)
            for c in range(np.uint64(width)):
                counts[c, k, np.uint64(bins[row, np.uint64(start) + np.uint64(c)])] += np.int32(1)
        for c in range(width):
            score, threshold = score_table(
                table, is_gini, counts[c, :n_own], weights, places, left, right, sums, scores[i]
            )
            if threshold != NO_SPLIT:
                scores[i] = score
                splits[i, 0] = first + start + c
                splits[i, 1] = threshold


@kernel
def score_pixels(
    table: Counts,
    is_gini: bool,
    pairs: Keys,
    pair_starts: npt.NDArray[np.int64],
    bins: npt.NDArray[np.uint8],
    labels: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    weights: Counts,
    n_bins: int,
    first: int,
    scores: Floats,
    splits: npt.NDArray[np.int32],
) -> None:
    """Find the best splits of nodes from the bins (n_pixels, n_candidates) and labels of their pixels.

    `pairs` and `pair_starts` are `networks()`. Rows `starts[i]` to `starts[i + 1]` are node i's; `scores` and `splits`
    as in `score_histograms`.
    """
    n_candidates, n_classes = bins.shape[1], len(weights)
    largest = 0
    for i in range(len(starts) - 1):
        largest = max(largest, starts[i + 1] - starts[i])
    classes = np.empty(largest, dtype=np.uint16)
    number, totals, own_weights = np.empty(n_classes, np.int64), np.empty(n_classes, np.int64), np.empty_like(weights)
    places = np.empty(n_classes + 1, dtype=np.int64)
    left, right = np.empty(largest + n_classes, dtype=np.int64), np.empty(largest + n_classes, dtype=np.int64)
    left_steps, right_steps = np.empty(len(left), dtype=np.float64), np.empty(len(left), dtype=np.float64)
    keys = np.empty(min(largest, NETWORK_PIXELS) * LANES, dtype=np.uint16)
    at = np.empty(n_classes * LANES, dtype=np.uint32)
    lane_sums, n_left = np.empty((2, LANES), dtype=np.float64), np.empty(LANES, dtype=np.int64)
    lane_scores, best = np.empty(LANES, dtype=np.float64), np.empty(LANES, dtype=np.float64)
    found = np.empty(LANES, dtype=np.int32)
    sums = np.empty((3, n_bins), dtype=np.int64)
    counts = np.empty((_TOGETHER, n_classes, n_bins), dtype=np.int32)
    for i in range(len(starts) - 1):
        begin, n = starts[i], starts[i + 1] - starts[i]
        n_own, total, is_even = _own_classes(labels[begin : begin + n], weights, number, classes, totals, own_weights)
        own, own_places = own_weights[:n_own], places[: n_own + 1]
        fill_sides(table, is_gini, totals[:n_own], own, own_places, left, right)
        if n > NETWORK_PIXELS:
            _score_tables(
                table, is_gini, bins, begin, n, classes, own, own_places, left, right, counts, sums, first,
                i, scores, splits,
            )  # fmt: skip
            continue
        whole_left = _fill_steps(own_places, left, left_steps)
        whole_right = _fill_steps(own_places, right, right_steps) if is_gini else 0.0
        for start in range(0, n_candidates, LANES):
            width = min(LANES, n_candidates - start)
            _fill_keys(bins, begin, start, width, classes, n, keys)
            _sort(pairs, pair_starts[n], pair_starts[n + 1], keys)
            for c in range(n_own):
                at[c * LANES : (c + 1) * LANES] = places[c]
            lane_sums[0], lane_sums[1], n_left[:], best[:], found[:] = whole_left, whole_right, 0, scores[i], NO_SPLIT
            _sweep(
                table, is_gini, is_even, keys, n, total, own, left_steps, right_steps, at, lane_sums, n_left,
                lane_scores, best, found,
            )  # fmt: skip
            for c in range(width):
                if found[c] != NO_SPLIT and best[c] > scores[i]:
                    scores[i] = best[c]
                    splits[i, 0] = first + start + c
                    splits[i, 1] = keys[found[c] * LANES + c] >> _8
