r"""
Losses
======

What does boosting minimize? A loss of the margin :math:`m = yF` for two classes, of the residual :math:`y - F` for numbers.

.. list-table::
   :header-rows: 1

   * - loss
     - formula
     - probabilities
   * - logistic
     - :math:`\log(1 + e^{-m})`
     - yes
   * - exponential
     - :math:`e^{-m}`
     - yes
   * - hinge
     - :math:`\max(0, 1 - m)`
     - no
   * - perceptron
     - :math:`\max(0, -m)`
     - no
"""

import matplotlib.pyplot as plt
import numpy as np

from depthforest.ensemble.boosting.losses.choice import loss_of

at = np.linspace(-2.5, 2.5, 501)
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
positive = np.ones(len(at), dtype=np.int32)
for name in ("logistic", "exponential", "hinge", "perceptron"):
    axes[0].plot(at, loss_of(name, n_classes=2).value(positive, at), label=name)
axes[0].set(xlabel="margin $m = yF$", ylim=(0, 4), title="two classes")
zeros = np.zeros(len(at))
for name, alpha in (("squared_error", 0.9), ("absolute_error", 0.9), ("huber", 0.5), ("quantile", 0.9)):
    loss = loss_of(name, alpha=alpha)
    loss.prepare(at, zeros, np.ones(len(at)))
    axes[1].plot(at, loss.value(at, zeros), label=name)
axes[1].set(xlabel="residual $y - F$", ylim=(0, 3), title="numbers")
for panel in axes:
    panel.legend(frameon=False)
