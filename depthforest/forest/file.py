"""Forest files: the columns of a forest, written to and read from a model file as in docs/MODEL_FORMAT.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from depthforest.base import Column, DepthForestError, ModelError, ModelFile, is_number, modelfile
from depthforest.forest import sparserows
from depthforest.forest.contextfile import CONTEXT, context_of, context_parts, context_schema
from depthforest.frames import PartSet
from depthforest.trees import MAX_OFFSET_M, MAX_UNITS, SCHEMA, DepthTrees, probe_unit

KIND = "depth_forest"
FORMAT_VERSION, FACING_VERSION, OPTIONAL_VERSION, UNIT_VERSION = 1, 2, 3, 4
"""Version 1: plain forests. Version 2: facings, smoothing or person confidence. Version 3: optional metadata. Version
4: as version 3, with offsets in whole units at half the bytes."""

UNITS = {"offsets": "m", "thresholds": "mm"}

_PLAIN_COLUMNS = {name: SCHEMA[name] for name in SCHEMA if name != "evidence"}
_FACING_COLUMNS = {**{name: SCHEMA[name] for name in SCHEMA if name != "leaves"}, **sparserows.SCHEMA}
"""Columns of versions 1 and 2."""

OFFSET_UNIT = "offset_unit_m"
"""Metadata of version 4."""

_KEYS = ("background_mm", "config", "joints", "mirror", "parts", "scores", "units")
_FACING_KEYS = ("person_confidence", "smooth_m")
_OPTIONAL_KEYS = ("calibration", CONTEXT)
"""Metadata of all versions, what version 2 adds, and what versions 3 and 4 may add."""

Trees = TypeVar("Trees", bound=DepthTrees)


def write_trees(path: str | Path, trees: DepthTrees) -> None:
    """Write trees to a file; equal trees give equal bytes."""
    content = {
        "background_mm": trees.background_mm,
        "config": trees.config,
        "joints": trees.joints,
        "mirror": trees.mirror,
        "parts": trees.part_set.to_dict(),
        "scores": trees.scores,
        "units": UNITS,
    }
    columns = {name: getattr(trees, name) for name in SCHEMA}
    optional = [name for name in _OPTIONAL_KEYS if getattr(trees, name) is not None]
    if trees.n_facings == 1 and not any(getattr(trees, name) for name in _FACING_KEYS) and not optional:
        del columns["evidence"]
        modelfile.write(path, KIND, FORMAT_VERSION, content, columns)
        return
    columns.update(sparserows.packed(columns.pop("leaves"), trees.n_facings))
    content |= {name: getattr(trees, name) for name in (*_FACING_KEYS, *optional)}
    if trees.context is not None:
        content[CONTEXT], more = context_parts(trees.context)
        columns.update(more)
    version = OPTIONAL_VERSION if optional else FACING_VERSION
    unit = _unit_of(trees.offsets) if optional else None
    if unit is not None:
        version, content[OFFSET_UNIT] = UNIT_VERSION, float(unit)
        columns["offsets"] = (trees.offsets / unit).astype(np.int16)
    modelfile.write(path, KIND, version, content, columns)


def _unit_of(offsets: npt.NDArray[np.float32]) -> np.float32 | None:
    """Return the power of two that all offsets (n, 4) in meters are whole multiples of, as training draws them."""
    longest = float(np.abs(offsets).max(initial=0))
    if longest < probe_unit(MAX_OFFSET_M):
        return None
    unit = probe_unit(longest)
    return unit if np.array_equal(offsets, np.rint(offsets / unit) * unit) else None


def trees_of(file: ModelFile, kind: type[Trees]) -> Trees:
    """Return the trees in a file as an instance of `kind`; a ModelError names the file."""
    version = file.version if file.version in (FORMAT_VERSION, FACING_VERSION, OPTIONAL_VERSION) else UNIT_VERSION
    has_facings = version != FORMAT_VERSION
    keys: tuple[str, ...] = _KEYS + _FACING_KEYS if has_facings else _KEYS
    schema = _FACING_COLUMNS if has_facings else _PLAIN_COLUMNS
    if version in (OPTIONAL_VERSION, UNIT_VERSION):
        keys += tuple(name for name in _OPTIONAL_KEYS if name in file.content)
        schema = schema | context_schema() if CONTEXT in keys else schema
    own_keys: tuple[str, ...] = ()
    if version == UNIT_VERSION:
        own_keys, schema = (OFFSET_UNIT,), {**schema, "offsets": Column("int16", SCHEMA["offsets"].shape)}
    file.expect(KIND, version, schema, keys + own_keys)
    content, columns = file.content, dict(file.columns)
    try:
        if version == UNIT_VERSION:
            columns["offsets"] = _in_meters(columns["offsets"], content[OFFSET_UNIT])
        if content["units"] != UNITS:
            raise ModelError(f"units must be {UNITS}, got {modelfile.shown(content['units'])}")
        part_set = PartSet.from_dict(content["parts"], "parts")
        options = {key: content[key] for key in keys if key not in ("parts", "units")}
        if CONTEXT in keys:
            options[CONTEXT] = context_of(content[CONTEXT], columns, part_set)
        if has_facings:
            columns["leaves"] = sparserows.unpacked(columns, len(part_set))
            columns = {name: columns[name] for name in SCHEMA}
        return kind(**{**columns, **options, "part_set": part_set})
    except DepthForestError as error:
        raise ModelError(f"{file.name}: {modelfile.one_line(error)}") from None


def _in_meters(units: npt.NDArray[Any], unit: object) -> npt.NDArray[np.float32]:
    """Convert offsets in whole units to meters; ModelError if the unit is invalid."""
    if not is_number(unit) or not 0 < unit * MAX_UNITS <= 2 * MAX_OFFSET_M:
        raise ModelError(
            f"{OFFSET_UNIT} must be above 0 and at most {2 * MAX_OFFSET_M / MAX_UNITS:g}, got {modelfile.shown(unit)}"
        )
    return units * np.float32(unit)
