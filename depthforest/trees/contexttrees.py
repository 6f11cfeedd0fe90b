"""ContextTrees: the second stage of a forest. Its probes read depth and the first stage's answers from a thumbnail.

    roots       int32 (trees,)       where each tree begins
    offsets     int16 (nodes, 4)     u_x, u_y, v_x, v_y in units of `unit_m`
    channels    uint8 (nodes, 2)     what each probe reads
    thresholds  int16 (nodes,)       in the units of the channels
    children    int32 (nodes, 2)     left, right
    leaves      uint8 (leaves, parts)  distributions in 255ths

A local patch cannot distinguish a head from a raised hand; the parts that the first stage found around it can. The
response of a pair of probes is channel_u(p + u) - channel_v(p + v) on the thumbnail's own grid; see `channels` and
`thumbnails`. `combine` multiplies the shares of both stages: each must find a part likely.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Column, ModelError, counted, is_number, kernel, modelfile, plain
from depthforest.frames import PartSet
from depthforest.trees.channels import PartGroups
from depthforest.trees.columns import MAX_FACING_TREES, check_links, check_rows, levels
from depthforest.trees.features import MAX_OFFSET_M, MAX_UNITS
from depthforest.trees.quantizing import LEAF_SUM, Leaves

CONTEXT_SCHEMA = {
    "roots": Column("int32", ("trees",)),
    "offsets": Column("int16", ("nodes", 4)),
    "channels": Column("uint8", ("nodes", 2)),
    "thresholds": Column("int16", ("nodes",)),
    "children": Column("int32", ("nodes", 2)),
    "leaves": Column("uint8", ("leaves", "parts")),
}

WHOLE = 2**20
"""Total of a pixel's combined sums, up to rounding: smoothing over 25 pixels fits in 32 bits."""

SHARE_WHOLE = 2.0**15
"""Shares of both stages are whole multiples of 1 over this, so that their products are exact."""

DOUBT = 64
"""Added to each share, which is in units of 2^-15, before the stages are multiplied. A part that one stage never saw
can still win by the other."""


@dataclass(frozen=True, eq=False, repr=False)
class ContextTrees:
    """Decision trees over channels.

    Parameters
    ----------
    roots, offsets, channels, thresholds, children, leaves
        Columns as above; checked, copied and made read-only.
    part_set : PartSet
        Part set of the forest.
    groups : PartGroups
        Groups of the first stage's answers.
    unit_m : float
        Size of one unit of an offset, in meters.
    config, scores : mapping, optional
        How it was trained, and its scores; any JSON content.
    """

    roots: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int16]
    channels: npt.NDArray[np.uint8]
    thresholds: npt.NDArray[np.int16]
    children: npt.NDArray[np.int32]
    leaves: Leaves
    part_set: PartSet
    groups: PartGroups
    unit_m: float
    config: Mapping[str, Any] = field(default_factory=dict)
    scores: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        columns = {name: np.array(getattr(self, name), order="C") for name in CONTEXT_SCHEMA}
        lengths = modelfile.check_columns(columns, CONTEXT_SCHEMA)
        if not isinstance(self.part_set, PartSet) or not isinstance(self.groups, PartGroups):
            raise ModelError("a context stage needs a PartSet and PartGroups")
        self.groups.check(self.part_set)
        if lengths["parts"] != len(self.part_set):
            raise ModelError(f"leaves have {lengths['parts']} parts, the part set {len(self.part_set)}")
        if lengths["trees"] > MAX_FACING_TREES:
            raise ModelError(f"a context stage has at most {MAX_FACING_TREES} trees, got {lengths['trees']}")
        check_links(columns["roots"], columns["children"], lengths["leaves"])
        check_rows(columns["leaves"])
        if not is_number(self.unit_m) or not 0 < self.unit_m * MAX_UNITS <= 2 * MAX_OFFSET_M:
            raise ModelError(
                f"unit_m must be above 0 and at most {2 * MAX_OFFSET_M / MAX_UNITS:g}, got {self.unit_m!r}"
            )
        is_bad = (columns["channels"] >= self.groups.n_channels).any(axis=1)
        if is_bad.any():
            node = int(np.flatnonzero(is_bad)[0])
            found = columns["channels"][node].tolist()
            raise ModelError(f"channels of node {node} must be below {self.groups.n_channels}, got {found}")
        for name in ("config", "scores"):
            value = getattr(self, name)
            if not isinstance(value, Mapping):
                raise ModelError(f"{name} must be a mapping, got {type(value).__name__}")
            object.__setattr__(self, name, plain(value, name))
        for name, array in columns.items():
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def n_trees(self) -> int:
        """How many trees it has."""
        return len(self.roots)

    @property
    def n_nodes(self) -> int:
        """How many splits all trees have."""
        return len(self.thresholds)

    @property
    def n_leaves(self) -> int:
        """How many leaves all trees have."""
        return len(self.leaves)

    @property
    def depth(self) -> int:
        """Splits between a root and its deepest leaf."""
        return len(levels(self.roots, self.children))

    @property
    def meters(self) -> npt.NDArray[np.float32]:
        """The offsets (n_nodes, 4) in meters."""
        return self.offsets * np.float32(self.unit_m)

    @property
    def mirrored_channels(self) -> npt.NDArray[np.uint8]:
        """The channels (n_nodes, 2) that probes read in the mirrored picture."""
        return np.asarray(self.groups.mirror_table(self.part_set)[self.channels])

    def whole(self, n_walks: int) -> int:
        """Return the total of the sums of a pixel's leaves."""
        return LEAF_SUM * self.n_trees * n_walks

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ContextTrees):
            return NotImplemented
        names = [entry.name for entry in fields(self)]
        return all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in names if name in CONTEXT_SCHEMA
        ) and (all(getattr(self, name) == getattr(other, name) for name in names if name not in CONTEXT_SCHEMA))

    __hash__ = None  # type: ignore[assignment]  # compares by the content of arrays

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle through the constructor, so that the copy is checked and read-only as well."""
        return type(self), tuple(getattr(self, entry.name) for entry in fields(self))

    def __repr__(self) -> str:
        return f"ContextTrees({counted(self.n_trees, 'trees')}, depth {self.depth}, {self.n_leaves} leaves)"


@kernel
def read_channels(
    planes: npt.NDArray[np.uint16], row: int, col: int, offsets: npt.NDArray[np.int32], channels: npt.NDArray[np.uint8]
) -> np.int32:
    """Return the response of a pair of probes: `offsets` are d_row, d_col of u and v, clamped to the border."""
    n_rows, n_cols = planes.shape[1], planes.shape[2]
    values = np.int32(0)
    for k in range(2):
        r = min(max(row + offsets[2 * k], 0), n_rows - 1)
        c = min(max(col + offsets[2 * k + 1], 0), n_cols - 1)
        value = np.int32(planes[channels[k], r, c])
        values = np.int32(value if k == 0 else values - value)
    return values


@kernel
def share_rows(sums: npt.NDArray[np.int32], n_parts: int, shares: npt.NDArray[np.uint16]) -> None:
    """Fill the second stage's shares (n, n_parts) from sums (n, n_parts or more), each plus a small constant."""
    for i in range(len(shares)):
        total = np.int64(0)
        for p in range(n_parts):
            total += sums[i, p]
        unit = SHARE_WHOLE / np.float64(total)
        for p in range(n_parts):
            shares[i, p] = np.uint16(np.int32(np.float64(sums[i, p]) * unit) + DOUBT)


@kernel
def combine(
    sums: npt.NDArray[np.int32], seconds: npt.NDArray[np.uint16], near: npt.NDArray[np.int32], begin: int, end: int
) -> None:
    """Replace the first stage's sums (n, n_parts or more) of the pixels `begin` to `end` by sums of both stages.

    Products of shares are in double precision and each is rounded once, so the order of parts changes nothing.

    Parameters
    ----------
    seconds : array (m, n_parts), uint16
        The second stage's shares of the pixels on the grid, as `share_rows` fills them.
    near : array (n,), int32
        Row of `seconds` for each pixel; below 0: the first stage alone.
    """
    n_parts = seconds.shape[1]
    mixed = np.empty(n_parts, dtype=np.int64)
    for i in range(begin, end):
        total = np.int64(0)
        for p in range(n_parts):
            total += sums[i, p]
        unit = SHARE_WHOLE / np.float64(total)
        for p in range(n_parts):
            mixed[p] = np.int64(np.int32(np.float64(sums[i, p]) * unit) + DOUBT)
        if near[i] >= 0:
            row = np.uint64(near[i])
            for p in range(np.uint64(n_parts)):
                mixed[p] *= np.int64(seconds[row, p])
        whole = np.int64(0)
        for p in range(n_parts):
            whole += mixed[p]
        unit = np.float64(WHOLE) / np.float64(whole)
        for p in range(n_parts):
            sums[i, p] = np.int32(np.float64(mixed[p]) * unit)
