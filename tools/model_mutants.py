"""Valid model files and random mutations of them, for `fuzz_models`.

A mutant only depends on the seed, its number and the valid files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import depthforest as df
from depthforest.base import modelfile
from depthforest.frames import BODY31
from depthforest.trees import ContextTrees, PartGroups, quantize_leaves

Rng = np.random.Generator


# -- valid files -------------------------------------------------------------------------------------------------------


def valid_forests() -> list[df.Forest]:
    """Return forests that differ in size, parts and metadata."""
    rng = np.random.default_rng(0)
    hand = df.PartSet(("palm", "thumb_l", "thumb_r"))
    scores = {"mean_class_accuracy": 0.5, "confusion": [[3, 1], [0, 2]], "notes": "\u00fc \u201c"}
    return [
        random_forest(rng, 1, 0, hand),
        random_forest(rng, 2, 4, hand, mirror=True, joints={"hand_l": {"bandwidth_m": 0.065}}, scores=scores),
        random_forest(rng, 3, 7, BODY31, config={"trees": 3, "depth": 7, "seed": 2**63, "nested": [[{}]]}),
        random_forest(rng, 2, 4, hand, 4, smooth_m=0.03),
        random_forest(rng, 1, 5, BODY31, 1, mirror=True, smooth_m=0.25),
        random_forest(rng, 1, 3, hand, 2, mirror=True, context=_random_context(rng, hand)),
    ]


def _random_context(rng: Rng, part_set: df.PartSet) -> ContextTrees:
    """Return a context stage with the links of a random forest."""
    trees, groups = random_forest(rng, 2, 4, part_set), PartGroups.of(part_set)
    return ContextTrees(
        trees.roots,
        rng.integers(-8000, 8000, (trees.n_nodes, 4)).astype(np.int16),
        rng.integers(0, groups.n_channels, (trees.n_nodes, 2)).astype(np.uint8),
        trees.thresholds,
        trees.children,
        trees.leaves,
        part_set,
        groups,
        2.0**-14,
    )


def random_forest(
    rng: Rng, n_trees: int, depth: int, part_set: df.PartSet, n_facings: int = 1, **options: Any
) -> df.Forest:
    """Return a forest whose nodes split with a probability of 4 in 5, down to a depth."""
    children: list[tuple[int, int]] = []
    n_leaves = 0

    def grow(level: int) -> int:
        nonlocal n_leaves
        if level < depth and rng.random() < 0.8:
            node = len(children)
            children.append((0, 0))
            children[node] = grow(level + 1), grow(level + 1)
            return node
        n_leaves += 1
        return -n_leaves

    roots = [grow(0) for _ in range(n_trees)]
    return df.Forest(
        np.array(roots, dtype=np.int32),
        rng.uniform(-0.5, 0.5, (len(children), 4)).astype(np.float32),
        rng.integers(-300, 300, len(children)).astype(np.int16),
        np.array(children, dtype=np.int32).reshape(-1, 2),
        quantize_leaves(rng.random((n_leaves * n_facings, len(part_set))) ** 4 + 1e-9),
        part_set,
        evidence=rng.integers(-40, 40, (n_leaves, n_facings)).astype(np.int8) if n_facings > 1 else None,
        **options,
    )


def write_valid(folder: Path) -> list[Path]:
    """Write the valid forests into a folder and return their paths."""
    paths = []
    for number, forest in enumerate(valid_forests()):
        paths.append(folder / f"valid{number}.safetensors")
        forest.save(paths[-1])
    return paths


# -- mutations ---------------------------------------------------------------------------------------------------------

# fmt: off
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 4, 24, 255, 256, 65_535, 65_536, 2**29, 2**29 + 1, 2**31 - 1, 2**31, 2**63, 2**64,
    -(2**64), 10**400, 0.5, -0.0, 1e-320, 1e308, float("inf"), float("nan"), "", "a", "m", "mm", "F32", "U8", "I64",
    "BF16", "__metadata__", "x" * 5000, "\ud800", "\n\x1b[31m\0", "0", [], {}, [[]], [0, 0], [0, 2**29], [2**29] * 8,
    [1] * 9, {"": 0}, {"names": []}, {"hand_l": None},
)
# fmt: on
ODD_FLOATS = (0.0, -0.0, 10.0, 10.000001, -10.0, 1e-45, 1e-3, 3e38, np.inf, -np.inf, np.nan)


def mutant(files: Sequence[bytes], seed: int, case: int) -> tuple[str, bytes]:
    """Return the kind of mutation of a case and the mutated file."""
    rng = np.random.default_rng([seed, case])
    raw = files[int(rng.integers(len(files)))]
    kind = list(MUTATIONS)[rng.integers(len(MUTATIONS))]
    return kind, MUTATIONS[kind](raw, rng)


def _n_changes(rng: Rng) -> int:
    return int(min(rng.geometric(0.5), 8))


def _mutate_bytes(raw: bytes, rng: Rng) -> bytes:
    """Change bits and bytes, insert, remove, repeat, cut; half of the places lie in the header."""
    content = bytearray(raw)
    for _ in range(_n_changes(rng)):
        if not content:
            break
        n_header = min(len(content), 8 + int.from_bytes(content[:8], "little"))
        at = int(rng.integers(n_header if rng.random() < 0.5 else len(content)))
        span = int(rng.integers(1, 40))
        change = rng.integers(8)
        if change == 0:
            content[at] ^= 1 << int(rng.integers(8))
        elif change == 1:
            content[at] = int(rng.integers(256))
        elif change == 2:
            content[at:at] = rng.bytes(span)
        elif change == 3:
            del content[at : at + span]
        elif change == 4:
            content[at:at] = content[at : at + span] * int(rng.integers(1, 50))
        elif change == 5:
            del content[at:]
        elif change == 6:
            content += rng.bytes(span)
        else:
            length = int(rng.choice([0, 1, 2, len(content) - 8, len(content), 2**16, 2**31, 2**63 - 1]))
            content[:8] = (length % 2**64).to_bytes(8, "little")
    return bytes(content)


def _mutate_header(raw: bytes, rng: Rng) -> bytes:
    """Change values of the safetensors header."""
    header, data = _unpacked(raw)
    return _packed(mutate_json(header, rng), data)


def _mutate_metadata(raw: bytes, rng: Rng) -> bytes:
    """Change values of our own metadata, inside the header."""
    header, data = _unpacked(raw)
    content = json.loads(header["__metadata__"][modelfile.METADATA_KEY])
    header["__metadata__"][modelfile.METADATA_KEY] = json.dumps(mutate_json(content, rng))
    return _packed(header, data)


def _mutate_arrays(raw: bytes, rng: Rng) -> bytes:
    """Change items, rows, types and shapes of columns; the header describes the result."""
    header, data = _unpacked(raw)
    columns: dict[str, npt.NDArray[Any]] = {}
    for name, entry in header.items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            dtype = modelfile.DTYPES[entry["dtype"]]
            columns[name] = np.frombuffer(data[first:last], dtype=dtype).reshape(entry["shape"]).copy()
    for _ in range(_n_changes(rng)):
        name = list(columns)[rng.integers(len(columns))]
        columns[name] = _mutate_column(columns[name], columns, rng)
    content = json.loads(header["__metadata__"][modelfile.METADATA_KEY])
    kind, version = content.pop("kind"), content.pop("format")
    return b"".join(modelfile.encode(kind, version, content, columns))


def _mutate_column(column: npt.NDArray[Any], others: dict[str, npt.NDArray[Any]], rng: Rng) -> npt.NDArray[Any]:
    change = rng.integers(10)
    if change == 0:
        dtypes = list(modelfile.CODES)
        with np.errstate(invalid="ignore", over="ignore"):
            return column.astype(dtypes[rng.integers(len(dtypes))])
    if change == 1:
        return column[: rng.integers(len(column) + 1)]
    if change == 2:
        return np.concatenate((column, column[: rng.integers(len(column) + 1)]))
    if change == 3:
        return rng.permutation(column)
    if change == 4 and rng.random() < 0.3:
        return [column.ravel(), column.T, column[..., None], np.empty((0, 7), column.dtype)][rng.integers(4)]
    if not column.size:
        return column
    flat = column.reshape(-1)
    at = rng.integers(column.size, size=int(rng.integers(1, 4)))
    if change == 5:
        flat[at] = flat[rng.integers(column.size, size=len(at))]
    elif change == 6:
        flat.view(np.uint8)[at * column.itemsize] ^= np.uint8(1 << rng.integers(8))
    elif column.dtype.kind == "f":
        flat[at] = np.array(ODD_FLOATS)[rng.integers(len(ODD_FLOATS), size=len(at))].astype(np.float32)
    else:
        limits = np.iinfo(column.dtype)
        lengths = [len(c) for c in others.values() if c.ndim]
        odd = [0, 1, -1, -2, 254, 255, int(limits.min), int(limits.max), *lengths, *(-n for n in lengths)]
        odd += [n + 1 for n in odd]
        chosen = [odd[i] for i in rng.integers(len(odd), size=len(at))]
        flat[at] = [min(max(n, int(limits.min)), int(limits.max)) for n in chosen]
    return column


def mutate_json(content: Any, rng: Rng) -> Any:
    """Change some values, keys or nestings of a JSON value, in place where it can."""
    for _ in range(_n_changes(rng)):
        places = _places(content)
        if not places:
            break
        holder, key = places[rng.integers(len(places))]
        value = holder[key]
        change = rng.integers(8)
        if change == 0:
            del holder[key]
        elif change == 1 and isinstance(holder, dict):
            holder[["", "x", "names", f"{key}\n", "__metadata__"][rng.integers(5)]] = holder.pop(key)
        elif change == 2 and isinstance(holder, list):
            holder.insert(key, value)
        elif change == 3:
            other, other_key = places[rng.integers(len(places))]
            holder[key] = deepcopy(other[other_key])
        elif change == 4:
            for _ in range(int(rng.choice([1, 2, 23, 24, 25, 60]))):
                value = [value] if rng.random() < 0.5 else {"a": value}
            holder[key] = value
        elif change == 5 and isinstance(value, int | float) and abs(value) <= 2**64:
            holder[key] = [value + 1, value - 1, -value, value * 2, value * 0.5, value + 0.0][rng.integers(6)]
        elif change == 6 and isinstance(value, str) and value:
            at = int(rng.integers(len(value)))
            holder[key] = value[:at] + chr(int(rng.integers(0xFFFF))) * int(rng.integers(3)) + value[at + 1 :]
        else:
            holder[key] = deepcopy(ODD_VALUES[rng.integers(len(ODD_VALUES))])
    return content


def _places(content: Any) -> list[tuple[Any, Any]]:
    """Return (container, key or index) of every value inside a JSON value."""
    found: list[tuple[Any, Any]] = []
    open_values = [content]
    while open_values:
        holder = open_values.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        found += [(holder, key) for key in keys]
        open_values += [holder[key] for key in keys if isinstance(holder[key], dict | list)]
    return found


def _unpacked(raw: bytes) -> tuple[dict[str, Any], bytes]:
    n_header = int.from_bytes(raw[:8], "little")
    return json.loads(raw[8 : 8 + n_header]), raw[8 + n_header :]


def _packed(header: Any, data: bytes) -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


MUTATIONS: dict[str, Callable[[bytes, Rng], bytes]] = {
    "bytes": _mutate_bytes,
    "header": _mutate_header,
    "metadata": _mutate_metadata,
    "arrays": _mutate_arrays,
}
