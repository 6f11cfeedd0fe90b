"""Soak: many frames of all sizes and kinds through people, labels, joints and tracks in one process.

    python tools/soak.py -n 100000 -o soak.csv

The frames are the bundled samples, synthetic people, empty rooms, noise and pathological pictures, in sizes from 1 x 1
to 640 x 576, each changed at random: mirrored, moved in depth, with holes. Every block of frames becomes one row of a
CSV file: resident memory, processor time per frame, and the numbers of people and joints. The exit code is 1 if a
result is invalid (labels off the person, positions that are not finite) or memory grew by more than `MAX_GROWTH_MB`
after the first tenth.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

import depthforest as df
from depthforest.base import DepthForestWarning, samples_folder
from depthforest.frames import NO_PART

Rng = np.random.Generator

MAX_GROWTH_MB = 32.0
"""Allowed growth of resident memory after the first tenth of the frames."""

CAMERAS = (
    "kinect_v1@320x240", "kinect_v1@160x120", "kinect_v1@80x60", "kinect_v1", "kinect_v2", "azure_nfov@320x288",
    "azure_nfov", "realsense_d435@424x240",
)  # fmt: skip
ODD_SIZES = ((1, 1), (1, 40), (40, 1), (2, 3), (17, 9), (33, 31), (64, 48), (101, 203))


def pool_of_frames(seed: int, n_synthetic: int = 48) -> list[df.Frame]:
    """Return the frames that are changed: samples, synthetic ones of all cameras, and odd ones."""
    from synth import Config, Generator

    frames: list[df.Frame] = list(df.open_dataset(samples_folder()))
    per_camera = max(1, n_synthetic // len(CAMERAS))
    for camera in CAMERAS:
        made = Generator(
            Config(camera=camera, people_shares=(0.6, 0.4), clutter_share=0.3, empty_share=0.15),
            seed=seed,
            n=per_camera,
        )
        frames += [df.Frame(frame.depth_mm, frame.camera) for frame in made]
    rng = np.random.default_rng(seed)
    for width, height in ODD_SIZES:
        lens = df.Camera(max(width, height), max(width, height), width / 2, height / 2, width, height)
        frames += [df.Frame(picture, lens) for picture in odd_pictures((height, width), rng)]
    return frames


def odd_pictures(shape: tuple[int, int], rng: Rng) -> list[npt.NDArray[np.uint16]]:
    """Return unrealistic pictures: nothing, one wall, noise, the nearest, the farthest, a checkerboard."""
    checkered = np.indices(shape).sum(axis=0) % 2 * 2000
    return [
        np.zeros(shape, np.uint16),
        np.full(shape, 2500, np.uint16),
        rng.integers(0, 65536, shape).astype(np.uint16),
        np.ones(shape, np.uint16),
        np.full(shape, 65535, np.uint16),
        checkered.astype(np.uint16),
    ]


def changed(frame: df.Frame, rng: Rng) -> df.Frame:
    """Return a frame changed at random: mirrored, nearer or farther, with holes."""
    depth = frame.depth_mm
    if rng.random() < 0.5:
        depth = depth[:, ::-1]
    moved = np.clip(depth.astype(np.int32) + int(rng.integers(-300, 300)), 1, 65535).astype(np.uint16)
    moved[depth == 0] = 0
    if rng.random() < 0.3:
        moved[rng.random(moved.shape) < rng.random() * 0.5] = 0
    return df.Frame(moved, frame.camera)


class Soak:
    """Frames through everything, one after the other.

    Parameters
    ----------
    frames : sequence of Frame
        To draw from.
    seed : int
    """

    def __init__(self, frames: Sequence[df.Frame], seed: int = 0) -> None:
        self._frames, self._rng = frames, np.random.default_rng([seed, 1])
        self._forest = df.load()
        self._tracker, self._tracks = df.PeopleTracker(), df.JointTracks(fps=30)
        self._left = 0
        self._frame = frames[0]
        self.n_people = self.n_joints = 0

    def step(self) -> None:
        """Process the next frame: mostly the same scene again, as from a camera, sometimes another."""
        if self._left == 0:
            self._frame = self._frames[int(self._rng.integers(len(self._frames)))]
            self._left = int(self._rng.integers(1, 40))
            if self._rng.random() < 0.1:
                self._tracker.reset()
        self._left -= 1
        frame = changed(self._frame, self._rng)
        people = self._tracker.add(frame)
        found = {}
        for person, mask in zip(people.ids, people, strict=True):
            labeling = self._forest.label(frame, mask, threads=1)
            if ((labeling.parts != NO_PART) & ~mask).any() or not np.isfinite(labeling.confidence).all():
                raise AssertionError("labels off the person")
            found[person] = df.find_joints(frame, labeling)
        for joints in self._tracks.add(found).values():
            if not all(np.isfinite(joint.position).all() for joint in joints.values()):
                raise AssertionError("a joint that is nowhere")
            self.n_joints += len(joints)
        self.n_people += len(people)


def resident_mb() -> float:
    """Return the resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def run(n: int, every: int, seed: int, output: Path | None, frames: Sequence[df.Frame] | None = None) -> list[float]:
    """Run the soak and return the resident memory after each block; rows are printed and written as they come."""
    warnings.simplefilter("ignore", DepthForestWarning)
    soak = Soak(pool_of_frames(seed) if frames is None else frames, seed)
    lines = ["frames,resident_mb,ms_per_frame,people,joints"]
    memory = []
    for block in range(n // every):
        began = time.process_time()
        for _ in range(every):
            soak.step()
        gc.collect()
        per_frame = (time.process_time() - began) / every * 1000
        memory.append(resident_mb())
        lines.append(f"{(block + 1) * every},{memory[-1]:.1f},{per_frame:.2f},{soak.n_people},{soak.n_joints}")
        print(lines[-1], flush=True)
        if output is not None:
            output.write_text("\n".join(lines) + "\n")
    return memory


def main() -> int:
    """Read the command line, soak, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-n", "--frames", type=int, default=100_000)
    parser.add_argument("--every", type=int, default=1000, help="frames of a block")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, help="CSV file for the rows")
    chosen = parser.parse_args()
    memory = run(chosen.frames, chosen.every, chosen.seed, chosen.output)
    growth = memory[-1] - memory[len(memory) // 10] if memory else 0.0
    print(f"memory grew by {growth:.1f} MB after the first tenth")
    return 1 if growth > MAX_GROWTH_MB else 0


if __name__ == "__main__":
    sys.exit(main())
