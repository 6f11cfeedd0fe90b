"""Split memory: the arrays that the kernels of tree growing read and work on, bundled by role.

The coded columns are `binning.Binned`; the growing tree is `tables.TreeTables`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from depthforest.base import Bytes, Counters, Floats, Ints, Longs
from depthforest.ensemble.growth.columns import ABSENT, DIGIT, Sides
from depthforest.ensemble.growth.lanes import BATCH, N_LANE_ROWS, Lanes


class TreeRows(NamedTuple):
    """Rows of a growing tree; those of a node are adjacent and sorted by channel.

    Attributes
    ----------
    ids : (n,) int32
        Their indices in the table.
    channels : (n,) int32
    amounts : (n, 2) float64
        Targets and weights.
    """

    ids: Ints
    channels: Ints
    amounts: Floats


class SplitMemory(NamedTuple):
    """Memory of one thread for finding and applying the best split of a node; see the modules of the kernels.

    Attributes
    ----------
    present, ends : (n_channels + 1,) int32
        Channels of a node, and the end of the rows of each.
    ints : (5, n) int32
    sums : (6, n_channels) float64
    bins : (n_codes + 1, n_channels + 2) float64
    cuts : (3, n) float64
    places : (256,) int32
        For sorting by digits.
    keys : (16, n) uint8
        Codes of a batch of columns.
    lanes : (9, 16) int64
    at : (16,) float64
        Thresholds of random cuts.
    sides : (2, 256) uint8
        Row 1 has the side of every category in the best split, row 0 in the one being tried.
    drawn : (2, n_features) int32
    spare : (n, 2) float64
        Targets and weights of the rows that go right, while a node is divided.
    stack : (n, 4) int64
        Nodes still to be grown, depth first: node, first row, end of its rows, depth. They share no rows.
    stack_keys : (n,) uint64
        Their random keys.
    """

    present: Ints
    ends: Ints
    ints: Ints
    sums: Floats
    bins: Floats
    cuts: Floats
    places: Ints
    keys: Bytes
    lanes: Lanes
    at: Floats
    sides: Sides
    drawn: Ints
    spare: Floats
    stack: Longs
    stack_keys: Counters

    def ways(self, *, is_random: bool) -> tuple[Ints | None, Lanes | None]:
        """Return `digits` and `lanes` for `find_split`: `places` for best splits, else `lanes`; the other is None."""
        return (None, self.lanes) if is_random else (self.places, None)

    @classmethod
    def of(cls, n_rows: int, n_features: int, n_codes: int, n_channels: int) -> SplitMemory:
        """Return memory for nodes of at most `n_rows` rows."""
        return cls(
            present=np.zeros(n_channels + 1, dtype=np.int32),
            ends=np.zeros(n_channels + 1, dtype=np.int32),
            ints=np.empty((5, n_rows), dtype=np.int32),
            sums=np.zeros((6, n_channels)),
            bins=np.empty((min(n_codes, DIGIT) + 1, n_channels + 2)),
            cuts=np.empty((3, n_rows)),
            places=np.empty(DIGIT, dtype=np.int32),
            keys=np.empty((BATCH, n_rows), dtype=np.uint8),
            lanes=np.empty((N_LANE_ROWS, BATCH), dtype=np.int64),
            at=np.empty(BATCH),
            sides=np.full((2, DIGIT), ABSENT, dtype=np.uint8),
            drawn=np.stack([np.arange(n_features, dtype=np.int32)] * 2),
            spare=np.empty((n_rows, 2)),
            stack=np.empty((n_rows, 4), dtype=np.int64),
            stack_keys=np.empty(n_rows, dtype=np.uint64),
        )
