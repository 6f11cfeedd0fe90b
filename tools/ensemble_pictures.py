"""Make the pictures of docs about ensembles: trees, importances, out-of-bag curves, decision regions.

    python tools/ensemble_pictures.py [-o FOLDER] [NAME...]

Each picture is made by depthforest.ensemble.plotting from data that scikit-learn bundles or that is drawn from a seed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine, make_moons

from depthforest.base import make_folder, replacing
from depthforest.ensemble.plotting import plot_decision_regions, plot_importance, plot_oob, plot_tree

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Points = tuple[npt.NDArray[np.float64], npt.NDArray[Any]]
Makers = Mapping[str, Callable[[Any], Any]]

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
# pages show pictures of 9 inches at 900 pixels; more for high-resolution screens
DPI = 130
TREES = 100
FRESH = 10_000
"""Unseen points: enough for an accuracy to a third of a percent."""


def two_moons(n: int, seed: int) -> Points:
    """Return n points of two half moons that overlap."""
    x, y = make_moons(n, noise=0.28, random_state=seed)
    return x, np.where(y == 0, "upper", "lower")


def two_spirals(n: int, seed: int) -> Points:
    """Return n points of two arms of a spiral, each of two turns, equally dense, with noise."""
    rng = np.random.default_rng(seed)
    angle = 4 * np.pi * np.sqrt(rng.uniform(0.02, 1.0, n))
    arm = np.arange(n) % 2
    x = angle[:, None] * np.stack([np.cos(angle + np.pi * arm), np.sin(angle + np.pi * arm)], axis=1)
    return x + rng.normal(0, 0.9, (n, 2)), np.where(arm == 0, "first", "second")


def tree(learners: Any) -> Figure:
    """Draw a classification tree."""
    wine = load_wine(as_frame=True)
    fitted = learners.DecisionTreeClassifier(random_state=0).fit(wine.data, wine.target)
    return plot_tree(fitted, class_names=["cultivar 1", "cultivar 2", "cultivar 3"]).figure.figure


def regression_tree(learners: Any) -> Figure:
    """Draw a regression tree."""
    diabetes = load_diabetes(as_frame=True, scaled=False)
    fitted = learners.DecisionTreeRegressor(min_samples_leaf=20, random_state=0).fit(diabetes.data, diabetes.target)
    return plot_tree(fitted, max_depth=3).figure.figure


def importance(learners: Any) -> Figure:
    """Draw the impurity importance of a forest."""
    cancer = load_breast_cancer(as_frame=True)
    forest = learners.RandomForestClassifier(TREES, random_state=0).fit(cancer.data, cancer.target)
    return plot_importance(forest, top=15).figure.figure


def out_of_bag(learners: Any) -> Figure:
    """Draw out-of-bag curves of forests that differ in how many features a node tries."""
    cancer = load_breast_cancer(as_frame=True)
    forests = {
        name: learners.RandomForestClassifier(2 * TREES, max_features=tried, oob_score=True, random_state=0).fit(
            cancer.data, cancer.target
        )
        for name, tried in (("all 30 features (bagging)", None), ("5 features a node", "sqrt"), ("1 feature a node", 1))
    }
    return plot_oob(forests).figure.figure


def regions(learners: Any, sample: Callable[[int, int], Points], n: int) -> Figure:
    """Draw the decisions of a single tree and of bagged ones, with their accuracy on unseen points."""
    x, y = sample(n, 0)
    fresh_x, fresh_y = sample(FRESH, 1)
    fitted = {
        "a single tree": learners.DecisionTreeClassifier(random_state=0),
        f"{TREES} bagged trees": learners.BaggingClassifier(n_estimators=TREES, random_state=0),
    }
    panels = {}
    for title, learner in fitted.items():
        accuracy = learner.fit(x, y).score(fresh_x, fresh_y)
        panels[f"{title}: {100 * accuracy:.1f} % right on fresh points"] = learner
    figure: Figure = plot_decision_regions(panels, x, y)[0].figure.figure
    return figure


MAKERS: Makers = {
    "ensemble_tree": tree,
    "ensemble_regression_tree": regression_tree,
    "ensemble_importance": importance,
    "ensemble_oob": out_of_bag,
    "ensemble_moons": lambda learners: regions(learners, two_moons, 300),
    "ensemble_spirals": lambda learners: regions(learners, two_spirals, 400),
}


def make_pictures(learners: Any, folder: Path, names: Sequence[str], makers: Makers = MAKERS) -> None:
    """Make the named pictures with the learners of a module that has scikit-learn's names."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    mpl.use("agg")  # needs no window system
    make_folder(folder)
    for name in names:
        figure = makers[name](learners)
        with replacing(folder / f"{name}.png") as file:
            figure.savefig(file, format="png", dpi=DPI, metadata={"Software": None})
        plt.close(figure)
        print(f"look at {folder / f'{name}.png'}")


def main(arguments: Sequence[str] | None = None, makers: Makers = MAKERS, about: str | None = __doc__) -> None:
    """Make the requested pictures."""
    from depthforest import ensemble

    parser = argparse.ArgumentParser(description=(about or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(makers)}; by default all")
    parser.add_argument("-o", "--output", type=Path, default=PICTURES)
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in makers]
    if unknown:
        parser.error(f"no picture is called {unknown[0]}: choose of {', '.join(makers)}")
    make_pictures(ensemble, options.output, options.names or list(makers), makers)


if __name__ == "__main__":
    main()
