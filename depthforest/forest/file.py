"""Forest files: the columns of a forest as docs/MODEL_FORMAT.md says, written to and read from a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from depthforest.base import DepthForestError, ModelError, ModelFile, modelfile
from depthforest.forest import sparserows
from depthforest.frames import PartSet
from depthforest.trees import SCHEMA, DepthTrees

KIND = "depth_forest"
FORMAT_VERSION, FACING_VERSION = 1, 2
"""Version 1: plain forests. Version 2: facings, smoothing or person confidence."""

UNITS = {"offsets": "m", "thresholds": "mm"}

_PLAIN_COLUMNS = {name: SCHEMA[name] for name in SCHEMA if name != "evidence"}
_FACING_COLUMNS = {**{name: SCHEMA[name] for name in SCHEMA if name != "leaves"}, **sparserows.SCHEMA}
"""Columns of the two versions."""

_KEYS = ("background_mm", "config", "joints", "mirror", "parts", "scores", "units")
_FACING_KEYS = ("person_confidence", "smooth_m")
"""Metadata of both versions, and what version 2 adds."""

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
    if trees.n_facings == 1 and not any(getattr(trees, name) for name in _FACING_KEYS):
        del columns["evidence"]
        modelfile.write(path, KIND, FORMAT_VERSION, content, columns)
    else:
        columns.update(sparserows.packed(columns.pop("leaves"), trees.n_facings))
        content |= {name: getattr(trees, name) for name in _FACING_KEYS}
        modelfile.write(path, KIND, FACING_VERSION, content, columns)


def trees_of(file: ModelFile, kind: type[Trees]) -> Trees:
    """Make the trees that a file holds, of the class `kind`; a ModelError names the file."""
    has_facings = file.version != FORMAT_VERSION
    version = FACING_VERSION if has_facings else FORMAT_VERSION
    keys = _KEYS + _FACING_KEYS if has_facings else _KEYS
    file.expect(KIND, version, _FACING_COLUMNS if has_facings else _PLAIN_COLUMNS, keys)
    content, columns = file.content, dict(file.columns)
    try:
        if content["units"] != UNITS:
            raise ModelError(f"units must be {UNITS}, got {modelfile.shown(content['units'])}")
        part_set = PartSet.from_dict(content["parts"], "parts")
        options = {key: content[key] for key in keys if key not in ("parts", "units")}
        if has_facings:
            columns["leaves"] = sparserows.unpacked(columns, len(part_set))
            columns = {name: columns[name] for name in SCHEMA}
        return kind(**{**columns, **options, "part_set": part_set})
    except DepthForestError as error:
        raise ModelError(f"{file.name}: {modelfile.one_line(error)}") from None
