"""The implementation of `train --recipe`: the plan as a table, the run with one live line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from depthforest.base import Parameter, UsageError
from depthforest.cli.outputs import check_output
from depthforest.cli.terminal import EXIT_INTERRUPTED, complain, live_lines, on_cluster, print_table, status
from depthforest.cli.warming import TRAIN, compile_first

PLAN_WIDTH = 110
"""Widths of the plan's columns: names of steps, and all figures."""


def train_by_recipe(
    recipe: Path,
    output: Path,
    *,
    scale: float,
    is_dry: bool,
    folder: Path | None,
    mocap: str | None,
    bodies: str | None,
    options: Mapping[str, Any],
    dask: str | None = None,
) -> None:
    """Run a recipe, or list its steps."""
    with status("reading the recipe ..."):
        from depthforest.recipes import RecipeRun, RunOptions, read_recipe

        read = read_recipe(recipe, scale=scale, mocap=mocap, bodies=bodies)
        run = RecipeRun(read, output, folder, mocap=mocap, bodies=bodies)
        if is_dry:
            rows = run.plan()
        else:
            check_output(output)
            run.check()  # anything missing is reported before anything is compiled
    if is_dry:
        print_plan(rows)
        return
    compile_first(TRAIN)
    try:
        with on_cluster(dask) as client, live_lines() as tell:
            run.run(tell, RunOptions(**options, client=client))
    except KeyboardInterrupt:
        complain("warning", f"stopped; the same command continues with the steps that are kept in {run.folder}")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    print(f"written: {output} and {run.card_path}; steps are kept in {run.folder}")


def refuse_others(given: Mapping[str, object]) -> None:
    """Refuse options that a recipe itself determines."""
    name = next((name for name, value in given.items() if value), None)
    if name is not None:
        raise UsageError("a recipe defines everything that shapes the model; leave out ", Parameter(name))


def print_plan(rows: list[dict[str, Any]]) -> None:
    """Print the steps of a recipe, and the estimated time."""
    from rich.table import Table

    from depthforest.recipes import shown_bytes
    from depthforest.training import shown_time

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("step", "does", "key"):
        table.add_column(title, no_wrap=True)
    for title in ("frames", "bytes", "evaluations", "time"):
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            row["name"],
            row["kind"],
            row["key"][:6],
            f"{row['frames']:,}" if row["frames"] else "",
            shown_bytes(row["bytes"]) if row["bytes"] else "",
            f"{row['evaluations']:.1e}" if row["evaluations"] else "",
            "done" if row["is_done"] else shown_time(row["seconds"]),
        )
    print_table(table, least_width=PLAN_WIDTH)
    todo = [row for row in rows if not row["is_done"]]
    n_bytes = sum(row["bytes"] for row in todo)
    seconds = sum(row["seconds"] for row in todo)
    print(f"{len(todo)} of {len(rows)} steps to do: about {shown_time(seconds)}, {shown_bytes(n_bytes)}")
