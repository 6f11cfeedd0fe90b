"""One decision tree: a table and targets in, a `Tree` of flat columns out, and estimators that are single trees.

Forests, boosting, AdaBoost and ranking use the same tables, trees, walks and files.

Modules, from the ground up:

- `frames`: names, types and columns of tables from pandas, polars or Arrow.
- `inputs`: arguments of `fit` and `predict` as plain arrays, checked once. Unknown categories count as missing.
- `targets`: y as class codes or as numbers, one target per row or several.
- `trees`: `Tree`: the flat columns of a grown tree, and pruning.
- `importances`: the gain of the splits on each column, for all classes or for each.
- `walking`: rows through all trees, 16 at a time, so that memory latencies overlap.
- `shapley`: the contribution of each column to the prediction of a row.
- `plans`: how to grow a tree: limits, criterion, targets, constraints.
- `anyobjective`: trees for any criterion, several targets, or constraints.
- `planting`: grows a tree from rows, targets and weights, on one thread or several, with the same result.
- `parameters`: scikit-learn's parameters of a tree, checked and resolved for the data.
- `metadata`: the JSON part of a file: parameters, classes, names, categories.
- `checks`: checks that columns form a valid tree, before a kernel walks it.
- `store`: ensembles of trees in model files. Each family adds its own content.
- `paths`: the nodes that rows pass, and the results of pruning.
- `listing`: a tree's rules as text, its nodes as a DataFrame.
- `extratrees`: single trees with random thresholds.
- `estimators`: `DecisionTreeClassifier` and `DecisionTreeRegressor`, and a table binned once for many trees.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
