r"""
Stacking
========

Can a learner learn how to combine learners? Yes, from answers that each member gives to rows it has not seen. Row
:math:`i` becomes :math:`z_i = (h_1^{(-k)}(x_i), \dots, h_T^{(-k)}(x_i))`, where :math:`h^{(-k)}` was fitted without the fold
of row :math:`i`; the meta learner is fitted on :math:`(z_i, y_i)`.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from depthforest.ensemble import DecisionTreeClassifier, StackingClassifier, VotingClassifier

X, X_new, y, y_new = train_test_split(*load_digits(return_X_y=True), test_size=0.5, random_state=0)
members = [
    ("naive Bayes", GaussianNB()),
    ("5 neighbors", KNeighborsClassifier(5)),
    ("tree", DecisionTreeClassifier(random_state=0)),
]
stack = StackingClassifier(members, LogisticRegression(C=10, max_iter=1000), cv=5).fit(X, y)
vote = VotingClassifier(members, voting="soft").fit(X, y)
scores = {name: member.fit(X, y).score(X_new, y_new) for name, member in members}
scores |= {"soft vote": vote.score(X_new, y_new), "stacking": stack.score(X_new, y_new)}

figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
bars = axes.barh(list(scores), list(scores.values()), color=["0.7"] * len(members) + ["C0", "C1"])
axes.bar_label(bars, [f" {score:.1%}" for score in scores.values()])
axes.set(xlabel="accuracy on new rows", xlim=(0.7, 1.02))
axes.invert_yaxis()
