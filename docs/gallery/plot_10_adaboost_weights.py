r"""
AdaBoost: weights of the rows
=============================

What does AdaBoost do between two rounds? It raises the weights of the rows that the last member got wrong. With the
weighted error :math:`e_t` and :math:`y, h \in \{-1, 1\}`:

.. math::

    \alpha_t = \tfrac12 \ln \frac{1 - e_t}{e_t} \qquad w_i \leftarrow w_i \exp(-\alpha_t y_i h_t(x_i))
"""

from sklearn.datasets import make_moons

from depthforest.ensemble import AdaBoostClassifier
from depthforest.ensemble.plotting import plot_boosting_rounds, plot_boosting_weights

X, y = make_moons(150, noise=0.25, random_state=0)
model = AdaBoostClassifier(n_estimators=50, weight_history=True, random_state=0).fit(X, y)
plot_boosting_rounds(model, X, y)

# %%
# Few rows take most of the weight: those on the wrong side of the border.

plot_boosting_weights(model)

# %%
# There are two forms of the update. One multiplies by :math:`e^{\mp\alpha}`; the other multiplies the rows that were right by
# :math:`e/(1 - e)`. After normalizing they are the same.

other = AdaBoostClassifier(n_estimators=50, form="exponential", random_state=0).fit(X, y)
print((model.predict(X) == other.predict(X)).all())
