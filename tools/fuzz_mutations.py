"""Mutations of files that keep the structure of their format, for `fuzz`.

`mutated` changes the content of one file, depending on its format: chunks of a PNG with correct checksums, tags of a
TIFF, the header of a NumPy array, members of an archive, values of JSON, words of a text, whole numbers in any binary
file. The result only depends on the content and the random generator.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from model_mutants import MUTATIONS, mutate_json

Rng = np.random.Generator

ODD_NUMBERS = (
    0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 127, 128, 255, 256, 257, 4095, 8192, 8193, 32767, 32768, 65535, 65536, 2**20,
    2**24, 2**26, 2**26 + 1, 2**28, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**48, 2**62, 2**63 - 1, 2**64 - 1,
)  # fmt: skip

ODD_WORDS = (
    b"", b"0", b"-0", b"1", b"-1", b"nan", b"NaN", b"inf", b"-inf", b"1e999", b"1e-999", b"1e308", b"1_000", b"0x10",
    b"1,5", b"\xd9\xa3", b"true", b"null", b"None", b"\0", b"\x1b[31m", b"\xe2\x80\xae", b"\xff\xfe", b"\xed\xa0\x80",
    b"'", b'"', b"\\", b"{", b"}", b"[", b"]", b"#", b":", b"=", b",", b"\n", b"\r", b"\r\n", b"\t", b"%n", b"../x",
    b"/etc/passwd", b"9" * 400, b"9" * 5000, b"1" + b"0" * 30, b"x" * 200_000, b"[" * 3000, b"{\"a\":" * 2000,
    b"18446744073709551616", b"9223372036854775807", b"-9223372036854775808", b"4294967296",
)  # fmt: skip

PNG_CHUNKS = (b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"iCCP", b"zTXt", b"iTXt", b"tEXt", b"acTL",
              b"fcTL", b"fdAT", b"eXIf", b"pHYs", b"sBIT", b"AAAA")  # fmt: skip

TIFF_TAGS = (254, 256, 257, 258, 259, 262, 273, 277, 278, 279, 317, 320, 322, 324, 325, 330, 339, 34665, 65000)


def mutated(name: str, content: bytes, rng: Rng) -> bytes:
    """Return a file changed once or a few times.

    Parameters
    ----------
    name : str
        Name of the file; its ending determines the format.
    content : bytes
    rng : Generator
    """
    own = _BY_ENDING.get(name.rpartition(".")[2].lower())
    if own is not None and rng.random() < 0.7:
        with contextlib.suppress(Exception):  # a file that an earlier change has broken is changed as bytes
            for _ in range(_n_changes(rng)):
                content = own(content, rng)
            if rng.random() < 0.9:
                return content
    for _ in range(_n_changes(rng)):
        content = _change_bytes(content, rng)
    return content


def _n_changes(rng: Rng) -> int:
    return int(min(rng.geometric(0.6), 6))


def _odd(rng: Rng, bits: int) -> int:
    return int(ODD_NUMBERS[int(rng.integers(len(ODD_NUMBERS)))] % 2**bits)


# -- anything ----------------------------------------------------------------------------------------------------------


def _change_bytes(content: bytes, rng: Rng) -> bytes:
    """Change bits, bytes and whole numbers; insert, remove, repeat, move, cut. A third is near the start."""
    raw = bytearray(content)
    if not raw:
        return bytes(rng.bytes(int(rng.integers(1, 40))))
    at = int(rng.integers(min(len(raw), 64) if rng.random() < 0.33 else len(raw)))
    span = int(rng.integers(1, 40))
    change = rng.integers(9)
    if change == 0:
        raw[at] ^= 1 << int(rng.integers(8))
    elif change == 1:
        raw[at] = int(rng.integers(256))
    elif change == 2:
        raw[at:at] = rng.bytes(span)
    elif change == 3:
        del raw[at : at + span]
    elif change == 4:
        raw[at:at] = raw[at : at + span] * int(rng.integers(1, 50))
    elif change == 5:
        del raw[at:]
    elif change == 6:
        raw += rng.bytes(span)
    elif change == 7:
        other = int(rng.integers(len(raw)))
        raw[at : at + span] = raw[other : other + span]
    else:
        code, bits = [("B", 8), ("<H", 16), (">H", 16), ("<I", 32), (">I", 32), ("<Q", 64), (">Q", 64)][rng.integers(7)]
        word = struct.pack(code, _odd(rng, bits))
        raw[at : at + len(word)] = word
    return bytes(raw)


def _change_text(content: bytes, rng: Rng) -> bytes:
    """Change words and lines: odd words, words of elsewhere, lines left out, doubled and swapped, other line ends."""
    change = rng.integers(8)
    if change == 0:
        ends = [b"\r", b"\r\n", b"\n\n", b"\0", b""]
        return content.replace(b"\n", ends[rng.integers(len(ends))])
    lines = content.split(b"\n")
    at = int(rng.integers(len(lines)))
    if change == 1:
        del lines[at]
    elif change == 2:
        lines[at:at] = [lines[at]] * int(rng.integers(1, 20))
    elif change == 3:
        other = int(rng.integers(len(lines)))
        lines[at], lines[other] = lines[other], lines[at]
    else:
        words = re.split(rb"([\s,:=]+)", lines[at])
        word = int(rng.integers(len(words)))
        if change == 4 and len(words) > 1:
            words[word] = words[int(rng.integers(len(words)))]
        elif change == 5:
            words[word] = words[word] + ODD_WORDS[rng.integers(len(ODD_WORDS))]
        elif change == 6 and re.fullmatch(rb"-?\d+", words[word]):
            words[word] = str(int(words[word]) + int(rng.integers(-2, 3))).encode()
        else:
            words[word] = ODD_WORDS[rng.integers(len(ODD_WORDS))]
        lines[at] = b"".join(words)
    return b"\n".join(lines)


def _change_json(content: bytes, rng: Rng) -> bytes:
    return json.dumps(mutate_json(json.loads(content), rng)).encode()


# -- pictures ----------------------------------------------------------------------------------------------------------


def _change_png(content: bytes, rng: Rng) -> bytes:
    """Change chunks, keeping checksums correct, and rows below the compression."""
    chunks = _chunks_of(content)
    kinds = [kind for kind, _ in chunks]
    change = rng.integers(6)
    at = int(rng.integers(len(chunks)))
    if change == 0 and b"IHDR" in kinds:
        header = list(struct.unpack(">IIBBBBB", chunks[kinds.index(b"IHDR")][1]))
        place = int(rng.integers(7))
        header[place] = _odd(rng, 32) if place < 2 else int(rng.integers(20))
        chunks[kinds.index(b"IHDR")] = (b"IHDR", struct.pack(">IIBBBBB", *header))
    elif change == 1 and b"IDAT" in kinds:
        own = kinds.index(b"IDAT")
        rows = _change_bytes(zlib.decompress(chunks[own][1]), rng)
        if rng.random() < 0.05:
            rows = rows + bytes(int(rng.choice([2**16, 2**20, 2**24])))
        chunks[own] = (b"IDAT", zlib.compress(rows, 1))
    elif change == 2:
        del chunks[at]
    elif change == 3:
        chunks.insert(at, chunks[int(rng.integers(len(chunks)))])
    elif change == 4:
        kind = PNG_CHUNKS[rng.integers(len(PNG_CHUNKS))]
        body = rng.bytes(int(rng.integers(0, 40)))
        if kind in (b"iCCP", b"zTXt") and rng.random() < 0.5:
            body = b"a\0\0" + _bomb(int(rng.choice([10, 2**20, 2**26])))
        chunks.insert(at, (kind, body))
    else:
        chunks[at] = (chunks[at][0], _change_bytes(chunks[at][1], rng))
    body = b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )
    return content[:8] + body


@functools.cache
def _bomb(n_bytes: int) -> bytes:
    """Return a few bytes that unpack to many."""
    return zlib.compress(bytes(n_bytes), 9)


def _chunks_of(content: bytes) -> list[tuple[bytes, bytes]]:
    chunks, start = [], 8
    while start + 12 <= len(content):
        n_bytes, kind = struct.unpack(">I4s", content[start : start + 8])
        chunks.append((kind, content[start + 8 : start + 8 + n_bytes]))
        start += n_bytes + 12
    if not chunks:
        raise ValueError("no chunks")
    return chunks


def _change_tiff(content: bytes, rng: Rng) -> bytes:
    """Change an entry of a page's list of tags, their number, or where the next page is; classic, low byte first."""
    raw = bytearray(content)
    places: list[int] = []
    place = struct.unpack_from("<I", raw, 4)[0]
    while place and place not in places and len(places) < 50:
        places.append(place)
        n = struct.unpack_from("<H", raw, place)[0]
        place = struct.unpack_from("<I", raw, place + 2 + 12 * n)[0]
    start = places[int(rng.integers(len(places)))]
    n = struct.unpack_from("<H", raw, start)[0]
    change = rng.integers(7)
    if change == 0:
        struct.pack_into("<H", raw, start, _odd(rng, 16))
    elif change == 1:
        link = places[int(rng.integers(len(places)))] if rng.random() < 0.5 else _odd(rng, 32)
        struct.pack_into("<I", raw, start + 2 + 12 * n, link)
    else:
        entry = start + 2 + 12 * int(rng.integers(n))
        if change == 2:
            struct.pack_into("<H", raw, entry, int(rng.choice(TIFF_TAGS)))
        elif change == 3:
            struct.pack_into("<H", raw, entry + 2, int(rng.integers(20)))
        elif change == 4:
            struct.pack_into("<I", raw, entry + 4, _odd(rng, 32))
        else:
            struct.pack_into("<I", raw, entry + 8, _odd(rng, 32))
    return bytes(raw)


# -- NumPy and archives ------------------------------------------------------------------------------------------------

_SHAPES = ("()", "(0,)", "(24, 32)", "(32, 24)", "(2, 24, 32)", "(24, 32, 1)", "(24, 32, 4)", "(1099511627776, 24, 32)",
           "(0, 24, 32)", "(24, 0)", "(-24, 32)", "(24, 32, 1, 1)", "(1, 1, 24, 32)", "(8192, 8192)",
           "(100000, 100000)", "(24.0, 32)", "(True, 32)", "[24, 32]", "(18446744073709551616, 1)",
           "24", "'ab'", "()" * 500)  # fmt: skip
_DTYPES = ("'<u2'", "'>u2'", "'<f4'", "'<f8'", "'<f2'", "'|b1'", "'<i8'", "'|V0'", "'|V1000000'", "'<U1000000'",
           "'|S100000'", "'|O'", "'<M8[s]'", "'<c16'", "'<f16'", "('<u2', (2,))", "[('a', '<u2')]", "''", "'|V'",
           "'<u2, <u2'", "[('', '<u2')]", "None", "[]", "'<U0'")  # fmt: skip


def _change_npy(content: bytes, rng: Rng) -> bytes:
    """Change the type, the shape or any word of an array's header; its length stays right."""
    n_header = struct.unpack_from("<H", content, 8)[0]
    header, body = content[10 : 10 + n_header].decode("latin1"), content[10 + n_header :]
    change = rng.integers(4)
    if change == 0:
        header = re.sub(r"'descr': .*?, 'fortran", f"'descr': {_DTYPES[rng.integers(len(_DTYPES))]}, 'fortran", header)
    elif change == 1:
        header = re.sub(r"'shape': .*?\)", f"'shape': {_SHAPES[rng.integers(len(_SHAPES))]}", header)
    elif change == 2:
        header = header.replace("False", "True")
    else:
        header = _change_text(header.encode("latin1", "replace"), rng).decode("latin1")
    packed = header.encode("latin1", "replace")[:65535]
    return content[:8] + struct.pack("<H", len(packed)) + packed + body


def _change_npz(content: bytes, rng: Rng) -> bytes:
    """Change a member or its name, leave it out, double it."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    at = int(rng.integers(len(members)))
    name, body = members[at]
    change = rng.integers(5)
    if change == 0:
        names = ["depth.npy", "depth_mm.npy", "../x.npy", "a" * 3000 + ".npy", "\x1b[31m.npy", "depth", ""]
        members[at] = (names[rng.integers(len(names))], body)
    elif change == 1:
        members.append((name + "2", body))
    else:
        members[at] = (name, _change_npy(body, rng))
    made = io.BytesIO()
    method = zipfile.ZIP_DEFLATED if rng.random() < 0.7 else zipfile.ZIP_STORED
    with zipfile.ZipFile(made, "w", method) as archive:
        for own, body in members:
            archive.writestr(zipfile.ZipInfo(own), body, compress_type=method)
    return made.getvalue()


def _change_head_of(content: bytes, rng: Rng) -> bytes:
    """Change the words of the first 20 lines, and leave what may be binary behind them."""
    lines = content.split(b"\n", 12)
    return b"\n".join([*_change_text(b"\n".join(lines[:-1]), rng).split(b"\n"), lines[-1]])


def _change_model(content: bytes, rng: Rng) -> bytes:
    kinds = list(MUTATIONS)
    return MUTATIONS[kinds[rng.integers(len(kinds))]](content, rng)


_BY_ENDING: dict[str, Callable[[bytes, Rng], bytes]] = {
    "png": _change_png,
    "tif": _change_tiff,
    "npy": _change_npy,
    "npz": _change_npz,
    "pgm": _change_head_of,
    "pcd": _change_head_of,
    "json": _change_json,
    "csv": _change_text,
    "bvh": _change_text,
    "toml": _change_text,
    "txt": _change_text,
    "yaml": _change_text,
    "tree": _change_text,
    "md": _change_text,
    "safetensors": _change_model,
}


def kinds_of(names: list[str]) -> Any:
    """Return which of some names have mutations of their own, for the test that none is forgotten."""
    return [name for name in names if name.rpartition(".")[2].lower() in _BY_ENDING]
