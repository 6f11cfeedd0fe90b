"""Ensembles of learners by scikit-learn's conventions: trees, forests, bagging, voting, stacking, and why they work."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from depthforest.ensemble.adaboost import AdaBoostClassifier as AdaBoostClassifier
    from depthforest.ensemble.adaboostpool import AdaBoostPoolClassifier as AdaBoostPoolClassifier
    from depthforest.ensemble.averaging import AveragingRegressor as AveragingRegressor
    from depthforest.ensemble.bagging import BaggingClassifier as BaggingClassifier
    from depthforest.ensemble.bagging import BaggingRegressor as BaggingRegressor
    from depthforest.ensemble.bagging import OutputFlippingClassifier as OutputFlippingClassifier
    from depthforest.ensemble.bagging import OutputSmearingRegressor as OutputSmearingRegressor
    from depthforest.ensemble.bagging import RandomSubspaceClassifier as RandomSubspaceClassifier
    from depthforest.ensemble.bagging import RandomSubspaceRegressor as RandomSubspaceRegressor
    from depthforest.ensemble.decisiontrees import DecisionTreeClassifier as DecisionTreeClassifier
    from depthforest.ensemble.decisiontrees import DecisionTreeRegressor as DecisionTreeRegressor
    from depthforest.ensemble.diverse import DiverseEnsembleClassifier as DiverseEnsembleClassifier
    from depthforest.ensemble.diverse import DiverseEnsembleRegressor as DiverseEnsembleRegressor
    from depthforest.ensemble.forests import ExtraTreesClassifier as ExtraTreesClassifier
    from depthforest.ensemble.forests import ExtraTreesRegressor as ExtraTreesRegressor
    from depthforest.ensemble.forests import RandomForestClassifier as RandomForestClassifier
    from depthforest.ensemble.forests import RandomForestRegressor as RandomForestRegressor
    from depthforest.ensemble.gradientboosting import GradientBoostingClassifier as GradientBoostingClassifier
    from depthforest.ensemble.gradientboosting import GradientBoostingRegressor as GradientBoostingRegressor
    from depthforest.ensemble.newtonboosting import NewtonBoostingClassifier as NewtonBoostingClassifier
    from depthforest.ensemble.newtonboosting import NewtonBoostingRegressor as NewtonBoostingRegressor
    from depthforest.ensemble.ranking.lambdamart import LambdaMART as LambdaMART
    from depthforest.ensemble.ranking.network import LambdaRank as LambdaRank
    from depthforest.ensemble.ranking.network import RankNet as RankNet
    from depthforest.ensemble.rejecting import RejectCurve as RejectCurve
    from depthforest.ensemble.stacking import StackingClassifier as StackingClassifier
    from depthforest.ensemble.stacking import StackingRegressor as StackingRegressor
    from depthforest.ensemble.treefile import load as load
    from depthforest.ensemble.voting import VotingClassifier as VotingClassifier

# public name -> module that defines it; imported when first used (PEP 562)
_HOMES = {
    "AdaBoostClassifier": "adaboost",
    "AdaBoostPoolClassifier": "adaboostpool",
    "AveragingRegressor": "averaging",
    "BaggingClassifier": "bagging",
    "BaggingRegressor": "bagging",
    "DecisionTreeClassifier": "decisiontrees",
    "DecisionTreeRegressor": "decisiontrees",
    "DiverseEnsembleClassifier": "diverse",
    "DiverseEnsembleRegressor": "diverse",
    "ExtraTreesClassifier": "forests",
    "ExtraTreesRegressor": "forests",
    "GradientBoostingClassifier": "gradientboosting",
    "GradientBoostingRegressor": "gradientboosting",
    "LambdaMART": "ranking.lambdamart",
    "LambdaRank": "ranking.network",
    "NewtonBoostingClassifier": "newtonboosting",
    "NewtonBoostingRegressor": "newtonboosting",
    "OutputFlippingClassifier": "bagging",
    "OutputSmearingRegressor": "bagging",
    "RandomForestClassifier": "forests",
    "RandomForestRegressor": "forests",
    "RandomSubspaceClassifier": "bagging",
    "RandomSubspaceRegressor": "bagging",
    "RankNet": "ranking.network",
    "RejectCurve": "rejecting",
    "StackingClassifier": "stacking",
    "StackingRegressor": "stacking",
    "VotingClassifier": "voting",
    "load": "treefile",
}
_SUBPACKAGES = ("analysis", "plotting", "ranking")
__all__ = [*_HOMES, *_SUBPACKAGES]


def __getattr__(name: str) -> object:
    if name in _SUBPACKAGES:
        return import_module(f"depthforest.ensemble.{name}")
    if name in _HOMES:
        return getattr(import_module(f"depthforest.ensemble.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'depthforest.ensemble' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
