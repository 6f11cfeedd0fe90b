"""The code of `ensembles.md`, run block by block, and the pictures of that page drawn from its results.

The page is the source: what is run and printed here is what stands there.
"""

from __future__ import annotations

import argparse
import contextlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.frames import LabeledFrame, drawing

PAGE = Path(__file__).resolve().with_suffix(".md")
SHOWN_FRAME = 42
"""Of the page's frames, one with a whole person who faces the camera."""

SHOWN_PAIRS = range(5)
"""Columns of the table that the picture shows: pairs of two probes, and of one probe and the pixel itself."""

MARGIN_PX = 60
"""Of the picture beside the person: room for the legend."""


def run_page() -> dict[str, Any]:
    """Run the page's code, print what it prints, and return the names it has made."""
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE):
        exec(block, names)
    return names


def draw_pairs(frame: LabeledFrame, probes: npt.NDArray[np.float32], path: Path) -> None:
    """Draw a pixel in the middle of a person, and where its pairs of probes look."""
    from matplotlib import pyplot

    rows, cols = np.nonzero(frame.people == 1)
    middle = np.argmin((rows - rows.mean()) ** 2 + (cols - cols.mean()) ** 2)
    row, col = rows[middle], cols[middle]
    pixels_per_m = 1000 * frame.camera.fx / frame.depth_mm[row, col]
    figure, axes = pyplot.subplots(figsize=(6.4, 4.8), layout="constrained")
    axes.imshow(drawing.shade(frame))
    for column in SHOWN_PAIRS:
        u_x, u_y, v_x, v_y = pixels_per_m * probes[column]
        axes.plot([col + u_x, col + v_x], [row + u_y, row + v_y], "-o", label=f"column {column}")
    axes.plot(col, row, "w*", markersize=14, markeredgecolor="black", label="the pixel")
    axes.legend(loc="upper left")
    axes.set(xlim=(cols.min() - MARGIN_PX, cols.max() + MARGIN_PX), ylim=(rows.max() + 9, rows.min() - 9))
    axes.set_axis_off()
    figure.savefig(path, dpi=100)


def draw_scores(scores: dict[str, float], by_columns: dict[int, float], path: Path) -> None:
    """Draw the scores of the learners as bars, and those of forests by their number of columns."""
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    bars = left.barh(list(scores), list(scores.values()), color="tab:blue")
    left.bar_label(bars, fmt="%.2f", padding=3)
    left.invert_yaxis()
    left.set(xlabel="pixels of new people that are right", xlim=(0, 0.75))
    right.plot(list(by_columns), list(by_columns.values()), "-o")
    right.set_xscale("log", base=2)
    right.set_xticks(list(by_columns), [str(n) for n in by_columns])
    right.set(xlabel="columns that a forest of 50 trees has", ylabel="right")
    right.grid(alpha=0.3)
    figure.savefig(path, dpi=100)


def main() -> None:
    """Run the page and draw its pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="for the pictures, and what the page's code writes")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.chdir(folder):  # what the page's code writes
        names = run_page()
    draw_pairs(names["frames"][SHOWN_FRAME % len(names["frames"])], names["probes"], folder / "ensembles_probes.png")
    draw_scores(names["scores"], names["by_columns"], folder / "ensembles_scores.png")
    print(f"look at {folder / 'ensembles_probes.png'} and {folder / 'ensembles_scores.png'}")


if __name__ == "__main__":
    main()
