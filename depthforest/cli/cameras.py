"""The commands for several cameras: calibrate, fuse."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from depthforest.base import DepthForestError, UsageError, check_writable, natural_key, read_json
from depthforest.cli.options import CameraOption, FpsOption, ModelOption
from depthforest.cli.startup import spare_linear_algebra
from depthforest.cli.terminal import progress_bar, status
from depthforest.cli.warming import compile_first, label_tasks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from depthforest.frames import Frame
    from depthforest.joints import Floor, FrameJoints

cameras = typer.Typer()

Views = Annotated[
    list[str],
    typer.Argument(
        help="For each camera a recording, a joints file (.json, .csv), or an output folder of label --write joints.",
        metavar="A B...",
    ),
]


@cameras.command()
def calibrate(
    views: Views,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.", metavar="FILE.json")],
    max_offset: Annotated[
        float, typer.Option(help="Maximum difference of the clocks in seconds.", min=0, max=600)
    ] = 5.0,
    model: ModelOption = None,
    camera: CameraOption = None,
    fps: FpsOption = 30.0,
) -> None:
    """Find the poses and clock offsets of several cameras from people who walk through all views."""
    check_writable(output)
    if len(views) < 2:
        raise UsageError(f"calibration needs at least two cameras; got {len(views)}")
    seen, floors = _joints_of(views, model, camera, fps)
    with status("looking for the cameras ..."):
        from depthforest.joints import calibrate as find_cameras

        rig = find_cameras(seen, names=views, floors=floors, fps=fps, max_offset_s=max_offset)
    rig.save(output)
    for pose in rig.cameras[1:]:
        where = ", ".join(f"{value:+.2f}" for value in pose.translation.tolist())
        turn = math.degrees(math.acos(max(-1.0, min(1.0, (float(pose.rotation.trace()) - 1) / 2))))
        print(
            f"{pose.name}: at ({where}) m from the first camera, turned by {turn:.1f} degrees, clock "
            f"{pose.offset_s:+.3f} s; joints {100 * pose.error_m:.1f} cm apart, by the median of {pose.n_joints}"
        )
    print(f"cameras written to {output}")


@cameras.command()
def fuse(
    views: Views,
    rig: Annotated[Path, typer.Option("--cameras", help="The calibration written by calibrate.", metavar="FILE.json")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The joints file to write (.json or .csv).", metavar="FILE")
    ],
    model: ModelOption = None,
    camera: CameraOption = None,
    fps: FpsOption = 30.0,
) -> None:
    """Merge the joints that several cameras found into one skeleton per person, in the space of the first camera."""
    from depthforest.joints import CameraRig, write_joints
    from depthforest.joints import fuse as fuse_joints

    check_writable(output)
    if output.suffix.lower() not in (".json", ".csv"):
        raise UsageError(f"{output}: joints are written as JSON or CSV; give a name that ends in .json or .csv")
    known = CameraRig.load(rig)
    if len(known.cameras) != len(views):
        raise UsageError(f"{rig}: has {len(known.cameras)} cameras; name as many views, in its order; got {len(views)}")
    seen, _ = _joints_of(views, model, camera, fps)
    frames = fuse_joints(seen, known, fps=fps)
    write_joints(output, frames)
    n_people = len({person for frame in frames for person in frame.people})
    print(f"frames fused into {output}: {len(frames)}; people: {n_people}")


def _joints_of(
    views: list[str], model: str | None, camera: str | None, fps: float
) -> tuple[list[list[FrameJoints]], list[Floor | None]]:
    """Return the joints of each view, read or found in a recording, and its floor if it is known."""
    known = [_read(Path(view)) for view in views]
    found: list[list[FrameJoints]] = []
    floors: list[Floor | None] = []
    for view, given in zip(views, known, strict=True):
        frames, floor = _find(view, model, camera, fps) if given is None else (given, _floor(Path(view)))
        if not any(frame.people for frame in frames):
            raise DepthForestError(f"{view}: nobody is in its {len(frames)} frames; people must walk through all views")
        found.append(frames)
        floors.append(floor)
    return found, floors


def _floor(folder: Path) -> Floor | None:
    """Return the floor in the camera space of a folder of label --world."""
    path = folder / "world.json"
    if not path.is_file():
        return None
    content = read_json(path, DepthForestError)
    try:
        x, y, z = map(float, content["up"])
        return (x, y, z), float(content["height_m"])
    except (TypeError, KeyError, ValueError):
        raise DepthForestError(f"{path}: is not what label --world writes") from None


def _read(path: Path) -> list[FrameJoints] | None:
    """Return the joints of a file or of a folder of labels; None if it is something else."""
    from depthforest.joints import read_joints

    if path.suffix.lower() == ".csv" or (path.suffix.lower() == ".json" and path.is_file()):
        return read_joints(path)
    if not (path / "label.json").is_file():
        return None
    files = sorted((path / "joints").rglob("*.json"), key=lambda file: natural_key(file.as_posix()))
    if not files:
        raise UsageError(f"{path}: holds no joints; label it with --track --write joints")
    return [frame for file in files for frame in read_joints(file)]


def _find(view: str, model: str | None, camera: str | None, fps: float) -> tuple[list[FrameJoints], Floor | None]:
    """Return the joints of a recording, and its floor."""
    from depthforest.io import open_source

    source = open_source([view], camera)
    with status("reading the model ..."):
        spare_linear_algebra()
        from depthforest.forest import load
        from depthforest.pipeline import joints_of_recording

        forest = load(model)
    compile_first(label_tasks())
    with progress_bar(source.total) as advance:

        def counted() -> Iterator[Frame]:
            for frame in source:
                yield frame
                advance(1)

        frames, world = joints_of_recording(forest, counted(), fps=fps)
    return frames, None if world is None else (world.up, world.height)
