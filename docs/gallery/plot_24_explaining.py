r"""
Looking into an ensemble
========================

Which features moved an answer? SHAP values split it exactly; a report collects the figures of the members.
"""

from sklearn.datasets import load_wine

from depthforest.ensemble import RandomForestClassifier, analysis
from depthforest.ensemble.plotting import plot_importance

wine = load_wine()
forest = RandomForestClassifier(oob_score=True, random_state=0).fit(wine.data[::2], wine.target[::2])
plot_importance(forest, feature_names=wine.feature_names)

# %%
# SHAP values of the first class: each point is a row, and the values of a row add up to its answer.

analysis.shap_values(forest, wine.data[1::2]).plot_beeswarm(output=0)

# %%
# The same forest in figures.

print(analysis.report(forest, wine.data[1::2], wine.target[1::2]))
