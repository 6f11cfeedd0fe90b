"""One decision tree: a table and targets in, a `Tree` of flat columns out, and the estimators of one tree.

Forests, boosting, AdaBoost and ranking use the same tables, trees, walks and files.

Modules, from the ground up:

- `frames`: names, types and columns of tables from pandas, polars or Arrow.
- `inputs`: what users pass to `fit` and `predict`, as plain arrays, checked once. Unknown categories count as missing.
- `targets`: y as numbers of classes or as numbers, one target per row or several.
- `trees`: `Tree`: the flat columns of a grown tree, and pruning.
- `importances`: what the splits of each column gain, for all classes or for each.
- `walking`: rows through all trees, 16 at a time, so that their waits for memory overlap.
- `shapley`: what each column adds to what a tree says of a row.
- `plans`: how a tree is grown: limits, criterion, targets, constraints.
- `anyobjective`: a tree grown for any criterion, several targets, or constraints.
- `planting`: a tree grown from rows, targets and weights, on one thread or several, with the same result.
- `parameters`: scikit-learn's parameters of a tree, checked and resolved for the data.
- `metadata`: what a file says about an ensemble in JSON: parameters, classes, names, categories.
- `checks`: whether the columns of a tree form a tree, before a kernel walks it.
- `store`: ensembles of trees in model files. Each family adds its own content.
- `paths`: the nodes that rows pass, and what pruning would leave.
- `listing`: a tree's rules as text, its nodes as a DataFrame.
- `extratrees`: single trees of random thresholds.
- `estimators`: `DecisionTreeClassifier` and `DecisionTreeRegressor`, and a table that is binned once for many trees.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
