"""Frames worth viewing: the best and the worst of an evaluation, those on which models differ, and marked ones.

Each is drawn beside the truth, cropped to the people in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from depthforest.base import Bools
from depthforest.evaluation.figures import Evaluation
from depthforest.evaluation.judging import joint_finder
from depthforest.evaluation.marks import FrameMarks, frame_of, marked_regions, split_people
from depthforest.evaluation.options import JointFinder, JudgeOptions
from depthforest.evaluation.partmaps import comparable
from depthforest.evaluation.report.svg import percent
from depthforest.forest import Forest
from depthforest.frames import NO_PART, Camera, Frame, Joint, Joints, LabeledFrame, Picture, drawing

N_BEST, N_WORST, N_APART = 3, 5, 2
MIN_SIZE = 0.25
"""Frames with fewer labeled pixels than this share of the median are skipped: slivers say little."""

MARGIN = 0.06
"""Margin around the people, as a share of their longer side."""

MAX_SIDE_PX = 440
RIGHT_COLOR, WRONG_COLOR = (70, 74, 80), (255, 110, 40)
MARK_RIGHT, MARK_WRONG = (255, 255, 255), (255, 40, 40)


@dataclass(frozen=True, eq=False)
class Shot:
    """A picture and its caption."""

    caption: str
    picture: Picture


@dataclass(frozen=True, eq=False)
class Example:
    """A frame beside the truth.

    Parameters
    ----------
    kind : "worst", "best", "apart" or "marks"
    title : str
    shots : tuple of Shot
    """

    kind: str
    title: str
    shots: tuple[Shot, ...]


def choose_frames(evaluations: Sequence[Evaluation]) -> list[tuple[str, int]]:
    """Return (kind, frame index) of the frames to show, worst first; a frame is shown once."""
    accuracies = np.stack([e.frame_accuracies for e in evaluations])
    sizes = evaluations[0].frame_pixels
    is_shown = sizes >= MIN_SIZE * np.median(sizes[sizes > 0]) if (sizes > 0).any() else sizes > 0
    candidates = np.flatnonzero(is_shown)
    means = accuracies[:, candidates].mean(axis=0)
    order = candidates[np.argsort(means, kind="stable")].tolist()
    chosen = [("worst", i) for i in order[:N_WORST]] + [("best", i) for i in order[::-1][:N_BEST]]
    if len(evaluations) > 1:
        gaps = candidates[np.argsort(accuracies[1, candidates] - accuracies[0, candidates], kind="stable")].tolist()
        chosen += [("apart", i) for i in (*gaps[:N_APART], *gaps[::-1][:N_APART])]
    kinds: dict[int, str] = {}
    for kind, index in chosen:
        kinds.setdefault(index, kind)
    return [(kind, index) for index, kind in kinds.items()]


def draw_examples(
    names: Sequence[str],
    forests: Sequence[Forest],
    evaluations: Sequence[Evaluation],
    data: Sequence[LabeledFrame],
    frame_names: Sequence[str],
    options: JudgeOptions,
) -> list[Example]:
    """Label the chosen frames again and draw them.

    Parameters
    ----------
    names : sequence of str
        Names of the models.
    forests, evaluations : sequences
        The models and their evaluations, in the same order.
    data : sequence of LabeledFrame
        The evaluated frames; `frame_names` has their names.
    options : JudgeOptions
        How they were evaluated.
    """
    examples = []
    finders = [joint_finder(forest.part_set, options.joints, exact=options.exact)[0] for forest in forests]
    for kind, index in choose_frames(evaluations):
        frame = data[index]
        box = people_box(frame.people > 0)
        shaded = drawing.shade(frame)
        truth = drawing.overlay(frame, frame.parts, frame.part_set, shaded=shaded)
        shots = [
            Shot("depth and true joints" if frame.joints else "depth", cut(shaded, box, frame.camera, frame.joints)),
            Shot("truth", cut(truth, box)),
        ]
        for name, forest, finder, evaluation in zip(names, forests, finders, evaluations, strict=True):
            parts, found = _answers(forest, frame, options, finder, labeled_people(frame))
            picture = drawing.overlay(frame, parts, forest.part_set, shaded=shaded)
            right = percent(float(evaluation.frame_accuracies[index]), 0)
            caption = f"{right} right" if len(names) == 1 else f"{name}: {right} right"
            shots.append(Shot(caption, cut(picture, box, frame.camera, found)))
            if len(names) == 1:
                shots.append(Shot("wrong pixels", cut(_errors(frame, parts, forest), box)))
        examples.append(Example(kind, f"frame {frame_names[index]}", tuple(shots)))
    return examples


def draw_marks(
    names: Sequence[str],
    forests: Sequence[Forest],
    marks: Mapping[str, FrameMarks],
    frames: Mapping[str, Frame],
    options: JudgeOptions,
) -> list[Example]:
    """Draw every marked frame with the answers of all models; parameters as in `draw_examples` and `score_marks`."""
    examples = []
    for name, own in marks.items():
        frame = frame_of(name, marks, frames)
        shaded, people = drawing.shade(frame), split_people(frame, own)
        shots = []
        for model, forest in zip(names, forests, strict=True):
            finder = joint_finder(forest.part_set, options.joints, exact=options.exact)[0]
            parts, found = _answers(forest, frame, options, finder, people)
            picture = drawing.overlay(frame, parts, forest.part_set, shaded=shaded)
            is_right = comparable(marked_regions(marks, forest.part_set), forest.part_set)[0].is_right
            picture, n_right, n = _with_points(picture, own, parts, is_right, forest, marks)
            shots.append(
                Shot(f"{model}: {n_right} of {n} points", cut(picture, people_box(people > 0), frame.camera, found))
            )
        examples.append(Example("marks", name, tuple(shots)))
    return examples


def _with_points(
    picture: Picture,
    own: FrameMarks,
    parts: npt.NDArray[np.uint8],
    is_right: Bools,
    forest: Forest,
    marks: Mapping[str, FrameMarks],
) -> tuple[Picture, int, int]:
    """Return the picture with points (white if correct, else red), the number of correct points, and of all points."""
    regions = marked_regions(marks, forest.part_set)
    drawn, n_right, n = np.ascontiguousarray(picture).copy(), 0, 0
    for person in own.people:
        for row, col, region in person.points:
            answered = int(parts[row, col])
            is_good = answered != NO_PART and bool(is_right[regions.index(region), answered])
            n, n_right = n + 1, n_right + is_good
            _draw_mark(drawn, row, col, is_good=is_good)
    return drawn, n_right, n


def _draw_mark(picture: Picture, row: int, col: int, *, is_good: bool) -> None:
    """Draw a white square for a correct answer, a red cross for a wrong one: they differ even without color."""
    for size, color in ((4, (20, 20, 20)), (3, MARK_RIGHT if is_good else MARK_WRONG)):
        if is_good:
            cv2.rectangle(picture, (col - size, row - size), (col + size, row + size), color, -1)
        else:
            arm, thick = size + 2, 5 if size == 4 else 2
            cv2.line(picture, (col - arm, row - arm), (col + arm, row + arm), color, thick)
            cv2.line(picture, (col - arm, row + arm), (col + arm, row - arm), color, thick)


def _answers(
    forest: Forest,
    frame: Frame,
    options: JudgeOptions,
    finder: JointFinder | None,
    people: npt.NDArray[np.uint8],
) -> tuple[npt.NDArray[np.uint8], list[dict[str, Joint]]]:
    """Return the parts of all people of a frame, and the joints of each."""
    parts = np.full(frame.shape, NO_PART, dtype=np.uint8)
    joints = []
    for person in (int(i) for i in np.unique(people) if i):
        mask = people == person
        labeling = forest.label(frame, mask, mirror=options.mirror, exact=options.exact, threads=1)
        np.copyto(parts, labeling.parts, where=mask)
        if finder is not None:
            found = finder(frame, labeling)
            shown = {n: j for n, j in found.items() if j.confidence >= drawing.DRAWN_CONFIDENCE}
            joints.append({name: Joint(joint.position) for name, joint in shown.items()})
    return parts, joints


def labeled_people(frame: LabeledFrame) -> npt.NDArray[np.uint8]:
    """Return the people map (rows, cols) without people who have no labeled pixel."""
    is_known = np.zeros(256, dtype=np.bool_)
    is_known[frame.people[frame.parts != NO_PART]] = True
    return np.where(is_known[frame.people], frame.people, np.uint8(0))


def _errors(frame: LabeledFrame, parts: npt.NDArray[np.uint8], forest: Forest) -> Picture:
    """Return a picture of correct (gray) and wrong (orange) pixels."""
    is_right = comparable(frame.part_set, forest.part_set)[0].is_right
    picture = np.zeros((*frame.shape, 3), dtype=np.uint8)
    is_counted = (frame.parts != NO_PART) & (parts != NO_PART)
    is_good = np.zeros(frame.shape, dtype=np.bool_)
    is_good[is_counted] = is_right[frame.parts[is_counted], parts[is_counted]]
    picture[is_counted & is_good] = RIGHT_COLOR
    picture[is_counted & ~is_good] = WRONG_COLOR
    return picture


def people_box(mask: Bools) -> tuple[slice, slice]:
    """Return the rows and columns around the people of a mask (rows, cols), with a margin; all if there is nobody."""
    if not mask.any():
        return slice(None), slice(None)
    spans = [np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0)]
    margin = round(MARGIN * max(int(s[-1] - s[0]) + 1 for s in spans)) + 2
    rows, cols = (slice(max(0, int(s[0]) - margin), int(s[-1]) + margin + 1) for s in spans)
    return rows, cols


def cut(
    picture: Picture,
    box: tuple[slice, slice],
    camera: Camera | None = None,
    joints: Mapping[int, Joints] | Sequence[Joints] = (),
) -> Picture:
    """Return part of a picture, scaled to about `MAX_SIDE_PX`, with joints drawn last, so that their lines stay thin.

    Small pictures are enlarged by whole factors, so that pixels stay square.
    """
    piece = np.ascontiguousarray(picture[box])
    height, width = piece.shape[:2]
    longest = max(height, width)
    scale = max(1, round(MAX_SIDE_PX / longest)) if longest <= MAX_SIDE_PX else MAX_SIDE_PX / longest
    size = max(1, round(width * scale)), max(1, round(height * scale))
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_NEAREST
    resized = np.asarray(cv2.resize(piece, size, interpolation=how), dtype=np.uint8)
    if camera is None or not joints:
        return resized
    seen = camera.cropped(box[0].start or 0, box[1].start or 0, height, width).scaled(*size)
    return drawing.draw_joints(resized, seen, joints)
