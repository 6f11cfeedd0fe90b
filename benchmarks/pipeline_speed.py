"""Time the whole pipeline, from a frame of a furnished room to the joints of its people: frames per second by stage.

Run `python benchmarks/pipeline_speed.py [MODEL]`. Frames of 640 x 480 and 320 x 240 with one person, Kinect v1 noise.
Each stage is timed alone on one thread, then all of them on one and two threads, with frames in parallel. Everything is
compiled before it is timed; the variants take turns, and the best turn of each counts.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from label_speed import TURNS, best

import depthforest as df
from depthforest.base import map_in_order
from synth import Config, Generator

N_FRAMES = 16
AIMS = {"kinect_v1": 140, "kinect_v1@320x240": 350}
"""Camera -> frames per second on two threads, without a background, mirrored."""

Mask = npt.NDArray[np.bool_]


def joints_of(forest: df.Forest, frame: df.Frame, background: df.Background | None, mirror: bool) -> list[Any]:
    """Return the joints of everyone in a frame."""
    people = df.find_people(frame, background)
    return [df.find_joints(frame, forest.label(frame, mask, mirror=mirror, threads=1)) for mask in people]


def report(forest: df.Forest, camera: str) -> None:
    """Print the times of one camera."""
    generator = Generator(Config(camera=camera, n_bodies=6, people_shares=(1.0,), near_share=0.0), 2, n=N_FRAMES)
    frames: Sequence[df.Frame] = list(generator)
    rooms = [df.Background.learn([generator.empty_room(i, take) for take in range(3)]) for i in range(N_FRAMES)]
    nothing = [None] * N_FRAMES
    found = [df.find_people(frame, room) for frame, room in zip(frames, rooms, strict=True)]
    masks = [people[0] if len(people) else frame.depth_mm > 0 for frame, people in zip(frames, found, strict=True)]
    pairs = list(zip(frames, masks, strict=True))
    labelings = [forest.label(frame, mask) for frame, mask in pairs]

    def people(backgrounds: Sequence[df.Background | None]) -> Callable[[], object]:
        return lambda: [df.find_people(*pair) for pair in zip(frames, backgrounds, strict=True)]

    def label(mirror: bool) -> Callable[[], object]:
        return lambda: [forest.label(*pair, mirror=mirror, threads=1) for pair in pairs]

    def whole(backgrounds: Sequence[df.Background | None], mirror: bool, threads: int) -> Callable[[], object]:
        def work() -> None:
            both = zip(frames, backgrounds, strict=True)
            for _ in map_in_order(lambda pair: joints_of(forest, *pair, mirror), both, threads=threads):
                pass

        return work

    works = {
        "people, without a background": people(nothing),
        "people, with one": people(rooms),
        "labels, one walk": label(False),
        "labels, mirrored": label(True),
        "joints": lambda: [df.find_joints(*pair) for pair in zip(frames, labelings, strict=True)],
    }
    for threads in (1, 2):
        for name, backgrounds in (("without a background", nothing), ("with one", rooms)):
            for mirror in (False, True):
                walks = "mirrored" if mirror else "one walk"
                title = f"all, {name}, {walks}, {threads} thread{'s' if threads > 1 else ''}"
                works[title] = whole(backgrounds, mirror, threads)
    n_pixels = np.mean([mask.sum() for mask in masks])
    print(f"{camera}, one person of {n_pixels:,.0f} pixels in a furnished room; best of {TURNS} turns")
    for name, seconds in zip(works, best(*works.values()), strict=True):
        each = seconds / N_FRAMES
        print(f"  {1e3 * each:6.2f} ms  {1 / each:6.1f} frames/s  {name}")
        if name == "all, without a background, mirrored, 2 threads":
            print(f"aim: frame in, joints out, {camera}, 2 threads: {1 / each:.0f} frames/s, at least {AIMS[camera]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("model", nargs="?", type=Path)
    options: Any = parser.parse_args()
    forest = df.load(options.model)
    for camera in AIMS:
        report(forest, camera)


if __name__ == "__main__":
    main()
