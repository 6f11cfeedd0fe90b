"""Plots as inline SVG: small, sharp at any zoom, in the page's own colors, and without a plotting package.

The report must open anywhere and have the same bytes everywhere. matplotlib is an optional extra, embeds its glyphs in
every picture, and its bytes depend on its version. Colors are classes of `page.css`: `s0`, `s1`, ... by series.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from depthforest.base import Floats
from depthforest.evaluation.scores import Calibration, Counts
from depthforest.joints import share

WIDTH, BARS_WIDTH = 560, 480
"""Width in units of about one pixel on a page with two columns, so that text keeps its size."""

UNKNOWN = "\N{EN DASH}"
N_COLORS = 6
"""Number of series colors in the style sheet; further series reuse them."""

MIN_SHOWN = 0.005
"""A cell of the confusion matrix with a smaller share of its row stays empty: it would be invisible."""


@dataclass(frozen=True, eq=False)
class Series:
    """Values of one model or joint.

    Parameters
    ----------
    name : str
    values : array (n,)
        NaN for unknown values.
    low, high : arrays (n,), optional
        Ends of intervals.
    """

    name: str
    values: Floats
    low: Floats | None = None
    high: Floats | None = None


def percent(value: float, digits: int = 1) -> str:
    """Return a share as a percentage."""
    return UNKNOWN if not math.isfinite(value) else f"{100 * value:.{digits}f} %"


def bars(
    labels: Sequence[str], series: Sequence[Series], *, is_dots: bool = False, left: int = 110, color: int = 0
) -> str:
    """Return horizontal bars (or dots) of shares from 0 to 1, one group for each label, with whiskers for intervals.

    The first series has the color number `color`, further ones the colors after it.
    """
    thick = 14 if len(series) == 1 else 12
    group = len(series) * thick + 6
    top, height, right = 22, 22 + len(labels) * group + 4, 50
    scale = BARS_WIDTH - left - right

    def x(value: float) -> float:
        return left + scale * min(1.0, max(0.0, value))

    pieces = [_grid_line(x(tick), top, x(tick), height - 4) for tick in np.linspace(0, 1, 6)]
    pieces += [_text(x(tick), top - 7, f"{tick:.0%}", "middle") for tick in np.linspace(0, 1, 6)]
    for row, label in enumerate(labels):
        begin = top + row * group + 3
        pieces.append(_text(left - 8, begin + (group - 6) / 2 + 4, label, "end"))
        for number, one in enumerate(series):
            value = float(one.values[row])
            y = begin + number * thick
            own_color = f"s{(color + number) % N_COLORS}"
            if not math.isfinite(value):
                pieces.append(_text(left + 4, y + thick - 2, UNKNOWN, "start"))
                continue
            low, high = _ends(one, row)
            shown = f"{label}, {one.name}: {percent(value)}" + _interval_text(low, high)
            if is_dots:
                mark = f'<circle class="{own_color}" cx="{x(value):.1f}" cy="{y + thick / 2:.1f}" r="4.5">'
            else:
                wide = max(0.5, x(value) - left)
                mark = (
                    f'<rect class="{own_color}" x="{left}" y="{y + 1}" width="{wide:.1f}" height="{thick - 2}" rx="2">'
                )
            pieces.append(f"{mark}<title>{escape(shown)}</title></{'circle' if is_dots else 'rect'}>")
            if math.isfinite(low):
                middle = y + thick / 2
                pieces.append(f'<path class="whisker" d="M{x(low):.1f} {middle:.1f}H{x(high):.1f}"/>')
            end = x(high) if math.isfinite(high) else x(value)
            pieces.append(_text(max(end, x(value)) + 7, y + thick / 2 + 4, percent(value, 0), "start", "value"))
    return _figure(height, pieces, "bars", BARS_WIDTH) + legend([s.name for s in series])


def lines(
    x_values: Floats, series: Sequence[Series], *, x_title: str, y_title: str, thin: Sequence[Series] = ()
) -> str:
    """Return curves of shares from 0 to 1 over centimeters; `thin` ones are in the background, with tooltips."""
    left, right, top, bottom, height = 58, 16, 14, 46, 340
    wide, high = WIDTH - left - right, height - top - bottom
    least, most = float(x_values[0]), float(x_values[-1])

    def point(x: float, y: float) -> str:
        return f"{left + wide * (x - least) / (most - least):.1f} {top + high * (1 - y):.1f}"

    pieces = []
    for tick in np.linspace(0, 1, 6):
        y = top + high * (1 - tick)
        pieces += [_grid_line(left, y, WIDTH - right, y), _text(left - 8, y + 4, f"{tick:.0%}", "end")]
    for tick in np.linspace(least, most, 7):
        x = left + wide * (tick - least) / (most - least)
        pieces += [_grid_line(x, top, x, top + high), _text(x, top + high + 18, f"{100 * tick:.0f}", "middle")]
    pieces += _axis_titles(x_title, y_title, left + wide / 2, height - 8, top + high / 2)
    for kind, group in (("thin", thin), ("curve", series)):
        for number, one in enumerate(group):
            path = _path([point(x, y) for x, y in zip(x_values, one.values, strict=True) if math.isfinite(y)])
            pieces.append(
                f'<path class="{kind} l{number % N_COLORS}" d="{path}"><title>{escape(one.name)}</title></path>'
            )
    return _figure(height, pieces, "curves") + legend([s.name for s in series])


def reliability(calibrations: Sequence[tuple[str, Calibration]]) -> str:
    """Return accuracy over confidence with the diagonal; below it, how often each confidence is given."""
    left, right, top, side, low = 58, 16, 14, 300, 70
    height, wide = top + side + low + 62, WIDTH - left - right

    def x(value: float) -> float:
        return left + wide * value

    pieces = []
    for tick in np.linspace(0, 1, 6):
        y = top + side * (1 - tick)
        pieces += [_grid_line(left, y, WIDTH - right, y), _text(left - 8, y + 4, f"{tick:.0%}", "end")]
        pieces += [_grid_line(x(tick), top, x(tick), top + side + 10 + low)]
        pieces += [_text(x(tick), top + side + low + 26, f"{tick:.0%}", "middle")]
    pieces.append(f'<path class="ideal" d="M{x(0)} {top + side}L{x(1)} {top}"/>')
    for number, (name, calibration) in enumerate(calibrations):
        color = number % N_COLORS
        known = [
            (x(c), top + side * (1 - a), n)
            for c, a, n in zip(calibration.confidence, calibration.accuracy, calibration.n, strict=True)
            if n
        ]
        pieces.append(f'<path class="curve l{color}" d="{_path([f"{a:.1f} {b:.1f}" for a, b, _ in known])}"/>')
        for a, b, n in known:
            text = f"{name}: of {n:,} answers {percent(1 - (b - top) / side)} are correct"
            pieces.append(
                f'<circle class="s{color}" cx="{a:.1f}" cy="{b:.1f}" r="3.5"><title>{escape(text)}</title></circle>'
            )
        shares, n_bins = share(calibration.n, calibration.n.max(initial=0)), len(calibration.n)
        bar = wide / n_bins / len(calibrations)
        for i, value in enumerate(np.nan_to_num(shares)):
            at = x(i / n_bins) + number * bar + 0.5
            pieces.append(
                f'<rect class="s{color} soft" x="{at:.1f}" y="{top + side + 10 + low * (1 - value):.1f}" '
                f'width="{max(1.0, bar - 1):.1f}" height="{low * value:.1f}"/>'
            )
    pieces += _axis_titles("confidence", "right answers", left + wide / 2, height - 8, top + side / 2)
    return _figure(height, pieces, "curves") + legend([name for name, _ in calibrations])


def heat_map(confusion: Counts, names: Sequence[str]) -> str:
    """Return a confusion matrix: a row has the answers for one true part, darker for more; cells have tooltips."""
    n = len(names)
    shares = share(confusion, confusion.sum(axis=1, keepdims=True))
    longest = max(map(len, names))
    head = 12 + round(6.3 * longest)
    cell = max(12.0, min(34.0, (760 - head) / n))
    size = head + cell * n
    pieces = [
        f'<rect class="frame" x="{head}" y="{head}" width="{cell * n:.1f}" height="{cell * n:.1f}"/>',
        f'<path class="ideal" d="M{head} {head}L{size:.1f} {size:.1f}"/>',
    ]
    for i, name in enumerate(names):
        at = head + (i + 0.5) * cell
        pieces.append(_text(head - 6, at + 4, name, "end"))
        pieces.append(
            f'<text transform="translate({at + 4:.1f} {head - 6}) rotate(-90)" class="small">{escape(name)}</text>'
        )
        for j in np.flatnonzero(np.nan_to_num(shares[i]) >= MIN_SHOWN).tolist():
            value = float(shares[i, j])
            kind = "hit" if i == j else "miss"
            pieces.append(
                f'<rect class="{kind}" x="{head + j * cell:.1f}" y="{head + i * cell:.1f}" width="{cell:.1f}" '
                f'height="{cell:.1f}" fill-opacity="{math.sqrt(value):.2f}"><title>{escape(name)} answered as '
                f"{escape(names[j])}: {percent(value)}</title></rect>"
            )
    text = "".join(pieces)
    return f'<svg class="heat" viewBox="0 0 {size + 4:.0f} {size + 4:.0f}" role="img">{text}</svg>'


def legend(names: Sequence[str]) -> str:
    """Return the names of series beside their colors; empty for a single one."""
    if len(names) < 2:
        return ""
    entries = (f'<span><i class="b{i % N_COLORS}"></i>{escape(name)}</span>' for i, name in enumerate(names))
    return f'<p class="legend">{"".join(entries)}</p>'


def _ends(series: Series, row: int) -> tuple[float, float]:
    if series.low is None or series.high is None:
        return math.nan, math.nan
    return float(series.low[row]), float(series.high[row])


def _interval_text(low: float, high: float) -> str:
    return f" ({percent(low)} to {percent(high)})" if math.isfinite(low) else ""


def _path(points: Sequence[str]) -> str:
    return f"M{'L'.join(points)}" if points else ""


def _grid_line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path class="grid" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>'


def _text(x: float, y: float, text: str, anchor: str, kind: str = "small") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(text)}</text>'


def _axis_titles(x_title: str, y_title: str, x_middle: float, y_bottom: float, y_middle: float) -> list[str]:
    return [
        _text(x_middle, y_bottom, x_title, "middle", "title"),
        f'<text transform="translate(14 {y_middle:.1f}) rotate(-90)" text-anchor="middle" class="title">'
        f"{escape(y_title)}</text>",
    ]


def _figure(height: float, pieces: Sequence[str], kind: str, width: int = WIDTH) -> str:
    return f'<svg class="{kind}" viewBox="0 0 {width} {height:.0f}" role="img">{"".join(pieces)}</svg>'
