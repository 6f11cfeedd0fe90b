"""The content of a drawn tree: names, shares of classes or values, and the lines of text in each box.

Reads and checks scikit-learn's fitted `tree_`, or ours, once; `treedrawing` draws the content.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from depthforest.base import Floats, UsageError
from depthforest.ensemble.plotting.canvas import (
    CLASS_COLORS,
    checked_names,
    feature_names_of,
    members,
    normalized,
    number,
    shortened,
    text_width,
)
from depthforest.ensemble.plotting.treelayout import Links, Place

TITLE_PT, SMALL_TITLE_PT, DETAIL_PT = 9.5, 8.5, 9.0
# classes without a color of their own share gray
OTHERS = "other classes"
OTHERS_COLOR = CLASS_COLORS[8]


@dataclass(frozen=True, slots=True)
class TreeContent:
    """A fitted tree, ready to be drawn.

    Attributes
    ----------
    tree : object
        The estimator's `tree_`.
    left, right : (n_nodes,) integer arrays
        Children; -1 if there are none.
    feature_names, class_names : lists of str
        Empty class names for a regression tree.
    shares : (n_nodes, n_classes) float array
        Share of each class in each node; no columns for a regression tree.
    values : (n_nodes,) float array
        Prediction of each node of a regression tree.
    """

    tree: Any
    left: Links
    right: Links
    feature_names: list[str]
    class_names: list[str]
    shares: Floats
    values: Floats

    @property
    def is_classifier(self) -> bool:
        """Whether nodes hold shares of classes."""
        return bool(self.class_names)


def read_tree(
    estimator: Any, feature_names: Sequence[object] | None, class_names: Sequence[object] | None
) -> TreeContent:
    """Return the content of a fitted decision tree, or raise an error that says what is wrong with it."""
    tree = getattr(estimator, "tree_", None)
    kind = type(estimator).__name__
    if tree is None and members(estimator):
        raise UsageError(f"plot_tree draws one tree, got an ensemble, {kind}: pass one of its estimators_")
    if tree is None:
        raise UsageError(f"plot_tree needs a fitted decision tree, one with tree_, got {kind}: fit a tree first")
    left = np.asarray(tree.children_left, dtype=np.intp)
    content = np.asarray(tree.value, dtype=np.float64)
    if content.ndim == 3 and content.shape[1] > 1:
        raise UsageError(f"plot_tree draws trees of one output, got {content.shape[1]} outputs: fit a tree for each")
    content = content.reshape(len(left), -1)
    classes = getattr(estimator, "classes_", None)
    names: list[str] = []
    if classes is None and class_names is not None:
        raise UsageError(f"class_names are for classification trees, got {kind}, which has no classes_: leave them out")
    if classes is not None:
        names = checked_names("class_names", classes if class_names is None else class_names, len(classes), "classes")
    return TreeContent(
        tree=tree,
        left=left,
        right=np.asarray(tree.children_right, dtype=np.intp),
        feature_names=feature_names_of(estimator, _feature_count(estimator, tree), feature_names),
        class_names=names,
        shares=normalized(content) if names else np.empty((len(left), 0)),
        values=np.empty(0) if names else content[:, 0],
    )


def _feature_count(estimator: Any, tree: Any) -> int:
    n = getattr(estimator, "n_features_in_", None) or getattr(tree, "n_features", None)
    return int(n) if n is not None else int(np.max(tree.feature)) + 1


def class_palette(content: TreeContent) -> tuple[list[str], dict[str, str]]:
    """Return a color per class, and the legend, name by color. Rare classes share gray if there are too many."""
    n = len(content.class_names)
    if n <= len(CLASS_COLORS):
        return list(CLASS_COLORS[:n]), dict(zip(content.class_names, CLASS_COLORS, strict=False))
    free = [color for color in CLASS_COLORS if color != OTHERS_COLOR]
    common = sorted(np.argsort(-content.shares[0], kind="stable")[: len(free)].tolist())
    colors = [OTHERS_COLOR] * n
    for i, color in zip(common, free, strict=True):
        colors[i] = color
    return colors, {content.class_names[i]: colors[i] for i in common} | {OTHERS: OTHERS_COLOR}


@dataclass(frozen=True, slots=True)
class BoxText:
    """The text of one box: title over detail and count, and where missing values go (empty if not shown)."""

    title: str
    title_pt: float
    detail: str
    count: str
    missing: str


def box_text(content: TreeContent, place: Place, width: float, *, three_lines: bool, show_missing: bool) -> BoxText:
    """Return the text of a node's box, fitted into `width` points: its test, or the prediction of a leaf.

    In boxes of three lines the detail has its own line; in boxes of two it shares one with the count.
    """
    node = place.node
    count = f"n = {_count(int(content.tree.n_node_samples[node]))}"
    room = width if three_lines else width - text_width(count, DETAIL_PT) - DETAIL_PT
    missing = ""
    if place.kind == "split":
        title = content.feature_names[int(content.tree.feature[node])]
        detail = _test(content.tree, node, room)
        if show_missing:
            missing = f"missing: {'yes' if content.tree.missing_go_to_left[node] else 'no'}"
    elif content.is_classifier:
        best = int(np.argmax(content.shares[node]))
        title, detail = content.class_names[best], percent(content.shares[node, best])
    else:
        title, detail = number(content.values[node]), ""
    # a long name is first printed smaller, then shortened
    title_pt = TITLE_PT if text_width(title, TITLE_PT, bold=True) <= width else SMALL_TITLE_PT
    title = shortened(title, width, title_pt, bold=True)
    return BoxText(title, title_pt, shortened(detail, room, DETAIL_PT), count, missing)


def _count(n: int) -> str:
    """Return a short count: exact below 10,000, then with three digits."""
    if n < 10_000:
        return f"{n:,}"
    if n < 999_500:
        return f"{n / 1e3:.3g}k"
    return f"{n / 1e6:,.3g}M" if n < 999_500_000 else f"{n / 1e9:.3g}G"


def percent(share: float) -> str:
    """Return a share as a whole percentage; 100 % means all and 0 % none."""
    if 0.995 <= share < 1:
        return "> 99 %"
    if 0 < share < 0.005:
        return "< 1 %"
    return f"{100 * share:.0f} %"


def has_categories(content: TreeContent, places: Sequence[Place]) -> bool:
    """Return whether a shown split tests categories, which need more room than a threshold."""
    return any(place.kind == "split" and _categories(content.tree, place.node) is not None for place in places)


def _categories(tree: Any, node: int) -> tuple[object, ...] | None:
    """Return the categories that answer yes at a node; only our own trees have any."""
    ask = getattr(tree, "categories", None)
    found: tuple[object, ...] | None = ask(node) if callable(ask) else None
    return found


def _test(tree: Any, node: int, room: float) -> str:
    """Return the test of the feature; "yes" goes up."""
    categories = _categories(tree, node)
    if categories is not None:
        return _category_test([_category(value) for value in categories], room)
    threshold = float(tree.threshold[node])
    # an infinite threshold only separates missing values from all others
    if np.isinf(threshold):
        return "is missing" if threshold < 0 else "is known"
    return f"≤ {number(threshold)}"


def _category(value: object) -> str:
    return number(float(value)) if isinstance(value, float | np.floating) else str(value)


def _category_test(names: list[str], room: float) -> str:
    """Return the categories that go up: as many as fit, and the number of the rest."""
    if len(names) == 1:
        return f"is {names[0]}"
    for shown in range(len(names), 0, -1):
        more = [f"+{len(names) - shown}"] if shown < len(names) else []
        text = "in {" + ", ".join(names[:shown] + more) + "}"
        if text_width(text, DETAIL_PT) <= room:
            return text
    return f"in {len(names)} categories"
