"""Sparse rows: distributions in 255ths without their zeros, as files hold them where leaves have many rows.

    row_lengths  uint8 (leaves, facings)   how many parts of each row are above 0
    row_parts    uint8 (entries,)          which, rising
    row_shares   uint8 (entries,)          their 255ths

Given facing, a leaf knows a handful of parts; 31 columns of zeros would make a file four times as large.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from depthforest.errors import ModelError
from depthforest.modelfile import MAX_FILE_BYTES, Column

SCHEMA = {
    "row_lengths": Column("uint8", ("leaves", "facings")),
    "row_parts": Column("uint8", ("entries",)),
    "row_shares": Column("uint8", ("entries",)),
}

Bytes = npt.NDArray[np.uint8]


def packed(rows: Bytes, n_facings: int) -> dict[str, Bytes]:
    """Return the columns of rows (n_leaves * n_facings, n_parts), whose parts are fewer than 256."""
    is_there = rows > 0
    lengths = is_there.sum(axis=1, dtype=np.uint8).reshape(-1, n_facings)
    return {
        "row_lengths": lengths,
        "row_parts": np.nonzero(is_there)[1].astype(np.uint8),
        "row_shares": rows[is_there],
    }


def unpacked(columns: Mapping[str, npt.NDArray[np.generic]], n_parts: int) -> Bytes:
    """Return the rows (n_leaves * n_facings, n_parts) of columns that have their types; ModelError if they cannot be.

    That each row sums to 255 is left to who knows what it is.
    """
    lengths = np.asarray(columns["row_lengths"], dtype=np.uint8).reshape(-1)
    parts, shares = np.asarray(columns["row_parts"]), np.asarray(columns["row_shares"], dtype=np.uint8)
    if len(lengths) * n_parts > MAX_FILE_BYTES:
        raise ModelError(f"{len(lengths)} rows of {n_parts} parts need more than {MAX_FILE_BYTES} bytes of memory")
    n_entries = int(lengths.sum(dtype=np.int64))
    if n_entries != len(parts) or len(parts) != len(shares):
        raise ModelError(
            f"row_lengths sum to {n_entries}, but there are {len(parts)} row_parts and {len(shares)} row_shares"
        )
    numbers = np.repeat(np.arange(len(lengths)), lengths)
    # as one rising number: row, then part
    flat = numbers * n_parts + parts.astype(np.int64)
    if len(parts) and (int(parts.max()) >= n_parts or not (np.diff(flat) > 0).all()):
        raise ModelError(f"row_parts must rise within each row and be below {n_parts}")
    rows = np.zeros(len(lengths) * n_parts, dtype=np.uint8)
    rows[flat] = shares
    return rows.reshape(-1, n_parts)
