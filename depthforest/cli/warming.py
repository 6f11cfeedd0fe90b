"""Tasks that compile kernels for commands, on the bundled sample frames and small tables; `base.compiling` runs them.

`python -m depthforest.cli.warming TASK` runs one. A task calls the public API, so that the list of kernels and types
cannot become outdated; tests/cli/test_warming.py checks that after its tasks a command compiles nothing more.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from depthforest.cli.terminal import changing_status, complain

if TYPE_CHECKING:
    from depthforest.base import WarmUp

TRAIN = ("training", "synth")
"""Tasks of `train` on synthetic frames."""

OTHERS = (*TRAIN, "boosting", "forests", "extra trees")
"""Tasks of everything but `label` and `demo`."""


def label_tasks() -> tuple[str, ...]:
    """Return the tasks of `label` and `demo`, the longest first: two for two cores, three for more."""
    from depthforest.base import thread_count

    return ("people", "labels", "joints") if thread_count() > 2 else ("labels and joints", "people")


def label_people() -> None:
    """Label the people in two sample frames, with given masks, and draw them."""
    from depthforest.base import samples_folder
    from depthforest.forest import load
    from depthforest.frames import drawing
    from depthforest.io import open_dataset

    forest, samples = load(), open_dataset(samples_folder())
    for frame in samples[:2]:
        for person in range(1, int(frame.people.max()) + 1):
            labeling = forest.label(frame, mask=frame.people == person)
            assert len(labeling.sample(1000).rows)
            drawing.overlay(frame, labeling.parts, forest.part_set)


def find_sample_joints() -> None:
    """Find the joints of people from their true parts, so that no labels are needed."""
    import numpy as np

    from depthforest.base import samples_folder
    from depthforest.forest import load
    from depthforest.io import open_dataset
    from depthforest.joints import joints_of_surface

    forest = load()
    for frame in open_dataset(samples_folder())[:2]:
        is_part = (frame.people == 1) & (frame.parts < len(forest.part_set))
        points = frame.points()[is_part].astype(np.float32)
        areas = points[:, 2] ** 2 / np.float32(frame.camera.fx * frame.camera.fy)
        joints_of_surface(forest, points, areas, np.eye(len(forest.part_set), dtype=np.float32)[frame.parts[is_part]])


def label_and_find_joints() -> None:
    """Do both in one process."""
    label_people()
    find_sample_joints()


def find_everyone() -> None:
    """Find the people in all sample frames."""
    from depthforest.base import samples_folder
    from depthforest.io import open_dataset
    from depthforest.people import find_people

    for frame in open_dataset(samples_folder()):
        find_people(frame)


def make_frames() -> None:
    """Make synthetic frames."""
    from synth import Config, Generator

    for frame in Generator(Config(), seed=0, n=2):
        assert frame.depth_mm.size


def train_forest() -> None:
    """Train a small forest on the sample frames."""
    from depthforest.base import samples_folder
    from depthforest.io import open_dataset
    from depthforest.training import TrainConfig, train

    train(open_dataset(samples_folder()), TrainConfig(trees=1, depth=8, candidates=100, pixels_per_frame=300))


def fit_forests() -> None:
    """Fit forests of best splits, depth first and best first, and use them."""
    from depthforest.ensemble import AdaBoostClassifier, RandomForestClassifier, RandomForestRegressor

    x, numbers, classes, _ = _table()
    for leaves in (None, 4):
        RandomForestClassifier(n_estimators=2, max_leaf_nodes=leaves).fit(x, classes).predict(x)
    RandomForestRegressor(n_estimators=2).fit(x, numbers).predict(x)
    AdaBoostClassifier(n_estimators=2).fit(x, classes).predict(x)


def fit_extra_trees() -> None:
    """Fit forests of random splits."""
    from depthforest.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    x, numbers, classes, _ = _table()
    ExtraTreesClassifier(n_estimators=2).fit(x, classes).predict(x)
    ExtraTreesRegressor(n_estimators=2).fit(x, numbers).predict(x)


def fit_boosting() -> None:
    """Fit gradient and Newton boosting for regression, two classes and more, and boosted ranking."""
    from depthforest import ensemble

    x, numbers, classes, queries = _table()
    for kind in ("GradientBoosting", "NewtonBoosting"):
        getattr(ensemble, f"{kind}Regressor")(n_estimators=2).fit(x, numbers).predict(x)
        for targets in (classes, classes > 0):
            getattr(ensemble, f"{kind}Classifier")(n_estimators=2).fit(x, targets).predict(x)
    ensemble.LambdaMART(n_estimators=2).fit(x, classes, qid=queries).predict(x)


TASKS: dict[str, Callable[[], None]] = {
    "people": find_everyone,
    "labels": label_people,
    "joints": find_sample_joints,
    "labels and joints": label_and_find_joints,
    "training": train_forest,
    "synth": make_frames,
    "boosting": fit_boosting,
    "forests": fit_forests,
    "extra trees": fit_extra_trees,
}


def compile_first(tasks: Sequence[str]) -> None:
    """Run tasks in parallel processes, unless they were done before, and show the progress.

    A failed task is only a warning: the command compiles missing kernels by itself.
    """
    from depthforest.base import is_needed, tasks_left

    if is_needed(tasks):
        for failure in compile_tasks(tasks_left(tasks))[:1]:
            complain("warning", f"{failure}; it is compiled again at every start")


def compile_tasks(tasks: Sequence[str], processes: int | None = None) -> list[str]:
    """Run tasks and show the progress; return the failures."""
    from depthforest.base import warm_up

    with changing_status("compiling, once ...") as show:

        def tell(so_far: WarmUp) -> None:
            show(f"compiling, once: {so_far.kernels} kernels, {so_far.done} of {so_far.tasks} tasks done")

        return warm_up(tasks, __name__, processes=processes, tell=tell)


def _table() -> tuple[Any, Any, Any, Any]:
    """Return a table, a number and a class for each row, and queries of ten rows."""
    import numpy as np

    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 6))
    y = x[:, 0] + rng.normal(size=300)
    return x, y, np.digitize(y, (-0.5, 0.5)), np.repeat(np.arange(30), 10)


if __name__ == "__main__":
    from depthforest.base import run_task

    run_task(sys.argv[1], TASKS[sys.argv[1]])
