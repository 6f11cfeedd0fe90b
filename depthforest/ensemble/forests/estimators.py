"""Forests: random forests and extremely randomized trees, for classification and regression."""

from __future__ import annotations

from typing import Any

from depthforest.ensemble.forests.store import CLASS_FOREST, NUMBER_FOREST
from depthforest.ensemble.forests.tasks import ForestClassifier, ForestRegressor


class RandomForestClassifier(ForestClassifier):
    """Random forest for classification (Breiman 2001): trees on bootstrapped rows, with a few random columns per node.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion, max_depth, max_leaf_nodes, min_samples_split, min_samples_leaf, min_weight_fraction_leaf
        For each tree, as in `DecisionTreeClassifier`.
    min_impurity_decrease, ccp_alpha, max_bins, categorical_features
        For each tree, as in `DecisionTreeClassifier`.
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
        Number of columns considered in a node.
    bootstrap : bool, default=True
        Whether each tree draws rows with replacement; otherwise it sees all rows.
    max_samples : int or float, optional
        Rows that a tree draws, or their share; default: the number of rows.
    oob_score : bool, default=False
        Whether to predict each row with the trees that have not seen it, for out-of-bag scores.
    class_weight : dict, "balanced", "balanced_subsample", optional
        The last is computed for the drawn rows of each tree.
    warm_start : bool, default=False
        Keep the trees of the last fit and add trees up to `n_estimators`.
    n_jobs : int, optional
        Threads; -1 for all cores. The forest is the same for any.
    random_state : int, RandomState, optional
    verbose : int, default=0
        Above 0 shows progress.

    Attributes
    ----------
    classes_ : (n_classes,) array
    estimators_ : list of DecisionTreeClassifier
    estimators_samples_ : list of (n_drawn,) array
        Rows that each tree was grown from.
    feature_importances_ : (n_features,) array
    oob_score_ : float
        Out-of-bag accuracy; this and all following attributes need `oob_score`.
    oob_decision_function_ : (n_rows, n_classes) array
        Out-of-bag probabilities; NaN for a row that every tree has seen.
    oob_errors_ : (n_estimators,) array
        Out-of-bag error after each tree.
    strength_, correlation_, error_bound_ : float
        Breiman's: mean margin s, mean correlation rho of the trees' margins, and the bound rho (1 - s^2) / s^2.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    An interrupted fit keeps the finished trees; with `warm_start` the next fit grows the rest.
    """

    _layout = CLASS_FOREST

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: float | None = None,
        monotonic_cst: Any = None,
        max_bins: int | None = 255,
        categorical_features: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.max_bins = max_bins
        self.categorical_features = categorical_features


class ExtraTreesClassifier(RandomForestClassifier):
    """Extremely randomized trees for classification (Geurts et al. 2006): one random threshold per considered column.

    Parameters and attributes are those of `RandomForestClassifier`; by default every tree sees all rows.
    """

    _layout = CLASS_FOREST
    splitter = "random"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: float | None = None,
        monotonic_cst: Any = None,
        max_bins: int | None = 255,
        categorical_features: Any = None,
    ) -> None:
        super().__init__(
            n_estimators,
            criterion=criterion,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            bootstrap=bootstrap,
            oob_score=oob_score,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            warm_start=warm_start,
            class_weight=class_weight,
            ccp_alpha=ccp_alpha,
            max_samples=max_samples,
            monotonic_cst=monotonic_cst,
            max_bins=max_bins,
            categorical_features=categorical_features,
        )


class RandomForestRegressor(ForestRegressor):
    """Random forest for regression.

    Parameters
    ----------
    max_features : int, float, {"sqrt", "log2"} or None, default=1.0
        Number of columns considered in a node; all by default, as in scikit-learn. A third is Breiman's choice.
    quantiles : bool, default=False
        Whether trees keep their rows, which `predict_quantiles` needs.
    All others
        As in `RandomForestClassifier`.

    Attributes
    ----------
    estimators_ : list of DecisionTreeRegressor
    estimators_samples_ : list of (n_drawn,) array
    feature_importances_ : (n_features,) array
    oob_score_ : float
        Out-of-bag R^2; this and all following attributes need `oob_score`.
    oob_prediction_ : (n_rows,) array
        Out-of-bag predictions; NaN for a row that every tree has seen.
    oob_errors_ : (n_estimators,) array
        Out-of-bag mean squared error after each tree.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    _layout = NUMBER_FOREST

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: float | None = None,
        monotonic_cst: Any = None,
        max_bins: int | None = 255,
        categorical_features: Any = None,
        quantiles: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.quantiles = quantiles


class ExtraTreesRegressor(RandomForestRegressor):
    """Extremely randomized trees for regression (Geurts et al. 2006): one random threshold per considered column.

    Parameters and attributes are those of `RandomForestRegressor`; by default every tree sees all rows.
    """

    _layout = NUMBER_FOREST
    splitter = "random"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: float | None = None,
        monotonic_cst: Any = None,
        max_bins: int | None = 255,
        categorical_features: Any = None,
        quantiles: bool = False,
    ) -> None:
        super().__init__(
            n_estimators,
            criterion=criterion,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            bootstrap=bootstrap,
            oob_score=oob_score,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            warm_start=warm_start,
            ccp_alpha=ccp_alpha,
            max_samples=max_samples,
            monotonic_cst=monotonic_cst,
            max_bins=max_bins,
            categorical_features=categorical_features,
            quantiles=quantiles,
        )
