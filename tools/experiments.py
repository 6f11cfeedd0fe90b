"""What each part of training is worth: forests that differ in one thing, all judged on the same frames.

    python tools/experiments.py WORK --frames v1.zarr --near near.zarr --fresh fresh.zarr --fresh-near fresh_near.zarr
        --test valid.zarr --test-near valid_near.zarr

runs the `depthforest` commands of every row in turn (`train`, `fit-leaves`, `evaluate`) and writes the table that is in
docs/EXPERIMENTS.md to WORK/experiments.md, with the commands, after every row. What is there is not made again: stop
it and run it again at any time, with the same data sets, which WORK/data.json keeps. WORK is a folder outside the
checkout. docs/EXPERIMENTS.md says how the data sets were made; the forests are small ones, so that a row takes a minute
or two.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from depthforest.comparefolder import write_json
from depthforest.errors import UsageError
from depthforest.files import make_folder, read_json, replacing
from depthforest.forest import Forest

BASE = {
    "trees": "1",
    "frames-per-tree": "4000",
    "pixels-per-frame": "200",
    "candidates": "200",
    "min-pixels": "40",
    "probe-range-m": "0.7",
    "seed": "5",
}
"""The forest that the others differ from."""

FIT_FRAMES = 2000
"""Fresh frames that leaves are counted on."""

DATA = "data.json"
"""What the files in the work folder were made of: other data sets would mix with them."""

SETS = {
    "frames": "Data set that trees are grown on.",
    "near": "Data set of near views, for the rows about them.",
    "fresh": "Data set that leaves are counted on.",
    "fresh-near": "Near views for that.",
    "test": "Data set that all are judged on.",
    "test-near": "Near views that all are judged on.",
}

FIGURES = ("parts.mean_class_accuracy", "parts_merged.mean_class_accuracy")


@dataclass(frozen=True)
class Row:
    """One forest and how it is judged.

    Parameters
    ----------
    title : str
    grown : tuple of (option, value)
        What differs from `BASE` in growing.
    fit : tuple of str or None
        Options of `fit-leaves`; None: leaves stay as they were grown.
    judged : tuple of str
        Options of `evaluate`.
    near : tuple of str
        Steps that see near views as well.
    """

    title: str
    grown: tuple[tuple[str, str], ...] = ()
    fit: tuple[str, ...] | None = ("--mirror",)
    judged: tuple[str, ...] = ()
    near: tuple[str, ...] = ()


COUNTED = ("--rounds", "0", "--mirror")

ROWS = (
    Row("as grown, one walk", fit=None),
    Row("as grown, mirrored walk", fit=None, judged=("--mirror",)),
    Row("leaves counted again on fresh frames, mirrored walk", fit=(*COUNTED, "--facings", "1", "--smooth", "0")),
    Row("and 8 facings", fit=(*COUNTED, "--smooth", "0")),
    Row("and smoothing over 3 cm", fit=COUNTED),
    Row("and leaves fitted together, 2 rounds: **the base of all rows below**"),
    Row("5 rounds", fit=("--mirror", "--rounds", "5")),
    Row("16 facings", fit=("--mirror", "--facings", "16")),
    Row("one walk", fit=("--no-mirror",)),
    Row("a third of the leaves", fit=("--mirror", "--leaves", "10000")),
    Row("near views among the frames that leaves are counted on", near=("fit-leaves",)),
    Row("and among those that the tree grows on", near=("train", "fit-leaves")),
    Row("1,000 frames", (("frames-per-tree", "1000"),)),
    Row("2,000 frames", (("frames-per-tree", "2000"),)),
    Row("50 candidates", (("candidates", "50"),)),
    Row("2 trees", (("trees", "2"),)),
    Row("probes up to 0.3 m", (("probe-range-m", "0.3"),)),
    Row("parts drawn as they come", (("class-balance", "0"),)),
    Row("50 pixels a frame", (("pixels-per-frame", "50"),)),
    Row("probes up to 1 m", (("probe-range-m", "1.0"),)),
    Row("all parts drawn alike", (("class-balance", "1"),)),
    Row("800 candidates", (("candidates", "800"),)),
    Row("8,000 frames", (("frames-per-tree", "8000"),)),
    Row("3 trees", (("trees", "3"),)),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("work", type=Path)
    for option, about in SETS.items():
        parser.add_argument(f"--{option}", type=Path, required=True, help=about)
    parser.add_argument("--rows", type=int, default=len(ROWS), help="Only so many rows.")
    given = parser.parse_args(arguments)
    data = {option: getattr(given, option.replace("-", "_")) for option in SETS}
    if complaint := _noted(given.work, data):
        parser.error(complaint)
    lines = ["| what | per class | sides merged | near views | leaves | commands |", "|---|---|---|---|---|---|"]
    for row in ROWS[: given.rows]:
        figures, commands = _measured(row, data, given.work)
        shown = "<br>".join(f"`{shlex.join(('depthforest', *c))}`" for c in commands)
        lines.append(f"| {row.title} | {figures} | {shown} |")
        print(lines[-1], flush=True)
        with replacing(given.work / "experiments.md") as file:
            file.write(("\n".join(lines) + "\n").encode())
    return 0


def _noted(work: Path, data: dict[str, Path]) -> str:
    """Make the work folder and note what it is made of; return what is wrong with that, or nothing."""
    places = {option: str(path.resolve()) for option, path in data.items()}
    # commands are shown with the names alone
    if len({path.name for path in data.values()}) < len(data):
        told = ", ".join(f"--{option} {path}" for option, path in data.items())
        return f"the data sets must have different names, got {told}; rename a folder"
    note = make_folder(work) / DATA
    there = read_json(note, UsageError) if note.exists() else places
    if there != places:
        return f"{work}: was made of other data sets, see {note}; give the same, or another folder"
    write_json(note, places)
    return ""


def _measured(row: Row, data: Mapping[str, Path], work: Path) -> tuple[str, list[list[str]]]:
    """Return the figures of a row as cells of the table, and its commands, running those whose file is missing."""
    name = {option: path.name for option, path in data.items()}
    options = BASE | dict(row.grown)
    flags = [part for option, value in options.items() for part in (f"--{option}", value)]
    grown = "grown" + "".join(f"_{option}_{value}" for option, value in row.grown)
    grown += f"{'_near' * ('train' in row.near)}.safetensors"
    near = ["--data", name["near"]] if "train" in row.near else []
    steps = [(grown, ["train", "--data", name["frames"], *near, "-o", grown, *flags])]
    model = grown
    if row.fit is not None:
        model = f"fit_{_words(row.fit)}{'near_' * ('fit-leaves' in row.near)}{grown}"
        near = ["--data", name["fresh-near"]] if "fit-leaves" in row.near else []
        limit = FIT_FRAMES // (2 if near else 1)
        count = ["--data", name["fresh"], *near, "--limit", str(limit)]
        steps.append((model, ["fit-leaves", grown, *count, "-o", model, *row.fit]))
    reports = []
    for test in ("test", "test-near"):
        reports.append(f"{test}_{_words(row.judged)}{model}.json")
        judge = ["evaluate", model, "--data", name[test], "--no-joints", *row.judged, "--json", reports[-1]]
        steps.append((reports[-1], judge))
    places = {path.name: str(path.resolve()) for path in data.values()}
    for made, command in steps:
        if not (work / made).exists():
            _run([places.get(part, part) for part in command], work)
    both, near_one = (_figures(work / report) for report in reports)
    cells = " | ".join(f"{100 * value:.1f} %" for value in (*both, near_one[0]))
    return f"{cells} | {Forest.load(work / model).n_leaves:,}", [command for _, command in steps]


def _figures(report: Path) -> list[float]:
    """Return the figures of a report that the table shows."""
    found = json.loads(report.read_text())["models"][0]["evaluation"]["figures"]
    return [found[name]["value"] for name in FIGURES]


def _words(options: Sequence[str]) -> str:
    return "".join(f"{option.strip('-')}_" for option in options)


def _run(command: list[str], folder: Path) -> None:
    """Run a command of depthforest in a folder; what it says goes to a log there."""
    if command[0] == "train" and (folder / f"{command[command.index('-o') + 1]}.checkpoint").is_dir():
        command = [*command, "--resume"]
    with (folder / "log.txt").open("a") as log:
        subprocess.run([sys.executable, "-m", "depthforest", *command], cwd=folder, check=True, stdout=log, stderr=log)


if __name__ == "__main__":
    sys.exit(main())
