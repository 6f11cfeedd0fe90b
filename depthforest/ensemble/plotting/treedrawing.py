"""Draws a decision tree that grows to the right: `treelayout` places its boxes, `treereading` supplies their text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from depthforest.base import UsageError
from depthforest.ensemble.fitting import whole
from depthforest.ensemble.plotting.canvas import (
    CLASS_COLORS,
    FAINT,
    INK,
    RULE,
    checked_axes,
    number,
    pyplot,
    shortened,
    text_width,
    tint,
)
from depthforest.ensemble.plotting.treelayout import Place, lay_out
from depthforest.ensemble.plotting.treereading import (
    DETAIL_PT,
    TreeContent,
    box_text,
    class_palette,
    has_categories,
    read_tree,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# All lengths are points at the natural size of the picture: at depth 4 about 10.5 inches wide, which a page shows with
# 900 pixels and legible letters.
BOX_WIDTH, BOX_HEIGHT, LINE_HEIGHT = 122.0, 38.0, 13.0
COLUMN_GAP, ROW_GAP = 30.0, 8.0
MARGIN, PADDING, BAR_HEIGHT = 8.0, 6.0, 4.5
DEEPER_WIDTH = 18.0
LEGEND_HEIGHT, SWATCH, LEGEND_GAP = 18.0, 9.0, 14.0
# a full tree of depth 7; more can be drawn but not read
MAX_BOXES = 255
# strength of the color of a class or the highest value in its box; dark text stays readable on it
LEAF_TINT, LOW_TINT, HIGH_TINT = 0.16, 0.05, 0.6
RAMP_STEPS = 24


def plot_tree(
    estimator: Any,
    ax: Axes | None = None,
    max_depth: int = 4,
    feature_names: Sequence[object] | None = None,
    class_names: Sequence[object] | None = None,
    *,
    show_missing: bool = False,
) -> Axes:
    """Draw a fitted decision tree: a box per node, the root at the left, "yes" upward.

    A box shows the feature and the test, or the prediction of a leaf; the number of samples; and the shares of the
    classes as a bar, or for regression the value as the color of the box. "…" follows a box whose children are
    below `max_depth`; such a box shows the prediction at this node.

    Parameters
    ----------
    estimator : fitted tree
        Ours or scikit-learn's: anything with `tree_`. For a forest, pass one of its `estimators_`.
    ax : matplotlib Axes, optional
        Axes to draw into, with text sized to fit; default: those of a new figure of the size that the tree needs.
    max_depth : int
        Depth of the last column shown.
    feature_names, class_names : sequences of str, optional
        Default: the names seen in fit (else x0, x1, ...) and the estimator's `classes_`.
    show_missing : bool
        Also show in each split where missing values go. Off by default, because trees decide this for every split,
        even without missing values in training.

    Returns
    -------
    matplotlib Axes
    """
    whole("max_depth", max_depth, 0)
    content = read_tree(estimator, feature_names, class_names)
    places = lay_out(content.left, content.right, max_depth)
    if len(places) > MAX_BOXES:
        raise UsageError(
            f"plot_tree draws up to {MAX_BOXES} boxes, but max_depth={max_depth} needs {len(places)}: reduce it"
        )
    plt = pyplot()
    sheet = _measured(content, places, three_lines=show_missing or has_categories(content, places))
    if ax is None:
        ax = plt.figure(figsize=(sheet.width / 72, sheet.height / 72)).add_axes((0, 0, 1, 1))
    _Drawing(checked_axes(ax), content, sheet).draw(places, show_missing=show_missing)
    return ax


@dataclass(frozen=True, slots=True)
class _Swatch:
    """An entry of the legend: left edge, line, color and name."""

    x: float
    line: int
    color: str
    name: str


@dataclass(frozen=True, slots=True)
class _Sheet:
    """The dimensions of a picture, in points, y downward."""

    width: float
    height: float
    top: float
    box_height: float
    three_lines: bool
    legend: list[_Swatch]

    def box(self, place: Place) -> tuple[float, float]:
        """Return the upper left corner (x, y) of a box."""
        x = MARGIN + place.column * (BOX_WIDTH + COLUMN_GAP)
        return x, self.top + place.row * (self.box_height + ROW_GAP)


def _measured(content: TreeContent, places: list[Place], *, three_lines: bool) -> _Sheet:
    # a lone leaf gets the width of two columns, so that the legend fits
    columns = max(2, 1 + max(place.column for place in places))
    width = 2 * MARGIN + columns * (BOX_WIDTH + COLUMN_GAP) - COLUMN_GAP
    if any(place.kind == "cut" for place in places):
        width += DEEPER_WIDTH
    swatches = _wrapped(class_palette(content)[1] if content.is_classifier else {}, width)
    lines = 1 + max((swatch.line for swatch in swatches), default=0)
    box_height = BOX_HEIGHT + (LINE_HEIGHT if three_lines else 0)
    top = MARGIN + lines * LEGEND_HEIGHT + PADDING
    height = top + max(place.row for place in places) * (box_height + ROW_GAP) + box_height + MARGIN
    if len(places) < content.tree.node_count:
        height += LEGEND_HEIGHT
    return _Sheet(width, height, top, box_height, three_lines, swatches)


def _wrapped(legend: dict[str, str], width: float) -> list[_Swatch]:
    """Return the legend wrapped to the width of the picture."""
    swatches: list[_Swatch] = []
    x, line = MARGIN, 0
    for full_name, color in legend.items():
        name = shortened(full_name, width - 2 * MARGIN - SWATCH - 4, DETAIL_PT)
        needed = SWATCH + 4 + text_width(name, DETAIL_PT)
        if x > MARGIN and x + needed > width - MARGIN:
            x, line = MARGIN, line + 1
        swatches.append(_Swatch(x, line, color, name))
        x += needed + LEGEND_GAP
    return swatches


class _Drawing:
    """A picture under construction: axes in points of the natural size, and the scale at which they are shown."""

    def __init__(self, ax: Axes, content: TreeContent, sheet: _Sheet) -> None:
        self.ax, self.content, self.sheet = ax, content, sheet
        ax.set_xlim(0, sheet.width)
        ax.set_ylim(sheet.height, 0)
        ax.set_aspect("equal")
        ax.axis("off")
        figure = ax.figure.figure
        if figure.get_layout_engine() is not None:
            figure.draw_without_rendering()  # the layout determines the size of the axes
        else:
            ax.apply_aspect()
        self.scale = ax.get_window_extent().width * 72 / figure.dpi / sheet.width
        self.colors = class_palette(content)[0]

    def draw(self, places: list[Place], *, show_missing: bool) -> None:
        """Draw everything."""
        by_node = {place.node: place for place in places}
        values = self.content.values[list(by_node)] if not self.content.is_classifier else np.zeros(1)
        low, high = float(values.min()), float(values.max())
        for place in places:
            if place.parent in by_node:
                self._arrow(by_node[place.parent], place)
            self._box(place, low, high)
            self._box_lines(place, show_missing=show_missing)
        for swatch in self.sheet.legend:
            y = MARGIN + swatch.line * LEGEND_HEIGHT
            self._rectangle(swatch.x, y, SWATCH, SWATCH, swatch.color)
            self._text(swatch.x + SWATCH + 4, y + SWATCH / 2, swatch.name)
        if low < high:
            self._ramp(low, high)
        if len(places) < self.content.tree.node_count:
            note = f"…  continues: {len(places)} of {self.content.tree.node_count:,} nodes are shown"
            x, y = self.sheet.width - MARGIN, self.sheet.height - MARGIN
            self._text(x, y, note, ha="right", va="bottom", color=FAINT)

    def _text(self, x: float, y: float, text: str, *, size: float = DETAIL_PT, **style: Any) -> None:
        style = {"color": INK, "va": "center_baseline"} | style
        # feature names may contain dollar signs, which are not formulas
        self.ax.text(x, y, text, fontsize=size * self.scale, parse_math=False, zorder=3, **style)

    def _rectangle(self, x: float, y: float, width: float, height: float, color: Any) -> None:
        from matplotlib.patches import Rectangle

        self.ax.add_patch(Rectangle((x, y), width, height, facecolor=color, edgecolor="none", zorder=2.5))

    def _arrow(self, parent: Place, child: Place) -> None:
        """Draw a curve through the gap between two columns, where no box is; the root's two are labeled yes and no."""
        from matplotlib.patches import FancyArrowPatch
        from matplotlib.path import Path

        (x0, y0), (x1, y1) = self.sheet.box(parent), self.sheet.box(child)
        x0 += BOX_WIDTH
        y0, y1 = y0 + self.sheet.box_height / 2, y1 + self.sheet.box_height / 2
        middle = (x0 + x1) / 2
        curve = Path(
            [(x0, y0), (middle, y0), (middle, y1), (x1, y1)], [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
        )
        self.ax.add_patch(
            FancyArrowPatch(
                path=curve,
                arrowstyle="-|>",
                mutation_scale=7 * self.scale,
                color=FAINT,
                linewidth=0.9 * self.scale,
                zorder=1,
            )
        )
        if parent.column == 0:
            under = {"facecolor": "white", "edgecolor": "none", "pad": 1.0 * self.scale}
            label = "yes" if child.row < parent.row else "no"
            self._text(middle, (y0 + y1) / 2, label, ha="center", color=INK, bbox=under, style="italic")

    def _box(self, place: Place, low: float, high: float) -> None:
        from matplotlib.patches import FancyBboxPatch

        x, y = self.sheet.box(place)
        fill: Any = "white"
        if not self.content.is_classifier:
            fill = self._value_color(self.content.values[place.node], low, high)
        elif place.kind != "split":
            fill = tint(self.colors[int(np.argmax(self.content.shares[place.node]))], LEAF_TINT)
        self.ax.add_patch(
            FancyBboxPatch(
                (x, y), BOX_WIDTH, self.sheet.box_height, boxstyle="round,pad=0,rounding_size=4", facecolor=fill,
                edgecolor=FAINT if place.kind == "split" else RULE, linewidth=0.8 * self.scale, zorder=2,
                gid=f"node {place.node}",
            )
        )  # fmt: skip
        if place.kind == "cut":
            self._text(x + BOX_WIDTH + DEEPER_WIDTH / 2, y + self.sheet.box_height / 2, "…", size=14, ha="center")
        self._bar(x + PADDING, y + self.sheet.box_height - PADDING - BAR_HEIGHT / 2, self.content.shares[place.node])

    def _bar(self, x: float, y: float, shares: Any) -> None:
        for share, color in zip(shares, self.colors, strict=True):
            width = float(share) * (BOX_WIDTH - 2 * PADDING)
            if width > 0:
                self._rectangle(x, y, width, BAR_HEIGHT, color)
            x += width

    def _box_lines(self, place: Place, *, show_missing: bool) -> None:
        x, y = self.sheet.box(place)
        room = BOX_WIDTH - 2 * PADDING
        text = box_text(self.content, place, room, three_lines=self.sheet.three_lines, show_missing=show_missing)
        if self.content.is_classifier:
            first, second = y + 9.5, y + 9.5 + LINE_HEIGHT
        else:
            first, second = y + 12.5, y + 12.5 + LINE_HEIGHT
        last = second + LINE_HEIGHT if self.sheet.three_lines else second
        if not text.detail:  # a value only: one line in the middle
            first = last = y + self.sheet.box_height / 2
        # only dark text is readable on the color of a value
        faint = FAINT if self.content.is_classifier else INK
        self._text(x + PADDING, first, text.title, size=text.title_pt, weight="bold")
        self._text(x + BOX_WIDTH - PADDING, last, text.count, ha="right", color=faint)
        if text.detail:
            self._text(x + PADDING, second, text.detail)
        if text.missing:
            self._text(x + PADDING, last, text.missing, color=faint)

    @staticmethod
    def _value_color(value: float, low: float, high: float) -> tuple[float, float, float]:
        part = (value - low) / (high - low) if high > low else 0.5
        return tint(CLASS_COLORS[0], LOW_TINT + (HIGH_TINT - LOW_TINT) * part)

    def _ramp(self, low: float, high: float) -> None:
        """Draw the color scale of values between the lowest and the highest."""
        y, step, least = MARGIN, SWATCH / 3, f"prediction  {number(low)}"
        x = MARGIN + text_width(least, DETAIL_PT) + 6
        self._text(MARGIN, y + SWATCH / 2, least)
        for i in range(RAMP_STEPS):
            self._rectangle(x + i * step, y, step, SWATCH, self._value_color(i / (RAMP_STEPS - 1), 0, 1))
        self._text(x + RAMP_STEPS * step + 6, y + SWATCH / 2, number(high))
