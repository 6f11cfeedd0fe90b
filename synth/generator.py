"""Generator: (config, seed, index) -> LabeledFrame, in any order, process or thread the same bytes."""

from __future__ import annotations

import threading
import warnings
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from depthforest.base import DepthForestWarning, is_whole, kernel, map_in_order
from depthforest.frames import BODY31, JOINT_PARTS, JOINTS, Camera, Frame, FrameSource, Joint, LabeledFrame
from synth.bodies import BONE, Body, Pose, dress, sample_outfit
from synth.config import ACTIVITIES, Config, ConfigError
from synth.poses import (
    CMU_NAMES,
    LIMITS,
    FamilyPose,
    NameMap,
    PoseLibrary,
    curl_fingers,
    joint_positions,
    load_poses,
    sample_poses,
)
from synth.provenance import identity
from synth.scene import (
    Canvas,
    Inventory,
    Person,
    PosedBody,
    Rendered,
    Scene,
    compose,
    compose_empty,
    lifted,
    pose_body,
    render,
)
from synth.sensors import Sensed, find_sensor, sense

# streams of random numbers that never meet: the second word of every seed
_BODIES, _POSES, _FRAMES, _ROOMS, _THINGS = 1, 2, 3, 4, 5

POSE_BLOCK = 64
"""Built-in poses are drawn so many at a time, which is faster than one by one."""

MAX_SCENES = 40
"""How many scenes are drawn, at most, until the main person can be seen; then the last is taken as it is."""

MAX_POSES = 40
"""How many poses are drawn, at most, until one has a raised hand; about one in eight has."""

BED_HEIGHT = (0.3, 0.55)
"""Meters: how high above the floor someone lies who has a bed."""

FLOOR_TOLERANCE = 0.03
"""Meters that a body may sink into the floor before it is lifted onto it: soft soles and shoes."""

DEEPEST_JOINT = 0.25
"""Meters: the surface that makes a joint visible is at most so far before it."""

JOINT_WINDOW = 0.02
"""Meters beside a joint that are looked at for its parts: edges fray, and a joint lies off the middle of its band."""

_CARRIES = np.array(
    [[name in JOINT_PARTS[joint] for name in (*BODY31.names, *[""] * (256 - len(BODY31)))] for joint in JOINTS]
)
"""Array (19, 256): whether a part carries a joint."""


class Generator(FrameSource):
    """Labeled frames that are made when they are asked for.

    Parameters
    ----------
    config : Config
    seed : int
        0 or more.
    n : int
        Length of the sequence. It does not change any frame.
    """

    def __init__(self, config: Config | None = None, seed: int = 0, n: int = 1_000_000) -> None:
        self.config = config if config is not None else Config()
        if not is_whole(seed, 0):
            raise ConfigError(f"seed must be a whole number, 0 or more; got {seed!r}")
        if not is_whole(n, 0):
            raise ConfigError(f"n must be a whole number, 0 or more; got {n!r}")
        self.seed, self._n = int(seed), int(n)
        self.camera = Camera.parse(self.config.camera)
        if self.camera.distortion:
            raise ConfigError("frames are made through an ideal lens; give a camera without distortion")
        find_sensor(self.config.sensor)
        self._bodies = _Bodies(self.config, self.seed)
        self._inventory = Inventory((self.seed, _THINGS), self.config.n_things)
        self._library = _library_of(self.config) if self.config.mocap else None
        steps = np.cumsum(self.config.people_shares)
        self._people_steps: list[float] = (steps / steps[-1]).tolist()
        shares = [getattr(self.config, f"{name}_share") for name in ACTIVITIES]
        self._activity_steps: list[float] = np.cumsum(shares).tolist()
        self._canvases = threading.local()
        self._poses: dict[int, list[FamilyPose]] = {}

    def __len__(self) -> int:
        return self._n

    def identity(self) -> str:
        """Return the text of all that makes the frames, whatever their number."""
        return identity(self.config, self.seed)

    def frames(self, start: int = 0, stop: int | None = None, *, threads: int | None = None) -> Iterator[LabeledFrame]:
        """Yield frames from `start` to `stop`, in order, made on several threads."""
        return map_in_order(self.__getitem__, range(start, self._n if stop is None else stop), threads=threads)

    def scene(self, index: int) -> tuple[Scene, Rendered, np.random.Generator]:
        """Return the scene of a frame, what an ideal camera sees of it, and the generator that goes on to the sensor.

        The picture lives in memory that this thread's next call uses again.
        """
        config = self.config
        rng = np.random.default_rng([self.seed, _FRAMES, index])
        canvas, sensor = self._canvas(), find_sensor(config.sensor)
        least = config.least_visible * self.camera.width * self.camera.height
        if config.empty_share > 0 and rng.random() < config.empty_share:
            scene = compose_empty(rng, config, self.camera, self._person(rng), self._inventory)
            return scene, render(self.camera, scene.meshes(), canvas=canvas), rng
        for _ in range(MAX_SCENES):
            n_people = 1 + bisect_right(self._people_steps, rng.random())
            people = [self._person(rng) for _ in range(n_people)]
            scene = compose(rng, config, self.camera, people, self._inventory)
            rendered = render(self.camera, scene.meshes(), canvas=canvas)
            if _count_seen(rendered.depth, rendered.people, 1, float(sensor.near_m), float(sensor.far_m)) >= least:
                break
        else:
            warnings.warn(
                f"in {MAX_SCENES} scenes the main person never covered {config.least_visible:g} of the picture; "
                "adjust distance, camera height or tilt, or least_visible",
                DepthForestWarning,
                stacklevel=2,
            )
        return scene, rendered, rng

    def empty_room(self, index: int, take: int = 0) -> Frame:
        """Return what the sensor of a frame sees of the same room when nobody is there.

        Parameters
        ----------
        index : int
            Of the frame.
        take : int
            0 or more; each has noise of its own, none of it that of the frame.
        """
        for name, value in (("index", index), ("take", take)):
            if not is_whole(value, 0):
                raise ConfigError(f"{name} must be a whole number, 0 or more; got {value!r}")
        scene = replace(self.scene(index)[0], people=())
        rendered = render(self.camera, scene.meshes(), canvas=self._canvas())
        rng = np.random.default_rng([self.seed, _ROOMS, index, take])
        sensed = sense(
            rendered.depth, rendered.parts, rendered.people, self.camera, self.config.sensor, rng, rendered.facing
        )
        return Frame(sensed.depth_mm, self.camera)

    def _frame(self, number: int) -> LabeledFrame:
        scene, rendered, rng = self.scene(number)
        sensed = sense(
            rendered.depth, rendered.parts, rendered.people, self.camera, self.config.sensor, rng, rendered.facing
        )
        joints = {i: self._joints(scene, i, sensed) for i in range(1, len(scene.people) + 1)}
        return LabeledFrame._of_own(sensed.depth_mm, self.camera, sensed.parts, sensed.people, joints)

    def _joints(self, scene: Scene, person: int, sensed: Sensed) -> dict[str, Joint]:
        """Return a person's joints; visible where the sensor shows, at or beside their pixel, a part that has them."""
        positions = scene.view.to_camera(scene.people[person - 1].joints)
        lens = np.array([self.camera.fx, self.camera.fy, self.camera.cx, self.camera.cy])
        is_visible = np.empty(len(JOINTS), dtype=np.bool_)
        _find_visible(positions, lens, person, sensed.depth_mm, sensed.parts, sensed.people, _CARRIES, is_visible)
        return {
            name: Joint((x, y, z), seen)
            for name, (x, y, z), seen in zip(JOINTS, positions.tolist(), is_visible.tolist(), strict=True)
        }

    def _person(self, rng: np.random.Generator) -> Person:
        body = self._bodies[int(rng.integers(self.config.n_bodies))]
        activity = self._activity(rng)
        if activity:
            pose, is_lying = self._suitable_pose(rng, activity)
            posed = _grounded(body, pose.mirrored() if rng.random() < 0.5 else pose, is_lying)
            return Person(body, lifted(posed, rng.uniform(*BED_HEIGHT)) if activity == "bed" else posed, activity)
        is_raised = self.config.raised_share > 0 and rng.random() < self.config.raised_share
        for _ in range(MAX_POSES if is_raised else 1):
            pose, is_lying = self._pose(rng)
            if is_raised and not is_lying and has_raised_hand(pose):
                break
        if rng.random() < 0.5:
            pose = pose.mirrored()
        return Person(body, _grounded(body, pose, is_lying))

    def _activity(self, rng: np.random.Generator) -> str:
        """Draw what a person does; most do nothing."""
        if self._activity_steps[-1] == 0:
            return ""
        number = bisect_right(self._activity_steps, rng.random())
        return ACTIVITIES[number] if number < len(ACTIVITIES) else ""

    def _suitable_pose(self, rng: np.random.Generator, activity: str) -> tuple[Pose, bool]:
        """Draw the pose of somebody who does something, and whether the body lies; the last if none suits."""
        for _ in range(MAX_POSES):
            if activity in ("desk", "bed"):  # seldom or never in clips
                drawn = self._built_in(int(rng.integers(self.config.n_poses)))
                pose, is_lying = drawn.pose, drawn.is_lying
                suits = is_lying if activity == "bed" else drawn.needs_seat
            else:
                pose, is_lying = self._pose(rng)
                suits = not is_lying and is_upright(pose)
            if suits:
                break
        return pose, is_lying

    def _pose(self, rng: np.random.Generator) -> tuple[Pose, bool]:
        """Draw a pose, and whether the body lies."""
        if self._library is not None and rng.random() < self.config.mocap_share:
            pose = self._library[int(rng.integers(len(self._library)))]
            return _curled(pose, rng, self.config.mocap_curl) if self.config.mocap_curl > 0 else pose, False
        built_in = self._built_in(int(rng.integers(self.config.n_poses)))
        return built_in.pose, built_in.is_lying

    def _built_in(self, number: int) -> FamilyPose:
        """Return a built-in pose: it depends on (seed, number) alone and is drawn when it is first met."""
        block, offset = divmod(number, POSE_BLOCK)
        # drawn twice by two threads, it is the same block
        if block not in self._poses:
            rng = np.random.default_rng([self.seed, _POSES, block])
            self._poses[block] = sample_poses(rng, POSE_BLOCK)
        return self._poses[block][offset]

    def _canvas(self) -> Canvas:
        if not hasattr(self._canvases, "canvas"):
            self._canvases.canvas = Canvas(self.camera.shape)
        canvas: Canvas = self._canvases.canvas
        return canvas

    def __getstate__(self) -> tuple[Config, int, int]:
        return self.config.at_absolute_paths(), self.seed, self._n

    def __setstate__(self, state: tuple[Config, int, int]) -> None:
        self.__init__(*state)  # type: ignore[misc]


@kernel
def _count_seen(
    depth: npt.NDArray[np.float32], people: npt.NDArray[np.uint8], person: int, near: float, far: float
) -> int:
    """Return how many pixels show a person at a depth from `near` to `far` meters."""
    n_seen = 0
    nearest, farthest = np.float32(near), np.float32(far)
    for row in range(depth.shape[0]):
        for col in range(depth.shape[1]):
            # no branches: vector instructions
            n_seen += (people[row, col] == person) & (depth[row, col] >= nearest) & (depth[row, col] <= farthest)
    return n_seen


@kernel
def _find_visible(
    positions: npt.NDArray[np.float64],
    lens: npt.NDArray[np.float64],
    person: int,
    depth_mm: npt.NDArray[np.uint16],
    parts: npt.NDArray[np.uint8],
    people: npt.NDArray[np.uint8],
    carries: npt.NDArray[np.bool_],
    is_visible: npt.NDArray[np.bool_],
) -> None:
    """Write for each joint (x, y, z) whether a pixel at or beside it shows the person, a part that has it, and depth.

    `lens` holds fx, fy, cx, cy. Before the camera only: what is behind it has no pixel.
    """
    n_rows, n_cols = depth_mm.shape
    for joint in range(len(positions)):
        is_visible[joint] = False
        x, y, z = positions[joint]
        row, col = lens[1] * y / z + lens[3], lens[0] * x / z + lens[2]
        reach = max(1.0, np.rint(JOINT_WINDOW * lens[0] / max(z, 0.1)))
        top, left = np.rint(row) - reach, np.rint(col) - reach
        bottom, right = np.rint(row) + reach + 1, np.rint(col) + reach + 1
        # in floats, because a joint beside the camera is any number of pixels off
        if not (z > 0 and bottom > 0 and right > 0 and top < n_rows and left < n_cols):
            continue
        least_mm = 1000 * (z - DEEPEST_JOINT)
        for r in range(int(max(top, 0.0)), int(min(bottom, float(n_rows)))):
            for c in range(int(max(left, 0.0)), int(min(right, float(n_cols)))):
                if people[r, c] == person and carries[joint, parts[r, c]] and depth_mm[r, c] > least_mm:
                    is_visible[joint] = True


def _grounded(body: Body, pose: Pose, is_lying: bool) -> PosedBody:
    """Pose a body on its feet, or on whatever is lowest where it lies or would sink into the floor."""
    if not is_lying:
        posed = pose_body(body, pose)
        if posed.vertices[:, 1].min() > -FLOOR_TOLERANCE:
            return posed
    return pose_body(body, pose, ground="lowest")


def has_raised_hand(pose: Pose) -> bool:
    """Tell whether a hand is higher than its shoulder."""
    heights = joint_positions(pose.rotations[None])[0, :, 1]
    return any(heights[BONE[f"{side}Hand"]] > heights[BONE[f"{side}Arm"]] for side in ("Left", "Right"))


def is_upright(pose: Pose) -> bool:
    """Tell whether somebody stands or walks: the hips far above both feet, the neck above the hips."""
    heads = joint_positions(pose.rotations[None])[0]
    hips, neck = heads[BONE["Hips"]], heads[BONE["Neck"]]
    feet = max(heads[BONE[f"{side}Foot"], 1] for side in ("Left", "Right"))
    trunk = float(np.linalg.norm(neck - hips))
    return bool(hips[1] - feet > 1.2 * trunk and neck[1] - hips[1] > 0.85 * trunk)


def _curled(pose: Pose, rng: np.random.Generator, share: float) -> Pose:
    """Return a pose with each hand, at this probability, curled: more often far than a little."""
    rotations = pose.rotations
    for side in "lr":
        is_curled, curl = rng.random() < share, np.sqrt(rng.random())
        if is_curled:
            rotations = curl_fingers(rotations, side, curl * LIMITS[f"{side}.fingers"][1])
    return replace(pose, rotations=rotations)


class _Bodies:
    """The people to draw from: body `k` depends on (config, seed, k) alone and is made when it is first met."""

    def __init__(self, config: Config, seed: int) -> None:
        self._config, self._seed = config, seed
        self._made: dict[int, Body] = {}
        self._makehuman = None
        if config.bodies in ("makehuman", "both"):
            from synth.bodies import MakeHuman

            self._makehuman = MakeHuman(config.makehuman_folder or None)

    def __getitem__(self, number: int) -> Body:
        # made twice by two threads, it is the same body
        if number not in self._made:
            self._made[number] = self._make(number)
        return self._made[number]

    def _make(self, number: int) -> Body:
        from synth.bodies import procedural

        rng = np.random.default_rng([self._seed, _BODIES, number])
        is_makehuman = self._makehuman is not None and (self._config.bodies == "makehuman" or number % 2 == 0)
        if is_makehuman and self._makehuman is not None:
            body = self._makehuman.sample_body(rng, child_share=self._config.child_share)
        else:
            body = procedural.sample_body(rng, child_share=self._config.child_share)
        if rng.random() < self._config.clothed_share:
            body = dress(body, sample_outfit(rng))
        return body


@lru_cache(maxsize=2)
def _load_poses(folder: str, names: str, only_subjects: tuple[str, ...]) -> PoseLibrary:
    return load_poses(folder, subjects=only_subjects, names=NameMap.from_json(names) if names else CMU_NAMES)


def _library_of(config: Config) -> PoseLibrary:
    """Return the poses of the clips; configurations that differ in anything else share them."""
    names = ("mocap", "mocap_names", "mocap_clearance", "mocap_distance", "without_subjects", "only_subjects")
    return _load_library(Config(**{name: getattr(config, name) for name in names}))


@lru_cache(maxsize=2)
def _load_library(config: Config) -> PoseLibrary:
    """Return the poses of the clips: of the subjects that are used, thinned."""
    from synth.poses import thin_poses

    library = _load_poses(config.mocap, config.mocap_names, config.only_subjects)
    kept = np.array([config.takes_subject(s) for s in library.subjects])[library.clip_index]
    if not kept.any():
        raise ConfigError(f"without_subjects leaves no pose of {config.mocap}")
    kept &= library.foot_clearance <= config.mocap_clearance
    if not kept.any():
        raise ConfigError(f"mocap_clearance leaves no pose of {config.mocap}")
    library = library.take(np.flatnonzero(kept))
    if config.mocap_distance > 0:
        library = library.take(thin_poses(joint_positions(library.rotations), config.mocap_distance))
    return library
