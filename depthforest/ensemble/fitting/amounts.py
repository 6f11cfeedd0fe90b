"""Checks of parameters that say how many, how much or whether: whole numbers, numbers, shares, flags.

All estimators use these.
"""

from __future__ import annotations

import math
from typing import Any, TypeGuard

import numpy as np

from depthforest.base import UsageError, is_number, is_whole


def whole(name: str, value: Any, least: int) -> int:
    """Return a parameter that is a whole number and not too small."""
    if not is_whole(value) or value < least:
        raise UsageError(f"{name} must be a whole number from {least}, got {value!r}")
    return int(value)


def number(name: str, value: Any, least: float, most: float = math.inf) -> float:
    """Return a parameter that is a finite number within bounds."""
    if not is_number(value) or not least <= value <= most or math.isinf(value):
        bounds = f"from {least:g} to {most:g}" if math.isfinite(most) else f"from {least:g}"
        raise UsageError(f"{name} must be a number {bounds}, got {value!r}")
    return float(value)


def resolved_count(name: str, value: Any, n: int) -> int:
    """Return how many of n are drawn: a whole number as it is, a share of n (at least 1), None for n."""
    if value is None and name == "max_samples":
        return n
    if is_whole(value) and value >= 1:
        return int(value)
    if is_number(value) and not is_whole(value) and 0 < value <= 1:
        return max(1, int(value * n))
    raise UsageError(f"{name} must be a whole number from 1 or a share above 0 and up to 1.0, got {value!r}")


def share_count(name: str, value: Any, n: int) -> int:
    """Return how many of n a share above 0 and up to 1 is, whole numbers being shares too: at least 1."""
    share = number(name, value, 0, 1)
    if share == 0:
        raise UsageError(f"{name} must be above 0, got {value!r}")
    return max(1, int(share * n))


def is_flag(value: object) -> TypeGuard[bool]:
    """Tell whether a value is True or False, numpy's own included."""
    return isinstance(value, bool | np.bool_)
