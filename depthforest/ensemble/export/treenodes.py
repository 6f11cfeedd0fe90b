"""Trees as one TreeEnsemble operator, which returns one number of each tree for every row.

Thresholds are float32, as are the input rows; both are compared as doubles, which changes nothing. A categorical split
becomes an additional column: 1 if the row's category goes left, else 0. So every split compares a number, and
categories may be text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import UsageError
from depthforest.ensemble.export.graphs import Graph, RowTable
from depthforest.ensemble.tree import Tree, category_codes

_LEQ, _GTE, _SUM = 0, 2, 1

TREES = "ai.onnx.ml"


def leaf_numbers(
    graph: Graph,
    table: RowTable,
    trees: Sequence[Tree],
    categories: Mapping[int, npt.NDArray[Any]],
    n_features: int,
    numbers: Sequence[npt.NDArray[np.float64]],
) -> str:
    """Add the trees and return the values of the leaves that each row reaches, (n, n_trees) double.

    `numbers` holds, for each tree, the values (n_nodes,) of its nodes when they are leaves.
    """
    wanted, columns = _category_columns(trees)
    rows = table.numbers
    if wanted:
        rows = graph.add("Concat", rows, *_category_flags(graph, table, wanted, categories), axis=1)
    parts = _Columns(n_features)
    for number, (tree, answers) in enumerate(zip(trees, numbers, strict=True)):
        parts.add(tree, number, answers, [columns[key] for key in _keys(tree)])
    return graph.add("TreeEnsemble", rows, domain=TREES, **parts.attributes(graph, len(trees)))


def check_categories(categories: Mapping[int, npt.NDArray[Any]]) -> None:
    """Refuse categories that are neither text nor exact in float32."""
    for column, values in categories.items():
        if is_text(values):
            continue
        known = all(isinstance(v, bool | int | float | np.generic) for v in values.tolist())
        if not known or (np.asarray(values, dtype=np.float32).astype(np.float64) != values.astype(np.float64)).any():
            raise UsageError(
                f"the categories of column {column} are neither text nor numbers that float32 holds: ONNX cannot "
                "tell them apart; encode them before fitting"
            )


def is_text(values: npt.NDArray[Any]) -> bool:
    """Tell whether categories are text."""
    return len(values) > 0 and all(isinstance(value, str) for value in values.tolist())


def _keys(tree: Tree) -> list[tuple[int, bytes, int] | None]:
    """Return the categorical split of each node: column, mask, and where missing values go; None for others."""
    masks = [mask.tobytes() for mask in tree.masks]
    return [
        None if mask < 0 else (int(feature), masks[mask], int(left))
        for feature, mask, left in zip(tree.feature, tree.mask, tree.missing_go_to_left, strict=True)
    ]


def _category_columns(
    trees: Sequence[Tree],
) -> tuple[list[tuple[int, bytes, int]], dict[tuple[int, bytes, int] | None, int]]:
    """Return the distinct categorical splits, by column, and the number of each."""
    wanted = sorted({key for tree in trees for key in _keys(tree) if key is not None})
    numbers: dict[tuple[int, bytes, int] | None, int] = {key: number for number, key in enumerate(wanted)}
    numbers[None] = -1
    return wanted, numbers


def _category_flags(
    graph: Graph,
    table: RowTable,
    wanted: Sequence[tuple[int, bytes, int]],
    categories: Mapping[int, npt.NDArray[Any]],
) -> list[str]:
    """Add the flags of every categorical column, (n, number of its splits): 1 where a row goes left."""
    flags = []
    for column in sorted({key[0] for key in wanted}):
        own = [key for key in wanted if key[0] == column]
        values = categories[column]
        if column in table.texts:
            cells, known = table.texts[column], graph.constant(values.astype(object)[None, :])
        else:
            cells = graph.add("Gather", table.numbers, graph.constant(np.array([column], dtype=np.int64)), axis=1)
            known = graph.constant(values.astype(np.float64)[None, :])
        is_category = graph.cast(graph.add("Equal", cells, known), "DOUBLE")
        bits = [np.unpackbits(np.frombuffer(mask, dtype=np.uint8), bitorder="little") for _, mask, _ in own]
        goes_left = graph.constant(np.stack(bits, axis=1)[category_codes(len(values))].astype(np.float64))
        # a category that was absent at fitting counts as missing, like NaN
        missing_left = np.array([[left for _, _, left in own]], dtype=np.float64)
        one = graph.constant(np.array([1], dtype=np.int64))
        unknown = graph.add("Sub", graph.constant(np.float64(1)), graph.add("ReduceSum", is_category, one, keepdims=1))
        of_unknown = graph.add("Mul", unknown, graph.constant(missing_left))
        flags.append(graph.add("Add", graph.add("MatMul", is_category, goes_left), of_unknown))
    return flags


class _Columns:
    """The attributes of the operator under construction: inner nodes and leaves, numbered separately."""

    def __init__(self, n_features: int) -> None:
        self._n_features = n_features
        self._roots: list[int] = []
        self._inner: dict[str, list[npt.NDArray[Any]]] = {
            name: [] for name in ("modes", "splits", "featureids", "truenodeids", "trueleafs", "falsenodeids",
                                  "falseleafs", "missing_value_tracks_true")
        }  # fmt: skip
        self._targets: list[npt.NDArray[np.int64]] = []
        self._answers: list[npt.NDArray[np.float64]] = []
        self._n_inner = self._n_leaves = 0

    def add(self, tree: Tree, target: int, answers: npt.NDArray[np.float64], flags: Sequence[int]) -> None:
        """Add a tree whose leaves hold values for one target."""
        is_leaf = tree.is_leaf
        inner, leaves = np.flatnonzero(~is_leaf), np.flatnonzero(is_leaf)
        place = np.empty(tree.node_count, dtype=np.int64)
        place[inner] = self._n_inner + np.arange(len(inner))
        place[leaves] = self._n_leaves + np.arange(len(leaves))
        self._roots.append(self._n_inner)
        flag = np.asarray(flags)[inner]
        left, right = tree.child[inner], tree.child[inner] + 1
        its = {
            "modes": np.where(flag < 0, _LEQ, _GTE),
            "splits": np.where(flag < 0, tree.threshold[inner].astype(np.float64), 0.5),
            "featureids": np.where(flag < 0, tree.feature[inner], self._n_features + flag),
            "truenodeids": place[left],
            "trueleafs": is_leaf[left],
            "falsenodeids": place[right],
            "falseleafs": is_leaf[right],
            "missing_value_tracks_true": tree.missing_go_to_left[inner],
        }
        if not len(inner):  # a tree of one leaf: both branches lead there
            one, zero = np.ones(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
            its = dict.fromkeys(("truenodeids", "falsenodeids"), place[leaves]) | {
                "modes": zero, "splits": np.zeros(1), "featureids": zero, "trueleafs": one, "falseleafs": one,
                "missing_value_tracks_true": one,
            }  # fmt: skip
        for name, values in its.items():
            self._inner[name].append(values)
        self._targets.append(np.full(len(leaves), target, dtype=np.int64))
        self._answers.append(answers[leaves])
        self._n_inner += max(len(inner), 1)
        self._n_leaves += len(leaves)

    def attributes(self, graph: Graph, n_targets: int) -> dict[str, Any]:
        """Return the attributes of the operator."""
        helper = graph.onnx.numpy_helper
        columns = {name: np.concatenate(values) for name, values in self._inner.items()}
        tensors = {
            "nodes_modes": columns.pop("modes").astype(np.uint8),
            "nodes_splits": columns.pop("splits").astype(np.float64),
            "leaf_weights": np.concatenate(self._answers).astype(np.float64),
        }
        lists = {f"nodes_{name}": values.astype(np.int64).tolist() for name, values in columns.items()}
        return {
            "aggregate_function": _SUM,
            "post_transform": 0,
            "n_targets": n_targets,
            "tree_roots": self._roots,
            "leaf_targetids": np.concatenate(self._targets).tolist(),
            **lists,
            **{name: helper.from_array(values, name) for name, values in tensors.items()},
        }
