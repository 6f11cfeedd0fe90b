"""The one decorator of compiled kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function when it is first called: serial, without the GIL, kept on disk for the next process.

    Divisions follow IEEE as in numpy, because the checks that raise ZeroDivisionError keep loops from vectorising. On a
    machine where no folder for numba's cache can be written, kernels are compiled in every process.
    """
    return _compiled(function)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function into each kernel that calls it: for large ones of many arrays, which are slow to hand over."""
    return _compiled(function, inline="always")


def bare(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function, and all that it calls, without reference counting.

    For kernels that take arrays out of tuples: each time, numba would count a reference atomically, which for a node of
    a few rows costs more than its split. Such a kernel cannot allocate or return arrays: all memory is its caller's.
    """
    return _compiled(function, _nrt=False)


def _compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    options |= {"nogil": True, "error_model": "numpy"}
    try:
        compiled: Callable[..., Any] = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no place for its cache
        compiled = numba.njit(**options)(function)
    return compiled
