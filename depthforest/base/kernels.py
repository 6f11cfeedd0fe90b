"""Compiled kernels: their decorators, and what kernels call: a prefetch, a sum of pairs, rows turned to columns."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.dispatcher import Dispatcher
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

from depthforest.base.compiling.cache import KernelCache

_READ, _KEEP, _DATA = 0, 3, 1
"""Arguments of LLVM's prefetch: for reading, into all caches, data."""

_PAIR = ir.VectorType(ir.DoubleType(), 2)

ROW = 8
"""Floats of a row of `turn_rows`, and rows that it takes at once."""

_ROW = ir.VectorType(ir.FloatType(), ROW)
_MIXED = (0, 8, 1, 9, 4, 12, 5, 13), (2, 10, 3, 11, 6, 14, 7, 15)
_TURNS = ((2, *_MIXED), (1, *_MIXED), (4, (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15)))
"""A square is turned in three rounds. Of two rows so far apart, one gets the first places of both, the other the second
ones."""


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function when it is first called: serial, without the GIL, kept on disk for the next process.

    Divisions follow IEEE as in numpy, because the checks that raise ZeroDivisionError keep loops from vectorizing.
    Without a writable folder for numba's cache, every process compiles its kernels.
    """
    return _compiled(function)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Inline a function into each kernel that calls it; for large ones with many arrays, which are slow to pass."""
    return _compiled(function, inline="always")


def bare(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function, and all that it calls, without reference counting.

    For kernels that take arrays out of tuples: numba would count each reference atomically, which costs more than the
    split of a node with a few rows. Such a kernel cannot allocate or return arrays: all memory is its caller's.
    """
    return _compiled(function, _nrt=False)


def merged(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function as `bare` does, and let LLVM inline it into the kernels that call it.

    For large functions with many arrays, which are slow to pass. `inlined` copies the source into callers, which takes
    longer to compile. Also, numba removes branches that a None parameter rules out, which it cannot do in such a copy.
    """
    return _compiled(function, _nrt=False, forceinline=True)


def _compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    # no wrapper for callers in C, as there are none; forceinline is explicit, because callees inherit it otherwise
    options = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, "forceinline": False} | options
    compiled: Callable[..., Any] = numba.njit(**options)(function)
    if isinstance(compiled, Dispatcher):  # else the compiler is off
        with contextlib.suppress(RuntimeError):  # no place for it
            compiled._cache = KernelCache(function)  # type: ignore[attr-defined]
    return compiled


def _inserted(plain: Callable[..., None]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make an intrinsic of a function that inserts code into kernels; `plain` replaces it where the compiler is off."""

    def chosen(insert: Callable[..., Any]) -> Callable[..., Any]:
        made: Callable[..., Any] = plain if numba.config.DISABLE_JIT else intrinsic(insert)
        return made

    return chosen


def _pass_over(array: Any, index: Any) -> None:
    """Do nothing: a hint."""


def _add_both(array: Any, index: Any, first: float, second: float) -> None:
    array[index] += first
    array[index + np.uint64(1)] += second


def _turn_rows(values: Any, rows: Any, first: Any, columns: Any) -> None:
    columns[:, first : first + np.uint64(ROW)] = values[rows[first : first + np.uint64(ROW)]].T


@_inserted(_pass_over)
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


@_inserted(_add_both)
def add_pair(_typing_context: Any, array: Any, index: Any, _first: Any, _second: Any) -> tuple[Signature, Any] | None:
    """Add two numbers to neighbors in a contiguous float64 array, at a flat index and the next, in one instruction.

    The compiler does not find such pairs by itself. Sums are the same to the bit, and histograms of pairs are a third
    faster. The index is a uint64.
    """
    is_array = isinstance(array, types.Array) and array.layout == "C" and array.dtype == types.float64
    if not is_array or index != types.uint64:
        return None

    def generate(context: Any, builder: Any, _signature: Signature, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), _PAIR.as_pointer())
        pair = ir.Constant(_PAIR, ir.Undefined)
        for place in range(2):
            pair = builder.insert_element(pair, arguments[2 + place], ir.IntType(32)(place))
        alone = types.float64.bitwidth // 8  # the alignment of one number: pairs may begin anywhere
        builder.store(builder.fadd(builder.load(pointer, align=alone), pair), pointer, align=alone)
        return context.get_dummy_value()

    return types.void(array, index, types.float64, types.float64), generate


@_inserted(_turn_rows)
def turn_rows(_typing_context: Any, values: Any, rows: Any, first: Any, columns: Any) -> tuple[Signature, Any] | None:
    """Write the rows `rows[first : first + ROW]` of a float32 array (n, ROW) to the columns from `first` on of another.

    A row is read whole, and `ROW` of them are turned in registers: number by number, the compiler would copy each by
    itself. All arrays are contiguous; `columns` is (ROW, m), `rows` int32, `first` uint64.
    """
    are_tables = _is_plain(values, types.float32, 2) and _is_plain(columns, types.float32, 2)
    if first != types.uint64 or not are_tables or not _is_plain(rows, types.int32, 1):
        return None

    def generate(context: Any, builder: Any, _signature: Signature, arguments: Any) -> Any:
        table, numbers, out = (
            context.make_array(array)(context, builder, arguments[k])
            for array, k in ((values, 0), (rows, 1), (columns, 3))
        )
        start, word, alone = arguments[2], ir.IntType(64), types.float32.bitwidth // 8
        turned = []
        for k in range(ROW):
            row = builder.load(builder.gep(numbers.data, [builder.add(start, word(k))]))
            place = builder.mul(builder.zext(row, word), word(ROW))
            pointer = builder.bitcast(builder.gep(table.data, [place]), _ROW.as_pointer())
            turned.append(builder.load(pointer, align=alone))
        for apart, *halves in _TURNS:
            for k in range(ROW):
                if not k & apart:
                    pair = turned[k], turned[k + apart]
                    turned[k], turned[k + apart] = (builder.shuffle_vector(*pair, _mask(half)) for half in halves)
        n_columns = cgutils.unpack_tuple(builder, out.shape)[1]
        for k, column in enumerate(turned):
            place = builder.add(builder.mul(word(k), n_columns), start)
            pointer = builder.bitcast(builder.gep(out.data, [place]), _ROW.as_pointer())
            builder.store(column, pointer, align=alone)
        return context.get_dummy_value()

    return types.void(values, rows, first, columns), generate


def _is_plain(array: Any, dtype: Any, n_dimensions: int) -> bool:
    """Tell whether a type is that of a contiguous array of a number type."""
    is_array = isinstance(array, types.Array) and array.layout == "C"
    return bool(is_array and array.dtype == dtype and array.ndim == n_dimensions)


def _mask(places: tuple[int, ...]) -> Any:
    """Return places of two vectors as `shuffle_vector` takes them."""
    return ir.Constant(ir.VectorType(ir.IntType(32), ROW), list(places))
