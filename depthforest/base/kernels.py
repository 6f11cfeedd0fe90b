"""Compiled kernels: their decorators, and a prefetch hint for what a kernel reads a little later."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.dispatcher import Dispatcher
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

from depthforest.base.compiling.cache import KernelCache

_READ, _KEEP, _DATA = 0, 3, 1
"""Arguments of LLVM's prefetch: for reading, into all caches, data."""


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


def merged(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function as `bare` does, and let LLVM put it into the kernels that call it.

    For large ones of many arrays, which are slow to hand over. `inlined` copies the source into callers, which takes
    longer to compile; and numba leaves out what a parameter that is None rules out, which it cannot do of a copy.
    """
    return _compiled(function, _nrt=False, forceinline=True)


def _compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    # no wrapper for callers in C, which nothing here is; what LLVM shall inline is said, else a callee inherits it
    options = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, "forceinline": False} | options
    compiled: Callable[..., Any] = numba.njit(**options)(function)
    if isinstance(compiled, Dispatcher):  # else the compiler is off
        with contextlib.suppress(RuntimeError):  # no place for it
            compiled._cache = KernelCache(function)  # type: ignore[attr-defined]
    return compiled


@intrinsic
def prefetch(_typing_context: Any, array: Any, index: Any) -> tuple[Signature, Any] | None:
    """Ask for the cache line of an element of a contiguous array by its flat index. Nothing happens out of bounds."""
    if not isinstance(array, types.Array) or array.layout != "C" or not isinstance(index, types.Integer):
        return None

    def generate(context: Any, builder: Any, _signature: Signature, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), cgutils.voidptr_t)
        word = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, word, word, word])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], kind)
        builder.call(function, [pointer, word(_READ), word(_KEEP), word(_DATA)])
        return context.get_dummy_value()

    return types.void(array, index), generate
