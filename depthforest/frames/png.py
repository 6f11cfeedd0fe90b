"""PNG files from arrays, encoded by kernels that release the GIL: several times as fast as zlib, about as small.

A PNG is a row of chunks around one deflate stream (RFC 1951). Of what deflate allows, this encoder uses the part that
pays for depth pictures and labels: each byte is stored as its difference from the byte above (PNG's filter Up), pixels
that came before at most 32 kB earlier are referred to, and all of it is one block with its own Huffman code. Repeats
are looked for pixel by pixel, at one earlier place each, where zlib looks byte by byte.
"""

from __future__ import annotations

import struct
import threading
import zlib

import cv2
import numpy as np
import numpy.typing as npt

from depthforest.base import Bytes, Longs, Scratch, UsageError, Words, kernel

GRAY, RGB, INDEXED = 0, 2, 3
"""PNG's color types."""

_UP = 2
"""PNG's filter: each byte is stored as the difference from the one above."""

_MAX_DISTANCE, _MIN_COPY, _MAX_COPY = 32768, 6, 258
"""Bytes. Deflate refers back so far and copies so much; shorter copies cost more bits than they save."""

_HASH_BITS, _HASH_SHIFT = 12, 8
"""Pixels are remembered by so many bits of a hash; the table stays in the first-level cache."""

_HASH = 40503
"""Spreads keys over the table: 2^16 divided by the golden ratio, so that no product needs more than 63 bits."""

_MAX_BYTES = 2**30
"""Of a picture: places are 32-bit numbers."""

_KEPT_BYTES = 2**25
"""32 MiB: of a block of scratch memory. Two panels of 1280 x 960 fit."""

_MAX_BITS = 15
"""Of a Huffman code in deflate."""

_END_OF_BLOCK, _N_LITERALS, _N_DISTANCES = 256, 286, 30
_WORD = 0xFFFFFFFF

_local = threading.local()
"""Of each thread: `scratch`, as large as the last pictures were."""


def _ranges(first: int, extra_bits: list[int]) -> npt.NDArray[np.int32]:
    """Return (number of the range, its extra bits, its start) for every value from 0: deflate's tables."""
    rows = [(0, 0, 0)] * first
    for number, bits in enumerate(extra_bits):
        rows += [(number, bits, len(rows))] * 2**bits
    return np.array(rows, dtype=np.int32)


_LENGTHS = _ranges(3, [0] * 8 + [bits for bits in range(1, 6) for _ in range(4)])[: _MAX_COPY + 1]
_LENGTHS[_MAX_COPY] = 28, 0, _MAX_COPY  # the longest has a code of its own
_DISTANCES = _ranges(1, [0] * 4 + [bits for bits in range(1, 14) for _ in range(2)])


def encode(array: Bytes, palette: Bytes | None = None) -> bytes:
    """Return a PNG file.

    Parameters
    ----------
    array : array (rows, cols) or (rows, cols, 3), uint8
        Gray values or RGB.
    palette : array (256, 3), uint8, optional
        The colors of the values of an array (rows, cols).
    """
    is_rgb = array.ndim == 3 and array.shape[2] == 3
    is_known = array.dtype == np.uint8 and (is_rgb or array.ndim == 2)
    if not is_known or array.size == 0 or (is_rgb and palette is not None):
        raise UsageError(f"a PNG holds gray values or RGB as uint8, got {array.dtype} of {array.shape}")
    color = RGB if is_rgb else GRAY if palette is None else INDEXED
    chunks = [_chunk(b"IHDR", struct.pack(">IIBBBBB", array.shape[1], array.shape[0], 8, color, 0, 0, 0))]
    if palette is not None:
        chunks.append(_chunk(b"PLTE", np.ascontiguousarray(palette, dtype=np.uint8).tobytes()))
    chunks += [_chunk(b"IDAT", _compressed(array)), _chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(content, zlib.crc32(kind)))


def _compressed(array: Bytes) -> bytes:
    """Return the zlib stream of an array's filtered rows."""
    if not hasattr(_local, "scratch"):
        _local.scratch = Scratch(_KEPT_BYTES)
    data, pixels, step = _filtered(array, _local.scratch)
    # as many copies as fit; a longest code for every byte, and the lengths of all codes before them
    copies, words = _local.scratch.take(
        "block", ((data.size // _MIN_COPY + 1, 3), np.int32), ((data.size * _MAX_BITS // 32 + 64,), np.uint32)
    )
    counts = np.zeros((2, _N_LITERALS), dtype=np.int64)
    places = np.full(2**_HASH_BITS, -1, dtype=np.int32)
    n_copies = _find_copies(data, pixels, step, _LENGTHS, _DISTANCES, places, counts, copies)
    codes = np.zeros((2, _N_LITERALS, 2), dtype=np.int64)
    for counted, code in zip(counts, codes, strict=True):
        _make_code(counted, code)
    n_written = _write_block(data.reshape(-1), copies, n_copies, codes, _LENGTHS, _DISTANCES, words)
    # low bytes first, as on all machines that numba knows
    content: bytes = words.view(np.uint8)[:n_written].tobytes()
    return b"\x78\x01" + content + zlib.adler32(data.data).to_bytes(4, "big")


def _filtered(array: Bytes, scratch: Scratch) -> tuple[Bytes, Words, int]:
    """Return rows as differences from the row above: as bytes, each row behind its filter's number, and as pixels.

    A pixel is one number, and one more follows the last; how many bytes a pixel has is returned too.
    """
    n_rows, n_cols = array.shape[:2]
    step = array.size // (n_rows * n_cols)
    if n_rows * (1 + step * n_cols) > _MAX_BYTES:
        raise UsageError(f"a picture of {array.shape} is too large for this encoder, which takes {_MAX_BYTES} bytes")
    data, numbers = scratch.take("data", ((n_rows, 1 + step * n_cols), np.uint8), ((n_rows * n_cols + 1,), np.uint32))
    data[:, 0] = _UP
    _subtract_above(np.ascontiguousarray(array).reshape(n_rows, -1), data[:, 1:])
    numbers[-1] = 0
    if step == 1:
        numbers[:-1].reshape(n_rows, n_cols)[:] = data[:, 1:]
    else:
        wide: Bytes = np.asarray(cv2.cvtColor(array, cv2.COLOR_RGB2RGBA), dtype=np.uint8).reshape(n_rows, -1)
        _subtract_above(wide, numbers[:-1].view(np.uint8).reshape(wide.shape))
    return data, numbers, step


def _subtract_above(rows: Bytes, differences: Bytes) -> None:
    differences[0] = rows[0]
    np.subtract(rows[1:], rows[:-1], out=differences[1:])


@kernel
def _find_copies(data, pixels, step, lengths, distances, places, counts, copies):  # type: ignore[no-untyped-def]
    """Find rows' pixels that repeat earlier ones: (where, how long, how far back), bytes; count all symbols.

    At each pixel, one place is tried: where a hash of it and the next was the same last. Return how many copies.
    """
    n_rows, n_cols = len(data), (data.shape[1] - 1) // step
    literals, n = counts[0], 0
    for row in range(n_rows):
        literals[_UP] += 1
        start, col = row * n_cols, 0
        while col < n_cols:
            at = start + col
            this, following = np.int64(pixels[at]), np.int64(pixels[at + 1])
            slot = ((this + following * 19) * _HASH >> _HASH_SHIFT) & (2**_HASH_BITS - 1)
            before = np.int64(places[slot])
            places[slot] = at
            length = 0
            if before >= 0 and pixels[before] == this and pixels[before + 1] == following:
                row_before = before // n_cols
                distance = (at - before) * step + row - row_before
                most = min(_MAX_COPY // step, n_cols - col, (row_before + 1) * n_cols - before)
                while length < most and pixels[before + length] == pixels[at + length]:
                    length += 1
                length *= step
                if length >= _MIN_COPY and distance <= _MAX_DISTANCE:
                    copies[n, 0], copies[n, 1], copies[n, 2] = row * data.shape[1] + 1 + col * step, length, distance
                    n += 1
                    literals[_END_OF_BLOCK + 1 + lengths[length, 0]] += 1
                    counts[1, distances[distance, 0]] += 1
                    col += length // step
                    continue
            for k in range(step):
                literals[this >> 8 * k & 255] += 1
            col += 1
    literals[_END_OF_BLOCK] = 1
    return n


@kernel
def _make_code(counts: Longs, code: Longs) -> None:
    """Fill the Huffman code of counted symbols: (bits, first bit lowest; how many); both 0 for those that are not used.

    A code of more than `_MAX_BITS` bits is made again from counts that differ less.
    """
    symbols = np.empty(len(counts), dtype=np.int64)
    n = 0
    for symbol in range(len(counts)):
        if counts[symbol] > 0:
            k = n  # sorted by insertion
            while k > 0 and counts[symbols[k - 1]] > counts[symbol]:
                symbols[k] = symbols[k - 1]
                k -= 1
            symbols[k] = symbol
            n += 1
    if n == 0:
        symbols[0], n = 0, 1  # some decoders want a code even where there is no symbol
    weights, parents = np.empty(2 * n, dtype=np.int64), np.empty(2 * n, dtype=np.int64)
    depths = np.ones(2 * n, dtype=np.int64)
    for k in range(n):
        weights[k] = counts[symbols[k]]
    is_long = n > 1
    while is_long:
        leaf, inner = 0, n  # the lightest that have no parent yet, of both kinds
        for made in range(n, 2 * n - 1):
            weights[made] = 0
            for _ in range(2):
                if leaf < n and (inner == made or weights[leaf] <= weights[inner]):
                    least, leaf = leaf, leaf + 1
                else:
                    least, inner = inner, inner + 1
                weights[made] += weights[least]
                parents[least] = made
        depths[2 * n - 2] = 0
        is_long = False
        for node in range(2 * n - 3, -1, -1):
            depths[node] = depths[parents[node]] + 1
            is_long = is_long or depths[node] > _MAX_BITS
        for k in range(n):
            weights[k] = (weights[k] + 1) // 2
    n_codes = np.zeros(_MAX_BITS + 2, dtype=np.int64)
    for k in range(n):
        code[symbols[k], 1] = depths[k]
        n_codes[depths[k]] += 1
    following = np.zeros(_MAX_BITS + 2, dtype=np.int64)
    for bits in range(1, _MAX_BITS + 1):
        following[bits + 1] = (following[bits] + n_codes[bits]) << 1
    for symbol in range(len(counts)):
        value, length = following[code[symbol, 1]], code[symbol, 1]
        following[length] += 1
        reverse = 0
        for _ in range(length):
            reverse = reverse << 1 | value & 1
            value >>= 1
        code[symbol, 0] = reverse


@kernel
def _put(words, n_words, held, n_held, bits, n_bits):  # type: ignore[no-untyped-def]
    """Append up to 31 bits to those that are held and write a word of 32 if there is one; return the new state."""
    held |= bits << n_held
    n_held += n_bits
    words[n_words] = held & _WORD
    n_full = n_held >> 5
    return n_words + n_full, held >> (n_full << 5), n_held & 31


@kernel
def _write_block(data, copies, n_copies, codes, lengths, distances, words):  # type: ignore[no-untyped-def]
    """Write the bytes as one last block of deflate with its own codes; return how many bytes it has."""
    literals, far = codes[0], codes[1]
    n_words, held, n_held = _put(words, 0, 0, 0, 0b101 | 29 << 3 | 29 << 8 | 15 << 13, 17)
    # code lengths are a code of 4 bits each, without deflate's abbreviations, which are the first three
    for k in range(19):
        n_words, held, n_held = _put(words, n_words, held, n_held, 0 if k < 3 else 4, 3)
    for k in range(_N_LITERALS + _N_DISTANCES):
        length = literals[k, 1] if k < _N_LITERALS else far[k - _N_LITERALS, 1]
        reverse = (length & 1) << 3 | (length & 2) << 1 | (length & 4) >> 1 | length >> 3
        n_words, held, n_held = _put(words, n_words, held, n_held, reverse, 4)
    at = 0
    for n in range(n_copies + 1):
        end = copies[n, 0] if n < n_copies else len(data)
        for k in range(at, end):
            byte = data[k]
            n_words, held, n_held = _put(words, n_words, held, n_held, literals[byte, 0], literals[byte, 1])
        at = end
        if n < n_copies:
            length, distance = copies[n, 1], copies[n, 2]
            number, n_extra, first = lengths[length]
            symbol = _END_OF_BLOCK + 1 + number
            bits = literals[symbol, 0] | (length - first) << literals[symbol, 1]
            n_words, held, n_held = _put(words, n_words, held, n_held, bits, literals[symbol, 1] + n_extra)
            number, n_extra, first = distances[distance]
            bits = far[number, 0] | (distance - first) << far[number, 1]
            n_words, held, n_held = _put(words, n_words, held, n_held, bits, far[number, 1] + n_extra)
            at += length
    n_words, held, n_held = _put(words, n_words, held, n_held, literals[_END_OF_BLOCK, 0], literals[_END_OF_BLOCK, 1])
    words[n_words] = held
    return 4 * n_words + (n_held + 7) // 8
