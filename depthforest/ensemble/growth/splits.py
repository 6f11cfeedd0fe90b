"""Splits: the definition of a split, which rows go left, which columns a node draws, and the bound of all scores.

Kernels check nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from depthforest.base import Bytes, Ints, bare, inlined, number_below
from depthforest.ensemble.growth.binning import Binned
from depthforest.ensemble.growth.columns import ABSENT, IS_CATEGORICAL, LEFT, N_CODES, Sides, reads_rows
from depthforest.ensemble.growth.sweeps import Rules

NO_FEATURE = -1

_HUGE = float(np.finfo(np.float64).max)
"""Below every score except that of no split, and its opposite above all."""


class Split(NamedTuple):
    """A split of a node: codes up to `code` of a column go left, that is, values up to `threshold`.

    For a categorical column, `sides[1]` holds the side of every category. `missing` is the side of missing values,
    ABSENT if the node has none.
    """

    feature: Any
    code: Any
    threshold: float
    score: float
    missing: Any
    rank: Any
    """Rank of the column among those drawn: among equal scores the first drawn stays."""


@bare
def no_split() -> Split:
    """Return the split of a node without a split."""
    return Split(np.int64(NO_FEATURE), np.int64(0), 0.0, -np.inf, np.int64(ABSENT), np.int64(0))


@bare
def perfect_score(rules: Rules, n: int, weight: float) -> float:
    """Return a score that no split can beat, which ends the search: among equal scores the first stays."""
    if n == 2:  # there is only one way to separate two rows
        return -_HUGE
    if rules.is_number:
        return np.inf
    return 0.0 if rules.is_entropy else weight


@inlined
def goes_left(split: Split, key: int, missing: int, is_categorical: bool, sides: Sides) -> Any:
    """Return whether rows of a code go left; `missing` is the code of missing values."""
    is_left: Any = key <= split.code
    if is_categorical and key < missing:
        is_left = sides[1, key] == LEFT
    if key == missing:
        is_left = split.missing == LEFT
    return is_left


@bare
def part_rows(
    binned: Binned, begin: int, end: int, split: Split, sides: Sides, rows: Ints, spare: Ints, flags: Bytes
) -> Any:
    """Move the rows that go left to the front, both groups in stable order; return where the others begin.

    Unless empty, `flags` gets 1 for each row that went left, in the original order.
    """
    codes, by_row, wide, columns = binned.codes, binned.by_row, binned.wide, binned.columns
    feature = np.uint64(split.feature)
    missing = columns[split.feature, N_CODES]
    at, n_right = np.uint64(begin), np.uint64(0)
    is_wide, is_sparse = codes.shape[0] == 0, reads_rows(codes, end - begin)
    is_categorical = columns[split.feature, IS_CATEGORICAL] == 1
    is_plain = not is_categorical and split.missing == ABSENT and not is_wide
    has_flags = len(flags) > 0
    limit = np.uint8(min(split.code, 255))
    for i in range(np.uint64(begin), np.uint64(end)):
        row = rows[i]
        if is_plain:
            byte = by_row[np.uint64(row), feature] if is_sparse else codes[feature, np.uint64(row)]
            is_left = np.uint64(byte <= limit)
        else:
            if is_sparse:
                key = np.int64(by_row[np.uint64(row), feature])
            else:
                key = np.int64(wide[feature, row]) if is_wide else np.int64(codes[feature, row])
            is_left = np.uint64(goes_left(split, key, missing, is_categorical, sides))
        if has_flags:
            flags[i - np.uint64(begin)] = is_left
        # written to both positions but counted in one, to avoid mispredicted branches; nothing unread is overwritten
        rows[at] = row
        spare[n_right] = row
        at += is_left
        n_right += np.uint64(1) - is_left
    for i in range(n_right):
        rows[at + i] = spare[i]
    return np.int64(at)


@inlined
def draw_column(bits: np.uint64, n_drawn: int, drawn: Ints) -> Any:
    """Return one of the columns that have not been drawn yet.

    `drawn` (2, n_features) holds all columns, with the drawn ones in front, and the exchanges made.
    """
    other = n_drawn + number_below(bits, drawn.shape[1] - n_drawn)
    drawn[1, n_drawn] = other
    feature = np.int64(drawn[0, other])
    drawn[0, other] = drawn[0, n_drawn]
    drawn[0, n_drawn] = feature
    return feature


@inlined
def put_back(n_drawn: int, drawn: Ints) -> None:
    """Restore the order of the columns, so that every node draws from the same order."""
    for i in range(n_drawn - 1, -1, -1):
        other = drawn[1, i]
        feature = drawn[0, i]
        drawn[0, i] = drawn[0, other]
        drawn[0, other] = feature
