"""How long shipped models take for a person, as they ask to be used, in turns: which is faster, and how much.

    python benchmarks/model_speed.py [body31 body31-fast]

Each frame is labeled by one model after the other, several times; the best processor time of each counts, so that
waiting for a busy machine does not.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from label_speed import frames_of

import depthforest as df

TURNS = 7
CAMERAS = ("kinect_v1@320x240", "kinect_v1")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("models", nargs="*", default=["body31", "body31-fast"])
    names = parser.parse_args().models
    forests = [df.load(name) for name in names]
    for camera in CAMERAS:
        frames, masks = frames_of(camera)
        seconds = np.full((len(forests), len(frames)), np.inf)
        for _ in range(TURNS):
            for k, (frame, mask) in enumerate(zip(frames, masks, strict=True)):
                for i, forest in enumerate(forests):
                    start = time.thread_time()
                    forest.label(frame, mask, threads=1)
                    seconds[i, k] = min(seconds[i, k], time.thread_time() - start)
        means = seconds.mean(axis=1)
        n_pixels = np.mean([np.count_nonzero(mask & (f.depth_mm > 0)) for f, mask in zip(frames, masks, strict=True)])
        print(f"{camera}, a person of {n_pixels:,.0f} pixels, one thread:")
        for name, mean in zip(names, means, strict=True):
            print(f"  {name:12} {1000 * mean:5.2f} ms, {means[0] / mean:.2f} times as fast as {names[0]}")


if __name__ == "__main__":
    main()
