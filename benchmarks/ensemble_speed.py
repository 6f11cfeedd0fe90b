"""Time the ensembles' forests beside scikit-learn's: fit, predict, memory, and how both grow.

Run `python benchmarks/ensemble_speed.py --help` for its options. In one run, in turns, the best of each:

  sets     small sets, two generated ones, and 100,000 depth pixels x 200 responses x 31 parts; both libraries with 1
           and 2 jobs, and of each its best; accuracy (R^2 of numbers) is the mean over seeds, with its standard error
  growth   fit times on parts of the pixels: rows, columns, classes
  memory   what a fit and the fitted forest add to a process of its own

A ratio below 1 means that ours takes less.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn import datasets, ensemble
from sklearn.model_selection import train_test_split

from depthforest.ensemble.forests import estimators as forests
from depthforest.training import draw_probes, pixel_table
from synth import Config, Generator

KINDS = ("RandomForest", "ExtraTrees")
JOBS = (1, 2)
PIXELS_PER_FRAME = 150


class Set(NamedTuple):
    """Training rows and test rows."""

    name: str
    is_number: bool
    x: npt.NDArray[np.float32]
    y: npt.NDArray[Any]
    x_test: npt.NDArray[np.float32]
    y_test: npt.NDArray[Any]


def halves(name: str, x: Any, y: Any, *, is_number: bool = False) -> Set:
    x_fit, x_test, y_fit, y_test = train_test_split(np.asarray(x, dtype=np.float32), y, test_size=0.5, random_state=0)
    return Set(name, is_number, x_fit, y_fit, x_test, y_test)


def pixels(n: int, n_features: int) -> Set:
    """Make pixels of synthetic rooms; test pixels are of other bodies."""
    probes = draw_probes(n_features)
    tables = []
    for seed, count in ((1, n), (2, n // 4)):
        frames = Generator(Config(camera="kinect_v1@320x240"), seed=seed, n=max(1, count // PIXELS_PER_FRAME))
        tables.append(pixel_table(list(frames), count, probes))
    return Set("pixels", False, tables[0].x, tables[0].labels, tables[1].x, tables[1].labels)


def all_sets(n_pixels: int) -> list[Set]:
    generated = datasets.make_classification(20_000, 40, n_informative=15, n_classes=5, random_state=0)
    return [
        halves("wine", *datasets.load_wine(return_X_y=True)),
        halves("breast cancer", *datasets.load_breast_cancer(return_X_y=True)),
        halves("digits", *datasets.load_digits(return_X_y=True)),
        halves("generated classes", *generated),
        halves("diabetes", *datasets.load_diabetes(return_X_y=True), is_number=True),
        halves("friedman", *datasets.make_friedman1(20_000, random_state=0), is_number=True),
        pixels(n_pixels, 200),
    ]


def make(library: Any, kind: str, data: Set, n_trees: int, jobs: int, seed: int) -> Any:
    name = kind + ("Regressor" if data.is_number else "Classifier")
    return getattr(library, name)(n_trees, n_jobs=jobs, random_state=seed)


def seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def time_set(data: Set, kind: str, n_trees: int, turns: int, seeds: int) -> None:
    """Print one line: best times of both libraries, their ratios, and their scores."""
    best = {(library, what): np.inf for library in ("ours", "sklearn") for what in ("fit", "predict")}
    scores: dict[str, list[float]] = {"ours": [], "sklearn": []}
    for turn in range(max(turns, seeds)):
        for name, library in (("ours", forests), ("sklearn", ensemble)):
            for jobs in JOBS if turn < turns else JOBS[-1:]:
                model = make(library, kind, data, n_trees, jobs, turn)
                best[name, "fit"] = min(best[name, "fit"], seconds(partial(model.fit, data.x, data.y)))
                for _ in range(3):
                    taken = seconds(partial(model.predict, data.x_test))
                    best[name, "predict"] = min(best[name, "predict"], taken)
            if turn < seeds:
                scores[name].append(model.score(data.x_test, data.y_test))
    fit, predict = (best["ours", what] / best["sklearn", what] for what in ("fit", "predict"))
    texts = [f"{np.mean(s):.3f} ± {np.std(s) / np.sqrt(len(s)):.3f}" for s in scores.values()]
    print(
        f"{data.name:18} {kind:13} fit {best['ours', 'fit']:7.3f} s, {best['sklearn', 'fit']:7.3f} s, ratio {fit:.2f}; "
        f"predict {1e3 * best['ours', 'predict']:6.1f} ms, {1e3 * best['sklearn', 'predict']:6.1f} ms, ratio "
        f"{predict:.2f}; score {texts[0]}, {texts[1]}",
        flush=True,
    )


def part_of(data: Set, n_rows: int, n_features: int, n_classes: int) -> Set:
    """Return a subset of the pixels, with classes merged to `n_classes`."""
    y = data.y % n_classes
    return data._replace(x=np.ascontiguousarray(data.x[:n_rows, :n_features]), y=y[:n_rows])


def time_growth(data: Set, turns: int) -> None:
    n_rows, n_features, n_classes = len(data.x), data.x.shape[1], 31
    sizes = [(n_rows, n_features, n_classes)]
    sizes += [(n_rows // k, n_features, n_classes) for k in (3, 10)]
    sizes += [(n_rows, n_features // k, n_classes) for k in (2, 4)]
    sizes += [(n_rows, n_features, k) for k in (8, 2)]
    for size in sizes:
        part = part_of(data, *size)
        for kind in KINDS:
            best: dict[str, float] = {}
            for _ in range(turns):
                for name, library in (("ours", forests), ("sklearn", ensemble)):
                    taken = seconds(partial(make(library, kind, part, 4, 2, 0).fit, part.x, part.y))
                    best[name] = min(best.get(name, np.inf), taken)
            ratio = best["ours"] / best["sklearn"]
            print(
                f"{size[0]:7} rows {size[1]:4} columns {size[2]:3} classes {kind:13} fit {best['ours']:.2f} s, "
                f"{best['sklearn']:.2f} s, ratio {ratio:.2f}",
                flush=True,
            )


def grown_mb(data: Set, kind: str, n_trees: int, is_ours: bool, out: Any) -> None:
    """Put the growth of this process's peak memory through a fit, in MB, on a queue."""
    library = forests if is_ours else ensemble
    small = data._replace(x=data.x[:200], y=data.y[:200])
    make(library, kind, small, 2, 1, 0).fit(small.x, small.y).predict(small.x)
    before = peak_mb()
    make(library, kind, data, n_trees, 1, 0).fit(data.x, data.y)
    out.put(peak_mb() - before)


def peak_mb() -> float:
    """Return this process's peak memory in MB (Linux); that of `resource` includes the parent's."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def measure_memory(data: Set, n_trees: int) -> None:
    context = multiprocessing.get_context("spawn")
    for kind in KINDS:
        grown = []
        for is_ours in (True, False):
            out = context.SimpleQueue()
            process = context.Process(target=grown_mb, args=(data, kind, n_trees, is_ours, out))
            process.start()
            grown.append(out.get())
            process.join()
        print(f"{data.name:18} {kind:13} memory of a fit, 1 job: {grown[0]:.0f} MB, {grown[1]:.0f} MB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pixels", type=int, default=100_000)
    parser.add_argument("--trees", type=int, default=20, help="on the pixels; the small sets have 100")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=5, help="for the scores")
    parser.add_argument("--only", choices=("sets", "growth", "memory"), help="one of the three parts")
    options = parser.parse_args()
    sets = all_sets(options.pixels)
    for data in sets:  # compile
        make(forests, "RandomForest", data, 2, 1, 0).fit(data.x[:300], data.y[:300]).predict(data.x_test[:300])
    print("ours first, then scikit-learn; the best of 1 and 2 jobs")
    if options.only in (None, "sets"):
        for data in sets:
            is_large = len(data.x) > 50_000
            for kind in KINDS:
                n_trees = options.trees if is_large else 100
                time_set(data, kind, n_trees, options.turns, options.seeds)
    if options.only in (None, "growth"):
        time_growth(sets[-1], options.turns)
    if options.only in (None, "memory"):
        measure_memory(sets[-1], options.trees)


if __name__ == "__main__":
    main()
