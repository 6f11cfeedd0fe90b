"""Judge the defaults of Newton boosting beside those of LightGBM and XGBoost, on tables that no constant was chosen on.

    python benchmarks/boosting_defaults.py [--seeds 5] [--chosen]

Every library runs as it comes: 100 rounds, no option set but the seed and one thread. Half of the rows are learned
from, the other half judges: log loss for classes, root mean squared error for numbers, the mean over seeds that part
the rows anew. Figures are ratios to the better of the two others; the aims are 1.03 for classes and 1.01 for numbers,
on every table, and 0.9 of LightGBM's time for fits.

The defaults were chosen, among ten candidates with three seeds, on the tables that `--chosen` shows: what they look
like there says little. Tables are generated or come with scikit-learn; all are small. The digits are on both sides,
one half each.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
import numpy.typing as npt
import xgboost
from sklearn import datasets
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import train_test_split

from depthforest.ensemble import NewtonBoostingClassifier, NewtonBoostingRegressor

Table = tuple[npt.NDArray[Any], npt.NDArray[Any], bool]
"""Columns, targets, and whether these are numbers."""

CLASS_AIM, NUMBER_AIM, TIME_AIM = 1.03, 1.01, 0.9


def blobs(n_classes: int, n: int, n_columns: int, spread: float, seed: int, power: float = 0.0) -> Table:
    """Make classes about points of their own; with `power` the later ones are rarer."""
    rng = np.random.default_rng(seed)
    shares = 1.0 / np.arange(1, n_classes + 1) ** power
    y = rng.choice(n_classes, n, p=shares / shares.sum())
    y[: 4 * n_classes] = np.arange(4 * n_classes) % n_classes  # each has rows in both halves
    return spread * rng.normal(size=(n_classes, n_columns))[y] + rng.normal(size=(n, n_columns)), y, False


def eight_blobs() -> Table:
    """Make eight classes; other draws than those of `blobs`, because the defaults were chosen by them."""
    rng = np.random.default_rng(1)
    middles, y = 0.8 * rng.normal(size=(8, 8)), rng.integers(0, 8, 600)
    y[:8] = np.arange(8)
    return middles[y] + rng.normal(size=(600, 8)), y, False


def steps(n: int, seed: int, noise: float) -> Table:
    """Make numbers of steps and products, with columns that say nothing and missing values."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 12))
    y = 3 * (x[:, 0] > 0.5) + x[:, 1] * x[:, 2] + np.sin(3 * x[:, 3]) + noise * rng.normal(size=n)
    x[rng.random(x.shape) < 0.1] = np.nan
    return x, y, True


def chosen_tables() -> dict[str, Table]:
    """Return the tables that the defaults were chosen on."""
    digits, numbers = datasets.load_digits(return_X_y=True)
    return {
        "wine": (*datasets.load_wine(return_X_y=True), False),
        "breast cancer": (*datasets.load_breast_cancer(return_X_y=True), False),
        "digits, first half": (digits[:900], numbers[:900], False),
        "8 blobs": eight_blobs(),
        "4 generated classes": (
            *datasets.make_classification(1500, 20, n_informative=10, n_classes=4, random_state=0),
            False,
        ),
        "noisy labels": (*datasets.make_classification(1500, 15, n_informative=6, flip_y=0.2, random_state=0), False),
        "diabetes": (*datasets.load_diabetes(return_X_y=True), True),
        "friedman 1": (*datasets.make_friedman1(1500, noise=1.0, random_state=0), True),
    }


def other_tables() -> dict[str, Table]:
    """Return the tables that judge."""
    digits, numbers = datasets.load_digits(return_X_y=True)
    make = datasets.make_classification
    return {
        "iris": (*datasets.load_iris(return_X_y=True), False),
        "digits, second half": (digits[900:], numbers[900:], False),
        "26 classes": blobs(26, 3000, 16, 0.7, 11),
        "12 uneven classes": blobs(12, 2000, 10, 0.9, 12, power=1.0),
        "moons": (*datasets.make_moons(1000, noise=0.3, random_state=13), False),
        "hastie": (*datasets.make_hastie_10_2(3000, random_state=14), False),
        "rare class": (*make(4000, 20, n_informative=5, weights=[0.97], random_state=15), False),
        "many columns": (*make(600, 200, n_informative=15, random_state=16), False),
        "3 classes": (*make(5000, 30, n_informative=12, n_classes=3, flip_y=0.05, random_state=17), False),
        "friedman 2": (*datasets.make_friedman2(1500, noise=50.0, random_state=18), True),
        "friedman 3": (*datasets.make_friedman3(1500, noise=0.1, random_state=19), True),
        "steps": steps(4000, 20, 0.5),
        "line": (*datasets.make_regression(1000, 20, n_informative=8, noise=20.0, random_state=21), True),
    }


def ours(is_number: bool, seed: int) -> Any:
    """Return our booster as it comes."""
    return (NewtonBoostingRegressor if is_number else NewtonBoostingClassifier)(random_state=seed, n_jobs=1)


def lightgbms(is_number: bool, seed: int) -> Any:
    """Return LightGBM's as it comes."""
    kind = lightgbm.LGBMRegressor if is_number else lightgbm.LGBMClassifier
    return kind(random_state=seed, n_jobs=1, verbose=-1)


def xgboosts(is_number: bool, seed: int) -> Any:
    """Return XGBoost's as it comes."""
    return (xgboost.XGBRegressor if is_number else xgboost.XGBClassifier)(random_state=seed, n_jobs=1)


def judged(make: Callable[[bool, int], Any], table: Table, n_seeds: int) -> tuple[float, float]:
    """Return the mean loss and the mean seconds of a fit."""
    x, y, is_number = table
    if not is_number:
        y = np.unique(y, return_inverse=True)[1]
    losses, seconds = [], []
    for seed in range(n_seeds):
        learned, held, answers, truth = train_test_split(
            x, y, test_size=0.5, random_state=seed, stratify=None if is_number else y
        )
        begin = time.perf_counter()
        model = make(is_number, seed).fit(learned, answers)
        seconds.append(time.perf_counter() - begin)
        if is_number:
            losses.append(mean_squared_error(truth, model.predict(held)) ** 0.5)
        else:
            losses.append(log_loss(truth, model.predict_proba(held), labels=np.unique(y)))
    return float(np.mean(losses)), float(np.mean(seconds))


def main() -> None:
    """Print a row for each table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--chosen", action="store_true", help="the tables that the defaults were chosen on")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="X does not have valid feature names")
    tables = chosen_tables() if options.chosen else other_tables()
    for is_number in (False, True):  # compile first
        ours(is_number, 0).fit(*next(t[:2] for t in tables.values() if t[2] == is_number))
    print("table                  LightGBM  XGBoost     ours   ratio     aim   fit / LightGBM")
    n_met = 0
    for name, table in tables.items():
        (own, seconds), (one, one_seconds), (other, _) = (
            judged(make, table, options.seeds) for make in (ours, lightgbms, xgboosts)
        )
        ratio, aim = own / min(one, other), NUMBER_AIM if table[2] else CLASS_AIM
        n_met += ratio <= aim
        print(
            f"{name:20} {one:10.4f} {other:8.4f} {own:8.4f} {ratio:7.3f} {aim:7.2f} {'' if ratio <= aim else '*':1}"
            f" {seconds / one_seconds:13.2f}"
        )
    print(f"{n_met} of {len(tables)} tables within the aim")


if __name__ == "__main__":
    main()
