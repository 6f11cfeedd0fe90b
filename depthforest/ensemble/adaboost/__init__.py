"""AdaBoost: members fitted to reweighted rows, and variants for regression and for a fixed pool of classifiers.

A table, a target and any weak learner come in; `AdaBoostClassifier`, `AdaBoostPoolClassifier` and `AdaBoostRegressor`
go out. Other rooms may use only these.

Modules, from the ground up:

- `rounds`: the arithmetic of a round: weights of members and rows. It knows nothing of estimators.
- `votes`: weighted votes, after all rounds or after each. The values equal scikit-learn's.
- `store`: the contents of a file besides our own trees: votes, errors, bound, seeds, parameters. Drawn rows may lack
  classes and categories, so trees are rewritten to use those of all members together; predictions do not change.
- `estimator`: `AdaBoostClassifier`: members fitted one after another on weighted or on drawn rows, using `bagging`'s
  functions for one member.
- `regression`: `AdaBoostRegressor`: the same for regression, on drawn rows; predictions are weighted medians.
- `pool`: `AdaBoostPoolClassifier`: each round chooses the best member of a fixed, named pool.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
