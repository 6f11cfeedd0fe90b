"""Common parts of all plots: matplotlib if installed, axes, colors, names, and text that fits.

matplotlib is optional and slow to import, so every function here imports it when called.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from depthforest.base import Floats, UsageError

if TYPE_CHECKING:
    from types import ModuleType

    from matplotlib.axes import Axes

# One color per class: Okabe and Ito's without black, which is for text, plus three more. Any two differ by at least 10
# (CIEDE2000) for normal vision and for the three kinds of color blindness; the first three by at least 12.
CLASS_COLORS = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#44337a", "#b8b8b8", "#7a4b2a",
)  # fmt: skip
# markers, so that classes do not differ by color only
CLASS_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "h")
INK, FAINT, RULE = "#1f2328", "#57606a", "#d0d7de"
TEXT_PT = 10.0
MINUS = "\N{MINUS SIGN}"


def pyplot() -> ModuleType:
    """Return matplotlib's pyplot, or raise an error that says how to install it."""
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise UsageError("plots need matplotlib, which is not installed: run pip install matplotlib") from error
    return plt


def axes_or_new(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return the given axes, or those of a new figure of `size` inches."""
    plt = pyplot()
    if ax is None:
        new: Axes = plt.subplots(figsize=size, layout="constrained")[1]
        return new
    return checked_axes(ax)


def checked_axes(ax: Any) -> Axes:
    """Return the axes after checking their type."""
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise UsageError(
            f"expected a matplotlib Axes to draw on, got {type(ax).__name__}: pass one, or None for a new one"
        )
    return ax


def plain(ax: Axes) -> None:
    """Keep only the two axis lines of the frame, in a faint color."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(RULE)
    ax.tick_params(color=RULE, labelcolor=INK, labelsize=TEXT_PT)


def feature_names_of(estimator: Any, n_features: int, given: Sequence[object] | None) -> list[str]:
    """Return a name per feature: the given ones, else those seen in fit, else x0, x1, ..."""
    if given is not None:
        return checked_names("feature_names", given, n_features, "features")
    seen = getattr(estimator, "feature_names_in_", None)
    if seen is not None and len(seen) == n_features:
        return [str(name) for name in seen]
    return [f"x{i}" for i in range(n_features)]


def checked_names(parameter: str, names: Sequence[object], n: int, things: str) -> list[str]:
    """Return the names as strings after checking their number."""
    if isinstance(names, str) or not hasattr(names, "__len__"):
        raise UsageError(f"{parameter} must be a list of {n} names, got {names!r}")
    if len(names) != n:
        raise UsageError(f"{parameter} must hold one name for each of the {n} {things}, got {len(names)}")
    return [str(name) for name in names]


def members(estimator: Any) -> list[Any]:
    """Return the fitted members of an ensemble (boosting keeps them in a table); empty if there are none."""
    found = getattr(estimator, "estimators_", None)
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, np.ndarray):
        found = found.ravel()
    return [] if found is None else list(found)


def tint(color: str, strength: float) -> tuple[float, float, float]:
    """Return a color mixed with white: 0 is white, 1 the color."""
    from matplotlib.colors import to_rgb

    red, green, blue = (1 - strength * (1 - channel) for channel in to_rgb(color))
    return red, green, blue


def number(value: float) -> str:
    """Return a number with about four digits, without an exponent if that is readable."""
    size = abs(value)
    if not np.isfinite(value) or (size != 0 and not 1e-4 <= size < 1e7):
        return f"{value:.3g}".replace("-", MINUS)
    digits = 3 if size == 0 else max(0, 3 - int(np.floor(np.log10(size))))
    text = f"{value:.{digits}f}".replace("-", MINUS)
    return text.rstrip("0").rstrip(".") if "." in text else text


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return the width of a line of text in points at a font size in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size, weight="bold" if bold else "normal")
    width: float = text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]
    return width


def shortened(text: str, width: float, size: float, *, bold: bool = False) -> str:
    """Return the text shortened in its middle as little as needed to fit into `width` points."""
    if text_width(text, size, bold=bold) <= width:
        return text
    # long names in one data set may differ at either end, so both ends are kept
    low, high = 0, len(text) - 1
    while low < high:
        kept = (low + high + 1) // 2
        if text_width(_without_middle(text, kept), size, bold=bold) <= width:
            low = kept
        else:
            high = kept - 1
    return _without_middle(text, low)


def _without_middle(text: str, kept: int) -> str:
    head = (kept + 1) // 2
    return text[:head].rstrip() + "…" + text[len(text) - (kept - head) :].lstrip()


def normalized(rows: Floats) -> Floats:
    """Return rows normalized to sum to 1; rows of zeros stay."""
    total = rows.sum(axis=1, keepdims=True)
    shares: Floats = np.divide(rows, total, out=np.zeros_like(rows), where=total > 0)
    return shares
