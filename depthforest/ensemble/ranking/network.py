"""RankNet and LambdaRank as estimators: a small network (`layers`, `epochs`) trained on `lambdas`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from depthforest.base import Floats, UsageError
from depthforest.ensemble.fitting import number, whole
from depthforest.ensemble.ranking.base import BaseRanker
from depthforest.ensemble.ranking.epochs import History, Queries, TrainingSettings, rows_of, train
from depthforest.ensemble.ranking.groups import (
    EXPONENTIAL,
    Starts,
    check_learnable,
    check_relevance,
    fit_starts,
    gains_of,
    query_weights,
)
from depthforest.ensemble.ranking.lambdas import PairTargets, pair_targets
from depthforest.ensemble.ranking.layers import MAX_INPUT, Network, check_activation, hidden_sizes, new_network
from depthforest.ensemble.ranking.metrics import cut_off
from depthforest.ensemble.ranking.store import save_ranker


class BaseRankNetwork(BaseRanker):
    """Common base of RankNet and LambdaRank: everything except the weights of pairs."""

    def fit(self, X: Any, y: Any, qid: Any = None, *, query_weight: Any = None) -> Any:
        """Train the network.

        Parameters
        ----------
        X : (n, n_features) array or DataFrame
            Finite numbers; they are standardized inside.
        y : (n,) array
            Relevance: whole numbers from 0. Queries with documents of equal relevance, or with only one, contribute
            nothing; at least one query must have documents of different relevance.
        qid : (n,) array, optional
            The query of each row; the rows of a query must be adjacent. None: one query, with a warning.
        query_weight : (n,) array, optional
            The weight of each row's query, the same for all of its rows. It multiplies the query's gradients and its
            share of the NDCG in the evaluation.

        Returns
        -------
        self
        """
        hidden, activation = hidden_sizes(self.hidden_layer_sizes), check_activation(self.activation)
        x, grades = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        _check_size(x)
        settings = self._settings(len(x))
        grades = check_relevance(grades, gain=self.gain)
        starts = fit_starts(qid, len(grades))
        weights = query_weights(query_weight, starts)
        rng = check_random_state(self.random_state)
        trained, judged = self._parts(np.flatnonzero(weights), rng)
        check_learnable(grades, starts, trained)
        queries = Queries(x, self._targets(grades, starts), gains_of(grades, self.gain), weights, trained, judged)
        network = new_network(x[rows_of(starts, trained)], hidden, activation, rng)
        history = History(*network.copy_weights())
        try:
            train(network, queries, settings, rng, history)
        finally:  # an interrupted fit keeps its last epoch
            self.mean_, self.scale_ = network.mean, network.scale
            self.coefs_, self.intercepts_ = history.coefs, history.intercepts
            self.activation_ = network.activation
            self.train_scores_ = np.array(history.train_scores)
            self.validation_scores_ = np.array(history.validation_scores)
            self.n_iter_ = len(history.train_scores)
        return self

    def predict(self, X: Any) -> Floats:
        """Return the score of each document, (n,) float64: higher ones rank first within a query.

        Parameters
        ----------
        X : (n, n_features) array or DataFrame
        """
        check_is_fitted(self)
        x = validate_data(self, X, dtype=np.float64, reset=False)
        _check_size(x)
        network = Network(self.mean_, self.scale_, self.coefs_, self.intercepts_, self.activation_)
        return network.scores(network.standardised(x))

    def save(self, path: str | Path) -> None:
        """Write the fitted ranker to a file that `depthforest.ensemble.load` reads; equal rankers, equal bytes.

        Parameters
        ----------
        path : str or Path
        """
        if type(self) not in NETWORKS:  # a subclass may have more state than the file
            names = ", ".join(kind.__name__ for kind in NETWORKS)
            raise UsageError(f"only {names} can be saved, got {type(self).__name__}")
        save_ranker(self, path)

    def _targets(self, grades: Floats, starts: Starts) -> PairTargets:
        raise NotImplementedError

    def _settings(self, n_rows: int) -> TrainingSettings:
        if number("learning_rate", self.learning_rate, 0, 1) == 0:
            raise UsageError(f"learning_rate must be above 0, got {self.learning_rate!r}")
        return TrainingSettings(
            learning_rate=float(self.learning_rate),
            weight_decay=number("weight_decay", self.weight_decay, 0, 1),
            max_iter=whole("max_iter", self.max_iter, 1),
            batch_size=whole("batch_size", self.batch_size, 1),
            patience=whole("n_iter_no_change", self.n_iter_no_change, 1),
            eval_at=cut_off(self.eval_at, n_rows, "eval_at"),
            verbose=self.verbose,
        )

    def _parts(self, everything: Starts, rng: np.random.RandomState) -> tuple[Starts, Starts]:
        """Return the training queries and, for early stopping, the validation queries."""
        n_queries = len(everything)
        if not self.early_stopping:
            return everything, everything[:0]
        share = number("validation_fraction", self.validation_fraction, 0, 1)
        n_judged = round(share * n_queries)
        if not 1 <= n_judged < n_queries:
            raise UsageError(
                f"early_stopping holds out a share of the queries, at least one and not all: "
                f"validation_fraction={share:g} of {n_queries} gives {n_judged}; change it or early_stopping"
            )
        mixed = rng.permutation(everything)
        return np.sort(mixed[n_judged:]), np.sort(mixed[:n_judged])


class RankNet(BaseRankNetwork):
    """RankNet (Burges et al. 2005): a network trained on pairs with the cross entropy of which document is better.

    Parameters
    ----------
    hidden_layer_sizes : tuple of int, default=(32,)
        Units of each hidden layer.
    activation : {"tanh", "relu"}, default="tanh"
    learning_rate : float, default=0.001
        Learning rate of Adam.
    weight_decay : float, default=0.01
        Decoupled weight decay: weights shrink by this share, times the learning rate, at each step.
    max_iter : int, default=50
        Number of epochs: how often each query is used.
    batch_size : int, default=16
        Queries per step.
    sigma : float, default=1.0
        Slope of the logistic function of the score difference.
    early_stopping : bool, default=False
        Whether to hold out queries, stop when their NDCG no longer rises, and return to the best epoch.
    validation_fraction : float, default=0.1
        Share of queries that are held out.
    n_iter_no_change : int, default=10
        Epochs without a rise before training stops.
    eval_at : int or None, default=10
        Cutoff of the NDCG in `score`, early stopping and learning curves.
    gain : {"exponential", "linear"}, default="exponential"
        Gain of that NDCG; exponential gain allows grades up to 31.
    random_state : int, RandomState, optional
    verbose : int, default=0
        Above 0 shows progress.

    Attributes
    ----------
    coefs_, intercepts_ : list of float64 arrays
        Weights of the layers, (n_in, n_out), and intercepts of the hidden ones, (n_out,).
    mean_, scale_ : (n_features,) arrays
        Mean and scale that standardize inputs.
    activation_ : str
    n_iter_ : int
        Number of epochs run.
    train_scores_, validation_scores_ : arrays, a number for each iteration
        NDCG after each epoch; the second is empty without early stopping.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    An interrupted fit keeps the network of the last finished epoch, or with early stopping of the best.
    """

    def __init__(
        self,
        hidden_layer_sizes: tuple[int, ...] = (32,),
        *,
        activation: str = "tanh",
        learning_rate: float = 0.001,
        weight_decay: float = 0.01,
        max_iter: int = 50,
        batch_size: int = 16,
        sigma: float = 1.0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        eval_at: int | None = 10,
        gain: str = EXPONENTIAL,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.sigma = sigma
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.eval_at = eval_at
        self.gain = gain
        self.random_state = random_state
        self.verbose = verbose

    def _targets(self, grades: Floats, starts: Starts) -> PairTargets:
        return pair_targets("ranknet", grades, starts, sigma=self.sigma)


class LambdaRank(BaseRankNetwork):
    """LambdaRank (Burges et al. 2006): RankNet with pairs weighted by the change of a metric if they swapped ranks.

    Parameters
    ----------
    hidden_layer_sizes, activation, learning_rate, weight_decay, max_iter, batch_size
        As in `RankNet`.
    metric : {"ndcg", "err", "map"}, default="ndcg"
        The metric in the weights of pairs.
    k : int or None, default=None
        Truncation: only pairs with a document among the first k ranks count.
    sigma : float, default=1.0
        Slope of the logistic function of the score difference.
    normalize : bool, default=False
        Whether pairs and queries are normalized like LightGBM's `lambdarank_norm`; see `lambdas.pair_targets`.
    early_stopping, validation_fraction, n_iter_no_change, eval_at, random_state, verbose
        As in `RankNet`.
    gain : {"exponential", "linear"}, default="exponential"
        Gain of NDCG, in the weights of pairs and in scores; exponential gain allows grades up to 31.

    Attributes
    ----------
    coefs_, intercepts_, mean_, scale_, activation_, n_iter_, train_scores_, validation_scores_
        As in `RankNet`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    An interrupted fit keeps the network of the last finished epoch, or with early stopping of the best.
    """

    def __init__(
        self,
        hidden_layer_sizes: tuple[int, ...] = (32,),
        *,
        activation: str = "tanh",
        learning_rate: float = 0.001,
        weight_decay: float = 0.01,
        max_iter: int = 50,
        batch_size: int = 16,
        metric: str = "ndcg",
        k: int | None = None,
        sigma: float = 1.0,
        normalize: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        eval_at: int | None = 10,
        gain: str = EXPONENTIAL,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.metric = metric
        self.k = k
        self.sigma = sigma
        self.normalize = normalize
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.eval_at = eval_at
        self.gain = gain
        self.random_state = random_state
        self.verbose = verbose

    def _targets(self, grades: Floats, starts: Starts) -> PairTargets:
        return pair_targets(
            self.metric, grades, starts, k=self.k, sigma=self.sigma, normalize=self.normalize, gain=self.gain
        )


NETWORKS = (RankNet, LambdaRank)
"""The classes that can be saved."""


def _check_size(x: Floats) -> None:
    most = np.abs(x).max()
    if most > MAX_INPUT:
        raise UsageError(f"numbers of X must be up to {MAX_INPUT:g}, got {most:g}")
