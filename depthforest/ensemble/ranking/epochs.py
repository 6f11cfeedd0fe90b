"""Epochs: the training of a ranking network on batches of queries, evaluated by NDCG after each epoch."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from depthforest.base import Floats, UsageError
from depthforest.ensemble.fitting import shown
from depthforest.ensemble.ranking.groups import Starts
from depthforest.ensemble.ranking.lambdas import PairTargets, fill_lambdas
from depthforest.ensemble.ranking.layers import Adam, Network
from depthforest.ensemble.ranking.metrics import ndcg_by_query


@dataclass(frozen=True)
class TrainingSettings:
    """How a network is trained, from the parameters of the estimators."""

    learning_rate: float
    weight_decay: float
    max_iter: int
    batch_size: int
    patience: int
    eval_at: int
    verbose: int


@dataclass(eq=False)
class Queries:
    """The training and validation data.

    Attributes
    ----------
    x : (n, n_features) float64
    targets : PairTargets
    gains : (n,) float64
        Gains for NDCG.
    weights : (n_queries,) float64
    trained, judged : (m,) int64
        Indices of the queries for training and for validation; the latter are empty without early stopping.
    """

    x: Floats
    targets: PairTargets
    gains: Floats
    weights: Floats
    trained: Starts
    judged: Starts

    def mean(self, values: Floats, which: Starts) -> float:
        """Return the weighted mean of a value by query over some queries."""
        return float(np.average(values[which], weights=self.weights[which]))


@dataclass(eq=False)
class History:
    """The results of the epochs so far; complete after each epoch, so that an interrupt loses only the last one.

    Attributes
    ----------
    coefs, intercepts : list of float64 arrays
        Of the last epoch; with validation queries, of the best.
    train_scores, validation_scores : list of float
        NDCG after each epoch.
    """

    coefs: list[Floats]
    intercepts: list[Floats]
    train_scores: list[float] = field(default_factory=list)
    validation_scores: list[float] = field(default_factory=list)


def train(
    network: Network, queries: Queries, settings: TrainingSettings, rng: np.random.RandomState, history: History
) -> None:
    """Train a network in place and fill its history.

    With validation queries it stops when their NDCG has not risen for `settings.patience` epochs.
    """
    z = network.standardised(queries.x)
    adam = Adam(network, settings.learning_rate, settings.weight_decay)
    best, waited = -np.inf, 0
    for _ in shown(range(settings.max_iter), n=settings.max_iter, title="epochs", verbose=settings.verbose):
        _run_epoch(network, adam, z, queries, rng.permutation(queries.trained), settings.batch_size)
        scores = network.scores(z)
        if not np.isfinite(scores).all():
            raise UsageError(f"training diverged: use a learning_rate below {settings.learning_rate:g}")
        values = ndcg_by_query(queries.gains, scores, queries.targets.starts, settings.eval_at)
        values[np.isnan(values)] = 1.0
        history.train_scores.append(queries.mean(values, queries.trained))
        if len(queries.judged):
            history.validation_scores.append(queries.mean(values, queries.judged))
            waited += 1
            if history.validation_scores[-1] <= best:
                if waited >= settings.patience:
                    break
                continue
            best, waited = history.validation_scores[-1], 0
        history.coefs, history.intercepts = network.copy_weights()


def _run_epoch(network: Network, adam: Adam, z: Floats, queries: Queries, order: Starts, batch_size: int) -> None:
    """Take one step per batch of queries."""
    targets = queries.targets
    score, gradient, hessian = np.zeros((3, len(z)))
    for begin in range(0, len(order), batch_size):
        batch = order[begin : begin + batch_size]
        rows = rows_of(targets.starts, batch)
        outputs = network.outputs(z[rows])
        score[rows] = outputs[-1][:, 0]
        fill_lambdas(targets, score, gradient, hessian, batch)
        weights = np.repeat(queries.weights[batch], targets.starts[batch + 1] - targets.starts[batch])
        adam.step(network.gradients(outputs, gradient[rows] * weights / weights.sum()))


def rows_of(starts: Starts, queries: Starts) -> Starts:
    """Return the rows of the given queries, one query after the other."""
    sizes = starts[queries + 1] - starts[queries]
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.asarray(np.repeat(starts[queries], sizes) + within)
