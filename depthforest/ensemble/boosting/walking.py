"""Boosted walking: the sum of all trees' values for some rows, with trees of several outputs alternating."""

from __future__ import annotations

import numpy as np

from depthforest.base import Floats, Ints, Longs, Singles, Words, kernel
from depthforest.ensemble.tree import LANES, WALK_MORE, Table, Walk, in_blocks, is_plain_table, walk_lanes


def add_trees(walk: Walk, x: Table, out: Floats, *, first: int = 0, last: int | None = None, threads: int = 1) -> None:
    """Add the values of trees `first` to `last` to `out` (n, n_outputs): tree t adds to output t % n_outputs.

    Every row's sum is computed in the order of the trees, as in training.
    """
    last = len(walk.roots) if last is None else last

    def add(rows: slice) -> None:
        _add_block(x[rows], walk.nodes, walk.roots, first, last, walk.values, walk.masks, out[rows])

    in_blocks(add, x, out, threads)


@kernel
def _add_block(
    x: Singles,
    nodes: Ints,
    roots: Longs,
    first_tree: int,
    last_tree: int,
    values: Floats,
    masks: Words,
    out: Floats,
) -> None:
    at = np.empty(LANES, dtype=np.uint64)
    thresholds = nodes.view(np.float32)
    is_plain = is_plain_table(x, masks)
    for t in range(first_tree, last_tree):
        for first in range(0, x.shape[0], LANES):
            n = min(LANES, x.shape[0] - first)
            walk_lanes(x, first, n, nodes, thresholds, roots[t], masks, is_plain, at)
            for lane in range(n):
                out[first + lane, t % out.shape[1]] += values[nodes[at[lane], WALK_MORE] >> 1, 0]
