"""Newton boosting, as in XGBoost: trees and leaves by the second-order expansion of the loss (`gains`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from depthforest.base import UsageError
from depthforest.ensemble.boosting.losses.choice import Loss
from depthforest.ensemble.boosting.planting import BoostGrowth
from depthforest.ensemble.boosting.store import BOOSTED_CLASSES, BOOSTED_NUMBERS
from depthforest.ensemble.boosting.tasks import BoostedClassifier, BoostedRegressor
from depthforest.ensemble.fitting import directions_of, groups_of, number, share_count, whole
from depthforest.ensemble.tree import UNLIMITED, row_count

POLICIES = ("depthwise", "lossguide")


def _growth_of(estimator: Any, loss: Loss, n_rows: int, n_features: int) -> BoostGrowth:
    """Return how the trees of Newton boosting are grown."""
    if estimator.grow_policy not in POLICIES:
        raise UsageError(f"grow_policy must be one of {', '.join(POLICIES)}; got {estimator.grow_policy!r}")
    leaves, depth = estimator.max_leaf_nodes, estimator.max_depth
    n_columns = share_count("colsample_bytree", estimator.colsample_bytree, n_features)
    n_least = row_count("min_samples_leaf", estimator.min_samples_leaf, n_rows, least=1)
    return BoostGrowth(
        directions=directions_of(estimator, loss.n_outputs),
        n_columns=n_columns,
        n_drawn=share_count("colsample_bynode", estimator.colsample_bynode, n_columns),
        l2=number("reg_lambda", estimator.reg_lambda, 0),
        l1=number("reg_alpha", estimator.reg_alpha, 0),
        gamma=number("gamma", estimator.gamma, 0),
        min_weight=number("min_child_weight", estimator.min_child_weight, 0),
        min_rows=0.0 if n_least == 1 else n_least,  # one row is enough, whatever its hessian
        max_step=_max_step(estimator, loss),
        max_depth=UNLIMITED if depth is None else min(whole("max_depth", depth, 1), UNLIMITED),
        max_leaves=UNLIMITED if leaves is None else whole("max_leaf_nodes", leaves, 2),
        is_leaf_wise=estimator.grow_policy == "lossguide",
        groups=groups_of(estimator),
    )


def _max_step(estimator: Any, loss: Loss) -> float:
    """Return the bound of leaf weights; as in XGBoost 0 stands for none."""
    if estimator.max_delta_step is None:
        return loss.max_newton_step
    return number("max_delta_step", estimator.max_delta_step, 0) or np.inf


class NewtonBoostingClassifier(BoostedClassifier):
    """Newton boosting of classes.

    Parameters
    ----------
    loss : {"log_loss", "logistic", "multinomial", "exponential"} or object, default="log_loss"
        "log_loss" is "logistic" for two classes and "multinomial" for more. An object of your own needs a `hessian`
        beside the methods of `losses.custom.LossProtocol`.
    learning_rate : float
        What trees are multiplied by; XGBoost's eta.
    n_estimators : int
        Rounds. The multinomial loss grows a tree for every class in each.
    max_depth, max_leaf_nodes : int, optional
        Limits of trees.
    grow_policy : {"depthwise", "lossguide"}
        Which node is split next: of the upper level first, or that which gains most. It matters with `max_leaf_nodes`.
    reg_lambda, reg_alpha : float
        Penalties of leaf weights, squared (halved) and absolute: a leaf of summed gradients G and hessians H weighs
        -G / (H + lambda), G shrunk by alpha toward 0.
    gamma : float
        What a split must gain: G_L^2 / (H_L + lambda) + G_R^2 / (H_R + lambda) - G^2 / (H + lambda). As in XGBoost's
        code that is twice the fall of the loss. Trees are grown first; then splits that gain less are taken back from
        below, so that one that gains little stays if those under it gain enough.
    min_child_weight : float
        Sum of hessians that a leaf has at least.
    min_samples_leaf : int or float
        Rows of a leaf, or their share; with sample weights their sum. As in LightGBM they are counted by their share of
        the hessians of the node that is split.
    max_delta_step : float, optional
        Bound of leaf weights, before the learning rate; 0 is none. By default 0.7 for losses "poisson", "gamma" and
        "tweedie", where Newton's step overshoots, else none.
    subsample, colsample_bytree, colsample_bynode : float
        Share of the rows that each round draws, of the columns that each tree may use, and of these, of the columns
        that each node looks at.
    data_sample_strategy : {"bagging", "goss"}
        "goss", LightGBM's: each round takes the rows of the largest gradients, a share `top_rate`, and draws a share
        `other_rate` from the others, which count for all of these. The first 1 / learning_rate rounds take all.
    top_rate, other_rate : float
        Of "goss".
    drop_rate, skip_drop : float
        DART, as in XGBoost: the chance of each earlier round to be left out while a round's trees are grown, and of a
        round to leave none out. Left out trees and the new ones are then scaled down together. Not with early stopping
        or a warm start: trees change until the end, and stages are those of the trees as they ended.
    max_bins : int or None, default=255
        Splits by histograms of so many quantile bins, or exact ones between any two values.
    interaction_cst : "pairwise", "no_interactions" or list of groups of columns, optional
        Columns of a path from the root come from one group (numbers, or names); those that no group names are a group
        together. As of scikit-learn's `HistGradientBoostingClassifier`.
    categorical_features, monotonic_cst, class_weight, init, validation_fraction, n_iter_no_change, tol, scoring,
    warm_start
        As of `GradientBoostingClassifier`.
    random_state, n_jobs, verbose
        As of `GradientBoostingClassifier`.

    Attributes
    ----------
    All
        As of `GradientBoostingClassifier`.

    Notes
    -----
    The defaults were chosen on eight small tables, which `benchmarks/ensemble_defaults.py` names; it judges them on
    others. XGBoost's own are learning_rate=0.3, max_depth=6, max_leaf_nodes=None, grow_policy="depthwise",
    min_child_weight=1, min_samples_leaf=1.

    A node learns which way missing values (NaN) go. Nodes that have seen none send them to their larger side.
    """

    _layout = BOOSTED_CLASSES
    _is_newton = True

    def __init__(
        self,
        *,
        loss: Any = "log_loss",
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = 31,
        grow_policy: str = "lossguide",
        reg_lambda: float = 1.0,
        reg_alpha: float = 0.0,
        gamma: float = 0.0,
        min_child_weight: float = 1e-3,
        min_samples_leaf: float = 20,
        max_delta_step: float | None = None,
        subsample: float = 1.0,
        data_sample_strategy: str = "bagging",
        top_rate: float = 0.2,
        other_rate: float = 0.1,
        drop_rate: float = 0.0,
        skip_drop: float = 0.0,
        colsample_bytree: float = 1.0,
        colsample_bynode: float = 1.0,
        max_bins: int | None = 255,
        categorical_features: Any = None,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        class_weight: Any = None,
        init: Any = None,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        scoring: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.grow_policy = grow_policy
        self.reg_lambda = reg_lambda
        self.reg_alpha = reg_alpha
        self.gamma = gamma
        self.min_child_weight = min_child_weight
        self.min_samples_leaf = min_samples_leaf
        self.max_delta_step = max_delta_step
        self.subsample = subsample
        self.data_sample_strategy = data_sample_strategy
        self.top_rate = top_rate
        self.other_rate = other_rate
        self.drop_rate = drop_rate
        self.skip_drop = skip_drop
        self.colsample_bytree = colsample_bytree
        self.colsample_bynode = colsample_bynode
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.class_weight = class_weight
        self.init = init
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.scoring = scoring
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _growth(self, loss: Loss, n_rows: int, n_features: int) -> BoostGrowth:
        return _growth_of(self, loss, n_rows, n_features)


class NewtonBoostingRegressor(BoostedRegressor):
    """Newton boosting of numbers.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"} or object
        An object of your own needs a `hessian` beside the methods of `losses.custom.LossProtocol`. Trees of
        "absolute_error", "huber" and "quantile" are grown with second derivatives of 1; their leaves are the exact
        minima, as in LightGBM. "poisson", "gamma" and "tweedie" boost the logarithm of what is predicted.
    alpha : float
        The quantile of "quantile"; of "huber" the share of residuals that count as no outliers.
    power : float
        Of "tweedie", above 1 and below 2: the power of the mean that the variance grows as.
    All others
        As of `NewtonBoostingClassifier`.

    Attributes
    ----------
    All but classes_
        As of `NewtonBoostingClassifier`.
    """

    _layout = BOOSTED_NUMBERS
    _is_newton = True

    def __init__(
        self,
        *,
        loss: Any = "squared_error",
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = 31,
        grow_policy: str = "lossguide",
        reg_lambda: float = 1.0,
        reg_alpha: float = 0.0,
        gamma: float = 0.0,
        min_child_weight: float = 1e-3,
        min_samples_leaf: float = 20,
        max_delta_step: float | None = None,
        subsample: float = 1.0,
        data_sample_strategy: str = "bagging",
        top_rate: float = 0.2,
        other_rate: float = 0.1,
        drop_rate: float = 0.0,
        skip_drop: float = 0.0,
        colsample_bytree: float = 1.0,
        colsample_bynode: float = 1.0,
        alpha: float = 0.9,
        power: float = 1.5,
        max_bins: int | None = 255,
        categorical_features: Any = None,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        init: Any = None,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        scoring: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.grow_policy = grow_policy
        self.reg_lambda = reg_lambda
        self.reg_alpha = reg_alpha
        self.gamma = gamma
        self.min_child_weight = min_child_weight
        self.min_samples_leaf = min_samples_leaf
        self.max_delta_step = max_delta_step
        self.subsample = subsample
        self.data_sample_strategy = data_sample_strategy
        self.top_rate = top_rate
        self.other_rate = other_rate
        self.drop_rate = drop_rate
        self.skip_drop = skip_drop
        self.colsample_bytree = colsample_bytree
        self.colsample_bynode = colsample_bynode
        self.alpha = alpha
        self.power = power
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.init = init
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.scoring = scoring
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _growth(self, loss: Loss, n_rows: int, n_features: int) -> BoostGrowth:
        return _growth_of(self, loss, n_rows, n_features)
