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
from depthforest.features import scaled_offset
from depthforest.frames import LabeledFrame
from depthforest.kernels import kernel
from depthforest.parts import PartSet
from depthforest.sampling import Pixels, read_pixels
from depthforest.splitting import count_bins
from depthforest.trainconfig import LADDER_BITS, TrainConfig

BLOCK_FRAMES = 32
"""Frames that are read together when a shard doesn't keep its pixels: a few MB."""

OUT = -1
"""Node of a pixel that has reached a leaf."""

_SHIFT = np.uint32(LADDER_BITS)


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
        self._scratch = np.empty(0, dtype=np.uint8)

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
        """Return the class counts (n_open, n_parts) of the open nodes."""
        n_parts = len(self._part_set)
        is_in = self.nodes != OUT
        cells = self.nodes[is_in].astype(np.int64) * n_parts + self.labels[is_in]
        return np.bincount(cells, minlength=n_open * n_parts).reshape(n_open, n_parts).astype(np.int64)

    def count(self, batch: Batch, n_bins: int) -> npt.NDArray[np.int32]:
        """Return class histograms (n_nodes, n_candidates, n_parts, n_bins) of a batch of large nodes."""
        bins, labels, starts = self.bins(batch)
        out = np.zeros((len(batch.nodes), batch.n_candidates, len(self._part_set), n_bins), dtype=np.int32)
        count_bins(bins, labels, starts, np.arange(len(batch.nodes)), out)
        return out

    def bins(self, batch: Batch) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
        """Return the bins and labels of the pixels of a batch of nodes.

        Returns
        -------
        bins : array (n, n_candidates), uint8
            Sorted by node, then by label. In memory that the next call uses again.
        labels : array (n,), uint8
        starts : array (n_nodes + 1,), int64
            Where each node's pixels begin.
        """
        n_parts = len(self._part_set)
        slots = np.full(batch.n_open + 1, OUT, dtype=np.int32)  # the last entry is for pixels that are out
        slots[batch.nodes] = np.arange(len(batch.nodes), dtype=np.int32)
        slot = slots[self.nodes]
        ranks = np.empty(len(slot), dtype=np.int64)
        ends = np.zeros(len(batch.nodes) * n_parts + 1, dtype=np.int64)
        _rank(slot, self.labels, n_parts, ends, ranks)
        starts = np.ascontiguousarray(np.concatenate(([0], ends[n_parts - 1 :: n_parts][: len(batch.nodes)])))
        n = int(starts[-1])
        if self._scratch.size < n * batch.n_candidates:
            self._scratch = np.empty(n * batch.n_candidates, dtype=np.uint8)
        bins = self._scratch[: n * batch.n_candidates].reshape(n, batch.n_candidates)
        labels = np.empty(n, dtype=np.uint8)
        labels[ranks[slot != OUT]] = self.labels[slot != OUT]
        chosen = batch.candidates
        n_steps = self._config.thresholds
        for part, pixels in self._pixels():
            _fill_bins(
                pixels.depth, pixels.starts, pixels.shapes, pixels.places, pixels.scales, slot[part], ranks[part],
                chosen.probes, chosen.lows, chosen.steps, chosen.factors, n_steps, bins,
            )  # fmt: skip
        return bins, labels, starts

    def apply(self, splits: Splits) -> None:
        """Move every pixel of an open node to the child that it belongs to."""
        for part, pixels in self._pixels():
            _move(
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
            _walk(
                pixels.depth, pixels.starts, pixels.shapes, pixels.places, pixels.scales,
                offsets, wide, children, ends[part],
            )  # fmt: skip
        return ends


@kernel
def _rank(
    slots: npt.NDArray[np.int32],
    labels: npt.NDArray[np.uint8],
    n_parts: int,
    ends: npt.NDArray[np.int64],
    out: npt.NDArray[np.int64],
) -> None:
    """Sort pixels by (slot, label), stable; afterwards `ends[slot * n_parts + label]` is where the cell ends."""
    for p in range(len(slots)):
        if slots[p] >= 0:
            ends[slots[p] * n_parts + labels[p] + 1] += 1
    for cell in range(len(ends) - 1):
        ends[cell + 1] += ends[cell]
    for p in range(len(slots)):
        if slots[p] >= 0:
            cell = slots[p] * n_parts + labels[p]
            out[p] = ends[cell]
            ends[cell] += 1


@kernel
def _find_probes(
    xs: npt.NDArray[np.float32],
    ys: npt.NDArray[np.float32],
    scale_x: np.float32,
    scale_y: np.float32,
    row: np.int32,
    col: np.int32,
    last_row: np.int32,
    n_cols: np.int32,
    out: npt.NDArray[np.int32],
) -> None:
    """Find each probe's position in the crop, clamped to the border. It vectorises, because it reads no image."""
    last_col = np.int32(n_cols - 1)
    for i in range(len(xs)):
        r = np.int32(min(max(np.int32(row + scaled_offset(ys[i], scale_y)), np.int32(0)), last_row))
        c = np.int32(min(max(np.int32(col + scaled_offset(xs[i], scale_x)), np.int32(0)), last_col))
        out[i] = np.int32(np.int32(r * n_cols) + c)


@kernel
def _subtract(
    image: npt.NDArray[np.uint16],
    ones: npt.NDArray[np.int32],
    others: npt.NDArray[np.int32],
    out: npt.NDArray[np.int32],
) -> None:
    """Read both probes of each pair: the one place where training reads an image."""
    for i in range(len(ones)):
        out[i] = np.int32(image[ones[i]]) - np.int32(image[others[i]])


@kernel
def _find_bins(
    responses: npt.NDArray[np.int32],
    lows: npt.NDArray[np.int32],
    steps: npt.NDArray[np.int32],
    factors: npt.NDArray[np.uint32],
    n_thresholds: int,
    out: npt.NDArray[np.uint8],
) -> None:
    """Find the bin of each response: (response - low) / step, clipped to 0 ... n_thresholds."""
    n_bins = np.int32(n_thresholds + 1)
    for i in range(len(responses)):
        highest = np.int32(np.int32(n_bins * steps[i]) - 1)
        above = np.int32(min(max(np.int32(responses[i] - lows[i]), np.int32(0)), highest))
        out[i] = np.uint8(np.uint32(np.uint32(above) * factors[i]) >> _SHIFT)


@kernel
def _fill_bins(
    depth: npt.NDArray[np.uint16],
    starts: npt.NDArray[np.int64],
    shapes: npt.NDArray[np.int32],
    places: npt.NDArray[np.int32],
    scales: npt.NDArray[np.float32],
    slots: npt.NDArray[np.int32],
    ranks: npt.NDArray[np.int64],
    probes: npt.NDArray[np.float32],
    lows: npt.NDArray[np.int32],
    steps: npt.NDArray[np.int32],
    factors: npt.NDArray[np.uint32],
    n_thresholds: int,
    out: npt.NDArray[np.uint8],
) -> None:
    """Fill the bins of all candidates of each pixel, image by image, so that depth is read from the cache."""
    n = probes.shape[2]
    ones, others, responses = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    for p in range(len(slots)):
        node = slots[p]
        if node < 0:
            continue
        x, y, row, col = scales[p, 0], scales[p, 1], places[p, 0], places[p, 1]
        last_row, n_cols = np.int32(shapes[p, 0] - 1), shapes[p, 1]
        _find_probes(probes[node, 0], probes[node, 1], x, y, row, col, last_row, n_cols, ones)
        _find_probes(probes[node, 2], probes[node, 3], x, y, row, col, last_row, n_cols, others)
        _subtract(depth[starts[p] :], ones, others, responses)
        _find_bins(responses, lows[node], steps[node], factors[node], n_thresholds, out[ranks[p]])


@kernel
def _move(
    depth: npt.NDArray[np.uint16],
    starts: npt.NDArray[np.int64],
    shapes: npt.NDArray[np.int32],
    places: npt.NDArray[np.int32],
    scales: npt.NDArray[np.float32],
    probes: npt.NDArray[np.float32],
    thresholds: npt.NDArray[np.int32],
    children: npt.NDArray[np.int32],
    nodes: npt.NDArray[np.int32],
) -> None:
    """Replace the open node of each pixel by its child's number: right where the response is above the threshold."""
    found = np.empty(3, np.int32)
    for p in range(len(nodes)):
        node = nodes[p]
        if node < 0:
            continue
        if children[node, 0] < 0:
            nodes[p] = OUT
            continue
        image = depth[starts[p] :]
        is_right = _response(image, shapes[p], places[p], scales[p], probes[node], found) > thresholds[node]
        nodes[p] = children[node, 1] if is_right else children[node, 0]


@kernel
def _response(
    image: npt.NDArray[np.uint16],
    shape: npt.NDArray[np.int32],
    place: npt.NDArray[np.int32],
    scale: npt.NDArray[np.float32],
    pair: npt.NDArray[np.float32],
    found: npt.NDArray[np.int32],
) -> np.int32:
    """Return the response of one pair at one pixel; `found` is scratch (3,)."""
    last_row = np.int32(shape[0] - 1)
    one, other, response = found[0:1], found[1:2], found[2:3]
    _find_probes(pair[0:1], pair[1:2], scale[0], scale[1], place[0], place[1], last_row, shape[1], one)
    _find_probes(pair[2:3], pair[3:4], scale[0], scale[1], place[0], place[1], last_row, shape[1], other)
    _subtract(image, one, other, response)
    return np.int32(response[0])


@kernel
def _walk(
    depth: npt.NDArray[np.uint16],
    starts: npt.NDArray[np.int64],
    shapes: npt.NDArray[np.int32],
    places: npt.NDArray[np.int32],
    scales: npt.NDArray[np.float32],
    offsets: npt.NDArray[np.float32],
    thresholds: npt.NDArray[np.int32],
    children: npt.NDArray[np.int32],
    ends: npt.NDArray[np.int32],
) -> None:
    """Walk each pixel from the node it is at to a value below 0."""
    found = np.empty(3, np.int32)
    for p in range(len(ends)):
        node = ends[p]
        image = depth[starts[p] :]
        while node >= 0:
            is_right = _response(image, shapes[p], places[p], scales[p], offsets[node], found) > thresholds[node]
            node = children[node, 1] if is_right else children[node, 0]
        ends[p] = node
