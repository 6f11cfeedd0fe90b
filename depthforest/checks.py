"""Checks: what counts as a number in an argument, numpy's own included; `True` is none."""

from __future__ import annotations

import numbers
from typing import TypeGuard


def is_whole(value: object) -> TypeGuard[int]:
    """Tell whether a value is a whole number."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """Tell whether a value is a real number; it may be infinite, or none (NaN)."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
