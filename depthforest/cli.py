"""The command line: one thin function per command. Heavy modules are imported inside the functions that need them."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional, cast

import typer

from depthforest import __version__
from depthforest.errors import DepthForestError, DepthForestWarning, UsageError

if TYPE_CHECKING:
    from depthforest.frames import Frame, LabeledFrame

app = typer.Typer(
    name="depthforest",
    help="Label every pixel of a depth image with a body part, on a CPU.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

MAX_SHEET_PICTURES = 60
PREVIEW_FRAMES = 24
LOG_SECONDS = 30
"""How often a long command says where it is when its output goes to a file."""
SHEET_CELL_PX = 320


def _complete_camera(incomplete: str) -> list[str]:
    from depthforest.camera import PRESETS

    return [name for name in PRESETS if name.startswith(incomplete)]


def _complete_scale(incomplete: str) -> list[str]:
    from depthforest.units import NAMED_SCALES

    return [name for name in NAMED_SCALES if name.startswith(incomplete)]


# the options of every command that reads frames
Inputs = Annotated[
    list[str], typer.Argument(help="Frames, folders, globs; - for a raw gray16le stream.", metavar="IN...")
]
CameraOption = Annotated[
    str | None,
    typer.Option(
        help="Preset (kinect_v1, kinect_v1@320x240, ...), fx,fy,cx,cy[,WxH], or a .json file.",
        autocompletion=_complete_camera,
    ),
]
ScaleOption = Annotated[
    str | None,
    typer.Option(help="Metres per unit, or mm, cm, m, tum, sun3d.", autocompletion=_complete_scale),
]
FlipOption = Annotated[bool, typer.Option("--flip", help="The pictures are mirrored: turn them back.")]
RotateOption = Annotated[int, typer.Option(help="Turn the pictures clockwise by 90, 180 or 270 degrees.")]
ThreadsOption = Annotated[int | None, typer.Option(help="Omitted: one for each core.")]
SizeOption = Annotated[str | None, typer.Option(help="WxH of raw dumps and streams.")]


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
    """Draw the bundled sample frames: shaded depth, body parts, joints."""
    from depthforest import drawing
    from depthforest.datasets import open_dataset
    from depthforest.files import make_folder
    from depthforest.resources import samples_folder

    samples = open_dataset(samples_folder())
    make_folder(output)
    table = _frame_table()
    rows = []
    for name, frame in zip(samples.names, samples, strict=True):
        parts = drawing.overlay(frame, frame.parts, frame.part_set)
        skeletons = drawing.draw_joints(parts, frame.camera, frame.joints)
        row = drawing.side_by_side([drawing.shade(frame), parts, skeletons])
        drawing.write_picture(output / f"{name}.png", row)
        drawing.write_labels(output / f"{name}.parts.png", frame.parts, frame.part_set)
        rows.append(row)
        _add_frame(table, name, frame)
    drawing.write_picture(output / "legend.png", drawing.legend(samples.part_set, columns=2))
    drawing.write_picture(output / "sheet.png", drawing.contact_sheet(rows, columns=1, titles=samples.names))
    _print(table)
    print(
        f"Look at {output / 'sheet.png'}: each frame shaded, with its parts (legend.png) and joints (hidden: hollow)."
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
    from depthforest import drawing
    from depthforest.files import make_folder
    from depthforest.reading import read_frames

    frames = read_frames(inputs, camera, scale=scale, flip=flip, rotate=rotate, size=size)
    if any(Path(given).resolve() == output.resolve() for given in inputs):
        raise UsageError(f"{output}: is an input; name another folder for the pictures")
    make_folder(output)
    table = _frame_table()
    failures: list[DepthForestError] = []
    cells: dict[str, Any] = {}
    taken: set[str] = set()
    n_drawn = 0
    with _progress_bar(frames.total) as advance:
        for name, frame in frames.named():
            advance(1)
            if isinstance(frame, DepthForestError):
                failures.append(frame)
                continue
            picture = drawing.shade(frame)
            stem = _unused(name.stem, taken)
            drawing.write_picture(output / f"{stem}.shaded.png", picture)
            n_drawn += 1
            if len(cells) < MAX_SHEET_PICTURES:
                cells[stem] = drawing.contact_sheet([picture], cell_width=SHEET_CELL_PX)
                _add_frame(table, stem, frame)
    if len(cells) > 1:
        drawing.write_picture(output / "sheet.png", drawing.contact_sheet([*cells.values()], titles=[*cells]))
    if cells:
        _print(table)
        listed = f", the first {len(cells)} are listed" if n_drawn > len(cells) else ""
        print(f"frames drawn into {output}: {n_drawn}{listed}")
    for failure in failures:
        _complain("error", failure)
    if failures:
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
    from depthforest.writing import check_claim
    from synth.production import identity

    check_claim(output, kind, identity=identity(chosen, seed))
    with _status("reading bodies and poses, compiling ..."):
        from synth.generator import Generator
        from synth.production import produce

        generator = Generator(chosen, seed, n=frames)
        generator[0]
    try:
        with _progress_bar(frames) as advance:
            data = produce(generator, output, frames, kind=kind, threads=threads, progress=advance)
    except KeyboardInterrupt:
        _complain("warning", f"stopped; the same command goes on with what is in {output}")
        raise
    if preview:
        from depthforest import drawing

        cells = [_labeled_picture(frame) for frame in data[: min(frames, PREVIEW_FRAMES)]]
        drawing.write_picture(output / "preview.png", drawing.contact_sheet(cells))
    print(f"{len(data)} frames in {output}" + (f"; look at {output / 'preview.png'}" if preview else ""))


def _with_fields_of(config: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command one option for each field of a config dataclass, so that none can be forgotten.

    The field's first line in the class's docstring is the option's help; omitted options arrive as None.
    """
    import inspect
    from dataclasses import fields

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


@app.command()
@_with_fields_of("depthforest.trainconfig.TrainConfig")
def train(
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write.", metavar="MODEL")],
    data: Annotated[Path | None, typer.Option(help="A data set; omitted, frames are made while training.")] = None,
    frames: Annotated[int, typer.Option(help="How many synthetic frames.", min=1)] = 2000,
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

    from depthforest.trainconfig import TrainConfig

    base = TrainConfig.load(config) if config is not None else TrainConfig()
    chosen = replace(base, **{name: value for name, value in numbers.items() if value is not None})
    if output.is_dir():
        raise UsageError(f"{output}: is a folder; name a file for the model")
    source: Any
    if data is not None:
        if any(v is not None for v in (synth_config, camera, sensor, bodies, mocap)):
            raise UsageError("--data brings its own frames; leave out the options of synthetic ones")
        from depthforest.datasets import open_dataset

        source = open_dataset(data)
    else:
        given: dict[str, Any] = {"camera": camera, "sensor": sensor, "bodies": bodies, "mocap": mocap}
        with _status("reading bodies and poses ..."):
            from synth.generator import Generator

            source = Generator(_synth_config(synth_config, given), chosen.seed, n=frames)
    options: dict[str, Any] = {} if memory is None else {"memory_mb": memory}
    folder = checkpoint if checkpoint is not None else output.with_name(f"{output.name}.checkpoint")
    with _status("compiling ..."):
        from depthforest import training
    with _live_lines() as tell:
        try:
            forest = training.train(
                source,
                chosen,
                progress=tell,
                threads=threads,
                shards=shards,
                checkpoint=folder,
                resume=resume,
                **options,
            )
        except KeyboardInterrupt:
            _complain("warning", f"stopped; the same command with --resume goes on from {folder}")
            raise
    forest.save(output)
    print(f"{forest.n_trees} trees, {forest.n_nodes} nodes, {forest.n_leaves} leaves in {output}")


@app.command()
def info(
    path: Annotated[Path, typer.Argument(help="A model file, or the checkpoint folder of a training run.")],
) -> None:
    """Print what a model or a checkpoint is; everything in it is checked on the way."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from depthforest.info import describe

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in describe(path):
        table.add_row(escape(name), escape(value))
    Console(highlight=False).print(table)


def _synth_config(config: Path | None, given: dict[str, Any]) -> Any:
    """Return the configuration of a file, changed by what was given on the command line."""
    from dataclasses import replace

    from synth.config import Config

    base = Config.load(config) if config is not None else Config()
    return replace(base, **{name: value for name, value in given.items() if value is not None})


@contextlib.contextmanager
def _live_lines() -> Iterator[Callable[[object], None]]:
    """Show the latest news in one live line on a terminal; print them one below the other elsewhere."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        yield lambda news: print(news, flush=True)
        return
    with console.status("reading frames ...") as status:

        def tell(news: object) -> None:
            if getattr(news, "event", "") == "level":
                status.update(str(news))
            else:
                console.print(str(news))

        yield tell


def _unused(base: str, taken: set[str]) -> str:
    """Return a name that was not used before: the base, or the base with a number."""
    stem, number = base, 2
    while stem in taken:
        stem, number = f"{base}_{number}", number + 1
    taken.add(stem)
    return stem


@contextlib.contextmanager
def _progress_bar(total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a bar with rate and time left on a terminal, nothing elsewhere; yields a function that counts frames."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _log_lines(total)
        return
    columns = TextColumn("frames"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}")
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        task = progress.add_task("frames", total=total, rate="")

        def advance(n: int) -> None:
            speed = progress.tasks[0].speed
            progress.update(task, advance=n, rate=f"{speed:.0f}/s" if speed else "")

        yield advance


def _log_lines(total: int | None) -> Callable[[int], None]:
    """Return a function that counts frames and prints a line every `LOG_SECONDS`, for logs."""
    began = said = time.monotonic()
    n_done = 0

    def advance(n: int) -> None:
        nonlocal said, n_done
        n_done += n
        now = time.monotonic()
        if now - said >= LOG_SECONDS:
            said = now
            print(f"{n_done} of {total or 'a stream'} frames, {n_done / (now - began):.0f}/s", flush=True)

    return advance


@contextlib.contextmanager
def _status(text: str) -> Iterator[None]:
    """Show on a terminal what takes a while."""
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(text) if console.is_terminal else contextlib.nullcontext():
        yield


def _labeled_picture(frame: LabeledFrame) -> Any:
    """Return a labeled frame shaded, and beside it with parts and joints."""
    from depthforest import drawing

    parts = drawing.overlay(frame, frame.parts, frame.part_set)
    return drawing.side_by_side([drawing.shade(frame), drawing.draw_joints(parts, frame.camera, frame.joints)])


def _frame_table() -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("frame", overflow="fold")
    for title in ("size", "readings", "nearest", "median", "farthest"):
        table.add_column(title, justify="right", no_wrap=True)
    return table


def _add_frame(table: Any, name: str, frame: Frame) -> None:
    import numpy as np
    from rich.markup import escape

    readings = frame.depth_mm[frame.depth_mm > 0]
    spans = np.percentile(readings, (0, 50, 100)) / 1000 if readings.size else ()
    size = f"{frame.camera.width} x {frame.camera.height}"
    table.add_row(escape(name), size, f"{readings.size / frame.depth_mm.size:.0%}", *(f"{m:.2f} m" for m in spans))


def _print(table: Any) -> None:
    from rich.console import Console

    Console(highlight=False).print(table)


# messages speak of arguments; whoever typed a command typed options
_OPTIONS = (
    (r"\b(scale|camera|rotate|flip|size)='([^']*)'", r"--\1 \2"),
    (r"\b(scale|camera|rotate|flip|size)=", r"--\1 "),
    (r"\b([Pp])ass (the right |its )?(scale|camera|size)\b", r"\1ass \2--\3"),
)


def _complain(kind: str, message: object) -> None:
    """Print one line on standard error."""
    text = " ".join(str(message).split()) or type(message).__name__
    for pattern, option in _OPTIONS:
        text = re.sub(pattern, option, text)
    print(f"depthforest: {kind}: {text}", file=sys.stderr)


def _warn_in_one_line(said: set[str]) -> Any:
    def show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        if issubclass(category, DepthForestWarning) and str(message) not in said:
            said.add(str(message))
            _complain("warning", message)

    return show_warning


def main() -> None:
    """Run the command line; exit 0, 1 for failure, 2 for misuse, 130 when interrupted."""
    is_debugging = os.environ.get("DEPTHFOREST_DEBUG", "") not in ("", "0")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name in letters that the terminal lacks must not stop us
    warnings.simplefilter("always", DepthForestWarning)
    warnings.showwarning = _warn_in_one_line(set())
    try:
        code = app(standalone_mode=False, prog_name="depthforest")
    except Exception as error:
        if is_debugging:
            raise
        code = _report(error)
    sys.exit(code if isinstance(code, int) else 0)


def _report(error: Exception) -> int:
    """Print what went wrong in one line and return the exit code."""
    if isinstance(error, DepthForestError):
        _complain("error", error)
        return error.exit_code
    if hasattr(error, "format_message"):  # typer's own complaints about options and arguments
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "depthforest"
        if error.format_message():  # empty when help was shown because nothing else was asked for
            _complain("error", f"{error.format_message()} (see {command} --help)")
        return 2
    if isinstance(error, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads: let the last flush succeed
        return 1
    if isinstance(error, typer.Abort):
        _complain("error", "aborted")
        return 1
    _complain("error", f"internal: {type(error).__name__}: {error}; DEPTHFOREST_DEBUG=1 shows where")
    return 1
