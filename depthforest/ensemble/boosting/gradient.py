"""Gradient boosting (Friedman 2001): trees fitted to the negative gradient, with a line search in each leaf."""

from __future__ import annotations

from typing import Any

from depthforest.ensemble.boosting.losses.choice import Loss
from depthforest.ensemble.boosting.planting import BoostGrowth
from depthforest.ensemble.boosting.store import BOOSTED_CLASSES, BOOSTED_NUMBERS
from depthforest.ensemble.boosting.tasks import BoostedClassifier, BoostedRegressor
from depthforest.ensemble.fitting import directions_of, number, whole
from depthforest.ensemble.tree import UNLIMITED, feature_count, row_count

_IS_SHUFFLED = True
"""On small tables many splits are equally good: as in scikit-learn, one is chosen at random, so that trees differ."""


def _growth_of(estimator: Any, loss: Loss, n_rows: int, n_features: int) -> BoostGrowth:
    """Return how gradient boosting grows trees: by least squares."""
    n_least = row_count("min_samples_leaf", estimator.min_samples_leaf, n_rows, least=1)
    leaves, depth = estimator.max_leaf_nodes, estimator.max_depth
    return BoostGrowth(
        directions=directions_of(estimator, loss.n_outputs),
        n_columns=n_features,
        n_drawn=feature_count(estimator.max_features, n_features),
        min_weight=0.0 if n_least == 1 else n_least,  # one row suffices, whatever its weight
        max_depth=UNLIMITED if depth is None else min(whole("max_depth", depth, 1), UNLIMITED),
        max_leaves=UNLIMITED if leaves is None else whole("max_leaf_nodes", leaves, 2),
        least_split=max(2, row_count("min_samples_split", estimator.min_samples_split, n_rows, least=2)),
        least_share=number("min_weight_fraction_leaf", estimator.min_weight_fraction_leaf, 0, 0.5),
        least_decrease=number("min_impurity_decrease", estimator.min_impurity_decrease, 0),
        is_leaf_wise=True,
        is_shuffled=_IS_SHUFFLED,
    )


class GradientBoostingClassifier(BoostedClassifier):
    """Gradient boosting for classification.

    Parameters
    ----------
    loss : {"log_loss", "logistic", "multinomial", "exponential", "hinge", "perceptron"} or object, default="log_loss"
        "log_loss" is "logistic" for two classes and "multinomial" for more; the others are for two. A custom loss is an
        object with the methods of `losses.custom.LossProtocol`. Hinge, perceptron and custom losses have no
        probabilities.
    learning_rate : float
        Factor of every tree.
    n_estimators : int
        Rounds. With the multinomial loss each grows a tree for every class.
    subsample : float
        Share of the rows that each round draws; below 1, `oob_improvement_` is available.
    max_depth, max_leaf_nodes : int, optional
        Limits of trees. With `max_leaf_nodes`, trees grow best first.
    min_samples_split : int or float
        Least rows of a node that is split, or their share.
    min_samples_leaf : int or float
        Least rows of a leaf, or their share; with sample weights, the sum of their weights.
    min_weight_fraction_leaf : float
        Least weight of a leaf, as a share of the weight of the rows that the round draws.
    min_impurity_decrease : float
        Least decrease of the gradients' squared error by a split, times the node's share of the weight.
    max_features : int, float, {"sqrt", "log2"}, optional
        Number of columns considered in a node, drawn at random for each node; default: all.
    max_bins : int or None, default=255
        Columns with more values than this are split at quantile bin edges; None: at any value.
    categorical_features : "from_dtype", mask, numbers or names of columns, optional
        Columns with unordered values of any type. Beyond 254 categories, the rarest share one code.
    monotonic_cst : list of int, or dict of int by name, optional
        1 for columns that may only raise the prediction (the raw value of the second class), -1 for those that may only
        lower it.
    class_weight : dict, "balanced", optional
        Weights of classes; weights of training and validation rows are multiplied by them.
    init : None, "zero" or estimator
        The start: the best constant, 0, or the predictions of an estimator. A clone of it is fitted, `init_`.
    validation_fraction, n_iter_no_change, tol : float, int or None, float
        With `n_iter_no_change`, this many rounds that do not decrease the validation loss by more than `tol` end the
        fit, and the rounds up to the best are kept. Validation rows are given to `fit`, or are a held-out share.
    scoring : str, callable, list or dict of these, optional
        Metrics of each round, in `evals_result_`: "loss" (default), names of scikit-learn's scorers, or scorers. Early
        stopping uses the first.
    warm_start : bool
        Whether another `fit` adds rounds to the existing ones.
    random_state : int, RandomState, optional
        Seed of subsampling, drawn columns, the choice among equal splits, and the validation share.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    verbose : int
        Above 0 shows a progress bar.

    Attributes
    ----------
    classes_ : (n_classes,) array
    n_estimators_ : int
        Number of rounds that were kept.
    start_ : (n_outputs,) array
        Raw values before the first round.
    trees_ : list of Tree
        Trees of all rounds, those of a round in the order of classes; their values include `learning_rate`.
    estimators_ : (n_rounds, n_outputs) array of DecisionTreeRegressor
    train_score_ : (n_rounds,) array
        Mean loss after each round on the rows that it drew.
    oob_improvement_, oob_scores_, validation_score_ : (n_rounds,) arrays
        Decrease of the mean loss by each round on the rows that it did not draw, that loss, and the validation loss
        after it; empty if there are no such rows. `oob_score_` is the last of `oob_scores_`.
    evals_result_ : dict of dict of (n_rounds,) array
        Scores by rows ("validation", "validation_0" and so on) and metric.
    init_ : estimator
        The fitted start, if `init` is an estimator.
    max_features_ : int
    feature_importances_ : (n_features,) array
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    _layout = BOOSTED_CLASSES

    def __init__(
        self,
        *,
        loss: Any = "log_loss",
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        subsample: float = 1.0,
        max_depth: int | None = 3,
        max_leaf_nodes: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_features: Any = None,
        max_bins: int | None = 255,
        categorical_features: Any = None,
        monotonic_cst: Any = None,
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
        self.subsample = subsample
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
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
        growth = _growth_of(self, loss, n_rows, n_features)
        self.max_features_ = growth.n_drawn
        return growth


class GradientBoostingRegressor(BoostedRegressor):
    """Gradient boosting for regression.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"} or object
        "poisson", "gamma" and "tweedie" boost the logarithm of the prediction. A custom loss is an object with the
        methods of `losses.custom.LossProtocol`.
    alpha : float
        The quantile of "quantile"; for "huber", the share of residuals that do not count as outliers.
    power : float
        For "tweedie", above 1 and below 2: the variance is proportional to this power of the mean.
    All others
        As in `GradientBoostingClassifier`.

    Attributes
    ----------
    All but classes_
        As in `GradientBoostingClassifier`.
    """

    _layout = BOOSTED_NUMBERS

    def __init__(
        self,
        *,
        loss: Any = "squared_error",
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        subsample: float = 1.0,
        max_depth: int | None = 3,
        max_leaf_nodes: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_features: Any = None,
        alpha: float = 0.9,
        power: float = 1.5,
        max_bins: int | None = 255,
        categorical_features: Any = None,
        monotonic_cst: Any = None,
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
        self.subsample = subsample
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.max_features = max_features
        self.alpha = alpha
        self.power = power
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
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
        growth = _growth_of(self, loss, n_rows, n_features)
        self.max_features_ = growth.n_drawn
        return growth
