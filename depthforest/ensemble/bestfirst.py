"""Best first: a tree of a limited number of leaves, grown where it gains most."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from depthforest.ensemble.columns import DIGIT, Codes, Columns, Ranges, Sides
from depthforest.ensemble.finding import find_split
from depthforest.ensemble.growing import (
    N_NODES,
    Limits,
    Masks,
    Used,
    child_key,
    divide,
    is_worth,
    may_split,
    weigh,
    write_leaf,
    write_node,
    write_split,
)
from depthforest.ensemble.lanes import Lanes
from depthforest.ensemble.splits import NO_FEATURE, Split
from depthforest.ensemble.sweeps import Floats, Ints, Rules
from depthforest.kernels import kernel
from depthforest.splitting import Counts, gain_over_terms


@kernel
def grow_best(
    table: Counts,
    rules: Rules,
    limits: Limits,
    max_leaves: int,
    codes: Codes,
    by_row: Codes,
    wide: Ints,
    columns: Columns,
    ranges: Ranges,
    rows: Ints,
    channels: Ints,
    amounts: Floats,
    key: np.uint64,
    present: Ints,
    ends: Ints,
    ints: Ints,
    sums: Floats,
    bins: Floats,
    cuts: Floats,
    places: Ints,
    keys: Codes,
    lanes: Lanes,
    at: Floats,
    sides: Sides,
    drawn: Ints,
    spare: Floats,
    node_ints: Ints,
    node_floats: Floats,
    values: Floats,
    masks: Masks,
    used: Used,
) -> None:
    """Grow a tree of up to `max_leaves` leaves: the node whose split gains most is split next, of equals the first."""
    room = node_ints.shape[0]
    places_of = np.empty((room, 3), dtype=np.int64)  # begin, end, depth
    own_keys = np.empty(room, dtype=np.uint64)
    wanted = np.empty((room, 4), dtype=np.int64)  # feature, code, missing, rank
    thresholds = np.empty(room)
    sides_of = np.empty((room if masks.shape[0] > 0 else 1, DIGIT), dtype=np.uint8)
    places_of[0, 0], places_of[0, 1], places_of[0, 2] = 0, len(rows), 0
    own_keys[0] = key
    heap: list[tuple[float, Any]] = [(0.0, np.int64(0))]  # so that its type is known
    heap.pop()
    used[N_NODES] = 1
    node, n_leaves = np.int64(0), 1
    n_new = 1
    while True:
        for k in range(node, node + n_new):
            begin, end, depth = places_of[k, 0], places_of[k, 1], places_of[k, 2]
            weight, terms, impurity, is_pure = weigh(table, rules, channels, amounts, begin, end, present, ends, sums)
            write_node(k, begin, end, impurity, weight, node_ints, node_floats)
            wanted[k, 0] = NO_FEATURE
            if may_split(rules, limits, end - begin, depth, weight, is_pure):
                split = find_split(
                    table, rules, codes, by_row, wide, columns, ranges, rows, channels, amounts, begin, end, weight,
                    terms, own_keys[k], 0, 1, present, ends, ints, sums, bins, cuts, places, keys, lanes, at, sides,
                    drawn,
                )  # fmt: skip
                gain = gain_over_terms(table, rules.is_entropy, terms, weight, split.score)
                if split.feature != NO_FEATURE and is_worth(limits, gain):
                    wanted[k, 0], wanted[k, 1], wanted[k, 2] = split.feature, split.code, split.missing
                    wanted[k, 3] = split.rank
                    thresholds[k] = split.threshold
                    if masks.shape[0] > 0:
                        for b in range(DIGIT):
                            sides_of[k, b] = sides[1, b]
                    heapq.heappush(heap, (-gain, k))
        if len(heap) == 0 or n_leaves == max_leaves:
            break
        _, parent = heapq.heappop(heap)
        split = Split(
            wanted[parent, 0], wanted[parent, 1], thresholds[parent], 0.0, wanted[parent, 2], wanted[parent, 3]
        )  # fmt: skip
        if masks.shape[0] > 0:
            for b in range(DIGIT):
                sides[1, b] = sides_of[parent, b]
        begin, end = places_of[parent, 0], places_of[parent, 1]
        middle = divide(
            rules, codes, by_row, wide, columns, rows, channels, amounts, begin, end, split, sides, ints, spare
        )
        node = used[N_NODES]
        write_split(columns, split, middle - begin > end - middle, parent, sides, node_ints, node_floats, masks, used)
        n_new, n_leaves = 2, n_leaves + 1
        wanted[parent, 0] = NO_FEATURE - 1
        for side in range(2):
            places_of[node + side, 0] = begin if side == 0 else middle
            places_of[node + side, 1] = middle if side == 0 else end
            places_of[node + side, 2] = places_of[parent, 2] + 1
            own_keys[node + side] = child_key(own_keys[parent], side)
    for k in range(used[N_NODES]):
        if wanted[k, 0] >= NO_FEATURE:  # was never split
            _, _, _, is_pure = weigh(
                table, rules, channels, amounts, places_of[k, 0], places_of[k, 1], present, ends, sums
            )  # fmt: skip
            write_leaf(rules, is_pure, k, sums, node_ints, node_floats, values, used)
