"""Learning to rank: rows of queries with grades in, scores that order each query out.

Users import the rankers `RankNet`, `LambdaRank` and `LambdaMART`, the metrics, LETOR files and `cross_val_ndcg` from
here (docs/RANKING.md).

Modules, from the ground up:

- `groups`: which rows belong to which query, their grades and their scores, checked once.
- `metrics`: DCG, NDCG, ERR and average precision by query, exact over ties: the mean over all orders of equal scores.
- `lambdas`: the gradients of RankNet and LambdaRank. Networks and LambdaMART descend along the same ones.
- `letor`: LETOR files, with the line number of any error.
- `groupfolds`: cross-validation that keeps queries whole.
- `base`: what all rankers share.
- `layers`: a small network in plain numpy, with Adam. It has no last intercept, because a constant changes no order.
- `epochs`: the training of a network by batches of queries, judged by NDCG after each epoch.
- `store`: networks in model files.
- `network`: `RankNet` and `LambdaRank`.
- `loss`: lambdas as a loss of boosting, judged by NDCG.
- `lambdamart`: `LambdaMART`: boosted trees on lambdas.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
