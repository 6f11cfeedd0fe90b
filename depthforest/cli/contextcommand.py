"""`depthforest train-context` and `fit-context`: a second stage that reads a model's answers; see `cli`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from depthforest.base import counted
from depthforest.cli.options import (
    DaskOption,
    MemoryOption,
    OverwriteOption,
    RestartOption,
    ThreadsOption,
    with_fields_of,
)
from depthforest.cli.outputs import check_output, save_trained
from depthforest.cli.terminal import EXIT_INTERRUPTED, complain, live_lines, on_cluster, progress_bar, status

contexts = typer.Typer()


@contexts.command("train-context")
@with_fields_of("depthforest.training.config.ContextConfig")
def train_context(
    model: Annotated[str, typer.Argument(help="A model file, or the name of a shipped one.", metavar="MODEL")],
    *,
    data: Annotated[
        list[str],
        typer.Option(help="Labeled frames, unseen in training (repeatable).", metavar="DIR|URL"),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write.", metavar="MODEL")],
    config: Annotated[Path | None, typer.Option(help="TOML file with any of the options below.")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Folder of the checkpoint. Default: MODEL.checkpoint.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the checkpoint.")] = False,
    force: RestartOption = False,
    limit: Annotated[int | None, typer.Option(help="Maximum number of frames of each data set.", min=1)] = None,
    threads: ThreadsOption = None,
    memory: MemoryOption = None,
    dask: DaskOption = None,
    **numbers: Any,
) -> None:
    """Train a context stage: trees that read a model's answers around a pixel. Run fit-joints next."""
    from dataclasses import replace

    from depthforest.training import ContextConfig

    check_output(output, model=None if resume else model, is_forced=force)
    base = ContextConfig.load(config) if config is not None else ContextConfig()
    chosen = replace(base, **{name: value for name, value in numbers.items() if value is not None})
    folder = checkpoint if checkpoint is not None else output.with_name(f"{output.name}.checkpoint")
    with status("reading the model, compiling ..."):
        from depthforest.forest import load
        from depthforest.io import open_datasets
        from depthforest.training import begin_checkpoint, is_checkpoint, train_context

        forest, frames = load(model), open_datasets(data, limit)
    begin_checkpoint(folder, is_resumed=resume, is_forced=force)
    options: dict[str, Any] = {} if memory is None else {"memory_mb": memory}
    try:
        with on_cluster(dask) as client, live_lines() as tell:
            options |= {"threads": threads, "checkpoint": folder, "resume": resume, "client": client}
            trained = train_context(forest, frames, chosen, progress=tell, **options)
    except KeyboardInterrupt:
        goes_on = f"; the same command with --resume continues from {folder}" if is_checkpoint(folder) else ""
        complain("warning", f"stopped{goes_on}")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    save_trained(trained, output, folder, is_kept=checkpoint is not None)
    assert trained.context is not None
    print(f"context of {counted(trained.context.n_trees, 'trees')}, {trained.context.n_leaves} leaves in {output}")


@contexts.command("fit-context")
def fit_context(
    model: Annotated[str, typer.Argument(help="A model file with a context stage.", metavar="MODEL")],
    *,
    data: Annotated[
        list[str],
        typer.Option(help="Labeled frames, unseen in training (repeatable).", metavar="DIR|URL"),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write.", metavar="MODEL")],
    rounds: Annotated[int | None, typer.Option(help="Rounds of fitting. Default: 2.", min=1)] = None,
    limit: Annotated[int | None, typer.Option(help="Maximum number of frames of each data set.", min=1)] = None,
    force: OverwriteOption = False,
    threads: ThreadsOption = None,
    dask: DaskOption = None,
) -> None:
    """Refit the leaves of a context stage together with the first stage. Run fit-joints next."""
    check_output(output, model=model, is_forced=force)
    with status("reading the model, compiling ..."):
        from depthforest.forest import load
        from depthforest.io import open_datasets
        from depthforest.training import fit_context

        forest, frames = load(model), open_datasets(data, limit)
    options = {} if rounds is None else {"rounds": rounds}
    with on_cluster(dask), progress_bar(len(frames)) as advance:
        fitted = fit_context(forest, frames, threads=threads, progress=advance, **options)
    fitted.save(output)
    assert fitted.context is not None
    print(
        f"{fitted.context.n_leaves} leaves of the context stage fitted on {counted(len(frames), 'frames')} in {output}"
    )
