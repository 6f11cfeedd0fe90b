"""Checks of parameters that say how many or how much: whole numbers, amounts, shares. `diversebase` uses these."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from depthforest.errors import UsageError


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_fraction(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, Integral)


def check_whole(name: str, value: Any, *, least: int) -> None:
    """Refuse a parameter that is no whole number of at least `least`."""
    if not _is_whole(value) or value < least:
        raise UsageError(f"{name} must be a whole number of at least {least}, got {value!r}")


def check_amount(name: str, value: Any, *, most: float) -> None:
    """Refuse a parameter that is no finite number from 0 to `most`."""
    if not (_is_whole(value) or _is_fraction(value)) or not 0 <= value <= most or value == np.inf:
        limits = "of at least 0" if most == np.inf else f"from 0 to {most:g}"
        raise UsageError(f"{name} must be a number {limits}, got {value!r}")


def resolved_count(name: str, value: Any, n: int) -> int:
    """Return how many of n are drawn: a whole number as it is, a share of n (at least 1), None for n."""
    if value is None and name == "max_samples":
        return n
    if _is_whole(value) and value >= 1:
        return int(value)
    if _is_fraction(value) and 0 < value <= 1:
        return max(1, int(value * n))
    raise UsageError(f"{name} must be a whole number of at least 1 or a share above 0 and up to 1.0, got {value!r}")
