"""Compare sparse labeling, the default, with the exact walk of every pixel: scores on the bench and on real marks.

    python tools/sparse_figures.py [--model NAME] [--mocap BVH] [--sets mocap,cut,...] [--limit N] [--marks FILE FRAMES]

Prints a row for each set: mean per-class accuracy of the parts and of the regions, mean average precision of the joints
(fast joints in both cases), each as exact, sparse and their difference in points, and the share of pixels that walked.
The last row is the headline set at 640 x 480.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import depthforest as df
from depthforest.base import map_in_order
from depthforest.evaluation.bench import PARTS, SETS, BenchFrames, BenchSet
from depthforest.evaluation.marks import read_marks, score_marks
from depthforest.evaluation.options import JudgeOptions
from depthforest.joints import find_joints

LARGE = replace(SETS["mocap"], name="mocap, 640 x 480", changes={"camera": "kinect_v1"})


def figures(forest: df.Forest, frames: Sequence[df.LabeledFrame], exact: bool) -> list[float]:
    """Return the parts' and the regions' mean accuracy and the joints' mean average precision, in percent."""
    judged = df.evaluate(forest, frames, exact=exact, joints=find_joints, timed_frames=0)
    values = [next(one.total for one in judged.levels if one.level.key == key) for key in ("parts", "regions")]
    assert judged.joints is not None
    return [100 * float(v) for v in (*(one.mean_class_accuracy for one in values), judged.joints.mean_precision())]


def share_walked(forest: df.Forest, frames: Sequence[df.LabeledFrame]) -> float:
    """Return the share of people's pixels that walk."""
    n_walked = n = 0
    for frame in frames:
        for person in np.unique(frame.people[frame.people > 0]):
            walk = forest.label(frame, frame.people == person)._walk
            assert walk.leaves is not None
            n_walked += len(walk.leaves)
            n += walk.n
    return n_walked / n


def row(forest: df.Forest, bench: BenchSet, mocap: Path | None, limit: int | None) -> None:
    """Print the figures of one set."""
    source = BenchFrames(bench, mocap, limit)
    frames = list(map_in_order(source.__getitem__, range(len(source))))
    exact, sparse = (figures(forest, frames, is_exact) for is_exact in (True, False))
    cells = [f"{a:6.2f} {b:6.2f} {b - a:+5.2f}" for a, b in zip(exact, sparse, strict=True)]
    print(f"{bench.name:22} {'   '.join(cells)}   {100 * share_walked(forest, frames[:50]):4.1f} %", flush=True)


def mark_row(forest: df.Forest, marks_path: Path, folder: Path) -> None:
    """Print how many marked points of real frames each variant labels correctly."""
    marks = read_marks(marks_path)
    frames = {name: df.read_depth(folder / f"{name}.png", camera="kinect_v1") for name in marks}
    counts = []
    for is_exact in (True, False):
        judged = score_marks(forest, marks, frames, JudgeOptions(exact=is_exact, joints=find_joints))
        counts.append(f"{np.trace(judged.confusion)} of {judged.n_pixels} points")
    print("real marks, exact and sparse:", *counts)


def main() -> None:
    """Print a row for each set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--model", default="body31")
    parser.add_argument("--mocap", type=Path, help="folder of the CMU clips; omitted: sets without clips")
    parser.add_argument("--sets", help="names with commas; omitted: all")
    parser.add_argument("--limit", type=int, help="frames of each set")
    parser.add_argument("--marks", type=Path, nargs=2, help="a marks file, and the folder of its frames")
    options: Any = parser.parse_args()
    forest = df.load(options.model)
    sets = [*(one for one in SETS.values() if PARTS in one.judges), LARGE]
    if options.sets:
        sets = [one for one in sets if one.name in options.sets.split(",")]
    print(f"{'set':22} {'parts: exact, sparse':22} {'regions':22} {'joints':22} walked")
    for bench in sets:
        if options.mocap is not None or not bench.needs_clips:
            row(forest, bench, options.mocap, options.limit)
    if options.marks:
        mark_row(forest, *options.marks)


if __name__ == "__main__":
    main()
