"""Hand-made marks on real frames (regions at points, and joints in the picture), and a forest's score on them.

A marks file is JSON, one entry for each frame:

    {"NAME": {"width": 640, "height": 480, "people": [
        {"points": [[col, row, "torso"], ...],
         "joints": {"head": [col, row, true], "wrist_l": [col, row, false], "hip_l": null, ...}}]}}

A joint's flag says whether it is visible; null means that it is outside the picture; joints without an entry are not
evaluated. Other keys are ignored.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import (
    DatasetError,
    DepthForestWarning,
    UsageError,
    is_number,
    is_whole,
    map_in_order,
    natural_key,
    read_json,
    reason,
)
from depthforest.evaluation.figures import Evaluation
from depthforest.evaluation.judging import ForestJudge, JudgedJoint, JudgedPerson
from depthforest.evaluation.options import JudgeOptions
from depthforest.evaluation.scores import Calibration, count_pairs
from depthforest.evaluation.views import PersonView, touches_border
from depthforest.forest import Forest
from depthforest.frames import JOINTS, NO_PART, REGIONS15, CameraLike, Frame, PartSet
from depthforest.io import is_recording, open_source, read_depth

MAX_SIDE_PX = 1 << 16

KEPT_FRAMES = 8
"""How many marked frames are kept in memory; others are read once for every model."""


class MarkedFrames(Mapping[str, Frame]):
    """The depth frames of a folder by their names without ending, read on demand.

    Frames of a stack or a recording are named after it and their number from 0, as in `walk_000017`.
    """

    def __init__(self, folder: str | Path, camera: CameraLike | None = None) -> None:
        if is_recording(folder):
            source = open_source(folder, camera)
            numbers = {name.stem: number for number, name in enumerate(source.names())}
            self._files: dict[str, Path] = dict.fromkeys(numbers, Path(folder))
            self._read = lru_cache(KEPT_FRAMES)(lambda name: source[numbers[name]])
            return
        try:
            files = [f for f in Path(folder).iterdir() if f.is_file() and not f.name.startswith(".")]
        except OSError as error:
            raise UsageError(f"{folder}: cannot be read as the folder of the marked frames: {reason(error)}") from None
        # a picture takes precedence over notes of the same name
        order = sorted(files, key=lambda f: (f.suffix.lower() in (".json", ".md", ".txt"), natural_key(f.name)))
        self._files = {}
        for file in order:
            self._files.setdefault(file.stem, file)
        self._read = lru_cache(KEPT_FRAMES)(lambda name: read_depth(self._files[name], camera))

    def __getitem__(self, name: str) -> Frame:
        if name not in self._files:
            raise KeyError(name)
        return self._read(name)

    def __contains__(self, name: object) -> bool:
        return name in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


@dataclass(frozen=True)
class MarkedJoint:
    """A joint in the picture.

    Parameters
    ----------
    row, col : float
        Pixels.
    is_visible : bool
    """

    row: float
    col: float
    is_visible: bool


@dataclass(frozen=True)
class PersonMarks:
    """The marks on one person.

    Parameters
    ----------
    points : tuple of (row, col, region)
        Marked pixels and their regions.
    joints : mapping of joint name to MarkedJoint or None
        None: outside the picture.
    """

    points: tuple[tuple[int, int, str], ...]
    joints: Mapping[str, MarkedJoint | None]


@dataclass(frozen=True)
class FrameMarks:
    """The marks on one frame of (rows, cols)."""

    shape: tuple[int, int]
    people: tuple[PersonMarks, ...]


def read_marks(path: str | Path) -> dict[str, FrameMarks]:
    """Read a marks file; a DatasetError names the frame, the person and the invalid mark."""
    content = read_json(Path(path), DatasetError)
    if not isinstance(content, Mapping) or not content:
        raise DatasetError(f"{path}: expected an object with one entry for each marked frame")
    try:
        return {name: _frame_marks(name, entry) for name, entry in content.items()}
    except DatasetError as error:
        raise DatasetError(f"{path}: {error}") from None


def _frame_marks(name: str, entry: object) -> FrameMarks:
    if not isinstance(entry, Mapping) or not {"width", "height", "people"} <= set(entry):
        raise DatasetError(f"frame {name}: expected an object with width, height and people")
    width, height, people = entry["width"], entry["height"], entry["people"]
    if not all(is_whole(side) and 0 < side < MAX_SIDE_PX for side in (width, height)):
        raise DatasetError(f"frame {name}: width and height must be whole pixels, got {width!r} and {height!r}")
    if not isinstance(people, Sequence) or isinstance(people, str):
        raise DatasetError(f"frame {name}: people must be a list, got {type(people).__name__}")
    shape = height, width
    return FrameMarks(shape, tuple(_person(f"frame {name}, person {i + 1}", p, shape) for i, p in enumerate(people)))


def _person(where: str, entry: object, shape: tuple[int, int]) -> PersonMarks:
    if not isinstance(entry, Mapping):
        raise DatasetError(f"{where}: expected an object with points and joints")
    points, joints = entry.get("points", []), entry.get("joints", {})
    if not isinstance(points, list) or not isinstance(joints, Mapping):
        raise DatasetError(f"{where}: points must be a list and joints an object")
    unknown = [name for name in joints if name not in JOINTS]
    if unknown:
        raise DatasetError(f"{where}: no joint is called {unknown[0]!r}; joints: {', '.join(JOINTS)}")
    marked = tuple(_point(where, point, shape) for point in points)
    return PersonMarks(marked, {name: _joint(f"{where}, {name}", joint) for name, joint in joints.items()})


def _point(where: str, point: object, shape: tuple[int, int]) -> tuple[int, int, str]:
    if not isinstance(point, list) or len(point) != 3 or not _are_numbers(point[:2]) or not isinstance(point[2], str):
        raise DatasetError(f"{where}: a point is [col, row, region], got {point!r}"[:200])
    col, row = round(point[0]), round(point[1])
    if not (0 <= row < shape[0] and 0 <= col < shape[1]):
        raise DatasetError(f"{where}: the point {point!r} lies outside the picture of {shape[1]} x {shape[0]}")
    return row, col, point[2]


def _joint(where: str, joint: object) -> MarkedJoint | None:
    if joint is None:
        return None
    if not isinstance(joint, list) or len(joint) != 3 or not _are_numbers(joint[:2]) or not isinstance(joint[2], bool):
        raise DatasetError(f"{where}: a joint is [col, row, visible] or null, got {joint!r}"[:200])
    return MarkedJoint(float(joint[1]), float(joint[0]), joint[2])


def _are_numbers(values: list[Any]) -> bool:
    return all(is_number(v) and abs(v) < MAX_SIDE_PX for v in values)


def score_marks(
    forest: Forest,
    marks: Mapping[str, FrameMarks],
    frames: Mapping[str, Frame],
    options: JudgeOptions,
    *,
    progress: Callable[[int], object] | None = None,
) -> Evaluation:
    """Label marked frames and evaluate the answers at the marks.

    A point is correct if the answered part counts for its region: a joint band counts for either neighbor. A joint's
    distance is measured in the plane of the picture, at the proposal's own depth, because a mark has no depth.

    Parameters
    ----------
    forest : Forest
    marks : mapping of frame name to FrameMarks
        Marks from `read_marks`. Regions are names of the 15 regions, or of the forest's parts.
    frames : mapping of frame name to Frame
        Background removed: all readings are people.
    options : JudgeOptions
        Speed is not measured.
    progress : callable, optional
        Called with 1 after every frame.

    Returns
    -------
    Evaluation
        Its pixels are points; views are the marked people, in the order of the marks.
    """
    names = list(marks)
    regions = marked_regions(marks, forest.part_set)
    judge = ForestJudge(forest, regions, options)

    def look(index: int) -> tuple[int, list[tuple[PersonView, JudgedPerson]]]:
        name = names[index]
        frame, own = frame_of(name, marks, frames), marks[name]
        people, looked, n_unread = split_people(frame, own), [], 0
        for number, person in enumerate(own.people, start=1):
            mask = people == number
            labeling = judge.label(frame, mask)
            rows, cols, truth = _columns(person, regions)
            answered = labeling.parts[rows, cols]
            is_read = answered != NO_PART
            n_unread += int((~is_read).sum())
            pairs = count_pairs(truth[is_read], answered[is_read], len(regions), len(forest.part_set))
            calibration = Calibration.of(
                labeling.confidence[rows, cols][is_read], judge.is_right[truth[is_read], answered[is_read]]
            )
            found = () if judge.finder is None else _judged(judge.finder(frame, labeling), person.joints, frame)
            readings = frame.depth_mm[mask]
            distance = float(np.median(readings)) / 1000 if readings.size else float("nan")
            view = PersonView(index, number, distance, float("nan"), touches_border(mask))
            looked.append((view, JudgedPerson(pairs, calibration, found)))
        return n_unread, looked

    views: list[PersonView] = []
    n_unread = 0
    for n, looked in map_in_order(look, range(len(names)), threads=options.threads):
        n_unread += n
        for view, answer in looked:
            judge.add(len(views), answer)
            views.append(view)
        if progress is not None:
            progress(1)
    if n_unread:
        warnings.warn(
            f"{n_unread} of the marked points lie where there is no reading; they are left out",
            DepthForestWarning,
            stacklevel=2,
        )
    return judge.evaluation(len(names), tuple(views), None, options.seed)


def marked_regions(marks: Mapping[str, FrameMarks], part_set: PartSet) -> PartSet:
    """Return the part set of the marks' regions: the 15 regions, or the model's own; else raise UsageError."""
    named = dict.fromkeys(region for own in marks.values() for person in own.people for *_, region in person.points)
    for candidate in (REGIONS15, part_set):
        if set(named) <= set(candidate.names):
            return candidate
    odd = next(name for name in named if name not in REGIONS15.names)
    raise UsageError(f"no region is called {odd!r}; regions: {', '.join(REGIONS15.names)}, or the model's parts")


def frame_of(name: str, marks: Mapping[str, FrameMarks], frames: Mapping[str, Frame]) -> Frame:
    """Return a marked frame; UsageError if there is none with this name and size."""
    if name not in frames:
        raise UsageError(f"there is no frame {name!r}, which has marks; give the folder of the marked frames")
    frame, (rows, cols) = frames[name], marks[name].shape
    if frame.shape != (rows, cols):
        raise UsageError(
            f"frame {name} has {frame.shape[1]} x {frame.shape[0]} pixels, but its marks are for {cols} x {rows}; give "
            "the frames that were marked"
        )
    return frame


def split_people(frame: Frame, marks: FrameMarks) -> npt.NDArray[np.uint8]:
    """Return the person of each reading, (rows, cols): numbered from 1; the one with the nearest mark."""
    is_read = frame.depth_mm > 0
    people = is_read.astype(np.uint8)
    if len(marks.people) < 2:
        return people
    pixels = np.argwhere(is_read)
    points = frame.camera.unproject(pixels, frame.depth_mm[is_read] / 1000.0)
    nearest = np.full(len(points), np.inf)
    owner = np.ones(len(points), dtype=np.uint8)
    for number, person in enumerate(marks.people, start=1):
        for row, col, _ in person.points:
            if frame.depth_mm[row, col] == 0:
                continue
            mark = frame.camera.unproject((row, col), frame.depth_mm[row, col] / 1000.0)
            distance = ((points - mark) ** 2).sum(axis=1)
            is_nearer = distance < nearest
            nearest[is_nearer], owner[is_nearer] = distance[is_nearer], number
    people[is_read] = owner
    return people


def _columns(person: PersonMarks, regions: PartSet) -> tuple[Any, Any, npt.NDArray[np.uint8]]:
    rows = np.array([row for row, _, _ in person.points], dtype=np.int64)
    cols = np.array([col for _, col, _ in person.points], dtype=np.int64)
    return rows, cols, np.array([regions.index(region) for *_, region in person.points], dtype=np.uint8)


def _judged(
    found: Mapping[str, Any], marked: Mapping[str, MarkedJoint | None], frame: Frame
) -> tuple[JudgedJoint, ...]:
    """Measure proposals in the plane of the picture; a joint outside it is infinitely far from all of them."""
    judged = []
    for name, joint in marked.items():
        answer = found.get(name)
        proposals = () if answer is None else answer.proposals
        distances = np.array([_in_plane(p.position, joint, frame) for p in proposals], dtype=np.float64)
        confidences = np.array([p.confidence for p in proposals], dtype=np.float64)
        chosen = np.inf if answer is None else _in_plane(answer.position, joint, frame)
        confidence = 0.0 if answer is None else float(answer.confidence)
        is_visible = joint is not None and joint.is_visible
        judged.append(JudgedJoint(name, is_visible, distances, confidences, chosen, confidence))
    return tuple(judged)


def _in_plane(position: Sequence[float], joint: MarkedJoint | None, frame: Frame) -> float:
    """Return the distance in meters between a position and a mark at the same depth; infinite without a mark."""
    if joint is None:
        return float("inf")
    mark = frame.camera.unproject((joint.row, joint.col), position[2])
    return float(np.hypot(position[0] - mark[0], position[1] - mark[1]))
