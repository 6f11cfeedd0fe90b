"""The sections of the report that are plots: parts, confusion, joints, breakdowns, confidence. Each returns HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from depthforest.evaluation.figures import FOUND, MAP, PARTS_FIGURE, REGIONS_FIGURE, Evaluation, JointScores
from depthforest.evaluation.report import svg
from depthforest.evaluation.report.svg import Series, percent
from depthforest.evaluation.report.text import figure_title, interval
from depthforest.evaluation.scores import CURVE_M, WITHIN_M, known_mean
from depthforest.evaluation.views import AXES

Judged = Sequence[tuple[str, Evaluation]]
"""Name and evaluation of each model."""


def parts(models: Judged) -> str:
    """Return bars of accuracy and overlap for every part; models with different part sets are plotted separately."""
    groups: dict[tuple[str, ...], list[tuple[str, Evaluation]]] = {}
    for name, evaluation in models:
        groups.setdefault(evaluation.part_set.names, []).append((name, evaluation))
    pieces = [
        "<h2>Parts</h2><p>Share of each part's pixels that are labeled correctly, and intersection over union.</p>"
    ]
    for names, own in groups.items():
        panels = []
        color = [name for name, _ in models].index(own[0][0])
        whose = f" of {' and '.join(name for name, _ in own)}" if len(groups) > 1 else ""
        for title, figure in (("accuracy", "class_accuracies"), ("intersection over union", "ious")):
            series = [
                Series(name, getattr(evaluation, figure), *evaluation.spread(f"parts.{figure}"))
                for name, evaluation in own
            ]
            panels.append(
                f'<div class="panel"><h3>{title}{escape(whose)}</h3>{svg.bars(names, series, color=color)}</div>'
            )
        pieces.append(f'<div class="pair">{"".join(panels)}</div>')
    return "".join(pieces)


def confusion(models: Judged) -> str:
    """Return the confusion matrices at all levels; all but the first are collapsed."""
    pieces = [
        "<h2>Confusion</h2><p>Each row is a true part, each column an answer. Blue is correct, orange is wrong; darker "
        "means a larger share of the row. Point at a cell to read it.</p>"
    ]
    for name, evaluation in models:
        if len(models) > 1:
            pieces.append(f"<h3>{escape(name)}</h3>")
        for number, scores in enumerate(evaluation.levels):
            plot = f'<div class="panel">{svg.heat_map(scores.confusion, scores.level.part_set.names)}</div>'
            is_open = " open" if number == 0 and len(models) == 1 else ""
            pieces.append(f"<details{is_open}><summary>{escape(scores.level.title)}</summary>{plot}</details>")
    return "".join(pieces)


def joints(models: Judged) -> str:
    """Return average precision for every joint, and its curve over the distance; empty without joints."""
    scored = [(name, e, e.joints) for name, e in models if e.joints is not None]
    if not scored:
        return ""
    within = f"{100 * WITHIN_M:.0f} cm"
    return (
        "<h2>Joints</h2><p>Average precision of all proposals, by the rules of Shotton et al. 2011: a joint is found "
        f"if a proposal lies within {within}; every other proposal is a false positive.</p>"
        f'<div class="pair"><div class="panel"><h3>average precision at {within}</h3>{_joint_bars(scored)}'
        f'</div><div class="panel"><h3>by the distance that counts as found</h3>{_joint_curves(scored)}</div></div>'
    )


def _joint_bars(scored: Sequence[tuple[str, Evaluation, JointScores]]) -> str:
    series = []
    for name, evaluation, scores in scored:
        mean, (low, high) = evaluation.figures[MAP], evaluation.spread("joints.average_precisions")
        values = [mean.value, *scores.average_precisions().values()]
        series.append(Series(name, np.array(values), np.append(mean.low, low), np.append(mean.high, high)))
    return svg.bars(("mean", *scored[0][2].names), series)


def _joint_curves(scored: Sequence[tuple[str, Evaluation, JointScores]]) -> str:
    curves = [scores.curves() for _, _, scores in scored]
    means = [
        Series(name, known_mean(np.stack(list(own.values()), axis=-1)))
        for (name, _, _), own in zip(scored, curves, strict=True)
    ]
    thin = [Series(name, curve) for name, curve in curves[0].items()] if len(scored) == 1 else []
    plot = svg.lines(CURVE_M, means, thin=thin, x_title="distance, cm", y_title="average precision")
    found = "; ".join(
        f"{name} {percent(e.figures[FOUND].value)} ({interval(e.figures[FOUND])})" for name, e, _ in scored
    )
    thick = "The thick line is the mean, the thin ones are joints; point at one to read its name. " if thin else ""
    text = f"{thick}Joints whose one chosen position lies within {100 * WITHIN_M:.0f} cm: {found}."
    return f'{plot}<p class="note">{escape(text)}</p>'


def breakdown(models: Judged) -> str:
    """Return the figures by distance, heading, border and sensor; empty if there is only one group."""
    # models with different part sets are compared by regions
    is_mixed = len({evaluation.part_set.names for _, evaluation in models}) > 1
    pieces = []
    for axis, title in AXES.items():
        own = [(name, [s for s in evaluation.slices if s.axis == axis]) for name, evaluation in models]
        if not own[0][1]:
            continue
        labels = [f"{s.label} ({s.n_views:,})" for s in own[0][1]]
        panels = []
        for figure in (REGIONS_FIGURE if is_mixed else PARTS_FIGURE, MAP):
            having = [(name, slices) for name, slices in own if all(figure in s.figures for s in slices)]
            if not having:
                continue
            series = []
            for name, slices in having:
                estimates = [s.figures[figure] for s in slices]
                columns = (np.array([getattr(e, key) for e in estimates]) for key in ("value", "low", "high"))
                series.append(Series(name, *columns))
            plot = svg.bars(labels, series, is_dots=True, left=170)
            panels.append(f'<div class="panel"><h3>{escape(figure_title(figure, models[0][1]))}</h3>{plot}</div>')
        pieces.append(f'<h3>By {escape(title)}</h3><div class="pair">{"".join(panels)}</div>')
    if not pieces:
        return ""
    return f"<h2>Breakdown</h2><p>The number of people in a group is in parentheses.</p>{''.join(pieces)}"


def confidence(models: Judged) -> str:
    """Return reliability diagrams of the confidence of pixels and of joints."""
    pixels = [(name, evaluation.calibration) for name, evaluation in models]
    panels = [f'<div class="panel"><h3>parts of pixels</h3>{svg.reliability(pixels)}</div>']
    placed = [(name, e.joints.calibration) for name, e in models if e.joints is not None]
    if placed:
        panels.append(f'<div class="panel"><h3>joints</h3>{svg.reliability(placed)}</div>')
    return (
        "<h2>Confidence</h2><p>Of the answers with a given confidence, how many are correct? On the dashed line, "
        "confidence equals accuracy; below it, the model is overconfident. The bars show how often each "
        "confidence occurs.</p>"
        f'<div class="pair">{"".join(panels)}</div>'
    )
