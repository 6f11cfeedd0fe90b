"""Time the sensor models: milliseconds per frame on one core, at two sizes, and the ratio to the ideal sensor.

Run `python benchmarks/sensor_speed.py [REPEATS]`; every model is compiled before it is timed.
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np

from depthforest.frames import Camera
from synth.scene import Plane, Sphere, cast
from synth.sensors import sense
from synth.sensors.devices import SENSORS

SIZES = ("320x240", "640x480")
NAMES = ("ideal", "kinect_v1", "kinect_v1_registered", "tof", "stereo")


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    print(f"median and fastest of {repeats} frames; a person-sized row of balls on a floor before a wall")
    for size in SIZES:
        camera = Camera.preset(f"kinect_v1@{size}")
        balls = [Sphere((0.1 * i - 0.3, 0.25 * i - 0.7, 2.0), 0.2) for i in range(7)]
        room = [Plane((0.0, 0.0, 3.8), (0.0, 0.0, 1.0)), Plane((0.0, 1.0, 0.0), (0.0, 1.0, 0.0))]
        depth, solid = cast(camera, [*balls, *room])
        depth32 = depth.astype(np.float32)
        people = (solid < len(balls)).astype(np.uint8)
        parts = np.where(people > 0, solid, 255).astype(np.uint8)
        times: dict[str, list[float]] = {}
        for name in NAMES:
            rng = np.random.default_rng(1)
            sense(depth32, parts, people, camera, SENSORS[name], rng)
            laps = []
            for _ in range(repeats):
                start = time.perf_counter()
                sense(depth32, parts, people, camera, SENSORS[name], rng)
                laps.append(time.perf_counter() - start)
            times[name] = laps
        for name in NAMES:
            median, fastest = 1e3 * statistics.median(times[name]), 1e3 * min(times[name])
            ratio = fastest / (1e3 * min(times["ideal"]))
            print(f"{size}  {name:22s} {median:7.2f} ms, fastest {fastest:6.2f} ms, {ratio:5.1f} x ideal")


if __name__ == "__main__":
    main()
