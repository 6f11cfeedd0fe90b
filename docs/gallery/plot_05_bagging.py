r"""
Bagging, random forests, extra trees
====================================

Why average trees? A full tree follows every noisy point. Trees of different samples err at different points, and their
mean smooths the border.

.. list-table::
   :header-rows: 1

   * - ensemble
     - what makes its trees differ
   * - bagging
     - bootstrap samples of the rows
   * - random forest
     - bootstrap samples, and a random subset of the features at each split
   * - extra trees
     - random thresholds, on all rows
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from depthforest.ensemble import BaggingClassifier, DecisionTreeClassifier, ExtraTreesClassifier, RandomForestClassifier
from depthforest.ensemble.plotting import plot_decision_regions

X, y = make_moons(300, noise=0.3, random_state=0)
X_new, y_new = make_moons(4000, noise=0.3, random_state=1)

models = {
    "one tree": DecisionTreeClassifier(random_state=0),
    "bagging": BaggingClassifier(n_estimators=100, random_state=0),
    "random forest": RandomForestClassifier(random_state=0),
    "extra trees": ExtraTreesClassifier(random_state=0),
}
panels = {f"{name}: {model.fit(X, y).score(X_new, y_new):.1%}": model for name, model in models.items()}
figure, axes = plt.subplots(1, 4, figsize=(15, 4), layout="constrained", sharey=True)
plot_decision_regions(panels, X, y, axes)
