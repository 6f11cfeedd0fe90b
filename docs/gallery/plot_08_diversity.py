r"""
Six ways to make members differ
===============================

Where does diversity come from? From the rows, the features, noise on the inputs, the outputs, the splits, or the learning
parameters. The kappa-error diagram shows each pair of members: left is diverse, low is accurate.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from depthforest.ensemble import (
    BaggingClassifier,
    DecisionTreeClassifier,
    DiverseEnsembleClassifier,
    ExtraTreesClassifier,
    OutputFlippingClassifier,
    RandomSubspaceClassifier,
    analysis,
)

X, X_new, y, y_new = train_test_split(*load_digits(return_X_y=True), test_size=0.5, random_state=0)
tree = DecisionTreeClassifier()
ensembles = {
    "rows: bagging": BaggingClassifier(tree, 20, random_state=0),
    "features: random subspace": RandomSubspaceClassifier(tree, 20, random_state=0),
    "outputs: flipping": OutputFlippingClassifier(tree, 20, flip=0.2, random_state=0),
    "splits: extra trees": ExtraTreesClassifier(20, random_state=0),
    "input noise": DiverseEnsembleClassifier(tree, 20, bootstrap=False, noise=0.3, random_state=0),
}
figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
measures = ("Q statistic", "correlation", "disagreement", "double fault", "kappa", "vote error")
print(" " * 26 + "".join(f"{measure:>14}" for measure in measures))
for name, ensemble in ensembles.items():
    votes = analysis.member_predictions(ensemble.fit(X, y), X_new)
    analysis.plot_kappa_error(votes, y_new, label=name, ax=axes)
    means = analysis.pairwise_diversity(votes, y_new).means()
    row = [*means.values(), 1 - ensemble.score(X_new, y_new)]
    print(f"{name:26}" + "".join(f"{value:14.3f}" for value in row))

# %%
# The sixth way changes the learning parameters: each tree gets a depth of its own.

varied = DiverseEnsembleClassifier(tree, 20, param_distributions={"max_depth": [4, 6, 8, 12]}, random_state=0)
votes = analysis.member_predictions(varied.fit(X, y), X_new)
whole = analysis.nonpairwise_diversity(votes, y_new)
print(f"Kohavi-Wolpert variance: {whole.kohavi_wolpert:.3f}")
print(f"vote entropy: {whole.vote_entropy:.3f}")
print(f"error of the vote: {1 - varied.score(X_new, y_new):.3f}")
