"""Motion of people in recordings: stretches of motion from clips or built-in poses, joined endlessly.

A `Stretch` holds poses and steps relative to the person. `join` steers it along a lane of the floor. A `Trajectory`
gives the person's place and pose at any time. `recording` puts the people into a room.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, Singles
from synth.bodies import BONE, Pose
from synth.poses.angles import COLUMN, clip_to_limits, rotations_of
from synth.poses.bvh import Clip, MocapError
from synth.poses.kinematics import REFERENCE_LEG, heading, joint_positions, turns
from synth.poses.mocap import CMU_NAMES, NameMap, retarget, root_path
from synth.poses.rules import set_gait
from synth.poses.sampling import draw_angles, sample_poses

KEYS_PER_S = 10
"""Keyframes per second: twice as many as the CMU clips are sampled with, and enough to resolve a step."""

BLEND_KEYS = 5
"""Half a second in which one stretch blends into the next."""

SHORTEST_S, LONGEST_S = 2.0, 8.0
"""Seconds of a clip in one stretch: shorter clips are skipped, longer ones are cut."""

LEAST_HIP_HEIGHT, LEAST_TRUNK = 0.75, 0.3
"""Leg lengths from the lower ankle to the hips (standing: 1.07); meters from the hips up to the neck (standing: 0.48).
Below these, someone sits, kneels, lies or turns over, for which the scene has no seat."""

FASTEST = 2.5
"""Leg lengths per second, about 2 m/s: somebody who runs would leave the room at once."""

WALKING = 0.4
"""Meters per second: faster people walk somewhere; slower ones stand and turn to where they prefer to look."""

TURN_RATE = math.radians(150.0) / KEYS_PER_S
"""Radians per key: the fastest turn that steers a person."""

TURN_SHARE, STANDING_TURN_SHARE = 0.3, 0.08
"""Shares of the missing angle that are turned in one key, walking and standing."""

ARRIVED = 0.35
"""Meters from the goal of a walk at which the next goal is chosen."""

_ANKLES = (BONE["LeftFoot"], BONE["RightFoot"])
_GESTURES = (
    "standing",
    "reaching",
    "gesturing",
    "arms_crossed",
    "hands_to_face",
    "waving",
    "pointing",
)
"""Families that stand on both feet: one blends into another without a step."""


@dataclass(frozen=True, eq=False)
class Stretch:
    """Some seconds of motion, `KEYS_PER_S` keys per second, independent of place and direction.

    Parameters
    ----------
    rotations : array (k, 31, 3, 3), float32
        As in `Pose`; the hips face +z.
    clearance : array (k,), float32
        As in `Pose`.
    steps : array (k, 2), float64
        From this key to the next: how far the hips go to the person's left and forward, in leg lengths.
    turns : array (k,), float64
        From this key to the next: how far the hips turn to the person's left, radians.
    held : array (k,), bool
        Whether steering must leave the direction alone, for example during a fall. Default: False everywhere.
    """

    rotations: Singles
    clearance: Singles
    steps: Floats
    turns: Floats
    held: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    def __post_init__(self) -> None:
        if len(self.held) != len(self.rotations):
            object.__setattr__(self, "held", np.zeros(len(self.rotations), dtype=np.bool_))

    def __len__(self) -> int:
        return len(self.rotations)

    def part(self, start: int, stop: int | None = None) -> Stretch:
        """Return the keys from `start` to `stop`."""
        keys = slice(start, stop)
        return Stretch(self.rotations[keys], self.clearance[keys], self.steps[keys], self.turns[keys], self.held[keys])


@dataclass(frozen=True)
class Lane:
    """A strip of floor for one person: between two distances from the camera, as wide as a share of the view.

    Parameters
    ----------
    near, far : float
        Meters in front of the camera.
    slope : float
        Half the width at a distance of 1 m.
    """

    near: float
    far: float
    slope: float

    def inside(self, x: float, z: float) -> tuple[float, float]:
        """Return the lane's nearest point, first in z, then in x; world space, the camera looks along -z."""
        z = min(max(z, -self.far), -self.near)
        half = self.slope * -z
        return min(max(x, -half), half), z


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The place and pose of a person over time.

    Parameters
    ----------
    rotations : array (k, 31, 3, 3), float32
    clearance : array (k,), float32
    places : array (k, 3), float64
        x and z in world space, meters, and unwrapped yaw in radians.
    """

    rotations: Singles
    clearance: Singles
    places: Floats

    def at(self, time: float) -> tuple[Pose, float, float, float]:
        """Return pose, x, z and yaw at a time in seconds."""
        key = np.array([time * KEYS_PER_S])
        turned = nearest_rotations(spline(self.rotations, key)[0])
        x, z, yaw = spline(self.places, key)[0].tolist()
        low = int(key[0])
        share = float(key[0]) - low
        # interpolated linearly, because a curve would dip below the floor
        clearance = (1 - share) * float(self.clearance[low]) + share * float(self.clearance[low + 1])
        return Pose(turned.astype(np.float32), clearance), x, z, yaw


def spline(keys: npt.NDArray[np.floating], positions: Floats) -> Floats:
    """Return values (n, ...) between keys (k, ...), at positions (n,) from 0 to k - 1, on a smooth curve through them.

    A uniform Catmull-Rom spline: unlike linear interpolation it has no corners at the keys, where motion would jerk.
    """
    low = np.clip(np.floor(positions).astype(np.int64), 0, len(keys) - 1)
    t = (positions - low).reshape(-1, *[1] * (keys.ndim - 1))
    a, b, c, d = (keys[np.clip(low + shift, 0, len(keys) - 1)].astype(np.float64) for shift in (-1, 0, 1, 2))
    return np.asarray(b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a))))


def nearest_rotations(matrices: Floats) -> Floats:
    """Return the rotations (..., 3, 3) that are nearest to matrices, such as blends of rotations.

    For blends of two rotations they lie on the shortest arc between them, as those of slerp do.
    """
    u, _, vt = np.linalg.svd(matrices)
    u[..., 2] *= np.linalg.det(u @ vt)[..., None]
    return np.asarray(u @ vt)


def clip_stretch(clip: Clip, *, names: NameMap = CMU_NAMES, start: float = 0.0, most_clearance: float = 0.2) -> Stretch:
    """Return a clip as a stretch, or raise MocapError if it does not show a person who walks or stands.

    Parameters
    ----------
    clip : Clip
    names : NameMap
    start : float
        0 to 1: the part of a long clip to take.
    most_clearance : float
        As `Config.mocap_clearance`.
    """
    library = retarget(clip, names=names)
    n = len(library)
    duration = (n - 1) * clip.frame_time
    if duration < SHORTEST_S:
        raise MocapError(f"{clip.name}: is shorter than {SHORTEST_S:g} s")
    if (np.diff(library.frame_index) != 1).any():
        raise MocapError(f"{clip.name}: has frames that were not recorded")
    longest = min(duration, LONGEST_S)
    first = start * (duration - longest)
    keys = (first + np.arange(math.floor(longest * KEYS_PER_S) + 1) / KEYS_PER_S) / clip.frame_time
    near = slice(max(0, math.floor(keys[0]) - 1), math.ceil(keys[-1]) + 3)
    if library.foot_clearance[near].max() > most_clearance:
        raise MocapError(f"{clip.name}: someone jumps, climbs or hangs")
    turned = nearest_rotations(spline(library.rotations, keys))
    _check_upright(clip.name, turned)
    path, yaw = root_path(clip, library.frame_index, names=names)
    way = np.concatenate((path, yaw[:, None]), axis=1)
    places = spline(way, keys)
    step = np.diff(places, axis=0)
    cos, sin = np.cos(places[:-1, 2]), np.sin(places[:-1, 2])
    # in the person's frame: left is (cos, -sin), forward (sin, cos)
    steps = np.stack((cos * step[:, 0] - sin * step[:, 1], sin * step[:, 0] + cos * step[:, 1]), axis=1)
    if np.percentile(np.hypot(*steps.T), 90) * KEYS_PER_S > FASTEST:
        raise MocapError(f"{clip.name}: someone runs")
    clearance = np.interp(keys, np.arange(n), library.foot_clearance)
    return Stretch(turned[:-1].astype(np.float32), clearance[:-1].astype(np.float32), steps, step[:, 2])


def _check_upright(name: str, rotations: Floats) -> None:
    places = joint_positions(rotations)
    height = -places[:, _ANKLES, 1].min(axis=1) / REFERENCE_LEG
    if height.min() < LEAST_HIP_HEIGHT or places[:, BONE["Neck"], 1].min() < LEAST_TRUNK:
        raise MocapError(f"{name}: someone sits, kneels, lies or turns over")


def walking_stretch(rng: np.random.Generator) -> Stretch:
    """Draw some seconds of walking straight ahead; the supporting foot stays in place."""
    cycle_s = rng.uniform(1.0, 1.3)
    n = round(rng.uniform(3.0, 6.0) * KEYS_PER_S) + 1
    angles = np.repeat(draw_angles(rng, "standing", np.zeros(1, dtype=np.int64)), n, axis=0)
    phase = (rng.random() + np.arange(n) / (cycle_s * KEYS_PER_S)) % 1.0
    stride, swing = (np.full(n, rng.uniform(*span)) for span in ((0.8, 1.1), (0.5, 1.2)))
    set_gait(angles, phase, stride, swing, (np.full(n, rng.uniform(5, 14)), np.full(n, rng.uniform(5, 14))))
    for side in "lr":
        angles[:, COLUMN[f"{side}.hip_flexion"]] += angles[:, COLUMN["pelvis_tilt"]]
    turned = rotations_of(clip_to_limits(angles))
    yaw = heading(turned[:, BONE["Hips"]])
    turned = np.swapaxes(turns(np.array([0.0, 1.0, 0.0]), yaw), -1, -2)[:, None] @ turned
    ankles = joint_positions(turned)[:, _ANKLES].astype(np.float64)
    carries = ankles[:-1, :, 1].argmin(axis=1)
    back = np.diff(ankles, axis=0)[np.arange(n - 1), carries]
    return Stretch(
        turned[:-1].astype(np.float32),
        np.zeros(n - 1, dtype=np.float32),
        -back[:, [0, 2]] / REFERENCE_LEG,
        np.zeros(n - 1),
    )


def gesture_stretch(rng: np.random.Generator) -> Stretch:
    """Draw some seconds on the spot: poses of the built-in families, one blending into the next."""
    n_poses = int(rng.integers(4, 7))
    names = rng.choice(_GESTURES, n_poses)
    poses = np.stack([sample_poses(rng, 1, str(name))[0].pose.rotations for name in names])
    spans = [np.zeros(1)]
    for pose in range(n_poses - 1):
        moving = round(rng.uniform(0.5, 1.2) * KEYS_PER_S)
        resting = round(rng.uniform(0.0, 0.6) * KEYS_PER_S)
        spans.append(pose + eased(np.arange(1, moving + 1) / moving))
        spans.append(np.full(resting, pose + 1.0))
    at = np.concatenate(spans)
    low = np.minimum(at.astype(np.int64), n_poses - 2)
    share = (at - low)[:, None, None, None]
    turned = nearest_rotations((1 - share) * poses[low] + share * poses[low + 1])
    still = np.zeros(len(at))
    return Stretch(turned.astype(np.float32), still.astype(np.float32), np.stack((still, still), axis=1), still)


def eased(share: Floats) -> Floats:
    """Return shares from 0 to 1 that start and end slowly."""
    return np.asarray(share * share * (3 - 2 * share))


def blended(first: Stretch, second: Stretch) -> Stretch:
    """Return two stretches as one: the end of the first blends into the start of the second."""
    n = BLEND_KEYS
    share = eased(np.arange(1, n + 1) / (n + 1))

    def mixed(a: npt.NDArray[np.floating], b: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
        weight = share.reshape(-1, *[1] * (a.ndim - 1))
        return np.asarray((1 - weight) * a[-n:] + weight * b[:n])

    def joined(a: npt.NDArray[np.floating], b: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
        return np.concatenate((a[:-n], mixed(a, b), b[n:]))

    turned = nearest_rotations(np.asarray(mixed(first.rotations, second.rotations), dtype=np.float64))
    return Stretch(
        np.concatenate((first.rotations[:-n], turned.astype(np.float32), second.rotations[n:])),
        joined(first.clearance, second.clearance).astype(np.float32),
        joined(first.steps, second.steps).astype(np.float64),
        joined(first.turns, second.turns).astype(np.float64),
        np.concatenate((first.held[:-n], first.held[-n:] | second.held[:n], second.held[n:])),
    )


def join(
    draw: Callable[[int], Stretch], rng: np.random.Generator, lane: Lane, *, seconds: float, leg: float, facing: float
) -> Trajectory:
    """Steer a person along a lane for some seconds; a longer trajectory begins with the same keys.

    A walking person is turned gradually toward one goal after another, on alternating sides of the lane. A standing
    person turns to `facing`. Nobody leaves the lane.

    Parameters
    ----------
    draw : callable
        Returns the stretch with a given number, from 0; each longer than `2 * BLEND_KEYS`.
    rng : Generator
        Draws the goals.
    lane : Lane
    seconds : float
    leg : float
        Leg length of the body, meters: longer legs make longer steps.
    facing : float
        Yaw in radians: 0 faces the camera.
    """
    n_keys = math.ceil(seconds * KEYS_PER_S) + 3  # the spline needs two keys ahead
    done: list[Stretch] = []
    last, n_done = draw(0), 0
    while n_done < n_keys + KEYS_PER_S:  # one second more: the end still changes, and steering looks ahead
        n_kept = len(last) - BLEND_KEYS
        both = blended(last, draw(len(done) + 1))
        done.append(both.part(0, n_kept))
        last, n_done = both.part(n_kept), n_done + n_kept
    whole = Stretch(
        np.concatenate([stretch.rotations for stretch in done]),
        np.concatenate([stretch.clearance for stretch in done]),
        np.concatenate([stretch.steps for stretch in done]),
        np.concatenate([stretch.turns for stretch in done]),
        np.concatenate([stretch.held for stretch in done]),
    )
    places = _lead(whole, rng, lane, leg, facing, n_keys)
    return Trajectory(whole.rotations[:n_keys], whole.clearance[:n_keys], places)


def _lead(whole: Stretch, rng: np.random.Generator, lane: Lane, leg: float, facing: float, n_keys: int) -> Floats:
    """Return x, z and yaw (n, 3) of the first `n_keys` keys."""
    places = np.empty((n_keys, 3))
    side = 1.0 if rng.random() < 0.5 else -1.0
    x, z = _spot(rng, lane, side)
    goal = _spot(rng, lane, -side)
    yaw = facing
    steps = leg * whole.steps
    # the displacement over the next second, at every key
    sums = np.cumsum(np.concatenate((np.zeros((1, 2)), steps)), axis=0)
    ahead = sums[KEYS_PER_S : n_keys + KEYS_PER_S] - sums[:n_keys]
    for key in range(n_keys):
        places[key] = x, z, yaw
        left, forward = ahead[key].tolist()
        if math.hypot(left, forward) > WALKING:
            if math.dist((x, z), goal) < ARRIVED:
                side = -math.copysign(1.0, x)
                goal = _spot(rng, lane, side)
            wanted, now = math.atan2(goal[0] - x, goal[1] - z), yaw + math.atan2(left, forward)
            share = TURN_SHARE
        else:
            wanted, now, share = facing, yaw, STANDING_TURN_SHARE
        missing = 0.0 if whole.held[key] else share * math.remainder(wanted - now, 2 * math.pi)
        yaw += float(whole.turns[key]) + min(max(missing, -TURN_RATE), TURN_RATE)
        left, forward = steps[key].tolist()
        cos, sin = math.cos(yaw), math.sin(yaw)
        x, z = lane.inside(x + cos * left + sin * forward, z - sin * left + cos * forward)
    return places


def _spot(rng: np.random.Generator, lane: Lane, side: float) -> tuple[float, float]:
    """Draw a point in the outer half of one side of a lane: 1 is right, -1 left of the camera's axis."""
    z = -rng.uniform(lane.near, lane.far)
    return side * rng.uniform(0.5, 1.0) * lane.slope * -z, z
