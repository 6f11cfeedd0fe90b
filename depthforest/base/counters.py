"""Counter-based random numbers: any thread can compute any of them, alone and in any order.

This is SplitMix64: a counter times GOLDEN, then mixed by two multiplications.
"""

from __future__ import annotations

import numpy as np

from depthforest.base.kernels import kernel

GOLDEN, MIX_1, MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _32, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32), np.uint64(11)


@kernel
def mix(counter):  # type: ignore[no-untyped-def]  # inlined: takes and gives uint64
    """Return a random number for a counter."""
    mixed = (counter ^ (counter >> _30)) * MIX_1
    mixed = (mixed ^ (mixed >> _27)) * MIX_2
    return mixed ^ (mixed >> _31)


@kernel
def number_below(bits, n):  # type: ignore[no-untyped-def]  # inlined: takes uint64, gives int64
    """Return a whole number from 0 to n - 1 from random bits; n is up to 2^31."""
    return np.int64(((bits >> _32) * np.uint64(n)) >> _32)


@kernel
def share_of(bits):  # type: ignore[no-untyped-def]  # inlined: takes uint64, gives float64
    """Return a number from 0 up to, not including, 1 from random bits."""
    return np.float64(bits >> _11) * 2.0**-53
