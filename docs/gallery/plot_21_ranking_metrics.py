r"""
DCG and NDCG
============

How good is a ranking? The discounted cumulative gain counts relevant documents, less the further down they stand. NDCG divides by
the best possible order.

.. math::

    \text{lecture:}\quad rel_1 + \sum_{i \ge 2} \frac{rel_i}{\log_2 i} \qquad
    \text{usual:}\quad \sum_i \frac{2^{rel_i} - 1}{\log_2 (i + 1)}
"""

import matplotlib.pyplot as plt
import numpy as np

from depthforest.ensemble import ranking

relevance = np.array([3, 2, 3, 0, 0, 1, 2, 2, 3, 0])
order = -np.arange(len(relevance))  # as it stands
ranks = np.arange(1, len(relevance) + 1)
forms = {
    "lecture": {"gain": "linear", "discount": "lecture"},
    "usual": {"gain": "exponential", "discount": "usual"},
}
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for name, form in forms.items():
    axes[0].plot(ranks, [ranking.dcg(relevance, order, k=k, **form) for k in ranks], "o-", label=name)
    axes[1].plot(ranks, [ranking.ndcg(relevance, order, k=k, **form) for k in ranks], "o-", label=name)
for panel, title in zip(axes, ("DCG", "NDCG"), strict=True):
    panel.set(xlabel="ranks that count, k", title=title)
    panel.legend(frameon=False)
print("DCG, lecture form:", [round(ranking.dcg(relevance, order, k=k, **forms["lecture"]), 2) for k in ranks.tolist()])

# %%
# The lecture's small example, and the expected reciprocal rank of the same order.

small = np.array([2, 1, 2, 0])
print(f"NDCG: {ranking.ndcg(small, -np.arange(4), **forms['lecture']):.4f}")
print(f"ERR: {ranking.err(small, -np.arange(4)):.4f}")
