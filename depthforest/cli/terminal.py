"""The output of commands: one live line or bar on a terminal, plain lines in a log, errors in one line."""

from __future__ import annotations

import contextlib
import difflib
import errno
import math
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from depthforest.base import DepthForestError, DepthForestWarning, reason, tame, text_of
from depthforest.cli.options import as_option

if TYPE_CHECKING:
    from depthforest.cli.pictures import SampleFigures
    from depthforest.frames import Frame
    from depthforest.io import FrameSequence

EXIT_INTERRUPTED = 130
"""Exit code that shells expect of a program stopped by Ctrl-C: 128 + SIGINT."""

LOG_SECONDS = 30
"""Seconds between two progress lines of a long command whose output goes to a file."""


@contextlib.contextmanager
def live_lines() -> Iterator[Callable[[object], None]]:
    """Show the latest news in one live line on a terminal; print a line for each elsewhere."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        yield lambda news: print(news, flush=True)
        return
    with console.status("reading frames ...") as status:

        def tell(news: object) -> None:
            if getattr(news, "event", "") in ("reading", "level"):
                status.update(str(news))
            else:
                console.print(str(news), markup=False)

        yield tell


@contextlib.contextmanager
def progress_bar(total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a bar with rate and time left on a terminal, nothing elsewhere; yields a function that counts frames."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _log_lines(total)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

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
            print(f"{n_done} of {total or 'a stream'} frames, {n_done / (now - began):.3g}/s", flush=True)

    return advance


@contextlib.contextmanager
def on_cluster(address: str | None) -> Iterator[Any]:
    """Connect to a Dask cluster that processes frames inside the block; yields its client, or None."""
    if address is None:
        yield None
        return
    with status("connecting to the cluster ..."):
        from depthforest.cluster import connect, using
    with connect(address) as client, using(client):
        yield client


@contextlib.contextmanager
def status(text: str) -> Iterator[None]:
    """Show a status line on a terminal during a longer step."""
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(text) if console.is_terminal else contextlib.nullcontext():
        yield


@contextlib.contextmanager
def changing_status(text: str) -> Iterator[Callable[[str], None]]:
    """Show a changing status line on a terminal, only the first text elsewhere; yields a function to change it."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        print(text, file=sys.stderr, flush=True)
        yield lambda _: None
        return
    with console.status(text) as shown:
        yield shown.update


def frame_table() -> Any:
    """Return a table for `add_frame`, with a row for each frame."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("frame", overflow="fold")
    for title in ("size", "readings", "nearest", "median", "farthest"):
        table.add_column(title, justify="right", no_wrap=True)
    return table


def add_frame(table: Any, name: str, frame: Frame) -> float:
    """Add the size and the depths of a frame to a table; return the median depth in meters, NaN without a reading."""
    import numpy as np
    from rich.markup import escape

    readings = frame.depth_mm[frame.depth_mm > 0]
    spans = (np.percentile(readings, (0, 50, 100)) / 1000).tolist() if readings.size else []
    size = f"{frame.camera.width} x {frame.camera.height}"
    table.add_row(
        escape(tame(name)), size, f"{readings.size / frame.depth_mm.size:.0%}", *(f"{m:.2f} m" for m in spans)
    )
    return float(spans[1]) if spans else math.nan


def sample_table(figures: Mapping[str, SampleFigures]) -> Any:
    """Return a table of the demo's results in each frame, with the total in its last row.

    It has a column for false people only if there are any.
    """
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("frame", overflow="fold")
    has_false = any(one.false for one in figures.values())
    for title in ("people found", "pixels right", "joints within 10 cm", "frames/s", *["false people"] * has_false):
        table.add_column(title, justify="right")
    for name, one in figures.items():
        share = "" if one.right is None else f"{one.right:.0%}"
        found, near = f"{one.found} of {one.people}", f"{one.near} of {one.joints}"
        table.add_row(name, found, share, near, f"{1 / one.seconds:.0f}", *[str(one.false or "")] * has_false)
    every = list(figures.values())
    right = [one.right for one in every if one.right is not None]
    table.add_row(
        "all",
        f"{sum(one.found for one in every)} of {sum(one.people for one in every)}",
        f"{sum(right) / len(right):.0%}" if right else "",
        f"{sum(one.near for one in every)} of {sum(one.joints for one in every)}",
        f"{len(every) / sum(one.seconds for one in every):.0f}",
        *[str(sum(one.false for one in every))] * has_false,
        style="bold",
    )
    return table


def print_table(table: Any, *, least_width: int = 0) -> None:
    """Print a table as wide as the terminal, or wider if figures would be cut."""
    from rich.console import Console

    Console(highlight=False, width=max(Console().width, least_width)).print(table)


def complain(kind: str, message: object) -> None:
    """Print one line on standard error, with parameters written as options."""
    text = tame(" ".join(text_of(message, as_option).split())) or type(message).__name__
    print(f"depthforest: {kind}: {text}", file=sys.stderr)


def tell_drops(frames: FrameSequence) -> None:
    """Print how many frames of a live camera were dropped, if any were."""
    if frames.n_dropped:
        print(f"frames that came too fast and were dropped: {frames.n_dropped}")


def end_with(failures: Sequence[object]) -> None:
    """Print all failures, and exit 1 if there are any."""
    for failure in failures:
        complain("error", failure)
    if failures:
        raise typer.Exit(1)


def report(error: Exception) -> int:
    """Print an error in one line and return the exit code."""
    if isinstance(error, DepthForestError):
        complain("error", error)
        return error.exit_code
    if hasattr(error, "format_message"):  # typer's own complaints about options and arguments
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "depthforest"
        if type(error).__name__ == "NoArgsIsHelpError":  # no command was given; its message is the help
            print(error.format_message())
        elif error.format_message():
            text = _unknown_option(error) if hasattr(error, "option_name") and context else error.format_message()
            complain("error", f"{text.rstrip('.')} (see {command} --help)")
        return 2
    if isinstance(error, BrokenPipeError):
        _drop_output()  # the reader is gone
        return 1
    if isinstance(error, typer.Abort):
        is_interrupted = isinstance(error.__cause__, KeyboardInterrupt)  # as some versions of typer report it
        complain("error", "stopped" if is_interrupted else "aborted")
        return EXIT_INTERRUPTED if is_interrupted else 1
    if isinstance(error, OSError):
        complain("error", _system_error(error))
        return 1
    complain("error", f"internal: {type(error).__name__}: {error}; DEPTHFOREST_DEBUG=1 shows where")
    return 1


def _unknown_option(error: Any) -> str:
    """Return a message that names the unknown option, and options with similar spelling."""
    if not hasattr(error, "possibilities"):  # a known option that is used wrongly
        return str(error.format_message())
    given, options = error.option_name, {}
    for parameter in error.ctx.command.params:
        options.update(dict.fromkeys([*parameter.opts, *parameter.secondary_opts], parameter))
    near = difflib.get_close_matches(given, [name for name in options if name.startswith("--")], n=2, cutoff=0.75)
    kind = given.lstrip("-")
    if not near and "--write" in options and kind in re.findall(r"\w+", str(options["--write"].help)):
        return f"no option is called {given}; did you mean --write {kind}?"
    return f"no option is called {given}" + (f"; did you mean {' or '.join(near)}?" if near else "")


def _drop_output() -> None:
    """Redirect standard output, so that the last flush succeeds."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _system_error(error: OSError) -> str:
    """Return the system's error, with the path if it names one."""
    if error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {reason(error)}"
    if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EIO):  # for files, this is reported where they are written
        _drop_output()
        return f"standard output: cannot be written: {reason(error)}"
    if isinstance(error, FileNotFoundError):
        return "the working folder is gone; change to another and run this again"
    return f"the system refused: {reason(error)}"


@contextlib.contextmanager
def noted_warnings(wanted: type[Warning]) -> Iterator[list[Warning | str]]:
    """Yield a list that collects the wanted warnings that are shown inside the block."""
    noted: list[Warning | str] = []
    show = warnings.showwarning

    def note(message: Warning | str, category: type[Warning], *rest: Any, **options: Any) -> None:
        if issubclass(category, wanted):
            noted.append(message)
        show(message, category, *rest, **options)

    warnings.showwarning = note
    try:
        yield noted
    finally:
        warnings.showwarning = show


def warn_in_one_line(said: set[str]) -> Any:
    """Return a function that shows our own warnings in one line each, unless they were shown already."""

    def show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        if issubclass(category, DepthForestWarning) and str(message) not in said:
            said.add(str(message))
            complain("warning", message)

    return show_warning
