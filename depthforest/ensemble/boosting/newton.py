"""Newton boosting, as in XGBoost: trees and leaves from the second-order expansion of the loss (`gains`)."""

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
    """Return how Newton boosting grows trees."""
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
        min_rows=0.0 if n_least == 1 else n_least,  # one row suffices, whatever its hessian
        max_step=_max_step(estimator, loss),
        max_depth=UNLIMITED if depth is None else min(whole("max_depth", depth, 1), UNLIMITED),
        max_leaves=UNLIMITED if leaves is None else whole("max_leaf_nodes", leaves, 2),
        is_leaf_wise=estimator.grow_policy == "lossguide",
        groups=groups_of(estimator),
    )


def _max_step(estimator: Any, loss: Loss) -> float:
    """Return the limit of leaf weights; 0 means none, as in XGBoost."""
    if estimator.max_delta_step is None:
        return loss.max_newton_step
    return number("max_delta_step", estimator.max_delta_step, 0) or np.inf


class NewtonBoostingClassifier(BoostedClassifier):
    """Newton boosting for classification.

    Parameters
    ----------
    loss : {"log_loss", "logistic", "multinomial", "exponential"} or object, default="log_loss"
        "log_loss" is "logistic" for two classes and "multinomial" for more. A custom loss needs a `hessian` in addition
        to the methods of `losses.custom.LossProtocol`.
    learning_rate : float
        Factor of every tree; XGBoost's eta.
    n_estimators : int
        Rounds. With the multinomial loss each grows a tree for every class.
    max_depth, max_leaf_nodes : int, optional
        Limits of trees.
    grow_policy : {"depthwise", "lossguide"}
        The order of splits: level by level, or largest gain first. It matters with `max_leaf_nodes`.
    reg_lambda, reg_alpha : float
        L2 and L1 penalties of leaf weights: a leaf with summed gradients G and hessians H has the weight
        -G / (H + lambda), with G moved toward 0 by alpha.
    gamma : float
        Least gain of a split: G_L^2 / (H_L + lambda) + G_R^2 / (H_R + lambda) - G^2 / (H + lambda). As in XGBoost's
        code, this is twice the decrease of the loss. Trees are grown completely; then splits with a smaller gain are
        removed bottom up, so a split with a small gain stays if those below it gain enough.
    min_child_weight : float
        Least sum of hessians in a leaf.
    min_samples_leaf : int or float
        Least rows of a leaf, or their share; with sample weights, the sum of their weights. As in LightGBM they are
        estimated from the share of the hessians of the node that is split.
    max_delta_step : float, optional
        Limit of leaf weights, before the learning rate; 0 means none. Default: 0.7 for losses "poisson", "gamma" and
        "tweedie", for which Newton's step overshoots, else none.
    subsample, colsample_bytree, colsample_bynode : float
        Share of the rows that each round draws, of the columns that each tree may use, and of those, of the columns
        that each node considers.
    data_sample_strategy : {"bagging", "goss"}
        "goss", from LightGBM: each round uses the rows with the largest gradients, a share `top_rate`, and draws a
        share `other_rate` of all rows from the rest, which represent the whole rest. The first 1 / learning_rate rounds
        use all.
    top_rate, other_rate : float
        Shares for "goss".
    drop_rate, skip_drop : float
        DART, as in XGBoost: the probability that an earlier round is dropped while a round's trees are grown, and that
        a round drops none. Dropped trees and the new ones are then scaled down together. Cannot be combined with early
        stopping or a warm start: trees change until the end, and stages use the final trees.
    max_bins : int or None, default=255
        Histograms with at most this many quantile bins per column; None: exact splits between any two values.
    interaction_cst : "pairwise", "no_interactions" or list of groups of columns, optional
        The columns of a path from the root come from one group (numbers, or names); columns in no group form one more
        group. As in scikit-learn's `HistGradientBoostingClassifier`.
    categorical_features, monotonic_cst, class_weight, init, validation_fraction, n_iter_no_change, tol, scoring,
    warm_start
        As in `GradientBoostingClassifier`.
    random_state, n_jobs, verbose
        As in `GradientBoostingClassifier`.

    Attributes
    ----------
    All
        As in `GradientBoostingClassifier`.

    Notes
    -----
    The defaults were chosen on eight small tables, listed in `benchmarks/ensemble_defaults.py`, which evaluates them on
    others. XGBoost's own are learning_rate=0.3, max_depth=6, max_leaf_nodes=None, grow_policy="depthwise",
    min_child_weight=1, min_samples_leaf=1.

    A node learns the side of missing values (NaN). Nodes that have seen none send them to their larger side.
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
    """Newton boosting for regression.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"} or object
        A custom loss needs a `hessian` in addition to the methods of `losses.custom.LossProtocol`. Trees for
        "absolute_error", "huber" and "quantile" are grown with second derivatives of 1; their leaves are the exact
        minima, as in LightGBM. "poisson", "gamma" and "tweedie" boost the logarithm of the prediction.
    alpha : float
        The quantile of "quantile"; for "huber", the share of residuals that do not count as outliers.
    power : float
        For "tweedie", above 1 and below 2: the variance is proportional to this power of the mean.
    All others
        As in `NewtonBoostingClassifier`.

    Attributes
    ----------
    All but classes_
        As in `NewtonBoostingClassifier`.
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
