"""Plots of boosting round by round: errors, weights of the rows, and decision regions.

Errors are drawn for any estimator with `staged_predict`; the rest is for AdaBoost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, UsageError
from depthforest.ensemble.fitting import whole
from depthforest.ensemble.plotting.canvas import (
    CLASS_COLORS,
    FAINT,
    INK,
    RULE,
    TEXT_PT,
    axes_or_new,
    number,
    plain,
)
from depthforest.ensemble.plotting.decisionregions import plot_decision_regions

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SIZE = (9.0, 4.2)
WEIGHTS_SIZE = (9.0, 5.0)
# the line style of each data set, for all estimators
DASHES = ("-", "--", "-.", ":")
# colors cover these powers of two around the mean weight; values beyond have the color of the end
POWERS = 4


def plot_staged_errors(estimator: Any, data: Any, ax: Axes | None = None, *, rounds: bool = False) -> Axes:
    """Draw the error after each round, of one or several boosted estimators, on one or several data sets.

    Parameters
    ----------
    estimator : fitted estimator with `staged_predict`, or mapping of names to such estimators
        All are classifiers (share of wrong rows) or all are regressors (mean squared error).
    data : pair (X, y), or mapping of names to such pairs
        Rows and true answers, for example `{"training": (X, y), "test": (X_new, y_new)}`. Each estimator has a color,
        each data set a line style.
    ax : matplotlib Axes, optional
        Axes to draw into; default: those of a new figure, 9 inches wide.
    rounds : bool, default=False
        For a single AdaBoost, also draw the weighted error of each round's member (`estimator_errors_`) as points, and
        the bound on the training error (`error_bound_`), if it has one.

    Returns
    -------
    matplotlib Axes
    """
    learners = dict(estimator) if isinstance(estimator, Mapping) else {type(estimator).__name__: estimator}
    if not 1 <= len(learners) <= len(CLASS_COLORS):
        raise UsageError(f"plot_staged_errors draws 1 to {len(CLASS_COLORS)} learners, got {len(learners)}")
    sets = _data_sets(data)
    kinds = {hasattr(learner, "classes_") for learner in learners.values()}
    if len(kinds) == 2:
        raise UsageError(
            "plot_staged_errors draws classifiers or regressors, got both: their errors have no common scale"
        )
    shares = kinds == {True}
    curves = {
        (i, j): _staged_errors(name, learner, X, y, shares=shares)
        for i, (name, learner) in enumerate(learners.items())
        for j, (X, y) in enumerate(sets.values())
    }
    if rounds and (len(learners) > 1 or not hasattr(next(iter(learners.values())), "estimator_errors_")):
        raise UsageError("rounds=True draws the rounds of one fitted AdaBoost: pass it alone, or leave rounds out")
    ax = axes_or_new(ax, SIZE)
    if rounds:
        _draw_rounds(ax, next(iter(learners.values())))
    for (i, j), errors in curves.items():
        ax.plot(
            np.arange(1, len(errors) + 1), errors, label=_named(list(learners)[i], list(sets)[j], errors, shares),
            color=CLASS_COLORS[i], linestyle=DASHES[j % len(DASHES)], linewidth=1.8,
        )  # fmt: skip
    _finish(ax, "rounds", "share wrong" if shares else "mean squared error", "Error by number of rounds")
    if shares:
        from matplotlib.ticker import PercentFormatter

        ax.yaxis.set_major_formatter(PercentFormatter(xmax=1, symbol=" %"))
    return ax


def plot_boosting_weights(estimator: Any, ax: Axes | None = None) -> Axes:
    """Draw the weights of the training rows by round: a line of colors for each row, the hardest rows at the top.

    Parameters
    ----------
    estimator : fitted AdaBoost with `weight_history_`
        From `AdaBoostClassifier(weight_history=True)` or `AdaBoostPoolClassifier(weight_history=True)`.
    ax : matplotlib Axes, optional
        Axes to draw into; default: those of a new figure, 9 inches wide.

    Returns
    -------
    matplotlib Axes
    """
    history = _history(estimator)
    n_rounds, n = history.shape
    order = np.argsort(-history.mean(axis=0), kind="stable")
    with np.errstate(divide="ignore"):
        powers = np.clip(np.log2(history[:, order].T * n), -POWERS, POWERS)
    ax = axes_or_new(ax, WEIGHTS_SIZE)
    image = ax.imshow(
        powers,
        extent=(0.5, n_rounds + 0.5, n, 0),
        aspect="auto",
        cmap="PuOr_r",
        vmin=-POWERS,
        vmax=POWERS,
        interpolation="nearest" if n <= 500 else "auto",
    )
    bar = ax.figure.colorbar(image, ax=ax, ticks=range(-POWERS, POWERS + 1, 2), pad=0.02)
    bar.ax.set_yticklabels([_times(power) for power in range(-POWERS, POWERS + 1, 2)])
    bar.ax.tick_params(color=RULE, labelcolor=INK, labelsize=TEXT_PT - 1)
    bar.set_label("weight, times the mean", fontsize=TEXT_PT, color=FAINT)
    bar.outline.set_edgecolor(RULE)
    _finish(ax, "round", "training rows, hardest first", "Weights of the rows by rounds", is_grid=False)
    return ax


def plot_boosting_rounds(
    estimator: Any, X: Any, y: Any, rounds: Sequence[int] = (1, 2, 3, 10, 30, 50), axes: Any = None
) -> npt.NDArray[Any]:
    """Draw the decision regions of a boosted classifier of two features after some rounds, in one panel each.

    If the classifier has `weight_history_`, the areas of the points are proportional to their weights in that round:
    the members before it were wrong on the large ones.

    Parameters
    ----------
    estimator : fitted classifier of two features with `staged_predict`
    X, y : (n_points, 2) array or data frame, and (n_points,) array
        Points to draw; to show weights, these must be the training rows in their order.
    rounds : sequence of int
        Numbers of rounds, from 1; those beyond the last round are ignored.
    axes : matplotlib Axes or sequence of them, optional
        One for each panel; default: those of a new figure, three per row.

    Returns
    -------
    (n_panels,) array of matplotlib Axes
    """
    if not hasattr(estimator, "staged_predict") or not hasattr(estimator, "estimators_"):
        raise UsageError(
            f"plot_boosting_rounds needs a fitted classifier with staged_predict, got a {type(estimator).__name__}: "
            "fit it first"
        )
    n_rounds = len(estimator.estimators_)
    kept = [whole("a number of rounds", t, 1) for t in rounds]
    kept = [t for t in kept if t <= n_rounds]
    if not kept:
        raise UsageError(f"rounds must contain a number from 1 to {n_rounds}, the number of rounds, got {list(rounds)}")
    weights = None
    if hasattr(estimator, "weight_history_"):
        history = _history(estimator)
        if history.shape[1] != len(y):
            raise UsageError(
                f"X and y must be the {history.shape[1]} training rows, to show their weights; got {len(y)} rows"
            )
        weights = history[np.array(kept) - 1]
    stages = {f"{t} round{'s' if t > 1 else ''}": _Stage(estimator, t) for t in kept}
    return plot_decision_regions(stages, X, y, axes, weights=weights)


class _Stage:
    """A boosted classifier after some rounds."""

    def __init__(self, estimator: Any, n_rounds: int) -> None:
        self.classes_ = estimator.classes_
        self.n_features_in_ = estimator.n_features_in_
        self._estimator = estimator
        self._n_rounds = n_rounds

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the classes, (n,)."""
        stages = self._estimator.staged_predict(X)
        return np.asarray(next(islice(stages, self._n_rounds - 1, None)))


def _data_sets(data: Any) -> dict[str, Any]:
    sets = dict(data) if isinstance(data, Mapping) else {"": data}
    for pair in sets.values():
        if not (isinstance(pair, tuple | list) and len(pair) == 2):
            raise UsageError(f"data must be a pair (X, y) or a mapping of names to pairs, got a {type(pair).__name__}")
    if not 1 <= len(sets) <= len(DASHES):
        raise UsageError(f"plot_staged_errors draws 1 to {len(DASHES)} data sets, got {len(sets)}")
    return {str(name): pair for name, pair in sets.items()}


def _staged_errors(name: object, learner: Any, X: Any, y: Any, *, shares: bool) -> Floats:
    if not hasattr(learner, "staged_predict"):
        raise UsageError(f"plot_staged_errors needs fitted estimators with staged_predict, but {name!s} has none")
    if hasattr(learner, "_has_base_scores"):
        raise UsageError("plot_staged_errors draws classifiers and regressors: use plot_ranking_curves for a ranker")
    truth = np.asarray(y)
    if truth.dtype.kind == "f" and np.isnan(truth).any():
        raise UsageError("y must be known for all rows, got NaN")
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if truth.shape != (n_rows,):
        raise UsageError(f"y must hold one answer for each of the {n_rows} rows of X, got the shape {truth.shape}")
    stages = (np.asarray(stage) for stage in learner.staged_predict(X))
    return np.array([np.mean(stage != truth if shares else (stage - truth) ** 2) for stage in stages])


def _named(learner: str, data_set: str, errors: Floats, shares: bool) -> str:
    last = f"{100 * errors[-1]:.1f} %" if shares else number(errors[-1])
    return f"{learner}{', ' if data_set else ''}{data_set}: {last} after {len(errors)}"


def _draw_rounds(ax: Axes, learner: Any) -> None:
    errors = np.asarray(learner.estimator_errors_)
    at = np.arange(1, len(errors) + 1)
    ax.plot(at, errors, ".", color=FAINT, markersize=5, label="member of the round, on its weights")
    bound = getattr(learner, "error_bound_", None)
    if bound is not None:
        ax.plot(at, bound, color=FAINT, linewidth=0.8, label="bound on the training error")


def _history(estimator: Any) -> Floats:
    found = getattr(estimator, "weight_history_", None)
    if found is None:
        raise UsageError(
            f"row weights are missing because {type(estimator).__name__} has no weight_history_: fit it with "
            "weight_history=True"
        )
    return np.asarray(found, dtype=np.float64)


def _times(power: int) -> str:
    return f"{2**power}" if power >= 0 else f"1/{2**-power}"


def _finish(ax: Axes, x_label: str, y_label: str, title: str, *, is_grid: bool = True) -> None:
    from matplotlib.ticker import MaxNLocator

    plain(ax)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel(x_label, fontsize=TEXT_PT, color=FAINT)
    ax.set_ylabel(y_label, fontsize=TEXT_PT, color=FAINT)
    ax.set_title(title, loc="left", fontsize=TEXT_PT + 1, color=INK)
    if not is_grid:
        return
    ax.grid(color=RULE, linewidth=0.6, alpha=0.7)
    ax.set_axisbelow(True)
    ax.margins(x=0.02)
    ax.set_ylim(bottom=0)
    legend = ax.legend(loc="best", frameon=False, fontsize=TEXT_PT)
    for text in legend.get_texts():
        text.set_parse_math(False)
