"""RecipeRun: does the missing steps of a recipe, keeps and logs their results, and writes a model with its card."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from depthforest.base import (
    DepthForestError,
    check_writable,
    counted,
    make_folder,
    read_json,
    reason,
    replacing,
    write_json,
)
from depthforest.io import import_zarr
from depthforest.recipes.card import command_of, write_card
from depthforest.recipes.kinds import FRAMES, SUFFIXES, Job, Step
from depthforest.recipes.outlook import RecipeOutlook, log_line, shown_bytes
from depthforest.recipes.recipe import Recipe

LOG = "log.jsonl"

NEWS_SECONDS = 1.0
"""Seconds between two lines of progress of one step."""


@dataclass(frozen=True)
class RunOptions:
    """Options that do not shape the model.

    Parameters
    ----------
    threads : int, optional
        Default: one per core.
    memory_mb : float, optional
        Memory budget of growing.
    client : optional
        Client of a Dask cluster to run on.
    """

    threads: int | None = None
    memory_mb: float | None = None
    client: Any = None


@dataclass(frozen=True)
class StepNews:
    """A line of progress.

    Parameters
    ----------
    event : "step", "level", "done" or "kept"
        A step begins, makes progress, is done, or was done before. (The command line shows "level" in its live line.)
    text : str
    seconds_left : float or None
    """

    event: str
    text: str
    seconds_left: float | None = None

    def __str__(self) -> str:
        from depthforest.training import shown_time

        left = "" if self.seconds_left is None else f"; {shown_time(self.seconds_left)} left for all"
        return f"{self.text}{left}"


class RecipeRun:
    """One run of a recipe.

    Parameters
    ----------
    recipe : Recipe
    output : str or Path
        The model file to write; its card is written beside it, as NAME.md.
    folder : str or Path, optional
        Folder for the results of steps; recipes may share one. Default: beside the model, `MODEL.steps`.
    mocap, bodies : str, optional
        As given to `read_recipe`, for the command on the card.
    """

    def __init__(
        self,
        recipe: Recipe,
        output: str | Path,
        folder: str | Path | None = None,
        *,
        mocap: str | None = None,
        bodies: str | None = None,
    ) -> None:
        self.recipe, self.output = recipe, Path(output)
        self.folder = Path(folder) if folder is not None else self.output.with_name(f"{self.output.name}.steps")
        self._options = RunOptions()
        self._command = command_of(recipe, self.output, mocap, bodies)

    @property
    def card_path(self) -> Path:
        """Path of the card."""
        return self.output.with_suffix(".md")

    def path_of(self, step: Step) -> Path:
        """Return the path that a step writes."""
        return self.folder / f"{step.name}-{step.key}{SUFFIXES[step.kind.gives]}"

    def _record_path(self, step: Step) -> Path:
        return self.folder / f"{step.name}-{step.key}.done"

    def record(self, step: Step) -> dict[str, Any] | None:
        """Return the record of a finished step; None if it still has to run."""
        if not self._record_path(step).is_file() or not self.path_of(step).exists():
            return None
        content = read_json(self._record_path(step), DepthForestError)
        if not isinstance(content, dict) or not {"kind", "units", "seconds", "notes"} <= set(content):
            raise DepthForestError(
                f"{self._record_path(step)}: is not the record of a step; remove it to do the step again"
            )
        return content

    def records(self) -> dict[str, dict[str, Any]]:
        """Return the records of all steps that are done, by name."""
        found = {step.name: self.record(step) for step in self.recipe.steps}
        return {name: record for name, record in found.items() if record is not None}

    def plan(self) -> list[dict[str, Any]]:
        """Return a row for each step: name, kind, key, whether it is done, frames, evaluations, bytes, seconds."""
        records = self.records()
        outlook = RecipeOutlook([], records.values())
        rows = []
        for step in self.recipe.steps:
            work, record = step.work, records.get(step.name)
            rows.append({
                "name": step.name, "kind": step.kind.name, "key": step.key, "is_done": record is not None,
                "frames": work.n_frames, "evaluations": work.n_evaluations, "bytes": work.n_bytes,
                "seconds": outlook.seconds_of(step) if record is None else record["seconds"],
            })  # fmt: skip
        return rows

    def check(self) -> None:
        """Raise errors that can be detected before the first step: missing files and packages, an unwritable output."""
        check_writable(self.output)
        records = self.records()
        if any(step.kind.gives == FRAMES or step.data for step in self.recipe.steps if step.name not in records):
            import_zarr()  # frames are kept in Zarr stores

    def run(self, tell: Callable[[StepNews], object] = lambda _: None, options: RunOptions | None = None) -> Path:
        """Run the missing steps, and write model and card; return the path of the model.

        Ctrl-C loses at most the step in progress; steps that make frames or grow trees also keep partial results.
        """
        self._options = RunOptions() if options is None else options
        self.check()
        make_folder(self.folder)
        records = self.records()
        todo = [step for step in self.recipe.steps if step.name not in records]
        outlook = RecipeOutlook(todo, records.values())
        for number, step in enumerate(self.recipe.steps, 1):
            title = f"[{number} of {len(self.recipe.steps)}] {step.name} ({step.kind.name})"
            if step in todo:
                records[step.name] = self._do(step, title, outlook, tell)
            else:
                tell(StepNews("kept", f"{title}: done before"))
        self._write({name: record["notes"] for name, record in records.items()})
        return self.output

    def _do(self, step: Step, title: str, outlook: RecipeOutlook, tell: Callable[[StepNews], object]) -> dict[str, Any]:
        """Run one step, and keep its record."""
        started = told = time.perf_counter()
        done = 0.0

        def say(event: str, text: str, own: float | None = None) -> None:
            left = outlook.seconds_left(step, done, time.perf_counter() - started, own)
            self._log({"step": step.name, "key": step.key, "event": event, "text": text, "seconds_left": round(left)})
            tell(StepNews(event, f"{title}: {text}", left))

        def advance(units: float) -> None:
            nonlocal done, told
            done += units
            now = time.perf_counter()
            if now - told >= NEWS_SECONDS:
                told = now
                left = outlook.seconds_left(step, done, now - started)
                tell(StepNews("level", f"{title}: {done:,.0f} of {step.work.units:,.0f}", left))

        say("step", _shown_work(step))
        job = Job(
            step,
            self.path_of(step),
            [self.path_of(one) for one in step.data],
            self.path_of(step.model) if step.model else None,
            advance,
            lambda text, own: say("level", text, own),
            self._options.threads,
            self._options.memory_mb,
            self._options.client,
        )
        notes = dict(step.kind.run(job))
        seconds = time.perf_counter() - started
        record = {"kind": step.kind.name, "units": step.work.units, "seconds": round(seconds, 2), "notes": notes}
        write_json(self._record_path(step), record)
        outlook.end(step, seconds)
        self._log({"step": step.name, "key": step.key, "event": "done", "seconds": round(seconds, 2)})
        tell(StepNews("done", f"{title}: done in {seconds:.0f} s"))
        return record

    def _log(self, entry: Mapping[str, Any]) -> None:
        path = self.folder / LOG
        try:
            with path.open("ab") as file:
                file.write(log_line({"time": time.strftime("%Y-%m-%dT%H:%M:%S"), **entry}))
        except OSError as error:
            raise DepthForestError(f"{path}: cannot be written: {reason(error)}") from None

    def _write(self, notes: Mapping[str, Mapping[str, Any]]) -> None:
        """Write the card, then the model."""
        source = self.path_of(self.recipe.product)
        card = write_card(self.recipe, notes, _facts(source), self._command)
        with replacing(self.card_path) as file:
            file.write(card.encode())
        with replacing(self.output) as file, source.open("rb") as model:
            shutil.copyfileobj(model, file)


def _shown_work(step: Step) -> str:
    work = step.work
    said = f"{work.n_frames:,} frames" if work.n_frames else "..."
    if work.n_evaluations:
        said += f", {work.n_evaluations:.1e} evaluations"
    return said + (f", about {shown_bytes(work.n_bytes)}" if work.n_bytes else "")


def _facts(path: Path) -> str:
    """Return one line about a model file."""
    from depthforest.forest import load

    size = shown_bytes(path.stat().st_size)
    try:
        forest = load(path)
    except DepthForestError:  # not a forest: a person model has its own facts
        return f"{size}."
    facings = f" for {forest.n_facings} facings" if forest.n_facings > 1 else ""
    return (
        f"{len(forest.part_set)} parts, {counted(forest.n_trees, 'trees')} of up to {forest.depth} splits, "
        f"{forest.n_leaves:,} leaves{facings}, {size}."
    )
