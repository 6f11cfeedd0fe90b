"""Splits: what a split of a node is, which columns a node draws, and when no better split can come.

Kernels check nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from depthforest.base import Ints, bare, inlined, number_below
from depthforest.ensemble.growth.columns import ABSENT, LEFT, Sides
from depthforest.ensemble.growth.sweeps import Rules

NO_FEATURE = -1

_HUGE = float(np.finfo(np.float64).max)
"""Below every score but that of no split, and its opposite above all."""


class Split(NamedTuple):
    """A split of a node: codes up to `code` of a column go left, values up to `threshold`.

    Of a categorical column `sides[1]` holds the side of every category. `missing` is the side of missing values, ABSENT
    where the node has none.
    """

    feature: Any
    code: Any
    threshold: float
    score: float
    missing: Any
    rank: Any
    """Which of the drawn columns it was: of equal scores the first drawn stays."""


@bare
def no_split() -> Split:
    """Return the split of a node that has none."""
    return Split(np.int64(NO_FEATURE), np.int64(0), 0.0, -np.inf, np.int64(ABSENT), np.int64(0))


@bare
def perfect_score(rules: Rules, n: int, weight: float) -> float:
    """Return a score that no split can beat, so that the search may end there: of equal scores the first stays."""
    if n == 2:  # there is one way to part two rows
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


@inlined
def draw_column(bits: np.uint64, n_drawn: int, drawn: Ints) -> Any:
    """Return one of the columns that are not drawn yet.

    `drawn` (2, n_features) holds all columns, those that were drawn in front, and what was exchanged.
    """
    other = n_drawn + number_below(bits, drawn.shape[1] - n_drawn)
    drawn[1, n_drawn] = other
    feature = np.int64(drawn[0, other])
    drawn[0, other] = drawn[0, n_drawn]
    drawn[0, n_drawn] = feature
    return feature


@inlined
def put_back(n_drawn: int, drawn: Ints) -> None:
    """Put columns back: every node draws from the same order, whatever was grown before it."""
    for i in range(n_drawn - 1, -1, -1):
        other = drawn[1, i]
        feature = drawn[0, i]
        drawn[0, i] = drawn[0, other]
        drawn[0, other] = feature
