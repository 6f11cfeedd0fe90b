r"""
Output smearing and flipping
============================

Can noise on the answers help? Each member learns answers with noise of its own, :math:`y + \text{noise}`; the noise cancels in
the mean of the members. For classes, some labels are flipped instead.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits, make_friedman1

from depthforest.ensemble import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    OutputFlippingClassifier,
    OutputSmearingRegressor,
)

training = make_friedman1(300, noise=1.0, random_state=0)
new = make_friedman1(2000, noise=1.0, random_state=1)
alone = DecisionTreeRegressor().fit(*training).score(*new)
sizes = (1, 3, 10, 30, 100)

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for smear in (0.5, 1.0, 2.0):
    scores = [
        OutputSmearingRegressor(n_estimators=n, smear=smear, random_state=0).fit(*training).score(*new) for n in sizes
    ]
    axes.plot(sizes, scores, "o-", label=f"smear {smear:g}")
axes.axhline(alone, color="0.5", linestyle="--", label="one tree without noise")
axes.set(xscale="log", xlabel="trees", ylabel="R² on new rows", ylim=(-0.6, 1))
axes.legend(frameon=False)

# %%
# The same with flipped labels.

X, y = load_digits(return_X_y=True)
one = DecisionTreeClassifier(random_state=0).fit(X[::2], y[::2])
flipped = OutputFlippingClassifier(n_estimators=100, flip=0.3, random_state=0).fit(X[::2], y[::2])
print(f"one tree: {one.score(X[1::2], y[1::2]):.3f}")
print(f"100 trees with 30 % of the labels flipped: {flipped.score(X[1::2], y[1::2]):.3f}")
