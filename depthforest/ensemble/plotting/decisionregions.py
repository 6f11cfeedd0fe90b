"""Plots of the decision regions of classifiers of two features: a panel each, with the points and their accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, UsageError
from depthforest.ensemble.plotting.canvas import (
    CLASS_COLORS,
    CLASS_MARKERS,
    FAINT,
    INK,
    RULE,
    TEXT_PT,
    checked_axes,
    pyplot,
    tint,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# cells along each side of a panel: about one per 1.5 pixels on a page 900 pixels wide
CELLS = 300
# inches of a panel with its titles, and of a row: a page shows three panels with legible letters
PANEL, ROW_WIDTH, PER_ROW = 4.5, 12.0, 3
AROUND = 0.06
# in place of a class index where a classifier rejects (predicts a label that is not a class)
REJECTED = -1
# strength of a cell's color, from undecided to certain; points stay clearly visible on it
WEAK, STRONG = 0.12, 0.50
# square points: area of a point in the legend; areas of the lightest (visible) and heaviest (hides no others) point
LEGEND_AREA = 30.0
WEIGHED_AREAS = (1.0, 400.0)


@dataclass(frozen=True, slots=True)
class _Points:
    """The points of all panels: positions, class indices, the classes and the names of the two features."""

    places: Floats
    class_index: npt.NDArray[np.intp]
    classes: npt.NDArray[Any]
    feature_names: list[str]
    columns: Any


def plot_decision_regions(
    estimators: Any, X: Any, y: Any, axes: Any = None, *, weights: Any = None
) -> npt.NDArray[Any]:
    """Draw the decision regions of fitted classifiers, a panel for each, side by side.

    A region has the color of its class, paler where the classifier is less certain (if it has probabilities). A line
    marks where the decision changes, and white is where a classifier rejects. A class has the same color and marker in
    every panel. Above each panel are its title and the accuracy on the points shown.

    Parameters
    ----------
    estimators : fitted classifier, sequence of them, or mapping of titles to them
        Fitted on two features, all with the same `classes_`.
    X : (n_points, 2) array or data frame
        Points to show, for example the training rows; column names of a data frame label the axes.
    y : (n_points,) array
        Classes of the points.
    axes : matplotlib Axes or sequence of them, optional
        One for each classifier; default: those of a new figure, three per row.
    weights : (n_estimators, n_points) array, optional
        Weight of each point in each panel, nonnegative; areas of points are proportional to it. Default: equal.

    Returns
    -------
    (n_estimators,) array of matplotlib Axes
    """
    panels = _panels(estimators)
    points = _points(panels, X, y)
    areas = _areas(weights, len(panels), len(points.places))
    frames = _axes(axes, len(panels))
    lows, highs = points.places.min(axis=0), points.places.max(axis=0)
    around = AROUND * np.where(highs > lows, highs - lows, 1.0)
    lows, highs = lows - around, highs + around
    for frame, (title, estimator), own in zip(frames, panels, areas, strict=True):
        _draw_regions(frame, estimator, points, lows, highs)
        _draw_points(frame, points, own)
        accuracy = np.mean(_class_numbers(points.classes, np.asarray(estimator.predict(X))) == points.class_index)
        frame.set_title(
            f"{title}\naccuracy on these points {100 * accuracy:.1f} %",
            fontsize=TEXT_PT + 1,
            color=INK,
            parse_math=False,
        )
        frame.set_xlabel(points.feature_names[0], fontsize=TEXT_PT, color=FAINT, parse_math=False)
        frame.set_ylabel(points.feature_names[1], fontsize=TEXT_PT, color=FAINT, parse_math=False)
    legend = frames[0].legend(loc="best", fontsize=TEXT_PT - 1, framealpha=0.85, borderpad=0.4, handletextpad=0.2)
    for handle in legend.legend_handles:
        handle.set_sizes([LEGEND_AREA])
    for text in legend.get_texts():
        text.set_parse_math(False)
    return frames


def _panels(estimators: Any) -> list[tuple[str, Any]]:
    """Return titles and classifiers."""
    if isinstance(estimators, Mapping):
        panels = [(str(title), estimator) for title, estimator in estimators.items()]
    else:
        several = list(estimators) if isinstance(estimators, Sequence) else [estimators]
        panels = [(type(estimator).__name__, estimator) for estimator in several]
    if not panels:
        raise UsageError("plot_decision_regions needs at least one fitted classifier, got none")
    for title, estimator in panels:
        if not hasattr(estimator, "predict") or not hasattr(estimator, "classes_"):
            raise UsageError(
                f"plot_decision_regions needs fitted classifiers with classes_, but {title} is a "
                f"{type(estimator).__name__} without: fit it first; regressors have no regions"
            )
        if not np.array_equal(estimator.classes_, panels[0][1].classes_):
            raise UsageError(
                f"all classifiers must know the same classes, but {panels[0][0]} and {title} differ: use the same y"
            )
        if getattr(estimator, "n_features_in_", 2) != 2:
            raise UsageError(
                f"plot_decision_regions needs classifiers of two features, but {title} was fitted on "
                f"{estimator.n_features_in_}: fit it on two"
            )
    return panels


def _points(panels: list[tuple[str, Any]], X: Any, y: Any) -> _Points:
    columns = getattr(X, "columns", None)
    try:
        places = np.asarray(X, dtype=np.float64)
        labels = np.asarray(y)
    except (TypeError, ValueError) as error:
        raise UsageError("X must hold numbers, two for each point: encode categories first") from error
    if places.ndim != 2 or places.shape[1] != 2 or not len(places):
        raise UsageError(
            f"X must hold two features for each point, (n, 2), got the shape {places.shape}: choose two columns"
        )
    if not np.all(np.isfinite(places)):
        raise UsageError("X must be finite to be drawn, got NaN or infinity: leave those rows out")
    if labels.shape != (len(places),):
        raise UsageError(f"y must hold one class for each of the {len(places)} points, got the shape {labels.shape}")
    classes = np.asarray(panels[0][1].classes_)
    if len(classes) > len(CLASS_COLORS):
        raise UsageError(
            f"plot_decision_regions has colors for {len(CLASS_COLORS)} classes, got {len(classes)}: "
            "merge some or leave them out"
        )
    unknown = sorted(set(labels.tolist()) - set(classes.tolist()), key=str)
    if unknown:
        raise UsageError(f"y holds classes that the classifiers don't know, such as {unknown[0]!r}: fit them with it")
    names = ["x0", "x1"] if columns is None else [str(name) for name in columns]
    return _Points(places, _class_numbers(classes, labels), classes, names, columns)


def _class_numbers(classes: npt.NDArray[Any], labels: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Return the index of each label's class; -1 for other labels."""
    numbers = {label: i for i, label in enumerate(classes.tolist())}
    return np.array([numbers.get(label, REJECTED) for label in labels.tolist()], dtype=np.intp)


def _axes(axes: Any, n: int) -> npt.NDArray[Any]:
    plt = pyplot()
    if axes is None:
        columns = min(n, PER_ROW)
        rows = -(-n // columns)
        width = min(PANEL, ROW_WIDTH / columns)
        size = (width * columns, width * rows)
        grid = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained", sharex=True, sharey=True)[
            1
        ]
        for unused in grid.ravel()[n:]:
            unused.remove()
        return np.array(grid.ravel()[:n], dtype=object)
    given = list(np.ravel(np.asarray(axes, dtype=object)))
    if len(given) != n:
        raise UsageError(f"axes must hold one Axes for each of the {n} classifiers, got {len(given)}")
    return np.array([checked_axes(ax) for ax in given], dtype=object)


def _draw_regions(ax: Axes, estimator: Any, points: _Points, lows: Floats, highs: Floats) -> None:
    sides = [low + (np.arange(CELLS) + 0.5) * (high - low) / CELLS for low, high in zip(lows, highs, strict=True)]
    grid: Any = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
    if points.columns is not None:
        import pandas as pd  # X was a data frame, so pandas is installed

        grid = pd.DataFrame(grid, columns=points.columns)
    decided = _class_numbers(points.classes, np.asarray(estimator.predict(grid)))
    sure = np.ones(len(decided))
    if hasattr(estimator, "predict_proba"):
        of_decided = np.asarray(estimator.predict_proba(grid))[np.arange(len(decided)), decided]
        least = 1 / max(2, len(points.classes))
        sure = np.clip((of_decided - least) / (1 - least), 0.0, 1.0)
    inks = np.array([tint(color, 1.0) for color in (*CLASS_COLORS, "white")])[decided]  # the last color is for -1
    strength = (WEAK + (STRONG - WEAK) * sure)[:, None]
    picture = (1 - strength * (1 - inks)).reshape(CELLS, CELLS, 3)
    extent = (lows[0], highs[0], lows[1], highs[1])
    ax.imshow(picture, extent=extent, origin="lower", aspect="auto", interpolation="nearest", zorder=0)
    table = decided.reshape(CELLS, CELLS)
    for k in np.unique(decided)[1:]:
        # the contour of "class k or higher" separates any two adjacent regions
        ax.contour(
            sides[0], sides[1], (table >= k).astype(float), levels=[0.5], colors=[FAINT], linewidths=0.6, zorder=1
        )
    ax.set_xlim(lows[0], highs[0])
    ax.set_ylim(lows[1], highs[1])
    for spine in ax.spines.values():
        spine.set_color(RULE)
    ax.tick_params(color=RULE, labelcolor=INK, labelsize=TEXT_PT - 1)


def _areas(weights: Any, n_panels: int, n_points: int) -> Floats:
    """Return the area of each point in each panel, (n_panels, n_points), in square points (1/72 inch)."""
    # many points are drawn smaller, so that the regions stay visible
    size = float(np.clip(6000 / n_points, 8, 34))
    if weights is None:
        return np.full((n_panels, n_points), size)
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != (n_panels, n_points):
        raise UsageError(
            f"weights must have the shape ({n_panels}, {n_points}), classifiers and points, got the shape {given.shape}"
        )
    if not (np.isfinite(given).all() and (given >= 0).all() and given.any(axis=1).all()):
        raise UsageError("weights must be finite, not negative, and not all zero in any panel")
    return np.asarray(np.clip(size * given / given.mean(axis=1, keepdims=True), *WEIGHED_AREAS))


def _draw_points(ax: Axes, points: _Points, areas: Floats) -> None:
    for k, label in enumerate(points.classes.tolist()):
        is_ours = points.class_index == k
        ours = points.places[is_ours]
        ax.scatter(
            ours[:, 0], ours[:, 1], s=areas[is_ours], color=CLASS_COLORS[k], marker=CLASS_MARKERS[k],
            edgecolors="white", linewidths=0.5, label=str(label), zorder=2,
        )  # fmt: skip
