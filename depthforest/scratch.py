"""Scratch memory that is used again: fresh pages cost more than many of the loops that would fill them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt


class Scratch:
    """Arrays by name, each in memory that the next call with the same name overwrites. Not for several threads."""

    def __init__(self) -> None:
        self._blocks: dict[str, npt.NDArray[np.uint8]] = {}

    def take(self, name: str, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return an array with arbitrary content; memory grows to the largest that was asked for."""
        n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
        block = self._blocks.get(name)
        if block is None or block.size < n_bytes:
            self._blocks.pop(name, None)  # before the larger one is made: both may not fit
            block = self._blocks[name] = np.empty(n_bytes, dtype=np.uint8)
        return block[:n_bytes].view(dtype).reshape(shape)
