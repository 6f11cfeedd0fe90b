"""Export: fitted ensembles of trees as ONNX graphs, for servers that have no Python.

Users call `to_onnx` (docs/EXPORT.md). The optional package `onnx` is imported when that is called.

- `graphs`: a graph while it is built: nodes, constants, the table that comes in.
- `treenodes`: many trees as one TreeEnsemble operator; categories as columns of their own.
- `answers`: what each kind of estimator answers, as a graph.
- `models`: `to_onnx`, the whole model: inputs, labels, probabilities.

Sums are taken in double precision and in the order in which the estimators take them, so that decisions are equal on
every row, ties included.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
