"""Time finding people: milliseconds per frame by stage, with and without a background, at 320 x 240 and 640 x 480.

Run `python benchmarks/people_speed.py`. Furnished rooms with one person each; everything is compiled before it is
timed. Stages take turns; the best turn of each counts for every frame, and the mean over frames is printed, in
processor time of one thread. Indented stages are part of the one above. The last lines are the totals.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from depthforest.frames import Frame
from depthforest.people import Background, PeopleTracker, find_people
from depthforest.people.background import SOMEBODY
from depthforest.people.bodies import find_visitors
from depthforest.people.grid import DepthGrid
from depthforest.people.judging.candidates import find_candidates
from depthforest.people.judging.looks import coarse_frame, look_at_cells
from depthforest.people.judging.model import body_forest, load_person_model
from depthforest.people.judging.pieces import put_right
from depthforest.people.outlines import outline_people
from depthforest.people.room import LEARNED_EVERY, SURE_STEPS
from depthforest.people.survey import survey
from synth import Config, Generator, Recording

TURNS = 9
N_TRACKED = 30
"""Number of frames of a recording for timing a tracker."""

TOTAL = "find_people"
CAMERAS = {"320 x 240": "kinect_v1@320x240", "640 x 480": "kinect_v1"}
AIMS_MS = {"320 x 240": 2.5, "640 x 480": 5.0}
"""Of `find_people` without a background, one thread."""

Works = dict[str, Callable[[], object]]


def milliseconds(frames: list[Works]) -> dict[str, float]:
    """Return the time of each stage: the mean over frames of the shortest of some turns."""
    names = list(frames[0])
    best = np.full((len(frames), len(names)), np.inf)
    for turn in range(TURNS + 1):
        for i, works in enumerate(frames):
            for k, name in enumerate(names):
                start = time.thread_time()
                works[name]()
                if turn:  # the first compiles
                    best[i, k] = min(best[i, k], time.thread_time() - start)
    return dict(zip(names, (1000 * best.mean(axis=0)).tolist(), strict=True))


def without_background(frame: Frame) -> Works:
    """Return the stages for a frame."""
    grid, model = DepthGrid.of(frame), load_person_model()
    room, coarse, body = survey(grid), coarse_frame(grid), body_forest(model.body)
    candidates = find_candidates(grid, model.scene, body, model.least_person)
    cells = candidates.cells_of([0] if candidates.places else [])
    is_open, person = candidates.is_open, candidates.person
    assert is_open is not None
    assert person is not None
    return {
        "grid and normals": partial(DepthGrid.of, frame),
        "candidates": partial(find_candidates, grid, model.scene, body, model.least_person),
        "  planes and faces": partial(survey, grid),
        "  scene forest": partial(look_at_cells, model.scene, coarse, is_open),
        "judge": partial(model.judge.sums, candidates.columns),
        "pieces": lambda: put_right(grid, person, is_open, cells.copy()),
        "outlines": partial(outline_people, frame.depth_mm, grid, cells, room.owner, room.planes),
        TOTAL: partial(find_people, frame),
    }


def with_background(frame: Frame, background: Background) -> Works:
    """Return the stages for a frame in front of a known background."""
    compared = background.compare(frame)
    is_kept = compared == SOMEBODY
    grid = DepthGrid.of(frame, is_kept=is_kept, noise=background.noise)
    cells = find_visitors(grid, background.up)
    return {
        "compare": partial(background.compare, frame),
        "grid and normals": partial(DepthGrid.of, frame, is_kept=is_kept, noise=background.noise),
        "bodies": partial(find_visitors, grid, background.up),
        "outlines": partial(outline_people, frame.depth_mm, grid, cells, allowed=compared),
        TOTAL: partial(find_people, frame, background),
    }


def recording(camera: str) -> dict[str, float]:
    """Return the mean time of a tracker's frames, without learning the room and with it, and of finding alone."""
    config = Config(camera=camera, n_bodies=2, people_shares=(1.0,), furnished_share=1.0, furniture=(3, 5))
    frames = list(Recording(config, seed=5, n=LEARNED_EVERY * SURE_STEPS + N_TRACKED, fps=30).frames())
    best = dict.fromkeys((TOTAL, "PeopleTracker, learn=False", "PeopleTracker"), np.inf)
    for _ in range(TURNS):
        ways = (find_people, PeopleTracker(learn=False).add, PeopleTracker().add)
        for name, add in zip(best, ways, strict=True):
            seconds = []
            for frame in frames:
                start = time.thread_time()
                add(frame)
                seconds.append(time.thread_time() - start)
            best[name] = min(best[name], 1000 * float(np.mean(seconds[-N_TRACKED:])))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=12, help="frames of each size")
    options = parser.parse_args()
    totals: dict[str, float] = {}
    for size, camera in CAMERAS.items():
        config = Config(camera=camera, n_bodies=6, people_shares=(1.0,), furnished_share=1.0, furniture=(3, 5))
        generator = Generator(config, seed=5, n=options.n)
        frames: list[Frame] = [generator[i] for i in range(options.n)]
        rooms = [Background.learn([generator.empty_room(i, take) for take in range(3)]) for i in range(options.n)]
        pairs = list(zip(frames, rooms, strict=True))
        ways: dict[str, list[Works]] = {
            "without a background": [without_background(frame) for frame in frames],
            "with a background": [with_background(*pair) for pair in pairs],
            "learning": [{"add to background": partial(room.add, frame)} for frame, room in pairs],
        }
        for way, works in ways.items():
            print(f"{size}, {way}")
            for stage, each in milliseconds(works).items():
                print(f"  {each:6.2f} ms  {stage}", flush=True)
                if stage == TOTAL:
                    totals[f"{TOTAL} {size} {way}"] = each
        print(f"{size}, the last {N_TRACKED} frames of a recording, whose room is known")
        for name, each in recording(camera).items():
            print(f"  {each:6.2f} ms  {name}", flush=True)
    print("totals, one thread")
    for name, each in totals.items():
        print(f"  {each:6.2f} ms  {1000 / each:5.0f} frames/s  {name}")
    for size, aim in AIMS_MS.items():
        each = totals[f"{TOTAL} {size} without a background"]
        print(f"aim: find_people, {size}, one thread: {each:.1f} ms, at most {aim:.1f}")


if __name__ == "__main__":
    main()
