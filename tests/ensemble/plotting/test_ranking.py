"""Pictures of lambdas and of learning curves of rankers."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from depthforest.base.errors import UsageError

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.text import Annotation  # noqa: E402

from depthforest.ensemble.plotting.ranking import ARROWS, MAX_LENGTH, plot_lambdas, plot_ranking_curves  # noqa: E402
from depthforest.ensemble.ranking import LambdaMART, lambda_gradients, ndcg  # noqa: E402

TOOL = Path(__file__).resolve().parents[3] / "tools" / "ranking_pictures.py"
GRADES, SCORE = [0, 3, 1, 0, 2], [0.5, -1.0, 0.2, 0.1, 2.0]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def arrows(ax):
    return [text for text in ax.texts if isinstance(text, Annotation)]


def test_arrows_are_the_lambdas():
    (ax,) = plot_lambdas(GRADES, SCORE, metrics=("ndcg",))
    order = np.argsort(SCORE)[::-1]
    assert [t.get_text() for t in ax.texts if t.get_text().startswith("grade")] == [f"grade {GRADES[i]}" for i in order]
    push = -lambda_gradients(GRADES, SCORE)[0][order]
    drawn = {round(a.xyann[1]): a.xyann[1] - a.xy[1] for a in arrows(ax)}
    assert max(map(abs, drawn.values())) == pytest.approx(MAX_LENGTH)
    for rank, length in drawn.items():
        assert length == pytest.approx(MAX_LENGTH * push[rank - 1] / np.abs(push).max())
    assert ax.get_title(loc="left") == f"NDCG {ndcg(GRADES, SCORE):.3f}"
    low, high = ax.get_ylim()
    assert all(high <= a.xy[1] <= low for a in arrows(ax))


def test_panels_share_the_scale_of_arrows():
    axes = plot_lambdas(GRADES, {"before": SCORE, "after": np.array(GRADES) * 9.0}, metrics=("ranknet", "map"), k=3)
    assert [ax.get_title(loc="left").split(":")[0] for ax in axes] == ["before", "after"]
    assert axes[1].get_title(loc="left") == "after: NDCG@3 1.000"
    assert arrows(axes[0])
    assert arrows(axes[1]) == []
    labels = [text.get_text() for text in axes[0].figure.legends[0].get_texts()]
    assert labels == ["all pairs alike (RankNet)", "pairs weighed by the change of MAP"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plot_lambdas(np.zeros(41), np.zeros(41)), "draws at most 40 documents, got 41: pass one query"),
        (lambda: plot_lambdas(GRADES, SCORE, metrics=("auc",)), f"metrics must be a tuple of {', '.join(ARROWS)}"),
        (lambda: plot_lambdas(GRADES, SCORE, metrics="ndcg"), "metrics must be a tuple of"),
        (lambda: plot_lambdas(GRADES, [1, 2]), "scores must be one for each of the 5 documents, got 2"),
        (lambda: plot_lambdas(GRADES, {}), "scores must hold at least one panel"),
        (lambda: plot_ranking_curves({}), "draws 1 to 10 rankers in one picture, got 0"),
        (
            lambda: plot_ranking_curves(SimpleNamespace()),
            "needs fitted rankers with train_scores_, but SimpleNamespace has",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(UsageError, match=message):
        call()


def test_curves():
    a = SimpleNamespace(train_scores_=np.array([0.5, 0.7]), validation_scores_=np.array([0.4, 0.3]))
    b = SimpleNamespace(train_scores_=np.array([0.6]), validation_scores_=np.array([]))
    ax = plot_ranking_curves({"first": a, "second": b})
    assert [line.get_label() for line in ax.get_lines()] == [
        "first, training queries: best 0.700", "first, validation queries: best 0.400",
        "second, training queries: best 0.600",
    ]  # fmt: skip
    np.testing.assert_array_equal(ax.get_lines()[1].get_ydata(), [0.4, 0.3])
    own = plt.subplots()[1]
    assert plot_ranking_curves(a, ax=own) is own


def test_rounds_of_trees_are_a_curve_too():
    x = np.random.default_rng(0).normal(size=(40, 2))
    y, qid = np.digitize(x[:, 0], (0, 1)), np.repeat(np.arange(5), 8)
    fitted = LambdaMART(n_estimators=3, min_samples_leaf=2).fit(x, y, qid, X_val=x[:8], y_val=y[:8])
    train, validation = plot_ranking_curves(fitted).get_lines()
    np.testing.assert_array_equal(train.get_ydata(), 1 - fitted.train_score_)
    np.testing.assert_array_equal(validation.get_ydata(), fitted.validation_scores_)
    assert train.get_label().startswith("LambdaMART, training queries: best ")


def test_the_tool_makes_its_pictures(tmp_path, monkeypatch, capsys):
    spec = importlib.util.spec_from_file_location("ranking_pictures", TOOL)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    monkeypatch.setattr(tool, "N_QUERIES", 20)
    monkeypatch.setattr(tool, "EPOCHS", 2)
    tool.main(["-o", str(tmp_path)])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ranking_curves.png", "ranking_lambdas.png"]
    assert all(p.stat().st_size > 5000 for p in tmp_path.iterdir())
    with pytest.raises(SystemExit):
        tool.main(["none"])
    assert "no picture is called none" in capsys.readouterr().err
