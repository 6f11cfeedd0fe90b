r"""
AdaBoost: the training error and its bound
==========================================

How fast does the training error fall? At least as fast as a product over the rounds:

.. math::

    \text{training error} \le \prod_t 2 \sqrt{e_t (1 - e_t)}

Every member that is better than a coin makes the bound smaller.
"""

from sklearn.datasets import make_moons

from depthforest.ensemble import AdaBoostClassifier
from depthforest.ensemble.plotting import plot_staged_errors

X, y = make_moons(300, noise=0.2, random_state=0)
new = make_moons(3000, noise=0.2, random_state=1)
model = AdaBoostClassifier(n_estimators=200, random_state=0).fit(X, y)
plot_staged_errors({"AdaBoost of stumps": model}, {"training": (X, y), "new rows": new}, rounds=True)
print(f"bound after 200 rounds: {model.error_bound_[-1]:.4f}")
print(f"training error: {1 - model.score(X, y):.4f}")
