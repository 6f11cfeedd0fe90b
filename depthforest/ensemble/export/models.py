"""Models: a fitted ensemble as an ONNX model with its inputs and outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from depthforest.base import UsageError, check_writable, replacing
from depthforest.ensemble.export.answers import all_categories, cannot_be_exported, class_answer, number_answer
from depthforest.ensemble.export.graphs import IR_VERSION, MAIN_OPSET, TREE_OPSET, Graph, RowTable
from depthforest.ensemble.export.treenodes import TREES, is_text

ROWS = "X"
"""The name of the input."""


def to_onnx(estimator: Any, path: str | Path | None = None) -> Any:
    """Return a fitted ensemble as an ONNX model; with `path`, also write it there.

    Parameters
    ----------
    estimator : estimator
        Trees, forests, extra trees, gradient and Newton boosting, AdaBoost, bagging and voting of these, LambdaMART.
    path : str or Path, optional
        File to write, NAME.onnx.

    Returns
    -------
    onnx.ModelProto
        Input `X` (n, n_features) float32, with missing values as NaN. Columns of text categories are ignored in X and
        have inputs of their own, `X_NAME` (n, 1) text, with the column's name or number. Classifiers return `label`
        (n,) and, if the estimator has shares of classes, `probabilities` (n, n_classes) float32; others return
        `prediction` (n,) float64.

    Notes
    -----
    Decisions are those of `predict` on every row, including ties; probabilities agree to 1e-6.
    """
    if not hasattr(estimator, "fit"):
        raise UsageError(cannot_be_exported(estimator))
    check_is_fitted(estimator)
    if getattr(estimator, "n_outputs_", 1) > 1:
        raise UsageError(
            f"an ONNX model takes one target per row, got {estimator.n_outputs_}: fit one for each column of y"
        )
    target = None if path is None else Path(path)
    if target is not None:
        check_writable(target)
    graph = Graph()
    inputs, table = _table(graph, estimator)
    outputs = _class_outputs(graph, table, estimator) if is_classifier(estimator) else _output(graph, table, estimator)
    helper = graph.onnx.helper
    name = type(estimator).__name__
    made = helper.make_graph(graph.nodes, name, inputs, outputs, graph.constants)
    opsets = [helper.make_opsetid("", MAIN_OPSET), helper.make_opsetid(TREES, TREE_OPSET)]
    model = helper.make_model(made, opset_imports=opsets, ir_version=IR_VERSION, producer_name="depthforest")
    graph.onnx.checker.check_model(model)
    if target is not None:
        with replacing(target) as file:
            file.write(model.SerializeToString())
    return model


def _table(graph: Graph, estimator: Any) -> tuple[list[Any], RowTable]:
    """Return the inputs of the model, and the table made of them."""
    helper, types = graph.onnx.helper, graph.onnx.TensorProto
    n_features = estimator.n_features_in_
    inputs = [helper.make_tensor_value_info(ROWS, types.FLOAT, ["n", n_features])]
    names = getattr(estimator, "feature_names_in_", range(n_features))
    texts = {}
    for column, values in sorted(all_categories(estimator).items()):
        if is_text(values):
            texts[column] = f"{ROWS}_{names[column]}"
            inputs.append(helper.make_tensor_value_info(texts[column], types.STRING, ["n", 1]))
    return inputs, RowTable(graph.cast(ROWS, "DOUBLE"), texts)


def _class_outputs(graph: Graph, table: RowTable, estimator: Any) -> list[Any]:
    helper, types = graph.onnx.helper, graph.onnx.TensorProto
    answer = class_answer(graph, table, estimator)
    classes, kind = _classes(np.asarray(estimator.classes_))
    graph.add("Gather", graph.constant(classes), answer.winner, axis=0, output="label")
    outputs = [helper.make_tensor_value_info("label", getattr(types, kind), ["n"])]
    if answer.shares is not None:
        graph.cast(answer.shares, "FLOAT", output="probabilities")
        outputs.append(helper.make_tensor_value_info("probabilities", types.FLOAT, ["n", len(classes)]))
    return outputs


def _output(graph: Graph, table: RowTable, estimator: Any) -> list[Any]:
    graph.add("Identity", number_answer(graph, table, estimator), output="prediction")
    return [graph.onnx.helper.make_tensor_value_info("prediction", graph.onnx.TensorProto.DOUBLE, ["n"])]


def _classes(classes: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], str]:
    """Return the classes as a constant, and their type in ONNX."""
    if classes.dtype.kind in "iu":
        return classes.astype(np.int64), "INT64"
    if classes.dtype.kind == "b":
        return classes.astype(np.bool_), "BOOL"
    if classes.dtype.kind == "f":
        return classes.astype(np.float64), "DOUBLE"
    if all(isinstance(label, str) for label in classes.tolist()):
        return classes.astype(object), "STRING"
    kinds = ", ".join(sorted({type(label).__name__ for label in classes.tolist()}))
    raise UsageError(f"classes must be numbers or text to be exported to ONNX, got {kinds}; fit with such labels")
