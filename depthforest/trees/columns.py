"""The columns of a depth forest: their types, their limits, and the checks that they are sound.

    roots       int32 (trees,)          where each tree begins
    offsets     float32 (nodes, 4)      u_x, u_y, v_x, v_y in meters
    thresholds  int16 (nodes,)          millimeters
    children    int32 (nodes, 2)        left, right
    leaves      uint8 (rows, parts)     distributions in 255ths
    evidence    int8 (leaves, facings)  evidence of a leaf for each facing of the person

A root or child of 0 or more is a node, one below 0 is leaf `~value`. A pixel goes right where its response (see
`features`) is above the threshold. A leaf has a row for each facing (`facings`); most forests have one facing, and so
one row per leaf. Kernels check nothing, so everything is checked here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Broken, Column, ModelError, UsageError, find_fault, is_number, kernel, modelfile
from depthforest.trees import facings
from depthforest.trees.features import MAX_OFFSET_M
from depthforest.trees.quantizing import LEAF_SUM, Leaves

MAX_TREES, MAX_FACING_TREES = 1024, 512
"""Most trees; the second limit is for forests with facings. Sums of 512 trees, walked twice, weighted and smoothed,
just fit in 32 bits."""

MAX_NODES = 2**24
"""More nodes than the largest file can hold."""

MAX_DEPTH = 64
"""Most splits between a root and a leaf: three times the useful depth. It bounds the time of a walk."""

MIN_TEMPERATURE, MAX_TEMPERATURE = 0.05, 20.0
TEMPERATURES = "temperature", "temperature_unsmoothed"
"""Names of a calibration's temperatures, for smoothed and for unsmoothed shares. The powers are from 1/20 to 20."""

MAX_SMOOTH_M = 0.25
"""Largest radius of smoothing in meters, larger than any part."""

SCHEMA = {
    "roots": Column("int32", ("trees",)),
    "offsets": Column("float32", ("nodes", 4)),
    "thresholds": Column("int16", ("nodes",)),
    "children": Column("int32", ("nodes", 2)),
    "leaves": Column("uint8", ("rows", "parts")),
    "evidence": Column("int8", ("leaves", "facings")),
}


def check_columns(columns: Mapping[str, npt.NDArray[Any]], n_parts: int) -> None:
    """Raise ModelError unless the columns of `SCHEMA` form a forest whose leaves have `n_parts` parts."""
    lengths = modelfile.check_columns(columns, SCHEMA)
    if lengths["parts"] != n_parts:
        raise ModelError(f"leaves have {lengths['parts']} parts, the part set {n_parts}")
    _check_facings(columns["evidence"], lengths["rows"], lengths["trees"])
    check_links(columns["roots"], columns["children"], lengths["leaves"])
    _check_offsets(columns["offsets"])
    check_rows(columns["leaves"])


def levels(roots: npt.NDArray[np.int32], children: npt.NDArray[np.int32]) -> list[npt.NDArray[np.int32]]:
    """Return the nodes at depth 0, 1, ... of sound links, or the first `MAX_DEPTH` + 1 levels of deeper ones."""
    found: list[npt.NDArray[np.int32]] = []
    level = roots[roots >= 0]
    while len(level) and len(found) <= MAX_DEPTH:
        found.append(level)
        below = children[level].ravel()
        level = below[below >= 0]
    return found


def check_smoothing(smooth_m: object) -> float:
    """Return a radius of smoothing in meters, or raise UsageError."""
    if not is_number(smooth_m) or not 0 <= smooth_m <= MAX_SMOOTH_M:
        shown = modelfile.shown(smooth_m)
        raise UsageError(f"smoothing must be a radius from 0 to {MAX_SMOOTH_M:g} meters, got {shown}")
    return float(smooth_m) + 0.0  # -0.0 is 0.0


def check_confidence(value: object) -> float:
    """Return the confidence of people, or raise UsageError."""
    if not is_number(value) or not 0 <= value <= 1:
        raise UsageError(f"person_confidence must be from 0 to 1, got {modelfile.shown(value)}")
    return float(value) + 0.0  # -0.0 is 0.0


def check_calibration(value: object) -> dict[str, float] | None:
    """Return the calibration of shares, or raise UsageError."""
    if value is None:
        return None
    if not isinstance(value, Mapping) or sorted(value) != sorted(TEMPERATURES):
        raise UsageError(f"calibration must have exactly {' and '.join(TEMPERATURES)}, got {modelfile.shown(value)}")
    for name in TEMPERATURES:
        if not is_number(value[name]) or not MIN_TEMPERATURE <= value[name] <= MAX_TEMPERATURE:
            raise UsageError(
                f"calibration.{name} must be from {MIN_TEMPERATURE:g} to {MAX_TEMPERATURE:g}, "
                f"got {modelfile.shown(value[name])}"
            )
    return {name: float(value[name]) for name in TEMPERATURES}


def _check_facings(evidence: npt.NDArray[np.int8], n_rows: int, n_trees: int) -> None:
    """Raise ModelError unless there are as many rows of leaves as leaves times facings, and sums fit in 32 bits."""
    n_leaves, n_facings = evidence.shape
    if not 1 <= n_facings <= facings.MAX_FACINGS:
        raise ModelError(f"a forest has 1 to {facings.MAX_FACINGS} facings, got {n_facings}")
    if n_rows != n_leaves * n_facings:
        raise ModelError(f"{n_leaves} leaves of {n_facings} facings have {n_leaves * n_facings} rows, got {n_rows}")
    if n_facings == 1 and evidence.any():
        raise ModelError("where there is one facing, evidence must be 0")
    if n_facings > 1 and n_trees > MAX_FACING_TREES:
        raise ModelError(f"a forest with facings has at most {MAX_FACING_TREES} trees, got {n_trees}")


def check_links(roots: npt.NDArray[np.int32], children: npt.NDArray[np.int32], n_leaves: int) -> None:
    """Raise ModelError unless roots and children form trees that use every node and leaf exactly once."""
    n_nodes = len(children)
    if not 1 <= len(roots) <= MAX_TREES:
        raise ModelError(f"a forest has 1 to {MAX_TREES} trees, got {len(roots)}")
    if n_nodes > MAX_NODES:
        raise ModelError(f"a forest has at most {MAX_NODES} nodes, got {n_nodes}")
    links = np.concatenate((roots, children.ravel()))
    fault = find_fault(links, n_nodes, n_leaves)
    if fault is not None and fault.what is Broken.OUTSIDE:
        child = fault.index - len(roots)
        where = f"root {[fault.index]}" if child < 0 else f"child {list(divmod(child, 2))}"
        raise ModelError(f"{where} is {links[fault.index]}, outside the {n_nodes} nodes and {n_leaves} leaves")
    if fault is not None:
        name = f"node {fault.index}" if fault.what is Broken.NODE else f"leaf {fault.index}"
        raise ModelError(
            f"{name} has {fault.n_parents} parents; every node and leaf has one, or is the root of one tree"
        )
    # Every node has one parent now, so no walk from a root meets a node twice. Nodes that no walk reaches form a cycle.
    found = levels(roots, children)
    if len(found) > MAX_DEPTH:
        raise ModelError(f"a tree is deeper than {MAX_DEPTH} splits")
    is_found = np.zeros(n_nodes, dtype=np.bool_)
    for level in found:
        is_found[level] = True
    if not is_found.all():
        raise ModelError(f"node {int(np.flatnonzero(~is_found)[0])} is part of a cycle: no root leads to it")


def _check_offsets(offsets: npt.NDArray[np.float32]) -> None:
    is_bad = ~(np.abs(offsets) <= MAX_OFFSET_M).all(axis=1)  # NaN is not <= either
    if is_bad.any():
        node = int(np.flatnonzero(is_bad)[0])
        raise ModelError(
            f"offsets of node {node} must be finite and at most {MAX_OFFSET_M:g} m, got {offsets[node].tolist()}"
        )


def check_rows(leaves: Leaves) -> None:
    """Raise ModelError unless every row is a distribution in 255ths."""
    leaf = _find_other_sum(leaves, LEAF_SUM)
    if leaf >= 0:
        total = leaves[leaf].sum(dtype=np.int64)
        raise ModelError(f"leaf {leaf} sums to {total}, expected {LEAF_SUM}; quantize_leaves makes such rows")


@kernel
def _find_other_sum(rows: Leaves, expected: int) -> int:
    """Return the first row whose sum differs from the expected one, or -1."""
    for row in range(len(rows)):
        total = np.int32(0)  # 32 bits suffice for 255 columns and vectorize better
        for column in range(rows.shape[1]):
            total = np.int32(total + rows[row, column])
        if total != expected:
            return row
    return -1
