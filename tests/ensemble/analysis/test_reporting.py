"""The report, and the plots it is made of."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import BaggingClassifier, BaggingRegressor, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from depthforest.base.errors import UsageError
from depthforest.ensemble import analysis

POINTS, CODES = make_classification(300, 6, n_informative=5, n_redundant=0, n_classes=3, random_state=0)
TRAIN, TEST = slice(0, 150), slice(150, 300)
WORDS = np.array(["oak", "ash", "elm"])[CODES]


@pytest.fixture(scope="module")
def forest() -> RandomForestClassifier:
    return RandomForestClassifier(21, max_depth=3, random_state=0).fit(POINTS[TRAIN], WORDS[TRAIN])


@pytest.fixture
def _canvas():
    """Draw without a window, and close what was drawn."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def test_the_report_of_a_classifier(forest: RandomForestClassifier) -> None:
    report = analysis.report(forest, POINTS[TEST], WORDS[TEST])
    predictions = analysis.member_predictions(forest, POINTS[TEST])
    members = (predictions != WORDS[TEST]).mean(axis=1)
    assert report["ensemble error"] == pytest.approx(1 - forest.score(POINTS[TEST], WORDS[TEST]))
    assert report["mean member error"] == pytest.approx(members.mean())
    assert (report["best member error"], report["worst member error"]) == pytest.approx((members.min(), members.max()))
    assert report["mean member error"] == pytest.approx(report["vote error"] + report["net variance"])
    pairs = analysis.pairwise_diversity(predictions, WORDS[TEST]).means()
    assert report["kappa"] == pytest.approx(pairs["kappa"])
    assert report["Q statistic"] == pytest.approx(pairs["q_statistic"])
    margins = analysis.vote_margins(predictions, WORDS[TEST])
    assert report["strength"] == pytest.approx(margins.mean())
    assert report["half wrong, independent"] == analysis.majority_error(21, members)
    probable = analysis.probability_margins(forest.predict_proba(POINTS[TEST]), WORDS[TEST], classes=forest.classes_)
    np.testing.assert_allclose(report.margins["probabilities"], probable)
    with pytest.raises(KeyError):
        report["beauty"]


def test_the_table(forest: RandomForestClassifier) -> None:
    report = analysis.report(forest, POINTS[TEST], WORDS[TEST])
    text = str(report)
    assert text.startswith("RandomForestClassifier: 21 members on 150 samples\n\naccuracy\n")
    lines = [line for line in text.splitlines() if line.startswith("  ")]
    assert len(lines) == len(report.rows)
    ends = {
        line.index(f"{row.value:.4g}", 2 + len(row.name)) + len(f"{row.value:.4g}")
        for line, row in zip(lines, report.rows, strict=True)
    }
    assert len(ends) == 1  # values stand in one column
    assert all(line == line.rstrip() for line in text.splitlines())


def test_the_dictionary_is_json() -> None:
    class Right(DecisionTreeClassifier):
        pass

    perfect = VotingClassifier([("a", Right(random_state=0)), ("b", Right(random_state=0))]).fit(POINTS, CODES)
    values = analysis.report(perfect, POINTS, CODES).to_dict()
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert values["ensemble error"] == 0
    assert values["Q statistic"] is None
    assert values["Breiman's bound"] == 0
    assert "undefined" in str(analysis.report(perfect, POINTS, CODES))


def test_votes_alone_have_no_probability_margin() -> None:
    voting = VotingClassifier([("a", GaussianNB()), ("b", RidgeClassifier())]).fit(POINTS, CODES)
    report = analysis.report(voting, POINTS, CODES)
    assert set(report.margins) == {"votes"}
    assert "mean probability margin" not in report.to_dict()


class Weighted(RegressorMixin, BaseEstimator):
    """A fitted regressor that averages with weights."""

    def __init__(self, ensemble=None, weights=None):
        self.ensemble = ensemble
        self.weights = weights
        self.estimators_ = ensemble.estimators_
        self.weights_ = np.array(weights)

    def predict(self, X):
        return self.weights_ @ [member.predict(X) for member in self.estimators_]


def test_the_report_of_a_regressor() -> None:
    points, y = make_regression(120, 4, noise=5, random_state=0)
    bagged = BaggingRegressor(n_estimators=3, random_state=0).fit(points[:60], y[:60])
    weighted = Weighted(bagged, [0.2, 0.3, 0.5])
    for ensemble in (bagged, weighted):
        report = analysis.report(ensemble, points[60:], y[60:])
        error = np.mean((ensemble.predict(points[60:]) - y[60:]) ** 2)
        assert report["ensemble error"] == pytest.approx(error)
        assert report["error of the mean"] == pytest.approx(error)
        assert report["mean member error"] == pytest.approx(error + report["ambiguity"])
    errors = analysis.member_predictions(bagged, points[60:]) - y[60:]
    pairs = np.corrcoef(errors)[np.triu_indices(3, k=1)]
    assert report["correlation of errors"] == pytest.approx(pairs.mean())
    assert report.margins == {}


@pytest.mark.usefixtures("_canvas")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda f: analysis.report(f, POINTS[:2], ["oak", "fir"]),
            "labels that the ensemble was not fitted with: 'fir'",
        ),
        (lambda f: analysis.report(f, POINTS[:2], [1, 2]), "labels that the ensemble was not fitted with: 1, 2"),
        (lambda f: analysis.report(f, POINTS[:2], ["oak"]), "the same number of rows, got 2 and 1"),
        (lambda f: analysis.report(f, POINTS[:0], []), "y is empty"),
        (lambda _: analysis.report(RandomForestClassifier(), POINTS, WORDS), "RandomForestClassifier is not fitted"),
        (
            lambda _: analysis.report(BaggingClassifier(n_estimators=1).fit(POINTS, WORDS), POINTS, WORDS),
            "an ensemble of one member has no diversity",
        ),
        (lambda _: analysis.plot_margins({}), "margins is empty"),
        (lambda _: analysis.plot_bias_variance([1, 2], []), "a decomposition for each size, got 0 for 2 sizes"),
        (lambda _: analysis.plot_voters(0.3, correlations=[-0.1]), "must not be negative, got -0.1"),
        (lambda _: analysis.plot_voters(1.3), "error must be a number from 0 to 1"),
    ],
)
def test_bad_input(forest: RandomForestClassifier, call, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        call(forest)
    assert "\n" not in str(caught.value)


def test_losses_are_not_mixed_in_a_plot() -> None:
    one = analysis.squared_decomposition([[1, 2]] * 2, [1, 2])
    two = analysis.zero_one_decomposition([[1, 2]] * 2, [1, 2])
    with pytest.raises(UsageError, match="have different losses: draw them separately"):
        analysis.plot_bias_variance([1, 2], [one, two])


@pytest.mark.usefixtures("_canvas")
def test_kappa_error_draws_pairs_and_their_mean() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=60)
    predictions = np.where(rng.random((4, 60)) < 0.8, y, 1 - y)
    axes = analysis.plot_kappa_error(predictions, y, label="first")
    assert analysis.plot_kappa_error(predictions[:3], y, label="second", ax=axes) is axes
    pairs, mean, others, _ = axes.collections
    assert (len(pairs.get_offsets()), len(others.get_offsets())) == (6, 3)
    kappas = analysis.pairwise_diversity(predictions, y).kappa[np.triu_indices(4, k=1)]
    errors = (predictions != y).mean(axis=1)
    np.testing.assert_allclose(pairs.get_offsets()[:, 0], kappas)
    np.testing.assert_allclose(pairs.get_offsets()[0, 1], errors[:2].mean())
    np.testing.assert_allclose(mean.get_offsets()[0], [kappas.mean(), errors.mean()])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["first", "second"]
    assert not np.array_equal(pairs.get_facecolor(), others.get_facecolor())


@pytest.mark.usefixtures("_canvas")
def test_margins_are_drawn_as_their_distribution() -> None:
    axes = analysis.plot_margins({"a": [0.5, -0.5, 0.5], "b": [1.0]})
    x, height = axes.lines[0].get_data()
    np.testing.assert_allclose(x, [-1, -0.5, 0.5, 1])
    np.testing.assert_allclose(height, [0, 1 / 3, 1, 1])
    assert axes.lines[0].get_drawstyle() == "steps-post"  # the share is reached at the margin, not before
    assert analysis.plot_margins([0.1], ax=axes) is axes


@pytest.mark.usefixtures("_canvas")
def test_bias_and_variance_are_drawn() -> None:
    parts = [analysis.squared_decomposition([[1, 2.5], [2, 3]], [1, 2], noise=noise) for noise in (0.5, 0.25)]
    axes = analysis.plot_bias_variance([1, 4], parts)
    lines = {line.get_label(): line.get_ydata() for line in axes.lines}
    np.testing.assert_allclose(lines["error"], [one.error for one in parts])
    np.testing.assert_allclose(lines["noise"], [0.5, 0.25])
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "4"]


@pytest.mark.usefixtures("_canvas")
def test_voters_are_drawn() -> None:
    axes = analysis.plot_voters(0.3, correlations=(0, 0.2), max_voters=6)
    lines = {line.get_label(): line.get_data() for line in axes.lines}
    np.testing.assert_array_equal(lines["independent"][0], [1, 3, 5])
    assert lines["correlation 0.2"][1][2] == analysis.majority_error(5, 0.3, correlation=0.2)
    assert lines["bound, independent"][1][1] == analysis.hoeffding_bound(3, 0.3)
    assert len(analysis.plot_voters(0.6, max_voters=3).lines) == 1  # no bound there


@pytest.mark.usefixtures("_canvas")
def test_the_figure_of_a_report(forest: RandomForestClassifier, tmp_path: Path) -> None:
    path = tmp_path / "report.png"
    report = analysis.report(forest, POINTS[TEST], WORDS[TEST])
    figure = report.plot(path)
    assert path.read_bytes().startswith(b"\x89PNG")
    titles = [axes.get_title() for axes in figure.axes]
    assert titles[:2] == ["pairs of members", "margins"]
    votes, most = figure.axes[2].lines[-2:]
    assert votes.get_ydata()[-1] == report["vote error"]  # 21 members: the last odd number is all
    assert most.get_ydata()[-1] == report["half wrong"]
    assert len(figure.axes[3].lines) == 4  # error, bias, net variance, and the zero line


@pytest.mark.usefixtures("_canvas")
def test_small_and_regressing_ensembles_have_fewer_panels() -> None:
    points, y = make_regression(60, 4, random_state=0)
    figure = analysis.report(BaggingRegressor(n_estimators=15, random_state=0).fit(points, y), points, y).plot()
    assert [axes.get_title() for axes in figure.axes] == [
        "members and their mean",
        "groups of members: bias and variance",
    ]
    small = VotingClassifier([("a", DecisionTreeClassifier(max_depth=2)), ("b", GaussianNB())]).fit(POINTS, CODES)
    figure = analysis.report(small, POINTS, CODES).plot()
    assert [axes.get_title() for axes in figure.axes if axes.axison][2].startswith("voters of error")
    assert sum(axes.axison for axes in figure.axes) == 3


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"plots need matplotlib, which is not installed: run pip install matplotlib"):
        analysis.plot_voters(0.3)


def test_the_package_is_lazy() -> None:
    code = (
        "import sys, depthforest.ensemble.analysis as a; assert 'report' in dir(a); assert 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)


def test_modules_import_without_matplotlib() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import depthforest.ensemble.analysis.plots, depthforest.ensemble.analysis.reporting"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)


def test_every_public_name_is_there() -> None:
    for name in analysis.__all__:
        assert callable(getattr(analysis, name)), name
        assert getattr(analysis, name).__doc__, name
    with pytest.raises(AttributeError, match="attribute beauty"):
        analysis.beauty  # noqa: B018


def test_half_wrong_meets_the_theory_of_correlated_voters() -> None:
    """Drawn voters as an ensemble's answers: the report's correlation gives back what they were drawn with."""
    wrong = analysis.draw_voters(11, 0.3, correlation=0.3, n_cases=4000, random_state=0)
    parts = analysis.zero_one_decomposition(wrong.astype(int), np.zeros(4000, dtype=int))
    assert parts.bias == pytest.approx(analysis.majority_error(11, 0.3, correlation=0.3), abs=0.03)
    assert math.isclose(parts.error, wrong.mean())
