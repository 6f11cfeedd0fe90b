"""Handing over: which nodes become whole subtrees of one worker, and which worker gets them together.

A node that stays shared costs messages at every level below it: tables or bins of all candidates. A node that is handed
over costs its pixels once: a few bytes each, and the crops that their probes read. docs/SCALING.md has the arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]

BUNDLES_PER_THREAD = 4
"""Bundles for each thread of the cluster: threads then end together, and a lost worker costs little."""

CROP_SHARE = 0.25
"""Of a thread's memory, for the crops of one bundle."""


@dataclass(frozen=True)
class Pixelware:
    """What the pixels of a tree weigh.

    Parameters
    ----------
    n_pixels, n_frames : int
        Of the whole tree.
    crop_bytes : float
        Of one frame.
    n_threads : int
        Of the cluster.
    memory_bytes : int or None
        Of a thread.
    """

    n_pixels: int
    n_frames: int
    crop_bytes: float
    n_threads: int
    memory_bytes: int | None

    @property
    def bundle_pixels(self) -> int:
        """How many pixels a bundle should have."""
        return max(1, self.n_pixels // (BUNDLES_PER_THREAD * self.n_threads))

    @property
    def limit(self) -> int:
        """The largest node, in pixels, that is handed over.

        Half a bundle, so that bundles can be packed evenly. Less where the crops of all frames do not fit a thread's
        memory: n pixels read at most n crops.
        """
        limit = self.bundle_pixels // 2
        if self.memory_bytes is not None and self.n_frames * self.crop_bytes > CROP_SHARE * self.memory_bytes:
            limit = min(limit, int(CROP_SHARE * self.memory_bytes / max(1.0, self.crop_bytes)))
        return max(limit, 1)


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
    which = (ends - totals) // size
    return np.split(nodes, np.flatnonzero(np.diff(which)) + 1)
