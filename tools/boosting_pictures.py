"""Make the pictures of docs about boosting: rounds, weights of the rows, errors, weak learners, margins, bias.

    python tools/boosting_pictures.py [-o FOLDER] [NAME...]

All data are drawn from seeds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from ensemble_pictures import FRESH, Makers, Points, main, two_moons, two_spirals
from sklearn.linear_model import Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from depthforest.ensemble import analysis
from depthforest.ensemble.plotting.boosting import plot_boosting_rounds, plot_boosting_weights, plot_staged_errors
from depthforest.ensemble.plotting.decisionregions import plot_decision_regions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROUNDS = 200
NOISE = 0.15
"""Share of labels that are turned over where noise is shown."""

SIZES = (1, 3, 7, 15, 31, 63, 127)
"""Odd, so that votes of two classes have no ties."""

SAMPLES = 30
"""Training samples by which bias and variance are told: a variance to within a quarter of itself."""


def rounds(learners: Any) -> Figure:
    """Draw what stumps decide after some rounds, with the weights of the points."""
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
    """Draw what wrong labels do, and a lower learning rate against it."""
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
        "15 neighbours": KNeighborsClassifier(15),
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
}


if __name__ == "__main__":
    main(makers=MAKERS, about=__doc__)
