"""The effect of each part of training: forests that differ in one thing, all evaluated on the same frames.

    python tools/experiments.py WORK --frames v1.zarr --near near.zarr --stereo realsense.zarr --fresh fresh.zarr
        --fresh-near fresh_near.zarr --fresh-stereo fresh_realsense.zarr --test valid.zarr --test-near valid_near.zarr
        --test-stereo valid_realsense.zarr

runs the `depthforest` commands of every row in turn (`train`, `fit-leaves`, `evaluate`) and writes the table of
docs/EXPERIMENTS.md to WORK/experiments.md after every row, followed by the commands: those under a row's number, which
use files of earlier rows. Existing files are not made again, so it can be stopped and run again at any time with the
same data sets, which WORK/data.json records. WORK is a folder outside the checkout. docs/EXPERIMENTS.md says how the
data sets were made; the forests are small, so that a row takes a minute or two.
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

from depthforest.base import UsageError, make_folder, read_json, replacing, write_json
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
"""Settings of the base forest, from which the others differ."""

FIT_FRAMES = 2000
"""Fresh frames that leaves are counted on."""

DATA = "data.json"
"""Record of the data sets behind the files in the work folder, so that other data sets do not mix with them."""

KINDS = ("near", "stereo")
"""Kinds of additional frames for some rows, on which all rows are evaluated: near views, and a stereo sensor."""

SETS = {
    "frames": "Data set that trees are grown on.",
    "near": "Data set of near views, for the rows about them.",
    "stereo": "Data set of a stereo sensor, for the rows about it.",
    "fresh": "Data set that leaves are counted on.",
    "fresh-near": "Near views for that.",
    "fresh-stereo": "Frames of a stereo sensor for that.",
    "test": "Data set that all are judged on.",
    "test-near": "Near views that all are judged on.",
    "test-stereo": "Frames of a stereo sensor that all are judged on.",
}

TITLES = ("row", "what", "per class", "sides merged", "near views", "stereo", "leaves")

FIGURES = ("parts.mean_class_accuracy", "parts_merged.mean_class_accuracy")


@dataclass(frozen=True)
class Row:
    """One forest and its evaluation.

    Parameters
    ----------
    title : str
    grown : tuple of (option, value)
        Options of growing that differ from `BASE`.
    fit : tuple of str or None
        Options of `fit-leaves`; None: leaves stay as they were grown.
    judged : tuple of str
        Options of `evaluate`.
    seen : tuple of (step, kind)
        Steps that also use frames of one of `KINDS`.
    """

    title: str
    grown: tuple[tuple[str, str], ...] = ()
    fit: tuple[str, ...] | None = ("--mirror",)
    judged: tuple[str, ...] = ()
    seen: tuple[tuple[str, str], ...] = ()


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
    Row("near views among the frames that leaves are counted on", seen=(("fit-leaves", "near"),)),
    Row("and among those that the tree grows on", seen=(("train", "near"), ("fit-leaves", "near"))),
    Row("stereo frames among the frames that leaves are counted on", seen=(("fit-leaves", "stereo"),)),
    Row("and among those that the tree grows on", seen=(("train", "stereo"), ("fit-leaves", "stereo"))),
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
    Row("3 trees, leaves counted each by itself", (("trees", "3"),), fit=COUNTED),
    Row("3 trees, probes up to 0.3 m", (("trees", "3"), ("probe-range-m", "0.3"))),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run missing commands and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("work", type=Path)
    for option, about in SETS.items():
        parser.add_argument(f"--{option}", type=Path, required=True, help=about)
    parser.add_argument("--rows", type=int, default=len(ROWS), help="Only so many rows.")
    given = parser.parse_args(arguments)
    data = {option: getattr(given, option.replace("-", "_")) for option in SETS}
    if complaint := _noted(given.work, data):
        parser.error(complaint)
    lines, shown = [_line(TITLES), _line(["---"] * len(TITLES))], dict[str, None]()
    for number, row in enumerate(ROWS[: given.rows], 1):
        cells, commands = _measured(row, data, given.work)
        lines.append(_line([str(number), row.title, *cells]))
        print(lines[-1], flush=True)
        # commands of earlier rows are not repeated
        texts = [f"# {number}", *(shlex.join(("depthforest", *command)) for command in commands)]
        shown |= dict.fromkeys(texts)
        with replacing(given.work / "experiments.md") as file:
            file.write("\n".join([*lines, "", "```", *shown, "```", ""]).encode())
    return 0


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _noted(work: Path, data: dict[str, Path]) -> str:
    """Make the work folder and record its data sets; return an error message, or an empty text."""
    places = {option: str(path.resolve()) for option, path in data.items()}
    # commands only show the names
    if len({path.name for path in data.values()}) < len(data):
        told = ", ".join(f"--{option} {path}" for option, path in data.items())
        return f"the data sets must have different names, got {told}; rename a folder"
    note = make_folder(work) / DATA
    there = read_json(note, UsageError) if note.exists() else places
    if there != places:
        return f"{work}: was made of other data sets, see {note}; give the same, or another folder"
    write_json(note, places)
    return ""


def _measured(row: Row, data: Mapping[str, Path], work: Path) -> tuple[list[str], list[list[str]]]:
    """Return the figures of a row as cells of the table, and its commands, running those whose file is missing."""
    name = {option: path.name for option, path in data.items()}
    options = BASE | dict(row.grown)
    flags = [part for option, value in options.items() for part in (f"--{option}", value)]
    seen = {step: [kind for own, kind in row.seen if own == step] for step in ("train", "fit-leaves")}
    grown = "grown" + "".join(f"_{option}_{value}" for option, value in row.grown)
    grown += "".join(f"_{kind}" for kind in seen["train"]) + ".safetensors"
    more = [part for kind in seen["train"] for part in ("--data", name[kind])]
    steps = [(grown, ["train", "--data", name["frames"], *more, "-o", grown, *flags])]
    model = grown
    if row.fit is not None:
        model = f"fit_{_words((*row.fit, *seen['fit-leaves']))}{grown}"
        more = [part for kind in seen["fit-leaves"] for part in ("--data", name[f"fresh-{kind}"])]
        limit = FIT_FRAMES // (1 + len(seen["fit-leaves"]))  # of each data set
        count = ["--data", name["fresh"], *more, "--limit", str(limit)]
        steps.append((model, ["fit-leaves", grown, *count, "-o", model, *row.fit]))
    reports = []
    for test in ("test", *(f"test-{kind}" for kind in KINDS)):
        reports.append(f"{test}_{_words(row.judged)}{model}.json")
        judge = ["evaluate", model, "--data", name[test], "--no-joints", *row.judged, "--json", reports[-1]]
        steps.append((reports[-1], judge))
    places = {path.name: str(path.resolve()) for path in data.values()}
    for made, command in steps:
        if not (work / made).exists():
            _run([places.get(part, part) for part in command], work)
    own, *others = (_figures(work / report) for report in reports)
    figures = [f"{100 * value:.1f} %" for value in (*own, *(other[0] for other in others))]
    return [*figures, f"{Forest.load(work / model).n_leaves:,}"], [command for _, command in steps]


def _figures(report: Path) -> list[float]:
    """Return the figures of a report that the table shows."""
    found = json.loads(report.read_text())["models"][0]["evaluation"]["figures"]
    return [found[name]["value"] for name in FIGURES]


def _words(options: Sequence[str]) -> str:
    return "".join(f"{option.strip('-')}_" for option in options)


def _run(command: list[str], folder: Path) -> None:
    """Run a command of depthforest in a folder; its output goes to a log there."""
    if command[0] == "train" and (folder / f"{command[command.index('-o') + 1]}.checkpoint").is_dir():
        command = [*command, "--resume"]
    with (folder / "log.txt").open("a") as log:
        subprocess.run([sys.executable, "-m", "depthforest", *command], cwd=folder, check=True, stdout=log, stderr=log)


if __name__ == "__main__":
    sys.exit(main())
