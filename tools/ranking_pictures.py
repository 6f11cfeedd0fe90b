"""Make the pictures of docs about ranking: lambdas before and after training, and NDCG while rankers learn.

    python tools/ranking_pictures.py [-o FOLDER] [NAME...]

Each picture is made by depthforest.ensemble.plotting from queries that are drawn from a seed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from depthforest.base import make_folder, replacing
from depthforest.ensemble.plotting import plot_lambdas, plot_ranking_curves
from depthforest.ensemble.ranking import LambdaMART, LambdaRank, RankNet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
# pages show pictures of 9 inches at 900 pixels; more for high-resolution screens
DPI = 130
N_QUERIES, N_DOCUMENTS, EPOCHS = 120, 16, 60

Sample = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], npt.NDArray[np.int64]]


def queries(n_queries: int, seed: int) -> Sample:
    """Return (X, y, qid) of queries whose documents have grades 0 to 3 and ten noisy features."""
    rng = np.random.default_rng(seed)
    n = n_queries * N_DOCUMENTS
    x = rng.normal(size=(n, 10))
    worth = x[:, 0] * x[:, 1] + np.sin(2 * x[:, 2]) + 0.5 * x[:, 3] + rng.normal(0, 0.7, n)
    y = np.digitize(worth, (0.2, 1.2, 2.2))
    return x, y, np.repeat(np.arange(n_queries), N_DOCUMENTS)


def lambdas() -> Figure:
    """Draw the lambdas of an unseen query, by a network after one epoch and after the last."""
    x, y, qid = queries(N_QUERIES, 0)
    fresh_x, fresh_y, fresh_qid = queries(40, 1)
    wanted = next(q for q in range(40) if (fresh_y[fresh_qid == q] == 3).sum() == 2)
    own = fresh_qid == wanted
    panels = {}
    for title, epochs in (("after 1 epoch", 1), (f"after {EPOCHS} epochs", EPOCHS)):
        ranker = LambdaRank(max_iter=epochs, learning_rate=0.005, random_state=0).fit(x, y, qid=qid)
        panels[title] = ranker.predict(fresh_x[own])
    figure: Figure = plot_lambdas(fresh_y[own], panels)[0].figure.figure
    return figure


def curves() -> Figure:
    """Draw the NDCG of training and validation queries over epochs."""
    x, y, qid = queries(N_QUERIES, 0)
    options: dict[str, Any] = {"validation_fraction": 0.3, "n_iter_no_change": EPOCHS, "random_state": 0}
    of_networks = options | {"early_stopping": True, "max_iter": EPOCHS, "learning_rate": 0.005}
    rankers = {kind.__name__: kind(**of_networks).fit(x, y, qid=qid) for kind in (RankNet, LambdaRank)}
    rankers["LambdaMART"] = LambdaMART(**options, n_estimators=EPOCHS, max_leaf_nodes=8).fit(x, y, qid=qid)
    figure: Figure = plot_ranking_curves(rankers).figure.figure
    return figure


MAKERS: dict[str, Callable[[], Any]] = {"ranking_lambdas": lambdas, "ranking_curves": curves}


def make_pictures(folder: Path, names: Sequence[str]) -> None:
    """Make the named pictures."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    mpl.use("agg")  # needs no window system
    make_folder(folder)
    for name in names:
        figure = MAKERS[name]()
        with replacing(folder / f"{name}.png") as file:
            figure.savefig(file, format="png", dpi=DPI, metadata={"Software": None})
        plt.close(figure)
        print(f"look at {folder / f'{name}.png'}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the requested pictures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MAKERS)}; by default all")
    parser.add_argument("-o", "--output", type=Path, default=PICTURES)
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in MAKERS]
    if unknown:
        parser.error(f"no picture is called {unknown[0]}: choose of {', '.join(MAKERS)}")
    make_pictures(options.output, options.names or list(MAKERS))


if __name__ == "__main__":
    main()
