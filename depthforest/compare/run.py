"""A run of `compare`: our ensembles, those of other libraries, and the depth forest on the same pixels and budget.

Combines `data`, `learners`, `fits`, `budget`, `folder`, `table` and `plots`. `prepare_comparison` reports every error
in the options before anything is fitted.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from depthforest import __version__
from depthforest.base import UsageError, counted
from depthforest.compare.budget import Budget, CompareSettings, spend
from depthforest.compare.data import CompareData, chosen_frames, open_frames, open_judges, read_data
from depthforest.compare.fits import Fit, Fitter
from depthforest.compare.folder import CompareFolder
from depthforest.compare.learners import Learner, chosen_learners
from depthforest.compare.plots import draw_plots
from depthforest.compare.table import write_tables
from depthforest.training import fingerprint

LIBRARIES = ("numpy", "numba", "scikit-learn", "lightgbm", "xgboost", "xgboost-cpu")
"""Packages whose versions are recorded with each result."""


@dataclass(frozen=True)
class News:
    """A line about a run.

    Parameters
    ----------
    event : "level" or "note"
        As `terminal.live_lines` expects: a "level" is replaced by the next line, a "note" stays.
    text : str
    """

    event: str
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False)
class Comparison:
    """A comparison whose options are checked.

    Parameters
    ----------
    learners : list of Learner
    budget : Budget
    settings : CompareSettings
    folder : CompareFolder
    n_frames : int
        Number of frames to read.
    """

    learners: list[Learner]
    budget: Budget
    settings: CompareSettings
    folder: CompareFolder
    n_frames: int
    _sources: tuple[Any, Any]
    _numbers: tuple[list[int], list[int]]

    @property
    def missing(self) -> list[Learner]:
        """Learners that are not finished."""
        done = {record["name"] for record in self.folder.results()}
        return [learner for learner in self.learners if learner.name not in done]

    def read(self, advance: Callable[[int], object]) -> CompareData:
        """Read the frames and draw the pixels; `advance` is called for each frame."""
        return read_data(*self._sources, *self._numbers, self.settings, advance)

    def run(self, data: CompareData, tell: Callable[[News], object]) -> list[str]:
        """Fit and evaluate missing learners; each result is kept as soon as it is done.

        Returns
        -------
        list of str
            A line for each learner that could not be fitted.
        """
        self.folder.begin()
        if getattr(self._sources[1], "is_as_committed", None) is False:
            tell(News("note", "these frames are not those of the committed hash; compare no figures of other machines"))
        failures, missing = [], self.missing
        for number, learner in enumerate(missing, 1):
            name = f"{learner.name} ({number} of {len(missing)})"
            tell(News("level", f"{name}: compiling ..."))

            def tell_fit(fit: Fit, name: str = name) -> None:
                tell(News("level", f"{name}: {_told(fit)}"))

            try:
                record = self._record(learner, data, tell_fit)
            except Exception as error:  # an error of any library must not stop the other learners
                failures.append(f"{learner.name}: {type(error).__name__}: {error}")
                tell(News("note", f"{name}: failed: {error}"))
                continue
            self.folder.keep_result(learner.name, record)
            self.write_tables()
            tell(News("note", f"{name}: {_told_dict(record)}"))
        return failures

    def write_tables(self) -> list[Path]:
        """Write the tables of all finished learners."""
        return write_tables(self.folder.path, self.folder.results(), self.folder.settings)

    def write_all(self) -> list[Path]:
        """Write tables and plots of all finished learners; plots only where matplotlib is installed."""
        self.folder.begin()
        try:
            records = self.folder.results()
            return self.write_tables() + draw_plots(self.folder.path, records, self.folder.settings["parts"])
        finally:
            self.folder.unlock()

    def _record(self, learner: Learner, data: CompareData, tell: Callable[[Fit], object]) -> dict[str, Any]:
        fitter = Fitter(learner, data, self.settings.seed)
        done: dict[int, Fit] = {}

        def fit(n: int) -> Fit:
            # a size beyond the most is the most, and is not fitted again
            n = n if learner.most is None else min(n, learner.most)
            if n not in done:
                done[n] = fitter(n)
                tell(done[n])
            return done[n]

        _, chosen = spend(self.budget, fit, is_single=learner.is_single)
        fits = list(done.values())
        return {
            "name": learner.name,
            "family": learner.family,
            "library": learner.library,
            "size": chosen.n * learner.scale,
            "unit": learner.unit,
            "note": learner.note,
            "is_over": self.budget.is_over(chosen),
            "chosen": fits.index(chosen),
            "fits": [f.to_dict() for f in fits],
            "versions": _versions(),
        }


def prepare_comparison(
    output: Path,
    budget: Budget,
    settings: CompareSettings | None = None,
    *,
    data: str | Path | None = None,
    test: str | Path | None = None,
    bench: str | None = None,
    mocap: Path | None = None,
    synth_config: Path | None = None,
    only: Sequence[str] | None = None,
) -> Comparison:
    """Check the options of a comparison.

    Parameters
    ----------
    output : Path
        Folder of the comparison; a new one, or one of the same settings.
    budget : Budget
    settings : CompareSettings
    data, test : str or Path, optional
        Data sets; default: synthetic frames, and the last share of the training frames.
    bench : str, optional
        A fixed test set by name (`evaluation.bench`), in place of `test`.
    mocap : Path, optional
        The CMU clips that it needs.
    synth_config : Path, optional
        Configuration of synthetic frames.
    only : sequence of str, optional
        Names of learners; default: all that are installed.
    """
    settings = CompareSettings() if settings is None else settings
    learners = chosen_learners(only)
    source = open_frames(data, synth_config, settings.frames, settings.seed)
    judges = open_judges(test, bench, mocap)
    numbers = chosen_frames(
        len(source), None if judges is None else len(judges), settings.frames, settings.test_frames, settings.held_out
    )
    if settings.pixels < len(numbers[0]):
        raise UsageError(
            f"{settings.pixels} pixels are fewer than the {len(numbers[0])} frames; draw more, or use fewer"
        )
    identity = {
        **asdict(settings),
        **asdict(budget),
        "train_frames": len(numbers[0]),
        "judging_frames": len(numbers[1]),
        "parts": list(source[numbers[0][0]].part_set.names),
        "data": fingerprint(source, threads=1),
        "bench": bench,
        "test": None if judges is None else fingerprint(judges, threads=1),
    }
    folder = CompareFolder(output, identity)
    return Comparison(
        learners, budget, settings, folder, len(numbers[0]) + len(numbers[1]),
        (source, source if judges is None else judges), numbers,
    )  # fmt: skip


def _told(fit: Fit) -> str:
    accuracy = fit.figures["mean_class_accuracy"].value
    return f"size {fit.n}: fitted in {fit.fit_seconds:.1f} s, {fit.n_bytes / 1e6:.1f} MB, {accuracy:.1%} a part"


def _told_dict(record: dict[str, Any]) -> str:
    fit = record["fits"][record["chosen"]]
    accuracy = fit["mean_class_accuracy"]["value"]
    cost = f"{fit['fit_seconds']:.1f} s, {fit['bytes'] / 1e6:.1f} MB"
    return f"{counted(record['size'], record['unit'])}, {cost}, mean per-class accuracy {accuracy:.1%}"


def _versions() -> dict[str, str]:
    found = {"depthforest": __version__, "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
