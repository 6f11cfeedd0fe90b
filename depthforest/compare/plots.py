"""The plots of `compare`, as PNG: accuracy against fit time and against size, time of a frame, accuracy of each part.

matplotlib is optional and imported when called; without it there are no plots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from depthforest.base import replacing
from depthforest.compare.learners import FAMILIES
from depthforest.compare.table import ranked, result_of
from depthforest.ensemble.plotting import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Records = Sequence[Mapping[str, Any]]

DPI = 110
LABEL_PT = 8.0
GAP = 0.04
"""Distance between two names beside a plot, as a share of its height."""

BESIDE: dict[str, Any] = {"xytext": (3, 0), "textcoords": "offset points", "va": "center"}
"""Format of the number to the right of a bar."""

PER_CLASS = "mean per-class accuracy"


def draw_plots(folder: Path, records: Records, parts: Sequence[str]) -> list[Path]:
    """Write the plots into a folder; returns their paths, none without matplotlib or without records."""
    if not records or find_spec("matplotlib") is None:
        return []
    figures = {
        "accuracy_time": accuracy_time(records),
        "accuracy_size": accuracy_size(records),
        "frame_time": frame_time(records),
        "parts": part_bars(records, parts),
    }
    paths = []
    for name, figure in figures.items():
        paths.append(folder / f"compare_{name}.png")
        with replacing(paths[-1]) as file:
            figure.savefig(file, format="png", dpi=DPI)
    return paths


def accuracy_time(records: Records) -> Figure:
    """Draw the accuracy of every fit against its time, a line for each learner."""
    figure, ax = _figure(9.0, 6.2)
    ends = []
    for record in ranked(records):
        fits = sorted(record["fits"], key=lambda fit: float(fit["fit_seconds"]))
        x, y = [f["fit_seconds"] for f in fits], [f["mean_class_accuracy"]["value"] for f in fits]
        color, marker = _look(record)
        ax.plot(x, y, color=color, marker=marker, markersize=4, linewidth=1.2)
        ends.append((record, x[-1], y[-1]))
    ax.set_xlabel("processor seconds of the fit")
    return _finished(figure, ax, ends)


def accuracy_size(records: Records) -> Figure:
    """Draw accuracy against the size of the model."""
    figure, ax = _figure(9.0, 6.2)
    ends = []
    for record in ranked(records):
        fit = result_of(record)
        color, marker = _look(record)
        x, y = fit["bytes"] / 1e6, fit["mean_class_accuracy"]["value"]
        ax.plot([x], [y], color=color, marker=marker, markersize=7, linestyle="none")
        ends.append((record, x, y))
    ax.set_xlabel("model, MB pickled")
    return _finished(figure, ax, ends)


def frame_time(records: Records) -> Figure:
    """Draw how long a frame takes, a bar for each learner, the fastest first."""
    ordered = sorted(records, key=lambda record: -float(result_of(record)["predict_seconds"]))
    figure, ax = _figure(8.0, 1.0 + 0.24 * len(ordered))
    values = [1e3 * result_of(record)["predict_seconds"] for record in ordered]
    ax.barh(range(len(ordered)), values, color=[_look(record)[0] for record in ordered], height=0.7)
    for place, value in enumerate(values):
        ax.annotate(f"{value:.3g}", (value, place), fontsize=LABEL_PT, color=canvas.FAINT, **BESIDE)
    ax.set_xscale("log")
    ax.set_yticks(range(len(ordered)), [record["name"] for record in ordered])
    ax.set_xlabel("milliseconds of one processor for a frame: responses and prediction of all people's pixels")
    ax.margins(x=0.08, y=0.01)
    canvas.plain(ax)
    ax.tick_params(labelsize=LABEL_PT + 1)
    return figure


def part_bars(records: Records, parts: Sequence[str]) -> Figure:
    """Draw the accuracy of each part, for the best learner of each family side by side."""
    best: dict[str, Mapping[str, Any]] = {}
    for record in ranked(records):
        best.setdefault(record["family"], record)
    chosen = [best[family] for family in FAMILIES if family in best]
    figure = _new_figure(2.0 + 2.1 * len(chosen), 1.2 + 0.2 * len(parts))
    axes = figure.subplots(1, len(chosen), sharey=True, squeeze=False)[0]
    for ax, record in zip(axes, chosen, strict=True):
        values = [np.nan if a is None else a for a in result_of(record)["class_accuracies"]]
        ax.barh(range(len(parts)), values, color=_look(record)[0], height=0.75)
        mean = result_of(record)["mean_class_accuracy"]["value"]
        ax.axvline(mean, color=canvas.INK, linewidth=0.8)
        ax.set_title(f"{record['name']}\nmean {mean:.3f}", fontsize=LABEL_PT + 1, color=canvas.INK)
        ax.set_xlim(0, 1)
        ax.margins(y=0.01)
        canvas.plain(ax)
        ax.tick_params(labelsize=LABEL_PT)
    axes[0].set_yticks(range(len(parts)), parts)
    axes[0].invert_yaxis()
    figure.supxlabel("share of the part's pixels that are correct", fontsize=LABEL_PT + 1)
    return figure


def spread_out(places: Sequence[float], gap: float) -> list[float]:
    """Return places from 0 to 1 in the order given, moved apart to at least a gap, and as little as that allows.

    Places that are too close become one block around their mean, which is kept inside; blocks that touch are joined.
    """
    order = np.argsort(np.asarray(places), kind="stable")
    blocks: list[tuple[float, int]] = []  # center, number of places
    for i in order:
        center, n = float(places[i]), 1
        while blocks and center - blocks[-1][0] < gap * (n + blocks[-1][1]) / 2:
            other, m = blocks.pop()
            n += m
            half = gap * (n - 1) / 2
            center = max(half, min(1 - half, (center * (n - m) + other * m) / n))
        blocks.append((center, n))
    moved = [center + gap * (k - (n - 1) / 2) for center, n in blocks for k in range(n)]
    out = [0.0] * len(moved)
    for i, place in zip(order, moved, strict=True):
        out[i] = place
    return out


def _finished(figure: Figure, ax: Axes, ends: Sequence[tuple[Mapping[str, Any], float, float]]) -> Figure:
    """Name each learner beside the plot, with a line to its end; colors are families."""
    ax.set_xscale("log")
    ax.set_ylabel(PER_CLASS)
    ax.grid(color=canvas.RULE, linewidth=0.5)
    canvas.plain(ax)
    low, high = ax.get_ylim()
    places = spread_out([(y - low) / (high - low) for _, _, y in ends], GAP)
    for (record, x, y), place in zip(ends, places, strict=True):
        ax.annotate(
            record["name"], (x, y), (1.03, place), xycoords="data", textcoords="axes fraction", va="center",
            fontsize=LABEL_PT, color=_look(record)[0], annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": canvas.RULE, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3},
        )  # fmt: skip
    return figure


def _look(record: Mapping[str, Any]) -> tuple[str, str]:
    """Return the color and the marker of a learner's family."""
    number = FAMILIES.index(record["family"])
    return _COLORS[number], canvas.CLASS_MARKERS[number]


_COLORS = (canvas.CLASS_COLORS[5], canvas.CLASS_COLORS[0], canvas.CLASS_COLORS[2], canvas.CLASS_COLORS[7])
"""Colors of the families, dark enough for text on white."""


def _new_figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    figure = _new_figure(width, height)
    return figure, figure.subplots()
