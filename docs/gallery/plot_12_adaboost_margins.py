r"""
AdaBoost: margins
=================

Why does the test error keep falling when the training error is already 0? The smallest margins keep growing. The margin of a row is
the weight of the votes for its class minus the largest weight for another one.
"""

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from depthforest.ensemble import AdaBoostClassifier, DecisionTreeClassifier, analysis

X, y = load_digits(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y % 2, test_size=0.5, random_state=0)  # odd or even
model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=4), n_estimators=200, random_state=0).fit(X, y)
votes = analysis.member_predictions(model, X)
training, fresh = list(model.staged_score(X, y)), list(model.staged_score(X_new, y_new))
print("rounds  training error  error on new rows  smallest margin")
margins = {}
for n in (5, 20, len(votes)):
    weights = model.estimator_weights_[:n] / model.estimator_weights_[:n].sum()
    margins[f"{n} rounds"] = found = analysis.vote_margins(votes[:n], y, weights=weights)
    print(f"{n:6}  {1 - training[n - 1]:14.3f}  {1 - fresh[n - 1]:17.3f}  {found.min():15.3f}")
analysis.plot_margins(margins)

# %%
# Diversity enters the bound as well. For :math:`n` members, :math:`m` rows, the mean diversity :math:`q` of pairs and any
# margin :math:`\theta`, with probability :math:`1 - \delta`:
#
# .. math::
#
#     \text{err} \le \text{err}^\theta_S + \frac{C}{\sqrt m}
#     \left( \frac{\ln n \, \ln\left(m \sqrt{\tfrac1n + (1 - \tfrac1n)(1 - q)}\right)}{\theta^2}
#     + \ln \frac1\delta \right)^{1/2}

for q in (0.0, 0.3, 0.6):
    bound = analysis.margin_bound(0.0, q, n_members=100, n_samples=10**6, theta=0.2)
    print(f"diversity {q:.1f}: bound {bound:.4f}")
