"""Joints over time: an optional filter for recordings that smooths joints, bridges short gaps and keeps ids.

Each joint of each person has a one-euro filter (Casiez, Roussel, Vogel: 1 Euro Filter, CHI 2012) in camera space: a
low-pass whose cutoff rises with speed, so that a joint at rest is steady and a fast one hardly lags. The input comes
from `find_joints`; `drawing` and `files` take the output.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import median

from depthforest.base import FrameError, UsageError, is_finite
from depthforest.frames import Camera, Joint, Position
from depthforest.joints.files import FrameJoints, JointLike
from depthforest.joints.motion.bvh import write_bvh
from depthforest.joints.motion.c3d import write_c3d
from depthforest.joints.motion.gltf import write_gltf
from depthforest.joints.motion.motion import Motion
from depthforest.joints.motion.rerun import write_rerun
from depthforest.joints.motion.tables import write_angles, write_bones, write_wide


@dataclass(frozen=True)
class TrackedJoint(Joint):
    """A joint after the filter; one that was predicted because the frame showed none is not visible.

    Parameters
    ----------
    position, confidence
        As in `Joint`. The confidence of a bridged joint falls from the last one that was found to 0.
    is_visible : bool
        Whether the joint was found in this frame.
    """

    @property
    def is_bridged(self) -> bool:
        """Whether the joint is predicted."""
        return not self.is_visible


@dataclass(frozen=True)
class TrackSettings:
    """Settings of the joint filter. All numbers are above 0, except `speed_gain`, `lead` and `coast_s`, which may be 0.

    The first four are near the least error on synthetic recordings of walking and gesturing people with 3 cm of noise
    in each coordinate (tools/measure_tracks.py).

    Parameters
    ----------
    min_cutoff_hz : float
        Cutoff for a joint at rest. Lower: steadier, but slower to start.
    speed_gain : float
        How much the cutoff rises with speed, Hz per m/s (the paper's beta). Higher: less lag, more noise in motion.
    speed_cutoff_hz : float
        Cutoff of the speed itself. It is low, because differences of noisy positions are even noisier.
    lead : float
        0 to 1: share of a joint's own speed that extrapolates it to the next frame before mixing. 0 is the filter of
        the paper, which lags behind steady motion; 1 does not lag, but overshoots when the motion stops.
    max_gap_s : float
        A joint that is not found is predicted for this long, while its confidence falls to 0. On the same recordings,
        predictions are off by 5 cm after one frame at 30 frames per second and by 19 cm after six. If frames are
        farther apart than this, the filter restarts at each.
    coast_s : float
        A predicted joint loses its speed with this time constant, because limbs soon stop or turn back.
    jump_m, jump_speed : float
        A joint found farther than ``jump_m + jump_speed * seconds`` from its expected position is held back, and
        accepted if the next frame finds it there again. Meters for noise, meters per second for changes of speed.
    person_reach_m, person_speed : float
        With matched ids: a person is the same as before if half of the joints are nearer than ``person_reach_m +
        person_speed * seconds``. The defaults are less than the distance of two people who stand close, and a fast
        walk.
    person_memory_s : float
        With matched ids: how long a hidden person keeps the id.
    person_joints : int
        With matched ids: a new person has at least this many joints. Fewer joints belong to a mostly hidden person, and
        are left out unless they match a known one.
    """

    min_cutoff_hz: float = 0.7
    speed_gain: float = 5.0
    speed_cutoff_hz: float = 1.0
    lead: float = 0.5
    max_gap_s: float = 0.2
    coast_s: float = 0.15
    jump_m: float = 0.15
    jump_speed: float = 2.5
    person_reach_m: float = 0.35
    person_speed: float = 1.5
    person_memory_s: float = 2.0
    person_joints: int = 6

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            may_be_zero = entry.name in ("speed_gain", "lead", "coast_s")
            if not is_finite(value) or value < 0 or (value == 0 and not may_be_zero):
                least = "0 or more" if may_be_zero else "above 0"
                raise UsageError(f"{entry.name} must be a finite number {least}, got {value!r}")
        if self.lead > 1:
            raise UsageError(f"lead must be from 0 to 1, got {self.lead!r}")


class JointTracks:
    """Filter of the joints of a recording, frame by frame.

    Parameters
    ----------
    fps : float
        Frames per second, for frames that come without a time.
    settings : TrackSettings, optional
    match : bool
        False: people keep their ids in the frames, as with `PeopleTracker`. True: ids of different frames are
        unrelated, as with `find_people` alone; people are recognized by the positions of their joints, and numbered
        from 1.
    keep : bool
        Keep all frames in `frames`, so that motion can be written at the end. Not for endless live streams.
    """

    def __init__(
        self, fps: float = 30.0, settings: TrackSettings | None = None, *, match: bool = False, keep: bool = False
    ) -> None:
        if not is_finite(fps) or fps <= 0:
            raise UsageError(f"fps must be frames a second, above 0; got {fps!r}")
        self.fps = float(fps)
        self.settings = settings if settings is not None else TrackSettings()
        self.match = match
        self.keep = keep
        self.frames: list[FrameJoints] = []
        """The frames so far, filtered, if they are kept."""
        self._time: float | None = None
        self._people: dict[int, dict[str, _Track]] = {}
        self._n_people = 0

    def add(
        self,
        people: Mapping[int, Mapping[str, JointLike]],
        *,
        time: float | None = None,
        name: str | None = None,
        camera: Camera | None = None,
    ) -> dict[int, dict[str, TrackedJoint]]:
        """Add the joints of the next frame, and return them filtered, with bridged ones.

        Parameters
        ----------
        people : mapping of person id to mapping of joint name to joint
            The joints that were found; empty if nobody was found.
        time : float, optional
            Time of the frame in seconds, later than the last one's. Default: 1 / fps after it.
        name : str, optional
            Name of the frame, for kept frames. Default: its number.
        camera : Camera, optional
            Camera of the frame, for kept frames.

        Returns
        -------
        dict of person id to dict of joint name to TrackedJoint
            People without any joint are left out.
        """
        time = self._next_time(time)
        if not isinstance(people, Mapping) or not all(isinstance(its, Mapping) for its in people.values()):
            raise UsageError("add takes the joints of each person by id, as in {1: joints}")
        found = {person: {name: _checked(name, joint) for name, joint in its.items()} for person, its in people.items()}
        if self.match:
            found = self._matched(found, time)
        self._time = time
        filtered: dict[int, dict[str, TrackedJoint]] = {}
        for person in sorted({*self._people, *found}):
            tracks, its_joints = self._people.setdefault(person, {}), found.get(person, {})
            for own, joint in its_joints.items():
                if own not in tracks:
                    tracks[own] = _Track(joint, time)
            stepped = {own: tracks[own].step(its_joints.get(own), time, self.settings) for own in tracks}
            known = {own: joint for own, joint in stepped.items() if joint is not None}
            if known:
                filtered[person] = known
            if all(time - track.seen_at > self.settings.person_memory_s for track in tracks.values()):
                del self._people[person]
        if self.keep:
            called = f"{len(self.frames):06d}" if name is None else name
            self.frames.append(FrameJoints(called, filtered, time, camera))
        return filtered

    def motion(self, person: int | None = None) -> Motion:
        """Return the motion of a person. Default: the only one. Requires `keep`."""
        if not self.frames:
            raise UsageError("no frames are kept; make JointTracks(keep=True) and add frames first")
        ids = sorted({known for frame in self.frames for known in frame.people})
        if person is None and len(ids) != 1:
            raise UsageError(f"name a person; ids: {', '.join(map(str, ids)) or 'none'}")
        return Motion.of(self.frames, ids[0] if person is None else person)

    def to_bvh(self, path: str | Path, person: int | None = None, *, fps: float | None = None) -> None:
        """Write a person's motion as BVH, see `write_bvh`."""
        write_bvh(path, self.motion(person), fps=fps)

    def to_c3d(self, path: str | Path, person: int | None = None, *, fps: float | None = None) -> None:
        """Write a person's joints as C3D, see `write_c3d`."""
        write_c3d(path, self.motion(person), fps=fps)

    def to_gltf(self, path: str | Path, person: int | None = None) -> None:
        """Write a person's motion as binary glTF, see `write_gltf`."""
        write_gltf(path, self.motion(person))

    def to_rerun(self, path: str | Path, person: int | None = None) -> None:
        """Write a person's joints and bones as a Rerun recording, see `write_rerun`."""
        write_rerun(path, self.motion(person))

    def to_angles(self, path: str | Path, person: int | None = None) -> None:
        """Write a person's joint angles as CSV, see `write_angles`."""
        write_angles(path, self.motion(person))

    def to_bones(self, path: str | Path, person: int | None = None) -> None:
        """Write a person's bone lengths as CSV, see `write_bones`."""
        write_bones(path, self.motion(person))

    def to_wide(self, path: str | Path, person: int | None = None) -> None:
        """Write a person's joints as CSV with a row for each frame, see `write_wide`."""
        write_wide(path, self.motion(person))

    def _next_time(self, time: float | None) -> float:
        if time is None:
            return 0.0 if self._time is None else self._time + 1 / self.fps
        if not is_finite(time):
            raise UsageError(f"a frame's time is a finite number of seconds, got {time!r}")
        if self._time is not None and time <= self._time:
            raise UsageError(f"times must rise from frame to frame, got {time:g} s after {self._time:g} s")
        return float(time)

    def _matched(self, found: Mapping[int, dict[str, Joint]], time: float) -> dict[int, dict[str, Joint]]:
        """Return the people under the ids of known people at the same positions; nearest pairs first."""
        settings = self.settings
        pairs: list[tuple[float, int, int]] = []
        for person, tracks in self._people.items():
            elapsed = min(time - track.seen_at for track in tracks.values())
            for number, joints in found.items():
                expected = {name: tracks[name].coasted(time, settings) for name in joints if name in tracks}
                if expected:
                    distance = median(math.dist(joints[name].position, expected[name]) for name in expected)
                    if distance <= settings.person_reach_m + settings.person_speed * elapsed:
                        pairs.append((distance, person, number))
        known: dict[int, int] = {}
        for _, person, number in sorted(pairs):
            if number not in known and person not in known.values():
                known[number] = person
        for number, joints in found.items():
            if number not in known and len(joints) >= settings.person_joints:
                self._n_people += 1
                known[number] = self._n_people
        return {known[number]: joints for number, joints in found.items() if number in known}


def _checked(name: str, joint: JointLike) -> Joint:
    try:
        return Joint(joint.position, True, float(joint.confidence))
    except FrameError as error:
        raise FrameError(f"joint {name!r}: {error}") from None


class _Track:
    """One joint: its last found position, its filtered position, and its speed."""

    __slots__ = ("_confidence", "_held", "_raw", "_smooth", "_speed", "seen_at")

    def __init__(self, joint: Joint, time: float) -> None:
        self._start(joint, time)

    def _start(self, joint: Joint, time: float) -> None:
        self._raw = self._smooth = joint.position
        self._speed: Position = (0.0, 0.0, 0.0)
        self._confidence, self.seen_at = joint.confidence, time
        self._held: tuple[Position, float] | None = None

    def coasted(self, time: float, settings: TrackSettings) -> Position:
        """Return the expected position: the joint moves on and slows down, v(t) = v exp(-t / coast_s)."""
        way = settings.coast_s * -math.expm1(-(time - self.seen_at) / settings.coast_s) if settings.coast_s else 0.0
        return _moved(self._smooth, self._speed, way)

    def step(self, joint: Joint | None, time: float, settings: TrackSettings) -> TrackedJoint | None:
        """Advance to a frame in which the joint was found or not; return None once it has been missing for too long."""
        elapsed = time - self.seen_at
        if joint is not None:
            if elapsed == 0:  # its first frame
                return TrackedJoint(joint.position, True, joint.confidence)
            place, is_lost = joint.position, elapsed >= settings.max_gap_s
            if not is_lost and _is_near(place, self.coasted(time, settings), elapsed, settings):
                return self._mixed(joint, time, settings)
            if is_lost or (self._held is not None and _is_near(place, self._held[0], time - self._held[1], settings)):
                self._start(joint, time)
                return TrackedJoint(place, True, joint.confidence)
            self._held = place, time
        if elapsed >= settings.max_gap_s:
            return None
        confidence = self._confidence * (1 - elapsed / settings.max_gap_s)
        return TrackedJoint(self.coasted(time, settings), False, confidence)

    def _mixed(self, joint: Joint, time: float, settings: TrackSettings) -> TrackedJoint:
        """Add a found position to the filter."""
        elapsed = time - self.seen_at
        # from found positions: filtered ones lag
        (x, y, z), (old_x, old_y, old_z) = joint.position, self._raw
        speed = (x - old_x) / elapsed, (y - old_y) / elapsed, (z - old_z) / elapsed
        self._speed = _between(self._speed, speed, _share_of_new(settings.speed_cutoff_hz, elapsed))
        cutoff = settings.min_cutoff_hz + settings.speed_gain * math.hypot(*self._speed)
        before = _moved(self._smooth, self._speed, settings.lead * elapsed)
        self._smooth = _between(before, joint.position, _share_of_new(cutoff, elapsed))
        self._raw, self._confidence, self.seen_at, self._held = joint.position, joint.confidence, time, None
        return TrackedJoint(self._smooth, True, joint.confidence)


def _is_near(place: Position, expected: Position, elapsed: float, settings: TrackSettings) -> bool:
    return math.dist(place, expected) <= settings.jump_m + settings.jump_speed * elapsed


def _share_of_new(cutoff_hz: float, elapsed: float) -> float:
    """Return the share of a new value in a first-order low-pass, alpha = 1 / (1 + tau / T), tau = 1 / (2 pi f)."""
    return 1 / (1 + 1 / (2 * math.pi * cutoff_hz * elapsed))


def _between(old: Position, new: Position, share: float) -> Position:
    (ax, ay, az), (bx, by, bz) = old, new  # spelled out: a frame has many, and loops over three take longer
    return ax + share * (bx - ax), ay + share * (by - ay), az + share * (bz - az)


def _moved(place: Position, speed: Position, seconds: float) -> Position:
    (x, y, z), (vx, vy, vz) = place, speed
    return x + seconds * vx, y + seconds * vy, z + seconds * vz
