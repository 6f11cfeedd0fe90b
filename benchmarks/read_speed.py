"""The cost of `read_depth` and `shade` relative to the bare decoding of the same file.

Every time is the median of repeated runs in this process. The ratios are the result; the milliseconds depend on the
machine.
"""

from __future__ import annotations

import io
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

import depthforest as df
from depthforest.frames import write_depth
from depthforest.frames.drawing import shade
from synth import Config, Generator

N_REPEATS = 15


def median_ms(work: Callable[[], object]) -> float:
    """Return the median time of a call in milliseconds, after one to warm up."""
    work()
    times = []
    for _ in range(N_REPEATS):
        start = time.perf_counter()
        work()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def main() -> None:
    camera = df.Camera.preset("kinect_v1")
    sample = Generator(Config(camera="kinect_v1", n_bodies=1))[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "frame.png"
        write_depth(path, sample.depth_mm)
        content = path.read_bytes()
        bare = median_ms(lambda: np.asarray(Image.open(io.BytesIO(content))))
        print(f"640x480 16-bit PNG, bare decoding      {bare:7.2f} ms   1.00")
        for name, work in (
            ("read_depth", lambda: df.read_depth(path, camera)),
            ("Frame of an array", lambda: df.Frame(sample.depth_mm, camera)),
            ("Frame.from_array (units checked)", lambda: df.Frame.from_array(sample.depth_mm, camera)),
            ("Frame.points", sample.points),
            ("shade", lambda: shade(sample)),
        ):
            took = median_ms(work)
            print(f"{name:38s} {took:7.2f} ms {took / bare:6.2f}")


if __name__ == "__main__":
    main()
