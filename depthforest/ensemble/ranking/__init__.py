"""Learning to rank: rows of queries with grades in, scores that order each query out.

Metrics by query (`dcg`, `ndcg`, `err`), LETOR files, `RankNet`, `LambdaRank` and `LambdaMART`, which is boosting with
lambdas as its loss.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
