r"""
RankNet, LambdaRank, LambdaMART
===============================

Which ranker learns fastest? RankNet and LambdaRank are small networks. LambdaMART grows trees on the lambdas; a leaf answers
:math:`\sum \lambda_i / \sum \partial\lambda_i / \partial s_i`, one Newton step.
"""

import numpy as np

from depthforest.ensemble import LambdaMART, LambdaRank, RankNet, ranking
from depthforest.ensemble.plotting import plot_ranking_curves

rng = np.random.default_rng(0)
n_queries, n_documents = 80, 16
X = rng.normal(size=(n_queries * n_documents, 10))
worth = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.5 * X[:, 3] + rng.normal(0, 0.7, len(X))
y = np.digitize(worth, (0.2, 1.2, 2.2))
qid = np.repeat(np.arange(n_queries), n_documents)

options = {"validation_fraction": 0.3, "n_iter_no_change": 40, "random_state": 0}
network = options | {"early_stopping": True, "max_iter": 40, "learning_rate": 0.005}
rankers = {
    "RankNet": RankNet(**network),
    "LambdaRank": LambdaRank(**network),
    "LambdaMART": LambdaMART(n_estimators=40, max_leaf_nodes=8, **options),
}
for ranker in rankers.values():
    ranker.fit(X, y, qid=qid)
plot_ranking_curves(rankers)
for name, ranker in rankers.items():
    print(f"{name}: NDCG@10 of all queries {ranking.ndcg(y, ranker.predict(X), qid=qid, k=10):.3f}")
