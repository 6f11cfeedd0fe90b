"""Growing for any objective: the tree, and the predictions of its nodes.

Trees grow best first. Without a limit on the number of leaves, any order gives the same tree.
Kernels check nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from depthforest.base import Counts, Floats, Ints, bare
from depthforest.ensemble.growth.bestfirst import (
    DEPTH,
    END,
    FIRST,
    IS_SPLIT,
    OpenNodes,
    open_node,
    pop,
    remembered,
)
from depthforest.ensemble.growth.binning import Binned
from depthforest.ensemble.growth.general.medians import MedianMemory, node_loss, rank_rows
from depthforest.ensemble.growth.general.objective import (
    ABSOLUTE_ERROR,
    Objective,
    gain_of,
    is_class,
    sum_rows,
    terms_of,
)
from depthforest.ensemble.growth.general.searching import search
from depthforest.ensemble.growth.growing import Limits, child_key, is_worth, may_split
from depthforest.ensemble.growth.memory import SplitMemory, TreeRows
from depthforest.ensemble.growth.splits import NO_FEATURE, part_rows
from depthforest.ensemble.growth.sweeps import ORDER, TOTALS, Rules
from depthforest.ensemble.growth.tables import (
    N_NODES,
    TreeTables,
    write_leaf,
    write_node,
    write_split,
)

LOWER, UPPER, VALUE = range(3)
"""Columns of `bounds` of a node: the bounds of its predictions, and its own prediction."""


class GeneralMemory(NamedTuple):
    """Memory for growing a tree for any objective.

    Attributes
    ----------
    split : SplitMemory
    medians : MedianMemory
    opened : OpenNodes
    bounds : (n_nodes, 3) float64
    """

    split: SplitMemory
    medians: MedianMemory
    opened: OpenNodes
    bounds: Floats


@bare
def _weigh(
    table: Counts, objective: Objective, ids: Ints, begin: int, end: int, split: SplitMemory, medians: MedianMemory
) -> tuple[float, float, float, float, bool]:
    """Sum a node's rows; return its weight, terms, impurity, prediction of a single target, and purity."""
    n, n_targets, sums = end - begin, objective.truth.shape[1], split.sums
    weight, alone, is_pure = sum_rows(objective, ids, begin, end, sums)
    channel: Any = 1 if is_class(objective) and sums.shape[1] > 1 else 0
    value = sums[TOTALS, channel] / weight
    if objective.kind == ABSOLUTE_ERROR:
        terms = 0.0
        for t in range(n_targets):
            rank_rows(objective, ids, begin, n, t, split.places, split.ints, medians)
            loss, median = node_loss(objective, ids, begin, n, t, weight, split.ints, medians)
            terms -= loss
            value = median if t == 0 else value
    else:
        terms = terms_of(table, objective, np.int64(TOTALS), weight, sums)
    if is_pure:
        return weight, terms, 0.0, value, True
    # the terms of entropy are those of single rows, 0, minus its information
    impurity = max(gain_of(objective, terms, alone), 0.0) / weight if terms > -np.inf else np.inf
    return weight, terms, impurity, value, False


@bare
def bound_children(sign: int, parent: int, child: int, bounds: Floats) -> None:
    """Bound the predictions of two children: with a constraint on the column, their midpoint separates them."""
    middle = 0.5 * (bounds[child, VALUE] + bounds[child + 1, VALUE])
    middle = min(max(middle, bounds[parent, LOWER]), bounds[parent, UPPER])  # rounding must not exceed the bounds
    for side in range(2):
        bounds[child + side, LOWER], bounds[child + side, UPPER] = bounds[parent, LOWER], bounds[parent, UPPER]
        if sign != 0 and (sign > 0) == (side == 0):
            bounds[child + side, UPPER] = middle
        elif sign != 0:
            bounds[child + side, LOWER] = middle


@bare
def _constrain(
    table: Counts, objective: Objective, ids: Ints, feature: int, parent: int, child: int, memory: GeneralMemory
) -> None:
    """Find the predictions of two new children, and bound the predictions below them."""
    places = memory.opened.places
    for node in range(child, child + 2):
        _, _, _, value, _ = _weigh(
            table, objective, ids, places[node, FIRST], places[node, END], memory.split, memory.medians
        )
        memory.bounds[node, VALUE] = value
    bound_children(objective.signs[feature], parent, child, memory.bounds)


@bare
def _consider(
    table: Counts,
    objective: Objective,
    rules: Rules,
    limits: Limits,
    binned: Binned,
    ids: Ints,
    node: int,
    n_open: int,
    known: tuple[float, float, bool],
    memory: GeneralMemory,
) -> Any:
    """Find the best split of a node and put it into the heap of `n_open` nodes; return their new number.

    `known` has the node's weight and terms, and whether it is pure; `split.sums` and `medians` still belong to it.
    """
    places, opened = memory.opened.places, memory.opened
    begin, end = places[node, FIRST], places[node, END]
    weight, terms, is_pure = known
    if not may_split(rules, limits, end - begin, places[node, DEPTH], weight, is_pure):
        return n_open
    split = search(
        table, objective, rules, binned, ids, begin, end, weight,
        (memory.bounds[node, LOWER], memory.bounds[node, UPPER]), opened.keys[node], memory.split, memory.medians,
    )  # fmt: skip
    gain = gain_of(objective, terms, split.score)
    if split.feature == NO_FEATURE or not is_worth(limits, gain):
        return n_open
    open_node(split, gain, node, memory.split.sides, n_open, opened)
    return n_open + 1


@bare
def grow_general(
    table: Counts,
    objective: Objective,
    rules: Rules,
    limits: Limits,
    max_leaves: int,
    binned: Binned,
    rows: TreeRows,
    key: np.uint64,
    memory: GeneralMemory,
    tree: TreeTables,
) -> None:
    """Grow a tree of up to `max_leaves` leaves; `values.fill_nodes` computes their predictions."""
    opened, bounds, split_memory, used, ids = memory.opened, memory.bounds, memory.split, tree.used, rows.ids
    places, keys = opened.places, opened.keys
    places[0, FIRST], places[0, END], places[0, DEPTH] = 0, len(ids), 0
    bounds[0, LOWER], bounds[0, UPPER] = -np.inf, np.inf
    keys[0], used[N_NODES] = key, 1
    n_open, n_leaves, first_new = np.int64(0), 1, np.int64(0)
    while True:
        for node in range(first_new, used[N_NODES]):
            begin, end = places[node, FIRST], places[node, END]
            weight, terms, impurity, _, is_pure = _weigh(
                table, objective, ids, begin, end, split_memory, memory.medians
            )
            write_node(node, begin, end, impurity, weight, tree.node_ints, tree.node_floats)
            opened.wanted[node, 0] = NO_FEATURE
            n_open = _consider(
                table, objective, rules, limits, binned, ids, node, n_open, (weight, terms, is_pure), memory
            )
        if n_open == 0 or n_leaves == max_leaves:
            break
        parent = pop(opened.gains, n_open, opened.heap)
        n_open, n_leaves, first_new = n_open - 1, n_leaves + 1, used[N_NODES]
        split = remembered(opened, parent, split_memory.sides)
        begin, end = places[parent, FIRST], places[parent, END]
        middle = part_rows(
            binned, begin, end, split, split_memory.sides, ids, split_memory.ints[ORDER], split_memory.keys[0]
        )
        write_split(
            binned.columns, split, middle - begin > end - middle, parent, split_memory.sides, tree.node_ints,
            tree.node_floats, tree.masks, used,
        )  # fmt: skip
        for side in range(2):
            child = first_new + side
            places[child, FIRST] = begin if side == 0 else middle
            places[child, END] = middle if side == 0 else end
            places[child, DEPTH] = places[parent, DEPTH] + 1
            keys[child] = child_key(keys[parent], side)
        if objective.signs.shape[0] > 0:
            _constrain(table, objective, ids, split.feature, parent, first_new, memory)
    for node in range(used[N_NODES]):
        if opened.wanted[node, 0] != IS_SPLIT:
            write_leaf(rules, False, 0, node, tree.node_ints, tree.node_floats, used)
