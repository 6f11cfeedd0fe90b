"""Handing over: which nodes become subtrees of one worker, and which nodes a group of shards keeps.

A shared node costs messages at every level below it: tables or bins of all candidates. Handing a node over costs its
pixels once: a few bytes each, and the crops that their probes read. Before that, if there are many shards, nodes are
divided among smaller groups. docs/SCALING.md has the arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]

BUNDLES_PER_THREAD = 4
"""Most bundles per thread of the cluster: so threads finish together, and a lost worker costs little."""

BUNDLE_SHARE = 0.4
"""Share of all memory for the crops of all bundles."""

KEEP_SHARE = 0.3
"""Share of a thread's memory for the crops of its shards."""

TABLE_BYTES = 2**25
"""Approximate bytes scored together: many fit a worker, and a message does not block the others."""

TABLE_THREADS = 8
"""On clusters with more threads, more is scored together, because the scheduler has more tasks in the same time."""

TABLE_SHARE = 1 / 16
"""Largest share of a thread's memory for what is scored together; eight such messages are added at once."""

MAX_RANGES = 16
"""Most ranges of candidates that are scored separately while tables are small: each is a task for every shard, and the
scheduler takes about a millisecond per task."""

LEAST_CANDIDATES = 64
"""Fewest candidates of a range, if one node's fit: they share the drawing and the reading of crops."""

GROUP_SHARDS = 8
"""Approximate smallest number of shards in a group: a group with twice as many is divided."""

GROUP_NODES = 4
"""Approximate smallest number of nodes in a divided group: with few, some groups would get far more pixels."""

MOST_GROUPS = 8
"""Most groups that one is divided into at once: each of its shards makes a message for each."""


@dataclass(frozen=True)
class Pixelware:
    """Sizes of a tree's pixels, and of the cluster.

    Parameters
    ----------
    n_pixels, n_frames : int
        Pixels and frames of the whole tree.
    crop_bytes : float
        Crop bytes of one frame.
    n_threads : int
        Threads of the cluster.
    memory_bytes : int or None
        Memory of a thread.
    """

    n_pixels: int
    n_frames: int
    crop_bytes: float
    n_threads: int
    memory_bytes: int | None

    @property
    def n_bundles(self) -> int:
        """Number of bundles for all pixels; 0 if their crops do not fit the workers' memory: then all stay shared."""
        for n in range(BUNDLES_PER_THREAD * self.n_threads, 0, -self.n_threads):
            crops = n * min(self.n_frames, self.n_pixels / n) * self.crop_bytes
            if self.memory_bytes is None or crops <= BUNDLE_SHARE * self.memory_bytes * self.n_threads:
                return n
        return 0

    @property
    def bundle_pixels(self) -> int:
        """Target number of pixels in a bundle."""
        return max(1, self.n_pixels // max(1, self.n_bundles))

    @property
    def limit(self) -> int:
        """Largest node to hand over, in pixels: half a bundle, so that bundles can be packed evenly."""
        return max(1, self.bundle_pixels // 2) if self.n_bundles else 0

    @property
    def table_bytes(self) -> int:
        """Approximate bytes scored together."""
        room = TABLE_BYTES if self.memory_bytes is None else int(TABLE_SHARE * self.memory_bytes)
        return max(TABLE_BYTES, min(room, TABLE_BYTES * self.n_threads // TABLE_THREADS))

    def n_groups(self, n_shards: int, n_all: int, n_nodes: int) -> int:
        """Return into how many groups one with `n_shards` of `n_all` shards and `n_nodes` nodes is divided.

        Each group has pixels of nearly all frames, and so their crops, which must fit its share of the memory.
        """
        n = min(MOST_GROUPS, n_shards // GROUP_SHARDS)
        if self.memory_bytes is not None:
            room = KEEP_SHARE * self.memory_bytes * self.n_threads * n_shards / n_all
            n = min(n, int(room / max(1.0, self.n_frames * self.crop_bytes)))
        return n if n > 1 and n_nodes >= GROUP_NODES * n else 1


def is_dense(totals: Counts, cells: int) -> npt.NDArray[np.bool_]:
    """Tell which nodes are counted in tables; for the others, the bins of their pixels take fewer bytes.

    Parameters
    ----------
    totals : array (n,), int64
        Pixels of each node.
    cells : int
        Counts of a table: parts times bins.
    """
    return np.asarray(totals >= 2 * cells)


def questions(
    totals: Counts, n_candidates: int, cells: int, n_threads: int, table_bytes: int
) -> list[tuple[slice, int, int]]:
    """Return the nodes and the range of candidates of each question, such that the answers fit `table_bytes`.

    Parameters
    ----------
    totals : array (n,), int64
        Pixels of each node.
    n_candidates : int
    cells : int
        Counts of a table: parts times bins.
    n_threads : int
        Threads of the group: there is a range for each of them, up to a limit.
    table_bytes : int
    """
    found, costs = [], np.where(is_dense(totals, cells), 4 * cells, totals)  # bytes per candidate
    ends, begin = np.cumsum(costs), 0
    together = table_bytes // min(n_candidates, LEAST_CANDIDATES)
    while begin < len(totals):
        before = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + together, side="right")))
        width = table_bytes // (int(ends[end - 1]) - before)
        width = max(1, min(width, -(-n_candidates // min(n_threads, MAX_RANGES))))
        starts = range(0, n_candidates, width)
        found += [(slice(begin, end), first, min(first + width, n_candidates)) for first in starts]
        begin = end
    return found


def pack(nodes: Counts, totals: Counts, size: int) -> list[Counts]:
    """Return neighbors packed into bundles of about `size` pixels, at least one node each.

    Parameters
    ----------
    nodes : array (n,), int64
        Rising.
    totals : array (n,), int64
        Pixels of each.
    size : int
    """
    if not len(nodes):
        return []
    ends = np.cumsum(totals)
    which = (2 * ends - totals) // (2 * size)  # by the position of its middle
    return np.split(nodes, np.flatnonzero(np.diff(which)) + 1)
