r"""
All ensembles on one table
==========================

How do the ensembles compare on a small table? Each is fitted with its defaults on half of the rows and scored on the other half.
A comparison on depth pixels, with intervals and times, is on its own page of the results.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits, make_friedman1
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor

from depthforest import ensemble as en

digits = load_digits()
X, y, X_new, y_new = digits.data[::2], digits.target[::2], digits.data[1::2], digits.target[1::2]
pool = [("bayes", GaussianNB()), ("tree", en.DecisionTreeClassifier(random_state=0))]
both = [*pool, ("logistic", LogisticRegression(max_iter=5000))]
classifiers = [
    en.DecisionTreeClassifier(random_state=0),
    en.ExtraTreeClassifier(random_state=0),
    en.BaggingClassifier(n_estimators=50, random_state=0),
    en.DiverseEnsembleClassifier(n_estimators=50, noise=0.1, random_state=0),
    en.RandomSubspaceClassifier(n_estimators=50, random_state=0),
    en.OutputFlippingClassifier(n_estimators=50, random_state=0),
    en.RandomForestClassifier(random_state=0),
    en.ExtraTreesClassifier(random_state=0),
    en.AdaBoostClassifier(en.DecisionTreeClassifier(max_depth=6), random_state=0),
    en.AdaBoostPoolClassifier(pool, n_estimators=10),
    en.GradientBoostingClassifier(n_estimators=30, random_state=0),
    en.NewtonBoostingClassifier(n_estimators=30, random_state=0),
    en.VotingClassifier(both, voting="soft"),
    en.StackingClassifier(both, cv=3),
]
scores = {type(model).__name__: model.fit(X, y).score(X_new, y_new) for model in classifiers}


def draw(scores, title):
    """Draw the scores as bars, the best on top."""
    ordered = dict(sorted(scores.items(), key=lambda item: item[1]))
    _, axes = plt.subplots(figsize=(8, 0.3 * len(ordered) + 1), layout="constrained")
    bars = axes.barh(list(ordered), list(ordered.values()))
    axes.bar_label(bars, [f" {score:.3f}" for score in ordered.values()])
    axes.set(xlabel=title, xlim=(0, 1.1))


draw(scores, "accuracy on new rows, handwritten digits")

# %%
# Numbers: Friedman's first function with noise.

training = make_friedman1(400, noise=1.0, random_state=0)
new = make_friedman1(2000, noise=1.0, random_state=1)
members = [
    ("ridge", Ridge()),
    ("near", KNeighborsRegressor(10)),
    ("forest", en.RandomForestRegressor(30, random_state=0)),
]
regressors = [
    en.DecisionTreeRegressor(random_state=0),
    en.ExtraTreeRegressor(random_state=0),
    en.BaggingRegressor(n_estimators=50, random_state=0),
    en.DiverseEnsembleRegressor(n_estimators=50, noise=0.1, random_state=0),
    en.RandomSubspaceRegressor(n_estimators=50, random_state=0),
    en.OutputSmearingRegressor(n_estimators=50, random_state=0),
    en.RandomForestRegressor(random_state=0),
    en.ExtraTreesRegressor(random_state=0),
    en.AdaBoostRegressor(random_state=0),
    en.GradientBoostingRegressor(random_state=0),
    en.NewtonBoostingRegressor(random_state=0),
    en.AveragingRegressor(members),
    en.VotingRegressor(members),
    en.StackingRegressor(members),
]
draw({type(model).__name__: model.fit(*training).score(*new) for model in regressors}, "R² on new rows")
