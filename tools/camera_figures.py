"""Evaluate calibration and fusion on synthetic recordings of three cameras: pose errors and precision of joints.

Run `python tools/camera_figures.py [--seeds 1 2 3] [--seconds 40] [--picture FILE]`. Each camera's depth goes through
`PeopleTracker`, the shipped forest and `find_joints`; `calibrate` gets the joints alone, then the floors, too.
Precision is the average precision within 10 cm, averaged over the 19 joints, for everybody in all frames, including
hidden joints. `--keep DIR` keeps the found joints for a second run.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from depthforest.base import Floats
from depthforest.forest import load
from depthforest.frames import JOINTS, Joint, drawing
from depthforest.joints import (
    CameraPose,
    CameraRig,
    Floor,
    FrameJoints,
    JointLike,
    area_under,
    calibrate,
    fuse,
    precision_recall,
    read_joints,
    write_joints,
)
from depthforest.pipeline import joints_of_recording
from synth import Config, Recording

FPS, WITHIN_M = 15.0, 0.1
STATIONS = ((120.0, 0.37, 1.9, 12.0), (-120.0, 0.81, 1.6, 5.0))
"""Bearing, start, height and tilt of the second and third camera."""


def cameras(seed: int, seconds: float, n_people: int) -> list[Recording]:
    """Return one recording from three cameras."""
    shares = tuple(float(n == n_people) for n in range(1, n_people + 1))
    config = Config(
        camera="kinect_v1@320x240",
        sensor="kinect_v1",
        people_shares=shares,
        far_distance=(1.8, 3.8),
        furnished_share=0.0,
        yaw_front_share=0.0,
        n_bodies=6,
    )
    first = Recording(config, seed, round(seconds * FPS), FPS)
    others = [first.seen_from(b, start_s=s, height=h, tilt=t) for b, s, h, t in STATIONS]
    return [first, *others]


def found_joints(recording: Recording, path: Path | None) -> tuple[list[FrameJoints], Floor | None]:
    """Return the joints found in a recording, with times from 0 on its own clock, and its floor."""
    if path is not None and path.exists():
        kept: Floor | None = json.loads(path.with_suffix(".floor").read_text())
        return read_joints(path), kept
    frames, world = joints_of_recording(load(), recording.frames(threads=1), fps=FPS)
    floor = None if world is None else (world.up, world.height)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_joints(path, frames)
        path.with_suffix(".floor").write_text(json.dumps(floor))
    return frames, floor


def truth_of(recording: Recording) -> list[dict[int, Floats]]:
    """Return the true joints (19, 3) of everybody in each frame, in the camera's space."""
    found = []
    for index in range(len(recording)):
        people, view = recording.people(index), recording.view
        found.append({number: view.to_camera(one.joints) for number, one in enumerate(people, start=1)})
    return found


def mean_precision(frames: Sequence[FrameJoints], truth: Sequence[Mapping[int, Floats]]) -> float:
    """Return the mean average precision over joints; only the most confident answer for a true joint is correct."""
    areas = []
    for column, name in enumerate(JOINTS):
        answers: list[tuple[float, bool]] = []
        for frame, people in zip(frames, truth, strict=True):
            its = sorted((j[name] for j in frame.people.values() if name in j), key=lambda joint: -joint.confidence)
            left = dict(people)
            for joint in its:
                near = {p: float(np.linalg.norm(joint.position - left[p][column])) for p in left}
                nearest = min(near, key=near.__getitem__, default=None)
                is_right = nearest is not None and near[nearest] <= WITHIN_M
                if is_right and nearest is not None:
                    del left[nearest]
                answers.append((joint.confidence, is_right))
        answers.sort(key=lambda answer: -answer[0])
        right = np.array([is_right for _, is_right in answers], dtype=np.float64)
        ends = np.arange(len(right), dtype=np.int64)
        precision, recall = precision_recall(right, np.ones_like(right), ends, sum(map(len, truth)))
        areas.append(float(area_under(precision, recall)))
    return float(np.mean(areas))


def degrees(rotation: Floats) -> float:
    """Return the angle of a rotation."""
    return float(np.degrees(np.arccos(np.clip((np.trace(rotation) - 1) / 2, -1, 1))))


def draw(path: Path, views: Sequence[Recording], rig: CameraRig, fused: Sequence[FrameJoints], moment: float) -> None:
    """Draw each camera's view at a moment, with the fused skeletons projected through the found poses."""
    frame = fused[round(moment * FPS)]
    panels = []
    for view, pose in zip(views, rig.cameras, strict=True):
        people = {
            person: {name: _seen_by(joint, pose) for name, joint in its.items()} for person, its in frame.people.items()
        }
        shown = view[round((moment - pose.offset_s) * FPS)]
        panels.append(drawing.with_skeletons(drawing.shade(shown), people, view.camera, ids=True))
    drawing.write_picture(path, drawing.side_by_side(panels))


def _seen_by(joint: JointLike, pose: CameraPose) -> Joint:
    x, y, z = ((np.array(joint.position) - pose.translation) @ pose.rotation).tolist()
    return Joint((x, y, z), True, joint.confidence)


def report(seed: int, how: str, views: Sequence[Recording], rig: CameraRig) -> None:
    """Print the errors of the poses that were found."""
    for view, pose in zip(views[1:], rig.cameras[1:], strict=True):
        rotation, translation = view.pose
        print(
            f"seed {seed}, {how}, {pose.name}: {100 * np.linalg.norm(pose.translation - translation):.2f} cm, "
            f"{degrees(pose.rotation @ rotation.T):.2f} degrees, {1000 * (pose.offset_s - view.start_s):+.0f} ms",
            flush=True,
        )


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--people", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="folder for the joints that were found")
    parser.add_argument("--picture", type=Path, help="draw the last recording")
    args = parser.parse_args()
    for seed in args.seeds:
        views = cameras(seed, args.seconds, args.people)
        keep = [args.keep / f"{seed}_{args.people}_{n}.json" if args.keep else None for n in range(len(views))]
        both = [found_joints(view, path) for view, path in zip(views, keep, strict=True)]
        found, floors = [frames for frames, _ in both], [floor for _, floor in both]
        report(seed, "joints alone", views, calibrate(found))
        rig = calibrate(found, floors=floors)
        report(seed, "joints and floors", views, rig)
        alone = [mean_precision(frames, truth_of(view)) for frames, view in zip(found, views, strict=True)]
        fused = fuse(found, rig)
        together = mean_precision(fused, truth_of(views[0]))
        shown = ", ".join(f"{100 * value:.1f}" for value in alone)
        gain = 100 * (together - max(alone))
        print(f"seed {seed}: mean average precision {shown}; fused {100 * together:.1f}, {gain:+.1f}", flush=True)
        if args.picture is not None:
            draw(args.picture, views, rig, fused, args.seconds / 2)


if __name__ == "__main__":
    main()
