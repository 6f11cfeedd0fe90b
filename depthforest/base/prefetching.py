"""Prefetching: asks the processor for memory that a kernel reads a little later, so that it need not wait then."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

_READ, _KEEP, _DATA = 0, 3, 1
"""Arguments of LLVM's intrinsic: for reading, into all caches, data."""


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
