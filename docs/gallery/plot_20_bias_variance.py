r"""
Bias and variance
=================

What does an ensemble take away? The error is bias² + variance + noise. Bagging lowers the variance of deep trees; boosting
lowers the bias of stumps.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from depthforest.ensemble import AdaBoostClassifier, BaggingClassifier, analysis

sizes = (1, 3, 7, 15, 31)


def fresh(rng):
    """Draw a training set."""
    return make_moons(200, noise=0.25, random_state=int(rng.randint(2**31 - 1)))


X, y = make_moons(500, noise=0.25, random_state=1)
ensembles = {
    "bagged full trees": BaggingClassifier(n_estimators=max(sizes)),
    "boosted stumps": AdaBoostClassifier(n_estimators=max(sizes)),
}
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
for panel, (name, ensemble) in zip(axes, ensembles.items(), strict=True):
    parts = analysis.bias_variance_by_size(ensemble, fresh, X, y, sizes=sizes, n_rounds=12, random_state=0)
    analysis.plot_bias_variance(sizes, parts, ax=panel)
    panel.set_title(name)
