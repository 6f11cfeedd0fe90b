"""Fusion: the joints of several calibrated cameras as one skeleton for each person.

At each moment, people in different cameras whose joints are near each other are one person. Each joint is the mean of
the cameras' positions, weighted by confidence and visibility; a camera that contradicts the others has little weight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from depthforest.base import Floats, UsageError
from depthforest.frames import JOINTS, Joint
from depthforest.joints.cameras.rig import CameraRig
from depthforest.joints.cameras.views import CameraView
from depthforest.joints.files import FrameJoints

NEAR_M = 0.4
"""Two people whose joints have a smaller median distance, in meters, are the same person."""

AGREE_M = 0.1
"""Distance in meters from the other cameras' position at which a joint's weight falls to a quarter."""

MEMORY_S, REACH_M = 1.0, 0.6
"""Within these seconds, and this distance in meters of the body's center, a person without a known camera id is matched
to the one who was there before."""


@dataclass(frozen=True, eq=False)
class _Seen:
    """A person in one camera at one moment: joints (19, 3) in the space of the first camera, weights (19,)."""

    camera: int
    person: int
    joints: Floats
    weights: Floats


def fuse(views: Sequence[Sequence[FrameJoints]], rig: CameraRig, *, fps: float = 30.0) -> list[FrameJoints]:
    """Return one skeleton for each person from the joints of several cameras.

    Parameters
    ----------
    views : sequence of sequences of FrameJoints
        For each camera of the rig its frames in order, joints in its own space; ids need not agree between cameras.
    rig : CameraRig
        From `calibrate`, or measured in another way.
    fps : float
        Frames per second, for frames without a time.

    Returns
    -------
    list of FrameJoints
        A frame for each frame of the first camera, with its name and time; joints are in its space. A joint's
        confidence rises with every camera that agrees, and it is visible if any camera saw it.
    """
    if len(views) != len(rig.cameras):
        raise UsageError(f"the rig has {len(rig.cameras)} cameras, but joints of {len(views)} are given")
    seen = [CameraView.of(frames, number, fps) for number, frames in enumerate(views, start=1)]
    times = seen[0].times
    moments: list[list[_Seen]] = [[] for _ in times]
    for camera, (view, pose) in enumerate(zip(seen, rig.cameras, strict=True)):
        for person in view.joints:
            joints, weights = view.at(person, times - pose.offset_s)
            for row in np.flatnonzero(weights.any(axis=1)):
                moments[row].append(_Seen(camera, person, pose.place(joints[row]), weights[row]))
    ids = _Ids()
    frames = []
    for name, time, moment in zip(seen[0].names, times.tolist(), moments, strict=True):
        groups = [(group, *_mixed(group)) for group in _grouped(moment)]
        people = {ids.of(group, joints, time): _as_joints(joints, trust) for group, joints, trust in groups}
        frames.append(FrameJoints(name, people, time))
    return frames


def _grouped(moment: list[_Seen]) -> list[list[_Seen]]:
    """Group the people who are the same person: nearest pairs of different cameras first, one per camera."""
    groups = [[one] for one in moment]
    pairs = sorted(
        (distance, i, j)
        for i, a in enumerate(moment)
        for j, b in enumerate(moment[:i])
        if a.camera != b.camera and (distance := _distance(a.joints, b.joints)) < NEAR_M
    )
    for _, i, j in pairs:
        first, second = (next(group for group in groups if moment[k] in group) for k in (i, j))
        if first is not second and not {one.camera for one in first} & {one.camera for one in second}:
            first += second
            groups = [group for group in groups if group is not second]
    return groups


def _distance(a: Floats, b: Floats) -> float:
    """Return the median distance of the joints that both have; infinite if they share fewer than three."""
    distances = np.linalg.norm(a - b, axis=1)
    distances = distances[~np.isnan(distances)]
    return float(np.median(distances)) if len(distances) >= 3 else np.inf


def _mixed(group: list[_Seen]) -> tuple[Floats, Floats]:
    """Return joints (19, 3), NaN where no camera has one, and their confidence (19,)."""
    places = np.stack([one.joints for one in group])
    weights = np.stack([one.weights for one in group])
    known = np.where(np.isnan(places), 0.0, places)
    # begin at the camera that agrees best with the others
    apart = np.linalg.norm(known[:, None] - known[None], axis=-1)
    support = (weights[None] * _belief(apart)).sum(axis=1) * (weights > 0)
    mixed = np.take_along_axis(known, support.argmax(axis=0)[None, :, None], axis=0)[0]
    for _ in range(5):
        agreement = _belief(np.linalg.norm(known - mixed, axis=-1))
        share = weights**2 * agreement
        total = share.sum(axis=0)
        mixed = (share[..., None] * known).sum(axis=0) / np.maximum(total, 1e-12)[:, None]
    trust = 1 - np.prod(1 - np.clip(weights, 0, 1) * agreement, axis=0)
    return np.where((total > 0)[:, None], mixed, np.nan), trust


def _belief(distances: Floats) -> Floats:
    """Return Geman and McClure's weight."""
    return np.asarray(1 / (1 + (distances / AGREE_M) ** 2) ** 2)


def _as_joints(places: Floats, trust: Floats) -> dict[str, Joint]:
    rows = zip(JOINTS, places.tolist(), trust.tolist(), strict=True)
    return {
        name: Joint((place[0], place[1], place[2]), True, float(np.clip(confidence, 0, 1)))
        for name, place, confidence in rows
        if not np.isnan(place[0])
    }


@dataclass
class _Ids:
    """Stable ids: people are recognized by the ids that cameras gave them, else by position."""

    known: dict[tuple[int, int], int] = field(default_factory=dict)
    last: dict[int, tuple[float, Floats]] = field(default_factory=dict)
    n: int = 0

    def of(self, group: list[_Seen], joints: Floats, time: float) -> int:
        """Return a person's id at a moment; ids are unique within a moment."""
        middle = np.nanmedian(joints, axis=0)
        free = {number for number, (when, _) in self.last.items() if when < time}
        votes = Counter(self.known[one.camera, one.person] for one in group if (one.camera, one.person) in self.known)
        number = next((voted for voted, _ in votes.most_common() if voted in free), None)
        if number is None:
            near = {
                other: float(np.linalg.norm(place - middle))
                for other, (when, place) in self.last.items()
                if other in free and time - when <= MEMORY_S
            }
            number = min(near, key=near.__getitem__, default=None)
            if number is None or near[number] > REACH_M:
                self.n += 1
                number = self.n
        for one in group:
            self.known[one.camera, one.person] = number
        self.last[number] = time, middle
        return number
