"""A made-up data set of three labels, cup, hand and arm on a table, and how well a forest tells them apart.

`own_labels.md` tells the story. `make` writes the data set as any tool could: PNG files and a JSON file, without
depthforest's own writers. `judge` works with any labels.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

import depthforest as df
from depthforest.frames import drawing
from synth.scene import Box, Plane, Solid, Sphere, cast

Floats = npt.NDArray[np.float64]

CAMERA = df.Camera(fx=150.0, fy=150.0, cx=79.5, cy=59.5, width=160, height=120)
DEPTH_SCALE = 0.00025
"""Meters per unit of the stored depth: a quarter of a millimeter, as some cameras have it."""

NAMES = ("cup", "hand", "arm")
COLORS = ((240, 190, 40), (220, 70, 90), (60, 130, 200))
TABLE = -1
"""Label of what is none of the parts, before it is stored as 255."""

NOISE = 0.003
"""Standard deviation of a reading at 1 m, meters; it grows with the square of the distance."""

LOST = 0.01
"""Share of pixels without a reading."""

TEST_SHARE = 0.2
DRAWN = 3
"""Frames of the picture."""


@dataclass(frozen=True)
class Tube:
    """The side of a cylinder, seen from outside and from inside: open at both ends, meters."""

    start: Floats
    end: Floats
    radius: float

    def depths(self, rays: Floats) -> Floats:
        """See `synth.scene.analytic.Solid.depths`."""
        length = float(np.linalg.norm(self.end - self.start))
        axis = (self.end - self.start) / length
        along = rays @ axis
        across = rays - along[..., None] * axis
        begin = self.start - (self.start @ axis) * axis
        # |z across - begin|^2 = radius^2
        a = (across * across).sum(axis=-1)
        b = across @ begin
        under_root = b * b - a * (begin @ begin - self.radius**2)
        nearest = np.full(a.shape, np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            for sign in (1, -1):  # the farther wall, then the nearer one
                z = (b + sign * np.sqrt(np.maximum(under_root, 0))) / a
                height = z * along - self.start @ axis
                is_met = (under_root > 0) & (z > 0) & (height >= 0) & (height <= length)
                nearest = np.where(is_met, z, nearest)
        return nearest


def capsule(start: Floats, end: Floats, radius: float) -> list[Solid]:
    """Return a stick with round ends."""
    return [Tube(start, end, radius), Sphere(start, radius), Sphere(end, radius)]


def unit(vector: Floats) -> Floats:
    """Return a vector of length 1."""
    return np.asarray(vector / np.linalg.norm(vector))


def cup(rng: np.random.Generator, place: Floats, axes: Floats) -> list[Solid]:
    """Return a cup that stands at a place; the rows of `axes` are right, away and up."""
    radius, height = rng.uniform(0.032, 0.045), rng.uniform(0.08, 0.12)
    up = axes[2]
    solids: list[Solid] = [Tube(place, place + height * up, radius)]
    solids.append(Box(place + 0.005 * up, (0.7 * radius, 0.7 * radius, 0.005), axes.T))
    angle = rng.uniform(0, 2 * np.pi)
    out = np.cos(angle) * axes[0] + np.sin(angle) * axes[1]
    corners = [(1.0, 0.8), (1.8, 0.75), (1.8, 0.3), (1.0, 0.25)]
    handle = [place + radius * r * out + height * h * up for r, h in corners]
    for start, end in pairwise(handle):
        solids += capsule(start, end, 0.006)
    return solids


def hand_and_arm(
    rng: np.random.Generator, wrist: Floats, forward: Floats, side: Floats
) -> tuple[list[Solid], list[Solid]]:
    """Return a hand whose fingers point forward and its arm; `side` is where the thumb is."""
    side = unit(side - (side @ forward) * forward)
    back = np.cross(forward, side)
    palm = wrist + 0.055 * forward
    hand: list[Solid] = [Box(palm, (0.05, 0.04, 0.013), np.stack((forward, side, back), axis=1))]
    curl, spread = rng.uniform(-0.1, 1.2), rng.uniform(0.0, 0.25)
    palm_side = rng.choice([-1.0, 1.0])
    for finger, length in enumerate((0.075, 0.085, 0.08, 0.06)):
        offset = 0.03 - 0.02 * finger
        root = palm + 0.045 * forward + offset * side
        aim = unit(forward + spread * (offset / 0.03) * side + np.tan(curl / 2) * palm_side * back)
        bent = unit(np.cos(curl) * aim + np.sin(curl) * palm_side * back)
        hand += capsule(root, root + 0.55 * length * aim, 0.009)
        hand += capsule(root + 0.55 * length * aim, root + 0.55 * length * aim + 0.45 * length * bent, 0.008)
    thumb = palm - 0.02 * forward + 0.035 * side
    hand += capsule(thumb, thumb + 0.06 * unit(forward + rng.uniform(0.4, 1.2) * side), 0.011)
    bend = unit(forward + 0.2 * rng.normal(size=3))
    arm = capsule(wrist, wrist - 0.12 * bend, 0.029)
    arm += capsule(wrist - 0.12 * bend, wrist - 0.4 * bend, 0.039)
    return hand, arm


def scene(rng: np.random.Generator) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return the depth (rows, cols) in meters and the label of every pixel; `TABLE` for the rest."""
    tilt = np.deg2rad(rng.uniform(25, 60))
    # rows: right, away from the camera along the table, and up, in camera space (x right, y down, z forward)
    axes = np.array([[1.0, 0.0, 0.0], [0.0, -np.sin(tilt), np.cos(tilt)], [0.0, -np.cos(tilt), -np.sin(tilt)]])
    middle = np.array([0.0, 0.0, rng.uniform(0.5, 0.75)])
    up = axes[2]
    place = middle + rng.uniform(-0.1, 0.1) * axes[0] + rng.uniform(-0.06, 0.1) * axes[1]
    cup_solids = cup(rng, place, axes)
    # the arm comes from the near half of the table; the hand reaches for the cup or rests somewhere
    angle = rng.uniform(0.1, np.pi - 0.1)
    forward = unit(np.cos(angle) * axes[0] + np.sin(angle) * axes[1] + rng.uniform(-0.5, 0.15) * up)
    beside = unit(np.cross(forward, up))
    target = place + rng.uniform(0.03, 0.09) * up + rng.choice([-1.0, 1.0]) * rng.uniform(0.055, 0.13) * beside
    wrist = target - rng.uniform(0.08, 0.16) * forward
    wrist = wrist + max(0.0, 0.04 - (wrist - middle) @ up) * up
    roll = rng.uniform(0, 2 * np.pi)
    hand, arm = hand_and_arm(rng, wrist, forward, np.cos(roll) * beside + np.sin(roll) * up)
    solids: list[Solid] = [*cup_solids, *hand, *arm, Plane(middle, up)]
    labels = np.repeat([0, 1, 2, TABLE], [len(cup_solids), len(hand), len(arm), 1])
    depth, index = cast(CAMERA, solids)
    return depth, np.where(index >= 0, labels[index], TABLE)


def write_frame(folder: Path, name: str, depth_m: Floats, labels: npt.NDArray[np.int64]) -> None:
    """Write one frame: depth as a 16-bit PNG in units of `DEPTH_SCALE`, labels as an 8-bit PNG with 255 for none."""
    is_reading = np.isfinite(depth_m) & (depth_m > 0)
    units = np.where(is_reading, depth_m / DEPTH_SCALE, 0)
    Image.fromarray(np.rint(units).astype(np.uint16)).save(folder / "depth" / f"{name}.png")
    parts = np.where(is_reading & (labels != TABLE), labels, 255).astype(np.uint8)
    Image.fromarray(parts).save(folder / "parts" / f"{name}.png")


def make(folder: Path, n_frames: int, seed: int) -> None:
    """Write the data set: `train` and `test`, of scenes that have nothing in common."""
    n_test = max(1, round(TEST_SHARE * n_frames))
    for split, first, last in (("train", 0, n_frames - n_test), ("test", n_frames - n_test, n_frames)):
        for kind in ("depth", "parts"):
            (folder / split / kind).mkdir(parents=True, exist_ok=True)
        description = {
            "camera": CAMERA.to_dict(),
            "depth_scale": DEPTH_SCALE,
            "parts": {"names": NAMES, "colors": COLORS, "mirror": []},
        }
        (folder / split / "dataset.json").write_text(json.dumps(description))
        for number in range(first, last):
            rng = np.random.default_rng([seed, number])
            depth_m, labels = scene(rng)
            depth_m = depth_m + NOISE * depth_m**2 * rng.normal(size=depth_m.shape)
            depth_m[rng.random(depth_m.shape) < LOST] = 0
            write_frame(folder / split, f"{number:06d}", depth_m, labels)
        print(f"{last - first} frames in {folder / split}")


def judge(model: Path, data: Path, picture: Path | None) -> None:
    """Print how right a model is on a data set, and draw some of its frames: depth, truth, answer."""
    forest = df.Forest.load(model)
    frames = df.open_dataset(data)
    result = df.evaluate(forest, frames)
    names = forest.part_set.names
    width = max(8, *map(len, names))
    print(f"{result.n_frames} frames, {result.n_pixels} labeled pixels")
    print(f"right: {result.pixel_accuracy:.1%} of the pixels, {result.mean_class_accuracy:.1%} mean over the parts")
    print("of each true part (row), answered (column):")
    print(" " * width + "".join(f"{name:>{width + 1}}" for name in names))
    for name, row in zip(names, result.confusion, strict=True):
        print(f"{name:<{width}}" + "".join(f"{share:>{width + 1}.1%}" for share in row / max(1, row.sum())))
    if picture is not None:
        drawing.write_picture(picture, sheet(forest, frames[: min(DRAWN, len(frames))]))
        print(f"look at {picture}")


def sheet(forest: df.Forest, frames: Sequence[df.LabeledFrame]) -> drawing.Picture:
    """Return a row for each frame: shaded depth, its labels, and the forest's."""
    cells = []
    for frame in frames:
        answered = forest.predict(frame, frame.people > 0)
        cells += [drawing.shade(frame), *(drawing.overlay(frame, p, frame.part_set) for p in (frame.parts, answered))]
    titles = ["depth", "truth", "forest"] + [""] * (len(cells) - 3)
    return drawing.contact_sheet(cells, columns=3, titles=titles)


def main() -> None:
    """Make the data set, or judge a model."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make", help="write the data set")
    making.add_argument("folder", type=Path)
    making.add_argument("--frames", type=int, default=500, help="how many, of which a fifth is kept for the test")
    making.add_argument("--seed", type=int, default=0)
    judging = commands.add_parser("judge", help="print how right a model is")
    judging.add_argument("model", type=Path)
    judging.add_argument("--data", type=Path, required=True)
    judging.add_argument("--picture", type=Path, help="PNG to draw the first frames into")
    given = parser.parse_args()
    if given.command == "make":
        make(given.folder, given.frames, given.seed)
    else:
        judge(given.model, given.data, given.picture)


if __name__ == "__main__":
    main()
