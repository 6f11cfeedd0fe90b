"""Files: `ensemble.load`, which reads what the `save` of any estimator wrote.

A file is untrusted: it names its estimator, which is looked up in a fixed table. Only this module knows all estimators;
the file formats belong to `tree.store` and `ranking.store`, which the estimators use to save themselves.
"""

from __future__ import annotations

from typing import Any

from depthforest.base import ModelError, Place, modelfile, shown
from depthforest.ensemble.adaboost import AdaBoostClassifier
from depthforest.ensemble.boosting import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
)
from depthforest.ensemble.forests import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from depthforest.ensemble.ranking import LambdaMART, LambdaRank, RankNet
from depthforest.ensemble.ranking import store as rank_store
from depthforest.ensemble.tree import (
    FORMAT_VERSION,
    KIND,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
    unpack_trees,
)

TREE_ESTIMATORS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        DecisionTreeClassifier,
        DecisionTreeRegressor,
        ExtraTreeClassifier,
        ExtraTreeRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        GradientBoostingClassifier,
        GradientBoostingRegressor,
        NewtonBoostingClassifier,
        NewtonBoostingRegressor,
        LambdaMART,
        AdaBoostClassifier,
    )
}
RANK_NETWORKS: dict[str, Any] = {kind.__name__: kind for kind in (RankNet, LambdaRank)}
"""The estimators that a file may name."""


def load(path: str | Place) -> Any:
    """Read a tree, a forest, an AdaBoost, boosting or ranking model from a file, and check everything.

    Parameters
    ----------
    path : str or Path
        The file that an estimator's `save` wrote, or its address: `s3://`, `gs://`, `https://`.

    Returns
    -------
    estimator
        The saved estimator, with bit-for-bit the same predictions. `n_jobs` and `verbose` have their defaults.
    """
    file = modelfile.read(path)
    if file.kind == rank_store.KIND:
        return rank_store.unpack_ranker(file, RANK_NETWORKS)
    name = file.content.get("estimator")
    kind = TREE_ESTIMATORS.get(name) if isinstance(name, str) else None
    if kind is None and (file.kind, file.version) == (KIND, FORMAT_VERSION):
        raise ModelError(f"{file.name}: estimator must be one of {', '.join(TREE_ESTIMATORS)}; got {shown(name)}")
    # for a file of another kind or version any class will do: its checks raise the error that says what is wrong
    return unpack_trees(file, kind or DecisionTreeClassifier)
