r"""
Majority votes
==============

How wrong is a majority of :math:`T` independent voters that are each wrong with probability :math:`p`?

.. math::

    P(\text{wrong}) = \sum_{t > T/2} \binom{T}{t} p^t (1 - p)^{T - t}
    \le \tfrac12 \exp\left(-2 T (\tfrac12 - p)^2\right)
"""

import matplotlib.pyplot as plt

from depthforest.ensemble import analysis

# %%
# Three voters that are each wrong 49 % of the time are together a little better. Five that are wrong 10 % of the
# time are wrong together in fewer than 1 % of cases.

print(f"3 voters of 0.49: {analysis.majority_error(3, 0.49):.6f}")
print(f"5 voters of 0.10: {analysis.majority_error(5, 0.10):.6f}")

# %%
# The exact error falls exponentially and stays below Hoeffding's bound. Correlated voters gain less: an ensemble needs
# diverse members.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
analysis.plot_voters(0.4, ax=axes[0])
analysis.plot_voters(0.4, correlations=(0.0, 0.1, 0.3), bound=False, ax=axes[1])

# %%
# A simulation agrees with the formula.

vote = analysis.simulate_majority(21, 0.4, n_cases=20_000, random_state=0)
print(f"21 voters of 0.4: {analysis.majority_error(21, 0.4):.4f} by the formula")
print(f"21 voters of 0.4: {vote.error:.4f} ± {vote.standard_error:.4f} by simulation")
