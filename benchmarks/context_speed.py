"""How much longer labels take with a context stage: the same model with it and without, in one run, in turns.

    python benchmarks/context_speed.py [MODEL]

The time is that of the labeling thread, so that a busy machine changes the ratio little. The median of the rounds is
printed, with the lowest and the highest.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

import numpy as np
import numpy.typing as npt

import depthforest as df
import synth

ROUNDS, FRAMES = 15, 12


def seconds(forest: df.Forest, frames: Sequence[df.LabeledFrame], masks: Sequence[npt.NDArray[np.bool_]]) -> float:
    """Return the thread's time of labeling all frames."""
    began = time.thread_time()
    for frame, mask in zip(frames, masks, strict=True):
        forest.label(frame, mask, threads=1)
    return time.thread_time() - began


def main() -> None:
    """Print a line for each resolution."""
    forest = df.load(sys.argv[1] if len(sys.argv) > 1 else None)
    if forest.context is None:
        raise SystemExit("the model has no context stage")
    alone = replace(forest, context=None)
    for camera in ("kinect_v1@160x120", "kinect_v1@320x240", "kinect_v1"):
        config = synth.Config(camera=camera, n_bodies=8, n_poses=64, near_share=0, people_shares=(1.0,))
        frames = list(synth.Generator(config, seed=5, n=FRAMES))
        masks = [frame.people == 1 for frame in frames]
        seconds(alone, frames, masks), seconds(forest, frames, masks)
        times = [(seconds(alone, frames, masks), seconds(forest, frames, masks)) for _ in range(ROUNDS)]
        ratios = sorted(both / one for one, both in times)
        before, after = (median(t[k] for t in times) / FRAMES * 1000 for k in range(2))
        pixels = np.mean([mask.sum() for mask in masks])
        print(
            f"{camera}, {pixels:.0f} pixels: {before:.2f} ms without, {after:.2f} ms with context, "
            f"ratio {median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        )


if __name__ == "__main__":
    main()
