"""Sparse rows: distributions in 255ths without their zeros, as files hold them where leaves have many rows.

    row_lengths  uint8 (leaves, facings)   how many parts of each row are above 0
    row_parts    uint8 (entries,)          which, rising
    row_shares   uint8 (entries,)          their 255ths

Given the facing, a leaf has a handful of parts; storing the zeros of 31 columns would make a file four times as large.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from depthforest.base import MAX_FILE_BYTES, Bytes, Column, ModelError, kernel

SCHEMA = {
    "row_lengths": Column("uint8", ("leaves", "facings")),
    "row_parts": Column("uint8", ("entries",)),
    "row_shares": Column("uint8", ("entries",)),
}


def packed(rows: Bytes, n_facings: int) -> dict[str, Bytes]:
    """Return the columns of rows (n_leaves * n_facings, n_parts), whose parts are fewer than 256.

    ModelError if `unpacked` would refuse them: few entries may stand for more rows than a reader allocates memory for.
    """
    _check_size(*rows.shape)
    is_there = rows > 0
    lengths = is_there.sum(axis=1, dtype=np.uint8).reshape(-1, n_facings)
    return {
        "row_lengths": lengths,
        "row_parts": np.nonzero(is_there)[1].astype(np.uint8),
        "row_shares": rows[is_there],
    }


def unpacked(columns: Mapping[str, npt.NDArray[np.generic]], n_parts: int) -> Bytes:
    """Return the rows (n_leaves * n_facings, n_parts) of columns of the right types; ModelError for invalid content.

    The caller checks that each row sums to 255.
    """
    lengths = np.ascontiguousarray(columns["row_lengths"], dtype=np.uint8).reshape(-1)
    parts, shares = (np.ascontiguousarray(columns[name], dtype=np.uint8) for name in ("row_parts", "row_shares"))
    n_entries = int(lengths.sum(dtype=np.int64))
    if n_entries != len(parts) or len(parts) != len(shares):
        raise ModelError(
            f"row_lengths sum to {n_entries}, but there are {len(parts)} row_parts and {len(shares)} row_shares"
        )
    _check_size(len(lengths), n_parts)
    rows = np.zeros((len(lengths), n_parts), dtype=np.uint8)
    bad = _unpack(lengths, parts, shares, rows)
    if bad >= 0:
        raise ModelError(f"row {bad} must have parts that rise and are below {n_parts}, and shares above 0")
    return rows


def _check_size(n_rows: int, n_parts: int) -> None:
    if n_rows * n_parts > MAX_FILE_BYTES:
        raise ModelError(f"{n_rows} rows of {n_parts} parts need more than {MAX_FILE_BYTES} bytes of memory")


@kernel
def _unpack(lengths: Bytes, parts: Bytes, shares: Bytes, rows: Bytes) -> int:
    """Fill the rows; return the first invalid one, or -1."""
    entry = 0
    for row in range(len(lengths)):
        before = np.int64(-1)
        for _ in range(lengths[row]):
            part = np.int64(parts[entry])
            if part <= before or part >= rows.shape[1] or shares[entry] == 0:
                return row
            rows[row, part] = shares[entry]
            before = part
            entry += 1
    return -1
