"""Reusable scratch memory: fresh pages cost more than many of the loops that would fill them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

KEPT_BYTES = 2**28
"""256 MiB: the largest block to keep where no call is known to be the last. Labeling 640 x 480 pixels needs less."""

_ALIGNMENT = 64
"""Bytes: a cache line."""


class Scratch:
    """Blocks of memory by name; the next call with the same name overwrites a block. Not thread-safe.

    Parameters
    ----------
    max_kept : int, optional
        Bytes. A larger block lives only as long as its arrays, and the next call gets a new one. Default: keep all.
    """

    def __init__(self, max_kept: int | None = None) -> None:
        self._max_kept = max_kept
        self._blocks: dict[str, npt.NDArray[np.uint8]] = {}

    def take(self, name: str, *kinds: tuple[tuple[int, ...], npt.DTypeLike]) -> tuple[npt.NDArray[Any], ...]:
        """Return an array with arbitrary content for each (shape, dtype), all in one block.

        A kept block is as large as the largest request so far.
        """
        sizes = [math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in kinds]
        starts = [0]
        for size in sizes:
            starts.append(-(-(starts[-1] + size) // _ALIGNMENT) * _ALIGNMENT)
        block = self._blocks.get(name)
        if block is None or block.size < starts[-1]:
            self._blocks.pop(name, None)  # free the old block before making the larger one: both may not fit
            block = np.empty(starts[-1], dtype=np.uint8)
            if self._max_kept is None or block.size <= self._max_kept:
                self._blocks[name] = block
        return tuple(
            np.ndarray(shape, dtype, buffer=block, offset=start)
            for start, (shape, dtype) in zip(starts[:-1], kinds, strict=True)
        )
