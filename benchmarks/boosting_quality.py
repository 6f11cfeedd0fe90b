"""Compare boosting with scikit-learn, XGBoost and LightGBM: loss on unseen rows, at equal settings.

Run `python benchmarks/boosting_quality.py --help` for its options. Rounds, leaves, learning rate, bins, penalties and
the smallest leaf are the same for all; they are set where defaults differ (LightGBM and scikit-learn's histogram
boosting require 20 rows in a leaf; XGBoost's lambda is 1). Leaves are grown best first. `min_samples_leaf` counts rows
or, if a library only counts hessians, an approximately equal sum of these. Each seed splits the rows differently;
figures are means over seeds, with the standard error of the difference to the best peer.

The loss is log loss for classes, squared error for numbers; less is better.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn import datasets, ensemble
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import train_test_split

from depthforest.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
)

ROUNDS, LEAVES, RATE, BINS = 60, 8, 0.1, 255
LEAST_HESSIAN = 1e-3
"""Sum of hessians of a leaf in Newton boosting of all libraries: scikit-learn's, which cannot be set."""

N_SEEDS = 5


class Set(NamedTuple):
    """All rows of a set."""

    name: str
    is_number: bool
    x: npt.NDArray[np.float32]
    y: npt.NDArray[Any]


def spirals(n: int = 1500, *, turns: float = 1.5, noise: float = 0.05, seed: int = 0) -> Set:
    """Make two spiral arms: no single split helps."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    along = np.sqrt(rng.random(n))
    angle = along * turns * 2 * math.pi + y * math.pi
    x = along[:, None] * np.stack((np.cos(angle), np.sin(angle)), axis=1) + rng.normal(size=(n, 2)) * noise
    return Set("spirals", False, x.astype(np.float32), y)


def noisy_labels(n: int = 3000, *, seed: int = 0) -> Set:
    """Make classes with a fifth of the labels drawn at random: noise that can be fitted and should not be."""
    x, y = datasets.make_classification(n, 15, n_informative=6, flip_y=0.2, random_state=seed)
    return Set("noisy labels", False, x.astype(np.float32), y)


def all_sets() -> list[Set]:
    """Return the sets: the forests' small ones, generated ones, spirals, noisy labels."""

    def loaded(name: str, load: Callable[..., Any], *, is_number: bool = False) -> Set:
        x, y = load(return_X_y=True)
        return Set(name, is_number, np.asarray(x, dtype=np.float32), y)

    x, y = datasets.make_classification(3000, 20, n_informative=10, n_classes=4, random_state=0)
    f, z = datasets.make_friedman1(2000, noise=1.0, random_state=0)
    return [
        loaded("wine", datasets.load_wine),
        loaded("breast cancer", datasets.load_breast_cancer),
        loaded("digits", datasets.load_digits),
        loaded("diabetes", datasets.load_diabetes, is_number=True),
        Set("generated classes", False, x.astype(np.float32), y),
        Set("friedman", True, f.astype(np.float32), z),
        spirals(),
        noisy_labels(),
    ]


def ours(data: Set, kind: str, seed: int) -> Any:
    """Return one of ours: "gradient" or "newton"."""
    shared: dict[str, Any] = {"n_estimators": ROUNDS, "max_leaf_nodes": LEAVES, "learning_rate": RATE, "max_bins": BINS}
    shared |= {"max_depth": None, "random_state": seed}
    if kind == "gradient":
        return (GradientBoostingRegressor if data.is_number else GradientBoostingClassifier)(**shared)
    newton: dict[str, Any] = {"reg_lambda": 1.0, "min_child_weight": LEAST_HESSIAN, "grow_policy": "lossguide"}
    newton["min_samples_leaf"] = 1
    return (NewtonBoostingRegressor if data.is_number else NewtonBoostingClassifier)(**shared, **newton)


def peers(data: Set, kind: str, seed: int) -> dict[str, Any]:
    """Return the same of other libraries, of those that are installed."""
    found: dict[str, Any] = {}
    if kind == "gradient":
        shared = {"n_estimators": ROUNDS, "max_leaf_nodes": LEAVES, "learning_rate": RATE, "max_depth": None}
        make = ensemble.GradientBoostingRegressor if data.is_number else ensemble.GradientBoostingClassifier
        found["scikit-learn"] = make(**shared, random_state=seed)
        return found
    hist = ensemble.HistGradientBoostingRegressor if data.is_number else ensemble.HistGradientBoostingClassifier
    found["scikit-learn"] = hist(
        max_iter=ROUNDS, max_leaf_nodes=LEAVES, learning_rate=RATE, max_bins=BINS, min_samples_leaf=1,
        l2_regularization=1.0, early_stopping=False, random_state=seed,
    )  # fmt: skip
    try:
        import xgboost

        twice = 2.0 if _n_classes(data) > 2 else 1.0  # its hessians of the softmax are larger by this factor
        make = xgboost.XGBRegressor if data.is_number else xgboost.XGBClassifier
        found["XGBoost"] = make(
            n_estimators=ROUNDS, max_leaves=LEAVES, learning_rate=RATE * twice, max_bin=BINS, max_depth=0,
            grow_policy="lossguide", tree_method="hist", reg_lambda=twice, min_child_weight=LEAST_HESSIAN * twice,
            n_jobs=1, random_state=seed,
        )  # fmt: skip
    except ImportError:
        pass
    try:
        import lightgbm

        make = lightgbm.LGBMRegressor if data.is_number else lightgbm.LGBMClassifier
        n_classes = _n_classes(data)
        more = n_classes / (n_classes - 1) if n_classes > 2 else 1.0  # the same for LightGBM
        found["LightGBM"] = make(
            n_estimators=ROUNDS, num_leaves=LEAVES, learning_rate=RATE * more, max_bin=BINS, max_depth=-1,
            reg_lambda=more, min_child_samples=1, min_child_weight=LEAST_HESSIAN * more, n_jobs=1, random_state=seed,
            verbosity=-1,
        )  # fmt: skip
    except ImportError:
        pass
    return found


def _n_classes(data: Set) -> int:
    return 0 if data.is_number else len(np.unique(data.y))


def loss_of(model: Any, data: Set, seed: int) -> float:
    """Fit on half of the rows and return the loss of the others."""
    x, x_test, y, y_test = train_test_split(
        data.x, data.y, test_size=0.5, random_state=seed, stratify=None if data.is_number else data.y
    )
    model.fit(x, y)
    if data.is_number:
        return float(mean_squared_error(y_test, model.predict(x_test)))
    return float(log_loss(y_test, model.predict_proba(x_test)))


def losses(data: Set, kind: str, n_seeds: int = N_SEEDS) -> dict[str, npt.NDArray[np.float64]]:
    """Return the losses of all libraries, ours first, (n_seeds,) each; all see the same rows for the same seed."""
    found: dict[str, list[float]] = {}
    for seed in range(n_seeds):
        models = {"ours": ours(data, kind, seed)} | peers(data, kind, seed)
        for name, model in models.items():
            found.setdefault(name, []).append(loss_of(model, data, seed))
    return {name: np.array(values) for name, values in found.items()}


def behind(found: dict[str, npt.NDArray[np.float64]]) -> tuple[str, float, float]:
    """Return the best peer, the mean difference of ours to it, and the standard error of that."""
    best = min((name for name in found if name != "ours"), key=lambda name: found[name].mean())
    gaps = found["ours"] - found[best]
    return best, float(gaps.mean()), float(gaps.std(ddof=1) / math.sqrt(len(gaps)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=N_SEEDS)
    parser.add_argument("--sets", nargs="*", help="names of sets; all by default")
    options = parser.parse_args()
    for kind in ("gradient", "newton"):
        print(f"\n{kind} boosting, {ROUNDS} rounds of {LEAVES} leaves, learning rate {RATE}")
        print(f"{'set':18} {'ours':>9}  others; gap to the best of them, standard error")
        for data in all_sets():
            if options.sets and data.name not in options.sets:
                continue
            found = losses(data, kind, options.seeds)
            best, gap, error = behind(found)
            others = "  ".join(f"{name} {values.mean():.4f}" for name, values in found.items() if name != "ours")
            print(
                f"{data.name:18} {found['ours'].mean():9.4f}  {others}; {gap:+.4f} ({error:.4f}) to {best}", flush=True
            )


if __name__ == "__main__":
    main()
