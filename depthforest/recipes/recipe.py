"""Recipe: the file, read and checked: steps by name, each with its options, its configuration and its key."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from depthforest.base import UsageError, is_finite, read_bytes
from depthforest.recipes import steps as _steps  # noqa: F401  # fills the registry
from depthforest.recipes.kinds import FRAMES, KINDS, MODEL, Step

TOP_KEYS = ("name", "about", "notes", "base", "steps")

MAX_BASES = 8
"""Longest chain of recipes, each the base of the next."""


@dataclass(frozen=True)
class Recipe:
    """Steps that end in a model.

    Parameters
    ----------
    path : Path
        Path of its file.
    name : str
    about : str
        One sentence for the card.
    notes : str
        Markdown for the end of the card.
    steps : tuple of Step
        In the order in which they run.
    scale : float
    """

    path: Path
    name: str
    about: str
    notes: str
    steps: tuple[Step, ...]
    scale: float = 1.0

    @property
    def product(self) -> Step:
        """The last step that gives a model, which is written in the end."""
        return [one for one in self.steps if one.kind.gives == MODEL][-1]


def read_recipe(path: str | Path, *, scale: float = 1.0, mocap: str | None = None, bodies: str | None = None) -> Recipe:
    """Read a recipe and check everything that can be checked before the first step.

    Parameters
    ----------
    path : str or Path
    scale : float
        Above 0: numbers of frames and leaves are multiplied by it.
    mocap, bodies : str, optional
        Replace these options of steps that make frames; an empty `mocap` means no clips.
    """
    if not is_finite(scale) or not 0 < scale <= 1000:
        raise UsageError(f"scale must be a number above 0, up to 1000; got {scale!r}")
    path = Path(path)
    content = _read(path)
    given = {name: value for name, value in (("mocap", mocap), ("bodies", bodies)) if value is not None}
    made: dict[str, Step] = {}
    for folder, name, table in _tables(path, content, 0):
        if name in made:
            raise UsageError(f"{path}: step {name} is given twice, here and in the base recipe")
        made[name] = _step(folder, name, table, made, scale, given)
    if not any(one.kind.gives == MODEL for one in made.values()):
        raise UsageError(f"{path}: no step gives a model; kinds that do: {', '.join(_giving(MODEL))}")
    texts = {key: content.get(key, "") for key in ("name", "about", "notes")}
    for key, value in texts.items():
        if not isinstance(value, str):
            raise UsageError(f"{path}: {key} must be text, got {value!r}")
    name = texts["name"] or path.name.split(".")[0]
    return Recipe(path, name, texts["about"], texts["notes"], tuple(made.values()), scale)


def _giving(what: str) -> list[str]:
    return [name for name, kind in KINDS.items() if kind.gives == what]


def _read(path: Path) -> Mapping[str, Any]:
    try:
        content = tomllib.loads(read_bytes(path, UsageError).decode())
    except (ValueError, RecursionError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{path}: is not valid TOML: {error}") from None
    unknown = sorted(set(content) - set(TOP_KEYS))
    if unknown:
        raise UsageError(f"{path}: unknown keys {', '.join(unknown)}; a recipe has {', '.join(TOP_KEYS)}")
    if not isinstance(content.get("steps"), Mapping) or not content["steps"]:
        raise UsageError(f'{path}: has no steps; a step is a table such as [steps.frames] with do = "synth"')
    return content


def _tables(path: Path, content: Mapping[str, Any], n_bases: int) -> list[tuple[Path, str, Any]]:
    """Return (file, name, table) of all steps, those of the base recipe first."""
    found: list[tuple[Path, str, Any]] = []
    base = content.get("base")
    if base is not None:
        if not isinstance(base, str) or n_bases == MAX_BASES:
            raise UsageError(f"{path}: base must be the file of a recipe, at most {MAX_BASES} deep; got {base!r}")
        below = path.parent / base
        found = _tables(below, _read(below), n_bases + 1)
    return found + [(path, name, table) for name, table in content["steps"].items()]


def _step(path: Path, name: str, table: Any, made: Mapping[str, Step], scale: float, given: Mapping[str, str]) -> Step:
    where = f"{path}: step {name}"
    if not isinstance(table, Mapping) or table.get("do") not in KINDS:
        got = table.get("do") if isinstance(table, Mapping) else table
        raise UsageError(f"{where}: do must be one of {', '.join(KINDS)}; got {got!r}")
    if not name.replace("_", "").replace("-", "").isalnum():
        raise UsageError(f"{where}: a name has letters, digits, _ and - only")
    kind = KINDS[table["do"]]
    unknown = sorted(set(table) - set(kind.options) - {"do"})
    if unknown:
        raise UsageError(f"{where}: {kind.name} has no option {unknown[0]}; it has {', '.join(kind.options)}")
    options: dict[str, Any] = {}
    for key, option in kind.options.items():
        if key not in table and option.is_needed:
            raise UsageError(f"{where}: {kind.name} needs {key}")
        value = option.checked(f"{where}: {key}", table[key]) if key in table else option.default
        if option.least is not None and value is not None and scale != 1:
            value = max(min(option.least, value), round(value * scale))
        options[key] = value
    configs = {
        key: _read_config(path.parent / options[key])
        for key, option in kind.options.items()
        if option.kind == "config" and options[key] is not None
    }
    _change_frames(options, configs, made, given)
    data = tuple(_reference(where, one, made, FRAMES) for one in options.get("data") or ())
    if "data" in options and not data:
        raise UsageError(f"{where}: data must name at least one step that makes frames")
    model = _reference(where, options["model"], made, MODEL) if "model" in options else None
    made_step = Step(name, kind, options, configs, data, model)
    _check_config(made_step)
    return made_step


def _change_frames(
    options: dict[str, Any],
    configs: Mapping[str, Mapping[str, Any]],
    made: Mapping[str, Step],
    given: Mapping[str, str],
) -> None:
    """Replace clips and bodies by the given ones; clips only where a step, or one before it, has any."""
    for name in {"mocap", "bodies"} & set(options):
        its_own = options[name] or configs.get("config", {}).get(name) or _first(name, made)
        if name in given and (name != "mocap" or its_own):
            options[name] = given[name]
        elif "frames" not in options:
            options[name] = its_own


def _first(name: str, made: Mapping[str, Step]) -> str | None:
    """Return an option's value from the first step that has one."""
    said = (one.options.get(name) or one.configs.get("config", {}).get(name) for one in made.values())
    return next(filter(None, said), None)


def _read_config(path: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(read_bytes(path, UsageError).decode())
    except (ValueError, RecursionError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{path}: is not valid TOML: {error}") from None


def _reference(where: str, name: str, made: Mapping[str, Step], gives: str) -> Step:
    if name not in made or made[name].kind.gives != gives:
        known = [one for one, step in made.items() if step.kind.gives == gives]
        raise UsageError(
            f"{where}: needs {gives} of an earlier step, and {name!r} is none; there are {', '.join(known) or 'none'}"
        )
    return made[name]


def _check_config(step: Step) -> None:
    """Raise an error now if a configuration or a number is invalid."""
    step.kind.work(step, 1)
