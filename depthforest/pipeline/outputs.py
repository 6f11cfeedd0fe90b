"""What `label` writes of a frame: pictures, probabilities and figures, each in a folder of its own; and one video."""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

import cv2
import numpy as np

from depthforest.base import DepthForestError, Parameter, UsageError, make_folder, reason, replacing
from depthforest.frames import drawing
from depthforest.joints import FrameJoints, read_joints, write_joints
from depthforest.pipeline.merging import PeopleLabels, summary

SCHEMA = 1
"""Of the JSON files; docs/LABELING.md describes it."""

TOP_PARTS = 3
"""How many of the most probable parts the npz files hold; all of 31 would be ten times the size."""

JOINTS = "joints"
JOINTS_TABLE = "joints.csv"
"""The joints of all frames of a run."""

ENDINGS = {
    "parts": ".png",
    "overlay": ".png",
    "confidence": ".png",
    "probabilities": ".npz",
    "json": ".json",
    JOINTS: ".json",
}
"""Output of a frame -> ending of its file; the folder is called as the output."""

VIDEO = "video"
VIDEO_FILE = "video.mp4"
VIDEO_CODEC = "mp4v"
"""MPEG-4 part 2: every build of OpenCV with a video writer encodes it, whereas H.264 is missing in those of PyPI."""

DEFAULT = ("parts", "overlay")


def parse_outputs(text: str | None) -> tuple[str, ...]:
    """Return the outputs that a list such as "parts,json" names, in a fixed order."""
    if text is None:
        return DEFAULT
    named = [word.strip() for word in text.split(",") if word.strip()]
    known = (*ENDINGS, VIDEO)
    for word in named:
        if word not in known:
            raise UsageError(
                f"{word!r} is no output; ", Parameter("outputs"), f" takes {', '.join(known)}, with commas between them"
            )
    if not named:
        raise UsageError(Parameter("outputs"), f" needs at least one of {', '.join(known)}")
    return tuple(word for word in known if word in named)


def output_path(folder: Path, kind: str, name: str) -> Path:
    """Return the file of one output of a frame; names come from `outfolder`."""
    return folder / kind / f"{name}{ENDINGS[kind]}"


def frame_outputs(kinds: Iterable[str]) -> list[str]:
    """Return the outputs that each frame has: all but the video."""
    return [kind for kind in kinds if kind != VIDEO]


def picture(labels: PeopleLabels) -> drawing.Picture:
    """Return the two panels side by side."""
    return drawing.side_by_side(panels(labels))


def panels(labels: PeopleLabels) -> list[drawing.Picture]:
    """Return the shaded depth, with skeletons where joints were found, and the same with the parts laid over it."""
    shaded = drawing.shade(labels.frame)
    parts = drawing.overlay(labels.frame, labels.parts, labels.part_set, shaded=shaded)
    if labels.joints is not None:
        camera, is_crowd = labels.frame.camera, len(labels.joints) > 1
        shaded = drawing.draw_skeletons(shaded, labels.joints, camera, ids=is_crowd, least=drawing.DRAWN_CONFIDENCE)
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
    """Write the outputs of a frame, each whole or not at all.

    Parameters
    ----------
    folder : Path
    name : str
        Of the frame in the folder.
    labels : PeopleLabels
    kinds : iterable of str
        Keys of `ENDINGS`.
    overlay : picture, optional
        What `picture` returned, where it is at hand.
    origin : dict, optional
        What the JSON says of where the frame comes from and how it was labeled.
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
            assert labels.joints is not None  # asked for with this output
            write_joints(path, [FrameJoints(name, labels.joints, camera=labels.frame.camera)])
        else:
            camera = labels.frame.camera.to_dict()
            content = {"schema": SCHEMA, "name": name, **(origin or {}), "camera": camera, "people": summary(labels)}
            with replacing(path) as file:
                file.write((json.dumps(content, indent=1) + "\n").encode())


def _write_probabilities(path: Path, labels: PeopleLabels) -> None:
    assert labels.top is not None  # asked for with this output
    parts, probabilities = labels.top
    names = np.array(labels.part_set.names)
    with replacing(path) as file:
        np.savez_compressed(file, parts=parts, probabilities=probabilities.astype(np.float16), names=names)


def write_table(folder: Path, names: Iterable[str]) -> None:
    """Write the table of all joints from the files of the frames with these names."""
    frames = (frame for name in names for frame in read_joints(output_path(folder, JOINTS, name)))
    write_joints(folder / JOINTS_TABLE, frames)


class VideoFile:
    """An MP4 of pictures that takes its place when the block ends well and at least one picture was added.

    Parameters
    ----------
    path : Path
        In a folder that exists.
    fps : float
        Pictures a second.

    Notes
    -----
    The video is as large as its first picture, rounded up to even numbers. Pictures of other sizes are scaled to fit,
    with black borders.
    """

    def __init__(self, path: Path, fps: float) -> None:
        self._path = path
        self._fps = fps
        # OpenCV knows the container by the ending
        self._temporary = path.with_name(f".{secrets.token_hex(6)}.part{path.suffix}")
        self._writer: Any = None
        self._size = 0, 0
        self.n_resized = 0

    def __enter__(self) -> VideoFile:
        return self

    def add(self, picture: drawing.Picture) -> None:
        """Add an RGB picture."""
        if self._writer is None:
            self._size = picture.shape[1] + picture.shape[1] % 2, picture.shape[0] + picture.shape[0] % 2
            code = cv2.VideoWriter.fourcc(*VIDEO_CODEC)
            self._writer = cv2.VideoWriter(str(self._temporary), code, self._fps, self._size)
            if not self._writer.isOpened():
                raise DepthForestError(
                    f"{self._path}: OpenCV cannot write MP4 here (codec {VIDEO_CODEC}); leave video out of ",
                    Parameter("outputs"),
                    ", and make it of the pictures in overlay/ with another program",
                )
        fitted, is_resized = letterboxed(picture, self._size)
        self.n_resized += is_resized
        self._writer.write(cv2.cvtColor(fitted, cv2.COLOR_RGB2BGR))

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        try:
            if self._writer is None:
                return
            self._writer.release()
            if kind is None:
                # OpenCV tells nothing about a full disk
                if not self._temporary.is_file() or self._temporary.stat().st_size == 0:
                    raise DepthForestError(f"{self._path}: OpenCV has written no video; is the disk full?")
                self._temporary.replace(self._path)
        except OSError as error:
            raise DepthForestError(f"{self._path}: cannot be written: {reason(error)}") from None
        finally:
            with contextlib.suppress(OSError):
                self._temporary.unlink(missing_ok=True)


def letterboxed(picture: drawing.Picture, size: tuple[int, int]) -> tuple[drawing.Picture, bool]:
    """Return a picture at the size (width, height), centred on black, and whether it had to be scaled."""
    width, height = size
    is_same = (picture.shape[1] + picture.shape[1] % 2, picture.shape[0] + picture.shape[0] % 2) == size
    if not is_same:
        scale = min(width / picture.shape[1], height / picture.shape[0])
        fitting = max(1, int(picture.shape[1] * scale)), max(1, int(picture.shape[0] * scale))
        picture = np.asarray(
            cv2.resize(picture, fitting, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_NEAREST)
        )
    canvas = np.zeros((height, width, 3), dtype=np.uint8)
    top, left = (height - picture.shape[0]) // 2, (width - picture.shape[1]) // 2
    canvas[top : top + picture.shape[0], left : left + picture.shape[1]] = picture
    return canvas, not is_same
