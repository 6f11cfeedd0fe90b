"""Sparse tables: rows of mostly zeros, made dense only in blocks: some columns for coding, some rows for walking.

A cell that is not stored is 0; one stored as NaN is missing.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from depthforest.base import Singles


class SparseTable:
    """A float32 table that stores only some cells and can replace a dense one.

    A slice of its rows is a dense block, which kernels can read; rows selected by a mask or by indices are again a
    sparse table.

    Parameters
    ----------
    matrix : (n, n_features) sparse matrix or array
    """

    itemsize = 4

    def __init__(self, matrix: Any) -> None:
        self.matrix = csr_array(matrix, dtype=np.float32)
        self.shape = self.matrix.shape

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, slice):
            return self.matrix[rows].toarray()
        return SparseTable(self.matrix[rows])

    @cached_property
    def _by_column(self) -> Any:
        return self.matrix.tocsc()

    def columns(self, block: range) -> Singles:
        """Return adjacent columns as a dense array, (n, n_columns) float32."""
        part: Singles = self._by_column[:, block.start : block.stop].toarray(order="C")
        return part
