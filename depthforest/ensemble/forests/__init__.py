"""Random forests and extra trees: many randomized trees, grown on threads, averaged.

Tables and targets come in; the estimators go out, and only they are for others. Trees come from `tree`.

Modules, from the ground up:

- `outofbag`: every row judged by the trees that have not seen it: answers, strength and correlation, permutation
  importance.
- `quantiles`: quantiles of the training targets that share a row's leaves.
- `store`: what the file of a forest holds beside its trees.
- `base`: what all forests share. A table is binned once for all trees. Each tree draws from its own seed, so threads do
  not change the forest.
- `tasks`: how y is read and what is predicted, for classes and for numbers.
- `estimators`: `RandomForest*` and `ExtraTrees*`.
- `balanced`: `BalancedRandomForestClassifier`, whose trees draw as many rows of each class.
- `embedding`: `RandomTreesEmbedding`, rows as leaves of random trees.
- `isolation`: `IsolationForest`, outliers by how soon random splits isolate a row.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
