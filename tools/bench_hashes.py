"""Make the test sets of the bench and commit their hashes: `depthforest/evaluation/bench.json`.

Run `python tools/bench_hashes.py --mocap CLIPS [--sheets FOLDER] [NAME ...]`. A set with a committed hash of the
current version is only compared; to change its frames, raise `BENCH_VERSION` first. With `--sheets`, also writes a
contact sheet of each set, and prints statistics of its people.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from depthforest.base import make_folder, map_in_order, replacing
from depthforest.cli.terminal import progress_bar
from depthforest.evaluation import bench
from depthforest.evaluation.bench import BenchFrames
from depthforest.evaluation.views import PersonView
from depthforest.frames import LabeledFrame, drawing

SHOWN = 40
"""Frames on a contact sheet."""


def main() -> int:
    """Make the sets and return the exit code: 1 if one differs from what is committed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["all"], help="sets; omitted: all")
    parser.add_argument("--mocap", help="folder of the CMU clips")
    parser.add_argument("--sheets", type=Path, help="folder for a contact sheet of each set")
    parser.add_argument("--threads", type=int)
    options: Any = parser.parse_args()
    known = bench.committed_hashes()
    n_other = 0
    for name in bench.chosen_names(options.names):
        frames = bench.open_bench(name, options.mocap)
        made = make(frames, options.threads)
        if options.sheets is not None:
            show(options.sheets, frames, made)
        assert frames.sha256 is not None
        if known.setdefault(name, frames.sha256) != frames.sha256:
            print(f"{name}: {frames.sha256}, but {known[name]} is committed; raise VERSION if that is meant")
            n_other += 1
            continue
        print(f"{name}: {frames.sha256}", flush=True)
        write(known)
    return 1 if n_other else 0


def make(frames: BenchFrames, threads: int | None) -> list[tuple[LabeledFrame | None, list[PersonView]]]:
    """Make all frames of a set, and return the first of them and the people of each."""

    def look(index: int) -> tuple[LabeledFrame | None, list[PersonView]]:
        frame = frames[index]
        people = [p for p in np.unique(frame.people).tolist() if p]
        return frame if index < SHOWN else None, [PersonView.of(frame, index, p, frame.people == p) for p in people]

    made = []
    with progress_bar(len(frames)) as advance:
        for found in map_in_order(look, range(len(frames)), threads=threads):
            made.append(found)
            advance(1)
    return made


def show(folder: Path, frames: BenchFrames, made: list[tuple[LabeledFrame | None, list[PersonView]]]) -> None:
    """Write a contact sheet, and print distances, headings and cuts of the people."""
    make_folder(folder)
    cells = [drawing.overlay(frame, frame.parts, frame.part_set) for frame, _ in made if frame is not None]
    drawing.write_picture(folder / f"{frames.bench.name}.png", drawing.contact_sheet(cells, columns=8, cell_width=240))
    views = [view for _, found in made for view in found]
    if not views:
        print(f"{frames.bench.name}: {len(made)} frames without anybody")
        return
    distances = np.percentile([v.distance_m for v in views], (0, 5, 50, 95, 100))
    yaws = np.abs([v.yaw_deg for v in views])
    turned = [float(np.mean((yaws >= low) & (yaws < low + 45))) for low in (0, 45, 90, 135)]
    print(
        f"{frames.bench.name}: {len(made)} frames, {len(views)} people; "
        f"distance {' '.join(f'{d:.2f}' for d in distances)} m; "
        f"cut {np.mean([v.is_cut for v in views]):.0%}; turned by 0, 45, 90, 135 degrees and more "
        f"{' '.join(f'{t:.0%}' for t in turned)}"
    )


def write(known: dict[str, str]) -> None:
    """Write the committed file, sets in order."""
    content = {"version": bench.BENCH_VERSION, "sha256": {n: known[n] for n in bench.SETS if n in known}}
    with replacing(bench.HASHES) as file:
        file.write((json.dumps(content, indent=1) + "\n").encode())


if __name__ == "__main__":
    sys.exit(main())
