r"""
RankNet and LambdaRank: lambdas
===============================

How is a ranking learned, when ranks have no gradient? From pairs. RankNet models that :math:`i` beats :math:`j`:

.. math::

    P_{ij} = \frac{1}{1 + e^{-\sigma (s_i - s_j)}} \qquad
    \lambda_{ij} = \frac{-\sigma}{1 + e^{\sigma (s_i - s_j)}}

LambdaRank multiplies :math:`\lambda_{ij}` by :math:`|\Delta NDCG|` of swapping the two.
"""

import matplotlib.pyplot as plt
import numpy as np

from depthforest.ensemble import ranking
from depthforest.ensemble.plotting import plot_lambdas

ahead = np.linspace(-5, 5, 201)
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
costs = [ranking.ranknet_cost([1, 0], [gap, 0.0]) for gap in ahead]
pulls = [ranking.lambda_gradients([1, 0], [gap, 0.0], metric="ranknet")[0][0] for gap in ahead]
axes.plot(ahead, costs, label="cost of the pair")
axes.plot(ahead, pulls, label=r"its gradient, $\lambda_{ij}$")
axes.axvline(0, color="0.7", linewidth=0.8)
axes.set_xlabel("$s_i - s_j$; document $i$ is the relevant one")
axes.legend(frameon=False)

# %%
# Where the lambdas push the documents of one query. RankNet cares for all pairs alike; LambdaRank cares most for the top.

relevance = np.array([0, 2, 0, 1, 0, 0, 3, 0])
scores = np.linspace(2, -2, len(relevance))
plot_lambdas(relevance, scores)
