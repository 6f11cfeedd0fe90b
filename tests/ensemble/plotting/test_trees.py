"""Tests of depthforest.ensemble.plotting's trees: the layout, the text in the boxes, the picture, bad input."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from depthforest.base.errors import UsageError
from depthforest.ensemble.plotting.canvas import CLASS_COLORS, MINUS, number, shortened, text_width
from depthforest.ensemble.plotting.treelayout import lay_out

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402
from matplotlib.patches import FancyBboxPatch, Rectangle  # noqa: E402

from depthforest.ensemble.plotting import plot_tree  # noqa: E402


@pytest.fixture(autouse=True)
def _close_figures() -> Any:
    yield
    plt.close("all")


def grown(choices: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the children of a tree made by splitting, again and again, one of its leaves."""
    left, right, leaves = [-1], [-1], [0]
    for choice in choices:
        node = leaves.pop(choice % len(leaves))
        left[node], right[node] = len(left), len(left) + 1
        leaves += [left[node], right[node]]
        left += [-1, -1]
        right += [-1, -1]
    return np.array(left), np.array(right)


@given(st.lists(st.integers(0, 30), max_size=30), st.integers(0, 6))
def test_the_layout_is_tidy(choices: list[int], max_depth: int) -> None:
    left, right = grown(choices)
    places = lay_out(left, right, max_depth)
    by_node = {place.node: place for place in places}
    assert min(place.row for place in places) == 0
    for place in places:
        has_children = left[place.node] != -1
        if place.kind == "split":
            upper, lower = by_node[int(left[place.node])], by_node[int(right[place.node])]
            assert (upper.parent, lower.parent) == (place.node, place.node)
            assert upper.column == lower.column == place.column + 1
            assert upper.row + lower.row == pytest.approx(2 * place.row)
        else:
            assert has_children == (place.kind == "cut")
            assert int(left[place.node]) not in by_node
            assert not has_children or place.column == max_depth
    for column in {place.column for place in places}:
        rows = [place.row for place in places if place.column == column]
        # level by level from top to bottom, so no two arrows cross, and no two boxes of a column overlap
        assert all(b - a >= 1 - 1e-9 for a, b in pairwise(rows))


@given(st.lists(st.integers(0, 30), min_size=1, max_size=30))
def test_subtrees_stand_as_close_as_they_can(choices: list[int]) -> None:
    left, right = grown(choices)
    places = lay_out(left, right, 40)
    under: dict[int, set[int]] = {place.node: {place.node} for place in places}
    for place in reversed(places[1:]):
        under[place.parent] |= under[place.node]
    for split in (place for place in places if place.kind == "split"):
        upper, lower = under[int(left[split.node])], under[int(right[split.node])]
        gaps = [
            b.row - a.row
            for a in places if a.node in upper
            for b in places if b.node in lower and b.column == a.column
        ]  # fmt: skip
        assert min(gaps) == pytest.approx(1)


@given(st.lists(st.integers(0, 30), max_size=20))
def test_a_mirrored_tree_is_laid_out_mirrored(choices: list[int]) -> None:
    left, right = grown(choices)
    rows = {place.node: place.row for place in lay_out(left, right, 40)}
    mirrored = {place.node: place.row for place in lay_out(right, left, 40)}
    height = max(rows.values())
    assert mirrored == pytest.approx({node: height - row for node, row in rows.items()})


def boxes(ax: Any) -> dict[int, FancyBboxPatch]:
    found = [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]
    return {int(str(patch.get_gid()).removeprefix("node ")): patch for patch in found}


def inside(ax: Any, box: FancyBboxPatch) -> list[str]:
    """Return the texts drawn in a box, having checked that each lies inside it as drawn."""
    x0, y0 = box.get_x(), box.get_y()
    frame = box.get_window_extent()
    texts = []
    for text in ax.texts:
        x, y = text.get_position()
        if x0 <= x <= x0 + box.get_width() and y0 <= y <= y0 + box.get_height():
            extent = text.get_window_extent()
            assert frame.x0 < extent.x0 < extent.x1 < frame.x1
            assert frame.y0 < extent.y0 < extent.y1 < frame.y1
            texts.append(text.get_text())
    return texts


def bars(ax: Any, box: FancyBboxPatch) -> list[Rectangle]:
    x, y = box.get_x(), box.get_y()
    found = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    return [b for b in found if x < b.get_x() < x + box.get_width() and y < b.get_y() < y + box.get_height()]


@pytest.fixture(scope="module")
def iris_tree() -> DecisionTreeClassifier:
    data = load_iris(as_frame=True)
    return DecisionTreeClassifier(random_state=0).fit(data.data, data.target_names[data.target])


@pytest.mark.parametrize(("size", "layout"), [(None, None), ((3.0, 3.0), None), ((14.0, 4.0), "constrained")])
def test_every_shown_node_has_its_text_in_its_box(
    iris_tree: DecisionTreeClassifier, size: tuple[float, float] | None, layout: Any
) -> None:
    given_axes = None if size is None else plt.subplots(figsize=size, layout=layout)[1]
    ax = plot_tree(iris_tree, given_axes)
    assert given_axes in (None, ax)
    tree = iris_tree.tree_
    shown = boxes(ax)
    assert len(shown) == 15
    ax.figure.canvas.draw()
    frames = [box.get_window_extent() for box in shown.values()]
    assert not any(a.overlaps(b) for i, a in enumerate(frames) for b in frames[:i])
    deepest = max(box.get_x() for box in shown.values())
    for node, box in shown.items():
        if tree.children_left[node] == -1 or box.get_x() == deepest:
            best = int(np.argmax(tree.value[node, 0]))
            share = tree.value[node, 0, best] / tree.value[node, 0].sum()
            expected = {iris_tree.classes_[best], f"{100 * share:.0f} %"}
        else:
            expected = {iris_tree.feature_names_in_[tree.feature[node]], f"≤ {number(tree.threshold[node])}"}
        assert set(inside(ax, box)) == expected | {f"n = {tree.n_node_samples[node]}"}
    everything = [text.get_text() for text in ax.texts]
    assert everything.count("yes") == everything.count("no") == 1
    assert everything.count("…") == 1
    assert "…  continues: 15 of 17 nodes are shown" in everything


def test_the_bar_of_a_box_shows_the_shares_in_the_colors_of_the_legend(iris_tree: DecisionTreeClassifier) -> None:
    ax = plot_tree(iris_tree, max_depth=2)
    for node, box in boxes(ax).items():
        shares = iris_tree.tree_.value[node, 0]
        drawn = {to_hex(bar.get_facecolor()): bar.get_width() for bar in bars(ax, box)}
        whole = sum(drawn.values())
        expected = {CLASS_COLORS[k]: share for k, share in enumerate(shares / shares.sum()) if share > 0}
        assert {color: width / whole for color, width in drawn.items()} == pytest.approx(expected)
    swatches = [patch for patch in ax.patches if isinstance(patch, Rectangle) and patch.get_y() < 10]
    assert [to_hex(swatch.get_facecolor()) for swatch in swatches] == list(CLASS_COLORS[:3])
    assert [text.get_text() for text in ax.texts][-4:-1] == ["setosa", "versicolor", "virginica"]


def test_yes_is_the_upper_child(iris_tree: DecisionTreeClassifier) -> None:
    ax = plot_tree(iris_tree, max_depth=1)
    shown = boxes(ax)
    tree = iris_tree.tree_
    assert shown[tree.children_left[0]].get_y() < shown[tree.children_right[0]].get_y()
    labels = {text.get_text(): text.get_position()[1] for text in ax.texts}
    assert labels["yes"] < labels["no"]


def test_a_regression_tree_shows_values_by_color() -> None:
    data = load_diabetes()
    tree = DecisionTreeRegressor(max_depth=3, random_state=0).fit(data.data, data.target)
    ax = plot_tree(tree, feature_names=data.feature_names)
    shown = boxes(ax)
    ax.figure.canvas.draw()
    nodes = sorted(shown, key=lambda node: tree.tree_.value[node, 0, 0])
    lightness = [sum(shown[node].get_facecolor()[:3]) for node in nodes]
    assert lightness == sorted(lightness, reverse=True)
    assert lightness[-1] < lightness[0]
    for node, box in shown.items():
        if tree.tree_.children_left[node] == -1:
            assert set(inside(ax, box)) == {
                number(tree.tree_.value[node, 0, 0]), f"n = {tree.tree_.n_node_samples[node]}"
            }  # fmt: skip
    assert "…" not in [text.get_text() for text in ax.texts]


def test_a_lone_leaf_is_drawn() -> None:
    ax = plot_tree(DecisionTreeRegressor().fit(np.zeros((5, 1)), np.ones(5)))
    assert [text.get_text() for text in ax.texts] == ["1", "n = 5"]


def planted(**fields: Any) -> SimpleNamespace:
    """Return a classification tree of one split and two leaves."""
    tree = SimpleNamespace(
        node_count=3, n_features=2, children_left=np.array([1, -1, -1]), children_right=np.array([2, -1, -1]),
        feature=np.array([1, -2, -2]), threshold=np.array([0.5, -2, -2]), missing_go_to_left=np.array([1, 0, 0]),
        n_node_samples=np.array([1_234_567, 1_204_567, 30_000]),
        value=np.array([[[5.0, 3.0]], [[5.0, 0.0]], [[0.0, 3.0]]]),
    )  # fmt: skip
    vars(tree).update(fields)
    return SimpleNamespace(tree_=tree, classes_=np.array(["cat", "dog"]))


def root_text(estimator: Any, **options: Any) -> list[str]:
    ax = plot_tree(estimator, **options)
    ax.figure.canvas.draw()
    return inside(ax, boxes(ax)[0])


def test_missing_values_are_told_on_request() -> None:
    assert root_text(planted()) == ["x1", "n = 1.23M", "≤ 0.5"]
    assert root_text(planted(), show_missing=True) == ["x1", "n = 1.23M", "≤ 0.5", "missing: yes"]
    right = planted(missing_go_to_left=np.zeros(3, int))
    assert root_text(right, show_missing=True)[-1] == "missing: no"
    assert "is known" in root_text(planted(threshold=np.array([np.inf, -2, -2])))
    assert "is missing" in root_text(planted(threshold=np.array([-np.inf, -2, -2])))


@pytest.mark.parametrize(
    ("categories", "text"),
    [
        (("red",), "is red"),
        (("red", "blue"), "in {red, blue}"),
        ((1.0, 2.0), "in {1, 2}"),
        (tuple(f"a color {i}" for i in range(9)), "in {a color 0, +8}"),
        (("a category with a name that is far too long for any box", "b"), "in 2 categories"),
    ],
)
def test_categorical_splits(categories: tuple[object, ...], text: str) -> None:
    assert text in root_text(planted(categories=lambda node: categories if node == 0 else None))


def test_long_names_and_dollars_stay_in_the_box() -> None:
    name = "the price in $ of a rather long name, in $ of 2020"
    shown = root_text(planted(), feature_names=["other", name])[0]
    assert shown.startswith("the price")
    assert "…" in shown
    assert shown.endswith("2020")


def test_many_classes_share_grey() -> None:
    x = np.arange(40.0)[:, None]
    y = np.repeat(np.arange(12), [8, 8, 2, 2, 2, 2, 2, 2, 2, 2, 4, 4])
    tree = DecisionTreeClassifier(random_state=0).fit(x, y)
    ax = plot_tree(tree, max_depth=0)
    drawn = {to_hex(bar.get_facecolor()) for bar in bars(ax, boxes(ax)[0])}
    assert drawn == set(CLASS_COLORS)
    names = [text.get_text() for text in ax.texts]
    assert "other classes" in names
    assert {"0", "1", "10", "11"} <= set(names)
    assert "9" not in names


def test_number_is_short_and_plain() -> None:
    values = [0, 755.0, 0.8, 2.449999988079071, -0.079981234, 12345.6, 1e-9, 1e12, -3.0]
    texts = ["0", "755", "0.8", "2.45", "-0.07998", "12346", "1e-09", "1e+12", "-3"]
    assert [number(value) for value in values] == [text.replace("-", MINUS) for text in texts]


@given(st.text("abcdefgh WMil.", max_size=60), st.floats(20, 200))
def test_shortened_text_fits_and_keeps_what_it_can(text: str, width: float) -> None:
    short = shortened(text, width, 9.0)
    assert text_width(short, 9.0) <= width
    assert (short == text) == (text_width(text, 9.0) <= width)
    head, _, tail = short.partition("…")
    assert text.startswith(head)
    assert text.endswith(tail)


@cache
def bad_estimators() -> list[tuple[Any, dict[str, Any], str]]:
    x, y = make_classification(60, random_state=0)
    deep = DecisionTreeClassifier(random_state=0).fit(np.random.default_rng(0).random((2000, 3)), np.arange(2000) % 2)
    tree = DecisionTreeClassifier(random_state=0).fit(x, y)
    return [
        (DecisionTreeClassifier(), {}, "needs a fitted decision tree, one with tree_, got DecisionTreeClassifier"),
        (RandomForestClassifier(2).fit(x, y), {}, "draws one tree, got an ensemble, RandomForestClassifier: pass one"),
        (DecisionTreeRegressor().fit(x, np.c_[y, y]), {}, "one output, got 2 outputs"),
        (tree, {"feature_names": ["a"]}, "one name for each of the 20 features, got 1"),
        (tree, {"class_names": ["a", "b", "c"]}, "one name for each of the 2 classes, got 3"),
        (tree, {"class_names": "ab"}, "class_names must be a list of 2 names, got 'ab'"),
        (DecisionTreeRegressor().fit(x, y), {"class_names": ["a", "b"]}, "class_names are for classification trees"),
        (tree, {"max_depth": -1}, "max_depth must be a whole number from 0, got -1"),
        (tree, {"max_depth": None}, "max_depth must be a whole number from 0, got None"),
        (deep, {"max_depth": 30}, "draws up to 255 boxes, but max_depth=30 needs"),
        (tree, {"ax": "here"}, "expected a matplotlib Axes to draw on, got str"),
    ]


@pytest.mark.parametrize("case", range(11))
def test_bad_input_of_plot_tree(case: int) -> None:
    estimator, options, message = bad_estimators()[case]
    with pytest.raises(UsageError, match=message) as caught:
        plot_tree(estimator, **options)
    assert "\n" not in str(caught.value)
    assert not plt.get_fignums()
