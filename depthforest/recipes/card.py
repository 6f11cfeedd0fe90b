"""Card: the description of a model in Markdown, from the records of its recipe's steps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from depthforest.recipes.kinds import FIGURES, FRAMES
from depthforest.recipes.recipe import Recipe

COLUMNS = {
    "parts.mean_class_accuracy": "mean per-class accuracy",
    "parts_merged.mean_class_accuracy": "sides merged",
    "regions.mean_class_accuracy": "15 regions",
    "joints.mean_average_precision": "joints, mean average precision at 10 cm",
}
"""Figure -> title of its column."""


def write_card(recipe: Recipe, notes: Mapping[str, Mapping[str, Any]], facts: str, command: str) -> str:
    """Return the card of a model.

    Parameters
    ----------
    recipe : Recipe
    notes : mapping
        The record that each step returned, by the step's name.
    facts : str
        One line about the model file.
    command : str
        The command that makes the model again.
    """
    lines = [f"# {recipe.name}", "", *([recipe.about, ""] if recipe.about else []), facts, ""]
    if recipe.scale != 1:
        lines += [
            f"Made at scale {recipe.scale:g} of its recipe: a trial, not the model that the recipe describes.",
            "",
        ]
    for step in recipe.steps:
        if step.kind.gives == FIGURES:
            lines += _figures(notes[step.name])
    lines += ["| frames | number | camera | sensor | seed |", "|---|---|---|---|---|"]
    for step in recipe.steps:
        if step.kind.gives == FRAMES:
            its = notes[step.name]
            lines.append(
                f"| {step.name} | {its['frames']:,} | `{its['camera']}` | `{its['sensor']}` | {step.options['seed']} |"
            )
    lines += ["", "| step | from | what it noted |", "|---|---|---|"]
    for step in recipe.steps:
        if step.kind.gives not in (FRAMES, FIGURES):
            origin = ", ".join([*([step.model.name] if step.model else []), *(one.name for one in step.data)])
            said = ", ".join(f"{key} {_short(value)}" for key, value in notes[step.name].items() if key != "config")
            lines.append(f"| {step.name} ({step.kind.name}) | {origin} | {said} |")
    lines += ["", "To train it again:", "", "```", command, "```", ""]
    return "\n".join(lines + ([recipe.notes.strip(), ""] if recipe.notes.strip() else []))


def _figures(notes: Mapping[str, Any]) -> list[str]:
    """Return the table of an evaluation."""
    sets = notes["bench"]
    shown = [name for name in COLUMNS if any(name in figures for figures in sets.values())]
    lines = [
        f"| test set | {' | '.join(COLUMNS[name] for name in shown)} |",
        "|---" * (1 + len(shown)) + "|",
    ]
    for name, figures in sets.items():
        cells = [f"{figures[key]:.1%}".replace("%", " %") if key in figures else "" for key in shown]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    if notes["limit"] is not None:
        lines += ["", f"Only the first {notes['limit']} frames of each set."]
    if notes["left_out"]:
        lines += ["", f"Left out, for lack of the CMU clips: {', '.join(notes['left_out'])}."]
    return [*lines, ""]


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_short(one)}" for key, one in value.items())
    return f"{value:,}" if isinstance(value, int) else f"{value}"


def command_of(recipe: Recipe, output: Path, mocap: str | None, bodies: str | None) -> str:
    """Return the command that makes a model."""
    words = ["depthforest train --recipe", recipe.path.as_posix(), "-o", output.name]
    words += [] if recipe.scale == 1 else [f"--scale {recipe.scale:g}"]
    words += [] if mocap is None else [f"--mocap {mocap or chr(39) * 2}"]
    words += [] if bodies is None else [f"--bodies {bodies}"]
    return " ".join(words)
