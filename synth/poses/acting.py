"""Sitting down and falling in recordings: stretches of motion through a few built-in poses, with the feet in place."""

from __future__ import annotations

import numpy as np

from depthforest.base import Floats, Singles
from synth.bodies import BONE
from synth.poses.kinematics import REFERENCE_LEG, joint_positions
from synth.poses.motion import KEYS_PER_S, Stretch, eased, nearest_rotations
from synth.poses.sampling import sample_poses

FALL_S = (0.6, 1.1)
"""Seconds from the first loss of balance to the floor; human falls in published studies take 0.5 to 1.2 s."""

_ANKLES = (BONE["LeftFoot"], BONE["RightFoot"])


def fall_stretch(rng: np.random.Generator) -> Stretch:
    """Draw a fall: standing, down within a second, lying for some seconds, then up again through a squat."""
    names = ("standing", "lying", "crouching", "standing")
    poses = np.stack([sample_poses(rng, 1, name)[0].pose.rotations for name in names])
    falling = np.arange(1, _keys(rng, *FALL_S) + 1)
    at = np.concatenate(
        (
            np.zeros(_keys(rng, 0.8, 1.6)),
            (falling / len(falling)) ** 2,  # accelerating until the floor
            np.full(_keys(rng, 2.0, 4.0), 1.0),
            1 + eased_keys(_keys(rng, 1.2, 2.0)),
            2 + eased_keys(_keys(rng, 0.8, 1.4)),
            np.full(_keys(rng, 0.8, 1.2), 3.0),
        )
    )
    return _through(poses, at)


def sit_stretch(rng: np.random.Generator, standing: Singles, seated: Singles) -> Stretch:
    """Draw some seconds in which someone sits down and stands up again, where they stood.

    Parameters
    ----------
    rng : Generator
        Draws the durations.
    standing, seated : array (31, 3, 3)
        The two poses; the same poses always fit the same seat.
    """
    poses = np.stack((standing, seated, standing))
    at = np.concatenate(
        (
            np.zeros(_keys(rng, 0.7, 1.5)),
            eased_keys(_keys(rng, 1.1, 1.8)),
            np.full(_keys(rng, 2.0, 5.0), 1.0),
            1 + eased_keys(_keys(rng, 1.0, 1.6)),
            np.full(_keys(rng, 0.7, 1.2), 2.0),
        )
    )
    return _through(poses, at)


def eased_keys(n: int) -> Floats:
    """Return n shares from above 0 to 1 that start and end slowly."""
    return eased(np.arange(1, n + 1) / n)


def _keys(rng: np.random.Generator, least_s: float, most_s: float) -> int:
    return round(rng.uniform(least_s, most_s) * KEYS_PER_S)


def _through(poses: Singles, at: Floats) -> Stretch:
    """Return the motion through poses (n, 31, 3, 3) at positions `at`: 1.5 is halfway from the second to the third.

    The lower foot stays in place, so the hips move backward, down or sideways; the heading is held.
    """
    low = np.minimum(at.astype(np.int64), len(poses) - 2)
    share = (at - low)[:, None, None, None]
    turned = nearest_rotations((1 - share) * poses[low] + share * poses[low + 1])
    ankles = joint_positions(turned)[:, _ANKLES].astype(np.float64)
    lower = ankles[:-1, :, 1].argmin(axis=1)
    back = np.diff(ankles, axis=0)[np.arange(len(at) - 1), lower]
    n = len(at) - 1
    return Stretch(
        turned[:-1].astype(np.float32),
        np.zeros(n, dtype=np.float32),
        -back[:, [0, 2]] / REFERENCE_LEG,
        np.zeros(n),
        np.ones(n, dtype=np.bool_),
    )
