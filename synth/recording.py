"""Recording: a continuous synthetic recording, (config, seed, fps, index) -> LabeledFrame, each frame independently.

The same people move about the same room in front of the same camera; only the sensor's noise is new in every frame.
`motion` steers each person along a lane of the floor, so that people cross and occlude each other without colliding.
`Recording.seen_from` is the same recording from another place: several cameras with one ground truth.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import threading
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from depthforest.base import Floats, Singles, is_finite, is_number
from depthforest.frames import Camera
from synth.bodies import BONE, Body
from synth.config import Config, ConfigError
from synth.generator import FLOOR_TOLERANCE, Generator
from synth.poses import (
    CMU_NAMES,
    KEYS_PER_S,
    REFERENCE_HEADS,
    Lane,
    MocapError,
    NameMap,
    Stretch,
    Trajectory,
    clip_files,
    clip_name,
    clip_stretch,
    clip_subject,
    fall_stretch,
    gesture_stretch,
    join,
    joint_positions,
    read_bvh,
    sample_poses,
    sit_stretch,
    walking_stretch,
)
from synth.provenance import identity
from synth.scene import (
    PROBED_EVERY,
    VOXEL,
    Inventory,
    Person,
    PlacedPerson,
    PosedBody,
    Rendered,
    Scene,
    View,
    compose,
    lifted,
    pose_body,
    render,
    seat_under,
    turn_about_y,
)

# independent streams of random numbers, also of those in `generator`: the second word of every seed
_STAGE, _LEADING, _STRETCHES, _SENSING, _STATIONS, _ROLES = 11, 12, 13, 14, 15, 16

ACTS = ("walk", "gesture", "sit", "fall")
"""What people of a recording can do; the first two by default."""

SEATED_WITHIN_S = 4.0
"""Seconds until a sitting person is seated for the first time: at most 1.5 s of standing and 1.8 s of sitting down."""

LANE_SHARE = 0.7
"""Share of the view's width that people use; furniture may stand beside it."""

LANE_GAP = 0.7
"""Meters between the lanes of two people, into which both may reach with their arms."""

STAGE_HEIGHT = 1.9
"""Meters above the floor of people's lanes that are kept free of furniture."""

STATION_CLEARANCE = 0.8
"""Meters around a second camera that are kept free of furniture."""

MAX_CLIPS = 60
"""Clips tried at most until one suits; about one in three does."""


@dataclass(frozen=True)
class Station:
    """The place of a second camera, and when it starts; see `Recording.seen_from`."""

    bearing: float
    distance: float
    height: float
    tilt: float
    start_s: float


@dataclass(frozen=True)
class _StationView(View):
    """A camera at any place: at (x, height, z), turned to its left by `yaw` radians."""

    x: float = 0.0
    z: float = 0.0
    yaw: float = 0.0

    @cached_property
    def rotation(self) -> Floats:
        """World axes to camera axes, (3, 3)."""
        straight = View(self.camera, self.height, self.tilt, self.roll).rotation
        return np.asarray(straight @ turn_about_y(self.yaw).T)

    def to_camera(self, points: Floats) -> Floats:
        """Return world points (..., 3) in camera space."""
        return np.asarray((points - np.array([self.x, self.height, self.z])) @ self.rotation.T)


class Recording(Generator):
    """Labeled frames of one continuous recording, made on demand.

    Parameters
    ----------
    config : Config, optional
        Settings of people, room, camera and sensor. `far_distance` limits the distances at which people move;
        `near_share`, `near_distance`, `off_center`, `mocap_distance`, `seat_share`, `touch_share` and the activities
        (`carry_share` and so on) are ignored; `empty_share` is the share of seeds without people. With `mocap`, motion
        is taken from those of its clips in which someone walks or stands; without, people walk and gesture as the
        built-in pose families do.
    seed : int
        0 or more.
    n : int
        Number of frames; frames do not depend on it.
    fps : float
        Frames per second.
    acts : tuple of str
        What people do, of "walk", "gesture", "sit" and "fall", in proportion to how often each is listed. People who
        fall get up again. People who sit stay in one place, with a seat behind them, and sit down and stand up.
    """

    def __init__(
        self,
        config: Config | None = None,
        seed: int = 0,
        n: int = 300,
        fps: float = 30.0,
        acts: tuple[str, ...] = ACTS[:2],
    ) -> None:
        config = config if config is not None else Config()
        if not is_number(fps) or not 0.1 <= fps <= 1000:
            raise ConfigError(f"fps must be a number from 0.1 to 1000, got {fps!r}")
        if not acts or not set(acts) <= set(ACTS):
            raise ConfigError(f"acts are some of {', '.join(ACTS)}; got {', '.join(map(str, acts)) or 'none'}")
        # without clips, because the generator would read all of them as single poses
        super().__init__(dataclasses.replace(config, mocap=""), seed, n)
        self.config, self.fps, self.acts = config, float(fps), tuple(acts)
        self._n_whole = self._n
        rng = np.random.default_rng([self.seed, _STAGE])
        n_people = 1 + bisect_right(self._people_steps, rng.random())
        chosen = rng.choice(config.n_bodies, n_people, replace=n_people > config.n_bodies)
        bodies = [self._bodies[int(number)] for number in chosen]
        lanes = _lanes(rng, config, self.camera.width / 2 / self.camera.fx, n_people)
        self._room = _compose_room(rng, config, self.camera, bodies[0], lanes, self._inventory)
        self._first_view = self._room.view
        if config.empty_share > 0 and rng.random() < config.empty_share:
            bodies, lanes = [], []
        self._station: Station | None = None
        self._actors = tuple(
            self._actor(number, body, lane) for number, (body, lane) in enumerate(zip(bodies, lanes, strict=True))
        )
        self._bring_seats()
        self._whole_room = self._room

    def identity(self) -> str:
        """Return the text that identifies the frames, whatever their number: everything they depend on."""
        acts = "" if self.acts == ACTS[:2] else f" of people who {', '.join(self.acts)}"
        seen = "" if self._station is None else f" from {self._station}"
        return f"recording at {self.fps!r} frames a second{acts}{seen}\n{identity(self.config, self.seed)}"

    def seen_from(
        self,
        bearing: float,
        *,
        distance: float | None = None,
        height: float | None = None,
        tilt: float | None = None,
        start_s: float = 0.0,
    ) -> Recording:
        """Return the same recording from a second camera, which points at the middle of the stage.

        Walls between camera and stage and furniture around the camera are left out.

        Parameters
        ----------
        bearing : float
            Degrees around the middle of the stage: 90 is on the first camera's right, 180 opposite.
        distance, height : float, optional
            Meters from the middle of the stage, and above the floor. Default: as for the first camera.
        tilt : float, optional
            Degrees down. Default: as for the first camera.
        start_s : float
            Seconds by which its first frame is later, 0 or more. All recordings end at the same time.
        """
        first = self._first_view
        distance = self._middle if distance is None else distance
        height = first.height if height is None else height
        tilt = math.degrees(first.tilt) if tilt is None else tilt
        station = Station(*map(float, (bearing, distance, height, tilt, start_s)))
        if not all(map(is_finite, dataclasses.astuple(station))) or distance <= 0 or height <= 0 or start_s < 0:
            raise ConfigError(f"distance and height must be above 0, start_s 0 or more; got {station}")
        other = copy.copy(self)
        other._station, other._canvases = station, threading.local()
        other._n = max(0, self._n_whole - math.ceil(station.start_s * self.fps))
        other._room = _seen_from(self._whole_room, first, station, self._middle)
        return other

    def people(self, index: int) -> tuple[PlacedPerson, ...]:
        """Return all people in the world at the time of a frame, without rendering it."""
        return tuple(actor.placed(self.start_s + index / self.fps) for actor in self._actors)

    @property
    def view(self) -> View:
        """The camera's place and orientation in the world."""
        return self._room.view

    @property
    def pose(self) -> tuple[Floats, Floats]:
        """Rotation (3, 3) and translation (3,) from this camera's space to that of the first camera."""
        own, first = self._room.view, self._first_view
        rotation = first.rotation @ own.rotation.T
        return rotation, first.to_camera(_place(own))

    @property
    def start_s(self) -> float:
        """Seconds by which the first frame is later than that of the first camera."""
        return 0.0 if self._station is None else self._station.start_s

    @property
    def _middle(self) -> float:
        """Meters from the first camera to the middle of the stage, along the floor."""
        return sum(self.config.far_distance) / 2

    def scene(self, index: int) -> tuple[Scene, Rendered, np.random.Generator]:
        """Return the scene of a frame, its ideal image, and the random generator for the sensor.

        The image is in memory that this thread's next call reuses.
        """
        scene = dataclasses.replace(self._room, people=self.people(index))
        rendered = render(self.camera, scene.meshes(), canvas=self._canvas())
        # each camera has its own noise
        own = () if self._station is None else (round(1000 * self._station.bearing) % 360_000, _STATIONS)
        return scene, rendered, np.random.default_rng([self.seed, _SENSING, index, *own])

    def _actor(self, number: int, body: Body, lane: Lane) -> _Actor:
        rng = np.random.default_rng([self.seed, _LEADING, number])
        if rng.random() < self.config.yaw_front_share:
            facing = math.radians(rng.normal(0.0, self.config.yaw_front_spread))
        else:
            facing = rng.uniform(-math.pi, math.pi)
        seconds = len(self) / self.fps
        role = (
            "" if self.acts == ACTS[:2] else str(np.random.default_rng([self.seed, _ROLES, number]).choice(self.acts))
        )
        sitting = self._sitting_poses(number) if role == "sit" else None

        def draw(stretch: int) -> Stretch:
            rng = np.random.default_rng([self.seed, _STRETCHES, number, stretch])
            if sitting is not None:
                is_seated = stretch % 2 == 0
                return sit_stretch(rng, *sitting) if is_seated else gesture_stretch(rng)
            return self._stretch(rng)

        if sitting is not None:
            seconds = max(seconds, SEATED_WITHIN_S)  # the seat must not depend on the number of frames
        way = join(draw, rng, lane, seconds=seconds, leg=body.leg_length, facing=facing)
        return _Actor(body, way, is_sitter=sitting is not None)

    def _sitting_poses(self, number: int) -> tuple[Singles, Singles]:
        """Draw the poses in which somebody stands and sits, always the same, so that one seat fits."""
        rng = np.random.default_rng([self.seed, _ROLES, number, 1])
        standing, seated = (sample_poses(rng, 1, name)[0].pose.rotations for name in ("standing", "sitting"))
        return standing, seated

    def _bring_seats(self) -> None:
        """Put seats under the people who will sit."""
        for number, actor in enumerate(self._actors):
            if actor.is_sitter:
                placed = actor.placed(actor.lowest_s())
                rng = np.random.default_rng([self.seed, _ROLES, number, 2])
                seat = seat_under(rng, placed, placed.probes, ())
                if seat is not None:
                    self._room = dataclasses.replace(self._room, pieces=(*self._room.pieces, seat))

    def _stretch(self, rng: np.random.Generator) -> Stretch:
        config = self.config
        if self.acts != ACTS[:2]:
            act = str(rng.choice([act for act in self.acts if act != "sit"] or ["gesture"]))
            if act == "fall":
                return fall_stretch(rng)
            if not config.mocap:
                return walking_stretch(rng) if act == "walk" else gesture_stretch(rng)
        if not config.mocap or rng.random() >= config.mocap_share:
            return walking_stretch(rng) if rng.random() < 0.5 else gesture_stretch(rng)
        files, problem = self._clips, MocapError(f"{config.mocap}: holds no BVH clips (*.bvh)")
        for _ in range(MAX_CLIPS if files else 0):
            path, start = files[int(rng.integers(len(files)))], rng.random()
            try:
                return clip_stretch(
                    read_bvh(path), names=self._names, start=start, most_clearance=config.mocap_clearance
                )
            except MocapError as error:
                problem = error
        raise ConfigError(f"{MAX_CLIPS} clips were tried, and none suits a recording; the last: {problem}")

    @cached_property
    def _clips(self) -> list[Path]:
        folder = Path(self.config.mocap)
        return [p for p in clip_files(folder) if self.config.takes_subject(clip_subject(clip_name(p, folder)))]

    @cached_property
    def _names(self) -> NameMap:
        return NameMap.from_json(self.config.mocap_names) if self.config.mocap_names else CMU_NAMES

    def __getstate__(self) -> tuple[Config, int, int, float, tuple[str, ...], Station | None]:  # type: ignore[override]
        return self.config.at_absolute_paths(), self.seed, self._n_whole, self.fps, self.acts, self._station

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        *made, station = state
        self.__init__(*made)  # type: ignore[misc]
        if station is not None:
            self.__dict__ = self.seen_from(**dataclasses.asdict(station)).__dict__


@dataclass(frozen=True, eq=False)
class _Actor:
    """A person of a recording."""

    body: Body
    trajectory: Trajectory
    is_sitter: bool = False

    def lowest_s(self) -> float:
        """Return the time, within the first seconds, when the hips are lowest: the person sits."""
        turned = self.trajectory.rotations[: round(SEATED_WITHIN_S * KEYS_PER_S)]
        heights = -joint_positions(turned)[:, [BONE["LeftFoot"], BONE["RightFoot"]], 1].min(axis=1)
        seated = np.flatnonzero(heights < heights.min() + 0.01)
        return float(seated[len(seated) // 2]) / KEYS_PER_S

    def placed(self, time: float) -> PlacedPerson:
        """Return the person at a time in seconds."""
        pose, x, z, yaw = self.trajectory.at(time)
        return Person(self.body, _lifted(pose_body(self.body, pose))).placed(x, z, yaw)


def _lifted(posed: PosedBody) -> PosedBody:
    """Return a body lifted until it is no deeper in the floor than soft soles, without jumps between frames."""
    sunk = -FLOOR_TOLERANCE - float(posed.vertices[:, 1].min())
    if sunk <= 0:
        return posed
    return lifted(posed, sunk)


def _place(view: View) -> Floats:
    """Return the position of a camera in the world."""
    return np.array([getattr(view, "x", 0.0), view.height, getattr(view, "z", 0.0)])


def _seen_from(room: Scene, first: View, station: Station, middle: float) -> Scene:
    """Return a room as seen by a camera at a station."""
    yaw = math.radians(station.bearing)
    target = np.array([0.0, 0.0, -middle])
    place = target + turn_about_y(yaw) @ np.array([0.0, 0.0, station.distance])
    x, z = float(place[0]), float(place[2])
    view = _StationView(first.camera, station.height, math.radians(station.tilt), first.roll, x, z, yaw)
    eye = _place(view)

    def is_between(wall: Floats) -> bool:
        across = np.cross(wall[1] - wall[0], wall[3] - wall[0])
        sides = [float(across @ (point - wall[0])) for point in (eye, target + (0.0, 1.0, 0.0))]
        return sides[0] * sides[1] < 0

    walls = room.walls[[not is_between(wall) for wall in room.walls]]
    pieces = tuple(piece for piece in room.pieces if math.hypot(piece.x - x, piece.z - z) > STATION_CLEARANCE)
    return dataclasses.replace(room, view=view, walls=walls, pieces=pieces)


def _lanes(rng: np.random.Generator, config: Config, half_width: float, n: int) -> list[Lane]:
    """Return the lanes of some people, in random order."""
    near, far = config.far_distance
    gap = min(LANE_GAP, (far - near) / n)
    depth = (far - near - (n - 1) * gap) / n
    starts = [near + number * (depth + gap) for number in range(n)]
    return [Lane(starts[i], starts[i] + depth, LANE_SHARE * half_width) for i in rng.permutation(n).tolist()]


def _compose_room(
    rng: np.random.Generator, config: Config, camera: Camera, body: Body, lanes: list[Lane], inventory: Inventory
) -> Scene:
    """Draw a room with `compose`: its main person fills all lanes, so that furniture avoids them."""
    near, far = min(lane.near for lane in lanes), max(lane.far for lane in lanes)
    middle = (near + far) / 2
    fixed = dataclasses.replace(
        config,
        near_share=0.0,
        far_distance=(middle, middle),
        off_center=0.0,
        yaw_front_share=1.0,
        yaw_front_spread=0.0,
        blocked_share=0.0 if config.clutter_share > 0 else config.blocked_share,
    )
    # the lanes as points one voxel apart, around the main person's place; that person faces the camera, so no rotation
    grid = [np.arange(low, high + VOXEL, VOXEL) for low, high in ((-far, far), (0.0, STAGE_HEIGHT), (-far, -near))]
    x, y, z = (axis.ravel() for axis in np.meshgrid(*grid, indexing="ij"))
    inside = np.abs(x) <= lanes[0].slope * -z + 0.3  # elbows
    points = np.stack((x, y, z + middle), axis=1)[inside].astype(np.float32)
    posed = PosedBody(np.repeat(points, PROBED_EVERY, axis=0), points[:19], REFERENCE_HEADS.astype(np.float32))
    scene = compose(rng, fixed, camera, [Person(body, posed)], inventory)
    return dataclasses.replace(scene, people=())
