"""Tests of depthforest.ensemble.plotting: importances, the out-of-bag curve, decision regions, bad input."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine, make_blobs, make_moons
from sklearn.ensemble import BaggingClassifier, GradientBoostingRegressor, RandomForestClassifier, VotingClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from depthforest.base.errors import UsageError
from depthforest.ensemble.plotting.canvas import CLASS_COLORS, MINUS

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.colors import to_hex, to_rgb  # noqa: E402

from depthforest.ensemble.plotting import plot_decision_regions, plot_importance, plot_oob, plot_tree  # noqa: E402


@pytest.fixture(autouse=True)
def _close_figures() -> Any:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def wine() -> Any:
    return load_wine(as_frame=True)


@pytest.fixture(scope="module")
def forest(wine: Any) -> RandomForestClassifier:
    return RandomForestClassifier(12, max_depth=3, random_state=0).fit(wine.data, wine.target)


def test_importing_needs_no_matplotlib() -> None:
    code = (
        "import sys, depthforest.ensemble.plotting as p; from depthforest.ensemble.plotting import *;"
        "assert sorted(p.__all__) == dir(p); assert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)


def calls() -> list[Callable[[], object]]:
    x, y = make_blobs(20, random_state=0)
    tree = DecisionTreeClassifier().fit(x, y)
    return [
        lambda: plot_tree(tree),
        lambda: plot_importance(tree),
        lambda: plot_oob(SimpleNamespace(oob_errors_=[0.1], classes_=[0, 1])),
        lambda: plot_decision_regions(tree, x, y),
    ]


@pytest.mark.parametrize("call", range(4))
def test_without_matplotlib_one_line_says_how_to_get_it(call: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plot = calls()[call]
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"^plots need matplotlib.*pip install matplotlib$"):
        plot()


# importance


def drawn_importances(ax: Any) -> dict[str, float]:
    names = [label.get_text() for label in ax.get_yticklabels()]
    return dict(zip(names, [bar.get_width() for bar in ax.patches], strict=True))


def whiskers(ax: Any) -> list[tuple[float, float]]:
    return [(segment[0, 0], segment[1, 0]) for segment in ax.collections[0].get_segments()]


def test_impurity_importance_with_its_spread_over_trees(forest: RandomForestClassifier, wine: Any) -> None:
    ax = plot_importance(forest, top=5)
    order = np.argsort(-forest.feature_importances_)[:5]
    assert drawn_importances(ax) == pytest.approx({wine.data.columns[i]: forest.feature_importances_[i] for i in order})
    assert list(drawn_importances(ax)) == [wine.data.columns[i] for i in order]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first one on top
    spread = np.std([tree.feature_importances_ for tree in forest.estimators_], axis=0)
    for (low, high), i in zip(whiskers(ax), order, strict=True):
        mean = forest.feature_importances_[i]
        assert (low, high) == pytest.approx((max(0, mean - spread[i]), mean + spread[i]))
    assert "the first 5 of 13 features" in ax.get_title(loc="left")
    assert "over 12 trees" in ax.get_xlabel()


def test_a_single_tree_has_no_spread(wine: Any) -> None:
    ax = plot_importance(DecisionTreeClassifier(random_state=0).fit(wine.data, wine.target))
    assert not ax.collections
    assert "deviation" not in ax.get_xlabel()


def test_members_that_saw_some_features_only(wine: Any) -> None:
    bagging = BaggingClassifier(
        DecisionTreeClassifier(max_depth=2), 4, max_features=0.5, bootstrap_features=True, random_state=0
    ).fit(wine.data, wine.target)
    each = np.zeros((4, 13))
    for row, columns, tree in zip(each, bagging.estimators_features_, bagging.estimators_, strict=True):
        for column, share in zip(columns, tree.feature_importances_, strict=True):
            row[column] += share
    drawn = drawn_importances(plot_importance(bagging, feature_names=range(13)))
    assert [drawn[str(i)] for i in range(13)] == pytest.approx(list(each.mean(axis=0)))


def test_members_in_a_table_and_members_that_are_ensembles(wine: Any) -> None:
    boosting = GradientBoostingRegressor(n_estimators=3, random_state=0).fit(wine.data, wine.target)
    assert "over 3 trees" in plot_importance(boosting).get_xlabel()
    voting = VotingClassifier([(str(n), RandomForestClassifier(n, max_depth=2, random_state=0)) for n in (2, 3)]).fit(
        wine.data, wine.target
    )
    assert "over 2 members" in plot_importance(voting).get_xlabel()


def test_permutation_importance_as_object_and_as_dict(forest: RandomForestClassifier, wine: Any) -> None:
    result = permutation_importance(forest, wine.data, wine.target, n_repeats=3, random_state=0)
    ax = plot_importance(result, feature_names=wine.feature_names, kind="permutation")
    drawn = drawn_importances(ax)
    assert drawn == pytest.approx(dict(zip(wine.feature_names, result.importances_mean, strict=True)))
    assert "over 3 repeats" in ax.get_xlabel()
    plain = {"mean": result.importances_mean, "std": result.importances_std}
    for given in (plain, SimpleNamespace(**plain), pd.DataFrame(plain)):
        again = plot_importance(given, feature_names=wine.feature_names)
        assert drawn_importances(again) == drawn
        assert whiskers(again) == whiskers(ax)


def test_negative_importances_are_seen() -> None:
    ax = plot_importance({"mean": [0.2, -0.1, -1e-9], "std": [0.0, 0.05, 0.0]})
    assert ax.get_xlim()[0] < -0.15
    assert [text.get_text() for text in ax.texts] == ["0.200", "0.000", f"{MINUS}0.100"]


def test_importances_that_are_no_shares_or_all_zero() -> None:
    counts = SimpleNamespace(feature_importances_=np.array([3, 12]))  # as LightGBM counts splits
    assert plot_importance(counts).get_xlabel() == "importance in the estimator's own unit"
    flat = RandomForestClassifier(2).fit(np.zeros((4, 2)), [0, 0, 1, 1])
    ax = plot_importance(flat)
    assert drawn_importances(ax) == {"x0": 0, "x1": 0}
    ax.figure.canvas.draw()


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (
            RandomForestClassifier(),
            {},
            "needs a fitted estimator with feature_importances_ .* got RandomForestClassifier",
        ),
        ({"std": [1.0]}, {}, "got dict"),
        ({"mean": [1.0, 2.0], "std": [1.0]}, {}, r"equally long, got \(2,\) and \(1,\)"),
        ({"mean": [[1.0]]}, {}, r"one number per feature, got the shape \(1, 1\)"),
        ({"mean": [np.nan]}, {}, "finite"),
        ({"mean": [1.0]}, {"top": 0}, "top must be a whole number from 1, got 0"),
        ({"mean": [1.0]}, {"kind": "gain"}, "kind must be one of impurity, permutation.* got 'gain'"),
        ({"mean": [1.0]}, {"kind": "impurity"}, "got the permutation importance: pass the fitted estimator"),
        ({"mean": [1.0]}, {"feature_names": ["a", "b"]}, "one name for each of the 1 features, got 2"),
        ({"mean": [1.0]}, {"ax": 3}, "matplotlib Axes to draw on, got int"),
    ],
)
def test_bad_input_of_plot_importance(source: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plot_importance(source, **options)
    assert not plt.get_fignums()


def test_kind_permutation_wants_the_result(forest: RandomForestClassifier) -> None:
    with pytest.raises(
        UsageError, match=r"got the impurity importance: pass the result of permutation_importance\(X, y\)"
    ):
        plot_importance(forest, kind="permutation")


# the out-of-bag curve


def test_the_out_of_bag_curves_of_several() -> None:
    first = SimpleNamespace(oob_errors_=np.array([np.nan, 0.4, 0.2]), classes_=[0, 1])
    second = SimpleNamespace(oob_errors_=np.array([0.3, 0.25]), classes_=[0, 1])
    given_axes = plt.subplots()[1]
    ax = plot_oob({"one $": first, "two $": second}, given_axes)
    assert ax is given_axes
    lines = [line for line in ax.lines if len(line.get_xdata()) > 1]
    assert [list(line.get_xdata()) for line in lines] == [[1, 2, 3], [1, 2]]
    np.testing.assert_array_equal(lines[0].get_ydata(), first.oob_errors_)
    assert [line.get_color() for line in lines] == list(CLASS_COLORS[:2])
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["one $: 20.0 % after 3", "two $: 25.0 % after 2"]
    ax.figure.canvas.draw()
    assert ax.get_yticklabels()[0].get_text().endswith(" %")


def test_the_curve_of_a_regressor() -> None:
    ax = plot_oob(SimpleNamespace(oob_errors_=[3000.0, 2500.5]))
    assert ax.get_ylabel() == "mean squared error out of bag"
    assert ax.get_legend().get_texts()[0].get_text() == "SimpleNamespace: 2500 after 2"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (RandomForestClassifier(), "RandomForestClassifier has none: fit it with bootstrap=True and oob_score=True"),
        ({"mine": SimpleNamespace()}, "mine has none"),
        ({}, "1 to 10 ensembles in one picture, got 0"),
        (SimpleNamespace(oob_errors_=[0.1, np.nan]), "the last one a number"),
        (SimpleNamespace(oob_errors_=[[0.1]]), r"got the shape \(1, 1\)"),
        (
            {"a": SimpleNamespace(oob_errors_=[1.0]), "b": SimpleNamespace(oob_errors_=[1.0], classes_=[0])},
            "classifiers or regressors, got both",
        ),
    ],
)
def test_bad_input_of_plot_oob(source: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plot_oob(source)
    assert not plt.get_fignums()


# decision regions


def region_colors(ax: Any) -> np.ndarray:
    return np.asarray(ax.images[0].get_array())


def test_regions_and_points_have_the_colors_of_their_classes() -> None:
    x = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = np.array(["b", "b", "a", "a"])
    tree = DecisionTreeClassifier().fit(x, y)
    axes = plot_decision_regions({"tree": tree, "line": RidgeClassifier().fit(x, y)}, x, y)
    assert len(axes) == 2
    for ax in axes:
        picture = region_colors(ax)
        half = picture.shape[1] // 2
        for side, color in ((picture[:, :half], CLASS_COLORS[1]), (picture[:, half:], CLASS_COLORS[0])):
            expected = 1 - 0.5 * (1 - np.array(to_rgb(color)))  # certain: half the ink
            np.testing.assert_allclose(side, np.broadcast_to(expected, side.shape))
        points = ax.collections[-2:]
        assert [to_hex(scatter.get_facecolor()[0]) for scatter in points] == list(CLASS_COLORS[:2])
        np.testing.assert_array_equal(points[0].get_offsets(), x[2:])
    assert axes[0].get_title() == "tree\naccuracy on these points 100.0 %"
    assert [text.get_text() for text in axes[0].get_legend().get_texts()] == ["a", "b"]


def test_the_less_certain_the_paler_and_the_accuracy_is_that_of_the_points() -> None:
    x, y = make_moons(80, noise=0.4, random_state=0)
    model = GaussianNB().fit(x, y)
    ax = plot_decision_regions(model, x, y)[0]
    assert ax.get_title() == f"GaussianNB\naccuracy on these points {100 * model.score(x, y):.1f} %"
    ink = 3 - region_colors(ax).sum(axis=2)
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    places = np.stack(np.meshgrid(np.linspace(left, right, 7)[1:-1], np.linspace(low, high, 7)[1:-1]), -1).reshape(
        -1, 2
    )
    rows = ((places[:, 1] - low) / (high - low) * ink.shape[0]).astype(int)
    cols = ((places[:, 0] - left) / (right - left) * ink.shape[1]).astype(int)
    for k in (0, 1):
        ours = model.predict(places) == k
        sure = model.predict_proba(places)[ours, k]
        # cells are small, so what is surer by more than a cell's change has more ink
        for i, j in zip(*np.nonzero(sure[:, None] > sure[None, :] + 0.05), strict=True):
            assert ink[rows[ours], cols[ours]][i] > ink[rows[ours], cols[ours]][j]


def test_a_data_frame_names_the_axes_and_given_axes_are_used() -> None:
    x, y = make_blobs(40, random_state=0)
    frame = pd.DataFrame(x, columns=["a $", "b $"])
    model = DecisionTreeClassifier(max_depth=2).fit(frame, y)  # warns about arrays, and warnings are errors
    given_axes = plt.subplots(1, 2)[1]
    axes = plot_decision_regions([model, model], frame, pd.Series(y), given_axes)
    assert list(axes) == list(given_axes)
    assert (axes[1].get_xlabel(), axes[1].get_ylabel()) == ("a $", "b $")
    axes[0].figure.canvas.draw()


class Rejecting:
    """Says "a" at the left, rejects at the right."""

    classes_ = np.array(["a", "b"])

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.where(np.asarray(x)[:, 0] < 0.5, "a", "?")


def test_what_is_rejected_is_white_and_not_right() -> None:
    ax = plot_decision_regions(Rejecting(), [[0, 0], [1, 1]], ["a", "b"])[0]
    picture = region_colors(ax)
    assert np.all(picture[:, -100:] == 1)
    assert not np.any(np.all(picture[:, :100] == 1, axis=2))
    assert ax.get_title().endswith("50.0 %")


def test_four_panels_take_two_rows() -> None:
    x, y = make_blobs(20, random_state=0)
    model = DecisionTreeClassifier(max_depth=1).fit(x, y)
    axes = plot_decision_regions([model] * 4, x, y)
    assert list(axes[0].figure.axes) == list(axes)
    assert len({ax.get_position().y0 for ax in axes}) == 2


@cache
def bad_regions() -> list[tuple[tuple[Any, ...], str]]:
    x, y = make_blobs(60, centers=3, random_state=0)
    model = DecisionTreeClassifier(max_depth=1).fit(x, y)
    other = DecisionTreeClassifier(max_depth=1).fit(x, y + 1)
    wide = DecisionTreeClassifier(max_depth=1).fit(np.c_[x, x], y)
    many = DecisionTreeClassifier(max_depth=1).fit(x, np.arange(60) % 11)
    return [
        ((DecisionTreeClassifier(), x, y), "needs fitted classifiers with classes_, but DecisionTreeClassifier"),
        (
            ({"r": DecisionTreeRegressor().fit(x, y)}, x, y),
            "r is a DecisionTreeRegressor without: fit it first; regressors",
        ),
        (([], x, y), "at least one fitted classifier"),
        (({"p": model, "q": other}, x, y), "p and q differ"),
        ((wide, x, y), "two features, but DecisionTreeClassifier was fitted on 4"),
        ((model, np.c_[x, x], y), r"two features for each point, \(n, 2\), got the shape \(60, 4\)"),
        ((model, x[:, 0], y), r"got the shape \(60,\)"),
        ((model, x[:0], y[:0]), r"got the shape \(0, 2\)"),
        ((model, [["a", "b"]], [0]), "X must hold numbers"),
        ((model, x * np.nan, y), "finite"),
        ((model, x, y[1:]), r"one class for each of the 60 points, got the shape \(59,\)"),
        ((model, x, y + 2), "don't know, such as 3"),
        ((many, x, np.arange(60) % 11), "has colors for 10 classes, got 11"),
        ((model, x, y, []), "one Axes for each of the 1 classifiers, got 0"),
        ((model, x, y, ["here"]), "matplotlib Axes to draw on, got str"),
    ]


@pytest.mark.parametrize("case", range(15))
def test_bad_input_of_plot_decision_regions(case: int) -> None:
    arguments, message = bad_regions()[case]
    with pytest.raises(UsageError, match=message) as caught:
        plot_decision_regions(*arguments)
    assert "\n" not in str(caught.value)
    assert not plt.get_fignums()
