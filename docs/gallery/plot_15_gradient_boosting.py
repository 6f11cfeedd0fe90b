r"""
Gradient boosting, round by round
=================================

How does gradient boosting fit? Each tree fits what is left: the negative gradient of the loss at the current answers.

.. math::

    F_0 = \arg\min_\gamma \sum_i L(y_i, \gamma) \qquad
    r_i = -\frac{\partial L(y_i, F(x_i))}{\partial F(x_i)} \qquad
    F \leftarrow F + \eta \, \gamma_{\text{leaf}}
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

from depthforest.ensemble import GradientBoostingRegressor
from depthforest.ensemble.plotting import plot_staged_errors

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 6, 150))
y = np.sin(x) + 0.3 * x + rng.normal(0, 0.15, len(x))
grid = np.linspace(0, 6, 500)
model = GradientBoostingRegressor(n_estimators=100, learning_rate=0.3, max_depth=2).fit(x[:, None], y)
curves = list(model.staged_predict(grid[:, None]))
fits = list(model.staged_predict(x[:, None]))

figure, axes = plt.subplots(2, 4, figsize=(14, 6), layout="constrained", sharey="row")
for column, n in enumerate((1, 3, 10, 100)):
    axes[0, column].plot(x, y, ".", color="0.7")
    axes[0, column].plot(grid, curves[n - 1])
    axes[0, column].set_title(f"{n} round{'s' * (n > 1)}")
    axes[1, column].plot(x, y - fits[n - 1], ".", color="0.4")
    axes[1, column].axhline(0, color="0.6", linewidth=0.8)
axes[0, 0].set_ylabel("answer $F$")
axes[1, 0].set_ylabel("residual, for the next tree")

# %%
# A large learning rate overfits; a small one is still learning after 200 rounds.

training = make_friedman1(300, noise=1.0, random_state=0)
new = make_friedman1(2000, noise=1.0, random_state=1)
rates = {
    f"learning rate {rate:g}": GradientBoostingRegressor(n_estimators=200, learning_rate=rate).fit(*training)
    for rate in (0.02, 0.1, 0.5)
}
plot_staged_errors(rates, {"training": training, "new rows": new})

# %%
# With the quantile loss the same trees give an interval.

figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
noisy = np.sin(x) + rng.normal(0, 0.05 + 0.1 * x)
axes.plot(x, noisy, ".", color="0.6")
low, middle, high = (
    GradientBoostingRegressor(loss="quantile", alpha=alpha, learning_rate=0.05, min_samples_leaf=10)
    .fit(x[:, None], noisy)
    .predict(grid[:, None])
    for alpha in (0.1, 0.5, 0.9)
)
axes.fill_between(grid, low, high, alpha=0.25, label="quantiles 0.1 to 0.9")
axes.plot(grid, middle, label="median")
axes.legend(frameon=False)
