"""A shard: some frames of a tree and the state of their training pixels. It counts and moves its own pixels.

This is the interface for distributed engines. A shard gets nodes' keys and a range of candidates, and answers with
whole numbers: class histograms of large nodes, or bins and labels of the pixels of small ones. Then it gets the splits.
If its pixels' crops don't fit the memory, it reads its frames again each time. `distributed` keeps shards on the
workers of a cluster.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from depthforest.base import Scratch, count_bins, kernel
from depthforest.frames import LabeledFrame, PartSet
from depthforest.training.candidates import Candidates
from depthforest.training.config import TrainConfig
from depthforest.training.probing import OUT, fill_bins, move_pixels, walk_pixels
from depthforest.training.sampling import Pixels, joined, read_pixels, writable
from depthforest.trees import DepthTrees

BLOCK_FRAMES = 32
"""Frames that are read together when a shard doesn't keep its pixels: a few MB."""


@dataclass(frozen=True)
class Batch:
    """Open nodes and candidates that are counted together.

    Parameters
    ----------
    nodes : array (n,), int64
        Numbers of open nodes, rising.
    n_open : int
        How many open nodes the level has.
    candidates : Candidates
        Candidates of these nodes, drawn from their keys alone.
    """

    nodes: npt.NDArray[np.int64]
    n_open: int
    candidates: Candidates

    @property
    def n_candidates(self) -> int:
        """Candidates of each node in this batch."""
        return int(self.candidates.probes.shape[2])


@dataclass(frozen=True)
class Splits:
    """The splits of a level's open nodes.

    Parameters
    ----------
    probes : array (n_open, 4), float32
        u_x, u_y, v_x, v_y of the chosen pair, meters.
    channels : array (n_open, 2), uint8
        Channels that u and v read; 0 is depth.
    thresholds : array (n_open,), int32
        Millimeters.
    children : array (n_open, 2), int32
        Open nodes of the next level, left and right; -1 where the node became a leaf.
    """

    probes: npt.NDArray[np.float32]
    channels: npt.NDArray[np.uint8]
    thresholds: npt.NDArray[np.int32]
    children: npt.NDArray[np.int32]


class Shard:
    """Frames and the state of their pixels; all start at the root, open node 0.

    Parameters
    ----------
    source : sequence of LabeledFrame
    frames : array (n,), int64
        Numbers of this shard's frames.
    stream : int
        Selects the pixels to draw: the number of the tree.
    config : TrainConfig
    part_set : PartSet
    keep_bytes : int, optional
        Keep the crops in memory if they need at most this; otherwise read them again each time. Default: keep.
    first : DepthTrees, optional
        The first stage, whose answers the pixels' probes read besides depth.

    Attributes
    ----------
    labels : array (n_pixels,), uint8
    nodes : array (n_pixels,), int32
        The open node of each pixel; `OUT` for those that have reached a leaf.
    n_bytes : int
        Memory of the crops and their pixels, kept or not.
    per_frame : array (n_frames,), int64
        Number of pixels drawn from each frame.
    """

    def __init__(
        self,
        source: Sequence[LabeledFrame],
        frames: npt.NDArray[np.int64],
        stream: int,
        config: TrainConfig,
        part_set: PartSet,
        *,
        keep_bytes: int | None = None,
        first: DepthTrees | None = None,
    ) -> None:
        self._first = first
        self._source, self._stream, self._config, self._part_set = source, stream, config, part_set
        self._blocks = [frames[i : i + BLOCK_FRAMES] for i in range(0, len(frames), BLOCK_FRAMES)]
        self._kept: list[Pixels] | None = None
        labels, per_frame = [np.zeros(0, dtype=np.uint8)], [np.zeros(0, dtype=np.int64)]
        kept: list[Pixels] | None = []
        self.n_bytes = 0
        for pixels in self._read():
            labels.append(pixels.labels)
            per_frame.append(pixels.per_frame)
            self.n_bytes += pixels.n_bytes
            if keep_bytes is not None and self.n_bytes > keep_bytes:
                kept = None
            if kept is not None:
                kept.append(pixels)
        self.labels = np.concatenate(labels)
        self.per_frame = np.concatenate(per_frame)
        self.nodes = np.zeros(len(self.labels), dtype=np.int32)
        self._kept = kept
        self._scratch = Scratch()

    @classmethod
    def of_pixels(cls, pixels: list[Pixels], config: TrainConfig, part_set: PartSet) -> Shard:
        """Return a shard of pixels that were read elsewhere; all start at open node 0."""
        nothing: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        shard = cls((), nothing, 0, config, part_set)
        shard._kept = pixels
        shard.labels = np.concatenate([np.zeros(0, dtype=np.uint8), *(some.labels for some in pixels)])
        shard.per_frame = np.concatenate([nothing, *(some.per_frame for some in pixels)])
        shard.nodes = np.zeros(len(shard.labels), dtype=np.int32)
        shard.n_bytes = sum(some.n_bytes for some in pixels)
        return shard

    def at(self, nodes: npt.NDArray[np.int32]) -> Shard:
        """Return a shard of the same pixels at other nodes; it shares the crops, but no writable memory."""
        other = copy.copy(self)
        other.nodes, other._scratch = nodes, Scratch()
        return other

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_scratch": Scratch()}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update({name: writable(value) for name, value in state.items()})

    def __sizeof__(self) -> int:
        return self.labels.nbytes + self.nodes.nbytes + (self.n_bytes if self.is_kept else 0)

    def pick(self, nodes: npt.NDArray[np.int64], n_open: int) -> tuple[list[Pixels], npt.NDArray[np.int32]]:
        """Return the pixels of some open nodes with their crops, and each pixel's position in `nodes`."""
        slot, _ = self._slots(nodes, n_open)
        picked, places = [], [np.zeros(0, dtype=np.int32)]
        for part, pixels in self._pixels():
            is_mine = slot[part] != OUT
            if is_mine.any():
                picked.append(pixels.some(is_mine))
                places.append(slot[part][is_mine])
        return ([joined(picked)] if picked else []), np.concatenate(places)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_parts(self) -> int:
        """How many parts there are."""
        return len(self._part_set)

    @property
    def is_kept(self) -> bool:
        """Whether the crops are in memory."""
        return self._kept is not None

    def _read(self) -> Iterator[Pixels]:
        for block in self._blocks:
            yield read_pixels(self._source, block.tolist(), self._stream, self._config, self._part_set, self._first)

    def _pixels(self) -> Iterator[tuple[slice, Pixels]]:
        first = 0
        for pixels in self._kept if self._kept is not None else self._read():
            yield slice(first, first + len(pixels)), pixels
            first += len(pixels)

    def class_counts(self, n_open: int) -> npt.NDArray[np.int64]:
        """Return the class counts (n_open, n_parts) of the open nodes, in memory that the next call overwrites."""
        (counts,) = self._scratch.take("counts", ((n_open, len(self._part_set)), np.int64))
        counts[:] = 0
        _count_classes(self.nodes, self.labels, counts)
        return counts

    def counts_of(self, nodes: npt.NDArray[np.int64], n_open: int) -> npt.NDArray[np.int64]:
        """Return the class counts (n_nodes, n_parts) of some open nodes."""
        return self._slots(nodes, n_open)[1].copy()

    def count(
        self,
        batch: Batch,
        bins: npt.NDArray[np.uint8],
        labels: npt.NDArray[np.uint8],
        tables: npt.NDArray[np.int32],
    ) -> None:
        """Write class histograms of a batch of large nodes.

        Parameters
        ----------
        batch : Batch
        bins : array (n, n_candidates), uint8
            Scratch: a row for each of this shard's pixels in the batch.
        labels : array (n,), uint8
            Scratch.
        tables : array (n_nodes, n_candidates, n_parts, n_bins), int32
            Written.
        """
        slot, cells = self._cells(batch)
        starts = np.concatenate(([0], np.cumsum(cells.sum(axis=1))))
        self._fill(batch, slot, cells, starts[:-1], bins, labels)
        tables[:] = 0
        count_bins(bins, labels, starts, np.arange(len(batch.nodes)), tables)

    def fill(
        self,
        batch: Batch,
        starts: npt.NDArray[np.int64],
        bins: npt.NDArray[np.uint8],
        labels: npt.NDArray[np.uint8],
    ) -> None:
        """Write the bins and labels of a batch's pixels to the requested rows.

        Parameters
        ----------
        batch : Batch
        starts : array (n_nodes,), int64
            The row at which this shard's pixels of each node begin; they are sorted by label.
        bins : array (n, n_candidates), uint8
            Written; rows of other shards' pixels stay unchanged.
        labels : array (n,), uint8
            Written.
        """
        self._fill(batch, *self._cells(batch), starts, bins, labels)

    def _cells(self, batch: Batch) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Return each pixel's position in the batch's nodes, OUT for other nodes, and the nodes' class counts."""
        return self._slots(batch.nodes, batch.n_open)

    def _slots(self, nodes: npt.NDArray[np.int64], n_open: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        slots = np.full(n_open + 1, OUT, dtype=np.int32)  # the last entry is for pixels that have reached a leaf
        slots[nodes] = np.arange(len(nodes), dtype=np.int32)
        slot, cells = self._scratch.take(
            "cells", ((len(self.nodes),), np.int32), ((len(nodes), len(self._part_set)), np.int64)
        )
        np.take(slots, self.nodes, out=slot, mode="wrap")  # node -1 is the last
        cells[:] = 0
        _count_classes(slot, self.labels, cells)
        return slot, cells

    def _fill(
        self,
        batch: Batch,
        slot: npt.NDArray[np.int32],
        cells: npt.NDArray[np.int64],
        starts: npt.NDArray[np.int64],
        bins: npt.NDArray[np.uint8],
        labels: npt.NDArray[np.uint8],
    ) -> None:
        # a cell begins where the node's previous cells end
        cells[:] = np.cumsum(cells, axis=1) - cells + starts[:, None]
        (ranks,) = self._scratch.take("ranks", ((len(slot),), np.int64))
        _rank(slot, self.labels, cells, ranks, labels)
        chosen = batch.candidates
        inverses = np.float32(1) / chosen.steps.astype(np.float32)
        highest = np.float32(self._config.thresholds + 0.5)
        for part, pixels in self._pixels():
            fill_bins(
                pixels.depth, pixels.starts, pixels.shapes, pixels.places, pixels.scales, slot[part], ranks[part],
                chosen.probes, chosen.lows, inverses, chosen.unit_m, chosen.channels, highest, bins,
            )  # fmt: skip

    def apply(self, splits: Splits) -> None:
        """Move every pixel of an open node to its child."""
        for part, pixels in self._pixels():
            move_pixels(
                pixels.depth, pixels.starts, pixels.shapes, pixels.places, pixels.scales,
                splits.probes, splits.channels, splits.thresholds, splits.children, self.nodes[part],
            )  # fmt: skip

    def walk(
        self,
        root: int,
        offsets: npt.NDArray[np.float32],
        channels: npt.NDArray[np.uint8],
        thresholds: npt.NDArray[np.int16],
        children: npt.NDArray[np.int32],
    ) -> npt.NDArray[np.int32]:
        """Walk each pixel down a tree's columns, and return the value below 0 that it ends at."""
        ends = np.full(len(self), root, dtype=np.int32)
        wide = thresholds.astype(np.int32)
        for part, pixels in self._pixels():
            walk_pixels(
                pixels.depth, pixels.starts, pixels.shapes, pixels.places, pixels.scales,
                offsets, channels, wide, children, ends[part],
            )  # fmt: skip
        return ends


@kernel
def _count_classes(nodes: npt.NDArray[np.int32], labels: npt.NDArray[np.uint8], out: npt.NDArray[np.int64]) -> None:
    for p in range(len(nodes)):
        if nodes[p] != OUT:
            out[nodes[p], labels[p]] += 1


@kernel
def _rank(
    slot: npt.NDArray[np.int32],
    labels: npt.NDArray[np.uint8],
    cells: npt.NDArray[np.int64],
    ranks: npt.NDArray[np.int64],
    out: npt.NDArray[np.uint8],
) -> None:
    """Sort pixels by (slot, label), stable: fill each one's rank, and the labels in that order.

    `cells` (n_slots, n_parts) has the start of each cell, and afterward its end.
    """
    for p in range(len(slot)):
        if slot[p] >= 0:
            rank = cells[slot[p], labels[p]]
            cells[slot[p], labels[p]] = rank + 1
            ranks[p] = rank
            out[rank] = labels[p]
