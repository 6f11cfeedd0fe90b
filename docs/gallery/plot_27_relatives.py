r"""
Relatives of the random forest
==============================

What else can random trees do? An *isolation forest* splits at random and counts the splits until a row is alone: outliers need few.
A *random trees embedding* encodes a row by the leaves that it reaches, so that a linear model can fit curves. A *balanced random
forest* draws the same number of rows from each class for each tree, which helps if one class is rare.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import make_pipeline

from depthforest.ensemble import (
    BalancedRandomForestClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomTreesEmbedding,
)

rng = np.random.default_rng(0)
across, up = np.meshgrid(np.linspace(-2, 2, 120), np.linspace(-2, 2, 120))
grid = np.column_stack((across.ravel(), up.ravel()))

figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
rows = np.vstack((rng.normal(-0.7, 0.25, (150, 2)), rng.normal(0.7, 0.25, (150, 2)), rng.uniform(-2, 2, (15, 2))))
forest = IsolationForest(random_state=0).fit(rows)
shown = axes[0].contourf(across, up, forest.score_samples(grid).reshape(across.shape), 20, cmap="Blues")
axes[0].plot(*rows.T, ".", color="k", markersize=3)
axes[0].set_title("isolation forest: dark is normal")

x, y = make_circles(300, noise=0.1, factor=0.5, random_state=0)
linear = make_pipeline(RandomTreesEmbedding(random_state=0), LogisticRegression()).fit(x, y)
axes[1].contourf(across, up, linear.predict_proba(grid)[:, 1].reshape(across.shape), 20, cmap="coolwarm")
axes[1].scatter(*x.T, c=y, cmap="coolwarm", s=12, edgecolors="k", linewidths=0.4)
axes[1].set_title("a linear model on leaves of random trees")

rare = rng.normal(size=(4000, 5))
is_rare = rare[:, 0] + rare[:, 1] + rng.normal(size=4000) > 3.5
for kind in (RandomForestClassifier, BalancedRandomForestClassifier):
    answers = kind(random_state=0).fit(rare[::2], is_rare[::2]).predict(rare[1::2])
    print(f"{kind.__name__}: balanced accuracy {balanced_accuracy_score(is_rare[1::2], answers):.3f}")
