"""Pictures of fitted learners, ours or scikit-learn's.

Fitted learners come in; matplotlib axes go out. Users import the `plot_*` functions from here. matplotlib is imported
when a function is called: `pip install matplotlib`.

Modules, from the ground up:

- `canvas`: what all pictures share: matplotlib, axes, colors, names, and text that fits.
- `treelayout`: where the boxes of a tree go. The layout is pure arithmetic and is tested by its properties.
- `treereading`: what each box says, read once from a fitted tree.
- `treedrawing`: `plot_tree`, growing to the right, because text is wide and flat.
- `importance`: `plot_importance`: impurity or permutation importance of features.
- `outofbagcurve`: `plot_oob`: out-of-bag error against the number of trees.
- `decisionregions`: `plot_decision_regions`: what classifiers of two features decide everywhere.
- `boosting`: what happens round by round: errors, weights of rows, decision regions.
- `ranking`: lambdas as arrows on ranked documents, and NDCG by round.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
