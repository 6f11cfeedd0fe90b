"""A run of `evaluate --people`: sources by name in; a table, an HTML report and a JSON file out.

`prepare_people` reports every error in the options before the search begins.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from depthforest.base import UsageError, thread_count
from depthforest.evaluation.bench import BENCH_VERSION, PEOPLE, BenchFrames, chosen_names, open_bench
from depthforest.evaluation.people.judging import EmptyRooms, PeopleFollower, PeopleJudge, evaluate_finders
from depthforest.evaluation.people.options import PeopleOptions
from depthforest.evaluation.people.page import TITLES, JudgedSource, row_cells, write_people_report
from depthforest.evaluation.people.rooms import MarkedRooms
from depthforest.evaluation.run import bench_state, check_outputs, warn_of_other_frames, write_figures
from depthforest.frames import Frame
from depthforest.io import FolderDataset, FrameSequence, JoinedFrames, ReadOptions, ZarrDataset, open_dataset
from depthforest.people import Background, People, PeopleTracker, PersonModel, find_people, load_person_model

FORMAT, VERSION = "depthforest-people", 1
"""Version of the JSON file's format."""

PLAIN = "find_people"
"""The name of the finder when no model is named."""

Data = JoinedFrames | BenchFrames | MarkedRooms


@dataclass(frozen=True, eq=False)
class ModelFinder:
    """Finds people with a person model."""

    model: PersonModel

    def __call__(self, frame: Frame, background: Background | None = None) -> People:
        """Return the people of a frame."""
        return find_people(frame, background, model=self.model)

    def tracker(self, background: Background | None = None) -> PeopleFollower:
        """Return a tracker of the people in a recording."""
        return PeopleTracker(background, model=self.model)


@dataclass(frozen=True, eq=False)
class Source:
    """A source of frames: its title, the frames, and the empty room."""

    title: str
    data: Data
    background: Background | EmptyRooms | None = None


@dataclass(frozen=True, eq=False)
class PeopleResult:
    """The results of a run: a score for each source and finder, and the files that were written."""

    sources: list[JudgedSource]
    bench: list[BenchFrames]
    written: list[Path]

    def lines(self) -> list[str]:
        """Return the figures for a terminal, one per line; with several sources or finders, as a table."""
        said = [f"bench {BENCH_VERSION}, {bench_state(one)}: {one.bench.name}" for one in self.bench]
        rows = [row_cells(one.title, name, score) for one in self.sources for name, score in one.scores.items()]
        # empty columns, such as ids where nothing was tracked, are left out
        kept = [i for i in range(len(TITLES)) if any(row[i] for row in rows)]
        lines = [[row[i] for i in kept] for row in (TITLES, *rows)]
        if len(rows) == 1:
            lines = [list(pair) for pair in zip(*lines, strict=True)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return said + ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines]

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON form."""
        hashes = {one.title: {"sha256": one.sha256, "as_committed": one.is_as_committed} for one in self.bench}
        return {
            "format": FORMAT,
            "version": VERSION,
            "sources": [one.to_dict() | hashes.get(one.title, {}) for one in self.sources],
        }


@dataclass(frozen=True, eq=False)
class PeopleRun:
    """A run that is ready to start; see `prepare_people`."""

    options: PeopleOptions
    sources: list[Source]
    finders: dict[str, ModelFinder | None]

    @property
    def total(self) -> int:
        """The number of frames that `progress` will be called for."""
        return sum(len(one.data) for one in self.sources)

    def run(self, progress: Callable[[int], object] | None = None) -> PeopleResult:
        """Find people, evaluate, and write the requested files."""
        options, judged, bench = self.options, [], []
        for one in self.sources:
            judges = [
                PeopleJudge(seed=options.seed)
                if finder is None
                else PeopleJudge(finder, finder.tracker, seed=options.seed)
                for finder in self.finders.values()
            ]
            scores = evaluate_finders(
                judges,
                one.data,
                background=one.background,
                recording=options.recording,
                threads=options.threads,
                progress=progress,
            )
            judged.append(JudgedSource(one.title, one.data.names, dict(zip(self.finders, scores, strict=True))))
            if isinstance(one.data, BenchFrames):
                warn_of_other_frames(one.data)
                one.data.free()
                bench.append(one.data)
        result = PeopleResult(judged, bench, [])
        self._write(result)
        return result

    def _write(self, result: PeopleResult) -> None:
        if self.options.output is not None:
            path = Path(self.options.output)
            write_people_report(path, result.sources)
            result.written.append(path)
        if self.options.json_path is not None:
            path = Path(self.options.json_path)
            write_figures(path, result.to_dict())
            result.written.append(path)


def prepare_people(options: PeopleOptions) -> PeopleRun:
    """Load models, open all frames and check what can be checked; `PeopleRun.run` does the rest."""
    thread_count(options.threads)
    check_outputs(options.output, options.json_path)
    finders: dict[str, ModelFinder | None] = {}
    for model in options.models:
        stem = Path(model).stem
        name = next(
            n for n in (stem, *(f"{stem} ({i})" for i in range(2, len(options.models) + 2))) if n not in finders
        )
        finders[name] = ModelFinder(load_person_model(model))
    return PeopleRun(options, _open_sources(options), {**finders} if finders else {PLAIN: None})


def _open_sources(options: PeopleOptions) -> list[Source]:
    """Open the data sets, then marked rooms, then test sets."""
    sources = []
    for path in options.data:
        frames = JoinedFrames([_with_people(open_dataset(path))], options.limit)
        sources.append(Source(frames.title, frames, _background(options.background, frames)))
    for path in options.rooms:
        rooms = MarkedRooms(path, options.limit)
        sources.append(Source(rooms.title, rooms))
    for name in chosen_names(options.bench, PEOPLE):
        bench = open_bench(name, options.mocap, options.limit)
        sources.append(Source(bench.title, bench, bench.empty_room if options.empty_room else None))
    return sources


def _with_people(data: FolderDataset | ZarrDataset) -> FolderDataset | ZarrDataset:
    if isinstance(data, FolderDataset) and not (data.path / "people").is_dir():
        raise UsageError(f"{data.path}: has no people/, the ids of the true people, to compare with")
    return data


def _background(paths: Sequence[str | Path], frames: JoinedFrames) -> Background | None:
    """Learn the room of a data set from empty frames of its camera."""
    if not paths:
        return None
    (data,) = frames.sets
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the camera is .* scaled")  # a different size is refused below
        background = Background.learn(FrameSequence(list(paths), ReadOptions(camera=data.camera)))
    if background.shape != data.camera.shape:
        rows, cols = background.shape
        raise UsageError(
            f"the background has {cols} x {rows} pixels, but the frames of {data.path} have {data.camera.width} x "
            f"{data.camera.height}; give empty frames of the same camera"
        )
    return background
