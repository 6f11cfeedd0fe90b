"""The learners of `compare`: a table of every suitable ensemble, ours and those of other libraries.

Each has a name, a unit that its budget is spent on, and a function that makes the estimator of a size. Settings are the
libraries' own but where the note says otherwise. Depth forests, which see frames and
not columns, are made by `training` (`fits`). Libraries are imported when an estimator is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from depthforest.base import UsageError
from depthforest.training import TrainConfig

RATE = 0.3
"""Learning rate of boosting with trees of depth `LEVELS`, XGBoost's default. A round grows a tree for each of 31 parts,
so a budget buys few rounds, and smaller steps would not converge. Trees that grow leaf by leaf use their libraries'
0.1, because with 0.3 they get worse from round to round."""

LEVELS = 6
"""Depth of boosted trees where depth limits them, XGBoost's; leaves limit LightGBM's and scikit-learn's, 31."""

WEAK_LEVELS = 12
"""Depth of AdaBoost's trees. A stump can only predict two of 31 parts; a full tree memorizes its rows, and boosting
ends."""

FOLDS = 3
"""Folds, by frames, of voting's weights and of stacking. Each additional one costs another fit of all members."""

TREES_A_UNIT = 8
"""Trees of each forest in a unit of voting and stacking, beside one round of boosting: about a third of the time."""

NODE_PROBES = 100
"""Pairs of probes that a node of a depth forest tries if its budget buys trees: half the usual size of the pool."""

KINECT_TREES, KINECT_LEVELS = 3, 20
"""Values of Shotton et al. 2011."""

MAX_TREES, MAX_PROBES = 1000, 100_000
"""Largest number that `TrainConfig` accepts."""

PROBES_A_STEP = 10
"""Pairs that a node tries per step of its budget, if the budget buys pairs."""

DEPTH_FOREST, AVERAGING, BOOSTING, COMBINING = "depth forest", "averaging", "boosting", "combining"
FAMILIES = (DEPTH_FOREST, AVERAGING, BOOSTING, COMBINING)
OWN, SKLEARN = "depthforest", "scikit-learn"


@dataclass(frozen=True)
class Learner:
    """One line of the table.

    Parameters
    ----------
    name : str
        Name on the command line; for other libraries, with their short name in front.
    family : str
        One of `FAMILIES`.
    library : str
    unit : str
        What a size counts.
    make : callable
        From size and seed to an unfitted classifier; of depth forests to a `TrainConfig`.
    note : str
        Settings that are not the library's own.
    scale : int
        How many of the unit one step of the search adds.
    most : int, optional
        Most steps; a larger budget is not spent.
    is_single : bool
        It has no size.
    is_fresh : bool
        Each tree of a depth forest draws pixels of its own.
    has_groups : bool
        Its `fit` takes the rows' frames as `groups`, for folds.
    package : str
        The package that must be installed.
    """

    name: str
    family: str
    library: str
    unit: str
    make: Callable[[int, int], Any]
    note: str = ""
    scale: int = 1
    most: int | None = None
    is_single: bool = False
    is_fresh: bool = False
    has_groups: bool = False
    package: str = "sklearn"

    @property
    def sees_frames(self) -> bool:
        """Whether it learns from frames instead of columns."""
        return self.family == DEPTH_FOREST

    @property
    def is_installed(self) -> bool:
        """Whether its library is installed."""
        return find_spec(self.package) is not None


def _ours(name: str, **settings: Any) -> Any:
    from depthforest import ensemble

    return getattr(ensemble, name)(**settings)


def _members(n: int, seed: int) -> list[tuple[str, Any]]:
    """Return the members for voting and stacking: two forests and boosting, all of one size."""
    return [
        ("forest", _ours("RandomForestClassifier", n_estimators=TREES_A_UNIT * n, n_jobs=1, random_state=seed)),
        ("extra", _ours("ExtraTreesClassifier", n_estimators=TREES_A_UNIT * n, n_jobs=1, random_state=seed)),
        ("newton", _newton(n, seed)),
    ]


def _newton(n: int, seed: int) -> Any:
    return _ours(
        "NewtonBoostingClassifier", n_estimators=n, learning_rate=RATE, max_depth=LEVELS, n_jobs=1, random_state=seed
    )


def _gradient(n: int, seed: int) -> Any:
    return _ours(
        "GradientBoostingClassifier", n_estimators=n, learning_rate=RATE, max_depth=LEVELS, n_jobs=1, random_state=seed
    )


def _weak_tree(seed: int) -> Any:
    return _ours("DecisionTreeClassifier", max_depth=WEAK_LEVELS, max_features="sqrt", random_state=seed)


def _pool(n: int, seed: int) -> Any:
    pool = [(f"tree{i}", _weak_tree(seed + i)) for i in range(n)]
    return _ours("AdaBoostPoolClassifier", estimators=pool, n_estimators=n, n_jobs=1)


def _diverse(name: str, **settings: Any) -> Callable[[int, int], Any]:
    return lambda n, seed: _ours(name, n_estimators=n, n_jobs=1, random_state=seed, **settings)


def _sklearn(name: str, **settings: Any) -> Callable[[int, int], Any]:
    def make(n: int, seed: int) -> Any:
        from sklearn import ensemble

        return getattr(ensemble, name)(n_estimators=n, random_state=seed, **settings)

    return make


def _sklearn_adaboost(n: int, seed: int) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    weak = DecisionTreeClassifier(max_depth=WEAK_LEVELS, max_features="sqrt")
    return _sklearn("AdaBoostClassifier", estimator=weak)(n, seed)


def _sklearn_boosting(n: int, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=n, early_stopping=False, random_state=seed)


def _lightgbm(n: int, seed: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=n, n_jobs=1, random_state=seed, verbose=-1)


def _xgboost(n: int, seed: int) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=n, learning_rate=RATE, max_depth=LEVELS, n_jobs=1, random_state=seed)


def _depth_trees(n: int, seed: int) -> TrainConfig:
    return TrainConfig(trees=n, candidates=NODE_PROBES, frames_per_tree=1.0, seed=seed)


def _kinect(n: int, seed: int) -> TrainConfig:
    return TrainConfig(
        trees=KINECT_TREES,
        depth=KINECT_LEVELS,
        candidates=PROBES_A_STEP * n,
        frames_per_tree=1.0,
        seed=seed,
    )


_TREE, _ROUND = "trees", "rounds"
_BOOSTED = f"learning rate {RATE}, depth {LEVELS}"
_LEAFY = "learning rate 0.1, 31 leaves"
_WEAK = f"trees of depth {WEAK_LEVELS} that try sqrt(columns) a node"
_THREE = f"a random forest and extra trees of {TREES_A_UNIT} trees a unit, Newton boosting of 1 round a unit"

LEARNERS = (
    Learner(
        "depth-forest",
        DEPTH_FOREST,
        OWN,
        _TREE,
        _depth_trees,
        f"{NODE_PROBES} new pairs of probes a node",
        most=MAX_TREES,
    ),
    Learner(
        "depth-forest-fresh",
        DEPTH_FOREST,
        OWN,
        _TREE,
        _depth_trees,
        "the same, but each tree draws as many pixels of its own",
        most=MAX_TREES,
        is_fresh=True,
    ),
    Learner(
        "depth-forest-kinect",
        DEPTH_FOREST,
        OWN,
        "probes",
        _kinect,
        f"{KINECT_TREES} trees of depth {KINECT_LEVELS}; size: new pairs of probes a node",
        scale=PROBES_A_STEP,
        most=MAX_PROBES // PROBES_A_STEP,
    ),
    Learner(
        "decision-tree",
        AVERAGING,
        OWN,
        _TREE,
        lambda _, seed: _ours("DecisionTreeClassifier", random_state=seed),
        is_single=True,
    ),
    Learner("bagging", AVERAGING, OWN, _TREE, _diverse("BaggingClassifier")),
    Learner(
        "random-subspace", AVERAGING, OWN, _TREE, _diverse("RandomSubspaceClassifier"), "half of the columns a tree"
    ),
    Learner(
        "random-patches",
        AVERAGING,
        OWN,
        _TREE,
        _diverse("BaggingClassifier", max_samples=0.5, max_features=0.5),
        "half of rows and columns a tree",
    ),
    Learner(
        "input-noise",
        AVERAGING,
        OWN,
        _TREE,
        _diverse("DiverseEnsembleClassifier", bootstrap=False, noise=0.1),
        "noise of 0.1 deviations a column",
    ),
    Learner(
        "output-flipping",
        AVERAGING,
        OWN,
        _TREE,
        _diverse("OutputFlippingClassifier"),
        "0.4 of the labels shuffled a tree",
    ),
    Learner("random-forest", AVERAGING, OWN, _TREE, _diverse("RandomForestClassifier")),
    Learner("extra-trees", AVERAGING, OWN, _TREE, _diverse("ExtraTreesClassifier")),
    Learner("sklearn-bagging", AVERAGING, SKLEARN, _TREE, _sklearn("BaggingClassifier", n_jobs=1)),
    Learner("sklearn-random-forest", AVERAGING, SKLEARN, _TREE, _sklearn("RandomForestClassifier", n_jobs=1)),
    Learner("sklearn-extra-trees", AVERAGING, SKLEARN, _TREE, _sklearn("ExtraTreesClassifier", n_jobs=1)),
    Learner(
        "adaboost",
        BOOSTING,
        OWN,
        _TREE,
        lambda n, seed: _ours("AdaBoostClassifier", estimator=_weak_tree(seed), n_estimators=n, random_state=seed),
        f"SAMME, {_WEAK}",
    ),
    Learner("adaboost-pool", BOOSTING, OWN, _TREE, _pool, f"chosen from a pool, {_WEAK}"),
    Learner("gradient-boosting", BOOSTING, OWN, _ROUND, _gradient, _BOOSTED),
    Learner("newton-boosting", BOOSTING, OWN, _ROUND, _newton, _BOOSTED),
    Learner("sklearn-adaboost", BOOSTING, SKLEARN, _TREE, _sklearn_adaboost, f"SAMME, {_WEAK}"),
    Learner("sklearn-hist-boosting", BOOSTING, SKLEARN, _ROUND, _sklearn_boosting, _LEAFY),
    Learner("lightgbm", BOOSTING, "LightGBM", _ROUND, _lightgbm, _LEAFY, package="lightgbm"),
    Learner("xgboost", BOOSTING, "XGBoost", _ROUND, _xgboost, _BOOSTED, package="xgboost"),
    Learner(
        "voting",
        COMBINING,
        OWN,
        "units",
        lambda n, seed: _ours("VotingClassifier", estimators=_members(n, seed), voting="soft", n_jobs=1),
        f"soft; {_THREE}",
    ),
    Learner(
        "voting-weighted",
        COMBINING,
        OWN,
        "units",
        lambda n, seed: _ours(
            "VotingClassifier", estimators=_members(n, seed), voting="soft", weights="fitted", cv=FOLDS, n_jobs=1
        ),
        f"soft, weights fitted on {FOLDS} folds by frames; {_THREE}",
        has_groups=True,
    ),
    Learner(
        "stacking",
        COMBINING,
        OWN,
        "units",
        lambda n, seed: _ours("StackingClassifier", estimators=_members(n, seed), cv=FOLDS, n_jobs=1),
        f"logistic regression on {FOLDS} folds by frames; {_THREE}",
        has_groups=True,
    ),
)
"""All learners, in the order in which they run and are listed."""


def chosen_learners(names: Sequence[str] | None = None) -> list[Learner]:
    """Return learners by name, in the table's order; without names all whose library is installed."""
    if names is None:
        return [learner for learner in LEARNERS if learner.is_installed]
    by_name = {learner.name: learner for learner in LEARNERS}
    for name in names:
        if name not in by_name:
            raise UsageError(f"there is no learner {name!r}; known are {', '.join(by_name)}")
        if not by_name[name].is_installed:
            raise UsageError(f"{name} needs {by_name[name].library}, which is not installed: pip install it")
    return [learner for learner in LEARNERS if learner.name in names]
