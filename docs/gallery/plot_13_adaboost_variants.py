r"""
AdaBoost: other members, numbers
================================

Does AdaBoost need trees? No. A pool offers members of several kinds, and each round takes the best one. AdaBoost.R2 boosts
regressors: rows with a large error get more weight, and the answer is a weighted median.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from depthforest.ensemble import (
    AdaBoostPoolClassifier,
    AdaBoostRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)
from depthforest.ensemble.plotting import plot_decision_regions

X, y = make_moons(300, noise=0.25, random_state=0)
pool = AdaBoostPoolClassifier(
    [("stump", DecisionTreeClassifier(max_depth=1)), ("bayes", GaussianNB()), ("logistic", LogisticRegression())],
    n_estimators=20,
).fit(X, y)
figure, axes = plt.subplots(figsize=(5, 4), layout="constrained")
plot_decision_regions({f"a pool of three kinds: {pool.score(X, y):.1%}": pool}, X, y, [axes])

# %%
# AdaBoost.R2 on a noisy sine.

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 6, 200))
t = np.sin(x) + np.sin(6 * x) / 2 + rng.normal(0, 0.1, len(x))
grid = np.linspace(0, 6, 600)
figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
axes.plot(x, t, ".", color="0.7")
for n in (1, 100):
    model = AdaBoostRegressor(DecisionTreeRegressor(max_depth=4), n_estimators=n, random_state=0).fit(x[:, None], t)
    axes.plot(grid, model.predict(grid[:, None]), label=f"{n} rounds")
axes.legend(frameon=False)
