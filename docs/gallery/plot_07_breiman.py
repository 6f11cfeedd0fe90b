r"""
Breiman's bound
===============

What makes a forest good? Strong trees that err differently. With the mean margin :math:`s` (strength) and the mean
correlation :math:`\bar\rho` of the trees' raw margins:

.. math::

    \text{error} \le \frac{\bar\rho \, (1 - s^2)}{s^2}
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from depthforest.ensemble import RandomForestClassifier, analysis

X, X_new, y, y_new = train_test_split(*load_digits(return_X_y=True), test_size=0.5, random_state=0)
features = (1, 2, 4, 8, 16, 32, 64)
bounds, errors = [], []
for n in features:
    forest = RandomForestClassifier(max_features=n, random_state=0).fit(X, y)
    bounds.append(analysis.breiman_bound(analysis.member_predictions(forest, X_new), y_new))
    errors.append(1 - forest.score(X_new, y_new))

# %%
# More features at each split make the trees stronger and more alike. The bound is loose, but like the error
# it is largest at both ends and smallest between them.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
axes[0].plot(features, [one.strength for one in bounds], "o-", label="strength $s$")
axes[0].plot(features, [one.correlation for one in bounds], "s-", label=r"correlation $\bar\rho$")
axes[1].plot(features, [one.bound for one in bounds], "o-", label="Breiman's bound")
axes[1].plot(features, errors, "s-", label="error on new rows")
for panel in axes:
    panel.set(xscale="log", xlabel="features tried at each split")
    panel.set_xticks(features, [str(n) for n in features])
    panel.minorticks_off()
    panel.set_ylim(bottom=0)
    panel.legend(frameon=False)
