r"""
Newton boosting: the gain of a split
====================================

How does Newton boosting choose a split and a leaf? With sums of gradients :math:`G` and of second derivatives :math:`H`:

.. math::

    w = -\frac{G}{H + \lambda} \qquad
    \text{gain} = \frac{G_L^2}{H_L + \lambda} + \frac{G_R^2}{H_R + \lambda} - \frac{G^2}{H + \lambda}

A node is split if the gain exceeds the penalty :math:`\gamma`. As in XGBoost's code, the gain has no factor of ½.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from depthforest.ensemble import NewtonBoostingClassifier

rng = np.random.default_rng(0)
x = np.sort(rng.normal(0, 1, 60))
y = (x + rng.normal(0, 0.5, 60) > 0.3).astype(float)
gradient, hessian = 0.5 - y, np.full(60, 0.25)  # of the logistic loss at F = 0

figure, axes = plt.subplots(2, 1, figsize=(8, 5.5), layout="constrained", sharex=True)
axes[0].scatter(x, y, s=12, c=y, cmap="coolwarm")
axes[0].set_ylabel("class")
for ridge in (0.0, 1.0, 10.0):
    g, h = np.cumsum(gradient)[:-1], np.cumsum(hessian)[:-1]
    whole_g, whole_h = gradient.sum(), hessian.sum()
    gain = g**2 / (h + ridge) + (whole_g - g) ** 2 / (whole_h - h + ridge) - whole_g**2 / (whole_h + ridge)
    axes[1].plot((x[1:] + x[:-1]) / 2, gain, label=rf"$\lambda = {ridge:g}$")
axes[1].axhline(4, color="0.5", linestyle="--", label=r"a penalty $\gamma = 4$")
axes[1].set(xlabel="threshold", ylabel="gain")
axes[1].legend(frameon=False)

# %%
# Larger penalties leave fewer leaves.

X, X_new, t, t_new = train_test_split(*load_breast_cancer(return_X_y=True), test_size=0.5, random_state=0)
for gamma in (0.0, 1.0, 10.0):
    model = NewtonBoostingClassifier(n_estimators=50, gamma=gamma, min_samples_leaf=1, random_state=0).fit(X, t)
    leaves = np.mean([len(np.unique(tree)) for tree in model.apply(X).reshape(len(X), -1).T])
    print(f"gamma {gamma:4.1f}: {leaves:4.1f} leaves a tree, accuracy on new rows {model.score(X_new, t_new):.3f}")
