"""Draw how bias and variance change with the members of boosting and of bagging, on the same data.

The data are Friedman's first function with noise, drawn again for every round, so that bias, variance and noise are
known separately. Shallow trees are boosted, full ones bagged.

python tools/boosting_bias_variance.py docs/pictures/boosting_bias_variance.png
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import make_friedman1

from depthforest.ensemble import BaggingRegressor, DecisionTreeRegressor, GradientBoostingRegressor, analysis

SIZES = (1, 3, 10, 30, 100)
N_TRAIN, N_TEST, N_ROUNDS = 200, 500, 30
NOISE = 1.0
"""Standard deviation of the irreducible noise."""

SEED = 7


def ensembles(n_members: int) -> dict[str, Any]:
    """Return boosting of shallow trees and bagging of full ones, by the title of their panels."""
    return {
        "boosted trees of depth 2": GradientBoostingRegressor(n_estimators=n_members, max_depth=2, learning_rate=0.2),
        "bagged full trees": BaggingRegressor(DecisionTreeRegressor(), n_members),
    }


def draw_rows(rng: np.random.RandomState) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return a new training sample."""
    x, y = make_friedman1(N_TRAIN, noise=NOISE, random_state=rng)
    return x, y


def decompositions(
    sizes: tuple[int, ...] = SIZES, *, n_rounds: int = N_ROUNDS, n_jobs: int | None = None
) -> dict[str, list[analysis.BiasVariance]]:
    """Return bias and variance of both ensembles for every number of members."""
    x, truth = make_friedman1(N_TEST, noise=0.0, random_state=SEED)
    return {
        title: analysis.bias_variance_by_size(
            ensemble, draw_rows, x, truth, sizes=sizes, n_rounds=n_rounds, random_state=SEED, n_jobs=n_jobs,
            noise=NOISE**2,
        )
        for title, ensemble in ensembles(max(sizes)).items()
    }  # fmt: skip


def draw(path: Path, *, sizes: tuple[int, ...] = SIZES, n_rounds: int = N_ROUNDS) -> None:
    """Write the picture to a file."""
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(10, 4.2), layout="constrained", sharey=True)
    for (title, parts), axes in zip(decompositions(sizes, n_rounds=n_rounds).items(), panels, strict=True):
        analysis.plot_bias_variance(sizes, parts, ax=axes)
        axes.set_title(title)
    panels[1].set_ylabel("")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    pyplot.close(figure)


def main() -> None:
    """Write the requested picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("picture", type=Path, help="the file to write")
    draw(parser.parse_args().picture)


if __name__ == "__main__":
    main()
