"""Checks of parameters that are counts, numbers, shares or flags.

All estimators use these.
"""

from __future__ import annotations

import math
from typing import Any, TypeGuard

import numpy as np

from depthforest.base import UsageError, is_number, is_whole


def whole(name: str, value: Any, least: int) -> int:
    """Return a parameter after checking that it is a whole number of at least `least`."""
    if not is_whole(value) or value < least:
        raise UsageError(f"{name} must be a whole number from {least}, got {value!r}")
    return int(value)


def number(name: str, value: Any, least: float, most: float = math.inf) -> float:
    """Return a parameter after checking that it is a finite number within bounds."""
    if not is_number(value) or not least <= value <= most or math.isinf(value):
        bounds = f"from {least:g} to {most:g}" if math.isfinite(most) else f"from {least:g}"
        raise UsageError(f"{name} must be a number {bounds}, got {value!r}")
    return float(value)


def resolved_count(name: str, value: Any, n: int) -> int:
    """Return how many of n to draw: a whole number itself, a share of n (at least 1), n for None."""
    if value is None and name == "max_samples":
        return n
    if is_whole(value) and value >= 1:
        return int(value)
    if is_number(value) and not is_whole(value) and 0 < value <= 1:
        return max(1, int(value * n))
    raise UsageError(f"{name} must be a whole number from 1 or a share above 0 and up to 1.0, got {value!r}")


def share_count(name: str, value: Any, n: int) -> int:
    """Return how many of n a share above 0 and up to 1 is, at least 1; whole numbers count as shares, too."""
    share = number(name, value, 0, 1)
    if share == 0:
        raise UsageError(f"{name} must be above 0, got {value!r}")
    return max(1, int(share * n))


def is_flag(value: object) -> TypeGuard[bool]:
    """Tell whether a value is True or False, including numpy's own."""
    return isinstance(value, bool | np.bool_)
