r"""
Impurity and importance
=======================

What does a tree minimize when it splits a node? The impurity of the children. With class shares :math:`p_c`:

.. math::

    \text{gini} = 1 - \sum_c p_c^2 \qquad \text{entropy} = -\sum_c p_c \log_2 p_c
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from depthforest.base.splitting import impurity
from depthforest.ensemble import DecisionTreeClassifier
from depthforest.ensemble.plotting import plot_importance, plot_tree

counts = np.array([(n, 1000 - n) for n in range(1001)])
share = counts[:, 0] / 1000

figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
axes.plot(share, impurity(counts, "entropy"), label="entropy, in bits")
axes.plot(share, impurity(counts, "gini"), label="gini")
axes.plot(share, np.minimum(share, 1 - share), "--", color="0.5", label="error rate, for comparison")
axes.set(xlabel="share of the first of two classes", ylabel="impurity")
axes.legend(frameon=False)

# %%
# A node that the share :math:`w_i` of the rows reaches has the importance
#
# .. math::
#
#     NI(i) = w_i I(i) - \sum_{j \in \text{children}} w_j I(j)
#
# The importance of a feature is the sum over its nodes, divided by the sum over all nodes.

iris = load_iris()
tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(iris.data, iris.target)
plot_tree(tree, feature_names=iris.feature_names, class_names=list(iris.target_names))

# %%
# Length and width of the petals decide.

plot_importance(tree, feature_names=iris.feature_names)
for name, value in zip(iris.feature_names, tree.feature_importances_, strict=True):
    print(f"{name}: {value:.3f}")
