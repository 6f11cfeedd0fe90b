"""The checks of columns, made in Python or read from a file."""

import re

import numpy as np
import pytest
from support.smallforests import CAMERA, PARTS, columns, metadata

import depthforest as df
from depthforest.base import modelfile
from depthforest.base.errors import ModelError
from depthforest.forest.file import FORMAT_VERSION, KIND
from depthforest.forest.forest import Forest
from depthforest.frames.parts import BODY31
from depthforest.trees.columns import MAX_DEPTH


def chain(n):
    """Return columns of one tree that is a chain of n splits."""
    nodes = np.arange(n, dtype=np.int32)
    children = np.stack((~nodes, np.append(nodes[1:], ~n)), axis=1).astype(np.int32)
    leaves = np.tile(np.array([255, 0, 0], np.uint8), (n + 1, 1))
    return {
        "roots": np.array([0], np.int32),
        "offsets": np.zeros((n, 4), np.float32),
        "thresholds": np.zeros(n, np.int16),
        "children": children,
        "leaves": leaves,
    }


def changed(name, index, value):
    array = columns()[name]
    array[index] = value
    return columns(**{name: array})


FOUR = columns()["leaves"]
BAD_COLUMNS = {
    "cycle": (
        columns(
            roots=np.array([~0, ~1], np.int32),
            children=np.array([[1, ~2], [0, ~3]], np.int32),
        ),
        "node 0 is part of a cycle: no root leads to it",
    ),
    "own child": (
        columns(roots=np.array([0, ~3], np.int32), children=np.array([[~0, ~1], [1, ~2]], np.int32)),
        "node 1 is part of a cycle",
    ),
    "root in a cycle": (changed("children", (1, 0), 0), "node 0 has 2 parents"),
    "two parents": (changed("children", (0, 0), 1), "node 1 has 2 parents"),
    "shared leaf": (changed("children", (1, 1), ~0), "leaf 0 has 2 parents"),
    "two trees with one root": (changed("roots", 1, 0), "node 0 has 2 parents"),
    "orphan node": (changed("children", (0, 1), ~2), "node 1 has 0 parents"),
    "orphan leaf": (columns(leaves=FOUR[[0, 1, 2, 3, 3]]), "leaf 4 has 0 parents"),
    "node out of range": (changed("children", (1, 0), 2), r"child \[1, 0\] is 2, outside the 2 nodes and 4 leaves"),
    "leaf out of range": (changed("children", (1, 0), ~4), r"child \[1, 0\] is -5, outside"),
    "root out of range": (changed("roots", 0, 7), r"root \[0\] is 7, outside"),
    "smallest link": (changed("roots", 0, -(2**31)), r"root \[0\] is -2147483648, outside"),
    "no trees": (columns(roots=np.empty(0, np.int32)), "has 1 to 1024 trees, got 0"),
    "too many trees": (columns(roots=np.zeros(1025, np.int32)), "has 1 to 1024 trees, got 1025"),
    "too deep": (chain(MAX_DEPTH + 1), "deeper than 64 splits"),
    "NaN offset": (changed("offsets", (1, 2), np.nan), "offsets of node 1 must be finite and at most 10 m, got .*nan"),
    "infinite offset": (changed("offsets", (0, 3), -np.inf), "offsets of node 0 must be finite"),
    "far offset": (changed("offsets", (0, 3), 10.1), "offsets of node 0 must be finite and at most 10 m"),
    "leaf sum": (changed("leaves", (2, 2), 254), "leaf 2 sums to 254, expected 255"),
    "leaf sum of 511": (changed("leaves", (2, 0), 255), "leaf 2 sums to 510, expected 255"),
    "dtype": (columns(thresholds=np.zeros(2, np.int32)), "column thresholds must be int16, got int32"),
    "float leaves": (columns(leaves=FOUR / 255), "column leaves must be uint8, got float64"),
    "shape": (
        columns(offsets=np.zeros((2, 3), np.float32)),
        r"column offsets must have shape \(nodes, 4\), got \(2, 3\)",
    ),
    "lengths": (columns(thresholds=np.zeros(3, np.int16)), r"column thresholds must have shape \(2\), got \(3,\)"),
    "dimensions": (columns(roots=np.zeros((2, 1), np.int32)), r"column roots must have shape \(trees\), got \(2, 1\)"),
    "parts": (columns(leaves=np.full((4, 1), 255, np.uint8)), "leaves have 1 parts, the part set 3"),
}


@pytest.mark.parametrize("case", BAD_COLUMNS)
def test_bad_columns(case, tmp_path):
    bad, message = BAD_COLUMNS[case]
    with pytest.raises(ModelError, match=message):
        Forest(**bad, part_set=PARTS)
    # and the same from a file, with its name
    path = tmp_path / "bad.safetensors"
    modelfile.write(path, KIND, FORMAT_VERSION, metadata(), bad)
    with pytest.raises(ModelError, match=rf"^{re.escape(str(path))}: .*{message}") as caught:
        Forest.load(path)
    assert "\n" not in str(caught.value)


def test_more_nodes_than_any_file_holds(monkeypatch):
    monkeypatch.setattr("depthforest.trees.columns.MAX_NODES", 1)
    with pytest.raises(ModelError, match="a forest has at most 1 nodes, got 2"):
        Forest(**columns(), part_set=PARTS)


def test_the_deepest_tree_is_taken_and_walked():
    forest = Forest(**chain(MAX_DEPTH), part_set=PARTS)
    assert forest.depth == MAX_DEPTH
    forest.walk(df.Frame(np.full((12, 16), 900, np.uint16), CAMERA))


def test_a_full_tree_of_a_million_nodes_is_checked():
    n = 2**20 - 1
    nodes = np.arange(n, dtype=np.int32)
    children = np.stack((2 * nodes + 1, 2 * nodes + 2), axis=1)
    children = np.where(children < n, children, ~(children - n)).astype(np.int32)
    leaves = np.zeros((n + 1, 31), np.uint8)
    leaves[:, 3] = 255
    forest = Forest(
        np.array([0], np.int32), np.zeros((n, 4), np.float32), np.zeros(n, np.int16), children, leaves, BODY31
    )
    assert forest.depth == 20
