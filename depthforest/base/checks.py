"""Checks of arguments. numpy's numbers count as numbers; `True` does not."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import TypeGuard

from depthforest.base.errors import DepthForestError, UsageError


def is_whole(value: object, low: float = -math.inf, high: float = math.inf) -> TypeGuard[int]:
    """Tell whether a value is a whole number from `low` to `high`."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and low <= int(value) <= high


def is_number(value: object) -> TypeGuard[float]:
    """Tell whether a value is a real number; it may be infinite or NaN."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_finite(value: object) -> TypeGuard[float]:
    """Tell whether a value is a real number that a float can hold; neither infinite nor NaN."""
    try:
        return is_number(value) and math.isfinite(value)
    except OverflowError:  # a whole number of hundreds of digits
        return False


def check_range(
    name: str,
    value: float,
    low: float,
    high: float,
    *,
    error_type: type[DepthForestError] = UsageError,
    style: str = "",
) -> None:
    """Raise `error_type` if a number is not from `low` to `high`; `style` formats the numbers of the message."""
    if not low <= value <= high:
        raise error_type(f"{name} must be from {low:{style}} to {high:{style}}, got {value:{style}}")


def check_flag(name: str, value: object) -> None:
    """Raise UsageError if a value is neither True nor False; a text such as "no" would count as true."""
    if not isinstance(value, bool) and type(value).__name__ not in ("bool_", "bool"):  # numpy's
        raise UsageError(f"{name} must be True or False, got {value!r}")


def check_choice(
    name: str, value: object, known: Sequence[str], *, error_type: type[DepthForestError] = UsageError
) -> None:
    """Raise `error_type` if a value is not one of the known ones."""
    if value not in known:
        raise error_type(f"{name} must be one of {', '.join(known)}; got {value!r}")
