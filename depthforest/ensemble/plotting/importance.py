"""Plots of feature importance: the impurity importance of a fitted estimator, or permutation importance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from depthforest.base import Floats, UsageError
from depthforest.ensemble.fitting import whole
from depthforest.ensemble.plotting.canvas import (
    CLASS_COLORS,
    FAINT,
    INK,
    MINUS,
    RULE,
    TEXT_PT,
    axes_or_new,
    feature_names_of,
    members,
    plain,
    shortened,
    tint,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


KINDS = ("impurity", "permutation")
# inches; a row holds a line of text and some space
WIDTH, ROW_HEIGHT, AXIS_HEIGHT = 9.0, 0.27, 1.0
# points: names may take up to 40 % of the plot
NAME_WIDTH = 260.0
# light enough for the dark whiskers on top of it
BAR_TINT = 0.65


@dataclass(frozen=True, slots=True)
class _Importance:
    """Importance of each feature, its spread (None: unknown), and what the spread is over."""

    kind: str
    mean: Floats
    spread: Floats | None
    over: str


def plot_importance(
    estimator: Any,
    ax: Axes | None = None,
    top: int = 20,
    kind: str | None = None,
    *,
    feature_names: Sequence[object] | None = None,
) -> Axes:
    """Draw the most important features as bars, with whiskers of one standard deviation each way.

    Parameters
    ----------
    estimator : fitted estimator, or the result of a permutation importance
        For an estimator, its impurity importance (`feature_importances_`, or the mean over its members), with the
        spread over its members. A result has `importances_mean` and `importances_std` (or `mean` and `std`), as
        attributes or keys, and its spread is over the repeats.
    ax : matplotlib Axes, optional
        Axes to draw into; default: those of a new figure, 9 inches wide.
    top : int
        Number of features to draw.
    kind : {"impurity", "permutation"}, optional
        The expected kind; an error is raised for the other one. Default: either.
    feature_names : sequence of str, optional
        Default: the names seen in fit, else x0, x1, ...; a result has no names.

    Returns
    -------
    matplotlib Axes
    """
    whole("top", top, 1)
    found = _read(estimator, kind)
    names = feature_names_of(estimator, len(found.mean), feature_names)
    chosen = np.argsort(-found.mean, kind="stable")[:top]
    ax = axes_or_new(ax, (WIDTH, AXIS_HEIGHT + ROW_HEIGHT * len(chosen)))
    _draw_bars(ax, found, chosen)
    ax.set_yticks(
        range(len(chosen)), labels=[shortened(names[i], NAME_WIDTH, TEXT_PT) for i in chosen], parse_math=False
    )
    ax.tick_params(axis="y", length=0)
    title, label = _wording(found)
    if len(chosen) < len(names):
        title += f": the first {len(chosen)} of {len(names)} features"
    ax.set_title(title, loc="left", fontsize=TEXT_PT + 1, color=INK)
    if found.spread is not None:
        label += f"\nwhiskers: standard deviation over {found.over}"
    ax.set_xlabel(label, fontsize=TEXT_PT, color=FAINT)
    return ax


def _wording(found: _Importance) -> tuple[str, str]:
    """Return the title and the label of the bars."""
    if found.kind == "permutation":
        return "Permutation importance", "loss of score when the feature is shuffled"
    if found.mean.sum() > 1 + 1e-6:  # other libraries count splits or sum gains
        return "Importance", "importance in the estimator's own unit"
    return "Impurity importance", "share of all decrease of impurity"


def _draw_bars(ax: Axes, found: _Importance, chosen: Any) -> None:
    mean, rows = found.mean[chosen], np.arange(len(chosen))
    ax.barh(rows, mean, height=0.68, color=tint(CLASS_COLORS[0], BAR_TINT), zorder=2)
    if found.spread is not None:
        spread = found.spread[chosen]
        # impurity importance is never negative, so its whiskers stop at zero
        lower = np.minimum(spread, mean) if found.kind == "impurity" else spread
        seen = spread > 0
        whiskers = np.stack([lower, spread])[:, seen]
        ax.errorbar(
            mean[seen], rows[seen], xerr=whiskers.tolist(), fmt="none", ecolor=INK, elinewidth=1.0,
            capsize=2.5, zorder=3,
        )  # fmt: skip
    decimals = _decimals(float(np.abs(mean).max()))
    for row, value in zip(rows, mean, strict=True):
        # in a column at the right, because at the end of a whisker it would read as the value there
        shown = f"{round(value, decimals) + 0.0:.{decimals}f}".replace("-", MINUS)
        ax.annotate(
            shown, (1.0, row), (4, 0), xycoords=ax.get_yaxis_transform(),
            textcoords="offset points", va="center", fontsize=TEXT_PT - 1, color=FAINT,
        )  # fmt: skip
    plain(ax)
    ax.spines["left"].set_visible(False)
    ax.axvline(0, color=FAINT, linewidth=0.8, zorder=2.5)
    ax.grid(axis="x", color=RULE, linewidth=0.6, alpha=0.7)
    ax.set_axisbelow(True)
    ax.margins(x=0.04)
    ax.set_ylim(len(chosen) - 0.4, -0.6)
    if found.kind == "impurity":
        ax.set_xlim(left=0)


def _decimals(largest: float) -> int:
    """Return the number of decimals that gives the largest number three digits; all numbers share it."""
    return 3 if largest == 0 else max(0, 2 - int(np.floor(np.log10(largest))))


def _read(source: Any, kind: str | None) -> _Importance:
    """Return the importance to draw, or raise an error that says what is wrong with the source."""
    if kind is not None and kind not in KINDS:
        raise UsageError(f"kind must be one of {', '.join(KINDS)}, or None for either, got {kind!r}")
    mean = _part(source, "importances_mean", "mean")
    found = _read_result(source, mean) if mean is not None else _read_estimator(source)
    if kind is not None and kind != found.kind:
        way = (
            "pass the result of permutation_importance(X, y)" if kind == "permutation" else "pass the fitted estimator"
        )
        raise UsageError(f"kind={kind!r} was requested, but got the {found.kind} importance: {way}")
    if not np.all(np.isfinite(found.mean)):
        raise UsageError("importances must be finite numbers, got NaN or infinity: look at how they were computed")
    return found


def _part(source: Any, *names: str) -> Any:
    """Return the first of the named keys or attributes that exists and is not a method."""
    keys = source.keys() if hasattr(source, "keys") else ()
    for name in names:
        part = source[name] if name in keys else getattr(source, name, None)
        if part is not None and not callable(part):
            return part
    return None


def _read_result(source: Any, mean: Any) -> _Importance:
    means = np.asarray(mean, dtype=np.float64)
    if means.ndim != 1 or means.size == 0:
        raise UsageError(f"the mean importance must hold one number per feature, got the shape {means.shape}")
    std = _part(source, "importances_std", "std")
    spread = None if std is None else np.asarray(std, dtype=np.float64)
    if spread is not None and spread.shape != means.shape:
        raise UsageError(f"mean and std of importances must be equally long, got {means.shape} and {spread.shape}")
    repeats = _part(source, "importances")
    over = "repeats" if repeats is None or np.ndim(repeats) != 2 else f"{np.shape(repeats)[1]} repeats"
    return _Importance("permutation", means, spread, over)


def _read_estimator(source: Any) -> _Importance:
    each = _member_importances(source)
    mean = getattr(source, "feature_importances_", None)
    if mean is None and each is not None:
        mean = each.mean(axis=0)
    if mean is None:
        raise UsageError(
            "plot_importance needs a fitted estimator with feature_importances_ or a result with importances_mean and "
            f"importances_std, got {type(source).__name__}: fit it first, or compute the permutation importance"
        )
    means = np.asarray(mean, dtype=np.float64)
    if each is None or each.shape != (len(each), len(means)) or len(each) < 2:
        return _Importance("impurity", means, None, "")
    things = "trees" if all(hasattr(member, "tree_") for member in members(source)) else "members"
    return _Importance("impurity", means, each.std(axis=0), f"{len(each)} {things}")


def _member_importances(ensemble: Any) -> Floats | None:
    """Return the importances of each member, (n_members, n_features); zero for features that it did not get."""
    fitted = members(ensemble)
    if not fitted or any(getattr(member, "feature_importances_", None) is None for member in fitted):
        return None
    each = [np.asarray(member.feature_importances_, dtype=np.float64) for member in fitted]
    columns = getattr(ensemble, "estimators_features_", None)
    if columns is None:
        return np.array(each) if len({len(one) for one in each}) == 1 else None
    table = np.zeros((len(each), int(ensemble.n_features_in_)))
    for row, used, one in zip(table, columns, each, strict=True):
        np.add.at(row, np.asarray(used), one)  # a feature may be drawn twice
    return table
