"""Time joints and labeling: milliseconds per person, at 640 x 480 and 320 x 240, on one thread.

Run `python benchmarks/joint_speed.py [MODEL...]`; without a model, the shipped one. Everything is compiled before it is
timed; labeling and joints take turns, and the best turn of each counts. Joints may cost at most half of labeling.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from label_speed import best

import depthforest as df
from depthforest.base import models_folder
from depthforest.forest.loading import DEFAULT_MODEL
from depthforest.joints import find_joints
from depthforest.joints.finding import EXACT, FAST, FAST_PIXELS, finder_of, seek_modes, surface
from synth import Config, Generator

N_FRAMES = 12


def report(forest: df.Forest, camera: str) -> None:
    """Print the times of one camera."""
    config = Config(camera=camera, n_bodies=6, people_shares=(1.0,), near_share=0.0, far_distance=(2.0, 3.0))
    frames = list(Generator(config, seed=2, n=N_FRAMES))
    masks = [frame.people == 1 for frame in frames]
    n_pixels = np.mean([np.count_nonzero(f.depth_mm[m]) for f, m in zip(frames, masks, strict=True)])
    print(f"  {camera}: one person of {n_pixels:,.0f} pixels; ms a person")
    finder = finder_of(forest)
    for mirror in (False, True):
        labelings = [forest.label(f, m, mirror=mirror, threads=1) for f, m in zip(frames, masks, strict=True)]
        pairs = list(zip(frames, labelings, strict=True))
        samples = [labeling.sample(FAST_PIXELS) for labeling in labelings]
        surfaces = [surface(frame, sample) for frame, sample in zip(frames, samples, strict=True)]
        modes = [seek_modes(*each, finder.clusters, FAST) for each in surfaces]
        label, joints, sample, shift, rest = best(
            lambda mirror=mirror: [  # type: ignore[misc]
                forest.label(f, m, mirror=mirror, threads=1) for f, m in zip(frames, masks, strict=True)
            ],
            lambda pairs=pairs: [find_joints(*pair) for pair in pairs],  # type: ignore[misc]
            lambda labelings=labelings: [each.sample(FAST_PIXELS) for each in labelings],  # type: ignore[misc]
            lambda surfaces=surfaces: [seek_modes(a, b, c, finder.clusters, FAST) for a, b, c in surfaces],  # type: ignore[misc]
            lambda modes=modes: [finder.joints(*each) for each in modes],  # type: ignore[misc]
        )
        ms = [1000 * each / N_FRAMES for each in (label, joints, sample, shift, rest)]
        print(
            f"    {'mirrored' if mirror else 'one walk'}: labeling {ms[0]:.2f}, joints {ms[1]:.2f} "
            f"({joints / label:.0%} of labeling): pixels {ms[2]:.2f}, modes {ms[3]:.2f}, sets {ms[4]:.2f}"
        )
    all_pixels = [surface(f, each.sample()) for f, each in zip(frames[:3], labelings[:3], strict=True)]
    start = time.perf_counter()
    for each in all_pixels:
        seek_modes(*each, finder.clusters, EXACT)
    print(f"    exact: modes {1000 * (time.perf_counter() - start) / len(all_pixels):.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("models", nargs="*", type=Path)
    options: Any = parser.parse_args()
    for path in options.models or [models_folder() / f"{DEFAULT_MODEL}.safetensors"]:
        forest = df.load(path)
        print(f"{path.stem}: {forest}")
        for camera in ("kinect_v1@320x240", "kinect_v1"):
            report(forest, camera)


if __name__ == "__main__":
    main()
