r"""
Voting and rejecting
====================

How are the answers of different learners combined? By plurality, by a weighted vote, by the mean of their probabilities, or by
weights for each row: :math:`S_c = \sum_i w_i \, p_i(c \mid x)`.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from depthforest.ensemble import DecisionTreeClassifier, VotingClassifier
from depthforest.ensemble.plotting import plot_decision_regions

X, y = make_moons(300, noise=0.35, random_state=0)
X_new, y_new = make_moons(3000, noise=0.35, random_state=1)
members = [
    ("logistic", LogisticRegression()),
    ("bayes", GaussianNB()),
    ("near", KNeighborsClassifier(5)),
    ("tree", DecisionTreeClassifier(max_depth=4)),
    ("deep tree", DecisionTreeClassifier()),
]
panels = {}
for voting, weights in (("hard", None), ("hard", "fitted"), ("soft", "fitted"), ("confidence", None)):
    model = VotingClassifier(members, voting=voting, weights=weights).fit(X, y)
    title = f"{voting}, {'fitted' if weights else 'equal'} weights\n{model.score(X_new, y_new):.1%}"
    panels[title] = model
figure, axes = plt.subplots(1, 4, figsize=(15, 4), layout="constrained", sharey=True)
plot_decision_regions(panels, X, y, axes)

# %%
# With a reject label, a row without a clear majority gets no answer. The curve shows what that buys.

strict = VotingClassifier(members, reject_label=-1).fit(X, y)
curve = strict.reject_curve(X_new, y_new)
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.plot(curve.rejected, curve.accuracy, "o-")
axes.set(xlabel="share of rows rejected", ylabel="accuracy on the others")
