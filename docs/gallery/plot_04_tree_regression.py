r"""
Regression trees
================

What does a single tree predict for numbers? The mean of the rows in each leaf, so a staircase. Each split minimizes the
squared error of its two means.
"""

import matplotlib.pyplot as plt
import numpy as np

from depthforest.ensemble import DecisionTreeRegressor, RandomForestRegressor
from depthforest.ensemble.plotting import plot_tree

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 6, 200))
y = np.sin(x) + rng.normal(0, 0.25, len(x))
grid = np.linspace(0, 6, 600)

figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
axes.plot(x, y, ".", color="0.7")
for depth in (2, 5):
    tree = DecisionTreeRegressor(max_depth=depth).fit(x[:, None], y)
    axes.plot(grid, tree.predict(grid[:, None]), label=f"one tree of depth {depth}")
forest = RandomForestRegressor(min_samples_leaf=5, random_state=0).fit(x[:, None], y)
axes.plot(grid, forest.predict(grid[:, None]), color="black", label="100 trees, averaged")
axes.legend(frameon=False)

# %%
# The tree of depth 2, drawn.

plot_tree(DecisionTreeRegressor(max_depth=2).fit(x[:, None], y), feature_names=["x"])
