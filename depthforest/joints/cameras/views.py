"""One camera's view: the joints of its people as arrays over time, interpolated at any moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from depthforest.base import DepthForestError, Floats, UsageError, is_finite
from depthforest.frames import JOINTS
from depthforest.joints.files import FrameJoints

MAX_STEP_S = 0.25
"""Joints are only interpolated between two frames that are at most this many seconds apart."""

HIDDEN_WEIGHT = 0.25
"""Weight of a predicted or guessed joint, relative to a visible one."""


class RigError(DepthForestError, ValueError):
    """Recordings that do not determine the cameras' poses."""


@dataclass(frozen=True, eq=False)
class CameraView:
    """The people of one camera.

    Parameters
    ----------
    names : tuple of str
        Names of the frames.
    times : array (n,), float64
        Seconds of the camera's own clock, rising.
    joints : dict of id to array (n, 19, 3), float64
        Camera space, meters, NaN where a frame has none.
    weights : dict of id to array (n, 19), float64
        Confidence, less where a joint is hidden; 0 where there is none.
    """

    names: tuple[str, ...]
    times: Floats
    joints: dict[int, Floats]
    weights: dict[int, Floats]

    @classmethod
    def of(cls, frames: Sequence[FrameJoints], number: int, fps: float) -> CameraView:
        """Collect the joints of one camera's frames; `number` names it in messages."""
        if not is_finite(fps) or fps <= 0:
            raise UsageError(f"fps must be frames a second, above 0; got {fps!r}")
        if not frames:
            raise RigError(f"camera {number} has no frames")
        given = [frame.time for frame in frames if frame.time is not None]
        if given and len(given) < len(frames):
            raise RigError(f"camera {number}: either all frames have a time or none; {len(given)} have one")
        times = np.array(given, dtype=np.float64) if given else np.arange(len(frames)) / fps
        if (np.diff(times) <= 0).any():
            raise RigError(f"camera {number}: times must rise from frame to frame")
        ids = sorted({person for frame in frames for person in frame.people})
        joints = {person: np.full((len(frames), len(JOINTS), 3), np.nan) for person in ids}
        weights = {person: np.zeros((len(frames), len(JOINTS))) for person in ids}
        for row, frame in enumerate(frames):
            for person, its in frame.people.items():
                for column, name in enumerate(JOINTS):
                    if name in its:
                        joint = its[name]
                        joints[person][row, column] = joint.position
                        is_visible = getattr(joint, "is_visible", True)
                        weights[person][row, column] = joint.confidence * (1.0 if is_visible else HIDDEN_WEIGHT)
        return cls(tuple(frame.name for frame in frames), times, joints, weights)

    def at(self, person: int, times: Floats) -> tuple[Floats, Floats]:
        """Return joints (n, 19, 3) and weights (n, 19) of a person at some times of this camera's clock.

        Interpolated linearly between consecutive frames; NaN and 0 where one of them lacks the joint.
        """
        if len(self.times) == 1:
            is_same = np.isclose(times, self.times[0])[:, None]
            joints = np.where(is_same[..., None], self.joints[person], np.nan)
            return joints, np.where(is_same, self.weights[person], 0.0)
        after = np.clip(np.searchsorted(self.times, times), 1, len(self.times) - 1)
        step = self.times[after] - self.times[after - 1]
        share = (times - self.times[after - 1]) / step
        is_inside = (share > -1e-6) & (share < 1 + 1e-6) & (step <= MAX_STEP_S)
        share = np.clip(share, 0, 1)[:, None]
        joints, weights = self.joints[person], self.weights[person]
        mixed = (1 - share)[..., None] * joints[after - 1] + share[..., None] * joints[after]
        # at a frame's own time, its neighbor must not matter
        mixed = np.where((share < 1e-6)[..., None], joints[after - 1], mixed)
        mixed = np.where((share > 1 - 1e-6)[..., None], joints[after], mixed)
        mixed[~is_inside] = np.nan
        weight = (1 - share) * weights[after - 1] + share * weights[after]
        return mixed, np.where(np.isnan(mixed[..., 0]), 0.0, weight)

    def speeds(self, person: int) -> Floats:
        """Return the velocity (n, 19, 3) of joints in each frame, in meters per second; NaN if a neighbor lacks it.

        Computed from the frames before and after, so that it is independent of the frame's own noise.
        """
        speeds = np.full(self.joints[person].shape, np.nan)
        if len(self.times) > 2:
            joints, span = self.joints[person], self.times[2:] - self.times[:-2]
            speeds[1:-1] = (joints[2:] - joints[:-2]) / span[:, None, None]
            speeds[1:-1][span > 2 * MAX_STEP_S] = np.nan
        return speeds
