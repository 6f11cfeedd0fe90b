"""Plots of fitted estimators, ours or scikit-learn's.

Fitted estimators come in; matplotlib axes go out. Users import the `plot_*` functions from here. matplotlib is imported
when a function is called: `pip install matplotlib`.

Modules, from the ground up:

- `canvas`: common parts of all plots: matplotlib, axes, colors, names, and text that fits.
- `treelayout`: the positions of a tree's boxes. The layout is pure arithmetic and is tested by its properties.
- `treereading`: the text of each box, read once from a fitted tree.
- `treedrawing`: `plot_tree`, which grows to the right, because text is wide and flat.
- `importance`: `plot_importance`: impurity or permutation importance of features.
- `outofbagcurve`: `plot_oob`: out-of-bag error against the number of trees.
- `decisionregions`: `plot_decision_regions`: the regions of each class, for classifiers of two features.
- `boosting`: boosting round by round: errors, weights of rows, decision regions.
- `ranking`: lambdas as arrows on ranked documents, and NDCG by round.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
