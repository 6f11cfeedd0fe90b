"""Plots of the out-of-bag error against the number of trees, for one or several ensembles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from depthforest.base import Floats, UsageError
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

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (9.0, 4.2)
# line styles, so that lines do not differ by color only
DASHES = ("-", "--", "-.", ":")


def plot_oob(estimator: Any, ax: Axes | None = None) -> Axes:
    """Draw the out-of-bag error against the number of trees.

    Parameters
    ----------
    estimator : fitted ensemble, or mapping of names to fitted ensembles
        Each has `oob_errors_`, (n_estimators,): the error after each tree; NaN while no row is out of bag.
        All are classifiers (share of wrong rows) or all are regressors (mean squared error).
    ax : matplotlib Axes, optional
        Axes to draw into; default: those of a new figure, 9 inches wide.

    Returns
    -------
    matplotlib Axes
    """
    several = dict(estimator) if isinstance(estimator, Mapping) else {type(estimator).__name__: estimator}
    if not 1 <= len(several) <= len(CLASS_COLORS):
        raise UsageError(f"plot_oob draws 1 to {len(CLASS_COLORS)} ensembles in one picture, got {len(several)}")
    curves = {str(name): _errors(name, one) for name, one in several.items()}
    kinds = {hasattr(one, "classes_") for one in several.values()}
    if len(kinds) == 2:
        raise UsageError("plot_oob draws classifiers or regressors, got both: their errors have no common scale")
    ax = axes_or_new(ax, SIZE)
    shares = kinds == {True}
    for i, (name, errors) in enumerate(curves.items()):
        last = f"{100 * errors[-1]:.1f} %" if shares else number(errors[-1])
        ax.plot(
            np.arange(1, len(errors) + 1), errors, label=f"{name}: {last} after {len(errors)}", color=CLASS_COLORS[i],
            linestyle=DASHES[i % len(DASHES)], linewidth=1.8,
        )  # fmt: skip
        ax.plot(len(errors), errors[-1], "o", color=CLASS_COLORS[i], markersize=5)
    _finish(ax, shares=shares)
    return ax


def _errors(name: object, ensemble: Any) -> Floats:
    found = getattr(ensemble, "oob_errors_", None)
    if found is None:
        raise UsageError(
            f"plot_oob needs fitted ensembles with oob_errors_, but {name!s} has none: fit it with bootstrap=True and "
            "oob_score=True"
        )
    errors = np.asarray(found, dtype=np.float64)
    if errors.ndim != 1 or not len(errors) or np.isnan(errors[-1]):
        raise UsageError(
            f"oob_errors_ of {name!s} must hold an error after each tree, the last one a number, got the shape "
            f"{errors.shape}: fit more trees"
        )
    return errors


def _finish(ax: Axes, *, shares: bool) -> None:
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    plain(ax)
    ax.grid(color=RULE, linewidth=0.6, alpha=0.7)
    ax.set_axisbelow(True)
    ax.margins(x=0.02)
    ax.set_ylim(bottom=0 if ax.get_ylim()[0] < 0 else None)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    if shares:
        ax.yaxis.set_major_formatter(PercentFormatter(xmax=1, symbol=" %"))
    ax.set_xlabel("trees", fontsize=TEXT_PT, color=FAINT)
    ax.set_ylabel(
        "share wrong out of bag" if shares else "mean squared error out of bag", fontsize=TEXT_PT, color=FAINT
    )
    ax.set_title("Out-of-bag error by number of trees", loc="left", fontsize=TEXT_PT + 1, color=INK)
    legend = ax.legend(loc="best", frameon=False, fontsize=TEXT_PT)
    for text in legend.get_texts():
        text.set_parse_math(False)
