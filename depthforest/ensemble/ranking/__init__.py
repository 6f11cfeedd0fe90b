"""Learning to rank: rows with queries and grades in, scores that order the rows of each query out.

Users import the rankers `RankNet`, `LambdaRank` and `LambdaMART`, the metrics, LETOR files and `cross_val_ndcg` from
here (docs/RANKING.md).

Modules, from the ground up:

- `groups`: checks of queries, grades and scores, done once for all modules.
- `metrics`: DCG, NDCG, ERR and average precision by query, exact for ties: the mean over all orders of equal scores.
- `lambdas`: the gradients of RankNet and LambdaRank, used by networks and LambdaMART alike.
- `letor`: LETOR files, with the line number of any error.
- `groupfolds`: cross-validation that keeps queries whole.
- `base`: the common base of all rankers.
- `layers`: a small network in plain numpy, with Adam. The last layer has no intercept, because a constant changes no
  order.
- `epochs`: the training of a network on batches of queries, evaluated by NDCG after each epoch.
- `store`: model files of networks.
- `network`: `RankNet` and `LambdaRank`.
- `loss`: lambdas as a loss for boosting, evaluated by NDCG.
- `lambdamart`: `LambdaMART`: boosted trees on lambdas.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
