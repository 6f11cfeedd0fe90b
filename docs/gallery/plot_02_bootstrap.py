r"""
The bootstrap share
===================

How many distinct rows does a bootstrap sample hold? It draws :math:`N` rows out of :math:`N`, with replacement:

.. math::

    1 - (1 - 1/N)^N \to 1 - 1/e \approx 0.632
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from depthforest.ensemble import BaggingClassifier

sizes = np.unique(np.logspace(0, 3, 40).astype(int))
rng = np.random.default_rng(0)
drawn = [np.mean([len(np.unique(rng.integers(n, size=n))) / n for _ in range(200)]) for n in sizes]

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.plot(sizes, 1 - (1 - 1 / sizes) ** sizes, label="$1 - (1 - 1/N)^N$")
axes.plot(sizes, drawn, ".", label="200 samples drawn")
axes.axhline(1 - np.exp(-1), color="0.6", linewidth=0.8, label="0.632")
axes.set(xscale="log", xlabel="rows N", ylabel="share of distinct rows", ylim=(0.6, 1.02))
axes.legend(frameon=False)

# %%
# Each bagged tree therefore leaves out about 36.8 % of the rows. Those rows are *out of bag*: they test the tree
# without a separate test set.

X, y = load_wine(return_X_y=True)
bagged = BaggingClassifier(n_estimators=50, oob_score=True, random_state=0).fit(X, y)
shares = [len(np.unique(rows)) / len(X) for rows in bagged.estimators_samples_]
print(f"mean share of distinct rows: {np.mean(shares):.3f}")
print(f"out-of-bag accuracy: {bagged.oob_score_:.3f}")
