"""AdaBoost: members fitted to reweighted rows, and a variant over a fixed pool of members.

A table, classes and any weak classifier come in; `AdaBoostClassifier`, `AdaBoostPoolClassifier` and
`AdaBoostRegressor` go out, and only they are for others.

Modules, from the ground up:

- `rounds`: the arithmetic of a round: weights of members and rows. It knows no estimator.
- `votes`: weighted votes, after all rounds or after each. The values are scikit-learn's.
- `store`: what a file holds beside our own trees: votes, errors, bound, seeds, parameters. Drawn rows may lack classes
  and categories, so trees are rewritten in terms of all that the members know together; their answers stay the same.
- `estimator`: `AdaBoostClassifier`: members fitted one after another, made as those of `bagging`, on weights or on
  drawn rows.
- `regression`: `AdaBoostRegressor`: the same for numbers, on drawn rows; the answer is a weighted median.
- `pool`: `AdaBoostPoolClassifier`: each round takes the best member of a fixed, named pool.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
