"""Time `depthforest label`: frames per second including files, the cost of each stage, and the time of one frame.

Run `python benchmarks/command_speed.py [MODEL]`. Frames of 640 x 480 in furnished rooms, one person, Kinect v1 noise,
with detection of people. Stages are timed alone on one thread; runs read and write real files on two threads. Processor
time is shown beside wall time, because others may use the machine: with both cores free, and if nothing waits, a run
makes 2 frames per processor time of a frame. Everything is compiled before it is timed; the best turn counts.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2

import depthforest as df
from depthforest.base import replacing
from depthforest.frames import drawing
from depthforest.joints import FrameJoints, write_joints
from depthforest.pipeline import LabelRun, parse_outputs
from depthforest.pipeline.merging import label_people
from depthforest.pipeline.outputs import picture
from synth import Config, Generator

N_FRAMES = 16
N_COPIES = 3
"""Of each frame in a run."""

TURNS = 3
THREADS = 2
CAMERA = "kinect_v1"
WRITES = ("parts", "parts,overlay", "parts,overlay,joints")
AIMS = {"parts": 100, "parts,overlay,joints": 60}
"""Frames a second."""

ONE_FRAME_AIM_S = 1.0


def stages(forest: df.Forest, folder: Path) -> dict[str, Callable[[int], object]]:
    """Return what is done for a frame, step by step, as functions of its number."""
    frames = [df.read_depth(path, CAMERA) for path in sorted(folder.iterdir())]
    found = [df.find_people(frame) for frame in frames]
    all_labels = [label_people(forest, *pair, joints=True, threads=1) for pair in zip(frames, found, strict=True)]
    alone = [
        forest.label(frame, people[0] if len(people) else None, threads=1)
        for frame, people in zip(frames, found, strict=True)
    ]
    shaded, pictures = [drawing.shade(frame) for frame in frames], [picture(labels) for labels in all_labels]
    paths, own = sorted(folder.iterdir()), folder.parent

    def overlay(i: int) -> object:
        return drawing.overlay(frames[i], all_labels[i].parts, all_labels[i].part_set, shaded=shaded[i])

    def skeletons(i: int) -> object:
        return drawing.with_skeletons(shaded[i], all_labels[i].joints or {}, frames[i].camera)

    def joint_file(i: int) -> None:
        write_joints(own / "joints.json", [FrameJoints("f", all_labels[i].joints or {}, camera=frames[i].camera)])

    def rename(_: int) -> None:
        with replacing(own / "file.bin") as file:
            file.write(bytes(400_000))

    return {
        "read the PNG": lambda i: df.read_depth(paths[i], CAMERA),
        "find people": lambda i: df.find_people(frames[i]),
        "label": lambda i: label_people(forest, frames[i], found[i], threads=1),
        "find joints": lambda i: df.find_joints(frames[i], alone[i]),
        "shade": lambda i: drawing.shade(frames[i]),
        "paint the parts": overlay,
        "draw skeletons": skeletons,
        "encode and write the overlay": lambda i: drawing.write_picture(own / "overlay.png", pictures[i]),
        "encode and write the parts": lambda i: drawing.write_labels(
            own / "parts.png", all_labels[i].parts, forest.part_set
        ),
        "write the joints": joint_file,
        "(of each file: 400 kB written, renamed)": rename,
    }


def print_stages(forest: df.Forest, folder: Path) -> None:
    """Print the processor time of each stage."""
    works = stages(forest, folder)
    best = dict.fromkeys(works, float("inf"))
    for _ in range(TURNS):
        for name, work in works.items():
            began = time.process_time()
            for i in range(N_FRAMES):
                work(i)
            best[name] = min(best[name], (time.process_time() - began) / N_FRAMES)
    print(f"stages: processor time on one thread, best of {TURNS} turns")
    for name, seconds in best.items():
        print(f"  {1e3 * seconds:6.2f} ms  {name}")


def print_runs(forest: df.Forest, folder: Path) -> None:
    """Print frames a second of whole runs."""
    sources = sorted(folder.iterdir()) * N_COPIES
    many = folder.parent / "many"
    many.mkdir()
    for number, source in enumerate(sources):
        shutil.copy(source, many / f"frame{number}.png")
    best = {write: (float("inf"), float("inf")) for write in WRITES}
    for _ in range(TURNS):
        for write in WRITES:
            out = folder.parent / "out"
            run = LabelRun(forest, df.read_frames(many, CAMERA), out, outputs=parse_outputs(write), threads=THREADS)
            wall, cpu = time.perf_counter(), time.process_time()
            run.run()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            best[write] = min(best[write][0], wall / len(sources)), min(best[write][1], cpu / len(sources))
            shutil.rmtree(out)
    print(f"runs of {len(sources)} frames on {THREADS} threads, best of {TURNS} turns")
    for write, (wall, cpu) in best.items():
        if write in AIMS:
            print(f"aim: depthforest label --write {write}: {1 / wall:.0f} frames/s, at least {AIMS[write]}")
        print(
            f"  {1 / wall:6.1f} frames/s; {1e3 * cpu:5.1f} ms of processor time a frame, so at best "
            f"{THREADS / cpu:.0f}  --write {write}"
        )
    print(f"  {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB at most")


def print_one_frame(model: Path | None, folder: Path) -> None:
    """Print how long the command takes for one frame, when everything is compiled."""
    out = folder.parent / "one"
    command = [sys.executable, "-m", "depthforest", "label", folder / "f0.png", "-o", out, "--camera", CAMERA]
    command += ["--write", "parts,overlay,joints", *(["--model", model] if model else [])]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = str(folder.parent / "bytecode")  # as an installed package has it
    walls, cpus = [], []
    for _ in range(TURNS + 1):
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run([*map(str, command)], check=True, env=env, stdout=subprocess.DEVNULL)
        walls.append(time.perf_counter() - began)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpus.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        shutil.rmtree(out)
    # the first has no byte code yet
    print(f"one frame, as a command: the processor works {min(cpus[1:]):.2f} s; best of {TURNS} turns")
    print(f"aim: depthforest label of one frame, warm: {min(walls[1:]):.2f} s, at most {ONE_FRAME_AIM_S:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("model", nargs="?", type=Path)
    options: Any = parser.parse_args()
    cv2.setNumThreads(1)  # as a run does
    forest = df.load(options.model)
    generator = Generator(Config(camera=CAMERA, n_bodies=6, people_shares=(1.0,), near_share=0.0), 2, n=N_FRAMES)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "frames"
        folder.mkdir()
        for number, frame in enumerate(generator):
            drawing.write_depth(folder / f"f{number}.png", frame.depth_mm)
        print_stages(forest, folder)
        print_runs(forest, folder)
        print_one_frame(options.model, folder)


if __name__ == "__main__":
    main()
