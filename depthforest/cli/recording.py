"""The command that saves frames of a source: record."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Annotated

import typer

from depthforest.base import UsageError, check_writable, patient_interrupts
from depthforest.cli.options import (
    CameraOption,
    FlipOption,
    FpsOption,
    Inputs,
    RotateOption,
    ScaleOption,
    SizeOption,
    TopicOption,
)
from depthforest.cli.terminal import progress_bar, tell_drops

recordings = typer.Typer()


@recordings.command()
def record(
    inputs: Inputs,
    output: Annotated[Path, typer.Option("--output", "-o", help="The video to write.", metavar="FILE.mkv")],
    camera: CameraOption = None,
    scale: ScaleOption = None,
    flip: FlipOption = False,
    rotate: RotateOption = 0,
    size: SizeOption = None,
    topic: TopicOption = None,
    fps: FpsOption = 30.0,
    frames: Annotated[int | None, typer.Option("--frames", "-n", help="Maximum number of frames.", min=1)] = None,
) -> None:
    """Save depth frames as a lossless 16-bit video with camera and time stamps. Ctrl-C ends a live recording."""
    from depthforest.io import MkvWriter, open_source

    if output.suffix.lower() != ".mkv":
        raise UsageError(f"{output}: depth is recorded as Matroska video; name a file that ends with .mkv")
    check_writable(output)
    source = open_source(inputs, camera, scale=scale, flip=flip, rotate=rotate, size=size, topic=topic)
    is_stopped = False
    with progress_bar(frames or source.total) as advance, MkvWriter(output, fps) as writer:
        try:
            with patient_interrupts() as check:
                for frame in itertools.islice(source, frames):
                    check()
                    writer.add(frame)
                    advance(1)
        except KeyboardInterrupt:
            is_stopped = True  # frames until then are kept
    if writer.n_frames:
        print(f"frames recorded into {output}: {writer.n_frames}{', stopped' if is_stopped else ''}")
    elif is_stopped:
        raise UsageError(f"{output}: stopped before the first frame; nothing is written")
    tell_drops(source)
