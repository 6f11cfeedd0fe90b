"""Files: `ensemble.load`, which reads whatever `save` of an estimator wrote.

A file is untrusted: it names its estimator, which is looked up in a fixed table. Here alone all of them are known: what
a file holds is the matter of `tree.store` and `ranking.store`, which the estimators themselves save with.
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
"""By name: the only estimators that files can ask for."""


def load(path: str | Place) -> Any:
    """Read a tree, a forest, an AdaBoost, a boosted ensemble or a ranker from a file, and check everything.

    Parameters
    ----------
    path : str or Path
        What `save` of an estimator wrote, or its address: `s3://`, `gs://`, `https://`.

    Returns
    -------
    estimator
        As it was saved: what it predicts is the same to the bit. `n_jobs` and `verbose` have their defaults.
    """
    file = modelfile.read(path)
    if file.kind == rank_store.KIND:
        return rank_store.unpack_ranker(file, RANK_NETWORKS)
    name = file.content.get("estimator")
    kind = TREE_ESTIMATORS.get(name) if isinstance(name, str) else None
    if kind is None and (file.kind, file.version) == (KIND, FORMAT_VERSION):
        raise ModelError(f"{file.name}: estimator must be one of {', '.join(TREE_ESTIMATORS)}; got {shown(name)}")
    # of another kind or version no class is known, and any will do: what it expects says what is wrong
    return unpack_trees(file, kind or DecisionTreeClassifier)
