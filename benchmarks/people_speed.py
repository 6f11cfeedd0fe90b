"""Time finding people: milliseconds a frame by stage, without a background, with one, and over a recording.

Run `python benchmarks/people_speed.py`. Furnished rooms with one person each; everything is compiled before it is
timed, and the median of all frames counts. One thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from statistics import median

from depthforest.frames import Frame
from depthforest.people import Background, PeopleTracker, find_people
from depthforest.people.bodies import MAX_ROOM_PLANES, find_bodies
from depthforest.people.grid import DepthGrid
from depthforest.people.planes import ROOM_AREA, find_planes
from synth import Config, Generator

TURNS = 5


def milliseconds(works: list[Callable[[], object]]) -> float:
    """Return the median over works of the shortest of some turns, in milliseconds."""
    for work in works:
        work()
    times = []
    for work in works:
        laps = []
        for _ in range(TURNS):
            start = time.perf_counter()
            work()
            laps.append(time.perf_counter() - start)
        times.append(min(laps))
    return 1000 * median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=12, help="frames of each size")
    options = parser.parse_args()
    for camera in ("kinect_v1@320x240", "kinect_v1"):
        config = Config(camera=camera, n_bodies=6, people_shares=(1.0,), furnished_share=1.0, furniture=(3, 5))
        generator = Generator(config, seed=5, n=options.n)
        frames: list[Frame] = [generator[i] for i in range(options.n)]
        backgrounds = [Background(generator.empty_room(i)) for i in range(options.n)]
        grids = [DepthGrid.of(frame) for frame in frames]
        tracker = PeopleTracker()
        pairs = list(zip(frames, backgrounds, strict=True))
        stages: dict[str, list[Callable[[], object]]] = {
            "grid and normals": [partial(DepthGrid.of, frame) for frame in frames],
            "limits of the room": [
                partial(find_planes, grid, n=MAX_ROOM_PLANES, least_area=ROOM_AREA) for grid in grids
            ],
            "limits, faces, bodies": [partial(find_bodies, grid) for grid in grids],
            "find_people": [partial(find_people, frame) for frame in frames],
            "compare with background": [partial(background.compare, frame) for frame, background in pairs],
            "find_people with background": [partial(find_people, frame, background) for frame, background in pairs],
            "add to background": [partial(background.add, frame) for frame, background in pairs],
            "PeopleTracker": [partial(tracker.add, frame) for frame in frames],
        }
        for name, works in stages.items():
            print(f"{camera:18} {name:28} {milliseconds(works):6.2f} ms", flush=True)


if __name__ == "__main__":
    main()
