r"""
The out-of-bag curve
====================

How many trees are enough? The out-of-bag error answers without a test set: each row is predicted by the trees that have
not seen it.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from depthforest.ensemble import RandomForestClassifier
from depthforest.ensemble.plotting import plot_oob

X, X_new, y, y_new = train_test_split(*load_digits(return_X_y=True), test_size=0.5, random_state=0)
forest = RandomForestClassifier(n_estimators=200, oob_score=True, random_state=0).fit(X, y)

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
plot_oob(forest, axes)
print(f"accuracy out of bag: {forest.oob_score_:.3f}")
print(f"accuracy on new rows: {forest.score(X_new, y_new):.3f}")
