"""Ensembles of learners by scikit-learn's conventions: trees, forests, bagging, voting, stacking, and why they work."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from depthforest.ensemble.adaboost.estimator import AdaBoostClassifier as AdaBoostClassifier
    from depthforest.ensemble.adaboost.pool import AdaBoostPoolClassifier as AdaBoostPoolClassifier
    from depthforest.ensemble.combining.averaging import AveragingRegressor as AveragingRegressor
    from depthforest.ensemble.bagging.variants import BaggingClassifier as BaggingClassifier
    from depthforest.ensemble.bagging.variants import BaggingRegressor as BaggingRegressor
    from depthforest.ensemble.bagging.variants import OutputFlippingClassifier as OutputFlippingClassifier
    from depthforest.ensemble.bagging.variants import OutputSmearingRegressor as OutputSmearingRegressor
    from depthforest.ensemble.bagging.variants import RandomSubspaceClassifier as RandomSubspaceClassifier
    from depthforest.ensemble.bagging.variants import RandomSubspaceRegressor as RandomSubspaceRegressor
    from depthforest.ensemble.tree.estimators import DecisionTreeClassifier as DecisionTreeClassifier
    from depthforest.ensemble.tree.estimators import DecisionTreeRegressor as DecisionTreeRegressor
    from depthforest.ensemble.bagging.diverse import DiverseEnsembleClassifier as DiverseEnsembleClassifier
    from depthforest.ensemble.bagging.diverse import DiverseEnsembleRegressor as DiverseEnsembleRegressor
    from depthforest.ensemble.forests.estimators import ExtraTreesClassifier as ExtraTreesClassifier
    from depthforest.ensemble.forests.estimators import ExtraTreesRegressor as ExtraTreesRegressor
    from depthforest.ensemble.forests.estimators import RandomForestClassifier as RandomForestClassifier
    from depthforest.ensemble.forests.estimators import RandomForestRegressor as RandomForestRegressor
    from depthforest.ensemble.boosting.gradient import GradientBoostingClassifier as GradientBoostingClassifier
    from depthforest.ensemble.boosting.gradient import GradientBoostingRegressor as GradientBoostingRegressor
    from depthforest.ensemble.boosting.newton import NewtonBoostingClassifier as NewtonBoostingClassifier
    from depthforest.ensemble.boosting.newton import NewtonBoostingRegressor as NewtonBoostingRegressor
    from depthforest.ensemble.ranking.lambdamart import LambdaMART as LambdaMART
    from depthforest.ensemble.ranking.network import LambdaRank as LambdaRank
    from depthforest.ensemble.ranking.network import RankNet as RankNet
    from depthforest.ensemble.combining.rejecting import RejectCurve as RejectCurve
    from depthforest.ensemble.combining.stacking import StackingClassifier as StackingClassifier
    from depthforest.ensemble.combining.stacking import StackingRegressor as StackingRegressor
    from depthforest.ensemble.files import load as load
    from depthforest.ensemble.combining.voting import VotingClassifier as VotingClassifier

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
