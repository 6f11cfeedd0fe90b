"""A shard: some frames of a tree and the state of their training pixels. It counts, and it moves its own pixels.

This is the seam where a distributed engine goes: a shard is asked with nodes' keys and a range of candidates, and
answers with whole numbers: class histograms of large nodes, bins and labels of the pixels of small ones. Then it is
told the splits. Where its pixels' crops don't fit the memory, it reads its frames again each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from depthforest.candidates import Candidates
from depthforest.frames import LabeledFrame
from depthforest.kernels import kernel
from depthforest.parts import PartSet
from depthforest.probing import OUT, fill_bins, move_pixels, walk_pixels
from depthforest.sampling import Pixels, read_pixels
from depthforest.scratch import Scratch
from depthforest.splitting import count_bins
from depthforest.trainconfig import TrainConfig

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
    is_dense : bool
        Whether histograms are asked for; otherwise the pixels' bins.
    candidates : Candidates
        Of these nodes, drawn from their keys alone.
    """

    nodes: npt.NDArray[np.int64]
    n_open: int
    is_dense: bool
    candidates: Candidates

    @property
    def n_candidates(self) -> int:
        """Candidates of each node in this batch."""
        return int(self.candidates.probes.shape[2])


@dataclass(frozen=True)
class Splits:
    """What the open nodes of a level became.

    Parameters
    ----------
    probes : array (n_open, 4), float32
        u_x, u_y, v_x, v_y of the chosen pair, metres.
    thresholds : array (n_open,), int32
        Millimetres.
    children : array (n_open, 2), int32
        Open nodes of the next level, left and right; -1 where the node became a leaf.
    """

    probes: npt.NDArray[np.float32]
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
        Names the pixels that are drawn: the tree.
    config : TrainConfig
    part_set : PartSet
    keep_bytes : int, optional
        Keep the crops in memory if they need no more than this; otherwise read them again each time. Omitted: keep.

    Attributes
    ----------
    labels : array (n_pixels,), uint8
    nodes : array (n_pixels,), int32
        The open node of each pixel, `OUT` for those that have reached a leaf.
    visible : array (n_parts,), int64
        How many pixels of each part the frames show, drawn or not.
    per_frame : array (n_frames,), int64
        How many pixels were drawn of each frame.
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
    ) -> None:
        self._source, self._stream, self._config, self._part_set = source, stream, config, part_set
        self._blocks = [frames[i : i + BLOCK_FRAMES] for i in range(0, len(frames), BLOCK_FRAMES)]
        self._kept: list[Pixels] | None = None
        self.visible = np.zeros(len(part_set), dtype=np.int64)
        labels, per_frame = [np.zeros(0, dtype=np.uint8)], [np.zeros(0, dtype=np.int64)]
        kept: list[Pixels] | None = []
        n_bytes = 0
        for pixels in self._read():
            labels.append(pixels.labels)
            per_frame.append(pixels.per_frame)
            self.visible += pixels.visible
            n_bytes += pixels.n_bytes
            if keep_bytes is not None and n_bytes > keep_bytes:
                kept = None
            if kept is not None:
                kept.append(pixels)
        self.labels = np.concatenate(labels)
        self.per_frame = np.concatenate(per_frame)
        self.nodes = np.zeros(len(self.labels), dtype=np.int32)
        self._kept = kept
        self._scratch = Scratch()

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def is_kept(self) -> bool:
        """Whether the crops are in memory."""
        return self._kept is not None

    def _read(self) -> Iterator[Pixels]:
        for block in self._blocks:
            yield read_pixels(self._source, block.tolist(), self._stream, self._config, self._part_set)

    def _pixels(self) -> Iterator[tuple[slice, Pixels]]:
        first = 0
        for pixels in self._kept if self._kept is not None else self._read():
            yield slice(first, first + len(pixels)), pixels
            first += len(pixels)

    def class_counts(self, n_open: int) -> npt.NDArray[np.int64]:
        """Return the class counts (n_open, n_parts) of the open nodes, in memory that the next call uses again."""
        (counts,) = self._scratch.take("counts", ((n_open, len(self._part_set)), np.int64))
        counts[:] = 0
        _count_classes(self.nodes, self.labels, counts)
        return counts

    def count(self, batch: Batch, n_bins: int) -> npt.NDArray[np.int32]:
        """Return class histograms (n_nodes, n_candidates, n_parts, n_bins) of a batch of large nodes.

        They are in memory that the next call uses again.
        """
        shape = (len(batch.nodes), batch.n_candidates, len(self._part_set), n_bins)
        bins, labels, starts, tables = self._fill(batch, shape)
        tables[:] = 0
        count_bins(bins, labels, starts, np.arange(len(batch.nodes)), tables)
        return tables

    def bins(self, batch: Batch) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
        """Return the bins and labels of the pixels of a batch of nodes.

        Returns
        -------
        bins : array (n, n_candidates), uint8
            Sorted by node, then by label. In memory that the next call uses again, as the labels.
        labels : array (n,), uint8
        starts : array (n_nodes + 1,), int64
            Where each node's pixels begin.
        """
        return self._fill(batch, (0,))[:3]

    def _fill(
        self, batch: Batch, table_shape: tuple[int, ...]
    ) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """Return what `bins` does, and room for tables: in one block, so that no more is held than a batch needs."""
        slots = np.full(batch.n_open + 1, OUT, dtype=np.int32)  # the last entry is for pixels that are out
        slots[batch.nodes] = np.arange(len(batch.nodes), dtype=np.int32)
        n_pixels, n_nodes = len(self.nodes), len(batch.nodes)
        slot, ranks, ends = self._scratch.take(
            "pixels", ((n_pixels,), np.int32), ((n_pixels,), np.int64), ((n_nodes, len(self._part_set)), np.int64)
        )
        ends[:] = 0
        n = _count_cells(self.nodes, slots, self.labels, slot, ends)
        bins, labels, tables = self._scratch.take(
            "bins", ((n, batch.n_candidates), np.uint8), ((n,), np.uint8), (table_shape, np.int32)
        )
        _rank(slot, self.labels, ends, ranks, labels)
        starts = np.concatenate(([0], ends[:, -1]))
        chosen = batch.candidates
        inverses = np.float32(1) / chosen.steps.astype(np.float32)
        highest = np.float32(self._config.thresholds + 0.5)
        for part, pixels in self._pixels():
            fill_bins(
                pixels.depth, pixels.starts, pixels.shapes, pixels.places, pixels.scales, slot[part], ranks[part],
                chosen.probes, chosen.lows, inverses, chosen.unit_m, highest, bins,
            )  # fmt: skip
        return bins, labels, starts, tables

    def apply(self, splits: Splits) -> None:
        """Move every pixel of an open node to the child that it belongs to."""
        for part, pixels in self._pixels():
            move_pixels(
                pixels.depth, pixels.starts, pixels.shapes, pixels.places, pixels.scales,
                splits.probes, splits.thresholds, splits.children, self.nodes[part],
            )  # fmt: skip

    def walk(
        self,
        root: int,
        offsets: npt.NDArray[np.float32],
        thresholds: npt.NDArray[np.int16],
        children: npt.NDArray[np.int32],
    ) -> npt.NDArray[np.int32]:
        """Return the value below 0 that each pixel ends at when it walks down a tree's columns."""
        ends = np.full(len(self), root, dtype=np.int32)
        wide = thresholds.astype(np.int32)
        for part, pixels in self._pixels():
            walk_pixels(
                pixels.depth, pixels.starts, pixels.shapes, pixels.places, pixels.scales,
                offsets, wide, children, ends[part],
            )  # fmt: skip
        return ends


@kernel
def _count_classes(nodes: npt.NDArray[np.int32], labels: npt.NDArray[np.uint8], out: npt.NDArray[np.int64]) -> None:
    for p in range(len(nodes)):
        if nodes[p] != OUT:
            out[nodes[p], labels[p]] += 1


@kernel
def _count_cells(
    nodes: npt.NDArray[np.int32],
    slots: npt.NDArray[np.int32],
    labels: npt.NDArray[np.uint8],
    slot: npt.NDArray[np.int32],
    starts: npt.NDArray[np.int64],
) -> int:
    """Fill each pixel's slot, and where each cell (slot, label) starts if pixels are sorted by it; return how many.

    `starts` (n_slots, n_parts) holds zeros. The last of `slots` is that of pixels that are out.
    """
    for p in range(len(nodes)):
        slot[p] = slots[nodes[p]]  # node -1 is the last
        if slot[p] >= 0:
            starts[slot[p], labels[p]] += 1
    n = 0
    for i in range(starts.shape[0]):
        for label in range(starts.shape[1]):
            its_own = starts[i, label]
            starts[i, label] = n
            n += its_own
    return n


@kernel
def _rank(
    slot: npt.NDArray[np.int32],
    labels: npt.NDArray[np.uint8],
    ends: npt.NDArray[np.int64],
    ranks: npt.NDArray[np.int64],
    out: npt.NDArray[np.uint8],
) -> None:
    """Sort pixels by (slot, label), stable: fill each one's rank, and the labels in that order.

    `ends` holds where the cells start, and afterwards where they end.
    """
    for p in range(len(slot)):
        if slot[p] >= 0:
            rank = ends[slot[p], labels[p]]
            ends[slot[p], labels[p]] = rank + 1
            ranks[p] = rank
            out[rank] = labels[p]
