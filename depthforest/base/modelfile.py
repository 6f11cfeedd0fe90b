"""Model files: the one reader and writer. safetensors with plain columns and one metadata key of canonical JSON.

    8 bytes     length of the header, little-endian
    header      JSON: {"__metadata__": {"depthforest": text}, name: {"dtype", "shape", "data_offsets"}, ...}
    data        the columns, little-endian, one after the other without gaps

A file is untrusted: it is read once into private memory, every size is bounded before anything of that size is made,
and every failure is one ModelError that names the file. The owner of a kind of model checks what its columns mean
(`forest.file` for "depth_forest"). Equal content gives equal bytes, so this module writes the container itself; tests
compare it with the safetensors package. docs/MODEL_FORMAT.md describes all of it.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from depthforest.base.checks import is_whole
from depthforest.base.errors import ModelError
from depthforest.base.files import reason, replacing
from depthforest.base.remote import Place, RemotePath, place_of

METADATA_KEY = "depthforest"
"""The one key of the safetensors metadata."""

MAX_FILE_BYTES = 2**29
"""512 MiB: three full trees of depth 21 with 31 parts."""

MAX_METADATA_BYTES = 2**22
"""4 MiB of JSON text: config, scores and a confusion matrix of 255 parts fit many times."""

MAX_HEADER_BYTES = 2 * MAX_METADATA_BYTES + 2**16
"""The metadata as a JSON string, where a quote takes two bytes, and the table of columns."""

MAX_MESSAGE_CHARS = 240
MAX_COLUMNS = 64
MAX_DIMENSIONS = 8
MAX_JSON_DEPTH = 24
"""Nesting of objects and lists; bounded because a reader in another language may recurse."""

MAX_INTEGER = 2**64 - 1
"""Largest whole number in the metadata, as large as a seed may be."""

DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "I64": "int64",
    "U64": "uint64",
    "I32": "int32",
    "U32": "uint32",
    "I16": "int16",
    "U16": "uint16",
    "I8": "int8",
    "U8": "uint8",
}
"""safetensors' name -> numpy's name, for the types that columns may have."""

CODES = {name: code for code, name in DTYPES.items()}

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Column:
    """What a column must be.

    Parameters
    ----------
    dtype : str
        numpy's name.
    shape : tuple of int or str
        A number must match; a name stands for a length that is the same wherever the name occurs.
    """

    dtype: str
    shape: tuple[int | str, ...]


Schema = Mapping[str, Column]


@dataclass(frozen=True, eq=False)
class ModelFile:
    """A file whose container is sound; its meaning is not checked yet.

    Attributes
    ----------
    name : str
        The path, for messages.
    n_bytes : int
        Size of the file.
    kind : str
        What sort of model it holds.
    version : int
        Format version of this kind.
    content : dict
        The rest of the metadata: finite numbers, text, booleans, None, lists and dicts.
    columns : dict of str to array
        Read-only views of the file's bytes.
    """

    name: str
    n_bytes: int
    kind: str
    version: int
    content: dict[str, Any]
    columns: dict[str, Array]

    def expect(self, kind: str, version: int, schema: Schema, keys: tuple[str, ...]) -> None:
        """Raise ModelError unless this is a model of a kind and version with these columns and metadata keys."""
        if self.kind != kind:
            raise ModelError(f"{self.name}: holds a model of kind {shown(self.kind)}, expected {kind!r}")
        if self.version != version:
            raise ModelError(
                f"{self.name}: has format version {self.version}, this depthforest reads {version}; "
                + ("update depthforest" if self.version > version else "save it again with the version that made it")
            )
        _check_names(self.name, "metadata key", tuple(self.content), keys)
        _check_names(self.name, "column", tuple(self.columns), tuple(schema))
        check_columns(self.columns, schema, f"{self.name}: ")


def check_columns(columns: Mapping[str, Array], schema: Schema, prefix: str = "") -> dict[str, int]:
    """Raise ModelError unless every column has its dtype and shape; return the lengths by name."""
    lengths: dict[str, int] = {}
    for name, expected in schema.items():
        array = columns[name]
        if array.dtype != np.dtype(expected.dtype):
            raise ModelError(f"{prefix}column {name} must be {expected.dtype}, got {array.dtype}")
        known = tuple(lengths.get(n, n) if isinstance(n, str) else n for n in expected.shape)
        fits = array.ndim == len(known) and all(
            isinstance(n, str) or n == got for n, got in zip(known, array.shape, strict=True)
        )
        if not fits:
            raise ModelError(f"{prefix}column {name} must have shape ({', '.join(map(str, known))}), got {array.shape}")
        lengths.update({n: got for n, got in zip(known, array.shape, strict=True) if isinstance(n, str)})
    return lengths


# -- writing ---------------------------------------------------------------------------------------------------------


def write(path: str | Path, kind: str, version: int, content: Mapping[str, Any], columns: Mapping[str, Array]) -> None:
    """Write a model file: to a temporary name first, so that an existing file stays whole until the new one is.

    Parameters
    ----------
    path : str or Path
    kind, version
        Stored with the content; `ModelFile` has them after `read`.
    content : mapping
        Anything that `plain` accepts, except the keys "kind" and "format".
    columns : mapping of str to array
        Arrays of the types in `DTYPES`.
    """
    parts = encode(kind, version, content, columns)
    with replacing(path, is_durable=True) as file:
        for part in parts:
            file.write(part)


def encode(kind: str, version: int, content: Mapping[str, Any], columns: Mapping[str, Array]) -> list[bytes]:
    """Return the bytes of a model file, in pieces: the same for the same content, whatever its order."""
    metadata = canonical_json({**content, "kind": kind, "format": version})
    # wide items first, so that every column is aligned; then by name
    order = sorted(columns, key=lambda name: (-columns[name].dtype.itemsize, name))
    header: dict[str, Any] = {"__metadata__": {METADATA_KEY: metadata}}
    data = []
    end = 0
    for name in order:
        array = np.ascontiguousarray(columns[name])
        if array.dtype.name not in CODES:
            raise ModelError(f"column {name} has the type {array.dtype}; known are {', '.join(CODES)}")
        start, end = end, end + array.nbytes
        header[name] = {
            "data_offsets": [start, end],
            "dtype": CODES[array.dtype.name],
            "shape": list(columns[name].shape),
        }
        data.append(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    if len(metadata) > MAX_METADATA_BYTES or 8 + len(text) + end > MAX_FILE_BYTES or len(columns) > MAX_COLUMNS:
        raise ModelError(
            f"the model is too large to be stored: {len(metadata)} bytes of metadata, {end} of columns; at most "
            f"{MAX_METADATA_BYTES} and {MAX_FILE_BYTES} fit"
        )
    return [len(text).to_bytes(8, "little") + text, *data]


def canonical_json(content: Mapping[str, Any]) -> str:
    """Return ASCII JSON with sorted keys and no spaces; ModelError for what JSON cannot hold."""
    return json.dumps(plain(content), sort_keys=True, separators=(",", ":"), allow_nan=False)


def plain(value: Any, name: str = "metadata", depth: int = 0) -> Any:
    """Return a deep copy of metadata: dicts with text keys, lists, text, finite numbers, bool, None."""
    if depth > MAX_JSON_DEPTH:
        raise ModelError(f"metadata may be nested {MAX_JSON_DEPTH} deep; {name[:60]}... is deeper")
    if isinstance(value, str):
        if any("\ud800" <= c <= "\udfff" for c in value):
            raise ModelError(f"{name}: is not valid text: {shown(value)}")
        return value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) <= MAX_INTEGER:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {plain(key, name): plain(v, f"{name}.{key}", depth + 1) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v, f"{name}[{i}]", depth + 1) for i, v in enumerate(value)]
    raise ModelError(
        f"{name}: cannot be {shown(value)}; metadata holds dicts with text keys, lists, text, finite numbers, "
        "true, false and null"
    )


# -- reading ---------------------------------------------------------------------------------------------------------


def read(path: str | Place) -> ModelFile:
    """Read a model file into memory and check its container; `ModelFile.expect` checks what it should hold."""
    place = place_of(path)
    name = str(place)
    raw = _read_remote(place) if isinstance(place, RemotePath) else _read_bytes(place)
    if not raw:
        raise ModelError(f"{name}: is empty (0 bytes); was it copied or written to the end?")
    try:
        header, start = _read_header(raw)
        content = _read_metadata(header.pop("__metadata__", None))
        columns = _read_columns(raw, header, start)
        kind, version = content.pop("kind", None), content.pop("format", None)
        if not isinstance(kind, str) or not is_whole(version):
            raise ModelError("its metadata must say kind (text) and format (a whole number)")
    except ModelError as error:
        raise ModelError(f"{name}: {one_line(error)}") from None
    return ModelFile(name, len(raw), kind, version, content, columns)


def _read_remote(path: RemotePath) -> bytes:
    try:
        return path.read_bytes(MAX_FILE_BYTES)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {reason(error)}") from None


def _read_bytes(path: Path) -> bytes:
    try:
        # check before opening, because opening a pipe waits for a writer
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise ModelError(f"{path}: is a folder, expected a model file")
        if not stat.S_ISREG(mode):
            raise ModelError(f"{path}: is not a regular file, expected a model file")
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > MAX_FILE_BYTES:
                raise ModelError(f"{path}: has {size} bytes; a model file has at most {MAX_FILE_BYTES}")
            raw = file.read(size + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        said = reason(error) if isinstance(error, OSError) else str(error)
        raise ModelError(f"{path}: cannot be read: {said}") from None
    if len(raw) != size:
        raise ModelError(f"{path}: changed while it was read; try again")
    return raw


def _read_header(raw: bytes) -> tuple[dict[str, Any], int]:
    n_header = int.from_bytes(raw[:8], "little")
    if len(raw) < 10 or n_header > MAX_HEADER_BYTES or raw[8:9] != b"{":
        raise ModelError("is not a model file: it does not begin with the header of a safetensors file")
    if 8 + n_header > len(raw):
        raise ModelError(f"is cut off: its header needs {8 + n_header} bytes, the file has {len(raw)}")
    header = _parse_json(raw[8 : 8 + n_header], "its header")
    return header, 8 + n_header


def _read_metadata(metadata: Any) -> dict[str, Any]:
    if (
        not isinstance(metadata, dict)
        or list(metadata) != [METADATA_KEY]
        or not isinstance(metadata[METADATA_KEY], str)
    ):
        raise ModelError(
            f"is a safetensors file but no depthforest model: its metadata must be one text under {METADATA_KEY!r}"
        )
    try:
        text = metadata[METADATA_KEY].encode("utf-8")
    except UnicodeEncodeError:
        raise ModelError("its metadata is not valid text") from None
    if len(text) > MAX_METADATA_BYTES:
        raise ModelError(f"has {len(text)} bytes of metadata; a model file has at most {MAX_METADATA_BYTES}")
    content: dict[str, Any] = plain(_parse_json(text, "its metadata"))
    return content


def _read_columns(raw: bytes, header: dict[str, Any], start: int) -> dict[str, Array]:
    if len(header) > MAX_COLUMNS:
        raise ModelError(f"has {len(header)} columns; a model file has at most {MAX_COLUMNS}")
    columns = {}
    spans = []
    n_data = len(raw) - start
    for name, entry in header.items():
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            raise ModelError(f"column {shown(name)} must have dtype, shape and data_offsets, and nothing else")
        dtype, shape, span = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not isinstance(dtype, str) or dtype not in DTYPES:
            raise ModelError(f"column {shown(name)} has the type {shown(dtype)}; known are {', '.join(DTYPES)}")
        if not _is_counts(shape) or len(shape) > MAX_DIMENSIONS or not _is_counts(span) or len(span) != 2:
            raise ModelError(
                f"column {shown(name)}: shape and data_offsets must be lists of whole numbers up to {MAX_FILE_BYTES}, "
                f"got {shown(shape)} and {shown(span)}"
            )
        item = np.dtype(DTYPES[dtype]).newbyteorder("<")
        # Python's whole numbers: a shape of huge lengths cannot overflow into a small size
        n_items = math.prod(shape)
        if n_items * item.itemsize != span[1] - span[0]:
            raise ModelError(
                f"column {shown(name)} of shape {shown(shape)} needs {n_items * item.itemsize} bytes, "
                f"its data_offsets span {span[1] - span[0]}"
            )
        if span[1] > n_data:
            raise ModelError(f"is cut off: column {shown(name)} ends at byte {span[1]} of the data, which has {n_data}")
        spans.append((span[0], span[1]))
        # frombuffer refuses an empty view; the shape of an empty column may still be huge in its other lengths
        if n_items == 0:
            if math.prod(n for n in shape if n) > MAX_FILE_BYTES:
                raise ModelError(f"column {shown(name)} is empty and has shape {shown(shape)}")
            columns[name] = np.empty(shape, dtype=DTYPES[dtype])
        else:
            view = np.frombuffer(raw, dtype=item, count=n_items, offset=start + span[0])
            columns[name] = view.reshape(shape).astype(DTYPES[dtype], copy=False)
        columns[name].setflags(write=False)
    end = 0
    for first, last in sorted(spans):
        if first != end:
            raise ModelError("its columns overlap or leave gaps; they must follow each other")
        end = last
    if end != n_data:
        raise ModelError(f"has {n_data - end} bytes after its last column; was something appended?")
    return columns


def _parse_json(raw: bytes, name: str) -> dict[str, Any]:
    """Return a JSON object, with bounded nesting, no key twice and only finite numbers."""
    try:
        text = raw.decode("utf-8")
        depth = 0
        # possessive, and the closing quote is optional: linear time for any input
        for bracket in re.findall(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', text, re.DOTALL):
            depth += bracket in "[{"
            depth -= bracket in "]}"
            if depth > MAX_JSON_DEPTH:
                raise ModelError(f"{name} is nested deeper than {MAX_JSON_DEPTH}")
        content = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite)
    except ModelError:
        raise
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{name} is not valid JSON: {error}") from None
    if not isinstance(content, dict):
        raise ModelError(f"{name} must be a JSON object, got {shown(content)}")
    return content


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a key is given twice")
    return content


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is too large")
    return value


def _is_counts(value: Any) -> bool:
    return isinstance(value, list) and all(is_whole(v, 0, MAX_FILE_BYTES) for v in value)


def _check_names(name: str, what: str, got: tuple[str, ...], expected: tuple[str, ...]) -> None:
    missing = [key for key in expected if key not in got]
    unknown = [shown(key) for key in got if key not in expected]
    if missing:
        raise ModelError(f"{name}: lacks the {what} {', '.join(missing)}; expected {', '.join(expected)}")
    if unknown:
        raise ModelError(f"{name}: has the unknown {what} {', '.join(unknown[:4])}; expected {', '.join(expected)}")


def one_line(error: Exception) -> str:
    """Return an error's text as one line of bounded length, although it may quote names from a hostile file."""
    text = "".join(c if c.isprintable() else "?" for c in str(error))
    return text if len(text) <= MAX_MESSAGE_CHARS else text[: MAX_MESSAGE_CHARS - 3] + "..."


def shown(value: object) -> str:
    """Return a short text of a value that came from a file."""
    # cut before repr: a number of a hundred thousand digits must not be written out
    text = ascii(value) if not isinstance(value, int) or abs(value) <= MAX_INTEGER else "a huge number"
    return text if len(text) <= 60 else text[:57] + "..."
