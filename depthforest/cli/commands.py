"""The command line: one thin function per command. Heavy modules are imported inside the functions that need them."""

from __future__ import annotations

import io
import os
import re
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from depthforest import __version__
from depthforest.base import (
    DepthForestError,
    DepthForestWarning,
    UnitWarning,
    UsageError,
    counted,
    heed_terminations,
    tame,
)
from depthforest.cli.cameras import cameras
from depthforest.cli.contextcommand import contexts
from depthforest.cli.modelcommands import models
from depthforest.cli.options import (
    OPTION_GROUPS,
    BackgroundOption,
    BackgroundRemovedOption,
    BodiesOption,
    CameraOption,
    DaskOption,
    DoubtfulOption,
    ExactOption,
    FlipOption,
    ForceOption,
    FpsOption,
    Inputs,
    MaskOption,
    MemoryOption,
    MirrorOption,
    ModelOption,
    PeopleOption,
    PersonModelOption,
    RejectOption,
    RestartOption,
    RotateOption,
    RuleOption,
    ScaleOption,
    SensorOption,
    SizeOption,
    SmoothOption,
    StdoutOption,
    SynthCameraOption,
    ThreadsOption,
    TopicOption,
    TrackOption,
    WorldOption,
    WriteOption,
    group_of,
    with_fields_of,
)
from depthforest.cli.outputs import check_output, save_trained
from depthforest.cli.recipes import refuse_others, train_by_recipe
from depthforest.cli.recording import recordings
from depthforest.cli.startup import leave_garbage, spare_linear_algebra
from depthforest.cli.terminal import (
    EXIT_INTERRUPTED,
    add_frame,
    complain,
    end_with,
    frame_table,
    live_lines,
    noted_warnings,
    on_cluster,
    print_table,
    progress_bar,
    report,
    sample_table,
    status,
    tell_drops,
    warn_in_one_line,
)
from depthforest.cli.warming import OTHERS, TRAIN, compile_first, compile_tasks, label_tasks
from depthforest.pipeline import LabelOptions

if TYPE_CHECKING:
    from depthforest.io import FrameSequence
    from depthforest.pipeline import LabelRun, LabelSummary


ORDER = (
    "demo show label view record synth train train-context fit-context train-people fit-leaves fit-joints "
    "fit-confidence fit-convention evaluate compare info export import-pcl calibrate fuse warm-up"
)
"""Commands in the order of the help: use, train, evaluate, export, several cameras."""

TYPES = {r" ?<list\[\w+\]>": "", r"<(int|float) range>": r"<\1>", "<str>": "<text>"}
"""typer's names of types -> plain names."""


class _Commands(typer.core.TyperGroup):
    """The list of commands with the description of each, wrapped instead of cut."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands in the order of `ORDER`."""
        return sorted(super().list_commands(ctx), key=ORDER.split().index)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a line or two for each command."""
        named = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, " ".join((found.help or "").split())) for name, found in named if found and not found.hidden]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class _Grouped(typer.core.TyperCommand):
    """A command whose help has a section for each group of options."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments first, then the groups in the order of `OPTION_GROUPS`, then all others."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], **{title: [] for title in OPTION_GROUPS}}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                is_argument = parameter.param_type_name == "argument"
                name, text = record
                for pattern, word in TYPES.items():
                    name = re.sub(pattern, word, name)
                sections["Arguments" if is_argument else group_of(parameter.opts)].append((name, text))
        for title, rows in sections.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


app = typer.Typer(
    name="depthforest",
    cls=_Commands,
    help="Label every pixel of a depth image with a body part, on a CPU.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

PREVIEW_FRAMES = 24
MAX_LISTED = 20
"""Most frames that `label` lists with the number of people in each; with more, only the sum is printed."""

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
    shown = "shaded depth" if forest is None else "the joints and parts that were found (colors: legend.png)"
    if forest is not None:
        compile_first(label_tasks())
    with status("labeling the samples ..."):
        figures = draw_samples(output, forest)
    if figures:
        print_table(sample_table(figures))
    print(
        f"Look at {output / 'sheet.png'}: each frame with {shown}, and with the true ones (hidden joints are hollow)."
        + (f" Joints in meters: {output / 'joints.json'}." if figures else "")
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
    topic: TopicOption = None,
) -> None:
    """Draw depth frames, so that you can check units, camera and orientation."""
    from depthforest.cli.pictures import draw_frames
    from depthforest.io import open_source
    from depthforest.pipeline import doubt_depth

    frames = open_source(inputs, camera, scale=scale, flip=flip, rotate=rotate, size=size, topic=topic)
    _check_apart(inputs, output)
    table, medians = frame_table(), []
    with noted_warnings(UnitWarning) as doubts, progress_bar(frames.total) as advance:
        n_drawn, n_listed, failures = draw_frames(
            frames, output, lambda name, frame: medians.append(add_frame(table, name, frame)), advance
        )
    if n_drawn:
        print_table(table)
        listed = f", the first {n_listed} are listed" if n_drawn > n_listed else ""
        print(f"frames drawn into {output}: {n_drawn}{listed}")
    doubt = doubt_depth(medians, frames.options)
    if doubt is not None and not doubts:  # reading has told it otherwise
        complain("warning", doubt.warning())
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
    topic: TopicOption = None,
    mask: MaskOption = LabelOptions.mask,
    background: BackgroundOption = LabelOptions.background,
    is_background_removed: BackgroundRemovedOption = LabelOptions.is_background_removed,
    n_people: PeopleOption = LabelOptions.n_people,
    is_doubtful_kept: DoubtfulOption = LabelOptions.is_doubtful_kept,
    person_model: PersonModelOption = LabelOptions.person_model,
    is_tracked: TrackOption = LabelOptions.is_tracked,
    is_world: WorldOption = LabelOptions.is_world,
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
    dask: DaskOption = None,
) -> None:
    """Label the body parts of people in depth frames. After an interruption, run it again to continue."""
    _check_labels_go_somewhere(output, write, stdout)
    from depthforest.io import open_source

    frames = open_source(inputs, camera, scale=scale, flip=flip, rotate=rotate, size=size, topic=topic)
    frames.check_camera()  # fails before the model is read and kernels are compiled
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
            is_world=is_world,
            mirror=mirror,
            smooth=smooth,
            exact=exact,
            rule=rule,
            reject=reject,
            fps=fps,
        )
    compile_first(label_tasks())
    forest = load(_fitting_model(frames) if model is None else model)
    if output is None:
        png, summary = label_one(forest, frames, options)
        sys.stdout.buffer.write(png)
        sys.stdout.buffer.flush()
        _tell_findings(summary, n_people)
        return
    _check_apart(inputs, output)
    run = partial(LabelRun, forest, frames, output, options, outputs=kinds, is_forced=force, threads=threads)
    is_whole, is_stream = "video" in kinds or is_tracked, frames.total is None
    with on_cluster(dask):
        _label_into(output, run, frames.total, is_stream=is_stream, is_whole=is_whole, n_asked=n_people)
    tell_drops(frames)


def _fitting_model(frames: FrameSequence) -> str:
    """Return the shipped model for the camera's viewpoint, and say so if it is not the usual one."""
    from depthforest.forest import DEFAULT_MODEL, TOP_MODEL
    from depthforest.pipeline import choose_model

    if frames.total is None:  # a stream can be read only once
        return DEFAULT_MODEL
    try:
        name = choose_model(frames)
    except DepthForestError:  # an unreadable frame is reported when it is labeled
        return DEFAULT_MODEL
    if name == TOP_MODEL:
        line = f"the camera looks down: {TOP_MODEL} labels; --model {DEFAULT_MODEL} takes the usual model"
        typer.echo(line, err=True)
    return name


@app.command()
def view(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            help="Frames, folders or recordings; - for a raw stream. Default: the sample frames.", metavar="IN"
        ),
    ] = None,
    model: ModelOption = None,
    compare: Annotated[
        str | None, typer.Option(help="A second model to show beside the first.", metavar="NAME|FILE")
    ] = None,
    camera: CameraOption = None,
    scale: ScaleOption = None,
    flip: FlipOption = False,
    rotate: RotateOption = 0,
    size: SizeOption = None,
    topic: TopicOption = None,
    background: BackgroundOption = None,
    is_background_removed: BackgroundRemovedOption = False,
    n_people: Annotated[int | None, typer.Option("--people", help="Maximum number of people per frame.", min=1)] = None,
    is_tracked: TrackOption = False,
    fps: Annotated[
        float | None,
        typer.Option(help="Frames per second. Default: those of the recording, else 30.", min=0.1, max=1000),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 opens it to the network.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0: any free port.")] = 0,
    is_opened: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the default browser.")] = True,
) -> None:
    """Show frames, a recording or a live camera in the browser: depth, parts, confidence, joints, 3D."""
    from depthforest.forest import find_model
    from depthforest.io import ReadOptions
    from depthforest.view import ViewOptions, serve

    options = ViewOptions(
        sources=tuple(sources or ()),
        reading=ReadOptions(camera, scale, flip, rotate, size, topic),
        model=model,
        compare=compare,
        background=background,
        is_background_removed=is_background_removed,
        n_people=n_people,
        is_tracked=is_tracked,
        fps=fps,
        host=host,
        port=port,
    )
    for name in filter(None, (model, compare)):
        find_model(name)  # a mistyped name is reported before anything is compiled
    compile_first(label_tasks())
    serve(options, show=partial(_show_address, options.is_local), tell=_tell_refusal, is_opened=is_opened)


def _show_address(is_local: bool, address: str) -> None:
    print(address, flush=True)
    print("open it in a browser; Ctrl-C stops", file=sys.stderr, flush=True)
    if not is_local:
        complain(
            "warning",
            "anyone on the network who has this address can look and upload; it holds a secret token, and what is sent "
            "is not encrypted",
        )


def _tell_refusal(line: str) -> None:
    complain("warning", line)


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
    is_whole: bool,
    n_asked: int | None,
) -> None:
    """Label all frames of a run with a progress bar, and print the summary."""
    began = time.monotonic()
    try:
        with progress_bar(total) as advance:
            summary = make_run(progress=advance).run()
    except KeyboardInterrupt:
        goes_on = "; the same command continues with what is in it"
        if is_whole:
            goes_on = "; the same command labels all frames again, because a recording is one whole"
        complain("warning", f"stopped; what was labeled is in {output}{'' if is_stream else goes_on}")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    # for a single frame it would measure the startup
    rate = f", {summary.n_labeled / max(time.monotonic() - began, 1e-9):.1f}/s" if summary.n_labeled > 1 else ""
    before = f"; done before: {summary.n_done_before}" if summary.n_done_before else ""
    if summary.n_labeled or before:
        print(f"frames labeled into {output}: {summary.n_labeled}{rate}{before}")
    if summary.n_people:
        print(f"people found: {summary.n_people}, in {summary.n_with_people} of {counted(summary.n_labeled, 'frames')}")
    elif summary.n_labeled:
        print(f"people found: 0 in {summary.n_labeled} of {counted(summary.n_labeled, 'frames')}")
    if 1 < summary.n_labeled <= MAX_LISTED:
        print("\n".join(f"  {tame(name)}: {n}" for name, n in summary.people_by_frame.items()))
    if summary.world is not None:
        print(summary.world)
    _tell_findings(summary, None if summary.failures else n_asked)
    end_with(summary.failures)


def _tell_findings(summary: LabelSummary, n_asked: int | None) -> None:
    """Print what is probably wrong with how frames were read; exit 1 if people were requested and nobody was found."""
    is_missed = n_asked is not None and summary.n_labeled > 0 and summary.n_people + summary.n_done_before == 0
    for finding in summary.findings:
        complain("error" if is_missed else "warning", finding.warning())
    if is_missed:
        raise typer.Exit(1)


@app.command()
def synth(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder for the data set.")] = None,
    frames: Annotated[int, typer.Option("--frames", "-n", help="Number of frames.", min=1)] = 1000,
    seed: Annotated[int, typer.Option(help="Random seed; the same seed gives the same frames.", min=0)] = 0,
    config: Annotated[Path | None, typer.Option(help="TOML file with fields of synth.Config.")] = None,
    camera: SynthCameraOption = None,
    sensor: SensorOption = None,
    bodies: BodiesOption = None,
    mocap: Annotated[str | None, typer.Option(help="Folder of motion-capture clips (BVH) for poses.")] = None,
    kind: Annotated[str, typer.Option("--format", help="Format of the data set.", metavar="folder|zarr")] = "folder",
    recording: Annotated[
        bool, typer.Option("--recording", help="Make a recording: the same people move in one room.")
    ] = False,
    fps: Annotated[float, typer.Option(help="Frames per second of a recording.", min=0.1, max=1000)] = 30.0,
    acts: Annotated[
        str, typer.Option(help="What people do in a recording: walk, gesture, sit, fall, separated by commas.")
    ] = "walk,gesture",
    preview: Annotated[bool, typer.Option("--preview", help="Also write a contact sheet of the first frames.")] = False,
    threads: ThreadsOption = None,
    dask: DaskOption = None,
    show_config: Annotated[bool, typer.Option("--show-config", help="Print the configuration and stop.")] = False,
) -> None:
    """Generate labeled frames of synthetic people in rooms. After an interruption, run it again to continue."""
    given: dict[str, Any] = {"camera": camera, "sensor": sensor, "bodies": bodies, "mocap": mocap}
    chosen = _synth_config(config, given)
    if show_config:
        print(chosen.to_toml(), end="")
        return
    if output is None:
        raise UsageError("name a folder for the frames with -o")
    from depthforest.io import check_claim, open_dataset
    from synth import provenance

    if not recording:  # fails before bodies are read; a recording has its own check below
        check_claim(output, kind, identity=provenance.identity(chosen, seed))
    with status("reading bodies and poses, compiling ..."):
        from synth import Generator, Recording, produce

        made = Generator(chosen, seed, n=frames)
        if recording:
            made = Recording(chosen, seed, n=frames, fps=fps, acts=tuple(acts.split(",")))
        check_claim(output, kind, identity=made.identity())
        made[0]
    n_held = 0
    with suppress(DepthForestError):  # there is none yet
        n_held = len(open_dataset(output))
    try:
        with on_cluster(dask), progress_bar(frames) as advance:
            data = produce(made, output, frames, kind=kind, threads=threads, progress=advance)
    except KeyboardInterrupt:
        complain("warning", f"stopped; the same command continues with what is in {output}")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    if preview:
        from depthforest.cli.pictures import labeled_picture
        from depthforest.frames import drawing

        cells = [labeled_picture(frame) for frame in data[: min(frames, PREVIEW_FRAMES)]]
        drawing.write_picture(output / "preview.png", drawing.contact_sheet(cells))
    told = f"{counted(len(data), 'frames')} in {output}"
    if n_held == frames:
        told = f"{output} already holds {'this frame' if frames == 1 else f'these {frames} frames'}; nothing to do"
    elif n_held > frames:
        told = f"{output} already holds {n_held} frames, more than the {frames} asked for; nothing was rendered"
    print(told + (f"; look at {output / 'preview.png'}" if preview else ""))


@app.command()
@with_fields_of("depthforest.training.config.TrainConfig")
def train(
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write.", metavar="MODEL")],
    data: Annotated[
        list[str] | None,
        typer.Option(help="A labeled data set (repeatable). Default: generate synthetic frames.", metavar="DIR|URL"),
    ] = None,
    frames: Annotated[int | None, typer.Option(help="Number of synthetic frames. Default: 2000.", min=1)] = None,
    synth_config: Annotated[Path | None, typer.Option(help="TOML file with fields of synth.Config.")] = None,
    camera: SynthCameraOption = None,
    sensor: SensorOption = None,
    bodies: BodiesOption = None,
    mocap: Annotated[str | None, typer.Option(help="Folder of motion-capture clips (BVH) for poses.")] = None,
    config: Annotated[Path | None, typer.Option(help="TOML file with any of the options below.")] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Folder of the checkpoint. Default: MODEL.checkpoint, removed when the run is finished."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the checkpoint.")] = False,
    force: RestartOption = False,
    threads: ThreadsOption = None,
    shards: Annotated[int | None, typer.Option(help="Number of shards of the frames. Default: one per thread.")] = None,
    memory: MemoryOption = None,
    dask: DaskOption = None,
    recipe: Annotated[
        Path | None,
        typer.Option(help="Run all training steps of this TOML file, from frames to the model card.", metavar="FILE"),
    ] = None,
    scale: Annotated[float, typer.Option(help="With --recipe: factor for its numbers of frames and leaves.")] = 1.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --recipe: list the steps and stop.")] = False,
    steps: Annotated[
        Path | None, typer.Option(help="With --recipe: folder of its intermediate results. Default: MODEL.steps.")
    ] = None,
    **numbers: Any,
) -> None:
    """Train a forest on labeled frames: your own data set, or synthetic people generated on the fly."""
    if recipe is not None:
        refuse_others(
            {"data": data, "frames": frames, "synth_config": synth_config, "camera": camera, "sensor": sensor}
            | {"config": config, "checkpoint": checkpoint, "resume": resume, "shards": shards}
            | {name: value is not None for name, value in numbers.items()}
        )
        train_by_recipe(
            recipe, output, scale=scale, is_dry=dry_run, folder=steps, mocap=mocap, bodies=bodies,
            options={"threads": threads, "memory_mb": memory}, dask=dask,
        )  # fmt: skip
        return
    if scale != 1 or dry_run or steps is not None:
        raise UsageError("--scale, --dry-run and --steps are about recipes; name one with --recipe")
    from dataclasses import replace

    from depthforest.training import TrainConfig

    with status("compiling ..."):
        from depthforest.training import begin_checkpoint, is_checkpoint
        from depthforest.training import train as train_forest
    base = TrainConfig.load(config) if config is not None else TrainConfig()
    chosen = replace(base, **{name: value for name, value in numbers.items() if value is not None})
    check_output(output, is_forced=force)
    folder = checkpoint if checkpoint is not None else output.with_name(f"{output.name}.checkpoint")
    begin_checkpoint(folder, is_resumed=resume, is_forced=force)
    given: dict[str, Any] = {"camera": camera, "sensor": sensor, "bodies": bodies, "mocap": mocap}
    source = _training_frames(data, frames, synth_config, given, chosen.seed)
    if not data:
        compile_first(TRAIN)
    options: dict[str, Any] = {"threads": threads, "shards": shards}
    if memory is not None:
        options["memory_mb"] = memory
    try:
        with on_cluster(dask) as client, live_lines() as tell:
            options["client"] = client
            forest = train_forest(source, chosen, progress=tell, checkpoint=folder, resume=resume, **options)
    except KeyboardInterrupt:
        goes_on = f"; the same command with --resume continues from {folder}" if is_checkpoint(folder) else ""
        complain("warning", f"stopped{goes_on}")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    save_trained(forest, output, folder, is_kept=checkpoint is not None)
    print(f"{counted(forest.n_trees, 'trees')}, {forest.n_nodes} nodes, {forest.n_leaves} leaves in {output}")


@app.command("warm-up")
def warm_up(
    everything: Annotated[
        bool, typer.Option("--all", help="Also compile training, synthetic frames and the ensembles.")
    ] = False,
    processes: Annotated[int | None, typer.Option(help="Number of processes. Default: one per core.", min=1)] = None,
) -> None:
    """Compile the kernels of label and demo ahead of time, for example for a container image."""
    from depthforest.base import cache_folder, tasks_left

    folder, named = cache_folder(), os.environ.get("NUMBA_CACHE_DIR")
    if folder is None:
        raise UsageError("found no folder to keep compiled kernels in; name one with the variable NUMBA_CACHE_DIR")
    if named and folder.parent != Path(named):
        raise UsageError(f"NUMBA_CACHE_DIR={named} is not a writable folder; name another")
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
    data: list[str] | None, n: int | None, config: Path | None, given: dict[str, Any], seed: int
) -> Any:
    """Return the frames of data sets, or synthetic ones that are generated on demand."""
    if data:
        if any(value is not None for value in (n, config, *given.values())):
            raise UsageError("--data brings its own frames; leave out the options of synthetic ones")
        from depthforest.io import open_datasets

        return open_datasets(data)
    with status("reading bodies and poses ..."):
        from synth import Generator

        return Generator(_synth_config(config, given), seed, n=n or TRAIN_FRAMES)


def _synth_config(config: Path | None, given: dict[str, Any]) -> Any:
    """Return the configuration of a file, overridden by options of the command line."""
    from dataclasses import replace

    from synth import Config

    base = Config.load(config) if config is not None else Config()
    return replace(base, **{name: value for name, value in given.items() if value is not None})


def _check_apart(inputs: list[str], output: Path) -> None:
    """Raise UsageError if outputs would mix with inputs, or an input is meant as a flag's value."""
    for given in inputs:
        if given.lower() in ("true", "false", "yes", "no", "on", "off") and not Path(given).exists():
            raise UsageError(f"{given!r} is not a file; flags take no value: write --flip alone, or leave it out")
    if any(Path(given).resolve() == output.resolve() for given in inputs):
        raise UsageError(f"{output}: is an input; name another folder for what is made of it")


app.registered_commands += [
    *recordings.registered_commands,
    *cameras.registered_commands,
    *models.registered_commands,
    *contexts.registered_commands,
]
for _registered in app.registered_commands:
    _registered.cls = _Grouped


def main() -> None:
    """Run the command line; exit 0, 1 for failure, 2 for misuse, 130 when interrupted, 143 when terminated."""
    is_debugging = os.environ.get("DEPTHFOREST_DEBUG", "") not in ("", "0")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show must not stop us
    leave_garbage()
    stopped_by = heed_terminations()
    warnings.simplefilter("always", DepthForestWarning)
    warnings.showwarning = warn_in_one_line(set())
    try:
        code = app(standalone_mode=False, prog_name="depthforest")
        sys.stdout.flush()  # while a failure can still be reported
    except Exception as error:
        if is_debugging:
            raise
        code = report(error)
    if code == EXIT_INTERRUPTED and stopped_by:
        code = 128 + stopped_by[0]
    sys.exit(code if isinstance(code, int) else 0)
