"""Kinds of steps in a recipe: their options, and the arguments of their functions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from depthforest.base import UsageError, canonical_json, is_finite, is_whole

if TYPE_CHECKING:
    from depthforest.forest import Forest

FRAMES, MODEL, FIGURES = "frames", "model", "figures"
"""Result of a step: a data set, a model file, or figures of a model."""

SUFFIXES = {FRAMES: ".zarr", MODEL: ".safetensors", FIGURES: ".json"}


@dataclass(frozen=True)
class Option:
    """An option of a step.

    Parameters
    ----------
    kind : "number", "count", "text", "flag", "names" or "config"
        A config is the name of a TOML file beside the recipe; names are a list of texts.
    default : optional
        Value if the recipe leaves it out; None leaves the choice to the step.
    is_needed : bool
        Whether the recipe must give it.
    least : int, optional
        If given, the number shrinks with `--scale`, but not below this.
    """

    kind: str
    default: Any = None
    is_needed: bool = False
    least: int | None = None

    def checked(self, where: str, value: Any) -> Any:
        """Return a value from the recipe if it has this kind; raise UsageError otherwise."""
        is_right = {
            "number": is_finite(value),
            "count": is_whole(value, 0),
            "text": isinstance(value, str),
            "config": isinstance(value, str),
            "flag": isinstance(value, bool),
            "names": isinstance(value, list) and all(isinstance(name, str) for name in value),
        }[self.kind]
        if not is_right:
            raise UsageError(f"{where} must be {_KINDS[self.kind]}, got {value!r}")
        return value


_KINDS = {
    "number": "a number", "count": "a whole number, 0 or more", "text": "text", "config": "the name of a TOML file",
    "flag": "true or false", "names": "a list of names",
}  # fmt: skip


@dataclass(frozen=True)
class Work:
    """How much a step has to do.

    Parameters
    ----------
    units : float
        The quantity that its time is proportional to: frames, or evaluations.
    n_frames : int
        Frames that are made or read.
    n_evaluations : float
        For growing: pixels times candidates times levels.
    n_bytes : float
        Approximate size on disk.
    """

    units: float
    n_frames: int = 0
    n_evaluations: float = 0
    n_bytes: float = 0


@dataclass(frozen=True)
class Kind:
    """A kind of step.

    Parameters
    ----------
    name : str
        Name in recipes, after `do =`.
    gives : str
        `FRAMES`, `MODEL` or `FIGURES`.
    options : mapping
        Name to `Option`. `data` (names of steps that give frames) and `model` (the name of one that gives a model) are
        understood by all kinds that list them.
    run : callable
        Given a `Job`; writes `job.path` and returns a record in JSON form.
    unit_seconds : float
        Estimate for one unit of work on two cores, before anything was measured.
    work : callable
        Given the `Step` and the number of frames of its data, returns its `Work`.
    depends_on : callable, optional
        Given a `Step`, returns text about what else shapes the result: digests of files.
    version : int
        Raise it whenever the same inputs give a different result.
    """

    name: str
    gives: str
    options: Mapping[str, Option]
    run: Callable[[Job], Mapping[str, Any]]
    unit_seconds: float
    work: Callable[[Step, int], Work]
    depends_on: Callable[[Step], str] = field(default=lambda _: "")
    version: int = 1


@dataclass(frozen=True)
class Step:
    """A step of a recipe.

    Parameters
    ----------
    name : str
    kind : Kind
    options : mapping
        All options of the kind; None if neither the recipe nor the kind has a value.
    configs : mapping
        The contents of the TOML files that options name.
    data : tuple of Step
    model : Step or None
    """

    name: str
    kind: Kind
    options: Mapping[str, Any]
    configs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    data: tuple[Step, ...] = ()
    model: Step | None = None

    @cached_property
    def key(self) -> str:
        """The hash of everything that the result depends on: 12 hexadecimal digits."""
        options = {name: value for name, value in self.options.items() if name not in ("data", "model", *self.configs)}
        content = {
            "kind": self.kind.name,
            "version": self.kind.version,
            "options": options,
            "configs": self.configs,
            "data": [one.key for one in self.data],
            "model": self.model.key if self.model else None,
            "depends_on": self.kind.depends_on(self),
        }
        return hashlib.sha256(canonical_json(content).encode()).hexdigest()[:12]

    @property
    def work(self) -> Work:
        """How much there is to do."""
        return self.kind.work(self, sum(one.work.n_frames for one in self.data))


KINDS: dict[str, Kind] = {}
"""All kinds by name; `step` fills it."""


def of_frames(passes: float = 1.0) -> Callable[[Step, int], Work]:
    """Return the work of a step that makes `passes` passes over all frames of its data."""
    return lambda _step, n_frames: Work(passes * n_frames, n_frames)


def step(
    name: str,
    gives: str,
    *,
    unit_seconds: float,
    work: Callable[[Step, int], Work] | None = None,
    depends_on: Callable[[Step], str] | None = None,
    version: int = 1,
    **options: Option,
) -> Callable[[Callable[[Job], Mapping[str, Any]]], Callable[[Job], Mapping[str, Any]]]:
    """Register a function as the kind of step with this name; the arguments are the fields of `Kind`."""

    def register(run: Callable[[Job], Mapping[str, Any]]) -> Callable[[Job], Mapping[str, Any]]:
        KINDS[name] = Kind(
            name, gives, options, run, unit_seconds, work or of_frames(), depends_on or (lambda _: ""), version
        )
        return run

    return register


@dataclass(frozen=True)
class Job:
    """The arguments of a kind's function.

    Parameters
    ----------
    step : Step
    path : Path
        The file or folder to write.
    data_paths : sequence of Path
        The data sets of `data`.
    model_path : Path or None
        The file of `model`.
    advance : callable
        Call it with the units of work that were done.
    tell : callable
        Call it with news: one line of text, and the remaining seconds of the step, or None.
    threads : int or None
    memory_mb : float or None
    client : optional
        Client of the Dask cluster to run on.
    """

    step: Step
    path: Path
    data_paths: Sequence[Path]
    model_path: Path | None
    advance: Callable[[float], object]
    tell: Callable[[str, float | None], object]
    threads: int | None = None
    memory_mb: float | None = None
    client: Any = None

    def option(self, name: str) -> Any:
        """Return an option of the step."""
        return self.step.options[name]

    def given(self, **names: str) -> dict[str, Any]:
        """Return the options that have a value, under the names of a function's parameters."""
        found = {parameter: self.step.options[name] for parameter, name in names.items()}
        return {parameter: value for parameter, value in found.items() if value is not None}

    def frames(self) -> Any:
        """Return the frames of `data`, opened as one."""
        from depthforest.io import open_datasets

        return open_datasets(self.data_paths)

    def forest(self) -> Forest:
        """Return the model of `model`."""
        from depthforest.forest import load

        if self.model_path is None:
            raise UsageError(f"step {self.step.name}: names no model")
        return load(self.model_path)
