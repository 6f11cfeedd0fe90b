"""Ensembles of learners by scikit-learn's conventions: trees, forests, bagging, boosting, voting, stacking, ranking.

Tables and targets come in; fitted estimators go out. Users import the estimators, `load`, `analysis`, `plotting` and
`ranking` from here (docs/ENSEMBLE.md). Of the rest of depthforest, only `base` is used.

Rooms, from the ground up:

- `fitting`: what every `fit` shares: checks, folds, jobs, warm start.
- `growth`: kernels that grow one tree from coded columns.
- `tree`: one decision tree: tables, growing, walking, files, estimators.
- `forests`: random forests and extra trees; outliers, embeddings.
- `boosting`: gradient and Newton boosting.
- `bagging`: ensembles whose members differ by what is drawn for them.
- `combining`: voting, averaging and stacking of named members.
- `adaboost`: AdaBoost over any member, or over a fixed pool.
- `ranking`: learning to rank.
- `plotting`: pictures of fitted learners.
- `export`: fitted ensembles as ONNX graphs.
- `analysis`: why an ensemble works.
- `files`: a module: `load` for whatever `save` wrote, with the estimator from a fixed table. A loaded ensemble
  continues boosting as if it had never been saved. Custom losses cannot be saved, because files hold no code.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
