"""Ensembles of learners by scikit-learn's conventions: trees, forests, bagging, voting, stacking, and why they work."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from depthforest.ensemble.decisiontrees import DecisionTreeClassifier as DecisionTreeClassifier
    from depthforest.ensemble.decisiontrees import DecisionTreeRegressor as DecisionTreeRegressor
    from depthforest.ensemble.forests import ExtraTreesClassifier as ExtraTreesClassifier
    from depthforest.ensemble.forests import ExtraTreesRegressor as ExtraTreesRegressor
    from depthforest.ensemble.forests import RandomForestClassifier as RandomForestClassifier
    from depthforest.ensemble.forests import RandomForestRegressor as RandomForestRegressor

# public name -> module that defines it; imported when first used (PEP 562)
_HOMES = {
    "DecisionTreeClassifier": "decisiontrees",
    "DecisionTreeRegressor": "decisiontrees",
    "ExtraTreesClassifier": "forests",
    "ExtraTreesRegressor": "forests",
    "RandomForestClassifier": "forests",
    "RandomForestRegressor": "forests",
}
__all__ = [*_HOMES]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"depthforest.ensemble.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'depthforest.ensemble' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
