"""Frames with several people: every person is labeled separately, and the answers are merged into one picture."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.forest import Forest
from depthforest.frames import NO_PART, Frame, PartSet
from depthforest.joints import JointLike, find_joints
from depthforest.people import People

ONLY_PERSON = 1
"""Id of the person of a frame without a mask."""


@dataclass(frozen=True, eq=False)
class PeopleLabels:
    """A forest's answers about all people in a frame.

    Parameters
    ----------
    frame : Frame
    people : People
        The people who are labeled.
    parts : array (rows, cols), uint8
        255 = none.
    confidence : array (rows, cols), float32
        Confidence of the label, 0 to 1; 0 without a label.
    top : (parts, probabilities) or None
        The most probable parts, (rows, cols, k) uint8, and their probabilities, float32; if requested.
    part_set : PartSet
    joints : mapping of person id to mapping of joint name to joint, or None
        Joints, if requested.
    facings : mapping of person id to float or None
        Which way people face, see `Labeling.facing`.
    confidences : mapping of person id to float
        Mean confidence of each person's labels.
    mean_shares : mapping of person id to float
        The same before calibration.
    """

    frame: Frame
    people: People
    parts: npt.NDArray[np.uint8]
    confidence: npt.NDArray[np.float32]
    top: tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]] | None
    part_set: PartSet
    joints: Mapping[int, Mapping[str, JointLike]] | None = None
    facings: Mapping[int, float | None] = field(default_factory=dict)
    confidences: Mapping[int, float] = field(default_factory=dict)
    mean_shares: Mapping[int, float] = field(default_factory=dict)

    @property
    def ids(self) -> list[int]:
        """The people, in the order of their ids."""
        return sorted(self.people.ids)


def all_readings(frame: Frame) -> People:
    """Return all readings of a frame as one person."""
    return People.of_map(np.where(frame.depth_mm > 0, np.uint8(ONLY_PERSON), np.uint8(0)))


def label_people(
    forest: Forest,
    frame: Frame,
    people: People,
    *,
    top: int | None = None,
    joints: bool = False,
    took: dict[str, float] | None = None,
    **options: Any,
) -> PeopleLabels:
    """Label every person in a frame separately.

    Parameters
    ----------
    forest : Forest
    frame : Frame
    people : People
    top : int, optional
        How many of the most probable parts to keep.
    joints : bool
        Also find joints.
    took : dict of str to float, optional
        Filled with the seconds that parts and joints took, as "parts" and "joints".
    **options
        Options of `Forest.label`: mirror, rule, reject, smooth, exact, threads.
    """
    k = None if top is None else min(top, len(forest.part_set))
    parts = np.full(frame.shape, NO_PART, dtype=np.uint8)
    confidence = np.zeros(frame.shape, dtype=np.float32)
    found: dict[int, Mapping[str, JointLike]] = {}
    ways: dict[int, float | None] = {}
    means: dict[int, float] = {}
    shares: dict[int, float] = {}
    best = None
    if k is not None:
        best = np.full((*frame.shape, k), NO_PART, np.uint8), np.zeros((*frame.shape, k), np.float32)
    times = [time.perf_counter()]
    for person in sorted(people.ids):
        is_person = people.map == person
        labeling = forest.label(frame, is_person, **options)
        np.copyto(parts, labeling.parts, where=is_person)
        np.copyto(confidence, labeling.confidence, where=is_person)
        ways[person] = labeling.facing
        shares[person] = labeling.mean_share
        n_labeled = int(np.count_nonzero(labeling.parts != NO_PART))
        means[person] = float(labeling.confidence.sum(dtype=np.float64)) / max(n_labeled, 1)
        times.append(time.perf_counter())
        if joints:
            found[person] = find_joints(frame, labeling)
        times.append(time.perf_counter())
        if best is not None:
            best_parts, probabilities = labeling.probabilities(top=k)
            np.copyto(best[0], best_parts, where=is_person[..., None])
            np.copyto(best[1], probabilities, where=is_person[..., None])
    if took is not None:
        spans = np.diff(times)
        took |= {"parts": float(spans[::2].sum()), "joints": float(spans[1::2].sum())}
    its_joints = found if joints else None
    return PeopleLabels(frame, people, parts, confidence, best, forest.part_set, its_joints, ways, means, shares)


def summary(labels: PeopleLabels) -> Sequence[Mapping[str, Any]]:
    """Return the JSON form of each person: probability, pixels, confidence, facing, centroids of parts."""
    points = labels.frame.points()
    described = []
    probable = dict(zip(labels.people.ids, labels.people.probabilities, strict=True))
    for person in labels.ids:
        is_labeled = (labels.people.map == person) & (labels.parts != NO_PART)
        parts = labels.parts[is_labeled]
        weights = [labels.confidence[is_labeled], *points[is_labeled].T]
        n_parts = len(labels.part_set)
        n_pixels = np.bincount(parts, minlength=n_parts)
        facing = labels.facings.get(person)
        # float64 sums
        sums = [np.bincount(parts, weights=w, minlength=n_parts) for w in weights]
        described.append(
            {
                "id": person,
                "probability": _rounded(probable[person]),
                "pixels": len(parts),
                "confidence": _rounded(sums[0].sum() / len(parts)) if len(parts) else None,
                "facing_degrees": None if facing is None else round(facing, 1) % 360,
                "parts": {
                    labels.part_set.names[p]: {
                        "pixels": int(n_pixels[p]),
                        "confidence": _rounded(sums[0][p] / n_pixels[p]),
                        "centroid_m": [_rounded(s[p] / n_pixels[p]) for s in sums[1:]],
                    }
                    for p in np.flatnonzero(n_pixels)
                },
            }
        )
    return described


def _rounded(value: float) -> float:
    """Return a value rounded to four digits: hundredths of a percent, or tenths of a millimeter."""
    return round(float(value), 4)
