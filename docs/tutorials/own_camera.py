"""A room as correctly and incorrectly configured cameras record it, and pictures of the resulting labels.

`own_camera.md` is the tutorial. `make` writes the frames; `pictures` runs `depthforest label` on them, once correctly
and with every kind of mistake, and draws the results side by side.
"""

from __future__ import annotations

import argparse
import dataclasses
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from depthforest.frames import drawing
from synth import Config, Recording

Picture = npt.NDArray[np.uint8]

ROOM = Config(
    camera="kinect_v1",
    people_shares=(1.0,),
    yaw_front_share=1.0,
    yaw_front_spread=10.0,
    child_share=0.0,
    furnished_share=1.0,
    wall_share=1.0,
    camera_height=(1.2, 1.2),
    camera_tilt=(0.0, 10.0),
    camera_roll=(0.0, 0.0),
    far_distance=(2.0, 3.0),
    depth_limit=3.5,
)
SEED = 59
FPS = 10
RECORDED = range(10, 22)
SHOWN = 15
"""The frame of the recording that all pictures show: both hands free, the left one stretched out."""

EMPTY = 5
"""Frames of the empty room."""

TUM_UNITS_PER_MM = 5
REALSENSE_UNITS_PER_MM = 4
PREVIEW_MM = 20
"""Millimeters per gray level of a preview."""

PUSHED_PX = 40
"""How far a camera was turned after the empty room was taken, in pixels: 4 degrees."""

CAMERA = "--camera", "kinect_v1"


SHEET = {
    "correct": ("frame.png", *CAMERA),
    "1  TUM units read as millimeters: nobody found": ("tum.png", *CAMERA),
    "2  focal length twice the true value": ("frame.png", "--camera", "1050,1050,319.5,239.5"),
    "3  focal length half the true value": ("frame.png", "--camera", "262.5,262.5,319.5,239.5"),
    "4  mirrored: the left arm is called the right": ("mirrored.png", *CAMERA),
    "5  upside down: the parts are wrong": ("upside_down.png", *CAMERA),
    "6  the room left in (--background-removed)": ("frame.png", *CAMERA, "--background-removed"),
    "7  furniture taken for people (--doubtful)": ("far.png", *CAMERA, "--doubtful"),
    "8  camera pushed after the empty room was taken": ("pushed.png", *CAMERA, "--background", "empty"),
    "9  0.9 m away: head and legs are cut": ("near.png", *CAMERA),
    "10  from 3 m above, steeply down": ("steep.png", *CAMERA),
    "11  rolled by 25 degrees": ("crooked.png", *CAMERA),
}
"""What goes wrong, by its title on the sheet: the words after `depthforest label`."""


def recording(**changes: tuple[float, float] | float | str) -> Recording:
    """Return the recording, its camera or its distances changed."""
    return Recording(dataclasses.replace(ROOM, **changes), SEED, n=60, fps=FPS)  # type: ignore[arg-type]


def make(folder: Path) -> None:
    """Write the recording, the empty room, and the shown frame as other cameras deliver it."""
    (folder / "recording").mkdir(parents=True, exist_ok=True)
    (folder / "empty").mkdir(exist_ok=True)
    frames = recording()
    for index in RECORDED:
        save(folder / "recording" / f"{index:04d}.png", frames[index].depth_mm)
    for take in range(EMPTY):
        save(folder / "empty" / f"{take}.png", frames.empty_room(0, take).depth_mm)
    depth_mm = frames[SHOWN].depth_mm
    save(folder / "frame.png", depth_mm)
    save(folder / "mask.png", frames[SHOWN].people)
    save(folder / "tum.png", TUM_UNITS_PER_MM * depth_mm)
    save(folder / "realsense.png", REALSENSE_UNITS_PER_MM * depth_mm)
    np.save(folder / "meters.npy", depth_mm.astype(np.float32) / 1000)
    save(folder / "preview.png", np.minimum(depth_mm // PREVIEW_MM, 255).astype(np.uint8))
    save(folder / "mirrored.png", depth_mm[:, ::-1])
    save(folder / "upside_down.png", depth_mm[::-1, ::-1])
    save(folder / "on_its_side.png", np.rot90(recording(camera="525,525,239.5,319.5,480x640")[SHOWN].depth_mm))
    save(folder / "pushed.png", np.pad(depth_mm, ((0, 0), (PUSHED_PX, 0)))[:, :-PUSHED_PX])
    far = recording(far_distance=(3.5, 4.0), depth_limit=4.5)
    save(folder / "far.png", far[SHOWN].depth_mm)
    save(folder / "far_empty.png", far.empty_room(0).depth_mm)
    steep = {"camera_height": (3.0, 3.0), "camera_tilt": (0.0, 80.0), "far_distance": (0.9, 1.4)}
    for name, changes in {
        "near": {"far_distance": (0.9, 1.4)},
        "high": {"camera_height": (2.2, 2.2), "camera_tilt": (0.0, 40.0)},
        "steep": steep,
        "crooked": {"camera_roll": (25.0, 25.0)},
    }.items():
        save(folder / f"{name}.png", recording(**changes)[SHOWN].depth_mm)
    print(f"{len(list(folder.rglob('*.*')))} files in {folder}")


def save(path: Path, array: npt.NDArray[np.uint8] | npt.NDArray[np.uint16]) -> None:
    """Write a gray PNG of 8 or 16 bits."""
    Image.fromarray(np.ascontiguousarray(array)).save(path)


def label(folder: Path, words: tuple[str, ...], output: Path) -> Picture:
    """Run `depthforest label` in a folder; print what it says and return its overlay: joints, and parts."""
    command = ["label", *words, "-o", str(output), "--write", "overlay,joints", "--force"]
    done = subprocess.run(
        [sys.executable, "-m", "depthforest", *command], cwd=folder, capture_output=True, text=True, check=False
    )
    print("depthforest label", *words, *(f"\n  {line}" for line in done.stderr.splitlines()))
    if done.returncode:
        raise SystemExit(f"depthforest label ended with {done.returncode}")
    with Image.open(output / "overlay" / f"{Path(words[0]).stem}.png") as picture:
        return np.asarray(picture.convert("RGB"))


def draw(output: Path) -> None:
    """Make the frames in a folder of their own and draw what the program makes of them."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        make(folder)
        cells = [label(folder, words, folder / "labels") for words in SHEET.values()]
    output.mkdir(parents=True, exist_ok=True)
    sheet = drawing.contact_sheet(cells, columns=2, titles=list(SHEET), cell_width=480)
    path = output / "own_camera_wrong.png"
    # 256 colors are a third of the size; k-means keeps those of small parts
    Image.fromarray(sheet).quantize(256, kmeans=3, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"look at {path}")


def main() -> None:
    """Write the frames, or draw the page's picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make", help="write the frames")
    making.add_argument("folder", type=Path)
    drawer = commands.add_parser("pictures", help="draw the picture of the page")
    drawer.add_argument("folder", type=Path, nargs="?", default=Path("docs/pictures"))
    given = parser.parse_args()
    if given.command == "make":
        make(given.folder)
    else:
        draw(given.folder)


if __name__ == "__main__":
    main()
