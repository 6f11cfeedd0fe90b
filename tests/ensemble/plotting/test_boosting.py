"""Tests of the pictures of boosting: errors, weights of the rows and decision regions by rounds."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris, make_moons
from sklearn.ensemble import AdaBoostClassifier as SklearnAdaBoost
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.naive_bayes import GaussianNB

from depthforest.base.errors import UsageError
from depthforest.ensemble.adaboost.estimator import AdaBoostClassifier

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402

from depthforest.ensemble.plotting.boosting import (  # noqa: E402
    plot_boosting_rounds,
    plot_boosting_weights,
    plot_staged_errors,
)
from depthforest.ensemble.plotting.decisionregions import WEIGHED_AREAS, plot_decision_regions  # noqa: E402

X, Y = make_moons(60, noise=0.25, random_state=0)


@pytest.fixture(autouse=True)
def _close_figures() -> Any:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def boosted() -> AdaBoostClassifier:
    return AdaBoostClassifier(n_estimators=12, weight_history=True).fit(X, Y)


def labels(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize(
    "call",
    [
        lambda model: plot_staged_errors(model, (X, Y)),
        lambda model: plot_boosting_weights(model),
        lambda model: plot_boosting_rounds(model, X, Y),
    ],
)
def test_without_matplotlib_one_line_says_how_to_get_it(
    call: Any, boosted: AdaBoostClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"^plots need matplotlib.*pip install matplotlib$"):
        call(boosted)


# errors by rounds


def test_curves_are_the_staged_errors_of_each_learner_and_data_set(boosted: AdaBoostClassifier) -> None:
    theirs = SklearnAdaBoost(n_estimators=5, random_state=0).fit(X, Y)
    sets = {"first": (X[:30], Y[:30]), "second": (X[30:].tolist(), Y[30:])}
    ax = plot_staged_errors({"ours": boosted, "theirs": theirs}, sets)
    wanted = [1 - np.array(list(model.staged_score(*rows))) for model in (boosted, theirs) for rows in sets.values()]
    assert len(ax.lines) == 4
    for line, errors in zip(ax.lines, wanted, strict=True):
        np.testing.assert_allclose(line.get_ydata(), errors)
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, len(errors) + 1))
    assert labels(ax)[2] == f"theirs, first: {100 * wanted[2][-1]:.1f} % after 5"
    assert ax.lines[0].get_color() == ax.lines[1].get_color() != ax.lines[2].get_color()
    assert ax.lines[0].get_linestyle() == ax.lines[2].get_linestyle() != ax.lines[1].get_linestyle()


def test_anybodys_gradient_boosting_is_drawn() -> None:
    data, target = load_diabetes(return_X_y=True)
    regressor = GradientBoostingRegressor(n_estimators=4, random_state=0).fit(data, target)
    ax = plot_staged_errors(regressor, (data, target))
    wanted = [np.mean((stage - target) ** 2) for stage in regressor.staged_predict(data)]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), wanted)
    assert labels(ax) == [f"GradientBoostingRegressor: {wanted[-1]:.0f} after 4"]
    assert ax.get_ylabel() == "mean squared error"
    classifier = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X, np.where(Y, "a", "b"))
    own = plt.subplots()[1]
    assert plot_staged_errors(classifier, (X, np.where(Y, "a", "b")), own) is own
    assert own.get_ylabel() == "share wrong"


def test_rounds_add_the_members_errors_and_the_bound(boosted: AdaBoostClassifier) -> None:
    ax = plot_staged_errors(boosted, (X, Y), rounds=True)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), boosted.estimator_errors_)
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), boosted.error_bound_)
    assert (ax.lines[2].get_ydata() <= ax.lines[1].get_ydata()).all()
    many = AdaBoostClassifier(n_estimators=3).fit(*load_iris(return_X_y=True))  # no bound
    assert len(plot_staged_errors(many, load_iris(return_X_y=True), rounds=True).lines) == 2


# weights


def test_the_picture_of_weights_has_the_hardest_rows_on_top(boosted: AdaBoostClassifier) -> None:
    ax = plot_boosting_weights(boosted)
    drawn = np.asarray(ax.images[0].get_array())
    assert drawn.shape == (60, 12)
    np.testing.assert_allclose(drawn[:, 0], 0, atol=1e-12)  # all rows weigh the mean at first
    order = np.argsort(-boosted.weight_history_.mean(axis=0), kind="stable")
    wanted = np.clip(np.log2(60 * boosted.weight_history_[:, order].T), -4, 4)
    np.testing.assert_allclose(drawn, wanted, atol=1e-12)
    assert drawn[0].mean() > drawn[-1].mean() + 2


def test_rows_without_weight_have_the_last_color() -> None:
    weights = np.ones(60)
    weights[:5] = 0
    model = AdaBoostClassifier(n_estimators=3, weight_history=True).fit(X, Y, weights)
    drawn = np.asarray(plot_boosting_weights(model).images[0].get_array())
    assert (drawn[-5:] == -4).all()


# regions by rounds


def test_a_panel_for_each_number_of_rounds(boosted: AdaBoostClassifier) -> None:
    axes = plot_boosting_rounds(boosted, X, Y, rounds=(1, 4, 12, 99))
    scores = list(boosted.staged_score(X, Y))
    assert [ax.get_title() for ax in axes] == [
        f"{t} round{'s' if t > 1 else ''}\naccuracy on these points {100 * scores[t - 1]:.1f} %" for t in (1, 4, 12)
    ]
    for ax, t in zip(axes, (1, 4, 12), strict=True):
        drawn = np.concatenate([points.get_sizes() for points in ax.collections[-2:]])
        weights = np.concatenate([boosted.weight_history_[t - 1][k == Y] for k in (0, 1)])
        wanted = np.clip(34 * weights * 60, *WEIGHED_AREAS)
        np.testing.assert_allclose(drawn, wanted)


def test_without_a_history_points_are_equal() -> None:
    frame = pd.DataFrame(X, columns=["east", "north"])
    model = AdaBoostClassifier(n_estimators=3).fit(frame, Y)
    axes = plot_boosting_rounds(model, frame, Y, rounds=[2])
    assert set(axes[0].collections[-1].get_sizes()) == {34.0}
    assert axes[0].get_xlabel() == "east"


# bad input


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda _: plot_staged_errors({}, (X, Y)), "plot_staged_errors draws 1 to 10 learners, got 0"),
        (lambda m: plot_staged_errors(m, {}), "plot_staged_errors draws 1 to 4 data sets, got 0"),
        (
            lambda m: plot_staged_errors(m, [X, Y, Y]),
            "data must be a pair (X, y) or a mapping of names to pairs, got a list",
        ),
        (
            lambda m: plot_staged_errors(m, (X, Y[:5])),
            "y must hold one answer for each of the 60 rows of X, got the shape (5,)",
        ),
        (
            lambda _: plot_staged_errors(GaussianNB().fit(X, Y), (X, Y)),
            "plot_staged_errors needs fitted estimators with staged_predict, but GaussianNB has none",
        ),
        (
            lambda m: plot_staged_errors({"a": m, "b": GradientBoostingRegressor(n_estimators=1).fit(X, Y)}, (X, Y)),
            "plot_staged_errors draws classifiers or regressors, got both: their errors have no common scale",
        ),
        (
            lambda m: plot_staged_errors({"a": m, "b": m}, (X, Y), rounds=True),
            "rounds=True draws the rounds of one fitted AdaBoost: pass it alone, or leave rounds out",
        ),
        (
            lambda _: plot_boosting_weights(GaussianNB()),
            "row weights are missing because GaussianNB has no weight_history_: fit it with weight_history=True",
        ),
        (
            lambda _: plot_boosting_rounds(GaussianNB(), X, Y),
            "plot_boosting_rounds needs a fitted classifier with staged_predict, got a GaussianNB: fit it first",
        ),
        (
            lambda m: plot_boosting_rounds(m, X, Y, rounds=[13]),
            "rounds must contain a number from 1 to 12, the number of rounds, got [13]",
        ),
        (
            lambda m: plot_boosting_rounds(m, X, Y, rounds=[0]),
            "a number of rounds must be a whole number from 1, got 0",
        ),
        (
            lambda m: plot_boosting_rounds(m, X[:9], Y[:9]),
            "X and y must be the 60 training rows, to show their weights; got 9 rows",
        ),
        (
            lambda m: plot_decision_regions(m, X, Y, weights=np.ones(60)),
            "weights must have the shape (1, 60), classifiers and points, got the shape (60,)",
        ),
        (
            lambda m: plot_decision_regions(m, X, Y, weights=np.zeros((1, 60))),
            "weights must be finite, not negative, and not all zero in any panel",
        ),
    ],
)
def test_bad_input_is_one_line(call: Any, line: str, boosted: AdaBoostClassifier) -> None:
    with pytest.raises(UsageError) as raised:
        call(boosted)
    assert str(raised.value) == line
