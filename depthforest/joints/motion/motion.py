"""Motion of one person: joints over time on a skeleton whose bones keep their length, and the angles at its joints.

`files` and `tracks` deliver the joints; the modules beside this one write the result for other programs. Motion space
is right-handed with y up, in meters: camera space rotated by 180 degrees about x. The camera is the origin.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from depthforest.base import DepthForestError, Floats, UsageError, is_finite
from depthforest.frames import JOINTS
from depthforest.joints.files import FrameJoints

TO_UP = np.array([1.0, -1.0, -1.0])
"""Camera space (y down, z forward) to motion space (y up, z toward the camera)."""

LIMBS = tuple(
    (f"{above}_{side}", f"{below}_{side}")
    for side in "lr"
    for above, below in (
        ("shoulder", "elbow"),
        ("elbow", "wrist"),
        ("wrist", "hand"),
        ("hip", "knee"),
        ("knee", "ankle"),
        ("ankle", "foot"),
    )
)
MEASURED = (("spine", "neck"), ("neck", "head"), ("neck", "shoulder_l"), ("neck", "shoulder_r"), *LIMBS)
"""Bones between two joints. The bones of the pelvis, from the middle of the hips, are not among them."""

NEAR_SHARE = 0.02
"""Share of the time between two frames: a time this near to one of them takes its joints unchanged."""

_INDEX = {name: number for number, name in enumerate(JOINTS)}


class MotionError(DepthForestError, ValueError):
    """Joints that do not suffice for a skeleton."""


@dataclass(frozen=True)
class BoneLength:
    """Length of a bone over a recording, in meters.

    Parameters
    ----------
    median : float
    noise : float
        Standard deviation of single frames around the median, from the median absolute deviation; NaN if never seen.
    n : int
        Number of frames that show both ends.
    """

    median: float
    noise: float
    n: int


@dataclass(frozen=True, eq=False)
class Motion:
    """Joints of one person over time.

    Parameters
    ----------
    names : tuple of str
        Names of the frames.
    times : array (n,), float64
        Seconds, rising.
    found : array (n, 19, 3), float64
        Joints in motion space in the order of `parts.JOINTS`, NaN where a frame has none.
    """

    names: tuple[str, ...]
    times: Floats
    found: Floats

    @classmethod
    def of(cls, frames: Iterable[FrameJoints], person: int = 1, *, fps: float = 30.0) -> Motion:
        """Collect the joints of a person from frames.

        Parameters
        ----------
        frames : iterable of FrameJoints
            In order. Either all frames have a time or none.
        person : int
            The id.
        fps : float
            Frames per second, for frames without a time.
        """
        frames = list(frames)
        if not is_finite(fps) or fps <= 0:
            raise UsageError(f"fps must be frames a second, above 0; got {fps!r}")
        if not any(person in frame.people for frame in frames):
            ids = sorted({known for frame in frames for known in frame.people})
            raise MotionError(
                f"nobody has the id {person!r} in these frames; ids: {', '.join(map(str, ids)) or 'none'}"
            )
        given = [frame.time for frame in frames if frame.time is not None]
        if given and len(given) < len(frames):
            raise MotionError(f"either all frames have a time or none; {len(given)} of {len(frames)} have one")
        times = np.array(given, dtype=np.float64) if given else np.arange(len(frames)) / fps
        if (np.diff(times) <= 0).any():
            raise MotionError("times must rise from frame to frame")
        found = np.full((len(frames), len(JOINTS), 3), np.nan)
        for row, frame in enumerate(frames):
            for name, joint in frame.people.get(person, {}).items():
                found[row, _INDEX[name]] = np.array(joint.position) * TO_UP
        return cls(tuple(frame.name for frame in frames), times, found)

    def bone_lengths(self) -> dict[str, BoneLength]:
        """Return the lengths of bones by name, such as "elbow_l-wrist_l"."""
        places = {name: self.found[:, number] for name, number in _INDEX.items()}
        places["hips"] = (places["hip_l"] + places["hip_r"]) / 2
        pairs = (("hips", "spine"), ("hip_r", "hip_l"), *MEASURED)
        return {f"{a}-{b}": _length(np.linalg.norm(places[b] - places[a], axis=1)) for a, b in pairs}

    def angles(self) -> dict[str, Floats]:
        """Return joint angles (n,) in degrees by name, NaN where a joint is missing.

        Flexion of elbow and knee is 0 for a straight limb. Flexion of hip and shoulder is the angle forward in the
        sagittal plane of pelvis or trunk, 0 for a limb that hangs along it; abduction is the angle away from that
        plane.
        """
        at = {name: self.found[:, number] for name, number in _INDEX.items()}
        middle = (at["hip_l"] + at["hip_r"]) / 2
        pelvis = base_frames(at["hip_l"] - at["hip_r"], at["spine"] - middle)
        trunk_up = at["neck"] - middle
        trunk = base_frames(across(at["shoulder_l"] - at["shoulder_r"], trunk_up), trunk_up)
        angles: dict[str, Floats] = {}
        for side, outward in (("l", 1.0), ("r", -1.0)):
            for joint, above, below in (("elbow", "shoulder", "wrist"), ("knee", "hip", "ankle")):
                here = at[f"{joint}_{side}"]
                angles[f"{joint}_flexion_{side}"] = _between(here - at[f"{above}_{side}"], at[f"{below}_{side}"] - here)
            for joint, below, base in (("hip", "knee", pelvis), ("shoulder", "elbow", trunk)):
                limb = unit(at[f"{below}_{side}"] - at[f"{joint}_{side}"])
                lateral, up, forward = np.einsum("nij,ni->jn", base, limb)
                angles[f"{joint}_flexion_{side}"] = np.degrees(np.arctan2(forward, -up))
                angles[f"{joint}_abduction_{side}"] = np.degrees(np.arcsin(np.clip(outward * lateral, -1, 1)))
        return angles

    def even_times(self, fps: float | None = None) -> tuple[Floats, float]:
        """Return evenly spaced times (n,) from the first frame to the last, and the frames per second.

        Parameters
        ----------
        fps : float, optional
            Default: the recording's median rate.
        """
        if fps is None:
            fps = 1 / float(np.median(np.diff(self.times))) if len(self.times) > 1 else 30.0
        if not is_finite(fps) or fps <= 0:
            raise UsageError(f"fps must be frames a second, above 0; got {fps!r}")
        n = round(float(self.times[-1] - self.times[0]) * fps) + 1
        return self.times[0] + np.arange(n) / fps, float(fps)

    def sampled(self, times: Floats) -> Floats:
        """Return joints (n, 19, 3) at some times, linearly between consecutive frames; NaN if one lacks it."""
        after = np.clip(np.searchsorted(self.times, times), 1, max(len(self.times) - 1, 1))
        if len(self.times) == 1:
            return np.repeat(self.found, len(times), axis=0)
        span = self.times[after] - self.times[after - 1]
        # at a frame's own time, its neighbor must not matter: shares within rounding of 0 or 1 are snapped
        share = np.clip((times - self.times[after - 1]) / span, 0.0, 1.0)[:, None, None]
        before, behind = self.found[after - 1], self.found[after]
        mixed = (1 - share) * before + share * behind
        return np.where(share < NEAR_SHARE, before, np.where(share > 1 - NEAR_SHARE, behind, mixed))

    def filled(self, times: Floats) -> Floats:
        """Return joints (n, 19, 3) at some times, linearly between found ones, constant before and after."""
        filled = np.empty((len(times), len(JOINTS), 3))
        for joint, name in enumerate(JOINTS):
            known = ~np.isnan(self.found[:, joint, 0])
            if not known.any():
                raise MotionError(f"{name} is in no frame of this person; a skeleton needs every joint at least once")
            for axis in range(3):
                filled[:, joint, axis] = np.interp(times, self.times[known], self.found[known, joint, axis])
        return filled


def _length(lengths: Floats) -> BoneLength:
    lengths = lengths[~np.isnan(lengths)]
    if not len(lengths):
        return BoneLength(float("nan"), float("nan"), 0)
    median = float(np.median(lengths))
    # 1.4826: of a normal distribution, the standard deviation over the median absolute deviation
    return BoneLength(median, 1.4826 * float(np.median(np.abs(lengths - median))), len(lengths))


def unit(vectors: Floats) -> Floats:
    """Return vectors at length 1; zero stays zero."""
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9))


def across(vectors: Floats, axes: Floats) -> Floats:
    """Return the components of vectors perpendicular to axes."""
    axes = unit(axes)
    return np.asarray(vectors - (vectors * axes).sum(axis=-1, keepdims=True) * axes)


def base_frames(left: Floats, up: Floats) -> Floats:
    """Return (n, 3, 3) with left, up and forward as columns: left as given, up made perpendicular to it."""
    x = unit(left)
    y = unit(across(up, x))
    return np.stack((x, y, np.cross(x, y)), axis=-1)


def _between(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b), axis=1), (a * b).sum(axis=1))))
