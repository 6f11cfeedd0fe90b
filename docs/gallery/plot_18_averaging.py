r"""
Averaging: error and ambiguity
==============================

Why is a mean of regressors better than its members? Because of an identity: the mean error of the members is the error of
the mean plus their spread around it (the ambiguity).

.. math::

    \frac1T \sum_t (h_t - y)^2 = (\bar h - y)^2 + \frac1T \sum_t (h_t - \bar h)^2
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from depthforest.ensemble import (
    AveragingRegressor,
    DecisionTreeRegressor,
    GradientBoostingRegressor,
    analysis,
)

X, y = load_diabetes(return_X_y=True)
members = [
    ("ridge", Ridge()),
    ("near", KNeighborsRegressor(10)),
    ("tree", DecisionTreeRegressor(max_depth=3, random_state=0)),
    ("boosting", GradientBoostingRegressor(n_estimators=50)),
]
mean = AveragingRegressor(members).fit(X[:300], y[:300])
answers = [member.predict(X[300:]) for member in mean.estimators_]
parts = analysis.error_ambiguity(answers, y[300:])

figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.barh(["mean of the members' errors", "error of the mean + ambiguity"], [parts.member_error, parts.ensemble_error])
axes.barh(["error of the mean + ambiguity"], [parts.ambiguity], left=[parts.ensemble_error], label="ambiguity")
axes.set_xlabel("squared error")
axes.legend(frameon=False)

# %%
# Weights can be fitted on out-of-fold answers. They are no gain by themselves: here the equal weights are better.

fitted = AveragingRegressor(members, weights="fitted").fit(X[:300], y[:300])
print({name: round(float(weight), 2) for (name, _), weight in zip(members, fitted.weights_, strict=True)})
print(f"R² with equal weights: {mean.score(X[300:], y[300:]):.3f}")
print(f"R² with fitted weights: {fitted.score(X[300:], y[300:]):.3f}")
