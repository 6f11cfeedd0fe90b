"""Sparse tables: rows of mostly zeros, made dense only in blocks: some columns to be coded, some rows to be walked.

A cell that is not stored is 0; one that is stored as NaN is missing.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from depthforest.base import Singles


class SparseTable:
    """A table of float32 that stands where a dense one does, and holds the cells that are stored.

    A slice of its rows is a dense block, which kernels read; rows that are chosen by a mask or by numbers are a sparse
    table again.

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
        """Return some columns that stand side by side, (n, n_columns) float32, dense."""
        part: Singles = self._by_column[:, block.start : block.stop].toarray(order="C")
        return part
