"""The tables of `compare`: one row for each finished learner, for a terminal, and as CSV, Markdown and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from depthforest.base import counted, replacing, write_json

TITLES = ("learner", "size", "fit s", "frame ms", "MB", "accuracy", "per class", "95 %")
"""Column titles; a terminal has no room for the last one."""

OVER = "*"
"""Marks a fit over the budget, where a single member already costs more."""

LEGEND = (
    "size: members, rounds, or pairs of probes that a node tries, as many as the budget buys; fit s: processor time of "
    "the fit on one thread; "
    "frame ms: processor time from a depth frame with its people to the part of every pixel, responses included; "
    "MB: the fitted model, pickled; accuracy: share of all pixels; per class: mean over parts of the share of their "
    "pixels, with the 95 % interval over frames"
)  # fmt: skip


def ranked(records: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the records with the best mean per-class accuracy first."""
    return sorted(records, key=lambda record: -(result_of(record)["mean_class_accuracy"]["value"] or 0.0))


def result_of(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the chosen fit of a record."""
    fit: Mapping[str, Any] = record["fits"][record["chosen"]]
    return fit


def text_rows(records: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return the rows under `TITLES`, the best first."""
    rows: list[tuple[str, ...]] = []
    for record in ranked(records):
        fit = result_of(record)
        mean = fit["mean_class_accuracy"]
        rows.append((
            record["name"],
            f"{counted(record['size'], record['unit'])}",
            f"{fit['fit_seconds']:.1f}" + (OVER if record["is_over"] else ""),
            f"{1e3 * fit['predict_seconds']:.1f}",
            f"{fit['bytes'] / 1e6:.1f}",
            f"{fit['pixel_accuracy']['value']:.3f}",
            f"{mean['value']:.3f}",
            f"{mean['low']:.3f} to {mean['high']:.3f}",
        ))  # fmt: skip
    return rows


def about(settings: Mapping[str, Any]) -> str:
    """Return the common settings in one sentence."""
    spent = []
    if settings["seconds"] is not None:
        spent.append(f"{settings['seconds']:g} s of processor time for each fit")
    if settings["megabytes"] is not None:
        spent.append(f"at most {settings['megabytes']:g} MB for each model")
    if settings["rounds"] is not None:
        spent.append(f"size {settings['rounds']} for everybody")
    judges = "frames held out"
    if settings["test"] is not None:
        judges = "frames of " + (f"the bench's set {settings['bench']}" if settings["bench"] else "a test set")
    return (
        f"{settings['pixels']:,} pixels of {settings['train_frames']:,} frames, {settings['probes']:,} probe pairs, "
        f"seed {settings['seed']}, {' and '.join(spent)}; judged on all pixels of {settings['judging_frames']:,} "
        + judges
    )  # fmt: skip


def write_tables(folder: Path, records: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> list[Path]:
    """Write table.csv, table.md and table.json into a folder; returns their paths."""
    paths = [folder / f"table.{ending}" for ending in ("csv", "md", "json")]
    for path, text in zip(paths, (_csv(records, settings["parts"]), _markdown(records, settings)), strict=False):
        with replacing(path) as file:
            file.write(text.encode())
    write_json(paths[2], {"settings": settings, "learners": ranked(records)})
    return paths


def _csv(records: Sequence[Mapping[str, Any]], parts: Sequence[str]) -> str:
    out = io.StringIO()
    figures = ("pixel_accuracy", "mean_class_accuracy")
    bounds = [(name, key) for name in figures for key in ("value", "low", "high")]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([
        "learner", "family", "library", "size", "unit", "fit_seconds", "predict_seconds", "bytes", "is_over",
        *(name if key == "value" else f"{name}_{key}" for name, key in bounds), *parts,
    ])  # fmt: skip
    for record in ranked(records):
        fit = result_of(record)
        writer.writerow([
            record["name"], record["family"], record["library"], record["size"], record["unit"], fit["fit_seconds"],
            fit["predict_seconds"], fit["bytes"], record["is_over"], *(fit[name][key] for name, key in bounds),
            *fit["class_accuracies"],
        ])  # fmt: skip
    return out.getvalue()


def _markdown(records: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> str:
    rows = text_rows(records)
    rule = ["---", *["---:"] * (len(TITLES) - 1)]
    lines = ["| " + " | ".join(row) + " |" for row in (TITLES, rule, *rows)]
    over = f" {OVER}: over the budget, because one member alone is." if any(r["is_over"] for r in records) else ""
    return "\n".join([f"{about(settings)}.", "", *lines, "", f"{LEGEND}.{over}", ""])
