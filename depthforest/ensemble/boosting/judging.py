"""Evaluation of rounds: the rows and metrics for it, early stopping, and callbacks.

`base` makes a `RoundJudge` before the first round and passes it every round. Scorers are scikit-learn's. They are
called with a view of the estimator that returns the raw values known so far, so that no tree is walked twice.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import get_scorer

from depthforest.base import Floats, UsageError
from depthforest.ensemble.boosting.rounds import Rows, add_round, add_tree, weighed_mean
from depthforest.ensemble.tree import Tree

LOSS = "loss"
"""The metric that is the loss itself: lower is better; for scorers higher is better."""

Callback = Callable[[int, Any, dict[str, dict[str, float]]], Any]


@dataclass(eq=False)
class Watched:
    """Rows that evaluate rounds.

    Attributes
    ----------
    name : str
    rows : Rows
    X : array, sparse matrix or DataFrame
        As the user passed it, for scorers.
    """

    name: str
    rows: Rows
    X: Any = None


@dataclass(eq=False)
class RoundJudge:
    """Evaluates each round.

    Parameters
    ----------
    watched : list of Watched
        Early stopping uses the first.
    scorers : dict of scorer by name, None for the loss
        Early stopping uses the first.
    callbacks : list of callables
    patience : int, optional
    tolerance : float
    curves : dict of dict of list
        Scores by rows and metric, a number for each round; NaN for rounds without evaluation.
    """

    watched: list[Watched]
    scorers: dict[str, Any]
    callbacks: list[Callback] = field(default_factory=list)
    patience: int | None = None
    tolerance: float = 0.0
    curves: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    def begin(self, curves: Mapping[str, Mapping[str, Any]], n_rounds: int) -> None:
        """Continue the curves of an earlier fit, of which `n_rounds` rounds are kept."""
        for watched in self.watched:
            known = curves.get(watched.name, {})
            self.curves[watched.name] = {
                metric: (list(known.get(metric, ())) + [np.nan] * n_rounds)[:n_rounds]
                for metric in dict.fromkeys((LOSS, *self.scorers))
            }

    def note(self, grown: list[Tree], changes: list[tuple[int, Tree]], estimator: Any, threads: int) -> None:
        """Add a round's trees to the raw values of all watched rows, and evaluate the round."""
        for watched in self.watched:
            rows, curves = watched.rows, self.curves[watched.name]
            add_round(grown, rows, threads)
            for k, change in changes:
                add_tree(change, rows, k, threads)
            curves[LOSS].append(weighed_mean(rows.losses(threads), rows.weights))
            scorers = {name: scorer for name, scorer in self.scorers.items() if scorer is not None}
            if scorers:
                view = _view(estimator, rows)
                for name, scorer in scorers.items():
                    curves[name].append(_asked(name, scorer, view, watched))

    def last(self) -> dict[str, dict[str, float]]:
        """Return the scores of the last round, by rows and metric."""
        return {name: {metric: known[-1] for metric, known in curves.items()} for name, curves in self.curves.items()}

    def costs(self) -> list[float]:
        """Return the values that early stopping minimizes, by round; empty without validation rows."""
        if not self.watched:
            return []
        metric, scorer = next(iter(self.scorers.items()))
        values = self.curves[self.watched[0].name][metric]
        return values if scorer is None else [-value for value in values]

    def is_over(self) -> bool:
        """Return whether the last rounds brought no improvement over the best one before them."""
        if self.patience is None:
            return False
        known = [cost for cost in self.costs() if not np.isnan(cost)]
        if len(known) <= self.patience:
            return False
        return min(known[-self.patience :]) > min(known[: -self.patience]) - self.tolerance

    def n_best(self) -> int | None:
        """Return how many rounds early stopping keeps; None without early stopping."""
        costs = np.asarray(self.costs())
        if self.patience is None or not len(costs) or np.isnan(costs).all():
            return None
        return 1 + int(np.nanargmin(costs))

    def is_stopped(self, n_round: int, estimator: Any) -> bool:
        """Call the callbacks after a round; return whether one of them stops the fit."""
        wants_no_more = [bool(callback(n_round, estimator, self.last())) for callback in self.callbacks]  # calls all
        return any(wants_no_more)


def scorers_of(scoring: Any) -> dict[str, Any]:
    """Return scorers by name; None for the loss, which is the default metric."""
    if scoring is None:
        return {LOSS: None}
    if isinstance(scoring, Mapping):
        named = {name: _scorer(value) for name, value in scoring.items()}
    elif isinstance(scoring, (list, tuple)):
        named = {_name_of(value): _scorer(value) for value in scoring}
        if len(named) < len(scoring):
            raise UsageError(f"scoring names a metric twice: {scoring!r}; pass a dict with a name for each")
    else:
        named = {_name_of(scoring): _scorer(scoring)}
    if not named:
        raise UsageError("scoring must name at least one metric, or be None for the loss")
    return named


def _scorer(metric: Any) -> Any:
    if isinstance(metric, str) and metric == LOSS:
        return None
    if not isinstance(metric, str) and not callable(metric):
        raise UsageError(
            f"scoring must be 'loss', scikit-learn's name of a scorer, a scorer, or several; got {metric!r}"
        )
    try:
        return get_scorer(metric)
    except ValueError:
        raise UsageError(
            f"scoring has no {metric!r}: use 'loss', or a name of sklearn.metrics.get_scorer_names()"
        ) from None


def _name_of(metric: Any) -> str:
    return metric if isinstance(metric, str) else getattr(metric, "__name__", None) or str(metric)


def callbacks_of(monitor: Any, callbacks: Any) -> list[Callback]:
    """Return the callables to call after each round."""
    if callbacks is None:
        callbacks = ()
    if not isinstance(callbacks, Sequence):
        raise UsageError(f"callbacks must be a list of callables (round, estimator, scores), got {callbacks!r}")
    found = [*callbacks, *(() if monitor is None else (monitor,))]
    for callback in found:
        if not callable(callback):
            raise UsageError(f"monitor and callbacks must be callables (round, estimator, scores), got {callback!r}")
    return found


def _view(estimator: Any, rows: Rows) -> Any:
    """Return a view of the estimator after this round, for these rows only."""
    view = copy.copy(estimator)
    view._walk = None  # makes it count as fitted
    view._known_raw = rows.raw.reshape(1, -1).T if rows.raw.ndim == 1 else rows.raw.T
    return view


def _asked(name: str, scorer: Any, view: Any, watched: Watched) -> float:
    rows = watched.rows
    y: npt.NDArray[Any] = rows.y if view._n_classes is None else view.classes_[rows.y]
    weighs: dict[str, Floats] = {}
    if (rows.weights != 1.0).any() and "sample_weight" in inspect.signature(scorer).parameters:
        weighs["sample_weight"] = rows.weights
    value = scorer(view, watched.X, y, **weighs)
    if not np.isscalar(value) or not np.isreal(value):
        raise UsageError(f"scoring {name!r} must return one number, got {value!r}")
    return float(value)  # type: ignore[arg-type]
