"""The context stage in a forest file: one key of metadata, and columns whose names begin with `context_`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Column, ModelError, modelfile
from depthforest.forest import sparserows
from depthforest.frames import PartSet
from depthforest.trees import CONTEXT_SCHEMA, ContextTrees, PartGroups

CONTEXT = "context"
"""The metadata key, and the prefix of the columns' names."""

_KEYS = ("config", "groups", "scores", "unit_m")
_GROUP_KEYS = ("head", "of_part", "trunk")


def context_schema() -> dict[str, Column]:
    """Return the columns of a context stage in a file: distributions are stored without their zeros."""
    plain = {name: column for name, column in CONTEXT_SCHEMA.items() if name != "leaves"}
    return {
        f"{CONTEXT}_{name}": Column(
            column.dtype, tuple(f"{CONTEXT} {n}" if isinstance(n, str) else n for n in column.shape)
        )
        for name, column in (plain | sparserows.SCHEMA).items()
    }


def context_parts(context: ContextTrees) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return the metadata and the columns of a context stage."""
    columns = {name: getattr(context, name) for name in CONTEXT_SCHEMA if name != "leaves"}
    columns |= sparserows.packed(context.leaves, 1)
    content = {
        "config": context.config,
        "groups": {name: list(getattr(context.groups, name)) for name in _GROUP_KEYS},
        "scores": context.scores,
        "unit_m": context.unit_m,
    }
    return content, {f"{CONTEXT}_{name}": array for name, array in columns.items()}


def context_of(content: object, columns: Mapping[str, npt.NDArray[Any]], part_set: PartSet) -> ContextTrees:
    """Make the context stage from metadata and columns of the right types; ModelError if their content is invalid."""
    own = {name: columns[f"{CONTEXT}_{name}"] for name in (*CONTEXT_SCHEMA, *sparserows.SCHEMA) if name != "leaves"}
    checked = _mapping(content, CONTEXT, _KEYS)
    groups = _mapping(checked["groups"], f"{CONTEXT}.groups", _GROUP_KEYS)
    if not all(isinstance(values, list) for values in groups.values()):
        raise ModelError(f"{CONTEXT}.groups must hold lists")
    if own["row_lengths"].shape[1] != 1:
        raise ModelError(f"{CONTEXT}_row_lengths must have one column, got {own['row_lengths'].shape[1]}")
    options: dict[str, Any] = {name: np.asarray(own[name]) for name in CONTEXT_SCHEMA if name != "leaves"}
    options |= {name: checked[name] for name in ("unit_m", "config", "scores")}
    return ContextTrees(
        leaves=sparserows.unpacked(own, len(part_set)),
        part_set=part_set,
        groups=PartGroups(**{name: tuple(values) for name, values in groups.items()}),
        **options,
    )


def _mapping(value: object, name: str, keys: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or sorted(value) != sorted(keys):
        raise ModelError(f"{name} must have exactly {', '.join(keys)}, got {modelfile.shown(value)}")
    return value
