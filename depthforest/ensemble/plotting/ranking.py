"""Plots of learning to rank: the lambdas that push documents up and down, and NDCG by round."""

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
    pyplot,
    tint,
)
from depthforest.ensemble.ranking import groups, lambda_gradients, ndcg
from depthforest.ensemble.ranking import metrics as ranking_metrics

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ARROWS = {"ranknet": CLASS_COLORS[0], "ndcg": CLASS_COLORS[5], "err": CLASS_COLORS[2], "map": CLASS_COLORS[3]}
"""Color of the arrows of each metric."""

MAX_DOCUMENTS = 40
"""Documents in a panel; more rows would be illegible."""

MAX_LENGTH, LANES, LANE = 1.9, 4, 0.16
"""The longest arrow of a metric, in ranks; number of lanes and their distance: arrows in a lane never meet."""

ROW, PANEL = 0.26, 3.6
"""Inches: height of a document, width of a panel."""

LEARNT_DASHES = ("-", "--")


def plot_lambdas(
    y: Any, scores: Any, *, metrics: tuple[str, ...] = ("ranknet", "ndcg"), k: int | None = None, sigma: float = 1.0
) -> list[Axes]:
    """Draw the documents of one query in ranked order, with arrows that show where their lambdas push them.

    Parameters
    ----------
    y : (n,) array
        Relevance of at most 40 documents.
    scores : (n,) array, or mapping of titles to (n,) arrays
        For example scores before and after training: one panel each.
    metrics : tuple of {"ranknet", "ndcg", "err", "map"}
        One kind of arrow each; the longest of each kind, over all panels, is 1.9 ranks long.
    k, sigma
        As in `ranking.lambda_gradients`.

    Returns
    -------
    list of matplotlib Axes
        One for each panel.
    """
    grades = groups.check_relevance(y)
    if len(grades) > MAX_DOCUMENTS:
        raise UsageError(f"plot_lambdas draws at most {MAX_DOCUMENTS} documents, got {len(grades)}: pass one query")
    unknown = [metric for metric in metrics if metric not in ARROWS]
    if isinstance(metrics, str) or not metrics or unknown:
        raise UsageError(f"metrics must be a tuple of {', '.join(ARROWS)}; got {metrics!r}")
    panels = dict(scores) if isinstance(scores, Mapping) else {"": scores}
    panels = {str(title): groups.check_scores(values, len(grades)) for title, values in panels.items()}
    if not panels:
        raise UsageError("scores must hold at least one panel, got an empty mapping")
    pushes = {
        metric: [-lambda_gradients(grades, values, metric=metric, k=k, sigma=sigma)[0] for values in panels.values()]
        for metric in metrics
    }
    plt = pyplot()
    size = (PANEL * len(panels) + 0.6, ROW * len(grades) + 1.6)
    axes = plt.subplots(1, len(panels), figsize=size, layout="constrained", squeeze=False)[1][0]
    for place, (ax, (title, values)) in enumerate(zip(axes, panels.items(), strict=True)):
        order = ranking_metrics.ranked(values)
        _draw_documents(ax, grades[order], values[order])
        for kind, metric in enumerate(metrics):
            longest = max(np.abs(push).max() for push in pushes[metric])
            shown = pushes[metric][place][order] * (MAX_LENGTH / longest if longest > 0 else 0.0)
            _draw_arrows(ax, shown, 1.2 + LANES * LANE * 1.2 * kind, ARROWS[metric])
        ax.set_xlim(-0.55, 1.1 + LANES * LANE * 1.2 * len(metrics))
        found = ndcg(grades, values, k=k, ties="order")
        cut = "" if k is None else f"@{k}"
        ax.set_title(
            f"{title}{': ' if title else ''}NDCG{cut} {found:.3f}", loc="left", fontsize=TEXT_PT + 1, color=INK
        )
    _explain(axes[-1], metrics)
    return list(axes)


def _draw_documents(ax: Axes, grades: Floats, values: Floats) -> None:
    """Draw a box for each document, with the first rank at the top."""
    most = max(grades.max(), 1)
    for rank, (grade, value) in enumerate(zip(grades, values, strict=True), 1):
        face = tint(CLASS_COLORS[2], 0.85 * grade / most)
        ax.add_patch(_box(rank, face))
        ax.text(0.5, rank, f"grade {grade:g}", ha="center", va="center", fontsize=TEXT_PT - 1, color=INK)
        ax.text(-0.06, rank, number(value), ha="right", va="center", fontsize=TEXT_PT - 2, color=FAINT)
    ax.set_ylim(len(grades) + 0.6 + MAX_LENGTH / 2, 0.8 - MAX_LENGTH)
    ax.set_axis_off()


def _box(rank: int, face: tuple[float, float, float]) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((0.0, rank - 0.42), 1.0, 0.84, facecolor=face, edgecolor=RULE, linewidth=0.8)


def _draw_arrows(ax: Axes, pushes: Floats, x: float, color: str) -> None:
    """Draw an arrow for each document: up if it should rise, with a length proportional to the push."""
    for rank, push in enumerate(pushes, 1):
        place = x + LANE * (rank % LANES)
        ax.plot(place, rank, ".", color=color, markersize=3)
        if abs(push) < 0.02:
            continue
        ax.annotate(
            "", xy=(place, rank - push), xytext=(place, rank), annotation_clip=False,
            arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0,
                        "mutation_scale": 8 * min(1.0, abs(push) / 0.2)},
        )  # fmt: skip


def _explain(ax: Axes, metrics: tuple[str, ...]) -> None:
    from matplotlib.lines import Line2D

    names = {m: f"pairs weighed by the change of {m.upper()}" for m in ARROWS} | {
        "ranknet": "all pairs alike (RankNet)"
    }
    lines = [Line2D([], [], color=ARROWS[metric], linewidth=1.6, label=names[metric]) for metric in metrics]
    ax.figure.legend(handles=lines, loc="outside lower left", ncols=len(lines), frameon=False, fontsize=TEXT_PT)


def plot_ranking_curves(rankers: Any, ax: Axes | None = None) -> Axes:
    """Draw the NDCG of training and validation queries after each epoch or round.

    Parameters
    ----------
    rankers : fitted ranker, or mapping of names to fitted rankers
        Each has `train_scores_` and, if queries were held out, `validation_scores_`, (n_iter,).
    ax : matplotlib Axes, optional
        Axes to draw into; default: those of a new figure, 9 inches wide.

    Returns
    -------
    matplotlib Axes
    """
    several = dict(rankers) if isinstance(rankers, Mapping) else {type(rankers).__name__: rankers}
    if not 1 <= len(several) <= len(CLASS_COLORS):
        raise UsageError(
            f"plot_ranking_curves draws 1 to {len(CLASS_COLORS)} rankers in one picture, got {len(several)}"
        )
    for name, ranker in several.items():
        if not len(getattr(ranker, "train_scores_", ())):
            raise UsageError(f"plot_ranking_curves needs fitted rankers with train_scores_, but {name} has none")
    ax = axes_or_new(ax, (9.0, 4.2))
    for i, (name, ranker) in enumerate(several.items()):
        curves = {"training": ranker.train_scores_, "validation": ranker.validation_scores_}
        for (part, curve), dash in zip(curves.items(), LEARNT_DASHES, strict=True):
            if len(curve):
                ax.plot(
                    np.arange(1, len(curve) + 1), curve, label=f"{name}, {part} queries: best {max(curve):.3f}",
                    color=CLASS_COLORS[i], linestyle=dash, linewidth=1.8,
                )  # fmt: skip
    plain(ax)
    ax.grid(color=RULE, linewidth=0.6, alpha=0.7)
    ax.set_axisbelow(True)
    ax.margins(x=0.02)
    ax.set_xlabel("epochs or rounds", fontsize=TEXT_PT, color=FAINT)
    ax.set_ylabel("mean NDCG", fontsize=TEXT_PT, color=FAINT)
    ax.set_title("NDCG while a ranker learns", loc="left", fontsize=TEXT_PT + 1, color=INK)
    ax.legend(loc="best", frameon=False, fontsize=TEXT_PT)
    return ax
