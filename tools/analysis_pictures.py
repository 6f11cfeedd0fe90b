"""Make the pictures of docs/ENSEMBLE_ANALYSIS.md from pixels of synthetic frames, and print the table beside them.

The labels are the 15 regions of a body; test rows come from other frames than training rows.

python tools/analysis_pictures.py docs/pictures
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import AdaBoostClassifier

from depthforest.ensemble import (
    BaggingClassifier,
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    analysis,
)
from depthforest.frames import BODY31_TO_REGIONS15
from depthforest.training import draw_probes, pixel_table
from synth import Config, Generator

SEED = 7
N_MEMBERS = 50
N_TRAIN, N_TEST = 20_000, 5_000
"""Pixels for training and testing: enough to distinguish the ensembles, in minutes of work."""

N_FEATURES = 200
"""Responses of each pixel."""

N_ROUNDS = 15
SIZES = (1, 3, 7, 15, 31)
VOTER_ERRORS = (0.3, 0.45)
CORRELATIONS = (0.0, 0.1, 0.3)

COLUMNS = ("ensemble error", "mean member error", "kappa", "double fault", "strength", "raw margin correlation")
"""Rows of a report that become the columns of the table."""


def make_pictures(X: npt.NDArray[Any], y: npt.NDArray[Any], folder: Path) -> dict[str, analysis.Report]:
    """Write the pictures into a folder and return the reports they show, by the name of the ensemble.

    Parameters
    ----------
    X : array (n, n_features)
        Features of pixels, frame by frame: the first 60 % of the rows are for training and the rest for testing, so
        that at most one frame is in both.
    y : array (n,)
        Labels of the pixels.
    folder : Path
        Made if it is missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    train, test = _drawn_rows(len(y))
    # a part that only occurs in test frames cannot be learned
    test = test[np.isin(y[test], np.unique(y[train]))]
    reports = {
        name: analysis.report(ensemble.fit(X[train], y[train]), X[test], y[test])
        for name, ensemble in _ensembles().items()
    }
    _draw_voters(folder / "ensemble_voters.png")
    _draw_pairs(reports, folder / "ensemble_kappa_error.png")
    _draw_margins(reports, folder / "ensemble_margins.png")
    _draw_bias_variance(X, y, train, test, folder / "ensemble_bias_variance.png")
    reports["random forest"].plot(folder / "ensemble_report.png")
    _close_all()
    return reports


def table(reports: dict[str, analysis.Report]) -> str:
    """Return the figures of several reports as a table of Markdown."""
    lines = ["| | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    for name, report in reports.items():
        lines.append(f"| {name} | " + " | ".join(f"{report[column]:.3f}" for column in COLUMNS) + " |")
    return "\n".join(lines)


def _ensembles() -> dict[str, Any]:
    """Return ensembles that make their members differ in different ways, by name."""
    tree = DecisionTreeClassifier()
    return {
        "bagging": BaggingClassifier(tree, N_MEMBERS, random_state=SEED),
        "random subspace": BaggingClassifier(tree, N_MEMBERS, bootstrap=False, max_features=0.3, random_state=SEED),
        "random forest": RandomForestClassifier(N_MEMBERS, random_state=SEED),
        "extra trees": ExtraTreesClassifier(N_MEMBERS, random_state=SEED),
        "boosted trees": AdaBoostClassifier(
            DecisionTreeClassifier(max_depth=8), n_estimators=N_MEMBERS, random_state=SEED
        ),
    }


def _drawn_rows(n: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return training rows and test rows."""
    rng = np.random.default_rng(SEED)
    border = int(0.6 * n)
    train, test = np.arange(border), np.arange(border, n)
    return (
        np.sort(rng.choice(train, min(N_TRAIN, len(train)), replace=False)),
        np.sort(rng.choice(test, min(N_TEST, len(test)), replace=False)),
    )


def _draw_voters(path: Path) -> None:
    figure, panels = _panels(len(VOTER_ERRORS))
    for error, axes in zip(VOTER_ERRORS, panels, strict=True):
        analysis.plot_voters(error, correlations=CORRELATIONS, max_voters=101, ax=axes)
    figure.savefig(path, dpi=100)


def _draw_pairs(reports: dict[str, analysis.Report], path: Path) -> None:
    figure, (axes,) = _panels(1)
    for name, report in reports.items():
        label = f"{name}: error {report['ensemble error']:.3f}"
        analysis.plot_kappa_error(report.predictions, report.y, label=label, ax=axes)
    figure.savefig(path, dpi=100)


def _draw_margins(reports: dict[str, analysis.Report], path: Path) -> None:
    figure, (axes,) = _panels(1)
    analysis.plot_margins({name: report.margins["votes"] for name, report in reports.items()}, ax=axes)
    figure.savefig(path, dpi=100)


def _draw_bias_variance(
    X: npt.NDArray[Any],
    y: npt.NDArray[Any],
    train: npt.NDArray[np.int64],
    test: npt.NDArray[np.int64],
    path: Path,
) -> None:
    """Draw forests of deep and of shallow trees: the former have variance, the latter bias."""
    figure, panels = _panels(2)
    for depth, axes in zip((None, 4), panels, strict=True):
        forest = RandomForestClassifier(max(SIZES), max_depth=depth)
        draw = analysis.bootstrap(X[train], y[train])
        parts = analysis.bias_variance_by_size(
            forest, draw, X[test], y[test], sizes=SIZES, n_rounds=N_ROUNDS, random_state=SEED
        )
        analysis.plot_bias_variance(SIZES, parts, ax=axes)
        axes.set_title("forests of full trees" if depth is None else f"forests of trees of depth {depth}")
    panels[1].sharey(panels[0])
    panels[0].autoscale(axis="y")
    figure.savefig(path, dpi=100)


def _panels(n: int) -> tuple[Any, list[Any]]:
    from matplotlib import pyplot

    width = 5 * n if n > 1 else 6.5
    figure, grid = pyplot.subplots(1, n, figsize=(width, 4.2), layout="constrained", squeeze=False)
    return figure, list(grid[0])


def _close_all() -> None:
    from matplotlib import pyplot

    pyplot.close("all")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--frames", type=int, default=800)
    options = parser.parse_args()
    frames = list(Generator(Config(camera="kinect_v1@320x240"), seed=SEED, n=options.frames))
    pixels = pixel_table(frames, 50 * options.frames, draw_probes(N_FEATURES, SEED), seed=SEED)
    order = np.argsort(pixels.frames, kind="stable")
    regions = BODY31_TO_REGIONS15.apply(pixels.labels[order])
    print(table(make_pictures(pixels.x[order], regions, options.folder)))


if __name__ == "__main__":
    main()
