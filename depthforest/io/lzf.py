"""LZF decompression, for binary_compressed PCD files.

A control byte below 32 starts a run of that many plus one literal bytes. Any other starts a copy of bytes that were
already written. Its upper three bits hold the length (7: plus the next byte; plus 2 always); its lower five bits and
one more byte hold how far back the copy starts (plus 1). Input is untrusted, so this kernel, unlike all others, checks
it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from depthforest.base import kernel

_READS_PAST_INPUT = -1
_WRITES_PAST_OUTPUT = -2
_COPIES_FROM_BEFORE_START = -3
_MESSAGES = {
    _READS_PAST_INPUT: "the data end in the middle of a run",
    _WRITES_PAST_OUTPUT: "they unpack to more bytes than announced",
    _COPIES_FROM_BEFORE_START: "a copy starts before the first byte",
}


@kernel
def _decompress(packed: npt.NDArray[np.uint8], unpacked: npt.NDArray[np.uint8]) -> int:
    """Unpack into `unpacked`; return how many bytes were written, or a negative error code."""
    n_in, n_out = packed.size, unpacked.size
    i = 0
    o = 0
    while i < n_in:
        control = np.int64(packed[i])
        i += 1
        if control < 32:
            n = control + 1
            if i + n > n_in:
                return _READS_PAST_INPUT
            if o + n > n_out:
                return _WRITES_PAST_OUTPUT
            for _ in range(n):
                unpacked[o] = packed[i]
                o += 1
                i += 1
            continue
        n = control >> 5
        n_more = 2 if n == 7 else 1
        if i + n_more > n_in:
            return _READS_PAST_INPUT
        if n == 7:
            n += np.int64(packed[i])
            i += 1
        n += 2
        source = o - (((control & 31) << 8) | np.int64(packed[i])) - 1
        i += 1
        if source < 0:
            return _COPIES_FROM_BEFORE_START
        if o + n > n_out:
            return _WRITES_PAST_OUTPUT
        # byte by byte: a copy may overlap what it writes
        for _ in range(n):
            unpacked[o] = unpacked[source]
            o += 1
            source += 1
    return o


def decompress(packed: bytes, n_bytes: int) -> npt.NDArray[np.uint8]:
    """Return the `n_bytes` that `packed` holds; ValueError if it holds anything else."""
    unpacked = np.empty(n_bytes, dtype=np.uint8)
    n = int(_decompress(np.frombuffer(packed, dtype=np.uint8), unpacked))
    if n != n_bytes:
        raise ValueError(_MESSAGES.get(n, f"they unpack to {n} bytes instead of {n_bytes}"))
    return unpacked
