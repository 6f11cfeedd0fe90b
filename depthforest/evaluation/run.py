"""A run of `evaluate`: models and data sets by name in; figures, an HTML report and a JSON file out.

`prepare_evaluation` reports every error in the options before any frame is labeled.
"""

from __future__ import annotations

import contextlib
import json
import re
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from depthforest.base import DepthForestWarning, UsageError, check_writable, replacing, thread_count
from depthforest.evaluation.bench import BENCH_VERSION, PARTS, BenchFrames, chosen_names, open_bench
from depthforest.evaluation.figures import Evaluation
from depthforest.evaluation.judging import evaluate_many
from depthforest.evaluation.marks import FrameMarks, MarkedFrames, frame_of, marked_regions, read_marks, score_marks
from depthforest.evaluation.options import EvaluateOptions, PathLike
from depthforest.evaluation.partmaps import comparable
from depthforest.evaluation.report.cards import find_card
from depthforest.evaluation.report.examples import Example, draw_examples, draw_marks
from depthforest.evaluation.report.page import ModelReport, write_report
from depthforest.evaluation.report.svg import percent
from depthforest.evaluation.report.text import (
    BENCH_COLUMNS,
    figure_title,
    interval,
    shown_figures,
    speed_text,
    verdict_lines,
)
from depthforest.forest import Forest, find_model, load
from depthforest.io import JoinedFrames, open_dataset

Source = JoinedFrames | BenchFrames

FORMAT, VERSION = "depthforest-evaluation", 1
"""Version of the JSON file's format."""

LEFTOVER_SECONDS = 3600
"""Seconds. A partial file that changed more recently may belong to a running process."""

_LEFTOVER = re.compile(r"\.[0-9a-f]{12}\.part")
"""Names that `files.replacing` gives to a file that is not complete yet."""


@dataclass(frozen=True, eq=False)
class EvaluationResult:
    """The results of a run.

    Parameters
    ----------
    models : list of ModelReport
        The models and their evaluations.
    data : str
        Description of the data, for people to read.
    written : list of Path
        The files that were written.
    bench : tuple of BenchFrames
        The test sets that were evaluated.
    """

    models: list[ModelReport]
    data: str
    written: list[Path]
    bench: tuple[BenchFrames, ...] = ()

    def lines(self) -> list[str]:
        """Return the figures for a terminal: one per line, a block for each model, and the verdicts.

        With several test sets, return a table with a row for each instead.
        """
        has_table = len(self.bench) > 1
        said = [
            f"bench {BENCH_VERSION}, {state}: {', '.join(o.bench.name for o in self.bench if bench_state(o) == state)}"
            for state in dict.fromkeys(map(bench_state, self.bench))
        ]
        said += self._table() if has_table else []
        for model in self.models:
            said += [f"{model.name}:"] if not has_table or model.marks is not None else []
            if model.evaluation is not None and not has_table:
                e = model.evaluation
                rows = [(figure_title(n, e), percent(e.figures[n].value), interval(e.figures[n])) for n in e.figures]
                shown = {figure_title(n, e) for n in shown_figures(e.figures)}
                rows = [row for row in rows if row[0] in shown]
                rows.append(("expected calibration error", percent(e.calibration.expected_error), ""))
                if e.speed is not None:
                    for title, is_joints in (("labeling", False), ("joints", True)):
                        rate, how = speed_text(e.speed, is_joints=is_joints)
                        rows += [(title, rate, how)] if how else []
                said += _aligned(rows)
                said += [f"  no joints: {e.no_joints}"] if e.joints is None else []
            if model.marks is not None:
                m = model.marks
                right = f"{int(m.tally.right.sum())} of {m.n_pixels}"
                rows = [("correct marked points", right, interval(m.figures["parts.pixel_accuracy"]))]
                rows += [
                    (f"marks: {figure_title(n, m)}", percent(e.value), interval(e))
                    for n, e in m.figures.items()
                    if n.startswith("joints.")
                ]
                said += _aligned(rows)
        return said + self.verdicts()

    def verdicts(self) -> list[str]:
        """Return a sentence for each comparison with the first model."""
        first, said = self.models[0], []
        for other in self.models[1:]:
            for one in self.bench if len(self.bench) > 1 else ():
                name = one.bench.name
                lines = verdict_lines(first.name, first.bench[name], other.name, other.bench[name])
                said += [f"{name}: {line}" for line in lines]
            if first.evaluation is not None and other.evaluation is not None and len(self.bench) < 2:
                said += verdict_lines(first.name, first.evaluation, other.name, other.evaluation)
            if first.marks is not None and other.marks is not None:
                said += verdict_lines(first.name, first.marks, other.name, other.marks, of="points")
        return said

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON form."""
        first = self.models[0]
        comparisons = [
            {"model": m.name, "with": first.name}
            | {
                kind: _gaps(own, base)
                for kind, own, base in (("data", m.evaluation, first.evaluation), ("marks", m.marks, first.marks))
                if own is not None and base is not None
            }
            for m in self.models[1:]
        ]
        content: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "data": self.data,
            "models": [
                {
                    "name": m.name,
                    "evaluation": None if m.evaluation is None else m.evaluation.to_dict(),
                    "marks": None if m.marks is None else m.marks.to_dict(),
                }
                for m in self.models
            ],
            "comparisons": comparisons,
        }
        if self.bench:
            content["bench"] = {"version": BENCH_VERSION, "sets": [self._set_dict(one) for one in self.bench]}
        return content

    def _set_dict(self, frames: BenchFrames) -> dict[str, Any]:
        """Return the results on a test set in JSON form."""
        name, first = frames.bench.name, self.models[0]
        return {
            "name": name,
            "frames": len(frames),
            "sha256": frames.sha256,
            "as_committed": frames.is_as_committed,
            "models": [{"name": m.name, "evaluation": m.bench[name].to_dict()} for m in self.models],
            "comparisons": [
                {"model": m.name, "with": first.name, "data": _gaps(m.bench[name], first.bench[name])}
                for m in self.models[1:]
            ],
        }

    def _table(self) -> list[str]:
        """Return the figures of all test sets: a line of titles, then a line for each set and model."""
        rows = [["test set", "model", "frames", *BENCH_COLUMNS.values()]]
        for one in self.bench:
            for model in self.models:
                evaluation = model.bench[one.bench.name]
                known = [evaluation.figures.get(name) for name in BENCH_COLUMNS]
                cells = ["" if e is None else f"{percent(e.value)} ({interval(e)})" for e in known]
                rows.append([one.bench.name, model.name, str(evaluation.n_frames), *cells])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]


@dataclass(frozen=True, eq=False)
class EvaluationRun:
    """A run that is ready to start; see `prepare_evaluation`."""

    options: EvaluateOptions
    models: list[ModelReport]
    data: tuple[Source, ...]
    marks: Mapping[str, FrameMarks]
    frames: MarkedFrames | None

    @property
    def total(self) -> int:
        """The number of frames that `progress` will be called for."""
        return sum(map(len, self.data)) + len(self.models) * len(self.marks)

    @property
    def forests(self) -> list[Forest]:
        """The models."""
        return [m.forest for m in self.models if m.forest is not None]

    def run(self, progress: Callable[[int], object] | None = None) -> EvaluationResult:
        """Evaluate, and write the requested files."""
        models, examples = list(self.models), []
        names, is_report = [m.name for m in models], self.options.output is not None
        bench = tuple(one for one in self.data if isinstance(one, BenchFrames))
        for number, data in enumerate(self.data):
            found = evaluate_many(self.forests, data, self.options, sensors=data.sensors, progress=progress)
            if number == 0:
                models = [replace(m, evaluation=e) for m, e in zip(models, found, strict=True)]
                if is_report:
                    examples += draw_examples(names, self.forests, found, data, data.names, self.options)
            if isinstance(data, BenchFrames):
                models = [replace(m, bench={**m.bench, data.bench.name: e}) for m, e in zip(models, found, strict=True)]
                warn_of_other_frames(data)
                data.free()
        if self.frames is not None:
            scored = [score_marks(f, self.marks, self.frames, self.options, progress=progress) for f in self.forests]
            models = [replace(m, marks=e) for m, e in zip(models, scored, strict=True)]
            if is_report:
                examples += draw_marks(names, self.forests, self.marks, self.frames, self.options)
        result = EvaluationResult(models, self.data[0].title if self.data else "", [], bench)
        self._write(result, examples)
        return result

    def _write(self, result: EvaluationResult, examples: Sequence[Example]) -> None:
        if self.options.output is not None:
            path = Path(self.options.output)
            write_report(path, result.models, data=result.data, examples=examples)
            result.written.append(path)
        if self.options.json_path is not None:
            path = Path(self.options.json_path)
            write_figures(path, result.to_dict())
            result.written.append(path)


def write_figures(path: Path, content: Mapping[str, Any]) -> None:
    """Write figures as JSON."""
    with replacing(path) as file:
        file.write((json.dumps(content, indent=1) + "\n").encode())


def prepare_evaluation(options: EvaluateOptions) -> EvaluationRun:
    """Load models, open data and marks, and check all of it; `EvaluationRun.run` does the rest."""
    thread_count(options.threads)
    check_outputs(options.output, options.json_path)
    models = load_models(options.models)
    data = _open_data(options)
    marks = {} if options.marks is None else read_marks(options.marks)
    frames = None if options.frames is None else MarkedFrames(options.frames, options.camera)
    run = EvaluationRun(options, models, data, marks, frames)
    _check_fit(run)
    return run


def check_outputs(output: PathLike | None, json_path: PathLike | None) -> None:
    """Refuse files that cannot be written, and remove partial files that killed runs left beside them."""
    paths = [Path(path) for path in (output, json_path) if path is not None]
    for path in paths:
        check_writable(path)
        _remove_leftovers(path.absolute().parent)
    if len(paths) == 2 and paths[0].absolute() == paths[1].absolute():
        raise UsageError(f"{paths[0]}: cannot be both the report and the JSON file; name two files")


def _remove_leftovers(folder: Path) -> None:
    """Remove partial files that have not changed for so long that nobody is writing them."""
    for path in folder.glob(".*.part"):
        with contextlib.suppress(OSError):  # somebody else's file, then
            if _LEFTOVER.fullmatch(path.name) and time.time() - path.stat().st_mtime > LEFTOVER_SECONDS:
                path.unlink()


def _open_data(options: EvaluateOptions) -> tuple[Source, ...]:
    """Open the test sets, or the data sets as one."""
    if options.bench:
        return tuple(open_bench(name, options.mocap, options.limit) for name in chosen_names(options.bench, PARTS))
    return (JoinedFrames([open_dataset(path) for path in options.data], options.limit),) if options.data else ()


def _check_fit(run: EvaluationRun) -> None:
    """Refuse data that a model cannot be evaluated on, and marks of missing frames."""
    for model, forest in zip(run.models, run.forests, strict=True):
        for data in run.data:
            _check_parts(model.name, forest, data)
        if run.frames is not None:
            marked_regions(run.marks, forest.part_set)
    if run.frames is not None:
        missing = next((name for name in run.marks if name not in run.frames), None)
        if missing is not None:
            frame_of(missing, run.marks, run.frames)


def load_models(models: Sequence[PathLike]) -> list[ModelReport]:
    """Load models by name or file, each with a name of its own and its card."""
    reports: list[ModelReport] = []
    for model in models:
        place = find_model(model)
        path = place if isinstance(place, Path) else None  # a model at a URL has no card beside it
        stem, taken = place.stem, {r.name for r in reports}
        longer = [] if path is None else [f"{path.absolute().parent.name}/{stem}"]
        names = (stem, *longer, *(f"{stem} ({i})" for i in range(2, len(models) + 2)))
        name = next(n for n in names if n not in taken)
        reports.append(ModelReport(name, forest=load(place), card=find_card(path)))
    return reports


def _check_parts(name: str, forest: Forest, data: Source) -> None:
    first, where = (data, data.title) if isinstance(data, BenchFrames) else (data.sets[0], str(data.sets[0].path))
    for one in data.sets if isinstance(data, JoinedFrames) else ():
        if one.part_set.names != first.part_set.names:
            raise UsageError(
                f"{one.path}: has a different part set than {where}; evaluate data sets of one part set at a time"
            )
    try:
        comparable(first.part_set, forest.part_set)
    except UsageError as error:
        raise UsageError(f"{name} on {where}: {error}") from None


def bench_state(frames: BenchFrames) -> str:
    """Return in words whether the frames of a test set match the committed hash."""
    if frames.is_as_committed is None:
        return f"the first {len(frames)} frames, not covered by a hash"
    if not frames.has_hash:
        return "frames without a committed hash"
    return "frames match the committed hash" if frames.is_as_committed else "frames differ from the committed hash"


def warn_of_other_frames(frames: BenchFrames) -> None:
    """Warn if the frames of a test set do not match the committed hash."""
    if frames.has_hash and frames.is_as_committed is False:
        warnings.warn(
            f"the frames of the test set {frames.bench.name} do not match the committed hash (another processor, "
            "other versions of libraries, other clips or body data); do not compare its figures with published ones",
            DepthForestWarning,
            stacklevel=3,
        )


def _gaps(own: Evaluation, base: Evaluation) -> dict[str, Any]:
    return {name: gap.to_dict() for name, gap in own.compared_with(base).items()}


def _aligned(rows: Sequence[tuple[str, str, str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    return [
        f"  {title:<{widths[0]}}  {value:>{widths[1]}}" + (f"  ({more})" if more else "") for title, value, more in rows
    ]
