"""Options that several commands share, or that are made of a configuration's fields; errors' parameters as options."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Optional, cast

import typer

from depthforest.base import Parameter

OPTION_NAMES = {
    "is_background_removed": "--background-removed",
    "force": "--force",
    "is_forced": "--force",
    "is_tracked": "--track",
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


OPTION_GROUPS = {
    "Input": "camera scale flip rotate size topic fps data test config synth-config frames seed sensor bodies mocap "
    "acts marks bench rooms empty-room limit recipe",
    "People": "mask background background-removed people doubtful person-model track world",
    "Model": "model compare mirror smooth exact rule reject",
    "Options": "",
    "Output": "output write stdout json preview format recording",
    "Run": "host port open threads shards memory dask checkpoint resume force steps dry-run show-config help",
}
"""Section of a command's help -> its options; "Options" has all others."""


def group_of(options: Sequence[str]) -> str:
    """Return the section of a command's help that lists an option, given by all its spellings."""
    names = {option.lstrip("-") for option in options}
    return next((title for title, listed in OPTION_GROUPS.items() if names & set(listed.split())), "Options")


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
    list[str],
    typer.Argument(
        help="Frames, folders, globs, recordings; realsense:, orbbec:, oak:, v4l2: for a camera; - for a raw gray16le "
        "stream.",
        metavar="IN",
    ),
]
CameraOption = Annotated[
    str | None,
    typer.Option(
        help="Preset (kinect_v1, kinect_v1@320x240, ...), fx,fy,cx,cy[,WxH], or a .json file. Omitted: what the source "
        "says, else the preset of its size.",
        autocompletion=complete_camera,
    ),
]
SynthCameraOption = Annotated[
    str | None,
    typer.Option(
        help="Of synthetic frames: as for label. Omitted: kinect_v1@320x240.",
        autocompletion=complete_camera,
    ),
]
MemoryOption = Annotated[float | None, typer.Option(help="Budget in MB beside the frames. Omitted: 2048.")]
ScaleOption = Annotated[
    str | None,
    typer.Option(
        help="Meters per unit, or mm, cm, m, tum, sun3d. Omitted: what the source says, else mm, for decimals m.",
        autocompletion=complete_scale,
    ),
]
FlipOption = Annotated[bool, typer.Option("--flip", help="The pictures are mirrored: turn them back.")]
RotateOption = Annotated[int, typer.Option(help="Turn the pictures clockwise by 90, 180 or 270 degrees.")]
ThreadsOption = Annotated[int | None, typer.Option(help="Omitted: one for each core.")]
DaskOption = Annotated[
    str | None,
    typer.Option(
        help="Run on a Dask cluster: tcp://HOST:PORT, tls://..., a scheduler file (.json), or local.",
        metavar="ADDRESS|local",
    ),
]
SizeOption = Annotated[str | None, typer.Option(help="WxH of raw dumps, of streams, and of a camera's mode.")]
TopicOption = Annotated[
    str | None,
    typer.Option(
        help="Which stream of a recording: a ROS topic, a track, a data set. Omitted: the only one.", metavar="NAME"
    ),
]

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
    typer.Option(
        "--person-model",
        help="What tells people from things: a file of train-people. Omitted: the shipped one.",
        metavar="FILE",
    ),
]
TrackOption = Annotated[
    bool,
    typer.Option(
        "--track",
        help="The frames are a recording: people keep their ids, the room is learned, joints are smoothed over time.",
    ),
]
WorldOption = Annotated[
    bool,
    typer.Option(
        "--world",
        help="Write joints in meters above the floor too (joints_world.csv), and say how the camera stands; it does "
        "not move.",
    ),
]
MirrorOption = Annotated[
    bool | None, typer.Option("--mirror/--no-mirror", help="Label the mirrored frame too; omitted: as the model says.")
]
SmoothOption = Annotated[
    float | None,
    typer.Option(
        help="Add up what pixels up to so many meters away say; 0: each by itself; omitted: as the model says.",
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
        help="Of parts, overlay, confidence, probabilities, json, joints, ply, video, and with --track bvh, c3d, gltf, "
        "rerun, angles, bones, wide; commas between them. Omitted: parts,overlay.",
    ),
]
FpsOption = Annotated[float, typer.Option(help="Frames a second of a recording, and of the video.", min=0.1, max=1000)]
StdoutOption = Annotated[
    bool, typer.Option("--stdout", help="Write the parts of the only frame as PNG to standard output.")
]
SensorOption = Annotated[
    str | None,
    typer.Option(
        help="Sensor of synthetic frames: ideal, kinect_v1, kinect_v1_wide, kinect_v1_registered, tof, kinect_v2, "
        "azure, stereo, realsense; omitted: kinect_v1.",
        metavar="NAME",
    ),
]
BodiesOption = Annotated[
    str | None,
    typer.Option(help="Of synthetic frames; omitted: procedural.", metavar="procedural|makehuman|both"),
]
OverwriteOption = Annotated[bool, typer.Option("--force", help="Overwrite the model that is read.")]
RestartOption = Annotated[
    bool, typer.Option("--force", help="Start again, and remove the checkpoint of a run that was stopped.")
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Label again what is done, and replace what other options made.")
]


def with_fields_of(config: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command one option for each field of a config dataclass, so that none can be forgotten.

    What the docstring of the class, or of one that it stands on, says of the field is the option's help, with its
    default; words in quotes are the choices. Omitted options arrive as None.
    """
    module, _, name = config.rpartition(".")
    config_type = getattr(import_module(module), name)
    helps: dict[str, tuple[list[str], str]] = {}
    for described in reversed(config_type.__mro__):  # a config may stand on another
        helps |= _described_fields(described.__doc__ or "")

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        given = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        added = []
        for entry in fields(config_type):
            choices, said = helps[entry.name]
            text = f"{said}  [default: {entry.default}]"
            flag = f"--{entry.name.replace('_', '-')}"
            option = typer.Option(flag, help=text, show_default=False, metavar="|".join(choices) or None)
            annotation: Any = Annotated[Optional[cast(Any, type(entry.default))], option]  # noqa: UP045
            kind = inspect.Parameter.KEYWORD_ONLY
            added.append(inspect.Parameter(entry.name, kind, default=None, annotation=annotation))
        parameters = [*given, *added]
        command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        return command

    return decorate


def _described_fields(docstring: str) -> dict[str, tuple[list[str], str]]:
    """Return for each field of a numpydoc docstring its choices, where it names any in quotes, and its description."""
    entries = re.findall(r"^    (\w+(?:, \w+)*)(?: : (.*))?\n((?:        .+\n)+)", docstring, re.MULTILINE)
    found = {}
    for names, kind, text in entries:
        # the command line has no use for the quotes of code
        said = " ".join(text.split()).replace("`", "")
        for name in names.split(", "):
            found[name] = re.findall(r'"(\w+)"', kind), said
    return found
