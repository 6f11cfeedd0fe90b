"""Extra trees: single trees with random thresholds, under scikit-learn's names and with its defaults."""

from __future__ import annotations

from typing import Any

from depthforest.ensemble.tree.estimators import DecisionTreeClassifier, DecisionTreeRegressor
from depthforest.ensemble.tree.store import CLASS_TREE, NUMBER_TREE


class ExtraTreeClassifier(DecisionTreeClassifier):
    """A classification tree with random thresholds, one for each considered column of a node: a member of extra trees.

    Parameters and attributes are those of `DecisionTreeClassifier`.
    """

    _layout = CLASS_TREE

    def __init__(
        self,
        *,
        criterion: str = "gini",
        splitter: str = "random",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        max_bins: int | None = 255,
        categorical_features: Any = None,
    ) -> None:
        super().__init__(
            criterion=criterion,
            splitter=splitter,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            random_state=random_state,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            class_weight=class_weight,
            ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst,
            max_bins=max_bins,
            categorical_features=categorical_features,
        )


class ExtraTreeRegressor(DecisionTreeRegressor):
    """A regression tree with random thresholds, one for each considered column of a node: a member of extra trees.

    Parameters and attributes are those of `DecisionTreeRegressor`.
    """

    _layout = NUMBER_TREE

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        splitter: str = "random",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = 1.0,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        max_bins: int | None = 255,
        categorical_features: Any = None,
    ) -> None:
        super().__init__(
            criterion=criterion,
            splitter=splitter,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            random_state=random_state,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst,
            max_bins=max_bins,
            categorical_features=categorical_features,
        )
