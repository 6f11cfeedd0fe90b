"""Time Newton and gradient boosting beside LightGBM, HistGradientBoosting and XGBoost: fit and predict.

Run `python benchmarks/boosting_speed.py --help` for its options. All grow trees of 31 leaves, best leaf first, from 255
bins, for the same number of rounds. In one run, in turns, each with 1 and 2 threads; of each the best counts:

  binary      200,000 rows x 30 columns, two classes
  regression  200,000 rows x 30 columns
  pixels      100,000 depth pixels x 200 responses x 31 parts: 31 trees in a round

A ratio below 1 means that ours takes less. The loss is that of unseen rows. LightGBM with 2 threads stalls on a busy
machine; therefore the best time counts, and the processor time of 1 thread is shown, too.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from ensemble_speed import JOBS, Set, halves, pixels, seconds
from sklearn import datasets
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss, mean_squared_error

from depthforest.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
)

LEAVES, BINS, RATE = 31, 255, 0.1
LEAST_HESSIAN = 1e-3
OURS = ("Newton", "Gradient")
AIM = 1.2  # of LightGBM's time: gradient boosting with the logistic loss


def newton(is_number: bool, rounds: int, jobs: int) -> Any:
    kind = NewtonBoostingRegressor if is_number else NewtonBoostingClassifier
    return kind(
        n_estimators=rounds, learning_rate=RATE, max_leaf_nodes=LEAVES, max_depth=None, grow_policy="lossguide",
        reg_lambda=0.0, min_child_weight=LEAST_HESSIAN, max_bins=BINS, n_jobs=jobs,
    )  # fmt: skip


def gradient(is_number: bool, rounds: int, jobs: int) -> Any:
    kind = GradientBoostingRegressor if is_number else GradientBoostingClassifier
    return kind(
        n_estimators=rounds, learning_rate=RATE, max_leaf_nodes=LEAVES, max_depth=None, max_bins=BINS, n_jobs=jobs
    )


def lightgbm(is_number: bool, rounds: int, jobs: int) -> Any:
    import lightgbm as library

    kind = library.LGBMRegressor if is_number else library.LGBMClassifier
    return kind(
        n_estimators=rounds, learning_rate=RATE, num_leaves=LEAVES, max_bin=BINS, min_child_samples=1,
        min_child_weight=LEAST_HESSIAN, n_jobs=jobs, verbose=-1,
    )  # fmt: skip


def xgboost(is_number: bool, rounds: int, jobs: int) -> Any:
    import xgboost as library

    kind = library.XGBRegressor if is_number else library.XGBClassifier
    return kind(
        n_estimators=rounds, learning_rate=RATE, max_leaves=LEAVES, max_depth=0, grow_policy="lossguide",
        tree_method="hist", max_bin=BINS, reg_lambda=0.0, min_child_weight=LEAST_HESSIAN, n_jobs=jobs,
    )  # fmt: skip


class _Limited:
    """HistGradientBoosting, which takes its threads from OpenMP."""

    def __init__(self, is_number: bool, rounds: int, jobs: int) -> None:
        kind = HistGradientBoostingRegressor if is_number else HistGradientBoostingClassifier
        self.jobs = jobs
        self.model = kind(
            max_iter=rounds, learning_rate=RATE, max_leaf_nodes=LEAVES, max_depth=None, min_samples_leaf=1,
            l2_regularization=0.0, max_bins=BINS, early_stopping=False,
        )  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        from threadpoolctl import threadpool_limits

        def limited(*arguments: Any) -> Any:
            with threadpool_limits(self.jobs):
                return getattr(self.model, name)(*arguments)

        return limited


def libraries() -> dict[str, Callable[[bool, int, int], Any]]:
    """Return what can be timed here, ours first."""
    found: dict[str, Callable[[bool, int, int], Any]] = {"Newton": newton, "Gradient": gradient}
    if find_spec("lightgbm"):
        found["LightGBM"] = lightgbm
    found["HistGradientBoosting"] = _Limited
    if find_spec("xgboost"):
        found["XGBoost"] = xgboost
    return found


def test_loss(model: Any, data: Set) -> float:
    if data.is_number:
        return float(mean_squared_error(data.y_test, model.predict(data.x_test)))
    return float(log_loss(data.y_test, model.predict_proba(data.x_test), labels=np.unique(data.y)))


def time_set(data: Set, rounds: int, turns: int, names: list[str]) -> None:
    makers = {name: make for name, make in libraries().items() if name in names}
    best = {(name, what): np.inf for name in makers for what in ("fit", "predict", "processor")}
    losses: dict[str, float] = {}
    for _ in range(turns):
        for name, make in makers.items():
            for jobs in JOBS:
                model = make(data.is_number, rounds, jobs)
                began = time.process_time()
                best[name, "fit"] = min(best[name, "fit"], seconds(partial(model.fit, data.x, data.y)))
                if jobs == 1:
                    best[name, "processor"] = min(best[name, "processor"], time.process_time() - began)
                ask = model.predict if data.is_number else model.predict_proba
                for _ in range(3):
                    best[name, "predict"] = min(best[name, "predict"], seconds(partial(ask, data.x_test)))
            losses[name] = test_loss(model, data)
    reference = "LightGBM" if "LightGBM" in makers else "HistGradientBoosting"
    for name in makers:
        ratios = {what: best[name, what] / best[reference, what] for what in ("fit", "predict", "processor")}
        print(
            f"{data.name:11} {rounds:4} rounds {name:21} fit {best[name, 'fit']:7.2f} s ({ratios['fit']:.2f} of "
            f"{reference}), processor {best[name, 'processor']:7.2f} s ({ratios['processor']:.2f}), predict "
            f"{1e3 * best[name, 'predict']:7.1f} ms ({ratios['predict']:.2f}), test loss {losses[name]:.4f}",
            flush=True,
        )
        if data.name == "binary" and name == "Gradient" and reference == "LightGBM":
            print(f"aim: gradient boosting, logistic loss, fit over LightGBM: {ratios['fit']:.2f}, at most {AIM:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--pixels", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=100, help="of binary and regression")
    parser.add_argument("--pixel-rounds", type=int, default=5)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=("binary", "regression", "pixels"))
    parser.add_argument("--libraries", nargs="+", choices=list(libraries()), default=list(libraries()))
    options = parser.parse_args()
    wanted = options.only or ("binary", "regression", "pixels")
    classes = datasets.make_classification(options.rows * 2, 30, n_informative=15, random_state=0)
    numbers = datasets.make_regression(options.rows * 2, 30, n_informative=15, noise=10.0, random_state=0)
    numbers = (numbers[0], numbers[1] + 100.0 * np.sin(2.0 * numbers[0][:, 0]) * numbers[0][:, 1])
    sets = []
    if "binary" in wanted:
        sets.append((halves("binary", *classes), options.rounds))
    if "regression" in wanted:
        sets.append((halves("regression", *numbers, is_number=True), options.rounds))
    if "pixels" in wanted:
        sets.append((pixels(options.pixels, 200), options.pixel_rounds))
    for data, _ in sets:  # compile
        for make in (newton, gradient):
            model = make(data.is_number, 2, 2).fit(data.x[:20_000], data.y[:20_000])
            test_loss(model, data._replace(x_test=data.x_test[:1000], y_test=data.y_test[:1000]))
    for data, rounds in sets:
        time_set(data, rounds, options.turns, options.libraries)


if __name__ == "__main__":
    main()
