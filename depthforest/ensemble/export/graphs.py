"""Graphs: an ONNX graph under construction, and the table of input rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import UsageError

MAIN_OPSET, TREE_OPSET, IR_VERSION = 19, 5, 10
"""Required versions of the operators and of the file format: those of 2024, which have trees in double precision."""


def import_onnx() -> ModuleType:
    """Return the package `onnx`, or raise an error that says how to install it."""
    try:
        import onnx
    except ImportError:
        raise UsageError("to_onnx needs the package onnx, which is not installed: run pip install onnx") from None
    module: ModuleType = onnx
    return module


class Graph:
    """Nodes and constants of a graph; every method that adds a node returns the name of its output."""

    def __init__(self) -> None:
        self.onnx = import_onnx()
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._kept: dict[tuple[Any, ...], str] = {}

    def constant(self, values: npt.ArrayLike) -> str:
        """Return the name of a constant; equal constants are stored once."""
        array = np.asarray(values)
        if array.dtype.kind in "UO":
            array = array.astype(object)
            key: tuple[Any, ...] = ("text", array.shape, tuple(array.ravel().tolist()))
        else:
            key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._kept:
            name = f"c{len(self.constants)}"
            if array.dtype == object:
                texts = [str(text).encode() for text in array.ravel()]
                tensor = self.onnx.helper.make_tensor(name, self.onnx.TensorProto.STRING, array.shape, texts)
            else:
                tensor = self.onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
            self.constants.append(tensor)
            self._kept[key] = name
        return self._kept[key]

    def add(self, operator: str, *inputs: str, domain: str = "", output: str | None = None, **attributes: Any) -> str:
        """Add a node with one output."""
        name = f"t{len(self.nodes)}" if output is None else output
        node = self.onnx.helper.make_node(operator, list(inputs), [name], domain=domain, **attributes)
        self.nodes.append(node)
        return name

    def cast(self, values: str, to: str, output: str | None = None) -> str:
        """Add a conversion to one of ONNX's types."""
        return self.add("Cast", values, to=getattr(self.onnx.TensorProto, to), output=output)

    def ordered_sum(self, values: str) -> str:
        """Sum over axis 1 in order, (n, k, ...) to (n, ...), as the end of a cumulative sum."""
        sums = self.add("CumSum", values, self.constant(np.int64(1)))
        return self.add("Gather", sums, self.constant(np.int64(-1)), axis=1)

    def column(self, values: str, number: int) -> str:
        """Take one column of (n, k), as (n,)."""
        return self.add("Gather", values, self.constant(np.int64(number)), axis=1)

    def two_columns(self, first: str, second: str) -> str:
        """Put two columns (n,) side by side, (n, 2)."""
        one = self.constant(np.array([1], dtype=np.int64))
        return self.add("Concat", self.add("Unsqueeze", first, one), self.add("Unsqueeze", second, one), axis=1)


@dataclass(frozen=True)
class RowTable:
    """The input rows.

    Attributes
    ----------
    numbers : str
        (n, n_features) double.
    texts : mapping
        From a column of text categories to the name of its input, (n, 1) text.
    """

    numbers: str
    texts: Mapping[int, str]

    def columns(self, graph: Graph, columns: Sequence[int] | None) -> RowTable:
        """Return some columns as a table; None means all."""
        if columns is None:
            return self
        chosen = graph.constant(np.asarray(columns, dtype=np.int64))
        texts = {new: self.texts[old] for new, old in enumerate(map(int, columns)) if old in self.texts}
        return RowTable(graph.add("Gather", self.numbers, chosen, axis=1), texts)
