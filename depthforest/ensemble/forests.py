"""Forests: random forests and extremely randomized trees, of classes and of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import Bunch, compute_class_weight
from sklearn.utils.validation import check_is_fitted

from depthforest.arrays import Floats, Ints, Singles
from depthforest.ensemble.fitting import job_count
from depthforest.ensemble.forestbase import BaseForest
from depthforest.ensemble.inputs import (
    check_weights,
    fit_classes,
    fit_numbers,
    fit_table,
    predict_table,
    weighed_classes,
)
from depthforest.ensemble.outofbag import (
    ask,
    error_bound,
    strength_and_correlation,
)
from depthforest.ensemble.quantiles import forest_quantiles
from depthforest.errors import UsageError

SUBSAMPLE = "balanced_subsample"


class RandomForestClassifier(ClassifierMixin, BaseForest):  # type: ignore[misc]
    """Random forest of classes (Breiman 2001): trees of bootstrapped rows that look at a few columns in each node.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees.
    criterion, max_depth, max_leaf_nodes, min_samples_split, min_samples_leaf, min_weight_fraction_leaf
        Of each tree, as of `DecisionTreeClassifier`.
    min_impurity_decrease, ccp_alpha, max_bins, categorical_features
        Of each tree, as of `DecisionTreeClassifier`.
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
        Columns looked at in a node.
    bootstrap : bool, default=True
        Whether each tree draws rows with replacement; else it sees all.
    max_samples : int or float, optional
        Rows that a tree draws, or their share; as many as there are by default.
    oob_score : bool, default=False
        Whether to judge each row by the trees that have not seen it.
    class_weight : dict, "balanced", "balanced_subsample", optional
        The last is worked out anew for the rows of each tree.
    warm_start : bool, default=False
        Keep the trees of the last fit and add those that are wanted.
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
        Accuracy out of bag; like all that follow, with `oob_score`.
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
    A fit that is interrupted keeps the trees that are finished; with `warm_start` the next one grows the rest.
    """

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
        oob_score: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: float | None = None,
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
        self.max_bins = max_bins
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RandomForestClassifier:
        """Grow the forest.

        Parameters
        ----------
        X : (n, n_features) array or DataFrame
        y : (n,) array
        sample_weight : (n,) array, optional

        Returns
        -------
        self
        """
        table = fit_table(self, X, self.categorical_features)
        self.classes_, codes = fit_classes(y, table)
        weights = check_weights(sample_weight, table)
        by_tree = isinstance(self.class_weight, str) and self.class_weight == SUBSAMPLE
        weights = weighed_classes(weights, None if by_tree else self.class_weight, self.classes_, codes)
        self._fit(table, codes, np.ones(len(codes)), weights, len(self.classes_))
        if self.oob_score:
            self._judge_out_of_bag(table, codes)
        return self

    def _judge_out_of_bag(self, table: Singles, codes: Ints) -> None:
        threads = job_count(self.n_jobs, in_threads=True)
        asked = ask(self.trees_, self._unseen_rows, table, codes, threads=threads)
        known = ~np.isnan(asked.means[:, 0])
        self.oob_decision_function_ = asked.means
        self.oob_errors_ = asked.errors
        self.oob_score_ = (
            float(accuracy_score(codes[known], asked.means[known].argmax(axis=1))) if known.any() else np.nan
        )
        self.strength_, self.correlation_ = strength_and_correlation(
            self.trees_, self._unseen_rows, table, codes, threads=threads
        )
        self.error_bound_ = error_bound(self.strength_, self.correlation_)

    def _tree_weights(self, t: int, channels: Any, weights: Floats) -> Floats:
        own = super()._tree_weights(t, channels, weights)
        if not isinstance(self.class_weight, str) or self.class_weight != SUBSAMPLE:
            return own
        there = np.unique(channels[own > 0])
        drawn = channels[self._drawn_rows(t)]
        factors = np.zeros(len(self.classes_))
        factors[there] = compute_class_weight("balanced", classes=there, y=drawn)
        return np.asarray(own * factors[channels])

    def predict_proba(self, X: Any) -> Floats:
        """Return the mean of the trees' class shares, (n, n_classes)."""
        return self._mean(X)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class with the largest mean share, (n,); of equals the first."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_.take(best))

    def permutation_importance(self, X: Any, y: Any) -> Bunch:
        """Return how much the error of each tree rises when a column is shuffled among its unseen rows.

        Parameters
        ----------
        X, y
            What the forest was fitted on.

        Returns
        -------
        Bunch
            `importances_mean` and `importances_std` (n_features,), `importances` (n_features, n_trees).
        """
        check_is_fitted(self)
        labels = np.asarray(y)
        unknown = labels[~np.isin(labels, self.classes_)]
        if len(unknown):
            raise UsageError(f"y must be what the forest was fitted on, got the unknown class {unknown[0]!r}")
        codes = np.searchsorted(self.classes_, labels).astype(np.int32)
        self._check_same_truth(codes, np.ones(len(codes)))
        return self._permutation_importance(X, codes)


class ExtraTreesClassifier(RandomForestClassifier):
    """Extremely randomized trees of classes (Geurts et al. 2006): one random threshold for each column looked at.

    Parameters and attributes are those of `RandomForestClassifier`; by default every tree sees all rows.
    """

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
        oob_score: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: float | None = None,
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
            max_bins=max_bins,
            categorical_features=categorical_features,
        )


class RandomForestRegressor(RegressorMixin, BaseForest):  # type: ignore[misc]
    """Random forest of numbers.

    Parameters
    ----------
    max_features : int, float, {"sqrt", "log2"} or None, default=1.0
        Columns looked at in a node; all by default, as in scikit-learn. A third is Breiman's choice.
    quantiles : bool, default=False
        Whether trees keep their rows, so that `predict_quantiles` can be asked.
    All others
        As of `RandomForestClassifier`.

    Attributes
    ----------
    estimators_ : list of DecisionTreeRegressor
    estimators_samples_ : list of (n_drawn,) array
    feature_importances_ : (n_features,) array
    oob_score_ : float
        R^2 out of bag; like all that follow, with `oob_score`.
    oob_prediction_ : (n_rows,) array
        NaN for a row that every tree has seen.
    oob_errors_ : (n_estimators,) array
        Mean squared error out of bag after each tree.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

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
        oob_score: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: float | None = None,
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
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.quantiles = quantiles

    @property
    def _keeps_rows(self) -> bool:  # type: ignore[override]
        return bool(self.quantiles)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RandomForestRegressor:
        """Grow the forest.

        Parameters
        ----------
        X : (n, n_features) array or DataFrame
        y : (n,) array
        sample_weight : (n,) array, optional

        Returns
        -------
        self
        """
        table = fit_table(self, X, self.categorical_features)
        targets, self._offset = fit_numbers(y, table)
        weights = check_weights(sample_weight, table)
        self.__dict__.pop("_targets", None)
        if self.quantiles:  # before the trees: an interrupted fit keeps those that are finished
            self._targets, self._weights = targets + self._offset, weights
        self._fit(table, np.zeros(len(targets), dtype=np.int32), targets, weights, 1)
        if self.oob_score:
            truth = targets + self._offset
            asked = ask(self.trees_, self._unseen_rows, table, truth, threads=job_count(self.n_jobs, in_threads=True))
            known = ~np.isnan(asked.means[:, 0])
            self.oob_prediction_ = asked.means[:, 0]
            self.oob_errors_ = asked.errors
            n_known = np.count_nonzero(known)
            self.oob_score_ = float(r2_score(truth[known], asked.means[known, 0])) if n_known > 1 else np.nan
        return self

    def predict(self, X: Any) -> Floats:
        """Return the mean of the trees' predictions, (n,)."""
        return self._mean(X)[:, 0]

    def predict_quantiles(self, X: Any, quantiles: Any = (0.05, 0.5, 0.95)) -> Floats:
        """Return quantiles of the target given X (Meinshausen 2006), (n, n_quantiles).

        Parameters
        ----------
        X : (n, n_features) array or DataFrame
        quantiles : sequence of float, default=(0.05, 0.5, 0.95)
            From 0 to 1, in any order.
        """
        table = predict_table(self, X)
        if not hasattr(self, "_targets") or not all(len(tree.rows) for tree in self.trees_):
            raise UsageError("predict_quantiles needs the rows of all trees' leaves: fit with quantiles=True")
        wanted = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
        if wanted.ndim != 1 or not wanted.size or not ((wanted >= 0) & (wanted <= 1)).all():
            raise UsageError(f"quantiles must be numbers from 0 to 1, got {quantiles!r}")
        order = np.argsort(wanted, kind="stable")
        leaves = self._walk.leaves(table, threads=job_count(self.n_jobs, in_threads=True))
        channels = np.zeros(self.n_rows_, dtype=np.int32)
        weights = [self._tree_weights(t, channels, self._weights) for t in range(len(self.trees_))]
        out = np.empty((len(table), len(wanted)))
        out[:, order] = forest_quantiles(self.trees_, leaves, self._targets, weights, wanted[order])
        return out

    def permutation_importance(self, X: Any, y: Any) -> Bunch:
        """Return how much the squared error of each tree rises when a column is shuffled among its unseen rows.

        As of `RandomForestClassifier`.
        """
        check_is_fitted(self)
        truth = np.asarray(y, dtype=np.float64)
        self._check_same_truth(np.zeros(len(truth), dtype=np.int32), truth - self._offset)
        return self._permutation_importance(X, truth)


class ExtraTreesRegressor(RandomForestRegressor):
    """Extremely randomized trees of numbers (Geurts et al. 2006): one random threshold for each column looked at.

    Parameters and attributes are those of `RandomForestRegressor`; by default every tree sees all rows.
    """

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
        oob_score: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: float | None = None,
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
            max_bins=max_bins,
            categorical_features=categorical_features,
            quantiles=quantiles,
        )
