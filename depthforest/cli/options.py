"""Options that several commands share, options made from a configuration's fields, and parameters as options."""

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
"""Parameter that a message may name -> its option, if the option has a different name."""


OPTION_GROUPS = {
    "Input": "camera scale flip rotate size topic fps data test config synth-config frames seed sensor bodies mocap "
    "acts recording marks bench rooms empty-room limit recipe",
    "People": "mask background background-removed people doubtful person-model track world",
    "Model": "model compare mirror smooth exact rule reject",
    "Options": "",
    "Output": "output write stdout json preview format",
    "Run": "host port open threads shards memory dask checkpoint resume force steps dry-run show-config help",
}
"""Section of a command's help -> its options; "Options" has all others."""


def group_of(options: Sequence[str]) -> str:
    """Return the section of a command's help that lists an option, given by all its spellings."""
    names = {option.lstrip("-") for option in options}
    return next((title for title, listed in OPTION_GROUPS.items() if names & set(listed.split())), "Options")


def as_option(parameter: Parameter) -> str:
    """Return a parameter that a message names, as typed on the command line."""
    option = OPTION_NAMES.get(parameter.name, f"--{parameter.name.replace('_', '-')}")
    return option if parameter.value is None or parameter.value is True else f"{option} {parameter.value}"


def complete_camera(incomplete: str) -> list[str]:
    """Return the presets that begin with a text."""
    from depthforest.frames import PRESETS

    return [name for name in PRESETS if name.startswith(incomplete)]


def complete_scale(incomplete: str) -> list[str]:
    """Return the units that begin with a text."""
    from depthforest.frames import NAMED_SCALES

    return [name for name in NAMED_SCALES if name.startswith(incomplete)]


# the options of every command that reads frames
Inputs = Annotated[
    list[str],
    typer.Argument(
        help="Frames, folders, globs or recordings; realsense:, orbbec:, oak: or v4l2: for a live camera; - for a raw "
        "gray16le stream.",
        metavar="IN",
    ),
]
CameraOption = Annotated[
    str | None,
    typer.Option(
        help="A preset (kinect_v1, kinect_v1@320x240, ...), fx,fy,cx,cy[,WxH], or a .json file. Default: the camera "
        "named by the source, else the preset of its size.",
        autocompletion=complete_camera,
    ),
]
SynthCameraOption = Annotated[
    str | None,
    typer.Option(
        help="Camera of synthetic frames, as for label. Default: kinect_v1@320x240.",
        autocompletion=complete_camera,
    ),
]
MemoryOption = Annotated[float | None, typer.Option(help="Memory budget in MB, without the frames. Default: 2048.")]
ScaleOption = Annotated[
    str | None,
    typer.Option(
        help="Unit of the depth values: meters per unit, or mm, cm, m, tum, sun3d. Default: the unit named by the "
        "source, else mm (m for floating-point values).",
        autocompletion=complete_scale,
    ),
]
FlipOption = Annotated[bool, typer.Option("--flip", help="Mirror the frames, if the camera mirrors them.")]
RotateOption = Annotated[int, typer.Option(help="Rotate the frames clockwise by 90, 180 or 270 degrees.")]
ThreadsOption = Annotated[int | None, typer.Option(help="Number of threads. Default: one per core.")]
DaskOption = Annotated[
    str | None,
    typer.Option(
        help="Run on a Dask cluster: tcp://HOST:PORT, tls://..., a scheduler file (.json), or local.",
        metavar="ADDRESS|local",
    ),
]
SizeOption = Annotated[str | None, typer.Option(help="Size WxH of raw files and streams, or a camera's mode.")]
TopicOption = Annotated[
    str | None,
    typer.Option(
        help="Stream of a recording to read: a ROS topic, a track or a data set. Default: the only one.",
        metavar="NAME",
    ),
]

# the options of every command that labels frames
ModelOption = Annotated[
    str | None,
    typer.Option(
        help="A model file or a shipped model: body31 (default), body31-fast, body31-top. label uses body31-top by "
        "default where the camera looks down.",
        metavar="NAME|FILE",
    ),
]
MaskOption = Annotated[
    Path | None,
    typer.Option(
        help="Masks of the people: an 8-bit or 1-bit PNG, 0 = nobody, else a person's id. A folder has NAME.png for "
        "each frame NAME; a file applies to all frames.",
        metavar="FILE|DIR",
    ),
]
BackgroundOption = Annotated[
    Path | None,
    typer.Option(
        help="The room without people: an empty frame, or a folder of them. Default: people are recognized by their "
        "shape.",
        metavar="FILE|DIR",
    ),
]
BackgroundRemovedOption = Annotated[
    bool, typer.Option("--background-removed", help="Treat all readings as one person; no detection.")
]
PeopleOption = Annotated[
    int | None,
    typer.Option("--people", help="Maximum number of people per frame; exit code 1 if no one is found.", min=1),
]
DoubtfulOption = Annotated[
    bool,
    typer.Option("--doubtful", help="Keep all candidates, however improbable it is that they are people."),
]
PersonModelOption = Annotated[
    str | None,
    typer.Option(
        "--person-model", help="A person model, made by train-people. Default: the shipped one.", metavar="FILE"
    ),
]
TrackOption = Annotated[
    bool,
    typer.Option(
        "--track",
        help="Treat the frames as a recording: people keep their ids, the room is learned, joints are smoothed.",
    ),
]
WorldOption = Annotated[
    bool,
    typer.Option(
        "--world",
        help="Also write joints in meters above the floor (joints_world.csv), and print the pose of the camera, which "
        "must not move.",
    ),
]
MirrorOption = Annotated[
    bool | None,
    typer.Option("--mirror/--no-mirror", help="Also label the mirrored frame and average. Default: as in the model."),
]
SmoothOption = Annotated[
    float | None,
    typer.Option(
        help="Average over neighbors on the surface up to this many meters away; 0: off. Default: as in the model.",
        min=0,
    ),
]
ExactOption = Annotated[
    bool, typer.Option("--exact", help="Walk every pixel. Default: only where labels change, which is faster.")
]
RuleOption = Annotated[str, typer.Option(help="How to combine the trees: mean, votes or purity.")]
RejectOption = Annotated[
    float | None, typer.Option(help="Leave pixels below this confidence (0 to 1) unlabeled.", min=0, max=1)
]
WriteOption = Annotated[
    str | None,
    typer.Option(
        help="What to write, separated by commas: parts, overlay, confidence, probabilities, json, joints, ply, video; "
        "with --track also bvh, c3d, gltf, rerun, angles, bones, wide. An overlay shows joints only if joints or "
        "motion are written too, or the folder has joints. Default: parts,overlay.",
    ),
]
FpsOption = Annotated[
    float, typer.Option(help="Frames per second of the recording and of the video.", min=0.1, max=1000)
]
StdoutOption = Annotated[
    bool, typer.Option("--stdout", help="Write the parts of a single frame to standard output, as PNG.")
]
SensorOption = Annotated[
    str | None,
    typer.Option(
        help="Simulated sensor: ideal, kinect_v1, kinect_v1_wide, kinect_v1_registered, tof, kinect_v2, azure, stereo, "
        "realsense. Default: kinect_v1.",
        metavar="NAME",
    ),
]
BodiesOption = Annotated[
    str | None,
    typer.Option(help="Bodies of synthetic people. Default: procedural.", metavar="procedural|makehuman|both"),
]
OverwriteOption = Annotated[bool, typer.Option("--force", help="Allow the output to overwrite the input.")]
RestartOption = Annotated[
    bool, typer.Option("--force", help="Start over, and remove the checkpoint of an interrupted run.")
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Label all frames again, and replace results made with other options.")
]


def with_fields_of(config: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command one option for each field of a config dataclass, so that none can be forgotten.

    An option's help is the field's description in the docstring of the class or of a base class, plus its default;
    words in quotes are the choices. Omitted options are passed as None.
    """
    module, _, name = config.rpartition(".")
    config_type = getattr(import_module(module), name)
    helps: dict[str, tuple[list[str], str]] = {}
    for described in reversed(config_type.__mro__):  # a config may have a base
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
    """Return for each field of a numpydoc docstring its choices, if any are in quotes, and its description."""
    entries = re.findall(r"^    (\w+(?:, \w+)*)(?: : (.*))?\n((?:        .+\n)+)", docstring, re.MULTILINE)
    found = {}
    for names, kind, text in entries:
        # no backticks on the command line
        said = " ".join(text.split()).replace("`", "")
        for name in names.split(", "):
            found[name] = re.findall(r'"(\w+)"', kind), said
    return found
