"""Recording: a continuous synthetic recording, (config, seed, fps, index) -> LabeledFrame, each frame alone.

The same people move about the same room before the same camera; only the sensor's noise is new in every frame. `motion`
leads each person through a lane of the floor, so that people cross and hide each other but do not walk into each other.
"""

from __future__ import annotations

import dataclasses
import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from depthforest.base import is_number
from depthforest.frames import Camera
from synth.bodies import Body
from synth.config import Config, ConfigError
from synth.generator import FLOOR_TOLERANCE, Generator
from synth.poses import (
    CMU_NAMES,
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
    gesture_stretch,
    join,
    read_bvh,
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
    compose,
    lifted,
    pose_body,
    render,
)

# streams of random numbers that never meet each other or those of `generator`: the second word of every seed
_STAGE, _LEADING, _STRETCHES, _SENSING = 11, 12, 13, 14

LANE_SHARE = 0.7
"""Of the view's width that people use; furniture may stand beside it."""

LANE_GAP = 0.7
"""Metres between the lanes of two people: arms reach into it from both sides."""

STAGE_HEIGHT = 1.9
"""Metres above the floor of people's lanes that stay free of furniture."""

MAX_CLIPS = 60
"""How many clips are tried, at most, until one suits: about one in three does."""


class Recording(Generator):
    """Labeled frames of one continuous recording, made when they are asked for.

    Parameters
    ----------
    config : Config, optional
        What people, room, camera and sensor are like. `far_distance` bounds where people go; `near_share`,
        `near_distance`, `off_center`, `mocap_distance`, `seat_share`, `touch_share` and what people do (`carry_share`
        and so on) have no meaning here; `empty_share` of the seeds show nobody. With `mocap`, motion is
        taken from its clips, those in which someone walks or stands; without, people walk and gesture as the built-in
        pose families do.
    seed : int
        0 or more.
    n : int
        Number of frames. It does not change any of them.
    fps : float
        Frames a second.
    """

    def __init__(self, config: Config | None = None, seed: int = 0, n: int = 300, fps: float = 30.0) -> None:
        config = config if config is not None else Config()
        if not is_number(fps) or not 0.1 <= fps <= 1000:
            raise ConfigError(f"fps must be a number from 0.1 to 1000, got {fps!r}")
        # without clips: the generator would read all of them as single poses
        super().__init__(dataclasses.replace(config, mocap=""), seed, n)
        self.config, self.fps = config, float(fps)
        rng = np.random.default_rng([self.seed, _STAGE])
        n_people = 1 + bisect_right(self._people_steps, rng.random())
        chosen = rng.choice(config.n_bodies, n_people, replace=n_people > config.n_bodies)
        bodies = [self._bodies[int(number)] for number in chosen]
        lanes = _lanes(rng, config, self.camera.width / 2 / self.camera.fx, n_people)
        self._room = _compose_room(rng, config, self.camera, bodies[0], lanes, self._inventory)
        if config.empty_share > 0 and rng.random() < config.empty_share:
            bodies, lanes = [], []
        self._actors = tuple(
            self._actor(number, body, lane) for number, (body, lane) in enumerate(zip(bodies, lanes, strict=True))
        )

    def identity(self) -> str:
        """Return the text of all that makes the frames, whatever their number."""
        return f"recording at {self.fps!r} frames a second\n{identity(self.config, self.seed)}"

    def scene(self, index: int) -> tuple[Scene, Rendered, np.random.Generator]:
        """Return the scene of a frame, what an ideal camera sees of it, and the generator that goes on to the sensor.

        The picture lives in memory that this thread's next call uses again.
        """
        people = tuple(actor.placed(index / self.fps) for actor in self._actors)
        scene = dataclasses.replace(self._room, people=people)
        rendered = render(self.camera, scene.meshes(), canvas=self._canvas())
        return scene, rendered, np.random.default_rng([self.seed, _SENSING, index])

    def _actor(self, number: int, body: Body, lane: Lane) -> _Actor:
        rng = np.random.default_rng([self.seed, _LEADING, number])
        if rng.random() < self.config.yaw_front_share:
            facing = math.radians(rng.normal(0.0, self.config.yaw_front_spread))
        else:
            facing = rng.uniform(-math.pi, math.pi)
        seconds = len(self) / self.fps

        def draw(stretch: int) -> Stretch:
            return self._stretch(np.random.default_rng([self.seed, _STRETCHES, number, stretch]))

        return _Actor(body, join(draw, rng, lane, seconds=seconds, leg=body.leg_length, facing=facing))

    def _stretch(self, rng: np.random.Generator) -> Stretch:
        config = self.config
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

    def __getstate__(self) -> tuple[Config, int, int, float]:  # type: ignore[override]
        return self.config, self.seed, len(self), self.fps


@dataclass(frozen=True, eq=False)
class _Actor:
    """A person of a recording."""

    body: Body
    trajectory: Trajectory

    def placed(self, time: float) -> PlacedPerson:
        """Return the person at a time in seconds."""
        pose, x, z, yaw = self.trajectory.at(time)
        return Person(self.body, _lifted(pose_body(self.body, pose))).placed(x, z, yaw)


def _lifted(posed: PosedBody) -> PosedBody:
    """Return a body lifted until it is no deeper in the floor than soft soles: no jump from frame to frame."""
    sunk = -FLOOR_TOLERANCE - float(posed.vertices[:, 1].min())
    if sunk <= 0:
        return posed
    return lifted(posed, sunk)


def _lanes(rng: np.random.Generator, config: Config, half_width: float, n: int) -> list[Lane]:
    """Return the lanes of some people, in an order by chance."""
    near, far = config.far_distance
    gap = min(LANE_GAP, (far - near) / n)
    depth = (far - near - (n - 1) * gap) / n
    starts = [near + number * (depth + gap) for number in range(n)]
    return [Lane(starts[i], starts[i] + depth, LANE_SHARE * half_width) for i in rng.permutation(n).tolist()]


def _compose_room(
    rng: np.random.Generator, config: Config, camera: Camera, body: Body, lanes: list[Lane], inventory: Inventory
) -> Scene:
    """Draw a room: `compose` sees someone who fills all lanes, whom the camera looks at and furniture avoids."""
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
    # the lanes as points one voxel apart, around the place where the main person is put; facing the camera, so unturned
    grid = [np.arange(low, high + VOXEL, VOXEL) for low, high in ((-far, far), (0.0, STAGE_HEIGHT), (-far, -near))]
    x, y, z = (axis.ravel() for axis in np.meshgrid(*grid, indexing="ij"))
    inside = np.abs(x) <= lanes[0].slope * -z + 0.3  # elbows
    points = np.stack((x, y, z + middle), axis=1)[inside].astype(np.float32)
    posed = PosedBody(np.repeat(points, PROBED_EVERY, axis=0), points[:19], REFERENCE_HEADS.astype(np.float32))
    scene = compose(rng, fixed, camera, [Person(body, posed)], inventory)
    return dataclasses.replace(scene, people=())
