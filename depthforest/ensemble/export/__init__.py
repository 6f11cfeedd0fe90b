"""Export: fitted ensembles of trees as ONNX graphs, for servers without Python.

Users call `to_onnx` (docs/EXPORT.md), which imports the optional package `onnx`.

- `graphs`: a graph under construction: nodes, constants, the input table.
- `treenodes`: many trees as one TreeEnsemble operator; categories become additional columns.
- `answers`: the predictions of each kind of estimator, as a part of a graph.
- `models`: `to_onnx`, the whole model: inputs, labels, probabilities.

Sums are taken in double precision and in the same order as in the estimators, so that decisions are equal on every row,
including ties.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
