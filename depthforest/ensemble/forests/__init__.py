"""Random forests and extra trees: many randomized trees, grown on threads, averaged.

Tables and targets come in; fitted estimators go out. Other rooms may use only the estimators. Trees come from `tree`.

Modules, from the ground up:

- `outofbag`: every row evaluated by the trees that have not seen it: predictions, strength and correlation, permutation
  importance.
- `quantiles`: quantiles of the training targets in a row's leaves.
- `store`: the contents of a forest's file besides its trees.
- `base`: the common base of all forests. A table is binned once for all trees. Each tree draws from its own seed, so
  threads do not change the forest.
- `tasks`: the reading of y and the predictions, for classification and regression.
- `estimators`: `RandomForest*` and `ExtraTrees*`.
- `balanced`: `BalancedRandomForestClassifier`, whose trees draw equally many rows of each class.
- `embedding`: `RandomTreesEmbedding`, which encodes rows by the leaves of random trees.
- `isolation`: `IsolationForest`, which finds outliers by how soon random splits isolate a row.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
