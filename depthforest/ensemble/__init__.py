"""Ensemble learning with scikit-learn's conventions: trees, forests, bagging, boosting, voting, stacking, ranking.

Tables and targets come in; fitted estimators go out. Users import the estimators, `load`, `analysis`, `plotting` and
`ranking` from here (docs/ENSEMBLE.md). Of the rest of depthforest, only `base` is used.

Rooms, from the ground up:

- `fitting`: what every `fit` shares: checks, folds, parallel jobs, warm start.
- `growth`: kernels that grow one tree from binned columns.
- `tree`: one decision tree: tables, growing, walking, files, estimators.
- `forests`: random forests and extra trees; outliers, embeddings.
- `boosting`: gradient and Newton boosting.
- `bagging`: ensembles whose members differ by random draws: rows, columns, noise, parameters.
- `combining`: voting, averaging and stacking of named members.
- `adaboost`: AdaBoost over any base estimator, or over a fixed pool of classifiers.
- `ranking`: learning to rank.
- `plotting`: plots of fitted estimators.
- `export`: fitted ensembles as ONNX graphs.
- `analysis`: why an ensemble works.
- `files`: a module: `load` reads what `save` wrote, with estimators from a fixed table. Boosting continues from a
  loaded ensemble as if it had never been saved. Custom losses cannot be saved, because files hold no code.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
