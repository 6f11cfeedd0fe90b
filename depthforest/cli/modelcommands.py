"""The commands about models: evaluate, compare, fit-..., train-people, import-pcl, export, info; see `cli`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from depthforest.base import Parameter, UsageError, check_writable, counted
from depthforest.cli.options import (
    CameraOption,
    DaskOption,
    MirrorOption,
    OverwriteOption,
    RestartOption,
    ThreadsOption,
    with_fields_of,
)
from depthforest.cli.outputs import check_output, save_trained
from depthforest.cli.terminal import (
    EXIT_INTERRUPTED,
    complain,
    end_with,
    live_lines,
    on_cluster,
    print_table,
    progress_bar,
    status,
)

models = typer.Typer()


@models.command()
def evaluate(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Model files or shipped models; all others are compared with the first. With --people "
            "they are person models, and may be omitted.",
            metavar="MODEL",
        ),
    ] = None,
    data: Annotated[list[str] | None, typer.Option(help="A labeled data set (repeatable).", metavar="DIR|URL")] = None,
    people: Annotated[
        bool, typer.Option("--people", help="Evaluate the detection of people instead of parts and joints.")
    ] = False,
    rooms: Annotated[
        list[Path] | None,
        typer.Option(help="With --people: real frames with marked people (repeatable).", metavar="DIR"),
    ] = None,
    background: Annotated[
        list[Path] | None,
        typer.Option(
            help="With --people: an empty frame of the room of --data, or a folder of them (repeatable).",
            metavar="FILE|DIR",
        ),
    ] = None,
    empty_room: Annotated[
        bool,
        typer.Option("--empty-room", help="With --people: use the empty room of each frame of --bench as background."),
    ] = False,
    recording: Annotated[
        bool,
        typer.Option(
            "--recording",
            help="With --people: treat each data set as a recording, and check that people keep their ids.",
        ),
    ] = False,
    bench: Annotated[
        str | None,
        typer.Option(
            help="Fixed test sets, separated by commas, or all: mocap (the headline), procedural (needs no download), "
            "frontal, cut, rooms, two_people, sensor_...; with --people: clutter, empty, rooms, two_people.",
            metavar="NAMES",
        ),
    ] = None,
    mocap: Annotated[
        Path | None, typer.Option(help="Folder of the CMU clips (BVH); most test sets need it.", metavar="DIR")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The HTML report to write, a single file.", metavar="REPORT.html"),
    ] = None,
    marks: Annotated[
        Path | None, typer.Option(help="JSON file with marked points and joints of real frames.", metavar="FILE")
    ] = None,
    frames: Annotated[
        Path | None, typer.Option(help="The marked frames: a folder or a recording.", metavar="DIR|FILE")
    ] = None,
    camera: CameraOption = None,
    json: Annotated[Path | None, typer.Option(help="Also write all figures as JSON.", metavar="FILE")] = None,
    joints: Annotated[bool, typer.Option("--joints/--no-joints", help="Evaluate joints.")] = True,
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Walk every pixel, and locate joints exactly; much slower."),
    ] = False,
    mirror: MirrorOption = None,
    limit: Annotated[int | None, typer.Option(help="Maximum number of frames.", min=1)] = None,
    threads: ThreadsOption = None,
    dask: DaskOption = None,
) -> None:
    """Evaluate models on labeled frames: parts, joints, calibration and speed; with --people, detection of people."""
    of_people = {"rooms": rooms, "background": background, "empty_room": empty_room, "recording": recording}
    of_parts = {"marks": marks, "frames": frames, "camera": camera, "no_joints": not joints, "exact": exact}
    _refuse_options(of_parts | {"mirror": mirror is not None} if people else of_people, people=people)
    shared: dict[str, Any] = {
        "models": names or [],
        "data": data or [],
        "bench": [] if bench is None else [name.strip() for name in bench.split(",")],
        "mocap": mocap,
        "limit": limit,
        "output": output,
        "json_path": json,
        "threads": threads,
    }
    run: Any
    with status("reading models and data, compiling ..."):
        from depthforest.evaluation import EvaluateOptions, PeopleOptions, prepare_evaluation, prepare_people

        if people:
            own: dict[str, Any] = of_people | {"rooms": rooms or [], "background": background or []}
            run = prepare_people(PeopleOptions(**shared, **own))
        else:
            own = {"marks": marks, "frames": frames, "camera": camera, "mirror": mirror, "exact": exact}
            run = prepare_evaluation(EvaluateOptions(**shared, **own, joints=joints))
    with on_cluster(dask), progress_bar(run.total) as advance:
        result = run.run(advance)
    print("\n".join(result.lines()))
    for path in result.written:
        print(f"written: {path}")


def _refuse_options(given: Mapping[str, object], *, people: bool) -> None:
    """Refuse options that have no meaning with --people, or without it."""
    name = next((name for name, value in given.items() if value), None)
    if name is not None and people:
        raise UsageError(
            Parameter(name), " is about parts and joints; leave it out, or leave out ", Parameter("people")
        )
    if name is not None:
        raise UsageError(Parameter(name), " is about finding people; give ", Parameter("people"), " too")


@models.command()
@with_fields_of("depthforest.compare.budget.CompareSettings")
def compare(
    *,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for tables, plots and finished learners.")
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="A data set to train on. Default: synthetic frames.", metavar="DIR|URL")
    ] = None,
    test: Annotated[
        str | None, typer.Option(help="A data set to test on. Default: held-out frames.", metavar="DIR|URL")
    ] = None,
    bench: Annotated[
        str | None, typer.Option(help="Name of a fixed test set to test on; see evaluate.", metavar="NAME")
    ] = None,
    mocap: Annotated[
        Path | None, typer.Option(help="Folder of the CMU clips (BVH); most fixed test sets need it.", metavar="DIR")
    ] = None,
    synth_config: Annotated[Path | None, typer.Option(help="TOML file with fields of synth.Config.")] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Processor time of each fit. Default: 30, if no other budget is given.")
    ] = None,
    megabytes: Annotated[float | None, typer.Option(help="Maximum size of each fitted model.")] = None,
    rounds: Annotated[
        int | None, typer.Option(help="Instead of a budget: number of members or rounds, the same for all learners.")
    ] = None,
    only: Annotated[str | None, typer.Option(help="Learners to compare, separated by commas.", metavar="NAMES")] = None,
    list_: Annotated[bool, typer.Option("--list", help="Print the learners and stop.")] = False,
    **numbers: Any,
) -> None:
    """Compare ensembles and the depth forest on the same pixels. After an interruption, run it again to continue."""
    if list_:
        print_table(_learner_table())
        return
    if output is None:
        raise UsageError("name a folder for the comparison with -o, or --list the learners")
    from depthforest.compare import SECONDS, Budget, CompareSettings

    is_open = seconds is None and megabytes is None and rounds is None
    budget = Budget(SECONDS if is_open else seconds, megabytes, rounds)
    settings = CompareSettings(**{name: value for name, value in numbers.items() if value is not None})
    with status("reading settings and data ..."):
        from depthforest.compare import prepare_comparison

        names = None if only is None else [name.strip() for name in only.split(",")]
        comparison = prepare_comparison(
            output, budget, settings, data=data, test=test, bench=bench, mocap=mocap, synth_config=synth_config,
            only=names,
        )  # fmt: skip
    failures: list[str] = []
    try:
        if comparison.missing:
            with progress_bar(comparison.n_frames) as advance:
                read = comparison.read(advance)
            with live_lines() as tell:
                failures = comparison.run(read, tell)
    except KeyboardInterrupt:
        complain("warning", f"stopped; what is finished is in {output}: the same command continues")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    written = comparison.write_all()
    print_table(_result_table(comparison.folder.results()))
    for path in written:
        print(f"written: {path}")
    end_with(failures)


def _learner_table() -> Any:
    from rich.table import Table

    from depthforest.compare import LEARNERS

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title, is_whole in (("name", True), ("family", True), ("size counts", True), ("settings of its own", False)):
        table.add_column(title, no_wrap=is_whole)
    for learner in LEARNERS:
        missing = "" if learner.is_installed else f"needs {learner.library}, not installed; "
        table.add_row(learner.name, learner.family, learner.unit, missing + learner.note)
    return table


def _result_table(records: list[dict[str, Any]]) -> Any:
    from rich.table import Table

    from depthforest.compare import TITLES, text_rows

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in TITLES[:-1]:
        table.add_column(title, justify="left" if title == TITLES[0] else "right", no_wrap=True)
    for row in text_rows(records):
        table.add_row(*row[:-1])
    return table


@models.command("fit-joints")
def fit_joints(
    model: Annotated[str, typer.Argument(help="A model file, or the name of a shipped one.", metavar="MODEL")],
    data: Annotated[
        list[str],
        typer.Option(help="Labeled frames with joints, unseen in training (repeatable).", metavar="DIR|URL"),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write.", metavar="MODEL")],
    force: OverwriteOption = False,
    threads: ThreadsOption = None,
    dask: DaskOption = None,
) -> None:
    """Learn how to find joints in a model's labels, and store it in the model."""
    check_output(output, model=model, is_forced=force)
    with status("reading the model, compiling ..."):
        from depthforest.forest import load
        from depthforest.io import open_datasets
        from depthforest.joints import fit_joints

        forest, frames = load(model), open_datasets(data)
    with on_cluster(dask), progress_bar(len(frames)) as advance:
        fitted = fit_joints(forest, frames, threads=threads, progress=advance)
    fitted.save(output)
    print(f"joint parameters of {counted(len(frames), 'frames')} in {output}")


@models.command("fit-convention")
def fit_convention(
    joints: Annotated[
        Path, typer.Argument(help="Joints of the frames, written by label --write joints.", metavar="JOINTS")
    ],
    marks: Annotated[
        Path,
        typer.Argument(
            help="JSON file: for each frame name the marked joints of one person, as name: [x, y, z] in meters.",
            metavar="MARKS",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The convention to write.", metavar="FILE.json")],
    base: Annotated[
        str | None,
        typer.Option(help="Names of the marked joints: itop, kinect_v2, coco, smpl, or a saved convention."),
    ] = None,
) -> None:
    """Learn another joint convention from a few marked frames; joints.to("FILE.json") applies it."""
    check_writable(output)
    from depthforest.joints import fit_convention, people_of_marks

    found, marked = people_of_marks(joints, marks)
    convention = fit_convention(found, marked, base=base)
    convention.save(output)
    print(f"offsets of {len(convention.offsets)} joints from {counted(len(found), 'frames')} in {output}")


@models.command("fit-confidence")
def fit_confidence(
    model: Annotated[str, typer.Argument(help="A model file, or the name of a shipped one.", metavar="MODEL")],
    data: Annotated[
        list[str],
        typer.Option(help="Labeled frames, unseen in training (repeatable).", metavar="DIR|URL"),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write.", metavar="MODEL")],
    limit: Annotated[int | None, typer.Option(help="Maximum number of frames of each data set.", min=1)] = None,
    force: OverwriteOption = False,
    threads: ThreadsOption = None,
    dask: DaskOption = None,
) -> None:
    """Calibrate a model's confidence, so that it is the probability that a label is right. Labels stay the same."""
    check_output(output, model=model, is_forced=force)
    with status("reading the model, compiling ..."):
        from depthforest.forest import load
        from depthforest.io import open_datasets
        from depthforest.training import fit_confidence

        forest, frames = load(model), open_datasets(data, limit)
    with on_cluster(dask), progress_bar(len(frames)) as advance:
        fitted = fit_confidence(forest, frames, threads=threads, progress=advance)
    fitted.save(output)
    assert fitted.calibration is not None
    smoothed, other = fitted.calibration["temperature"], fitted.calibration["temperature_unsmoothed"]
    print(f"temperature {smoothed:g}, unsmoothed {other:g}, of {counted(len(frames), 'frames')} in {output}")


@models.command("fit-leaves")
def fit_leaves(
    model: Annotated[str, typer.Argument(help="A model file, or the name of a shipped one.", metavar="MODEL")],
    data: Annotated[
        list[str],
        typer.Option(help="Labeled frames, preferably unseen in training (repeatable).", metavar="DIR|URL"),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write.", metavar="MODEL")],
    facings: Annotated[
        int | None, typer.Option(help="Number of facings; above 1 needs joints. Default: 8.", min=1)
    ] = None,
    smooth: Annotated[
        float | None, typer.Option(help="Smoothing radius of labels in meters. Default: 0.03.", min=0)
    ] = None,
    trees: Annotated[int | None, typer.Option(help="Keep only this many trees.", min=1)] = None,
    leaves: Annotated[
        int | None, typer.Option(help="Maximum number of leaves; small branches are pruned.", min=1)
    ] = None,
    depth: Annotated[int | None, typer.Option(help="Maximum depth.", min=1)] = None,
    mirror: MirrorOption = None,
    rounds: Annotated[
        int | None, typer.Option(help="Rounds of joint fitting of all leaves. Default: 2.", min=0)
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Maximum number of frames of each data set.", min=1)] = None,
    force: OverwriteOption = False,
    threads: ThreadsOption = None,
    dask: DaskOption = None,
) -> None:
    """Refit a model's leaves on more frames, with facings; its splits stay. Run fit-joints next."""
    check_output(output, model=model, is_forced=force)
    with status("reading the model, compiling ..."):
        from depthforest.forest import load
        from depthforest.io import open_datasets
        from depthforest.training import N_FACINGS, ROUNDS, SMOOTH_M, fit_leaves

        forest, frames = load(model), open_datasets(data, limit)
        n_rounds = ROUNDS if rounds is None else rounds
    with on_cluster(dask), progress_bar(len(frames) * (1 + n_rounds)) as advance:
        fitted = fit_leaves(
            forest,
            frames,
            n_facings=N_FACINGS if facings is None else facings,
            smooth_m=SMOOTH_M if smooth is None else smooth,
            max_trees=trees,
            max_leaves=leaves,
            max_depth=depth,
            mirror=mirror,
            rounds=n_rounds,
            threads=threads,
            progress=advance,
        )
    fitted.save(output)
    print(f"{counted(fitted.n_trees, 'trees')}, {fitted.n_leaves} leaves, {fitted.n_facings} facings in {output}")


@models.command("train-people")
@with_fields_of("depthforest.training.config.PeopleConfig")
def train_people(
    *,
    data: Annotated[
        list[str],
        typer.Option(help="Labeled frames of rooms, with and without people (repeatable).", metavar="DIR|URL"),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The person model to write.", metavar="MODEL")],
    config: Annotated[Path | None, typer.Option(help="TOML file with any of the options below.")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Folder of the scene forest's checkpoint. Default: MODEL.checkpoint.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the checkpoint.")] = False,
    force: RestartOption = False,
    limit: Annotated[int | None, typer.Option(help="Maximum number of frames of each data set.", min=1)] = None,
    threads: ThreadsOption = None,
    **numbers: Any,
) -> None:
    """Train a person model, which distinguishes people from things in a room."""
    from dataclasses import replace

    from depthforest.training import PeopleConfig

    check_output(output, is_forced=force)
    base = PeopleConfig.load(config) if config is not None else PeopleConfig()
    chosen = replace(base, **{name: value for name, value in numbers.items() if value is not None})
    folder = checkpoint if checkpoint is not None else output.with_name(f"{output.name}.checkpoint")
    with status("reading data, compiling ..."):
        from depthforest.io import open_datasets
        from depthforest.training import begin_checkpoint, is_checkpoint, train_people

        frames = open_datasets(data, limit)
    begin_checkpoint(folder, is_resumed=resume, is_forced=force)
    try:
        with live_lines() as tell:
            model = train_people(
                frames, chosen, progress=tell, threads=threads, checkpoint=folder, resume=resume
            )  # fmt: skip
    except KeyboardInterrupt:
        goes_on = f"; the same command with --resume continues from {folder}" if is_checkpoint(folder) else ""
        complain("warning", f"stopped{goes_on}")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    save_trained(model, output, folder, is_kept=checkpoint is not None)
    print(f"{model.scores['candidates']} candidates, {model.scores['people']} of them people; written: {output}")


@models.command("import-pcl")
def import_pcl(
    trees: Annotated[list[Path], typer.Argument(help="Tree files: text, .bz2 or .gz.", metavar="TREE")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write.", metavar="MODEL")],
    focal: Annotated[
        float | None,
        typer.Option(help="Focal length in pixels that the trees were trained for. Default: 640, as in PCL."),
    ] = None,
) -> None:
    """Convert the trees of PCL's people detector (gpu/people) into a model."""
    if any(tree.resolve() == output.resolve() for tree in trees):
        raise UsageError(f"{output}: is an input; name another file for the model")
    check_output(output)
    with status("reading trees ..."):
        from depthforest.forest import pcl

        forest = pcl.import_pcl(trees, pcl.FOCAL_PX if focal is None else focal)
        forest.save(output)
    print(f"{counted(forest.n_trees, 'trees')}, {forest.n_nodes} nodes, {forest.n_leaves} leaves in {output}")


@models.command()
def export(
    model: Annotated[str, typer.Argument(help="A model file, or the name of a shipped one.", metavar="MODEL")],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The header to write; with --wasm NAME.wasm, with --page NAME.html.",
            metavar="NAME.h",
        ),
    ],
    blob: Annotated[
        bool, typer.Option("--blob", help="Write the tables to NAME.bin, which can be mapped into memory.")
    ] = False,
    joints: Annotated[bool, typer.Option("--joints", help="Also write NAME_joints.h, which finds joints.")] = False,
    example: Annotated[
        bool, typer.Option("--example", help="Also write NAME_example.c, a program that labels a PGM file.")
    ] = False,
    wasm: Annotated[bool, typer.Option("--wasm", help="Write a WebAssembly module instead.")] = False,
    page: Annotated[
        bool, typer.Option("--page", help="Write a web page instead, which labels pictures without a server.")
    ] = False,
    name: Annotated[
        str | None, typer.Option(help="Prefix of the function names. Default: the name of the header.", metavar="NAME")
    ] = None,
) -> None:
    """Export a model that runs without Python, as a C header, a WebAssembly module or a web page."""
    of_headers = {"blob": blob, "joints": joints, "example": example, "name": name is not None}
    given = next((key for key, value in of_headers.items() if value), None)
    if (wasm or page) and given is not None:
        raise UsageError(Parameter(given), " is about headers; leave it out, or leave out ", Parameter("wasm"))
    if wasm and page:
        raise UsageError("give ", Parameter("wasm"), " or ", Parameter("page"), ", not both")
    with status("reading the model, writing ..."):
        from depthforest.export import export_c, export_page, export_wasm
        from depthforest.forest import load
        from depthforest.recipes import shown_bytes

        forest = load(model)
        if wasm:
            written = [export_wasm(forest, output)]
        elif page:
            written = [export_page(forest, output, title=Path(model).stem)]
        else:
            written = export_c(forest, output, name=name, blob=blob, joints=joints, example=example)
    for path in written:
        print(f"written: {path} ({shown_bytes(path.stat().st_size)})")


@models.command()
def info(
    model: Annotated[
        str | None,
        typer.Argument(
            help="A model file, the name of a shipped one, or the checkpoint folder of a training run. "
            "Default: list the shipped models.",
            metavar="MODEL",
            show_default=False,
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also print all numbers of its configuration, joints and scores.")
    ] = False,
) -> None:
    """Check a model or a checkpoint, and print what it contains; without MODEL, list the shipped models."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from depthforest.cli.info import describe
    from depthforest.forest import find_model, shipped_models
    from depthforest.recipes import shown_bytes

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    if model is None:
        rows = [(name, f"{shown_bytes(path.stat().st_size)}, {path}") for name, path in shipped_models().items()]
    else:
        rows = list(describe(find_model(model), everything=everything))
    for name, value in rows:
        table.add_row(escape(name), escape(value))
    Console(highlight=False).print(table)
