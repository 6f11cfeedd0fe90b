"""Make the pictures of docs about boosting: rounds, weights of the rows, errors, margins, bias, losses, quantiles.

    python tools/boosting_pictures.py [-o FOLDER] [NAME...]

All data are drawn from seeds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from ensemble_pictures import FRESH, Makers, Points, main, two_moons, two_spirals
from sklearn.datasets import make_friedman1
from sklearn.linear_model import Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from depthforest.ensemble import analysis
from depthforest.ensemble.boosting.losses.choice import loss_of
from depthforest.ensemble.plotting import (
    plot_boosting_rounds,
    plot_boosting_weights,
    plot_decision_regions,
    plot_staged_errors,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROUNDS = 200
NOISE = 0.15
"""Share of flipped labels in the picture of noise."""

SIZES = (1, 3, 7, 15, 31, 63, 127)
"""Odd, so that votes of two classes have no ties."""

SAMPLES = 30
"""Training samples for bias and variance: enough to estimate a variance to a quarter."""


def rounds(learners: Any) -> Figure:
    """Draw the decisions of stumps after some rounds, with the weights of the points."""
    x, y = two_moons(150, 0)
    model = learners.AdaBoostClassifier(n_estimators=50, weight_history=True, random_state=0).fit(x, y)
    figure: Figure = plot_boosting_rounds(model, x, y)[0].figure.figure
    return figure


def weights(learners: Any) -> Figure:
    """Draw the weights of the rows by rounds."""
    x, y = two_moons(200, 0)
    model = learners.AdaBoostClassifier(n_estimators=100, weight_history=True, random_state=0).fit(x, y)
    return plot_boosting_weights(model).figure.figure


def errors(learners: Any) -> Figure:
    """Draw the errors by rounds, the bound, and those of the members."""
    x, y = two_moons(300, 0)
    model = learners.AdaBoostClassifier(n_estimators=ROUNDS, random_state=0).fit(x, y)
    data = {"training": (x, y), "fresh points": two_moons(FRESH, 1)}
    return plot_staged_errors({"AdaBoost of stumps": model}, data, rounds=True).figure.figure


def noise(learners: Any) -> Figure:
    """Draw the effect of wrong labels, and that of a lower learning rate."""
    x, y = with_noise(two_moons(300, 0), 2)
    models = {
        f"learning rate {rate:g}": learners.AdaBoostClassifier(
            learners.DecisionTreeClassifier(max_depth=2), n_estimators=ROUNDS, learning_rate=rate, random_state=0
        ).fit(x, y)
        for rate in (1.0, 0.1)
    }
    axes = plot_staged_errors(models, {"training": (x, y), "fresh points, right labels": two_moons(FRESH, 1)})
    axes.set_title(f"{100 * NOISE:.0f} % of the training labels turned over", loc="left")
    return axes.figure.figure


def weak_learners(learners: Any) -> Figure:
    """Draw four kinds of weak learners, alone and boosted."""
    from matplotlib import pyplot as plt

    x, y = two_moons(300, 0)
    fresh = two_moons(FRESH, 1)
    kinds = {
        "a stump": learners.DecisionTreeClassifier(max_depth=1, random_state=0),
        "a perceptron": Perceptron(random_state=0),
        "naive Bayes": GaussianNB(),
        "15 neighbors": KNeighborsClassifier(15),
    }
    panels = {}
    for name, learner in kinds.items():
        panels[_scored(name, learner.fit(x, y), fresh)] = learner
    for name, learner in kinds.items():
        boosted = learners.AdaBoostClassifier(learner, n_estimators=30, random_state=0).fit(x, y)
        panels[_scored(f"{name}, boosted, {len(boosted.estimators_)} rounds", boosted, fresh)] = boosted
    figure: Figure
    figure, axes = plt.subplots(2, 4, figsize=(14, 7.8), layout="constrained", sharex=True, sharey=True)
    plot_decision_regions(panels, x, y, axes)
    return figure


def margins(learners: Any) -> Figure:
    """Draw the margins of the training rows after some rounds."""
    x, y = two_spirals(400, 0)
    tree = learners.DecisionTreeClassifier(max_depth=3)
    model = learners.AdaBoostClassifier(tree, n_estimators=ROUNDS, random_state=0).fit(x, y)
    answers = analysis.member_predictions(model, x)
    scores = list(model.staged_score(x, y))
    named = {}
    for n in (5, 20, ROUNDS):
        shares = model.estimator_weights_[:n] / model.estimator_weights_[:n].sum()
        title = f"{n} rounds, {100 * (1 - scores[n - 1]):.1f} % wrong"
        named[title] = analysis.vote_margins(answers[:n], y, weights=shares)
    axes = analysis.plot_margins(named)
    axes.set_title("margins of the training rows")
    figure = axes.figure.figure
    figure.set_size_inches(6.5, 4.2)
    return figure


def bias(learners: Any) -> Figure:
    """Draw bias and variance of boosted stumps and of bagged trees, by the number of members."""
    from matplotlib import pyplot as plt

    x, y = two_moons(2000, 1)
    ensembles = {
        "AdaBoost of stumps": learners.AdaBoostClassifier(n_estimators=max(SIZES)),
        "bagged full trees": learners.BaggingClassifier(n_estimators=max(SIZES)),
    }
    figure: Figure
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", sharey=True)
    for panel, (name, ensemble) in zip(axes, ensembles.items(), strict=True):
        parts = analysis.bias_variance_by_size(
            ensemble,
            lambda rng: two_moons(300, int(rng.randint(2**31 - 1))),
            x,
            y,
            sizes=SIZES,
            n_rounds=SAMPLES,
            random_state=0,
        )
        analysis.plot_bias_variance(SIZES, parts, ax=panel)
        panel.set_title(name)
    return figure


def losses(learners: Any) -> Figure:  # noqa: ARG001 - as the others
    """Draw the losses of two classes over their margin, and regression losses over the residual."""
    from matplotlib import pyplot as plt

    figure: Figure
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    at = np.linspace(-2.5, 2.5, 501)
    second = np.ones(len(at), dtype=np.int32)
    for name in ("logistic", "exponential", "hinge", "perceptron"):
        axes[0].plot(at, loss_of(name, n_classes=2).value(second, at), label=name)
    axes[0].set(xlabel="margin m = yF", ylim=(0, 4), title="two classes")
    zeros = np.zeros(len(at))
    for name, alpha in (("squared_error", 0.9), ("absolute_error", 0.9), ("huber", 0.5), ("quantile", 0.9)):
        loss = loss_of(name, alpha=alpha)
        loss.prepare(at, zeros, np.ones(len(at)))
        label = f"{name}, alpha {alpha:g}" if name in ("huber", "quantile") else name
        axes[1].plot(at, loss.value(at, zeros), label=label)
    axes[1].set(xlabel="residual y - F", ylim=(0, 3), title="numbers")
    for panel in axes:
        panel.legend(frameon=False)
        panel.spines[["top", "right"]].set_visible(False)
    return figure


def rates(learners: Any) -> Figure:
    """Draw the error by rounds for some learning rates."""
    x, y = make_friedman1(300, noise=1.0, random_state=0)
    fresh = make_friedman1(FRESH, noise=1.0, random_state=1)
    models = {
        f"learning rate {rate:g}": learners.GradientBoostingRegressor(
            n_estimators=ROUNDS, learning_rate=rate, max_depth=4
        ).fit(x, y)
        for rate in (0.02, 0.1, 0.5)
    }
    return plot_staged_errors(models, {"training": (x, y), "fresh points": fresh}).figure.figure


def quantiles(learners: Any) -> Figure:
    """Draw boosted quantiles of numbers whose noise grows."""
    from matplotlib import pyplot as plt

    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 10, 400))
    y = np.sin(x) + rng.normal(0, 0.1 + 0.08 * x)
    grid = np.linspace(0, 10, 500)
    figure: Figure
    figure, panel = plt.subplots(figsize=(9, 3.6), layout="constrained")
    panel.plot(x, y, ".", color="0.7", markersize=4)
    models = {
        alpha: learners.GradientBoostingRegressor(
            loss="quantile", alpha=alpha, n_estimators=100, learning_rate=0.05, min_samples_leaf=15
        ).fit(x[:, None], y)
        for alpha in (0.1, 0.5, 0.9)
    }
    low, middle, high = (model.predict(grid[:, None]) for model in models.values())
    inside = (models[0.9].predict(x[:, None]) >= y).mean()
    panel.fill_between(
        grid,
        low,
        high,
        alpha=0.25,
        label=f"quantiles 0.1 to 0.9; {100 * inside:.0f} % of the points lie below the upper",
    )
    panel.plot(grid, middle, label="the median")
    panel.legend(frameon=False, loc="upper left")
    panel.spines[["top", "right"]].set_visible(False)
    return figure


def with_noise(points: Points, seed: int) -> Points:
    """Return points of which some have the other label."""
    x, y = points
    names = np.unique(y)
    turned = np.random.default_rng(seed).random(len(y)) < NOISE
    return x, np.where(turned, names[1 - np.searchsorted(names, y)], y)


def _scored(name: str, learner: Any, fresh: Points) -> str:
    return f"{name}\n{100 * learner.score(*fresh):.1f} % right on fresh points"


MAKERS: Makers = {
    "boosting_ada_rounds": rounds,
    "boosting_ada_weights": weights,
    "boosting_ada_errors": errors,
    "boosting_ada_noise": noise,
    "boosting_ada_learners": weak_learners,
    "boosting_ada_margins": margins,
    "boosting_bias": bias,
    "boosting_losses": losses,
    "boosting_rates": rates,
    "boosting_quantiles": quantiles,
}


if __name__ == "__main__":
    main(makers=MAKERS, about=__doc__)
