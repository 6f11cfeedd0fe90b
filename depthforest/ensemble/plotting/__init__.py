"""Pictures of fitted learners: importances, a tree, curves, decision regions. Needs `[plots]`.

The functions take anything with scikit-learn's fitted attributes (`tree_`, `estimators_`, `feature_importances_`,
`classes_`), ours or not. matplotlib is imported when one of them is called.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from depthforest.ensemble.plotting.boosting import plot_boosting_rounds as plot_boosting_rounds
    from depthforest.ensemble.plotting.boosting import plot_boosting_weights as plot_boosting_weights
    from depthforest.ensemble.plotting.boosting import plot_staged_errors as plot_staged_errors
    from depthforest.ensemble.plotting.decisionregions import plot_decision_regions as plot_decision_regions
    from depthforest.ensemble.plotting.importance import plot_importance as plot_importance
    from depthforest.ensemble.plotting.outofbagcurve import plot_oob as plot_oob
    from depthforest.ensemble.plotting.ranking import plot_lambdas as plot_lambdas
    from depthforest.ensemble.plotting.ranking import plot_ranking_curves as plot_ranking_curves
    from depthforest.ensemble.plotting.treedrawing import plot_tree as plot_tree

# public name -> module that defines it; imported when first used (PEP 562)
_HOMES = {
    "plot_boosting_rounds": "boosting",
    "plot_boosting_weights": "boosting",
    "plot_decision_regions": "decisionregions",
    "plot_importance": "importance",
    "plot_lambdas": "ranking",
    "plot_oob": "outofbagcurve",
    "plot_ranking_curves": "ranking",
    "plot_staged_errors": "boosting",
    "plot_tree": "treedrawing",
}
__all__ = [*_HOMES]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"depthforest.ensemble.plotting.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'depthforest.ensemble.plotting' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
