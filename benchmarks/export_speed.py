"""Time exported forests against the exact walk in Python: milliseconds per person on one thread, and ratios.

Run `python benchmarks/export_speed.py [MODEL...]`: names or files; without any, body31-fast and body31. It needs gcc or
clang; with node and Zig (`depthforest[wasm]`) the WebAssembly module is timed, too. People are those of the bundled
samples. Variants take turns in one run, and the best turn counts. Times of C and Python are those of the thread, times
of node those of the process, so that other programs disturb them less.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import depthforest as df
from depthforest.base import samples_folder
from depthforest.export import export_c, export_wasm

FLAGS = {"-O2": ("-O2",), "-O3 -march=native": ("-O3", "-march=native")}

DRIVER = """
#include "forest.h"
int label(const void *blob, size_t n, const forest_camera *camera, const uint16_t *depth, const uint8_t *mask,
          void *scratch, size_t room, uint8_t *parts, float *confidence) {
    static forest_forest forest;
    if (!forest.nodes && forest_open(blob, n, &forest)) return -9;
    return forest_label(&forest, camera, depth, mask, scratch, room, parts, confidence, 0);
}
size_t room_for(int rows, int cols) { return forest_scratch_bytes(rows, cols, rows * cols); }
"""

NODE = """
const fs = require("fs"), [file, name, turns] = process.argv.slice(2);
const forest = new WebAssembly.Instance(new WebAssembly.Module(fs.readFileSync(file)), {}).exports;
const people = JSON.parse(fs.readFileSync(name)), times = people.map(() => Infinity);
for (let turn = 0; turn < Number(turns); turn++)
  people.forEach(({ rows, cols, camera, depth }, i) => {
    forest.forest_room(rows, cols);
    new Uint16Array(forest.memory.buffer, forest.forest_depth(), rows * cols).set(depth);
    const begin = process.cpuUsage();
    if (forest.forest_run(...camera, 0)) throw new Error("not labeled");
    times[i] = Math.min(times[i], process.cpuUsage(begin).user / 1000);
  });
console.log(times.reduce((a, b) => a + b, 0) / times.length);
"""


class CameraStruct(ctypes.Structure):
    """`forest_camera` of the header."""

    _fields_ = (
        ("rows", ctypes.c_int32),
        ("cols", ctypes.c_int32),
        ("fx", ctypes.c_double),
        ("fy", ctypes.c_double),
        ("cx", ctypes.c_double),
        ("cy", ctypes.c_double),
    )


def people() -> list[df.Frame]:
    """Return the people of the samples, each alone in a frame."""
    data = df.open_dataset(samples_folder())
    return [
        df.Frame(np.where(frame.people == person, frame.depth_mm, 0).astype(np.uint16), frame.camera)
        for frame in (data[i] for i in range(len(data)))
        for person in np.unique(frame.people[frame.people > 0])
    ]


def compiled(folder: Path, compiler: str, flags: tuple[str, ...], number: int) -> Callable[[df.Frame], object]:
    """Return a function that labels a frame by the header of a folder."""
    folder.joinpath("driver.c").write_text(DRIVER)
    library = folder / f"driver{number}.so"
    command = [compiler, "-std=c99", *flags, "-shared", "-fPIC", str(folder / "driver.c"), "-o", str(library)]
    subprocess.run(command, check=True)
    code = ctypes.CDLL(str(library))
    code.room_for.restype = ctypes.c_size_t
    blob = np.fromfile(folder / "forest.bin", dtype=np.uint8)
    memory: dict[tuple[int, int], tuple[np.ndarray, np.ndarray, np.ndarray]] = {}

    def label(frame: df.Frame) -> object:
        if frame.shape not in memory:
            room = np.zeros(code.room_for(*frame.shape) + 64, dtype=np.uint8)
            room = room[-room.ctypes.data % 64 :]
            memory[frame.shape] = room, np.empty(frame.shape, np.uint8), np.empty(frame.shape, np.float32)
        room, parts, confidence = memory[frame.shape]
        lens = frame.camera
        camera = CameraStruct(*frame.shape, lens.fx, lens.fy, lens.cx, lens.cy)
        done = code.label(
            ctypes.c_void_p(blob.ctypes.data), ctypes.c_size_t(len(blob)), ctypes.byref(camera),
            ctypes.c_void_p(frame.depth_mm.ctypes.data), None, ctypes.c_void_p(room.ctypes.data),
            ctypes.c_size_t(len(room)), ctypes.c_void_p(parts.ctypes.data), ctypes.c_void_p(confidence.ctypes.data),
        )  # fmt: skip
        if done:
            raise RuntimeError(f"code {done}")
        return parts

    return label


def times_of(ways: dict[str, Callable[[df.Frame], object]], frames: list[df.Frame], turns: int) -> dict[str, float]:
    """Return the milliseconds a person of each way: the mean over people of the best turn."""
    best = {name: np.full(len(frames), np.inf) for name in ways}
    for turn in range(turns + 1):
        for i, frame in enumerate(frames):
            for name, way in ways.items():
                begin = time.thread_time()
                way(frame)
                if turn:  # the first compiles and warms up
                    best[name][i] = min(best[name][i], 1000 * (time.thread_time() - begin))
    return {name: float(times.mean()) for name, times in best.items()}


def in_node(forest: df.Forest, folder: Path, frames: list[df.Frame], turns: int) -> float | None:
    """Return the milliseconds a person in node, labels and joints; None where it cannot be run."""
    node = shutil.which("node")
    if node is None or importlib.util.find_spec("ziglang") is None:
        return None
    module = export_wasm(forest, folder / "forest.wasm")
    content = [
        {
            "rows": frame.shape[0],
            "cols": frame.shape[1],
            "camera": [frame.camera.fx, frame.camera.fy, frame.camera.cx, frame.camera.cy],
            "depth": frame.depth_mm.ravel().tolist(),
        }
        for frame in frames
    ]
    folder.joinpath("people.json").write_text(json.dumps(content))
    folder.joinpath("run.js").write_text(NODE)
    command = [node, str(folder / "run.js"), str(module), str(folder / "people.json"), str(turns)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", default=["body31-fast", "body31"])
    parser.add_argument("--turns", type=int, default=7)
    chosen = parser.parse_args()
    frames = people()
    pixels = np.mean([np.count_nonzero(frame.depth_mm) for frame in frames])
    print(f"{len(frames)} people of {pixels:.0f} pixels on average, {frames[0].shape[1]} x {frames[0].shape[0]}")
    for name in chosen.models:
        forest = df.load(name)
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            export_c(forest, folder / "forest.h", blob=True)
            size = (folder / "forest.bin").stat().st_size
            ways: dict[str, Callable[[df.Frame], object]] = {
                "Python": lambda frame, forest=forest: forest.label(frame, exact=True, threads=1)  # type: ignore[misc]
            }
            for compiler in ("gcc", "clang"):
                if shutil.which(compiler):
                    for title, flags in FLAGS.items():
                        ways[f"{compiler} {title}"] = compiled(folder, compiler, flags, len(ways))
            times = times_of(ways, frames, chosen.turns)
            node = in_node(forest, folder, frames, chosen.turns)
        print(f"{Path(name).stem}: tables of {size / 1e6:.2f} MB")
        for title, each in times.items():
            print(f"  {title:<26}{each:8.2f} ms  {each / times['Python']:5.2f} of Python's exact walk")
        if node is not None:
            print(f"  {'WebAssembly in node':<26}{node:8.2f} ms, with joints")


if __name__ == "__main__":
    main()
