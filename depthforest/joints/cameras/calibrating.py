"""Calibration without a checkerboard: cameras' poses and clocks from the people who walk through all views.

For two cameras, every pair of their people and many clock offsets are tried on a few stable joints. The best trial
matches the people; after that, the pose is fitted to all joints of all people, and the offset is refined. Cameras are
linked to the first one along the best pairs, and finally each is fitted to all others together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from depthforest.base import Floats, Longs, UsageError, is_finite
from depthforest.frames import JOINTS
from depthforest.joints.cameras import bundle
from depthforest.joints.cameras.rig import CameraPose, CameraRig
from depthforest.joints.cameras.rigid import Floor, fit
from depthforest.joints.cameras.views import CameraView, RigError
from depthforest.joints.files import FrameJoints

MAX_OFFSET_S = 5.0
COARSE_STEP_S = 0.1
"""Step between the offsets that are tried, in seconds: a walking person moves 15 cm in that time."""

ROUNDS = 12
"""Rounds of the refinement, which alternates between pose and offset."""

STEADY = [JOINTS.index(name) for name in ("head", "neck", "spine", "shoulder_l", "shoulder_r", "hip_l", "hip_r")]
"""Joints for the trials: those of the trunk, which a forest finds best."""

TRIED_PEOPLE, TRIED_MOMENTS, USED_MOMENTS, BUNDLED_MOMENTS = 4, 60, 600, 300
"""Number of the longest tracks of each camera that are tried, and of evenly spaced moments in a trial, in a fit and in
the final fit of all cameras."""

NEAR_M = 0.4
"""Two people whose joints have a smaller median distance, in meters, are the same person."""

LEAST_TRIED = 21
"""Fewest pairs of joints in a trial: three moments of the trunk."""

LEAST_PAIRS = 75
"""Fewest weighted pairs of joints that two cameras must see together: about ten moments."""


@dataclass(frozen=True, eq=False)
class _Link:
    """The pose of camera b relative to camera a: maps b's points to a's space, and b's times to a's clock."""

    a: int
    b: int
    rotation: Floats
    translation: Floats
    offset_s: float
    score: float


def calibrate(
    views: Sequence[Sequence[FrameJoints]],
    *,
    names: Sequence[str] | None = None,
    floors: Sequence[Floor | None] | None = None,
    fps: float = 30.0,
    max_offset_s: float = MAX_OFFSET_S,
) -> CameraRig:
    """Find the poses and clock offsets of cameras from the joints of people whom they see together.

    Parameters
    ----------
    views : sequence of sequences of FrameJoints
        For each camera its frames in order, joints in its own space; ids need not agree between cameras. The first
        camera is the reference. Smoothed joints (`JointTracks`) are late, but all alike.
    names : sequence of str, optional
        Names of the cameras. Default: "camera 1" and so on.
    floors : sequence of (up, height) or None, optional
        For each camera the unit vector up in its space and its height above the floor in meters, as from `find_world`;
        None if unknown. A camera with a floor takes its tilt and height from it, not from the joints.
    fps : float
        Frames per second, for frames without a time.
    max_offset_s : float
        Largest difference between clocks. Recordings whose times do not overlap are first aligned at their starts.

    Returns
    -------
    CameraRig
        A rig in the space of the first camera.
    """
    if len(views) < 2:
        raise UsageError(f"calibration needs at least two cameras; got {len(views)}")
    if not is_finite(max_offset_s) or max_offset_s < 0:
        raise UsageError(f"max_offset_s must be seconds, 0 or more; got {max_offset_s!r}")
    names = [f"camera {i}" for i in range(1, len(views) + 1)] if names is None else list(names)
    known: list[Floor | None] = list(floors) if floors is not None else [None] * len(views)
    if len(names) != len(views) or len(known) != len(views):
        raise UsageError(f"give a name and a floor for each of {len(views)} cameras; got {len(names)} and {len(known)}")
    seen = [CameraView.of(frames, number, fps) for number, frames in enumerate(views, start=1)]
    links = [link for a, b in combinations(range(len(seen)), 2) if (link := _link(seen, known, a, b, max_offset_s))]
    poses = _chained(links, names)
    for _ in range(ROUNDS // 2):
        for number in range(1, len(poses)):
            refitted = _refitted(seen, known, poses, number)
            poses[number] = poses[number] if refitted is None else refitted[0]
    bias = np.zeros(len(JOINTS))
    for _ in range(bundle.ROUNDS):
        poses, bias = bundle.adjusted(poses, _met(seen, poses), known, bias)
    return CameraRig(tuple(_judged(seen, poses, number) for number in range(len(poses))))


# -- two cameras -------------------------------------------------------------------------------------------------------


def _link(seen: list[CameraView], floors: list[Floor | None], a: int, b: int, max_offset_s: float) -> _Link | None:
    """Return the relative pose of two cameras; None if they do not see enough together."""
    first, second, known = seen[a], seen[b], [floors[a], floors[b]]
    base = _base_offset(first, second)
    n = round(max_offset_s / COARSE_STEP_S)
    trials = [
        _tried(first, second, own, other, base + COARSE_STEP_S * step)
        for own in _longest(first)
        for other in _longest(second)
        for step in range(-n, n + 1)
    ]
    found = [trial for trial in trials if trial is not None]
    if not found:
        return None
    _, rotation, translation, offset_s = max(found, key=lambda trial: trial[0])
    poses = [CameraPose("", np.eye(3), np.zeros(3)), CameraPose("", rotation, translation, offset_s)]
    for _ in range(ROUNDS):
        refitted = _refitted([first, second], known, poses, 1)
        if refitted is None:
            return None
        poses[1], score = refitted
    pose = poses[1]
    return _Link(a, b, pose.rotation, pose.translation, pose.offset_s, score) if score >= LEAST_PAIRS else None


_Trial = tuple[float, Floats, Floats, float]


def _base_offset(first: CameraView, second: CameraView) -> float:
    """Return 0 if two recordings overlap in time, else the offset that aligns their starts."""
    is_apart = first.times[-1] < second.times[0] or second.times[-1] < first.times[0]
    return float(first.times[0] - second.times[0]) if is_apart else 0.0


def _longest(view: CameraView) -> list[int]:
    """Return the people who were seen longest."""
    amount = {person: float(weights[:, STEADY].sum()) for person, weights in view.weights.items()}
    return sorted(amount, key=amount.__getitem__, reverse=True)[:TRIED_PEOPLE]


def _spread(rows: Longs, n: int) -> Longs:
    """Return at most n of the rows, evenly spaced."""
    return rows[np.unique(np.linspace(0, len(rows) - 1, min(n, len(rows))).round().astype(np.int64))]


def _tried(first: CameraView, second: CameraView, own: int, other: int, offset_s: float) -> _Trial | None:
    """Return how well two people match at an offset: score, rotation, translation, offset."""
    is_seen = first.weights[own][:, STEADY].any(axis=1)
    rows = _spread(np.flatnonzero(is_seen), TRIED_MOMENTS)
    target, w_target = first.joints[own][rows], first.weights[own][rows]
    source, w_source = second.at(other, first.times[rows] - offset_s)
    weights = w_target[:, STEADY] * w_source[:, STEADY]
    is_known = weights > 0
    if np.count_nonzero(is_known) < LEAST_TRIED:
        return None
    weights = weights[is_known]
    rotation, translation, belief = fit(source[:, STEADY][is_known], target[:, STEADY][is_known], weights)
    return float((weights * belief).sum()), rotation, translation, offset_s


# -- all cameras -------------------------------------------------------------------------------------------------------


def _chained(links: list[_Link], names: Sequence[str]) -> list[CameraPose]:
    """Return the poses along the best links, beginning with the first camera."""
    known = {0: CameraPose(names[0], np.eye(3), np.zeros(3))}
    while len(known) < len(names):
        reach = [link for link in links if (link.a in known) != (link.b in known)]
        if not reach:
            missing = next(name for number, name in enumerate(names) if number not in known)
            raise RigError(
                f"{missing}: sees too little together with the other cameras; somebody must walk, for some seconds, "
                "where two cameras see the whole body, and their clocks may differ by max_offset_s at most"
            )
        link = max(reach, key=lambda link: link.score)
        if link.a in known:
            old, new, rotation, translation, offset_s = link.a, link.b, link.rotation, link.translation, link.offset_s
        else:
            old, new, rotation, offset_s = link.b, link.a, link.rotation.T, -link.offset_s
            translation = -rotation @ link.translation
        base = known[old]
        turned, moved = base.rotation @ rotation, base.rotation @ translation + base.translation
        known[new] = CameraPose(names[new], turned, moved, base.offset_s + offset_s)
    return [known[number] for number in range(len(names))]


@dataclass(frozen=True, eq=False)
class _Pairs:
    """A camera's joints in its own space, velocities, positions in other cameras, (n, 3), and weights (n,)."""

    source: Floats
    speeds: Floats
    target: Floats
    weights: Floats


def _pairs(seen: list[CameraView], poses: list[CameraPose], number: int) -> _Pairs:
    """Return the joints that a camera and another one both have of the same person: within `NEAR_M` of each other."""
    columns: list[tuple[Floats, Floats, Floats, Floats]] = []
    own, pose = seen[number], poses[number]
    rows = _spread(np.arange(len(own.times)), USED_MOMENTS)
    for other, (view, its_pose) in enumerate(zip(seen, poses, strict=True)):
        if other == number:
            continue
        clock = own.times[rows] + pose.offset_s - its_pose.offset_s
        theirs = [(its_pose.place(joints), weights) for joints, weights in _everybody(view, clock)]
        for person in own.joints:
            joints, weights, speeds = own.joints[person][rows], own.weights[person][rows], own.speeds(person)[rows]
            for target, w_target in theirs:
                distances = np.linalg.norm(pose.place(joints) - target, axis=2)
                is_same = _row_medians(distances) < NEAR_M
                both = weights * w_target * is_same[:, None]
                chosen = both > 0
                columns.append((joints[chosen], speeds[chosen], target[chosen], both[chosen]))
    empty = np.empty((0, 3))
    return _Pairs(*map(np.concatenate, zip(*columns, (empty, empty, empty, np.empty(0)), strict=True)))


def _met(seen: list[CameraView], poses: list[CameraPose]) -> list[bundle.Pairs]:
    """Return for every two cameras the joints that both have of the same person, each in its own space."""
    found = []
    for a, b in combinations(range(len(seen)), 2):
        first, second = seen[a], seen[b]
        rows = _spread(np.arange(len(first.times)), BUNDLED_MOMENTS)
        clock = first.times[rows] + poses[a].offset_s - poses[b].offset_s
        for own in first.joints:
            points, weights, speeds = first.joints[own][rows], first.weights[own][rows], first.speeds(own)[rows]
            for other in second.joints:
                target, w_target = second.at(other, clock)
                distances = np.linalg.norm(poses[a].place(points) - poses[b].place(target), axis=2)
                both = weights * w_target * (_row_medians(distances) < NEAR_M)[:, None]
                row, joint = np.nonzero(both > 0)
                chosen = (row, joint)
                pair = bundle.Pairs(a, b, joint, points[chosen], target[chosen], speeds[chosen], both[chosen])
                if len(row):
                    found.append(pair)
    return found


def _everybody(view: CameraView, times: Floats) -> Iterator[tuple[Floats, Floats]]:
    return (view.at(person, times) for person in view.joints)


def _row_medians(distances: Floats) -> Floats:
    """Return the median of each row without NaN; infinite where fewer than three are known."""
    order = np.sort(distances, axis=1)  # sorts NaN last
    n = (~np.isnan(order)).sum(axis=1)
    middle = order[np.arange(len(order)), np.maximum(n - 1, 0) // 2]
    return np.where(n >= 3, middle, np.inf)


def _refitted(
    seen: list[CameraView], floors: list[Floor | None], poses: list[CameraPose], number: int
) -> tuple[CameraPose, float] | None:
    """Return a camera fitted to all others, with a better offset, and the pairs that agree; None if there are too few.

    A clock error of d moves every joint by d times its velocity, so least squares along the velocities give d.
    """
    pose, pairs = poses[number], _pairs(seen, poses, number)
    if len(pairs.weights) < LEAST_TRIED:
        return None
    own, reference = floors[number], floors[0]
    both = None if own is None or reference is None else (own, reference)
    rotation, translation, belief = fit(pairs.source, pairs.target, pairs.weights, both)
    errors = pairs.source @ rotation.T + translation - pairs.target
    along = pairs.speeds @ rotation.T
    weights = np.where(np.isnan(along[:, 0]), 0.0, pairs.weights * belief)
    along = np.where(weights[:, None] > 0, along, 0.0)
    late = float((weights[:, None] * along * errors).sum() / max((weights[:, None] * along**2).sum(), 1e-9))
    offset_s = pose.offset_s + float(np.clip(late, -COARSE_STEP_S, COARSE_STEP_S))
    return CameraPose(pose.name, rotation, translation, offset_s), float((pairs.weights * belief).sum())


def _judged(seen: list[CameraView], poses: list[CameraPose], number: int) -> CameraPose:
    """Return a camera with its error relative to the others."""
    pose, pairs = poses[number], _pairs(seen, poses, number)
    errors = np.linalg.norm(pose.place(pairs.source) - pairs.target, axis=1)
    error_m = float(np.median(errors)) if len(errors) else float("nan")
    return CameraPose(pose.name, pose.rotation, pose.translation, pose.offset_s, error_m, len(errors))
