"""Boosted memory: the arrays that the kernels of boosted growing read and work on, bundled by role.

`TreeSample` holds the data of one tree, `SearchMemory` the scratch memory for searching and splitting a node. The
tables of open nodes are in `nodes`, those of the tree itself in `growth.tables`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from depthforest.base import Bytes, Floats, Ints, Longs
from depthforest.ensemble.growth import ABSENT, DIGIT, Sides


class TreeSample(NamedTuple):
    """Columns and rows of a growing tree.

    Attributes
    ----------
    directions : (n_features,) int32
        1 if a column may only raise the prediction, -1 if it may only lower it, else 0.
    chosen : (n_chosen,) int32
        Columns that the tree may use, ascending.
    offsets : (n_chosen + 1,) int64
        Start of the histogram of each column.
    rows : (n,) int32
        Rows of the tree; those of a node are adjacent.
    amounts : (n_table_rows, 2) float64
        Gradients and hessians by row of the table.
    weights : (n_table_rows,) float64
        Weights of rows; empty if all weigh 1.
    orders : (n_chosen, n) int32
        For exact splits, the rows in the order of each column; else empty.
    groups : (n_groups, n_features) uint8
        Columns that may occur together on a path; no groups without constraints.
    """

    directions: Ints
    chosen: Ints
    offsets: Longs
    rows: Ints
    amounts: Floats
    weights: Floats
    orders: Ints
    groups: Bytes


class SearchMemory(NamedTuple):
    """Memory for finding and making the best split of a node.

    Attributes
    ----------
    found : (3,) int32
        Code, next code and side of missing values of the best split so far.
    left : (2,) float64
        Gradient and hessian of its left side.
    category_order, category_bins, category_sums
        Memory for `columns.order_categories`: (5, 256) int32, (256, 3) and (6, 1) float64.
    cuts : (3, 256) float64
        Left gradient, left hessian and score of every cut of a column.
    sides : (2, 256) uint8
        Row 1 is the side of every category of the best split.
    drawn : (n_chosen,) int32
        Indices in `chosen` of the columns that a node considers.
    sums : (n_slots, n_numbers) float64
        Histograms; the first belongs to no node.
    spare : (n_table_rows,) int32
        Rows that go right, while a node is divided.
    is_left : (n_table_rows,) uint8
        For exact splits, the side of every row; else empty.
    """

    found: Ints
    left: Floats
    category_order: Ints
    category_bins: Floats
    category_sums: Floats
    cuts: Floats
    sides: Sides
    drawn: Ints
    sums: Floats
    spare: Ints
    is_left: Bytes

    @classmethod
    def of(cls, n_rows: int, n_columns: int, n_slots: int, n_numbers: int, *, is_exact: bool) -> SearchMemory:
        """Return memory for trees with this many rows and columns, and for this many histograms."""
        return cls(
            found=np.empty(3, dtype=np.int32),
            left=np.empty(2),
            category_order=np.empty((5, DIGIT), dtype=np.int32),
            category_bins=np.empty((DIGIT, 3)),
            category_sums=np.zeros((6, 1)),
            cuts=np.empty((3, DIGIT)),
            sides=np.full((2, DIGIT), ABSENT, dtype=np.uint8),
            drawn=np.empty(n_columns, dtype=np.int32),
            sums=np.empty((n_slots, n_numbers)),
            spare=np.empty(n_rows, dtype=np.int32),
            is_left=np.empty(n_rows if is_exact else 0, dtype=np.uint8),
        )
