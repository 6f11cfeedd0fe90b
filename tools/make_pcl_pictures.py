"""Make the picture of docs/PCL.md: PCL's trees on rendered people and, if available, on real frames.

    python tools/make_pcl_pictures.py TREE TREE TREE [--real FOLDER]

Trees are PCL's text files; FOLDER holds 16-bit PNG of a Kinect v1 with the background removed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import depthforest as df
from depthforest.forest import import_pcl
from depthforest.frames import BODY31_TO_PCL25, NO_PART, Picture, drawing
from synth import Config, Generator

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "pictures" / "pcl_people.png"
SCENES = Config(
    camera="kinect_v1", n_bodies=12, people_shares=(1.0,), near_share=0.0, far_distance=(1.8, 2.6), clothed_share=1.0,
    mocap_share=0.0, blocked_share=0.0, yaw_front_share=1.0,
)  # fmt: skip
SEED, CHOSEN = 5, (1, 4, 7)
CELL = 260


def person_only(frame: df.Frame, mask: np.ndarray) -> df.Frame:
    """Return a frame without its background."""
    return df.Frame(np.where(mask, frame.depth_mm, np.uint16(0)), frame.camera)


def main() -> None:
    """Label and draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("trees", type=Path, nargs="+")
    parser.add_argument("--real", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=PICTURE)
    options = parser.parse_args()
    forest = import_pcl(options.trees)
    generator = Generator(SCENES, SEED, n=max(CHOSEN) + 1)
    cells: list[Picture] = []
    names: list[str] = []
    for i in CHOSEN:
        frame = generator[i]
        mask = frame.people == 1
        alone = person_only(frame, mask)
        truth = np.where(mask, BODY31_TO_PCL25.apply(frame.parts), np.uint8(NO_PART))
        cells += [
            drawing.overlay(alone, truth, forest.parts),
            drawing.overlay(alone, forest.label(frame, mask).parts, forest.parts),
        ]
        names += ["rendered: truth", "PCL's trees"]
    for path in sorted(options.real.glob("*.png")) if options.real else []:
        real = df.read_depth(path, camera="kinect_v1")
        cells.append(drawing.overlay(real, forest.label(real).parts, forest.parts))
        names.append("a real frame")
    drawing.write_picture(options.output, drawing.contact_sheet(cells, titles=names, cell_width=CELL, columns=6))
    print(f"look at {options.output}")


if __name__ == "__main__":
    main()
