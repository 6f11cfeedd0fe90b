"""Time per person of the shipped models with their defaults, compared with the exact walk of every pixel.

    python benchmarks/model_speed.py [body31 body31-fast]

Each frame is labeled by each variant in turn, several times; the best processor time of each counts, so that a busy
machine does not matter. Joints are found after labeling.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from label_speed import Frames, Masks, frames_of

import depthforest as df

TURNS = 7
AIMS = {"kinect_v1@320x240": 0.6, "kinect_v1": 0.36}
"""Camera -> most of the exact walk's time that body31 may take."""


def fastest(*works: Callable[[], object]) -> list[float]:
    """Return the processor time of each work in milliseconds, the best of several turns."""
    seconds = [np.inf] * len(works)
    for _ in range(TURNS):
        for k, work in enumerate(works):
            start = time.thread_time()
            work()
            seconds[k] = min(seconds[k], time.thread_time() - start)
    return [1000 * one for one in seconds]


def times(forest: df.Forest, frames: Frames, masks: Masks) -> list[float]:
    """Return the mean milliseconds of labels, of exact labels and of joints."""
    each = []
    for frame, mask in zip(frames, masks, strict=True):
        labeling = forest.label(frame, mask, threads=1)
        each.append(
            fastest(
                lambda frame=frame, mask=mask: forest.label(frame, mask, threads=1),  # type: ignore[misc]
                lambda frame=frame, mask=mask: forest.label(frame, mask, exact=True, threads=1),  # type: ignore[misc]
                lambda frame=frame, labeling=labeling: df.find_joints(frame, labeling),  # type: ignore[misc]
            )
        )
    return [float(mean) for mean in np.mean(each, axis=0)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("models", nargs="*", default=["body31", "body31-fast"])
    names = parser.parse_args().models
    for camera, aim in AIMS.items():
        frames, masks = frames_of(camera)
        n_pixels = np.mean([np.count_nonzero(mask & (f.depth_mm > 0)) for f, mask in zip(frames, masks, strict=True)])
        print(f"{camera}, a person of {n_pixels:,.0f} pixels, one thread, ms:")
        for name in names:
            label, exact, joints = times(df.load(name), frames, masks)
            print(f"  {name:12} labels {label:5.2f}, exact {exact:5.2f}, joints {joints:.2f}")
            if name == "body31":
                print(f"aim: labels over the exact walk, {camera}: {label / exact:.2f}, at most {aim}")


if __name__ == "__main__":
    main()
