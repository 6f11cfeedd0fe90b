"""Options that several commands share, or that are made of a configuration's fields; errors' parameters as options."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Optional, cast

import typer

from depthforest.base import Parameter

OPTION_NAMES = {
    "is_background_removed": "--background-removed",
    "is_forced": "--force",
    "max_depth": "--depth",
    "max_leaves": "--leaves",
    "max_trees": "--trees",
    "memory_mb": "--memory",
    "n_facings": "--facings",
    "n_people": "--people",
    "output": "-o",
    "outputs": "--write",
}
"""Parameter that a message may name -> its option, where that is called otherwise."""


def as_option(parameter: Parameter) -> str:
    """Return a parameter that a message names as it is typed on the command line."""
    option = OPTION_NAMES.get(parameter.name, f"--{parameter.name.replace('_', '-')}")
    return option if parameter.value is None or parameter.value is True else f"{option} {parameter.value}"


def complete_camera(incomplete: str) -> list[str]:
    """Return the presets that begin like this."""
    from depthforest.frames import PRESETS

    return [name for name in PRESETS if name.startswith(incomplete)]


def complete_scale(incomplete: str) -> list[str]:
    """Return the units that begin like this."""
    from depthforest.frames import NAMED_SCALES

    return [name for name in NAMED_SCALES if name.startswith(incomplete)]


# the options of every command that reads frames
Inputs = Annotated[
    list[str], typer.Argument(help="Frames, folders, globs; - for a raw gray16le stream.", metavar="IN...")
]
CameraOption = Annotated[
    str | None,
    typer.Option(
        help="Preset (kinect_v1, kinect_v1@320x240, ...), fx,fy,cx,cy[,WxH], or a .json file.",
        autocompletion=complete_camera,
    ),
]
ScaleOption = Annotated[
    str | None,
    typer.Option(help="Metres per unit, or mm, cm, m, tum, sun3d.", autocompletion=complete_scale),
]
FlipOption = Annotated[bool, typer.Option("--flip", help="The pictures are mirrored: turn them back.")]
RotateOption = Annotated[int, typer.Option(help="Turn the pictures clockwise by 90, 180 or 270 degrees.")]
ThreadsOption = Annotated[int | None, typer.Option(help="Omitted: one for each core.")]
SizeOption = Annotated[str | None, typer.Option(help="WxH of raw dumps and streams.")]

# the options of every command that labels frames
ModelOption = Annotated[
    str | None,
    typer.Option(help="A model file, or a shipped one: body31 (default), body31-fast.", metavar="NAME|FILE"),
]
MaskOption = Annotated[
    Path | None,
    typer.Option(
        help="Who the people are: 8-bit or 1-bit PNG, 0 = nobody, else the person's id. A folder holds NAME.png "
        "for each frame NAME; a file is for all frames.",
        metavar="FILE|DIR",
    ),
]
BackgroundOption = Annotated[
    Path | None,
    typer.Option(
        help="The room without people: an empty frame, or a folder of them. Omitted: people are told from the room by "
        "their shape.",
        metavar="FILE|DIR",
    ),
]
BackgroundRemovedOption = Annotated[
    bool, typer.Option("--background-removed", help="All readings are one person: look for nobody.")
]
PeopleOption = Annotated[
    int | None,
    typer.Option("--people", help="Look for at most so many people; exit code 1 if no frame shows anybody.", min=1),
]
DoubtfulOption = Annotated[
    bool,
    typer.Option("--doubtful", help="Keep whatever was looked at, however improbable it is that it is a person."),
]
PersonModelOption = Annotated[
    str | None,
    typer.Option("--person-model", help="What tells people from things: a file of train-people.", metavar="FILE"),
]
TrackOption = Annotated[
    bool,
    typer.Option(
        "--track",
        help="The frames are a recording: people keep their ids, the room is learned, joints are smoothed over time.",
    ),
]
MirrorOption = Annotated[
    bool | None, typer.Option("--mirror/--no-mirror", help="Label the mirrored frame too; omitted: as the model says.")
]
SmoothOption = Annotated[
    float | None,
    typer.Option(
        help="Add up what pixels up to so many metres away say; 0: each by itself; omitted: as the model says.",
        min=0,
    ),
]
ExactOption = Annotated[
    bool, typer.Option("--exact", help="Walk every pixel; omitted: fewer where labels are alike, and faster.")
]
RuleOption = Annotated[str, typer.Option(help="How trees are combined: mean, votes or purity.")]
RejectOption = Annotated[
    float | None, typer.Option(help="Leave pixels below this confidence unlabeled, 0 to 1.", min=0, max=1)
]
WriteOption = Annotated[
    str | None,
    typer.Option(
        help="Of parts, overlay, confidence, probabilities, json, joints, video, with commas; omitted: parts,overlay.",
    ),
]
FpsOption = Annotated[float, typer.Option(help="Frames a second of a recording, and of the video.", min=0.1, max=1000)]
StdoutOption = Annotated[
    bool, typer.Option("--stdout", help="Write the parts of the only frame as PNG to standard output.")
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Label again what is done, and replace what other options made.")
]


def with_fields_of(config: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command one option for each field of a config dataclass, so that none can be forgotten.

    The field's first line in the class's docstring is the option's help; omitted options arrive as None.
    """
    module, _, name = config.rpartition(".")
    config_type = getattr(import_module(module), name)
    helps = dict(re.findall(r"^    (\w+) : .*\n        (.+)$", config_type.__doc__ or "", re.MULTILINE))

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        given = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        added = []
        for entry in fields(config_type):
            text = f"{helps.get(entry.name, '').rstrip('.:')} [default: {entry.default}]".strip()
            option = typer.Option(f"--{entry.name.replace('_', '-')}", help=text, show_default=False)
            annotation: Any = Annotated[Optional[cast(Any, type(entry.default))], option]  # noqa: UP045
            kind = inspect.Parameter.KEYWORD_ONLY
            added.append(inspect.Parameter(entry.name, kind, default=None, annotation=annotation))
        parameters = [*given, *added]
        command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        return command

    return decorate
