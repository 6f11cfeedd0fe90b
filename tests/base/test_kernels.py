"""The decorators of kernels: what they compile a function to."""

from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from depthforest.base.kernels import bare, kernel


class Pair(NamedTuple):
    first: Any
    second: Any


SOURCE = """
def by_turns(pair, n):
    total, mine = 0.0, pair.first
    for k in range(n):
        total += mine[k]
        mine = pair.second if k % 2 == 0 else pair.first
    return total
"""


def fresh():
    """Return a function that no file holds, so that it is never read from numba's cache."""
    scope = {}
    exec(SOURCE, scope)
    return scope["by_turns"]


@pytest.mark.parametrize("decorator", [kernel, bare])
def test_arrays_come_out_of_tuples(decorator):
    pair = Pair(np.array([1.0, -2.0, 3.0]), np.array([4.0, 5.0, 6.0]))
    assert decorator(fresh())(pair, 3) == 1.0 + 5.0 + 3.0


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_bare_kernels_count_no_references():
    compiled = {}
    for decorator in (kernel, bare):
        function = decorator(fresh())
        function(Pair(np.ones(3), np.ones(3)), 3)
        compiled[decorator] = "".join(function.inspect_llvm().values())
    assert "NRT_decref" in compiled[kernel]
    assert "NRT_" not in compiled[bare]


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_bare_kernels_cannot_allocate():
    @bare
    def allocate(n):
        return np.empty(n).size

    with pytest.raises(numba.core.errors.NumbaError):
        allocate(3)
