"""Presets of `diverse` under well-known names: bagging, random subspaces, output flipping, output smearing.

Each is a `DiverseEnsemble*` with the parameters of one way to make members differ; all others are off.
"""

from __future__ import annotations

from typing import Any

from depthforest.ensemble.bagging.diverse import DiverseEnsembleClassifier, DiverseEnsembleRegressor


class BaggingClassifier(DiverseEnsembleClassifier):
    """Bagging: each member learns from rows drawn with replacement (Breiman 1996).

    The parameters are those of scikit-learn's class of this name; if columns are drawn too, this is random patches. A
    bootstrap of n of n rows contains 1 - (1 - 1/n)^n, about 63.2 %, of them; `oob_score` evaluates with the rest.

    Parameters
    ----------
    estimator, n_estimators, max_samples, max_features, bootstrap, bootstrap_features, oob_score, warm_start, n_jobs, \
random_state, verbose
        As in `DiverseEnsembleClassifier`, which also describes the fitted attributes.
    """

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        max_samples: float | int | None = None,
        max_features: float | int = 1.0,
        bootstrap: bool = True,
        bootstrap_features: bool = False,
        oob_score: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.bootstrap_features = bootstrap_features
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class BaggingRegressor(DiverseEnsembleRegressor):
    """Bagging: each member learns from rows drawn with replacement (Breiman 1996).

    The parameters are those of scikit-learn's class of this name; if columns are drawn too, this is random patches. A
    bootstrap of n of n rows contains 1 - (1 - 1/n)^n, about 63.2 %, of them; `oob_score` evaluates with the rest.

    Parameters
    ----------
    estimator, n_estimators, max_samples, max_features, bootstrap, bootstrap_features, oob_score, warm_start, n_jobs, \
random_state, verbose
        As in `DiverseEnsembleRegressor`, which also describes the fitted attributes.
    """

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        max_samples: float | int | None = None,
        max_features: float | int = 1.0,
        bootstrap: bool = True,
        bootstrap_features: bool = False,
        oob_score: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.bootstrap_features = bootstrap_features
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class RandomSubspaceClassifier(DiverseEnsembleClassifier):
    """Random subspaces: each member learns from all rows and its own subset of the columns (Ho 1998).

    Parameters
    ----------
    max_features : int or float, default=0.5
        Columns that a member gets: a number, or a share of the columns.
    estimator, n_estimators, warm_start, n_jobs, random_state, verbose
        As in `DiverseEnsembleClassifier`, which also describes the fitted attributes.
    """

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        max_features: float | int = 0.5,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_features = max_features
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class RandomSubspaceRegressor(DiverseEnsembleRegressor):
    """Random subspaces: each member learns from all rows and its own subset of the columns (Ho 1998).

    Parameters
    ----------
    max_features : int or float, default=0.5
        Columns that a member gets: a number, or a share of the columns.
    estimator, n_estimators, warm_start, n_jobs, random_state, verbose
        As in `DiverseEnsembleRegressor`, which also describes the fitted attributes.
    """

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        max_features: float | int = 0.5,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_features = max_features
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class OutputFlippingClassifier(DiverseEnsembleClassifier):
    """Output flipping: each member learns labels of which some were changed to another class (Breiman 2000).

    For each member, round(flip * n) of n rows are drawn and their labels are shuffled among them, so every class keeps
    its exact number of rows. A row of class i becomes class j with probability flip * p_j (p_j: share of class j),
    which is Breiman's rule; a share of flip * (1 - sum p_c^2) of the labels changes. A member that can memorize wrong
    labels does so, each its own, and many members are needed to average that away.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of members.
    flip : float, default=0.4
        Share of the labels that are shuffled, from 0 to 1.
    estimator, warm_start, n_jobs, random_state, verbose
        As in `DiverseEnsembleClassifier`, which also describes the fitted attributes.
    """

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 100,
        *,
        flip: float = 0.4,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.flip = flip
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class OutputSmearingRegressor(DiverseEnsembleRegressor):
    """Output smearing: each member learns the target plus its own normal noise (Breiman 2000).

    A member learns y + smear * s * z with z from N(0, 1) for each row and s the standard deviation of y. A member that
    can memorize noise does so, each its own, and many members are needed to average that away.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of members.
    smear : float, default=1.0
        Standard deviation of the noise, in standard deviations of the target.
    estimator, warm_start, n_jobs, random_state, verbose
        As in `DiverseEnsembleRegressor`, which also describes the fitted attributes.
    """

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 100,
        *,
        smear: float = 1.0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.smear = smear
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
