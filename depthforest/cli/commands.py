"""The command line: one thin function per command. Heavy modules are imported inside the functions that need them."""

from __future__ import annotations

import io
import os
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from depthforest import __version__
from depthforest.base import DepthForestError, DepthForestWarning, UsageError, check_writable
from depthforest.cli.modelcommands import models
from depthforest.cli.options import (
    BackgroundOption,
    BackgroundRemovedOption,
    CameraOption,
    DoubtfulOption,
    ExactOption,
    FlipOption,
    ForceOption,
    FpsOption,
    Inputs,
    MaskOption,
    MirrorOption,
    ModelOption,
    PeopleOption,
    PersonModelOption,
    RejectOption,
    RotateOption,
    RuleOption,
    ScaleOption,
    SizeOption,
    SmoothOption,
    StdoutOption,
    ThreadsOption,
    TrackOption,
    WriteOption,
    with_fields_of,
)
from depthforest.cli.startup import leave_garbage, spare_linear_algebra
from depthforest.cli.terminal import (
    EXIT_INTERRUPTED,
    add_frame,
    complain,
    end_with,
    frame_table,
    live_lines,
    print_table,
    progress_bar,
    report,
    sample_table,
    status,
    warn_in_one_line,
)
from depthforest.cli.warming import OTHERS, TRAIN, compile_first, compile_tasks, label_tasks
from depthforest.pipeline import LabelOptions

if TYPE_CHECKING:
    from depthforest.pipeline import LabelRun, LabelSummary

app = typer.Typer(
    name="depthforest",
    help="Label every pixel of a depth image with a body part, on a CPU.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

PREVIEW_FRAMES = 24
TRAIN_FRAMES = 2000


def _print_version(is_asked: bool) -> None:
    if is_asked:
        print(f"depthforest {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[  # handled by its callback
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the pictures.")] = Path("demo"),
) -> None:
    """Label the bundled sample frames with the shipped model and draw them: shaded depth, body parts, joints."""
    with status("reading the model ..."):
        from depthforest.base import models_folder
        from depthforest.cli.pictures import draw_samples
        from depthforest.forest import load

        forest = load() if any(models_folder().glob("*.safetensors")) else None
    shown = "shaded, with its parts" if forest is None else "with the joints and the parts that are found"
    if forest is not None:
        compile_first(label_tasks())
    with status("labeling the samples ..."):
        figures = draw_samples(output, forest)
    if figures:
        print_table(sample_table(figures))
    print(
        f"Look at {output / 'sheet.png'}: each frame {shown} (legend.png), and with the true parts and joints "
        "(hidden: hollow)." + (f" Joints in metres: {output / 'joints.json'}." if figures else "")
    )


@app.command()
def show(
    inputs: Inputs,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the pictures.")],
    camera: CameraOption = None,
    scale: ScaleOption = None,
    flip: FlipOption = False,
    rotate: RotateOption = 0,
    size: SizeOption = None,
) -> None:
    """Open depth frames and draw them shaded: see whether units, camera and orientation are read rightly."""
    from depthforest.cli.pictures import draw_frames
    from depthforest.io import read_frames

    frames = read_frames(inputs, camera, scale=scale, flip=flip, rotate=rotate, size=size)
    _check_apart(inputs, output)
    table = frame_table()
    with progress_bar(frames.total) as advance:
        n_drawn, n_listed, failures = draw_frames(
            frames, output, lambda name, frame: add_frame(table, name, frame), advance
        )
    if n_drawn:
        print_table(table)
        listed = f", the first {n_listed} are listed" if n_drawn > n_listed else ""
        print(f"frames drawn into {output}: {n_drawn}{listed}")
    end_with(failures)


@app.command()
def label(
    inputs: Inputs,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder for the labels.")] = None,
    model: ModelOption = None,
    camera: CameraOption = None,
    scale: ScaleOption = None,
    flip: FlipOption = False,
    rotate: RotateOption = 0,
    size: SizeOption = None,
    mask: MaskOption = LabelOptions.mask,
    background: BackgroundOption = LabelOptions.background,
    is_background_removed: BackgroundRemovedOption = LabelOptions.is_background_removed,
    n_people: PeopleOption = LabelOptions.n_people,
    is_doubtful_kept: DoubtfulOption = LabelOptions.is_doubtful_kept,
    person_model: PersonModelOption = LabelOptions.person_model,
    is_tracked: TrackOption = LabelOptions.is_tracked,
    mirror: MirrorOption = LabelOptions.mirror,
    smooth: SmoothOption = LabelOptions.smooth,
    exact: ExactOption = LabelOptions.exact,
    rule: RuleOption = LabelOptions.rule,
    reject: RejectOption = LabelOptions.reject,
    write: WriteOption = None,
    fps: FpsOption = LabelOptions.fps,
    stdout: StdoutOption = False,
    force: ForceOption = False,
    threads: ThreadsOption = None,
) -> None:
    """Label the body parts of depth frames; run it again to go on after an interruption."""
    _check_labels_go_somewhere(output, write, stdout)
    from depthforest.io import read_frames

    frames = read_frames(inputs, camera, scale=scale, flip=flip, rotate=rotate, size=size)
    with status("reading the model ..."):
        spare_linear_algebra()
        from depthforest.forest import load
        from depthforest.pipeline import LabelRun, label_one, parse_outputs

        kinds = parse_outputs(write)
        options = LabelOptions(
            mask=mask,
            background=background,
            is_background_removed=is_background_removed,
            n_people=n_people,
            is_doubtful_kept=is_doubtful_kept,
            person_model=person_model,
            is_tracked=is_tracked,
            mirror=mirror,
            smooth=smooth,
            exact=exact,
            rule=rule,
            reject=reject,
            fps=fps,
        )
        forest = load(model)
    compile_first(label_tasks())
    if output is None:
        png, summary = label_one(forest, frames, options)
        sys.stdout.buffer.write(png)
        sys.stdout.buffer.flush()
        _tell_findings(summary, n_people)
        return
    _check_apart(inputs, output)
    run = partial(LabelRun, forest, frames, output, options, outputs=kinds, is_forced=force, threads=threads)
    _label_into(output, run, frames.total, is_stream="-" in inputs, has_video="video" in kinds, n_asked=n_people)


def _check_labels_go_somewhere(output: Path | None, write: str | None, is_stdout: bool) -> None:
    if is_stdout and (output is not None or write is not None):
        raise UsageError("--stdout writes one PNG to standard output; leave out -o and --write")
    if output is None and not is_stdout:
        raise UsageError("name a folder for the labels with -o, or --stdout for one frame's PNG")
    if is_stdout and sys.stdout.isatty():
        raise UsageError("--stdout would write a PNG to the terminal; send it to a file or a program")


def _label_into(
    output: Path,
    make_run: Callable[..., LabelRun],
    total: int | None,
    *,
    is_stream: bool,
    has_video: bool,
    n_asked: int | None,
) -> None:
    """Label all frames of a run under a bar of progress, and tell what came of it."""
    began = time.monotonic()
    try:
        with progress_bar(total) as advance:
            summary = make_run(progress=advance).run()
    except KeyboardInterrupt:
        goes_on = "; the same command goes on with what is in it"
        if has_video:
            goes_on = "; the same command labels all frames again, because the video needs them"
        complain("warning", f"stopped; what was labeled is in {output}{'' if is_stream else goes_on}")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    # of a single frame it would tell how long everything takes to start
    rate = f", {summary.n_labeled / max(time.monotonic() - began, 1e-9):.1f}/s" if summary.n_labeled > 1 else ""
    before = f"; done before: {summary.n_done_before}" if summary.n_done_before else ""
    if summary.n_labeled or before:
        print(f"frames labeled into {output}: {summary.n_labeled}{rate}{before}")
    if summary.n_people:
        print(f"people found: {summary.n_people}, in {summary.n_with_people} of {summary.n_labeled} frames")
    elif summary.n_labeled:
        print(f"people found: 0 in {summary.n_labeled} of {summary.n_labeled} frames")
    _tell_findings(summary, None if summary.failures else n_asked)
    end_with(summary.failures)


def _tell_findings(summary: LabelSummary, n_asked: int | None) -> None:
    """Tell what is probably wrong with how frames were read; exit 1 if somebody was asked for and nobody is there."""
    is_missed = n_asked is not None and summary.n_labeled > 0 and summary.n_people + summary.n_done_before == 0
    for finding in summary.findings:
        complain("error" if is_missed else "warning", finding.warning())
    if is_missed:
        raise typer.Exit(1)


@app.command()
def synth(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder for the data set.")] = None,
    frames: Annotated[int, typer.Option("--frames", "-n", help="How many frames.", min=1)] = 1000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same frames.", min=0)] = 0,
    config: Annotated[Path | None, typer.Option(help="TOML file with any field of synth.Config.")] = None,
    camera: CameraOption = None,
    sensor: Annotated[str | None, typer.Option(help="ideal, kinect_v1, tof, stereo, ...")] = None,
    bodies: Annotated[str | None, typer.Option(help="procedural, makehuman or both.")] = None,
    mocap: Annotated[str | None, typer.Option(help="Folder of BVH clips.")] = None,
    kind: Annotated[str, typer.Option("--format", help="folder or zarr.")] = "folder",
    preview: Annotated[bool, typer.Option("--preview", help="Write a contact sheet beside the data.")] = False,
    threads: ThreadsOption = None,
    show_config: Annotated[bool, typer.Option("--show-config", help="Print the configuration and stop.")] = False,
) -> None:
    """Make labeled frames of synthetic people in rooms; run it again to go on after an interruption."""
    given: dict[str, Any] = {"camera": camera, "sensor": sensor, "bodies": bodies, "mocap": mocap}
    chosen = _synth_config(config, given)
    if show_config:
        print(chosen.to_toml(), end="")
        return
    if output is None:
        raise UsageError("name a folder for the frames with -o")
    from depthforest.io import check_claim
    from synth import provenance

    check_claim(output, kind, identity=provenance.identity(chosen, seed))
    with status("reading bodies and poses, compiling ..."):
        from synth import Generator, produce

        generator = Generator(chosen, seed, n=frames)
        generator[0]
    try:
        with progress_bar(frames) as advance:
            data = produce(generator, output, frames, kind=kind, threads=threads, progress=advance)
    except KeyboardInterrupt:
        complain("warning", f"stopped; the same command goes on with what is in {output}")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    if preview:
        from depthforest.cli.pictures import labeled_picture
        from depthforest.frames import drawing

        cells = [labeled_picture(frame) for frame in data[: min(frames, PREVIEW_FRAMES)]]
        drawing.write_picture(output / "preview.png", drawing.contact_sheet(cells))
    print(f"{len(data)} frames in {output}" + (f"; look at {output / 'preview.png'}" if preview else ""))


@app.command()
@with_fields_of("depthforest.training.config.TrainConfig")
def train(
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write.", metavar="MODEL")],
    data: Annotated[
        list[Path] | None,
        typer.Option(help="A data set; may be given again; omitted, frames are made while training.", metavar="DIR"),
    ] = None,
    frames: Annotated[int | None, typer.Option(help="How many synthetic frames; default 2000.", min=1)] = None,
    synth_config: Annotated[Path | None, typer.Option(help="TOML file with any field of synth.Config.")] = None,
    camera: CameraOption = None,
    sensor: Annotated[str | None, typer.Option(help="Of synthetic frames: ideal, kinect_v1, tof, stereo, ...")] = None,
    bodies: Annotated[str | None, typer.Option(help="Of synthetic frames: procedural, makehuman or both.")] = None,
    mocap: Annotated[str | None, typer.Option(help="Folder of BVH clips for synthetic frames.")] = None,
    config: Annotated[Path | None, typer.Option(help="TOML file with any of the numbers below.")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Folder that keeps the run; default MODEL.checkpoint.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint.")] = False,
    threads: ThreadsOption = None,
    shards: Annotated[
        int | None, typer.Option(help="Parts that the frames are cut into; default one a thread.")
    ] = None,
    memory: Annotated[float | None, typer.Option(help="Budget in MB beside the frames.")] = None,
    **numbers: Any,
) -> None:
    """Train a forest on labeled frames: your own data set, or synthetic people made on the fly."""
    from dataclasses import replace

    from depthforest.training import TrainConfig

    with status("compiling ..."):
        from depthforest.training import is_checkpoint
        from depthforest.training import train as train_forest
    base = TrainConfig.load(config) if config is not None else TrainConfig()
    chosen = replace(base, **{name: value for name, value in numbers.items() if value is not None})
    check_writable(output)
    folder = checkpoint if checkpoint is not None else output.with_name(f"{output.name}.checkpoint")
    if not resume and is_checkpoint(folder):
        raise UsageError(
            f"{folder}: holds a checkpoint already; --resume goes on with it; remove it to start again, or name another"
        )
    given: dict[str, Any] = {"camera": camera, "sensor": sensor, "bodies": bodies, "mocap": mocap}
    source = _training_frames(data, frames, synth_config, given, chosen.seed)
    if not data:
        compile_first(TRAIN)
    options: dict[str, Any] = {"threads": threads, "shards": shards}
    if memory is not None:
        options["memory_mb"] = memory
    try:
        with live_lines() as tell:
            forest = train_forest(source, chosen, progress=tell, checkpoint=folder, resume=resume, **options)
    except KeyboardInterrupt:
        goes_on = f"; the same command with --resume goes on from {folder}" if is_checkpoint(folder) else ""
        complain("warning", f"stopped{goes_on}")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    try:
        forest.save(output)
    except DepthForestError as error:
        raise DepthForestError(*error.args, f"; the same command with --resume writes it again from {folder}") from None
    print(f"{forest.n_trees} trees, {forest.n_nodes} nodes, {forest.n_leaves} leaves in {output}")


@app.command("warm-up")
def warm_up(
    everything: Annotated[
        bool, typer.Option("--all", help="Also training, synthetic frames and the ensembles.")
    ] = False,
    processes: Annotated[int | None, typer.Option(help="Processes at a time; default one a core.", min=1)] = None,
) -> None:
    """Compile ahead of time what label and demo need: for images, labs, and before a first demonstration."""
    from depthforest.base import cache_folder, tasks_left

    folder, named = cache_folder(), os.environ.get("NUMBA_CACHE_DIR")
    if folder is None:
        raise UsageError("found no folder to keep compiled kernels in; name one with the variable NUMBA_CACHE_DIR")
    if named and folder.parent != Path(named):
        raise UsageError(f"NUMBA_CACHE_DIR={named} is no folder that can be written; name another")
    tasks = tasks_left((*label_tasks(), *OTHERS) if everything else label_tasks())
    if not tasks:
        print(f"compiled before, in {folder}")
        return
    began = time.monotonic()
    failures = compile_tasks(tasks, processes)
    if not failures:
        print(f"compiled into {folder} in {time.monotonic() - began:.0f} s")
    end_with(failures)


def _training_frames(
    data: list[Path] | None, n: int | None, config: Path | None, given: dict[str, Any], seed: int
) -> Any:
    """Return the frames of data sets, or such as are made while they are asked for."""
    if data:
        if any(value is not None for value in (n, config, *given.values())):
            raise UsageError("--data brings its own frames; leave out the options of synthetic ones")
        from depthforest.io import open_datasets

        return open_datasets(data)
    with status("reading bodies and poses ..."):
        from synth import Generator

        return Generator(_synth_config(config, given), seed, n=n or TRAIN_FRAMES)


def _synth_config(config: Path | None, given: dict[str, Any]) -> Any:
    """Return the configuration of a file, changed by what was given on the command line."""
    from dataclasses import replace

    from synth import Config

    base = Config.load(config) if config is not None else Config()
    return replace(base, **{name: value for name, value in given.items() if value is not None})


def _check_apart(inputs: list[str], output: Path) -> None:
    """Raise UsageError if outputs would mix with inputs."""
    if any(Path(given).resolve() == output.resolve() for given in inputs):
        raise UsageError(f"{output}: is an input; name another folder for what is made of it")


app.registered_commands += models.registered_commands


def main() -> None:
    """Run the command line; exit 0, 1 for failure, 2 for misuse, 130 when interrupted."""
    is_debugging = os.environ.get("DEPTHFOREST_DEBUG", "") not in ("", "0")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name in letters that the terminal lacks must not stop us
    leave_garbage()
    warnings.simplefilter("always", DepthForestWarning)
    warnings.showwarning = warn_in_one_line(set())
    try:
        code = app(standalone_mode=False, prog_name="depthforest")
    except Exception as error:
        if is_debugging:
            raise
        code = report(error)
    sys.exit(code if isinstance(code, int) else 0)
