"""Generator: (config, seed, index) -> LabeledFrame; the same bytes in any order, process or thread."""

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

# independent streams of random numbers: the second word of every seed
_BODIES, _POSES, _FRAMES, _ROOMS, _THINGS = 1, 2, 3, 4, 5

POSE_BLOCK = 64
"""Built-in poses are drawn in blocks of this size, which is faster than one by one."""

MAX_SCENES = 40
"""Scenes drawn at most until the main person is visible; after that the last one is used."""

MAX_POSES = 40
"""Poses drawn at most until one has a raised hand; about one in eight has."""

BED_HEIGHT = (0.3, 0.55)
"""Meters above the floor at which people on beds lie."""

FLOOR_TOLERANCE = 0.03
"""Meters that a body may sink into the floor before it is lifted: soles and shoes are soft."""

DEEPEST_JOINT = 0.25
"""Meters: a joint is visible if the surface in front of it is at most this far away."""

JOINT_WINDOW = 0.02
"""Meters around a joint that are searched for its parts: edges fray, and a joint lies off the middle of its band."""

_CARRIES = np.array(
    [[name in JOINT_PARTS[joint] for name in (*BODY31.names, *[""] * (256 - len(BODY31)))] for joint in JOINTS]
)
"""Array (19, 256): whether a part carries a joint."""


class Generator(FrameSource):
    """Labeled frames that are made on demand.

    Parameters
    ----------
    config : Config
    seed : int
        0 or more.
    n : int
        Length of the sequence; frames do not depend on it.
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
            raise ConfigError("frames are rendered with an ideal lens; give a camera without distortion")
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
        """Return the text that identifies the frames, whatever their number: everything they depend on."""
        return identity(self.config, self.seed)

    def frames(self, start: int = 0, stop: int | None = None, *, threads: int | None = None) -> Iterator[LabeledFrame]:
        """Yield the frames from `start` to `stop` in order, made on several threads."""
        return map_in_order(self.__getitem__, range(start, self._n if stop is None else stop), threads=threads)

    def scene(self, index: int) -> tuple[Scene, Rendered, np.random.Generator]:
        """Return the scene of a frame, its ideal image, and the random generator for the sensor.

        The image is in memory that this thread's next call reuses.
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
                f"in {MAX_SCENES} scenes the main person never covered {config.least_visible:g} of the image; "
                "adjust distance, camera height or tilt, or least_visible",
                DepthForestWarning,
                stacklevel=2,
            )
        return scene, rendered, rng

    def empty_room(self, index: int, take: int = 0) -> Frame:
        """Return the room of a frame, without people, as the sensor sees it.

        Parameters
        ----------
        index : int
            Index of the frame.
        take : int
            0 or more; each take has its own noise, independent of the frame's.
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
        """Return a person's joints; visible where the sensor shows one of their parts near their pixel."""
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
        """Draw a person's activity; most have none."""
        if self._activity_steps[-1] == 0:
            return ""
        number = bisect_right(self._activity_steps, rng.random())
        return ACTIVITIES[number] if number < len(ACTIVITIES) else ""

    def _suitable_pose(self, rng: np.random.Generator, activity: str) -> tuple[Pose, bool]:
        """Draw a pose that suits an activity, and whether the body lies; the last one drawn if none suits."""
        for _ in range(MAX_POSES):
            if activity in ("desk", "bed"):  # rare or absent in clips
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
        """Return a built-in pose, which depends only on (seed, number) and is drawn on first use."""
        block, offset = divmod(number, POSE_BLOCK)
        # two threads may both draw a block, but they get the same one
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
            # no branches, so that the loop compiles to vector instructions
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
    """Write for each joint (x, y, z) whether a pixel at or beside it shows the person, a matching part and depth.

    `lens` holds fx, fy, cx, cy. Joints behind the camera have no pixel.
    """
    n_rows, n_cols = depth_mm.shape
    for joint in range(len(positions)):
        is_visible[joint] = False
        x, y, z = positions[joint]
        row, col = lens[1] * y / z + lens[3], lens[0] * x / z + lens[2]
        reach = max(1.0, np.rint(JOINT_WINDOW * lens[0] / max(z, 0.1)))
        top, left = np.rint(row) - reach, np.rint(col) - reach
        bottom, right = np.rint(row) + reach + 1, np.rint(col) + reach + 1
        # in floats, because a joint beside the camera can be any number of pixels away
        if not (z > 0 and bottom > 0 and right > 0 and top < n_rows and left < n_cols):
            continue
        least_mm = 1000 * (z - DEEPEST_JOINT)
        for r in range(int(max(top, 0.0)), int(min(bottom, float(n_rows)))):
            for c in range(int(max(left, 0.0)), int(min(right, float(n_cols)))):
                if people[r, c] == person and carries[joint, parts[r, c]] and depth_mm[r, c] > least_mm:
                    is_visible[joint] = True


def _grounded(body: Body, pose: Pose, is_lying: bool) -> PosedBody:
    """Pose a body on its feet, or on its lowest point if it lies or would sink into the floor."""
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
    """Return a pose with each hand curled with probability `share`; strong curls are likelier than slight ones."""
    rotations = pose.rotations
    for side in "lr":
        is_curled, curl = rng.random() < share, np.sqrt(rng.random())
        if is_curled:
            rotations = curl_fingers(rotations, side, curl * LIMITS[f"{side}.fingers"][1])
    return replace(pose, rotations=rotations)


class _Bodies:
    """The pool of people: body `k` depends only on (config, seed, k) and is made on first use."""

    def __init__(self, config: Config, seed: int) -> None:
        self._config, self._seed = config, seed
        self._made: dict[int, Body] = {}
        self._makehuman = None
        if config.bodies in ("makehuman", "both"):
            from synth.bodies import MakeHuman

            self._makehuman = MakeHuman(config.makehuman_folder or None)

    def __getitem__(self, number: int) -> Body:
        # two threads may both make a body, but they get the same one
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
    """Return the poses of the clips, shared by all configurations with the same clip settings."""
    names = ("mocap", "mocap_names", "mocap_clearance", "mocap_distance", "without_subjects", "only_subjects")
    return _load_library(Config(**{name: getattr(config, name) for name in names}))


@lru_cache(maxsize=2)
def _load_library(config: Config) -> PoseLibrary:
    """Return the thinned poses of the clips of all subjects that are used."""
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
