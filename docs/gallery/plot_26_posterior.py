r"""
Posterior sampling
==================

How certain is an ensemble? If its members are draws from a posterior distribution, they differ where the data do not determine the answer.
A *Bayesian linear* member draws its own coefficients from :math:`p(w \mid \text{data})`. The *Bayesian bootstrap* does the same for
any member that takes weights: each row gets a random weight, all of them together a Dirichlet distribution.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from depthforest.ensemble import BayesianLinearRegressor, DecisionTreeRegressor, DiverseEnsembleRegressor

rng = np.random.default_rng(0)
x = np.concatenate([rng.uniform(-3, -1, 40), rng.uniform(1, 2.5, 20)])[:, None]
y = np.sin(1.5 * x[:, 0]) + rng.normal(0, 0.2, len(x))
grid = np.linspace(-3.5, 3.5, 300)[:, None]

cubic = make_pipeline(
    PolynomialFeatures(5, include_bias=False), StandardScaler(), BayesianLinearRegressor(prior_precision=0.01)
)
ensembles = {
    "draws of the coefficients": DiverseEnsembleRegressor(cubic, 200, bootstrap=False, random_state=0),
    "Bayesian bootstrap of trees": DiverseEnsembleRegressor(
        DecisionTreeRegressor(min_samples_leaf=3), 200, bootstrap="bayesian", random_state=0
    ),
}

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
for axis, (title, ensemble) in zip(axes, ensembles.items(), strict=True):
    ensemble.fit(x, y)
    answers = np.array([member.predict(grid) for member in ensemble.estimators_])
    axis.fill_between(grid[:, 0], *np.quantile(answers, [0.05, 0.95], axis=0), alpha=0.25, label="90 % of the members")
    axis.plot(grid[:, 0], answers[:8].T, color="0.6", linewidth=0.6)
    axis.plot(grid[:, 0], ensemble.predict(grid), label="their mean")
    axis.plot(x[:, 0], y, ".", color="k", markersize=4)
    axis.set(title=title, ylim=(-3, 3), xlabel="x")
axes[0].legend(frameon=False)

# %%
# Both are certain where there are points. Between the two clouds and beyond them, the polynomials diverge, because many of them fit
# equally well. The trees do not: each predicts a constant there, whatever the weights. The spread of members only shows what is
# uncertain for their kind of model.

for title, ensemble in ensembles.items():
    spread = [np.std([member.predict([[at]])[0] for member in ensemble.estimators_]) for at in (-2.0, 0.0, 3.5)]
    print(f"{title}: spread at -2, 0 and 3.5 is {spread[0]:.2f}, {spread[1]:.2f}, {spread[2]:.2f}")
