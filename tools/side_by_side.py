"""Label frames by several models and draw the answers side by side, all in the colors of the 15 regions.

    python tools/side_by_side.py frames/ --models body31 pcl.safetensors --background-removed -o sheet.png
    python tools/side_by_side.py frames/ --models body31 pcl.safetensors --marks marks.json -o sheet.png

A row is a frame: its depth, then the answer of each model with the mirrored walk. People are detected, or all readings
are one person (--background-removed), or each pixel belongs to the person with the nearest mark (--marks). A marked
point is a white square if the answer is correct and a red cross if it is wrong; a band across a joint counts for either
neighbor.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from depthforest.base import DepthForestError, UsageError
from depthforest.evaluation.marks import FrameMarks, MarkedFrames, read_marks, split_people
from depthforest.evaluation.options import JudgeOptions
from depthforest.evaluation.partmaps import comparable
from depthforest.evaluation.report.examples import Shot, cut, draw_marks, people_box
from depthforest.forest import Forest, load
from depthforest.frames import REGIONS15, CameraLike, Frame, PartSet, Picture, drawing
from depthforest.io import read_frames
from depthforest.people import find_people
from depthforest.pipeline import label_people
from depthforest.pipeline.merging import all_readings


def in_region_colors(forest: Forest) -> Forest:
    """Return the same forest with each part in the color of the region that it lies in most."""
    own = forest.part_set
    colors = tuple(REGIONS15.colors[region] for region in comparable(own, REGIONS15)[0].rows)
    painted = PartSet(own.names, colors, own.mirror)
    context = None if forest.context is None else replace(forest.context, part_set=painted)
    return replace(forest, part_set=painted, context=context)


def marked_rows(
    models: Mapping[str, Forest], marks: Mapping[str, FrameMarks], frames: Mapping[str, Frame], *, mirror: bool
) -> list[list[Shot]]:
    """Return a row for each marked frame: the depth, and each model's answers with the points."""
    examples = draw_marks(list(models), list(models.values()), marks, frames, JudgeOptions(mirror=mirror, joints=False))
    rows = []
    for example, (name, own) in zip(examples, marks.items(), strict=True):
        frame = frames[name]
        depth = cut(drawing.shade(frame), people_box(split_people(frame, own) > 0))
        rows.append([Shot(name, depth), *example.shots])
    return rows


def found_rows(
    models: Mapping[str, Forest],
    paths: Sequence[Path],
    camera: CameraLike | None,
    *,
    mirror: bool,
    is_background_removed: bool,
) -> list[list[Shot]]:
    """Return a row for each frame of files and folders: the depth, and each model's answers."""
    rows = []
    for name, frame in read_frames(paths, camera).named():
        if isinstance(frame, DepthForestError):
            raise frame
        people = all_readings(frame) if is_background_removed else find_people(frame)
        box = people_box(people.map > 0)
        shaded = drawing.shade(frame)
        row = [Shot(name.stem, cut(shaded, box))]
        for title, forest in models.items():
            parts = label_people(forest, frame, people, mirror=mirror).parts
            row.append(Shot(title, cut(drawing.overlay(frame, parts, forest.part_set, shaded=shaded), box)))
        rows.append(row)
    return rows


def sheet(rows: Sequence[Sequence[Shot]]) -> Picture:
    """Return all rows, one below the other, over a legend of the regions."""
    shots = [shot for row in rows for shot in row]
    pictures = drawing.contact_sheet(
        [shot.picture for shot in shots], columns=len(rows[0]), titles=[shot.caption for shot in shots]
    )
    names = drawing.legend(REGIONS15, columns=5)
    both = np.zeros((len(pictures) + len(names), max(pictures.shape[1], names.shape[1]), 3), dtype=np.uint8)
    both[: len(pictures), : pictures.shape[1]] = pictures
    both[len(pictures) :, : names.shape[1]] = names
    return both


def main(arguments: Sequence[str] | None = None) -> None:
    """Label and draw."""
    about, _, more = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=about, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("frames", type=Path, nargs="+", help="depth frames, or folders of them")
    parser.add_argument("--models", nargs="+", required=True, help="names of shipped models, or model files")
    parser.add_argument("-o", "--output", type=Path, required=True, help="PNG file")
    parser.add_argument("--camera", help="preset or numbers; omitted: by the size of the frames")
    parser.add_argument("--marks", type=Path, help="marks of frames of one folder, background removed")
    parser.add_argument("--background-removed", action="store_true", help="all readings are one person")
    parser.add_argument("--no-mirror", action="store_true", help="one walk only")
    given = parser.parse_args(arguments)
    names = [Path(model).stem for model in given.models]
    if len(set(names)) < len(names):
        raise UsageError(f"two models have the same name: {', '.join(names)}; rename a file")
    models = {name: in_region_colors(load(model)) for name, model in zip(names, given.models, strict=True)}
    if given.marks is None:
        rows = found_rows(
            models, given.frames, given.camera, mirror=not given.no_mirror,
            is_background_removed=given.background_removed,
        )  # fmt: skip
    elif len(given.frames) == 1:
        shown = MarkedFrames(given.frames[0], given.camera)
        rows = marked_rows(models, read_marks(given.marks), shown, mirror=not given.no_mirror)
    else:
        raise UsageError(f"marks are of the frames of one folder; {len(given.frames)} were given")
    drawing.write_picture(given.output, sheet(rows))
    print(f"look at {given.output}")


if __name__ == "__main__":
    main()
