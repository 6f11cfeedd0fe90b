"""Pictures to view: the bundled samples, frames as they were read, contact sheets."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from depthforest.base import DepthForestError, make_folder, samples_folder
from depthforest.forest import Forest
from depthforest.frames import NO_PART, Frame, LabeledFrame, drawing
from depthforest.io import FrameSequence, open_dataset
from depthforest.joints import FrameJoints, known_joints, write_joints
from depthforest.people import find_people
from depthforest.pipeline import PeopleLabels, label_people, panels

MAX_SHEET_PICTURES = 60
SHEET_CELL_PX = 320
NEAR_M = 0.1
"""A joint within this distance of the truth counts as found."""

FOUND_IOU = 0.3
"""A person counts as found if a found mask has at least this intersection over union with theirs."""


def labeled_picture(frame: LabeledFrame) -> drawing.Picture:
    """Return two pictures of a labeled frame side by side: shaded, and with its parts and joints."""
    parts = drawing.overlay(frame, frame.parts, frame.part_set)
    return drawing.side_by_side([drawing.shade(frame), drawing.draw_joints(parts, frame.camera, frame.joints)])


@dataclass(frozen=True)
class SampleFigures:
    """A forest's results on a sample frame.

    Parameters
    ----------
    people, found, false : int
        Number of true people, of those found, and of false masks.
    right : float or None
        Share of the people's pixels with the correct part; None if the forest has different parts.
    joints, near : int
        Visible joints of the frame, and how many of them have a joint of that name within `NEAR_M`.
    seconds : float
        Time to find people, label them and find joints, once everything is compiled.
    """

    people: int
    found: int
    false: int
    right: float | None
    joints: int
    near: int
    seconds: float


def draw_samples(output: Path, forest: Forest | None) -> dict[str, SampleFigures]:
    """Draw the bundled sample frames into a folder; a forest labels them as `label` does.

    Each row has the shaded frame with the found skeletons, the found parts, and the true parts and joints. Without a
    forest, it has the shaded frame and the truth. With one, joints.json is written and the figures are returned.
    """
    samples = open_dataset(samples_folder())
    part_set = samples.part_set if forest is None else forest.part_set
    make_folder(output)
    rows, figures, joints = [], {}, []
    for name, frame in zip(samples.names, samples, strict=True):
        truth = drawing.overlay(frame, frame.parts, frame.part_set)
        with_joints = drawing.draw_joints(truth, frame.camera, frame.joints)
        parts = frame.parts
        if forest is None:
            row = drawing.side_by_side([drawing.shade(frame), truth, with_joints])
        else:
            _label_sample(forest, frame)  # compiles
            started = time.perf_counter()
            labels = _label_sample(forest, frame)
            seconds = time.perf_counter() - started
            parts = labels.parts
            row = drawing.side_by_side([*panels(labels), with_joints])
            figures[name] = _figures(frame, labels, seconds)
            if labels.joints is not None:
                joints.append(FrameJoints(name, labels.joints, camera=frame.camera))
        drawing.write_picture(output / f"{name}.png", row)
        drawing.write_labels(output / f"{name}.parts.png", parts, part_set)
        rows.append(row)
    columns = "depth, parts, joints" if forest is None else "joints found, parts found, the truth"
    titles = [f"{name}: {columns}" for name in samples.names]
    drawing.write_picture(output / "legend.png", drawing.legend(part_set, columns=2))
    drawing.write_picture(output / "sheet.png", drawing.contact_sheet(rows, columns=1, titles=titles))
    if joints:
        write_joints(output / "joints.json", joints)
    return figures


def _label_sample(forest: Forest, frame: Frame) -> PeopleLabels:
    has_joints = bool(known_joints(forest.part_set))
    return label_people(forest, frame, find_people(frame), joints=has_joints)


def _figures(frame: LabeledFrame, labels: PeopleLabels, seconds: float) -> SampleFigures:
    is_known = frame.parts != NO_PART
    right = None
    if labels.part_set.names == frame.part_set.names:
        right = float(np.mean(labels.parts[is_known] == frame.parts[is_known]))
    pairs = match_people(frame.people, labels.people.map)
    found = list((labels.joints or {}).values())
    visible = [(name, joint) for its in frame.joints.values() for name, joint in its.items() if joint.is_visible]
    near = sum(
        any(name in its and math.dist(its[name].position, joint.position) <= NEAR_M for its in found)
        for name, joint in visible
    )
    n_people, n_false = len(np.unique(frame.people[frame.people > 0])), len(labels.ids) - len(pairs)
    return SampleFigures(n_people, len(pairs), n_false, right, len(visible), near, seconds)


def match_people(
    truth: npt.NDArray[np.uint8], found: npt.NDArray[np.uint8], least: float = FOUND_IOU
) -> dict[int, tuple[int, float]]:
    """Return for each found person the id of the mask and the IoU; pairs with the highest IoU are matched first.

    Parameters
    ----------
    truth, found : array (rows, cols), uint8
        Person ids; 0 = nobody.
    least : float
        Smallest IoU of a pair, above 0. Each mask belongs to at most one person.
    """
    pairs: dict[int, tuple[int, float]] = {}
    taken: set[int] = set()
    people, masks = (np.unique(ids[ids > 0]).tolist() for ids in (truth, found))
    ious = {}
    for person, mask in itertools.product(people, masks):
        is_person, is_found = truth == person, found == mask
        ious[person, mask] = np.count_nonzero(is_person & is_found) / np.count_nonzero(is_person | is_found)
    for (person, mask), iou in sorted(ious.items(), key=lambda pair: -pair[1]):
        if iou >= least and person not in pairs and mask not in taken:
            pairs[person] = mask, iou
            taken.add(mask)
    return pairs


def draw_frames(
    frames: FrameSequence, output: Path, tell: Callable[[str, Frame], object], advance: Callable[[int], object]
) -> tuple[int, int, list[DepthForestError]]:
    """Draw shaded frames into a folder, and a sheet of the first of them.

    Parameters
    ----------
    frames : FrameSequence
    output : Path
    tell : callable
        Called with the name and the frame of each picture on the sheet.
    advance : callable
        Called with 1 for every frame.

    Returns
    -------
    (int, int, list of DepthForestError)
        Frames drawn, frames on the sheet, and errors of frames that could not be read.
    """
    failures: list[DepthForestError] = []
    cells: dict[str, drawing.Picture] = {}
    taken: set[str] = set()
    n_drawn = 0
    for name, frame in frames.named():
        advance(1)
        if isinstance(frame, DepthForestError):
            failures.append(frame)
            continue
        shaded = drawing.shade(frame)
        stem = _unused(name.stem, taken)
        if not n_drawn:
            make_folder(output)
        drawing.write_picture(output / f"{stem}.shaded.png", shaded)
        n_drawn += 1
        if len(cells) < MAX_SHEET_PICTURES:
            cells[stem] = drawing.contact_sheet([shaded], cell_width=SHEET_CELL_PX)
            tell(stem, frame)
    if len(cells) > 1:
        drawing.write_picture(output / "sheet.png", drawing.contact_sheet([*cells.values()], titles=[*cells]))
    return n_drawn, len(cells), failures


def _unused(base: str, taken: set[str]) -> str:
    """Return a name that was not used before: the base, or the base with a number."""
    stem, number = base, 2
    while stem in taken:
        stem, number = f"{base}_{number}", number + 1
    taken.add(stem)
    return stem
