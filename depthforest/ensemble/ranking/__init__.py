"""Learning to rank: metrics by query, lambdas, RankNet, LambdaRank, LambdaMART, LETOR files, folds of queries."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from depthforest.ensemble.ranking.groupfolds import cross_val_ndcg as cross_val_ndcg
    from depthforest.ensemble.ranking.groups import group_ids as group_ids
    from depthforest.ensemble.ranking.groups import group_sizes as group_sizes
    from depthforest.ensemble.ranking.lambdamart import LambdaMART as LambdaMART
    from depthforest.ensemble.ranking.lambdas import lambda_gradients as lambda_gradients
    from depthforest.ensemble.ranking.lambdas import ranknet_cost as ranknet_cost
    from depthforest.ensemble.ranking.letor import RankingData as RankingData
    from depthforest.ensemble.ranking.letor import read_letor as read_letor
    from depthforest.ensemble.ranking.letor import write_letor as write_letor
    from depthforest.ensemble.ranking.metrics import average_precision as average_precision
    from depthforest.ensemble.ranking.metrics import dcg as dcg
    from depthforest.ensemble.ranking.metrics import err as err
    from depthforest.ensemble.ranking.metrics import ndcg as ndcg
    from depthforest.ensemble.ranking.network import LambdaRank as LambdaRank
    from depthforest.ensemble.ranking.network import RankNet as RankNet

# public name -> module that defines it; imported when first used (PEP 562)
_HOMES = {
    "LambdaMART": "lambdamart",
    "LambdaRank": "network",
    "RankNet": "network",
    "RankingData": "letor",
    "average_precision": "metrics",
    "cross_val_ndcg": "groupfolds",
    "dcg": "metrics",
    "err": "metrics",
    "group_ids": "groups",
    "group_sizes": "groups",
    "lambda_gradients": "lambdas",
    "ndcg": "metrics",
    "ranknet_cost": "lambdas",
    "read_letor": "letor",
    "write_letor": "letor",
}
__all__ = [*_HOMES]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"depthforest.ensemble.ranking.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'depthforest.ensemble.ranking' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
