"""The outputs of `label` for a frame: pictures, probabilities and figures, each kind in a folder of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from depthforest.base import Parameter, UsageError, make_folder, replacing
from depthforest.frames import NO_PART, drawing
from depthforest.joints import TO_UP, FrameJoints, read_joints, write_joints
from depthforest.pipeline.merging import PeopleLabels, summary

SCHEMA = 1
"""Schema version of the JSON files; docs/LABELING.md describes it."""

TOP_PARTS = 3
"""How many of the most probable parts the npz files have; all 31 would take ten times the space."""

JOINTS = "joints"
JOINTS_TABLE = "joints.csv"
"""File with the joints of all frames of a run."""

ENDINGS = {
    "parts": ".png",
    "overlay": ".png",
    "confidence": ".png",
    "probabilities": ".npz",
    "json": ".json",
    JOINTS: ".json",
    "ply": ".ply",
}
"""Output of a frame -> ending of its file; the folder has the output's name."""

MOTION = {
    "bvh": ".bvh",
    "c3d": ".c3d",
    "gltf": ".glb",
    "rerun": ".rrd",
    "angles": ".csv",
    "bones": ".csv",
    "wide": ".csv",
}
"""Output of a tracked person -> ending of its file; the folder has the output's name."""

VIDEO = "video"
VIDEO_FILE = "video.mp4"

DEFAULT = ("parts", "overlay")

_POINT = np.dtype([("place", "<f4", 3), ("color", "u1", 3), ("part", "u1"), ("person", "u1")])
"""Layout of a point in a PLY file."""


def parse_outputs(text: str | None) -> tuple[str, ...]:
    """Return the outputs that a list such as "parts,json" names, in a fixed order."""
    if text is None:
        return DEFAULT
    named = [word.strip() for word in text.split(",") if word.strip()]
    known = (*ENDINGS, *MOTION, VIDEO)
    for word in named:
        if word not in known:
            raise UsageError(
                f"{word!r} is not an output; ",
                Parameter("outputs"),
                f" takes {', '.join(known)}, with commas between them",
            )
    if not named:
        raise UsageError(Parameter("outputs"), f" needs at least one of {', '.join(known)}")
    return tuple(word for word in known if word in named)


def output_path(folder: Path, kind: str, name: str) -> Path:
    """Return the file of one output of a frame; names come from `outfolder`."""
    return folder / kind / f"{name}{ENDINGS[kind]}"


def frame_outputs(kinds: Iterable[str]) -> list[str]:
    """Return the outputs that each frame has: neither motion nor the video."""
    return [kind for kind in kinds if kind in ENDINGS]


def picture(labels: PeopleLabels) -> drawing.Picture:
    """Return the two panels side by side."""
    return drawing.side_by_side(panels(labels))


def panels(labels: PeopleLabels) -> list[drawing.Picture]:
    """Return the shaded depth, with skeletons where joints were found, and the same with the parts laid over it."""
    shaded = drawing.shade(labels.frame)
    parts = drawing.overlay(labels.frame, labels.parts, labels.part_set, shaded=shaded)
    if labels.joints is not None:
        camera, is_crowd = labels.frame.camera, len(labels.joints) > 1
        shaded = drawing.with_skeletons(shaded, labels.joints, camera, ids=is_crowd, least=drawing.DRAWN_CONFIDENCE)
    return [shaded, parts]


def write_outputs(
    folder: Path,
    name: str,
    labels: PeopleLabels,
    kinds: Iterable[str],
    *,
    overlay: drawing.Picture | None = None,
    origin: dict[str, Any] | None = None,
) -> None:
    """Write the outputs of a frame, each atomically.

    Parameters
    ----------
    folder : Path
    name : str
        Name of the frame in the folder.
    labels : PeopleLabels
    kinds : iterable of str
        Keys of `ENDINGS`.
    overlay : picture, optional
        The result of `picture`, if it is available.
    origin : dict, optional
        JSON entries about the source of the frame and how it was labeled.
    """
    for kind in kinds:
        path = output_path(folder, kind, name)
        make_folder(path.parent)
        if kind == "parts":
            drawing.write_labels(path, labels.parts, labels.part_set)
        elif kind == "overlay":
            drawing.write_picture(path, picture(labels) if overlay is None else overlay)
        elif kind == "confidence":
            drawing.write_confidence(path, labels.confidence)
        elif kind == "probabilities":
            _write_probabilities(path, labels)
        elif kind == JOINTS:
            assert labels.joints is not None  # requested with this output
            write_joints(path, [FrameJoints(name, labels.joints, labels.frame.time_s, labels.frame.camera)])
        elif kind == "ply":
            _write_cloud(path, labels)
        else:
            camera, time_s = labels.frame.camera.to_dict(), labels.frame.time_s
            head = {"schema": SCHEMA, "name": name, **({} if time_s is None else {"time_s": time_s}), **(origin or {})}
            content = {**head, "camera": camera, "people": summary(labels)}
            with replacing(path) as file:
                file.write((json.dumps(content, indent=1) + "\n").encode())


def _write_probabilities(path: Path, labels: PeopleLabels) -> None:
    assert labels.top is not None  # requested with this output
    parts, probabilities = labels.top
    names = np.array(labels.part_set.names)
    arrays: dict[str, Any] = {"parts": parts, "probabilities": probabilities.astype(np.float16), "names": names}
    if labels.frame.time_s is not None:
        arrays["time_s"] = np.array(labels.frame.time_s)
    with replacing(path) as file:
        np.savez_compressed(file, **arrays)


def _write_cloud(path: Path, labels: PeopleLabels) -> None:
    """Write the labeled pixels as points of motion space, y up, in the colors of their parts: binary PLY."""
    is_labeled = labels.parts != NO_PART
    points = np.empty(int(np.count_nonzero(is_labeled)), dtype=_POINT)
    points["place"] = labels.frame.points()[is_labeled] * TO_UP
    points["color"] = np.array(labels.part_set.colors, dtype=np.uint8)[labels.parts[is_labeled]]
    points["part"], points["person"] = labels.parts[is_labeled], labels.people.map[is_labeled]
    time = "" if labels.frame.time_s is None else f"comment time_s {labels.frame.time_s!r}\n"
    names = "".join(f"comment part {number} {name}\n" for number, name in enumerate(labels.part_set.names))
    columns = [("float", axis) for axis in "xyz"]
    columns += [("uchar", name) for name in ("red", "green", "blue", "part", "person")]
    head = f"ply\nformat binary_little_endian 1.0\ncomment meters, y up, z toward the camera\n{time}{names}"
    head += f"element vertex {len(points)}\n" + "".join(f"property {kind} {name}\n" for kind, name in columns)
    with replacing(path) as file:
        file.write(f"{head}end_header\n".encode())
        file.write(points.tobytes())


def write_table(folder: Path, names: Iterable[str]) -> None:
    """Write the table of all joints from the files of the frames with these names."""
    frames = (frame for name in names for frame in read_joints(output_path(folder, JOINTS, name)))
    write_joints(folder / JOINTS_TABLE, frames)
